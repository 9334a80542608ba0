"""Energies over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.record.recording import Recording
from linkwork.scene.plots.panel import Panel, draw_lines, series

NAMES = {"kinetic_energy": "kinetic", "potential_energy": "potential", "energy": "total"}
ROUNDING = 1e-13  # relative change that is none


def energy_panels(recording: Recording) -> list[Panel]:
    found = {label: values for name, label in NAMES.items() if (values := series(recording, name)) is not None}
    scale = max((float(np.nanmax(np.abs(values))) for values in found.values()), default=0.0)
    moving = {
        label: values for label, values in found.items() if np.nanmax(values) - np.nanmin(values) > ROUNDING * scale
    }
    if not moving:
        return []
    if len(moving) == 2 and "total" in moving:  # only one of the parts changes, so the total says nothing new
        del moving["total"]
    elif len(moving) > 1 and "total" in found:  # a total that stays is worth a line
        moving["total"] = found["total"]

    def draw(axes: Any) -> None:
        # Potential energy has no zero of its own: it begins at zero, as the total does, so that the exchange shows.
        lines = {label: values if label == "kinetic" else values - _first(values) for label, values in moving.items()}
        shifted = "" if list(moving) == ["kinetic"] else ", from its start"
        draw_lines(axes, recording.times, lines, f"energy{shifted}", "J")

    return [Panel("energy", draw)]


def _first(values: FloatArray) -> float:
    return float(values[np.isfinite(values)][0])
