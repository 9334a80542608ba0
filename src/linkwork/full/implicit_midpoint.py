"""The implicit midpoint rule on the joint manifold, with its energy kept in balance: for long conservative runs.

The rule alone is symmetric in time, but where the mass matrix changes with q it lets the energy of chaotic motions wander.
As in Gonzalez's discrete gradients (1996), a change of speed along the motion, 2 μ v̄, makes up for what is missing; it is
of third order in h. Theory: docs/integrators.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.front import energy, inverse_dynamics
from linkwork.errors import StateError
from linkwork.full.one_step import DEFAULTS, Acceleration, Settings, Step
from linkwork.model.layout import DAMPING
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]

EPS = float(np.finfo(float).eps)
ENERGY_ROUNDING = 4.0 * EPS  # part of the energies that is rounding ...
LOUD_ROUNDING = 64.0 * EPS  # ... and where linkages move so slowly that correcting it would shake them
QUIET = 1e-12  # change of speed that does not
REMEMBERED = 5  # former iterates that speed up the solution
ROUNDING_FLOOR = 1e-9  # a residual that no longer falls, but lies below this part of the velocities, is rounding
PATIENCE = 6  # iterations without progress that count as "no longer falls"


def implicit_midpoint(
    model: Model, state: State, h: float, acceleration: Acceleration, settings: Settings = DEFAULTS
) -> Step:
    """v⁺ = v + h q̈(q ⊕ ½ h v̄, v̄) + 2 μ v̄, q⁺ = q ⊕ h v̄ with v̄ = ½ (v + v⁺). Order 2, symmetric in time.

    μ makes the energy (kinetic, gravity, joint springs) change by the work of everything else, taken at the midpoint.
    Solved to settings.solve_tolerance times the largest velocity (or as far as rounding allows) by fixed-point steps that
    Anderson's method accelerates; raises StateError where they do not converge.
    """
    q, v = state
    balance = EnergyBalance(model, state, h)
    middle = v + 0.5 * h * acceleration(q, v)
    weight = float(np.abs(middle).max(initial=0.0)) or 1.0  # μ stands behind the velocities as a velocity
    unseen = EPS * (1.0 + float(np.abs(q).max(initial=0.0))) / h  # velocities that no coordinate would show
    guess = np.append(middle, 0.0)
    residuals: list[FloatArray] = []
    images: list[FloatArray] = []
    best, since = math.inf, 0
    for k in range(2, settings.max_iterations + 1):
        middle, mu = guess[:-1], guess[-1] / weight
        try:
            q_middle = model.integrate(q, middle, 0.5 * h)
            force = acceleration(q_middle, middle)
            mu_image = mu + balance.missing(q_middle, middle, force)
        except StateError as fault:
            raise StateError(
                f"implicit midpoint did not converge: {fault} Take a step smaller than {h:g} s."
            ) from fault
        image = np.append(v + 0.5 * h * force + mu_image * middle, weight * mu_image)
        residual = image - guess
        size = float(np.abs(residual).max())
        scale = float(np.abs(image[:-1]).max(initial=0.0)) + float(np.abs(image[:-1] - v).max(initial=0.0))
        if not math.isfinite(size):
            break
        since = 0 if size < 0.5 * best else since + 1
        best = min(best, size)
        if size <= settings.solve_tolerance * scale or (since >= PATIENCE and size <= ROUNDING_FLOOR * scale + unseen):
            middle = image[:-1]
            return Step(State(model.integrate(q, middle, h), 2.0 * middle - v), k)
        residuals, images = [*residuals[-REMEMBERED:], residual], [*images[-REMEMBERED:], image]
        guess = _anderson(residuals, images)
    raise StateError(
        f"implicit midpoint did not converge: after {k} evaluations its equation is open by "
        f"{size:.2g} rad/s or m/s, and {settings.solve_tolerance * scale:.2g} is asked for. Take a step smaller than "
        f"{h:g} s."
    )


class EnergyBalance:
    """What a step from a state does to the energy, beside the work of loads, motors and dampers."""

    def __init__(self, model: Model, state: State, h: float):
        self.model, self.state, self.h = model, state, h
        self.start = energy(model, state)
        self.damping = model.arrays.dof[:, DAMPING]

    def missing(self, q_middle: FloatArray, middle: FloatArray, force: FloatArray) -> float:
        """The change of μ that would bring the energy at the end of the step to where it belongs."""
        model, h = self.model, self.h
        q, v = self.state
        end = energy(model, State(model.integrate(q, middle, h), 2.0 * middle - v))
        # What the accelerations take beyond gravity, springs and dampers is what loads and motors give.
        given = inverse_dynamics(model, State(q_middle, middle), force)
        work = h * float(middle @ given - self.damping @ (middle * middle))
        gap = self.start.total + work - end.total
        moving = self.start.kinetic + end.kinetic
        involved = moving + abs(self.start.potential) + abs(end.potential)
        quiet = ENERGY_ROUNDING * involved <= QUIET * 2.0 * moving
        if abs(gap) <= (ENERGY_ROUNDING if quiet else LOUD_ROUNDING) * involved:
            return 0.0
        return gap / (2.0 * moving)  # ∂E/∂μ = 2 v̄ᵀ M v⁺


def _anderson(residuals: list[FloatArray], images: list[FloatArray]) -> FloatArray:
    """The next guess: the image of the combination of former guesses whose residual is smallest (Anderson 1965)."""
    if len(residuals) < 2:
        return images[-1]
    F = np.diff(np.array(residuals), axis=0)
    G = np.diff(np.array(images), axis=0)
    weights = np.linalg.lstsq(F.T, residuals[-1], rcond=1e-10)[0]
    return np.asarray(images[-1] - weights @ G)
