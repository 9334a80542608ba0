"""Gradients through equilibria agree with differences of equilibria that were searched for again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.reference import complex_steps

import linkwork as lw
from linkwork.model import layout

KINDS = (
    "revolute",
    "prismatic",
    "screw",
    "cylindrical",
    "universal",
    "planar",
    "spherical",
    "fixed",
    "compound",
    "free",
)
# Equilibria are found to 1e-12 of the loads; fourth-order differences with steps of 1e-3 leave 1e-10 of that; the smallest
# derivative here is 1e-3 of the largest.
CLOSE = 1e-7
FORCE, TARGET, STIFFNESS = np.array([0.3, 0.2, 0.1]), np.array([0.3, 0.2, 0.1]), 3.0


@pytest.fixture(params=[0, 1], ids=["tree", "another"])
def sprung(request, make_tree, rng):
    """A tree of all joint kinds on springs that are stronger than its weight, slack at random positions."""
    model = make_tree(seed=request.param, bodies=9, branching=0.5, kinds=KINDS, stiffness=True)
    dof = model.arrays.dof.copy()
    of = [model.joint_of(j) for j in range(model.nv)]
    dof[:, layout.STIFFNESS] = (8.0 + 4.0 * rng.random(model.n_bodies))[
        of
    ]  # ball springs of one stiffness have an energy
    rest = model.integrate(model.arrays.rest, 0.3 * rng.normal(size=model.nv))
    return replace(model, arrays=model.arrays._replace(dof=dof, rest=rest))


def loads_on(model, force=FORCE, target=TARGET, stiffness=STIFFNESS):
    loads, last = lw.Loads(model), model.n_bodies - 1
    loads.apply_wrench(last, force=force, at=(0.1, 0.2, 0.0))
    loads.apply_spring(last // 2, target=target, stiffness=stiffness, at=(0.0, 0.1, 0.0))
    return loads


def with_arrays(model, **arrays):
    return replace(model, arrays=model.arrays._replace(**arrays))


def test_against_complex_steps(sprung, rng):
    """Exact to rounding, where loads turn with their bodies; the search ends at 1e-13 of the loads."""
    model, loads = sprung, lw.Loads(sprung)
    loads.apply_wrench(model.n_bodies - 1, force=FORCE, torque=TARGET, at=(0.1, 0.2, 0.0), frame="body")
    effort, weights = 0.1 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    rest = lw.settle(model, model.neutral(), effort=effort, loads=loads, tolerance=1e-13)
    found = rest.backward(weights)
    wrenches = np.zeros((model.n_bodies, 6))
    np.add.at(wrenches, loads.loads[0].bodies, loads.loads[0].wrenches)
    at = complex_steps.variables(model, rest.state, effort, wrenches)
    joints = rng.normal(size=model.n_bodies)[[model.joint_of(j) for j in range(model.nv)]]  # one stiffness per ball
    ways = {name: rng.normal(size=getattr(at, name).shape) for name in ("forcing", "wrenches", "inertias", "gravity")}
    for name, way in {**ways, "stiffness": joints}.items():
        moved = at._replace(**{name: getattr(at, name) + 1j * complex_steps.STEP * way})
        change = complex_steps.rest_change(model, rest.state, moved)
        ours = np.sum(getattr(found, "effort" if name == "forcing" else name) * way)
        scale = np.abs(weights) @ np.abs(change)
        assert abs(ours - weights @ change) <= 1e-9 * scale, name


def test_gradients_of_an_equilibrium(sprung, rng, derivative):
    model, plain = (
        sprung,
        ~np.isin(
            [sprung.arrays.tree[sprung.joint_of(j), layout.KIND] for j in range(sprung.nv)],
            (layout.SPHERICAL, layout.FREE),
        ),
    )
    effort, weights = 0.1 * plain * rng.normal(size=model.nv), rng.normal(size=model.nv)
    found_at = lw.settle(model, model.neutral(), effort=effort, loads=loads_on(model), tolerance=1e-12)
    found = found_at.backward(weights)
    direction, along = rng.normal(size=model.nv), rng.normal(size=3)
    joints = rng.normal(size=model.n_bodies)[[model.joint_of(j) for j in range(model.nv)]]
    ten = model.arrays.body[:, layout.INERTIA : layout.INERTIA + 10]
    tens = 0.05 * np.abs(ten) * rng.normal(size=ten.shape)

    def loss(m=model, tau=effort, **changed):
        rest = lw.settle(m, found_at.state, effort=tau, loads=loads_on(m, **changed), tolerance=1e-12)
        return weights @ model.difference(found_at.state.q, rest.state.q)

    def stiffer(d):
        dof = model.arrays.dof.copy()
        dof[:, layout.STIFFNESS] += d * joints
        return with_arrays(model, dof=dof)

    def heavier(d):
        body = model.arrays.body.copy()
        body[:, layout.INERTIA : layout.INERTIA + 10] += d * tens
        return with_arrays(model, body=body)

    pairs = {
        "effort": (found.effort @ (plain * direction), lambda d: loss(tau=effort + d * plain * direction)),
        "stiffness": (found.stiffness @ joints, lambda d: loss(stiffer(d))),
        "rest": (
            found.rest @ direction,
            lambda d: loss(with_arrays(model, rest=model.integrate(model.arrays.rest, direction, d))),
        ),
        "gravity": (
            found.gravity @ along,
            lambda d: loss(with_arrays(model, gravity=model.arrays.gravity + d * along)),
        ),
        "inertias": (np.sum(found.inertias * tens), lambda d: loss(heavier(d))),
        "force": (found.loads.force[0] @ along, lambda d: loss(force=FORCE + d * along)),
        "target": (found.loads.target[1] @ along, lambda d: loss(target=TARGET + d * along)),
        "spring": (found.loads.stiffness[1], lambda d: loss(stiffness=STIFFNESS + d)),
    }
    for name, (ours, function) in pairs.items():
        assert ours == pytest.approx(derivative(function), rel=CLOSE, abs=1e-3 * CLOSE), name


def test_loads_that_turn_with_their_bodies(derivative, rng):
    """Wrenches fixed in bodies and torques of the world have no potential: the second derivative is not symmetric."""
    joint = lw.Revolute((0, 1, 0), stiffness=30.0)
    other = lw.Revolute((1, 0, 0), stiffness=30.0)
    linkage = lw.Linkage("arm")
    for i in range(6):
        inertia = lw.Inertia.box(1.0, (0.2, 0.1, 0.1)).at(lw.Pose((0.1, 0, 0)))
        parent, place = (f"b{i - 1}", lw.Pose((0.2, 0, 0))) if i else ("world", lw.Pose())
        linkage.add_body(f"b{i}", parent, other if i % 2 else joint, place, inertia)
    model = linkage.compile()
    wrenches, weights, change = np.zeros((6, 6)), rng.normal(size=6), rng.normal(size=(6, 6))
    wrenches[5] = (0.5, 0.3, -0.4, 3.0, 2.0, -4.0)

    def loads(torque):
        loads = lw.Loads(model)
        loads.apply_wrench("b4", torque=torque)
        return loads

    torque, turn = np.array([1.0, -2.0, 1.5]), rng.normal(size=3)
    rest = lw.settle(model, model.neutral(), wrenches=wrenches, loads=loads(torque), tolerance=1e-12)
    found = rest.backward(weights)

    def loss(w=wrenches, t=torque):
        other = lw.settle(model, rest.state, wrenches=w, loads=loads(t), tolerance=1e-12)
        return weights @ (other.state.q - rest.state.q)

    pushed, turned = derivative(lambda d: loss(wrenches + d * change)), derivative(lambda d: loss(t=torque + d * turn))
    # Newton stops at 1e-12 of the loads, and 1e-12 over the steps of 1e-3 is what differences can see.
    assert np.sum(found.wrenches * change) == pytest.approx(pushed, rel=CLOSE, abs=1e-8)
    assert found.loads.torque[0] @ turn == pytest.approx(turned, rel=CLOSE, abs=1e-8)


def test_a_pendulum_under_a_side_force():
    """tan q = f / (m g) gives dq/df = cos² q / (m g)."""
    linkage = lw.Linkage("pendulum", gravity=(0, 0, -10.0))
    inertia = lw.Inertia.sphere(2.0, 0.1).at(lw.Pose((0, 0, -1)))
    linkage.add_body("bob", "world", lw.Revolute((0, -1, 0)), inertia=inertia)
    model = linkage.compile()
    loads = lw.Loads(model)
    loads.apply_wrench("bob", force=(5.0, 0, 0), at=(0, 0, -1))
    rest = lw.settle(model, model.neutral(), loads=loads)
    assert np.tan(rest.state.q[0]) == pytest.approx(0.25)
    slope = np.cos(rest.state.q[0]) ** 2 / 20.0
    found = rest.backward([1.0])
    assert found.loads.force[0] == pytest.approx([slope, 0, 0.25 * slope], abs=1e-12)
    assert found.gravity == pytest.approx([2.0 * slope, 0, 0.5 * slope], abs=1e-12)
    assert found.effort == pytest.approx([np.cos(rest.state.q[0]) / 20.0])


def hung(joint, axis):
    """A chain of springs that hangs between two anchors, closed by a joint; links in space."""
    linkage = lw.Linkage("hung")
    for i in range(8):
        inertia = lw.Inertia.box(0.5 + 0.1 * i, (0.2, 0.05, 0.05)).at(lw.Pose((0.1, 0.01, 0.02)))
        parent, place = (f"b{i - 1}", lw.Pose((0.2, 0, 0))) if i else ("world", lw.Pose())
        spring = lw.Revolute((0, 1, 0) if i % 2 else (0, 0.2, 1), stiffness=2.0 + 0.3 * i)
        linkage.add_body(f"b{i}", parent, spring, place, inertia)
    linkage.add_loop(joint, "world", "b7", (lw.Pose((1.2, 0.1, 0.05)), lw.Pose((0.2, 0, 0), rpy=axis)), name="anchor")
    return linkage.compile()


@pytest.mark.parametrize(
    "joint",
    [lw.Spherical(), lw.Cylindrical((0, 1, 0)), lw.Prismatic((1, 0, 0))],
    ids=["ball", "cylindrical", "prismatic"],
)
def test_closed_linkages(joint, derivative, rng):
    model = hung(joint, (0.2, 0.1, 0.3))
    loads = lw.Loads(model)
    loads.apply_wrench("b3", force=(0.5, 1.0, -2.0), at=(0.1, 0, 0))
    rest = lw.settle(model, model.neutral(), loads=loads, tolerance=1e-12)
    assert rest.report.stable
    weights, direction, along = rng.normal(size=8), rng.normal(size=8), rng.normal(size=3)
    found = rest.backward(weights)

    def loss(m=model, effort=None):
        other = lw.settle(m, rest.state, effort=effort, loads=loads, tolerance=1e-12)
        return weights @ (other.state.q - rest.state.q)

    def stiffer(d):
        dof = model.arrays.dof.copy()
        dof[:, layout.STIFFNESS] += d * direction
        return with_arrays(model, dof=dof)

    pairs = {
        "effort": (found.effort @ direction, lambda d: loss(effort=d * direction)),
        "stiffness": (found.stiffness @ direction, lambda d: loss(stiffer(d))),
        "gravity": (
            found.gravity @ along,
            lambda d: loss(with_arrays(model, gravity=model.arrays.gravity + d * along)),
        ),
        "rest": (found.rest @ direction, lambda d: loss(with_arrays(model, rest=model.arrays.rest + d * direction))),
    }
    for name, (ours, function) in pairs.items():
        assert ours == pytest.approx(derivative(function), rel=CLOSE, abs=1e-8), name


def test_what_has_no_gradient():
    linkage = lw.Linkage("spinner")
    linkage.add_body("top", "world", lw.Revolute((0, 0, 1)), inertia=lw.Inertia.sphere(1.0, 0.1))
    model = linkage.compile()
    rest = lw.settle(model, model.neutral())
    with pytest.raises(lw.StateError, match="motion that nothing resists"):
        rest.backward([1.0])
    with pytest.raises(lw.StateError, match=r"q has shape \(2,\)"):
        rest.backward([1.0, 2.0])
    with pytest.raises(lw.StateError, match=r"q\[0\] is nan"):
        rest.backward([np.nan])
