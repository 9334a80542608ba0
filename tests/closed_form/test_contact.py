"""Closed forms of contact on linkages: the search and the solvers together, moved by a plain dense simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.reference.plain_contact import PlainContact

import linkwork as lw
from linkwork.contact.contact_list import GAP, NORMAL
from linkwork.contact.solver.problem import CONVERGED, ENERGY, RESIDUAL

from ..helpers.contact_setups import (
    CAPSTAN_FRICTION,
    LAWS,
    G,
    capstan,
    capstan_speeds,
    chain,
    on_a_plane,
    two_chains,
    world_twist,
)


@pytest.mark.parametrize("friction", [0.3, 0.7])
@pytest.mark.parametrize(
    "shape",
    [lw.Box((0.2, 0.3, 0.1)), lw.Cylinder(0.1, 0.1), lw.Capsule(0.05, 0.3, placement=lw.Pose(rpy=(math.pi / 2, 0, 0)))],
)
def test_block_on_an_incline(friction, shape):
    """Rests for μ ≥ tan θ, else g (sin θ - μ cos θ). The incline is the plane, gravity is tilted. A capsule lies across."""
    slope = math.atan(0.5)
    gravity = (G * math.sin(slope), 0, -G * math.cos(slope))
    if isinstance(shape, lw.Capsule):  # its axis is y: along it, it slides and does not roll
        gravity = (0, G * math.sin(slope), -G * math.cos(slope))
    model = on_a_plane(shape, lw.Inertia.box(1.5, (0.2, 0.3, 0.1)), gravity)
    q = model.neutral().q
    q[2] = 0.05
    sim = PlainContact(model, lw.State(q, np.zeros(6)), lw.Contact(friction=friction))
    sim.step(1e-3, 200)
    expected = max(0.0, G * (math.sin(slope) - friction * math.cos(slope)) * 0.2)
    along = 4 if isinstance(shape, lw.Capsule) else 3
    assert world_twist(sim)[along] == pytest.approx(expected, abs=1e-6)  # residual 1e-8 over 200 steps of 5e-3 m/s
    assert abs(sim.q[2] - 0.05) < 1e-6


@pytest.mark.parametrize("law", LAWS)
def test_ball_slides_until_it_rolls(law):
    """A solid ball keeps 5/7 of its speed, and begins to roll at 2 v / (7 μ g)."""
    model = on_a_plane(lw.Sphere(0.1), lw.Inertia.sphere(1.0, 0.1))
    q, v = model.neutral().q, np.zeros(6)
    q[2], v[3] = 0.1, 1.0
    sim = PlainContact(model, lw.State(q, v), lw.Contact(friction=0.3, law=law))
    sim.step(1e-3, 90)
    assert world_twist(sim)[3] == pytest.approx(1.0 - 0.3 * G * 0.09, abs=1e-3)  # still slides; O(h)
    sim.step(1e-3, 60)
    twist = world_twist(sim)
    assert twist[3] == pytest.approx(5 / 7, rel=1e-4)  # O(h²) of the turning frame
    assert twist[1] * 0.1 == pytest.approx(twist[3], rel=1e-4)


def test_ball_rolls_down_an_incline():
    """5/7 g sin θ."""
    slope = 0.2
    model = on_a_plane(lw.Sphere(0.1), lw.Inertia.sphere(1.0, 0.1), (G * math.sin(slope), 0, -G * math.cos(slope)))
    q = model.neutral().q
    q[2] = 0.1
    sim = PlainContact(model, lw.State(q, np.zeros(6)), lw.Contact(friction=0.5))
    sim.step(1e-3, 200)
    assert world_twist(sim)[3] == pytest.approx(5 / 7 * G * math.sin(slope) * 0.2, rel=1e-3)


@pytest.mark.parametrize("law", LAWS)
def test_bounces_fall_as_e_to_the_2n(law):
    model = on_a_plane(lw.Sphere(0.1), lw.Inertia.sphere(1.0, 0.1), joint=lw.Prismatic((0, 0, 1)))
    sim = PlainContact(model, lw.State(np.array([0.6]), np.zeros(1)), lw.Contact(restitution=0.8, law=law))
    h, heights = 5e-4, []
    last = [0.5, 0.5]
    for _ in range(3600):
        sim.step(h)
        now = sim.q[0] - 0.1
        if last[1] > last[0] and last[1] >= now:
            heights.append(last[1])
        last = [last[1], now]
    assert len(heights) >= 3
    # a bounce happens up to a step early or late, and errs in speed by h g: h v / height + 2 h g / v, 2.4 % in all
    assert heights[:3] == pytest.approx([0.5 * 0.64**n for n in (1, 2, 3)], rel=0.05)


def test_chain_at_rest_presses_with_its_weight():
    """Ten links on a table: impulses add up to weight times h; penetration stays below 1e-4 of a link."""
    model = chain(10).compile()
    sim = PlainContact(model, model.neutral(), lw.Contact(friction=0.5))
    h = 2e-3
    sim.step(h, 100)
    contacts = sim.finder.contacts
    assert sim.count == 20
    assert contacts.impulse[: sim.count, 2].sum() == pytest.approx(10 * 0.1 * G * h, rel=1e-6)
    assert sim.system.report[CONVERGED] == 1
    assert contacts.data[: sim.count, GAP].min() > -1e-4 * 0.1
    assert np.abs(sim.v).max() < 1e-6


def test_pendulum_stops_at_a_peg():
    """A plastic stop: the pendulum ends at rest on the peg, and presses with the torque of its weight."""
    linkage = lw.Linkage("pendulum")
    linkage.add_body("rod", joint=lw.Revolute((0, 1, 0)), inertia=lw.Inertia(1.0, (0, 0, -0.5), (0.1, 0.1, 0.01)),
                     shapes=[lw.Capsule(0.02, 0.9, placement=lw.Pose((0, 0, -0.5)))])  # fmt: skip
    linkage.add_obstacle("peg", lw.Cylinder(0.05, 0.5), lw.Pose((-0.2, 0, -0.5), rpy=(math.pi / 2, 0, 0)))
    model = linkage.compile()
    sim = PlainContact(model, lw.State(np.array([1.2]), np.zeros(1)), lw.Contact(friction=0.0))
    h = 1e-3
    sim.step(h, 1500)
    assert sim.count == 1
    assert abs(sim.v[0]) < 1e-9
    angle, f, n = sim.q[0], sim.finder.contacts.impulse[0] / h, sim.finder.contacts.data[0, NORMAL : NORMAL + 3]
    assert f == pytest.approx(np.linalg.norm(f) * n)
    torque = np.cross(sim.finder.contacts.data[0, :3], f)[1]
    # the axis holds the weight's torque; the tolerance is that of the position after the step, h² g
    assert torque == pytest.approx(G * 0.5 * math.sin(angle), rel=1e-4)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_joint_limits_act(restitution):
    """A pendulum driven against its limit: it comes back with e times its speed, or rests there without chatter."""
    linkage = lw.Linkage("pendulum")
    linkage.add_body(
        "rod", joint=lw.Revolute((0, 1, 0), limits=(-0.5, 2.0)), inertia=lw.Inertia(1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))
    )
    model = linkage.compile()
    sim = PlainContact(
        model, lw.State(np.array([1.0]), np.zeros(1)), lw.Contact(restitution=restitution), np.array([-6.0])
    )
    last, rebound = 0.0, None
    for _ in range(3000):
        sim.step(1e-3)
        if last < -0.1 and sim.v[0] > 0.0 and rebound is None:
            rebound = sim.v[0] / -last
        last = sim.v[0]
    assert sim.q.min() >= -0.5 - 1e-9
    if restitution == 0.0:
        assert abs(sim.v[0]) < 1e-9
        assert sim.q[0] == pytest.approx(-0.5, abs=1e-6)
    else:
        assert rebound == pytest.approx(0.5, rel=0.02)  # acceleration over one step, some 6 rad/s² · h, against 1 rad/s


THIN = {  # a plate hit at four corners, one after the other, starts to spin: that is not for the law of impacts
    "plate": (lw.Box((0.001, 0.05, 0.05)), lw.Inertia.box(0.01, (0.001, 0.05, 0.05)), 0.0005, ("coupled",)),
    "rod": (lw.Capsule(0.0005, 0.05), lw.Inertia.box(0.01, (0.001, 0.001, 0.05)), 0.0005, ("coupled",)),
    "ball": (lw.Sphere(0.0005), lw.Inertia.sphere(0.01, 0.0005), 0.0005, LAWS),
}


@pytest.mark.parametrize("speed", [30.0, 100.0, 1000.0])
@pytest.mark.parametrize(("thing", "law"), [(name, law) for name, (*_, laws) in THIN.items() for law in laws])
def test_thin_bodies_do_not_tunnel(speed, thing, law):
    """A 1 mm link fired at a 1 mm wall, a hundred times its thickness in one step."""
    shape, inertia, half, _ = THIN[thing]
    linkage = lw.Linkage("shot", gravity=(0, 0, 0))
    linkage.add_body("link", joint=lw.Free(), inertia=inertia, shapes=[shape])
    linkage.add_obstacle("wall", lw.Box((0.001, 1.0, 1.0)), lw.Pose((0.25, 0, 0)))
    model = linkage.compile()
    v = np.zeros(6)
    v[3] = speed
    sim = PlainContact(model, lw.State(model.neutral().q, v), lw.Contact(law=law))
    for _ in range(20):
        sim.step(1e-3)
        assert sim.q[0] < 0.2495 - half + 1e-6
    assert abs(world_twist(sim)[3]) < 1e-6 * speed


def test_a_fast_body_that_passes_by_is_not_stopped():
    """It would cross the plane of the wall's edge, beyond the wall."""
    linkage = lw.Linkage("shot", gravity=(0, 0, 0))
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(0.01, 0.01), shapes=[lw.Sphere(0.01)])
    linkage.add_obstacle("wall", lw.Box((0.01, 1.0, 1.0)), lw.Pose((0.25, 0, 0)))
    model = linkage.compile()
    q, v = model.neutral().q, np.zeros(6)
    q[1], v[3] = 0.52, 100.0
    sim = PlainContact(model, lw.State(q, v), lw.Contact())
    sim.step(1e-3, 10)
    assert sim.q[0] == pytest.approx(1.0, rel=1e-9)


