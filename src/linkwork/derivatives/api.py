"""Public functions of the derivatives: products with the Jacobian of a function, from the left (vjp) and right (jvp)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from linkwork.core.checks import shown
from linkwork.core.messages.names import did_you_mean
from linkwork.derivatives import forward, inverse, kinematics
from linkwork.derivatives.gradients import Gradients
from linkwork.derivatives.rules import load_rules
from linkwork.dynamics import api as dynamics
from linkwork.dynamics.quantities import motion
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State


class Rule(NamedTuple):
    """How one function is differentiated."""

    vjp: Callable[..., tuple[Any, Callable[[Any], Gradients]]]
    jvp: Callable[..., Any]


RULES: dict[Callable[..., Any], Rule] = {
    dynamics.forward_dynamics: Rule(forward.vjp, forward.jvp),
    dynamics.inverse_dynamics: Rule(inverse.vjp, inverse.jvp),
    motion.body_poses: Rule(kinematics.poses_vjp, kinematics.poses_jvp),
    motion.body_twists: Rule(kinematics.twists_vjp, kinematics.twists_jvp),
    motion.energy: Rule(kinematics.energy_vjp, kinematics.energy_jvp),
    motion.momentum: Rule(kinematics.momentum_vjp, kinematics.momentum_jvp),
    motion.center_of_mass: Rule(kinematics.center_vjp, kinematics.center_jvp),
}


def vjp(
    function: Callable[..., Any],
    model: Model,
    state: State,
    *arguments: Any,
    wrt: Sequence[str] | None = None,
    **options: Any,
) -> tuple[Any, Callable[[Any], Gradients]]:
    """The value of a function, and a function for gradients of any weighted sum of its result, in O(n).

    function: `lw.forward_dynamics` (by "aba"), `lw.inverse_dynamics`, `lw.body_poses`, `lw.body_twists`, `lw.energy`,
    `lw.momentum` or `lw.center_of_mass`; arguments and options are those of the function.
    wrt: which gradients are computed, by their names in `lw.Gradients`; all by default.
    Returns (y, pull): pull(weights), with weights in the shape of y, gives the `lw.Gradients` of Σ weights · y.
    Cost: for forward dynamics two to three times the function, pull included; memory 0.7 kB per joint while pull lives.
    """
    return _rule(function).vjp(model, state, *arguments, wrt=wrt, **options)


def jvp(function: Callable[..., Any], model: Model, state: State, *arguments: Any, **options: Any) -> Any:
    """The change of a function's result along a direction, in O(n), in the shape of the result.

    function, arguments and options: as for `lw.vjp`. The direction is given by options with a d before the name of what
    changes: dq (along the tangent of `Model.integrate`), dv, deffort, dacceleration, dwrenches, dinertias, dgravity,
    dstiffness, ddamping, darmature; what is not given does not change.
    """
    return _rule(function).jvp(model, state, *arguments, **options)


def _rule(function: Any) -> Rule:
    load_rules()
    try:
        found = RULES.get(function)
    except TypeError:  # cannot be a key
        found = None
    if found is None:
        known = ", ".join(f"lw.{known.__name__}" for known in RULES)
        name = getattr(function, "__name__", "")
        hint = did_you_mean(name, [known.__name__ for known in RULES]) if isinstance(name, str) and name else ""
        raise StateError(f"there are no derivatives of {shown(function)}{hint}; there are of {known}.")
    return found
