"""Biases renewed on matrices that stand against those of a whole assembly, at every node."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.adaptive.dynamics.region import region
from linkwork.adaptive.workspace import OPEN_COUNT, REBUILD
from linkwork.assembly.node_table import BODY, HANG, JOIN, NODE_KIND, ROLE, TOP
from linkwork.dynamics.dca.nodes import HANG_L, JOIN_L, L_BETA, PHI22

# ε times the condition of the 6x6 solves of these trees (1e3), their number on a path (30), and a margin; relative to the
# largest bias of the tree, because a bias is what is left of differences.
SAME = 1e-9


def biases(sim):
    """Handed-up biases and gaps of all nodes, one row of numbers."""
    plan, c = sim.view.tree.plan, sim.view.tree.coefficients
    found = []
    for node, row in enumerate(plan.nodes):
        kind, slot, block = row[NODE_KIND], plan.slot[node], plan.block[node]
        found.append(c.handed_up[slot + 6 : slot + 48 : 8])
        if kind == JOIN and row[ROLE] != TOP:
            found.append(c.handed_up[slot + PHI22 + 6 : slot + PHI22 + 48 : 8])
        if kind in (JOIN, HANG):
            o = block + (JOIN_L if kind == JOIN else HANG_L) + L_BETA
            found.append(c.node_data[o : o + 6])
    return np.concatenate(found)


def matrices(sim):
    """Everything in the handed-up coefficients but the biases and the unused lane."""
    plan, c = sim.view.tree.plan, sim.view.tree.coefficients
    found = []
    for node, row in enumerate(plan.nodes):
        second = row[NODE_KIND] == JOIN and row[ROLE] != TOP
        for at in (0, PHI22)[: 1 + second]:
            block = c.handed_up[plan.slot[node] + at : plan.slot[node] + at + 48].reshape(6, 8)
            found.append(block[:, :6].ravel())
    return np.concatenate(found)


@pytest.mark.parametrize("seed", range(4))
def test_biases_alone_are_those_of_a_whole_assembly(make_tree, seed):
    """Trees of all joint kinds, branches and bases, every joint driven, every body loaded."""
    rng = np.random.default_rng(seed)
    model = make_tree(seed, damping=True, stiffness=True, armature=True)
    sim = lw.AdaptiveDynamics(model, lw.State(model.random_state(rng).q, np.zeros(model.nv)), max_active_joints=0)
    sim.update_region(1e-2)
    sim.set_efforts(rng.normal(size=model.nv))
    for i in range(model.n_bodies):
        sim.apply_wrench(model.body_names[i], force=rng.normal(size=3), torque=rng.normal(size=3))
    region.perform(*_refresh(sim))
    assert {BODY, JOIN} <= set(sim.view.tree.plan.nodes[:, NODE_KIND].tolist())
    assert sim.view.tree.run.counts[OPEN_COUNT] == len(sim.view.tree.plan.nodes)
    renewed, stood = biases(sim), matrices(sim)
    sim.view.tree.run.flag[:] |= REBUILD
    region.perform(*_refresh(sim))
    whole = biases(sim)
    assert np.abs(whole).max() > 0.0
    assert np.abs(renewed - whole).max() < SAME * np.abs(whole).max()
    assert (matrices(sim) == stood).all()


def _refresh(sim):
    return sim.view.tree.table, sim.view.table, region.REFRESH, -1, np.zeros(5)
