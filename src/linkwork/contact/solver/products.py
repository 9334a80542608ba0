"""Products with the Delassus matrix. G is symmetric: columns are read as rows, which compilers turn into wide registers.

Sums of a row times a vector have one order of additions and stay narrow; so they are made a row of G at a time.
"""

from linkwork.core.jit import inlined, routine


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
def add_three_rows(G, j, a, b, c, rows, out):
    """out += a · row j + b · row j+1 + c · row j+2 of G."""
    for k in range(rows):
        out[k] += a * G[j, k] + b * G[j + 1, k] + c * G[j + 2, k]


@inlined
def row_dot(G, i, x, rows):
    """One entry of G x."""
    u = 0.0
    for j in range(rows):
        u += G[i, j] * x[j]
    return u


@inlined
def dot(a, i, b, j, rows):
    """Product of row i of a with row j of b, in four sums side by side."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = rows - rows % 4
    for k in range(0, whole, 4):
        s0 += a[i, k] * b[j, k]
        s1 += a[i, k + 1] * b[j, k + 1]
        s2 += a[i, k + 2] * b[j, k + 2]
        s3 += a[i, k + 3] * b[j, k + 3]
    for k in range(whole, rows):
        s0 += a[i, k] * b[j, k]
    return (s0 + s1) + (s2 + s3)


@inlined
def dot_with(a, i, b, rows):
    """Product of row i of a with b."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = rows - rows % 4
    for k in range(0, whole, 4):
        s0 += a[i, k] * b[k]
        s1 += a[i, k + 1] * b[k + 1]
        s2 += a[i, k + 2] * b[k + 2]
        s3 += a[i, k + 3] * b[k + 3]
    for k in range(whole, rows):
        s0 += a[i, k] * b[k]
    return (s0 + s1) + (s2 + s3)
