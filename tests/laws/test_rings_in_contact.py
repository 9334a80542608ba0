"""Closed rings fall on a floor and lie there: belts, bracelets, bicycle chains."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.contact import runs
from tests.helpers.contact_setups import KINDS, G, simulate
from tests.laws.test_contact_by_sweeps import ALWAYS, by

import linkwork as lw

LENGTH, RADIUS = 0.1, 0.01  # [m] of a link
CLOSED = 1e-6  # [rad or m]


def ring(links, tilt, damping=0.0):
    """A ring of links joined by hinges across its plane, above a floor; and its state at rest."""
    linkage = lw.Linkage("ring")
    middle = lw.Pose((LENGTH / 2, 0, 0))
    rod = lw.Inertia.box(0.1, (LENGTH, 2 * RADIUS, 2 * RADIUS)).at(middle)
    along = lw.Pose((LENGTH / 2, 0, 0), rpy=(0, math.pi / 2, 0))
    for k in range(links):
        joint = lw.Free() if k == 0 else lw.Revolute((0, 1, 0), damping=damping)
        place = lw.Pose((LENGTH, 0, 0)) if k else lw.Pose()
        shapes = [lw.Capsule(RADIUS, LENGTH - 2 * RADIUS, placement=along)]
        linkage.add_body(f"b{k}", f"b{k - 1}" if k else "world", joint, place, rod, shapes=shapes)
    linkage.add_loop(lw.Revolute((0, 1, 0)), f"b{links - 1}", "b0", (lw.Pose((LENGTH, 0, 0)), lw.Pose()))
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    q = model.neutral().q
    q[2] = LENGTH / math.sin(math.pi / links) + 0.1
    q[3:7] = (math.cos(tilt / 2), math.sin(tilt / 2), 0.0, 0.0)
    q[7:] = 2 * math.pi / links
    return lw.close_loops(model, lw.State(q, np.zeros(model.nv))), model


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("links", "tilt", "damping"), [(8, 0.5, 0.0), (16, 1.0, 0.0), (40, 1.2, 1e-3)])
def test_a_closed_ring_lands_and_lies(kind, links, tilt, damping):
    start, model = ring(links, tilt, damping)
    sim = simulate(kind, model, start, contact=lw.Contact(friction=0.5))
    weight = G * model.mass.sum()
    for _ in range(16):
        sim.step(1e-3, 100)
        assert lw.loop_gaps(model, sim.state).worst_gap < CLOSED
    forces = []
    for _ in range(100):
        sim.step(1e-3)
        forces.append(sum(x.force[2] for x in sim.contacts if x.other == "floor"))
    fallen = weight * (start.q[2] - RADIUS)
    assert sim.energy.kinetic < 1e-3 * fallen
    assert np.mean(forces) == pytest.approx(weight, rel=1e-2)
    assert lw.body_poses(model, sim.state)[:, 2, 3].min() > 0.9 * RADIUS
    assert lw.loop_gaps(model, sim.state).worst_gap < CLOSED


@pytest.mark.parametrize("by_tree", [False, True])
@pytest.mark.parametrize(("links", "tilt"), [(8, 0.0), (20, 0.0), (24, 0.3)])
def test_a_ring_whose_joints_are_held_lands_as_one_rigid_body(links, tilt, by_tree):
    """Both ends of the loop are then on one part: its rows have no response, but for rounding, and carry nothing."""
    start, model = ring(links, tilt)
    sim = lw.AdaptiveDynamics(model, start, contact=lw.Contact(friction=0.5), max_active_joints=0)
    if by_tree:
        by(sim, ALWAYS)
    top = sim.energy.total
    for _ in range(40):
        report = sim.step(1e-3, 10)
        assert report.n_active == 0
        assert report.contact.not_converged == 0
        assert report.energy <= top * (1.0 + 1e-9)
        top = report.energy
    assert sim.contacts
    np.testing.assert_array_equal(sim.state.q[7:], start.q[7:])


def test_bodies_that_a_loop_joins_do_not_touch():
    """As bodies along a joint of the tree do not: the rods of a ring overlap at every hinge."""
    start, model = ring(6, 0.0)
    sim = lw.FullDynamics(model, start, contact=lw.Contact())
    sim.step(1e-3)
    assert not [x for x in sim.contacts if x.other != "floor"]


@pytest.mark.parametrize(
    "make",
    [lambda: runs.belt(12, 2, 0.8), lambda: runs.net(3, 3), lambda: runs.ring_of_balls(8, 0.5)],
    ids=["belt", "net", "bracelet"],
)
@pytest.mark.filterwarnings("ignore:steps of")
def test_belts_and_nets_fall_on_balls_and_lose_energy(make):
    """A short form of `linkwork bench contact --case lasting`."""
    sim = runs.simulation(make())
    first = least = sim.energy.total
    largest = 0.0
    for _ in range(10):
        sim.step(runs.STEP, 50)
        energy = sim.energy
        largest = max(largest, energy.kinetic)
        assert energy.total < least + 0.01 * largest
        least = min(least, energy.total)
        assert lw.loop_gaps(sim.model, sim.state).worst_gap < CLOSED
    assert sim.energy.total < first - largest  # it has fallen, and its fall is lost
