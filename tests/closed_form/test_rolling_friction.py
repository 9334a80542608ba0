"""Rolling and spinning friction of a patch, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.helpers.contact_setups import simulate

import linkwork as lw

G, R, PATCH, MU, H = 9.81, 0.1, 2e-3, 0.6, 1e-3


def ball_on(slope: float = 0.0, patch: float = PATCH, friction: float = MU):
    """A ball that rests on a plane with a slope along x [rad]."""
    linkage = lw.Linkage("ball", gravity=(G * math.sin(slope), 0.0, -G * math.cos(slope)))
    linkage.add_body("ball", joint=lw.Free(), inertia=lw.Inertia.sphere(1.0, R), shapes=[lw.Sphere(R)])
    linkage.add_obstacle("floor", lw.Plane())
    model = linkage.compile()
    state = model.neutral()
    state.q[2] = R
    return model, state, lw.Contact(friction=lw.Friction(friction, patch=patch), restitution=0.0)


@pytest.mark.parametrize("kind", ["full", "adaptive"])
@pytest.mark.parametrize("heading", [0.0, 0.4, 2.0])
def test_a_rolling_ball_slows_down(kind, heading):
    """a = 5/7 g ρ / r, in whatever direction it rolls: the moment ρ N on a ball that does not slide."""
    model, state, contact = ball_on()
    v = 1.0
    state.v[:] = (
        -v / R * math.sin(heading),
        v / R * math.cos(heading),
        0,
        v * math.cos(heading),
        v * math.sin(heading),
        0,
    )
    sim = simulate(kind, model, state, contact)
    sim.step(H, 500)
    speed = np.linalg.norm(lw.body_twists(model, sim.state, frame="world")[0][3:])
    lost = 5 / 7 * G * PATCH / R * 0.5
    assert v - speed == pytest.approx(lost, rel=0.02)  # the rim lies a step behind


@pytest.mark.parametrize("kind", ["full", "adaptive"])
def test_a_ball_stays_on_a_gentle_slope(kind):
    """tan θ < 0.87 ρ / r holds it in any direction, tan θ > ρ / r does not."""
    for factor, stays in ((0.8, True), (1.2, False)):
        model, state, contact = ball_on(math.atan(factor * PATCH / R))
        sim = simulate(kind, model, state, contact)
        sim.step(H, 500)
        speed = np.linalg.norm(lw.body_twists(model, sim.state, frame="world")[0][3:])
        free = 5 / 7 * G * 0.2 * PATCH / R * 0.5  # of what is beyond
        assert speed < 1e-6 if stays else speed == pytest.approx(free, rel=0.1)


@pytest.mark.parametrize("kind", ["full", "adaptive"])
def test_a_spinning_ball_slows_down(kind):
    """dω/dt = -5/2 μ g ρ / r²: friction on the rim of the patch; a point would not slow it at all."""
    for patch in (PATCH, 0.0):
        model, state, contact = ball_on(patch=patch)
        state.v[2] = 20.0
        sim = simulate(kind, model, state, contact)
        sim.step(H, 1000)
        lost = 2.5 * MU * G * patch / R**2
        assert 20.0 - sim.state.v[2] == pytest.approx(lost, rel=1e-3, abs=1e-9)


def test_a_patch_is_a_length():
    for bad in (-1e-3, math.nan, math.inf, "wide"):
        with pytest.raises(lw.ModelError, match="patch"):
            lw.Friction(0.5, patch=bad)
