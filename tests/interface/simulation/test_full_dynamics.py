"""What a full simulation refuses, by name and before anything happened; and what it does when numbers run away."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.dynamics.api import ALGORITHMS
from linkwork.model.library import MODELS
from linkwork.simulation.integrators.names import INTEGRATORS

BAD_NUMBERS = [-1.0, 0.0, math.nan, math.inf, -math.inf, "fine", None, [0.1]]


@pytest.fixture(scope="module")
def model():
    linkage = lw.Linkage("arm")
    box = lw.Inertia.box(1.0, (0.1, 0.1, 0.5)).at(lw.Pose((0, 0, -0.25)))
    linkage.add_body("shoulder", joint=lw.Spherical(), inertia=box)
    linkage.add_body("elbow", "shoulder", lw.Revolute((0, 1, 0)), lw.Pose((0, 0, -0.5)), box)
    linkage.add_body("wrist", "elbow", lw.Universal(), lw.Pose((0, 0, -0.5)), box)
    linkage.add_body("tool", "wrist", lw.Fixed(), lw.Pose((0, 0, -0.5)), box)
    return linkage.compile()


@pytest.fixture
def sim(model):
    return lw.FullDynamics(model, model.random_state(3))


@pytest.fixture
def unchanged(sim):
    """The simulation, and after the test: nothing that was refused left anything behind."""
    before = sim.acceleration
    yield sim
    assert (sim.acceleration == before).all()
    assert sim.time == 0.0
    assert sim.steps_done == 0
    assert sim.loads == ()


# ------------------------------------------------------------------------------------------------------------ at the start


def test_unknown_algorithms_and_integrators_are_refused_and_the_known_ones_named(model):
    with pytest.raises(lw.StateError, match=rf"no algorithm 'abba'; choose one of {', '.join(ALGORITHMS)}"):
        lw.FullDynamics(model, model.neutral(), algorithm="abba")
    with pytest.raises(lw.StateError, match=rf"no integrator 'euler'; choose one of {', '.join(INTEGRATORS)}"):
        lw.FullDynamics(model, model.neutral(), integrator="euler")


@pytest.mark.parametrize("value", BAD_NUMBERS)
@pytest.mark.parametrize("what", ["rtol", "atol"])
def test_bad_tolerances_are_refused(model, what, value):
    with pytest.raises(lw.StateError, match=rf"{what} is .*; it must be a finite number > 0"):
        lw.FullDynamics(model, model.neutral(), **{what: value})


def test_states_that_do_not_fit_are_refused(model):
    q, v = model.neutral()
    for bad, message in (
        (lw.State(q[:-1], v), r"state\.q has shape \(6,\); model 'arm' needs \(7,\)"),
        (lw.State(q, v[:-1]), r"state\.v has shape"),
        (lw.State(np.where(np.arange(7) == 4, math.nan, q), v), r"state\.q\[4\] is nan \(joint 'elbow'\)"),
        (lw.State(q, np.where(np.arange(6) == 3, math.inf, v)), r"state\.v\[3\] is inf \(joint 'elbow'\)"),
        (lw.State(2.0 * np.eye(7)[0], v), r"joint 'shoulder' has the orientation .* not a unit quaternion"),
    ):
        with pytest.raises(lw.StateError, match=message):
            lw.FullDynamics(model, bad)


def test_the_start_is_copied(model):
    state = model.random_state(3)
    kept = state.copy()
    sim = lw.FullDynamics(model, state)
    sim.step(1e-3, 3)
    assert (state.q == kept.q).all()
    with pytest.raises(lw.StateError, match="set_state"):
        sim.state.q[:] = 0.0
    assert sim.state.q.any()


# ---------------------------------------------------------------------------------------------------------------- stepping


@pytest.mark.parametrize("h", BAD_NUMBERS)
def test_bad_steps_are_refused(unchanged, h):
    for refuse in (lambda: unchanged.step(h), lambda: unchanged.run(h, 3)):
        with pytest.raises(lw.StateError, match=r"h is .*; it must be a finite number > 0"):
            refuse()


@pytest.mark.parametrize("n", [0, -1, 1.5, "two", None, True])
def test_bad_numbers_of_steps_are_refused(unchanged, n):
    for refuse in (lambda: unchanged.step(1e-3, n), lambda: unchanged.run(1e-3, n)):
        with pytest.raises(lw.StateError, match=r"the number of steps is .*; it must be a whole number ≥ 1"):
            refuse()


@pytest.mark.parametrize("integrator", [name for name in INTEGRATORS if name != "variational"])
def test_numbers_that_run_away_are_reported_with_the_time_and_the_last_good_state_stays(integrator, recwarn):
    """An explicit spring far too hard for the step: semi-implicit Euler and Runge-Kutta blow up, the others give up."""
    linkage = lw.Linkage("stiff", gravity=(0, 0, 0))
    joint = lw.Revolute((0, 0, 1), stiffness=1e300)
    linkage.add_body("wheel", joint=joint, inertia=lw.Inertia(1.0, moments=(1, 1, 1)))
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.state([1e-3]), integrator=integrator, implicit_joints=False)
    with pytest.raises(
        lw.StateError, match=r"the step of 10 s from t = \S+ s on \(step \d+\) failed: .* a smaller step may"
    ):
        sim.step(10.0, 1000)
    assert np.isfinite(np.concatenate(sim.state)).all()
    assert sim.time == 10.0 * sim.steps_done
    assert math.isfinite(sim.checkpoint()["time"])
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_a_failed_step_keeps_the_steps_before_it():
    model = lw.library.pendulum().compile()
    sim = lw.FullDynamics(model, model.state([0.3]), implicit_joints=False)
    sim.step(1e-2, 7)
    good = sim.state
    sim.set_motor("bob", position=0.0, stiffness=1e306)
    with pytest.raises(lw.StateError, match=r"from t = 0\.07 s on \(step 8\) failed"):
        sim.step(1e6, 5)
    assert sim.steps_done == 7
    assert (sim.state.q == good.q).all()
    sim.clear_motor("bob")
    sim.step(1e-2)
    assert sim.steps_done == 8


# ------------------------------------------------------------------------------------------------------------------- loads


def test_loads_on_nothing_are_refused(unchanged):
    for body in ("world", -1, 99, 1.5):
        with pytest.raises(lw.StateError, match="is the world or does not exist"):
            unchanged.apply_wrench(body, force=(1, 0, 0))
        with pytest.raises(lw.StateError, match="is the world or does not exist"):
            unchanged.apply_spring(body, target=(0, 0, 0), stiffness=1.0)
    with pytest.raises(lw.ModelError, match="no body 'ellbow'; did you mean 'elbow'"):
        unchanged.apply_wrench("ellbow", force=(1, 0, 0))


def test_bad_vectors_are_refused(unchanged):
    with pytest.raises(lw.StateError, match=r"force is \[nan, 0\.0, 0\.0\]; give finite numbers"):
        unchanged.apply_wrench("elbow", force=(math.nan, 0, 0))
    with pytest.raises(lw.StateError, match=r"torque has shape \(2,\)"):
        unchanged.apply_wrench("elbow", torque=(1, 0))
    with pytest.raises(lw.StateError, match=r"at is \[inf"):
        unchanged.apply_spring("elbow", target=(0, 0, 0), stiffness=1.0, at=(math.inf, 0, 0))
    with pytest.raises(lw.StateError, match=r"target is \[nan"):
        unchanged.apply_spring("elbow", target=(math.nan, 0, 0), stiffness=1.0)
    with pytest.raises(lw.StateError, match=r"frame must be 'world' or 'body', not 'tool'"):
        unchanged.apply_wrench("elbow", force=(1, 0, 0), frame="tool")


@pytest.mark.parametrize("value", BAD_NUMBERS)
def test_springs_need_a_stiffness(unchanged, value):
    with pytest.raises(lw.StateError, match=r"stiffness is .*; it must be a finite number > 0"):
        unchanged.apply_spring("elbow", target=(0, 0, 0), stiffness=value)


def test_loads_of_others_and_loads_that_are_gone_are_refused(model, unchanged):
    other = lw.FullDynamics(model, model.neutral())
    foreign = other.apply_wrench("elbow", force=(1, 0, 0))
    gone = unchanged.apply_wrench("elbow", force=(1, 0, 0), frame="world")
    unchanged.clear(gone)
    for load in (foreign, gone):
        for refuse in (
            lambda load=load: unchanged.change_wrench(load, force=(0, 0, 1)),
            lambda load=load: unchanged.clear(load),
            lambda load=load: unchanged.move_target(load, (0, 0, 1)),
        ):
            with pytest.raises(lw.StateError, match="not, or no longer, part of the simulation"):
                refuse()
    force = unchanged.apply_wrench("elbow", force=(1, 0, 0), frame="world")
    with pytest.raises(lw.StateError, match=r"not a spring; only what apply_spring\(\) made has a target"):
        unchanged.move_target(force, (0, 0, 1))
    unchanged.clear(force)


def test_a_load_on_a_welded_frame_acts_where_the_frame_is(model, sim):
    """The tool is welded to the wrist: the same force given on either is the same load."""
    on_tool = sim.apply_wrench("tool", force=(1, 2, 3), at=(0.1, 0, 0), frame="world")
    by_tool = sim.acceleration
    sim.clear(on_tool)
    sim.apply_wrench("wrist", force=(1, 2, 3), at=(0.1, 0, -0.5), frame="world")
    assert sim.acceleration == pytest.approx(by_tool, rel=0, abs=rounding(condition=1e3, scale=np.abs(by_tool).max()))


def test_many_world_loads_outgrow_their_table_and_go_in_any_order(sim):
    before = sim.acceleration
    loads = [sim.apply_wrench(k % 3, force=(k, 1, 2), frame="world") for k in range(11)]
    for load in (loads[3], loads[10], loads[0], loads[7]):
        sim.clear(load)
    left = [load for k, load in enumerate(loads) if k not in (3, 10, 0, 7)]
    assert list(sim.loads) == left
    fresh = lw.FullDynamics(sim.model, sim.state)
    for load in left:
        fresh.apply_wrench(load.bodies[0], load.force[0], frame="world")
    same = rounding(condition=1e3, scale=np.abs(fresh.acceleration).max())
    assert sim.acceleration == pytest.approx(fresh.acceleration, rel=0, abs=same)
    sim.clear_loads()
    assert sim.acceleration == pytest.approx(before, rel=0, abs=same)


def test_efforts_are_checked(unchanged):
    with pytest.raises(lw.StateError, match=r"effort of 'wrist' has shape \(1,\)"):
        unchanged.set_effort("wrist", 1.0)
    with pytest.raises(lw.StateError, match=r"effort of 'elbow' is \[nan\]; give finite numbers"):
        unchanged.set_effort("elbow", math.nan)
    with pytest.raises(lw.ModelError, match="no joint 'knee'"):
        unchanged.set_effort("knee", 1.0)


# ------------------------------------------------------------------------------------------------------------------ motors


def test_motors_are_for_joints_whose_coordinates_can_be_subtracted(model, unchanged):
    with pytest.raises(lw.StateError, match=r"joint 'shoulder' is a Spherical joint; a motor needs coordinates it can"):
        unchanged.set_motor("shoulder", position=0.0, stiffness=1.0)
    linkage = lw.Linkage("free")
    linkage.add_body("stone", joint=lw.Free(), inertia=lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    stone = linkage.compile()
    with pytest.raises(lw.StateError, match="joint 'stone' is a Free joint"):
        lw.FullDynamics(stone, stone.neutral()).set_motor("stone", velocity=1.0, damping=1.0)
    with pytest.raises(lw.ModelError, match="no joint 'knee'"):
        unchanged.set_motor("knee", position=0.0)


def test_bad_motors_are_refused(unchanged):
    for options, message in (
        ({"position": math.nan, "stiffness": 1.0}, r"position of the motor of 'elbow' is \[nan\]; give finite numbers"),
        ({"position": (1.0, 2.0), "stiffness": 1.0}, r"position of the motor of 'elbow' has shape \(2,\)"),
        ({"position": "up", "stiffness": 1.0}, "position of the motor of 'elbow' must be an array of numbers"),
        ({"position": 1.0, "stiffness": -1.0}, r"motor of 'elbow': stiffness is \[-1\.0\]; it must be ≥ 0"),
        ({"velocity": 1.0, "damping": -1.0}, r"motor of 'elbow': damping is \[-1\.0\]; it must be ≥ 0"),
        ({"velocity": 1.0, "stiffness": 1.0}, r"'elbow' has a stiffness but no position to hold; give position="),
    ):
        with pytest.raises(lw.StateError, match=message):
            unchanged.set_motor("elbow", **options)


def test_motors_may_be_set_anew_and_cleared_in_any_order():
    """Efforts by hand against those of a simulation, while motors come, change and go at random."""
    model = lw.library.chain(12).compile()
    sim = lw.FullDynamics(model, model.random_state(2))
    q, v = sim.state
    rng = np.random.default_rng(4)
    motors = {}
    for _ in range(120):
        k = int(rng.integers(12))
        if k in motors and rng.random() < 0.3:
            sim.clear_motor(f"link_{k}")
            del motors[k]
        else:
            motors[k] = position, velocity, stiffness, damping = rng.uniform(0.1, 1.0, size=4)
            sim.set_motor(f"link_{k}", position, velocity, stiffness, damping)
        expected = np.zeros(12)
        for k, (position, velocity, stiffness, damping) in motors.items():
            expected[k] = stiffness * (position - q[k]) + damping * (velocity - v[k])
        assert sim.acceleration == pytest.approx(lw.forward_dynamics(model, sim.state, expected), rel=1e-9)


def test_a_new_target_changes_its_own_motor_only():
    model = lw.library.chain(200).compile()
    sim = lw.FullDynamics(model, model.neutral())
    for k in range(200):
        sim.set_motor(f"link_{k}", position=0.0, stiffness=1.0)
    sim.step(1e-3)
    before = sim.checkpoint()["motor"]
    sim.set_motor("link_7", position=0.1, stiffness=2.0)
    sim.step(1e-3)
    changed = np.flatnonzero((sim.checkpoint()["motor"] != before).any(axis=1))
    assert changed.tolist() == [model.v_slice("link_7").start]


def test_clearing_a_motor_that_is_not_there_is_refused(unchanged):
    with pytest.raises(lw.StateError, match=r"joint 'elbow' has no motor to clear"):
        unchanged.clear_motor("elbow")
    unchanged.set_motor("elbow", position=1.0, stiffness=3.0)
    unchanged.clear_motor("elbow")


def test_a_motor_that_is_set_again_replaces_the_first(sim):
    sim.set_motor("wrist", position=(0.1, 0.2), stiffness=100.0)
    sim.set_motor("wrist", position=(0.1, 0.2), stiffness=3.0)
    other = lw.FullDynamics(sim.model, sim.state)
    other.set_motor("wrist", position=(0.1, 0.2), stiffness=(3.0, 3.0))
    assert (sim.acceleration == other.acceleration).all()


# ----------------------------------------------------------------------------------------------------------- loops and ends


@pytest.fixture(scope="module")
def triangle():
    hinge, bar = lw.Revolute((0, 0, 1)), lw.Inertia.box(1.0, (1.0, 0.1, 0.1)).at(lw.Pose((0.5, 0, 0)))
    linkage = lw.Linkage("four_bar", gravity=(0, -9.81, 0))
    linkage.add_body("crank", "world", hinge, inertia=bar)
    linkage.add_body("coupler", "crank", hinge, lw.Pose((1, 0, 0)), bar)
    linkage.add_body("rocker", "world", hinge, lw.Pose((1.2, 0, 0)), bar)
    linkage.add_loop(hinge, "coupler", "rocker", (lw.Pose((1, 0, 0)), lw.Pose((1, 0, 0))))
    return linkage.compile()


def test_open_loops_are_refused_at_the_start(triangle):
    with pytest.raises(lw.StateError, match=r"loops of model 'four_bar' are open by .* Begin at lw\.close_loops"):
        lw.FullDynamics(triangle, triangle.state([1.0, 0.5, 1.0]))
    shut = lw.close_loops(triangle, triangle.state([1.4, -1.2, 1.8]))
    slipping = lw.State(shut.q, np.array([1.0, 0.0, 0.0]))
    with pytest.raises(lw.StateError, match=r"and open at .* \(rad/s or m/s\)"):
        lw.FullDynamics(triangle, slipping)
    lw.FullDynamics(triangle, shut).step(1e-3)


def test_other_algorithms_are_refused_for_loops(triangle):
    with pytest.raises(lw.StateError, match=r"loops need the algorithm 'aba'; leave out algorithm='dense'"):
        lw.FullDynamics(triangle, triangle.neutral(), algorithm="dense")


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_nothing_that_moves_can_be_simulated(integrator):
    linkage = lw.Linkage("rock")
    linkage.add_body("rock", joint=lw.Fixed(), inertia=lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    model = linkage.compile()
    sim = lw.FullDynamics(model, model.neutral(), integrator=integrator)
    sim.step(0.1, 3)
    assert sim.steps_done == 3


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_library_model_keeps_its_energy_when_it_is_let_go(name):
    """Euler's rule takes velocities of the end of each step: after 20 of them it errs by a 20th of the kinetic energy."""
    model, steps = MODELS[name]().compile(), 20
    sim = lw.FullDynamics(model, model.neutral())
    before = sim.energy.total
    sim.step(1e-4, steps)
    allowed = 2.0 / steps * sim.energy.kinetic + 100.0 * np.finfo(float).eps * model.n_bodies * max(1.0, abs(before))
    assert abs(sim.energy.total - before) <= allowed


