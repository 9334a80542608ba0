"""A simulated human hand on a device: a mass that muscles pull towards where the human wants it, with a reaction delay."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import function, not_negative, positive
from linkwork.core.messages.describe import described
from linkwork.haptics.devices.device import Reading, place

LONGEST_STEP = 2e-4  # [s] of the hand's own motion


@described
class HumanHand:
    """M ẍ = k (x_want(t - delay) - x) - d ẋ + f: what a hand of a few hundred grams does to a device that pushes with f.

    target: where the human wants the hand to be, a function of the time [s] since the grasp → (3,) [m].
    mass [kg], stiffness [N/m], damping [N·s/m]: of the arm and its grip; defaults as measured on people that hold a stylus.
    delay: [s] from wanting to doing.
    A passive hand: whatever energy it brings comes from the target's motion.
    """

    def __init__(
        self,
        target: Callable[[float], Sequence[float]],
        mass: float = 0.15,
        stiffness: float = 300.0,
        damping: float = 5.0,
        delay: float = 0.15,
    ):
        self.mass, self.stiffness = positive(mass, "mass"), not_negative(stiffness, "stiffness", finite=True)
        self.damping, self.delay = (
            not_negative(damping, "damping", finite=True),
            not_negative(delay, "delay", finite=True),
        )
        function(target, "target", of="the time [s]")
        self._target = target
        self._clock: Callable[[], float] = time.monotonic
        self._start: float | None = None
        self._now = 0.0  # [s] since the start
        self.position, self.velocity = self._path_at(0.0), np.zeros(3)
        self.force = np.zeros(3)

    def _path_at(self, t: float) -> FloatArray:
        return np.array(place(self._target(t), f"the target of a hand at {t:.6g} s"))

    def follow(self, clock: Callable[[], float]) -> None:
        self._clock, self._start = clock, None

    def read(self) -> Reading:
        now = self._clock()
        if self._start is None:
            self._start, self._now = now, 0.0
        self._move(now - self._start - self._now)
        x, y, z = self.position.tolist()
        return Reading((x, y, z))

    def write(self, force: FloatArray, torque: FloatArray) -> None:
        self.force = force.copy()

    def _move(self, duration: float) -> None:
        """Moves the hand on under the last force, by implicit steps: no stiffness is too high for them."""
        if duration <= 0.0:
            return
        steps = max(1, math.ceil(duration / LONGEST_STEP))
        h = duration / steps
        effective_inertia = self.mass + h * self.damping + h * h * self.stiffness
        for _ in range(steps):
            self._now += h
            pull = self.stiffness * (self._path_at(max(0.0, self._now - self.delay)) - self.position) + self.force
            self.velocity = (self.mass * self.velocity + h * pull) / effective_inertia
            self.position = self.position + h * self.velocity
