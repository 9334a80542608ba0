"""A step that fails is taken back: state, time, count and all that follows are those of the last good step."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import StateError
from linkwork.simulation import moving as mv
from linkwork.simulation.integrators.names import INTEGRATORS

GOOD = 7
KEPT = ("q", "v", "time", "steps_done", "kept_momentum", "substep", "effort", "motor")


def full(model, state, integrator):
    return lw.FullDynamics(model, state, integrator=integrator)


def adaptive(model, state, integrator):
    return lw.AdaptiveDynamics(model, state, max_active_joints=5, update_every=3, integrator=integrator)


def same_checkpoint(one, other):
    for name in KEPT:
        assert np.array_equal(np.asarray(one[name]), np.asarray(other[name])), name


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("make", [full, adaptive])
def test_overflow_is_taken_back(make_tree, make, integrator):
    """A force beyond all numbers strikes in the middle of a run; without it the run goes on as if nothing had been."""
    model = make_tree(seed=2, bodies=12, base=lw.Free(), damping=True, stiffness=True)
    state = model.random_state(3, speed=0.3)
    sim, plain = make(model, state, integrator), make(model, state, integrator)
    for each in (sim, plain):
        each.step(1e-3, GOOD)
        each.load = each.apply_wrench(5, force=(0.1, 0.2, 0.3))
        each.step(1e-3)
    before = plain.checkpoint()
    sim.change_wrench(sim.load, force=(1e300, -1e300, 1e300))
    with pytest.raises(StateError):
        sim.step(1e-3, 20)
    assert sim.steps_done == GOOD + 1
    assert sim.time == plain.time
    same_checkpoint(sim.checkpoint(), before)
    sim.change_wrench(sim.load, force=(0.1, 0.2, 0.3))
    if make is full:
        sim.step(1e-3, 10)
        plain.step(1e-3, 10)
        assert (sim.state.q == plain.state.q).all()
        assert (sim.state.v == plain.state.v).all()
    else:
        sim.step(1e-3, 10)
        assert sim.steps_done == GOOD + 11
        assert np.isfinite(sim.state.q).all()


@pytest.mark.parametrize("make", [full, adaptive])
def test_a_step_that_fails_among_good_ones_keeps_those(make):
    """A body that runs away under a spring too stiff for the step: hundreds of good steps, then numbers overflow."""
    linkage = lw.Linkage("slider", gravity=(0, 0, 0))
    linkage.add_body("box", joint=lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    model = linkage.compile()
    sim, steps = (
        make(model, model.state([0.1], [1.0]), "semi_implicit_euler"),
        make(model, model.state([0.1], [1.0]), "semi_implicit_euler"),
    )
    for each in (sim, steps):
        each.apply_spring("box", target=(0.0, 0.0, 0.0), stiffness=1e6)
    with pytest.raises(StateError):
        sim.step(0.1, 10_000)
    assert 10 < sim.steps_done < 1000
    assert sim.time == pytest.approx(0.1 * sim.steps_done)
    assert np.isfinite(sim.state.q).all()
    for _ in range(sim.steps_done):
        steps.step(0.1)
    assert (sim.state.q == steps.state.q).all()
    with pytest.raises(StateError):
        steps.step(0.1)
    assert steps.steps_done == sim.steps_done


@pytest.mark.parametrize("make", [full, adaptive])
def test_a_midpoint_step_far_too_long(make):
    model = lw.library.chain(joints=6, joint=lw.Spherical((0.05, -0.02, 0.03))).compile()
    sim = make(model, model.random_state(1, speed=5.0), "implicit_midpoint")
    sim.step(1e-4, 3)
    before = sim.checkpoint()
    with pytest.raises(StateError, match="did not converge"):
        sim.step(3.0, 5)
    assert sim.steps_done == 3
    same_checkpoint(sim.checkpoint(), before)
    sim.step(1e-4, 3)
    assert sim.steps_done == 6
    assert sim.time == pytest.approx(6e-4)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("make", [full, adaptive])
def test_loops_that_come_apart_are_taken_back(make, integrator):
    """A crank hit so hard that one step would carry it round: the loops cannot be closed again."""
    model = lw.library.four_bar().compile()
    start = lw.close_loops(model, model.neutral())
    sim = make(model, start, integrator)
    sim.step(1e-3, 4)
    before = sim.checkpoint()
    crank = model.joint_names[0]
    sim.set_effort(crank, 1e30)
    with pytest.raises(StateError):
        sim.step(1e-2, 3)
    assert (sim.steps_done, sim.time) == (4, before["time"])
    sim.set_effort(crank, 0.0)
    same_checkpoint(sim.checkpoint(), before)
    sim.step(1e-3, 4)
    gaps = lw.loop_gaps(model, sim.state)
    assert max(gaps.worst_gap, gaps.worst_slip) < 1e-9


# Entries of `numbers` that belong to one family of integrators each: to substeps with error control, and to the energy that
# variational steps have made.
OF_ERROR_CONTROL = (mv.RTOL, mv.ATOL, mv.ERROR_BEFORE)
OF_ENERGY = (
    *range(mv.STEP_HISTORY.start, mv.STEP_HISTORY.stop),
    *range(mv.STEP_HISTORY_BEFORE, mv.STEP_HISTORY_BEFORE + mv.STEP_HISTORY_SIZE),
    *range(mv.START_NUMBERS + 1, mv.NUMBERS),
    *(mv.ENERGY_GAP, mv.LAST_CHANGE),
)
OF_OTHERS = {"variational": list(OF_ERROR_CONTROL), "dormand_prince": list(OF_ENERGY)}


def failing(shape, integrator, others):
    """A simulation 30 steps on, its numbers then, and those after a step that failed. others: number that stands in the
    entries that belong to other integrators, from the first step on; None leaves what is there."""
    if shape == "tree":
        model = lw.library.chain(joints=6).compile()
        state = model.random_state(3, speed=3.0)
    else:
        model = lw.library.four_bar().compile()
        state = lw.close_loops(model, model.neutral())
    sim = full(model, state, integrator)
    if others is not None:
        sim.view.moving.numbers[OF_OTHERS[integrator]] = others
    sim.step(1e-2, 30)
    before = sim.view.moving.numbers.copy()
    if shape == "loops":  # the crank is hit so hard that no step closes them
        sim.set_effort(model.joint_names[0], 1e30)
    with pytest.raises(StateError):
        sim.step(1e-2 if shape == "loops" else 1e155)
    assert sim.steps_done == 30
    return sim, before, sim.view.moving.numbers.copy()


@pytest.mark.parametrize("shape", ["tree", "loops"])
@pytest.mark.parametrize("integrator", OF_OTHERS)
def test_what_one_integrator_remembers_is_not_taken_for_what_another_does(shape, integrator):
    """A step that fails puts back its own numbers, and leaves those of others, whatever they are; nor does it read them."""
    sim, before, after = failing(shape, integrator, None)
    strange, mine, found = failing(shape, integrator, np.nan)
    own = {"variational": [mv.ENERGY_DEBT, mv.PROPOSED_STEP], "dormand_prince": [mv.PROPOSED_STEP]}[integrator]
    assert np.array_equal(after[own], before[own])
    if integrator == "variational":
        assert before[mv.ENERGY_DEBT] != 0.0  # there was something to put back
        assert shape == "loops" or np.array_equal(after[mv.STEP_HISTORY], before[mv.STEP_HISTORY])
    else:
        assert np.isfinite(before[mv.PROPOSED_STEP])
    assert np.isnan(found[OF_OTHERS[integrator]]).all()
    rest = np.setdiff1d(np.arange(mv.NUMBERS), OF_OTHERS[integrator])
    np.testing.assert_array_equal(mine[rest], before[rest])
    np.testing.assert_array_equal(found[rest], after[rest])
    assert np.concatenate(strange.state).tobytes() == np.concatenate(sim.state).tobytes()


def test_an_update_of_the_region_that_fails_changes_nothing(make_tree):
    """Metrics overflow where accelerations do."""
    model = make_tree(seed=2, bodies=12, base=lw.Free(), damping=True, stiffness=True)
    sim = lw.AdaptiveDynamics(model, model.random_state(3, speed=0.3), tolerance=0.1, update_every=3)
    sim.step(1e-3, 6)
    before = sim.checkpoint()
    load = sim.apply_wrench(9, force=(1e300, 0.0, 0.0))
    with pytest.raises(StateError):
        sim.step(1e-3, 3)
    assert (sim.steps_done, sim.time) == (6, before["time"])
    sim.clear(load)
    same_checkpoint(sim.checkpoint(), before)
    sim.step(1e-3, 6)
    assert sim.steps_done == 12


def test_quasi_statics_takes_back_too(make_tree):
    model = make_tree(seed=2, bodies=12, damping=True, stiffness=True)
    sim = lw.QuasiStatics(model, model.neutral(), max_active_joints=6)
    sim.step(1e-3, 4)
    q, time = sim.state.q, sim.time
    load = sim.apply_wrench(9, force=(1e300, 0.0, 0.0))
    with pytest.raises(StateError):
        sim.step(1e-3, 3)
    assert (sim.steps_done, sim.time) == (4, time)
    assert (sim.state.q == q).all()
    sim.clear(load)
    sim.step(1e-3, 3)
    assert sim.steps_done == 7


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("make", [full, adaptive])
def test_a_gimbal_lock_in_a_loop_is_told_as_one(make, integrator):
    """The compound that holds the end of a bar to a plane has three hinges; its middle one comes to a right angle."""
    linkage = lw.Linkage("gimbal", gravity=(0, 0, 0))
    X, Y, Z = np.eye(3)
    rod = lw.Inertia.box(1.0, (1, 0.1, 0.1)).at(lw.Pose((0.5, 0, 0)))
    linkage.add_body("bar", joint=lw.Revolute(Y), inertia=rod)
    plane = lw.Compound([lw.Prismatic(X), lw.Prismatic(Z), lw.Revolute(X), lw.Revolute(Y), lw.Revolute(Z)])
    linkage.add_loop(plane, "world", "bar", (lw.Pose((1, 0, 0)), lw.Pose((1, 0, 0))))
    model = linkage.compile()
    sim = make(model, model.state([0.5 * np.pi - 0.01], [1.0]), integrator)
    with pytest.raises(StateError, match="gimbal lock"):
        sim.step(1e-3, 20)
    assert sim.steps_done == 9