# -------------------------------------------------------------------------------------------------------------- checkpoints


def test_checkpoints_of_other_simulations_are_refused(model, unchanged):
    other = lw.FullDynamics(model, model.neutral(), integrator="rk4").checkpoint()
    with pytest.raises(lw.StateError, match=r"made with another integrator \('rk4', not .*same arguments"):
        unchanged.restore(other)
    with pytest.raises(lw.StateError, match="checkpoint of None, not of FullDynamics"):
        unchanged.restore({})
    mine = unchanged.checkpoint()
    with pytest.raises(lw.StateError, match=r"lacks time"):
        unchanged.restore({key: value for key, value in mine.items() if key != "time"})
    with pytest.raises(lw.StateError, match=r"another model or another version: its q has shape"):
        unchanged.restore({**mine, "q": mine["q"][:-1]})
    for option in (
        {"algorithm": "dca"},
        {"implicit_joints": False},
        {"rtol": 1e-2},
        {"atol": 1e-2},
        {"keep_momentum": False},
    ):
        other = lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler", **option).checkpoint()
        mine = lw.FullDynamics(model, model.neutral(), integrator="semi_implicit_euler")
        with pytest.raises(lw.StateError, match=rf"made with (an)?other {next(iter(option))} "):
            mine.restore(other)


def test_a_checkpoint_is_made_of_plain_things(sim):
    sim.step(1e-3)
    for value in sim.checkpoint().values():
        assert value is None or isinstance(value, (np.ndarray, int, float, str, bool))
