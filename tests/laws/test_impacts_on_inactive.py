"""What strikes joints at rest, with the default tolerance: they give way in the very step in which they are struck.

Inactive joints act as rigid. Before, the region was chosen anew after the step of an impact, and a ball that hit a door or
a hanging chain came back from it as from a wall.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw

H = 1e-3  # [s]


def with_ball(linkage, place, velocity, radius=0.08, mass=0.5):
    """The model, and a state in which a free ball flies; everything else rests."""
    inertia, shape = lw.Inertia.sphere(mass, radius), lw.Sphere(radius)
    linkage.add_body("ball", joint=lw.Free(), placement=lw.Pose(place), inertia=inertia, shapes=[shape])
    model = linkage.compile()
    v = np.zeros(model.nv)
    v[model.v_slice("ball")][3:] = velocity
    return model, lw.State(model.neutral().q, v)


def curtain():
    """Chains of ball joints that hang at rest, and a ball that flies at them."""
    linkage = lw.Linkage("curtain")
    link = lw.Inertia.box(0.02, (0.02, 0.02, 0.06)).at(lw.Pose((0, 0, -0.03)))
    shape = lw.Capsule(0.01, 0.04, placement=lw.Pose((0, 0, -0.03)))
    for c in range(3):
        for i in range(8):
            parent, place = (f"link_{c}_{i - 1}", lw.Pose((0, 0, -0.06))) if i else ("world", lw.Pose((0.06 * c, 0, 1)))
            linkage.add_body(f"link_{c}_{i}", parent, lw.Spherical(), place, link, shapes=[shape])
    return with_ball(linkage, (0.06, 0.2, 0.8), (0.0, -4.0, 0.0))


def row(gap=0.003):
    """Balls on one line without gravity, and one that comes in."""
    linkage = lw.Linkage("row", gravity=(0, 0, 0))
    for k in range(3):
        place = lw.Pose(((0.2 + gap) * k, 0, 0))
        linkage.add_body(f"bead_{k}", joint=lw.Prismatic((1, 0, 0)), placement=place, inertia=lw.Inertia.sphere(0.5, 0.1),
                         shapes=[lw.Sphere(0.1)])  # fmt: skip
    return with_ball(linkage, (-0.4, 0, 0), (1.0, 0, 0), radius=0.1)


def door(restitution=0.6):
    """A door on its hinge that a ball hits 0.6 m from there, and the speeds after it: ball and hinge."""
    linkage = lw.Linkage("door", gravity=(0, 0, 0))
    plate = lw.Box((0.8, 0.04, 1.9), placement=lw.Pose((0.4, 0, 0)))
    inertia = lw.Inertia.box(8.0, (0.8, 0.04, 2.0)).at(lw.Pose((0.4, 0, 0)))
    linkage.add_body("door", joint=lw.Revolute((0, 0, 1)), inertia=inertia, shapes=[plate])
    about_hinge = 8.0 * ((0.8**2 + 0.04**2) / 12.0 + 0.4**2)
    impulse = (1.0 + restitution) * 3.0 / (1.0 / 0.5 + 0.6**2 / about_hinge)
    return with_ball(linkage, (0.6, 0.3, 0.0), (0.0, -3.0, 0.0)), -3.0 + impulse / 0.5, -0.6 * impulse / about_hinge


def test_a_door_that_is_hit_swings():
    (model, start), ball, hinge = door()
    sim = lw.AdaptiveDynamics(model, start, contact=lw.Contact(friction=0.0, restitution=0.6))
    sim.step(H, 150)
    assert not {"door"} - set(sim.active_joints)
    assert sim.state.v[0] == pytest.approx(hinge, rel=1e-6)  # a solve leaves 1e-8
    assert sim.state.v[model.v_slice("ball")][4] == pytest.approx(ball, rel=1e-6)


@pytest.mark.parametrize("steps", [1, 7, 420])
def test_momentum_goes_through_a_row_that_rests(steps):
    """Equal masses, e = 1, whatever the number of steps per call: the same bits."""
    model, start = row()
    sim = lw.AdaptiveDynamics(model, start, contact=lw.Contact(restitution=1.0))
    once = lw.AdaptiveDynamics(model, start, contact=lw.Contact(restitution=1.0))
    once.advance(H, 420)
    for _ in range(420 // steps):
        sim.advance(H, steps)
    assert sim.state.v[:4] == pytest.approx([0.0, 0.0, 1.0, 0.0], abs=1e-6)
    assert np.array_equal(sim.state.q, once.state.q)
    assert sim.time == pytest.approx(0.42)
    assert sim.steps_done == 420


def test_a_ball_in_a_curtain_is_slowed_as_by_all_joints():
    """What follows is chaotic: the first tenth of a second is compared, and that the ball does not come back at once."""
    model, start = curtain()
    at = model.v_slice("ball")
    ends = []
    for make in (lw.FullDynamics, lw.AdaptiveDynamics):
        sim = make(model, start, contact=lw.Contact(friction=0.3, restitution=0.2))
        sim.step(H, 60)
        ends.append(sim.state.v[at][4])
    full, adaptive = ends
    assert -4.0 < full < -1.5  # slowed; by a wall it would go back at 0.8 m/s
    assert adaptive == pytest.approx(full, rel=0.05)  # 0.5 % is seen


def test_a_step_that_asks_costs_no_energy_and_no_time():
    """A step that is taken back leaves nothing behind: what contacts lost is what the energy fell by, without gravity."""
    model, start = row()
    sim = lw.AdaptiveDynamics(model, start, contact=lw.Contact(restitution=0.5))
    before, lost = sum(sim.energy[:2]), 0.0
    for k in range(1, 800):
        lost += sim.step(H).contact.energy_lost
        assert sim.time == pytest.approx(k * H)
    assert before - sum(sim.energy[:2]) == pytest.approx(lost, rel=1e-9)
    assert sim.momentum.linear[0] == pytest.approx(0.5, rel=1e-9)


def test_a_checkpoint_before_an_impact_goes_on_in_the_same_bits():
    model, start = curtain()
    first = lw.AdaptiveDynamics(model, start, contact=lw.Contact(friction=0.3, restitution=0.2))
    first.advance(H, 20)
    second = lw.AdaptiveDynamics(model, start, contact=lw.Contact(friction=0.3, restitution=0.2))
    second.restore(first.checkpoint())
    for sim in (first, second):
        sim.advance(H, 60)
    assert np.array_equal(first.state.q, second.state.q)
    assert np.array_equal(first.state.v, second.state.v)


def test_pinned_joints_stay_rigid():
    """Whoever pins a joint inactive has a wall: the step is asked about once, and made."""
    (model, start), _, _ = door()
    sim = lw.AdaptiveDynamics(model, start, contact=lw.Contact(friction=0.0, restitution=0.6))
    sim.pin_inactive("door")
    sim.step(H, 150)
    assert sim.state.v[0] == 0.0
    assert sim.state.v[model.v_slice("ball")][4] == pytest.approx(0.6 * 3.0, rel=1e-6)
    assert math.isclose(sim.time, 0.15)


@pytest.mark.parametrize("pinned", [False, True])
def test_fingers_hold_what_they_lift(pinned):
    """Fingers on slides squeeze a cube with 20 N and are lifted by 0.2 m."""
    linkage = lw.Linkage("gripper")
    linkage.add_body(
        "hand", joint=lw.Prismatic((0, 0, 1)), placement=lw.Pose((0, 0, 0.05)), inertia=lw.Inertia.sphere(0.5, 0.05)
    )
    plate, cube = lw.Box((0.01, 0.02, 0.06)), lw.Box((0.05, 0.05, 0.05))
    for name, side in (("left", -1), ("right", 1)):
        linkage.add_body(name, "hand", lw.Prismatic((1, 0, 0)), lw.Pose((0.05 * side, 0, 0)),
                         lw.Inertia.box(0.05, plate.size), shapes=[plate])  # fmt: skip
    at = lw.Pose((0, 0, 0.025))
    linkage.add_body("cube", joint=lw.Free(), placement=at, inertia=lw.Inertia.box(0.3, cube.size), shapes=[cube])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    sim = lw.AdaptiveDynamics(model, model.neutral(), contact=lw.Contact(friction=0.8))
    fingers, hand = sim.motors[["left", "right"]], sim.motors["hand"]
    fingers.stiffness, fingers.damping, fingers.position = 2000.0, 20.0, np.array([0.03, -0.03])
    hand.stiffness, hand.damping, hand.position = 2000.0, 60.0, 0.0
    for name in ("left", "right") if pinned else ():
        sim.pin_active(name)
    for _ in range(300):
        hand.position = 0.2 * min(1.0, max(0.0, (sim.time - 0.5) / 1.0))
        sim.step(H, 10)
    low = 0.025 + 0.2 - 9.81 * float(model.mass.sum()) / 2000.0  # where the hand hangs when it is up
    slack = 9.81 * 0.6 / 2000.0  # how far it hung down before, of which closing fingers lift it up again by friction
    assert low <= lw.body_poses(model, sim.state)[-1, 2, 3] <= low + slack
    assert np.abs(sim.state.v).max() < 1e-6
