"""Momentum and energy through changes of the active region: what locks does so by impulses between the joints alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw

HINGED = ("revolute", "spherical", "universal", "screw", "prismatic")
CONDITION = 1e4  # of the mass matrices of these linkages, which locking solves with


def same_momentum(momentum, steps=1):
    """What rounding may change of a momentum: impulses are found by solving, and are as large as the momentum."""
    return rounding(condition=CONDITION, scale=1.0 + np.abs(momentum).max(), steps=steps)


def potential_scale(model, state):
    """The largest potential energies that are added up: weights times distances, and springs [J]."""
    reach = np.linalg.norm(lw.body_poses(model, state)[:, :3, 3], axis=1).max() + 1.0
    weight = model.mass.sum() * np.linalg.norm(model.gravity)
    return weight * reach + abs(lw.energy(model, state).potential)


def momenta(model, state):
    linear, angular = lw.momentum(model, state)
    return np.concatenate([angular, linear])


def moving_rows(model, names):
    """Which velocities belong to these joints, shape (nv,)."""
    rows = np.zeros(model.nv, dtype=bool)
    for name in names:
        rows[model.v_slice(name)] = True
    return rows


# ---------------------------------------------------------------------------------------------------------------- momentum


def floating_trees(rng, trees, links):
    """Floating trees with springs and dampers in their joints and nothing outside."""
    linkage = lw.Linkage("trees", gravity=(0, 0, 0))
    box = lw.Inertia.box(1.0, (0.2, 0.3, 0.4)).at(lw.Pose((0.1, 0.0, 0.2)))
    joints = (
        lw.Revolute((1, 0, 0), damping=0.1, stiffness=1.0),
        lw.Spherical(damping=(0.1, 0.1, 0.1)),
        lw.Universal(damping=(0.1, 0.1), stiffness=(1.0, 1.0)),
        lw.Prismatic((0, 1, 0), damping=0.1, stiffness=2.0, armature=0.1),
    )
    for f in range(trees):
        linkage.add_body(f"base_{f}", "world", lw.Free(), lw.Pose((3.0 * f, 0, 0)), box)
        for k in range(links):
            parent = f"base_{f}" if k < 2 else f"link_{f}_{rng.integers(max(0, k - 3), k)}"
            linkage.add_body(f"link_{f}_{k}", parent, joints[k % 4], lw.Pose(rng.normal(size=3) * 0.4), box)
    return linkage.compile()


@pytest.mark.parametrize(("trees", "links"), [(1, 40), (4, 10)])
def test_free_linkages_keep_their_momentum_through_thousands_of_region_changes(rng, trees, links):
    """10,000 steps; efforts inside change and the region with them; nothing acts from outside."""
    model = floating_trees(rng, trees, links)
    state = model.random_state(rng, speed=0.3)
    inner = np.flatnonzero(model.parent >= 0)
    sim = lw.AdaptiveDynamics(model, state, max_active_joints=12, update_every=5)
    before = momenta(model, state)
    worst, size = 0.0, np.abs(before).max()
    for k in range(500):
        for i in rng.choice(inner, 4, replace=False).tolist():
            sim.set_effort(model.joint_names[i], 0.3 * rng.normal(size=model.joints[i].nv))
        sim.max_active_joints = int(rng.integers(2, 20))
        report = sim.step(1e-3, 20)
        if k % 25 == 24:
            worst = max(worst, np.abs(momenta(model, sim.state) - before).max())
    assert sim.steps_done == 10_000
    assert report.region_changes > 2000
    assert worst < 1e-9 * size
    assert np.abs(model.difference(state.q, sim.state.q)).max() > 0.5  # it did move


def test_momentum_grows_by_the_impulses_from_outside_and_by_nothing_else(make_tree, rng):
    """Gravity, world and body loads and a spring, step by step as they were at the start of each; joints come and go."""
    model = make_tree(5, 20, base=lw.Free(), kinds=HINGED, stiffness=True, damping=True, armature=True)
    sim = lw.AdaptiveDynamics(
        model, model.random_state(rng, speed=0.5), max_active_joints=8, update_every=3, integrator="semi_implicit_euler"
    )
    at, force, torque, target, h = *rng.normal(size=(4, 3)), 1e-3
    blown = sim.apply_wrench(7, force=force, torque=torque, frame="world", at=at)
    sim.apply_wrench(11, force=force, torque=torque, frame="body", at=at)
    sim.apply_spring(15, target=target, stiffness=3.0, at=at)
    expected = momenta(model, sim.state)
    mass = model.mass.sum()
    for k in range(300):
        if k % 10 == 0:
            force = 3.0 * rng.normal(size=3)
            sim.change_wrench(blown, force=force)
            sim.max_active_joints = int(rng.integers(0, 15))
        poses = lw.body_poses(model, sim.state)
        wrench = np.zeros(6)
        R, p = poses[11, :3, :3], poses[11, :3, 3]
        fixed = sim.loads[1]
        for f, n, point in (
            (force, torque, poses[7, :3, :3] @ at + poses[7, :3, 3]),
            (R @ fixed.force[0], R @ fixed.torque[0], R @ at + p),
            (3.0 * (target - (x := poses[15, :3, :3] @ at + poses[15, :3, 3])), np.zeros(3), x),
            (mass * model.gravity, np.zeros(3), lw.center_of_mass(model, sim.state)),
        ):
            wrench += np.concatenate([n + np.cross(point, f), f])
        expected = expected + h * wrench
        report = sim.step(h)
    assert report.region_changes > 50
    assert momenta(model, sim.state) == pytest.approx(expected, rel=0, abs=same_momentum(expected, steps=100))


@pytest.mark.parametrize("how", ["body", "world", "spring"])
def test_momentum_stays_from_the_moment_loads_are_gone(rng, how):
    """Pushed, then let go, between two updates of the region."""
    model = floating_trees(rng, 2, 8)
    sim = lw.AdaptiveDynamics(model, model.random_state(rng, speed=0.3), max_active_joints=8, update_every=50)
    sim.step(1e-3, 5)
    if how == "spring":
        load = sim.apply_spring(5, target=(1.0, 2.0, 3.0), stiffness=20.0)
    else:
        load = sim.apply_wrench(5, force=(10.0, 20.0, 5.0), torque=(1.0, 2.0, 3.0), frame=how)
    before = momenta(model, sim.state)
    sim.step(1e-3, 20)
    after = momenta(model, sim.state)
    assert np.abs(after - before).max() > 0.1  # it was pushed
    sim.clear(load)
    for _ in range(5):
        sim.step(1e-3, 7)
        assert momenta(model, sim.state) == pytest.approx(after, rel=0, abs=same_momentum(after, steps=100))


# ----------------------------------------------------------------------------------------------------------------- locking

BASES = {
    "fixed": {"seed": 2},
    "floating": {"seed": 3, "base": lw.Free()},
    "forest": {"seed": 4, "roots": 4, "kinds": ("free", "revolute", "universal", "spherical", "prismatic")},
}


@pytest.mark.parametrize("shape", BASES.values(), ids=BASES.keys())
def test_locking_is_the_nearest_motion_in_the_mass_metric(make_tree, rng, shape):
    """Stopped joints change by -q̇; the others by what minimises ½ Δq̇ᵀ M Δq̇, which is the energy that is lost."""
    model = make_tree(bodies=16, stiffness=True, armature=True, **shape)
    seen = set()
    for most in range(15):
        state = model.random_state(rng)
        sim = lw.AdaptiveDynamics(model, state, max_active_joints=most, keep_momentum=False)
        report = sim.update_region(1e-3)
        active = sim.active_joints
        free = moving_rows(model, active)
        M = lw.mass_matrix(model, state)
        change = np.where(free, 0.0, -state.v)
        change[free] = -np.linalg.solve(M[np.ix_(free, free)], M[np.ix_(free, ~free)] @ change[~free])
        after = sim.state
        assert after.v == pytest.approx(
            state.v + change, rel=0, abs=rounding(condition=CONDITION, scale=np.abs(state.v).max())
        )
        assert (after.v[~free] == 0.0).all()
        assert (after.q == state.q).all()
        lost = lw.energy(model, state).total - lw.energy(model, after).total
        same = rounding(condition=CONDITION, scale=lw.energy(model, state).kinetic)
        same += rounding(scale=potential_scale(model, state))
        assert lost == pytest.approx(0.5 * change @ M @ change, rel=0, abs=same)
        assert lost >= -same
        assert report.n_active <= most
        seen.add(report.n_active)
        if isinstance(shape.get("base"), lw.Free):
            before = momenta(model, state)
            assert momenta(model, after) == pytest.approx(before, rel=0, abs=same_momentum(before))
    assert len(seen) > 10


def test_energy_of_a_free_linkage_never_rises_at_a_lock(make_tree, rng):
    """Through a long run, looked at right before and right after every update."""
    model = make_tree(6, 30, base=lw.Free(), kinds=HINGED, stiffness=True, armature=True)
    sim = lw.AdaptiveDynamics(
        model, model.random_state(rng, speed=0.5), tolerance=0.0, keep_momentum=False, horizon=1e-2
    )
    sim.update_every = 10**9  # only when asked
    locks = 0
    for _ in range(60):
        sim.step(1e-3, 5)
        sim.max_active_joints = int(rng.integers(0, 25))
        before, momentum, moved = sim.energy, momenta(model, sim.state), set(sim.active_joints)
        sim.update_region()
        locks += len(moved - set(sim.active_joints))
        still = rounding(scale=potential_scale(model, sim.state))  # summed over other clusters
        assert sim.energy.potential == pytest.approx(before.potential, rel=0, abs=still)
        assert sim.energy.kinetic <= before.kinetic + rounding(condition=CONDITION, scale=before.kinetic)
        assert momenta(model, sim.state) == pytest.approx(momentum, rel=0, abs=same_momentum(momentum))
    assert locks > 100


# -------------------------------------------------------------------------------------------------------------------- pins


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_a_joint_pinned_inactive_stops_at_once_and_what_hangs_from_it_moves_on(make_tree, rng, integrator):
    model = make_tree(2, 16, base=lw.Free(), kinds=HINGED, gravity=(0, 0, 0), branching=0.3, armature=True)
    sim = lw.AdaptiveDynamics(model, model.random_state(rng), tolerance=0.0, integrator=integrator)
    sim.step(1e-3, 20)
    i = next(i for i in range(3, 16) if i in model.parent[model.parent >= 3])  # something hangs from it
    name, rows = model.joint_names[i], model.v_slice(i)
    before, energy = sim.state, sim.energy.kinetic
    M = lw.mass_matrix(model, before)
    sim.pin_inactive(name)
    held = moving_rows(model, [name])
    change = np.where(held, -before.v, 0.0)
    change[~held] = -np.linalg.solve(M[np.ix_(~held, ~held)], M[np.ix_(~held, held)] @ change[held])
    assert sim.state.v == pytest.approx(
        before.v + change, rel=0, abs=rounding(condition=CONDITION, scale=np.abs(before.v).max())
    )
    kept = momenta(model, before)
    assert momenta(model, sim.state) == pytest.approx(kept, rel=0, abs=same_momentum(kept))
    assert sim.energy.kinetic < energy
    assert name not in sim.active_joints
    sim.step(1e-3, 60)
    assert (sim.state.v[rows] == 0.0).all()
    assert (sim.state.q[model.q_slice(i)] == before.q[model.q_slice(i)]).all()
    below = next(k for k in range(i + 1, 16) if model.parent[k] == i)
    assert np.abs(sim.state.v[model.v_slice(below)]).max() > 0.0
    assert name not in sim.active_joints
    prescribed = {name: np.zeros(model.joints[i].nv)}
    truth, _ = lw.hybrid_dynamics(model, sim.state, prescribed)
    sim.step(1e-9)  # so short that its accelerations are those of the state before it
    assert sim.acceleration == pytest.approx(truth, rel=0, abs=1e-6 * (1.0 + np.abs(truth).max()))
    sim.unpin(name)
    sim.step(1e-3, 20)
    assert np.abs(sim.state.v[rows]).max() > 0.0
    # Runge-Kutta keeps momentum to its order.
    same = same_momentum(kept, steps=80) if integrator == "semi_implicit_euler" else 1e-6 * np.abs(kept).max()
    assert np.abs(momenta(model, sim.state) - kept).max() < same


def test_a_base_pinned_inactive_is_held_by_the_world_and_goes_on_from_rest(make_tree, rng):
    """While it is held momentum goes into the world; released, the tree keeps what it has then."""
    model = make_tree(2, 12, base=lw.Free(), kinds=HINGED, gravity=(0, 0, 0))
    sim = lw.AdaptiveDynamics(model, model.random_state(rng), tolerance=0.0)
    sim.step(1e-3, 5)
    base = model.joint_names[0]
    sim.pin_inactive(base)
    place = sim.state.q[:7].copy()
    assert (sim.state.v[:6] == 0.0).all()
    sim.step(1e-3, 200)
    assert (sim.state.q[:7] == place).all()
    assert (sim.state.v[:6] == 0.0).all()
    sim.unpin(base)
    kept = momenta(model, sim.state)
    sim.step(1e-3, 200)
    assert momenta(model, sim.state) == pytest.approx(kept, rel=0, abs=same_momentum(kept, steps=200))
    assert np.abs(sim.state.v[:6]).max() > 1e-3


def test_a_linkage_locked_as_a_whole_keeps_turning(make_tree, rng):
    """All joints of a floating tree stop in one update; momentum stays, and the run goes on as one rigid body."""
    model = make_tree(8, 25, base=lw.Free(), gravity=(0, 0, 0))
    state = model.random_state(rng, speed=0.2)
    sim = lw.AdaptiveDynamics(model, state, tolerance=math.inf)
    sim.step(1e-3, 100)
    assert sim.active_joints == [model.joint_names[0]]
    kept = momenta(model, state)
    assert momenta(model, sim.state) == pytest.approx(kept, rel=0, abs=same_momentum(kept, steps=100))


# ------------------------------------------------------------------------------------------------- bases on planar joints


PUCK = lw.Inertia(mass=1.0, com=(0.1, 0.0, 0.0), moments=(0.01, 0.01, 0.02))


def puck_with_arm():
    """A puck that slides in a horizontal plane, with an arm on it."""
    linkage = lw.Linkage("puck")
    linkage.add_body("puck", joint=lw.Planar((0, 0, 1)), inertia=PUCK)
    linkage.add_body("arm", "puck", lw.Revolute((0, 0, 1)), lw.Pose((0.2, 0.0, 0.0)), PUCK)
    return linkage


def test_a_puck_at_rest_leaves_what_moves_beside_it_alone():
    """Its base, which may be inactive, is none of the joints that move: a pendulum beside it swings as it does alone."""
    alone = lw.Linkage("pendulum")
    alone.add_body("pendulum", joint=lw.Revolute((0, 1, 0)), inertia=PUCK)
    both = puck_with_arm()
    both.merge(alone, placement=lw.Pose((3.0, 0.0, 0.0)))
    start, model = alone.compile().state([0.3]), both.compile()
    full = lw.FullDynamics(alone.compile(), start, integrator="semi_implicit_euler")
    state = model.neutral()
    state.q[model.q_slice("pendulum")] = 0.3
    few = lw.AdaptiveDynamics(model, state, max_active_joints=1, integrator="semi_implicit_euler")
    full.step(1e-3, 300)
    few.step(1e-3, 300)
    assert few.active_joints == ["pendulum"]
    swung = few.state.q[model.q_slice("pendulum")] - full.state.q
    assert np.abs(swung).max() < rounding(condition=10.0, scale=np.abs(full.state.q).max(), steps=300)


def test_a_puck_that_was_stopped_begins_to_slide_from_rest():
    """The momentum that it had before it became inactive is gone; pushed, it has what the force gives."""
    model = puck_with_arm().compile()
    state = model.neutral()
    state.v[:] = 1.0
    sim = lw.AdaptiveDynamics(model, state, max_active_joints=2, integrator="semi_implicit_euler", update_every=1)
    sim.step(1e-3, 10)
    assert np.abs(momenta(model, sim.state)[3:5]).min() > 0.1
    sim.max_active_joints = 0
    sim.step(1e-3, 10)
    assert sim.active_joints == []
    assert not sim.state.v.any()
    sim.max_active_joints = 2
    sim.apply_wrench("arm", force=(3.0, -2.0, 0.0))
    sim.step(1e-3, 100)
    assert "puck" in sim.active_joints
    expected = np.array([3.0, -2.0]) * 100e-3  # [N·s]
    assert np.abs(momenta(model, sim.state)[3:5] - expected).max() < same_momentum(expected, steps=100)
