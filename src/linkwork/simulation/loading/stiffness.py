"""Whether an explicit integrator can take a step with the springs, dampers and motors of a linkage.

Joints with stiffness k and damping d vibrate at rates up to ω, ω² the largest eigenvalue of M⁻¹ diag(k), and slow down at
up to λ, that of M⁻¹ diag(d). Both by power iteration, with `aba` for M⁻¹: O(n) each.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.warning import warn_user
from linkwork.core.units import unit
from linkwork.dynamics.api import forward_dynamics
from linkwork.errors import StateError
from linkwork.model.layout import DAMPING, STIFFNESS
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.loading.motor_law import M_DAMPING, M_STIFFNESS

ITERATIONS = 12  # the largest rate to some per cent, which is all a warning needs
REACH = {"semi_implicit_euler": 2.0, "kick_drift_kick": 2.0, "rk4": 2.7}  # h ω and h λ up to which each is stable


def warn_of_stiff_joints(model: Model, state: State, motor: FloatArray, integrator: str, h: float) -> None:
    """A LinkworkWarning, with the step that would do, where springs, dampers and motors are too stiff for h [s]."""
    stiffness = model.arrays.dof[:, STIFFNESS] + motor[:, M_STIFFNESS]
    damping = model.arrays.dof[:, DAMPING] + motor[:, M_DAMPING]
    if not (stiffness.any() or damping.any()):
        return
    try:
        longest = longest_step(model, state.q, stiffness, damping, integrator)
    except StateError:
        return  # the step itself will say why there are no accelerations
    if h > longest:
        warn_user(
            f"{integrator} takes springs, dampers and motors of joints explicitly, and these are too stiff for steps of "
            f"{h:g} {unit('s')}: they are unstable above some {longest:.2g} {unit('s')}. Take shorter steps, or implicit "
            "joints (semi_implicit_euler or implicit_midpoint with implicit_joints=True)."
        )


def longest_step(model: Model, q: FloatArray, stiffness: FloatArray, damping: FloatArray, integrator: str) -> float:
    """The step up to which an explicit integrator is stable, roughly [s]; infinite where nothing is stiff."""
    resting = State(q, np.zeros(model.nv))
    free = forward_dynamics(model, resting)

    def response(effort: FloatArray) -> FloatArray:
        """M⁻¹ effort, with loops closed."""
        return forward_dynamics(model, resting, effort) - free

    omega = math.sqrt(_largest_rate(response, stiffness))
    rate = max(omega, _largest_rate(response, damping))
    return REACH[integrator] / rate if rate > 0.0 else math.inf


def _largest_rate(response: Callable[[FloatArray], FloatArray], diagonal: FloatArray) -> float:
    """The largest eigenvalue of M⁻¹ diag(diagonal), by power iteration from a start with a part in every direction."""
    if not diagonal.any():
        return 0.0
    x = np.cos(np.arange(diagonal.size) * 2.3998)  # no pattern that an eigenvector could be orthogonal to
    rate = 0.0
    for _ in range(ITERATIONS):
        x = x / np.abs(x).max()
        image = response(diagonal * x)
        rate = float(np.abs(image).max())
        if not 0.0 < rate < math.inf:
            return 0.0
        x = image
    return rate
