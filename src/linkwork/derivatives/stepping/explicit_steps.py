"""Steps of the classical Runge-Kutta method and of velocity Verlet, backwards: their stages in the opposite order.

Runge-Kutta works on u and v, with q = start ⊕ u. The second kick of velocity Verlet is an equation for the new velocity,
v⁺ = v½ + ½ h q̈(q⁺, v⁺): its weights y solve y - ½ h (∂q̈/∂v)ᵀ y = λ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.derivatives.krylov import solve_by_products
from linkwork.derivatives.stepping.accelerations import Accelerated, Accelerations, Total
from linkwork.derivatives.stepping.charts import Charts
from linkwork.derivatives.stepping.exponential import integrate_adjoint
from linkwork.derivatives.stepping.step_gradients import UNSEEN, Seen, StepGradients, StepMap
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State

Row = tuple[float, ...]
Rows = tuple[Row, ...]
Stage = tuple[FloatArray, FloatArray, Accelerated, FloatArray]

WEIGHTS: Row = (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)
CLASSICAL: Rows = ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
MOST_KICKS, KICKED = 60, 1e-14  # of the second kick of velocity Verlet, made again; part of the velocities
SOLVED = 1e-9  # part of the weights that may be left where rounding ends the solution


def moved_back(model: Model, u: FloatArray, h: float, by_q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradients with respect to q and u from those with respect to q ⊕ h u."""
    before, moved = np.empty((model.nv, 1)), np.empty((model.nv, 1))
    integrate_adjoint(model.arrays.tree, u[:, None], h, np.ascontiguousarray(by_q)[:, None], before, moved)
    return before[:, 0], moved[:, 0]


class RungeKutta:
    """A step of an explicit method on (u, v), with q = start ⊕ u: rows of the stages before each, and weights."""

    def __init__(self, accelerations: Accelerations, charts: Charts, rows: Rows, weights: Row):
        self.accelerations, self.charts, self.rows, self.weights = accelerations, charts, rows, weights
        self.model = accelerations.model

    def stages(self, start: State, h: float, effort: FloatArray) -> list[Stage]:
        """(u, v, accelerations, rate of u) of all stages."""
        made: list[Stage] = []
        for row in self.rows:
            u, v = np.zeros(self.model.nv), start.v.copy()
            for share, (_, _, at, rate) in zip(row, made, strict=False):
                u, v = u + h * share * rate, v + h * share * at.qdd
            at = self.accelerations.at(self.model.integrate(start.q, u), v, effort)
            made.append((u, v, at, self.charts.rates(u, v)))
        return made

    def way(self, made: list[Stage], h: float) -> FloatArray:
        """u at the end of the step."""
        return np.asarray(sum(h * weight * rate for weight, (*_, rate) in zip(self.weights, made, strict=True)))

    def end(self, start: State, made: list[Stage], h: float) -> State:
        v = start.v + sum(h * weight * at.qdd for weight, (_, _, at, _) in zip(self.weights, made, strict=True))
        return State(self.model.integrate(start.q, self.way(made, h)), v)

    def back(self, made: list[Stage], h: float, by_q: FloatArray, by_v: FloatArray, total: Total) -> None:
        """Gradients with respect to the start into `total.q` and `total.v`; all others are added to it."""
        model, count = self.model, len(made)
        total.q, by_way = moved_back(model, self.way(made, h), 1.0, by_q)
        total.v = by_v.copy()
        by_rate = [h * weight * by_way for weight in self.weights]
        by_qdd = [h * weight * by_v for weight in self.weights]
        for k in range(count - 1, -1, -1):
            u, v, at, _ = made[k]
            found = at.back(by_qdd[k])
            total.add(found)
            by_u, by_stage = self.charts.rates_back(u, v, by_rate[k])
            start, moved = moved_back(model, u, 1.0, found.q)
            by_u, by_stage = by_u + moved, by_stage + found.v
            total.q, total.v = total.q + start, total.v + by_stage
            for e, share in enumerate(self.rows[k][:k]):
                by_rate[e], by_qdd[e] = by_rate[e] + h * share * by_u, by_qdd[e] + h * share * by_stage


class RungeKuttaStep(StepMap):
    """The map of one step of h [s] by "rk4"."""

    def __init__(self, sim: Any, h: float):
        self.model, self.h = sim.model, h
        self.method = RungeKutta(Accelerations(sim), Charts(sim.model), CLASSICAL, WEIGHTS)

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray, seen: Seen = UNSEEN
    ) -> StepGradients:
        total = Total(self.model)
        self.method.back(self.method.stages(before, self.h, effort), self.h, by_q, by_v, total)
        return total.gradients()

    def open_end(self, before: State, after: State, effort: FloatArray, seen: Seen) -> State:
        return self.method.end(before, self.method.stages(before, self.h, effort), self.h)


class KickDriftKickStep(StepMap):
    """The map of one step of h [s] by "kick_drift_kick"."""

    def __init__(self, sim: Any, h: float):
        self.model, self.h = sim.model, h
        self.accelerations = Accelerations(sim)

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray, seen: Seen = UNSEEN
    ) -> StepGradients:
        half, total = 0.5 * self.h, Total(self.model)
        first = self.accelerations.at(before.q, before.v, effort)
        second = self.accelerations.at(after.q, after.v, effort)
        drift = before.v + half * first.qdd
        y, left = solve_by_products(lambda x: x - half * second.back(x).v, lambda x: x, by_v)
        if not left <= SOLVED:
            raise StateError(
                f"the second kick of a step has no gradient that products find: {left:.1e} of the weights is left. Take "
                "shorter steps."
            )
        kicked = second.back(half * y)
        total.add(kicked)
        total.q, moved = moved_back(self.model, drift, self.h, by_q + kicked.q)
        by_drift = y + moved
        found = first.back(half * by_drift)
        total.add(found)
        total.q, total.v = total.q + found.q, by_drift + found.v
        return total.gradients()

    def open_end(self, before: State, after: State, effort: FloatArray, seen: Seen) -> State:
        half = 0.5 * self.h
        drift = before.v + half * self.accelerations.at(before.q, before.v, effort).qdd
        q, v = self.model.integrate(before.q, drift, self.h), after.v
        for _ in range(MOST_KICKS):
            new = drift + half * self.accelerations.at(q, v, effort).qdd
            change, v = float(np.abs(new - v).max(initial=0.0)), new
            if change <= KICKED * float(np.abs(v).max(initial=0.0)):
                break
        return State(q, v)
