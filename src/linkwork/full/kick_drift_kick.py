"""Velocity Verlet on the manifold of joint coordinates: half a kick, a drift, half a kick. Theory: docs/proteins.md.

Accelerations of linkages depend on velocities, so the second half of the kick is an equation for the new velocity. Its
fixed-point iteration converges by h |∂q̈/∂v| a round, and asks for accelerations at one and the same q: forces that
depend on q alone need to be found once a step. Symmetric in time once the iteration has converged, hence of order 2.
"""

from __future__ import annotations

import numpy as np

from linkwork.errors import StateError
from linkwork.full.one_step import DEFAULTS, Acceleration, Settings, Step
from linkwork.model.model import Model
from linkwork.model.state import State


def kick_drift_kick(
    model: Model, state: State, h: float, acceleration: Acceleration, settings: Settings = DEFAULTS
) -> Step:
    """v½ = v + ½h q̈(q, v);  q' = q ⊕ h v½;  v' = v½ + ½h q̈(q', v'). Order 2, symmetric."""
    q, v = state
    before = acceleration(q, v)
    half = v + 0.5 * h * before
    new_q = model.integrate(q, half, h)
    new_v = half + 0.5 * h * before
    for evaluations in range(2, settings.max_iterations + 2):
        next_v = half + 0.5 * h * acceleration(new_q, new_v)
        change = float(np.abs(next_v - new_v).max(initial=0.0))
        new_v = next_v
        if change <= settings.solve_tolerance * max(1.0, float(np.abs(new_v).max(initial=0.0))):
            return Step(State(new_q, new_v), evaluations)
    raise StateError(f"the velocity of the second kick was not found in {settings.max_iterations} iterations.")
