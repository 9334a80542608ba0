"""One picture of a recording: energies, joints at work, error bound, chosen joints, paths of chosen points.

Needs matplotlib, the extra `plots`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import LinkworkError, MissingExtraError
from linkwork.model.joints import Free, Planar, Prismatic, Spherical
from linkwork.model.model import Model
from linkwork.record.recording import Recording
from linkwork.simulate.scene_faults import Faults
from linkwork.simulate.scene_targets import find_joints

FloatArray = NDArray[np.float64]

PANEL = (4.6, 3.5)  # width and height [inch]
IN_A_ROW = 3
LINES = 8  # of one panel: more colours than this nobody tells apart
LOOKED_AT = 24  # frames compared to find what moves most
COLORS = ("#1f4e8c", "#c8502d", "#3d8b50", "#8a5aa8", "#b58b16", "#3a9ca6", "#a63a5b", "#666666")


class Panel(NamedTuple):
    title: str
    draw: Callable[[Any], None]  # into matplotlib axes


def save_plot(
    recording: Recording, path: str | Path, joints: Sequence[str] = (), bodies: Sequence[str] = ()
) -> list[str]:
    """Draws a recording into a file; returns the titles of its panels.

    joints: names or patterns; bodies: names of bodies or frames. Without them: what the scene asked for, or what moves
    most.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing needs matplotlib; install it with: pip install linkwork[plots]") from None
    if len(recording) < 2:
        raise LinkworkError(f"recording '{recording.path}' has {len(recording)} frame; a plot over time needs two.")
    panels = [
        *energy_panels(recording),
        *work_panels(recording),
        *joint_panels(recording, joints),
        *path_panels(recording, bodies),
    ]
    if not panels:
        raise LinkworkError(f"recording '{recording.path}' has nothing to draw: no figures, and nothing moved.")
    columns = min(IN_A_ROW, len(panels)) if len(panels) != 4 else 2
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(str(recording.metadata.get("title", recording.path.name)), fontsize=12)
    for k, panel in enumerate(panels):
        axes = figure.add_subplot(rows, columns, k + 1)
        axes.set_title(panel.title, fontsize=10)
        axes.tick_params(which="both", labelsize=8)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
        panel.draw(axes)
    figure.savefig(path, dpi=130)
    return [panel.title for panel in panels]


# ------------------------------------------------------------------------------------------------------------- over time


def _series(recording: Recording, name: str) -> FloatArray | None:
    """A figure or a number of the reports over time; None where there is none, or it says nothing."""
    known = {**recording.reports, **recording.figures}
    values = known.get(name)
    return values if values is not None and np.isfinite(values).sum() > 1 else None


def _over_time(axes: Any, unit: str, lines: int) -> None:
    axes.margins(x=0.02)
    _finish(axes, "time [s]", unit, lines)


