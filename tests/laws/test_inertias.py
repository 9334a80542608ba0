"""Rigid inertias: how they move between frames, add up, and what bodies have them; which are refused."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from tests.helpers.rounding import rounding
from tests.helpers.spatial_samples import EPS, as_matrix, random_pose, rigid, skew, symmetric

import linkwork as lw


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
def test_unphysical_inertias_are_reported_with_their_numbers(inertia, numbers):
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
