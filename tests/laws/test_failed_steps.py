"""A step that fails is taken back: state, time, count and all that follows are those of the last good step."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import StateError
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
    sim.set_effort(crank, 1e9)
    with pytest.raises(StateError):
        sim.step(1e-2, 3)
    assert (sim.steps_done, sim.time) == (4, before["time"])
    sim.set_effort(crank, 0.0)
    same_checkpoint(sim.checkpoint(), before)
    sim.step(1e-3, 4)
    gaps = lw.loop_gaps(model, sim.state)
    assert max(gaps.worst_gap, gaps.worst_slip) < 1e-9


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
