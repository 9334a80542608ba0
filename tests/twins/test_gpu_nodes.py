"""The device's node arithmetic, entry by entry, against the equations in plain form (`reference/node_equations.py`)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.noting import noting

import linkwork as lw
from linkwork.assembly.node_table import BODY, JOIN, LEFT, NODE_KIND, ROLE, TOP
from linkwork.gpu import DeviceModel, device_model, workspace
from linkwork.reference.node_equations import Cluster
from linkwork.reference.plain_dca import PlainDca

LOWER = [(i, j) for i in range(6) for j in range(i + 1)]
EPS = np.finfo(float).eps
# Rounding of one node is eps * condition of its M (below 1e4 in these trees) * the operations behind an entry; errors of
# the nodes below add up.
TOLERANCE = 1e6 * EPS


def symmetric(packed: np.ndarray) -> np.ndarray:
    M = np.zeros((6, 6))
    for value, (i, j) in zip(packed, LOWER, strict=True):
        M[i, j] = M[j, i] = value
    return M


def close(own: np.ndarray, plain: np.ndarray, scale: float) -> bool:
    return bool(np.abs(own - plain).max() <= TOLERANCE * max(scale, np.abs(plain).max()))


@pytest.mark.parametrize("narrow", [0, 10**9], ids=["one thread per node", "six threads per node"])
def test_every_entry_of_every_node(tree, rng, device_backend, monkeypatch, narrow):
    monkeypatch.setattr(workspace, "NARROW", narrow)
    state = tree.random_state(rng)
    effort, wrenches = rng.normal(size=tree.nv), rng.normal(size=(tree.n_bodies, 6))
    plan, plans = noting(device_model.plan_levels)
    work, works = noting(device_model.Workspace)
    monkeypatch.setattr(device_model, "plan_levels", plan)
    monkeypatch.setattr(device_model, "Workspace", work)
    device = DeviceModel(tree, schedule="levels", backend=device_backend)
    device.forward_dynamics(state.q, state.v, effort, wrenches, check=True)
    plain = PlainDca(tree, state, effort, wrenches)
    levels, arrays = plans[-1], works[-1].arrays  # those that the call made last are those it worked with
    tables = {name: device.backend.download(arrays[name])[..., 0] for name in ("top", "bottom", "cross")}
    checked = 0
    for k, node in enumerate(plain.nodes):
        s = levels.slot[k]
        if s < 0:
            continue
        row = device.assembly.nodes[k]
        top, bottom, cross = (tables[name][:, s] for name in ("top", "bottom", "cross"))
        if isinstance(node, Cluster):
            force = max(np.abs(node.b1).max(), np.abs(node.b2).max())
            assert close(symmetric(top[:21]), node.phi11, 0.0)
            assert close(top[21:], node.b1, force)
            if row[NODE_KIND] == JOIN and row[ROLE] != TOP:
                assert close(symmetric(bottom[:21]), node.phi22, 0.0)
                assert close(bottom[21:], node.b2, force)
                assert close(cross.reshape(6, 6), node.phi12.T, np.abs(node.phi11).max())
            assert row[NODE_KIND] == JOIN or (row[NODE_KIND] == BODY and row[LEFT] >= 0)
        else:
            # A free joint leaves K = 0 where masses of order one cancel.
            assert close(symmetric(top[:21]), node.K, 10.0)
            assert close(top[21:], node.p, 100.0)
        checked += 1
    assert checked == np.count_nonzero(levels.code >= 0)
    expected = lw.forward_dynamics(tree, state, effort, wrenches)
    own = device.forward_dynamics(state.q, state.v, effort, wrenches)
    assert np.abs(own - expected).max() <= TOLERANCE * np.abs(expected).max()
