"""Gauss elimination of a dense system, eight columns at a time, in registers of eight numbers.

The matrix stands row after row in one line, each row with its right side behind it and filled up to whole registers. Left
to itself the compiler sees rows of one array that may overlap, and uses no wide registers at all.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.spatial.simd import LANES, vload, vstore, vsum

PANEL = LANES  # columns that are eliminated together: a register of each row


@inlined
def row_width(n):
    """Numbers from one row to the next, of n unknowns."""
    return LANES * ((n + LANES) // LANES)


def room_for(n: int) -> int:
    """Numbers of a system of n unknowns: rows, and a panel of factors behind them."""
    return n * (LANES * ((n + LANES) // LANES) + PANEL) + LANES


@routine
def solve_dense(M, n):
    """Gauss elimination with row exchanges, in place; False at a singular pivot.

    M: n rows of `row_width(n)` numbers, the right side in column n, and room for factors. What is behind the right side
    must be finite. The solution is left in the first n numbers behind the rows.
    """
    width = row_width(n)
    for k in range(0, n, PANEL):
        end = min(k + PANEL, n)
        if not eliminate_panel(M, k, end, n, width):
            return False
        if k + PANEL < width:
            for q in range(k + 1, end):
                for r in range(k, q):
                    subtract(M, width * q, width * r, M[n * width + PANEL * q + r - k], k + PANEL, width)
        i = end
        while i + 1 < n:
            update_two_rows(M, i, k, n, width)
            i += 2
        if i < n:
            for r in range(k, end):
                subtract(M, width * i, width * r, M[n * width + PANEL * i + r - k], k + PANEL, width)
    return substitute(M, n, width)


@inlined
def subtract(M, to, source, factor, first, width):
    """Columns from `first` on: row at `to` -= factor · row at `source`."""
    for j in range(first, width, LANES):
        vstore(M, to + j, vload(M, to + j) - factor * vload(M, source + j))


@routine
def eliminate_panel(M, k, end, n, width):
    """Columns k to end, below the diagonal; factors behind the rows, eight of each row."""
    factors = n * width
    for q in range(k, end):
        best, largest = q, abs(M[width * q + q])
        for i in range(q + 1, n):
            if abs(M[width * i + q]) > largest:
                best, largest = i, abs(M[width * i + q])
        if not largest > 0.0:
            return False
        if best != q:
            for j in range(k, width, LANES):
                exchange(M, width * q + j, width * best + j)
            exchange(M, factors + PANEL * q, factors + PANEL * best)
        inverse = 1.0 / M[width * q + q]
        pivot = vload(M, width * q + k)
        for i in range(q + 1, n):
            factor = M[width * i + q] * inverse
            vstore(M, width * i + k, vload(M, width * i + k) - factor * pivot)
            M[factors + PANEL * i + q - k] = factor
    return True


@inlined
def exchange(M, a, b):
    x = vload(M, a)
    vstore(M, a, vload(M, b))
    vstore(M, b, x)


@inlined
def update_two_rows(M, i, k, n, width):
    """Rows i and i + 1, right of a whole panel from column k on: each number is read and written once for eight of it."""
    a, b = n * width + PANEL * i, n * width + PANEL * (i + 1)
    a0, a1, a2, a3, a4, a5, a6, a7 = M[a], M[a + 1], M[a + 2], M[a + 3], M[a + 4], M[a + 5], M[a + 6], M[a + 7]
    b0, b1, b2, b3, b4, b5, b6, b7 = M[b], M[b + 1], M[b + 2], M[b + 3], M[b + 4], M[b + 5], M[b + 6], M[b + 7]
    p, q, o = width * i, width * (i + 1), width * k
    for j in range(k + PANEL, width, LANES):
        x, y = vload(M, p + j), vload(M, q + j)
        u, v = vload(M, o + j), vload(M, o + width + j)
        x, y = x - a0 * u, y - b0 * u
        x, y = x - a1 * v, y - b1 * v
        u, v = vload(M, o + 2 * width + j), vload(M, o + 3 * width + j)
        x, y = x - a2 * u, y - b2 * u
        x, y = x - a3 * v, y - b3 * v
        u, v = vload(M, o + 4 * width + j), vload(M, o + 5 * width + j)
        x, y = x - a4 * u, y - b4 * u
        x, y = x - a5 * v, y - b5 * v
        u, v = vload(M, o + 6 * width + j), vload(M, o + 7 * width + j)
        x, y = x - a6 * u, y - b6 * u
        x, y = x - a7 * v, y - b7 * v
        vstore(M, p + j, x)
        vstore(M, q + j, y)


@inlined
def substitute(M, n, width):
    """From the last unknown to the first; False where one is not finite."""
    x = n * width
    for i in range(n, row_width(n)):
        M[x + i] = 0.0
    for i in range(n - 1, -1, -1):
        value = M[width * i + n]
        whole = min(LANES * (i // LANES) + LANES, n)  # from there on registers are whole
        for j in range(i + 1, whole):
            value -= M[width * i + j] * M[x + j]
        if whole < n:
            total = vload(M, width * i + whole) * vload(M, x + whole)
            for j in range(whole + LANES, n, LANES):
                total = total + vload(M, width * i + j) * vload(M, x + j)
            value -= vsum(total)
        value /= M[width * i + i]
        if not math.isfinite(value):
            return False
        M[x + i] = value
    return True
