"""Rigid groups of many links on a table: few contacts carry them, and they rest, slide and tip as one body would."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw

from ..helpers.contact_setups import G, chain

LINKS, MASS, LENGTH, RADIUS = 24, 0.1, 0.1, 0.02  # of `chain`
WEIGHT = LINKS * MASS * G
H = 1e-3
SOLVED = 1e-7  # relative: ten times the residual that solves may leave; rounding, 1e-15, is seen
MOST = 7  # contacts of one part with one obstacle


def rigid_chain(active=0, friction=0.3, push=0.0, lift=0.0):
    """A chain on a table of which at most so many joints move; a force `push` [N] down on its last link."""
    model = chain(LINKS, radius=RADIUS, length=LENGTH).compile()
    q = model.neutral().q
    q[2] += lift
    sim = lw.AdaptiveDynamics(model, model.state(q), max_active_joints=active, contact=lw.Contact(friction=friction))
    if push:
        sim.apply_wrench(f"link_{LINKS - 1}", force=(0.0, 0.0, -push), at=(0.5 * LENGTH, 0.0, 0.0))
    return sim


def resultant(sim):
    """Sum of the contact forces [N] and of their moments about the origin of the world [N·m]."""
    points = sim.contacts
    force = sum(np.array(point.force) for point in points)
    return force, sum(np.cross(point.point, point.force) for point in points)


@pytest.mark.parametrize("push", [0.0, 0.4 * WEIGHT])
@pytest.mark.parametrize("active", [0, 1, 4])
def test_few_contacts_carry_weight_and_moment(active, push):
    sim = rigid_chain(active, push=push)
    report = sim.step(H, 300)
    force, moment = resultant(sim)
    centre = 0.5 * LINKS * LENGTH
    assert force[2] == pytest.approx(WEIGHT + push, rel=SOLVED)
    turning = WEIGHT * centre + push * (LINKS - 0.5) * LENGTH
    assert -moment[1] == pytest.approx(turning, rel=SOLVED)
    assert np.abs(sim.state.v).max() < SOLVED
    assert report.contact.deepest < 1e-4 * RADIUS
    assert len(sim.contacts) <= MOST + 2 * active  # all links touch, of which each has two points


def test_a_rigid_part_slides_as_one_body():
    friction, speed, steps = 0.3, 0.5, 100
    sim = rigid_chain(friction=friction)
    sim.step(H, 50)
    state = sim.state
    v = state.v.copy()
    v[1] = 0.0
    v[3:6] = (speed, 0.0, 0.0)
    sim.set_state(lw.State(state.q, v))
    sim.step(H, steps)
    expected = speed - friction * G * steps * H
    assert sim.state.v[3] == pytest.approx(expected, rel=SOLVED)  # semi-implicit Euler is exact here


def test_what_was_left_out_comes_back_when_it_touches():
    """A rigid chain falls flat on one end: contacts go from that end to both, and nothing goes deep."""
    sim = rigid_chain(lift=0.1)
    state = sim.state
    q = state.q.copy()
    tilt = 0.03
    q[3:7] = (np.cos(tilt / 2), 0.0, np.sin(tilt / 2), 0.0)
    sim.set_state(lw.State(q, state.v))
    deepest = 0.0
    for _ in range(40):
        deepest = max(deepest, sim.step(H, 25).contact.deepest)
    assert deepest < 1e-4 * RADIUS  # contacts that are about to close act before they do: 0 is seen
    force, _ = resultant(sim)
    assert force[2] == pytest.approx(WEIGHT, rel=SOLVED)
    across = [point.point[0] for point in sim.contacts if point.state != "apart"]
    assert max(across) - min(across) > 0.5 * LINKS * LENGTH
