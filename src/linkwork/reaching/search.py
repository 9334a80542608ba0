"""Searching for targets on an open tree: memory kept with the model, descents, ways out of dead ends, restarts.

One start is one set of coordinates: the descent from it and, for arms of few joints, up to three more from places that its
dead end leads to, without a random number. A restart is one random set of coordinates, treated alike.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.remembered import remembered
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model, coordinate_metric
from linkwork.reaching import arrays as at
from linkwork.reaching import descent as de
from linkwork.reaching.couplings import (
    KEPT,
    NOTHING_KEPT,
    coupled_bodies,
    coupling_arrays,
    kept_couplings,
    share_limits,
)
from linkwork.reaching.targets import Row

REASONS = {de.REACHED: "reached", de.NEAREST: "nearest", de.STALLED: "stalled", de.OUT_OF_ITERATIONS: "iterations"}
TURN_LENGTH = 0.1  # of the model's length: metres that count as much as a radian. Points first: fewer dead ends.
DEAD_END = 1e-6  # gradient, as a part of the root of the cost, at which a descent that failed is left for another
ROUNDING = 1e-5  # the same where no decrease of the cost can be seen any more: it is quadratic, its rounding 1e-14
FAR_ROUNDING = 1e-2  # of its growth with the distance of a target that is far out of reach: ten times what is seen
FLAT = 1e-9  # the same where the best of them ends
POSTURE_WEIGHT = 1e-8  # of a step towards a posture beside the targets, which it keeps to first order
LEANING_STEPS, STRAIGHT = 100, 1e-9  # steps towards a posture at most; [rad] size of the last
LONGEST_LEAN = 0.5  # [rad] of a joint in one step
MOST_SEARCHES = 8  # searches kept per model and thread
AT_LIMIT = 1e-9  # [rad or m]
MIRRORED, MOVED_ON = 1, 2  # ways to leave a dead end
WAYS = 3  # mirrored, moved on, and those at limits mirrored
# Pulls to the middle of ranges, start by start, the last for all further ones. A strong pull leads to the same place from
# anywhere; restarts need other places.
PULLS = (10.0, 1.0, 0.0)
LEAVING_PULLS = (1.0, 0.0, 1.0)  # of the descents that leave the dead end of a start


class Settings(NamedTuple):
    limits: bool
    tolerance: float
    max_iterations: int
    restarts: int
    seed: int


class Ended(NamedTuple):
    """Where a search ended."""

    q: FloatArray
    reason: str
    iterations: int
    sweeps: int
    descents: int
    gradient: float
    cost: float
    clearance: float = math.inf
    gap: float = 0.0


def rounding(cost: float) -> float:
    """Of the gradient, where no decrease of the cost can be seen any more.

    Beyond the reach of a linkage the cost grows as the square of the distance, its second derivative as the distance alone:
    a motion is seen from the root of both on.
    """
    return ROUNDING * math.sqrt(cost) * max(1.0, FAR_ROUNDING * cost**0.25)


def model_length(model: Model) -> float:
    """The longest way from the world through the joints [m]; 1 where all joints are in one place."""
    return remembered(model, "length", _find_length)


def _find_length(model: Model) -> float:
    arms = np.linalg.norm(model.arrays.body[:, layout.POSITION : layout.POSITION + 3], axis=1)
    return float(longest_way(model.arrays.tree, arms)) or 1.0


def longest_way(tree: NDArray[np.int64], arms: FloatArray) -> float:
    way = arms.tolist()
    for i, parent in enumerate(tree[:, layout.PARENT].tolist()):
        if parent >= 0:
            way[i] += way[parent]
    return max(way, default=0.0)


def joint_metric(model: Model) -> FloatArray:
    """1 for angles, 1/length² for slides, shape (nv,)."""
    return remembered(model, "reach_metric", lambda model: coordinate_metric(model, model_length(model)))


def found_search(model: Model, rows: list[Row], settings: Settings) -> Search:
    """A search with memory that an earlier one on the same bodies left, or a new one."""
    nothing: dict[object, Search] = {}
    searches = remembered(model, "reach", lambda _: nothing)
    key = (settings.limits, *(row.body for row in rows))
    search = searches.pop(key, None) or Search(model, rows, settings.limits)
    searches[key] = search  # the last used stands last
    if len(searches) > MOST_SEARCHES:
        del searches[next(iter(searches))]
    search.ask(rows, settings)
    return search


class Search:
    """One set of target bodies on one model."""

    def __init__(self, model: Model, rows: list[Row], limits: bool, bodies: NDArray[np.int64] | None = None):
        """bodies: that the search moves besides those of the targets, whoever keeps couplings then."""
        self.model = model
        carriers = np.array([row.body for row in rows], dtype=np.int64)
        self.kept = NOTHING_KEPT
        if bodies is None and model.couplings:
            bodies = coupled_bodies(model, carriers)
            self.kept = kept_couplings(model, bodies)
        paths = at.find_paths(model, carriers if bodies is None else np.union1d(carriers, bodies))
        nodes = np.searchsorted(paths.path, carriers).astype(np.int64)
        self.freedoms = paths.freedoms
        couplings = coupling_arrays(self.kept, model.nv)
        self.arrays = at.make_reaching(model, paths, nodes, limits, joint_metric(model), couplings)
        share_limits(self.kept, self.arrays.lower, self.arrays.upper)
        self.table = at.table_of(self.arrays)
        self.names: list[str] = []
        self.heaviest = 1.0  # weight that was divided by
        self.settings = Settings(limits, 1e-8, 200, 3, 0)
        self.counts = np.zeros(de.COUNTS)

    def ask(self, rows: list[Row], settings: Settings) -> None:
        """New targets on the same bodies."""
        length2 = (TURN_LENGTH * model_length(self.model)) ** 2
        weights = [(row.numbers[at.T_TURN], row.numbers[at.T_POINTING], row.numbers[at.T_WAY]) for row in rows]
        self.heaviest = float(max((max(turn, aim, length2 * way) for turn, aim, way in weights), default=1.0))
        self.names = [row.name for row in rows]
        for k, (row, three) in enumerate(zip(rows, weights, strict=True)):
            one = self.arrays.target[k]
            one[:] = row.numbers
            one[at.T_TURN], one[at.T_POINTING], one[at.T_WAY] = (weight / self.heaviest for weight in three)
        self.settings = settings

    def run(self, q: FloatArray, posture: FloatArray | None, leaving: bool) -> Ended:
        """Descents from q and from random starts; then posture and last digits.

        leaving: whether a start whose descent ends in a dead end gets further ones, from where `left_to` leads.
        """
        settings, arrays = self.settings, self.arrays
        rng: np.random.Generator | None = None  # made when it is needed: most searches need none
        per_start = 1 + WAYS if leaving else 1
        best: Ended | None = None
        dead: FloatArray | None = None
        descents = 0
        self.counts[de.C_SWEEPS] = 0.0
        for attempt in range(per_start * (settings.restarts + 1)):
            way = attempt % per_start
            if way == 0:
                rng = rng or (np.random.default_rng(settings.seed) if attempt else None)
                start = self.admissible(q if rng is None else self.random_start(q, rng))
                if start is None and attempt == 0:
                    start = self.within_limits(q)
                dead = None
            else:
                start = None if dead is None else self.admissible(self.left_to(dead, way))
            if start is None:
                continue
            arrays.q[:] = start
            number = min(attempt // per_start, len(PULLS) - 1)
            ended = self.descend(DEAD_END, PULLS[number] if way == 0 else LEAVING_PULLS[number])
            descents += 1
            dead = ended.q if way == 0 else dead
            if best is None or ended.reason == "reached" or ended.cost < best.cost:
                best = ended
            if best.reason == "reached":
                break
        assert best is not None
        if best.reason != "reached" or posture is not None:
            arrays.q[:] = best.q
            best = self.descend(FLAT)._replace(iterations=best.iterations)
            if posture is not None:
                best = self.lean(best, posture)
        if self.kept.d.size:
            gap = self.kept.gap(best.q)
            best = best._replace(gap=gap, reason=best.reason if gap <= KEPT else "stalled")
        return best._replace(descents=descents, sweeps=int(self.counts[de.C_SWEEPS]))

    def descend(self, flat: float, drawn: float = 0.0) -> Ended:
        """One descent from the coordinates in memory. drawn: how much to the middle of ranges, at first."""
        settings, counts = self.settings, self.counts
        if drawn > 0.0:
            self.arrays.rest[:] = self.middles
        rules = np.array([settings.tolerance, settings.tolerance, flat, settings.max_iterations, drawn])
        counts[de.C_ITERATIONS] = 0.0
        reason = REASONS[de.descend(self.table, rules, counts)]
        if not math.isfinite(counts[de.C_COST]):
            raise StateError("reach overflowed: numbers in the state or the targets are too large.")
        gradient, cost = float(counts[de.C_GRADIENT]), float(counts[de.C_COST])
        if reason == "stalled" and gradient <= rounding(cost):
            reason = "nearest"
        return Ended(self.arrays.q.copy(), reason, int(counts[de.C_ITERATIONS]), 0, 1, gradient, cost)

    def lean(self, best: Ended, posture: FloatArray) -> Ended:
        """Towards a posture among places as good for the targets: steps along them, each followed by a descent.

        Ends where no such step leads nearer. Misses and coordinates in memory are those of what it returns.
        """
        arrays = self.arrays
        arrays.rest[:] = posture
        away, scale = self.distance(best.q), 1.0
        for _ in range(LEANING_STEPS):
            arrays.q[:] = best.q
            step = self.leaning_step()
            longest = float(np.abs(step * np.sqrt(arrays.dof[:, at.METRIC])).max(initial=0.0))
            if not longest > STRAIGHT:
                break
            de.move_trial(self.table, step * min(scale, LONGEST_LEAN / longest))
            arrays.q[:] = self._on_paths(best.q, arrays.trial)
            tried = self.descend(FLAT)
            good = tried.reason == "reached" if best.reason == "reached" else tried.cost <= best.cost * (1.0 + 1e-9)
            new = self.distance(tried.q)
            if good and new < away:
                best, away, scale = tried._replace(iterations=best.iterations), new, min(1.0, 1.5 * scale)
            elif scale * longest < STRAIGHT:
                break
            else:
                scale *= 0.5 if scale * longest < LONGEST_LEAN else 0.5 * LONGEST_LEAN / (scale * longest)
        self.set_state(best.q)
        return best

    def set_state(self, q: FloatArray) -> None:
        """Coordinates in memory, with what they miss."""
        self.arrays.q[:] = q
        de.prepare(self.table)

    def leaning_step(self) -> FloatArray:
        """Towards the posture, along places as good for the targets, shape (nv,)."""
        arrays = self.arrays
        arrays.dof[:, layout.STIFFNESS] = POSTURE_WEIGHT * arrays.dof[:, at.METRIC]
        de.lean(self.table, self.counts)
        arrays.dof[:, layout.STIFFNESS] = 0.0
        step = np.zeros(self.model.nv)
        step[self.freedoms] = arrays.step[self.freedoms]
        return step

    def distance(self, q: FloatArray) -> float:
        """Squared distance from the posture in the metric of the joints."""
        away = self.model.difference(q, self.arrays.rest)[self.freedoms]
        return float(self.arrays.dof[self.freedoms, at.METRIC] @ away**2)

    # ---------------------------------------------------------------------------------------------------- other starts

    def admissible(self, q: FloatArray) -> FloatArray | None:
        """A place from which a descent may begin, near q; None where there is none."""
        inside = self.within_limits(q)
        return inside if self.kept.d.size == 0 else self.kept.close(inside, self.arrays)

    def within_limits(self, q: FloatArray) -> FloatArray:
        """q with the joints of the paths moved into their limits."""
        out = q.copy()
        rows, coordinates = self.limited
        out[coordinates] = np.clip(out[coordinates], self.arrays.lower[rows], self.arrays.upper[rows])
        return out

    @cached_property
    def limited(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Degrees of freedom of the paths that have a limit, and their places in q."""
        arrays, free = self.arrays, self.freedoms
        rows = free[np.isfinite(arrays.lower[free]) | np.isfinite(arrays.upper[free])]
        joint = np.searchsorted(arrays.tree[:, layout.V], rows, side="right") - 1
        return rows, arrays.tree[joint, layout.Q] + rows - arrays.tree[joint, layout.V]

    @cached_property
    def middles(self) -> FloatArray:
        """Coordinates in the middle of their ranges, shape (nq,)."""
        return at.middles(self.model)

    def random_start(self, q: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Random coordinates of the joints of the paths, within limits; the others as they are in q."""
        return self._on_paths(q, self.model.random_state(rng).q)

    def left_to(self, q: FloatArray, way: int) -> FloatArray:
        """Where a dead end at q is left to: joints mirrored in the middle of their ranges, moved on by half of them, or,
        the third way, those at limits alone mirrored. Angles without limits have the range of one turn about zero."""
        rows, coordinates, low, high = self.ranges
        value = q[coordinates]
        mirrored = low + high - value
        if way == MIRRORED:
            moved = mirrored
        elif way == MOVED_ON:
            half = 0.5 * (high - low)
            moved = np.where(value + half > high, value - half, value + half)
        else:
            limit_low, limit_high = self.arrays.lower[rows], self.arrays.upper[rows]
            pressed = (value - limit_low <= AT_LIMIT) | (limit_high - value <= AT_LIMIT)
            moved = np.where(pressed, mirrored, value)
        out = q.copy()
        out[coordinates] = moved
        return self.within_limits(out)

    @cached_property
    def ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray, FloatArray]:
        """Joints that dead ends are left by: their places in v and in q, lower and upper end of their ranges."""
        arrays, model = self.arrays, self.model
        found: list[tuple[int, int, float, float]] = []
        for i in arrays.path.tolist():
            joint, first = model.joints[i], model.v_slice(i).start
            if joint.kind not in (layout.HELICAL, layout.COMPOUND):
                continue
            for d, screw in enumerate(joint.screws):
                a, b = float(arrays.lower[first + d]), float(arrays.upper[first + d])
                if any(screw.axis):  # where a side has no limit, a turn from the other will do
                    a, b = (-math.pi, math.pi) if math.isinf(a) and math.isinf(b) else (a, b)
                    a, b = max(a, b - 2.0 * math.pi), min(b, a + 2.0 * math.pi)
                if math.isfinite(a) and math.isfinite(b):
                    found.append((first + d, model.q_slice(i).start + d, a, b))
        table = np.array(found, dtype=np.float64).reshape(-1, 4)
        rows, places = table[:, :2].astype(np.int64).T
        return rows, places, table[:, 2], table[:, 3]

    def _on_paths(self, q: FloatArray, other: FloatArray) -> FloatArray:
        out = q.copy()
        tree = self.arrays.tree
        for i in self.arrays.path.tolist():
            first = int(tree[i, layout.Q])
            rows = slice(first, first + self.model.joints[i].nq)
            out[rows] = other[rows]
        return out


def misses(search: Search) -> list[tuple[str, float, float]]:
    """Name, turn [rad] and way [m] of every target."""
    missed = search.arrays.target[:, [at.T_MISSED_TURN, at.T_MISSED_WAY]].tolist()
    return [(name, turn, way) for name, (turn, way) in zip(search.names, missed, strict=False)]
