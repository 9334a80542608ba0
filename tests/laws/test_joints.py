"""The calculus of joints: every kind is a smooth map from coordinates to poses, with the derivatives it claims."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.conftest import JOINTS

import linkwork as lw
from linkwork.reference.joint_calculus import joint_bias, joint_difference, joint_integrate, joint_pose, joint_subspace

EPS = np.finfo(float).eps
# Lengths of a step in rad (and m): tiny, on both sides of where the series end (1e-4, 1e-2), large, nearly a half turn.
STEPS = [1e-12, 1e-8, 1e-4, 9.9e-3, 1.01e-2, 1.0, math.pi - 1e-3, math.pi - 1e-7]


def direction(joint, rng, length):
    """A velocity of the given length; only the angular part of a free motion has it, the linear one stays of order one."""
    v = rng.normal(size=joint.nv)
    if joint.nv == 0:
        return v
    part = slice(0, 3) if isinstance(joint, lw.Free) else slice(None)
    v[part] *= length / np.linalg.norm(v[part])
    return v


def unhat(W):
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2.0


def twist_of_rate(T, dT):
    """[ω; v] of the child in its own frame from a pose and its rate."""
    R = T[:3, :3]
    return np.concatenate([unhat(R.T @ dT[:3, :3]), R.T @ dT[:3, 3]])


def with_every_option(joint):
    """The joint with limits, spring, rest, damper and rotor that differ between the degrees of freedom where they may."""
    if joint.nv == 0:
        return joint
    ball = isinstance(joint, lw.Spherical | lw.Free)
    numbers = np.arange(1.0, joint.nv + 1.0)
    options = {"stiffness": 2.0 if ball else tuple(numbers), "effort_limit": 7.0}
    if ball:
        options |= {"damping": 0.3, "armature": 0.1}
        options["rest"] = tuple(joint.random(np.random.default_rng(5)))
        if isinstance(joint, lw.Free):
            options["rest"] = (0.0, 0.0, 0.0, *options["rest"][3:])
    else:
        options |= {"damping": tuple(0.1 * numbers), "armature": tuple(0.01 * numbers), "rest": tuple(0.2 * numbers)}
        options["limits"] = tuple((-x, 2.0 * x) for x in numbers)
    if isinstance(joint, lw.Compound):
        return lw.Compound(joint.parts, **options)
    return replace(joint, **options)


def alone(joint):
    linkage = lw.Linkage("alone", gravity=(0.0, 0.0, 0.0))
    linkage.add_body("child", joint=joint, inertia=lw.Inertia.sphere(1.0, 1.0))
    return linkage.compile(merge_fixed=False)


def test_sizes_neutral_and_random_agree(joint, rng):
    assert joint.neutral().shape == joint.random(rng).shape == (joint.nq,)
    assert joint_subspace(joint, joint.random(rng)).shape == (6, joint.nv)
    assert joint_pose(joint, joint.neutral()).is_identity


def test_random_coordinates_stay_within_limits(rng):
    joint = lw.Compound([lw.Revolute((0, 0, 1), limits=(4.0, 5.0)), lw.Prismatic((1, 0, 0), limits=(-np.inf, -3.0))])
    q = np.array([joint.random(rng) for _ in range(200)])
    assert ((q[:, 0] >= 4.0) & (q[:, 0] <= 5.0)).all()
    assert (q[:, 1] <= -3.0).all()
    assert np.ptp(q, axis=0).min() > 0.5  # they do spread


@pytest.mark.parametrize("length", STEPS)
def test_difference_undoes_integrate(joint, rng, length):
    for _ in range(20):
        q, v = joint.random(rng), direction(joint, rng, length)
        back = joint_difference(joint, q, joint_integrate(joint, q, v, 1.0))
        # Coordinates of order one round at ε, whatever the step; at 1e-12 that leaves four digits of the step itself.
        # A free joint's path near a half turn multiplies rounding by the length of its arc, some 10.
        assert back == pytest.approx(v, abs=200 * EPS * max(1.0, np.linalg.norm(v)))


@pytest.mark.parametrize("distance", [*STEPS, "far"])
def test_integrate_undoes_difference(joint, rng, distance):
    for _ in range(20):
        q0 = joint.random(rng)
        q1 = joint.random(rng) if distance == "far" else joint_integrate(joint, q0, direction(joint, rng, distance))
        moved = joint_integrate(joint, q0, joint_difference(joint, q0, q1))
        # 50 ε: a dozen roundings in numbers of order one (q and -q are one orientation, so poses are compared).
        assert joint_pose(joint, moved).matrix == pytest.approx(joint_pose(joint, q1).matrix, abs=100 * EPS)


@pytest.mark.parametrize("kind", ["spherical", "free"])  # angles of hinges count their turns
def test_difference_takes_the_short_way(kind, rng):
    joint = JOINTS[kind]
    for _ in range(50):
        v = joint_difference(joint, joint.random(rng), joint.random(rng))
        assert np.linalg.norm(v[:3]) <= math.pi + 10 * EPS


def test_step_of_time_is_step_of_velocity(joint, rng):
    q, v = joint.random(rng), rng.normal(size=joint.nv)
    # exact up to the rounding of one product
    assert joint_integrate(joint, q, v, 0.25) == pytest.approx(joint_integrate(joint, q, 0.25 * v), abs=4 * EPS)
    assert joint_integrate(joint, q, v, 0) == pytest.approx(q, abs=4 * EPS)


def test_two_half_steps_are_one_step(joint, rng):
    """With a constant velocity the motion is a one-parameter group."""
    q, v = joint.random(rng), rng.normal(size=joint.nv)
    halves = joint_integrate(joint, joint_integrate(joint, q, v, 0.5), v, 0.5)
    assert halves == pytest.approx(joint_integrate(joint, q, v, 1.0), abs=50 * EPS)  # a dozen roundings


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-7])
def test_rate_of_the_pose_is_the_subspace(joint, rng, derivative, scale):
    """Also near the neutral coordinates, where small-angle branches begin."""
    for _ in range(5):
        q = joint_integrate(joint, joint.neutral(), scale * rng.normal(size=joint.nv))
        v = rng.normal(size=joint.nv)
        dT = derivative(lambda t, q=q, v=v: joint_pose(joint, joint_integrate(joint, q, v, t)).matrix)
        twist = twist_of_rate(joint_pose(joint, q).matrix, dT)
        # h⁴ times the fifth derivative (about |v|⁵ ≤ 1e3) over 30: 3e-11; rounding ε/h: 2e-13.
        assert joint_subspace(joint, q) @ v == pytest.approx(twist, abs=1e-9)


def test_every_column_of_the_subspace_is_a_motion(joint, rng, derivative):
    q = joint.random(rng)
    S = joint_subspace(joint, q)
    for j, v in enumerate(np.eye(joint.nv)):
        dT = derivative(lambda t, v=v: joint_pose(joint, joint_integrate(joint, q, v, t)).matrix)
        assert S[:, j] == pytest.approx(twist_of_rate(joint_pose(joint, q).matrix, dT), abs=1e-11)  # as above, |v| = 1
    if joint.nv:
        assert np.linalg.matrix_rank(S) == joint.nv


def test_bias_is_the_rate_of_the_relative_twist(joint, rng, derivative):
    for _ in range(5):
        q, v = joint.random(rng), rng.normal(size=joint.nv)
        rate = derivative(lambda t, q=q, v=v: joint_subspace(joint, joint_integrate(joint, q, v, t)) @ v)
        assert joint_bias(joint, q, v) == pytest.approx(rate, abs=1e-9)  # h⁴ |v|⁶/30 at h = 1e-3


def test_bias_is_quadratic_in_velocity(joint, rng):
    q, v = joint.random(rng), rng.normal(size=joint.nv)
    bias = joint_bias(joint, q, v)
    # The same products in the same order: only powers of two are taken out, so this is exact.
    assert (joint_bias(joint, q, -2.0 * v) == 4.0 * bias).all()
    assert not joint_bias(joint, q, 0.0 * v).any()


def test_orientations_stay_unit_over_many_steps(rng):
    linkage = lw.Linkage("tops")
    linkage.add_body("ball", joint=lw.Spherical(), inertia=lw.Inertia.sphere(1.0, 0.1))
    linkage.add_body("free", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1))
    model = linkage.compile()
    q, v = model.random_state(rng)
    for _ in range(100_000):
        q = model.integrate(q, v, 0.01)
    ball, free = q[:4], q[7:11]
    # Each step normalizes, so nothing accumulates: one step's rounding is all there is.
    assert np.linalg.norm(ball) == pytest.approx(1.0, abs=20 * EPS)
    assert np.linalg.norm(free) == pytest.approx(1.0, abs=20 * EPS)


def test_pose_is_rigid(joint, rng):
    for _ in range(20):
        R = joint_pose(joint, joint.random(rng)).matrix[:3, :3]
        assert np.abs(R @ R.T - np.eye(3)).max() <= 100 * EPS  # products of up to four rotations
        assert np.linalg.det(R) == pytest.approx(1.0, abs=100 * EPS)


# -------------------------------------------------------------------------------------------------------------- reversal


def test_reversed_pose_is_the_inverse(joint, rng):
    other = joint.reversed()
    assert (other.nq, other.nv) == (joint.nq, joint.nv)
    for _ in range(10):
        q = joint.random(rng)
        there, back = joint_pose(joint, q), joint_pose(other, joint.reverse_coordinates(q))
        assert (there @ back).matrix == pytest.approx(np.eye(4), abs=100 * EPS)  # a dozen roundings


def test_reversed_velocity_is_the_same_motion_seen_from_the_other_side(joint, rng, twist_matrix):
    """The parent moves in the child by minus the child's twist, both seen in the parent frame."""
    other = joint.reversed()
    for _ in range(10):
        q, v = joint.random(rng), rng.normal(size=joint.nv)
        twist = joint_subspace(joint, q) @ v  # child in parent, child frame
        mirrored = joint_subspace(other, joint.reverse_coordinates(q)) @ joint.reverse_velocity(q, v)
        expected = -twist_matrix(joint_pose(joint, q).matrix) @ twist
        assert mirrored == pytest.approx(expected, abs=100 * EPS)  # some thirty roundings


