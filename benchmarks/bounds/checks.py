"""One linkage, sixty digits, and what a simulation claims about its own error.

Hostile linkages and those of tiny bodies take turns: even and odd numbers.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import linkwork as lw
from linkwork.adaptive.measures import MEASURES
from linkwork.model.model import Model

from ..reference.many_digits import accelerations, accelerations_at_rest
from .linkages import hostile_linkage, random_loads, tiny_bodies

FloatArray = NDArray[np.float64]

TOLERANCES = (0.1, 1e-3, 1e-6, 1e-9, 0.0)  # absolute ones times the largest acceleration
ALLOWED = 1e-9  # of the largest acceleration, that a bound may be wrong by
ALLOWED_TINY, ALLOWED_IN_MOTION = 1e-6, 1e-3  # the same where bodies are tiny; of AdaptiveDynamics
LOADS = 3  # one after the other on the same simulation: what it learned about rounding goes on to the next
CHECKS = len(MEASURES) * len(TOLERANCES) * LOADS  # for each linkage
UPDATES = 4  # of the active region, for each linkage in motion
SPEEDS = (0.0, 0.1, 1.0)  # [rad/s or m/s]


class Check(NamedTuple):
    """What a solve claimed, and what is true, both relative to the largest acceleration."""

    measure: str
    tolerance: float
    error: float
    bound: float
    floor: float
    reached: bool
    allowed: float

    @property
    def is_wrong(self) -> bool:
        return self.reached and self.is_wrong_in_any_case

    @property
    def is_wrong_in_any_case(self) -> bool:
        """Whether the bound does not hold, said to be reached or not."""
        return not self.error <= self.bound + self.allowed


def is_tiny(number: int) -> bool:
    """Whether linkage `number` is one of tiny bodies."""
    return number % 2 == 1


def drawn(seed: int, number: int) -> tuple[np.random.Generator, Model]:
    rng = np.random.default_rng([seed, number])
    return rng, tiny_bodies(rng) if is_tiny(number) else hostile_linkage(rng)


def check_linkage(seed: int, number: int) -> list[Check] | None:
    """All checks of one linkage; None where the model or the simulation refuses it."""
    rng, model = drawn(seed, number)
    allowed = ALLOWED_TINY if is_tiny(number) else ALLOWED
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
                    checks += [_check(sim, model, measure, x, expected, allowed) for x in TOLERANCES]
            except lw.StateError:
                return None
    return checks


def _apply(sim: lw.QuasiStatics | lw.AdaptiveDynamics, effort: FloatArray, wrenches: FloatArray) -> None:
    sim.clear_loads()
    sim.set_efforts(effort)
    for body in np.flatnonzero(wrenches.any(axis=1)):
        sim.apply_wrench(int(body), force=wrenches[body, 3:], torque=wrenches[body, :3], frame="body")


def _check(
    sim: lw.QuasiStatics, model: Model, measure: str, tolerance: float, expected: FloatArray, allowed: float
) -> Check:
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
        allowed,
    )


def check_in_motion(seed: int, number: int) -> list[Check] | None:
    """What AdaptiveDynamics says after updates of its region; None where the model or the simulation refuses it."""
    rng, model = drawn(seed, number)
    if model.nv == 0:
        return None
    state = model.random_state(rng, speed=float(rng.choice(SPEEDS)))
    measure = str(rng.choice(list(MEASURES)))
    tolerance = float(rng.choice(TOLERANCES[:3])) if rng.random() < 0.6 else None
    few = int(rng.integers(1, model.n_bodies + 1)) if tolerance is None or rng.random() < 0.3 else None
    checks: list[Check] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        try:
            sim = lw.AdaptiveDynamics(model, state, tolerance=tolerance, max_active_joints=few, measure=measure)
            for _ in range(UPDATES):
                load = random_loads(rng, model)
                _apply(sim, *load)
                report = sim.update_region(1e-3)
                truth = accelerations(model, sim.state.q, sim.state.v, *load).astype(float)
                if not 1e-100 < np.abs(truth).max() < 1e100:
                    return checks or None
                checks.append(_check_region(sim, model, report, truth))
                sim.advance(1e-4, 5)
        except lw.StateError:
            return checks or None
    return checks


def _check_region(sim: lw.AdaptiveDynamics, model: Model, report: lw.AdaptiveReport, truth: FloatArray) -> Check:
    """The accelerations that inactive joints hide, and the bound on them."""
    hidden = truth.copy()
    for i in sim.active_bodies.tolist():
        hidden[model.v_slice(i)] = 0.0
    if sim.measure.endswith("joint"):
        error, size = _largest_joint(model, hidden), _largest_joint(model, truth)
    else:
        error, size = float(np.linalg.norm(hidden)), float(np.linalg.norm(truth))
    is_relative, largest = sim.measure.startswith("relative"), float(np.abs(truth).max())
    scale, claimed = (size, 1.0) if is_relative else (largest, largest)
    return Check(
        sim.measure,
        -1.0 if sim.tolerance is None else sim.tolerance,
        error / scale,
        report.error_bound / claimed,
        report.rounding_floor / claimed,
        report.reached,
        ALLOWED_IN_MOTION,
    )


def _largest_joint(model: Model, accelerations: FloatArray) -> float:
    return max(float(np.linalg.norm(accelerations[model.v_slice(i)])) for i in range(model.n_bodies))
