"""Laws of contact in the simulations that users step: energy over very many impacts, numbering, steps far too long."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import linkwork as lw

from ..helpers.contact_setups import (
    CAPSTAN_FRICTION,
    KINDS,
    LAWS,
    G,
    ball_on_a_plane,
    capstan,
    capstan_speeds,
    chain,
    cradle,
    simulate,
    two_chains,
)

IMPACTS = 50_000
EPS = np.finfo(float).eps
SLIDERS = lw.Compound([lw.Prismatic((1, 0, 0)), lw.Prismatic((0, 1, 0)), lw.Prismatic((0, 0, 1))])


def gas(rng, friction, balls=40, size=1.0):
    """Balls of all sizes in a closed box without gravity, fast; frictions up to one, restitutions 0.9 to 1.

    They move on three sliders each and do not turn: between impacts they fly straight, exactly.
    """
    linkage = lw.Linkage("gas", gravity=(0, 0, 0))
    for k in range(balls):
        radius = rng.uniform(0.05, 0.11)
        shape = lw.Sphere(radius, friction=friction * rng.uniform(0, 1), restitution=rng.uniform(0.9, 1.0))
        linkage.add_body(
            f"ball_{k}", joint=SLIDERS, inertia=lw.Inertia.sphere(rng.uniform(0.1, 10.0), radius), shapes=[shape]
        )
    right = math.pi / 2
    inward = ((0, right, 0), (-right, 0, 0), (0, 0, 0), (0, -right, 0), (right, 0, 0), (2 * right, 0, 0))
    for k, (direction, rpy) in enumerate(zip(np.concatenate([np.eye(3), -np.eye(3)]), inward, strict=True)):
        wall = lw.Plane(restitution=1.0, friction=friction)
        linkage.add_obstacle(f"wall_{k}", wall, lw.Pose(-0.5 * size * direction, rpy=rpy))
    model = linkage.compile()
    q = model.neutral().q
    grid = np.array([(x, y, z) for x in range(4) for y in range(4) for z in range(4)])
    for k in range(balls):
        q[3 * k : 3 * k + 3] = 0.23 * grid[k] - 0.345
    return model, lw.State(q, 5.0 * rng.normal(size=model.nv))


@pytest.mark.parametrize("friction", [0.0, 1.0])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", KINDS)
def test_energy_never_rises_over_many_impacts(kind, law, friction, rng):
    """An eighth of the impacts for each law, simulation and friction. What is reported as lost is lost, to rounding."""
    model, state = gas(rng, friction)
    sim = simulate(kind, model, state, lw.Contact(law=law))
    energy, impacts, steps = sim.energy.kinetic, 0, 0
    begin = energy
    while impacts < IMPACTS // 8:
        lost = 0.0
        for _ in range(10):
            lost += sim.step(2e-3).contact.energy_lost
            impacts += sum(any(point.force) for point in sim.contacts)
        steps += 10
        now = sim.energy.kinetic
        rounding = 100 * EPS * begin * 10 * model.n_bodies  # sums over all bodies, ten steps; a tenth of it is seen
        assert lost >= -rounding
        assert now <= energy + rounding
        assert lost == pytest.approx(energy - now, rel=1e-6, abs=rounding)
        energy = now
        if energy < 0.05 * begin:  # most is lost: fast again, from where they are
            sim.set_state(lw.State(sim.state.q, 5.0 * rng.normal(size=model.nv)))
            energy = begin = sim.energy.kinetic
        assert steps < 100_000
    assert np.abs(sim.state.q).max() < 0.5  # nobody left the box


@pytest.mark.parametrize("kind", KINDS)
def test_impulses_on_linkages_never_add_energy(kind, rng):
    """Chains that are thrown together again and again, restitution 1: the impulses of no step add energy."""
    model, state = two_chains()
    sim = simulate(kind, model, state, lw.Contact(restitution=1.0, friction=0.5))
    met = 0
    for _ in range(30):
        v = state.v.copy()
        v[: model.nv // 2] += 0.2 * rng.normal(size=model.nv // 2)
        sim.set_state(lw.State(state.q, v))
        energy = sim.energy.kinetic
        for _ in range(30):
            report = sim.step(1e-3, 5)
            assert report.contact.energy_lost >= -100 * EPS * energy * 5
            met += report.contact.energy_lost > 0.0
    assert met > 10


# --------------------------------------------------------------------------------------------------------------- numbering


def scattered(order, walls):
    """Six bodies of all shapes that drop on a floor between walls, added in an order; names stay with the bodies."""
    shapes = {
        "ball": (lw.Sphere(0.1), lw.Inertia.sphere(1.0, 0.1), (0, 0, 0.12)),
        "brick": (lw.Box((0.2, 0.3, 0.1)), lw.Inertia.box(2.0, (0.2, 0.3, 0.1)), (0.5, 0, 0.07)),
        "can": (lw.Cylinder(0.08, 0.2), lw.Inertia.box(1.0, (0.16, 0.16, 0.2)), (0, 0.5, 0.12)),
        "pill": (lw.Capsule(0.06, 0.2), lw.Inertia.box(0.5, (0.12, 0.12, 0.3)), (0.5, 0.5, 0.17)),
        "lid": (lw.Box((0.25, 0.25, 0.04)), lw.Inertia.box(0.7, (0.25, 0.25, 0.04)), (0.5, 0, 0.16)),
        "coin": (lw.Cylinder(0.1, 0.03), lw.Inertia.box(0.3, (0.2, 0.2, 0.03)), (0, 0.5, 0.25)),
    }
    linkage = lw.Linkage("scattered")
    for name in order:
        shape, inertia, _ = shapes[name]
        linkage.add_body(name, joint=lw.Free(), inertia=inertia, shapes=[shape])
    obstacles = {"floor": (lw.Plane(), lw.Pose()), "wall": (lw.Box((0.1, 2, 1)), lw.Pose((-0.5, 0, 0.5)))}
    for name in walls:
        linkage.add_obstacle(name, *obstacles[name])
    model = linkage.compile()
    q, v = model.neutral().q, np.zeros(model.nv)
    for name in order:
        q[model.q_slice(name)][:3] = shapes[name][2]
        v[model.v_slice(name)][3:] = (0.3, 0.1, 0.0)
    return model, lw.State(q, v)


STEPS = 150


@pytest.mark.parametrize(("integrator", "margin"), [("semi_implicit_euler", 1e3), ("auto", 1e6)])
@pytest.mark.parametrize("kind", KINDS)
def test_results_do_not_depend_on_numbering(kind, integrator, margin):
    """Bodies and obstacles in another order: the same motion to the residual of the solves, grown over the steps.

    By the default integrator the coin comes down on the can turned by 1e-13 rad, and what friction does to its spin then
    depends on which of four points press how much: rigid bodies leave that open.
    """
    names = ["ball", "brick", "can", "pill", "lid", "coin"]
    contact = lw.Contact(friction=0.4, tolerance=1e-12, max_sweeps=5000)
    ends = []
    for order, walls in (
        (names, ("floor", "wall")),
        (names[::-1], ("wall", "floor")),
        (names[3:] + names[:3], ("floor", "wall")),
    ):
        model, state = scattered(order, walls)
        sim = simulate(kind, model, state, contact, integrator=integrator)
        sim.advance(1e-3, STEPS)
        assert len(sim.contacts) > 4
        ends.append(
            {
                name: np.concatenate([sim.state.q[model.q_slice(name)], sim.state.v[model.v_slice(name)]])
                for name in names
            }
        )
    tolerance, speed = 1e-12, 1.0
    for name in names:
        for other in ends[1:]:
            assert other[name] == pytest.approx(ends[0][name], abs=margin * tolerance * speed * STEPS)


# ---------------------------------------------------------------------------------------------------- steps far too long

H = 1e-2  # ten times that of the closed forms


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("law", LAWS)
def test_bounces_with_steps_far_too_long(kind, law):
    """Inaccurate, but it bounces no higher than it fell by more than the way of a step, and ends on the floor."""
    model, state = ball_on_a_plane(0.6)
    sim = simulate(kind, model, state, lw.Contact(restitution=0.8, law=law))
    fastest = math.sqrt(2 * G * 0.5)
    for _ in range(500):
        sim.advance(H)
        assert -H * fastest < sim.state.q[2] - 0.1 < 0.5 + H * fastest
    assert sim.state.q[2] == pytest.approx(0.1, abs=H * fastest)


@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_on_a_table_with_steps_far_too_long(kind):
    """It rests, presses with its weight, and sinks by no more than 1e-4 of a link."""
    model = chain(10).compile()
    sim = simulate(kind, model, model.neutral(), lw.Contact(friction=0.5))
    sim.advance(2e-2, 100)
    assert sum(point.force[2] for point in sim.contacts) == pytest.approx(10 * 0.1 * G, rel=1e-4)
    assert min(point.gap for point in sim.contacts) > -1e-4 * 0.1
    assert np.abs(sim.state.v).max() < 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_falling_chains_with_steps_far_too_long(kind):
    """No energy from nowhere beyond semi-implicit Euler's first order, and no silent explosion."""
    model = chain(6).compile()
    start = model.neutral()
    start.q[2] = 0.3
    sim = simulate(kind, model, start, lw.Contact(restitution=0.5))
    begin, scale = sim.energy.total, 6 * 0.1 * G * 0.3
    for _ in range(100):
        sim.advance(2e-2)
        assert sim.energy.total < begin + 0.05 * scale
    assert sim.energy.kinetic < 0.05 * scale


