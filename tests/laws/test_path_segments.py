"""Responses of many bodies by a tree of segments are those of all pairs of paths; junctions number O(k), words O(k)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.core.bundles import describe
from linkwork.core.jit import kernel
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.paths.path_data import solver_paths
from linkwork.dynamics.paths.path_queries import actual_acceleration, response_matrix
from linkwork.dynamics.paths.path_segments import (
    AT_D,
    IN_U,
    JUNCTION_STATE,
    network_responses,
    network_words,
    own_responses,
    segments,
    write_network,
)
from linkwork.dynamics.paths.path_union import accelerate_together, path_union, respond_in_turn

MODELS = {
    "chain": lambda: lw.library.chain(joints=200),
    "tree": lambda: lw.library.random_tree(150, seed=3),
    "binary": lambda: lw.library.binary_tree(joints=126),
    "molecule": lambda: lw.library.molecule(joints=120, seed=2),
}


@kernel
def make(table, words):
    return write_network(table, words, 3)


@kernel
def ask(words, count, state):
    network_responses(words, 3, count, state)


@kernel
def own(words, out, E, M):
    own_responses(words, 3, out, E, M)


@kernel
def accelerate(table, out):
    accelerate_together(table, out)


@pytest.mark.parametrize("hands", [1, 2, 3, 9, 40])
@pytest.mark.parametrize("name", MODELS)
def test_segments_respond_as_pairs_of_paths(name, hands, rng):
    """Bodies anywhere, some of them twice, one the root of the linkage."""
    model = MODELS[name]().compile()
    state = model.random_state(rng, speed=0.3)
    solver = DcaSolver(model, threads=1)
    solver.prepare(state.q, state.v, np.zeros(0), np.zeros((0, 6)))
    assert solver.assemble() < 0
    bodies = rng.integers(0, model.n_bodies, hands)
    bodies[0] = 0
    leaves = solver.assembly.leaf[bodies].astype(np.int64)
    paths = solver_paths(solver)
    union = path_union(paths.nodes, leaves)
    tree = segments(paths.nodes, union)
    table = describe(paths, union, tree)
    junctions = tree.node.size
    assert junctions <= 2 * hands - 1
    words = np.full(3 + network_words(hands), np.nan)
    used = make(table, words)
    assert used <= network_words(hands)
    K = np.zeros((6 * hands, 6 * hands))
    response_matrix(describe(paths), leaves, K)
    wrenches = rng.normal(size=(hands, 6))
    expected = (K @ wrenches.ravel()).reshape(hands, 6)
    work = np.zeros(JUNCTION_STATE * junctions)
    rows = work.reshape(junctions, JUNCTION_STATE)
    np.add.at(rows, (tree.junction[:, None], IN_U + np.arange(6)), wrenches)
    ask(words, junctions, work)
    # ε, times the condition of what joints eliminate (1e4 here), times the nodes of a path (up to 40) of some 50 operations
    allowed = rounding(condition=1e4, scale=np.abs(K).max() * np.abs(wrenches).sum(), steps=40)
    assert np.abs(rows[tree.junction, AT_D : AT_D + 6] - expected).max() <= allowed
    own(words, tree.own, np.zeros((12, 13)), np.zeros((12, 12)))
    for h in range(hands):
        block = K[6 * h : 6 * h + 6, 6 * h : 6 * h + 6]
        assert np.abs(tree.own[tree.junction[h], :36].reshape(6, 6) - block).max() <= allowed
    together = np.zeros((1, hands, 6))
    respond_in_turn(table, wrenches[None], together)
    assert np.abs(together[0] - expected).max() <= allowed
    moved, reference = np.zeros((hands, 6)), np.zeros((hands, 6))
    accelerate(table, moved)
    for h in range(hands):
        reference[h] = actual_acceleration(describe(paths), int(leaves[h]))
    assert np.abs(moved - reference).max() <= rounding(condition=1e4, scale=np.abs(reference).max(), steps=40)
