"""Integrators by the names users give them."""

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

RTOL, ATOL = 1e-6, 1e-9  # error that substeps with error control may make, relative and absolute, by default
