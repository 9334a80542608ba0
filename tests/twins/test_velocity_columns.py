"""Velocity columns and factors in motion of every rigid node against the plain algorithm at real velocities."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.metric import by_sum

import linkwork as lw
from linkwork.adaptive.metric.factor import IN_MOTION
from linkwork.adaptive.workspace import OPEN, STALE
from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, SUM, TOP
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.reference.plain_dca import PlainDca

# Chains of 6x6 solves: 100 ε times their condition (1e3), relative to the same sums over absolute values; a tenth is seen.
SAME = 2e-11


def products(w):
    return np.array([w[0] ** 2, w[1] ** 2, w[2] ** 2, w[0] * w[1], w[0] * w[2], w[1] * w[2]])


def classical_part(V):
    """Classical less spatial acceleration of a body that moves with V."""
    return np.concatenate([np.zeros(3), np.cross(V[:3], V[3:])])


class Motion:
    """Velocities of the first and last bodies of nodes, and which nodes move as one rigid body."""

    def __init__(self, model, state, nodes):
        self.nodes, self.parent = nodes, model.parent
        self.twists = lw.body_twists(model, state)
        speed = [np.abs(state.v[model.v_slice(i)]).max(initial=0.0) for i in range(model.n_bodies)]
        self.rigid = np.ones(len(nodes), dtype=bool)
        for node, row in enumerate(nodes):
            for child in row[[LEFT, RIGHT]]:
                self.rigid[node] &= child < 0 or self.rigid[child]
            if row[NODE_KIND] in (JOIN, HANG):
                self.rigid[node] &= speed[row[INDEX]] == 0.0

    def first(self, node):
        """Of the first body of a cluster, of the carrier of a branch."""
        kind, left, index = self.nodes[node, [NODE_KIND, LEFT, INDEX]]
        if kind == BODY:
            return self.twists[index]
        if kind == HANG:
            carrier = self.parent[index]
            return self.twists[carrier] if carrier >= 0 else np.zeros(6)
        return self.first(left)

    def last(self, node):
        return self.twists[self.nodes[node, INDEX]] if self.nodes[node, NODE_KIND] == BODY else self.last(
            self.nodes[node, RIGHT]
        )  # fmt: skip


def column_bias(sim, node, V, second=False):
    """Classical bias from the columns a simulation keeps, and the same over absolute values."""
    at = sim.view.tree.plan.columns_at[node] + (48 if second else 0)
    rows = sim.view.tree.coefficients.columns[at : at + 48].reshape(6, 8)[:, :7]
    m = np.append(products(V[:3]), 1.0)
    return rows @ m, np.abs(rows) @ np.abs(m)


def assert_columns_fit(sim, dca, motion, node):
    """Biases of one node; spatial ones of the reference, classical ones of ours."""
    row, V = sim.view.tree.plan.nodes[node], motion.first(node)
    ours, scale = column_bias(sim, node, V)
    spatial_node = dca.nodes[node]
    if row[NODE_KIND] in (HANG, SUM):
        truth = spatial_node.p - spatial_node.K @ classical_part(V)
        scale = scale + np.abs(spatial_node.K) @ np.abs(classical_part(V))
    else:
        truth = spatial_node.b1 + classical_part(V)
    assert ours == pytest.approx(truth, rel=0, abs=SAME * (1.0 + scale.max()))
    if row[NODE_KIND] == JOIN and row[ROLE] != TOP:
        ours, scale = column_bias(sim, node, V, second=True)
        truth = spatial_node.b2 + classical_part(motion.last(node))
        assert ours == pytest.approx(truth, rel=0, abs=SAME * (1.0 + scale.max()))


def assert_factor_fits(sim, dca, motion, node, rng):
    """A(C) of one node for random inputs: wrenches on its handles, or a spatial acceleration of its carrier."""
    row, V = sim.view.tree.plan.nodes[node], motion.first(node)
    wide = row[NODE_KIND] == JOIN and row[ROLE] != TOP
    branch = row[NODE_KIND] in (HANG, SUM)
    width = IN_MOTION.row_2 if wide else IN_MOTION.row_1
    f1 = rng.normal(size=6)
    f2 = rng.normal(size=6) if wide else np.zeros(6)
    truth = by_sum(dca, sim.view.tree.mechanism.weight, node, f1, f2)
    at = sim.view.tree.plan.factor_at[node]
    R = sim.view.tree.coefficients.factor[at : at + sim.view.tree.coefficients.rows[node] * width].reshape(-1, width)
    x = np.zeros(width)
    x[:6], x[6], x[IN_MOTION.of_m : IN_MOTION.of_m + 6] = (
        f1 + (classical_part(V) if branch else 0.0),
        1.0,
        products(V[:3]),
    )
    if wide:
        x[IN_MOTION.of_f2 : IN_MOTION.of_f2 + 6] = f2
    scale = float(np.sum((np.abs(R) @ np.abs(x)) ** 2))
    assert float(np.sum((R @ x) ** 2)) == pytest.approx(truth, rel=0, abs=SAME * (1e-6 + scale))


@pytest.fixture(params=["chain", "tree", "bush", "forest", "hinges", "floating"])
def model(request, make_tree):
    shape = {
        "chain": {"branching": 0.0, "bodies": 25, "stiffness": True, "armature": True, "base": lw.Spherical()},
        "tree": {"bodies": 30, "stiffness": True, "damping": True, "base": lw.Free()},
        "bush": {"branching": 1.0, "bodies": 30, "armature": True, "base": lw.Free()},
        "forest": {"branching": 0.7, "bodies": 25, "roots": 4, "stiffness": True, "armature": True},
        "hinges": {"branching": 0.1, "bodies": 40, "kinds": ("revolute", "prismatic", "screw"), "base": lw.Free()},
        "floating": {"branching": 0.2, "bodies": 30, "roots": 5, "kinds": ("free", "universal", "revolute", "planar")},
    }[request.param]
    return make_tree(seed=len(request.param), **shape)


def test_every_rigid_node_has_the_biases_of_the_plain_algorithm(model, rng):
    """Some joints move, so that what lies between them turns and shifts as rigid bodies: all of these nodes, all kinds."""
    state = model.random_state(rng)
    keep = rng.uniform(size=model.n_bodies) < 0.25
    keep[0] = True
    for i in np.flatnonzero(~keep):
        state.v[model.v_slice(int(i))] = 0.0
    effort, wrenches = rng.normal(size=model.nv), rng.normal(size=(model.n_bodies, 6))
    weights = 10.0 ** rng.uniform(-1, 1, model.nv)
    sim = lw.AdaptiveDynamics(model, state, weights=weights)
    for i, joint in enumerate(model.joints):
        sim.apply_wrench(i, force=wrenches[i, 3:], torque=wrenches[i, :3], frame="body")
        if joint.nv:
            sim.set_effort(model.joint_names[i], effort[model.v_slice(i)])
    sim.view.region.prepare()  # columns and factors of all nodes with these loads
    dca = PlainDca(model, state, effort, wrenches, assembly=DcaSolver(model, merges_welds=False).assembly)
    assert (dca.assembly.nodes == sim.view.tree.plan.nodes).all()
    motion = Motion(model, state, sim.view.tree.plan.nodes)
    rigid = np.flatnonzero(motion.rigid)
    assert set(sim.view.tree.plan.nodes[rigid, NODE_KIND]) >= {BODY, JOIN}
    assert max(np.abs(motion.first(node)[:3]).max() for node in rigid) > 0.3  # they do turn
    for node in rigid.tolist():
        assert_columns_fit(sim, dca, motion, node)
        assert_factor_fits(sim, dca, motion, node, rng)


def test_columns_and_factors_stay_right_through_any_motion(model, rng):
    """Joints come and go, loads and efforts change; whatever lies closed at the end still fits the present state."""
    weights = 10.0 ** rng.uniform(-1, 1, model.nv)
    sim = lw.AdaptiveDynamics(
        model, model.random_state(rng, speed=0.3), max_active_joints=6, update_every=3, weights=weights
    )
    effort, wrenches = np.zeros(model.nv), np.zeros((model.n_bodies, 6))
    for _ in range(40):
        i = int(rng.integers(model.n_bodies))
        if model.joints[i].nv:
            effort[model.v_slice(i)] = 3.0 * rng.normal(size=model.joints[i].nv)
            sim.set_effort(model.joint_names[i], effort[model.v_slice(i)])
        i = int(rng.integers(model.n_bodies))
        wrenches[i] += (load := 3.0 * rng.normal(size=6))
        sim.apply_wrench(i, force=load[3:], torque=load[:3], frame="body")
        sim.max_active_joints = int(rng.integers(2, 12))
        sim.step(2e-3, int(rng.integers(1, 8)))
    assert sim.report.region_changes > 40
    sim.max_active_joints = 4
    sim.update_region(1e-2)
    state = sim.state
    dca = PlainDca(model, state, effort, wrenches, assembly=DcaSolver(model, merges_welds=False).assembly)
    motion = Motion(model, state, sim.view.tree.plan.nodes)
    closed = np.flatnonzero(sim.view.tree.run.flag & (OPEN | STALE) == 0)
    assert closed.size > 0.2 * len(sim.view.tree.plan.nodes)
    assert motion.rigid[closed].all()
    for node in closed.tolist():
        assert_columns_fit(sim, dca, motion, node)
        assert_factor_fits(sim, dca, motion, node, rng)
