"""Dense linear algebra of contact problems: systems of many and few unknowns, products with the Delassus matrix, its sign.

`solve_dense` is Gauss elimination eight columns at a time, in registers of eight numbers. The matrix stands row after
row in one line, each row with its right side behind it and filled up to whole registers. Left to itself the compiler
sees rows of one array that may overlap, and uses no wide registers at all. `solve_small` is the same of up to
MOST_SMALL unknowns, where loops over short rows cost more than what they compute. The Delassus matrix G is symmetric:
columns are read as rows, and sums of a row times a vector, which have one order of additions and stay narrow, are made
a row of G at a time.
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
    """Eight numbers from a on and eight from b on change places."""
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


ROW = 16  # numbers from one row to the next
MOST_SMALL = ROW - 1  # unknowns: the right side stands behind them


@routine
def solve_small(rows, n):
    """Gauss elimination with row exchanges, in place; False at a singular pivot.

    rows: n rows of ROW numbers in one line, n ≤ MOST_SMALL: the matrix, then the right side; there the solution is left.
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
            exchange(rows, ROW * q, ROW * best)
            exchange(rows, ROW * q + 8, ROW * best + 8)
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


@routine
def times_delassus(G, x, rows, out):
    """out = G x; rows of zeros in x cost nothing."""
    for k in range(rows):
        out[k] = 0.0
    for j in range(rows):
        if x[j] != 0.0:
            add_row(G, j, x[j], rows, out)


@inlined
def add_row(G, j, factor, rows, out):
    """out += factor · row j of G."""
    for k in range(rows):
        out[k] += factor * G[j, k]


@inlined
def row_dot(G, i, x, rows):
    """One entry of G x."""
    u = 0.0
    for j in range(rows):
        u += G[i, j] * x[j]
    return u


NEGATIVE = (
    1e-6  # of the largest response: a pivot below minus this is not rounding, which small pivots before it enlarge
)


@routine
def is_semidefinite(G, rows, M):
    """Whether L D Lᵀ = G has no negative pivot but for rounding; M, of rows² numbers, is scratch. NaN is refused.

    A response that is zero, or rounding, has rows that are: they are left out. Cost: rows³ / 6 products.
    """
    largest = 0.0
    for i in range(rows):
        if not G[i, i] >= 0.0:
            return False
        largest = max(largest, G[i, i])
    for i in range(rows):
        for j in range(i + 1):
            M[rows * i + j] = G[i, j]
            if not abs(G[i, j]) <= largest * (1.0 + NEGATIVE):
                return False
    for k in range(rows):
        pivot = M[rows * k + k]
        if not pivot >= -NEGATIVE * largest:
            return False
        if pivot <= NEGATIVE * largest:
            continue
        for i in range(k + 1, rows):
            factor = M[rows * i + k] / pivot
            if factor != 0.0:
                for j in range(k + 1, i + 1):
                    M[rows * i + j] -= factor * M[rows * j + k]
    return True
