"""The gait as a fixed point: the step map, its fixed point by Newton, its Floquet multipliers.

Just after a heel strike both feet are on the ground, so the stance leg's angle fixes the hip's, and three numbers say
everything: x = (stance angle, stance rate, hip rate). One step maps x to x; legs change roles, which the map's coordinates
hide because they name legs by their roles. A gait is x = P(x); the eigenvalues of P' there are its Floquet multipliers.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray
from linkwork.errors import StateError
from linkwork.scenarios.walker.gait import SLOPE, Stance, Step, Walker, first_step, standing, walk_one_step

RESIDUAL = 1e-11  # of the fixed point [rad, rad/s]: the noise of the step map is some 1e-13
NEWTON_STEPS = 25
DIFFERENCE = 1e-5  # [rad, rad/s] central differences of the map: truncation 1e-10 meets noise 1e-13/1e-5
LARGEST_MOVE = 0.1  # of one Newton step in any coordinate: further away the map may not be defined
SMALLEST_PART = 1.0 / 64.0  # of the way to other parameters, before continuation gives up
SLOPE_MOVE = 0.01  # [rad] of slope a stretch of continuation begins with
RATIO_MOVE = 0.2  # of the logarithms of mass ratios


class Gait(NamedTuple):
    """A periodic gait of one step."""

    walker: Walker
    start: FloatArray  # (3,) x just after a strike: stance angle [rad], stance rate, hip rate [rad/s]
    step: Step  # one step of it, with samples
    residual: float  # largest entry of |P(x) - x|
    multipliers: NDArray[np.complex128]  # (3,) largest first

    @property
    def period(self) -> float:
        """Of one step [s]."""
        return self.step.duration

    @property
    def step_length(self) -> float:
        """[m]"""
        return self.step.length

    @property
    def is_stable(self) -> bool:
        return bool(np.abs(self.multipliers).max() < 1.0)


def stance_at(walker: Walker, x: FloatArray) -> Stance:
    """The walker just after a strike, on its left foot at the origin."""
    leg, rate, hip_rate = (float(value) for value in x)
    return standing(walker, np.array([leg, walker.double_support(leg)]), np.array([rate, hip_rate]))


def section(stance: Stance) -> FloatArray:
    """x of a stance just after a strike, shape (3,)."""
    return np.array([stance.state.q[0], *stance.state.v])


def step_map(walker: Walker, x: FloatArray) -> FloatArray:
    """P(x): one step further."""
    return section(walk_one_step(walker, stance_at(walker, x)).end)


def step_map_derivative(walker: Walker, x: FloatArray) -> FloatArray:
    """P'(x) by central differences, shape (3, 3)."""
    columns = []
    for d in range(3):
        move = np.zeros(3)
        move[d] = DIFFERENCE
        columns.append((step_map(walker, x + move) - step_map(walker, x - move)) / (2.0 * DIFFERENCE))
    return np.array(columns).T


def find_gait(walker: Walker, guess: FloatArray | None = None, require_stable: bool = False) -> Gait:
    """The gait of one step that a walker has on its slope.

    guess: x near the gait; without one, the gait of table 1 is followed from its parameters to these.
    require_stable: refuse a gait from which small disturbances grow.
    Raises StateError when there is none to be found.
    """
    if walker.slope <= 0.0:
        raise StateError(
            f"a slope of {walker.slope:.4g} rad cannot keep a passive walker going: every strike takes energy that "
            "only walking downhill gives back. Choose a slope > 0, some 0.005 to 0.08 rad."
        )
    x = _continued(walker) if guess is None else _newton(walker, np.array(guess, dtype=float))
    step = walk_one_step(walker, stance_at(walker, x), record=True)
    residual = float(np.abs(section(step.end) - x).max())
    multipliers = np.linalg.eigvals(step_map_derivative(walker, x)).astype(complex)
    order = np.argsort(-np.abs(multipliers))
    gait = Gait(walker, x, step, residual, multipliers[order])
    if require_stable and not gait.is_stable:
        raise StateError(
            f"{_words(walker)}, has a gait (period {gait.period:.3f} s, step {gait.step_length:.3f} m), but no stable one: "
            f"its largest multiplier has the modulus {abs(gait.multipliers[0]):.3f} > 1, so every disturbance grows. "
            "Choose a smaller slope or a heavier hip."
        )
    return gait


def _newton(walker: Walker, x: FloatArray) -> FloatArray:
    best, least = x, math.inf
    for _ in range(NEWTON_STEPS):
        try:
            left = step_map(walker, x) - x
            if np.abs(left).max() < least:
                best, least = x, float(np.abs(left).max())
            elif least <= RESIDUAL:
                return best
            if least == 0.0:
                return best
            move = np.linalg.solve(step_map_derivative(walker, x) - np.eye(3), -left)
        except (StateError, np.linalg.LinAlgError) as error:
            raise StateError(f"{_words(walker)}, takes no steps near the guess: {error}") from None
        x = x + move * min(1.0, LARGEST_MOVE / max(float(np.abs(move).max()), 1e-300))
        if least <= RESIDUAL and np.abs(move).max() <= RESIDUAL:
            break
    if least > RESIDUAL:
        raise StateError(
            f"{_words(walker)}: no gait of one step was found; Newton's iteration left a residual of {least:.1e}. "
            "Passive walkers need a gentle slope downwards, some 0.005 to 0.08 rad."
        )
    return best


def _continued(walker: Walker) -> FloatArray:
    """From the gait of table 1 to this walker's, a stretch of the parameters at a time."""
    home = Walker()
    x = _newton(home, section(first_step(home)))
    moves = [
        abs(walker.slope - SLOPE) / SLOPE_MOVE,
        abs(math.log(walker.hip_mass / walker.leg_mass / 2.0)) / RATIO_MOVE,
        abs(math.log(walker.mass_from_hip / 0.5)) / RATIO_MOVE,
    ]
    part = 1.0 / max(1.0, math.ceil(max(moves)))
    done, smallest, previous = 0.0, part * SMALLEST_PART, None
    while done < 1.0:
        goal = min(1.0, done + part)
        try:
            guess = x if previous is None else x + (x - previous[1]) * (goal - done) / (done - previous[0])
            found = _newton(_between(walker, goal), guess)
        except StateError as error:
            part *= 0.5
            if part < smallest:
                raise StateError(
                    f"{_words(walker)}: no gait was found. The gait of table 1 could be followed only to "
                    f"{_words(_between(walker, done))}. {error}"
                ) from None
            continue
        previous, x, done = (done, x), found, goal
    return x / np.array([1.0, walker.time_unit, walker.time_unit])


def _between(walker: Walker, part: float) -> Walker:
    """Part of the way from table 1 to a walker, with legs of 1 m: length only stretches time."""

    def between(home: float, there: float) -> float:
        return home * (there / home) ** part

    return replace(
        walker,
        slope=SLOPE + part * (walker.slope - SLOPE),
        leg_length=1.0,
        leg_mass=1.0,
        hip_mass=between(2.0, walker.hip_mass / walker.leg_mass),
        mass_from_hip=between(0.5, walker.mass_from_hip),
    )


def _words(walker: Walker) -> str:
    return (
        f"the walker with hip mass {walker.hip_mass:.3g} kg, leg mass {walker.leg_mass:.3g} kg at "
        f"{walker.mass_from_hip:.3g} of its {walker.leg_length:.3g} m from the hip, on a slope of {walker.slope:.4g} rad"
    )
