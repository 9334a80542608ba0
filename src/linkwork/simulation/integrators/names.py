"""Integrators by the names users give them."""

from __future__ import annotations

from linkwork.simulation.moving import (
    DORMAND_PRINCE,
    IMPLICIT_MIDPOINT,
    KICK_DRIFT_KICK,
    RUNGE_KUTTA,
    SEMI_IMPLICIT_EULER,
    VARIATIONAL,
)

INTEGRATORS = {
    "semi_implicit_euler": SEMI_IMPLICIT_EULER,
    "rk4": RUNGE_KUTTA,
    "dormand_prince": DORMAND_PRINCE,
    "implicit_midpoint": IMPLICIT_MIDPOINT,
    "kick_drift_kick": KICK_DRIFT_KICK,
    "variational": VARIATIONAL,
}

AUTO = "auto"  # the one that suits what acts, chosen when a simulation is made

RTOL, ATOL = 1e-6, 1e-9  # error that substeps with error control may make, relative and absolute, by default


def suitable_integrator(touching: bool, implicit: bool, field: bool) -> str:
    """The integrator that "auto" means.

    touching: contact or joint limits act. implicit: springs and dampers of joints may be implicit, which takes `aba`.
    field: forces from Python, or a thermostat, act.
    """
    if touching or not implicit:
        return "semi_implicit_euler"
    return "kick_drift_kick" if field else "variational"
