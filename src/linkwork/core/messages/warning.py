"""Warnings that point at the line of the user's program, however deep within Linkwork they arise."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.errors import LinkworkWarning

LEAST_RADIANS, MOST_DEGREES = 4.0 * math.pi, 720.0  # robots have limits of ±10 rad, and of ±1e16 for none


def warn_user(words: str, category: type[Warning] = LinkworkWarning) -> None:
    """A warning at the first caller outside the package. Python shows each once per line of that caller."""
    level, frame = 1, sys._getframe(0)
    while frame is not None and _is_ours(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(words, category, stacklevel=level)


def likely_degrees(angles: ArrayLike) -> NDArray[np.int64]:
    """Which angles [rad] were likely meant in degrees: whole numbers beyond two turns, up to two turns in degrees."""
    values = np.asarray(angles, dtype=float)
    size = np.abs(values)
    return np.flatnonzero((size > LEAST_RADIANS) & (size <= MOST_DEGREES) & (values == np.rint(values)))


def warn_of_degrees(angle: float, what: str) -> None:
    """Warns of an angle that `likely_degrees` found."""
    turns = abs(angle) / (2.0 * math.pi)
    meant = f"np.radians({angle:g}) is {math.radians(angle):.4g}"
    warn_user(f"{what} is {angle:g} rad, {turns:.1f} turns. Angles are in radians: {meant}.")


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and (module == "linkwork" or module.startswith("linkwork."))
