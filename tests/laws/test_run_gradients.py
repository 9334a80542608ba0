"""Gradients through steps and runs agree with differences of the simulation itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.model import layout

H, STEPS = 2e-3, 30
# Fourth-order differences with steps of 1e-3 of numbers of order one: 1e-9 of their size (see `derivative`); ten times that
# for what thirty steps and stiff parameters add.
CLOSE = 1e-7


def simulation(model, state, h=H, loaded=True, **options):
    options = {"integrator": "semi_implicit_euler", "limits": False, **options}
    sim = lw.FullDynamics(model, state, **options)
    if loaded:
        last = model.n_bodies - 1
        sim.apply_wrench(last, force=(0.3, -0.2, 0.1), torque=(0.1, 0.0, 0.05), frame="body", at=(0.1, 0.2, 0.0))
        sim.apply_wrench(last, force=(0.2, 0.5, -0.3), torque=(0.0, 0.1, 0.2), at=(0.05, 0.0, 0.1))
        sim.apply_spring(last // 2, target=(0.3, 0.2, 0.1), stiffness=3.0, at=(0.0, 0.1, 0.0))
        for hinge in [k for k, joint in enumerate(model.joints) if isinstance(joint, lw.Revolute)][:1]:
            sim.set_motor(model.joint_names[hinge], position=0.4, velocity=0.1, stiffness=5.0, damping=0.4)
    return sim


def linear_loss(model, start, end, by_q, by_v):
    """by_q · (end ⊖ start) is a loss whose gradient at `start` along the tangent is by_q itself."""
    return by_q @ model.difference(start.q, end.q) + by_v @ end.v


KINDS = ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "fixed", "compound")


@pytest.fixture(params=["chain", "tree", "bush", "floating", "held", "planar", "forest"])
def calm(request, make_tree):
    """Trees of all joint kinds; slow enough that thirty steps stay smooth.

    The momentum of "floating", "planar" and "forest" is kept; "held" has a free base with armature, which nothing keeps.
    """
    options = {"seed": 5, "bodies": 11, "branching": 0.5, "kinds": KINDS, "damping": True, "stiffness": True}
    shapes = {
        "chain": {"branching": 0.0, "armature": True},
        "tree": {"base": lw.Spherical(), "armature": True},
        "bush": {"branching": 1.0, "armature": True},
        "floating": {"base": lw.Free(stiffness=(2.0, 3.0, 0.5, 2.0, 2.0, 2.0), damping=0.3)},
        "held": {"base": lw.Free(), "armature": True},
        "planar": {"base": lw.Planar(stiffness=2.0, damping=0.3)},
        "forest": {"roots": 4, "branching": 0.7, "kinds": (*KINDS, "free"), "damping": False, "stiffness": False},
    }
    return make_tree(**{**options, **shapes[request.param]})


OPTIONS = {
    "implicit": {},
    "explicit": {"implicit_joints": False},
    "rk4": {"integrator": "rk4"},
    "kick_drift_kick": {"integrator": "kick_drift_kick"},
    "variational": {"integrator": "variational"},
    "implicit_midpoint": {"integrator": "implicit_midpoint"},
    "dormand_prince": {"integrator": "dormand_prince"},
    "implicit_euler": {"integrator": "implicit_euler"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_runs_against_differences(calm, rng, derivative, options):
    model = calm
    first = model.random_state(rng, speed=0.3)
    first = lw.State(model.integrate(model.neutral().q, 0.3 * rng.normal(size=model.nv)), first.v)
    efforts = rng.normal(size=(STEPS, model.nv))
    by_q, by_v, direction = rng.normal(size=(3, model.nv))
    run = lw.run_with_gradients(simulation(model, first, **options), H, STEPS, efforts)
    end = run.state
    found = run.backward(q=by_q, v=by_v)

    def loss(m=model, q=first.q, v=first.v, tau=efforts):
        sim = simulation(m, lw.State(q, v), **options)
        for effort in tau:
            sim.set_efforts(effort)
            sim.advance(H)
        return linear_loss(model, end, sim.state, by_q, by_v)

    def changed(column, d):
        dof = model.arrays.dof.copy()
        dof[:, column] += d * (model.arrays.dof[:, column] > 0.0)
        return replace(model, arrays=model.arrays._replace(dof=dof))

    def present(gradient, column):
        return gradient[model.arrays.dof[:, column] > 0.0].sum()

    def heavier(d):
        body = model.arrays.body.copy()
        body[:, layout.INERTIA] += d * masses
        return replace(model, arrays=model.arrays._replace(body=body))

    masses, kicks = 0.02 * model.mass * rng.normal(size=model.n_bodies), rng.normal(size=efforts.shape)
    pairs = {
        "q": (found.q @ direction, lambda d: loss(q=model.integrate(first.q, direction, d))),
        "v": (found.v @ direction, lambda d: loss(v=first.v + d * direction)),
        "effort": (np.sum(found.effort * kicks), lambda d: loss(tau=efforts + d * kicks)),
        "inertias": (found.inertias[:, 0] @ masses, lambda d: loss(heavier(d))),
        "gravity": (
            found.gravity @ direction[:3],
            lambda d: loss(
                replace(model, arrays=model.arrays._replace(gravity=model.arrays.gravity + d * direction[:3]))
            ),
        ),
        "damping": (present(found.damping, layout.DAMPING), lambda d: loss(changed(layout.DAMPING, d))),
        "stiffness": (present(found.stiffness, layout.STIFFNESS), lambda d: loss(changed(layout.STIFFNESS, d))),
        "armature": (present(found.armature, layout.ARMATURE), lambda d: loss(changed(layout.ARMATURE, d))),
    }
    for name, (ours, function) in pairs.items():
        expected = derivative(function)
        assert ours == pytest.approx(expected, rel=CLOSE, abs=CLOSE), name


def test_a_loss_of_all_states(calm, rng, derivative):
    model = calm
    first = lw.State(model.neutral().q, 0.2 * rng.normal(size=model.nv))
    weights, direction = rng.normal(size=(11, model.nv)), rng.normal(size=model.nv)
    run = lw.run_with_gradients(simulation(model, first), H, 10)

    def loss(d):
        sim = simulation(model, lw.State(first.q, first.v + d * direction))
        total = weights[0] @ sim.state.v
        for row in weights[1:]:
            sim.advance(H)
            total += row @ sim.state.v
        return total

    assert run.backward(v=weights).v @ direction == pytest.approx(derivative(loss), rel=CLOSE, abs=CLOSE)


def test_where_states_are_kept_does_not_matter(calm, rng):
    """From 2 kept states to all: the same bits, since the steps made again are the same steps."""
    first = lw.State(calm.neutral().q, 0.2 * rng.normal(size=calm.nv))
    row = 8 * (calm.nq + calm.nv)
    by_q = rng.normal(size=calm.nv)
    results = []
    for memory in (1e9, 26 * row):
        run = lw.run_with_gradients(simulation(calm, first), H, 25, memory=memory)
        assert np.array_equal(run.states()[-1], np.concatenate(run.state))
        results.append(run.backward(q=by_q))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other)


def test_constant_efforts_have_the_sum_of_the_gradients(calm, rng):
    first, effort = lw.State(calm.neutral().q, 0.2 * rng.normal(size=calm.nv)), rng.normal(size=calm.nv)
    by_q = rng.normal(size=calm.nv)
    constant = simulation(calm, first)
    constant.set_efforts(effort)
    found = lw.run_with_gradients(constant, H, 6).backward(q=by_q)
    each = lw.run_with_gradients(simulation(calm, first), H, 6, np.tile(effort, (6, 1))).backward(q=by_q)
    assert found.effort == pytest.approx(each.effort.sum(axis=0), rel=1e-12, abs=1e-15)
    assert found.q == pytest.approx(each.q, rel=1e-12)


def test_matrices_of_a_step_hold_its_gradients(calm, rng):
    state = lw.State(calm.integrate(calm.neutral().q, 0.3 * rng.normal(size=calm.nv)), rng.normal(size=calm.nv))
    sim = simulation(calm, state, loaded=False)
    A, B = lw.linearize(sim, H)
    nv = calm.nv
    for k in rng.integers(nv, size=4):
        unit = np.eye(nv)[k]
        for row, weights in ((k, {"q": unit}), (nv + k, {"v": unit})):
            found = lw.run_with_gradients(simulation(calm, state, loaded=False), H, 1).backward(**weights)
            scale = max(1.0, np.abs(A[row]).max())
            assert np.abs(A[row] - np.concatenate([found.q, found.v])).max() <= 1e-10 * scale
            assert np.abs(B[row] - found.effort).max() <= 1e-10 * scale


def test_a_step_of_a_turning_body(rng, derivative):
    """A ball that turns by a large angle within the step: the derivative of the exponential is not the identity."""
    linkage = lw.Linkage("top", gravity=(0, 0, 0))
    linkage.add_body("top", "world", lw.Spherical(), inertia=lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
    model = linkage.compile()
    first, direction = model.random_state(rng, speed=3.0), rng.normal(size=3)
    by_q, by_v = rng.normal(size=(2, 3))
    run = lw.run_with_gradients(simulation(model, first, loaded=False), 0.3, 1)
    end, found = run.state, run.backward(q=by_q, v=by_v)

    def loss(q, v):
        moved = lw.run_with_gradients(simulation(model, lw.State(q, v), loaded=False), 0.3, 1).state
        return linear_loss(model, end, moved, by_q, by_v)

    turned = derivative(lambda d: loss(model.integrate(first.q, direction, d), first.v))
    faster = derivative(lambda d: loss(first.q, first.v + d * direction))
    assert found.q @ direction == pytest.approx(turned, rel=CLOSE, abs=CLOSE)
    assert found.v @ direction == pytest.approx(faster, rel=CLOSE, abs=CLOSE)


def test_a_linkage_that_whips(rng, derivative):
    """Runs with gradients are made by Euler's rule; steps after them, or after one that fails, whip as before."""
    model = lw.library.chain(3, joint=lw.Revolute((0, 1, 0))).compile()
    first, direction = lw.State(0.3 * rng.normal(size=3), np.array([9.0, 12.0, 15.0])), rng.normal(size=3)
    sim = simulation(model, first, loaded=False)
    by_q, by_v = rng.normal(size=(2, 3))
    run = lw.run_with_gradients(sim, H, 8)
    end, found = run.state, run.backward(q=by_q, v=by_v)

    def loss(d):
        other = simulation(model, lw.State(first.q, first.v + d * direction), loaded=False)
        return linear_loss(model, end, lw.run_with_gradients(other, H, 8).state, by_q, by_v)

    assert found.v @ direction == pytest.approx(derivative(loss), rel=CLOSE, abs=CLOSE)
    lw.linearize(sim, H)
    assert sim.step(H).evaluations > 1
    plain = simulation(model, first, loaded=False)
    assert plain.step(H, 8).evaluations > 8
    assert not np.array_equal(plain.state.q, end.q)
    with pytest.raises(lw.StateError):
        lw.run_with_gradients(plain, H, 2, np.array([[0.0, 0.0, 0.0], [1e308, -1e308, 1e308]]))
    plain.set_state(first)
    plain.set_efforts(np.zeros(3))
    assert plain.step(H).evaluations > 1


