"""Equilibria past folds: pseudo arc length in coordinates and load, each step a Newton method on the bordered system.

    [∂²U  −f] [dx]   [r]
    [tᵀ    τ] [dp] = [ds − t·(q ⊖ q₀) − τ (p − p₀)]          f = ∂r/∂p

Two solves with the sweep of ∂²U per iteration: x = H⁻¹r + dp H⁻¹f. At a fold H is singular and the load turns back; the
bordered system is not, and steps rarely end on the fold itself. With loops both solves are those of the saddle system of
`constrained`, so that steps close what is open and go along closed states otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import finite, function, integer, positive
from linkwork.core.messages.describe import described
from linkwork.dynamics.inputs import as_state, refuse_couplings
from linkwork.errors import StateError
from linkwork.model.kernels.manifold import coordinates_difference, coordinates_integrate
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.loading.loaded import Loaded
from linkwork.statics.balance import Balance
from linkwork.statics.loads import gather
from linkwork.statics.settle import settle
from linkwork.statics.standing import Standing

CORRECTIONS, EASY = 8, 3  # Newton steps before a step is halved; after which the next is longer
BALANCED = 1e-9  # part of the loads
LOAD_STEP = 1e-6  # part of the load's scale over which f is a difference
SHORTEST = 1e-6  # of the first step


@described
class Branch(NamedTuple):
    """Equilibria along a branch."""

    loads: FloatArray  # (k,)  values of the parameter
    states: tuple[State, ...]
    unstable: NDArray[np.int64]  # (k,)  unstable directions of each
    sweeps: int

    @property
    def folds(self) -> FloatArray:
        """Values of the load at which it turns back, by parabolas through three points."""
        found = []
        p = self.loads
        for i in range(1, p.size - 1):
            left, right = p[i] - p[i - 1], p[i] - p[i + 1]
            if left * right > 0.0:
                bend = left + right
                found.append(p[i] + (left - right) ** 2 / (8.0 * bend))
        return np.array(found)


def continuation(
    model: Model,
    state: State,
    load: Callable[[float], Loaded],
    start: float,
    end: float,
    *,
    step: float = 0.1,
    max_steps: int = 200,
    scale: float | None = None,
) -> Branch:
    """Follows a branch of equilibria as a load changes, loops kept closed, past folds where the load turns back.

    load(p): what acts at the value p: `lw.Loads(model)` with loads set, smooth in p.
    start, end: the branch begins at the equilibrium at `start` that `lw.settle` finds from `state`, towards `end`, and ends
    where the load reaches `end` or goes back beyond `start`.
    step: arc length of a step, of joint coordinates [rad or m, root mean square] and load over `scale` (end − start).
    Raises StateError where a step fails at a thousandth of a thousandth of its length.
    """
    q, _ = as_state(model, state)
    ask = function(load, "load")
    p0, p1 = finite(start, "start"), finite(end, "end")
    if p0 == p1:
        raise StateError(f"start and end are both {p0:g}; the load must change.")
    size = abs(p1 - p0) if scale is None else positive(scale, "scale")
    most, first = integer(max_steps, 1, "max_steps"), positive(step, "step")
    refuse_couplings(model, "continuation")
    return _Path(model, ask, size).follow(State(q, np.zeros(model.nv)), p0, p1, first, most)


class _Path:
    def __init__(self, model: Model, ask: Callable[[float], Loaded], size: float):
        self.model, self.ask, self.size = model, ask, size
        self.sweeps = 0
        self.norm = 1.0 / math.sqrt(max(model.nv, 1))  # root mean square of joint coordinates

    def standing(self, q: FloatArray, p: float) -> Standing:
        return Standing(self.model, gather(self.model, None, None, self.ask(p)), q, is_closed=False)

    def by_load(self, q: FloatArray, p: float) -> FloatArray:
        """∂r/∂p at fixed coordinates and forces of loops, by a central difference."""
        d = LOAD_STEP * self.size
        ahead, behind = (Balance(self.model, gather(self.model, None, None, self.ask(p + e)), q).r for e in (d, -d))
        return np.asarray((ahead - behind) / (2.0 * d))

    def tangent(
        self, at: Standing, p: float, q: FloatArray, before: tuple[FloatArray, float]
    ) -> tuple[FloatArray, float]:
        """Unit direction of the branch, with positive product with the last one."""
        z = np.zeros(self.model.nv)
        at.factor(0.0)
        at.solve(self.by_load(q, p), z)
        dp = 1.0 / math.sqrt((self.norm * self.size) * (self.norm * self.size) * float(z @ z) + 1.0)  # in units of size
        dx = z * (dp * self.size)
        if self.norm**2 * float(dx @ before[0]) + dp * before[1] < 0.0:
            dx, dp = -dx, -dp
        return dx, dp

    def follow(self, state: State, p0: float, p1: float, step: float, most: int) -> Branch:
        rest = settle(self.model, state, loads=self.ask(p0), leave_saddles=False)
        q, p = rest.state.q, p0
        self.sweeps += rest.report.sweeps
        at = self.standing(q, p)
        found = [(p, q.copy(), at.factor(0.0))]
        way = (np.zeros(self.model.nv), math.copysign(1.0, p1 - p0))
        ds = step
        while len(found) <= most:
            way = self.tangent(at, p, q, way)
            while True:
                done = self.correct(q, p, way, ds)
                if done is not None:
                    break
                ds *= 0.5
                if ds < SHORTEST * step:
                    raise StateError(f"the branch cannot be followed beyond a load of {p:g}: no equilibrium is near.")
            q, p, at, tries = done
            found.append((p, q.copy(), at.factor(0.0)))
            self.sweeps += at.balance.sweeps
            if (p - p1) * (p1 - p0) >= 0.0 or (p - p0) * (p1 - p0) < 0.0:
                break
            ds = min(step, 1.5 * ds) if tries <= EASY else ds
        zero = np.zeros(self.model.nv)
        states = tuple(State(x, zero.copy()) for _, x, _ in found)
        return Branch(np.array([x for x, _, _ in found]), states, np.array([u for _, _, u in found]), self.sweeps)

    def correct(
        self, q0: FloatArray, p0: float, way: tuple[FloatArray, float], ds: float
    ) -> tuple[FloatArray, float, Standing, int] | None:
        """The equilibrium at the distance ds along the branch; None where Newton's method does not reach it."""
        tree, nv = self.model.arrays.tree, self.model.nv
        t, tau = way
        q = np.asarray(coordinates_integrate(tree, q0, t, ds))
        p = p0 + ds * tau * self.size
        z = np.zeros(nv)
        for k in range(CORRECTIONS):
            at = self.standing(q, p)
            if at.unbalanced <= BALANCED and at.is_closed and k > 0:
                return q, p, at, k
            at.factor(0.0)
            f = self.by_load(q, p)
            x = at.newton_step()
            at.solve(f * self.size, z)
            self.sweeps += at.balance.sweeps
            moved = np.asarray(coordinates_difference(tree, q0, q, nv))
            left = ds - self.norm**2 * float(t @ moved) - tau * (p - p0) / self.size
            bend = self.norm**2 * float(t @ z) + tau
            if bend == 0.0:
                return None
            dp = (left - self.norm**2 * float(t @ x)) / bend
            step = x + dp * z
            if not np.isfinite(step).all() or np.abs(step).max() > 10.0 * max(ds / self.norm, 1e-3):
                return None
            q = np.asarray(coordinates_integrate(tree, q, step, 1.0))
            p += dp * self.size
        return None
