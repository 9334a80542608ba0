"""The implicit midpoint rule on the joint manifold: for long conservative runs."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulate.one_step import DEFAULTS, Acceleration, Settings, Step

FloatArray = NDArray[np.float64]

EPS = float(np.finfo(float).eps)
REMEMBERED = 5  # former iterates that speed up the solution
ROUNDING_FLOOR = 1e-9  # a residual that no longer falls, but lies below this part of the velocities, is rounding
PATIENCE = 6  # iterations without progress that count as "no longer falls"


def implicit_midpoint(
    model: Model, state: State, h: float, acceleration: Acceleration, settings: Settings = DEFAULTS
) -> Step:
    """v⁺ = v + h q̈(q ⊕ ½ h v̄, v̄), q⁺ = q ⊕ h v̄ with v̄ = ½ (v + v⁺). Order 2, symmetric in time.

    Solved to settings.solve_tolerance times the largest velocity (or as far as rounding allows) by fixed-point steps that
    Anderson's method accelerates; raises StateError where they do not converge.
    """
    q, v = state
    half = 0.5 * h
    middle = v + half * acceleration(q, v)
    residuals: list[FloatArray] = []
    images: list[FloatArray] = []
    best, since = math.inf, 0
    unseen = EPS * (1.0 + float(np.abs(q).max(initial=0.0))) / h  # velocities that no coordinate would show
    for k in range(2, settings.max_iterations + 1):
        try:
            image = v + half * acceleration(model.integrate(q, middle, half), middle)
        except StateError as fault:
            raise StateError(f"implicit midpoint did not converge: {fault} Take a step smaller than {h:g} s.") from fault
        residual = image - middle
        size = float(np.abs(residual).max(initial=0.0))
        scale = float(np.abs(image).max(initial=0.0)) + float(np.abs(image - v).max(initial=0.0))
        since = 0 if size < 0.5 * best else since + 1
        best = min(best, size)
        if size <= settings.solve_tolerance * scale or (since >= PATIENCE and size <= ROUNDING_FLOOR * scale + unseen):
            return Step(State(model.integrate(q, image, h), 2.0 * image - v), k)
        residuals, images = [*residuals[-REMEMBERED:], residual], [*images[-REMEMBERED:], image]
        middle = _anderson(residuals, images)
    raise StateError(
        f"implicit midpoint did not converge: after {settings.max_iterations} evaluations its equation is open by "
        f"{size:.2g} rad/s or m/s, and {settings.solve_tolerance * scale:.2g} is asked for. Take a step smaller than "
        f"{h:g} s."
    )


def _anderson(residuals: list[FloatArray], images: list[FloatArray]) -> FloatArray:
    """The next guess: the image of the combination of former guesses whose residual is smallest (Anderson 1965)."""
    if len(residuals) < 2:
        return images[-1]
    F = np.diff(np.array(residuals), axis=0)
    G = np.diff(np.array(images), axis=0)
    weights = np.linalg.lstsq(F.T, residuals[-1], rcond=1e-10)[0]
    return np.asarray(images[-1] - weights @ G)
