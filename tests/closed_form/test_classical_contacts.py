"""Classical problems of contact with known solutions: stops, rods that strike, wedges, Painlevé, cards, stacks, a cradle.

Both simulations are as they are by default: bodies at rest that are struck are inactive in the adaptive one.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw

from ..helpers.contact_setups import G, on_a_plane, world_twist

SIMULATIONS = (lw.FullDynamics, lw.AdaptiveDynamics)
H = 1e-3  # [s]
SOLVED = 1e-6  # relative: a hundred times the tolerance of a solve, 1e-8


def state_of(model, q, **velocities):
    """Velocities by body, in axes of the body."""
    v = np.zeros(model.nv)
    for body, velocity in velocities.items():
        v[model.v_slice(body)] = velocity
    return lw.State(q, v)


@pytest.mark.parametrize("simulation", SIMULATIONS)
@pytest.mark.parametrize("speed", [0.3, 2.0])
def test_a_block_that_slides_stops_after_its_way(simulation, speed):
    """v² / (2 μ g); first order in the step, half a step's way at most."""
    friction = 0.4
    model = on_a_plane(lw.Box((0.3, 0.2, 0.04)), lw.Inertia.box(2.0, (0.3, 0.2, 0.04)))
    q = model.neutral().q
    q[2] = 0.02
    sim = simulation(model, state_of(model, q, body=(0, 0, 0, speed, 0, 0)), contact=lw.Contact(friction=friction))
    sim.advance(H, round(1.2 * speed / (friction * G) / H))
    assert sim.state.q[0] == pytest.approx(speed**2 / (2.0 * friction * G), abs=0.5 * speed * H + 1e-6)
    assert np.abs(sim.state.v).max() < 1e-9
    assert {point.state for point in sim.contacts} == {"sticking"}


def falling_rod(angle, height):
    """A thin capsule, its lower end at a height above the floor; how far aside and above of that end its centre is."""
    length, radius = 1.0, 0.005
    inertia = lw.Inertia(1.0, (0, 0, 0), (1e-4, 1.0 / 12.0, 1.0 / 12.0))
    along = lw.Pose(rpy=(0, math.pi / 2, 0))
    model = on_a_plane(lw.Capsule(radius, length, placement=along), inertia, gravity=(0, 0, 0))
    q = model.neutral().q
    q[2] = height + radius + 0.5 * length * math.sin(angle)
    q[3:7] = math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0  # about y: the end ahead goes down
    return model, q, 0.5 * length * math.cos(angle), 0.5 * length * math.sin(angle) + radius


@pytest.mark.parametrize("simulation", SIMULATIONS)
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("angle", [0.3, 0.8, 1.3])
def test_a_smooth_rod_that_strikes_a_floor_with_one_end(simulation, restitution, angle):
    """Impulse (1 + e) v / (1/m + a²/I) at the end, a its distance aside of the centre."""
    model, q, aside, _ = falling_rod(angle, 2e-3)
    R = lw.body_poses(model, lw.State(q, np.zeros(6)))[0, :3, :3]
    start = state_of(model, q, body=(0, 0, 0, *(R.T @ (0.0, 0.0, -1.0))))
    sim = simulation(model, start, contact=lw.Contact(friction=0.0, restitution=restitution))
    sim.step(H, 4)  # it strikes after two
    impulse = (1.0 + restitution) / (1.0 + 12.0 * aside**2)
    assert sim.momentum.linear == pytest.approx([0.0, 0.0, impulse - 1.0], abs=SOLVED)
    assert world_twist(sim)[1] == pytest.approx(-12.0 * aside * impulse, abs=12.0 * SOLVED)


@pytest.mark.parametrize("simulation", SIMULATIONS)
@pytest.mark.parametrize("angle", [0.3, 0.8, 1.3])
def test_a_rough_rod_that_strikes_a_floor_goes_on_about_its_end(simulation, angle):
    """With friction enough and no restitution the point that strikes stays: momentum about it is kept."""
    model, q, aside, above = falling_rod(
        angle, 1e-9
    )  # at the floor: the rod does not turn before the state is looked at
    R = lw.body_poses(model, lw.State(q, np.zeros(6)))[0, :3, :3]
    start = state_of(model, q, body=(0, 0, 0, *(R.T @ (0.0, 0.0, -1.0))))
    sim = simulation(model, start, contact=lw.Contact(friction=10.0))
    sim.step(1e-6)  # in which the rod turns by 1e-6
    turning = -aside / (1.0 / 12.0 + aside**2 + above**2)
    assert world_twist(sim)[1] == pytest.approx(turning, rel=1e-5)
    assert sim.momentum.linear == pytest.approx([turning * above, 0.0, turning * aside], abs=1e-5)


