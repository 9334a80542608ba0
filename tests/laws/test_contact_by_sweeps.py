"""Contact solved by sweeps over the tree: the same law as by the matrix of responses, for any number of contacts."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from tests.helpers.contact_setups import KINDS, chain, simulate
from tests.reference.plain_contact import PlainContact

import linkwork as lw
from linkwork.contact.solver.laws import allowed_by_coulomb, nearest_of_cone
from linkwork.simulation.contact_step import arrays as ca

ALWAYS, NEVER = 1, 10**9  # contacts from which on a solve is made by sweeps


def by(sim, fewest):
    """The simulation, made to solve by sweeps always or never."""
    sim.view.contact.arrays.counts[ca.MIN_BY_SWEEPS] = fewest
    return sim


def pile(seed, trees=2, bodies=7):
    """Floating trees of balls on hinges above a floor, close to each other, with limits on every third hinge."""
    rng = np.random.default_rng(seed)
    linkage = lw.Linkage("pile")
    for k in range(trees):
        for i in range(bodies):
            limits = (-0.05, 0.4) if i % 3 == 2 else None
            joint = lw.Free() if i == 0 else lw.Revolute(tuple(rng.normal(size=3)), limits=limits)
            parent = "world" if i == 0 else f"ball_{k}_{rng.integers(max(0, i - 3), i)}"
            place = lw.Pose((0.3 * k, 0.0, 0.15)) if i == 0 else lw.Pose(tuple(0.12 * rng.normal(size=3)))
            ball = lw.Sphere(0.05)
            linkage.add_body(f"ball_{k}_{i}", parent, joint, place, lw.Inertia.sphere(1.0, 0.05), shapes=[ball])
    linkage.add_obstacle("floor", lw.Plane())
    return linkage.compile()


@pytest.mark.filterwarnings("ignore:model .pile. begins with bodies inside")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_both_solvers_agree(kind, seed):
    """Velocities after each step, from the same state, where both converge: impulses of redundant contacts may differ.

    Nothing is pushed apart: the axes in which free joints have their velocities would turn with it.
    """
    model = pile(seed)
    contact = lw.Contact(friction=0.2 * (seed % 4), correction=0.0)
    sim = by(simulate(kind, model, model.neutral(), contact), ALWAYS)
    compared, contacts = 0, 0
    for _ in range(25):
        sim.advance(1e-3, 9)
        other = by(copy.deepcopy(sim), NEVER)
        reports = sim.step(1e-3), other.step(1e-3)
        if not any(report.contact.not_converged for report in reports):
            compared += 1
            contacts = max(contacts, reports[0].contact.contacts)
            scale = max(0.01, float(np.abs(other.state.v).max()))  # [m/s or rad/s] gravity in a step
            is_exact = reports[0].contact.residual <= contact.tolerance
            assert np.abs(sim.state.v - other.state.v).max() <= (1e-3 if is_exact else 3e-2) * scale
    assert compared >= 15
    assert contacts >= 3


def planar_chain(axis):
    """A chain of balls that hangs from the world and swings about one axis onto a floor: contacts slide along a line."""
    linkage = lw.Linkage("planar")
    along = np.cross(axis, (0.0, 0.0, 1.0)) / np.linalg.norm(axis)
    for i in range(8):
        place = lw.Pose(tuple(0.12 * along)) if i else lw.Pose((0.0, 0.0, 0.3))
        parent = f"ball_{i - 1}" if i else "world"
        inertia = lw.Inertia.sphere(1.0, 0.05).at(lw.Pose(tuple(0.12 * along)))
        ball = lw.Sphere(0.05, placement=lw.Pose(tuple(0.12 * along)))
        linkage.add_body(f"ball_{i}", parent, lw.Revolute(axis, damping=0.01), place, inertia, shapes=[ball])
    linkage.add_obstacle("floor", lw.Plane())
    return linkage.compile()


@pytest.mark.parametrize("axis", [(1.0, 0.0, 0.0), (1.0, 2.0, 0.0), (-0.3, 1.0, 0.0)])
def test_both_solvers_agree_where_contacts_slide_along_lines(axis):
    model = planar_chain(axis)
    contact = lw.Contact(friction=0.4, correction=0.0)
    sim = by(lw.FullDynamics(model, model.neutral(), contact=contact), ALWAYS)
    compared = 0
    for _ in range(60):
        sim.advance(1e-3, 9)
        other = by(copy.deepcopy(sim), NEVER)
        reports = sim.step(1e-3), other.step(1e-3)
        if reports[0].contact.contacts and not any(report.contact.not_converged for report in reports):
            compared += 1
            scale = max(0.01, float(np.abs(other.state.v).max()))
            is_exact = reports[0].contact.residual <= contact.tolerance
            assert np.abs(sim.state.v - other.state.v).max() <= (1e-3 if is_exact else 3e-2) * scale
    assert compared >= 10


@pytest.mark.filterwarnings("ignore:model .pile. begins with bodies inside")
@pytest.mark.parametrize("seed", range(3))
def test_steps_are_those_of_the_plain_form(seed):
    model = pile(seed, trees=1)
    contact = lw.Contact(friction=0.3, correction=0.0)
    sim = by(lw.FullDynamics(model, model.neutral(), contact=contact, keep_momentum=False), ALWAYS)
    plain = PlainContact(model, model.neutral(), contact)
    for _ in range(40):
        sim.advance(1e-3, 1)
        plain.step(1e-3)
        assert np.abs(sim.state.v - plain.v).max() <= 1e-3 * max(0.01, float(np.abs(plain.v).max()))


@pytest.mark.filterwarnings("ignore:model .pile. begins with bodies inside")
@pytest.mark.parametrize("seed", range(4))
def test_contact_makes_no_energy(seed):
    """Energy falls from step to step but for Euler's own error, h² times the square of accelerations."""
    model = pile(seed, trees=3)
    sim = by(lw.FullDynamics(model, model.neutral(), contact=lw.Contact(friction=0.5, correction=0.0)), ALWAYS)
    begin = sum(lw.energy(model, sim.state))
    for _ in range(60):
        report = sim.step(1e-3, 5)
        assert report.contact.energy_lost >= -1e-12
    assert np.isfinite(sim.state.v).all()
    assert sum(lw.energy(model, sim.state)) <= begin