def _finish(axes: Any, across: str, up: str, lines: int) -> None:
    """Labels, and for several lines a legend above the curves, where it hides nothing."""
    axes.set_xlabel(across, fontsize=9)
    axes.set_ylabel(up, fontsize=9)
    if lines > 1:
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + (0.06 + 0.08 * -(-lines // 3)) * (high - low))
        axes.legend(
            fontsize=8, frameon=False, loc="upper center", ncols=min(3, lines), handlelength=1.4, columnspacing=1.2
        )


def energy_panels(recording: Recording) -> list[Panel]:
    names = {"kinetic_energy": "kinetic", "potential_energy": "potential", "energy": "total"}
    found = {label: values for name, label in names.items() if (values := _series(recording, name)) is not None}
    moving = {label: values for label, values in found.items() if np.nanmax(np.abs(values)) > 0.0}
    if not moving:
        return []
    if len(moving) == 2:  # one of the parts is zero, so the total says nothing new
        moving.pop("total", None)

    def draw(axes: Any) -> None:
        # Potential energy has no zero of its own: all begin at their first value, so that the exchange shows.
        for color, (label, values) in zip(COLORS, moving.items(), strict=False):
            start = 0.0 if label == "kinetic" else values[np.isfinite(values)][0]
            axes.plot(recording.times, values - start, color=color, linewidth=1.4, label=label)
        _over_time(axes, "energy, from its start [J]", max(2, len(moving)))

    return [Panel("energy", draw)]


def work_panels(recording: Recording) -> list[Panel]:
    """Joints at work, proven bound, and the walker's strikes."""
    panels = []
    joints = {
        label: values
        for name, label in (("active_joints", "active"), ("joints_computed", "computed"))
        if (values := _series(recording, name)) is not None
    }
    if len(joints) == 2 and np.array_equal(joints["active"][1:], joints["computed"][1:]):
        del joints["active"]
    if joints:
        total = recording.model.n_bodies

        def draw_joints(axes: Any) -> None:
            for color, (label, values) in zip(COLORS, joints.items(), strict=False):
                axes.plot(recording.times, values, color=color, linewidth=1.3, drawstyle="steps-post", label=label)
            axes.set_ylim(bottom=0.0)
            _over_time(axes, "joints", len(joints))

        panels.append(Panel(f"joints {' and '.join(joints)}, of {total:,}", draw_joints))
    bound = _series(recording, "error_bound")
    if bound is not None and np.nanmax(bound) > 0.0:

        def draw_bound(axes: Any) -> None:
            positive = np.where(bound > 0.0, bound, np.nan)
            axes.semilogy(recording.times, positive, color=COLORS[1], linewidth=1.3)
            low, high = np.log10(np.nanmin(positive)), np.log10(np.nanmax(positive))
            if high - low < 1.0:  # whole decades, or the axis has no plain numbers
                axes.set_ylim(10.0 ** np.floor(low), 10.0 ** np.ceil(high + 1e-9))
            _over_time(axes, "error, in the chosen measure", 1)

        panels.append(Panel("proven error bound", draw_bound))
    strikes = _series(recording, "strikes")
    length = _series(recording, "step_length")
    if strikes is not None and length is not None:

        def draw_steps(axes: Any) -> None:
            at = np.flatnonzero(np.diff(strikes) > 0) + 1
            axes.plot(strikes[at], length[at], "o-", color=COLORS[2], markersize=4, linewidth=1.0)
            axes.set_xlabel("step", fontsize=9)
            axes.set_ylabel("length of the step [m]", fontsize=9)

        panels.append(Panel("steps", draw_steps))
    return panels


# ---------------------------------------------------------------------------------------------------------------- joints


def joint_panels(recording: Recording, patterns: Sequence[str]) -> list[Panel]:
    model = recording.model
    if patterns:
        names = choose_joints(model, patterns)
    else:
        names = _scene(recording).get("joints", []) or _most_moved_joints(recording)
    by_unit: dict[str, list[tuple[str, FloatArray]]] = {}
    for name in names:
        for label, unit, values in _lines_of(recording, model, name):
            by_unit.setdefault(unit, []).append((label, values))
    return [
        Panel("joints" if len(by_unit) == 1 else f"joints [{unit}]", _joint_drawing(recording, unit, lines[:LINES]))
        for unit, lines in by_unit.items()
    ]


def choose_joints(model: Model, patterns: Sequence[str]) -> list[str]:
    """Joints by name or pattern; unknown ones are an error that names them."""
    faults = Faults(f"model '{model.name}'")
    found = find_joints(model, list(patterns), (), faults)
    faults.raise_all()
    return found


def _joint_drawing(recording: Recording, unit: str, lines: list[tuple[str, FloatArray]]) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        for color, (label, values) in zip(COLORS, lines, strict=False):
            axes.plot(recording.times, values, color=color, linewidth=1.3, label=label)
        _over_time(axes, f"coordinate [{unit}]" if unit != "1" else "orientation (w, x, y, z)", max(2, len(lines)))

    return draw


def _lines_of(recording: Recording, model: Model, name: str) -> list[tuple[str, str, FloatArray]]:
    """Label, unit and values over time of each coordinate of a joint."""
    values = recording.joint(name)
    if values.shape[1] == 1:
        joint = model.joints[model.joint(name)]
        return [(name, "m" if isinstance(joint, Prismatic) else "rad", values[:, 0])]
    return [
        (f"{name} {part}", unit, values[:, k]) for k, (part, unit) in enumerate(_parts(model, name, values.shape[1]))
    ]


def _parts(model: Model, name: str, size: int) -> list[tuple[str, str]]:
    joint = model.joints[model.joint(name)]
    turn = [(part, "1") for part in "wxyz"]
    if isinstance(joint, Free):
        return [("x", "m"), ("y", "m"), ("z", "m"), *turn]
    if isinstance(joint, Spherical):
        return turn
    if isinstance(joint, Planar):
        return [("0", "m"), ("1", "m"), ("angle", "rad")]
    return [(str(k), "rad or m") for k in range(size)]


def _most_moved_joints(recording: Recording, most: int = 4) -> list[str]:
    """Joints whose velocity coordinates travel farthest between a few frames, and which have one coordinate."""
    model = recording.model
    frames = np.unique(np.linspace(0, len(recording) - 1, LOOKED_AT).astype(int))
    first = recording.state(0).q
    reach = np.zeros(model.nv)
    for k in frames[1:]:
        reach = np.maximum(reach, np.abs(model.difference(first, recording.state(int(k)).q)))
    order = np.argsort(-reach)[: 20 * most]
    names: dict[str, None] = {}
    for k in order:
        i = model.joint_of(int(k))
        if reach[k] > 0.0 and model.joints[i].nq == 1:
            names[model.joint_names[i]] = None
    return list(names)[:most]


# ----------------------------------------------------------------------------------------------------------------- paths


def path_panels(recording: Recording, bodies: Sequence[str]) -> list[Panel]:
    points: list[dict[str, Any]] = [{"body": body, "at": (0.0, 0.0, 0.0)} for body in bodies]
    if not bodies:
        points = _scene(recording).get("points", []) or _most_moved_body(recording)
    paths = [(str(p["body"]), recording.path_of(p["body"], p["at"])) for p in points[:LINES]]
    paths = [(name, path) for name, path in paths if np.ptp(path, axis=0).max() > 0.0]
    if not paths:
        return []
    everything = np.concatenate([path for _, path in paths])
    spans = np.ptp(everything, axis=0)
    across, up = sorted(np.argsort(-spans)[:2])  # the plane in which most of the motion is
    wide = spans[up] < 0.2 * spans[across] or spans[across] < 0.2 * spans[up]

    def draw(axes: Any) -> None:
        for color, (name, path) in zip(COLORS, paths, strict=False):
            axes.plot(path[:, across], path[:, up], color=color, linewidth=1.1, label=name)
            axes.plot(*path[0, [across, up]], "o", color=color, markersize=4, markerfacecolor="white")
            axes.plot(*path[-1, [across, up]], "o", color=color, markersize=4)
        if not wide:
            _same_scales(axes, everything[:, across], everything[:, up])
        _finish(axes, f"{'xyz'[across]} [m]", f"{'xyz'[up]} [m]", max(2, len(paths)))
        if not wide:
            axes.set_aspect("equal", adjustable="box")

    return [Panel("paths from hollow to solid dot" + (", scales differ" if wide else ""), draw)]


def _same_scales(axes: Any, x: FloatArray, y: FloatArray) -> None:
    """Limits that fill a panel with a metre as long across as it is up."""
    shape = 1.3  # width over height of what is left of a panel beside its labels
    height = 1.16 * max(float(np.ptp(y)), float(np.ptp(x)) / shape)
    for span, values, name in ((shape * height, x, "x"), (height, y, "y")):
        middle = 0.5 * (float(values.min()) + float(values.max()))
        getattr(axes, f"set_{name}lim")(middle - 0.5 * span, middle + 0.5 * span)


def _most_moved_body(recording: Recording) -> list[dict[str, Any]]:
    """The body whose origin gets farthest from where it began."""
    model = recording.model
    frames = np.unique(np.linspace(0, len(recording) - 1, LOOKED_AT).astype(int))
    start = recording.poses(0)[:, :3, 3]
    far = np.zeros(model.n_bodies)
    for k in frames[1:]:
        far = np.maximum(far, np.linalg.norm(recording.poses(int(k))[:, :3, 3] - start, axis=1))
    return (
        [{"body": model.body_names[int(np.argmax(far))], "at": (0.0, 0.0, 0.0)}] if far.max(initial=0.0) > 0.0 else []
    )


def _scene(recording: Recording) -> dict[str, Any]:
    found: dict[str, Any] = recording.metadata.get("linkwork_scene", {})
    return found
