"""Ways of chosen points through the world."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.record.recording import Recording
from linkwork.scene.plots.panel import COLORS, LINES, Panel, draw_lines, finish, fitting_unit, scene_of

LOOKED_AT = 24  # frames compared to find what moves most
NEAR = 0.2  # ways shorter than this part of the distance from the origin are drawn from their start
FLAT = 0.2  # height over width of ways that are not drawn with equal scales
STRAIGHT = 0.01  # and of ways that are drawn over time


def path_panels(recording: Recording, bodies: Sequence[str]) -> list[Panel]:
    points: list[dict[str, Any]] = [{"body": body, "at": (0.0, 0.0, 0.0)} for body in bodies]
    if not bodies:
        points = scene_of(recording).get("points", []) or _most_moved_body(recording)
    paths = {str(p["body"]): recording.path_of(p["body"], p["at"]) for p in points[:LINES]}
    paths = {name: path for name, path in paths.items() if np.ptp(path, axis=0).max() > 0.0}
    if not paths:
        return []
    longest = max(float(np.ptp(path, axis=0).max()) for path in paths.values())
    from_start = longest < NEAR * max(float(np.abs(path).max()) for path in paths.values())
    if from_start:
        paths = {name: path - path[0] for name, path in paths.items()}
    spans = np.ptp(np.concatenate(list(paths.values())), axis=0)
    most, second, _ = np.argsort(-spans, kind="stable")
    if spans[second] < STRAIGHT * spans[most]:
        return [_over_time(recording, paths, int(most))]
    across, up = sorted((int(most), int(second)))  # the plane in which most of the motion is
    return [_plane(paths, across, up, from_start)]


def _over_time(recording: Recording, paths: dict[str, FloatArray], axis: int) -> Panel:
    lines = {name: path[:, axis] - path[0, axis] for name, path in paths.items()}

    def draw(axes: Any) -> None:
        draw_lines(axes, recording.times, lines, f"{'xyz'[axis]}, from the start", "m")

    return Panel("paths over time", draw)


def _plane(paths: dict[str, FloatArray], across: int, up: int, from_start: bool) -> Panel:
    everything = np.concatenate(list(paths.values()))[:, [across, up]]
    width, height = np.ptp(everything, axis=0)
    is_flat = min(width, height) < FLAT * max(width, height)
    factor, unit = fitting_unit(float(np.abs(everything).max()), "m")
    origin = ", from the start" if from_start else ""

    def draw(axes: Any) -> None:
        for color, (name, path) in zip(COLORS, paths.items(), strict=False):
            drawn = path[:, [across, up]] / factor
            axes.plot(*drawn.T, color=color, linewidth=1.1, label=name)
            axes.plot(*drawn[0], "o", color=color, markersize=4, markerfacecolor="white")
            axes.plot(*drawn[-1], "o", color=color, markersize=4)
        if not is_flat:
            _same_scales(axes, *(everything / factor).T)
        finish(axes, f"{'xyz'[across]}{origin} [{unit}]", f"{'xyz'[up]}{origin} [{unit}]")
        if not is_flat:
            axes.set_aspect("equal", adjustable="box")

    return Panel("paths from hollow to solid dot" + (", scales differ" if is_flat else ""), draw)


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
    if not far.max(initial=0.0) > 0.0:
        return []
    return [{"body": model.body_names[int(np.argmax(far))], "at": (0.0, 0.0, 0.0)}]