def test_reversing_twice_changes_nothing(joint, rng):
    joint = with_every_option(joint)
    other, again = joint.reversed(), joint.reversed().reversed()
    for _ in range(10):
        q, v = joint.random(rng), rng.normal(size=joint.nv)
        q2, v2 = joint.reverse_coordinates(q), joint.reverse_velocity(q, v)
        assert other.reverse_coordinates(q2) == pytest.approx(q, abs=100 * EPS)
        assert other.reverse_velocity(q2, v2) == pytest.approx(v, abs=100 * EPS)
        assert joint_pose(again, q).matrix == pytest.approx(joint_pose(joint, q).matrix, abs=100 * EPS)
    for name in ("damping", "stiffness", "armature", "effort_limit"):
        assert (again.per_dof(name) == joint.per_dof(name)).all()
    assert (again.limit_pairs() == joint.limit_pairs()).all()
    assert again.rest_coordinates() == pytest.approx(joint.rest_coordinates(), abs=10 * EPS)
    assert not again.faults()


def test_reversed_joint_stores_the_same_energy(joint, rng):
    joint = with_every_option(joint)
    here, there = alone(joint), alone(joint.reversed())
    if isinstance(joint, lw.Free):
        # A spring between two frames has no mirror image when its slack position is off the frame's origin.
        assert not joint.rest_coordinates()[:3].any()
    for _ in range(10):
        q = joint.random(rng)
        stored = lw.energy(here, here.state(q)).potential
        mirrored = lw.energy(there, there.state(joint.reverse_coordinates(q))).potential
        assert mirrored == pytest.approx(stored, rel=100 * EPS, abs=100 * EPS)  # sums of a few squares


