"""What a run in virtual time showed: hands, bodies and forces over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.describe import described

if TYPE_CHECKING:
    from linkwork.haptics.grasp import Grasp
    from linkwork.haptics.session import Session


@described
class Trace:
    """Over m rows for k hands: times (m,) [s]; hand, point (m, k, 3) [m]; wrench, felt (m, k, 6) [N·m, N]; energy (m, k).

    point: where the body is by the last snapshot. wrench: on the body; felt: by the hand, in the device's units.
    energy [J]: given to each hand by its device since its grasp.
    """

    def __init__(self, grasps: tuple[Grasp, ...]):
        self.grasps = grasps
        self._rows: list[tuple[float, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]] = []
        self.times, self.energy = np.zeros(0), np.zeros((0, len(grasps)))
        self.hand = self.point = np.zeros((0, len(grasps), 3))
        self.wrench = self.felt = np.zeros((0, len(grasps), 6))

    def add(self, time: float, session: Session) -> None:
        points = session.points
        hand, point = np.zeros((len(self.grasps), 3)), np.full((len(self.grasps), 3), np.nan)
        wrench, felt = (np.zeros((len(self.grasps), 6)) for _ in range(2))
        energy = np.zeros(len(self.grasps))
        for k, grasp in enumerate(self.grasps):
            hand[k], wrench[k], felt[k], energy[k] = grasp.hand, grasp.wrench, grasp.felt, grasp.energy[0]
            if grasp.number in points:
                point[k] = points[grasp.number]
        self._rows.append((time, hand, point, wrench, felt, energy))

    def finish(self) -> Trace:
        if self._rows:
            times, hand, point, wrench, felt, energy = zip(*self._rows, strict=True)
            self.times, self.energy = np.array(times), np.array(energy)
            self.hand, self.point = np.array(hand), np.array(point)
            self.wrench, self.felt = np.array(wrench), np.array(felt)
        self._rows = []
        return self
