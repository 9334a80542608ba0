"""What the panels of a plot share: lines in few colours, labels with fitting units, legends that hide nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.units import has_prefixes
from linkwork.core.units import unit as unit_of
from linkwork.record.recording import Recording

LINES = 8  # of one panel: more colours than this cannot be distinguished
PANELS = 6  # for the lines of one kind: more pictures than this nobody compares
COLORS = ("#1f4e8c", "#c8502d", "#3d8b50", "#8a5aa8", "#b58b16", "#3a9ca6", "#a63a5b", "#666666")
PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
TICKS = 7  # along an axis at most
LEGEND_WIDTH = 42  # characters of one row


class Panel(NamedTuple):
    title: str
    draw: Callable[[Any], None]  # into matplotlib axes


def series(recording: Recording, name: str) -> FloatArray | None:
    """A scalar or a number of the reports over time; None where there is none, or it says nothing."""
    known = {**recording.reports, **recording.scalars}
    values = known.get(name)
    return values if values is not None and np.isfinite(values).sum() > 1 else None


def fitting_unit(size: float, unit: str) -> tuple[float, str]:
    """The unit in which a size reads well, and what one of it is: (0.003, "m") → (0.001, "mm")."""
    if not has_prefixes():
        return 1.0, unit_of(unit)
    for factor, prefix in PREFIXES:
        if size >= 0.02 * factor:
            return factor, prefix + unit
    return 1.0, unit


def draw_lines(axes: Any, times: FloatArray, lines: Mapping[str, FloatArray], what: str, unit: str) -> None:
    """Lines over time with a legend, in a unit that fits the largest."""
    size = max(float(np.nanmax(np.abs(values))) for values in lines.values())
    factor, unit = fitting_unit(size, unit)
    for color, (label, values) in zip(COLORS, lines.items(), strict=False):
        axes.plot(times, values / factor, color=color, linewidth=1.4, label=label)
    finish_over_time(axes, f"{what} [{unit}]" if unit else what)


def panels_of_lines(
    title: str, times: FloatArray, lines: Mapping[str, FloatArray], what: str, unit: str
) -> list[Panel]:
    """As many panels as all lines need, up to PANELS; the title of the last says what is left out."""
    labels = list(lines)
    groups = [labels[k : k + LINES] for k in range(0, min(len(labels), LINES * PANELS), LINES)]
    left = len(labels) - sum(map(len, groups))
    panels = []
    for k, group in enumerate(groups):
        name = title if len(groups) == 1 else f"{title}, {k + 1} of {len(groups)}"
        if left and k + 1 == len(groups):
            name += f" ({left} more left out)"
        panels.append(Panel(name, _drawing(times, {label: lines[label] for label in group}, what, unit)))
    return panels


def _drawing(times: FloatArray, lines: Mapping[str, FloatArray], what: str, unit: str) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        draw_lines(axes, times, lines, what, unit)

    return draw


def finish_over_time(axes: Any, up: str, legend: bool = True) -> None:
    axes.margins(x=0.02)
    finish(axes, f"time [{unit_of('s')}]", up, legend)


def finish(axes: Any, across: str, up: str, legend: bool = True) -> None:
    """Labels, ticks that do not touch, and a legend above the curves, where it hides nothing."""
    axes.set_xlabel(across, fontsize=9)
    axes.set_ylabel(up, fontsize=9)
    axes.locator_params(axis="x", nbins=TICKS)
    _, labels = axes.get_legend_handles_labels()
    if not legend or not labels:
        return
    fitting = max(1, min(len(labels), LEGEND_WIDTH // (4 + max(map(len, labels)))))
    rows = -(-len(labels) // fitting)
    columns = -(-len(labels) // rows)  # as even as they get
    if axes.get_yscale() == "linear":
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + (0.06 + 0.08 * rows) * (high - low))
    axes.legend(fontsize=8, frameon=False, loc="upper center", ncols=columns, handlelength=1.4, columnspacing=1.2)


def scene_of(recording: Recording) -> dict[str, Any]:
    """What the recording keeps of its scene: name, points, joints; empty if it was made in Python."""
    found: dict[str, Any] = recording.metadata.get("linkwork_scene", {})
    return found


def method_of(recording: Recording) -> dict[str, Any]:
    """The table [method] of the recording's scene; empty if it has none."""
    found: dict[str, Any] = json.loads(scene_of(recording).get("given", "{}")).get("method", {})
    return found