def test_momentum_of_colliding_linkages():
    """Two free chains without gravity run into each other: momentum of both together stays."""
    model, state = two_chains()
    sim = PlainContact(model, state, lw.Contact(restitution=0.5, friction=0.3))
    before, touched, energy = lw.momentum(model, sim.state), False, lw.energy(model, sim.state).kinetic
    for _ in range(150):
        sim.step(1e-3)
        touched |= sim.count > 0 and bool(np.abs(sim.problem.impulse).max(initial=0) > 0)
        assert sim.system.report[ENERGY] <= 1e-15
    assert touched
    after = lw.momentum(model, sim.state)
    # Euler's own drift is first order in h (some 1e-3 of 0.4 kg·m/s); a lost impulse would be 0.1
    assert np.abs(after.linear - before.linear).max() < 5e-3
    assert lw.energy(model, sim.state).kinetic < energy


@pytest.mark.parametrize(("ratio", "holds"), [(0.97, True), (1.03, False)])
@pytest.mark.parametrize("wrap", [math.pi / 2, math.pi, 3 * math.pi])
def test_capstan(ratio, holds, wrap):
    """A chain of spheres over a fixed drum: holds at 0.97 exp(μ θ), slips at 1.03. All contacts are coupled."""
    model, contact, pulls = capstan(wrap)
    sim = PlainContact(model, model.neutral(), contact)
    loads = (1.0, ratio * math.exp(CAPSTAN_FRICTION * wrap))
    sim.effort = np.zeros(model.nv)
    for load, (body, direction) in zip(loads, pulls, strict=True):
        jacobian = lw.body_jacobian(model, sim.state, model.body_names.index(body), frame="world")
        sim.effort += jacobian[3:].T @ (load * direction)
    end = lw.body_poses(model, sim.state)[-1, :2, 3]
    assert end == pytest.approx(1.002 * np.array([math.cos(wrap), math.sin(wrap)]), abs=1e-9)
    h = 1e-3
    sim.step(h)
    assert sim.count == model.n_bodies
    speed = np.linalg.norm(world_twist(sim, model.n_bodies - 1)[3:])
    slow, fast = capstan_speeds(model.n_bodies, h)
    assert sim.system.report[RESIDUAL] < 1e-4
    assert (speed < slow) if holds else (speed > fast)
