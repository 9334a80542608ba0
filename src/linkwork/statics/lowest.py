"""The direction in which an unstable equilibrium falls: the lowest mode of (∂²U, M), by inverse iteration.

A negative pivot at joint j gives a direction x with xᵀ∂²U x = D_j < 0 at once, but one that bends sharply at joint j. Its
Rayleigh quotient bounds the lowest eigenvalue from above; ∂²U + s M has no negative pivot where s is larger than the lowest
is deep (Sylvester), and iterating with its inverse leads to the lowest mode, smooth and of steepest fall.
"""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.statics.balance import Balance, Pivots

DEEPER = 4.0  # times the Rayleigh quotient: first shift, and what the next is larger by
TRIALS, ITERATIONS = 20, 8


def lowest_direction(balance: Balance, pivots: Pivots, x: FloatArray) -> float:
    """x (nv,) of negative curvature at `place`, whose elimination must be the last; returns the largest rotation in it."""
    turn = balance.negative_direction(pivots.deepest, x)
    start = x.copy()
    moved = np.zeros_like(x)
    balance.mass_times(x, moved)
    inertia = float(x @ moved)
    depth = -balance.curvature(x) / inertia if inertia > 0.0 else 0.0
    if not depth > 0.0:
        return turn
    shift = DEEPER * depth
    for _ in range(TRIALS):
        tried = balance.eliminate(0.0, shift)
        if tried.negative == 0 and tried.singular < 0:
            break
        shift *= DEEPER
    else:
        x[:] = start
        return turn
    for _ in range(ITERATIONS):
        balance.mass_times(x, moved)
        turn, _ = balance.solve(moved, x)
        x /= max(turn, 1e-300)
    return 1.0
