"""Newton's method on the potential energy of linkages with loops, from one closed state to the next.

The cut joints' forces λ are loads like any other, two rows of the table per loop. A step solves the saddle system

    [H  Jᵀ] [ x ]   [ r(λ) ]
    [J  0 ] [−δ ] = [ −gap ]                                                                      (9) theory/statics.md

by one elimination and one more right side per constraint; λ ← λ + δ. After a step the loops are closed again by the same
factors, and the energy is compared between closed states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.loops.system import LoopPlan, LoopSystem
from linkwork.statics import newton
from linkwork.statics.balance import Balance
from linkwork.statics.elimination.constraint_factors import IndefiniteFactors, LeastSquares, factor_indefinite
from linkwork.statics.elimination.forces import cut_forces
from linkwork.statics.elimination.solve import Pushes
from linkwork.statics.elimination.workspace import R_, U_, W_
from linkwork.statics.newton import Outcome, Progress, next_blend, not_settled, stiffer

CLOSING_STEPS = 12  # with the factors of the step, before the step is taken for too long
SEED, DIRECTIONS = 20_100_501, 12  # of random efforts that a saddle is left by
# Links of ball joints roll about their own axes, which nothing resists: pushed by rounding they would roll by many radians,
# and the limit of turns would shorten every step. Rotations are resisted by this part of |B|, by less near the equilibrium.
# What is softer than the least of them counts as held: signs of pivots are rounding there.
MOST_SOFTEN, LEAST_SOFTEN = 1e-4, 1e-6
CLOSED = 1e-11  # gap at the end, as a part of the length of the linkage
LOOSELY, LOOSEST = (
    1e-2,
    1e-6,
)  # gap after a step, as a part of the squared unbalanced part, as the decrease of energy is


class Saddle(NamedTuple):
    """The elimination of the constraints: how joints respond to constraint forces, and J H⁻¹Jᵀ on those that count."""

    Y: FloatArray  # (p, nv)  rows: H⁻¹Jᵀ
    factors: IndefiniteFactors | LeastSquares  # of J H⁻¹Jᵀ; the second in water
    x: FloatArray  # (nv,)  H⁻¹r of the unbalanced efforts r
    moving: FloatArray  # (p,)  J H⁻¹r

    @property
    def values(self) -> FloatArray:
        """Eigenvalues of J H⁻¹Jᵀ, scaled to a unit diagonal, on the constraints that count; not in water."""
        assert isinstance(self.factors, IndefiniteFactors)
        return self.factors.values

    def solve(self, right: FloatArray) -> FloatArray:
        """(J H⁻¹Jᵀ)⁺ right."""
        return self.factors.solve(right)

    def step(self, gap: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(9): δ and x, for these gaps."""
        force = self.solve(-gap - self.moving)
        return force, self.x + force @ self.Y


