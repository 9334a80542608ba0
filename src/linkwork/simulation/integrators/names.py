"""Integrators by the names users give them."""

from __future__ import annotations

from linkwork.model.layout import DAMPING
from linkwork.model.model import Model
from linkwork.simulation import moving as mv
from linkwork.simulation.contact_choice import has_limited_motors

INTEGRATORS = {
    "semi_implicit_euler": mv.SEMI_IMPLICIT_EULER,
    "rk4": mv.RUNGE_KUTTA,
    "dormand_prince": mv.DORMAND_PRINCE,
    "implicit_midpoint": mv.IMPLICIT_MIDPOINT,
    "kick_drift_kick": mv.KICK_DRIFT_KICK,
    "variational": mv.VARIATIONAL,
}

AUTO = "auto"  # the default: the one that suits the model and what acts, chosen when a simulation is made

RTOL, ATOL = 1e-6, 1e-9  # error that substeps with error control may make, relative and absolute, by default


def suitable_integrator(model: Model, implicit: bool, field: bool, thermostat: bool) -> str:
    """The integrator that "auto" means.

    implicit: springs and dampers of joints may be implicit, which takes `aba`. field, thermostat: whether they act. Contact
    and limits have no say: what flies moves as it would without them.
    """
    if not implicit:
        return "semi_implicit_euler"
    is_damped = bool((model.arrays.dof[:, DAMPING] > 0.0).any())
    if thermostat or (field and (model.is_constrained or is_damped)):
        return "kick_drift_kick"
    return "semi_implicit_euler" if has_limited_motors(model) else "variational"
