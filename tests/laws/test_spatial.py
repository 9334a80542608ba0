"""Rotations, poses and rigid inertias: group axioms, round trips at tiny and nearly half-turn angles, known formulas."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise

import numba
import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.spatial import inertia, rotations, vectors


class Compiled:
    """A module whose pieces of kernels are called as kernels call them: compiled. (Python would call them as Python.)"""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        piece = getattr(self._module, name)
        if not hasattr(piece, "py_func"):
            return piece

        @numba.njit
        def call(*args):
            return piece(*args)

        setattr(self, name, call)
        return call


rigid, rot, vec = Compiled(inertia), Compiled(rotations), Compiled(vectors)

EPS = np.finfo(float).eps
TINY = 1e-300
ANGLES = [0.0, TINY, 1e-16, 1e-12, 1e-8, 9.99e-5, 1.01e-4, 1e-2, 1.0, 3.0, math.pi - 1e-4, math.pi - 1e-8, math.pi]


def unit_vector(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def unit_quaternion(rng):
    q = rng.normal(size=4)
    return tuple(q / np.linalg.norm(q))


def random_pose(rng):
    return lw.Pose(rng.normal(size=3), quaternion=unit_quaternion(rng))


def as_matrix(m):
    return np.reshape(m, (3, 3))


def skew(v):
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def symmetric(s):
    xx, xy, xz, yy, yz, zz = s
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


# ------------------------------------------------------------------------------------------------------------- rotations


@pytest.mark.parametrize("angle", ANGLES)
def test_log_undoes_exp(rng, angle):
    for _ in range(10):
        v = tuple(angle * unit_vector(rng))
        q = rot.quaternion_exp(v)
        assert math.hypot(*q) == pytest.approx(1.0, abs=4 * EPS)
        back = np.array(rot.quaternion_log(q))
        if angle > math.pi - 1e-6 and np.dot(back, v) < 0.0:
            back = back - 2.0 * math.pi * back / np.linalg.norm(back)  # at π both senses are one rotation
        # Relative: a rotation vector keeps its digits however small it is.
        assert np.linalg.norm(back - v) <= 8 * EPS * angle


@pytest.mark.parametrize("angle", ANGLES)
def test_exp_is_the_rotation_about_an_axis(rng, angle):
    axis = unit_vector(rng)
    R = as_matrix(rot.rotation_about(tuple(axis), angle))
    assert as_matrix(rot.quaternion_matrix(rot.quaternion_exp(tuple(angle * axis)))) == pytest.approx(R, abs=8 * EPS)
    # Rodrigues' formula, the definition
    K = skew(axis)
    formula = np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K
    assert np.abs(R - formula).max() <= 8 * EPS
    # The antisymmetric part keeps the digits of a tiny angle.
    w = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2.0
    if 0.0 < angle < 1.0:
        assert np.linalg.norm(w) == pytest.approx(math.sin(angle), rel=1e-15 / min(1.0, angle) + 8 * EPS)


def test_rotation_about_no_axis_is_the_identity():
    assert rot.rotation_about((0.0, 0.0, 0.0), 0.7) == rot.IDENTITY3


def test_quaternions_multiply_as_rotations_do(rng):
    for _ in range(20):
        a, b = unit_quaternion(rng), unit_quaternion(rng)
        A, B = as_matrix(rot.quaternion_matrix(a)), as_matrix(rot.quaternion_matrix(b))
        assert as_matrix(rot.quaternion_matrix(rot.quaternion_multiply(a, b))) == pytest.approx(A @ B, abs=20 * EPS)
        assert as_matrix(rot.quaternion_matrix(rot.quaternion_conjugate(a))) == pytest.approx(A.T, abs=EPS)


@pytest.mark.parametrize(
    ("name", "quaternion"),
    [
        ("trace positive", (0.9, 0.1, -0.3, 0.2)),
        ("x largest", (0.1, 0.9, -0.3, 0.2)),
        ("y largest", (-0.1, 0.3, 0.9, 0.2)),
        ("z largest", (0.1, -0.3, 0.2, 0.9)),
        ("half turn about x", (0.0, 1.0, 0.0, 0.0)),
        ("half turn about y", (0.0, 0.0, 1.0, 0.0)),
        ("half turn about z", (0.0, 0.0, 0.0, 1.0)),
        ("half turn about a diagonal", (0.0, 1.0, 1.0, 1.0)),
        ("a hair from the identity", (1.0, 1e-9, -2e-9, 3e-9)),
        ("a hair from a half turn", (1e-9, 0.6, 0.8, 0.0)),
    ],
)
def test_matrix_to_quaternion_by_every_branch(name, quaternion):
    q = np.array(quaternion) / np.linalg.norm(quaternion)
    back = np.array(rot.matrix_quaternion(rot.quaternion_matrix(tuple(q))))
    # q and -q are one rotation; the largest candidate never divides by less than 1/2, so a few roundings remain
    assert back * np.sign(back @ q) == pytest.approx(q, abs=4 * EPS)


def test_matrix_to_quaternion_everywhere(rng):
    for _ in range(500):
        q = np.array(unit_quaternion(rng))
        back = np.array(rot.matrix_quaternion(rot.quaternion_matrix(tuple(q))))
        assert abs(back @ q) == pytest.approx(1.0, abs=8 * EPS)


def test_small_matrix_products(rng):
    A, B, s, v = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=6), rng.normal(size=3)
    R = as_matrix(rot.quaternion_matrix(unit_quaternion(rng)))
    flat = {name: tuple(m.ravel()) for name, m in (("A", A), ("B", B), ("R", R))}
    pairs = [
        (rot.matvec3(flat["A"], tuple(v)), A @ v),
        (rot.tmatvec3(flat["A"], tuple(v)), A.T @ v),
        (rot.symvec3(tuple(s), tuple(v)), symmetric(s) @ v),
        (rot.matmul3(flat["A"], flat["B"]), (A @ B).ravel()),
        (rot.transpose3(flat["A"]), A.T.ravel()),
        (rot.rotate_matrix(flat["R"], flat["A"]), (R @ A @ R.T).ravel()),
        (symmetric(rot.rotate_symmetric(flat["R"], tuple(s))), R @ symmetric(s) @ R.T),
        (rot.cross3(tuple(v), flat["A"][:3]), np.cross(v, A[0])),
    ]
    for ours, expected in pairs:
        assert np.array(ours) == pytest.approx(expected, abs=50 * EPS)  # sums of at most nine products of order one


# ----------------------------------------------------------------------------------------------------------------- poses


def test_poses_are_a_group(rng):
    A, B, C = (random_pose(rng) for _ in range(3))
    assert ((A @ B) @ C).matrix == pytest.approx((A @ (B @ C)).matrix, abs=30 * EPS)
    assert (A @ lw.Pose()) == A
    assert (lw.Pose() @ A) == A
    assert (A @ A.inverse()).matrix == pytest.approx(np.eye(4), abs=20 * EPS)
    assert (A.inverse() @ A).matrix == pytest.approx(np.eye(4), abs=20 * EPS)
    assert (A @ B).matrix == pytest.approx(A.matrix @ B.matrix, abs=20 * EPS)
    assert (A @ B).inverse().matrix == pytest.approx((B.inverse() @ A.inverse()).matrix, abs=30 * EPS)


def test_poses_act_on_points(rng):
    A, B, x = random_pose(rng), random_pose(rng), rng.normal(size=3)
    assert (A @ B).apply(x) == pytest.approx(A.apply(B.apply(x)), abs=30 * EPS)
    assert A.apply(x) == pytest.approx((A.matrix @ [*x, 1.0])[:3], abs=10 * EPS)
    assert A.rotate(x) == pytest.approx(np.subtract(A.apply(x), A.xyz), abs=10 * EPS)


def test_rpy_turns_about_fixed_axes_in_order():
    """URDF: roll about x, then pitch about y, then yaw about z, all axes fixed in the parent."""

    def turn(axis, angle):
        return lw.Pose(matrix=as_matrix(rot.rotation_about(axis, angle)))

    roll, pitch, yaw = 0.3, -1.1, 2.4
    steps = turn((0.0, 0.0, 1.0), yaw) @ turn((0.0, 1.0, 0.0), pitch) @ turn((1.0, 0.0, 0.0), roll)
    assert lw.Pose(rpy=(roll, pitch, yaw)).matrix == pytest.approx(steps.matrix, abs=10 * EPS)
    # A quarter turn of yaw carries x to y: sets the sign.
    assert lw.Pose(rpy=(0, 0, math.pi / 2)).rotate((1, 0, 0)) == pytest.approx((0, 1, 0), abs=EPS)


def test_one_rotation_given_three_ways(rng):
    q = unit_quaternion(rng)
    by_quaternion = lw.Pose((1, 2, 3), quaternion=np.multiply(-3.0, q))  # any length, either sign
    by_matrix = lw.Pose((1, 2, 3), matrix=by_quaternion.matrix[:3, :3])
    by_homogeneous = lw.Pose(matrix=by_quaternion.matrix)
    assert by_matrix.matrix == pytest.approx(by_quaternion.matrix, abs=10 * EPS)
    assert by_homogeneous.matrix == pytest.approx(by_quaternion.matrix, abs=10 * EPS)


def test_poses_are_values(rng):
    A = random_pose(rng)
    assert pickle.loads(pickle.dumps(A)) == A
    assert len({A, lw.Pose.raw(A.rotation, A.xyz)}) == 1
    with pytest.raises(AttributeError, match="immutable"):
        A.xyz = (0, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"xyz": (1, 2)}, "three numbers"),
        ({"rpy": "up"}, "three numbers"),
        ({"quaternion": (0, 0, 0, 0)}, "not a rotation"),
        ({"quaternion": (1, 0, 0)}, "four numbers"),
        ({"matrix": np.diag([1, 1, -1])}, "det = -1"),
        ({"matrix": 2.0 * np.eye(3)}, r"\|M Mᵀ - 1\| = 3"),
        ({"matrix": np.eye(2)}, r"not \(2, 2\)"),
        ({"rpy": (0, 0, 0), "quaternion": (1, 0, 0, 0)}, "one of"),
    ],
)
def test_what_is_no_pose_is_refused(arguments, message):
    with pytest.raises(lw.ModelError, match=message):
        lw.Pose(**arguments)


# ------------------------------------------------------------------------------------------------- twists and wrenches


def test_transforms_are_their_matrices(rng, twist_matrix):
    pose = random_pose(rng)
    X_pc = twist_matrix(pose.matrix)
    X_cp = np.linalg.inv(X_pc)
    V, F, S = rng.normal(size=(3, 6))
    arguments = (pose.rotation, pose.xyz)
    # 6x6 products of order one; the numerical inverse adds its own few roundings
    assert vec.twist_to_parent(*arguments, tuple(V)) == pytest.approx(X_pc @ V, abs=50 * EPS)
    assert vec.twist_to_child(*arguments, tuple(V)) == pytest.approx(X_cp @ V, abs=50 * EPS)
    assert vec.wrench_to_parent(*arguments, tuple(F)) == pytest.approx(X_cp.T @ F, abs=50 * EPS)
    assert vec.wrench_to_child(*arguments, tuple(F)) == pytest.approx(X_pc.T @ F, abs=50 * EPS)
    ad = np.block([[skew(V[:3]), np.zeros((3, 3))], [skew(V[3:]), skew(V[:3])]])
    assert vec.cross_motion(tuple(V), tuple(S)) == pytest.approx(ad @ S, abs=20 * EPS)
    assert vec.cross_force(tuple(V), tuple(F)) == pytest.approx(-ad.T @ F, abs=20 * EPS)


def test_power_does_not_depend_on_the_frame(rng):
    pose = random_pose(rng)
    V, F = rng.normal(size=(2, 6))
    V_parent = vec.twist_to_parent(pose.rotation, pose.xyz, tuple(V))
    F_parent = vec.wrench_to_parent(pose.rotation, pose.xyz, tuple(F))
    assert vec.dot6(V_parent, F_parent) == pytest.approx(V @ F, abs=100 * EPS)  # terms of order ten cancel


# ------------------------------------------------------------------------------------------------------- rigid inertias


def spatial_matrix(inertia: lw.Inertia):
    """6x6 about the frame's origin, from the definition."""
    C = skew(inertia.com)
    m = inertia.mass
    return np.block([[inertia.matrix - m * C @ C, m * C], [-m * C, m * np.eye(3)]])


