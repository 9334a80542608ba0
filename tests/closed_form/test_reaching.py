"""Planar arms: where they can reach is known, and where they end if a target is out of reach."""

import math

import numpy as np
import pytest

import linkwork as lw

LONG, SHORT = 1.0, 0.6


def two_links() -> lw.Model:
    linkage = lw.Linkage("two links")
    part = lw.Inertia.sphere(1.0, 0.05)
    linkage.add_body("upper", joint=lw.Revolute((0, 0, 1)), inertia=part)
    linkage.add_body("lower", "upper", lw.Revolute((0, 0, 1)), lw.Pose((LONG, 0, 0)), part)
    return linkage.compile()


def tip(model: lw.Model, state: lw.State) -> np.ndarray:
    return (lw.body_poses(model, state)[1] @ [SHORT, 0, 0, 1])[:3]


@pytest.mark.parametrize("seed", range(10))
def test_a_point_within_reach(seed):
    """The law of cosines gives the elbow."""
    model, rng = two_links(), np.random.default_rng(seed)
    far, angle = rng.uniform(LONG - SHORT + 0.01, LONG + SHORT - 0.01), rng.uniform(-np.pi, np.pi)
    goal = np.array([far * math.cos(angle), far * math.sin(angle), 0.0])
    result = lw.reach(model, model.random_state(rng), {"lower": lw.Target(point=goal, at=(SHORT, 0, 0))})
    assert result.reached
    assert np.abs(tip(model, result.state) - goal).max() <= 1e-8
    elbow = math.acos((far**2 - LONG**2 - SHORT**2) / (2 * LONG * SHORT))
    turned = math.remainder(result.state.q[1], 2 * np.pi)
    # The elbow moves, for a tip 1e-8 off, by at most that over the derivative of the distance.
    slope = LONG * SHORT * abs(math.sin(elbow)) / far
    assert abs(abs(turned) - elbow) <= 1e-7 / slope


@pytest.mark.parametrize("far", [LONG + SHORT + 0.01, 3.0, 100.0, 1e5, 1e7])
@pytest.mark.parametrize("seed", range(3))
def test_a_point_beyond_reach_stretches_the_arm_towards_it(far, seed):
    model, rng = two_links(), np.random.default_rng(seed)
    angle = rng.uniform(-np.pi, np.pi)
    towards = np.array([math.cos(angle), math.sin(angle), 0.0])
    target = lw.Target(point=far * towards, at=(SHORT, 0, 0))
    result = lw.reach(model, model.random_state(rng), {"lower": target})
    assert not result.reached
    assert result.reason == "nearest"
    # The cost is flat there: its digits are those of the distance, squared.
    assert np.abs(tip(model, result.state) - (LONG + SHORT) * towards).max() <= 1e-4 * max(1.0, far / 1e4)
    assert result.error == pytest.approx(far - LONG - SHORT, abs=1e-7, rel=1e-14)


def test_a_point_too_near_folds_the_arm():
    model = two_links()
    goal = np.array([0.1, 0.2, 0.0])
    result = lw.reach(model, model.random_state(3), {"lower": lw.Target(point=goal, at=(SHORT, 0, 0))})
    nearest = (LONG - SHORT) * goal / np.linalg.norm(goal)
    assert result.reason == "nearest"
    assert np.abs(tip(model, result.state) - nearest).max() <= 1e-4


def test_a_point_beside_the_plane_is_met_in_the_plane():
    model = two_links()
    result = lw.reach(model, model.random_state(1), {"lower": lw.Target(point=(0.9, 0.5, 0.3), at=(SHORT, 0, 0))})
    assert result.reason == "nearest"
    assert result.error == pytest.approx(0.3, abs=1e-9)
    assert np.abs(tip(model, result.state) - [0.9, 0.5, 0.0]).max() <= 1e-6


def test_looking_at_a_point():
    """A body on a ball joint turns its axis towards any point; half a turn from behind."""
    linkage = lw.Linkage("eye")
    linkage.add_body("eye", joint=lw.Spherical(), inertia=lw.Inertia.sphere(1.0, 0.1))
    model = linkage.compile()
    for goal in ((1.0, 2.0, 3.0), (0.0, 0.0, -2.0), (0.0, 0.0, 2.0)):
        result = lw.reach(model, model.neutral(), {"eye": lw.Target(look_at=goal)})
        assert result.reached
        axis = lw.body_poses(model, result.state)[0, :3, 2]
        assert np.abs(axis - np.array(goal) / np.linalg.norm(goal)).max() <= 1e-8
        assert lw.reach(model, model.neutral(), {"eye": lw.Target(direction=goal)}).reached


def test_a_point_that_is_looked_at_from_within_it():
    """Whatever the axis, it meets the point."""
    model = two_links()
    state = model.state(q=[0.3, -0.8])
    result = lw.reach(model, state, {"lower": lw.Target(look_at=tip(model, state), at=(SHORT, 0, 0))})
    assert result.reached
    assert np.array_equal(result.state.q, state.q)


def test_a_point_in_line_with_the_arm_is_left_by_the_limit_of_a_slide():
    """One slide along x between limits: the nearest point of the line."""
    linkage = lw.Linkage("slide")
    linkage.add_body("car", joint=lw.Prismatic((1, 0, 0), limits=(-1.0, 1.0)), inertia=lw.Inertia.sphere(1.0, 0.1))
    model = linkage.compile()
    for x, expected in ((0.3, 0.3), (5.0, 1.0), (-5.0, -1.0)):
        result = lw.reach(model, model.neutral(), {"car": (x, 0.5, 0.0)})
        assert result.state.q[0] == pytest.approx(expected, abs=1e-7)
        assert result.at_limits == (("car",) if abs(x) > 1 else ())


def test_a_loose_centre_of_mass():
    """A free body: its centre of mass goes where it is asked to."""
    linkage = lw.Linkage("stone")
    linkage.add_body("stone", joint=lw.Free(), inertia=lw.Inertia.sphere(2.0, 0.1).at(lw.Pose((0.3, 0, 0))))
    model = linkage.compile()
    result = lw.reach(model, model.neutral(), center_of_mass=(1.0, 2.0, 3.0))
    assert result.reached
    assert np.abs(lw.center_of_mass(model, result.state) - [1.0, 2.0, 3.0]).max() <= 1e-8
