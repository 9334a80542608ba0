"""A step of the variational integrator, backwards: the implicit function theorem on its discrete equations.

    F = M(q) v + ½ h (τ(q) + τ̄) - J(q)ᵀ Λ₀ = 0,      M(q⁺) v⁺ = J(q⁺)ᵀ Λ₁ + ½ h (τ(q⁺) + τ̄)          (5)

(docs/integrators.md). Λ₀, Λ₁ are momenta of the bodies in their frames at both ends, τ̄ springs, dampers and motors of
joints at the middle. With weights λ on v⁺, the second is forward dynamics from rest under the momenta as wrenches:
μ = M(q⁺)⁻¹ λ. What that leaves as a gradient g with respect to q⁺ goes through the first, (-∂F/∂q⁺)ᵀ y = g
(`discrete_adjoint`). The first is inverse dynamics from rest with the acceleration v: its gradients with the weights y are
those by q, v and the model.

With loops both equations have their forces: the first those that hold at the start, ½ h J(q)ᵀW with springs and dampers
half way through the step, the second impulses that leave no slip.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.bundles import describe
from linkwork.derivatives import forward, inverse
from linkwork.derivatives.stepping.accelerations import solve
from linkwork.derivatives.stepping.charts import Charts
from linkwork.derivatives.stepping.euler import springs_of
from linkwork.derivatives.stepping.joint_laws import JointLaws
from linkwork.derivatives.stepping.step_gradients import UNSEEN, Seen, StepGradients, StepMap
from linkwork.derivatives.stepping.world_loads import WorldLoads
from linkwork.derivatives.sweeps.kinematic_sweeps import spring_pulls
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.backward.chart_blocks import ChartBlocks
from linkwork.simulation.backward.discrete_adjoint import (
    SOLVED,
    VARIATIONAL_COLUMNS,
    VARIATIONAL_DOF_COLUMNS,
    Discrete,
    compare_ends,
    discrete_adjoint,
    discrete_momenta,
)

# Part of the velocities by which a step may miss the equations: they are solved to 1e-12 of the displacements and a
# billionth of their cubes. A step that was made in parts misses them by the error of a step, some 1e-3 of their change.
MISSED = 1e-6
ROUNDED = (
    16.0 * np.finfo(float).eps
)  # of the coordinates, in displacements: some bits, of which steps from rest have few


class VariationalStep(StepMap):
    """The map of one step of h [s] by "variational", made in one part."""

    def __init__(self, sim: Any, h: float):
        self.model: Model = sim.model
        self.h = h
        saved = sim.checkpoint()
        self.laws = JointLaws(self.model, np.asarray(saved["motor"], dtype=float), 0.0)
        self.loads = WorldLoads.of_simulation(self.model, sim.loads, saved)
        self.charts = Charts(self.model)
        arrays = self.model.arrays
        self.armature = arrays.dof[:, layout.ARMATURE].copy()
        dof = arrays.dof.copy()
        dof[:, [layout.STIFFNESS, layout.DAMPING]] = 0.0
        pull = 0.5 * h * arrays.gravity
        self.ending = replace(self.model, arrays=arrays._replace(dof=dof, gravity=pull))
        self.beginning = replace(self.model.without_loops, arrays=arrays._replace(dof=dof, gravity=-pull))
        if self.model.loops:
            ahead = 0.5 * h if sim.implicit_joints else 0.0
            self.half_way = JointLaws(self.model, np.asarray(saved["motor"], dtype=float), ahead)
        own = (
            {"inertias"} if getattr(sim, "has_inertias", True) else set()
        )  # rigid groups of adaptive runs have none of their own
        self.discrete = _memory(self.model, bool(own))
        self.start = inverse.InversePull(self.beginning, frozenset({"q", "acceleration", "gravity", "armature"} | own))
        self.end = forward.ForwardPull(
            self.ending.without_loops, frozenset({"q", "effort", "wrenches", "gravity", "armature"} | own)
        )
        self.still = np.zeros(self.model.nv)
        self.locked = getattr(
            sim, "locked", None
        )  # freedoms that are locked (nv,), which stay where they are to the bit
        self.table = describe(self.discrete)
        self.bodies = np.arange(self.model.n_bodies)

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray, seen: Seen = UNSEEN
    ) -> StepGradients:
        """Gradients before the step from those after it, by_q (along the tangent there) and by_v, each (nv,)."""
        h, s, model = self.h, self.discrete, self.model
        s.start[:], s.q[:] = before.q, after.q
        s.u[:] = model.difference(before.q, after.q)
        if self.locked is not None:
            s.u[self.locked] = 0.0
        discrete_momenta(self.table, h)
        joints = _Joints(self, before.q, s.u, effort)
        # the second equation
        still = self.still
        rest = State(after.q, still)
        loads = self.loads.wrenches(rest)
        pushes = s.at_end if loads is None else s.at_end + 0.5 * h * loads
        if model.loops:
            velocities, pull = solve(self.ending, rest, joints.at_end, pushes)
            end: Any = pull(self._scale(velocities, before, after) * by_v)
        else:
            velocities = forward.solve_in(self.ending, after.q, still, joints.at_end, pushes, self.end.work)
            end = self.end.of(self._scale(velocities, before, after) * by_v)
        s.weights[:] = end.wrenches
        ahead = joints.ahead(end.effort)
        s.right[:] = by_q + end.q + ahead
        if self.loads.count:
            s.right[:] += self.loads.back(rest, 0.5 * h * end.wrenches)
        s.joint[:] = joints.blocks()
        bad = discrete_adjoint(self.table, h)
        if bad != SOLVED:
            raise StateError(f"the step of '{model.body_names[bad]}' has no gradient: its joint resists with nothing.")
        # the first
        rest = State(before.q, still)
        loads = self.loads.wrenches(rest)
        pushes = s.at_start if loads is None else s.at_start - 0.5 * h * loads
        closed = _Closed(self, before, effort, loads) if model.loops else None
        if closed is not None:
            pushes = pushes - 0.5 * h * closed.wrenches
        inverse.solve_in(self.beginning, before.q, still, before.v, pushes, self.start.work)
        start: Any = self.start.of(s.y)
        own = joints.back(s.y, end.effort)
        q = start.q + s.by_start + own.q
        if self.loads.count:
            q += self.loads.back(rest, 0.5 * h * s.virtual)
        found = StepGradients(
            q,
            start.acceleration,
            0.5 * h * (s.y + end.effort),
            start.inertias + end.inertias + s.by_inertias if s.by_inertias.size else s.by_inertias,
            0.5 * h * (end.gravity - start.gravity),
            own.stiffness,
            own.damping,
            start.armature + end.armature + own.armature,
        )
        if closed is None:
            return found
        more = closed.back(0.5 * h * s.virtual)
        return StepGradients(*(one + other for one, other in zip(found, more, strict=True)))

    def remember(self, sim: Any) -> tuple[FloatArray, FloatArray] | None:
        """Mean velocity and mean acceleration of the last step, where loops were closed after it."""
        moving = sim.view.moving
        return (np.array(moving.u), np.array(moving.qdd)) if self.model.loops else None

    def open_end(self, before: State, after: State, effort: FloatArray, seen: Seen) -> State:
        u, qdd = seen[1]
        return State(self.model.integrate(before.q, u, self.h), before.v + self.h * qdd)

    def _scale(self, found: FloatArray, before: State, after: State) -> float:
        """Velocities after the step over those of the equations: one, unless energy was given back (docs/integrators.md).

        Refuses steps that were made in parts, whose ends do not obey the equations.
        """
        if not found.size:  # a region in which nothing moves
            return 1.0
        scale, missed, size, far = compare_ends(found, before.v, after.v, self.discrete.u, after.q, self.h, MISSED)
        if not missed <= MISSED * size + ROUNDED * far / self.h:
            raise StateError(
                f"a step of {self.h:g} s by 'variational' was made in parts, since its energy jumped; such steps have no "
                "gradients. Take shorter steps."
            )
        return scale


class _Closed:
    """The forces of loops where a step begins: wrenches on the bodies in their frames (n, 6), and the way back."""

    def __init__(self, step: VariationalStep, before: State, effort: FloatArray, loads: FloatArray | None):
        self.step, self.before = step, before
        total = effort + step.half_way.set_laws(before, before.v)
        _, self.pull = solve(step.half_way.stepped, before, total, loads)
        self.wrenches: FloatArray = self.pull.loop_wrenches

    def back(self, weights: FloatArray) -> StepGradients:
        """Gradients of weights · wrenches."""
        laws = self.step.half_way
        laws.set_laws(self.before, self.before.v)
        found: Any = self.pull(np.zeros(self.step.model.nv), weights)
        q = found.q + self.step.loads.back(self.before, found.wrenches)
        own = laws.own_gradients(found)
        return StepGradients(q, found.v, found.effort, found.inertias, found.gravity, *own)


class _Own:
    """Gradients that joints have by themselves."""

    q: FloatArray
    stiffness: FloatArray
    damping: FloatArray
    armature: FloatArray


class _Joints:
    """Rotors, efforts, springs, dampers and motors of joints in the step: with a armature and u the displacements,

    -a u / h + ½ h (τ + τ̄)  in the first equation,   a u / h + ½ h (τ + τ̄)  in the second,   τ̄ at q ⊕ ½ u and u / h
    """

    def __init__(self, step: VariationalStep, q: FloatArray, u: FloatArray, effort: FloatArray):
        self.step, self.h, self.u = step, step.h, u
        arrays = step.model.arrays
        self.blocks_of = ChartBlocks(step.charts, u)
        self.middle = step.model.integrate(q, u, 0.5)
        speed = u / self.h
        constant = step.laws.set_laws(State(self.middle, speed), speed)
        self.dof = step.laws.table
        pulls = np.empty(u.size)
        spring_pulls(arrays.tree, self.dof, arrays.rest, self.middle, speed, pulls)
        self.at_end = step.armature * speed + 0.5 * self.h * (effort + constant - pulls)

    def _springs_back(self, weights: FloatArray, by_dof: FloatArray) -> FloatArray:
        """Gradient of weights · (pull of the springs) with respect to the middle."""
        arrays = self.step.model.arrays
        if not self.step.charts.count:  # each freedom has its own spring
            if by_dof.size:
                of_v = self.step.laws.of_v
                by_dof[:, layout.STIFFNESS] = weights * (self.middle[of_v] - arrays.rest[of_v])
            return np.asarray(self.dof[:, layout.STIFFNESS] * weights)
        out = np.zeros(self.step.model.nv)
        springs_of(arrays.tree, self.dof, arrays.rest, self.step.bodies, self.middle, weights, out, by_dof)
        return out

    def _by_u(self, weights: FloatArray, by_dof: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients of weights · ½ h τ̄ with respect to q, with u held, and u."""
        shared = 0.5 * self.h * weights
        by_q, by_u = self.blocks_of.middle_back(self._springs_back(-shared, by_dof))
        return by_q, by_u - self.dof[:, layout.DAMPING] / self.h * shared

    def ahead(self, mu: FloatArray) -> FloatArray:
        """Gradient with respect to q⁺ of the second equation's part, with weights μ."""
        _, by_u = self._by_u(mu, NO_ROWS)
        return self.blocks_of.difference_back(by_u + self.step.armature / self.h * mu)[1]

    def blocks(self) -> FloatArray:
        """Minus the derivative of the first equation's part with respect to q⁺: rows of blocks, (nv, 6)."""
        nv, dof, h = self.step.model.nv, self.dof, self.h
        out = np.zeros((nv, 6))
        out[:, 0] = self.step.armature / h + 0.5 * dof[:, layout.DAMPING] + 0.25 * h * dof[:, layout.STIFFNESS]
        tree = self.step.model.arrays.tree
        for row in tree[tree[:, layout.KIND] == layout.COMPOUND]:
            for d in range(row[layout.DOF]):
                x, out[row[layout.V] + d, 0] = out[row[layout.V] + d, 0], 0.0
                out[row[layout.V] + d, d] = x
        charts = self.step.charts
        for d in range(6 if charts.free.size else 3 if charts.ball.size else 0):
            unit = np.zeros(nv)
            rows = np.concatenate([charts.ball[charts.ball.size * (d > 2) :], charts.free]) + d
            unit[rows] = 1.0
            _, by_u = self._by_u(unit, NO_ROWS)
            six = charts.six(self.blocks_of.difference_back(self.step.armature / h * unit - by_u)[1])
            first = np.concatenate([charts.ball, charts.free])
            for m in range(first.size):
                if d < 3 or m >= charts.ball.size:
                    out[first[m] + d] = six[m]
        return out

    def back(self, y: FloatArray, mu: FloatArray) -> _Own:
        """Gradients with respect to q and the joints' own parameters, with weights y on the first and μ on the second."""
        found, by_dof = _Own(), np.zeros((self.u.size, layout.DOF_COLUMNS))
        by_q, by_u = self._by_u(y + mu, by_dof)
        by_u = by_u + self.step.armature / self.h * (mu - y)
        found.q = by_q + self.blocks_of.difference_back(by_u)[0]
        found.stiffness = by_dof[:, layout.STIFFNESS]
        found.damping = -0.5 * (y + mu) * self.u
        found.armature = (mu - y) * self.u / self.h
        return found


NO_ROWS = np.zeros((0, layout.DOF_COLUMNS))


def _memory(model: Model, with_inertias: bool) -> Discrete:
    n, nv, tree = model.n_bodies, model.nv, model.arrays
    return Discrete(
        tree.tree, tree.body, tree.screws, np.zeros(model.nq), np.zeros(model.nq), np.zeros(nv), np.zeros(nv),
        np.zeros((n, VARIATIONAL_COLUMNS)), np.zeros((nv, VARIATIONAL_DOF_COLUMNS)), np.zeros((n, 6)), np.zeros((n, 6)),
        np.zeros((nv, 6)), np.zeros((n, 6)), np.zeros(nv), np.zeros(nv), np.zeros((n, 6)), np.zeros(nv),
        np.zeros((n if with_inertias else 0, 10)),
    )  # fmt: skip
