"""Linear systems of a few unknowns, rows in registers: where loops over short rows cost more than what they compute."""

import math

from linkwork.core.jit import inlined, routine
from linkwork.spatial.simd import vload, vstore

ROW = 16  # numbers from one row to the next
MOST_FEW = ROW - 1  # unknowns: the right side stands behind them


@routine
def solve_few(rows, n):
    """Gauss elimination with row exchanges, in place; False at a singular pivot.

    rows: n rows of ROW numbers in one line, n ≤ MOST_FEW: the matrix, then the right side; there the solution is left.
    """
    is_wide = n >= 8
    for q in range(n):
        best, largest = q, abs(rows[ROW * q + q])
        for i in range(q + 1, n):
            if abs(rows[ROW * i + q]) > largest:
                best, largest = i, abs(rows[ROW * i + q])
        if not largest > 0.0:
            return False
        if best != q:
            exchange_rows(rows, ROW * q, ROW * best)
            exchange_rows(rows, ROW * q + 8, ROW * best + 8)
        inverse = 1.0 / rows[ROW * q + q]
        first, second = vload(rows, ROW * q), vload(rows, ROW * q + 8)
        for i in range(q + 1, n):
            factor = rows[ROW * i + q] * inverse
            if factor != 0.0:
                vstore(rows, ROW * i, vload(rows, ROW * i) - factor * first)
                if is_wide:
                    vstore(rows, ROW * i + 8, vload(rows, ROW * i + 8) - factor * second)
    for i in range(n - 1, -1, -1):
        value = rows[ROW * i + n]
        for j in range(i + 1, n):
            value -= rows[ROW * i + j] * rows[ROW * j + n]
        value /= rows[ROW * i + i]
        if not math.isfinite(value):
            return False
        rows[ROW * i + n] = value
    return True


@inlined
def exchange_rows(rows, a, b):
    """Eight numbers from a on and eight from b on change places."""
    x = vload(rows, a)
    vstore(rows, a, vload(rows, b))
    vstore(rows, b, x)
