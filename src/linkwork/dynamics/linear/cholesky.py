"""Cholesky's factor of a dense mass matrix, compiled: its bits depend on no library and on no number of threads.

M = Uᵀ U, row by row (Golub and Van Loan, Matrix Computations, 4.2): every inner loop runs along rows, as memory does. Four
rows of U are subtracted at once from all rows below, so that each number is read and written a quarter as often.
"""

import math

from linkwork.core.jit import inlined, kernel

TOGETHER = 4  # rows of U that are subtracted at once


@inlined
def subtract_rows(U, i, k):
    """Row i less what rows k to k + 3 of the factor account for."""
    a, b, c, d = U[k, i], U[k + 1, i], U[k + 2, i], U[k + 3, i]
    for j in range(i, U.shape[0]):
        U[i, j] -= a * U[k, j] + b * U[k + 1, j] + c * U[k + 2, j] + d * U[k + 3, j]


@kernel
def solve_positive_definite(U, x):
    """Replaces the upper triangle of U (n, n), a symmetric matrix, by its factor and x (n,) by the solution.

    Returns -1, or the row whose pivot is not positive; x is then of no use.
    """
    n = U.shape[0]
    for first in range(0, n, TOGETHER):
        last = min(first + TOGETHER, n)
        for k in range(first, last):
            for above in range(first, k):
                part = U[above, k]
                for j in range(k, n):
                    U[k, j] -= part * U[above, j]
            pivot = U[k, k]
            if not pivot > 0.0:
                return k
            scale = 1.0 / math.sqrt(pivot)
            for j in range(k, n):
                U[k, j] *= scale
        if last == first + TOGETHER:
            for i in range(last, n):
                subtract_rows(U, i, first)
    for k in range(n):  # Uᵀ y = b
        x[k] /= U[k, k]
        for j in range(k + 1, n):
            x[j] -= U[k, j] * x[k]
    for k in range(n - 1, -1, -1):  # U x = y
        rest = x[k]
        for j in range(k + 1, n):
            rest -= U[k, j] * x[j]
        x[k] = rest / U[k, k]
    return -1
