"""Bodies that reach an obstacle from afar within a step: what they do there does not depend on how far they were."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

from ..helpers.contact_setups import KINDS, LAWS, ball_on_a_plane, simulate

RADIUS, SPEED = 0.1, 100.0  # [m, m/s] of a solid ball
SOLVED = 1e-7  # relative: ten times the residual that a solve may leave


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("friction", [0.0, 0.1])
@pytest.mark.parametrize("height", [0.15, 0.3, 0.9])
def test_a_fast_ball_leaves_a_wall_with_the_spin_of_its_friction(kind, friction, height):
    """Sliding all through the impact: Δv_t = μ (1 + e) v_n, and the spin that goes with it at the radius, 5/2 Δv_t / r."""
    model, start = ball_on_a_plane(height=height, gravity=(0.0, 0.0, 0.0))
    v = start.v.copy()
    v[3:6] = (SPEED, 0.0, -SPEED)
    contact = lw.Contact(friction=friction, restitution=1.0)
    sim = simulate(kind, model, lw.State(start.q, v), contact=contact)
    sim.step(1e-2)
    spin = lw.body_twists(model, sim.state, frame="world")[0, 1]
    velocity = sim.momentum.linear  # of 1 kg
    braked = friction * 2.0 * SPEED
    assert velocity[2] == pytest.approx(SPEED, rel=SOLVED)
    assert velocity[0] == pytest.approx(SPEED - braked, rel=SOLVED)
    assert spin == pytest.approx(2.5 * braked / RADIUS, abs=SOLVED * SPEED / RADIUS)


def two_balls(offset, distance, speed):
    """Two free solid balls without gravity; the second flies by at a distance from the first one's centre line."""
    linkage = lw.Linkage("two", gravity=(0.0, 0.0, 0.0))
    for name, mass in (("a", 1.0), ("b", 3.0)):
        linkage.add_body(name, joint=lw.Free(), inertia=lw.Inertia.sphere(mass, RADIUS), shapes=[lw.Sphere(RADIUS)])
    model = linkage.compile()
    q, v = model.neutral().q, np.zeros(model.nv)
    q[model.q_slice("b")][:3] = (distance, offset, 0.0)
    v[model.v_slice("b")][3] = -speed
    v[model.v_slice("a")][3:] = (0.3 * speed, 0.1 * speed, 0.0)
    return model, lw.State(q, v)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("distance", [0.25, 0.5, 1.0])
def test_two_fast_smooth_balls_meet_where_they_touch(kind, law, distance):
    """Elastic and without friction, within one step: the closed form of the impact, no spin, and momentum to rounding.

    How far apart the two are when the step begins does not matter: 2 to 10 radii.
    """
    speed, offset, masses = SPEED, 0.08, np.array([1.0, 3.0])
    model, start = two_balls(offset, distance, speed)
    sim = simulate(kind, model, start, contact=lw.Contact(friction=0.0, restitution=1.0, law=law))
    before = sim.momentum
    sim.step(1.2e-2)
    va, vb = np.array([0.3 * speed, 0.1 * speed, 0.0]), np.array([-speed, 0.0, 0.0])
    d, w = np.array([-distance, -offset, 0.0]), va - vb  # of a from b
    b, c = d @ w / (w @ w), (d @ d - 4 * RADIUS**2) / (w @ w)
    time = -b - np.sqrt(b * b - c)
    n = (d + time * w) / (2 * RADIUS)
    impulse = -2.0 * (w @ n) / (1.0 / masses).sum()
    twists = lw.body_twists(model, sim.state, frame="world")
    early = (
        10 * 1e-4
    )  # they touch a tenth of the margin (1e-4 of a radius) early, which turns the normal; a tenth is seen
    assert twists[0, 3:] == pytest.approx(va + impulse * n / masses[0], abs=early * speed)
    assert twists[1, 3:] == pytest.approx(vb - impulse * n / masses[1], abs=early * speed)
    assert np.abs(twists[:, :3]).max() < SOLVED * speed / RADIUS
    after = sim.momentum
    rounding = 1e3 * np.finfo(float).eps * speed * masses.sum()
    assert after.linear == pytest.approx(before.linear, abs=rounding)
    assert after.angular == pytest.approx(before.angular, abs=rounding)
    assert sim.energy.kinetic <= 0.5 * (masses * [va @ va, vb @ vb]).sum() * (1.0 + SOLVED)


@pytest.mark.parametrize("kind", KINDS)
def test_two_fast_bodies_with_faces_meet_with_all_their_points(kind):
    """Two plates at 60 m/s, face to face and sliding past each other: four points, and no spin without friction.

    Shortly after they meet; in 10 ms they have turned by half a radian and push each other along their faces too.
    """
    linkage = lw.Linkage("plates", gravity=(0.0, 0.0, 0.0))
    size = (0.02, 0.2, 0.2)
    for name in ("a", "b"):
        linkage.add_body(name, joint=lw.Free(), inertia=lw.Inertia.box(1.0, size), shapes=[lw.Box(size)])
    model = linkage.compile()
    q, v = model.neutral().q, np.zeros(model.nv)
    q[model.q_slice("b")][:3] = (0.4, 0.45, 0.0)
    v[model.v_slice("b")][3:] = (-60.0, -60.0, 0.0)
    sim = simulate(kind, model, lw.State(q, v), contact=lw.Contact(friction=0.0))
    before = sim.momentum
    sim.step(6.5e-3)
    assert sum(x.gap < 1e-3 for x in sim.contacts) == 4  # corners behind them are followed too
    twists = lw.body_twists(model, sim.state, frame="world")
    assert np.abs(twists[:, :3]).max() * 0.1 > 1.0  # they overlap by a part of their faces: both turn
    assert twists[:, 3].sum() == pytest.approx(-60.0, rel=SOLVED)
    assert twists[0, 4] == pytest.approx(0.0, abs=SOLVED * 60.0)
    rounding = 1e3 * np.finfo(float).eps * 120.0
    assert sim.momentum.angular == pytest.approx(before.angular, abs=rounding)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("thing", ["plate", "rod", "end of a chain"])
def test_thin_links_do_not_tunnel(kind, thing):
    """A link of 1 mm at 100 m/s and a wall of 1 mm, a hundred times its thickness in a step; one of them ends a chain."""
    shape = lw.Box((0.001, 0.05, 0.05)) if thing == "plate" else lw.Capsule(0.0005, 0.05)
    inertia = lw.Inertia.box(0.01, (0.001, 0.05, 0.05))
    linkage = lw.Linkage("shot", gravity=(0.0, 0.0, 0.0))
    linkage.add_body("link", joint=lw.Free(), inertia=inertia, shapes=[shape])
    if thing == "end of a chain":
        for i in range(4):
            above = "link" if i == 0 else f"link_{i - 1}"
            linkage.add_body(f"link_{i}", above, lw.Revolute((0, 1, 0)), lw.Pose((0, 0, 0.06)), inertia, shapes=[shape])
    linkage.add_obstacle("wall", lw.Box((0.001, 1.0, 1.0)), lw.Pose((0.25, 0.0, 0.0)))
    model = linkage.compile()
    v = np.zeros(model.nv)
    v[3] = 100.0
    sim = simulate(kind, model, lw.State(model.neutral().q, v), contact=lw.Contact())
    for _ in range(20):
        sim.advance(1e-3)
        assert lw.body_poses(model, sim.state)[:, 0, 3].max() < 0.2495 - 0.0005 + 1e-6
    assert len(sim.contacts) > 0
