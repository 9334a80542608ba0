"""What an adaptive simulation refuses, by name and before anything happened; and what it does when numbers run away."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.adaptive.measures import MEASURES
from linkwork.simulation.integrators.names import INTEGRATORS

BOX = lw.Inertia.box(1.0, (0.1, 0.2, 0.5)).at(lw.Pose((0, 0, -0.25)))


def arm():
    linkage = lw.Linkage("arm")
    linkage.add_body("shoulder", joint=lw.Spherical(), inertia=BOX, joint_name="ball")
    linkage.add_body("elbow", "shoulder", lw.Revolute((0, 1, 0)), lw.Pose((0, 0, -0.5)), BOX, joint_name="hinge")
    linkage.add_body("wrist", "elbow", lw.Universal(), lw.Pose((0, 0, -0.5)), BOX, joint_name="cross")
    linkage.add_body("tool", "wrist", lw.Fixed(), lw.Pose((0, 0, -0.5)), BOX, joint_name="weld")
    return linkage


@pytest.fixture(scope="module")
def model():
    return arm().compile(merge_fixed=False)


@pytest.fixture
def sim(model):
    return lw.AdaptiveDynamics(model, model.random_state(3), tolerance=0.0)


@pytest.fixture
def unchanged(sim, model):
    """The simulation, and after the test: nothing that was refused left anything behind."""
    second = lw.AdaptiveDynamics(model, model.random_state(3), tolerance=0.0)
    yield sim
    assert sim.loads == ()
    assert sim.step(1e-3, 20) == second.step(1e-3, 20)
    assert (sim.state.q == second.state.q).all()
    assert (sim.state.v == second.state.v).all()


# ------------------------------------------------------------------------------------------------------------ at the start


def test_unknown_measures_and_integrators_are_refused_and_the_known_ones_named(model):
    with pytest.raises(lw.StateError, match=rf"no measure 'big'; choose one of {', '.join(MEASURES)}"):
        lw.AdaptiveDynamics(model, model.neutral(), measure="big")
    with pytest.raises(lw.StateError, match=rf"no integrator 'euler'.*choose one of {', '.join(INTEGRATORS)}"):
        lw.AdaptiveDynamics(model, model.neutral(), integrator="euler")


BAD = {
    "tolerance": [math.nan, -1e-9, -math.inf, "small", [0.1], 1j],
    "max_active_joints": [-1, 2.5, math.nan, "many", [3], True],
    "update_every": [0, -1, 1.5, math.inf, "often", None, True],
    "horizon": [0.0, -1.0, math.nan, math.inf, "far", [1.0]],
}


@pytest.mark.parametrize(("what", "value"), [(what, value) for what, values in BAD.items() for value in values])
def test_bad_numbers_are_refused_by_name(model, what, value):
    with pytest.raises(lw.StateError, match=what):
        lw.AdaptiveDynamics(model, model.neutral(), **{what: value})


@pytest.mark.parametrize("what", ["weights", "velocity_weights"])
def test_weights_that_do_not_fit_are_refused_by_name(model, what):
    for bad in (
        np.ones(5),
        np.ones((6, 1)),
        np.zeros(6),
        -np.ones(6),
        np.full(6, math.nan),
        np.full(6, math.inf),
        "six",
    ):
        with pytest.raises(lw.StateError, match=what):
            lw.AdaptiveDynamics(model, model.neutral(), **{what: bad})


def test_weights_are_copied(model):
    weights = np.ones(6)
    sim = lw.AdaptiveDynamics(model, model.neutral(), weights=weights)
    weights[:] = math.nan
    assert math.isfinite(sim.update_region(1e-3).error_bound)


def test_states_that_do_not_fit_are_refused(model):
    q, v = model.neutral()
    for bad, message in (
        (lw.State(q[:-1], v), r"state\.q has shape \(6,\); model 'arm' needs \(7,\)"),
        (lw.State(q, v[:-1]), r"state\.v has shape"),
        (lw.State(np.where(np.arange(7) == 4, math.nan, q), v), r"state\.q\[4\] is nan \(joint 'hinge'\)"),
        (lw.State(q, np.where(np.arange(6) == 3, math.inf, v)), r"state\.v\[3\] is inf \(joint 'hinge'\)"),
    ):
        with pytest.raises(lw.StateError, match=message):
            lw.AdaptiveDynamics(model, bad)


def test_the_start_is_copied(model):
    state = model.random_state(3)
    kept = state.copy()
    lw.AdaptiveDynamics(model, state, tolerance=0.0).step(1e-3, 3)
    assert (state.q == kept.q).all()
    assert (state.v == kept.v).all()


def test_loops_that_are_open_are_refused():
    linkage = arm()
    linkage.add_body("post", "world", lw.Revolute((0, 1, 0)), lw.Pose((1, 0, 0)), BOX)
    linkage.add_loop(lw.Spherical(), "post", "wrist", name="tie")
    model = linkage.compile()
    with pytest.raises(lw.StateError, match=r"loops of model 'arm' are open by .* Begin at lw\.close_loops"):
        lw.AdaptiveDynamics(model, model.neutral())


def test_singular_inertias_are_refused_with_the_body_named():
    linkage = lw.Linkage("needle")
    linkage.add_body("arm", joint=lw.Revolute((0, 1, 0)), inertia=BOX)
    point = lw.Inertia(mass=1.0, com=(0, 0, 0), moments=(0.0, 0.0, 0.0))
    linkage.add_body("point", "arm", lw.Spherical(), lw.Pose((0, 0, -0.5)), point)
    model = linkage.compile()
    with pytest.raises(lw.LinkworkError, match="point"):
        lw.AdaptiveDynamics(model, model.neutral())


# ------------------------------------------------------------------------------------------------------------ small models


def test_a_model_without_bodies_runs():
    model = lw.Linkage("nothing").compile()
    sim = lw.AdaptiveDynamics(model, model.neutral())
    report = sim.step(1e-3, 5)
    assert (report.n_active, report.energy, report.error_bound) == (0, 0.0, 0.0)
    assert sim.active_joints == []
    assert (sim.momentum.linear == 0.0).all()
    assert sim.time == pytest.approx(5e-3)
    sim.restore(sim.checkpoint())
    sim.update_region(1e-3)


def test_a_model_that_cannot_move_runs():
    linkage = lw.Linkage("rock")
    linkage.add_body("rock", joint=lw.Fixed(), inertia=BOX)
    linkage.add_body("moss", "rock", lw.Fixed(), lw.Pose((0, 0, 1)), BOX)
    model = linkage.compile(merge_fixed=False)
    sim = lw.AdaptiveDynamics(model, model.neutral(), tolerance=0.0)
    sim.apply_wrench("moss", force=(1, 2, 3), frame="world")
    report = sim.step(1e-3, 20)
    assert report.n_active == 0
    assert report.energy == pytest.approx(lw.energy(model, model.neutral()).total)
    sim.pin_active(model.joint_names[1])
    sim.pin_inactive(model.joint_names[0])
    sim.step(1e-3, 20)


def test_one_body_runs(rng):
    linkage = lw.Linkage("ball")
    linkage.add_body("ball", joint=lw.Free(), inertia=BOX)
    model = linkage.compile()
    state = model.random_state(rng)
    ours, full = lw.AdaptiveDynamics(model, state), lw.FullDynamics(model, state)
    ours.step(1e-3, 50)
    full.step(1e-3, 50)
    # Two programs, one by LDL and one by elimination, on a 6x6 whose condition is some 1e3.
    same = rounding(condition=1e3, scale=np.abs(full.state.v).max(), steps=50)
    assert ours.state.v == pytest.approx(full.state.v, abs=same)


# ------------------------------------------------------------------------------------------------------------- operations


@pytest.mark.parametrize("h", [0.0, -1e-3, math.nan, math.inf, "1", None, [1e-3]])
def test_bad_steps_are_refused(unchanged, h):
    with pytest.raises(lw.StateError, match=r"h is .*finite number > 0"):
        unchanged.step(h)


@pytest.mark.parametrize("n", [0, -1, 1.5, math.nan, "2", None, True])
def test_bad_numbers_of_steps_are_refused(unchanged, n):
    with pytest.raises(lw.StateError, match="number of steps"):
        unchanged.step(1e-3, n)


def test_an_update_needs_a_horizon(unchanged):
    with pytest.raises(lw.StateError, match="needs a horizon"):
        unchanged.update_region()
    for bad in (0.0, -1.0, math.nan, "soon"):
        with pytest.raises(lw.StateError, match="horizon"):
            unchanged.update_region(bad)


def test_unknown_joints_and_bodies_are_refused_everywhere(unchanged):
    for verb in (unchanged.pin_active, unchanged.pin_inactive, unchanged.unpin, unchanged.clear_motor):
        with pytest.raises(lw.LinkworkError, match="nose"):
            verb("nose")
    with pytest.raises(lw.LinkworkError, match="nose"):
        unchanged.set_effort("nose", 1.0)
    with pytest.raises(lw.LinkworkError, match="nose"):
        unchanged.set_motor("nose", position=1.0, stiffness=1.0)
    with pytest.raises(lw.LinkworkError, match="nose"):
        unchanged.apply_wrench("nose", force=(1, 0, 0))
    with pytest.raises(lw.StateError, match="body 4"):
        unchanged.apply_spring(4, target=(0, 0, 0), stiffness=1.0)


def test_what_is_not_pinned_cannot_be_unpinned_and_what_is_cannot_be_pinned_again(sim):
    with pytest.raises(lw.StateError, match="'hinge' is not pinned"):
        sim.unpin("hinge")
    sim.pin_active("hinge")
    for verb in (sim.pin_active, sim.pin_inactive):
        with pytest.raises(lw.StateError, match="'hinge' is pinned already"):
            verb("hinge")
    sim.unpin("hinge")
    sim.pin_inactive("hinge")
    with pytest.raises(lw.StateError, match="'hinge' is pinned already"):
        sim.pin_active("hinge")
    sim.unpin("hinge")
    with pytest.raises(lw.StateError, match="'hinge' is not pinned"):
        sim.unpin("hinge")


def test_motors_need_joints_with_a_coordinate_for_each_velocity(unchanged):
    with pytest.raises(lw.StateError, match=r"'ball'.*motor"):
        unchanged.set_motor("ball", stiffness=1.0)


@pytest.mark.parametrize(
    "wish",
    [
        {"stiffness": -1.0, "position": 0.0},
        {"damping": -1.0},
        {"stiffness": math.nan, "position": 0.0},
        {"position": math.inf, "stiffness": 1.0},
        {"velocity": math.nan, "damping": 1.0},
        {"position": (1.0, 2.0, 3.0), "stiffness": 1.0},
        {"position": "up", "stiffness": 1.0},
        {"stiffness": 1.0},
    ],
)
def test_bad_motors_are_refused(unchanged, wish):
    with pytest.raises(lw.StateError, match="motor of 'cross'"):
        unchanged.set_motor("cross", **wish)


def test_a_motor_takes_a_number_or_one_for_each_freedom(sim):
    sim.set_motor("cross", position=[0.1, 0.2], velocity=np.array([0.3, 0.4]), stiffness=2.0, damping=[1.0, 2.0])
    rows = sim.model.v_slice("cross")
    assert sim.checkpoint()["motor"][rows].tolist() == [[2.0, 1.0, 0.1, 0.3, 0.0], [2.0, 2.0, 0.2, 0.4, 0.0]]
    sim.clear_motor("cross")
    assert not sim.checkpoint()["motor"][rows].any()
    with pytest.raises(lw.StateError, match="'cross' has no motor"):
        sim.clear_motor("cross")


def test_bad_loads_are_refused(unchanged):
    for verb, options in (
        (unchanged.apply_wrench, {"force": (1, 2)}),
        (unchanged.apply_wrench, {"force": (1, 2, math.nan)}),
        (unchanged.apply_wrench, {"torque": (math.inf, 0, 0)}),
        (unchanged.apply_wrench, {"force": (1, 0, 0), "frame": "moon"}),
        (unchanged.apply_wrench, {"force": (1, 0, 0), "at": (0, 0)}),
        (unchanged.apply_spring, {"target": (0, 0, 0), "stiffness": 0.0}),
        (unchanged.apply_spring, {"target": (0, 0, math.nan), "stiffness": 1.0}),
    ):
        with pytest.raises(lw.StateError):
            verb("wrist", **options)
    with pytest.raises(lw.StateError, match="effort of 'hinge'"):
        unchanged.set_effort("hinge", math.nan)
    with pytest.raises(lw.StateError, match="effort of 'cross'"):
        unchanged.set_effort("cross", 1.0)


def test_a_load_of_another_simulation_is_refused(unchanged, model):
    other = lw.AdaptiveDynamics(model, model.neutral())
    for load in (
        other.apply_wrench("wrist", force=(1, 0, 0)),
        other.apply_spring("wrist", target=(0, 0, 0), stiffness=1.0),
    ):
        for verb in (unchanged.clear, lambda load: unchanged.change_wrench(load, force=(1, 2, 3))):
            with pytest.raises(lw.StateError, match="part of the simulation"):
                verb(load)
    load = other.loads[0]
    other.clear(load)
    with pytest.raises(lw.StateError, match="part of the simulation"):
        other.clear(load)
    with pytest.raises(lw.StateError, match="not a spring"):
        other.move_target(other.apply_wrench("wrist", force=(1, 0, 0), frame="world"), (0, 0, 0))


def test_what_comes_out_cannot_change_what_is_inside(sim):
    sim.step(1e-3)
    with pytest.raises(ValueError, match="read-only"):
        sim.acceleration[0] = 1.0
    with pytest.raises(lw.StateError, match="set_state"):
        sim.state.v[:] = math.nan
    assert np.isfinite(sim.state.v).all()


def test_a_checkpoint_that_does_not_fit_is_refused_and_leaves_everything_as_it_was(unchanged, model):
    other = arm()
    other.add_body("more", "tool", lw.Revolute((1, 0, 0)), lw.Pose((0, 0, -0.5)), BOX)
    longer = other.compile(merge_fixed=False)
    for bad in (
        lw.AdaptiveDynamics(longer, longer.neutral()).checkpoint(),
        lw.FullDynamics(model, model.neutral()).checkpoint(),
        {},
    ):
        with pytest.raises(lw.StateError, match="checkpoint"):
            unchanged.restore(bad)


# ---------------------------------------------------------------------------------------------------------------- overflow


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("base", [lw.Free(), lw.Spherical()], ids=["floating", "fixed"])
def test_overflow_keeps_the_last_good_state_says_when_and_lets_one_go_on(integrator, base, rng):
    linkage = arm()
    linkage.add_body("float", "world", base, lw.Pose((2, 0, 0)), BOX)
    linkage.add_body("fin", "float", lw.Revolute((1, 0, 0)), lw.Pose((0, 0, -0.5)), BOX)
    model = linkage.compile(merge_fixed=False)
    state = model.random_state(rng)
    sim, second = (lw.AdaptiveDynamics(model, state, tolerance=0.0, integrator=integrator) for _ in range(2))
    for s in (sim, second):
        s.step(1e-3, 5)
    load = sim.apply_wrench("fin", force=(1e300, 1e300, 0.0), torque=(1e300, 0, 0))
    with pytest.raises(lw.StateError, match=r"at 0\.005 s, step 5: "):
        sim.step(1.0, 50)
    assert (sim.steps_done, sim.time) == (5, pytest.approx(5e-3))
    assert (sim.state.q == second.state.q).all()
    assert (sim.state.v == second.state.v).all()
    sim.clear(load)
    second.clear(second.apply_wrench("fin", force=(1.0, 0.0, 0.0)))
    sim.step(1e-3, 20)
    second.step(1e-3, 20)
    assert sim.state.v == pytest.approx(second.state.v, abs=1e-9)
    assert sim.state.q == pytest.approx(second.state.q, abs=1e-9)


def test_numbers_that_grow_slowly_stop_a_run_at_a_finite_state():
    """An explicit spring far too stiff for its step: energy grows by a factor per step until numbers end."""
    linkage = lw.Linkage("stiff")
    linkage.add_body("mass", joint=lw.Prismatic((0, 0, 1), stiffness=1e9), inertia=BOX)
    model = linkage.compile()
    sim = lw.AdaptiveDynamics(model, model.state([0.1]), tolerance=0.0, implicit_joints=False)
    with pytest.raises(lw.StateError, match=r"at .* s, step \d+: "):
        sim.step(1e-2, 100_000)
    assert 0 < sim.steps_done < 100_000
    assert np.isfinite(sim.state.q).all()
    assert np.isfinite(sim.state.v).all()


def test_updates_that_another_follows_change_nothing_but_time():
    """Many steps in one call end in the same bits as one by one, bound and counts included; joints stop at updates."""
    model = lw.library.chain(joints=40).compile()
    start = model.random_state(3)
    settings = {"max_active_joints": 6, "update_every": 4}
    together, alone = (lw.AdaptiveDynamics(model, start, **settings) for _ in range(2))
    for steps in (1, 3, 17, 40):
        together.advance(1e-3, steps)
        for _ in range(steps):
            alone.advance(1e-3)
        assert np.array_equal(together.state.q, alone.state.q)
        assert np.array_equal(together.state.v, alone.state.v)
        assert together.report == alone.report
        assert math.isfinite(together.report.error_bound)
    assert together.report.region_changes > 5


def test_nothing_is_proven_of_an_update_that_was_cut_short():
    """The bound of an update that another was to follow is not measured; where a step between fails, none is reported."""
    model = lw.library.chain(joints=20).compile()
    sim = lw.AdaptiveDynamics(model, model.random_state(1), max_active_joints=5, update_every=4)
    sim.advance(1e-3, 8)
    assert math.isfinite(sim.report.error_bound)
    with pytest.raises(lw.StateError):
        sim.advance(1e100, 8)
    assert math.isnan(sim.report.error_bound)


def test_nothing_is_proven_before_the_first_update():
    model = lw.library.chain(joints=20).compile()
    sim = lw.AdaptiveDynamics(model, model.random_state(1), tolerance=1.0)
    assert math.isnan(sim.report.error_bound)
    assert not sim.report.reached
    assert math.isnan(sim.scalars()["error_bound"])
    sim.step(1e-4)
    assert sim.report.error_bound <= 1.0
    assert sim.report.reached
