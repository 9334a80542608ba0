"""Which steps of simulations have derivatives, and their matrices.

Simulations are handed in: this room knows nothing of theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.checks import positive, shown
from linkwork.derivatives.euler import EulerStep
from linkwork.derivatives.explicit_steps import KickDriftKickStep, RungeKuttaStep
from linkwork.derivatives.step_gradients import Linearized, StepMap
from linkwork.dynamics.inputs import refuse_couplings
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]

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
    if type(sim).__name__ != "FullDynamics":
        raise StateError(f"gradients of steps are those of lw.FullDynamics, not of {shown(sim)}.")
    if sim.integrator not in STEPS:
        known = " or ".join(f"'{name}'" for name in STEPS)
        raise StateError(f"steps by '{sim.integrator}' have no gradients; make the simulation with integrator={known}.")
    model: Model = sim.model
    refuse_couplings(model, "the gradient of a step")
    if model.loops and (sim.contact is not None or sim.limits):
        raise StateError(
            f"model '{model.name}' has loops; steps of closed linkages with contact or joint limits have no gradients. Leave "
            "contact= out and give limits=False."
        )
    if sim.algorithm != "aba":
        raise StateError(f"gradients go through algorithm 'aba', not '{sim.algorithm}'; leave algorithm= out.")
    refuse_acting(sim)
    if (sim.contact is not None or sim.limits) and sim.integrator != "semi_implicit_euler":
        raise StateError(
            f"steps by '{sim.integrator}' with contact or joint limits have no gradients; take "
            "integrator='semi_implicit_euler', or leave contact= out and give limits=False."
        )


def refuse_acting(sim: Any) -> None:
    """Refuses forces that nothing is known of."""
    if sim.field_kind is not None or sim.thermostat_kind is not None:
        raise StateError("steps with a field or a thermostat have no gradients; leave them out.")
    if getattr(sim, "water", None) is not None:
        raise StateError("steps in water have no gradients; leave water= out.")


def linearize(sim: Any, h: float) -> Linearized:
    """Matrices A, B of one step of h [s] of a `FullDynamics` from its present state: dx⁺ = A dx + B dτ with x = (q, v).

    Springs, dampers and motors as the simulation takes them; motors at a limit stay there. Changes of q are along the
    tangent of `Model.integrate`. The simulation stays where it is. Cost: O(nv²).
    """
    step = step_of(sim, h)
    saved = sim.checkpoint()
    before, effort = _copied(sim.state), np.asarray(saved["effort"], dtype=float)
    first = step.remember(sim)
    try:
        with sim.view.by_one_rule():
            sim.advance(step.h, 1)
        after, seen = _copied(sim.state), (first, step.remember(sim))
    finally:
        sim.restore(saved)
    if isinstance(step, EulerStep) and step.has_matrices:
        return step.matrices(before, after, effort)
    nv = step.model.nv
    A, B, none = np.empty((2 * nv, 2 * nv)), np.empty((2 * nv, nv)), np.zeros(nv)
    for k, unit in enumerate(np.eye(nv)):
        for row, by_q, by_v in ((k, unit, none), (nv + k, none, unit)):
            found = step.back(before, after, effort, by_q, by_v, seen)
            A[row, :nv], A[row, nv:], B[row] = found.q, found.v, found.effort
    return Linearized(A, B)


def _copied(state: State) -> State:
    return State(np.array(state.q), np.array(state.v))
