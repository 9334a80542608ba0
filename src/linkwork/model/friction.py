"""Friction with a direction, rolling and spinning: scales, wheels, runners, balls. Pure description."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from linkwork.core.checks import float_or_nan, shown
from linkwork.core.messages.describe import tabled
from linkwork.errors import ModelError
from linkwork.spatial.pose import Vector3

FRICTION_LAWS = ("ellipse", "hu")


@tabled
@dataclass(frozen=True, slots=True)
class Friction:
    """Coulomb's coefficients of a surface whose friction depends on the direction in which it slides, and its patch.

    forward, backward: along `axis` and against it; sideways: across. None takes `forward`.
    axis: direction of `forward`, in the frame of the body; of an obstacle in its own.
    law: "ellipse": forces lie in the ellipse of the coefficients, and dissipate as much energy as any of them can.
        "hu": each part of the direction of sliding times its own coefficient (Hu, Nirody, Scott and Shelley 2009).
    patch: radius of the patch on which balls, capsules and cylinders touch [m]. They resist rolling with a moment of up to
        patch times the normal force, and spinning with friction times that. Of two surfaces the larger patch counts.

    The coefficients are used as given, whatever the surface touches: no mean is taken with the friction of the other. Where
    both surfaces have a direction, that of the first body counts.
    """

    forward: float
    backward: float | None = None
    sideways: float | None = None
    axis: Vector3 = (1.0, 0.0, 0.0)
    law: str = "ellipse"
    patch: float = 0.0

    def __post_init__(self) -> None:
        for name in ("backward", "sideways"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, self.forward)
        for name in ("forward", "backward", "sideways", "patch"):
            value = getattr(self, name)
            if not 0.0 <= float_or_nan(value) < math.inf:
                raise ModelError(f"friction: {name} is {shown(value)}; it must be a finite number ≥ 0.")
            object.__setattr__(self, name, float(value))
        try:
            axis = np.asarray(self.axis, dtype=float)
        except (TypeError, ValueError, OverflowError):
            axis = np.zeros(0)
        if axis.shape != (3,) or not np.isfinite(axis).all() or not axis.any():
            raise ModelError(f"friction: axis is {shown(self.axis)}; it must be three finite numbers, not all zero.")
        axis = axis / np.abs(axis).max()  # squares of large and small numbers would not be numbers
        object.__setattr__(self, "axis", tuple((axis / np.linalg.norm(axis)).tolist()))
        if not isinstance(self.law, str) or self.law not in FRICTION_LAWS:
            known = ", ".join(map(repr, FRICTION_LAWS))
            raise ModelError(f"friction: law is {shown(self.law)}; it must be one of {known}.")

    @property
    def coefficients(self) -> tuple[float, float, float]:
        """Forward, backward, sideways."""
        assert self.backward is not None
        assert self.sideways is not None
        return self.forward, self.backward, self.sideways

    @property
    def largest(self) -> float:
        return max(self.coefficients)

    @classmethod
    def of(cls, value: Any) -> Any:
        """A Friction from a table of its arguments, such as scenes have; anything else as it is."""
        if not isinstance(value, Mapping):
            return value
        names = {field.name for field in fields(cls)}
        unknown = [str(name) for name in value if name not in names]
        if unknown or "forward" not in value:
            what = f"it has no '{unknown[0]}'" if unknown else "it needs 'forward'"
            raise ModelError(f"friction: {what}; a friction has {', '.join(sorted(names))}.")
        return cls(**{str(name): given for name, given in value.items()})

    def as_dict(self) -> dict[str, Any]:
        """The numbers by name, for files and checkpoints."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
