"""What every integrator takes and gives: a step of a simulation, as a pure function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]
Acceleration = Callable[[FloatArray, FloatArray], FloatArray]  # (q, v) → q̈


class Settings(NamedTuple):
    """What an integrator may need to know beside the step."""

    rtol: float = 1e-6  # error a substep may make, relative ...
    atol: float = 1e-9  # ... and absolute [rad, m, rad/s, m/s]
    substep: float = math.inf  # substep to try first [s]
    solve_tolerance: float = 1e-12  # of implicit equations, relative to the velocities
    max_iterations: int = 60  # evaluations an implicit step may take


DEFAULTS = Settings()


class Step(NamedTuple):
    """Where a step ended, and what it took."""

    state: State
    evaluations: int  # of the acceleration
    error: float = math.nan  # estimate of the local error, where there is one [rad, m, rad/s or m/s]
    substeps: int = 1
    next_substep: float = math.inf  # what the error control would try next [s]


Integrator = Callable[[Model, State, float, Acceleration, Settings], Step]
