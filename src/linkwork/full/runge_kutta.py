"""Explicit Runge-Kutta methods in exponential coordinates (Munthe-Kaas 1999), and the classical one of order four.

The methods work on u and v instead of q and v, where q = q₀ ⊕ u and u = 0 at the start of the step. Both are vectors, so
any tableau keeps its order. Theory: docs/integrators.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.full.one_step import DEFAULTS, Acceleration, Settings, Step
from linkwork.full.tangent import tangent_of
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]

RK4_STAGES = ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
RK4_WEIGHTS = (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)


def rk4(model: Model, state: State, h: float, acceleration: Acceleration, settings: Settings = DEFAULTS) -> Step:
    """The classical Runge-Kutta method in exponential coordinates. Order 4, four evaluations."""
    stages = [explicit_stage(model, state, h, acceleration, [], ())]
    for row in RK4_STAGES[1:]:
        stages.append(explicit_stage(model, state, h, acceleration, stages, row))
    u, dv = combine(stages, RK4_WEIGHTS, h)
    return Step(State(model.integrate(state.q, u), state.v + dv), len(stages))


class Stage(NamedTuple):
    """Rates at a stage of a Runge-Kutta method, both of shape (nv,)."""

    u: FloatArray
    v: FloatArray


def explicit_stage(
    model: Model, state: State, h: float, acceleration: Acceleration, before: Sequence[Stage], row: Sequence[float]
) -> Stage:
    """Rates of u and v at the point that a row of the tableau makes of the stages before."""
    if not before:
        return Stage(state.v, acceleration(*state))
    u, dv = combine(before, row, h)
    v = state.v + dv
    return Stage(tangent_of(model).rate(u, v), acceleration(model.integrate(state.q, u), v))


def combine(stages: Sequence[Stage], weights: Sequence[float], h: float) -> tuple[FloatArray, FloatArray]:
    """h times the weighted sums of both rates."""
    u, v = np.zeros_like(stages[0].u), np.zeros_like(stages[0].v)
    for weight, stage in zip(weights, stages, strict=True):
        if weight:
            u += (h * weight) * stage.u
            v += (h * weight) * stage.v
    return u, v
