"""Gradients through steps in which something touches agree with differences, where the sets of contacts stay the same."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

H = 1e-3
MARGIN = 0.1  # bodies rest a thousandth of it apart: differences of 1e-6 m stay within
# Solvers of contact end some 1e-13 from the laws here; differences of 2e-6 then see 1e-7 to 1e-6 of a gradient near one.
CLOSE = 1e-5


def scene(kind):
    """A model that touches the floor, a state in which it does, and which freedoms are pushed."""
    linkage = lw.Linkage(kind)
    linkage.add_obstacle("floor", lw.Plane(friction=0.4))
    if kind == "pressing arm":
        rod = lw.Inertia.box(1.0, (0.4, 0.05, 0.05)).at(lw.Pose((0.2, 0, 0)))
        linkage.add_body(
            "upper", joint=lw.Revolute((0, 1, 0), damping=0.1), placement=lw.Pose((0, 0, 0.3)), inertia=rod
        )
        elbow = lw.Revolute((0, 1, 0), damping=0.1)
        hand = lw.Sphere(0.05, placement=lw.Pose((0.4, 0, 0)))
        linkage.add_body("lower", "upper", elbow, lw.Pose((0.4, 0, 0)), rod, shapes=[hand])
        model = linkage.compile()
        angle = np.arcsin((0.3 - 0.05 - 0.5e-4) / 0.8)
        return model, model.state([angle, 0.0], [0.0, 0.0])
    if kind == "limit":
        stop = lw.Revolute((0, 1, 0), limits=(-0.2, 0.5), damping=0.1)
        chain = lw.library.chain(3, joint=stop).compile()
        return chain, chain.state([0.4999, -0.1999, 0.1])
    if " on " in kind:
        return stacked(*kind.split(" on "))
    shapes = {
        "ball": (lw.Sphere(0.1, restitution=0.5), 0.1, (0, 0, 0)),
        "above": (lw.Sphere(0.1), 0.1, (0, 0, 0)),
        "sphere": (lw.Sphere(0.1), 0.1, (0, 0, 0)),
        "capsule": (lw.Capsule(0.1, 0.4), 0.1, (0, np.pi / 2, 0)),
        "block": (lw.Box((0.4, 0.3, 0.2), friction=0.4), 0.1, (0, 0, 0.2)),
    }
    shape, height, rpy = shapes[kind]
    linkage.add_body("body", joint=lw.Free(), inertia=lw.Inertia.box(1.0, (0.4, 0.3, 0.2)), shapes=[shape])
    model = linkage.compile()
    placed = lw.State(model.integrate(model.neutral().q, np.array([*rpy, 0.0, 0.0, 0.0])), np.zeros(6))
    placed.q[:3] = (0.0, 0.0, height + (6e-4 if kind == "above" else 0.5e-4))
    return model, placed


def stacked(upper, lower):
    """A body that lies on one which yields and turns: both move the normal."""
    shapes = {
        "ball": lw.Sphere(0.1, friction=0.4),
        "plate": lw.Box((0.8, 0.8, 0.2), friction=0.4),
        "rod": lw.Capsule(0.1, 0.8, friction=0.4, placement=lw.Pose(rpy=(0, np.pi / 2, 0.4))),
        "bar": lw.Capsule(0.1, 0.8, friction=0.4, placement=lw.Pose(rpy=(0, np.pi / 2, -0.7))),
    }
    linkage, inertia = lw.Linkage(f"{upper} on {lower}"), lw.Inertia.box(1.0, (0.4, 0.3, 0.2))
    held = lw.Spherical(stiffness=20.0, damping=0.5)
    linkage.add_body("lower", joint=held, inertia=inertia, shapes=[shapes[lower]])
    linkage.add_body("upper", joint=lw.Free(), inertia=inertia, shapes=[shapes[upper]])
    model = linkage.compile()
    q = model.neutral().q.copy()
    along, up = np.array([np.cos(0.4), np.sin(0.4), 0.0]), np.array([0.0, 0.0, 1.0])  # of the rod
    normal = up if {upper, lower} & {"plate", "bar"} else np.cos(0.3) * up + np.sin(0.3) * np.cross(along, up)
    q[4:7] = (0.2 + 0.5e-4) * normal + (0.0 if upper == lower else 0.03) * along
    return model, lw.State(q, np.zeros(model.nv))


def simulated(model, q, v, effort, integrator="semi_implicit_euler"):
    contact = lw.Contact(margin=MARGIN, tolerance=1e-12)
    sim = lw.FullDynamics(model, lw.State(q, v), integrator=integrator, contact=contact)
    sim.set_efforts(effort)
    return sim


WAYS = [("semi_implicit_euler", 1), ("semi_implicit_euler", 5), ("variational", 5)]
CASES = {
    # freedoms: turning about x, y, z, then moving along x, y, z (in the body's axes)
    "a sphere that slides": ("sphere", [0.0, 0.0, 0.1, 0.6, 0.3, 0.0]),
    "a sphere that rolls": ("sphere", [0.0, 1.0, 0.0, 0.1, 0.0, 0.0]),
    "a capsule that slides": ("capsule", [0.0, 0.0, 0.0, 0.0, 0.3, 0.5]),
    "a block that slides": ("block", [0.0, 0.0, 0.0, 0.7, 0.2, 0.0]),
    "a block that sticks": ("block", [0.0] * 6),
    "a pressing arm": ("pressing arm", [0.0, 0.0]),
    "two joints at their limits": ("limit", [0.3, -0.2, 0.1]),
    "a ball that bounces": ("ball", [0.1, 0.2, 0.0, 0.1, 0.0, -2.0]),
    "a ball on a ball": ("ball on ball", [0.2, 0.1, 0.3, 0.1, 0.2, 0.0, 0.3, 0.2, -0.3]),
    "a ball on a plate": ("ball on plate", [0.2, 0.1, 0.3, 0.1, 0.2, 0.0, 0.3, 0.2, -0.3]),
    "a plate on a ball": ("plate on ball", [0.2, 0.1, 0.3, 0.1, 0.2, 0.0, 0.3, 0.2, -0.3]),
    "a ball on a rod": ("ball on rod", [0.2, 0.1, 0.3, 0.1, 0.2, 0.0, 0.3, 0.2, -0.3]),
    "a rod on a ball": ("rod on ball", [0.2, 0.1, 0.3, 0.1, 0.2, 0.0, 0.3, 0.2, -0.3]),
    "a rod across a bar": ("rod on bar", [0.2, 0.1, 0.3, 0.1, 0.2, 0.0, 0.3, 0.2, -0.3]),
    # more than 0.03 rad in a step: forces of inertia are those half way
    "a capsule that spins": ("capsule", [50.0, 10.0, 0.0, 0.3, 0.2, 0.0]),
    "a sphere that spins": ("sphere", [40.0, 60.0, 20.0, 0.3, 0.1, 0.0]),
    "a ball that spins on a ball": ("ball on ball", [2.0, 1.0, 3.0, 40.0, 30.0, 50.0, 0.3, 0.2, -0.3]),
    "an arm that strikes": ("pressing arm", [40.0, -60.0]),
    "a ball that lands": ("above", [0.1, 0.2, 0.0, 0.1, 0.0, -0.8]),
}


# After the first step a joint rests at its limit, where there is no gradient from both sides.
RUNS = [(case, *way) for case, (kind, _) in CASES.items() for way in WAYS if kind != "limit" or way[1] == 1]


@pytest.mark.parametrize(("case", "integrator", "steps"), RUNS)
def test_against_differences(case, integrator, steps, rng):
    kind, speed = CASES[case]
    model, state = scene(kind)
    v = np.array(speed)
    effort = np.zeros(model.nv)
    if kind == "pressing arm":
        effort = np.array([1.0, 0.7])
    run = lw.run_with_gradients(simulated(model, state.q, v, effort, integrator), H, steps)
    end = run.state
    by_q, by_v = rng.normal(size=(2, model.nv))
    found = run.backward(q=by_q, v=by_v)

    def loss(q=state.q, v=v, tau=effort):
        moved = lw.run_with_gradients(simulated(model, q, v, tau, integrator), H, steps).state
        return by_q @ model.difference(end.q, moved.q) + by_v @ moved.v

    def difference(function, d):
        return (function(d) - function(-d)) / (2.0 * d)

    way = rng.normal(size=model.nv)
    pairs = {
        "q": (found.q @ way, difference(lambda d: loss(q=model.integrate(state.q, way, d)), 1e-6)),
        "v": (found.v @ way, difference(lambda d: loss(v=v + d * way), 1e-6)),
        "effort": (found.effort @ way, difference(lambda d: loss(tau=effort + d * way), 1e-4)),
    }
    scale = 1.0 + np.abs(np.concatenate([found.q, found.v])).max()
    for name, (ours, theirs) in pairs.items():
        assert abs(ours - theirs) <= CLOSE * scale, (name, ours, theirs)


def test_a_sliding_block_in_closed_form():
    """v⁺ = v - h μ g: the way after n steps has the derivative n h by v, and h² n (n + 1) / 2m by a force along it."""
    model, state = scene("block")
    v, steps = np.array([0.0, 0.0, 0.0, 0.7, 0.0, 0.0]), 20
    run = lw.run_with_gradients(simulated(model, state.q, v, np.zeros(6)), H, steps)
    assert run.state.v[3] == pytest.approx(0.7 - steps * H * 0.4 * 9.81, rel=1e-9)
    along = np.eye(6)[3]
    assert run.backward(v=along).v[3] == pytest.approx(1.0, rel=1e-9)
    found = run.backward(q=along)
    assert found.v[3] == pytest.approx(steps * H, rel=1e-9)
    # an effort of 1 N during all steps: h² n (n + 1) / 2 over the mass
    assert found.effort[3] == pytest.approx(0.5 * H * H * steps * (steps + 1), rel=1e-9)
    assert found.effort[5] == pytest.approx(0.4 * 0.5 * H * H * steps * (steps + 1), rel=1e-9)  # lifted: less friction


def test_the_default_integrator_flies_lands_and_slides(rng):
    """Steps in flight are variational, those in which something touches Euler's, whole; gradients go through both."""
    model, state = scene("sphere")
    first = state.q.copy()
    first[2] += 4.7e-3  # some 31 of the 60 steps are made in the air
    v = np.array([0.5, 0.2, 0.0, 1.5, 0.3, 0.0])

    def made(q=first, v=v):
        sim = lw.FullDynamics(model, lw.State(q, v), contact=lw.Contact(margin=MARGIN, tolerance=1e-12))
        assert sim.integrator == "variational"
        return sim.run(H, 60, gradients=True)

    by_q, by_v, way = rng.normal(size=(3, 6))
    run = made()
    assert run.state.q[2] == pytest.approx(0.1, abs=1e-3)
    found = run.backward(q=by_q, v=by_v)

    def difference(function, d=1e-7):
        ends = [by_q @ model.difference(run.state.q, x.state.q) + by_v @ x.state.v for x in (function(d), function(-d))]
        return (ends[0] - ends[1]) / (2.0 * d)

    scale = 1.0 + np.abs(np.concatenate([found.q, found.v])).max()
    assert abs(found.v @ way - difference(lambda d: made(v=v + d * way))) <= 10.0 * CLOSE * scale
    assert abs(found.q @ way - difference(lambda d: made(q=model.integrate(first, way, d)))) <= 10.0 * CLOSE * scale


@pytest.mark.parametrize("friction", [lw.Friction(0.3, backward=0.4, sideways=0.6), lw.Friction(0.4, patch=0.01)])
def test_other_laws_of_friction_are_refused(friction):
    linkage = lw.Linkage("odd")
    linkage.add_obstacle("floor", lw.Plane(friction=0.4))
    ball = lw.Sphere(0.1, friction=friction)
    linkage.add_body("body", joint=lw.Free(), inertia=lw.Inertia.box(1.0, (0.4, 0.3, 0.2)), shapes=[ball])
    model = linkage.compile()
    q = model.neutral().q.copy()
    q[2] = 0.1 + 0.5e-4
    run = lw.run_with_gradients(simulated(model, q, np.array([0, 0, 0, 0.6, 0.3, 0]), np.zeros(6)), H, 2)
    with pytest.raises(lw.StateError, match=r"'body' touches with friction .* have no gradients"):
        run.backward(v=np.ones(6))
