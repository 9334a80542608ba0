"""A step by Dormand and Prince's method, backwards: its substeps, whose lengths are held, in the opposite order.

The lengths are found anew by the controller of `simulation.integrators.dormand_prince`, from the one it proposed before
the step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.derivatives.stepping.accelerations import Accelerations, Total
from linkwork.derivatives.stepping.charts import Charts
from linkwork.derivatives.stepping.explicit_steps import RungeKutta, Stage
from linkwork.derivatives.stepping.step_gradients import UNSEEN, Seen, StepGradients, StepMap
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.state import State
from linkwork.simulation.integrators.dormand_prince import (
    CAUTION,
    DIFFERENCE,
    LAST,
    LEAST,
    LEAST_ERROR,
    MEMORY,
    MOST,
    PROPORTION,
    SAFETY,
    STAGES,
)
from linkwork.simulation.moving import PROPOSED_STEP

APART = 1e-9  # part of coordinates and velocities: other substeps would differ by what `rtol` allows, or end elsewhere
MOST_SUBSTEPS = 100_000


class DormandPrinceStep(StepMap):
    """The map of one step of h [s] by "dormand_prince"."""

    def __init__(self, sim: Any, h: float):
        self.model, self.h, self.rtol, self.atol = sim.model, h, sim.rtol, sim.atol
        rows = tuple(row[:k] for k, row in enumerate(STAGES[:LAST]))
        self.method = RungeKutta(Accelerations(sim), Charts(sim.model), rows, STAGES[LAST])

    def remember(self, sim: Any) -> float:
        """How long a substep the controller proposes [s]."""
        return float(sim.view.moving.numbers[PROPOSED_STEP])

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray, seen: Seen = UNSEEN
    ) -> StepGradients:
        substeps, end = self._substeps(before, effort, math.nan if seen[0] is None else seen[0])
        size = 1.0 + np.abs(self.model.difference(before.q, after.q)).max()
        speed = np.abs(before.v).max() + np.abs(after.v).max()
        if not (
            np.abs(self.model.difference(end.q, after.q)).max() <= APART * size
            and np.abs(end.v - after.v).max() <= APART * max(speed, 1e-300)
        ):
            raise StateError(
                "the substeps of a step by 'dormand_prince' could not be found again; take a shorter step or another rtol."
            )
        total = Total(self.model)
        for length, made in reversed(substeps):
            self.method.back(made, length, by_q, by_v, total)
            by_q, by_v = total.q, total.v
        return total.gradients()

    def open_end(self, before: State, after: State, effort: FloatArray, seen: Seen) -> State:
        return self._substeps(before, effort, math.nan if seen[0] is None else seen[0])[1]

    def _substeps(
        self, start: State, effort: FloatArray, proposed: float
    ) -> tuple[list[tuple[float, list[Stage]]], State]:
        """Lengths and stages of the substeps that the controller accepts, and where they end."""
        found: list[tuple[float, list[Stage]]] = []
        passed, before, rejected = 0.0, LEAST_ERROR, False
        while len(found) < MOST_SUBSTEPS:
            if not math.isfinite(proposed):
                proposed = self._cautious(start, effort)
            left = self.h - passed
            length = left if proposed >= 0.99 * left else min(proposed, 0.5 * left)
            made = self.method.stages(start, length, effort)
            end, ratio = self._end(start, effort, made, length)
            if not ratio <= 1.0:
                proposed = length * (max(LEAST, SAFETY * ratio**-0.2) if math.isfinite(ratio) else LEAST)
                rejected = True
                continue
            grow = MOST if ratio == 0.0 else SAFETY * ratio**-PROPORTION * before**MEMORY
            proposal = length * min(1.0 if rejected else MOST, max(LEAST, grow))
            proposed = max(proposed, proposal) if length < proposed and not rejected else proposal
            found.append((length, made))
            start, before, rejected = end, max(ratio, LEAST_ERROR), False
            if length == left:
                break
            passed += length
        return found, start

    def _end(self, start: State, effort: FloatArray, made: list[Stage], h: float) -> tuple[State, float]:
        """Where a substep ends, and its estimated error as a part of what is allowed."""
        method = self.method
        u, end = method.way(made, h), method.end(start, made, h)
        v = end.v
        last = method.accelerations.at(end.q, end.v, effort)
        rates = [*(rate for *_, rate in made), method.charts.rates(u, v)]
        accelerations = [*(at.qdd for _, _, at, _ in made), last.qdd]
        off_u = np.abs(sum(h * d * rate for d, rate in zip(DIFFERENCE, rates, strict=True)))
        off_v = np.abs(sum(h * d * qdd for d, qdd in zip(DIFFERENCE, accelerations, strict=True)))
        size = np.maximum(self._sizes(start.q), self._sizes(end.q))
        part_u = off_u / (self.atol + self.rtol * size)
        part_v = off_v / (self.atol + self.rtol * np.maximum(np.abs(start.v), np.abs(v)))
        return end, float(max(part_u.max(), part_v.max()))

    def _sizes(self, q: FloatArray) -> FloatArray:
        """What errors of coordinates compare with, shape (nv,)."""
        out = np.ones(self.model.nv)
        for row in self.model.arrays.tree:
            k, j, n = row[layout.Q], row[layout.V], row[layout.DOF]
            if row[layout.KIND] == layout.FREE:
                out[j + 3 : j + 6] = np.linalg.norm(q[k : k + 3])
            elif row[layout.KIND] != layout.SPHERICAL:
                out[j : j + n] = np.abs(q[k : k + n])
        return out

    def _cautious(self, start: State, effort: FloatArray) -> float:
        scale = self.atol + self.rtol * np.abs(start.v)
        speed = float((np.abs(start.v) / scale).max())
        change = float((np.abs(self.method.accelerations.at(start.q, start.v, effort).qdd) / scale).max())
        return min(self.h, CAUTION * speed / change) if speed > 1e-5 and change > 1e-5 else CAUTION * self.h
