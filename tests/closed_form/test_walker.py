"""The compass walker against what is known of it: table 1 of the source, conservation laws, the published gait."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.scenarios.walker.gait import (
    BEFORE_STRIKE,
    Walker,
    clearance,
    find_root,
    first_step,
    foot_place,
    reach,
    standing,
    strike,
    walk,
    walk_one_step,
)
from linkwork.scenarios.walker.limit_cycle import find_gait, stance_at


@pytest.fixture(scope="module")
def gait():
    return find_gait(Walker())


def table_1():
    return standing(Walker(), *map(np.array, BEFORE_STRIKE))


def test_table_1_is_the_moment_of_the_strike():
    """Its angles put both feet on the slope: to the four digits printed, times the leg."""
    assert clearance(Walker(), table_1()) == pytest.approx(0.0, abs=1e-4)
    assert reach(Walker(), table_1()) > 0.5


def test_impact_is_that_of_the_published_equations():
    """Eq. 23 for point masses: angular momentum of all about the new foot, of the old stance leg about the hip."""
    before = table_1()
    after, loss = strike(before)
    places, speeds = point_masses(before)
    foot, hip = foot_place(before, "right_foot"), places[1]
    new_places, new_speeds = point_masses(after)
    np.testing.assert_allclose(
        new_places, places, atol=rounding(scale=2.0)
    )  # nothing moves in an impact of no duration

    def about(point, masses, r, v):
        return sum(m * np.cross(x - point, u)[1] for m, x, u in zip(masses, r, v, strict=True))

    masses = (1.0, 2.0, 1.0)  # left leg, hip, right leg
    assert about(foot, masses, new_places, new_speeds) == pytest.approx(about(foot, masses, places, speeds), abs=1e-12)
    left = (masses[:1], places[:1], speeds[:1]), (masses[:1], new_places[:1], new_speeds[:1])
    assert about(hip, *left[1]) == pytest.approx(about(hip, *left[0]), abs=1e-12)
    assert loss.angular_momentum == pytest.approx(np.zeros(3), abs=1e-12)  # about the new foot, where the impulse acts
    assert loss.kinetic_energy > 0.0


def point_masses(stance):
    """Places and velocities in the world of left leg's mass, hip, right leg's mass, shape (3, 3) each."""
    model, state = stance.model, stance.state
    T, V = lw.body_poses(model, state), lw.body_twists(model, state)
    where = (("left_leg", (0, 0, 0.5)), ("left_leg", (0, 0, 1.0)), ("right_leg", (0, 0, -0.5)))
    places, speeds = [], []
    for name, at in where:
        i = model.body(name)
        places.append(T[i, :3, :3] @ at + T[i, :3, 3])
        speeds.append(T[i, :3, :3] @ (V[i, 3:] + np.cross(V[i, :3], at)))
    return np.array(places), np.array(speeds)


def test_gait_is_the_published_one(gait):
    """Hiskens (2001) starts this cycle at stance 0.2187, swing -0.3234 rad, -1.0918, -0.3772 rad/s; 4 digits printed, and
    a slope of 0.0524 rad where others write 3°."""
    stance, rate, hip_rate = gait.start
    assert stance == pytest.approx(0.2187, abs=2e-4)
    assert stance + gait.walker.double_support(stance) == pytest.approx(-0.3234, abs=2e-4)
    assert rate == pytest.approx(-1.0918, abs=2e-3)
    assert rate + hip_rate == pytest.approx(-0.3772, abs=2e-3)


def test_fixed_point_is_sharp_and_stable(gait):
    assert gait.residual < 1e-9  # asked; Newton leaves some 1e-14
    assert gait.is_stable
    assert np.abs(gait.multipliers).max() < 0.99
    assert gait.period == pytest.approx(0.734, abs=1e-3)  # as four digits of the published cycle give it


def test_a_hundred_steps_end_on_the_fixed_point(gait):
    walker = Walker()
    steps = walk(walker, first_step(walker), 100, record=True)
    # The largest multiplier is 0.58: after 100 steps the way to the cycle is rounding. The integrator's own error, some
    # 1e-11, is the same in both.
    end = np.array([steps[-1].end.state.q[0], *steps[-1].end.state.v])
    np.testing.assert_allclose(end, gait.start, atol=1e-9)
    assert max(step.energy_drift for step in steps) < 1e-9  # [J] of some 40 J
    # What a strike takes, the slope gives: on the cycle the loss is weight times the height of a step.
    drop = 4.0 * 9.81 * gait.step_length * np.sin(walker.slope)
    assert steps[-1].loss.kinetic_energy == pytest.approx(drop, rel=1e-8)
    assert steps[-1].length == pytest.approx(gait.step_length, abs=1e-9)
    assert {step.start.foot for step in steps} == {"left_foot", "right_foot"}


def test_disturbances_shrink_as_the_multipliers_say(gait):
    """Along an eigenvector of the map; second-order terms are 1e-4 of the disturbance."""
    x = gait.start
    far = stance_at(gait.walker, x + 1e-3)
    ends = [np.array([s.end.state.q[0], *s.end.state.v]) - x for s in walk(gait.walker, far, 12)]
    rate = (np.linalg.norm(ends[11]) / np.linalg.norm(ends[3])) ** (1.0 / 8.0)
    assert rate == pytest.approx(abs(gait.multipliers[0]), rel=0.15)  # a complex pair: the norm wobbles about its decay


def test_strike_is_found_inside_the_step():
    """The foot is on the ground to rounding, though an integrator's step takes 2.5 ms, in which it falls a millimetre."""
    walker = Walker()
    step = walk_one_step(walker, first_step(walker))
    down = step.start._replace(state=step.before_strike)
    assert abs(clearance(walker, down)) < rounding(scale=2.0)  # two legs of a metre


def test_longer_legs_walk_the_same_way_slower(gait):
    """Similarity: lengths by l, times by √l, nothing else."""
    tall = find_gait(Walker(leg_length=2.0))
    assert tall.period == pytest.approx(np.sqrt(2.0) * gait.period, rel=1e-9)
    assert tall.step_length == pytest.approx(2.0 * gait.step_length, rel=1e-9)
    np.testing.assert_allclose(np.sort(np.abs(tall.multipliers)), np.sort(np.abs(gait.multipliers)), rtol=1e-5)


def test_heavier_all_over_walks_the_same_way(gait):
    heavy = find_gait(Walker(hip_mass=20.0, leg_mass=10.0), guess=gait.start)
    assert heavy.period == pytest.approx(gait.period, rel=1e-9)


def test_steep_slopes_have_no_stable_gait():
    with pytest.raises(lw.StateError, match=r"no stable one: .* modulus 1\.\d+ > 1"):
        find_gait(Walker(slope=0.08), require_stable=True)


@pytest.mark.parametrize("slope", [0.0, -0.05])
def test_level_ground_and_hills_have_none(slope):
    with pytest.raises(lw.StateError, match="cannot keep a passive walker going"):
        find_gait(Walker(slope=slope))


def test_a_fall_is_reported():
    walker = Walker()
    with pytest.raises(lw.StateError, match="falls forward after"):
        walk_one_step(walker, standing(walker, np.array([-0.5, 0.2]), np.array([-3.0, 0.0])))


def test_root_finding_meets_the_last_digit():
    assert find_root(lambda x: x**3 - 2.0, 0.0, 2.0, -2.0, 6.0) == pytest.approx(2.0 ** (1.0 / 3.0), abs=rounding())
    assert find_root(lambda x: x, 0.0, 1.0, 0.0, 1.0) == 0.0