def random_inertia(rng):
    return lw.Inertia.box(rng.uniform(0.5, 2.0), rng.uniform(0.2, 1.0, 3)).at(random_pose(rng))


def test_momentum_of_a_rigid_body(rng):
    inertia, V = random_inertia(rng), rng.normal(size=6)
    I6 = spatial_matrix(inertia)
    ten = inertia.about_origin
    assert rigid.rigid_times_twist(ten, tuple(V)) == pytest.approx(I6 @ V, abs=100 * EPS)
    A, B, C = rigid.rigid_as_articulated(ten)
    assert np.block([[symmetric(A), as_matrix(B)], [as_matrix(B).T, symmetric(C)]]) == pytest.approx(I6, abs=50 * EPS)
    assert rigid.articulated_times_twist(A, B, C, tuple(V)) == pytest.approx(I6 @ V, abs=100 * EPS)


def test_inertia_moves_between_frames_by_three_routes(rng, twist_matrix):
    """As a description, as ten numbers and as an articulated inertia."""
    inertia, pose = random_inertia(rng), random_pose(rng)
    X_cp = np.linalg.inv(twist_matrix(pose.matrix))
    expected = X_cp.T @ spatial_matrix(inertia) @ X_cp
    tolerance = 200 * EPS * np.abs(expected).max()  # two 6x6 products and a numerical inverse
    assert spatial_matrix(inertia.at(pose)) == pytest.approx(expected, abs=tolerance)
    ten = rigid.rigid_to_parent(pose.rotation, pose.xyz, inertia.about_origin)
    assert ten == pytest.approx(inertia.at(pose).about_origin, abs=tolerance)
    A, B, C = rigid.articulated_to_parent(pose.rotation, pose.xyz, *rigid.rigid_as_articulated(inertia.about_origin))
    blocks = np.block([[symmetric(A), as_matrix(B)], [as_matrix(B).T, symmetric(C)]])
    assert blocks == pytest.approx(expected, abs=tolerance)


