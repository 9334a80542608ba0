"""Checks of numbers that users give: one rule for all simulations, one wording for what they refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.errors import StateError


def positive(value: Any, what: str) -> float:
    """A finite number > 0."""
    if not _is_number(value) or not math.isfinite(value) or value <= 0.0:
        raise StateError(f"{what} is {value!r}; it must be a finite number > 0.")
    return float(value)


def not_negative(value: Any, what: str, finite: bool = False) -> float:
    """A number ≥ 0; infinity is one unless `finite`."""
    if not _is_number(value) or math.isnan(value) or value < 0.0 or (finite and math.isinf(value)):
        raise StateError(f"{what} is {value!r}; it must be a {'finite ' if finite else ''}number ≥ 0.")
    return float(value)


def whole(value: Any, least: int, what: str) -> int:
    """A whole number ≥ least."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise StateError(f"{what} is {value!r}; it must be a whole number ≥ {least}.")
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool)
