"""Ball and free joints within a step from q to q⁺ = q ⊕ u, as blocks of six by six.

    δ⁺ = A δ + B δu,  A = Ad(exp(-u)),  B = Jr(u) = Σ (-ad u)^k / (k + 1)!        so that  δu = B⁻¹ (δ⁺ - A δ)

Rows of ball joints have no translation; what does not turn has the identity there. All other joints have A = B = 1.
"""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.derivatives.stepping.charts import Charts
from linkwork.derivatives.stepping.turning import hat

TERMS = 40  # of series that end after some 25 for turns below π


def brackets(u: FloatArray) -> FloatArray:
    """The matrices of [u, ·], shape (m, 6, 6)."""
    out = np.zeros((u.shape[0], 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = hat(u[:, :3])
    out[:, 3:, :3] = hat(u[:, 3:])
    return out


def exponentials(u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A and B of rows of twists."""
    ad = -brackets(u)
    A = np.broadcast_to(np.eye(6), ad.shape).copy()
    B, term = A.copy(), A.copy()
    for k in range(1, TERMS):
        term = term @ ad / k
        A += term
        B += term / (k + 1.0)
        if not np.abs(term).max() > 1e-17:
            break
    return A, B


class ChartBlocks:
    """The ball and free joints of a step. A, B: of the whole step; half: of its half, by u, shape (m, 6, 6)."""

    def __init__(self, charts: Charts, u: FloatArray):
        self.charts = charts
        if charts.count:
            rows = charts.six(u)
            self.A, self.B = exponentials(rows)
            self.half_A, half = exponentials(0.5 * rows)
            self.half_B = 0.5 * half

    def _times(self, A: FloatArray, x: FloatArray, transposed: bool) -> FloatArray:
        out = x.copy()
        if self.charts.count:
            way = "nji,nj->ni" if transposed else "nij,nj->ni"
            self.charts.put(np.einsum(way, A, self.charts.six(x)), out)
        return out

    def difference_back(self, by_u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients with respect to q and q⁺ from those with respect to u = q⁺ ⊖ q."""
        ahead = by_u.copy()
        if not self.charts.count:
            return -ahead, ahead
        rows = np.linalg.solve(np.swapaxes(self.B, 1, 2), self.charts.six(by_u)[:, :, None])[:, :, 0]
        self.charts.put(np.asarray(rows, dtype=np.float64), ahead)
        return -self._times(self.A, ahead, True), ahead

    def middle_back(self, by_middle: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients with respect to q and u from those with respect to q ⊕ ½ u."""
        if not self.charts.count:
            return by_middle, 0.5 * by_middle
        by_u = 0.5 * by_middle
        self.charts.put(np.einsum("nji,nj->ni", self.half_B, self.charts.six(by_middle)), by_u)
        return self._times(self.half_A, by_middle, True), by_u
