"""Block Lanczos on (∂²U − σM)⁻¹M, which is symmetric in the inner product of M: the eigenvalues next to the shift σ.

Each block is solved for in one pass over the linkage. A new block is first made orthogonal to the two before it, which is
all that exact arithmetic would ask for, then to the whole basis, which is what rounding asks for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.statics.standing import Standing

BLOCK = (
    2  # vectors at a time; modes of the same frequency that one block finds at once. More lose digits within a block
)
SEED = 20_240_607
CONVERGED = (
    1e-8  # residual of a mode, as a part of its eigenvalue's distance from the shift; of the eigenvalue, its square
)
FIRST_VECTORS = 64
AGAIN = 1e-3  # part of a block in the older basis from which on it is made orthogonal once more
NOTHING_NEW = 1e-24  # of the squared length of a block


class Ritz(NamedTuple):
    """Eigenvalues of the projection, ascending from the shift."""

    values: FloatArray  # (m,)  [1/s²]
    converged: int  # how many of the first
    coefficients: FloatArray  # (m, m)  columns: vectors in the basis
    residuals: FloatArray  # (m,)  as parts of the distance from the shift


class Lanczos:
    """Blocks of vectors, orthonormal in the inner product of M, and the projection T of (∂²U − σM)⁻¹M on them."""

    def __init__(self, standing: Standing, shift: float, most: int):
        """Needs `standing.factor(shift)` to be the last elimination, here and at every call of `until`."""
        self.standing, self.shift, self.most = standing, shift, most
        self.nv = standing.model.nv
        size = min(most, FIRST_VECTORS)
        self.V, self.MV = np.zeros((size, self.nv)), np.zeros((size, self.nv))
        self.T = np.zeros((size, size))
        self.count = 0  # vectors in the basis
        self.done = 0  # of which (∂²U − σM)⁻¹M v is in T
        self.before = 0  # where the block before the last begins
        self.left = np.zeros((0, 0))  # R: what the last block leaves beside the basis
        self.rng = np.random.default_rng(SEED)

    @property
    def exhausted(self) -> bool:
        return self.done == self.count >= self.most

    def stir(self) -> None:
        """A new random vector, where a kind of motion may not have been in the first block."""
        self._append(self.rng.normal(size=(1, self.nv)))

    def until(self, need: int) -> Ritz:
        """Goes on until so many have converged, or there are no more vectors."""
        if self.count == 0:
            random = self.rng.normal(size=(min(BLOCK, self.most), self.nv))
            self._append(self._inverted(random))
        while True:
            self._advance()
            m = self.done
            if m >= need or self.exhausted:
                found = self._ritz(m)
                if found.converged >= need or self.exhausted:
                    return found

    def _inverted(self, right: FloatArray) -> FloatArray:
        """(∂²U − σM)⁻¹ of rows."""
        x = np.empty_like(right)
        self.standing.solve(right, x)
        return x

    def _heavy(self, x: FloatArray) -> FloatArray:
        """M times rows."""
        out = np.empty_like(x)
        self.standing.mass_times(x, out)
        return out

    def vectors(self, coefficients: FloatArray) -> FloatArray:
        """Rows, from columns of coefficients in the basis."""
        return np.asarray(coefficients.T @ self.V[: coefficients.shape[0]])

    def _ritz(self, m: int) -> Ritz:
        theta, Y = np.linalg.eigh(self.T[:m, :m])
        with np.errstate(divide="ignore"):
            values = self.shift + 1.0 / theta
        order = np.argsort(np.where(theta > 0.0, values, np.inf))
        values, Y, theta = values[order], Y[:, order], theta[order]
        last = Y[m - self.left.shape[1] :] if self.left.size else Y[:0]
        residuals = np.linalg.norm(self.left @ last, axis=0) / np.abs(theta) if self.left.size else np.zeros(m)
        converged = (residuals <= CONVERGED) & (theta > 0.0)
        return Ritz(values, int(np.argmin(converged)) if not converged.all() else m, Y, residuals)

    def _advance(self) -> None:
        """(∂²U − σM)⁻¹M of the last block: its part in the basis goes into T, the rest becomes the next block."""
        k, known = self.count, self.done
        W = self._inverted(self.MV[known:k])
        near = self._part(W, self.before, k)
        size = float(np.abs(near).max(initial=0.0))
        H = self._part(W, 0, k)
        if float(np.abs(H).max(initial=0.0)) > AGAIN * size:
            H += self._part(W, 0, k)
        H[:, self.before :] += near
        self.T[:k, known:k], self.T[known:k, :k] = H.T, H
        self.T[known:k, known:k] = 0.5 * (H[:, known:] + H[:, known:].T)
        self.done, self.before = k, known
        self.left = self._append(W)

    def _part(self, W: FloatArray, first: int, last: int) -> FloatArray:
        """Takes the part along vectors `first` to `last` of the basis out of the rows of W; returns its coefficients."""
        H = W @ self.MV[first:last].T
        W -= H @ self.V[first:last]
        return np.asarray(H)

    def _append(self, W: FloatArray) -> FloatArray:
        """Adds what is new in the rows of W, orthonormal; returns R with W = Rᵀ times what was added."""
        k = self.count
        if k >= self.nv:
            return np.zeros((0, 0))
        if k and self.done < k:  # a stray vector: the basis is not yet taken out of it
            self._part(W, 0, k)
        MW = self._heavy(W)
        gram = W @ MW.T
        values, Q = np.linalg.eigh(0.5 * (gram + gram.T))
        good = values > NOTHING_NEW * max(float(values.max(initial=0.0)), 1e-300)
        beside = (Q[:, good] * np.sqrt(values[good])).T
        good[: max(0, good.size - (self.most - k))] = False
        root = np.sqrt(values[good])
        if beside.size == 0 and k < self.most:
            W = self.rng.normal(size=(1, self.nv))
            self._part(W, 0, k)
            return self._append(W) * 0.0
        self._grow(k + root.size)
        change = (Q[:, good] / root).T
        np.matmul(change, W, out=self.V[k : k + root.size])
        np.matmul(change, MW, out=self.MV[k : k + root.size])
        self.count = k + root.size
        return np.asarray(beside)

    def _grow(self, size: int) -> None:
        if size <= self.V.shape[0]:
            return
        size = min(max(size, 2 * self.V.shape[0]), self.most + BLOCK)
        V, MV, T = np.zeros((size, self.nv)), np.zeros((size, self.nv)), np.zeros((size, size))
        k = self.count
        V[:k], MV[:k], T[:k, :k] = self.V[:k], self.MV[:k], self.T[:k, :k]
        self.V, self.MV, self.T = V, MV, T
