"""The mouse as a hand: a spring between the grabbed point of a body and the pointer, and what it feels."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.errors import LinkworkError
from linkwork.simulation.loads import LOAD_STIFFNESS, Load
from linkwork.viewer.layers import spring_force

SOFTNESS = 0.1  # of the mechanism's size: how far the spring stretches to hold the whole weight


def hand_stiffness(sim: Any, size: float) -> float:
    """A stiffness that suits the mechanism [N/m]: its mass times 10 m/s² stretches the spring by a tenth of its size."""
    mass = float(sim.model.mass.sum())
    pull = max(float(np.linalg.norm(sim.model.gravity)), 10.0)
    return max(mass * pull / (SOFTNESS * size), 1e-9)


class Hand:
    """One grab at a time, by whichever page began it."""

    def __init__(self, scene: Any, size: float):
        self._scene, self._size = scene, size
        self._arrow: Any = None
        self.load: Load | None = None
        self.force = np.zeros(3)  # [N] on the body

    def grab(self, sim: Any, body: int, place: FloatArray, T: FloatArray, stiffness: float) -> None:
        """Takes hold of a body at a point of the world [m]."""
        self.release(sim)
        if body < 0 or not hasattr(sim, "apply_spring"):
            return
        at = T[body, :3, :3].T @ (place - T[body, :3, 3])
        self.load = sim.apply_spring(body, place, stiffness, at)

    def pull(self, sim: Any, target: FloatArray) -> None:
        """Moves the other end of the spring to a point of the world [m]."""
        if self.load is not None and np.isfinite(target).all():
            sim.move_target(self.load, target)

    def release(self, sim: Any) -> None:
        if self.load is not None:
            with contextlib.suppress(LinkworkError):  # all loads were cleared meanwhile
                sim.clear(self.load)
        self.load, self.force = None, np.zeros(3)
        if self._arrow is not None:
            self._arrow.remove()
            self._arrow = None

    def draw(self, sim: Any, T: FloatArray) -> float:
        """Shows the force as an arrow from the grabbed point to the pointer; returns its size [N]."""
        if self.load is None:
            return 0.0
        place, self.force = spring_force(sim, self.load, T)
        target = place + self.force / max(float(sim._loads.table[self.load.rows[0], LOAD_STIFFNESS]), 1e-300)
        points = np.array([[place, target]], dtype=np.float32)
        if self._arrow is None:
            s = self._size
            self._arrow = self._scene.add_arrows(
                "/hand", points, (230, 60, 30), shaft_radius=0.007 * s, head_radius=0.017 * s, head_length=0.04 * s
            )
        else:
            self._arrow.points = points
        return float(np.linalg.norm(self.force))
