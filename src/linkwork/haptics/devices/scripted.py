"""Devices that move by themselves: along a path given as a function, or as it was recorded. Nothing stops them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import function, numbers, shown
from linkwork.core.messages.describe import described
from linkwork.errors import StateError
from linkwork.haptics.devices.device import UPRIGHT, Reading, place, unit_quaternion


@described
class ScriptedMotion:
    """A device whose position is a function of the time [s] since it was grasped with: t → (3,) [m].

    rotation: quaternion w, x, y, z as a function of time likewise; upright by default.
    force, torque: last ones written [N, N·m].
    """

    def __init__(
        self,
        path: Callable[[float], Sequence[float]],
        rotation: Callable[[float], Sequence[float]] | None = None,
    ):
        function(path, "path", of="the time [s]")
        if rotation is not None:
            function(rotation, "rotation", of="the time [s]")
        self._path, self._rotation = path, rotation
        self._clock: Callable[[], float] = time.monotonic
        self._start: float | None = None
        self.force, self.torque = np.zeros(3), np.zeros(3)

    def follow(self, clock: Callable[[], float]) -> None:
        self._clock, self._start = clock, None

    def read(self) -> Reading:
        now = self._clock()
        if self._start is None:
            self._start = now
        t = now - self._start
        turned = UPRIGHT if self._rotation is None else unit_quaternion(self._rotation(t))
        return Reading(place(self._path(t), f"the position of a scripted motion at {t:.6g} s"), turned)

    def write(self, force: FloatArray, torque: FloatArray) -> None:
        self.force, self.torque = force.copy(), torque.copy()


class RecordedMotion(ScriptedMotion):
    """A device that repeats a recorded motion: positions at times, straight between them, at rest before and after.

    times: [s], ascending, shape (k,); positions: [m], shape (k, 3).
    """

    def __init__(self, times: ArrayLike, positions: ArrayLike):
        t, x = array_of(times, "times"), array_of(positions, "positions")
        if t.ndim != 1 or t.size == 0 or x.shape != (t.size, 3):
            raise StateError(f"positions must have shape ({t.size}, 3) for {t.size} times, not {x.shape}.")
        if not (np.isfinite(t).all() and np.isfinite(x).all() and (np.diff(t) > 0.0).all()):
            raise StateError("a recorded motion needs finite positions at finite, ascending times.")
        super().__init__(lambda now: [float(np.interp(now, t, x[:, k])) for k in range(3)])


def array_of(value: ArrayLike, what: str) -> FloatArray:
    """Numbers in any shape."""
    try:
        shape = np.shape(value)
    except ValueError:
        raise StateError(f"{what} must be an array of numbers, not {shown(value)}.") from None
    return numbers(value, shape, what, "a recorded motion")
