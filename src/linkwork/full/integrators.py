"""Integrators on the manifold of joint coordinates, by name. Theory, and which to take when: docs/integrators.md.

Each is a pure function of model, state, step and acceleration. All of them move coordinates by q ⊕ u only, so that
orientations stay orientations.
"""

from __future__ import annotations

from linkwork.full.dormand_prince import dormand_prince
from linkwork.full.implicit_midpoint import implicit_midpoint
from linkwork.full.one_step import DEFAULTS, Acceleration, Integrator, Settings, Step
from linkwork.full.runge_kutta import rk4
from linkwork.model.model import Model
from linkwork.model.state import State

__all__ = [
    "DEFAULTS",
    "INTEGRATORS",
    "Acceleration",
    "Integrator",
    "Settings",
    "Step",
    "dormand_prince",
    "implicit_midpoint",
    "rk4",
    "semi_implicit_euler",
]


def semi_implicit_euler(
    model: Model, state: State, h: float, acceleration: Acceleration, settings: Settings = DEFAULTS
) -> Step:
    """v ← v + h q̈(q, v), then q ← q ⊕ h v with the new v. Order 1, one evaluation."""
    q, v = state
    new_v = v + h * acceleration(q, v)
    return Step(State(model.integrate(q, new_v, h), new_v), 1)


INTEGRATORS: dict[str, Integrator] = {
    "semi_implicit_euler": semi_implicit_euler,
    "rk4": rk4,
    "dormand_prince": dormand_prince,
    "implicit_midpoint": implicit_midpoint,
}