class ClosedBalance:
    """A balance whose loops are closed at `place`, with the forces of the cut joints."""

    def __init__(self, balance: Balance, plan: LoopPlan):
        self.balance, self.plan = balance, plan
        self.loads = balance.acting.rows.shape[0]  # rows that are loads; the others are the cut joints
        count = len(plan.model.loops)
        rows = np.concatenate([balance.acting.rows, np.zeros((2 * count, balance.acting.rows.shape[1]))])
        bodies = np.concatenate([balance.acting.row_body, plan.ends.ravel()])
        balance.acting = balance.acting._replace(rows=rows, row_body=bodies)
        self.force = np.zeros(plan.count)  # λ
        self.system = LoopSystem(plan, balance.place.q, balance.work.still, balance.place.world)
        self.before_step = self.system, self.force  # before a step that may be taken back

    def write_forces(self) -> None:
        """λ as forces and torques in the axes of the world, on both bodies of every loop."""
        plan, system, balance = self.plan, self.system, self.balance
        rows, world = balance.acting.rows, balance.place.world
        cut_forces(system.loop, plan.frames, system.basis, plan.starts, plan.ends, self.force, world, rows, self.loads)

    def pull(self, force: FloatArray) -> None:
        """λ of the only loop, which pins a body to the world, from the force (3,) on that body in the axes of the world."""
        b, frames, T = int(self.plan.ends[0, 1]), self.plan.frames, self.system.bases[0]
        R = frames[0, 12:21].reshape(3, 3)
        on_b = -force
        if b >= 0:
            R, on_b = self.balance.place.world[b, R_ : R_ + 9].reshape(3, 3) @ R, force
        self.force = T[3:].T @ (R.T @ on_b)
        self.write_forces()
        self.balance.weigh()

    def saddle(self, in_water: bool = False) -> Saddle:
        """Needs an elimination at `place`, in water the unsymmetric one. Cost: O(p n)."""
        p = self.plan.count
        X, A = np.empty((1 + p, self.plan.model.nv)), np.empty((p, 1 + p))
        pushes = Pushes(self.system.C.reshape(-1, 6), self.plan.bodies, 1)
        self.balance.solve_sides(self.balance.r[None], X, pushes, A, W_ if in_water else U_)
        factors = LeastSquares(A[:, 1:]) if in_water else factor_indefinite(A[:, 1:])
        return Saddle(X[1:], factors, X[0], A[:, 0])

    def solve(self, right: FloatArray, x: FloatArray) -> FloatArray:
        """x (m, nv) ← H⁻¹ of right sides; returns J x (p, m)."""
        moving = np.empty((self.plan.count, right.shape[0]))
        pushes = Pushes(self.system.C.reshape(-1, 6), self.plan.bodies, right.shape[0])
        self.balance.solve_sides(right, x, pushes, moving)
        return moving

    @property
    def gap(self) -> float:
        """Largest gap [rad or m], as a part of the length of the linkage."""
        return float(np.abs(self.system.gap).max(initial=0.0)) / max(self.balance.scales.length, 1e-300)

    def system_at_trial(self) -> LoopSystem:
        trial = self.balance.trial
        return LoopSystem(self.plan, trial.q, self.balance.work.still, trial.world)

    def close(self, saddle: Saddle, part: float = CLOSED) -> LoopSystem | None:
        """Closes loops at `trial` by the factors of the step, to a part of the length; None where they stay open."""
        balance = self.balance
        enough = part * max(balance.scales.length, 1e-300)
        before = np.inf
        for _ in range(CLOSING_STEPS):
            system = self.system_at_trial()
            gap = float(np.abs(system.gap).max(initial=0.0))
            if gap <= enough:
                return system
            if not gap < 0.8 * before:
                return None
            before = gap
            balance.advance_trial(saddle.solve(-system.gap) @ saddle.Y)
        return None


def settle_closed(
    closed: ClosedBalance, tolerance: float, max_sweeps: int, leave_saddles: bool = True, blend: float = 1.0
) -> Outcome:
    """Moves a balance with closed loops to an equilibrium; raises StateError where none is found.

    blend: of the first step, 0 next to an equilibrium.
    """
    balance, done = closed.balance, Progress()
    scale = max(balance.scales.effort, 1e-300)
    closed.write_forces()
    balance.weigh()
    while True:
        done.history.append(float(np.abs(balance.r).max(initial=0.0)) / scale)
        if balance.sweeps >= max_sweeps:
            gap = float(np.abs(closed.system.gap).max(initial=0.0)) if closed.gap > CLOSED else 0.0
            raise not_settled(done, max_sweeps, tolerance, gap)
        is_there = done.history[-1] <= tolerance and closed.gap <= CLOSED
        if is_there:
            blend = 0.0
        blend, saddle, unstable = _eliminate(closed, blend, done.history[-1], is_there)
        step, x = saddle.step(closed.system.gap)
        while not is_there and balance.stops is not None and balance.stops.block(balance.place.q, x):
            blend, saddle, unstable = _eliminate(closed, blend, done.history[-1], is_there)
            step, x = saddle.step(closed.system.gap)
        balance.x = x
        if is_there:
            turn, way = balance.extent(x)
            if (
                unstable == 0
                or not leave_saddles
                or done.saddles_left >= newton.MOST_SADDLES
                or not _leave_saddle(closed)
            ):
                done.sweeps = balance.sweeps
                return Outcome(turn, way, unstable, unstable == 0, done)
            done.saddles_left += 1
            blend = 1.0
            continue
        blend = _step(closed, saddle, x, step, blend, done)


