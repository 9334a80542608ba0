"""Constraint forces of statics: A λ = r with A = J H⁻¹ Jᵀ, p x p, of a stiffness H that need not be positive.

In water it need not be symmetric either (`LeastSquares`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.jit import kernel, routine

SWEEPS = 30  # over all entries off the diagonal; six to eight reach rounding
DIAGONAL = 1e-12  # part of the largest entry that a diagonal counts as at least
REDUNDANT = 1e-10  # part of the largest eigenvalue of the scaled matrix, below which one counts as zero
REDUNDANT_VALUE = 1e-12  # the same of singular values of an unsymmetric matrix
FEW = 12  # rows, up to which rotations in place take less than a call of LAPACK


@routine
def rotate(A, vectors, i, j):
    """Makes the entry (i, j) zero."""
    if A[i, j] == 0.0:
        return
    ratio = (A[j, j] - A[i, i]) / (2.0 * A[i, j])
    t = 1.0 / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
    if ratio < 0.0:
        t = -t
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    for k in range(A.shape[0]):
        x, y = A[k, i], A[k, j]
        A[k, i], A[k, j] = c * x - s * y, s * x + c * y
        x, y = vectors[k, i], vectors[k, j]
        vectors[k, i], vectors[k, j] = c * x - s * y, s * x + c * y
    for k in range(A.shape[0]):
        x, y = A[i, k], A[j, k]
        A[i, k], A[j, k] = c * x - s * y, s * x + c * y
    A[i, j] = 0.0
    A[j, i] = 0.0


@kernel
def eigen_scaled(A, S, root, values, vectors):
    """Square roots of the diagonal of the symmetric part of A (p, p), and eigenvalues and columns of eigenvectors, in no
    order, of that part scaled to a unit diagonal; S (p, p) is scratch. Returns the largest absolute eigenvalue."""
    p = A.shape[0]
    largest = 1e-300
    for i in range(p):
        for j in range(p):
            S[i, j] = 0.5 * (A[i, j] + A[j, i])
            vectors[i, j] = 1.0 if i == j else 0.0
            largest = max(largest, abs(S[i, j]))
    for i in range(p):
        root[i] = math.sqrt(max(abs(S[i, i]), DIAGONAL * largest))
    for i in range(p):
        for j in range(p):
            S[i, j] /= root[i] * root[j]
    for _ in range(SWEEPS):
        off, trace = 0.0, 0.0
        for i in range(p):
            trace += abs(S[i, i])
            for j in range(i):
                off = max(off, abs(S[i, j]))
        if not off > 1e-17 * trace:
            break
        for i in range(1, p):
            for j in range(i):
                rotate(S, vectors, i, j)
    largest = 0.0
    for i in range(p):
        values[i] = S[i, i]
        largest = max(largest, abs(S[i, i]))
    return largest


class IndefiniteFactors(NamedTuple):
    """A = D^½ Q Λ Qᵀ D^½ on the constraints that count."""

    root: FloatArray  # (p,)    square roots of the diagonal of A
    vectors: FloatArray  # (p, rank)
    values: FloatArray  # (rank,)

    def solve(self, r: FloatArray) -> FloatArray:
        """λ of the nearest r that some λ has, shape (p,)."""
        return np.asarray(self.vectors @ ((self.vectors.T @ (r / self.root)) / self.values) / self.root)


class LeastSquares(NamedTuple):
    """Any A."""

    A: FloatArray  # (p, p)

    def solve(self, r: FloatArray) -> FloatArray:
        """λ of the nearest r that some λ has, shape (p,)."""
        return np.asarray(np.linalg.lstsq(self.A, r, rcond=REDUNDANT_VALUE)[0])


def factor_indefinite(A: FloatArray) -> IndefiniteFactors:
    """Eigenvalues of the symmetric part of A scaled to a unit diagonal, so that rad and m need not be compared."""
    p = A.shape[0]
    if p <= FEW:
        root, values, vectors = np.empty(p), np.empty(p), np.empty((p, p))
        largest = eigen_scaled(A, np.empty((p, p)), root, values, vectors)
    else:
        S = 0.5 * (A + A.T)
        root = np.sqrt(np.maximum(np.abs(np.diagonal(S)), DIAGONAL * np.abs(S).max(initial=1e-300)))
        values, vectors = np.linalg.eigh(S / np.outer(root, root))
        largest = np.abs(values).max(initial=0.0)
    counts = np.abs(values) > REDUNDANT * largest
    if counts.all():
        return IndefiniteFactors(root, vectors, values)
    return IndefiniteFactors(root, vectors[:, counts], values[counts])
