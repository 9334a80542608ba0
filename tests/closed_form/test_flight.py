"""Bodies and linkages in flight by semi-implicit Euler: spin does not depend on speed, centres of mass go straight on."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.contact_setups import KINDS, simulate
from tests.helpers.rounding import rounding

import linkwork as lw

EULER = "semi_implicit_euler"
H, STEPS = 1e-3, 200
RADIUS = 0.1
OFF_CENTRE = (0.03, -0.02, 0.05)  # [m] from the origin of a body to its centre of mass
FAR = ((0.0, 0.0, 0.0), OFF_CENTRE)


def body_in_flight(inertia, com, velocity, spin, gravity=(0.0, 0.0, 0.0)):
    """A free ball whose centre of mass has a velocity, and its state."""
    linkage = lw.Linkage("ball", gravity=gravity)
    shape = lw.Sphere(RADIUS, placement=lw.Pose(com))
    linkage.add_body("ball", joint=lw.Free(), inertia=inertia.at(lw.Pose(com)), shapes=[shape])
    model = linkage.compile()
    v = np.concatenate([spin, velocity - np.cross(spin, com)])
    return model, lw.State(model.neutral().q, v)


def tree_in_flight(make_tree, velocity, base=None, gravity=(0.0, 0.0, 0.0)):
    """A tree of hinges, ball joints and sliders whose centre of mass has a velocity."""
    kinds = ("revolute", "spherical", "universal", "prismatic")
    model = make_tree(11, 8, base=base or lw.Free(), kinds=kinds, gravity=gravity, branching=0.4, stiffness=True)
    state = model.random_state(3, speed=1.0)
    v = state.v.copy()
    at_rest = lw.momentum(model, state).linear / model.mass.sum()
    rows = model.v_slice(0)
    if model.joints[0].nv == 6:
        R = lw.body_poses(model, state)[0, :3, :3]
        v[rows][3:] += R.T @ (velocity - at_rest)
    else:
        v[rows][:2] += velocity[:2] - at_rest[:2]
    return model, lw.State(state.q, v)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("com", FAR)
@pytest.mark.parametrize("contact", [lw.Contact(), None])
def test_a_ball_keeps_its_spin_at_any_speed(kind, com, contact):
    velocity, spin = np.array([50.0, -20.0, 10.0]), np.array([10.0, 30.0, -40.0])
    model, start = body_in_flight(lw.Inertia.sphere(1.0, RADIUS), com, velocity, spin)
    sim = simulate(kind, model, start, contact=contact, integrator=EULER)
    before, energy = lw.center_of_mass(model, start), sim.energy.total
    sim.step(H, STEPS)
    # Spin is what is left of the momentum about the world's origin: m |r| |v| / I times larger.
    lever = 1.0 + np.linalg.norm(velocity) * H * STEPS * np.linalg.norm(velocity) / (0.4 * RADIUS**2)
    same = rounding(condition=10.0, scale=lever, steps=STEPS)
    assert lw.body_twists(model, sim.state, frame="world")[0, :3] == pytest.approx(spin, rel=0, abs=same)
    way = lw.center_of_mass(model, sim.state) - before
    assert way == pytest.approx(H * STEPS * velocity, rel=0, abs=rounding(condition=10.0, scale=10.0, steps=STEPS))
    assert sim.energy.total == pytest.approx(energy, rel=rounding(condition=100.0, steps=STEPS))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("com", FAR)
def test_a_thrown_ball_flies_along_its_parabola(kind, com):
    """Euler's own: the fall of n steps is g h² n (n + 1) / 2."""
    velocity, spin, g = np.array([10.0, 0.0, 3.0]), np.array([0.0, 50.0, 0.0]), np.array([0.0, 0.0, -9.81])
    model, start = body_in_flight(lw.Inertia.sphere(1.0, RADIUS), com, velocity, spin, gravity=tuple(g))
    sim = simulate(kind, model, start, contact=lw.Contact(), integrator=EULER)
    before = lw.center_of_mass(model, start)
    sim.step(H, STEPS)
    expected = before + H * STEPS * velocity + 0.5 * H * H * STEPS * (STEPS + 1) * g
    assert lw.center_of_mass(model, sim.state) == pytest.approx(expected, rel=0, abs=rounding(scale=100.0, steps=STEPS))
    assert lw.body_twists(model, sim.state, frame="world")[0, 1] == pytest.approx(50.0, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("com", FAR)
def test_a_tennis_racket_turns_over_as_it_does_at_rest(kind, com):
    """Spin about the middle axis is unstable; the motion about the centre of mass does not depend on its speed."""
    moments = lw.Inertia(0.3, (0, 0, 0), (1e-3, 3e-3, 4e-3))
    found = []
    for velocity in (np.zeros(3), np.array([30.0, 10.0, -20.0])):
        model, start = body_in_flight(moments, com, velocity, np.array([0.1, 10.0, 0.0]))
        sim = simulate(kind, model, start, contact=lw.Contact())
        turned = []
        for _ in range(30):
            sim.step(H, 50)
            twist, pose = lw.body_twists(model, sim.state, frame="world")[0], lw.body_poses(model, sim.state)[0]
            turned.append([*(pose[:3, :3].T @ twist[:3]), *pose[:3, :3].ravel()])
        found.append(np.array(turned))
    assert found[0][:, 1].min() < -5.0  # it turned over
    # m r v of the way over the least moment, times what the unstable axis makes of it: e^(growth of 8.2 / s in 1.5 s).
    same = rounding(scale=0.3 * 37.0 * 37.0 * 1.5 / 1e-3, condition=np.exp(8.2 * 1.5), steps=10)
    assert found[1] == pytest.approx(found[0], rel=0, abs=same)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("contact", [lw.Contact(self_contact=False), None])
def test_a_tree_bends_in_flight_as_it_does_at_rest(make_tree, kind, contact):
    """The same joints at any speed, a centre of mass that goes straight, momentum to rounding, energy to O(h)."""
    found = []
    for velocity in (np.zeros(3), np.array([20.0, -30.0, 10.0])):
        model, start = tree_in_flight(make_tree, velocity)
        sim = simulate(kind, model, start, contact=contact, integrator=EULER)
        before, momentum = lw.center_of_mass(model, start), lw.momentum(model, start)
        sim.step(H, STEPS)
        way = lw.center_of_mass(model, sim.state) - before
        assert way == pytest.approx(H * STEPS * velocity, rel=0, abs=rounding(condition=100.0, scale=10.0, steps=STEPS))
        size = 1.0 + np.abs(momentum.linear).max() * 10.0
        same = rounding(condition=100.0, scale=size, steps=STEPS)
        assert lw.momentum(model, sim.state).linear == pytest.approx(momentum.linear, rel=0, abs=same)
        assert lw.momentum(model, sim.state).angular == pytest.approx(momentum.angular, rel=0, abs=same)
        found.append(np.concatenate([sim.state.q[3:], sim.state.v[6:]]))
    assert found[1] == pytest.approx(found[0], rel=0, abs=1e-8)  # rounding of fast motion, grown by a chaotic one


@pytest.mark.parametrize("kind", KINDS)
def test_the_energy_of_a_tree_in_fast_flight_errs_by_a_step(make_tree, kind):
    """Ten times shorter steps, a tenth of the error; at 37 m/s it is that of a tree that does not fly.

    Steps are so short that no body turns by 0.01 rad in one: longer ones are variational.
    """
    errors = []
    for h in (1e-4, 1e-5):
        model, start = tree_in_flight(make_tree, np.array([20.0, -30.0, 10.0]))
        sim = simulate(kind, model, start, integrator=EULER)
        before = sim.energy.total
        sim.step(h, round(0.1 / h))
        errors.append(abs(sim.energy.total - before))
    inner = lw.energy(*tree_in_flight(make_tree, np.zeros(3))).kinetic
    assert errors[0] < 0.1 * inner
    assert errors[1] < 0.3 * errors[0] + 1e-6 * inner


# ------------------------------------------------------------------------------------------------------------ planar bases


def planar_chain(gravity=(0.0, 0.0, 0.0), links=10, **base):
    """A chain of rods that moves in the plane of x and z, from a base that is not at its own centre of mass."""
    linkage = lw.Linkage("chain", gravity=gravity)
    rod = lw.Inertia.box(0.1, (0.1, 0.01, 0.01)).at(lw.Pose((0.05, 0, 0)))
    capsule = lw.Capsule(0.01, 0.08, placement=lw.Pose((0.05, 0, 0), rpy=(0, np.pi / 2, 0)))
    for k in range(links):
        joint = lw.Planar((0, 1, 0), **base) if k == 0 else lw.Revolute((0, 1, 0))
        place = lw.Pose((0.2, 0.3, 0.4), rpy=(0.2, 0.0, 0.0)) if k == 0 else lw.Pose((0.1, 0, 0))
        linkage.add_body(f"b{k}", "world" if k == 0 else f"b{k - 1}", joint, place, rod, shapes=[capsule])
    return linkage


def along_plane(model, momentum):
    """Momentum along the motions of the planar base: two directions of the plane, and about the origin across it."""
    R = np.reshape(lw.Pose(rpy=(0.2, 0.0, 0.0)).rotation, (3, 3))
    return np.array([R[:, 0] @ momentum.linear, R[:, 2] @ momentum.linear, R[:, 1] @ momentum.angular])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("contact", [lw.Contact(self_contact=False), None])
def test_a_chain_on_a_planar_joint_keeps_its_momentum(kind, contact):
    model = planar_chain().compile()
    state = model.random_state(5, speed=3.0)
    v = state.v.copy()
    v[:3] = (20.0, -10.0, 5.0)
    sim = simulate(kind, model, lw.State(state.q, v), contact=contact, integrator=EULER)
    before, centre = along_plane(model, sim.momentum), lw.center_of_mass(model, sim.state)
    speed = lw.momentum(model, sim.state).linear / model.mass.sum()
    sim.step(H, STEPS)
    size = 1.0 + 10.0 * np.abs(before).max()
    assert along_plane(model, sim.momentum) == pytest.approx(
        before, rel=0, abs=rounding(condition=100.0, scale=size, steps=STEPS)
    )
    way = lw.center_of_mass(model, sim.state) - centre
    assert way == pytest.approx(H * STEPS * speed, rel=0, abs=rounding(condition=100.0, scale=10.0, steps=STEPS))


@pytest.mark.parametrize("kind", KINDS)
def test_what_acts_on_a_planar_base_changes_its_momentum_and_nothing_else_does(kind):
    """Gravity, a load, a spring and a damper of the base, as they were taken: efforts are those that the step reports."""
    model = planar_chain((0.0, 3.0, -9.81), damping=(0.3, 0.2, 0.05), stiffness=(2.0, 1.0, 0.5)).compile()
    sim = simulate(kind, model, model.random_state(5, speed=0.5), integrator=EULER)
    h = 1e-4  # [s] so short that no step whips
    sim.apply_wrench("b4", force=(0.5, 0.2, -0.3), torque=(0.0, 0.1, 0.0), frame="world")
    R = np.reshape(lw.Pose(rpy=(0.2, 0.0, 0.0)).rotation, (3, 3))
    for _ in range(50):
        before, poses = along_plane(model, sim.momentum), lw.body_poses(model, sim.state)
        weight, at = model.mass.sum() * model.gravity, lw.center_of_mass(model, sim.state)
        sim.step(h)
        tau = (sim.efforts.springs + sim.efforts.dampers)[:3]
        force = planar_directions(model) @ tau[:2]
        load = np.array([0.5, 0.2, -0.3])
        total = weight + load + force
        turn = (
            np.cross(at, weight) + np.cross(poses[4, :3, 3], load) + (0.0, 0.1, 0.0) + np.cross(poses[0, :3, 3], force)
        )
        expected = before + h * np.array([R[:, 0] @ total, R[:, 2] @ total, R[:, 1] @ turn + tau[2]])
        assert along_plane(model, sim.momentum) == pytest.approx(expected, rel=0, abs=rounding(condition=1e4, steps=10))


def planar_directions(model):
    """World directions of the two slides of the base, shape (3, 2)."""
    still = lw.State(model.neutral().q, np.zeros(model.nv))
    columns = []
    for k in range(2):
        q = still.q.copy()
        q[k] += 1.0
        moved = lw.body_poses(model, lw.State(q, still.v))[0, :3, 3] - lw.body_poses(model, still)[0, :3, 3]
        columns.append(moved)
    return np.array(columns).T


@pytest.mark.parametrize("kind", KINDS)
def test_scales_weigh_what_a_falling_chain_brings(kind):
    """A chain lands on scales and comes to rest: their impulse is its weight over the time and the momentum it brought."""
    linkage = planar_chain((0.0, 0.0, -9.81), links=12)
    linkage.add_obstacle("scales", lw.Plane(), lw.Pose((0, 0, -1.0)))
    model = linkage.compile()
    q, v = model.neutral().q, np.zeros(model.nv)
    q[2] = 1.3  # steep
    contact = lw.Contact(friction=0.5, self_contact=False)
    sim = simulate(kind, model, lw.State(q, v), contact=contact, integrator=EULER)  # one list of contacts per step
    impulse, before, weight, n = np.zeros(3), sim.momentum.linear, model.mass.sum() * 9.81, 1200
    worst = 0.0
    for k in range(n):
        sim.step(H)
        impulse += np.sum([x.impulse for x in sim.contacts], axis=0) if sim.contacts else 0.0
        up = planar_directions(model)
        missing = up.T @ (sim.momentum.linear - before - impulse + (0, 0, (k + 1) * H * weight))
        worst = max(worst, np.abs(missing).max())
    assert impulse[2] > 0.5 * n * H * weight
    assert worst < rounding(condition=1e3, scale=weight * n * H, steps=n)
