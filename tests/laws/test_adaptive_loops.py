"""Closed chains in AdaptiveDynamics: loops stay closed, momentum stays, and all joints active is full dynamics."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.rounding import rounding

import linkwork as lw
from linkwork.simulation.integrators.names import INTEGRATORS

CLOSED = 1e-9  # [rad, m, rad/s or m/s] ten times what a step may leave


def ring(links, floating=True):
    """Equal links in a regular polygon, hinged all alike; the first floats or stands in the world."""
    linkage = lw.Linkage("ring", gravity=(0, 0, 0) if floating else (0, 0, -9.81))
    length = 0.2
    turn = lw.Pose((length, 0, 0), rpy=(0, 0, 2.0 * math.pi / links))
    box = lw.Inertia.box(0.3, (length, 0.03, 0.05)).at(lw.Pose((length / 2, 0, 0)))
    hinge = lw.Revolute((0, 0, 1), damping=1e-4, stiffness=0.01)
    for k in range(links):
        base = lw.Free() if floating else lw.Fixed()
        linkage.add_body(f"b{k}", f"b{k - 1}" if k else "world", hinge if k else base, turn if k else lw.Pose(), box)
    linkage.add_loop(lw.Revolute((0, 0, 1)), f"b{links - 1}", "b0", (turn, lw.Pose()), name="clasp")
    return linkage.compile(merge_fixed=False)


def start_of(model, rng, speed=0.5):
    """Closed, and moving in a way that keeps it closed."""
    state = model.neutral()
    state.v[:] = speed * rng.normal(size=model.nv)
    return lw.close_loops(model, state)


def momenta(model, state):
    linear, angular = lw.momentum(model, state)
    return np.concatenate([angular, linear])


def worst(model, state):
    gaps = lw.loop_gaps(model, state)
    return max(gaps.worst_gap, gaps.worst_slip)


@pytest.mark.parametrize("links", [12, 30])
def test_a_floating_ring_stays_closed_and_keeps_its_momentum_while_the_region_changes(links, rng):
    """A thousand steps; efforts inside change, and the number of joints that may move with them."""
    model = ring(links)
    start = start_of(model, rng)
    sim = lw.AdaptiveDynamics(model, start, max_active_joints=links, update_every=5)
    before = momenta(model, start)
    same = rounding(condition=1e4, scale=1.0 + np.abs(before).max(), steps=1000)
    for k in range(50):
        sim.max_active_joints = int(rng.integers(4, links))
        sim.set_effort(f"b{rng.integers(1, links)}", 0.05 * rng.normal())
        report = sim.step(1e-3, 20)
        assert worst(model, sim.state) < CLOSED, k
        assert np.abs(momenta(model, sim.state) - before).max() < same, k
        truth = lw.energy(model, sim.state)
        assert report.energy == pytest.approx(truth.total, abs=rounding(condition=1e2, scale=1.0 + truth.kinetic))
    assert report.region_changes > 40
    assert sim.steps_done == 1000
    assert np.abs(model.difference(start.q, sim.state.q)).max() > 0.1  # it did move


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("floating", [True, False], ids=["floating", "hanging"])
def test_with_all_joints_active_a_ring_moves_as_in_full_dynamics(integrator, floating, rng):
    model = ring(12, floating)
    start = start_of(model, rng)
    full = lw.FullDynamics(model, start, integrator=integrator)
    ours = lw.AdaptiveDynamics(model, start, tolerance=0.0, integrator=integrator)
    for sim in (full, ours):
        sim.apply_wrench("b7", force=(0.1, 0.05, 0.0), at=(0.1, 0.0, 0.0))
        sim.advance(5e-4, 300)
    assert ours.report.n_active == 11
    # Loops are closed to 1e-10 in every step, by iterations that end there or a little later.
    assert full.state.q == pytest.approx(ours.state.q, rel=0, abs=300 * 1e-10)
    assert worst(model, ours.state) < CLOSED
    assert np.abs(model.difference(start.q, ours.state.q)).max() > 0.05


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_four_bar_goes_round(integrator):
    model = lw.library.four_bar().compile()
    start = model.neutral()
    start.v[0] = 8.0
    start = lw.close_loops(model, start)
    full = lw.FullDynamics(model, start, integrator=integrator)
    ours = lw.AdaptiveDynamics(model, start, tolerance=0.0, integrator=integrator)
    for _ in range(20):
        for sim in (full, ours):
            sim.advance(1e-3, 20)
        assert worst(model, ours.state) < CLOSED
    assert full.state.q == pytest.approx(ours.state.q, rel=0, abs=400 * 1e-10)
    assert np.abs(ours.state.q - start.q).max() > 1.0


def test_a_ring_held_at_some_joints_is_a_ring_with_fewer(rng):
    """Joints pinned inactive are welds: the accelerations are those of a model in which they are fixed."""
    model = ring(12, floating=False)
    start = start_of(model, rng, speed=0.0)
    held = ["b3", "b6", "b9"]
    sim = lw.AdaptiveDynamics(model, start, tolerance=0.0, implicit_joints=False)
    for name in held:
        sim.pin_inactive(name)
    sim.apply_wrench("b7", force=(0.1, 0.05, 0.2), at=(0.1, 0.0, 0.0))
    welded = lw.Linkage("welded", gravity=(0, 0, -9.81))
    turn, hinge = lw.Pose((0.2, 0, 0), rpy=(0, 0, math.pi / 6)), lw.Revolute((0, 0, 1), damping=1e-4, stiffness=0.01)
    box = lw.Inertia.box(0.3, (0.2, 0.03, 0.05)).at(lw.Pose((0.1, 0, 0)))
    for k in range(12):
        joint = lw.Fixed() if k == 0 or f"b{k}" in held else hinge
        welded.add_body(f"b{k}", f"b{k - 1}" if k else "world", joint, turn if k else lw.Pose(), box)
    welded.add_loop(lw.Revolute((0, 0, 1)), "b11", "b0", (turn, lw.Pose()), name="clasp")
    other = welded.compile(merge_fixed=False)
    reference = lw.FullDynamics(other, other.neutral(), implicit_joints=False)
    reference.apply_wrench("b7", force=(0.1, 0.05, 0.2), at=(0.1, 0.0, 0.0))
    for each in (sim, reference):
        each.advance(1e-3, 50)
    for name in (f"b{k}" for k in range(1, 12) if f"b{k}" not in held):
        ours, theirs = sim.state.q[model.q_slice(name)], reference.state.q[other.q_slice(name)]
        assert ours == pytest.approx(theirs, rel=0, abs=50 * 1e-10)
    assert np.abs(reference.state.v).max() > 1e-3
    assert worst(model, sim.state) < CLOSED


def four_bars(cells):
    """Uprights side by side on pins in the ground, each joined to the next by a bar; every loop shares an upright."""
    linkage = lw.Linkage("four_bars", gravity=(0, -9.81, 0))
    rod, hinge, up = lw.Inertia(1.0, (0.5, 0, 0), (1e-4, 1 / 12, 1 / 12)), lw.Revolute((0, 0, 1)), math.pi / 2
    for k in range(cells + 1):
        linkage.add_body(f"V{k}", "world", hinge, lw.Pose((k, 0, 0), rpy=(0, 0, up)), rod)
    for k in range(cells):
        linkage.add_body(f"H{k}", f"V{k}", hinge, lw.Pose((1, 0, 0), rpy=(0, 0, -up)), rod)
        linkage.add_loop(hinge, f"H{k}", f"V{k + 1}", (lw.Pose((1, 0, 0)), lw.Pose((1, 0, 0), rpy=(0, 0, -up))))
    return linkage.compile()


def slider_crank():
    linkage = lw.Linkage("slider_crank", gravity=(0, -9.81, 0))
    hinge = lw.Revolute((0, 0, 1))
    linkage.add_body("crank", "world", hinge, inertia=lw.Inertia.box(0.7, (0.3, 0.03, 0.03)))
    linkage.add_body("rod", "crank", hinge, lw.Pose((0.3, 0, 0)), lw.Inertia.box(1.1, (0.8, 0.03, 0.03)))
    linkage.add_body("slider", "world", lw.Prismatic((1, 0, 0)), inertia=lw.Inertia.box(0.4, (0.1, 0.1, 0.1)))
    linkage.add_loop(hinge, "rod", "slider", (lw.Pose((0.8, 0, 0)), lw.Pose()))
    return linkage.compile()


@pytest.mark.parametrize("settings", [{}, {"max_active_joints": 1}, {"max_active_joints": 2}], ids=str)
@pytest.mark.parametrize("make", [slider_crank, lambda: lw.library.four_bar().compile(), lambda: four_bars(3)])
@pytest.mark.parametrize("effort", [0.5, 50.0])
def test_a_short_loop_moves_as_in_full_dynamics_where_one_of_its_joints_is_driven(make, settings, effort):
    """One freedom moves it: whichever joint is chosen, all others of its loops move too."""
    model = make()
    q = model.neutral().q
    q[0] += 0.4
    start = lw.close_loops(model, model.state(q))
    full, ours = lw.FullDynamics(model, start), lw.AdaptiveDynamics(model, start, **settings)
    for sim in (full, ours):
        sim.set_effort(model.joint_names[0], effort)
        sim.advance(1e-3, 200)
    assert full.state.q == pytest.approx(ours.state.q, rel=0, abs=200 * 1e-10)
    assert np.abs(full.state.q - start.q).max() > 0.01


@pytest.mark.parametrize("links", [12, 200])
def test_a_long_loop_gets_no_more_freedoms_than_it_takes_to_move(links):
    """A ring of hinges has two independent rows. Joints above a pinned one in the assembly tree are pinned with it."""
    model = ring(links, floating=False)
    start = lw.close_loops(model, model.neutral())
    sim = lw.AdaptiveDynamics(model, start, max_active_joints=1)
    driven = f"b{links // 3}"
    sim.pin_active(driven)
    sim.set_effort(driven, 5.0)
    for _ in range(10):
        sim.advance(1e-3, 10)
        assert 3 <= len(sim.active_joints) <= 8
        assert worst(model, sim.state) < CLOSED
    assert sim.state.q[model.q_slice(driven)] > 1e-3
