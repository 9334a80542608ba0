"""A step of the implicit midpoint rule, backwards: the implicit function theorem on its equations.

With m = q ⊕ ½ h v̄ and v⁺ = 2 v̄ - v, q⁺ = q ⊕ h v̄, the mean velocity v̄ and the change of speed μ solve

    f = (1 - μ) v̄ - v - ½ h q̈(m, v̄) = 0,      e = E(q⁺, v⁺) - E(q, v) - h P(m, v̄) = 0    (3) of docs/integrators.md

with P the power of efforts, motors, dampers and loads. Weights g on v̄ go back through the transpose of their derivatives,

    (∂f/∂v̄)ᵀ y + z ∂e/∂v̄ = g,      v̄ · y = 0

and all gradients are those of -(y · f + z e). The equation for y is solved by products; M (M + ½ h d + ¼ h² k)⁻¹ is
close to its inverse. Steps that were made without the balance of energy have z = 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.derivatives import forward, inverse
from linkwork.derivatives.kinematics import Moving, energy_vjp
from linkwork.derivatives.krylov import solve_by_products
from linkwork.derivatives.stepping.accelerations import Accelerated, Accelerations, Total
from linkwork.derivatives.stepping.explicit_steps import SOLVED, moved_back
from linkwork.derivatives.stepping.step_gradients import UNSEEN, Seen, StepGradients, StepMap
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.state import State

BALANCED = 1e-10  # part of the energies that a balanced step may miss: it is solved to 1e-12 of the velocities


class MidpointStep(StepMap):
    """The map of one step of h [s] by "implicit_midpoint"."""

    def __init__(self, sim: Any, h: float):
        self.model, self.h = sim.model, h
        self.accelerations = Accelerations(sim)

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray, seen: Seen = UNSEEN
    ) -> StepGradients:
        h, model, total = self.h, self.model, Total(self.model)
        mean = 0.5 * (before.v + after.v)
        middle = State(model.integrate(before.q, mean, 0.5 * h), mean)
        at = self.accelerations.at(middle.q, middle.v, effort)
        square = float(mean @ mean)
        mu = float(mean @ (mean - before.v - 0.5 * h * at.qdd)) / square if square > 0.0 else 0.0
        total.q, moved = moved_back(model, mean, h, by_q)
        g = moved + 2.0 * by_v
        solve = self._solver(at, mean, mu)
        y, z = solve(g), 0.0
        energies = _Energies(self, before, after, middle, effort, at)
        if square > 0.0 and energies.are_balanced:
            by_mean = energies.by_mean(mean)
            other = solve(by_mean)
            z = float(mean @ y) / float(mean @ other)
            y = y - z * other
        found = at.back(0.5 * h * y)
        total.add(found)
        start, _ = moved_back(model, mean, 0.5 * h, found.q)
        total.q, total.v = total.q + start, y - by_v
        if z != 0.0:
            energies.back(z, mean, total)
        return total.gradients()

    def remember(self, sim: Any) -> FloatArray | None:
        """The mean velocity of the last step, where loops were closed after it."""
        return np.array(sim.view.moving.u) if self.model.loops else None

    def open_end(self, before: State, after: State, effort: FloatArray, seen: Seen) -> State:
        mean: FloatArray = seen[1]
        return State(self.model.integrate(before.q, mean, self.h), 2.0 * mean - before.v)

    def _solver(self, at: Accelerated, mean: FloatArray, mu: float) -> Any:
        """y of (∂f/∂v̄)ᵀ y = g, as a function of g."""
        h, laws = self.h, self.accelerations.laws
        laws.set_laws(at.state, mean)
        dof = laws.table.copy()
        mass = replace(self.model.without_loops, arrays=self.model.arrays._replace(dof=dof.copy()))
        dof[:, layout.ARMATURE] += 0.5 * h * dof[:, layout.DAMPING] + 0.25 * h * h * dof[:, layout.STIFFNESS]
        stiff = replace(self.model.without_loops, arrays=self.model.arrays._replace(dof=dof))
        _, divide = forward.vjp(stiff, at.state, None, wrt=("effort",))
        _, multiply = inverse.vjp(mass, at.state, np.zeros(self.model.nv), wrt=("acceleration",))

        def product(x: FloatArray) -> FloatArray:
            found = at.back(0.5 * h * x)
            _, moved = moved_back(self.model, mean, 0.5 * h, found.q)
            return np.asarray((1.0 - mu) * x - moved - found.v)

        def about_inverse(x: FloatArray) -> FloatArray:
            solved: Any = divide(x)
            return np.asarray(multiply(solved.effort).acceleration)

        def solve(g: FloatArray) -> FloatArray:
            y, left = solve_by_products(product, about_inverse, g)
            if not left <= SOLVED:
                raise StateError(
                    f"a step by 'implicit_midpoint' has no gradient that products find: {left:.1e} of the weights is left. "
                    "Take shorter steps."
                )
            return y

        return solve


class _Energies:
    """The balance of energy of a step: e, and its gradients."""

    def __init__(
        self, step: MidpointStep, before: State, after: State, middle: State, effort: FloatArray, at: Accelerated
    ):
        self.step, self.effort, self.middle, model = step, effort, middle, step.model
        start, self.pull_start = energy_vjp(model, before)
        end, self.pull_end = energy_vjp(model, after)
        laws = step.accelerations.laws
        constant = laws.set_laws(middle, middle.v).copy()
        stiffer = (
            laws.table[:, layout.STIFFNESS] - model.arrays.dof[:, layout.STIFFNESS]
        )  # motors, on products of screws
        self.damping = laws.table[:, layout.DAMPING].copy()
        r = np.where(stiffer != 0.0, middle.q[laws.of_v] - model.arrays.rest[laws.of_v], 0.0)
        self.push = effort + constant - stiffer * r
        self.stiffer, v = stiffer, middle.v
        power = float(v @ (self.push - self.damping * v))
        self.moving, self.wrenches = None, at.wrenches
        if at.wrenches is not None:
            self.moving = Moving(model, middle)
            power += float(np.sum(at.wrenches * self.moving.twists))
        gap = sum(end) - sum(start) - step.h * power
        involved = sum(abs(x) for x in (*start, *end)) + abs(step.h * power)
        self.are_balanced = start.kinetic + end.kinetic > 0.0 and abs(gap) <= BALANCED * involved

    def _power(self) -> tuple[FloatArray, FloatArray]:
        """Gradients of P with respect to the middle's q and v."""
        v = self.middle.v
        by_q, by_v = -self.stiffer * v, self.push - 2.0 * self.damping * v
        if self.moving is not None and self.wrenches is not None:
            more_q, more_v = self.moving.back(None, self.wrenches.copy())  # used up there
            loads = self.step.accelerations.loads
            by_q = by_q + more_q + loads.back(self.middle, self.moving.twists)
            by_v = by_v + more_v
        return by_q, by_v

    def by_mean(self, mean: FloatArray) -> FloatArray:
        """∂e/∂v̄."""
        h, model = self.step.h, self.step.model
        end: Any = self.pull_end((1.0, 1.0))
        _, moved = moved_back(model, mean, h, end.q)
        by_q, by_v = self._power()
        _, half = moved_back(model, mean, 0.5 * h, by_q)
        return np.asarray(moved + 2.0 * end.v - h * (half + by_v))

    def back(self, z: float, mean: FloatArray, total: Total) -> None:
        """Adds the gradients of -z e."""
        h, model = self.step.h, self.step.model
        start: Any = self.pull_start((z, z))
        end: Any = self.pull_end((-z, -z))
        before, _ = moved_back(model, mean, h, end.q)
        by_q, _ = self._power()
        half, _ = moved_back(model, mean, 0.5 * h, z * h * by_q)
        total.q = total.q + start.q + before + half
        total.v = total.v + start.v - end.v
        none, v = np.zeros(model.nv), self.middle.v
        own = (start.stiffness + end.stiffness, -z * h * v * v, start.armature + end.armature)
        inertias, gravity = start.inertias + end.inertias, start.gravity + end.gravity
        total.add(StepGradients(none, none, z * h * v, inertias, gravity, *own))
