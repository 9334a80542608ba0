"""What a quasi-static simulation refuses, by name and before anything happened; and the smallest things it accepts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.model.library import MODELS

BAD_NUMBERS = [-1.0, math.nan, math.inf, -math.inf, "fine", None, [0.1]]


@pytest.fixture(scope="module")
def model():
    return lw.library.chain(joints=6, joint=lw.Revolute((0, 1, 0), stiffness=1.0)).compile()


@pytest.fixture
def sim(model):
    state = model.neutral()
    state.q[:] = 0.2
    simulation = lw.QuasiStatics(model, state)
    simulation.solve()
    return simulation


@pytest.fixture
def unchanged(sim):
    """The simulation, and after the test: nothing that was refused left anything behind."""
    before = sim.acceleration.copy(), sim.state.q
    yield sim
    sim.solve()
    assert (sim.acceleration == before[0]).all()
    assert (sim.state.q == before[1]).all()


# ------------------------------------------------------------------------------------------------------------ at the start


@pytest.mark.parametrize("value", [bad for bad in BAD_NUMBERS if bad is not None])
def test_bad_tolerances_are_refused(model, unchanged, value):
    for refuse in (
        lambda: lw.QuasiStatics(model, model.neutral(), tolerance=value),
        lambda: unchanged.solve(value),
        lambda: unchanged.refine(value),
    ):
        with pytest.raises(lw.StateError, match=r"tolerance is .*; it must be a finite number ≥ 0"):
            refuse()


def test_unknown_measures_are_refused_and_the_known_ones_named(model):
    with pytest.raises(lw.StateError, match=r"no measure 'relative'; choose one of absolute_linkage, relative_linkage"):
        lw.QuasiStatics(model, model.neutral(), measure="relative")


def test_a_start_in_motion_is_refused(model):
    state = model.neutral()
    state.v[3] = 1e-30
    with pytest.raises(lw.StateError, match="begins at rest; give a state with v = 0"):
        lw.QuasiStatics(model, state)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_start_that_is_no_place_is_refused(model, value):
    state = model.neutral()
    state.q[4] = value
    with pytest.raises(lw.StateError, match=r"q\[4\].*'link_4'"):
        lw.QuasiStatics(model, state)


def test_states_of_another_model_are_refused(model):
    other = lw.library.chain(joints=7).compile()
    with pytest.raises(lw.StateError, match=r"state.q has shape \(7,\); model 'chain' needs \(6,\)"):
        lw.QuasiStatics(model, other.neutral())


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_bad_weights_are_refused(model, value):
    weights = np.ones(6)
    weights[2] = value
    with pytest.raises(lw.StateError, match=r"weights\[2\] is .*must be finite and > 0"):
        lw.QuasiStatics(model, model.neutral(), weights=weights)


def test_weights_of_the_wrong_shape_or_kind_are_refused(model):
    with pytest.raises(lw.StateError, match=r"weights has shape \(5,\)"):
        lw.QuasiStatics(model, model.neutral(), weights=np.ones(5))
    with pytest.raises(lw.StateError, match="weights must be an array of numbers"):
        lw.QuasiStatics(model, model.neutral(), weights="heavy")


@pytest.mark.parametrize("value", [0, -3, 2.5, "many"])
def test_bad_budgets_are_refused(model, value):
    with pytest.raises(lw.StateError, match=r"max_active_joints is .*whole number ≥ 1"):
        lw.QuasiStatics(model, model.neutral(), max_active_joints=value)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "soon"])
def test_bad_deadlines_are_refused(model, value):
    with pytest.raises(lw.StateError, match=r"deadline is .*finite number > 0"):
        lw.QuasiStatics(model, model.neutral(), deadline=value)


@pytest.mark.parametrize("name", ["pendulum", "double_pendulum"])
def test_bodies_without_an_inverse_inertia_are_refused_by_name(name):
    model = MODELS[name]().compile()
    with pytest.raises(lw.ModelError, match=r"body '\w+' has a singular inertia"):
        lw.QuasiStatics(model, model.neutral())


# ------------------------------------------------------------------------------------------------------------------ loads


@pytest.mark.parametrize(
    "bad", [(math.nan, 0, 0), (0, math.inf, 0), (0, 0), (0, 0, 0, 0), 1.0, "up", ("a", 0, 0), None]
)
def test_bad_forces_points_and_targets_are_refused(unchanged, bad):
    spring = unchanged.apply_spring(2, target=(0, 0, 0), stiffness=1.0)
    load = unchanged.apply_wrench(2, force=(1, 0, 0))
    for what, refuse in {
        "force": lambda: unchanged.apply_wrench(3, force=bad),
        "torque": lambda: unchanged.apply_wrench(3, torque=bad, frame="world"),
        "at": lambda: unchanged.apply_wrench(3, force=(1, 0, 0), at=bad),
        "target": lambda: unchanged.apply_spring(3, target=bad, stiffness=1.0),
        "target ": lambda: unchanged.move_target(spring, bad),
        "torque ": lambda: unchanged.change_wrench(load, force=(9, 9, 9), torque=bad if bad is not None else "up"),
    }.items():
        with pytest.raises(lw.StateError, match=rf"^{what.strip()} "):
            refuse()
    assert load.force.tolist() == [[1, 0, 0]]  # a change refused in part is refused whole
    unchanged.clear(spring)
    unchanged.clear(load)


def test_unknown_bodies_and_joints_are_refused_by_name(unchanged):
    with pytest.raises(lw.ModelError, match="model 'chain' has no body 'link_9'"):
        unchanged.apply_wrench("link_9", force=(1, 0, 0))
    with pytest.raises(lw.ModelError, match="no joint 'link_x'"):
        unchanged.set_effort("link_x", 1.0)
    for body in ("world", -1, 6, 1.5, None):
        with pytest.raises(lw.StateError, match="is the world or does not exist; a load needs a body that can move"):
            unchanged.apply_wrench(body, force=(1, 0, 0))
        with pytest.raises(lw.StateError, match="is the world or does not exist"):
            unchanged.apply_spring(body, target=(1, 0, 0), stiffness=1.0)


def test_unknown_frames_are_refused(unchanged):
    with pytest.raises(lw.StateError, match="frame must be 'world' or 'body', not 'local'"):
        unchanged.apply_wrench(1, force=(1, 0, 0), frame="local")


@pytest.mark.parametrize("value", [0.0, *BAD_NUMBERS])
def test_bad_stiffnesses_are_refused(unchanged, value):
    with pytest.raises(lw.StateError, match=r"stiffness is .*finite number > 0"):
        unchanged.apply_spring(1, target=(0, 0, 0), stiffness=value)


@pytest.mark.parametrize("value", [math.nan, math.inf, (1.0, 2.0), "hard"])
def test_bad_efforts_are_refused(unchanged, value):
    with pytest.raises(lw.StateError, match="effort of 'link_3'"):
        unchanged.set_effort("link_3", value)


def test_loads_that_are_gone_or_no_springs_are_refused(unchanged, model):
    load = unchanged.apply_wrench(1, force=(1, 0, 0))
    with pytest.raises(lw.StateError, match="this load is not a spring"):
        unchanged.move_target(load, (0, 0, 0))
    unchanged.clear(load)
    foreign = lw.QuasiStatics(model, model.neutral()).apply_wrench(1, force=(1, 0, 0))
    for gone in (load, foreign):
        for refuse in (
            lambda gone=gone: unchanged.clear(gone),
            lambda gone=gone: unchanged.change_wrench(gone, force=(0, 0, 0)),
            lambda gone=gone: unchanged.move_target(gone, (0, 0, 0)),
        ):
            with pytest.raises(lw.StateError, match="not, or no longer, part of the simulation"):
                refuse()


def test_loads_act_on_welded_frames_and_parts_of_compound_joints():
    """A frame welded to a body, and a joint that became part of a compound, keep their names."""
    arm = lw.Linkage("arm")
    box = lw.Inertia.box(1.0, (0.1, 0.2, 0.3))
    arm.add_body("upper", joint=lw.Revolute((0, 1, 0)), inertia=box)
    arm.add_body("tool", "upper", lw.Fixed(), lw.Pose((0.0, 0.0, -0.5), rpy=(0.3, 0.2, 0.1)), box)
    model = arm.compile()
    place = model.frame("tool").pose.matrix
    by_name, by_hand = (lw.QuasiStatics(model, model.neutral(), tolerance=0.0) for _ in range(2))
    by_name.apply_wrench("tool", force=(1, 2, 3), at=(0.1, 0, 0), frame="body")
    by_hand.apply_wrench("upper", force=place[:3, :3] @ (1, 2, 3), at=(place @ (0.1, 0, 0, 1))[:3], frame="body")
    for each in (by_name, by_hand):
        each.solve()
    same = rounding(condition=10.0, scale=np.abs(by_hand.acceleration).max())
    assert by_name.acceleration == pytest.approx(by_hand.acceleration, rel=0, abs=same)


# ---------------------------------------------------------------------------------------------------- steps and settling


@pytest.mark.parametrize("value", [0.0, *BAD_NUMBERS])
def test_bad_step_sizes_are_refused(unchanged, value):
    for refuse in (
        lambda: unchanged.step(value),
        lambda: unchanged.run(value, 10),
    ):
        with pytest.raises(lw.StateError, match=r"h is .*finite number > 0"):
            refuse()


@pytest.mark.parametrize("value", [0, -1, 2.5, "ten", None])
def test_bad_numbers_of_steps_are_refused(unchanged, value):
    for refuse in (
        lambda: unchanged.step(1e-3, value),
        lambda: unchanged.run(1e-3, value),
    ):
        with pytest.raises(lw.StateError, match=r"number of steps is .*whole number ≥ 1"):
            refuse()


@pytest.mark.parametrize("value", [0.0, *(value for value in BAD_NUMBERS if value is not None)])
def test_bad_thresholds_of_settling_are_refused(unchanged, value):
    with pytest.raises(lw.StateError, match=r"tolerance is .*finite number > 0"):
        unchanged.settle(value)
    with pytest.raises(lw.StateError, match=r"max_sweeps is .*whole number ≥ 1"):
        unchanged.settle(max_sweeps=0)


def test_overflow_is_an_error_with_advice(model):
    sim = lw.QuasiStatics(model, model.neutral())
    sim.apply_wrench(3, force=(1e300, 0, 0))
    with pytest.raises(lw.StateError, match="too large"):
        sim.solve()


def test_results_cannot_be_written_to(sim):
    with pytest.raises(ValueError, match="read-only"):
        sim.acceleration[0] = 1.0
    with pytest.raises(lw.StateError, match="set_state"):
        sim.state.q[:] = 7.0
    assert sim.state.q[0] == 0.2


# ------------------------------------------------------------------------------------------------------------- small things


def test_nothing_and_almost_nothing_can_be_simulated():
    weld = lw.Linkage("weld")
    weld.add_body("rock", inertia=lw.Inertia.sphere(1.0, 0.1))
    for model in (lw.Linkage("empty").compile(), weld.compile(), weld.compile(merge_fixed=False)):
        sim = lw.QuasiStatics(model, model.neutral())
        for report in (sim.solve(), sim.refine(0.0), sim.step(1e-3), sim.run(1e-3, 3).last):
            assert (report.n_computed, report.error_bound, report.reached) == (0, 0.0, True)
        assert sim.settle().unbalanced == 0.0
        assert sim.acceleration.shape == (0,)


def test_a_single_body_is_computed_whole():
    rock = lw.Linkage("rock")
    rock.add_body("rock", joint=lw.Free(), inertia=lw.Inertia.sphere(2.0, 0.1))
    model = rock.compile()
    sim = lw.QuasiStatics(model, model.neutral())
    sim.apply_wrench("rock", force=(0, 0, 4.0), frame="world")
    report = sim.solve()
    assert report.n_computed == 1
    assert sim.acceleration == pytest.approx(
        [0, 0, 0, 0, 0, 2.0 - 9.81], abs=rounding(condition=1e2, scale=9.81)
    )  # a 6x6
