"""Symmetric positive semi-definite systems A x = r inside kernels, where rows of A may repeat each other.

Pivoted Cholesky of A scaled to a unit diagonal: rows that the ones before explain get no force. The x that comes out is one
of many where A is singular; what it does (A x) is the same for all of them. `span_idle` finds those that do nothing.
"""

import math

from linkwork.core.jit import routine

# Pivots of the scaled matrix below this count as zero. Rounding leaves 1e-12, and a gap g takes redundant constraints apart
# by g², so gaps up to 1e-5 m or rad leave redundancy what it is.
REDUNDANT = 1e-9
IMMOVABLE = 1e-12  # part of `free`, below which a diagonal entry is what rounding leaves of nothing


@routine
def factor_semidefinite(A, free, scale, order, L, left):
    """Fills L (p, p), a column of the factor in each row, the order of the pivots and the scale 1/√diagonal, zero
    where nothing moves; returns the rank.

    free (p,): what the diagonal would be at most; an entry far below it is a row of zeros but for rounding.
    left (p,): scratch, the diagonal less what the columns so far explain.
    """
    p = A.shape[0]
    for i in range(p):
        order[i] = i
        moves = A[i, i] > IMMOVABLE * free[i]
        left[i] = 1.0 if moves else 0.0
        scale[i] = 1.0 / math.sqrt(A[i, i]) if moves else 0.0
    for c in range(p):
        at = c
        for i in range(c + 1, p):
            if left[order[i]] > left[order[at]]:
                at = i
        row = order[at]
        if not left[row] > REDUNDANT:
            return c
        order[c], order[at] = row, order[c]
        for i in range(p):
            L[c, i] = A[row, i] * scale[i] * scale[row]
        for k in range(c):
            x = L[k, row]
            if x != 0.0:
                for i in range(p):
                    L[c, i] -= x * L[k, i]
        root = math.sqrt(left[row])
        for i in range(p):
            L[c, i] /= root
            left[i] -= L[c, i] * L[c, i]
        L[c, row] = root
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
            y -= L[k, row] * x[order[k]]
        x[row] = y / L[c, row]
    solve_upper(order, L, rank, x)
    for c in range(rank):
        x[order[c]] *= scale[order[c]]


@routine
def solve_upper(order, L, rank, x):
    """The second half: x ← L⁻ᵀ x on the rows that count."""
    for c in range(rank - 1, -1, -1):
        row = order[c]
        y = x[row]
        for k in range(c + 1, rank):
            y -= L[c, order[k]] * x[order[k]]
        x[row] = y / L[c, row]


@routine
def span_idle(scale, order, L, rank):
    """Fills the rows of L from `rank` on with an orthonormal basis of all x with A x = 0."""
    p = order.shape[0]
    for c in range(rank, p):
        for i in range(p):
            L[c, i] = 0.0
        idle = order[c]
        for k in range(rank):
            L[c, order[k]] = -L[k, idle]
        solve_upper(order, L, rank, L[c])
        for k in range(rank):
            L[c, order[k]] *= scale[order[k]]
        L[c, idle] = scale[idle] if scale[idle] > 0.0 else 1.0
        for _ in range(2):  # the second time takes away what rounding left of the first
            for k in range(rank, c):
                along = 0.0
                for i in range(p):
                    along += L[k, i] * L[c, i]
                for i in range(p):
                    L[c, i] -= along * L[k, i]
            size = 0.0
            for i in range(p):
                size += L[c, i] * L[c, i]
            size = 1.0 / math.sqrt(size)
            for i in range(p):
                L[c, i] *= size
