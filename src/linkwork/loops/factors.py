"""Constraint forces from Python when constraints may repeat each other: A λ = r, A symmetric, positive semi-definite."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.loops.forces import LoopRows, factor_loops, solve_loops
from linkwork.loops.system import LoopSystem


class Factors:
    """A (p, p), factored on the constraints that count. Cost: O(p³).

    free: what the diagonal of A would be if the bodies were free, shape (p,); joints can only make it smaller.
    """

    def __init__(self, A: FloatArray, free: FloatArray):
        p = free.size
        self._rows = LoopRows(
            A=np.ascontiguousarray(A, dtype=np.float64),
            free=np.ascontiguousarray(free, dtype=np.float64),
            right=np.zeros(p),
            force=np.zeros(p),
            scale=np.zeros(p),
            order=np.zeros(p, dtype=np.int64),
            left=np.zeros(p),
            L=np.zeros((p, p)),
            rank=np.zeros(1, dtype=np.int64),
        )
        factor_loops(self._rows)

    @property
    def redundant(self) -> int:
        return self._rows.free.size - int(self._rows.rank[0])

    @property
    def scale(self) -> FloatArray:
        """1/√diagonal, (p,), of free bodies where nothing moves: takes rows to numbers that can be compared."""
        moves = self._rows.scale > 0.0
        return np.where(moves, self._rows.scale, 1.0 / np.sqrt(np.where(moves, 1.0, self._rows.free)))

    def solve(self, r: FloatArray) -> FloatArray:
        """The solution of A λ = r of least norm, shape (p,); rows that say what others say are not asked."""
        self._rows.right[:] = r
        solve_loops(self._rows)
        return self._rows.force.copy()

    def half(self, X: FloatArray) -> FloatArray:
        """Y with Yᵀ Y = Xᵀ A⁺ X, shape (rank, m), for columns X (p, m)."""
        rank = int(self._rows.rank[0])
        rows = self._rows.order[:rank]
        return np.asarray(np.linalg.solve(self._rows.L[:rank, rows].T, self._rows.scale[rows, None] * X[rows]))


def force_loops(
    system: LoopSystem, A: FloatArray, accelerations: FloatArray, wanted: FloatArray | float = 0.0
) -> FloatArray:
    """λ (p,). accelerations: (6 m,), of the joined bodies. wanted: (p,), what C a - b is to be, negative."""
    return -Factors(A, system.free_responses()).solve(unmet(system, accelerations, wanted))


def unmet(system: LoopSystem, accelerations: FloatArray, wanted: FloatArray | float = 0.0) -> FloatArray:
    """Accelerations that λ takes away, (p,)."""
    return np.asarray(system.C @ accelerations - system.bias + wanted)
