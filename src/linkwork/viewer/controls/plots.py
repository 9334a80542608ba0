"""Plots beside the scene that scroll: energy, active joints, error bound, time per step."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.units import unit

POINTS = 300  # kept of every line
EVERY = 0.25  # [s] between two pictures
LINES = {  # what is plotted, where a simulation has it: title, colour, whether on a logarithmic axis
    "energy": ("Energy [J]", "#c0392b", False),
    "active_joints": ("Active joints", "#e67e22", False),
    "open_joints": ("Joints computed", "#e67e22", False),
    "error_bound": ("Error bound", "#2980b9", True),
    "step_time": ("Time per step [µs]", "#16a085", False),
}


def line_data(name: str, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What a line shows: on a logarithmic axis only what is positive."""
    return x, np.where(y > 0.0, y, np.nan) if LINES[name][2] else y


def add_plot(gui: Any, name: str, data: tuple[FloatArray, FloatArray], units: Mapping[str, str]) -> Any:
    """viser's plot of one line over time."""
    title, color, is_log = LINES[name]
    title = unit(title, units)
    return gui.add_uplot(
        data,
        ({"label": unit("t [s]", units)}, {"label": title, "stroke": color, "width": 2}),
        title=title,
        scales={"x": {"time": False}, "y": {"distr": 3} if is_log else {}},
        height=140,
        legend={"show": False},
    )


class Plots:
    """One line each over simulated time."""

    def __init__(self, gui: Any, units: Mapping[str, str] | None = None):
        """units: what stands for SI units."""
        self._gui, self._units = gui, {} if units is None else units
        self._time: deque[float] = deque(maxlen=POINTS)
        self._values: dict[str, deque[float]] = {}
        self._plots: dict[str, Any] = {}
        self._folder = gui.add_folder("Plots")
        self._drawn_at = -1.0

    def add(self, time: float, scalars: dict[str, float]) -> None:
        """Takes the numbers of one frame; time [s]."""
        if self._time and time <= self._time[-1]:
            self.clear()
        self._time.append(time)
        for name in LINES:
            if name in scalars:
                line = self._values.setdefault(name, deque([np.nan] * (len(self._time) - 1), maxlen=POINTS))
                line.append(float(scalars[name]))

    def clear(self) -> None:
        self._time.clear()
        for line in self._values.values():
            line.clear()

    def draw(self, now: float) -> None:
        """Shows what was added, a few times per second. now: by the clock [s]."""
        if len(self._time) < 2 or now - self._drawn_at < EVERY:
            return
        self._drawn_at = now
        x = np.array(self._time)
        for name, line in self._values.items():
            if len(line) != len(x):
                continue
            data = line_data(name, x, np.array(line))
            if name in self._plots:
                self._plots[name].data = data
                continue
            with self._folder:
                self._plots[name] = add_plot(self._gui, name, data, self._units)
