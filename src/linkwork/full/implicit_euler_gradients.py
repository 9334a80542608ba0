"""A step of linearly implicit Euler, backwards: the implicit function theorem on its linear equation.

    R = (M/h² + ∂²U + d/h) x - τ(q) - M v / h + c(q, v) = 0,   v⁺ = x / h,   q⁺ = q ⊕ x

With weights g on x and the step's own matrix, which is symmetric, (M/h² + ∂²U + d/h) y = g, and all gradients are those of
-y · R. Without ∂²U and d it is inverse dynamics with the acceleration x/h² - v/h; y · ∂²U x is in `curvature`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.derivatives import inverse
from linkwork.derivatives.stepping.explicit_steps import moved_back
from linkwork.derivatives.stepping.joint_laws import JointLaws
from linkwork.derivatives.stepping.step_gradients import UNSEEN, Seen, StepGradients, StepMap
from linkwork.derivatives.stepping.steps import STEPS
from linkwork.derivatives.stepping.world_loads import WorldLoads
from linkwork.errors import StateError
from linkwork.full.curvature import Curvature
from linkwork.full.implicit_euler import ImplicitEuler
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.moving import OK
from linkwork.statics.elimination.workspace import Acting

MISSED = 1e-9  # part of the velocities by which the step made again may miss them: the same sweeps, so rounding


class ImplicitEulerStep(StepMap):
    """The map of one step of h [s] by "implicit_euler"."""

    def __init__(self, sim: Any, h: float):
        self.model, self.h = sim.model, h
        model: Model = sim.model
        saved, table = sim.checkpoint(), sim.view.loads
        self.laws = JointLaws(model, np.asarray(saved["motor"], dtype=float), 0.0)
        self.loads = WorldLoads.of_simulation(model, sim.loads, saved)
        count = table.count
        self.held = (table.wrench.copy(), table.table[:count].copy(), table.body[:count].copy())
        self.euler = ImplicitEuler(model)

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray, seen: Seen = UNSEEN
    ) -> StepGradients:
        """Gradients before the step from those after it, by_q (along the tangent there) and by_v, each (nv,)."""
        h, model = self.h, self.model
        dof = model.arrays.dof
        held = self.laws.set_laws(before, before.v)
        stiffer = self.laws.table[:, layout.STIFFNESS] - dof[:, layout.STIFFNESS]  # by motors
        damper = self.laws.table[:, layout.DAMPING]
        x = h * self._made_again(before, after, effort, held, stiffer, damper - dof[:, layout.DAMPING])
        start, by_x = moved_back(model, x, 1.0, by_q)
        y = self.euler.solve(by_x + by_v / h)
        undamped = self.laws.table.copy()
        undamped[:, layout.DAMPING] = 0.0
        pushed = replace(model, arrays=model.arrays._replace(dof=undamped))
        _, pull = inverse.vjp(pushed, before, x / (h * h) - before.v / h, self.loads.wrenches(before))
        found: Any = pull(-y)
        curved = Curvature(model, self.loads, before.q).mixed(x, -y)
        return StepGradients(
            start + found.q + curved.q + self.loads.back(before, found.wrenches),
            found.v - found.acceleration / h,
            y,
            found.inertias + curved.inertias,
            found.gravity + curved.gravity,
            found.stiffness + curved.stiffness,
            -x * y / h,
            found.armature,
        )

    def _made_again(
        self, before: State, after: State, effort: FloatArray, held: FloatArray, stiffer: FloatArray, damper: FloatArray
    ) -> FloatArray:
        """The velocities after the step; leaves its matrix, factored."""
        q, v = before.q.copy(), before.v.copy()
        rest = self.model.arrays.rest[self.laws.of_v]
        pull = held - stiffer * (q[self.laws.of_v] - rest) - damper * v
        status = self.euler.step(q, v, self.h, Acting(effort, *self.held), np.column_stack([pull, stiffer, damper]))
        size = max(float(np.abs(after.v).max(initial=0.0)), float(np.abs(before.v).max(initial=0.0)))
        if status != OK or not np.abs(v - after.v).max(initial=0.0) <= MISSED * size:
            raise StateError(
                f"a step of {self.h:g} s by 'implicit_euler' could not be made again: a motor is at the border of a limit. "
                "Take another step."
            )
        return v


STEPS["implicit_euler"] = ImplicitEulerStep
