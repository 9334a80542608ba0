"""Constraint forces when constraints may repeat each other: A λ = r with A symmetric, positive semi-definite, p x p."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.jit import kernel, routine

SWEEPS = 30  # over all entries off the diagonal; six to eight reach rounding
DIAGONAL = 1e-12  # part of the largest entry that a diagonal counts as at least


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
        off, whole = 0.0, 0.0
        for i in range(p):
            whole += abs(S[i, i])
            for j in range(i):
                off = max(off, abs(S[i, j]))
        if not off > 1e-17 * whole:
            break
        for i in range(1, p):
            for j in range(i):
                rotate(S, vectors, i, j)
    largest = 0.0
    for i in range(p):
        values[i] = S[i, i]
        largest = max(largest, abs(S[i, i]))
    return largest


# Eigenvalues of the scaled matrix below this part of the largest count as zero. Path queries leave 1e-12 of rounding, and a
# gap g takes redundant constraints apart by g², so gaps up to 1e-5 m or rad leave redundancy what it is.
REDUNDANT = 1e-9
REDUNDANT_STIFFNESS = 1e-10  # the same where stiffness takes the place of inertia: one elimination leaves less rounding
FEW = 12  # rows, up to which rotations in place take less than a call of LAPACK
IMMOVABLE = 1e-12  # part of the answer of free bodies: what rounding leaves of a direction in which nothing can move


class Factors(NamedTuple):
    """A = D^½ Q Λ Qᵀ D^½ on the constraints that count, and an orthonormal basis of the forces that do nothing."""

    root: FloatArray  # (p,)    square roots of the diagonal of A
    vectors: FloatArray  # (p, rank)
    values: FloatArray  # (rank,)
    idle: FloatArray  # (p, p - rank)

    @property
    def rank(self) -> int:
        return self.values.size

    @property
    def redundant(self) -> int:
        return self.root.size - self.rank

    def solve(self, r: FloatArray) -> FloatArray:
        """The solution of A λ = r of least norm; of the nearest r where no λ solves it, shape (p,)."""
        scaled = self.vectors @ ((self.vectors.T @ (r / self.root)) / self.values)
        force = scaled / self.root
        return force - self.idle @ (self.idle.T @ force) if self.idle.shape[1] else np.asarray(force)

    def beyond_reach(self, r: FloatArray) -> float:
        """Norm of the part of r that no force can meet, in units of A's diagonal: 0 where constraints agree."""
        scaled = r / self.root
        return float(np.linalg.norm(scaled - self.vectors @ (self.vectors.T @ scaled)))


def factor(A: FloatArray, free: FloatArray) -> Factors:
    """Eigenvalues of A scaled to a unit diagonal, so that rad and m need not be compared. Cost: O(p³).

    free: what the diagonal of A would be if the bodies were free, shape (p,); joints can only make it smaller.
    """
    p = A.shape[0]
    if p == 0:
        return Factors(np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0)))
    diagonal = np.diagonal(A).copy()
    moves = diagonal > IMMOVABLE * free  # a constraint on what cannot move anyway is redundant by itself
    root = np.sqrt(np.where(moves, diagonal, free))
    values, vectors = np.linalg.eigh(A / np.outer(root, root))
    counts = values > REDUNDANT * max(float(values[-1]), 1.0)
    idle = vectors[:, ~counts] / root[:, None]  # in the null space of A itself
    if idle.shape[1]:
        idle = np.linalg.qr(idle)[0]
    return Factors(root, vectors[:, counts], values[counts], idle)


def factor_indefinite(A: FloatArray) -> Factors:
    """The same for the symmetric part of J H⁻¹ Jᵀ, of a matrix H that need not be positive; forces that do nothing stay as
    they come."""
    p = A.shape[0]
    idle = np.zeros((p, 0))
    if p <= FEW:
        root, values, vectors = np.empty(p), np.empty(p), np.empty((p, p))
        largest = eigen_scaled(A, np.empty((p, p)), root, values, vectors)
    else:
        S = 0.5 * (A + A.T)
        root = np.sqrt(np.maximum(np.abs(np.diagonal(S)), DIAGONAL * np.abs(S).max(initial=1e-300)))
        values, vectors = np.linalg.eigh(S / np.outer(root, root))
        largest = np.abs(values).max(initial=0.0)
    counts = np.abs(values) > REDUNDANT_STIFFNESS * largest
    if counts.all():
        return Factors(root, vectors, values, idle)
    return Factors(root, vectors[:, counts], values[counts], idle)