@pytest.mark.parametrize("keep", [True, False], ids=["by its spin", "by its velocity"])
def test_a_step_of_a_free_body_that_turns_far(keep, rng, derivative):
    linkage = lw.Linkage("box")
    inertia = lw.Inertia.box(1.0, (0.1, 0.2, 0.3)).at(lw.Pose((0.05, 0.02, 0.1)))
    linkage.add_body("box", "world", lw.Free(), lw.Pose((0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1)), inertia)
    model = linkage.compile()
    first, direction = model.random_state(rng, speed=3.0), rng.normal(size=6)
    by_q, by_v = rng.normal(size=(2, 6))
    run = lw.run_with_gradients(simulation(model, first, loaded=False, keep_momentum=keep), 0.3, 1)
    end, found = run.state, run.backward(q=by_q, v=by_v)
    assert np.linalg.norm(model.difference(first.q, end.q)[:3]) > 0.5

    def loss(q, v):
        sim = simulation(model, lw.State(q, v), loaded=False, keep_momentum=keep)
        sim.advance(0.3)
        return linear_loss(model, end, sim.state, by_q, by_v)

    turned = derivative(lambda d: loss(model.integrate(first.q, direction, d), first.v))
    faster = derivative(lambda d: loss(first.q, first.v + d * direction))
    assert found.q @ direction == pytest.approx(turned, rel=CLOSE, abs=CLOSE)
    assert found.v @ direction == pytest.approx(faster, rel=CLOSE, abs=CLOSE)


