"""One linkage, sixty digits, and what a quasi-static simulation claims about its own error."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import linkwork as lw
from linkwork.adaptive.measures import MEASURES
from linkwork.model.model import Model
from linkwork.reference.many_digits import accelerations_at_rest

from .linkages import hostile_linkage, random_loads

FloatArray = NDArray[np.float64]

TOLERANCES = (0.1, 1e-3, 1e-6, 1e-9, 0.0)  # absolute ones times the largest acceleration
ALLOWED = 1e-9  # of the largest acceleration, that a bound may be wrong by
LOADS = 3  # one after the other on the same simulation: what it learned about rounding goes on to the next
CHECKS = len(MEASURES) * len(TOLERANCES) * LOADS  # for each linkage


class Check(NamedTuple):
    """What a solve claimed, and what is true, both relative to the largest acceleration."""

    measure: str
    tolerance: float
    error: float
    bound: float
    floor: float
    reached: bool

    @property
    def is_wrong(self) -> bool:
        return self.reached and not self.error <= self.bound + ALLOWED

    @property
    def is_wrong_in_any_case(self) -> bool:
        """Whether the bound does not hold, said to be reached or not."""
        return not self.error <= self.bound + ALLOWED


def check_linkage(seed: int, number: int) -> list[Check] | None:
    """All checks of one linkage; None where the model or the simulation refuses it."""
    rng = np.random.default_rng([seed, number])
    model = hostile_linkage(rng)
    if model.nv == 0:
        return None
    state = model.random_state(rng, speed=0.0)
    loads = [random_loads(rng, model) for _ in range(LOADS)]
    truth = [accelerations_at_rest(model, state.q, *load).astype(float) for load in loads]
    if not all(1e-100 < np.abs(expected).max() < 1e100 for expected in truth):
        return None
    checks: list[Check] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)  # tolerances below the floor are meant
        for measure in MEASURES:
            try:
                sim = lw.QuasiStatics(model, state, tolerance=1.0, measure=measure)
                for load, expected in zip(loads, truth, strict=True):
                    _apply(sim, *load)
                    checks += [_check(sim, model, measure, x, expected) for x in TOLERANCES]
            except lw.StateError:
                return None
    return checks


def _apply(sim: lw.QuasiStatics, effort: FloatArray, wrenches: FloatArray) -> None:
    sim.clear_loads()
    sim.set_efforts(effort)
    for body in np.flatnonzero(wrenches.any(axis=1)):
        sim.apply_wrench(int(body), force=wrenches[body, 3:], torque=wrenches[body, :3], frame="body")


def _check(sim: lw.QuasiStatics, model: Model, measure: str, tolerance: float, expected: FloatArray) -> Check:
    is_relative, largest = measure.startswith("relative"), float(np.abs(expected).max())
    report = sim.solve(tolerance if is_relative else tolerance * largest)
    missed, whole = sim.acceleration - expected, expected
    if measure.endswith("joint"):
        error, size = _largest_joint(model, missed), _largest_joint(model, whole)
    else:
        error, size = float(np.linalg.norm(missed)), float(np.linalg.norm(whole))
    scale = size if is_relative else largest
    claimed = 1.0 if is_relative else largest
    return Check(
        measure,
        tolerance,
        error / scale,
        report.error_bound / claimed,
        report.rounding_floor / claimed,
        report.reached,
    )


def _largest_joint(model: Model, accelerations: FloatArray) -> float:
    return max(float(np.linalg.norm(accelerations[model.v_slice(i)])) for i in range(model.n_bodies))
