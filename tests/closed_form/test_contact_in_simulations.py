"""Closed forms of contact and joint limits in the simulations that users step, fully articulated and adaptive."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw

from ..helpers.contact_setups import (
    CAPSTAN_FRICTION,
    KINDS,
    LAWS,
    G,
    capstan,
    capstan_speeds,
    chain,
    cradle,
    on_a_plane,
    pendulum,
    simulate,
    two_chains,
    world_twist,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("friction", [0.3, 0.7])
def test_block_on_an_incline(kind, friction):
    """Rests for μ ≥ tan θ, else g (sin θ - μ cos θ). The incline is the plane, gravity is tilted."""
    slope = math.atan(0.5)
    gravity = (G * math.sin(slope), 0, -G * math.cos(slope))
    model = on_a_plane(lw.Box((0.2, 0.3, 0.1)), lw.Inertia.box(1.5, (0.2, 0.3, 0.1)), gravity)
    q = model.neutral().q
    q[2] = 0.05
    sim = simulate(kind, model, lw.State(q, np.zeros(6)), lw.Contact(friction=friction))
    sim.advance(1e-3, 200)
    expected = max(0.0, G * (math.sin(slope) - friction * math.cos(slope)) * 0.2)
    assert world_twist(sim)[3] == pytest.approx(expected, abs=1e-6)  # residual 1e-8 over 200 steps of 5e-3 m/s
    assert abs(sim.state.q[2] - 0.05) < 1e-6
    assert {point.state for point in sim.contacts} == {"sliding" if expected else "sticking"}
    assert sum(point.force[2] for point in sim.contacts) == pytest.approx(1.5 * G * math.cos(slope), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("law", LAWS)
def test_ball_slides_until_it_rolls(kind, law):
    """A solid ball keeps 5/7 of its speed; it goes straight, and stays on the plane."""
    model = on_a_plane(lw.Sphere(0.1), lw.Inertia.sphere(1.0, 0.1))
    q, v = model.neutral().q, np.zeros(6)
    q[2], v[3] = 0.1, 1.0
    sim = simulate(kind, model, lw.State(q, v), lw.Contact(friction=0.3, law=law))
    sim.advance(1e-3, 90)
    assert world_twist(sim)[3] == pytest.approx(1.0 - 0.3 * G * 0.09, abs=1e-3)  # still slides; O(h)
    sim.advance(1e-3, 60)
    twist = world_twist(sim)
    assert twist[3] == pytest.approx(5 / 7, rel=1e-4)
    assert twist[1] * 0.1 == pytest.approx(twist[3], rel=1e-4)
    assert sim.state.q[2] == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_ball_rolls_down_an_incline(kind):
    """5/7 g sin θ."""
    slope = 0.2
    model = on_a_plane(lw.Sphere(0.1), lw.Inertia.sphere(1.0, 0.1), (G * math.sin(slope), 0, -G * math.cos(slope)))
    q = model.neutral().q
    q[2] = 0.1
    sim = simulate(kind, model, lw.State(q, np.zeros(6)), lw.Contact(friction=0.5))
    sim.advance(1e-3, 200)
    assert world_twist(sim)[3] == pytest.approx(5 / 7 * G * math.sin(slope) * 0.2, rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("law", LAWS)
def test_bounces_fall_as_e_to_the_2n(kind, law):
    model = on_a_plane(lw.Sphere(0.1), lw.Inertia.sphere(1.0, 0.1), joint=lw.Prismatic((0, 0, 1)))
    contact = lw.Contact(restitution=0.8, law=law)
    sim = simulate(kind, model, lw.State(np.array([0.6]), np.zeros(1)), contact)
    heights, last = [], [0.5, 0.5]
    for _ in range(18_000):
        sim.advance(1e-4)
        now = sim.state.q[0] - 0.1
        if last[1] > last[0] and last[1] >= now:
            heights.append(last[1])
        last = [last[1], now]
    assert len(heights) >= 3
    # a bounce happens up to a step early or late, and errs in speed by h g: h v / height + 2 h g / v, 0.5 % in all
    assert heights[:3] == pytest.approx([0.5 * 0.64**n for n in (1, 2, 3)], rel=0.04)


@pytest.mark.parametrize("kind", KINDS)
def test_newtons_cradle(kind):
    """Equal balls in a row, e = 1, one after the other: the last leaves with the speed of the first."""
    model, state = cradle()
    sim = simulate(kind, model, state, lw.Contact(restitution=1.0, friction=0.0, law="impacts"))
    sim.advance(1e-3, 400)
    assert sim.state.v == pytest.approx([0, 0, 0, 1.0], abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_chain_at_rest_presses_with_its_weight(kind):
    """Ten links on a table: forces add up to the weight; penetration stays below 1e-4 of a link."""
    model = chain(10).compile()
    sim = simulate(kind, model, model.neutral(), lw.Contact(friction=0.5))
    report = sim.step(2e-3, 100)
    assert len(sim.contacts) == 20
    assert sum(point.force[2] for point in sim.contacts) == pytest.approx(10 * 0.1 * G, rel=1e-6)
    assert min(point.gap for point in sim.contacts) > -1e-4 * 0.1
    assert np.abs(sim.state.v).max() < 1e-6
    assert report.contact.not_converged == 0
    assert report.contact.contacts == 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("ratio", "holds"), [(0.97, True), (1.03, False)])
@pytest.mark.parametrize("wrap", [math.pi / 2, math.pi, 3 * math.pi])
def test_capstan(kind, ratio, holds, wrap):
    """A chain of spheres over a fixed drum: holds at 0.97 exp(μ θ), slips at 1.03."""
    model, contact, pulls = capstan(wrap)
    sim = simulate(kind, model, model.neutral(), contact)
    loads = (1.0, ratio * math.exp(CAPSTAN_FRICTION * wrap))
    for load, (body, direction) in zip(loads, pulls, strict=True):
        sim.apply_wrench(body, force=load * direction)
    h = 1e-3
    sim.advance(h)
    assert len(sim.contacts) == model.n_bodies
    speed = np.linalg.norm(world_twist(sim, model.n_bodies - 1)[3:])
    slow, fast = capstan_speeds(model.n_bodies, h)
    assert (speed < slow) if holds else (speed > fast)


@pytest.mark.parametrize("kind", KINDS)
def test_momentum_of_colliding_linkages(kind):
    """Two free chains run into each other: momentum of both together stays, energy only falls."""
    model, state = two_chains()
    contact = lw.Contact(restitution=0.5, friction=0.3, correction=0.0)
    sim = simulate(kind, model, state, contact)
    before, energy, lost = sim.momentum, sim.energy.kinetic, 0.0
    for _ in range(150):
        lost += sim.step(1e-3).contact.energy_lost
    assert lost > 0.01 * energy  # they met
    after = sim.momentum
    size, steps = 0.4, 150
    rounding = 1e3 * np.finfo(float).eps * size * steps
    assert after.linear == pytest.approx(before.linear, abs=rounding)
    assert after.angular == pytest.approx(before.angular, abs=rounding)
    assert sim.energy.kinetic < energy


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_joint_limits_act(kind, restitution):
    """A pendulum driven against its limit: it comes back with e times its speed, or rests there without chatter."""
    model = pendulum(limits=(-0.5, 2.0))
    sim = simulate(kind, model, lw.State(np.array([1.0]), np.zeros(1)), lw.Contact(restitution=restitution))
    sim.set_effort("rod", -6.0)
    last, rebound, least = 0.0, None, 0.0
    for _ in range(3000):
        sim.advance(1e-3)
        now = sim.state
        if last < -0.1 and now.v[0] > 0.0 and rebound is None:
            rebound = now.v[0] / -last
        last, least = now.v[0], min(least, now.q[0])
    assert least >= -0.5 - 1e-7  # parts of a step end where they meet the limit, to second order in their length
    if restitution == 0.0:
        assert abs(last) < 1e-9
        assert sim.state.q[0] == pytest.approx(-0.5, abs=1e-6)
    else:
        assert rebound == pytest.approx(0.5, rel=0.02)  # acceleration over one step, some 6 rad/s² · h, against 1 rad/s


@pytest.mark.parametrize("kind", KINDS)
def test_limits_act_without_contact_and_can_be_left_out(kind):
    model = pendulum(limits=(-0.5, 2.0))
    start = lw.State(np.array([1.0]), np.zeros(1))
    stopped, free = simulate(kind, model, start), simulate(kind, model, start, limits=False)
    stopped.advance(1e-3, 2000)
    free.advance(1e-3, 880)
    assert stopped.state.q[0] >= -0.5 - 1e-9
    assert free.state.q[0] < -0.5
    assert stopped.contact_report.limits <= 1
    assert free.contact_report is None


@pytest.mark.parametrize("kind", KINDS)
def test_motors_are_as_strong_as_their_joints(kind):
    """A motor that should hold a pendulum level, with less torque than its weight: the pendulum hangs where both agree."""
    strong, weak = pendulum(effort_limit=1e3, damping=2.0), pendulum(effort_limit=2.0, damping=2.0)
    for model, holds in ((strong, True), (weak, False)):
        sim = simulate(kind, model, model.neutral())
        sim.set_motor("rod", position=-math.pi / 2, stiffness=1e5, damping=1e2)
        sim.advance(1e-3, 8000)
        torque = G * 0.5 * math.sin(-sim.state.q[0])
        if holds:  # but for what the weight bends the spring of the motor by
            assert sim.state.q[0] == pytest.approx(-math.pi / 2 + G * 0.5 / 1e5, abs=1e-9)
        else:
            assert torque == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_linkage_falls_on_its_limits_and_the_floor(kind):
    """A four-bar linkage whose bars meet the floor: it rests, its loop closed, and the floor never gives energy."""
    linkage = lw.library.four_bar()
    lowest = min(float(lw.body_poses(m := linkage.compile(), m.neutral())[:, 2, 3].min()), 0.0)
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, lowest - 0.05)))
    model = linkage.compile()
    start = lw.close_loops(model, model.neutral())
    sim = simulate(kind, model, start, lw.Contact(friction=0.3))
    touched, most = False, sim.energy.total
    for _ in range(100):
        report = sim.step(1e-3, 10)
        touched |= any(point.state != "apart" for point in sim.contacts)
        assert report.contact.energy_lost >= -1e-12
        assert sim.energy.total < most + 1e-3 * abs(most) + 1e-6  # O(h) of semi-implicit Euler
    assert touched
    gaps = lw.loop_gaps(model, sim.state)
    assert gaps.worst_gap < 1e-9
    assert gaps.worst_slip < 1e-9


@pytest.mark.parametrize("active", [0, 3, 9])
def test_few_active_joints_rest_on_a_table(active):
    """A chain that falls on a table with few active joints comes to rest on it, and presses with its weight."""
    model = chain(10).compile()
    start = model.neutral()
    start.q[2] = 0.02
    sim = lw.AdaptiveDynamics(model, start, max_active_joints=active, contact=lw.Contact(friction=0.5))
    h, height, mass, lost = 1e-3, 0.02, 10 * 0.1, 0.0
    for _ in range(40):
        report = sim.step(h, 10)
        assert report.n_active <= active
        lost += report.contact.energy_lost
    assert sum(point.force[2] for point in sim.contacts) == pytest.approx(mass * G, rel=1e-3)
    landed = math.sqrt(2 * height / G)
    held = 0.5 * mass * (G * h) ** 2 * (0.4 - landed) / h  # impulses stop in each step what gravity began in it
    early = mass * G * h * math.sqrt(2 * G * height)  # [J] a step more or less of the fall; half of it is seen
    assert lost == pytest.approx(mass * G * height + held, abs=5 * early)
    assert np.abs(sim.state.v).max() < 1e-3
