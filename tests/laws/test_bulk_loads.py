"""Loads on many bodies in one call are the same loads given one by one, in every simulation."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.loads import wrenches_of
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.errors import StateError

SIMULATIONS = {
    "full": lambda model, state: lw.FullDynamics(model, state),
    "adaptive": lambda model, state: lw.AdaptiveDynamics(model, state, max_active_joints=6, update_every=3),
    "quasi-static": lambda model, state: lw.QuasiStatics(
        model, lw.State(state.q, 0.0 * state.v), max_active_joints=100
    ),
}


@pytest.fixture(params=SIMULATIONS.values(), ids=SIMULATIONS.keys())
def make(request):
    return request.param


@pytest.fixture
def model(make_tree):
    return make_tree(seed=2, bodies=16, base=lw.Free(), damping=True, stiffness=True, armature=True)


def one_by_one(sim, bodies, wrenches, frame, at):
    return [
        sim.apply_wrench(int(body), force=w[3:], torque=w[:3], frame=frame, at=x)
        for body, w, x in zip(bodies, wrenches, np.broadcast_to(at, (len(bodies), 3)), strict=True)
    ]


def same_course(one, other, steps=8):
    """The same accelerations to rounding, for some steps: sums of several loads are formed in another order."""
    for _ in range(steps):
        one.step(1e-3)
        other.step(1e-3)
        scale = 1.0 + np.abs(one.acceleration).max()
        assert one.acceleration == pytest.approx(
            other.acceleration, rel=0, abs=rounding(condition=1e4, scale=scale, steps=steps)
        )
    assert one.state.q == pytest.approx(other.state.q, rel=0, abs=rounding(condition=1e4, scale=10.0, steps=steps))


@pytest.mark.parametrize("frame", ["world", "body"])
def test_many_at_once_equal_each_for_itself(model, make, rng, frame):
    """With bodies that occur twice, points of their own, and a change of all of them on the way."""
    state = model.random_state(rng, speed=0.3)
    bodies = np.array([3, 9, 9, 14, 0, 3, 9])
    wrenches, at = rng.normal(size=(2, 7, 6))
    at = at[:, :3]
    one, other = make(model, state), make(model, state)
    load = one.apply_wrenches(bodies, wrenches, frame=frame, at=at)
    singles = one_by_one(other, bodies, wrenches, frame, at)
    assert wrenches_of(one) == pytest.approx(wrenches_of(other), rel=0, abs=rounding(scale=20.0))
    assert np.abs(wrenches_of(one)).max() > 1.0
    same_course(one, other)
    wrenches = rng.normal(size=(7, 6))
    one.set_wrenches(load, wrenches)
    for single, w in zip(singles, wrenches, strict=True):
        other.change_wrench(single, force=w[3:], torque=w[:3])
    same_course(one, other)
    assert len(one.loads) == 1
    one.clear(load)
    for single in singles[::-1]:
        other.clear(single)
    assert one.loads == other.loads == ()
    assert not wrenches_of(one).any()
    same_course(one, other)


def test_names_frames_and_one_point_for_all(model, make, rng):
    state = model.random_state(rng, speed=0.3)
    names, wrenches = ["body_4", "body_11", "body_4"], rng.normal(size=(3, 6))
    one, other = make(model, state), make(model, state)
    one.apply_wrenches(names, wrenches, at=(0.1, 0.2, 0.3))
    one_by_one(other, [model.body(name) for name in names], wrenches, "world", (0.1, 0.2, 0.3))
    same_course(one, other)


def test_clearing_one_leaves_the_others(model, make, rng):
    """Rows of the world's loads move up when one goes: in every order, the ones that stay keep acting and their handles."""
    state = model.random_state(rng, speed=0.3)
    bodies = [np.array([1, 5, 5]), np.array([7]), np.array([2, 15, 8, 1])]
    wrenches = [rng.normal(size=(b.size, 6)) for b in bodies]
    for gone in range(3):
        sim, fresh = make(model, state), make(model, state)
        loads = [sim.apply_wrenches(b, w) for b, w in zip(bodies, wrenches, strict=True)]
        sim.clear(loads[gone])
        stay = [k for k in range(3) if k != gone]
        new = [rng.normal(size=wrenches[k].shape) for k in stay]
        for k, w in zip(stay, new, strict=True):
            sim.set_wrenches(loads[k], w)
            fresh.apply_wrenches(bodies[k], w)
        assert wrenches_of(sim) == pytest.approx(wrenches_of(fresh), rel=0, abs=rounding(scale=20.0))
        same_course(sim, fresh, steps=3)
        with pytest.raises(StateError, match="not, or no longer, part of the simulation"):
            sim.set_wrenches(loads[gone], wrenches[gone])


