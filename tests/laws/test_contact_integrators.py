"""Contact and joint limits with every integrator: its own order while nothing meets, and bounces at the right moment."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw

from ..helpers.contact_setups import G, ball_on_a_plane, chain, pendulum

INTEGRATORS = ("rk4", "dormand_prince", "implicit_midpoint", "kick_drift_kick", "variational")
SECOND = ("implicit_midpoint", "kick_drift_kick", "variational")  # order 2; the others have more


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_an_elastic_ball_keeps_its_energy_over_bounces(integrator):
    """Free fall is exact in all of these; a bounce errs by the short part of a step in which it happens, and by rounding.

    Semi-implicit Euler errs by h g v per bounce, a thousand times as much.
    """
    h, speed, bounces = 1e-3, math.sqrt(2 * G * 0.5), 5
    model, state = ball_on_a_plane(0.6)
    sim = lw.FullDynamics(model, state, integrator=integrator, contact=lw.Contact(restitution=1.0, friction=0.0))
    begin, heights, last = sim.energy.total, [], 0.0
    for _ in range(3400):
        sim.advance(h)
        speed_now = sim.state.v[5]
        if last > 0.0 >= speed_now:
            heights.append(sim.state.q[2] - 0.1)
        last = speed_now
    assert len(heights) == bounces
    short = 1e-3 * h * G * speed  # [J] of the part in which it bounces, 1e-3 of a step
    # one such part per bounce: 1.5e-4 J seen with each integrator, a margin of ten
    assert abs(sim.energy.total - begin) < 10 * bounces * short + 1e-6 * (integrator == "dormand_prince")
    # as high as the energy has it, and h² g / 8 from the frames beside the top
    assert heights == pytest.approx([0.5] * bounces, abs=10 * bounces * short / G + h**2 * G)


def swinging(integrator, h, limits=None, time=1.2):
    """A double pendulum whose first hinge bounces off its limit; its state at the end, and how often."""
    linkage = lw.Linkage("double")
    rod = lw.Inertia(1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))
    linkage.add_body("upper", joint=lw.Revolute((0, 1, 0), limits=limits), inertia=rod)
    linkage.add_body("lower", "upper", lw.Revolute((0, 1, 0)), lw.Pose((0, 0, -1.0)), rod)
    model = linkage.compile()
    contact = lw.Contact(restitution=1.0) if limits else None
    sim = lw.FullDynamics(model, model.state([0.8, 0.3]), integrator=integrator, contact=contact)
    bounces, last = 0, 0.0
    for _ in range(round(time / h)):
        sim.advance(h)
        bounces += last < 0.0 < sim.state.v[0] and limits is not None
        last = sim.state.v[0]
    return np.concatenate(sim.state), bounces, sim


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_bounces_do_not_spoil_the_order(integrator):
    """The error after a bounce off a limit falls with h² or faster, where semi-implicit Euler has h."""
    limits = (-0.3, 3.0)
    truth, bounces, _ = swinging("rk4", 1.25e-4, limits)
    assert bounces == 2
    errors = [np.abs(swinging(integrator, h, limits)[0] - truth).max() for h in (4e-3, 1e-3)]
    euler = np.abs(swinging("semi_implicit_euler", 1e-3, limits)[0] - truth).max()
    assert errors[1] < 0.1 * euler
    assert (
        errors[1] < errors[0] / 6.0 or errors[1] < 1e-4
    )  # 16 for order 2, 10.7 to 17.8 seen; the short part of a bounce is of first order: 9.3e-6 seen with order 4 and 5


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_limits_out_of_reach_change_nothing(integrator):
    """The same motion as without limits, to rounding: the two are compiled apart."""
    free, _, _ = swinging(integrator, 1e-3, None, 0.3)
    able, _, sim = swinging(integrator, 1e-3, (-3.0, 3.0), 0.3)
    assert sim.limits
    steps, condition, margin = 300, 1e2, 1e3
    tolerance = 1e-9 if integrator == "dormand_prince" else margin * np.finfo(float).eps * steps * condition
    # solved by iteration, to 1e-12 of velocities per step; variational to 5e-8 of displacements, from another guess
    tolerance = 1e-8 if integrator in SECOND else tolerance  # nothing seen but with variational
    assert able == pytest.approx(free, rel=0, abs=tolerance)


@pytest.mark.parametrize("kind", ["full", "adaptive"])
@pytest.mark.parametrize("integrator", ["rk4", "variational"])
def test_a_chain_comes_to_rest_on_a_table(kind, integrator):
    """It falls, loses its energy, and presses with its weight."""
    model = chain(5).compile()
    start = model.neutral()
    start.q[2] = 0.02
    make = lw.FullDynamics if kind == "full" else lw.AdaptiveDynamics
    more = {} if kind == "full" else {"tolerance": 0.0}
    sim = make(model, start, integrator=integrator, contact=lw.Contact(friction=0.5), **more)
    sim.advance(1e-3, 300)
    assert sum(point.force[2] for point in sim.contacts) == pytest.approx(5 * 0.1 * G, rel=1e-3)
    assert min(point.gap for point in sim.contacts) > -1e-4 * 0.1
    assert np.abs(sim.state.v).max() < 1e-3


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_joint_driven_against_its_limit_rests_there(integrator):
    model = pendulum(limits=(-0.5, 2.0))
    sim = lw.FullDynamics(model, lw.State(np.array([1.0]), np.zeros(1)), integrator=integrator)
    sim.set_effort("rod", -6.0)
    sim.advance(1e-3, 3000)
    assert sim.state.q[0] == pytest.approx(-0.5, abs=1e-6)
    assert abs(sim.state.v[0]) < 1e-6
    # the limit holds what the weight leaves of the given torque
    held = 6.0 - G * 0.5 * math.sin(0.5)
    assert sim.efforts.limits[0] == pytest.approx(held, rel=1e-3)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_checkpoints_and_steps_in_one_call_give_the_same_bits(integrator):
    model, state = ball_on_a_plane(0.15)
    make = lambda: lw.FullDynamics(model, state, integrator=integrator, contact=lw.Contact(restitution=0.7))  # noqa: E731
    whole, singly, cut = make(), make(), make()
    whole.advance(1e-3, 300)
    for _ in range(300):
        singly.advance(1e-3)
    cut.advance(1e-3, 120)
    again = make()
    again.restore(cut.checkpoint())
    again.advance(1e-3, 180)
    for other in (singly, again):
        assert np.array_equal(other.state.q, whole.state.q)
        assert np.array_equal(other.state.v, whole.state.v)
