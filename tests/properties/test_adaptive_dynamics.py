"""Whatever happened before, coefficients are those of a simulation built from scratch at the same state and region."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.adaptive.metric.factor import IN_MOTION
from linkwork.adaptive.workspace import ACTIVE_COUNT, LOAD_COUNT, OPEN, STALE
from linkwork.assembly.node_table import JOIN, NODE_KIND, ROLE, TOP
from linkwork.core.views import ENTRIES, ROWS
from linkwork.simulation.loading.load_columns import LOAD_STIFFNESS
from linkwork.simulation.moving import LOADS, OK
from linkwork.simulation.stepping.evaluate import accelerations_now

BOUNDED = settings(max_examples=25, deadline=None, derandomize=True)
ACTS = 25
LINKAGE = ("tree", "body", "dof", "rest", "effort", "motor", "q", "v", "base", "tree_of", "target_momentum")

SHAPES = {
    "chain": {"branching": 0.0, "bodies": 14},
    "floating": {"bodies": 16, "base": lw.Free()},
    "bush": {"branching": 1.0, "bodies": 16},
    "forest": {"branching": 0.6, "bodies": 16, "roots": 5, "kinds": ("free", "revolute", "spherical", "universal")},
}


class Player:
    """Plays random verbs to a simulation, and can make another one with the same loads."""

    def __init__(self, sim, rng):
        self.sim, self.model, self.rng = sim, sim.model, rng
        self.given = []  # (handle, how it was applied)
        self.acts = (self.push, self.spring, self.change, self.take_away, self.effort, self.motor, self.pin)
        self.acts += (self.unpin, self.ask, self.choose, self.step, self.step, self.step)

    def act(self):
        self.acts[self.rng.integers(len(self.acts))]()

    def joint(self):
        """Any joint that can move."""
        able = [i for i, joint in enumerate(self.model.joints) if joint.nv]
        return able[self.rng.integers(len(able))]

    def push(self):
        body, frame = int(self.rng.integers(self.model.n_bodies)), ("body", "world")[self.rng.integers(2)]
        force, torque, at = self.rng.normal(size=(3, 3))
        load = self.sim.apply_wrench(body, force=force, torque=torque, frame=frame, at=at)
        self.given.append([load, "apply_wrench", body, {"force": force, "torque": torque, "frame": frame, "at": at}])

    def spring(self):
        body, (to, at) = int(self.rng.integers(self.model.n_bodies)), self.rng.normal(size=(2, 3))
        load = self.sim.apply_spring(body, target=to, stiffness=2.0, at=at)
        self.given.append([load, "apply_spring", body, {"target": to, "stiffness": 2.0, "at": at}])

    def change(self):
        if self.given:
            load, verb, _, how = self.given[self.rng.integers(len(self.given))]
            new = self.rng.normal(size=3)
            if verb == "apply_spring":
                how["target"] = new
                self.sim.move_target(load, new)
            else:
                how["force"] = new
                self.sim.change_wrench(load, force=new)

    def take_away(self):
        if self.given:
            self.sim.clear(self.given.pop(self.rng.integers(len(self.given)))[0])

    def effort(self):
        i = self.joint()
        self.sim.set_effort(self.model.joint_names[i], self.rng.normal(size=self.model.joints[i].nv))

    def motor(self):
        i = self.joint()
        if isinstance(self.model.joints[i], lw.Revolute | lw.Prismatic | lw.Screw | lw.Universal | lw.Compound):
            if self.rng.integers(2):
                self.sim.set_motor(self.model.joint_names[i], position=0.3, stiffness=2.0, damping=0.1)
            elif self.model.joint_names[i] in self.sim.view.joints.motor_joints:
                self.sim.clear_motor(self.model.joint_names[i])

    def pin(self):
        i = int(self.rng.integers(self.model.n_bodies))
        if i not in self.sim.view.region.pins:
            (self.sim.pin_active, self.sim.pin_inactive)[self.rng.integers(2)](self.model.joint_names[i])

    def unpin(self):
        if self.sim.view.region.pins:
            self.sim.unpin(self.model.joint_names[next(iter(self.sim.view.region.pins))])

    def ask(self):
        self.sim.update_region(1e-2)

    def choose(self):
        kind = self.rng.integers(3)
        self.sim.max_active_joints = None if kind == 0 else int(self.rng.integers(0, 10))
        self.sim.tolerance = None if kind == 1 else float(10.0 ** self.rng.uniform(-1, 3))

    def step(self):
        self.sim.step(1e-3, int(self.rng.integers(1, 7)))

    def second(self, loaded):
        """From nothing, at the same state and region; loads are applied again, or left to the checkpoint."""
        old = self.sim
        new = lw.AdaptiveDynamics(
            self.model, self.model.random_state(5, speed=0.3), update_every=old.update_every, measure=old.measure
        )
        new.tolerance, new.max_active_joints = old.tolerance, old.max_active_joints
        for _, verb, body, how in self.given if loaded else []:
            getattr(new, verb)(body, **how)
        new.restore(old.checkpoint())
        return new


def assert_same_coefficients(one, other):
    """Bit for bit: places, columns and roots of closed nodes, joints, loads, and the linkage that moves."""
    plan, a, b = one.view.tree.plan, one.view.tree.coefficients, other.view.tree.coefficients
    run, other_run = one.view.tree.run, other.view.tree.run
    count = run.counts[ACTIVE_COUNT]
    assert (run.active[:count] == other_run.active[: other_run.counts[ACTIVE_COUNT]]).all()
    for node in np.flatnonzero(run.flag & (OPEN | STALE) == 0).tolist():
        wide = plan.nodes[node, NODE_KIND] == JOIN and plan.nodes[node, ROLE] != TOP
        size, width = (96, IN_MOTION.row_2) if wide else (48, IN_MOTION.row_1)
        at, root = plan.columns_at[node], plan.factor_at[node]
        assert (a.columns[at : at + size] == b.columns[at : at + size]).all()
        assert a.rows[node] == b.rows[node]
        rows = slice(root, root + a.rows[node] * width)
        assert (a.factor[rows] == b.factor[rows]).all()
        assert (a.composite[node] == b.composite[node]).all()
    still, at_rest = np.ones(one.model.n_bodies, dtype=bool), np.ones(one.model.nv, dtype=bool)
    still[one.active_bodies] = False  # those of active joints are formed when an update begins
    for i in one.active_bodies.tolist():
        at_rest[one.model.v_slice(i)] = False
    assert (a.joint_data[still, :12] == b.joint_data[still, :12]).all()
    assert (a.effort_sum[at_rest] == b.effort_sum[at_rest]).all()
    loads = run.counts[LOAD_COUNT]
    assert (run.load[:loads] == other_run.load[:loads]).all()
    rows, others = (x.view.table[ROWS::ENTRIES] for x in (one, other))
    for name in LINKAGE:  # the linkage that moves
        k = one.view.moving._fields.index(name)
        assert rows[k] == others[k], name
        assert (one.view.moving[k][: rows[k]] == other.view.moving[k][: rows[k]]).all(), name
    k = one.view.moving._fields.index("wrench")  # no rows where there never was a wrench fixed in a body
    mine, its = (x.view.moving.wrench[: y[k]] for x, y in ((one, rows), (other, others)))
    assert (mine == its).all() if rows[k] == others[k] else not (mine.any() or its.any())
    used = slice(0, one.view.moving.counts[LOADS])
    assert (one.view.moving.load[used] == other.view.moving.load[used]).all()
    assert (one.view.moving.load_body[used] == other.view.moving.load_body[used]).all()


def assert_goes_on_alike(one, other):
    """The next steps give the same bits, updates of the region among them."""
    for n in (1, 3, 9, 20):
        assert one.step(1e-3, n) == other.step(1e-3, n)
        assert (one.state.q == other.state.q).all()
        assert (one.state.v == other.state.v).all()


@BOUNDED
@given(st.sampled_from(sorted(SHAPES)), st.integers(0, 2**32 - 1))
def test_any_history_leaves_what_a_new_simulation_would_have(make_tree, shape, seed):
    model = make_tree(seed % 97, damping=True, stiffness=True, armature=True, **SHAPES[shape])
    rng = np.random.default_rng(seed)
    sim = lw.AdaptiveDynamics(
        model, model.random_state(rng, speed=0.3), max_active_joints=5, update_every=4, measure="absolute_joint"
    )
    player = Player(sim, rng)
    for _ in range(ACTS):
        player.act()
    player.step()  # changes take effect with the next step
    new = player.second(loaded=seed % 2 == 0)
    assert new.report == sim.report
    assert_same_coefficients(sim, new)
    assert_goes_on_alike(sim, new)


@BOUNDED
@given(st.sampled_from(sorted(SHAPES)), st.integers(0, 2**32 - 1))
def test_any_history_goes_on_as_prescribed_joints_would(make_tree, shape, seed):
    """The reference has no regions: `hybrid_dynamics` with every inactive joint at rest, all loads by hand."""
    model = make_tree(seed % 97, damping=True, stiffness=True, armature=True, **SHAPES[shape])
    rng = np.random.default_rng(seed)
    sim = lw.AdaptiveDynamics(
        model, model.random_state(rng, speed=0.3), max_active_joints=5, update_every=4, measure="absolute_joint"
    )
    player = Player(sim, rng)
    for _ in range(ACTS):
        player.act()
    sim.update_region(1e-2)
    state, run = sim.state, sim.view.tree.run
    energy, momentum = lw.energy(model, state), lw.momentum(model, state)
    assert sim.energy.total == pytest.approx(energy.total, rel=1e-10, abs=1e-10)
    assert sim.momentum.angular == pytest.approx(momentum.angular, rel=1e-9, abs=1e-9)
    poses, wrenches = lw.body_poses(model, state), np.zeros((model.n_bodies, 6))
    for _, verb, body, how in player.given:
        R, p, at = poses[body, :3, :3], poses[body, :3, 3], how["at"]
        if verb == "apply_spring":
            f, n = R.T @ (how["stiffness"] * (how["target"] - p - R @ at)), np.zeros(3)
        elif how["frame"] == "world":
            f, n = R.T @ how["force"], R.T @ how["torque"]
        else:
            f, n = how["force"], how["torque"]
        wrenches[body] += np.concatenate([n + np.cross(at, f), f])
    effort = run.effort.copy()
    for i in range(model.n_bodies):
        rows, columns = model.v_slice(i), model.q_slice(i)
        if run.motor[rows].any():
            effort[rows] += run.motor[rows, 0] * (run.motor[rows, 2] - state.q[columns])
            effort[rows] += run.motor[rows, 1] * (run.motor[rows, 3] - state.v[rows])
    active = set(sim.active_joints)
    prescribed = {
        name: np.zeros(joint.nv)
        for name, joint in zip(model.joint_names, model.joints, strict=True)
        if joint.nv and name not in active
    }
    truth, _ = lw.hybrid_dynamics(model, state, prescribed, effort, wrenches)
    assert accelerations_now(sim.view.table) == OK
    same = rounding(condition=1e5, scale=1.0 + np.abs(truth).max())  # of the mass matrices of these linkages
    assert sim.acceleration == pytest.approx(truth, rel=0, abs=same)
    for i, pin in sim.view.region.pins.items():
        if model.joints[i].nv:
            assert (model.joint_names[i] in active) == (pin > 0)
    assert sim.view.tree.run.load[: sim.view.loads.count, LOAD_STIFFNESS].sum() == 2.0 * sum(
        g[1] == "apply_spring" for g in player.given
    )