def test_the_cradle_with_steps_far_too_long():
    model, state = cradle()
    sim = lw.FullDynamics(model, state, contact=lw.Contact(restitution=1.0, friction=0.0, law="impacts"))
    sim.advance(H, 40)
    assert sim.state.v == pytest.approx([0, 0, 0, 1.0], abs=1e-9)


def holds_or_says_so(sim, h, steps, most):
    """Whether kinetic energy stays below `most` [J], or an error or a warning names the step; nothing in between."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", lw.LinkworkWarning)
        for _ in range(steps // 10):
            try:
                sim.step(h, 10)
            except lw.StateError as error:
                assert np.isfinite(sim.state.q).all()
                return "smaller step" in str(error)
            if any("smaller step" in str(warning.message) for warning in warned):
                return True
            if not sim.energy.kinetic < most:
                return False
    return True


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ratio", [0.97, 1.03])
@pytest.mark.parametrize("wrap", [math.pi / 2, math.pi, 3 * math.pi])
def test_the_capstan_with_steps_far_too_long(kind, ratio, wrap):
    """It holds or slips as it should at first. The free end of one that slips then lashes about, which gives a warning."""
    model, contact, pulls = capstan(wrap)
    sim = simulate(kind, model, model.neutral(), contact)
    loads = (1.0, ratio * math.exp(CAPSTAN_FRICTION * wrap))
    for load, (body, direction) in zip(loads, pulls, strict=True):
        sim.apply_wrench(body, force=load * direction)
    sim.step(H)
    speed = np.linalg.norm(lw.body_twists(model, sim.state, frame="world")[-1, 3:])
    slow, fast = capstan_speeds(model.n_bodies, H)
    assert (speed < slow) if ratio < 1.0 else (speed > fast)
    pulled = sum(loads) * math.pi * 2.0  # [J] once around the drum
    assert holds_or_says_so(sim, H, 60, 1e-12 if ratio < 1.0 else 0.1 * pulled)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("law", LAWS)
def test_a_pile_with_steps_far_too_long(kind, law, rng):
    """Bodies of all shapes fall into a box: no more energy than they fell with, and all stay inside."""
    linkage = lw.Linkage("pile")
    shapes = (lw.Sphere(0.1), lw.Box((0.2, 0.2, 0.2)), lw.Capsule(0.06, 0.2), lw.Cylinder(0.1, 0.15))
    for k in range(12):
        linkage.add_body(f"b{k}", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[shapes[k % 4]])
    linkage.add_obstacle("floor", lw.Plane())
    for k, (x, y) in enumerate(((0.6, 0), (-0.6, 0), (0, 0.6), (0, -0.6))):
        linkage.add_obstacle(f"wall_{k}", lw.Box((0.1, 2, 2) if x else (2, 0.1, 2)), lw.Pose((x, y, 1.0)))
    model = linkage.compile()
    q = model.neutral().q
    for k in range(12):
        turn = rng.normal(size=4)
        own = q[model.q_slice(f"b{k}")]
        own[:3], own[3:] = (0.3 * (k % 3) - 0.3, 0.3 * (k // 3 % 3) - 0.3, 0.2 + 0.35 * (k // 9)), turn
        own[3:] /= np.linalg.norm(turn)
    contact = lw.Contact(friction=0.4, restitution=0.3, law=law)
    sim = simulate(kind, model, lw.State(q, np.zeros(model.nv)), contact)
    begin = sim.energy.total
    for _ in range(10):
        sim.step(2 * H, 6)
        assert sim.energy.total < begin
    places = lw.body_poses(model, sim.state)[:, :3, 3]
    assert np.abs(places[:, :2]).max() < 0.55
    assert places[:, 2].min() > 0.0


@pytest.mark.parametrize("name", ["pendulum_pegs", "threading", "bridge"])
def test_ready_scenes_with_steps_far_too_long_hold_or_say_so(name):
    """With ten times its step a scene has at most three times the kinetic energy that it has with its own, or says so."""
    scene = lw.Scene.read(name)
    duration = {"pendulum_pegs": 1.0, "threading": 1.0, "bridge": 0.2}[name]
    built = scene.build()
    most = 0.0
    for _ in range(round(duration / scene.h) // 50):
        built.step(scene.h, 50)
        most = max(most, built.energy.kinetic)
    assert most > 0.0
    assert holds_or_says_so(scene.build(), 10 * scene.h, round(0.1 * duration / scene.h), 3.0 * most)


@pytest.mark.parametrize("kind", KINDS)
def test_scenes_with_steps_far_too_long_say_so_or_hold(kind):
    """The pendulum among pegs, ten times its step: bounded energy, or an error or warning that names the step."""
    scene = lw.Scene.read("pendulum_pegs")
    more = {"max_active_joints": 40, "update_every": 5} if kind == "adaptive" else {}
    make = lw.AdaptiveDynamics if kind == "adaptive" else lw.FullDynamics
    sim = make(scene.model, scene.state, contact=lw.Contact(friction=0.3, self_contact=False), **more)
    begin = sim.energy.total
    fall = begin - lw.energy(scene.model, scene.model.neutral()).total  # from the start to hanging
    assert holds_or_says_so(sim, 10 * scene.h, 200, 2.0 * fall)