LIMITED = [kind for kind in JOINTS if kind not in ("spherical", "free", "fixed")]  # those have no coordinate to limit


@pytest.mark.parametrize("kind", LIMITED)
def test_reversed_limits_hold_at_the_same_poses(kind, rng):
    joint = with_every_option(JOINTS[kind])
    assert joint.limits is not None

    def holds(j, q):
        low, high = j.limit_pairs().T
        return bool(((low <= q) & (q <= high)).all())

    verdicts = set()
    for _ in range(100):
        q = rng.uniform(-8.0, 8.0, joint.nq) * rng.choice([0.1, 1.0])
        assert holds(joint, q) == holds(joint.reversed(), joint.reverse_coordinates(q))
        verdicts.add(holds(joint, q))
    assert verdicts == {True, False}


# Seen from the other side a free joint's velocity is that of another point.
@pytest.mark.parametrize("kind", [kind for kind in JOINTS if kind != "free"])
def test_reversed_damping_takes_the_same_power(kind, rng):
    joint = with_every_option(JOINTS[kind])
    q, v = joint.random(rng), rng.normal(size=joint.nv)
    mirrored = joint.reversed().per_dof("damping") @ joint.reverse_velocity(q, v) ** 2
    assert mirrored == pytest.approx(joint.per_dof("damping") @ v**2, rel=20 * EPS)