@pytest.mark.parametrize("kind", KINDS)
def test_many_contacts_carry_the_weight_and_are_solved_by_sweeps(kind):
    linkage = chain(20)
    model = linkage.compile()
    sim = simulate(kind, model, model.neutral(), lw.Contact(friction=0.5))
    sim.advance(1e-3, 50)
    report = sim.step(1e-3)
    assert report.contact.not_converged == 0
    force = sum(point.force[2] for point in sim.contacts)
    assert force == pytest.approx(20 * 0.1 * 9.81, rel=1e-4)  # ten times the residual that suffices
    assert np.abs(sim.state.v).max() <= 1e-5


@pytest.mark.parametrize("projection", [nearest_of_cone, allowed_by_coulomb])
@pytest.mark.parametrize("seed", range(20))
def test_derivatives_of_projections(projection, seed):
    rng = np.random.default_rng(seed)
    mu, y = rng.uniform(0.0, 1.5) * (seed % 5 > 0), rng.normal(size=3)
    given, _, D = projection(mu, *y)
    step = 1e-6
    if mu > 0.0 or projection is nearest_of_cone:
        n, size = given[0], float(np.hypot(given[1], given[2]))
        assert n >= 0.0
        assert size <= mu * n * (1.0 + 1e-12)
    for k in range(3):
        e = np.eye(3)[k] * step
        slope = (np.array(projection(mu, *(y + e))[0]) - np.array(projection(mu, *(y - e))[0])) / (2.0 * step)
        assert (
            np.abs(slope - np.array(D).reshape(3, 3)[:, k]).max() <= 1e-5
        )  # a hundred times step² and rounding / step
