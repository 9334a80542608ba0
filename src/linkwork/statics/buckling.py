"""Critical loads: where a pivot of the second derivative changes sign as a load grows along its equilibria."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import finite, function, integer, positive
from linkwork.core.messages.describe import described
from linkwork.dynamics.inputs import as_state
from linkwork.errors import StateError
from linkwork.loops.closing import close_loops
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.loading.loaded import Loaded
from linkwork.statics.loads import gather
from linkwork.statics.settle import settle
from linkwork.statics.standing import Standing

SEED, ITERATIONS = 20_240_608, 6
CLOSE_BY = 1e-3  # of the first step of the load: where the branch begins to be followed
HALVINGS = 3  # of a step of the load, where Newton's method does not stay on the branch


@described
class Buckled(NamedTuple):
    """The first load at which an equilibrium loses its stability."""

    load: float  # critical value of the parameter
    width: float  # of the bracket it lies in
    state: State  # equilibrium just below it
    shape: FloatArray  # (nv,)  direction that becomes unstable, largest joint velocity 1
    unstable_below: int  # directions that are unstable before
    unstable_above: int  # and after
    sweeps: int


class Found(NamedTuple):
    """An equilibrium of the branch."""

    unstable: int  # directions
    state: State
    standing: Standing


class Branch:
    """Equilibria of a linkage as its load grows, from one to the next."""

    def __init__(self, model: Model, load: Callable[[float], Loaded | Model | tuple[Model, Loaded]]):
        self._model, self._load = model, load
        self._known: list[tuple[float, State]] = []  # the last ones, by their load
        self.sweeps = 0

    def begin(self, p: float, start: State) -> Found:
        """The first equilibria: at p, from anywhere, and then at one more load close to it."""
        found = self._close_by(p, start) or self._settled(p, start)
        self._known.append((p, found.state))
        return found

    def follow(self, p: float, halvings: int = HALVINGS) -> Found:
        """The branch at p; where the secant leads too far off it, by way of loads in between."""
        found = self._close_by(p, self._ahead(p))
        if found is None and halvings > 0 and self._model.loops:
            known, middle = self._known, 0.5 * (self._known[-1][0] + p)
            self._known = [known[-1], (middle, self.follow(middle, halvings - 1).state)]
            found = self.follow(p, halvings - 1)
            self._known = known
        return found or self._settled(p, self._ahead(p))

    def extend(self, p: float, state: State) -> None:
        """The branch is followed from the last equilibrium and this one."""
        self._known = [self._known[-1], (p, state)]

    def _acting_at(self, p: float) -> tuple[Model, Loaded | None]:
        given = self._load(p)
        if isinstance(given, tuple):
            return given
        return (given, None) if isinstance(given, Model) else (self._model, given)

    def _close_by(self, p: float, start: State) -> Found | None:
        """The equilibrium with loops next to a start; settling would lead away from where more directions are unstable."""
        at, loads = self._acting_at(p)
        if not at.loops:
            return None
        stays = Standing(at, gather(at, None, None, loads), close_loops(at, start).q)
        found = stays.seek()
        self.sweeps += stays.balance.sweeps
        if not found:
            return None
        return Found(stays.factor(0.0), State(stays.balance.place.q.copy(), np.zeros(at.nv)), stays)

    def _settled(self, p: float, start: State) -> Found:
        at, loads = self._acting_at(p)
        rest = settle(at, start, loads=loads, leave_saddles=False)
        standing = Standing(at, gather(at, None, None, loads), rest.state.q)
        count = standing.factor(0.0)
        self.sweeps += rest.report.sweeps + standing.balance.sweeps
        return Found(count, rest.state, standing)

    def _ahead(self, p: float) -> State:
        """Where the branch is at p, by the secant through the last two equilibria: a way off it leads to another branch."""
        (p0, before), (p1, last) = self._known[-2], self._known[-1]
        step = self._model.difference(before.q, last.q) * ((p - p1) / (p1 - p0))
        return State(self._model.integrate(last.q, step), np.zeros(self._model.nv))


def buckling(
    model: Model,
    state: State,
    load: Callable[[float], Loaded | Model | tuple[Model, Loaded]],
    low: float,
    high: float,
    *,
    steps: int = 10,
    tolerance: float = 1e-9,
) -> Buckled:
    """Follows an equilibrium as a load grows, to the first value at which one more direction is unstable.

    load(p): what acts at the value p of the parameter: `lw.Loads(model)` with loads set, or another model of the same shape
    (its gravity, its springs, where it is held), or both.
    low, high: range of p; the equilibrium at `low` is sought from `state`.
    steps: loads that are looked at from low to high before the bracket is halved. tolerance: part of p.
    Raises StateError where no pivot changes its sign in the range.
    """
    q, _ = as_state(model, state)
    ask = function(load, "load")
    a, b = finite(low, "low"), finite(high, "high")
    part, parts = positive(tolerance, "tolerance"), integer(steps, 1, "steps")
    if not a < b:
        raise StateError(f"low is {a:g} and high {b:g}; the load grows from low to high.")
    branch = Branch(model, ask)
    below = branch.begin(a, State(q, np.zeros(model.nv)))
    first, near = below.unstable, a + CLOSE_BY * (b - a) / parts
    found = branch.begin(near, below.state)
    previous = a
    for p in [near, *np.linspace(a, b, parts + 1)[1:].tolist()]:
        if p != near:
            found = branch.follow(p)
        if found.unstable > first:
            break
        previous, below = p, found
        if p != near:
            branch.extend(p, found.state)
    else:
        raise StateError(f"no pivot changes its sign from {a:g} to {b:g}: {first} directions are unstable throughout.")
    upper, above = p, found.unstable
    while upper - previous > part * max(abs(previous), abs(upper)):
        middle = 0.5 * (previous + upper)
        if not previous < middle < upper:
            break
        found = branch.follow(middle)
        if found.unstable > first:
            upper, above = middle, found.unstable
        else:
            previous, below = middle, found
            branch.extend(middle, found.state)
    shape, at = _soft_shape(below.standing), below.state
    return Buckled(0.5 * (previous + upper), upper - previous, at, shape, first, above, branch.sweeps)


def _soft_shape(standing: Standing) -> FloatArray:
    """The direction of the eigenvalue nearest zero, by inverse iteration."""
    x = np.random.default_rng(SEED).normal(size=standing.model.nv)
    moved = np.zeros_like(x)
    standing.factor(0.0)
    for _ in range(ITERATIONS):
        standing.mass_times(x, moved)
        standing.solve(moved, x)
        x /= np.abs(x).max()
    return x
