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
def row_dot(G, i, x, rows):
    """One entry of G x."""
    u = 0.0
    for j in range(rows):
        u += G[i, j] * x[j]
    return u
