"""Runs every kernel of Linkwork on small mechanisms and keeps what came out. As a script: `every_kernel.py OUT [part ...]`.

Tests run the script in processes of their own, with bounds checking or for another processor, and compare. One body of
every joint kind in two trees, with all options and welds kept, so that every branch that depends on the joint is taken.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.adaptive.dynamics.region.everything import count_needed
from linkwork.adaptive.quasi_statics.comparison import Comparison
from linkwork.contact.geometry.distance import distances, make_scratch
from linkwork.core import jit
from linkwork.dynamics.front import ALGORITHMS
from linkwork.dynamics.paths.path_union import respond_together
from linkwork.dynamics.tree_elimination import factor_and_solve, factor_coupled
from linkwork.dynamics.tree_factor import make_tree_factor
from linkwork.dynamics.virtual_work.constraint_basis import basis_of_joint
from linkwork.envs.cable_reach import CableReach
from linkwork.envs.catheter_insert import CatheterInsert
from linkwork.envs.environments import TaskEnv
from linkwork.envs.snake_crawl import SnakeCrawl
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.sharing.lock_check import check_lock
from linkwork.haptics.sharing.memory import new_memory
from linkwork.haptics.tick.coupling import couple_many
from linkwork.haptics.tick.coupling_loop import run_coupling
from linkwork.haptics.tick.scratch import SCRATCH
from linkwork.reference import joint_calculus as calculus
from linkwork.reference.felt_by_path import feel_by_path, feel_together
from linkwork.reference.plain_contact import PlainContact
from linkwork.simulation.integrators.names import INTEGRATORS
from linkwork.simulation.loading.following import follow_controls

STEPS = 6  # of every simulation here
H = 1e-3  # and how long they are [s]
SMALL = 1e-2  # proportion of the speeds at the start: states stay far from singular ones


def mixed_joints(floating: bool = False) -> lw.Model:
    joints = [
        lw.Revolute((1, 2, 3), point=(0.1, 0, 0), damping=0.1, stiffness=2.0, rest=0.3, armature=0.1),
        lw.Prismatic((0, 1, 1), stiffness=1.0),
        lw.Fixed(),
        lw.Universal(damping=(0.1, 0.2)),
        lw.Spherical((0.1, 0.2, 0.3), stiffness=1.0),
        lw.Free(stiffness=1.0),
        lw.Screw((1, 0, 1), pitch=0.2),
        lw.Planar(),
        lw.Cylindrical(),
        lw.Compound([lw.Revolute((1, 0, 0)), lw.Prismatic((0, 1, 0)), lw.Revolute((0, 0, 1))]),
    ]
    linkage = lw.Linkage("mixed")
    part = lw.Inertia.box(1.0, (0.1, 0.2, 0.3)).at(lw.Pose((0.1, 0.2, 0.0)))
    for i, joint in enumerate(joints):
        parent = "world" if i in (0, 5) else f"b{i - 1 if i % 3 else i - 2}"
        linkage.add_body(
            f"b{i}", parent, lw.Free() if floating and parent == "world" else joint,
            lw.Pose((0.2, 0.1, 0.3), rpy=(0.1 * i, 0.2, 0.3)), part,
        )  # fmt: skip
    return linkage.compile(merge_fixed=False)


def vector_algorithms(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """The two algorithms that everything else rests on; `dca` moves its numbers in vectors."""
    m = mixed_joints()
    state = m.random_state(rng)
    effort, wrenches = rng.normal(size=m.nv), rng.normal(size=(m.n_bodies, 6))
    for name in ("aba", "dca"):
        yield f"vectors by {name}", lw.forward_dynamics(m, state, effort, wrenches, algorithm=name)


def full_algorithms(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    m = mixed_joints()
    state = m.random_state(rng)
    effort, wrenches = rng.normal(size=m.nv), rng.normal(size=(m.n_bodies, 6))
    for name in ALGORITHMS:
        yield f"forward by {name}", lw.forward_dynamics(m, state, effort, wrenches, algorithm=name)
        yield f"unloaded by {name}", lw.forward_dynamics(m, state, algorithm=name)
    yield "inverse", lw.inverse_dynamics(m, state, effort, wrenches)
    yield "mass matrix", lw.mass_matrix(m, state)
    yield "reactions by dca", lw.joint_reactions(m, state, effort, wrenches)
    yield "reactions by virtual work", lw.joint_reactions(m, state, effort, wrenches, algorithm="virtual_work")
    prescribed = {m.joint_names[0]: 0.3, m.joint_names[4]: (0.1, 0.2, 0.3)}
    yield "hybrid", np.concatenate(lw.hybrid_dynamics(m, state, prescribed, effort, wrenches))
    F = make_tree_factor(m.n_bodies, m.nv)
    F.S[:], F.r[:], F.resistance[:] = rng.normal(size=F.S.shape), rng.normal(size=F.r.shape), 1.0
    F.block[:], F.effort[:] = np.eye(6).ravel(), effort
    assert factor_and_solve(m.arrays.tree, F)
    yield "solved tree", F.x
    F = make_tree_factor(m.n_bodies, m.nv, 20)
    F.S[:], F.r[:], F.resistance[:] = rng.normal(size=F.S.shape), rng.normal(size=F.r.shape), 1.0
    F.block[:], F.effort[:] = 9.0 * np.eye(6).ravel(), effort
    pairs = np.array([[0, 2], [1, 4], [2, 4]])
    assert factor_coupled(m.arrays.tree, F, pairs, np.tile(np.eye(6).ravel(), (3, 2)))
    yield "solved tree with couplings", F.x


def kinematics(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    m = mixed_joints()
    state, other = m.random_state(rng), m.random_state(rng)
    yield "poses", lw.body_poses(m, state)
    yield "twists", lw.body_twists(m, state, frame="world")
    yield "jacobian", lw.body_jacobian(m, state, m.n_bodies - 1, frame="world", at=(0.1, 0.2, 0.3))
    yield "energy", lw.energy(m, state)
    yield "momentum", np.concatenate(lw.momentum(m, state))
    yield "centre", lw.center_of_mass(m, state)
    yield "integrate", m.integrate(state.q, state.v, 0.1)
    yield "difference", m.difference(state.q, other.q)
    yield "state", m.state(2.0 * state.q).q
    yield "momentum matrix", lw.centroidal_momentum_matrix(m, state)
    yield "momentum bias", lw.centroidal_momentum_bias(m, state)
    yield "accelerations", lw.body_accelerations(m, state, rng.normal(size=m.nv))
    both = lw.State(np.array([state.q, other.q]), np.array([state.v, other.v]))
    for name in ("forward_dynamics", "bias_efforts", "body_poses"):
        yield f"two states: {name}", getattr(lw, name)(m, both)
    yield "two states: twists", lw.body_twists(m, both, frame="world")


def reaching(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """One step each, since where a search ends depends on the last digits."""
    m = mixed_joints()
    start, goal = m.random_state(rng), m.random_state(rng)
    poses = lw.body_poses(m, goal)
    names = m.body_names[-2:]
    targets = {name: lw.Pose(matrix=poses[m.body(name)]) for name in names}
    aims = {names[0]: lw.Target(look_at=(1, 2, 3)), names[1]: lw.Target(direction=(0, 1, 0), axis=(1, 0, 0))}
    for what, asked in (("poses", targets), ("aims", aims)):
        yield f"one step to {what}", lw.reach(m, start, asked, max_iterations=1, restarts=0).state.q
    near = m.integrate(start.q, SMALL * rng.normal(size=m.nv))
    place = lw.body_poses(m, m.state(near))[m.body(names[0])][:3, 3]
    yield "with a posture", lw.reach(m, start, {names[0]: place}, prefer=start, restarts=0).misses[names[0]].way < 1e-8
    center = lw.center_of_mass(m, start)
    yield "centre", lw.reach(m, start, center_of_mass=center + 0.01, max_iterations=1, restarts=0).state.q
    twists = {m.body_names[0]: rng.normal(size=6)}
    yield "velocity", lw.reach_velocity(m, start, targets, twists=twists, damping=1e-2)
    line = place + np.linspace(0, 0.01, 3)[:, None]
    for follows in (False, True):
        path = lw.follow(m, start, line, body=names[0], body_follows=follows, max_iterations=1)
        yield f"follow {follows}", path.q


def derivatives(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Products with Jacobians from both sides."""
    m = mixed_joints()
    state, effort, weights = m.random_state(rng), rng.normal(size=m.nv), rng.normal(size=m.nv)
    for function in (lw.forward_dynamics, lw.inverse_dynamics):
        _, pull = lw.vjp(function, m, state, effort, rng.normal(size=(m.n_bodies, 6)))
        found = pull(weights)
        yield f"gradients of {function.__name__}", np.concatenate([found.q, found.v, found.inertias.ravel()])
        yield f"change of {function.__name__}", lw.jvp(function, m, state, effort, dq=weights, dv=effort)
        yield f"matrices of {function.__name__}", np.array(lw.jacobians(function, m, state, effort))
    kinds = ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical", "compound")
    held = lw.library.random_tree(
        8, seed=3, kinds=kinds, options=True
    ).compile()  # free joints have no gradients of steps
    options = {"integrator": "semi_implicit_euler", "keep_momentum": False}
    sim = lw.FullDynamics(held, slow(held, held.random_state(rng)), **options)
    yield "matrices of a step", np.hstack(lw.linearize(sim, H))
    yield "gradients of a run", lw.run_with_gradients(sim, H, STEPS).backward(q=np.ones(held.nv), v=np.ones(held.nv)).q
    floating = lw.library.random_tree(6, seed=4, floating=True).compile()
    afloat = lw.FullDynamics(floating, slow(floating, floating.random_state(rng)), integrator="semi_implicit_euler")
    yield "gradients of a floating run", lw.run_with_gradients(afloat, H, STEPS).backward(q=np.ones(floating.nv)).q
    for integrator in ("variational", "implicit_midpoint", "dormand_prince"):
        moved = lw.FullDynamics(held, slow(held, held.random_state(rng)), integrator=integrator, limits=False)
        yield f"gradients of {integrator}", lw.run_with_gradients(moved, H, 2).backward(q=np.ones(held.nv)).q
    few = lw.AdaptiveDynamics(held, held.neutral(), max_active_joints=2, limits=False)
    yield "gradients of a region", lw.run_with_gradients(few, H, 2).backward(v=np.ones(held.nv)).gravity
    bars = lw.library.four_bar().compile()
    _, pull = lw.vjp(lw.constrained_dynamics, bars, lw.close_loops(bars, bars.neutral()))
    yield "gradients of a closed chain", pull(np.ones(bars.nv)).q
    few = lw.library.chain(5).compile()
    yield "full Jacobians of few joints", np.hstack(lw.jacobians(lw.forward_dynamics, few, few.neutral(), np.ones(5)))
    _, pull = lw.vjp(lw.energy, m, state)
    yield "gradients of energy", pull((1.0, 0.5)).q
    yield "change of poses", lw.jvp(lw.body_poses, m, state, dq=weights)


