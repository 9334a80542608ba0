"""A bounce that friction jams: a slider that runs steeply along a floor and into it comes to rest, and gets no energy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkwork as lw

from ..helpers.contact_setups import KINDS, LAWS, simulate

FRICTION, SPEED = 0.4, 1.0


def slider(angle):
    """A ball on a straight line that meets a floor at an angle [rad] from its normal; no gravity."""
    linkage = lw.Linkage("slider", gravity=(0, 0, 0))
    along = lw.Prismatic((math.sin(angle), 0.0, -math.cos(angle)))
    linkage.add_body("ball", joint=along, inertia=lw.Inertia.sphere(1.0, 0.1), shapes=[lw.Sphere(0.1)])
    linkage.add_obstacle("floor", lw.Plane(), lw.Pose((0, 0, -0.101)))
    return linkage.compile()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
def test_a_slider_that_jams_stops(kind, law, restitution):
    """tan(angle) > 1 / μ: friction takes more than the normal force gives, so that nothing can throw it back."""
    model = slider(math.atan(1.5 / FRICTION))
    contact = lw.Contact(friction=FRICTION, restitution=restitution, law=law)
    sim = simulate(kind, model, lw.State(np.zeros(1), np.array([SPEED])), contact)
    energy = sim.energy.kinetic
    for _ in range(50):
        report = sim.step(1e-3)
        at_rest = energy < 1e-20  # [J] there all is rounding, and so is the residual
        assert report.contact.not_converged == 0 or at_rest
        assert sim.energy.kinetic <= energy * (1.0 + 1e-12)
        energy = sim.energy.kinetic
    assert abs(sim.state.v[0]) < 1e-6 * SPEED


@pytest.mark.parametrize("kind", KINDS)
def test_a_slider_that_does_not_jam_bounces(kind):
    """tan(angle) < 1 / μ: it leaves with the speed that its restitution asks for."""
    model = slider(math.atan(0.5 / FRICTION))
    sim = simulate(
        kind, model, lw.State(np.zeros(1), np.array([SPEED])), lw.Contact(friction=FRICTION, restitution=0.3)
    )
    sim.step(1e-3, 50)
    assert sim.state.v[0] == pytest.approx(-0.3 * SPEED, rel=1e-6)
