"""Bodies that reach an obstacle from afar within a step: what they do there does not depend on how far they were."""

from __future__ import annotations

import pytest

import linkwork as lw

from ..helpers.contact_setups import KINDS, ball_on_a_plane, simulate

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