def test_any_articulated_inertia_moves_as_its_matrix(rng, twist_matrix):
    """Blocks B that no rigid body has: a full 3x3, C not a multiple of one."""
    L = rng.normal(size=(6, 6))
    I6 = L @ L.T
    pose = random_pose(rng)
    upper = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])
    blocks = (tuple(I6[:3, :3][upper]), tuple(I6[:3, 3:].ravel()), tuple(I6[3:, 3:][upper]))
    X_cp = np.linalg.inv(twist_matrix(pose.matrix))
    expected = X_cp.T @ I6 @ X_cp
    A, B, C = rigid.articulated_to_parent(pose.rotation, pose.xyz, *blocks)
    got = np.block([[symmetric(A), as_matrix(B)], [as_matrix(B).T, symmetric(C)]])
    assert got == pytest.approx(expected, abs=200 * EPS * np.abs(expected).max())
    u = rng.normal(size=6)
    A, B, C = rigid.subtract_outer(*blocks, tuple(u), 0.3)
    got = np.block([[symmetric(A), as_matrix(B)], [as_matrix(B).T, symmetric(C)]])
    assert got == pytest.approx(I6 - 0.3 * np.outer(u, u), abs=50 * EPS * np.abs(I6).max())


def gauss(n, low, high):
    x, w = np.polynomial.legendre.leggauss(n)
    return 0.5 * (high - low) * x + 0.5 * (high + low), 0.5 * (high - low) * w


