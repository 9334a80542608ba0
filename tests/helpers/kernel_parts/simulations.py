"""Kernels of simulations and of force feedback, on small mechanisms: parts of `every_kernel`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from benchmarks.reference.felt_by_path import feel_by_path, feel_together

import linkwork as lw
from linkwork.adaptive.dynamics.region.everything import count_needed
from linkwork.adaptive.quasi_statics.comparison import Comparison
from linkwork.contact.geometry.distance import distances, make_scratch
from linkwork.dynamics.paths.path_union import respond_together
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.sharing.lock_check import check_lock
from linkwork.haptics.sharing.memory import new_memory
from linkwork.haptics.tick.coupling import couple_many
from linkwork.haptics.tick.coupling_loop import run_coupling
from linkwork.haptics.tick.scratch import SCRATCH
from linkwork.simulation.integrators.names import INTEGRATORS
from linkwork.simulation.loading.following import follow_controls
from tests.helpers.kernel_parts.mechanisms import SMALL, STEPS, H, Strings, apply_loads, closed_bars, mixed_joints, slow
from tests.reference.plain_contact import PlainContact


def quasi_statics(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    m = mixed_joints(floating=True)
    state = m.random_state(rng, speed=0.0)
    sim = lw.QuasiStatics(m, state, max_active_joints=5)
    pull = apply_loads(sim)
    sim.step(H, STEPS)
    sim.clear(pull)
    sim.step(H)
    yield "moved", sim.state.q
    yield "energies at rest", list(sim.scalars().values())
    second = lw.QuasiStatics(m, state, max_active_joints=5)
    second.restore(sim.checkpoint())
    second.solve()
    yield "restored", second.acceleration
    yield "rerooted at rest", sim.reroot("b3").state.q
    within = lw.QuasiStatics(m, state, tolerance=0.0, deadline=60.0)
    within.step(H)
    within.solve()
    within.refine(0.0)
    yield "within a deadline", within.acceleration
    compared = Comparison()
    compared.begin(within, 1, 1.0, 1.0)
    compared.finish()
    assert compared.difference() is not None
    chain = lw.library.chain(4).compile()
    rest = lw.QuasiStatics(chain, chain.state([0.4, 0.3, 0.2, 0.1]), tolerance=1e-3)
    rest.settle()
    yield "settled", lw.body_poses(chain, rest.state)
    stopped = lw.library.four_bar()
    stopped.edit_body("rocker", joint=lw.Revolute((0, 1, 0), limits=(-0.01, 0.01)))
    stopped.edit_body("crank", joint=lw.Revolute((0, 1, 0), limits=(-0.5, 0.5)))
    closed = stopped.compile()
    at_limits = lw.QuasiStatics(closed, closed.neutral())
    at_limits.set_effort("crank", 3.0)
    at_limits.step(0.05, STEPS)
    yield "stopped by a limit", at_limits.state.q
    stopped = lw.Linkage("arm")
    for i in range(3):
        joint = lw.Universal(limits=(-0.01, 0.01)) if i == 1 else lw.Revolute((0, 1, 0), limits=(-0.1, 0.2))
        stopped.add_body(
            f"b{i}", f"b{i - 1}" if i else "world", joint, lw.Pose((0.2, 0.0, 0.0)), lw.Inertia.sphere(1.0, 0.1)
        )
    arm = stopped.compile()
    at_limits = lw.QuasiStatics(arm, arm.neutral())
    at_limits.apply_wrench(2, force=(1.0, 0.0, 3.0))
    at_limits.step(0.1, STEPS)
    at_limits.settle()
    yield "settled at limits", at_limits.state.q


def steps_in_time(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """The one step, by every integrator, under every kind of load."""
    m = mixed_joints(floating=True)
    state = slow(m, m.random_state(rng))
    for integrator in INTEGRATORS:
        sim = lw.FullDynamics(m, state, integrator=integrator)
        apply_loads(sim)
        sim.step(H, STEPS)
        yield f"fully moved by {integrator}", np.concatenate(sim.state)


def one_full_step(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """The simplest of the steps, for runs in which compiling takes long."""
    m = mixed_joints(floating=True)
    sim = lw.FullDynamics(m, slow(m, m.random_state(rng)), integrator="semi_implicit_euler")
    apply_loads(sim)
    sim.step(H, STEPS)
    yield "one kind of step", np.concatenate(sim.state)
    control, motor, ones, column = rng.uniform(-2, 2, 3), np.zeros((3, 5)), np.ones(3), np.full(3, 2)
    follow_controls(control, -ones, ones, ones, np.arange(3), column, control, np.zeros(3, bool), motor)
    yield "controls", motor


def environments(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    # Imported here: Gymnasium is an extra, which `tools/numba_versions.py` does without.
    from linkwork.envs.cable_reach import CableReach
    from linkwork.envs.catheter_insert import CatheterInsert
    from linkwork.envs.environments import TaskEnv
    from linkwork.envs.snake_crawl import SnakeCrawl

    env = TaskEnv(CableReach(3))  # `act`, `look_at_cable`
    env.reset(seed=1)
    yield "an action", env.step(np.ones(2))[0]
    for task in (SnakeCrawl(3), CatheterInsert(6)):
        seen = np.zeros(task.observations)
        task.look(*task.rest(), np.zeros(1), np.zeros(task.actions), seen, True)
        yield "what is seen", seen


def full_dynamics(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    m = mixed_joints(floating=True)
    state = slow(m, m.random_state(rng))
    sim = lw.FullDynamics(m, state)
    apply_loads(sim)
    sim.step(H, STEPS)
    yield "scalars", list(sim.scalars().values())
    yield "total momentum", np.concatenate(sim.momentum)
    yield "present acceleration", sim.acceleration
    yield "efforts of the last step", np.array(sim.efforts)
    sim.set_state(state)
    yield "efforts before a step", np.array(sim.efforts)
    other = lw.FullDynamics(m, state, algorithm="dense", integrator="rk4")
    apply_loads(other)
    other.step(H, STEPS)
    yield "moved by accelerations from outside", np.concatenate(other.state)
    yield "efforts of steps from outside", np.array(other.efforts)
    tense = lw.FullDynamics(m, state, integrator="implicit_euler")
    apply_loads(tense)
    tense.step(H, STEPS)
    yield "moved by implicit Euler", np.concatenate(tense.state)
    bars, start = closed_bars()
    for integrator in INTEGRATORS:
        closed = lw.FullDynamics(bars, start, integrator=integrator)
        closed.step(H, STEPS)
        yield f"moved in a loop by {integrator}", np.concatenate(closed.state)
    yield "acceleration in a loop", closed.acceleration


def adaptive_dynamics(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    m = mixed_joints(floating=True)
    state = slow(m, m.random_state(rng))
    for integrator in INTEGRATORS:
        sim = lw.AdaptiveDynamics(m, state, max_active_joints=6, update_every=2, integrator=integrator)
        pull = apply_loads(sim)
        sim.step(H, STEPS)
        sim.pin_active(m.joint_names[9])
        sim.pin_inactive(m.joint_names[6])
        sim.clear(pull)
        sim.step(H, STEPS)
        yield f"moved by {integrator}", np.concatenate(sim.state)
        yield f"momentum by {integrator}", np.concatenate(sim.momentum)
        yield f"energy by {integrator}", sim.energy
    whole = lw.AdaptiveDynamics(m, state, tolerance=0.0)
    whole.step(H, STEPS)
    needed, _ = count_needed(whole.view.tree.table, whole.view.table, 0, 1e-3, H)
    yield "joints that would be active", float(needed)
    second = lw.AdaptiveDynamics(m, state, max_active_joints=6, update_every=2, integrator=integrator)
    second.restore(sim.checkpoint())
    second.unpin(m.joint_names[9])
    second.step(H)
    yield "went on", np.concatenate(second.state)
    bars, start = closed_bars()
    closed = lw.AdaptiveDynamics(bars, start, max_active_joints=2, update_every=2)
    closed.step(H, STEPS)
    yield "moved adaptively in a loop", np.concatenate(closed.state)


def fields_and_thermostats(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    m = lw.library.chain(6, joint=lw.Revolute((0, 1, 0))).compile()
    state = m.state(0.1 * rng.normal(size=m.nq), SMALL * rng.normal(size=m.nv))
    bath = {"field": Strings(), "thermostat": lw.Langevin(300.0, 1.0, seed=1, boltzmann=1e-6, fixman=True)}
    for integrator in INTEGRATORS:
        full = lw.FullDynamics(m, state, integrator=integrator, **bath)
        adaptive = lw.AdaptiveDynamics(m, state, max_active_joints=3, update_every=2, integrator=integrator, **bath)
        for sim in (full, adaptive):
            sim.step(H, STEPS)
            yield f"{type(sim).__name__} in a field by {integrator}", np.concatenate(sim.state)
            yield f"{type(sim).__name__}'s field by {integrator}", sim.field_energy
    loop = lw.library.four_bar().compile()
    closed = lw.FullDynamics(loop, lw.close_loops(loop, loop.neutral()), integrator="kick_drift_kick", field=Strings())
    closed.step(H, STEPS)
    yield "a loop in a field", np.concatenate(closed.state)
    bath = lw.Langevin(300.0, 1.0, seed=1, boltzmann=1e-6)
    closed = lw.FullDynamics(loop, lw.close_loops(loop, loop.neutral()), thermostat=bath)
    closed.step(H, STEPS)
    yield "a loop in a bath", np.concatenate(closed.state)


def force_feedback(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    m = mixed_joints(floating=True)
    start = m.random_state(rng)
    state = m.state(start.q, SMALL * start.v)
    for sim in (
        lw.FullDynamics(m, state),
        lw.AdaptiveDynamics(m, state, max_active_joints=6, update_every=2),
        lw.QuasiStatics(m, m.state(start.q), max_active_joints=5),
    ):
        hand, other = lw.haptics.ScriptedMotion(lambda t: (0.1 * t, 0.2 * t, 0.0)), lw.haptics.Pointer()
        grasp = lw.haptics.grasp(sim, 3, hand, (0.1, 0.0, 0.2), torque=1.0, torque_damping=0.1)
        lw.haptics.grasp(sim, 7, other)
        other.move((0.1, 0.0, 0.0), (0.9, 0.1, 0.0, 0.2))
        trace = grasp.session.run(0.02, h=H)
        yield f"felt in {type(sim).__name__}", trace.felt
        felt = np.zeros(6)
        held = grasp.session.grasp_set
        feel_by_path(held.table, held.ports_table, np.ones(6), felt)
        yield f"felt by the path in {type(sim).__name__}", felt
        wrenches, moved, all_felt = np.ones((2, 6)), np.zeros((2, 6)), np.zeros((2, 6))
        feel_together(held.table, held.ports_table, wrenches, moved, all_felt)
        respond_together(held.table, wrenches, moved)
        yield f"felt by all paths in {type(sim).__name__}", np.concatenate([moved, all_felt])
    loop = lw.library.four_bar().compile()
    closed = lw.FullDynamics(loop, lw.close_loops(loop, loop.neutral()))
    grasp = lw.haptics.grasp(closed, 1, lw.haptics.Pointer())
    yield "felt in a loop", grasp.session.run(0.01, h=H).felt
    stops = lw.Linkage("at its limit")
    body = lw.Inertia.box(1.0, (0.4, 0.1, 0.1)).at(lw.Pose((0.2, 0, 0)))
    stops.add_body("arm", joint=lw.Revolute((0, 1, 0), limits=(-0.1, 0.1)), inertia=body)
    limited = stops.compile()
    grasp = lw.haptics.grasp(lw.FullDynamics(limited, limited.state([0.1])), 0, lw.haptics.Pointer())
    yield "felt at a limit", grasp.session.run(0.01, h=H).felt
    memory, scratch = new_memory(), np.zeros(SCRATCH)
    couple_many(memory, scratch, 2)
    memory.view(np.int64)[at.H_STOP] = 1
    run_coupling(memory, scratch)
    check_lock(10)


def touching_bodies(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Shapes that meet: distances, both laws of contact, full and adaptive, limits of joints."""
    kinds = np.array([[0, 2], [1, 3], [2, 3]])
    poses, sizes, spans = np.zeros((3, 2, 12)), np.full((3, 2, 3), 0.2), np.zeros((3, 2, 2), dtype=np.int64)
    poses[:, :, [0, 4, 8]] = 1.0
    poses[:, 1, 9:] = (0.9, 0.1, 0.2)
    found = np.zeros((3, 10))
    distances(np.zeros((1, 3)), kinds, poses, sizes, spans, make_scratch(), found)
    yield "distances of solids", found[:, 0]
    linkage = lw.library.chain(4, joint=lw.Revolute((0, 1, 0), limits=(-0.4, 0.4)), radius=0.03)
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -0.45)))
    linkage.add_obstacle("peg", lw.Box((0.1, 0.1, 0.1)), lw.Pose((0.25, 0, -0.2)))
    m = linkage.compile()
    state = m.state([0.3, -0.2, 0.3, 0.1])
    yield "distance to obstacles", lw.clearance(m, state).distance
    yield "distance of two bodies", lw.closest(m, state, "link_3", "peg").distance
    yield "states that collide", lw.in_collision(m, state)
    plain = PlainContact(m, state, lw.Contact(friction=0.4))
    plain.step(H, STEPS)
    yield "plainly touched", plain.state.q
    for law in ("coupled", "impacts"):
        settings = lw.Contact(friction=0.4, law=law)
        plain = PlainContact(m, state, settings)
        plain.step(H, 2)
        for sim in (
            lw.FullDynamics(m, state, contact=settings),
            lw.AdaptiveDynamics(m, state, max_active_joints=2, update_every=2, contact=settings),
        ):
            sim.step(H, STEPS)
            yield f"{type(sim).__name__} touched by {law}", sim.state.q
        sim.restore(sim.checkpoint())
    for sim in (lw.FullDynamics(m, state), lw.AdaptiveDynamics(m, state, max_active_joints=2)):
        sim.step(H, STEPS)
        yield f"{type(sim).__name__} within limits", sim.state.q
    strong = lw.Revolute((0, 1, 0), limits=(-0.4, 0.4), effort_limit=0.5, velocity_limit=2.0)
    weak = lw.library.chain(4, joint=strong, radius=0.03).compile()
    driven = lw.FullDynamics(weak, weak.state([0.395, 0.2, -0.39, 0.1]))
    driven.motors.stiffness, driven.motors.damping, driven.motors.position = 50.0, 1.0, [1.0, 0.0, -1.0, 0.3]
    driven.step(H, STEPS)
    yield "motors and joints at their limits", driven.state.q
    balls = lw.Linkage("balls", gravity=(0, 0, 0))
    for name in ("a", "b"):
        balls.add_body(name, joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    m2 = balls.compile()
    apart, fast = m2.neutral(), np.zeros(12)
    apart.q[:2], fast[3] = (-0.4, 0.05), 0.35 / H
    shot = lw.FullDynamics(m2, lw.State(apart.q, fast), contact=lw.Contact())
    shot.step(H)
    yield "fast bodies that meet", shot.state.v
    for settings, integrator in product((None, lw.Contact(friction=0.4)), ("rk4", "semi_implicit_euler")):
        other = lw.FullDynamics(m, state, integrator=integrator, contact=settings)
        other.step(H, STEPS)
        yield f"{integrator} within limits, contact {settings is not None}", other.state.q
