"""Lazy update: whatever sequence of loads, steps and solves went before, everything is as if computed from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.adaptive.measures import MEASURES

pytestmark = pytest.mark.filterwarnings(
    "ignore::linkwork.errors.LinkworkWarning"
)  # tolerances below the rounding floor

BOUNDED = settings(max_examples=30, deadline=None, derandomize=True)
CHANGES = 250  # for each of four measures: a thousand

# Coefficients go through the same arithmetic either way; only world poses, and so the loads fixed in the world, are
# composed in another order. That is a few ε times condition numbers up to 1e4.
SAME = 1e-10


class Ledger:
    """Plays random changes to a simulation and keeps its own books of them, by the plainest means."""

    def __init__(self, sim, rng):
        self.sim, self.model, self.rng = sim, sim.model, rng
        self.loads = []  # (handle, kind, body, at, force, torque or target and stiffness)
        self.effort = np.zeros(self.model.nv)

    def wrenches(self):
        """All loads as wrenches in the frames of their bodies, at the present state."""
        total = np.zeros((self.model.n_bodies, 6))
        poses = lw.body_poses(self.model, self.sim.state)
        for load in self.loads:
            R, p = poses[load["body"], :3, :3], poses[load["body"], :3, 3]
            f, n = load["force"], load["torque"]
            if load["kind"] == "spring":
                f = f + load["stiffness"] * (load["target"] - p - R @ load["at"])
            if load["kind"] != "body":
                f, n = R.T @ f, R.T @ n
            total[load["body"]] += np.concatenate([n + np.cross(load["at"], f), f])
        return total

    def act(self):
        """One random change, of loads, efforts or coordinates."""
        acts = [
            self.push,
            self.push,
            self.spring,
            self.change,
            self.move_target,
            self.clear,
            self.set_effort,
            self.step,
        ]
        acts[self.rng.integers(len(acts))]()

    def some_load(self, *kinds):
        known = [load for load in self.loads if not kinds or load["kind"] in kinds]
        return known[self.rng.integers(len(known))] if known else None

    def push(self):
        kind = ("body", "world")[self.rng.integers(2)]
        body, at = int(self.rng.integers(self.model.n_bodies)), self.rng.normal(size=3)
        force, torque = 10.0 ** self.rng.uniform(-3, 2) * self.rng.normal(size=(2, 3))
        handle = self.sim.apply_wrench(body, force=force, torque=torque, frame=kind, at=at)
        self.loads.append({"handle": handle, "kind": kind, "body": body, "at": at, "force": force, "torque": torque})

    def spring(self):
        body, at, target = int(self.rng.integers(self.model.n_bodies)), *self.rng.normal(size=(2, 3))
        stiffness = float(self.rng.uniform(0.1, 10.0))
        handle = self.sim.apply_spring(body, target=target, stiffness=stiffness, at=at)
        nothing = np.zeros(3)
        self.loads.append(
            {"handle": handle, "kind": "spring", "body": body, "at": at, "force": nothing, "torque": nothing,
             "target": target, "stiffness": stiffness}
        )  # fmt: skip

    def change(self):
        load = self.some_load("body", "world")
        if load is not None:
            load["force"] = self.rng.normal(size=3)
            self.sim.change_wrench(load["handle"], force=load["force"])

    def move_target(self):
        load = self.some_load("spring")
        if load is not None:
            load["target"] = self.rng.normal(size=3)
            self.sim.move_target(load["handle"], load["target"])

    def clear(self):
        load = self.some_load()
        if load is not None:
            self.loads = [other for other in self.loads if other is not load]
            self.sim.clear(load["handle"])

    def set_effort(self):
        i = int(self.rng.integers(self.model.n_bodies))
        if self.model.joints[i].nv:
            value = self.rng.normal(size=self.model.joints[i].nv)
            self.effort[self.model.v_slice(i)] = value
            self.sim.set_effort(self.model.joint_names[i], value)

    def step(self):
        self.sim.step(10.0 ** self.rng.uniform(-4, -2), int(self.rng.integers(1, 4)))


def from_scratch(ledger):
    """A new simulation at the same state, with the loads of the ledger on each body and joint."""
    old = ledger.sim
    weights = old.checkpoint()["weights"]
    sim = lw.QuasiStatics(ledger.model, old.state, weights=weights, measure=old.measure, tolerance=old.tolerance)
    sim.apply_wrenches(np.arange(ledger.model.n_bodies), ledger.wrenches(), frame="body")
    sim.set_efforts(ledger.effort)
    return sim


def same(ours, theirs):
    scale = np.abs(theirs).max(initial=1e-300)
    return bool((np.abs(ours - theirs) <= SAME * (np.abs(theirs) + 1e-3 * scale)).all())


def check_solves(ledger):
    """Solves that look ever deeper, in the end at every joint, find what a new simulation finds, and bound it alike: what
    is kept of rigid parts is right at any depth. Returns how many joints the first one left out."""
    sim, fresh = ledger.sim, from_scratch(ledger)
    left_out = sim.model.n_bodies - sim.solve().n_computed
    for tolerance in (*(2.0**-k for k in range(0, 24, 3)), 0.0):
        ours, theirs = sim.solve(tolerance), fresh.solve(tolerance)
        if ours.n_computed == theirs.n_computed:  # a metric may be at the tolerance to rounding
            assert same(sim.acceleration, fresh.acceleration), tolerance
            if ours.error_bound > 10.0 * max(ours.rounding_floor, theirs.rounding_floor):
                assert ours.error_bound == pytest.approx(theirs.error_bound, rel=1e-6)
    assert same(sim.acceleration, fresh.acceleration)
    return left_out


@BOUNDED
@given(
    seed=st.integers(0, 2**32 - 1),
    bodies=st.integers(1, 40),
    branching=st.sampled_from([0.0, 0.3, 1.0]),
    roots=st.integers(1, 3),
    options=st.booleans(),
    tolerance=st.sampled_from([4.0, 0.5, 2.0**-4, 2.0**-11]),
    acts=st.integers(1, 30),
)
def test_solves_are_those_of_a_new_simulation(make_tree, seed, bodies, branching, roots, options, tolerance, acts):
    rng = np.random.default_rng(seed)
    model = make_tree(
        seed=seed % 100,
        bodies=bodies,
        branching=branching,
        roots=min(roots, bodies),
        stiffness=options,
        armature=options,
    )
    sim = lw.QuasiStatics(
        model, model.random_state(rng, speed=0.0), tolerance=tolerance, weights=10.0 ** rng.uniform(-1, 1, model.nv)
    )
    ledger = Ledger(sim, rng)
    for _ in range(acts):
        ledger.act()
    check_solves(ledger)


@pytest.mark.parametrize("name", ["molecule", "millipede"])
def test_nodes_that_close_get_roots_that_fit(name):
    """Loads come and go on a linkage that is at rest elsewhere: most nodes close again, and their roots are right."""
    model = {
        "molecule": lambda: lw.library.molecule(joints=300, seed=3),
        "millipede": lambda: lw.library.millipede(segments=60, leg_links=5, spine=180),
    }[name]().compile()
    rng = np.random.default_rng(0)
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=2.0**-3)
    ledger = Ledger(sim, rng)
    reopened = set()
    for _ in range(12):
        ledger.push()
        sim.step(1e-3, 5)
        reopened |= set(sim.computed_joints)
        ledger.clear()
        sim.step(1e-3, 5)
    assert len(reopened - set(sim.computed_joints)) > 10
    assert check_solves(ledger) > 100


@pytest.mark.parametrize("measure", MEASURES)
def test_a_thousand_changes_never_break_the_bound(make_tree, measure):
    """The error against a reference after every change; the reference adds loads up by itself."""
    rng = np.random.default_rng(list(MEASURES).index(measure))
    model = make_tree(seed=11, bodies=25, branching=0.4, stiffness=True, armature=True)
    weights = 10.0 ** rng.uniform(-1, 1, model.nv)
    joint = np.repeat(np.arange(model.n_bodies), [joint.nv for joint in model.joints])
    norm = np.linalg.norm if "linkage" in measure else np.max
    sim = lw.QuasiStatics(model, model.random_state(rng, speed=0.0), tolerance=0.1, measure=measure, weights=weights)
    ledger = Ledger(sim, rng)

    def size(x):
        return norm(np.sqrt(np.bincount(joint, weights * x**2, minlength=model.n_bodies)))

    for k in range(CHANGES):
        ledger.act()
        report = sim.solve(2.0 ** -rng.uniform(0.0, 30.0))
        wrenches = ledger.wrenches()
        truth = lw.forward_dynamics(model, sim.state, ledger.effort, wrenches, algorithm="dense")
        doubt = size(
            lw.forward_dynamics(model, sim.state, ledger.effort, wrenches) - truth
        )  # what two references differ by
        scale = size(truth) if "relative" in measure else 1.0
        assert size(sim.acceleration - truth) <= report.error_bound * scale + doubt, k
    check_solves(ledger)


# ------------------------------------------------------------------------------------------------------ loads that leave


def loads_of_every_kind(sim):
    """One load of each kind on one body and on its neighbour, and an effort; returns what takes them away."""
    handles = []
    for body in (7, 8):
        handles.append(sim.apply_wrench(body, force=(0.1, 0.2, 0.3), torque=(0.7, 0.0, 0.1), frame="body"))
        handles.append(sim.apply_wrench(body, force=(1e9, 0.2, 0.3), at=(0.1, 0.0, 0.0), frame="body"))
        handles.append(sim.apply_wrench(body, force=(0.3, 0.1, 0.7), frame="world"))
        handles.append(sim.apply_spring(body, target=(0.5, 0.5, 0.5), stiffness=3.0))
    joint = sim.model.joint_names[7]
    sim.set_effort(joint, np.full(sim.model.joints[7].nv, 1e12))
    return handles, joint


def close(ours, theirs):
    """The same numbers through one kernel or another, which may fuse products differently."""
    return np.abs(ours - theirs).max() <= rounding(condition=1e4, scale=np.abs(theirs).max())


def test_a_cleared_load_leaves_no_trace(make_tree, rng):
    """Sums are formed anew, not by taking away."""
    model = make_tree(seed=6, bodies=20, stiffness=True)
    state = model.random_state(rng, speed=0.0)
    plain = lw.QuasiStatics(model, state, tolerance=0.0)
    plain.apply_wrench(7, force=(0.1, 0.7, 0.1), frame="body")
    plain.solve()
    sim = lw.QuasiStatics(model, state, tolerance=0.0)
    sim.apply_wrench(7, force=(0.1, 0.7, 0.1), frame="body")
    handles, joint = loads_of_every_kind(sim)
    sim.solve()
    assert (sim.acceleration != plain.acceleration).any()
    for k in rng.permutation(len(handles)).tolist():
        sim.clear(handles[k])
    sim.set_effort(joint, np.zeros(model.joints[7].nv))
    sim.solve()
    assert close(sim.acceleration, plain.acceleration)  # of 1e12 taken away again, rounding would leave 1e-4
    assert sim.computed_joints == plain.computed_joints


def test_clearing_all_loads_leaves_efforts(make_tree, rng):
    model = make_tree(seed=6, bodies=20)
    state = model.random_state(rng, speed=0.0)
    sim, plain = (lw.QuasiStatics(model, state, tolerance=0.0) for _ in range(2))
    _, joint = loads_of_every_kind(sim)
    sim.clear_loads()
    plain.set_effort(joint, np.full(model.joints[7].nv, 1e12))
    for each in (sim, plain):
        each.solve()
    assert close(sim.acceleration, plain.acceleration)


def test_loads_on_every_body_of_two_trees_before_the_first_steps():
    """The list of open nodes grows from one to all between two solves."""
    pair = lw.Linkage("pair")
    for tree in "ab":
        for i in range(6):
            parent = f"{tree}{i - 1}" if i else "world"
            part = lw.Inertia.box(1.0, (0.1, 0.2, 0.3))
            pair.add_body(f"{tree}{i}", parent, lw.Revolute((0, 1, 0)), lw.Pose((0.1, 0, 0)), part)
    model = pair.compile()
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=1e9, measure="absolute_joint")
    assert sim.solve().n_computed == 0
    ledger = Ledger(sim, np.random.default_rng(0))
    for body, joint in enumerate(model.joint_names):
        sim.set_effort(joint, 1.0)
        x, zero = np.array([1.0, 0.0, 0.0]), np.zeros(3)
        handle = sim.apply_wrench(body, force=x, frame="body")
        ledger.loads.append({"handle": handle, "kind": "body", "body": body, "at": zero, "force": x, "torque": zero})
    ledger.effort[:] = 1.0
    assert sim.solve().n_computed == 12
    truth = lw.forward_dynamics(model, sim.state, ledger.effort, ledger.wrenches())
    assert sim.acceleration == pytest.approx(truth, rel=1e-10)  # a mass matrix of condition 1e3
    check_solves(ledger)
