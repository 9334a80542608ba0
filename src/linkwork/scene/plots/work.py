"""What a run cost and proved: joints at work, the error bound, the strikes of a walker."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.units import unit as unit_of
from linkwork.record.recording import Recording
from linkwork.scene.plots.panel import COLORS, Panel, draw_lines, finish_over_time, method_of, series

DEFAULT_MEASURES = {"quasi-statics": "relative_joint", "adaptive": "absolute_joint"}
SHORT = 10.0  # largest over smallest bound, below which a logarithmic axis has too few numbers


def work_panels(recording: Recording) -> list[Panel]:
    return [*_joint_counts(recording), *_bounds(recording), *_strikes(recording)]


def _joint_counts(recording: Recording) -> list[Panel]:
    joints = {
        label: values
        for name, label in (("n_active", "active"), ("n_computed", "computed"))
        if (values := series(recording, name)) is not None
    }
    if len(joints) == 2 and np.array_equal(joints["active"][1:], joints["computed"][1:]):
        del joints["active"]
    if not joints:
        return []

    def draw(axes: Any) -> None:
        for color, (label, values) in zip(COLORS, joints.items(), strict=False):
            axes.plot(recording.times, values, color=color, linewidth=1.3, drawstyle="steps-post", label=label)
        axes.set_ylim(0.0, 1.08 * max(float(np.nanmax(values)) for values in joints.values()))
        axes.yaxis.get_major_locator().set_params(integer=True)
        finish_over_time(axes, "joints", legend=len(joints) > 1)

    return [Panel(f"joints {' and '.join(joints)}, of {recording.model.n_bodies:,}", draw)]


def _bounds(recording: Recording) -> list[Panel]:
    bound = series(recording, "error_bound")
    if bound is None or not np.nanmax(bound) > 0.0:
        return []
    method = method_of(recording)
    measure = method.get("measure", DEFAULT_MEASURES.get(method.get("kind", ""), "in the chosen measure"))
    tolerance = method.get("tolerance")

    def draw(axes: Any) -> None:
        positive = np.where(bound > 0.0, bound, np.nan)
        axes.plot(recording.times, positive, color=COLORS[1], linewidth=1.3, label="error bound")
        high = float(np.nanmax(positive))
        if tolerance:
            axes.axhline(tolerance, color="0.4", linewidth=1.0, linestyle="--", label="tolerance")
            high = max(high, tolerance)
        if high > SHORT * np.nanmin(positive):
            axes.set_yscale("log")
            low, top = axes.get_ylim()
            axes.set_ylim(low, top * (top / low) ** 0.12)  # room for the legend
        else:
            axes.set_ylim(0.0, 1.05 * high)
        unit = f" [{unit_of('rad/s² or m/s²')}]" if measure.startswith("absolute") else ""
        finish_over_time(axes, f"error, {measure.replace('_', ' ')}{unit}", legend=bool(tolerance))

    return [Panel("error bound", draw)]


def _strikes(recording: Recording) -> list[Panel]:
    strikes, length = series(recording, "strikes"), series(recording, "step_length")
    if strikes is None or length is None:
        return []

    def draw(axes: Any) -> None:
        at = np.flatnonzero(np.diff(strikes) > 0) + 1
        axes.plot(strikes[at], length[at], "o-", color=COLORS[2], markersize=4, linewidth=1.0)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_xlabel("step", fontsize=9)
        axes.set_ylabel(f"length of the step [{unit_of('m')}]", fontsize=9)

    return [Panel("steps", draw)]


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
