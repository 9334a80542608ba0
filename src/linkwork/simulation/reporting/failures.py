"""Why a step could not be made, in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.core.units import unit
from linkwork.dynamics.inputs import explain_failure
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.simulation import moving as mv


def explain_step(
    model: Model,
    what: str,
    status: int,
    moving: mv.Moving,
    wrench: NDArray[np.float64],
    body: int = -1,
    vectors: dict[str, NDArray[np.float64]] | None = None,
) -> StateError:
    """The error for a status of the compiled step; the failing body's number in `model` where it differs from `status`.

    vectors: state and efforts of `model`, where those of `moving` are of another linkage.
    """
    numbers = moving.numbers
    if status == mv.NOT_CONVERGED:
        name = {mv.KICK_DRIFT_KICK: "kick_drift_kick", mv.VARIATIONAL: "variational"}.get(
            int(moving.counts[mv.METHOD]), "implicit midpoint"
        )
        return StateError(
            f"{name} did not converge: after {moving.counts[mv.ITERATIONS]} evaluations its equation is open by "
            f"{numbers[mv.RESIDUAL]:.2g} {unit('rad/s or m/s')}, and {numbers[mv.ALLOWED]:.2g} was to be reached."
        )
    if status == mv.SUBSTEPS_VANISH:
        return StateError(
            f"dormand_prince needs substeps below {numbers[mv.SUBSTEP]:.1g} {unit('s')} to keep rtol = "
            f"{numbers[mv.RTOL]:g} and atol = {numbers[mv.ATOL]:g} after {numbers[mv.PASSED]:.6g} {unit('s')} of the step; "
            "the accelerations jump there, or grow without bound."
        )
    constraints = [loop.name for loop in model.loops] + [coupling.name for coupling in model.couplings]
    names = ", ".join(f"'{name}'" for name in constraints[:4])
    if status == mv.LOOPS_OPEN:
        return StateError(
            f"loops or couplings {names} of model '{model.name}' came apart and could not be closed again; the shape is "
            "close to a singular one (a dead point, a gimbal lock), or the step too long."
        )
    if status == mv.LOOPS_CONTRADICT:
        return StateError(
            f"the constraints {names} cannot all be met at this state: the shape is singular (a dead point), or "
            "velocities do not fit the loops."
        )
    if status == mv.SEARCH_TOO_DEEP:
        return StateError("the search for contacts met more overlapping volumes than it has memory for.")
    if vectors is None:
        vectors = {"state.q": moving.q, "state.v": moving.v, "effort": moving.effort}
    return explain_failure(model, what, max(status, -1) if body < 0 else body, vectors, wrench)
