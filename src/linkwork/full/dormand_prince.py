"""Dormand and Prince's embedded pair of orders 5 and 4 in exponential coordinates, with error control."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import StateError
from linkwork.full.one_step import DEFAULTS, Acceleration, Settings, Step
from linkwork.full.runge_kutta import Stage, combine, explicit_stage
from linkwork.full.tangent import tangent_of
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]

# Dormand and Prince 1980, table 2; the last row of stages is the solution of order five.
STAGES = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
FOURTH = (5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40)
DIFFERENCE = tuple(b - c for b, c in zip((*STAGES[-1], 0.0), FOURTH, strict=True))

# The controller of Hairer, Nørsett and Wanner (II.4): a proportional part and a little of the error before.
MEMORY = 0.04
PROPORTION = 0.2 - 0.75 * MEMORY
SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
LEAST_ERROR = 1e-4  # a smaller error before tells the controller nothing
TINIEST = 1e-12  # of the whole step: shorter substeps make no way
CAUTION = 0.01  # first substep of all: the part of the time in which velocities change by their own size


class Trial(NamedTuple):
    """A substep that may be rejected."""

    state: State
    last: Stage  # rates at its end: the first stage of the next substep
    ratio: float  # estimated error, as a part of what is allowed
    error: float  # and as it is [rad, m, rad/s or m/s]


def dormand_prince(
    model: Model, state: State, h: float, acceleration: Acceleration, settings: Settings = DEFAULTS
) -> Step:
    """Substeps of order 5 that end at h exactly, each as long as settings.rtol and atol allow. Six evaluations a substep.

    A substep passes when the estimated error of every coordinate and velocity is at most atol + rtol · its size: |q|, or
    one radian for orientations; |v|. Raises StateError where substeps shrink to nothing.
    """
    first = explicit_stage(model, state, h, acceleration, (), ())
    wish = settings.substep if math.isfinite(settings.substep) else _cautious(state, first, h, settings)
    passed, error, before = 0.0, 0.0, LEAST_ERROR
    evaluations, substeps, rejected = 1, 0, False
    while True:
        left = h - passed
        substep = left if wish >= 0.99 * left else min(wish, 0.5 * left)  # no sliver at the end
        trial, fault = _attempt(model, state, substep, acceleration, first, settings)
        evaluations += len(STAGES) - 1
        ratio = math.inf if trial is None else trial.ratio
        if trial is not None and ratio <= 1.0:
            grow = MOST if ratio == 0.0 else SAFETY * ratio**-PROPORTION * before**MEMORY
            proposal = substep * min(1.0 if rejected else MOST, max(LEAST, grow))
            # A substep cut short by the end of the step says little about the longer one that was wished for.
            wish = max(wish, proposal) if substep < wish and not rejected else proposal
            state, first, before, rejected = trial.state, trial.last, max(ratio, LEAST_ERROR), False
            error, substeps, passed = error + trial.error, substeps + 1, passed + substep
            if substep == left:
                return Step(state, evaluations, error, substeps, wish)
        else:
            wish = substep * (max(LEAST, SAFETY * ratio**-0.2) if math.isfinite(ratio) else LEAST)
            rejected = True
            if wish < TINIEST * h:
                raise _no_way(wish, passed, settings, fault)


def _attempt(
    model: Model, state: State, h: float, acceleration: Acceleration, first: Stage, settings: Settings
) -> tuple[Trial | None, StateError | None]:
    """One substep; none where it leads to states at which accelerations do not exist: a shorter one may not."""
    tangent = tangent_of(model)
    stages = [first]
    try:
        for row in STAGES[1:-1]:
            stages.append(explicit_stage(model, state, h, acceleration, stages, row))
        u, dv = combine(stages, STAGES[-1], h)
        end = State(model.integrate(state.q, u), state.v + dv)
        last = acceleration(*end)
    except StateError as fault:
        return None, fault
    stages.append(Stage(tangent.rate(u, end.v), last))
    error_u, error_v = (np.abs(e) for e in combine(stages, DIFFERENCE, h))
    size_u = np.maximum(tangent.sizes(state.q), tangent.sizes(end.q))
    size_v = np.maximum(np.abs(state.v), np.abs(end.v))
    allowed_u, allowed_v = (settings.atol + settings.rtol * size for size in (size_u, size_v))
    ratio = float(np.concatenate([error_u / allowed_u, error_v / allowed_v]).max(initial=0.0))  # NaN stays NaN
    largest = max(float(error_u.max(initial=0.0)), float(error_v.max(initial=0.0)))
    return Trial(end, Stage(end.v, last), ratio, largest), None


def _cautious(state: State, first: Stage, h: float, settings: Settings) -> float:
    """A first substep that is surely short enough to learn from (Hairer, Nørsett and Wanner, II.4)."""
    scale = settings.atol + settings.rtol * np.abs(state.v)
    speed, change = (float(np.abs(x / scale).max(initial=0.0)) for x in (state.v, first.v))
    return min(h, CAUTION * speed / change) if speed > 1e-5 and change > 1e-5 else CAUTION * h


def _no_way(wish: float, passed: float, settings: Settings, fault: StateError | None) -> StateError:
    why = f"there: {fault}" if fault is not None else "the accelerations jump there, or grow without bound."
    return StateError(
        f"dormand_prince needs substeps below {wish:.1g} s to keep rtol = {settings.rtol:g} and atol = {settings.atol:g} "
        f"after {passed:.6g} s of the step; {why}"
    )
