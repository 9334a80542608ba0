"""Closed forms of contact on linkages: the search and the solvers together, moved by a plain dense simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork.contact.contact_list import GAP, NORMAL
from linkwork.contact.solver.problem import CONVERGED, ENERGY, RESIDUAL
from linkwork.reference.plain_contact import PlainContact

G = 9.81
LAWS = ("coupled", "impacts")


def on_a_plane(shape, inertia, gravity=(0, 0, -G), joint=None):
    linkage = lw.Linkage("body", gravity=gravity)
    linkage.add_body("body", joint=joint or lw.Free(), inertia=inertia, shapes=[shape])
    linkage.add_obstacle("floor", lw.Plane())
    return linkage.compile()


def world_twist(sim, body=0):
    return lw.body_twists(sim.model, sim.state, frame="world")[body]


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
    # a bounce happens up to a step early or late: h v / height, doubled by every bounce before
    assert heights[:3] == pytest.approx([0.5 * 0.64**n for n in (1, 2, 3)], rel=0.02)


def chain(links, radius=0.02, length=0.1, ground=-0.02, friction=None):
    linkage = lw.Linkage("chain")
    rod = lw.Inertia.box(0.1, (length, radius, radius)).at(lw.Pose((length / 2, 0, 0)))
    shape = lw.Capsule(
        radius, length - 2 * radius, placement=lw.Pose((length / 2, 0, 0), rpy=(0, math.pi / 2, 0)), friction=friction
    )
    for i in range(links):
        joint = lw.Free() if i == 0 else (lw.Revolute((0, 1, 0)) if i % 2 else lw.Revolute((0, 0, 1)))
        place = lw.Pose() if i == 0 else lw.Pose((length, 0, 0))
        linkage.add_body(f"link_{i}", "world" if i == 0 else f"link_{i - 1}", joint, place, rod, shapes=[shape])
    linkage.add_obstacle("table", lw.Plane(), lw.Pose((0, 0, ground)))
    return linkage


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
    linkage = lw.Linkage("two", gravity=(0, 0, 0))
    for name, at in (("a", 0.0), ("b", 0.13)):
        one = chain(4)
        one.remove_obstacle("table")
        linkage.merge(
            one, prefix=name, placement=lw.Pose((0.05 * (name == "b"), at, 0), rpy=(0, 0, 0.3 * (name == "b")))
        )
    model = linkage.compile()
    start = np.zeros(model.nv)
    start[model.v_slice("alink_0").start + 4] = 1.0
    sim = PlainContact(model, lw.State(model.neutral().q, start), lw.Contact(restitution=0.5, friction=0.3))
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
    """A chain of spheres over a fixed drum, μ = 0.3: holds at 0.97 exp(μ θ), slips at 1.03. All contacts are coupled.

    Loads are forces along the two ends. A chain that winds several times lies on itself: it does not touch itself here.
    Friction acts at the drum's radius, tension at that of the centres: the spheres are small (0.2 % of the drum).
    """
    friction, drum, radius, links = 0.3, 1.0, 0.002, round(24 * wrap / math.pi)
    step = wrap / links
    length = 2 * (drum + radius) * math.sin(step / 2)
    linkage = lw.Linkage("capstan", gravity=(0, 0, 0))
    ball = lw.Inertia(1e-3, (0, 0, 0), (1e-5, 1e-5, 1e-5))
    first = lw.Pose(((drum + radius), 0, 0), rpy=(0, 0, math.pi / 2 + step / 2))
    for i in range(links + 1):
        joint = lw.Planar() if i == 0 else lw.Revolute((0, 0, 1))
        place = first if i == 0 else lw.Pose((length, 0, 0), rpy=(0, 0, step))
        linkage.add_body(f"b{i}", "world" if i == 0 else f"b{i - 1}", joint, place, ball, shapes=[lw.Sphere(radius)])
    linkage.add_obstacle("drum", lw.Cylinder(drum, 1.0))
    model = linkage.compile()
    sim = PlainContact(
        model,
        model.neutral(),
        lw.Contact(friction=friction, self_contact=False, margin=1e-4, tolerance=1e-7, max_sweeps=5000),
    )
    low, high = 1.0, ratio * math.exp(friction * wrap)
    T = lw.body_poses(model, sim.state)
    effort = np.zeros(model.nv)
    end = math.pi / 2 + wrap
    for body, force in (
        (0, low * np.array([0.0, -1.0, 0.0])),
        (links, high * np.array([math.cos(end), math.sin(end), 0.0])),
    ):
        effort += lw.body_jacobian(model, sim.state, body, frame="world")[3:].T @ force
    assert T[links, :2, 3] == pytest.approx((drum + radius) * np.array([math.cos(wrap), math.sin(wrap)]), abs=1e-9)
    sim.effort = effort
    h = 1e-3
    sim.step(h)
    assert sim.count == links + 1
    free = 0.03 * low / (1e-3 * (links + 1)) * h  # speed a chain would gain from 3 % of the load
    speed = np.linalg.norm(world_twist(sim, links)[3:])
    assert sim.system.report[RESIDUAL] < 1e-4
    assert (speed < 0.05 * free) if holds else (speed > 0.2 * free)
