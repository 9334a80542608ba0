"""Turns: with any number of active joints, a linkage with dampers comes to rest where the full simulation does."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.adaptive.dynamics.region.turns import HAS_TURN
from linkwork.adaptive.workspace import CURSOR, TURN

H = 5e-3  # [s]
EULER = "semi_implicit_euler"
CLOSE = 1e-2  # [rad or m] of the pose of the full simulation, which starts radians away from it


def part(rng) -> lw.Inertia:
    return lw.Inertia.box(float(rng.uniform(0.5, 2.0)), (0.1, 0.1, 0.3)).at(lw.Pose((0, 0, -0.15)))


def linkage(seed: int) -> lw.Model:
    """3 to 6 joints: a chain, a tree, or a tree that floats, with dampers near the critical ones of their weight."""
    rng = np.random.default_rng(seed)
    shape = ("chain", "tree", "floating")[seed % 3]
    n = int(rng.integers(3, 7))
    gravity = (0.0, 0.0, 0.0) if shape == "floating" else (0.0, 0.0, -9.81)
    built = lw.Linkage(f"{shape}_{seed}", gravity=gravity)
    if shape == "floating":
        built.add_body("base", "world", lw.Free(), lw.Pose(), lw.Inertia.box(3.0, (0.3, 0.3, 0.3)))
    for i in range(n):
        above = "base" if shape == "floating" else "world"
        if i > 0:
            above = f"b{i - 1 if shape == 'chain' else int(rng.integers(i))}"
        axis = ((0, 1, 0), (1, 0, 0))[i % 2]
        place = lw.Pose() if above in ("world", "base") else lw.Pose((0, 0, -0.3))
        built.add_body(
            f"b{i}", above, lw.Revolute(axis, damping=1.0 + 0.5 * (n - i)), place, part(rng), joint_name=f"j{i}"
        )
    return built.compile()


def drive(model: lw.Model, sim: lw.Simulation, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for name, joint in zip(model.joint_names, model.joints, strict=True):
        if joint.nv == 1:
            sim.set_motor(name, position=float(rng.uniform(-1.0, 1.0)), stiffness=60.0, damping=6.0)


def joints_of(model: lw.Model, state: lw.State) -> np.ndarray:
    """Coordinates of all joints but the bases of floating trees."""
    return np.concatenate([state.q[model.q_slice(name)] for name in model.joint_names if name.startswith("j")])


def pose(model: lw.Model, rng) -> lw.State:
    q = model.neutral().q.copy()
    for name, joint in zip(model.joint_names, model.joints, strict=True):
        if joint.nv == 1:
            q[model.q_slice(name)] = rng.uniform(-1.0, 1.0)
    return model.state(q=q)


@pytest.mark.parametrize("seed", range(50))
def test_any_number_of_active_joints_reaches_the_pose_of_the_full_simulation(seed):
    """One joint at a time is descent along coordinates: it may take many rounds, but it arrives."""
    model = linkage(seed)
    start = pose(model, np.random.default_rng(seed))
    budget = 1 + seed % 2 if seed % 5 else 3
    full = lw.FullDynamics(model, start, integrator=EULER)
    sim = lw.AdaptiveDynamics(model, start, max_active_joints=budget, integrator=EULER)
    if seed % 2 == 1 or model.gravity[2] == 0.0:
        drive(model, full, seed + 100)
        drive(model, sim, seed + 100)
    full.advance(H, 8_000)
    assert np.abs(full.state.v).max() < CLOSE
    rest = joints_of(model, full.state)
    assert np.abs(joints_of(model, start) - rest).max() > 10 * CLOSE
    for _ in range(40):
        sim.advance(H, 4_000)
        assert sim.report.n_active <= budget
        if np.abs(joints_of(model, sim.state) - rest).max() <= CLOSE:
            break
    assert joints_of(model, sim.state) == pytest.approx(rest, rel=0, abs=CLOSE)


def test_motors_of_six_joints_do_not_stand_still_at_a_wrong_pose():
    model = lw.library.chain(6).compile()
    for budget in (1, 2, 4):
        sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=budget, integrator=EULER)
        full = lw.FullDynamics(model, model.neutral(), integrator=EULER)
        for x in (sim, full):
            drive(model, x, 3)
            x.advance(2e-3, 10_000)
        assert sim.state.q == pytest.approx(full.state.q, rel=0, abs=1e-3)


def turning(seed: int) -> tuple[lw.Model, lw.AdaptiveDynamics]:
    """A chain on its way, in which a joint has a turn."""
    model = lw.library.chain(12).compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=2, update_every=5, integrator=EULER)
    drive(model, sim, seed)
    while not sim.checkpoint()["waits"].any():
        sim.advance(2e-3, 5)
        assert sim.steps_done < 5_000
    return model, sim


def test_a_joint_that_waits_does_not_move_and_is_in_the_bound():
    model, sim = turning(4)
    sim.update_region(0.01)
    waits = np.flatnonzero(sim.checkpoint()["waits"])
    assert waits.size > 0
    assert not set(waits.tolist()) & set(sim.active_bodies.tolist())
    before = sim.state
    sim.update_every = 10**6
    report = sim.step(1e-6)
    still = np.setdiff1d(np.arange(model.n_bodies), sim.active_bodies)
    assert (sim.state.q[still] == before.q[still]).all()
    assert (sim.state.v[still] == 0.0).all()
    efforts = np.zeros(model.nv)
    for name in model.joint_names:
        motor, j = sim.motors[name], model.v_slice(name)
        q = before.q[model.q_slice(name)]
        efforts[j] = 60.0 * (motor.position - q) - 6.0 * before.v[j]
    free = np.abs(lw.forward_dynamics(model, before, efforts))
    assert report.error_bound * free.max() >= free[still].max() * (1.0 - 1e-9)


def test_turns_go_on_in_the_same_bits_after_a_checkpoint():
    model, sim = turning(5)
    saved = sim.checkpoint()
    restored = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=2, update_every=5, integrator=EULER)
    restored.restore(saved)
    assert restored.step(2e-3, 400) == sim.step(2e-3, 400)
    assert (restored.state.q == sim.state.q).all()
    broken = dict(saved, counts=np.where(np.arange(saved["counts"].size) == CURSOR, 99, saved["counts"]))
    with pytest.raises(lw.StateError, match="damaged"):
        sim.restore(broken)


def test_turns_are_counted_as_they_are_however_settings_change():
    """Numbers, tolerances and pins that change on the way leave no turn behind that nobody ends."""
    model, sim = turning(6)
    rng = np.random.default_rng(6)
    for k in range(60):
        what = int(rng.integers(5))
        if what == 0:
            sim.max_active_joints = int(rng.integers(0, 6))
        elif what == 1:
            sim.max_active_joints, sim.tolerance = (None, 0.1) if k % 2 else (3, None)
        elif what == 2:
            name = model.joint_names[int(rng.integers(12))]
            sim.pin_inactive(name)
            sim.advance(2e-3, 10)
            sim.unpin(name)
        elif what == 3:
            sim.set_state(sim.state)
        sim.advance(2e-3, 10)
        saved = sim.checkpoint()
        turns = np.flatnonzero(saved["turns"][:, TURN] == HAS_TURN)
        assert sim.max_active_joints is None or turns.size <= max(1, sim.max_active_joints)
        assert not saved["waits"][sim.active_bodies].any()


def test_a_linkage_at_rest_changes_nothing():
    """At the pose of its motors nobody needs a turn: the region stays."""
    model = lw.library.chain(6).compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=2, integrator=EULER)
    drive(model, sim, 7)
    sim.advance(2e-3, 60_000)
    before = sim.report.region_changes
    sim.advance(2e-3, 5_000)
    assert sim.report.region_changes == before
