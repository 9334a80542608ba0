"""Integrating in exponential coordinates: u in q ⊕ u, its rate where the body turns while it moves, and its size.

Ball and free joints have velocities in the moving frame. With g = g₀ exp(u) and ġ = g v the coordinates u obey
u̇ = dexp⁻¹(v) = v + ½ [u, v] + 1/12 [u, [u, v]] - ..., not u̇ = v: without the brackets every method is of order two.
Derivation: docs/integrators.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.model.layout import FREE, KIND, SPHERICAL, Q, V
from linkwork.model.model import Model

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SMALL_ANGLE2 = (
    1e-2  # angle squared, below which the first terms of the series of both coefficients are exact to rounding
)


class Tangent:
    """Where the twists of a model's ball and free joints stand in v, and its coordinates in q."""

    def __init__(self, model: Model):
        tree = model.arrays.tree
        kinds = tree[:, KIND]
        balls, frees = tree[kinds == SPHERICAL], tree[kinds == FREE]
        nothing = np.full((len(balls), 3), model.nv)  # a ball does not shift: it reads a zero behind the last velocity
        self.twists: IntArray = np.concatenate(
            [np.hstack([balls[:, [V]] + np.arange(3), nothing]), frees[:, [V]] + np.arange(6)]
        )
        self.shift_q: IntArray = frees[:, [Q]] + np.arange(3)
        self.shift_v: IntArray = frees[:, [V]] + np.arange(3, 6)
        curved = np.zeros(model.nv + 1, dtype=bool)
        curved[self.twists] = True
        self.plain_v: IntArray = np.flatnonzero(~curved[:-1])
        starts = [
            np.arange(model.q_slice(i).start, model.q_slice(i).stop) for i in np.flatnonzero(_flat(kinds)).tolist()
        ]
        self.plain_q: IntArray = np.concatenate([np.zeros(0, dtype=np.int64), *starts])

    def rate(self, u: FloatArray, v: FloatArray) -> FloatArray:
        """u̇ where q = q₀ ⊕ u moves with velocity v; shapes (nv,). Exact for turns below 2π."""
        if not self.twists.size:
            return v
        U, W = (np.append(x, 0.0)[self.twists] for x in (u, v))
        ad = adjoint(U)
        once = ad @ W[:, :, None]
        twice = ad @ once
        fourth = ad @ (ad @ twice)
        c2, c4 = _coefficients(np.einsum("ij,ij->i", U[:, :3], U[:, :3])[:, None])
        rates = np.append(v, 0.0)
        rates[self.twists] = W + 0.5 * once[:, :, 0] + c2 * twice[:, :, 0] + c4 * fourth[:, :, 0]
        return rates[:-1]

    def sizes(self, q: FloatArray) -> FloatArray:
        """What an error of each coordinate compares with: |q|, one radian for orientations, distances; shape (nv,)."""
        out = np.ones(self.plain_v.size + 3 * len(self.twists) + 3 * len(self.shift_v))
        out[self.plain_v] = np.abs(q[self.plain_q])
        out[self.shift_v] = np.linalg.norm(q[self.shift_q], axis=1, keepdims=True)
        return out


def _flat(kinds: IntArray) -> NDArray[np.bool_]:
    return (kinds != SPHERICAL) & (kinds != FREE)


def tangent_of(model: Model) -> Tangent:
    """The tangent of a model, made once a thread."""
    kept = model.workspaces.__dict__
    if "tangent" not in kept:
        kept["tangent"] = Tangent(model)
    made: Tangent = kept["tangent"]
    return made


# Entries of the matrix of ad: where, which component of the twist, and its sign. Blocks [[ω×, 0], [v×, ω×]].
_SKEW = ((0, 1, 2, -1.0), (0, 2, 1, 1.0), (1, 0, 2, 1.0), (1, 2, 0, -1.0), (2, 0, 1, -1.0), (2, 1, 0, 1.0))
_BLOCKS = ((0, 0, 0), (3, 3, 0), (3, 0, 3))  # row, column, first component
_WHERE = np.array([6 * (row + i) + column + j for row, column, _ in _BLOCKS for i, j, _, _ in _SKEW])
_WHICH = np.array([first + k for *_, first in _BLOCKS for _, _, k, _ in _SKEW])
_SIGN = np.array([sign for _ in _BLOCKS for *_, sign in _SKEW])


def adjoint(twists: FloatArray) -> FloatArray:
    """The matrices of ad: ad(a) b = [a, b] = (ω_a × ω_b, ω_a × v_b + v_a × ω_b), shape (m, 6, 6)."""
    flat = np.zeros((len(twists), 36))
    flat[:, _WHERE] = _SIGN * twists[:, _WHICH]
    return flat.reshape(-1, 6, 6)


def _coefficients(angle2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of ad² and ad⁴ in dexp⁻¹ on SE(3), for turns by the angle θ.

    The series ends there because ad has no eigenvalues but 0 and ± iθ, each at most twice: the polynomial that agrees with
    c(θ) = θ/2 cot(θ/2) and its slope at iθ is the whole series.
    """
    small = angle2 < SMALL_ANGLE2
    series2 = 1.0 / 12.0 - angle2 * angle2 / 30240.0
    series4 = -1.0 / 720.0 - angle2 / 15120.0 - angle2 * angle2 / 403200.0
    if small.all():
        return series2, series4
    x2 = np.where(small, 1.0, angle2)
    x = np.sqrt(x2)
    cot = 1.0 / np.tan(0.5 * x)
    missing = 1.0 - 0.5 * x * cot
    slope = 0.5 * cot - 0.25 * x * (1.0 + cot * cot)
    c4 = (slope + 2.0 * missing / x) / (2.0 * x2 * x)
    c2 = missing / x2 + c4 * x2
    return np.where(small, series2, c2), np.where(small, series4, c4)