@pytest.mark.parametrize("options", [{}, {"implicit_joints": False}], ids=["implicit", "explicit"])
def test_motors_at_their_limits_stay_there(options, rng, derivative):
    """One motor gives all it can, one is slowed down near its largest speed, with and without all it can, one is free."""
    joint = lw.Revolute((0, 1, 0), effort_limit=2.0, velocity_limit=1.5, damping=0.05, stiffness=0.1)
    model = lw.library.chain(4, joint=joint).compile()
    first = lw.State(0.3 * rng.normal(size=4), np.array([0.1, 1.4, -1.42, 0.2]))
    wishes = ((3.0, 5.0), (3.0, 0.3), (-30.0, 5.0), (0.1, 0.4))

    def simulated(state, effort):
        sim = simulation(model, state, loaded=False, **options)
        for name, (position, stiffness) in zip(model.joint_names, wishes, strict=True):
            sim.set_motor(name, position=position, stiffness=stiffness, damping=0.01)
        sim.set_efforts(effort)
        return sim

    by_q, by_v, direction = rng.normal(size=(3, 4))
    still = np.zeros(4)
    run = lw.run_with_gradients(simulated(first, still), 1e-3, 1)
    end, found = run.state, run.backward(q=by_q, v=by_v)

    def loss(q=first.q, v=first.v, effort=still):
        sim = simulated(lw.State(q, v), effort)
        sim.advance(1e-3)
        return linear_loss(model, end, sim.state, by_q, by_v)

    # Steps solve for the slope of a motor near its largest speed to one part in a thousand.
    near = {"rel": 1e-4, "abs": 1e-6}
    assert found.q @ direction == pytest.approx(derivative(lambda d: loss(q=first.q + d * direction)), **near)
    assert found.v @ direction == pytest.approx(derivative(lambda d: loss(v=first.v + d * direction)), **near)
    assert found.effort @ direction == pytest.approx(derivative(lambda d: loss(effort=d * direction)), **near)
    free = np.abs(simulated(first, still).efforts.motors) < 1.999
    assert 0 < free.sum() < 4


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "variational", "implicit_midpoint"])
def test_drives_with_dry_friction(integrator, rng):
    """Two drives slip, either way, one sticks: which of both they do is held."""
    model = lw.library.chain(3, joint=lw.Revolute((0, 1, 0), stiffness=0.5)).compile()
    first = lw.State(0.2 * rng.normal(size=3), np.array([0.5, -0.6, 0.0]))

    def simulated(q, v, effort):
        sim = simulation(model, lw.State(q, v), loaded=False, integrator=integrator)
        sim.motors.friction = np.array([0.03, 0.02, 50.0])
        sim.set_efforts(effort)
        return sim

    by_q, by_v, way = rng.normal(size=(3, 3))
    none = np.zeros(3)
    run = lw.run_with_gradients(simulated(first.q, first.v, none), 1e-3, 4)
    creeps = np.abs(np.diff(run.states()[:, 2])).max() / 1e-3
    assert creeps < 9e-5  # below the speed at which friction is all it can be
    found = run.backward(q=by_q, v=by_v)

    def loss(q=first.q, v=first.v, effort=none):
        sim = simulated(q, v, effort)
        sim.advance(1e-3, 4)
        return by_q @ sim.state.q + by_v @ sim.state.v

    small = 1e-5  # [rad, rad/s or N·m]: what sticks stays so
    for ours, function in (
        (found.q @ way, lambda d: loss(q=first.q + d * way)),
        (found.v @ way, lambda d: loss(v=first.v + d * way)),
        (found.effort @ way, lambda d: loss(effort=d * way)),
    ):
        slope = (function(small) - function(-small)) / (2.0 * small)
        # Variational steps are solved to 1e-12 of 6e-4 rad: times 5e5 N·m·s/rad of what sticks, 2e-8 in velocities.
        assert ours == pytest.approx(slope, rel=1e-5, abs=1e-2 if integrator == "variational" else 1e-5)
