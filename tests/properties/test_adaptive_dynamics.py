"""Whatever happened before, a simulation goes on as one built from scratch at the same state and region."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.rounding import rounding

import linkwork as lw

BOUNDED = settings(max_examples=25, deadline=None, derandomize=True)
ACTS = 25
MOTOR = (0.3, 2.0, 0.1)  # position, stiffness, damping

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
        self.efforts, self.motors, self.pins = np.zeros(self.model.nv), set(), {}
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
        rows = self.model.v_slice(i)
        self.efforts[rows] = self.rng.normal(size=self.model.joints[i].nv)
        self.sim.set_effort(self.model.joint_names[i], self.efforts[rows])

    def motor(self):
        i = self.joint()
        if isinstance(self.model.joints[i], lw.Revolute | lw.Prismatic | lw.Screw | lw.Universal | lw.Compound):
            if self.rng.integers(2):
                self.sim.set_motor(self.model.joint_names[i], position=MOTOR[0], stiffness=MOTOR[1], damping=MOTOR[2])
                self.motors.add(i)
            elif i in self.motors:
                self.sim.clear_motor(self.model.joint_names[i])
                self.motors.remove(i)

    def pin(self):
        i = int(self.rng.integers(self.model.n_bodies))
        if i not in self.pins:
            self.pins[i] = active = bool(self.rng.integers(2))
            (self.sim.pin_active if active else self.sim.pin_inactive)(self.model.joint_names[i])

    def unpin(self):
        if self.pins:
            self.sim.unpin(self.model.joint_names[self.pins.popitem()[0]])

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


def assert_goes_on_alike(one, other):
    """The next steps give the same bits, and so do updates that look ever deeper, in the end at every joint: what is kept
    of rigid parts, at any depth, decides which joints are active and by how much others err."""
    for n in (1, 3, 9, 20):
        assert one.step(1e-3, n) == other.step(1e-3, n)
        assert (one.state.q == other.state.q).all()
        assert (one.state.v == other.state.v).all()
    for sim in (one, other):
        sim.max_active_joints = None
    for tolerance in (1e3, 1e2, 10.0, 1.0, 0.1, 1e-2, 0.0):
        for sim in (one, other):
            sim.tolerance = tolerance
        assert one.update_region(1e-2) == other.update_region(1e-2)
        assert one.active_joints == other.active_joints
        assert one.step(1e-3) == other.step(1e-3)
        assert (one.acceleration == other.acceleration).all()


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
    assert_goes_on_alike(sim, new)


@BOUNDED
@given(st.sampled_from(sorted(SHAPES)), st.integers(0, 2**32 - 1))
def test_any_history_goes_on_as_prescribed_joints_would(make_tree, shape, seed):
    """The reference has no regions: `hybrid_dynamics` with every inactive joint at rest, all loads by hand."""
    model = make_tree(seed % 97, damping=True, stiffness=True, armature=True, **SHAPES[shape])
    rng = np.random.default_rng(seed)
    sim = lw.AdaptiveDynamics(
        model, model.random_state(rng, speed=0.3), max_active_joints=5, update_every=4, measure="absolute_joint",
        integrator="semi_implicit_euler",
    )  # fmt: skip
    player = Player(sim, rng)
    for _ in range(ACTS):
        player.act()
    sim.update_region(1e-2)
    state = sim.state
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
    effort = player.efforts.copy()
    for i in player.motors:
        rows, columns = model.v_slice(i), model.q_slice(i)
        effort[rows] += MOTOR[1] * (MOTOR[0] - state.q[columns]) - MOTOR[2] * state.v[rows]
    active = set(sim.active_joints)
    prescribed = {
        name: np.zeros(joint.nv)
        for name, joint in zip(model.joint_names, model.joints, strict=True)
        if joint.nv and name not in active
    }
    truth, _ = lw.hybrid_dynamics(model, state, prescribed, effort, wrenches)
    for i, pin in player.pins.items():
        if model.joints[i].nv:
            assert (model.joint_names[i] in active) == pin
    assert len(sim.loads) == len(player.given)
    sim.update_every = 10**6
    sim.step(1e-10)  # so short that its accelerations are those of the state before it
    same = rounding(condition=1e5, scale=1.0 + np.abs(truth).max())  # of the mass matrices of these linkages
    assert sim.acceleration == pytest.approx(truth, rel=0, abs=same + 1e-8 * np.abs(truth).max())
