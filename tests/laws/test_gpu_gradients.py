"""Gradients on the device are those of the CPU: both schedules, one state and many."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.noting import noting

import linkwork as lw
from linkwork.gpu import DeviceModel, device_model

# Rounding of the mass matrix (condition 1e3 to 1e5), twice, in sums of some hundred terms. Seen: 2e-12 of the largest.
TOLERANCE = 1e7 * np.finfo(float).eps
NAMES = ("q", "v", "effort", "wrenches", "inertias", "gravity", "stiffness", "damping", "armature")


def differ(own, expected) -> float:
    expected = np.asarray(expected)
    return float(np.abs(np.asarray(own) - expected).max() / max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("schedule", ["levels", "bodies"])
def test_every_gradient_of_one_state_and_of_many(tree, rng, device_backend, schedule):
    batch, nv, n = 3, tree.nv, tree.n_bodies
    states = [tree.random_state(rng) for _ in range(batch)]
    q, v = (np.array([getattr(state, name) for state in states]) for name in "qv")
    effort, wrenches, weights = (
        rng.normal(size=(batch, nv)),
        rng.normal(size=(batch, n, 6)),
        rng.normal(size=(batch, nv)),
    )
    device = DeviceModel(tree, schedule=schedule, backend=device_backend)
    qdd, pull = device.vjp(q, v, effort, wrenches)
    found = pull(weights)
    one, pull_one = device.vjp(q[1], v[1], effort[1], wrenches[1])
    found_one = pull_one(weights[1])
    again = pull(weights)  # another call was made since: the states are solved once more
    for k, state in enumerate(states):
        y, expected_pull = lw.vjp(lw.forward_dynamics, tree, state, effort[k], wrenches[k])
        expected = expected_pull(weights[k])
        assert differ(qdd[k], y) <= TOLERANCE
        for name in NAMES:
            theirs = getattr(expected, name)
            assert getattr(found, name)[k].shape == theirs.shape, name
            assert differ(getattr(found, name)[k], theirs) <= TOLERANCE, name
            assert differ(getattr(again, name)[k], theirs) <= TOLERANCE, name
            if k == 1:
                assert getattr(found_one, name).shape == theirs.shape, name
                assert differ(getattr(found_one, name), theirs) <= TOLERANCE, name
    assert one.shape == (nv,)


def test_what_is_asked_for_and_what_is_refused(rng, device_backend):
    model = lw.library.chain(9).compile()
    state = model.random_state(rng)
    device = DeviceModel(model, backend=device_backend)
    _, pull = device.vjp(state.q, state.v, wrt=("q", "effort"))
    found = pull(np.ones(9))
    assert found.inertias is None
    assert found.v is None
    _, expected = lw.vjp(lw.forward_dynamics, model, state)
    assert differ(found.q, expected(np.ones(9)).q) <= TOLERANCE
    with pytest.raises(lw.StateError, match="weights hold numbers that are not finite"):
        pull(np.full(9, np.nan))
    with pytest.raises(lw.StateError, match=r"weights has shape \(8,\)"):
        pull(np.ones(8))
    with pytest.raises(lw.StateError, match="on which forward_dynamics does not depend"):
        device.vjp(state.q, state.v, wrt=("height",))


def test_single_precision(rng, device_backend):
    model = lw.library.chain(20).compile()
    state, weights = model.random_state(rng), rng.normal(size=20)
    device = DeviceModel(model, "float32", backend=device_backend)
    _, pull = device.vjp(state.q, state.v)
    _, expected = lw.vjp(lw.forward_dynamics, model, state)
    assert differ(pull(weights).effort, expected(weights).effort) <= 1e5 * np.finfo(np.float32).eps


@pytest.mark.parametrize("length", [1, 2, 5, 32])
def test_strands_of_any_length_give_the_same(rng, device_backend, length, monkeypatch):
    """Long limbs with joints of one freedom, none and several: bodies of a strand are done by one thread, in one go."""
    linkage = lw.library.random_tree(
        90,
        seed=3,
        branching=0.05,
        kinds=("revolute", "prismatic", "screw", "fixed", "compound", "spherical"),
        options=True,
    )
    model = linkage.compile()
    states = [model.random_state(rng) for _ in range(2)]
    q, v = (np.array([getattr(state, name) for state in states]) for name in "qv")
    effort, wrenches, weights = (rng.normal(size=shape) for shape in ((2, model.nv), (2, model.n_bodies, 6), model.nv))
    plan, plans = noting(device_model.plan_levels)
    monkeypatch.setattr(device_model, "plan_levels", plan)
    device = DeviceModel(model, schedule="levels", strand_length=length, backend=device_backend)
    for qdd, pull in (device.vjp(q, v, effort, wrenches), device.vjp(q[0], v[0], effort[0], wrenches[0])):
        found = pull(weights)
        for k, state in enumerate(states[: 1 if qdd.ndim == 1 else 2]):
            y, expected_pull = lw.vjp(lw.forward_dynamics, model, state, effort[k], wrenches[k])
            expected = expected_pull(weights)
            assert differ(qdd if qdd.ndim == 1 else qdd[k], y) <= TOLERANCE
            for name in NAMES:
                own = getattr(found, name)
                assert differ(own if qdd.ndim == 1 else own[k], getattr(expected, name)) <= TOLERANCE, name
    assert len(plans) >= 2  # those of one state and of many
    for levels in plans:
        assert levels.strand_body.shape[0] == length
        assert (levels.strand_slot.size > 0) == (length > 1)


def test_states_that_are_not_finite_are_said_to_be(rng, device_backend):
    model = lw.library.chain(20).compile()
    state = model.random_state(rng)
    for schedule in ("levels", "bodies"):
        device = DeviceModel(model, schedule=schedule, backend=device_backend)
        for name, said in (("q", r"state\.q\[3\] is nan"), ("v", r"state\.v\[3\] is nan")):
            given = {"q": state.q.copy(), "v": state.v.copy()}
            given[name][3] = np.nan
            with np.errstate(all="ignore"), pytest.raises(lw.StateError, match=said):
                device.vjp(**given)[1](np.ones(20))
