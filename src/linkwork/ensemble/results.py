"""Results of a run: each scalar and each number of its reports, reduced over the frames, and where points ended.

A run that is recorded and one that is not have the same frames, and so the same results, bit for bit.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.core.messages.names import did_you_mean_or_list, matching
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.errors import LinkworkError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.record.scalars import numbers_of
from linkwork.simulation.protocol import Report, Simulation

if TYPE_CHECKING:
    from linkwork.record.recording import Recording

Frames = Mapping[str, Any]  # numbers over the frames of a run by name; NaN where a frame has none

REDUCTIONS: dict[str, Callable[[list[float]], float]] = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "min": min,
    "max": max,
    "mean": lambda values: math.fsum(values) / len(values),
}


class Collector:
    """Gathers the numbers of a run that is not recorded, frame by frame, as a recording would."""

    def __init__(self, sim: Simulation):
        self.frames: dict[str, array[float]] = {}
        self._count = 0
        self.add(sim, None)

    def add(self, sim: Simulation, report: Report | None) -> None:
        numbers = {**numbers_of(report), **sim.scalars()}
        for name, value in numbers.items():
            if name not in self.frames:
                self.frames[name] = array("d", [math.nan]) * self._count
            self.frames[name].append(float(value))
        self._count += 1
        for values in self.frames.values():
            if len(values) < self._count:
                values.append(math.nan)


def frames_of(recording: Recording) -> Frames:
    """The same of a recording."""
    return {**recording.reports, **recording.scalars}


def reduce_frames(frames: Frames, wanted: Sequence[str]) -> dict[str, float]:
    """One number per result. wanted: names or patterns, with .first, .last, .min, .max or .mean; all last ones without."""
    found: dict[str, float] = {}
    for words in wanted or sorted(frames):
        name, _, reduction = words.rpartition(".")
        if not name or reduction not in REDUCTIONS:
            name, reduction = words, "last"
        names = sorted(frames)
        chosen = matching(name, names)
        if not chosen:
            raise LinkworkError(f"the run has no result '{name}'{did_you_mean_or_list(name, names)}")
        for k in chosen:
            values = [float(value) for value in frames[names[k]] if not math.isnan(value)]
            column = names[k] if reduction == "last" else f"{names[k]}.{reduction}"
            found[column] = REDUCTIONS[reduction](values) if values else math.nan
    return found


def point_ends(model: Model, state: State, points: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Where the points of [record] ended [m], as point_0.x, point_0.y, ..."""
    found: dict[str, float] = {}
    poses = None
    for k, point in enumerate(points):
        poses = body_poses(model, state) if poses is None else poses
        body, pose = model.frame(point["body"])
        at = np.array(pose.apply([float(x) for x in point["at"]]))
        world = poses[body, :3, :3] @ at + poses[body, :3, 3] if body >= 0 else at
        found |= {f"point_{k}.{axis}": float(x) for axis, x in zip("xyz", world, strict=True)}
    return found
