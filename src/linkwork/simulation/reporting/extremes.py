"""Extremes of a run: how far its energy went, and its fastest joint.

They are looked at wherever the run pauses to move its bar, at least every 200 steps; what happened between is not seen.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.model.layout import V


class Moment(NamedTuple):
    """What a simulation shows of one moment to the run it is in."""

    kinetic: float  # energy [J]
    total: float  # energy [J]
    speed: float  # of the fastest degree of freedom [rad/s or m/s]
    joint: int  # it belongs to, by the body that the joint carries; -1 where nothing moves


def fastest(tree: NDArray[np.int64], v: NDArray[np.float64]) -> tuple[float, int]:
    """Largest speed [rad/s or m/s] and its row of `tree`, whose degrees of freedom ascend; (0, -1) where nothing moves."""
    if v.size == 0:
        return 0.0, -1
    speeds = np.abs(v)
    d = int(speeds.argmax())
    return float(speeds[d]), int(np.searchsorted(tree[:, V], d, side="right")) - 1 if speeds[d] > 0.0 else -1


class Extremes:
    """Gathers the moments of one run. A simulation that shows none has no extremes."""

    def __init__(self, sim: Any):
        self._read_moment: Any = getattr(sim, "_moment", None)
        self._names = sim.model.joint_names if self._read_moment is not None else ()
        self._start, self._kinetic = math.nan, 0.0
        self._lowest, self._highest, self._drift = math.inf, -math.inf, 0.0
        self._speed, self._joint = 0.0, -1
        self._moments = 0

    def begin(self, sim: Any) -> None:
        """Before the first step."""
        if self._read_moment is not None:
            self._take(self._read_moment(sim.energy))

    def sample(self) -> None:
        """After some steps."""
        if self._read_moment is not None:
            self._take(self._read_moment())

    def _take(self, now: Moment) -> None:
        if self._moments == 0:
            self._start = now.total
        self._moments += 1
        self._kinetic = max(self._kinetic, now.kinetic)
        self._lowest, self._highest = min(self._lowest, now.total), max(self._highest, now.total)
        self._drift = max(self._drift, abs(now.total - self._start))
        if now.speed > self._speed:
            self._speed, self._joint = now.speed, now.joint

    def numbers(self) -> dict[str, Any]:
        """As a RunReport has them."""
        if self._moments == 0:
            return {}
        return {
            "energy_drift": self._drift / self._kinetic if self._kinetic > 0.0 else None,
            "lowest_energy": self._lowest,
            "highest_energy": self._highest,
            "largest_speed": self._speed,
            "fastest_joint": self._names[self._joint] if self._joint >= 0 else "",
        }
