"""Gradients of the dynamics of closed chains agree with differences along states that stay closed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import layout

# Fourth-order differences with steps of 1e-3, over loops that are closed to 1e-13: 1e-9 of what changes; ten times that.
CLOSE = 1e-8
FOUND = 1e-13  # gap and slip to which loops are closed
JOINTS = {
    "revolute": lw.Revolute((0, 0, 1)),
    "prismatic": lw.Prismatic((1, 0, 0)),
    "spherical": lw.Spherical(),
    "cylindrical": lw.Cylindrical((0, 1, 0)),
    "planar": lw.Planar(),
    "screw": lw.Screw((0, 0, 1), pitch=0.1),
}


def closed_model(joint, rng, to_world):
    """Two branches of ball joints and hinges with springs, dampers and rotors, tied at their ends; and a closed state."""
    kinds = (lw.Spherical(), lw.Revolute((0, 1, 0)), lw.Universal(), lw.Revolute((1, 0, 0)), lw.Cylindrical((0, 0, 1)))
    options = {"stiffness": 0.7, "damping": 0.3, "armature": 0.1}
    linkage = lw.Linkage("tied")
    for branch in "ab":
        for i, kind in enumerate(kinds):
            parent = f"{branch}{i - 1}" if i else "world"
            place = lw.Pose(0.3 * rng.normal(size=3), rpy=rng.normal(size=3))
            inertia = lw.Inertia.box(1.0 + i, (0.2, 0.3, 0.4)).at(lw.Pose(0.1 * rng.normal(size=3)))
            linkage.add_body(f"{branch}{i}", parent, replace(kind, **options), place, inertia)
    tree = linkage.compile(merge_fixed=False)
    state = tree.random_state(rng)
    T = lw.body_poses(tree, state)
    a, b = ("world", "b4") if to_world else ("a4", "b4")
    at_a = lw.Pose((0.1, -0.2, 0.3), rpy=(0.3, 0.2, 0.1))
    A = (np.eye(4) if to_world else T[tree.body(a)]) @ at_a.matrix
    at_b = lw.Pose(matrix=np.linalg.inv(T[tree.body(b)]) @ A)
    linkage.add_loop(joint, a, b, (at_a, at_b), name="loop")
    model = linkage.compile(merge_fixed=False)
    return model, lw.close_loops(model, lw.State(state.q, rng.normal(size=model.nv)), tolerance=FOUND)


@pytest.mark.parametrize("to_world", [False, True], ids=["between", "to the world"])
@pytest.mark.parametrize("joint", JOINTS.values(), ids=JOINTS)
def test_gradients_of_closed_chains(joint, to_world, rng, derivative):
    model, state = closed_model(joint, rng, to_world)
    nv, n = model.nv, model.n_bodies
    effort, wrenches, weights = rng.normal(size=nv), rng.normal(size=(n, 6)), rng.normal(size=nv)
    y, pull = lw.vjp(lw.constrained_dynamics, model, state, effort, wrenches)
    assert np.array_equal(y.acceleration, lw.constrained_dynamics(model, state, effort, wrenches).acceleration)
    found = pull(weights)

    def loss(m=model, s=state, tau=effort, f=wrenches):
        return weights @ lw.constrained_dynamics(m, s, tau, f).acceleration

    direction, tens = rng.normal(size=nv), 0.1 * rng.normal(size=(n, 10))
    turn, faster = rng.normal(size=(2, nv))

    def moved(d):
        away = lw.State(model.integrate(state.q, turn, d), state.v + d * faster)
        return lw.close_loops(model, away, tolerance=FOUND)

    by_state = derivative(lambda d: found.q @ model.difference(state.q, moved(d).q) + found.v @ moved(d).v)

    def changed(name, rows, first, last):
        table = getattr(model.arrays, name)

        def at(d):
            other = table.copy()
            other[:, first:last] += d * rows
            return replace(model, arrays=model.arrays._replace(**{name: other}))

        return at

    ones = np.ones((nv, 1))
    first = layout.INERTIA
    pairs = {
        "state": (by_state, lambda d: loss(s=moved(d))),
        "effort": (found.effort @ direction, lambda d: loss(tau=effort + d * direction)),
        "wrenches": (found.wrenches[:, 0].sum(), lambda d: loss(f=wrenches + d * np.eye(6)[0])),
        "inertias": (
            np.sum(found.inertias * tens),
            lambda d: loss(changed("body", tens, first, first + 10)(d)),
        ),
        "gravity": (
            found.gravity @ direction[:3],
            lambda d: loss(replace(model, arrays=model.arrays._replace(gravity=model.gravity + d * direction[:3]))),
        ),
    }
    for name, column in (("stiffness", layout.STIFFNESS), ("damping", layout.DAMPING), ("armature", layout.ARMATURE)):
        pairs[name] = (
            getattr(found, name).sum(),
            lambda d, column=column: loss(changed("dof", ones, column, column + 1)(d)),
        )
    for name, (ours, function) in pairs.items():
        expected = derivative(function)
        assert ours == pytest.approx(expected, rel=CLOSE, abs=CLOSE), name


def test_what_is_refused(rng):
    model, state = closed_model(lw.Universal(), rng, False)
    with pytest.raises(lw.StateError, match=r"loop 'loop' is closed by a Universal joint.*Cut the loop"):
        lw.vjp(lw.constrained_dynamics, model, state)
    model, state = closed_model(lw.Spherical(), rng, False)
    with pytest.raises(lw.StateError, match="leave rate= out"):
        lw.vjp(lw.constrained_dynamics, model, state, rate=10.0)
    with pytest.raises(lw.StateError, match="from the left only"):
        lw.jvp(lw.constrained_dynamics, model, state, dq=np.ones(model.nv))
    _, pull = lw.vjp(lw.constrained_dynamics, model, state, wrt="q")
    assert pull(np.ones(model.nv)).effort is None
    with pytest.raises(lw.StateError, match="weights has shape"):
        pull(np.ones(2))


def test_redundant_loops(derivative):
    """A four-bar linkage in the plane has three constraints that repeat others: its motion has gradients all the same."""
    model = lw.library.four_bar().compile()
    start = lw.close_loops(model, model.neutral(), tolerance=FOUND)
    state = lw.close_loops(model, lw.State(start.q, np.ones(model.nv)), tolerance=FOUND)
    weights = np.arange(1.0, model.nv + 1)
    y, pull = lw.vjp(lw.constrained_dynamics, model, state)
    assert y.redundant == 3
    found = pull(weights)

    def loss(d):
        return weights @ lw.constrained_dynamics(model, state, d * weights).acceleration

    assert found.effort @ weights == pytest.approx(derivative(loss), rel=CLOSE)
    along = state.v  # the one motion that keeps it closed

    def moved(d):
        return lw.close_loops(model, lw.State(model.integrate(state.q, along, d), state.v), tolerance=FOUND)

    expected = derivative(lambda d: weights @ lw.constrained_dynamics(model, moved(d)).acceleration)
    ours = derivative(lambda d: found.q @ model.difference(state.q, moved(d).q) + found.v @ moved(d).v)
    assert ours == pytest.approx(expected, rel=CLOSE)