def single_joints(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """What a joint does by itself; `basis_of_joint` is what virtual work makes of it."""
    for joint in mixed_joints().joints:
        q, v = joint.random(rng), rng.normal(size=joint.nv)
        yield f"pose of {joint!r}", calculus.joint_pose(joint, q).matrix
        yield f"bias of {joint!r}", calculus.joint_bias(joint, q, v)
        S = calculus.joint_subspace(joint, q)
        yield f"subspace of {joint!r}", S
        linkage = lw.Linkage("one")
        linkage.add_body("b", joint=joint, inertia=lw.Inertia.box(1.0, (0.1, 0.2, 0.3)))
        tree, body, _, dof, *_ = linkage.compile(merge_fixed=False).arrays
        B, E = np.zeros(48), np.zeros((joint.nv, 6))
        assert basis_of_joint(tree, body, dof, 0, np.ascontiguousarray(S.T), B, E, np.zeros((6, 14)))
        yield f"constraints of {joint!r}", B


def path_queries(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    m = mixed_joints()
    response = lw.Response(m, m.random_state(rng), rng.normal(size=m.nv), rng.normal(size=(m.n_bodies, 6)))
    last = m.joint_names[-1]
    for i in range(m.n_bodies):
        yield f"pose by path {i}", response.pose(i)
        yield f"twist by path {i}", response.twist(i)
        yield f"acceleration by path {i}", response.acceleration(i)
        yield f"block {i}", response.block(i, m.n_bodies - 1 - i)
        yield f"wrench to joint {i}", response.joint_response(last, wrench_on=i, wrench=rng.normal(size=6))
    effort = rng.normal(size=m.joints[-1].nv)
    yield "effort to body", response.body_response(0, effort_on=last, effort=effort)
    response.set_wrench(3, rng.normal(size=6))
    response.set_effort(last, effort)
    yield "after changes", np.concatenate([response.joint_acceleration(name) for name in m.joint_names])


def closed_chains(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    m = lw.library.four_bar().compile()
    q = m.neutral().q + 0.05 * rng.normal(size=m.nq)
    state = lw.close_loops(m, m.state(q, rng.normal(size=m.nv)))
    yield "closed", np.concatenate(state)
    yield "gaps", lw.loop_gaps(m, state).worst_gap
    solution = lw.constrained_dynamics(m, state, rng.normal(size=m.nv))
    yield "constrained", solution.acceleration
    yield "reactions of loops", solution.reactions


def rerooting(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    m = mixed_joints(floating=True)
    state = m.random_state(rng)
    carried = lw.reroot(m, state, "b4", acceleration=rng.normal(size=m.nv))
    yield "rerooted", np.concatenate([carried.state.v, carried.acceleration])
    yield "rerooted poses", lw.body_poses(carried.model, carried.state)
    hung = lw.reroot(m, state, "b4", joint=lw.Spherical(), project=True)
    yield "projected", hung.state.v


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


def slow(m: lw.Model, state: lw.State) -> lw.State:
    return m.state(state.q, SMALL * state.v)


def closed_bars() -> tuple[lw.Model, lw.State]:
    """A four-bar linkage, closed, at rest."""
    m = lw.library.four_bar().compile()
    return m, lw.close_loops(m, m.neutral())


def apply_loads(sim: Any) -> lw.Load:
    """Every kind of load, on every simulation; returns one to take away."""
    m = sim.model
    sim.apply_wrench(3, force=(0.3, -0.2, 0.1), torque=(0.1, 0.0, 0.0), frame="body")
    pull = sim.apply_wrench(7, force=(0.1, 0.2, -0.3), at=(0.1, 0.0, 0.2))
    sim.set_wrenches(sim.apply_wrenches([2, 8], np.zeros((2, 6))), np.full((2, 6), 0.1))
    sim.move_target(sim.apply_spring(4, target=(0.5, 0.5, 0.5), stiffness=2.0, at=(0.0, 0.1, 0.0)), (0.4, 0.5, 0.5))
    sim.set_effort(m.joint_names[1], 0.1)
    sim.set_motor(m.joint_names[6], position=0.2, stiffness=1.0, damping=0.1)
    return pull


class Strings:
    """E = Σ |x|² over the origins of all bodies: a field in plain NumPy."""

    def wrenches(self, poses: np.ndarray, out: np.ndarray) -> float:
        R, x = poses[:, :9].reshape(-1, 3, 3), poses[:, 9:]
        out[:, :3], out[:, 3:] = 0.0, -2.0 * np.einsum("bji,bj->bi", R, x)
        return float((x * x).sum())


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
        held = grasp.session.held
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


def statics_and_digits(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """A column that must leave its saddle, tension taken implicitly, and a model on which dca counts its digits."""
    column = lw.library.chain(6, joint=lw.Revolute((0, 1, 0), stiffness=1.0)).compile()
    loads = lw.Loads(column)
    loads.apply_wrench(5, force=(0.0, 0.0, 60.0), at=(0.0, 0.0, -0.1))
    yield "energy of a buckled column", lw.settle(column, column.neutral(), loads=loads).report.energy
    yield "modes of a column", lw.modes(column, column.neutral(), 3).rates2
    cable = lw.rod(1.0, 4, EI=1.0, mass_per_length=2.0, radius=0.01, joints="plane")
    cable.attach_world("start", lw.Clamped())
    wet = cable.compile()
    sea = lw.Water(current=(0.5, 0.0, 0.0), surface=10.0)
    at_rest = lw.settle(wet, wet.neutral(), water=sea).state
    yield "angles of a rod in water", at_rest.q
    yield "modes of a rod in water", lw.modes(wet, at_rest, 3, water=sea).rates2
    few = lw.AdaptiveDynamics(wet, wet.neutral(), max_active_joints=2, water=sea)
    few.step(H, STEPS)
    yield "few joints in water", few.state.q
    yield "tension of a rod in water", few.along().tension
    held = lw.rod(1.0, 4, EI=1.0, mass_per_length=2.0, radius=0.01)
    held.attach_world("start", lw.Pinned())
    held.attach_world("end", lw.Pinned(), at=(0.8, 0.0, 0.0))
    hung = held.compile()
    yield "tension of a rod between two pins", lw.settle(hung, hung.neutral()).tension
    ball = lw.library.chain(3, joint=lw.Spherical(stiffness=(1.0, 2.0, 3.0))).compile()
    yield "gradient of the energy of uneven balls", lw.vjp(lw.energy, ball, ball.random_state(rng))[1]((0.0, 1.0)).q
    tight = lw.FullDynamics(column, column.state(0.1 * rng.normal(size=6)), integrator="implicit_euler")
    tight.apply_wrench(5, force=(3.0, 0.0, -5.0))
    tight.step(H, STEPS)
    yield "moved under tension", np.concatenate(tight.state)
    uneven = lw.Linkage("uneven")
    for k, mass in enumerate((1.0, 1e-7)):
        parent = "world" if k == 0 else "b0"
        uneven.add_body(
            f"b{k}", parent, lw.Revolute((0, 1, 0)), lw.Pose((0, 0, -0.1 * k)), lw.Inertia.sphere(mass, 0.1)
        )
    m = uneven.compile()
    yield "uneven masses by dca", lw.forward_dynamics(m, m.state([0.3, 0.2]), algorithm="dca")


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
        judge = PlainContact(m, state, settings)
        judge.step(H, 2)
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


def molecules(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    mol = lw.molecules.peptide("AG")
    for engine in ("numba", "openmm"):
        for make in (lw.FullDynamics, partial(lw.AdaptiveDynamics, max_active_joints=2, update_every=2)):
            sim = make(mol.model, mol.state, field=mol.field("amber14", engine=engine))
            sim.step(1e-4, 4)
            yield f"{engine} {type(sim).__name__}", sim.state.q
    for solvent in ("obc2", "gbn2"):
        yield solvent, mol.field("amber14", solvent=solvent).generalized_forces(mol.state)
    curved = mol.field("amber14", cutoff=0.9, switch=0.5).second_derivatives(mol.state)
    yield "second derivatives", 1e-4 * curved / np.abs(curved).max()  # terms of few atoms by differences: fewer digits
    yield "maps of torsions", mol.field("amber19").generalized_forces(mol.state)
    part = mol.flexible(2, closed=False)  # most atoms are one body
    near = mol.field("amber14").on(part)
    yield "surroundings", near.generalized_forces(part.state)
    yield "forces on surroundings", near.forces()
    held = lw.molecules.Restraints(mol).rmsd([*mol.select(atoms="CA").tolist(), 0], 10.0, 0.1)
    held.distance(0, 9, 1.0, 10.0).dihedral(mol.torsions[0], 1.0, 5.0).position([3], 10.0, radius=0.1)
    yield "restraints", mol.field("amber14").with_restraints(held).generalized_forces(mol.state)


PARTS: dict[str, Callable[[np.random.Generator], Iterator[tuple[str, Any]]]] = {
    part.__name__: part
    for part in (
        vector_algorithms,
        full_algorithms,
        kinematics,
        reaching,
        derivatives,
        single_joints,
        path_queries,
        closed_chains,
        rerooting,
        quasi_statics,
        steps_in_time,
        one_full_step,
        full_dynamics,
        adaptive_dynamics,
        fields_and_thermostats,
        force_feedback,
        statics_and_digits,
        touching_bodies,
        molecules,
    )
}


def results(parts: list[str] | None = None) -> dict[str, Any]:
    """What each part computes, as lists of numbers by name."""
    found: dict[str, Any] = {}
    for name in parts or list(PARTS):
        found |= {key: np.asarray(x).tolist() for key, x in PARTS[name](np.random.default_rng(7))}
    return found


def never_compiled() -> list[str]:
    """Kernels of the package, in whatever module, that have not been compiled in this process."""
    for module in pkgutil.walk_packages(lw.__path__, "linkwork."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return [f"{k.__module__}.{k.__name__}" for k in jit.kernels if not k.signatures]


if __name__ == "__main__":
    from numba.core import config

    numbers = results(sys.argv[2:])
    settings = {"bounds checked": bool(config.BOUNDSCHECK), "cpu": config.CPU_NAME, "features": config.CPU_FEATURES}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"results": numbers, "settings": settings, "never compiled": never_compiled()}, file)
