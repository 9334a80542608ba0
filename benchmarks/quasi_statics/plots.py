"""Pictures of the quasi-statics benchmark, after figures 1, 6, 8 and 9 of the paper. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .problem import FloatArray, forces_text

Results = Sequence[dict[str, Any]]

COLORS = ("#1b4f8a", "#c2541d", "#3b8f52", "#8f2f6e")
GREY = "#888888"
SHOWN_SHAPES = 4  # precisions drawn of the chain, the coarsest first
CLOSE_UP = 0.2  # part of the chain, at its end, that the close-up shows


class Shape(NamedTuple):
    """Outline of a chain: the start, the end by full steps, the end at one precision."""

    name: str
    points: FloatArray  # (m, 2) [m]


def save_pictures(results: Results, shapes: list[Shape], folder: Path) -> str:
    """Draws what the results allow; returns a line that says where, or why not."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return "no pictures: matplotlib is not installed (pip install '.[plots]')."
    saved = []
    folder.mkdir(parents=True, exist_ok=True)
    pictures: tuple[tuple[str, Callable[[Any, Any], None], float, float, Sequence[Any]], ...] = (
        ("bicycle_chain", _chain, 12.0, 3.6, shapes),
        ("millipede", _time_and_joints, 10.0, 4.0, [f for f in results if f["case"] == "millipede"]),
        ("molecule", _time_and_joints, 10.0, 4.0, _molecule_runs(results)),
        ("displacement", _displacement, 5.6, 4.0, _molecule_runs(results)),
        ("scaling", _scaling, 10.0, 3.8, [f for f in results if f["case"].startswith("molecule, ")]),
    )
    for name, draw, width, height, wanted in pictures:
        if wanted:
            figure = Figure(figsize=(width, height), layout="constrained")
            FigureCanvasAgg(figure)
            draw(figure, wanted)
            figure.savefig(folder / f"quasi_statics_{name}.png", dpi=110)
            saved.append(name)
    return f"pictures saved to {folder}: {', '.join(f'quasi_statics_{name}.png' for name in saved)}."


def _molecule_runs(results: Results) -> list[dict[str, Any]]:
    return [f for f in results if f["case"] == "molecule" and "exponent" in f and f["frame"] == "world"]


def _chain(figure: Any, shapes: list[Shape]) -> None:
    """Figure 1: the start and the end by full steps, then the ends at several precisions over the latter."""
    start, full, approximate = shapes[0], shapes[1], shapes[2 : 2 + SHOWN_SHAPES]
    grid = figure.add_gridspec(2, 1 + len(approximate))
    first = figure.add_subplot(grid[0, 0])
    first.plot(*start.points.T, "-", color=GREY, label="start")
    first.plot(*full.points.T, "-", color=COLORS[0], label="end")
    first.legend(fontsize=7, frameon=False, loc="center right")
    first.set_title("start and end", fontsize=10)
    near = -int(CLOSE_UP * len(full.points))
    for row, shape in enumerate([None, *approximate]):
        for zoomed in (False, True):
            if shape is None and not zoomed:
                axes = first
            else:
                axes = figure.add_subplot(grid[int(zoomed), row])
                _overlay(axes, full, shape, zoomed)
            axes.set_aspect("equal", adjustable="box" if zoomed else "datalim")
            axes.tick_params(labelsize=7)
            if zoomed:
                box = _box(np.concatenate([full.points[near:], (shape or full).points[near:]]))
                axes.set_xlim(*box[0])
                axes.set_ylim(*box[1])
    figure.supxlabel("x [m]; below: the end of the chain, closer", fontsize=9)
    figure.supylabel("z [m]", fontsize=9)


def _overlay(axes: Any, full: Shape, shape: Shape | None, zoomed: bool) -> None:
    axes.plot(*full.points.T, "o-" if zoomed else "-", color=COLORS[0], markersize=3, linewidth=2.2, alpha=0.6)
    if shape is not None:
        axes.plot(*shape.points.T, "o-" if zoomed else "-", color=COLORS[1], markersize=3, linewidth=1.1)
        if not zoomed:
            axes.set_title(f"precision {shape.name}", fontsize=10)


