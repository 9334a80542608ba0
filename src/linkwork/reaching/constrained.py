"""Searches that hold more than targets of bodies: loops that stay closed, the centre of mass, obstacles.

Loops and the centre of mass are rows J beside the tree. With x₀ the step of the tree alone and Y its responses to the rows,

    x = x₀ + Y y,    (J Y + 1/w) y = e - J x₀        w: weight of a row, infinite for a loop; e: what it misses

Obstacles are targets of bodies along one direction, for as long as they are nearer than the margin.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.dynamics.inputs import as_finite
from linkwork.errors import StateError
from linkwork.loops.closing import close_loops
from linkwork.loops.system import LoopSystem, loop_plan
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.reaching import arrays as at
from linkwork.reaching import descent as de
from linkwork.reaching import rows as sweeps
from linkwork.reaching.avoiding import Avoiding, no_avoiding
from linkwork.reaching.search import TURN_LENGTH, Ended, Search, Settings, model_length, rounding
from linkwork.reaching.targets import Row

LARGEST = 1e8  # damping of a step, as a part of the cost
LEAST_DAMPING = 1e-8  # more than on a tree: rows are answered by differences of large numbers
WRONG = (
    1e-6  # part of the largest response of rows by which a square may be negative: more is rounding of the elimination
)
REDUNDANT = 1e-11  # part of the largest eigenvalue below which rows say what others say
LEAST_SQUARE = 1e-24  # of a row beside the largest: below it there is nothing but rounding
AVOID_WEIGHT = 1e3  # of obstacles beside the heaviest target: a target within one gives way
CLOSING_STEPS = 12
CLOSED = 1e-12  # gap, as a part of the model's length, to which every place is closed
NAME = "center of mass"


def asks_more(model: Model, center_of_mass: ArrayLike | None, avoid: Any) -> bool:
    """Whether a search needs rows or obstacles."""
    return bool(model.loops) or center_of_mass is not None or avoid is not False


class ConstrainedSearch(Search):
    """A search with loops, centre of mass or obstacles; made for one call."""

    def __init__(
        self,
        model: Model,
        rows: list[Row],
        settings: Settings,
        center_of_mass: ArrayLike | None,
        avoid: Any,
        margin: float,
    ):
        self.avoiding = no_avoiding() if avoid is False else Avoiding(model, avoid, margin)
        self.plan = loop_plan(model) if model.is_constrained else None
        self.com = None if center_of_mass is None else as_finite(center_of_mass, (3,), "center_of_mass", model)
        bodies = np.zeros(0, dtype=np.int64)
        if self.com is not None:
            if not model.mass.sum() > 0.0:
                raise StateError(f"model '{model.name}' has no moving mass, so no centre of mass to move.")
            bodies = np.arange(model.n_bodies)
        elif self.plan is not None:
            bodies = self.plan.bodies[self.plan.bodies >= 0]
        extra = self.avoiding.rows()
        super().__init__(model, [*rows, *extra], settings.limits, bodies)
        self.ask(rows, settings)
        self.first_avoid = len(rows)
        length = TURN_LENGTH * model_length(model)
        self.com_weight = (1.0 / length**2) / self.heaviest if self.com is not None else 0.0
        self.avoid_weight = AVOID_WEIGHT / length**2
        if not rows:
            self.arrays.origin[:] = self.com if self.com is not None else 0.0
        self.size = (0 if self.com is None else 3) + (0 if self.plan is None else self.plan.count)
        self.gap = np.zeros(0)
        self.com_miss = np.zeros(0 if self.com is None else 3)

    # ------------------------------------------------------------------------------------------------------- one place

    def cost_at(self, q: FloatArray) -> float:
        """Σ w e² at q; places bodies, and looks at obstacles and the centre of mass."""
        arrays = self.arrays
        cost = sweeps.place_at(self.table, q)
        if self.avoiding.pairs:
            k = self.first_avoid
            self.avoiding.write_targets(q, arrays.target[k:], self.avoid_weight)
            cost = sweeps.place_at(self.table, q)
        if self.com is not None:
            masses, moments = self._moments()
            self.com_miss = self.com - moments.sum(axis=0) / masses.sum()
            cost += self.com_weight * float(self.com_miss @ self.com_miss)
        return float(cost)

    def set_state(self, q: FloatArray) -> None:
        self.arrays.q[:] = q
        self.cost_at(q)

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Masses (k,) and first moments in the world (k, 3) of the placed bodies."""
        arrays = self.arrays
        count = arrays.path.size
        R, p = arrays.pose[:count, :9].reshape(-1, 3, 3), arrays.pose[:count, 9:]
        inertia = arrays.body[arrays.path, layout.INERTIA : layout.INERTIA + 4]
        return inertia[:, 0], np.einsum("kij,kj->ki", R, inertia[:, 1:]) + inertia[:, :1] * p

    def rows_here(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """J (p, nv) and what the rows miss (p,) where bodies are placed and screws are known; centre of mass first."""
        J, missing = np.zeros((self.size, self.model.nv)), np.zeros(self.size)
        first = 0
        if self.com is not None:
            masses, moments = self._moments()
            arms = (moments - masses[:, None] * self.arrays.origin) / masses.sum()
            wrenches = np.zeros((3, masses.size, 6))
            for r, unit in enumerate(np.eye(3)):
                wrenches[r, :, :3], wrenches[r, :, 3:] = np.cross(arms, unit), masses[:, None] / masses.sum() * unit
            sweeps.row_jacobian(self.table, np.arange(masses.size), wrenches, J[:3])
            missing[:3] = self.com_miss
            first = 3
        if self.plan is not None:
            system = LoopSystem(self.plan, q, self.arrays.still)
            self.gap = system.gap
            nodes, wrenches = self._loop_wrenches(system)
            sweeps.row_jacobian(self.table, nodes, wrenches, J[first:])
            missing[first:] = -system.gap
        return J, missing

    def _loop_wrenches(self, system: LoopSystem) -> tuple[IntArray, FloatArray]:
        """The rows of loops as wrenches in the axes of the world about the origin."""
        assert self.plan is not None
        bodies, arrays = self.plan.bodies, self.arrays
        nodes = np.where(bodies >= 0, np.searchsorted(arrays.path, bodies), -1).astype(np.int64)
        local = system.C.reshape(self.plan.count, -1, 6)
        out = np.zeros(local.shape)
        for m, k in enumerate(nodes.tolist()):
            if k >= 0:
                R, r = arrays.pose[k, :9].reshape(3, 3), arrays.pose[k, 9:] - arrays.origin
                out[:, m, 3:] = local[:, m, 3:] @ R.T
                out[:, m, :3] = local[:, m, :3] @ R.T + np.cross(r, out[:, m, 3:])
        return nodes, out

    # --------------------------------------------------------------------------------------------------------- descent

    def descend(self, flat: float, drawn: float = 0.0) -> Ended:
        """One descent; rows and obstacles are not drawn to the middle of ranges."""
        arrays, settings = self.arrays, self.settings
        iterations, factor, reason, largest = 0, de.FIRST, "iterations", math.inf
        closed = self.closed(arrays.q)
        if closed is None:
            return self._ended("stalled", 0, math.inf)
        arrays.q[:] = closed
        cost = self.cost_at(arrays.q)
        while iterations < settings.max_iterations:
            de.prepare(self.table)
            J, missing = self.rows_here(arrays.q)
            if self.is_reached():
                reason = "reached"
                break
            tree_pull = arrays.gradient.copy()
            pull, largest = self.hold_pressed(tree_pull, J)
            if not largest > flat * math.sqrt(cost):
                reason = "nearest"
                break
            iterations += 1
            found = self.try_steps(tree_pull, pull, J, missing, cost, factor)
            if found is None:
                reason = "nearest" if largest <= rounding(cost) else "stalled"
                break
            q, cost, factor = found
            arrays.q[:] = q
        self.cost_at(arrays.q)
        self.counts[de.C_SWEEPS] += 1.0
        return self._ended(reason, iterations, largest)

    def _ended(self, reason: str, iterations: int, gradient: float) -> Ended:
        q = self.arrays.q.copy()
        gap = 0.0 if self.plan is None else float(np.abs(LoopSystem(self.plan, q, self.arrays.still).gap).max())
        cost = self.cost_at(q)
        if not math.isfinite(cost):
            raise StateError("reach overflowed: numbers in the state or the targets are too large.")
        return Ended(q, reason, iterations, 0, 1, gradient, cost + gap, self.avoiding.least, gap)

    def try_steps(
        self, tree_pull: FloatArray, pull: FloatArray, J: FloatArray, missing: FloatArray,
        total: float, factor: float,
    ) -> tuple[FloatArray, float, float] | None:  # fmt: skip
        """The first of ever more damped steps that is good enough: coordinates, cost, next factor; None without one."""
        arrays = self.arrays
        share = 1.0 / max(self.freedoms.size, 1)
        pressed, metric = arrays.blocked.copy(), arrays.dof[:, at.METRIC]
        targets = arrays.target.copy()
        while True:
            damping = max(factor * total * share, LEAST_DAMPING)
            arrays.blocked[:] = pressed
            x = self.step(tree_pull, J, missing, damping)
            de.move_trial(self.table, x)
            trial = self.closed(self._with_trial())
            promised = float(pull @ x + damping * (metric * x) @ x)
            if trial is not None and promised > 0.0:
                cost = self.cost_at(trial)
                gained = total - cost
                if gained >= de.ENOUGH * promised:
                    if gained > de.GOOD * promised:
                        factor = max(factor * de.LESS, de.least_factor(total))
                    return trial, cost, factor
            arrays.target[:] = targets
            de.prepare(self.table)
            factor = max(factor, LEAST_DAMPING / max(total * share, 1e-300)) * de.MORE
            if not damping < LARGEST * max(total, 1.0):
                arrays.blocked[:] = pressed
                return None

    def _with_trial(self) -> FloatArray:
        """The trial coordinates of the paths, the others as they are."""
        return self._on_paths(self.arrays.q, self.arrays.trial)

    def step(self, pull: FloatArray, J: FloatArray, missing: FloatArray, damping: float) -> FloatArray:
        """The step with rows, joints that would leave their limits moved to them."""
        arrays = self.arrays
        moves = np.zeros(self.model.nv)
        rows, coordinates = self.limited
        soft = np.zeros(self.size)
        if self.com is not None:
            soft[:3] = 1.0 / self.com_weight
        for _ in range(de.ROUNDS):
            out = np.zeros((1 + self.size, self.model.nv))
            sweeps.solve_rows(self.table, damping, np.vstack([pull, J]), moves, out)
            self.counts[de.C_SWEEPS] += 1.0
            x, Y = out[0], out[1:]
            if self.size:
                A = J @ Y.T
                if not A.diagonal().min() >= -WRONG * np.abs(A).max():
                    return np.zeros(self.model.nv)  # promises nothing: the next step is more damped
                x = x + Y.T @ _solve(A + np.diag(soft), missing - J @ x)
            low = arrays.lower[rows] - arrays.q[coordinates]
            high = arrays.upper[rows] - arrays.q[coordinates]
            leaving = ((x[rows] < low - de.AT_LIMIT) | (x[rows] > high + de.AT_LIMIT)) & (arrays.blocked[rows] == 0)
            if not leaving.any():
                break
            arrays.blocked[rows[leaving]] = at.BLOCKED
            moves[rows[leaving]] = np.clip(x[rows], low, high)[leaving]
        return x

    def hold_pressed(self, tree_pull: FloatArray, J: FloatArray) -> tuple[FloatArray, float]:
        """Gradient with the rows; holds the joints it presses against limits; and its largest entry on the others."""
        arrays, free = self.arrays, self.freedoms
        first = 0 if self.com is None else 3
        pull = tree_pull + J[:first].T @ (self.com_weight * self.com_miss) if first else tree_pull.copy()
        rows, coordinates = self.limited
        weight = np.zeros(self.model.nv)
        weight[free] = 1.0 / arrays.dof[free, at.METRIC]
        arrays.blocked[:] = at.FREE_TO_MOVE
        for _ in range(2):  # forces of loops depend on which joints are held
            loops = J[first:]
            along = pull.copy()
            if loops.shape[0]:
                along -= loops.T @ _solve((loops * weight) @ loops.T, (loops * weight) @ pull)
            value = arrays.q[coordinates]
            pressed = ((value - arrays.lower[rows] <= de.AT_LIMIT) & (along[rows] < 0.0)) | (
                (arrays.upper[rows] - value <= de.AT_LIMIT) & (along[rows] > 0.0)
            )
            pressed |= arrays.upper[rows] - arrays.lower[rows] <= de.AT_LIMIT
            arrays.blocked[rows[pressed]] = at.BLOCKED
            weight[rows[pressed]] = 0.0
        return pull, float(np.sqrt((along**2 * weight).max(initial=0.0)))

    def is_reached(self) -> bool:
        limit = self.settings.tolerance
        missed = self.arrays.target[:, [at.T_MISSED_TURN, at.T_MISSED_WAY]]
        far = max(np.abs(missed).max(initial=0.0), np.abs(self.gap).max(initial=0.0))
        return bool(max(far, float(np.linalg.norm(self.com_miss))) <= limit)

    def closed(self, q: FloatArray) -> FloatArray | None:
        """q with its loops closed by the shortest steps within limits; None where they stay open."""
        if self.plan is None:
            return q
        arrays, model = self.arrays, self.model
        enough = CLOSED * max(model_length(model), 1e-300)
        keep, before = arrays.q.copy(), math.inf
        rows, coordinates = self.limited
        q = q.copy()
        try:
            for _ in range(CLOSING_STEPS):
                arrays.q[:] = q
                de.prepare(self.table)
                J, missing = self.rows_here(q)
                J, missing = J[-self.plan.count :], missing[-self.plan.count :]
                gap = float(np.abs(missing).max(initial=0.0))
                if gap <= enough or (gap <= 1e3 * enough and not gap < 0.5 * before):
                    return q
                if not gap < 2.0 * before:
                    return None
                before = gap
                weight = np.zeros(model.nv)
                weight[self.freedoms] = 1.0 / arrays.dof[self.freedoms, at.METRIC]
                step = weight * (J.T @ _solve((J * weight) @ J.T, missing))
                stuck = ((q[coordinates] <= arrays.lower[rows]) & (step[rows] < 0.0)) | (
                    (q[coordinates] >= arrays.upper[rows]) & (step[rows] > 0.0)
                )
                if stuck.any():
                    weight[rows[stuck]] = 0.0
                    step = weight * (J.T @ _solve((J * weight) @ J.T, missing))
                q = self.within_limits(model.integrate(q, step))
            return None
        finally:
            arrays.q[:] = keep

    # ------------------------------------------------------------------------------------------------ posture and starts

    def leaning_step(self) -> FloatArray:
        arrays = self.arrays
        de.prepare(self.table)
        self.cost_at(arrays.q)
        J, missing = self.rows_here(arrays.q)
        weight = LEAST_DAMPING * arrays.dof[:, at.METRIC]
        pull = arrays.gradient + weight * self.model.difference(arrays.q, arrays.rest)
        self.hold_pressed(pull, J)
        return self.step(pull, J, missing, LEAST_DAMPING)

    def admissible(self, q: FloatArray) -> FloatArray | None:
        inside = self.within_limits(q)
        if self.plan is None:
            return inside
        closed = self.closed(inside)
        if closed is not None:
            return closed
        try:
            assembled = close_loops(self.model, State(q, np.zeros(self.model.nv))).q
        except StateError:
            return None
        return self.closed(self.within_limits(assembled))


def _solve(A: FloatArray, b: FloatArray) -> FloatArray:
    """A⁺ b of a symmetric matrix that is not negative; rows that say what others say share their part."""
    largest = np.abs(A).max(initial=0.0)
    root = np.sqrt(np.maximum(np.diagonal(A), max(LEAST_SQUARE * largest, 1e-300)))
    values, vectors = np.linalg.eigh(0.5 * (A + A.T) / np.outer(root, root))
    counts = values > REDUNDANT * abs(values[-1]) if values.size else np.zeros(0, dtype=bool)
    V = vectors[:, counts]
    return np.asarray((V @ ((V.T @ (b / root)) / values[counts])) / root)
