"""Rotations, poses, twists and wrenches: group axioms, round trips at tiny and nearly half-turn angles, known formulas."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from tests.helpers.spatial_samples import (
    ANGLES,
    EPS,
    as_matrix,
    random_pose,
    rot,
    skew,
    symmetric,
    unit_quaternion,
    unit_vector,
    vec,
)

import linkwork as lw

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