def moments_of_revolution(mass, low, high, pieces, radius_at):
    """Principal moments (across, across, along z) of a solid of revolution by quadrature over discs.

    `radius_at(z)²` is a polynomial on each piece, so Gauss quadrature of order 20 is exact to rounding.
    """
    edges = [low, *pieces, high]
    volume = along = across = 0.0
    for a, b in pairwise(edges):
        z, w = gauss(20, a, b)
        r2 = radius_at(z) ** 2
        volume += np.sum(w * math.pi * r2)
        along += np.sum(w * math.pi * r2**2 / 2.0)
        across += np.sum(w * (math.pi * r2**2 / 4.0 + math.pi * r2 * z**2))
    return np.array([across, across, along]) * mass / volume


def test_solids_of_revolution_have_the_moments_of_their_volume():
    m, r, h = 1.7, 0.3, 0.8

    def capsule_radius(z):
        beyond = np.maximum(np.abs(z) - h / 2.0, 0.0)
        return np.sqrt(r**2 - beyond**2)

    cases = [
        (lw.Inertia.sphere(m, r), moments_of_revolution(m, -r, r, [], lambda z: np.sqrt(r**2 - z**2))),
        (lw.Inertia.cylinder(m, r, h), moments_of_revolution(m, -h / 2, h / 2, [], lambda z: r + 0.0 * z)),
        (
            lw.Inertia.capsule(m, r, h),
            moments_of_revolution(m, -h / 2 - r, h / 2 + r, [-h / 2, h / 2], capsule_radius),
        ),
    ]
    for body, moments in cases:
        # Squaring a square root costs a few ulp at each of 20 points; nothing else is inexact.
        assert body.matrix == pytest.approx(np.diag(moments), rel=rounding(condition=10.0), abs=rounding())
        assert body.mass == m
        assert body.com == (0.0, 0.0, 0.0)


