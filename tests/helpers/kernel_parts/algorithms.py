"""Kernels of algorithms, each on a small mechanism: parts of `every_kernel`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.dynamics.api import ALGORITHMS
from linkwork.dynamics.tree_factor import make_tree_factor
from linkwork.model.compile.order import FEW, depth_first_order
from linkwork.reference import joint_calculus as calculus
from linkwork.reference.joint_calculus import basis_of_joint
from tests.helpers.kernel_parts.mechanisms import SMALL, STEPS, H, mixed_joints, slow
from tests.helpers.tree_solves import factor_and_solve, factor_coupled


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
    F.S[:, :6], F.r[:, :3], F.added_diagonal[:] = rng.normal(size=(m.nv, 6)), rng.normal(size=(m.n_bodies, 3)), 1.0
    F.block.reshape(-1, 6, 8)[:, :, :6], F.effort[:] = np.eye(6), effort
    assert factor_and_solve(m.arrays.tree, F)
    yield "solved tree", F.x
    F = make_tree_factor(m.n_bodies, m.nv, 20)
    F.S[:, :6], F.r[:, :3], F.added_diagonal[:] = rng.normal(size=(m.nv, 6)), rng.normal(size=(m.n_bodies, 3)), 1.0
    F.block.reshape(-1, 6, 8)[:, :, :6], F.effort[:] = 9.0 * np.eye(6), effort
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
    geared = lw.library.chain(4)
    geared.add_coupling("gear", {"link_1": 1.0, "link_3": -2.0})
    m = geared.compile()
    yield "coupled", lw.forward_dynamics(m, m.neutral(), rng.normal(size=m.nv))


def rerooting(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    yield "bodies in order", depth_first_order(rng.integers(-1, np.arange(FEW + 1)))  # more than Python numbers
    m = mixed_joints(floating=True)
    state = m.random_state(rng)
    carried = lw.reroot(m, state, "b4", acceleration=rng.normal(size=m.nv))
    yield "rerooted", np.concatenate([carried.state.v, carried.acceleration])
    yield "rerooted poses", lw.body_poses(carried.model, carried.state)
    hung = lw.reroot(m, state, "b4", joint=lw.Spherical(), project=True)
    yield "projected", hung.state.v


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