def wedge(angle):
    """A wedge on a slide along x, its upper face at an angle, and a small box that lies on the face."""
    slope = lw.Pose(rpy=(0.0, angle, 0.0))
    linkage = lw.Linkage("wedge")
    face = lw.Box((2.0, 1.0, 0.2), placement=slope)
    linkage.add_body("wedge", joint=lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(3.0, (1, 1, 1)), shapes=[face])
    size = (0.2, 0.2, 0.1)
    linkage.add_body("box", joint=lw.Free(), inertia=lw.Inertia.box(1.0, size), shapes=[lw.Box(size)])
    model = linkage.compile()
    q = model.neutral().q
    up = np.array([math.sin(angle), 0.0, math.cos(angle)])
    q[model.q_slice("box")] = (*(0.15 * up), math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0)
    return model, lw.State(q, np.zeros(model.nv))


@pytest.mark.parametrize("simulation", SIMULATIONS)
@pytest.mark.parametrize("angle", [0.2, 0.6])
def test_a_smooth_wedge_gives_way(simulation, angle):
    """It accelerates by m g sin cos / (M + m sin²), the box downwards by (M + m) g sin² / (M + m sin²); M = 3 m."""
    model, start = wedge(angle)
    sim = simulation(model, start, contact=lw.Contact(friction=0.0))
    sim.advance(H, 200)
    s, c = math.sin(angle), math.cos(angle)
    assert sim.state.v[0] == pytest.approx(-0.2 * G * s * c / (3.0 + s * s), rel=SOLVED)
    assert world_twist(sim, 1)[5] == pytest.approx(-0.2 * 4.0 * G * s * s / (3.0 + s * s), rel=SOLVED)
    assert sim.momentum.linear[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("simulation", SIMULATIONS)
def test_a_rough_wedge_stays_where_its_box_holds(simulation):
    """μ > tan of the angle: box and wedge rest, though nothing but the box holds the wedge."""
    model, start = wedge(0.4)
    sim = simulation(model, start, contact=lw.Contact(friction=1.05 * math.tan(0.4)))
    sim.advance(H, 300)
    assert np.abs(sim.state.v).max() < 1e-9
    assert sum(point.force[2] for point in sim.contacts) * (
        1 if sim.contacts[0].body == "box" else -1
    ) == pytest.approx(G, rel=SOLVED)


@pytest.mark.parametrize("simulation", SIMULATIONS)
@pytest.mark.parametrize("friction", [0.3, 1.0, 1.2])
def test_a_sliding_rod_presses_as_painleve_says(simulation, friction):
    """N = m g / (1 + a (a - μ b) m/I), while its lower end slides ahead and it does not turn yet.

    a, b: distances of the centre from the end, along the floor and upwards. With μ = 1.2 friction more than quadruples N.
    """
    model, q, a, b = falling_rod(1.0, 0.0)
    model = on_a_plane(model.shapes[0][1], lw.Inertia(1.0, (0, 0, 0), (1e-4, 1.0 / 12.0, 1.0 / 12.0)))
    R = lw.body_poses(model, lw.State(q, np.zeros(6)))[0, :3, :3]
    start = state_of(model, q, body=(0, 0, 0, *(R.T @ (2.0, 0.0, 0.0))))
    sim = simulation(model, start, contact=lw.Contact(friction=friction))
    sim.step(H)  # in which the rod turns by less than 1e-3
    (point,) = sim.contacts
    pressed = G / (1.0 + 12.0 * a * (a - friction * b))
    assert point.state == "sliding"
    assert point.force[2] == pytest.approx(
        pressed, rel=1e-4
    )  # a solve leaves some 1e-8 of the speed, N h is 0.3 to 2 % of it
    assert point.force[0] == pytest.approx(-friction * pressed, rel=1e-4)


@pytest.mark.parametrize("simulation", SIMULATIONS)
@pytest.mark.parametrize("friction", [2.5, 4.0])
def test_a_sliding_rod_beyond_painleves_limit_jams_without_energy(simulation, friction):
    """There only an impulse is a solution: the end stops at once, energy falls, and the floor stays whole."""
    model, q, a, b = falling_rod(1.0, 0.0)
    assert 1.0 + 12.0 * a * (a - friction * b) < 0.0  # beyond the limit
    model = on_a_plane(model.shapes[0][1], lw.Inertia(1.0, (0, 0, 0), (1e-4, 1.0 / 12.0, 1.0 / 12.0)))
    R = lw.body_poses(model, lw.State(q, np.zeros(6)))[0, :3, :3]
    sim = simulation(
        model, state_of(model, q, body=(0, 0, 0, *(R.T @ (2.0, 0.0, 0.0)))), contact=lw.Contact(friction=friction)
    )
    energy = sum(sim.energy[:2])
    report = sim.step(H)
    assert report.contact.not_converged == 0
    turn, along = world_twist(sim)[[1, 3]]
    assert along - turn * b == pytest.approx(0.0, abs=0.02)  # the end stands; what turns by up to 0.01 moves it so fast
    for _ in range(300):
        report = sim.step(H)
        now = sum(sim.energy[:2])
        assert now <= energy + 1e-6
        assert report.contact.deepest < 1e-4
        energy = now


@pytest.mark.parametrize("simulation", SIMULATIONS)
@pytest.mark.parametrize(("share", "stands"), [(0.95, False), (1.05, True)])
def test_two_cards_stand_where_the_floor_is_rough_enough(simulation, share, stands):
    """Two thin cards that lean by θ against each other push outwards with m g tan θ / 2 each, which friction must hold.

    Their edges are round, of radius r: m g L sin θ / (2 (L cos θ + r)). They move in a plane, and meet edge to edge.
    """
    lean, radius, long = 0.4, 0.001, 0.09
    c, s = math.cos(lean), math.sin(lean)
    inertia = lw.Inertia.box(0.01, (radius, 0.06, long))
    linkage = lw.Linkage("cards")
    for name, side in (("left", -1), ("right", 1)):
        place = lw.Pose((side * (0.5 * long * s + radius), 0, 0.5 * long * c + radius))
        card = lw.Capsule(radius, long, placement=lw.Pose(rpy=(0, -side * lean, 0)))
        in_plane = lw.Planar(normal=(0, 1, 0), first=(1, 0, 0))
        linkage.add_body(name, joint=in_plane, placement=place, inertia=inertia, shapes=[card])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    needed = 0.5 * long * s / (long * c + radius)
    sim = simulation(model, model.neutral(), contact=lw.Contact(friction=share * needed))
    sim.advance(H, 500)
    height = lw.body_poses(model, sim.state)[0, 2, 3]
    if stands:
        assert np.abs(sim.state.v).max() < 1e-9
        assert height == pytest.approx(0.5 * long * c + radius, abs=1e-6)
    else:
        assert height < 0.25 * long


@pytest.mark.parametrize("simulation", SIMULATIONS)
def test_a_stack_presses_with_what_lies_above(simulation):
    """Twenty boxes: every joint between two carries the weight of those above it, and nothing moves."""
    linkage, size, boxes = lw.Linkage("stack"), (0.1, 0.1, 0.1), 20
    for k in range(boxes):
        place = lw.Pose((0.004 * (k % 2), 0.003 * (k % 3), 0.1 * k + 0.05))
        linkage.add_body(
            f"box_{k}", joint=lw.Free(), placement=place, inertia=lw.Inertia.box(1.0, size), shapes=[lw.Box(size)]
        )
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    sim = simulation(model, model.neutral(), contact=lw.Contact(friction=0.5))
    sim.advance(H, 500)
    assert np.abs(sim.state.v).max() < 1e-8
    assert np.abs(sim.state.q - model.neutral().q).max() < 1e-6
    carried = np.zeros(boxes)
    for point in sim.contacts:
        lower = 0 if point.other == "floor" else max(int(name[4:]) for name in (point.body, point.other))
        carried[lower] += abs(point.force[2])
    assert carried == pytest.approx(G * np.arange(boxes, 0, -1), rel=1e-5)


@pytest.mark.parametrize("simulation", SIMULATIONS)
@pytest.mark.parametrize("first", [1, 2])
def test_a_cradle_of_balls_apart_hands_its_speed_on(simulation, first):
    """Equal balls with gaps, e = 1: as many leave at the end as came in, with their speed, by the default law too."""
    linkage = lw.Linkage("cradle", gravity=(0, 0, 0))
    for k in range(5):
        place = lw.Pose((0.2 * k + (0.05 if k >= first else 0.0) + 0.003 * k, 0, 0))
        linkage.add_body(f"ball_{k}", joint=lw.Prismatic((1, 0, 0)), placement=place, inertia=lw.Inertia.sphere(1.0, 0.1),
                         shapes=[lw.Sphere(0.1)])  # fmt: skip
    model = linkage.compile()
    start = lw.State(np.zeros(5), np.array([1.0] * first + [0.0] * (5 - first)))
    sim = simulation(model, start, contact=lw.Contact(restitution=1.0))
    sim.advance(H, 400)
    assert sim.state.v == pytest.approx([0.0] * (5 - first) + [1.0] * first, abs=SOLVED)
