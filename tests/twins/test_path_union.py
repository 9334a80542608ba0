"""Responses to wrenches on several bodies at once are those of the matrix of all pairs, from fewer nodes."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.reference.felt_by_path import feel_together
from tests.conftest import JOINTS

import linkwork as lw
from linkwork.core.bundles import describe
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.paths.path_data import solver_paths
from linkwork.dynamics.paths.path_queries import response_matrix
from linkwork.dynamics.paths.path_union import path_union, respond_together

SAME = 1e-12  # ε times some hundred operations on a path, relative to the largest response; 1e-15 is seen


def solved(model, rng):
    state = model.random_state(rng)
    solver = DcaSolver(model, threads=1)
    solver.prepare(state.q, state.v, np.zeros(0), np.zeros((0, 6)))
    assert solver.assemble() < 0
    return solver, solver_paths(solver)


def responses(solver, paths, bodies, wrenches):
    leaves = solver.assembly.leaf[bodies].astype(np.int64)
    union = path_union(solver.assembly.nodes, leaves)
    out = np.zeros_like(wrenches)
    respond_together(describe(paths, union), wrenches, out)
    K = np.zeros((wrenches.size, wrenches.size))
    response_matrix(describe(paths), leaves, K)
    return out, (K @ wrenches.ravel()).reshape(-1, 6), union


@pytest.mark.parametrize("count", [1, 2, 5, 32])
@pytest.mark.parametrize("shape", ["chain", "tree", "star"])
def test_responses_together_are_those_one_by_one(shape, count, rng):
    made = {
        "chain": lambda: lw.library.chain(joints=200),
        "tree": lambda: lw.library.random_tree(200, seed=3),
        "star": lambda: lw.library.random_tree(200, seed=5, branching=1.0),
    }
    model = made[shape]().compile()
    solver, paths = solved(model, rng)
    bodies = rng.integers(0, model.n_bodies, count)  # some may be the same
    out, expected, union = responses(solver, paths, bodies, rng.normal(size=(count, 6)))
    assert np.abs(out - expected).max() <= SAME * np.abs(expected).max()
    assert (np.diff(union.node) > 0).all()


@pytest.mark.parametrize("kind", JOINTS)
def test_for_every_joint(kind, rng):
    linkage = lw.Linkage("mixed")
    inertia = lw.Inertia.box(1.0, (0.4, 0.3, 0.2)).at(lw.Pose(xyz=(0.05, -0.1, 0.08)))
    names = ["world"]
    for k in range(7):
        parent = names[int(rng.integers(0, len(names)))] if k else "world"
        joint = JOINTS[kind] if k % 2 else lw.Revolute((1, 1, 0))
        linkage.add_body(f"b{k}", parent, joint, lw.Pose(xyz=(0.2, 0.1, 0.0)), inertia)
        names.append(f"b{k}")
    model = linkage.compile(merge_fixed=False)
    solver, paths = solved(model, rng)
    out, expected, _ = responses(solver, paths, np.array([1, 4, 6]), rng.normal(size=(3, 6)))
    assert np.abs(out - expected).max() <= SAME * max(1.0, np.abs(expected).max())


def test_paths_share_their_nodes_near_the_root():
    """O(k log(n/k)): k bodies spread over a chain of n need that many nodes, and no more than three times the log."""
    n = 4096
    model = lw.library.chain(joints=n).compile()
    solver = DcaSolver(model, threads=1)
    for k in (1, 4, 16, 64):
        leaves = solver.assembly.leaf[np.arange(k) * (n // k)].astype(np.int64)
        count = path_union(solver.assembly.nodes, leaves).node.size
        assert count <= k * (np.log2(n / k) + 3.0)


def test_hands_feel_the_same_by_the_union_of_their_paths(rng):
    model = lw.library.random_tree(120, seed=2).compile()
    sim = lw.FullDynamics(model, model.random_state(rng, speed=0.3))
    devices = [lw.haptics.Pointer() for _ in range(5)]
    grasps = [
        lw.haptics.grasp(sim, int(body), device, (0.1, 0.0, 0.2), force_limit=1e6, torque_limit=1e6, passive=False)
        for body, device in zip((3, 40, 77, 77, 119), devices, strict=True)
    ]
    for device in devices:
        device.move(0.1 * rng.normal(size=3))
    session = grasps[0].session
    session.tick()
    held = session.grasp_set
    wrench, moved, felt = np.array([grasp.wrench for grasp in grasps]), np.zeros((5, 6)), np.zeros((5, 6))
    feel_together(held.table, held.ports_table, wrench, moved, felt)
    expected = np.array([grasp.felt for grasp in grasps])
    assert np.abs(felt - expected).max() <= 1e2 * SAME * np.abs(expected).max()
