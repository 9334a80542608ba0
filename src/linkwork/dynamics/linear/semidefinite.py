"""Symmetric positive semi-definite systems A x = r inside kernels, where rows of A may repeat each other.

Pivoted Cholesky of A scaled to a unit diagonal: rows that the ones before explain get no force. The x that comes out is one
of many where A is singular; what it does (A x) is the same for all of them.
"""

import math

from linkwork.core.jit import routine

# Pivots of the scaled matrix below this count as zero. Rounding leaves 1e-12, and a gap g takes redundant constraints apart
# by g², so gaps up to 1e-5 m or rad leave redundancy what it is.
REDUNDANT = 1e-9
IMMOVABLE = 1e-12  # part of `free`, below which a diagonal entry is what rounding leaves of nothing


@routine
def factor_semidefinite(A, free, scale, order, L):
    """Fills L (p, p), the order of the pivots and the scale 1/√diagonal; returns the rank.

    free (p,): what the diagonal would be at most; an entry far below it is a row of zeros but for rounding.
    """
    p = A.shape[0]
    for i in range(p):
        order[i] = i
        moves = A[i, i] > IMMOVABLE * free[i]
        scale[i] = 1.0 / math.sqrt(A[i, i]) if moves else 0.0
        for j in range(p):
            L[i, j] = 0.0
    for c in range(p):
        best = -1.0
        at = c
        for i in range(c, p):
            row = order[i]
            pivot = 1.0 if scale[row] > 0.0 else 0.0
            for k in range(c):
                pivot -= L[row, k] * L[row, k]
            if pivot > best:
                best = pivot
                at = i
        if not best > REDUNDANT:
            return c
        order[c], order[at] = order[at], order[c]
        row = order[c]
        root = math.sqrt(best)
        L[row, c] = root
        for i in range(c + 1, p):
            other = order[i]
            x = A[other, row] * scale[other] * scale[row]
            for k in range(c):
                x -= L[other, k] * L[row, k]
            L[other, c] = x / root
    return p


@routine
def solve_semidefinite(scale, order, L, rank, right, x):
    """x with A x = right on the rows that count, zero elsewhere; `x` may not be `right`."""
    for i in range(order.shape[0]):
        x[i] = 0.0
    for c in range(rank):
        row = order[c]
        y = right[row] * scale[row]
        for k in range(c):
            y -= L[row, k] * x[order[k]]
        x[row] = y / L[row, c]
    for c in range(rank - 1, -1, -1):
        row = order[c]
        y = x[row]
        for k in range(c + 1, rank):
            y -= L[order[k], c] * x[order[k]]
        x[row] = y / L[row, c]
    for c in range(rank):
        x[order[c]] *= scale[order[c]]
