"""Gradients through runs of closed linkages agree with differences along states that stay closed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import layout

H, STEPS = 2e-3, 5
FOUND = 1e-13  # gap and slip to which loops are closed
# Fourth-order differences with steps of 1e-3 of a motion whose loops are closed to 1e-10: 1e-8 seen, 6e-8 along states,
# which are closed anew; ten times that.
CLOSE = 6e-7
INTEGRATORS = ("semi_implicit_euler", "variational", "implicit_midpoint", "rk4", "kick_drift_kick", "dormand_prince")
OPTIONS = {"stiffness": 0.7, "damping": 0.3, "armature": 0.1}


def tied(joint, rng):
    """Two branches of ball joints, hinges and slides with springs, dampers and rotors, tied at their ends."""
    kinds = (lw.Spherical(), lw.Revolute((0, 1, 0)), lw.Universal(), lw.Cylindrical((0, 0, 1)))
    linkage = lw.Linkage("tied")
    for branch in "ab":
        for i, kind in enumerate(kinds):
            place = lw.Pose(0.3 * rng.normal(size=3), rpy=rng.normal(size=3))
            inertia = lw.Inertia.box(1.0 + i, (0.2, 0.3, 0.4)).at(lw.Pose(0.1 * rng.normal(size=3)))
            parent = f"{branch}{i - 1}" if i else "world"
            linkage.add_body(f"{branch}{i}", parent, replace(kind, **OPTIONS), place, inertia)
    return tie(linkage, "a3", "b3", joint, rng)


def ring(rng):
    """A floating ring, whose momentum is kept: a body, three hinges in a row, and a ball joint that closes them."""
    linkage = lw.Linkage("ring")
    linkage.add_body("base", "world", lw.Free(), inertia=lw.Inertia.box(2.0, (0.3, 0.2, 0.1)))
    for i, axis in enumerate(((0, 1, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0))):
        hinge, parent = lw.Revolute(axis, damping=0.2, stiffness=0.5), f"{i - 1}" if i else "base"
        linkage.add_body(f"{i}", parent, hinge, lw.Pose((0.3, 0.05, 0.0)), lw.Inertia.box(1.0, (0.2, 0.1, 0.1)))
    return tie(linkage, "base", "3", lw.Spherical(), rng)


def tie(linkage, a, b, joint, rng):
    tree = linkage.compile(merge_fixed=False)
    state = tree.random_state(rng)
    T = lw.body_poses(tree, state)
    at_a = lw.Pose((0.1, -0.2, 0.3), rpy=(0.3, 0.2, 0.1))
    at_b = lw.Pose(matrix=np.linalg.inv(T[tree.body(b)]) @ T[tree.body(a)] @ at_a.matrix)
    linkage.add_loop(joint, a, b, (at_a, at_b), name="loop")
    model = linkage.compile(merge_fixed=False)
    return model, lw.close_loops(model, lw.State(state.q, 0.3 * rng.normal(size=model.nv)), tolerance=FOUND)


def compare(model, first, integrator, rng, derivative):
    nv = model.nv
    efforts, kicks = rng.normal(size=(2, STEPS, nv))
    by_q, by_v, d, e = rng.normal(size=(4, nv))
    masses = 0.02 * model.mass * rng.normal(size=model.n_bodies)

    def simulated(m, state):
        sim = lw.FullDynamics(m, state, integrator=integrator, limits=False)
        last = m.n_bodies - 1
        sim.apply_wrench(last, force=(0.2, 0.5, -0.3), torque=(0.0, 0.1, 0.2), at=(0.05, 0.0, 0.1))
        return sim

    run = lw.run_with_gradients(simulated(model, first), H, STEPS, efforts)
    end, found = run.state, run.backward(q=by_q, v=by_v)

    def loss(m=model, state=first, tau=efforts):
        moved = lw.run_with_gradients(simulated(m, state), H, STEPS, tau).state
        return by_q @ model.difference(end.q, moved.q) + by_v @ moved.v

    def moved(x):
        return lw.close_loops(model, lw.State(model.integrate(first.q, d, x), first.v + x * e), tolerance=FOUND)

    def heavier(x):
        body = model.arrays.body.copy()
        body[:, layout.INERTIA] += x * masses
        return replace(model, arrays=model.arrays._replace(body=body))

    def changed(column, x):
        dof = model.arrays.dof.copy()
        dof[:, column] += x * (dof[:, column] > 0.0)
        return replace(model, arrays=model.arrays._replace(dof=dof))

    def present(gradient, column):
        return gradient[model.arrays.dof[:, column] > 0.0].sum()

    along = derivative(lambda x: found.q @ model.difference(first.q, moved(x).q) + found.v @ moved(x).v)
    pairs = {
        "state": (along, lambda x: loss(state=moved(x))),
        "effort": (np.sum(found.effort * kicks), lambda x: loss(tau=efforts + x * kicks)),
        "inertias": (found.inertias[:, 0] @ masses, lambda x: loss(heavier(x))),
        "damping": (present(found.damping, layout.DAMPING), lambda x: loss(changed(layout.DAMPING, x))),
        "stiffness": (present(found.stiffness, layout.STIFFNESS), lambda x: loss(changed(layout.STIFFNESS, x))),
        "armature": (present(found.armature, layout.ARMATURE), lambda x: loss(changed(layout.ARMATURE, x))),
    }
    for name, (ours, function) in pairs.items():
        assert ours == pytest.approx(derivative(function), rel=CLOSE, abs=CLOSE), name


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_every_integrator(integrator, rng, derivative):
    compare(*tied(lw.Spherical(), rng), integrator, rng, derivative)


@pytest.mark.parametrize("joint", [lw.Revolute((0, 0, 1)), lw.Cylindrical((0, 1, 0)), lw.Planar()], ids=str)
def test_loops_closed_by_other_joints(joint, rng, derivative):
    compare(*tied(joint, rng), "semi_implicit_euler", rng, derivative)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "variational"])
def test_a_floating_ring(integrator, rng, derivative):
    compare(*ring(rng), integrator, rng, derivative)


def test_constraints_that_repeat_each_other(rng, derivative):
    """A planar four-bar in space says three things twice; the default settings."""
    model = lw.library.four_bar().compile()
    first = lw.close_loops(model, lw.State(model.neutral().q, np.full(model.nv, 0.4)), tolerance=FOUND)
    assert lw.loop_gaps(model, first).redundant > 0
    compare(model, first, "auto", rng, derivative)


def on_a_floor(kind, rng):
    """A closed linkage that stands on a floor with one foot; its state, as near as bodies rest."""
    linkage = lw.Linkage(kind)
    foot = [lw.Sphere(0.1, friction=0.4)]
    if kind == "ring":
        linkage.add_body("base", "world", lw.Free(), inertia=lw.Inertia.box(2.0, (0.3, 0.2, 0.1)))
    for branch in "a" if kind == "ring" else "ab":
        for i, axis in enumerate(((0, 1, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0))):
            parent = f"{branch}{i - 1}" if i else "base" if kind == "ring" else "world"
            hinge, inertia = lw.Revolute(axis, damping=0.2, stiffness=0.5), lw.Inertia.box(1.0, (0.2, 0.1, 0.1))
            shapes = foot if branch + str(i) == "a2" else []
            linkage.add_body(f"{branch}{i}", parent, hinge, lw.Pose((0.3, 0.05, 0.0)), inertia, shapes=shapes)
    model, state = tie(
        linkage, "base" if kind == "ring" else "a3", "a3" if kind == "ring" else "b3", lw.Spherical(), rng
    )
    height = lw.body_poses(model, state)[model.body("a2"), 2, 3]
    linkage.add_obstacle("floor", lw.Plane(friction=0.4, placement=lw.Pose((0.0, 0.0, height - 0.1 - 0.5e-4))))
    return linkage.compile(merge_fixed=False), state


@pytest.mark.parametrize(("kind", "seed"), [("two branches", 1), ("two branches", 2), ("ring", 2), ("ring", 3)])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "auto"])
def test_closed_linkages_that_touch(kind, seed, integrator):
    """Contacts are solved with the loops in one system; what the foot does, slide or stick, stays the same."""
    rng = np.random.default_rng(seed)  # chosen so that the foot presses in all steps
    model, first = on_a_floor(kind, rng)
    efforts, kicks = rng.normal(size=(2, STEPS, model.nv))
    by_q, by_v, d, e = rng.normal(size=(4, model.nv))

    def made(state=first, tau=efforts):
        contact = lw.Contact(margin=0.1, tolerance=1e-12)
        sims.append(lw.FullDynamics(model, state, integrator=integrator, contact=contact))
        return lw.run_with_gradients(sims[-1], 1e-3, STEPS, tau)

    def moved(x):
        return lw.close_loops(model, lw.State(model.integrate(first.q, d, x), first.v + x * e), tolerance=FOUND)

    def loss(**options):
        end = made(**options).state
        return by_q @ model.difference(run.state.q, end.q) + by_v @ end.v

    def difference(function, x):
        return (function(x) - function(-x)) / (2.0 * x)

    sims = []
    run = made()
    assert sims[0].contacts
    found = run.backward(q=by_q, v=by_v)
    along = difference(lambda x: found.q @ model.difference(first.q, moved(x).q) + found.v @ moved(x).v, 1e-6)
    near = CLOSE * (1.0 + np.abs(np.concatenate([found.q, found.v])).max())
    assert abs(along - difference(lambda x: loss(state=moved(x)), 1e-6)) <= near
    assert abs(np.sum(found.effort * kicks) - difference(lambda x: loss(tau=efforts + x * kicks), 1e-4)) <= near