def test_a_box_has_the_moments_of_its_volume():
    size = np.array([0.3, 0.7, 1.1])
    (x, wx), (y, wy), (z, wz) = (gauss(3, -s / 2, s / 2) for s in size)  # quadratics: exact from two points on
    X, Y, Z = np.meshgrid(x, y, z, indexing="ij")
    W = wx[:, None, None] * wy[None, :, None] * wz[None, None, :] * 2.0 / size.prod()
    moments = [np.sum(W * (Y**2 + Z**2)), np.sum(W * (X**2 + Z**2)), np.sum(W * (X**2 + Y**2))]
    assert lw.Inertia.box(2.0, size).matrix == pytest.approx(np.diag(moments), rel=rounding(), abs=rounding())


def test_capsule_without_length_is_a_sphere():
    capsule, sphere = lw.Inertia.capsule(2.0, 0.3, 0.0), lw.Inertia.sphere(2.0, 0.3)
    assert capsule.moments == pytest.approx(sphere.moments, rel=4 * EPS)


def test_a_box_is_the_sum_of_its_halves():
    """Parallel axes: halves moved off the centre, in any order and frame."""
    whole = lw.Inertia.box(2.0, (0.4, 0.2, 0.6))
    half = lw.Inertia.box(1.0, (0.2, 0.2, 0.6))
    left, right = half.at(lw.Pose((-0.1, 0, 0))), half.at(lw.Pose((0.1, 0, 0)))
    for total in (left + right, right + left, lw.Inertia.total([left, right, lw.Inertia(0.0)])):
        assert total.matrix == pytest.approx(whole.matrix, rel=10 * EPS, abs=EPS)
        assert total.com == pytest.approx((0, 0, 0), abs=EPS)
        assert total.mass == 2.0


def test_sums_add_momenta(rng):
    a, b = random_inertia(rng), random_inertia(rng)
    total = spatial_matrix(a + b)
    assert total == pytest.approx(spatial_matrix(a) + spatial_matrix(b), abs=100 * EPS * np.abs(total).max())
    c = random_inertia(rng)
    assert spatial_matrix((a + b) + c) == pytest.approx(spatial_matrix(a + (b + c)), abs=rounding(scale=10.0))


def test_point_masses_make_a_body():
    points = np.array([[1.0, 0, 0], [0, 2.0, 0], [0, 0, 3.0], [-1.0, -2.0, -3.0]])
    total = lw.Inertia.total(lw.Inertia.point_mass(0.5, at=p) for p in points)
    assert total.com == pytest.approx((0, 0, 0), abs=EPS)
    expected = sum(0.5 * (p @ p * np.eye(3) - np.outer(p, p)) for p in points)
    assert total.matrix == pytest.approx(expected, abs=20 * EPS)