def _box(points: FloatArray) -> tuple[tuple[float, float], tuple[float, float]]:
    low, high = points.min(axis=0), points.max(axis=0)
    half = 0.7 * float((high - low).max())
    (x, z) = 0.5 * (low + high)
    return (float(x - half), float(x + half)), (float(z - half), float(z + half))


def _time_and_joints(figure: Any, runs: Results) -> None:
    """Results 6 and 8: time of a step and joints computed against precision."""
    left, right = figure.subplots(1, 2)
    counts = sorted({run["forces"] for run in runs})
    for color, count in zip(COLORS, counts, strict=False):
        chosen = [run for run in runs if run["forces"] == count]
        precision = [2.0 ** -run["exponent"] for run in chosen]
        label = forces_text(count)
        left.loglog(precision, [run["step_s"] for run in chosen], "o-", color=color, markersize=3.5, label=label)
        right.loglog(precision, [run["n_computed"] for run in chosen], "o-", color=color, markersize=3.5, label=label)
    for which, dashes in (("dca", "--"), ("aba", ":")):
        middle = sorted(run[f"{which}_s"] for run in runs)[len(runs) // 2]
        left.axhline(middle, color=GREY, linestyle=dashes, linewidth=1.2, label=f"all joints by {which}")
    right.axhline(runs[0]["joints"], color=GREY, linestyle="--", linewidth=1.2, label="all joints")
    left.set_ylabel("time of a step [s]")
    right.set_ylabel("joints computed")
    for axes in (left, right):
        low, high = axes.get_ylim()
        axes.set_ylim(low / 5, high)  # room for the legend
        _precision_axis(axes, loc="lower center", ncols=3)


def _displacement(figure: Any, runs: Results) -> None:
    """Figure 9: error of the displacements in the world against precision."""
    axes = figure.subplots()
    for color, count in zip(COLORS, sorted({run["forces"] for run in runs}), strict=False):
        chosen = [run for run in runs if run["forces"] == count]
        precision = [2.0 ** -run["exponent"] for run in chosen]
        label = forces_text(count)
        errors = [run["displacement_error_per_step"] for run in chosen]
        axes.loglog(precision, errors, "o-", color=color, markersize=3.5, label=label)
    axes.loglog([2.0**-19, 1.0], [2.0**-19, 1.0], color=GREY, linestyle=":", linewidth=1.2, label="equal")
    axes.set_ylabel("relative displacement error per step")
    _precision_axis(axes)


def _precision_axis(axes: Any, **legend: Any) -> None:
    axes.invert_xaxis()
    axes.set_xlabel("relative joint acceleration error allowed")
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8, **legend)


def _scaling(figure: Any, rows: Results) -> None:
    """Time of a step and of load changes by the size of the whole molecule."""
    left, right = figure.subplots(1, 2)
    steps = [row for row in rows if row["case"] == "molecule, scaling"]
    sizes = [row["joints"] for row in steps]
    computed = steps[0]["n_computed"]
    left.loglog(sizes, [row["step_s"] for row in steps], "o-", color=COLORS[0], label=f"{computed} joints computed")
    left.loglog(sizes, [row["aba_s"] for row in steps], "s:", color=GREY, label="all joints by aba")
    changes = [row for row in rows if row["case"] == "molecule, load changes"]
    for color, name in zip(COLORS, ("apply", "change", "clear", "solve_after_a_change"), strict=True):
        values = [row[f"{name}_s"] for row in changes]
        right.loglog([row["joints"] for row in changes], values, "o-", color=color, label=name.replace("_", " "))
    left.set_ylabel("time of a step [s]")
    right.set_ylabel("time of a call [s]")
    for axes in (left, right):
        axes.set_xlabel("joints")
        axes.grid(True, which="major", alpha=0.3)
        axes.legend(fontsize=8, loc="upper left")
    low, high = right.get_ylim()
    right.set_ylim(low / 2, high * 8)  # room for the legend
