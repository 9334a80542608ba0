"""Steps of the classical Runge-Kutta method and of velocity Verlet, backwards: their stages in the opposite order.

Runge-Kutta works on u and v, with q = start ⊕ u. The second kick of velocity Verlet is an equation for the new velocity,
v⁺ = v½ + ½ h q̈(q⁺, v⁺): its weights y solve y - ½ h (∂q̈/∂v)ᵀ y = λ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.derivatives.accelerations import Accelerations, Total
from linkwork.derivatives.charts import Charts
from linkwork.derivatives.exponential import integrate_adjoint
from linkwork.derivatives.krylov import solve_by_products
from linkwork.derivatives.step_gradients import StepGradients
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]

WEIGHTS, SPANS = (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0), (0.5, 0.5, 1.0)  # of the four stages
SOLVED = 1e-9  # part of the weights that may be left where rounding ends the solution


def moved_back(model: Model, u: FloatArray, h: float, by_q: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradients with respect to q and u from those with respect to q ⊕ h u."""
    before, moved = np.empty((model.nv, 1)), np.empty((model.nv, 1))
    integrate_adjoint(model.arrays.tree, u[:, None], h, np.ascontiguousarray(by_q)[:, None], before, moved)
    return before[:, 0], moved[:, 0]


class RungeKuttaStep:
    """The map of one step of h [s] by "rk4"."""

    def __init__(self, sim: Any, h: float):
        self.model, self.h = sim.model, h
        self.accelerations, self.charts = Accelerations(sim), Charts(sim.model)

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray
    ) -> StepGradients:
        h, model = self.h, self.model
        stages: list[tuple[FloatArray, FloatArray, Any]] = []
        u, v, way = np.zeros(model.nv), before.v, np.zeros(model.nv)
        for k, weight in enumerate(WEIGHTS):
            at = self.accelerations.at(model.integrate(before.q, u), v, effort)
            stages.append((u, v, at))
            rate = self.charts.rates(u, v)
            way = way + h * weight * rate
            if k < 3:
                u, v = h * SPANS[k] * rate, before.v + h * SPANS[k] * at.qdd
        total = Total(model)
        total.q, by_way = moved_back(model, way, 1.0, by_q)
        total.v = by_v.copy()
        next_u, next_v = np.zeros(model.nv), np.zeros(model.nv)
        for k in range(3, -1, -1):
            u, v, at = stages[k]
            span = SPANS[k] if k < 3 else 0.0
            found = at.back(h * WEIGHTS[k] * by_v + h * span * next_v)
            total.add(found)
            by_u, by_stage = self.charts.rates_back(u, v, h * WEIGHTS[k] * by_way + h * span * next_u)
            start, moved = moved_back(model, u, 1.0, found.q)
            next_u, next_v = by_u + moved, by_stage + found.v
            total.q, total.v = total.q + start, total.v + next_v
        return total.gradients()


class KickDriftKickStep:
    """The map of one step of h [s] by "kick_drift_kick"."""

    def __init__(self, sim: Any, h: float):
        self.model, self.h = sim.model, h
        self.accelerations = Accelerations(sim)

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray
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