@pytest.mark.parametrize(
    ("inertia", "numbers"),
    [
        (lw.Inertia(-1.0), ["-1 kg"]),
        (lw.Inertia(0.0, moments=(1, 1, 1)), ["0 kg", "> 0"]),
        (lw.Inertia(1.0, moments=(1.0, 2.0, 4.0)), ["1 + 2 < 4", "triangle"]),
        (lw.Inertia(1.0, moments=(-0.5, 1.0, 1.0)), ["-0.5", "negative"]),
        (lw.Inertia(1.0, moments=[[1, 0.9, 0], [0.9, 1, 0], [0, 0, 0.1]]), ["1.9", "0.1"]),  # off-diagonals count
        (lw.Inertia(math.nan), ["nan", "not finite"]),
        (lw.Inertia(1.0, com=(0, math.inf, 0)), ["inf", "not finite"]),
    ],
)
def test_unphysical_inertias_are_told_with_their_numbers(inertia, numbers):
    (fault,) = inertia.faults()
    for number in numbers:
        assert number in fault


@pytest.mark.parametrize(
    "inertia",
    [
        lw.Inertia(0.0),
        lw.Inertia.point_mass(1.0, at=(1, 2, 3)),
        lw.Inertia(1.0, moments=(1, 1, 2)),  # a disc: the inequality holds with equality
        lw.Inertia(1.0, moments=(1.0, 1.0, 2.0001)),  # printed digits
        lw.Inertia(1e-12, moments=(1e-20, 1e-20, 1e-20)),
        lw.Inertia.cylinder(1.0, 0.0, 1.0),  # a rod
    ],
)
def test_limits_of_the_physical_are_allowed(inertia):
    assert inertia.faults() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mass": "heavy"}, "mass must be a number"),
        ({"mass": 1.0, "com": (0, 0)}, "three numbers"),
        ({"mass": 1.0, "moments": (1, 2)}, r"shape \(3,\), \(6,\)"),
        ({"mass": 1.0, "moments": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, "symmetric"),
    ],
)
def test_what_is_no_inertia_is_refused(arguments, message):
    with pytest.raises(lw.ModelError, match=message):
        lw.Inertia(**arguments)


def test_moments_are_taken_as_they_are_given():
    """Three, six or nine numbers; six in the order of the attribute, nine as in the matrix."""
    turned = lw.Inertia.box(2.0, (0.1, 0.2, 0.3)).at(lw.Pose((0.1, 0.0, 0.2), rpy=(0.3, 0.4, 0.5)))
    assert all(abs(x) > 1e-4 for x in turned.moments)  # products of inertia are there
    for moments in (turned.moments, list(turned.moments), np.array(turned.moments), turned.matrix):
        assert lw.Inertia(turned.mass, turned.com, moments).moments == turned.moments
    assert lw.Inertia(1.0, moments=(1.0, 2.0, 3.0)).moments == (1.0, 0.0, 0.0, 2.0, 0.0, 3.0)
    xx, xy, xz, yy, yz, zz = range(1, 7)
    made = lw.Inertia(1.0, moments=(xx, xy, xz, yy, yz, zz))
    assert made.matrix.tolist() == [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    assert all(type(x) is float for x in made.moments)


@pytest.mark.parametrize(
    "moments", [(1.0,), (1.0, 2.0), (1.0,) * 4, (1.0,) * 5, (1.0,) * 7, (1.0,) * 9, np.ones((2, 3))]
)
def test_moments_of_another_number_are_refused(moments):
    with pytest.raises(lw.ModelError, match=r"shape \(3,\), \(6,\) for xx xy xz yy yz zz, or \(3, 3\)"):
        lw.Inertia(1.0, (0, 0, 0), moments)


def test_six_moments_that_no_body_has_are_found_when_the_linkage_compiles():
    linkage = lw.Linkage("impossible")
    linkage.add_body("rock", joint=lw.Free(), inertia=lw.Inertia(1.0, moments=(1.0, 5.0, 0.0, 1.0, 0.0, 1.0)))
    with pytest.raises(lw.ModelError, match="must not be negative"):
        linkage.compile()
