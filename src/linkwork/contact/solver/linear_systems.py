"""Gauss elimination of a dense system, a panel of columns at a time."""

import math

from linkwork.core.jit import inlined, routine

PANEL = 4  # columns that are eliminated together


@routine
def solve_dense(M, f, n, pivot):
    """Gauss elimination with row exchanges, in place; False at a singular pivot.

    PANEL columns at a time: what is right of them is updated once by all of them, and read and written a quarter as often.
    """
    for k in range(0, n, PANEL):
        end = min(k + PANEL, n)
        if not eliminate_panel(M, f, k, end, n, pivot):
            return False
        for q in range(k + 1, end):
            for r in range(k, q):
                factor = M[q, r]
                for j in range(end, n):
                    M[q, j] -= factor * M[r, j]
        for i in range(end, n):
            a, b, c, d = M[i, k], M[i, k + 1], M[i, k + 2], M[i, k + 3]
            for j in range(end, n):
                M[i, j] -= a * M[k, j] + b * M[k + 1, j] + c * M[k + 2, j] + d * M[k + 3, j]
    for i in range(n - 1, -1, -1):
        value = f[i]
        for j in range(i + 1, n):
            value -= M[i, j] * f[j]
        f[i] = value / M[i, i]
        if not math.isfinite(f[i]):
            return False
    return True


@inlined
def eliminate_panel(M, f, k, end, n, pivot):
    """Columns k to end, below the diagonal: their factors stand there afterwards. f follows."""
    for q in range(k, end):
        best, largest = q, abs(M[q, q])
        for i in range(q + 1, n):
            if abs(M[i, q]) > largest:
                best, largest = i, abs(M[i, q])
        pivot[q] = best
        if not largest > 0.0:
            return False
        if best != q:
            for j in range(k, n):
                M[q, j], M[best, j] = M[best, j], M[q, j]
            f[q], f[best] = f[best], f[q]
        inverse = 1.0 / M[q, q]
        for i in range(q + 1, n):
            factor = M[i, q] * inverse
            M[i, q] = factor
            if factor != 0.0:
                for j in range(q + 1, end):
                    M[i, j] -= factor * M[q, j]
                f[i] -= factor * f[q]
    return True