@pytest.mark.parametrize("again", [True, False], ids=["applied again", "from the checkpoint"])
def test_a_checkpoint_goes_on_in_the_same_bits(model, make, rng, again):
    state = model.random_state(rng, speed=0.3)
    wrenches = rng.normal(size=(5, 6))

    def loaded():
        sim = make(model, state)
        gone = sim.apply_wrench(3, force=(1.0, 2.0, 3.0))
        world = sim.apply_wrenches(np.array([2, 9, 2, 4, 12]), wrenches, at=(0.1, 0.0, 0.0))
        fixed = sim.apply_wrenches(np.array([5, 5, 1]), wrenches[:3], frame="body")
        sim.clear(gone)
        return sim, world, fixed

    sim, world, fixed = loaded()
    sim.step(1e-3, 7)
    sim.set_wrenches(world, 2.0 * wrenches)
    sim.set_wrenches(fixed, -wrenches[:3])
    other = loaded()[0] if again else make(model, state)
    other.restore(sim.checkpoint())
    assert len(other.loads) == 2
    for _ in range(5):
        sim.step(1e-3, 2)
        other.step(1e-3, 2)
        assert (sim.state.q == other.state.q).all()
        assert (sim.acceleration == other.acceleration).all()
    for each in (sim, other):
        each.set_wrenches(each.loads[0], wrenches)
        each.set_wrenches(each.loads[1], wrenches[:3])
        each.step(1e-3, 3)
    assert (sim.state.q == other.state.q).all()


def test_wrong_ones_change_nothing(model, make, rng):
    sim = make(model, model.random_state(rng, speed=0.3))
    load = sim.apply_wrenches([1, 2], np.ones((2, 6)))
    before = wrenches_of(sim)
    bad = np.ones((2, 6))
    bad[1, 4] = np.nan
    for call, message in (
        (lambda: sim.apply_wrenches([1, 2], np.ones((3, 6))), r"needs \(2, 6\)"),
        (lambda: sim.apply_wrenches([1, 2], np.ones(6)), r"needs \(2, 6\)"),
        (lambda: sim.apply_wrenches([1, 99], np.ones((2, 6))), "99 is the world or does not exist"),
        (lambda: sim.apply_wrenches(np.array([1, -1]), np.ones((2, 6))), "-1.* is the world or does not exist"),
        (lambda: sim.apply_wrenches([1, 2], bad), "finite"),
        (lambda: sim.apply_wrenches([1, 2], [["a"] * 6] * 2), "must be an array of numbers"),
        (lambda: sim.apply_wrenches([1, 2], np.ones((2, 6)), frame="joint"), "frame must be"),
        (lambda: sim.apply_wrenches([1, 2], np.ones((2, 6)), at=np.ones((3, 3))), "at"),
        (lambda: sim.set_wrenches(load, np.ones((3, 6))), r"needs \(2, 6\)"),
        (lambda: sim.set_wrenches(load, bad), "finite"),
    ):
        with pytest.raises(StateError, match=message):
            call()
    assert sim.loads == (load,)
    assert (wrenches_of(sim) == before).all()
