"""Which steps of simulations have derivatives.

Simulations are handed in: this room imports nothing of theirs.
"""

from __future__ import annotations

from typing import Any

from linkwork.core.checks import positive, shown
from linkwork.derivatives.rules import load_rules
from linkwork.derivatives.stepping.euler import EulerStep
from linkwork.derivatives.stepping.explicit_steps import KickDriftKickStep, RungeKuttaStep
from linkwork.derivatives.stepping.step_gradients import StepMap
from linkwork.dynamics.inputs import refuse_couplings
from linkwork.errors import StateError
from linkwork.model.model import Model

STEPS: dict[str, Any] = {  # by the name of the integrator
    "semi_implicit_euler": EulerStep,
    "rk4": RungeKuttaStep,
    "kick_drift_kick": KickDriftKickStep,
}


def step_of(sim: Any, h: float) -> StepMap:
    """The map of one step of h [s] of a simulation, under its present motors and loads; refuses those without gradients."""
    refuse(sim)
    found: StepMap = STEPS[sim.integrator](sim, positive(h, "h"))
    return found


def refuse(sim: Any) -> None:
    """What steps have gradients, and what to do about others."""
    load_rules()
    if getattr(sim, "GRADIENTS", None) != "steps":
        raise StateError(f"gradients of steps are those of lw.FullDynamics, not of {shown(sim)}.")
    if sim.integrator not in STEPS:
        known = " or ".join(f"'{name}'" for name in STEPS)
        raise StateError(f"steps by '{sim.integrator}' have no gradients; make the simulation with integrator={known}.")
    model: Model = sim.model
    refuse_couplings(model, "the gradient of a step")
    if sim.algorithm != "aba":
        raise StateError(f"gradients go through algorithm 'aba', not '{sim.algorithm}'; leave algorithm= out.")
    refuse_acting(sim)


def refuse_acting(sim: Any) -> None:
    """Refuses forces that nothing is known of."""
    if sim.field_kind is not None or sim.thermostat_kind is not None:
        raise StateError("steps with a field or a thermostat have no gradients; leave them out.")
    if getattr(sim, "water", None) is not None:
        raise StateError("steps in water have no gradients; leave water= out.")
