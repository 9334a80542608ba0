"""How many segments a rod needs: a cantilever of n and of 2 n segments, and Richardson's estimate of what is left.

The rod stands for a cantilever in a plane, under its own weight across it, or under a load at its tip where it has none.
With angles θ of its pieces from level, and F the force that all beyond a piece puts on its far end, half its own weight
included, every piece is balanced by

    k (θ − θ_before) − k_after (θ_after − θ) = F ℓ cos θ                                                          (1)

whose derivative has three diagonals: Newton's method in O(n).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from linkwork.core.arrays import FloatArray

Along = Callable[[FloatArray], FloatArray]  # a number at each of some lengths along a rod [m]

ORDER_TWO = 4.0  # times less at twice as many segments
ROUNDS, STEPS, ENOUGH = 6, 60, 1e-12
LONGEST_STEP = 0.3  # [rad] of a piece in one step


def segments_for(length: float, EI: Along, weight: Along, tolerance: float, first: int, most: int) -> tuple[int, float]:
    """Segments for an error of the deflection below `tolerance`, as a part of it, and the error estimated for them."""
    n = first
    for _ in range(ROUNDS):
        error = estimated_error(length, EI, weight, n)
        wanted = min(most, math.ceil(n * math.sqrt(error / tolerance)))
        if (error <= tolerance and wanted >= 0.9 * n) or n >= most:
            break
        n = max(first, wanted)
    return n, estimated_error(length, EI, weight, n)


def estimated_error(length: float, EI: Along, weight: Along, n: int) -> float:
    """Of the tip of n segments, as a part of its deflection (Richardson): 4/3 of the way to the tip of 2 n."""
    coarse, fine = tip(length, EI, weight, n), tip(length, EI, weight, 2 * n)
    size = float(np.linalg.norm(fine - (length, 0.0)))
    return float(np.linalg.norm(fine - coarse)) * ORDER_TWO / (ORDER_TWO - 1.0) / max(size, 1e-300)


def tip(length: float, EI: Along, weight: Along, n: int) -> FloatArray:
    """Where the tip of a cantilever of n joints comes to rest [m]: along it, and down. weight [N/m]."""
    ell = length / n
    s: FloatArray = np.asarray((np.arange(n) + 0.5) * ell, dtype=np.float64)
    k = EI(s) / ell
    sizes = np.full(n, ell)
    sizes[-1] = 0.5 * ell  # the first half piece is clamped, the last one free
    own = weight(s + 0.5 * sizes) * sizes
    beyond = np.concatenate([np.cumsum(own[::-1])[::-1][1:], [0.0]])
    if own.sum() == 0.0:
        beyond = np.full(n, float(k.min()) * ell / length**2)  # P L²/EI = 1
    F = (beyond + 0.5 * own) * sizes
    theta = np.zeros(n)
    after = np.concatenate([k[1:], [0.0]])
    for _ in range(STEPS):
        turn = np.diff(theta, prepend=0.0)
        left = F * np.cos(theta) - k * turn + after * np.concatenate([turn[1:], [0.0]])
        step = _three_diagonals(k + after + F * np.abs(np.sin(theta)), after[:-1], left)
        largest = float(np.abs(step).max())
        theta += step * min(1.0, LONGEST_STEP / max(largest, 1e-300))
        if largest < ENOUGH:
            break
    return np.array([0.5 * ell + float(sizes @ np.cos(theta)), float(sizes @ np.sin(theta))])


def _three_diagonals(main: FloatArray, beside: FloatArray, right: FloatArray) -> FloatArray:
    """Solves a symmetric system with `main` on its diagonal and −`beside` next to it."""
    d, y = main.tolist(), right.tolist()
    b = beside.tolist()
    for i in range(1, len(d)):
        part = b[i - 1] / d[i - 1]
        d[i] -= part * b[i - 1]
        y[i] += part * y[i - 1]
    y[-1] /= d[-1]
    for i in range(len(d) - 2, -1, -1):
        y[i] = (y[i] + b[i] * y[i + 1]) / d[i]
    return np.array(y)
