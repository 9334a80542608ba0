"""Equilibria in a stream: Newton's method on forces that have no potential, along pseudo time.

Drag turns with the bodies it acts on, so that ∂r/∂q is not symmetric and there is no energy to go down. The motion
M dq/ds = r leads to rest; its steps, linearly implicit, solve (s M − ∂r/∂q) x = r with products by differences of r and the
elimination of all but the change of drag as a near inverse (GMRES). s shrinks with r, and the last steps are Newton's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.derivatives.krylov import solve_by_products
from linkwork.environment.fluid import wrenches_at_rest
from linkwork.environment.water import Water
from linkwork.environment.wetted import wetted
from linkwork.model.model import Model
from linkwork.statics.balance import Balance
from linkwork.statics.newton import Outcome, Progress, not_settled
from linkwork.statics.workspace import P_WORLD, R_WORLD

FloatArray = NDArray[np.float64]

SHORT = 1e-6  # [rad] of the joint that turns most: over which a change of efforts is taken for a derivative
PRODUCTS = 60
FIRST, LAST = 1.0, 1e-12  # s, as a part of loads over inertia of the whole, at first; below the last it is left out
LESS, MORE = 0.1, 4.0  # s changes as r does, within these
TURN = 0.7  # [rad] of any joint in one step
WORSE = 4.0  # r may grow by this in a step; beyond it s grows instead


class Stream:
    """What water does to the bodies of a balance, as wrenches fixed in the bodies."""

    def __init__(self, model: Model, water: Water, balance: Balance):
        self.balance, self.water = balance, water
        self.wet = wetted(model, water)
        self.given = balance.acting.wrenches.copy()
        self.wrenches = np.zeros((model.n_bodies, 6))

    def act(self) -> None:
        """Puts wrenches at `place` into what acts, and weighs it."""
        b = self.balance
        wrenches_at_rest(
            self.wet,
            self.water.numbers,
            self.water.profile,
            b.arrays.gravity,
            b.place.pose,
            R_WORLD,
            P_WORLD,
            self.wrenches,
        )
        np.add(self.given, self.wrenches, out=b.acting.wrenches)
        b.weigh()


def settle_in_water(balance: Balance, water: Water, tolerance: float, max_sweeps: int) -> Outcome:
    """Moves `balance` to an equilibrium under everything and the water; raises StateError where none is found."""
    stream = Stream(balance.model, water, balance)
    done = Progress()
    stream.act()
    balance.scales = balance._scales()
    scale = max(balance.scales.effort, 1e-300)
    shift = FIRST * balance.scales.rate2
    while True:
        done.history.append(float(np.abs(balance.r).max(initial=0.0)) / scale)
        if done.history[-1] <= tolerance:
            break
        if balance.sweeps >= max_sweeps:
            raise not_settled(balance, done, max_sweeps, tolerance)
        shift = _step(balance, stream, shift)
    pivots = balance.eliminate(0.0)
    turn, way = balance.solve(balance.r, balance.x)
    done.sweeps = balance.sweeps
    return Outcome(turn, way, pivots.negative, pivots.negative == 0 and pivots.singular < 0, done)


def _step(balance: Balance, stream: Stream, shift: float) -> float:
    """One step at the given s [1/s²]; returns the next."""
    blend = 0.0
    pivots = balance.eliminate(0.0, shift)
    if pivots.singular >= 0 or pivots.negative > 0:
        blend = 1.0
        balance.eliminate(blend, shift)
    r0 = balance.r.copy()
    moved = np.zeros_like(r0)

    def at(x: FloatArray, scale: float) -> FloatArray:
        balance.look(x, scale)
        balance.accept()
        stream.act()
        found = balance.r.copy()
        balance.accept()  # back
        return found

    def product(x: FloatArray) -> FloatArray:
        size = SHORT / max(float(np.abs(x).max(initial=0.0)), 1e-300)
        change = (at(x, -size) - at(x, size)) / (2.0 * size)
        balance.mass_times(x, moved)
        return np.asarray(change + shift * moved)

    def about_inverse(b: FloatArray) -> FloatArray:
        x = np.zeros_like(b)
        balance.solve(np.ascontiguousarray(b), x)
        return x

    x, _ = solve_by_products(product, about_inverse, r0, PRODUCTS)
    balance.look(x, min(1.0, TURN / max(float(np.abs(x).max(initial=0.0)), 1e-300)))
    balance.accept()
    stream.act()
    ratio = float(np.linalg.norm(balance.r)) / max(float(np.linalg.norm(r0)), 1e-300)
    if not ratio < WORSE:
        balance.accept()
        stream.act()
        return max(shift, LAST * balance.scales.rate2) * MORE
    shift *= min(max(ratio, LESS), MORE)
    return shift if shift > LAST * balance.scales.rate2 else 0.0