# ---------------------------------------------------------------------------------------------------------------- agreement


def test_kinds_that_are_special_cases_of_others(rng):
    """A thread without pitch is a hinge; a cylindrical joint is a hinge and a slider; a ball turns like a free joint."""
    axis, point = (1.0, 2.0, -1.0), (0.2, 0.1, 0.4)
    for q in rng.uniform(-3.0, 3.0, (10, 2)):
        hinge = joint_pose(lw.Revolute(axis, point), q[:1])
        assert joint_pose(lw.Screw(axis, point, pitch=0.0), q[:1]) == hinge
        pair = lw.Compound([lw.Revolute(axis), lw.Prismatic(axis)])
        assert joint_pose(lw.Cylindrical(axis), q) == joint_pose(pair, q)
        turn = rng.normal(size=4)
        turn /= np.linalg.norm(turn)
        assert joint_pose(lw.Spherical(), turn).rotation == joint_pose(lw.Free(), [0, 0, 0, *turn]).rotation


@pytest.mark.parametrize("normal", [(0, 0, 1), (1, 0, 0), (-1, 0, 0), (0, -1, 0), (1, 1e-9, 0), (1, 1, 1)])
def test_a_plane_of_any_normal_has_two_directions(normal):
    joint = lw.Planar(normal)
    assert joint.faults() == []
    first, second, third = (np.array(s.slide) + np.array(s.axis) for s in joint.screws)
    # a right-handed orthonormal frame; the worst normal here loses no digit that matters at 1e-12
    assert np.stack([first, second, third]) @ np.stack([first, second, third]).T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.cross(first, second) == pytest.approx(third, abs=1e-12)


# ----------------------------------------------------------------------------------------------------------------- refused


def test_wrong_shapes_are_refused(joint):
    q, v, long_q, long_v = joint.neutral(), np.zeros(joint.nv), np.zeros(joint.nq + 1), np.zeros(joint.nv + 1)
    calls = {
        "q": [
            lambda: joint_pose(joint, long_q),
            lambda: joint_subspace(joint, long_q),
            lambda: joint_bias(joint, long_q, v),
            lambda: joint_integrate(joint, long_q, v),
        ],
        "v": [lambda: joint_bias(joint, q, long_v), lambda: joint_integrate(joint, q, long_v)],
        "q0": [lambda: joint_difference(joint, long_q, q)],
        "q1": [lambda: joint_difference(joint, q, long_q)],
    }
    for name, functions in calls.items():
        for call in functions:
            with pytest.raises(lw.StateError, match=rf"^{name} has shape .* a {type(joint).__name__} joint needs"):
                call()
    with pytest.raises(lw.StateError, match="must be an array of numbers"):
        joint_pose(joint, ["up"] * joint.nq or "up")


def test_a_joint_that_cannot_be_is_refused():
    with pytest.raises(lw.ModelError, match="axis is zero"):
        joint_pose(lw.Revolute((0, 0, 0)), [0.1])
