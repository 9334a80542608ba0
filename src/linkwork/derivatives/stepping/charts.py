"""Coordinates around the start of a step, backwards: u̇ = dexp⁻¹(v) of `simulation.integrators.chart`.

It is linear in v; its derivatives with respect to u are taken by complex steps, which are exact to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.model import layout
from linkwork.model.model import Model

STEP = 1e-30
SMALL_ANGLE2 = 1e-2  # as in `chart`


def _cross(a: Any, b: Any) -> Any:
    return np.stack(
        [
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ],
        axis=1,
    )


def _bracket(u: Any, v: Any) -> Any:
    """[u, v] of rows of twists."""
    w, x = _cross(u[:, :3], v[:, :3]), _cross(u[:, :3], v[:, 3:]) + _cross(u[:, 3:], v[:, :3])
    return np.concatenate([w, x], axis=1)


def _coefficients(angle2: Any) -> Any:
    small = np.real(angle2) < SMALL_ANGLE2
    safe = np.where(small, 1.0, angle2)
    x = np.sqrt(safe)
    cot = 1.0 / np.tan(0.5 * x)
    missing = 1.0 - 0.5 * x * cot
    slope = 0.5 * cot - 0.25 * x * (1.0 + cot * cot)
    c4 = (slope + 2.0 * missing / x) / (2.0 * safe * x)
    c2 = missing / safe + c4 * safe
    near2 = 1.0 / 12.0 - angle2 * angle2 / 30240.0
    near4 = -1.0 / 720.0 - angle2 / 15120.0 - angle2 * angle2 / 403200.0
    return np.where(small, near2, c2)[:, None], np.where(small, near4, c4)[:, None]


def rates_of(u: Any, v: Any) -> Any:
    """u̇ for which g₀ exp(u) moves with the twists v, rows (m, 6), real or complex."""
    c2, c4 = _coefficients(np.sum(u[:, :3] * u[:, :3], axis=1))
    one = _bracket(u, v)
    two = _bracket(u, one)
    return v + 0.5 * one + c2 * two + c4 * _bracket(u, _bracket(u, two))


class Charts:
    """The ball and free joints of a model, as rows of six."""

    def __init__(self, model: Model):
        tree = model.arrays.tree
        kinds = tree[:, layout.KIND]
        self.ball, self.free = tree[kinds == layout.SPHERICAL, layout.V], tree[kinds == layout.FREE, layout.V]
        self.count = self.ball.size + self.free.size

    def six(self, x: FloatArray) -> FloatArray:
        out = np.zeros((self.count, 6))
        out[: self.ball.size, :3] = x[self.ball[:, None] + np.arange(3)]
        out[self.ball.size :] = x[self.free[:, None] + np.arange(6)]
        return out

    def put(self, rows: FloatArray, out: FloatArray) -> None:
        out[self.ball[:, None] + np.arange(3)] = rows[: self.ball.size, :3]
        out[self.free[:, None] + np.arange(6)] = rows[self.ball.size :]

    def rates(self, u: FloatArray, v: FloatArray) -> FloatArray:
        """u̇, shape (nv,)."""
        out = v.copy()
        if self.count:
            self.put(rates_of(self.six(u), self.six(v)), out)
        return out

    def rates_back(self, u: FloatArray, v: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients of weights · u̇ with respect to u and v, (nv,) each."""
        by_u, by_v = np.zeros_like(u), weights.copy()
        if self.count:
            U, V, W = self.six(u), self.six(v), self.six(weights)
            rows_u, rows_v = np.empty_like(U), np.empty_like(V)
            for k in range(6):
                unit = np.zeros((1, 6))
                unit[0, k] = 1.0
                rows_u[:, k] = np.sum(W * np.imag(rates_of(U + 1j * STEP * unit, V)) / STEP, axis=1)
                rows_v[:, k] = np.sum(W * rates_of(U, np.broadcast_to(unit, V.shape)), axis=1)
            self.put(rows_u, by_u)
            self.put(rows_v, by_v)
        return by_u, by_v
