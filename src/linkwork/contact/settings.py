"""Contact: how bodies touch. What a user gives to a simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from linkwork.core.checks import float_or_nan, shown
from linkwork.core.messages.describe import tabled
from linkwork.errors import StateError
from linkwork.model.friction import Friction

LAWS = ("coupled", "impacts")


@tabled
@dataclass(frozen=True, slots=True)
class Contact:
    """How bodies touch each other and the world.

    friction, restitution: of shapes that bring none of their own. A pair has the geometric mean of its frictions and the
        larger of its restitutions. A lw.Friction, whose direction is that of each body, counts as it is, and may
        have a patch for rolling and spinning.
    law: "coupled" solves all contacts, limits and loops together (Signorini, Coulomb); "impacts" treats them one after the
        other, fastest approach first (Mirtich's impulses, Stronge's restitution).
    tolerance: residual of the coupled solve, relative to the largest impulse. Solves of many contacts, by sweeps over the
        tree, count as converged from 1e-5 on.
    max_sweeps: after these a solve ends, and the report counts it as not converged.
    margin: distance below which bodies count as touching [m]; None takes 1e-3 of the mean size of the moving shapes.
    correction: part of a penetration that one step takes back, 0 to 1.
    rest_speed: approach slower than this does not bounce [m/s].
    self_contact: whether bodies of the model touch each other, or only obstacles.
    continuous: whether fast bodies are followed between steps, so that they do not pass through thin ones.
    ignore: pairs of names of bodies or obstacles that never touch, beside those of the model.
    """

    friction: float | Friction = 0.5
    restitution: float = 0.0
    law: str = "coupled"
    tolerance: float = 1e-8
    max_sweeps: int = 500
    margin: float | None = None
    correction: float = 0.2
    rest_speed: float = 1e-3
    self_contact: bool = True
    continuous: bool = True
    ignore: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "friction", Friction.of(self.friction))
        if not isinstance(self.friction, Friction):
            _number(self.friction, 0.0, math.inf, "friction", "a finite number ≥ 0, or a lw.Friction")
        _number(self.restitution, 0.0, 1.0, "restitution", "a number from 0 to 1")
        _number(self.tolerance, 0.0, 1.0, "tolerance", "a number above 0 and at most 1", open_below=True)
        _number(self.correction, 0.0, 1.0, "correction", "a number from 0 to 1")
        _number(self.rest_speed, 0.0, math.inf, "rest_speed", "a finite number ≥ 0")
        if self.margin is not None:
            _number(self.margin, 0.0, math.inf, "margin", "a finite number > 0, or None", open_below=True)
        if (
            isinstance(self.max_sweeps, bool)
            or not isinstance(self.max_sweeps, int | np.integer)
            or self.max_sweeps < 1
        ):
            raise StateError(f"contact: max_sweeps is {self.max_sweeps!r}; it must be a whole number ≥ 1.")
        if not isinstance(self.law, str) or self.law not in LAWS:
            raise StateError(f"contact: law is {self.law!r}; it must be one of {', '.join(map(repr, LAWS))}.")
        for name in ("self_contact", "continuous"):
            if not isinstance(getattr(self, name), bool):
                raise StateError(f"contact: {name} is {getattr(self, name)!r}; it must be True or False.")
        try:
            object.__setattr__(self, "ignore", tuple((str(a), str(b)) for a, b in self.ignore))
        except (TypeError, ValueError):
            raise StateError(f"contact: ignore is {self.ignore!r}; it must be pairs of names.") from None

    def as_dict(self) -> dict[str, Any]:
        """The settings by name, for files and checkpoints."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if isinstance(self.friction, Friction):
            values["friction"] = self.friction.as_dict()
        return values


def _number(value: Any, least: float, most: float, name: str, wanted: str, open_below: bool = False) -> None:
    number = float_or_nan(value)
    if not (least <= number <= most) or math.isinf(number) or (open_below and number <= least):
        raise StateError(f"contact: {name} is {shown(value)}; it must be {wanted}.")
