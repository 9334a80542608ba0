"""Between changes of coordinates (nq) and changes along the tangent (nv), for libraries that know of coordinates alone.

Quaternions that are not unit count as those they become when made unit. With q of an orientation, and ω the change along
the tangent: dq = ½ q ⊗ ω, and ω = 2 vec(q* ⊗ dq) / |q|²; a free joint's position changes by R v.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.model import layout
from linkwork.model.model import Model


class Tangents:
    """The linear maps between dq and δ of a model, and their transposes, at given coordinates; rows for batches."""

    def __init__(self, model: Model):
        tree = model.arrays.tree
        self.nq, self.nv = model.nq, model.nv
        kinds = tree[:, layout.KIND]
        free, ball = tree[kinds == layout.FREE], tree[kinds == layout.SPHERICAL]
        self.turn_q = np.concatenate([ball[:, layout.Q], free[:, layout.Q] + 3])
        self.turn_v = np.concatenate([ball[:, layout.V], free[:, layout.V]])
        self.shift_q, self.shift_v = free[:, layout.Q], free[:, layout.V] + 3
        self.shift_turn = free[:, layout.Q] + 3
        plain = [row for row in tree if row[layout.KIND] in (layout.HELICAL, layout.COMPOUND)]
        none = np.zeros(0, dtype=np.int64)
        self.plain_q = np.concatenate([none, *(row[layout.Q] + np.arange(row[layout.DOF]) for row in plain)])
        self.plain_v = np.concatenate([none, *(row[layout.V] + np.arange(row[layout.DOF]) for row in plain)])

    def _turns(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scalar and vector parts of the orientations, (m, 1) and (m, 3)."""
        w = q[self.turn_q, None]
        return w, np.stack([q[self.turn_q + k] for k in (1, 2, 3)], axis=1)

    def _rotations(self, q: FloatArray) -> FloatArray:
        w = q[self.shift_turn]
        x, y, z = (q[self.shift_turn + k] for k in (1, 2, 3))
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
        return np.moveaxis(np.array(rows), -1, 0)

    def tangent(self, q: FloatArray, dq: FloatArray) -> FloatArray:
        """δ of a change dq."""
        out = np.zeros(self.nv)
        out[self.plain_v] = dq[self.plain_q]
        w, x = self._turns(q)
        dw, dx = self._turns(dq)
        _put(out, self.turn_v, 2.0 * (w * dx - dw * x - np.cross(x, dx)))
        _put(out, self.shift_v, np.einsum("nji,nj->ni", self._rotations(q), _take(dq, self.shift_q)))
        return out

    def tangent_transposed(self, q: FloatArray, g: FloatArray) -> FloatArray:
        """The gradient with respect to q from that along the tangent, g."""
        out = np.zeros(self.nq)
        out[self.plain_q] = g[self.plain_v]
        w, x = self._turns(q)
        turn = _take(g, self.turn_v)
        out[self.turn_q] = -2.0 * np.sum(x * turn, axis=1)
        _put(out, self.turn_q + 1, 2.0 * (w * turn + np.cross(x, turn)))
        _put(out, self.shift_q, np.einsum("nij,nj->ni", self._rotations(q), _take(g, self.shift_v)))
        return out

    def push_transposed(self, q: FloatArray, g: FloatArray) -> FloatArray:
        """The gradient along the tangent from that with respect to q, g, of coordinates that are a result."""
        out = np.zeros(self.nv)
        out[self.plain_v] = g[self.plain_q]
        w, x = self._turns(q)
        gw, gx = self._turns(g)
        _put(out, self.turn_v, 0.5 * (w * gx - gw * x + np.cross(gx, x)))
        _put(out, self.shift_v, np.einsum("nji,nj->ni", self._rotations(q), _take(g, self.shift_q)))
        return out


def _put(out: FloatArray, first: Any, rows: FloatArray) -> None:
    for k in range(3):
        out[first + k] = rows[:, k]


def _take(x: FloatArray, first: Any) -> FloatArray:
    return np.stack([x[first + k] for k in range(3)], axis=1)
