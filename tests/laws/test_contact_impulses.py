"""Forces that a simulation reports for a step are all that acted in it, also where the step was made in parts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from benchmarks.contact.campaign import place, tree_of

import linkwork as lw

H, STEPS = 1e-3, 700
ROUNDING = 1e-9  # of the momentum that weight gives in a step, and of what bodies had


@pytest.mark.parametrize(
    ("kind", "seed", "restitution"),
    [
        *((kind, seed, 0.3 * (seed % 2)) for kind in ("full", "adaptive") for seed in (0, 1, 4, 9)),
        # pairs bounce in an early part of a step and are far apart at its end
        *(("full", 4, 0.3), ("full", 5, 0.6), ("full", 6, 0.6), ("full", 10, 0.6)),
        *(("adaptive", 7, 0.3), ("adaptive", 5, 0.6)),
    ],
)
def test_contact_forces_change_the_momentum_of_a_falling_tree(kind, seed, restitution):
    """m Δv = (Σ F + m g) h in every step, with steps cut where bodies meet, from flight through impact to rest."""
    rng = np.random.default_rng([20, seed])
    model, state = place(tree_of(rng, 3 + 3 * seed, floating=True), "floor", rng)
    make = lw.FullDynamics if kind == "full" else lw.AdaptiveDynamics
    sim = make(model, state, contact=lw.Contact(friction=0.5, restitution=restitution), integrator="variational")
    mass = model.mass.sum()
    before, touched = lw.momentum(model, sim.state).linear, 0
    for _ in range(STEPS):
        sim.step(H)
        after = lw.momentum(model, sim.state).linear
        outer = [np.array(contact.force) for contact in sim.contacts if contact.other not in model.body_names]
        force = sum(outer, np.zeros(3))
        touched += len(outer) > 0
        given = (force + mass * np.array(model.gravity)) * H
        scale = np.linalg.norm(before) + np.linalg.norm(given)
        assert after - before == pytest.approx(given, abs=ROUNDING * scale)
        before = after
    assert touched > 30


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
def test_what_bounced_and_left_within_a_step_is_listed(make):
    """A ball that a step of 50 ms takes from above the floor and back: one contact, apart, where it was; the same after a
    checkpoint, and gone a step later."""
    speed, bounce, h = 20.0, 0.5, 0.05
    linkage = lw.Linkage("ball", gravity=(0, 0, 0))
    linkage.add_obstacle("floor", lw.Plane())
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(2.0, 0.1), shapes=[lw.Sphere(0.1)])
    model = linkage.compile()
    q = model.neutral().q.copy()
    q[:3] = 0.3, 0.0, 0.3
    start = model.state(q, [0.0, 0.0, 0.0, 0.0, 0.0, -speed])
    contact = lw.Contact(friction=0.0, restitution=bounce, tolerance=1e-12)
    sim = make(model, start, contact=contact, integrator="variational")
    sim.step(h)
    (point,) = sim.contacts
    impulse = 2.0 * (1.0 + bounce) * speed
    assert (point.body, point.other, point.state) == ("ball", "floor", "apart")
    assert point.impulse == pytest.approx((0.0, 0.0, impulse), rel=1e-9)
    assert point.force == pytest.approx((0.0, 0.0, impulse / h), rel=1e-9)
    assert point.normal == pytest.approx((0.0, 0.0, 1.0))
    assert point.point == pytest.approx((0.3, 0.0, 0.0), abs=1e-4)
    assert lw.momentum(model, sim.state).linear == pytest.approx((0.0, 0.0, 2.0 * bounce * speed), rel=1e-9)
    other = make(model, start, contact=contact, integrator="variational")
    other.restore(sim.checkpoint())
    assert other.contacts == sim.contacts
    sim.step(h)
    assert sim.contacts == ()


def corner(kind):
    """A ball between a floor and a wall, at rest at (0.5, 0, 0.2); both are obstacles, or shapes of one heavy body."""
    linkage, wall = lw.Linkage("corner", gravity=(0, 0, 0)), lw.Pose((1.1, 0, 0))
    if kind == "obstacles":
        linkage.add_obstacle("floor", lw.Plane())
        linkage.add_obstacle("wall", lw.Box((0.2, 20, 20), placement=wall))
    else:
        shapes = [lw.Box((20, 20, 0.2), placement=lw.Pose((0, 0, -0.1))), lw.Box((0.2, 20, 20), placement=wall)]
        linkage.add_body("crate", joint=lw.Free(), inertia=lw.Inertia.box(1e12, (20, 20, 20)), shapes=shapes)
    # of large moments: friction turns it so slowly that steps of rk4 keep its momentum to rounding
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 1.0), shapes=[lw.Sphere(0.1)])
    model = linkage.compile()
    q = model.neutral().q.copy()
    q[model.q_slice("ball")][:3] = 0.5, 0.0, 0.2
    return model, q


@pytest.mark.parametrize("integrator", ["variational", "rk4", "semi_implicit_euler"])
@pytest.mark.parametrize(("kind", "friction"), [("obstacles", 0.0), ("obstacles", 0.1), ("crate", 0.0)])
def test_a_floor_and_a_wall_touched_in_one_step_are_two_contacts(kind, friction, integrator):
    """Each impulse lies in the friction cone of its own contact, and all of them change the ball's momentum."""
    h, bounce = 0.02, 0.8
    model, q = corner(kind)
    v = np.zeros(model.nv)
    v[model.v_slice("ball")][3:] = 30.0, 0.0, -20.0
    contact = lw.Contact(friction=friction, restitution=bounce, tolerance=1e-12)
    sim = lw.FullDynamics(model, model.state(q, v), contact=contact, integrator=integrator)
    sensors = lw.Sensors(sim, [lw.sensors.Touch("touch", "ball")])
    sensors.step(h)
    given = {}
    for point in sim.contacts:
        side = 1.0 if point.body == "ball" else -1.0
        normal, impulse = side * np.array(point.normal), side * np.array(point.impulse)
        along = float(normal @ impulse)
        which = "floor" if normal[2] > 0.5 else "wall"
        assert kind == "crate" or point.other == which
        assert normal == pytest.approx((0.0, 0.0, 1.0) if which == "floor" else (-1.0, 0.0, 0.0), abs=1e-6)
        assert along > 0.0
        assert np.linalg.norm(impulse - along * normal) <= (friction + 1e-6) * along
        given[which] = given.get(which, 0.0) + impulse
    assert given.keys() == {"floor", "wall"}
    if friction == 0.0:
        assert given["floor"] == pytest.approx((0.0, 0.0, 20.0 * (1.0 + bounce)), rel=1e-6, abs=1e-4)
        assert given["wall"] == pytest.approx((-30.0 * (1.0 + bounce), 0.0, 0.0), rel=1e-6, abs=1e-4)
        change = sim.state.v[model.v_slice("ball")][3:] - (30.0, 0.0, -20.0)  # it does not turn
    else:
        change = lw.momentum(model, sim.state).linear - (30.0, 0.0, -20.0)
    total = given["floor"] + given["wall"]
    assert total == pytest.approx(change, abs=1e-9 * np.linalg.norm(change))
    pressed = sum(abs(np.dot(point.normal, point.impulse)) for point in sim.contacts)
    assert sensors["touch"] == pytest.approx([*total / h, pressed / h], rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
@pytest.mark.parametrize("integrator", ["variational", "rk4", "semi_implicit_euler"])
def test_bounces_between_floor_and_ceiling_keep_their_moments(integrator, make):
    """Σ J and Σ x × J of a step are what momentum and angular momentum changed by, and no obstacle pulls: a ball that
    flies to and fro comes to the floor three times in a step, twice to part from it; by Euler's rule, once to each."""
    h, gap = 0.05, 0.3
    linkage = lw.Linkage("ball", gravity=(0, 0, 0))
    linkage.add_obstacle("floor", lw.Plane())
    linkage.add_obstacle("ceiling", lw.Box((50, 50, 0.1), placement=lw.Pose((0, 0, 0.25 + gap))))
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    model = linkage.compile()
    q = model.neutral().q.copy()
    q[2] = 0.1 + 0.5 * gap
    contact = lw.Contact(friction=0.0, restitution=0.9, tolerance=1e-12)
    start = model.state(q, [0.0, 0.0, 0.0, 5.0, 0.0, -40.0])
    sim = make(model, start, contact=contact, integrator=integrator)
    before = lw.momentum(model, sim.state)
    sim.step(h)
    after = lw.momentum(model, sim.state)
    impulses = np.array([point.impulse for point in sim.contacts])
    moments = np.cross([point.point for point in sim.contacts], impulses)
    assert {point.other for point in sim.contacts} == {"floor", "ceiling"}
    assert all(np.dot(point.impulse, point.normal) > 0.0 for point in sim.contacts)
    assert all(point.normal[2] == (1.0 if point.other == "floor" else -1.0) for point in sim.contacts)
    scale = np.abs(impulses).sum()  # of points within a metre
    assert after.linear - before.linear == pytest.approx(impulses.sum(axis=0), abs=1e-9 * scale)
    assert after.angular - before.angular == pytest.approx(moments.sum(axis=0), abs=1e-9 * scale)


def test_a_body_that_spins_on_a_floor_does_not_sink():
    """Forces of inertia half way through the step (12) are part of what contacts are solved for: no speed is left."""
    linkage = lw.Linkage("spinning")
    linkage.add_obstacle("floor", lw.Plane(friction=0.4))
    inertia = lw.Inertia.box(1.0, (0.4, 0.3, 0.2))
    linkage.add_body("body", joint=lw.Free(), inertia=inertia, shapes=[lw.Sphere(0.1)])
    model = linkage.compile()
    q = model.neutral().q.copy()
    q[2] = 0.1
    start = model.state(q, [40.0, 60.0, 20.0, 0.3, 0.1, 0.0])  # 0.07 rad per step
    sim = lw.FullDynamics(model, start, integrator="semi_implicit_euler", contact=lw.Contact(tolerance=1e-12))
    for _ in range(5):
        sim.step(H)
        speed = lw.momentum(model, sim.state).linear[2]
        assert abs(speed) <= ROUNDING * 0.3  # 3e-4 where axes were turned after contacts were solved


@pytest.mark.parametrize("make", [lw.FullDynamics, lw.AdaptiveDynamics])
@pytest.mark.parametrize("depth", [1e-3, 0.02])
def test_a_block_that_begins_inside_a_floor_is_named_once_and_pushed_out(make, depth):
    """Lifting it is work of steps, which no other warning may call a gain of energy from nothing."""
    linkage, size = lw.Linkage("block"), (0.1, 0.1, 0.1)
    place = lw.Pose((0, 0, 0.05 - depth))
    linkage.add_body(
        "block", joint=lw.Free(), placement=place, inertia=lw.Inertia.box(1.0, size), shapes=[lw.Box(size)]
    )
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        sim = make(model, model.neutral(), contact=lw.Contact())
        for _ in range(200):
            sim.step(1e-3, 5)
    assert ["begins with bodies inside each other" in str(one.message) for one in seen] == [True]
    assert sim.contacts[0].gap == pytest.approx(0.0, abs=1e-5)