def _leave_saddle(closed: ClosedBalance) -> bool:
    """A small step along the one of a few soft directions, with loops kept closed, that raises the energy least.

    False where the loops cannot be closed after any. What lowers the energy from there on is up to the search.
    """
    balance, plan = closed.balance, closed.plan
    rng = np.random.default_rng(SEED)
    balance.eliminate(1.0, newton.FIRST_DAMPING * balance.scales.rate2)
    saddle = closed.saddle()
    best: tuple[float, FloatArray, float] | None = None
    for _ in range(DIRECTIONS):
        x = np.zeros(plan.model.nv)
        moving = closed.solve(
            rng.normal(size=(1, plan.model.nv)), x[None]
        )  # efforts, not steps: what is soft moves most
        x += saddle.solve(-moving[:, 0]) @ saddle.Y
        size = newton.KICK / max(balance.extent(x)[0], 1e-300)
        for scale in (size, -size):
            balance.place_trial(x, scale)
            if closed.close(saddle) is not None:
                change, _ = balance.change(x, scale, closed.loads)
                if best is None or change < best[0]:
                    best = change, x, scale
    if best is None:
        return False
    balance.place_trial(best[1], best[2])
    system = closed.close(saddle)
    if system is None:
        return False
    balance.accept()
    closed.system = system
    closed.write_forces()
    balance.weigh()
    return True


def _eliminate(closed: ClosedBalance, blend: float, left: float, as_it_is: bool) -> tuple[float, Saddle, int]:
    """The first blend from `blend` on with a minimum on the closed states: as many negative signs as constraints.

    left: the unbalanced part. as_it_is: no other blend and nothing added, as at the end of the search.
    Returns it, the elimination, and how many more negative signs there are.
    """
    extra = 0.0
    soften = LEAST_SOFTEN if as_it_is else min(MOST_SOFTEN, max(LEAST_SOFTEN, left))
    while True:
        pivots = closed.balance.eliminate(blend, extra, soften)
        if pivots.singular < 0:
            saddle = closed.saddle()
            unstable = pivots.negative + int((saddle.values > 0.0).sum()) - saddle.values.size
            if unstable == 0 or as_it_is:
                return blend, saddle, unstable
        if blend < 1.0:
            blend = next(b for b in newton.BLENDS if b > blend)
        else:
            extra = stiffer(closed.balance, extra, pivots)


def _step(
    closed: ClosedBalance, saddle: Saddle, x: FloatArray, step: FloatArray, blend: float, done: Progress
) -> float:
    balance = closed.balance
    turn, way = balance.extent(x)
    slope = float(balance.r @ x)
    new_force = closed.force + step
    length = max(balance.scales.length, 1e-300)
    scale = min(1.0, newton.LARGEST_TURN / max(turn, 1e-300), 10.0 * length / max(way, 1e-300))
    loosely = max(CLOSED, min(LOOSELY * done.history[-1] ** 2, LOOSEST))
    while True:
        balance.place_trial(x, scale)
        system = closed.close(saddle, loosely)
        if system is not None:
            change, noise = balance.change(x, scale, closed.loads)
            change -= float(new_force @ (system.gap - closed.system.gap))
            noise += float(np.abs(new_force) @ np.abs(system.gap))
            if change <= -newton.ARMIJO * abs(balance.gain(x, scale)) or scale * slope <= noise:
                break
        scale *= newton.SHORTEN
        if scale < newton.SHORTEST:
            raise not_settled(done, balance.sweeps, 0.0)
    balance.accept()
    closed.system, closed.force = system, new_force
    closed.write_forces()
    balance.weigh()
    return next_blend(blend, scale, turn)
