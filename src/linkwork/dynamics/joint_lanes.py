"""`joint_solve` for eight right sides at once, the lanes of vectors: what is known of a joint is read once for all of them.

    leaf to root    u = τ - Sᵀp,  p ← p + U D⁻¹ u
    root to leaf    x = D⁻¹ (u - Yᵀ a),  a ← a + S x

One freedom at a time. Where the rows of a joint of several are kept as U D⁻¹ and Y D⁻ᵀ, d_inverse is 1, and `mix_lanes`
gives D⁻¹ u.
"""

from linkwork.core.jit import inlined
from linkwork.spatial.lane_moves import rows_times
from linkwork.spatial.simd import add_outer, combine, vload, vsum


@inlined
def pivot_of_rows(X, s, S, added_diagonal):
    """U, Y and D of a joint of one freedom, whose block X is six rows; s: its column as numbers, S: in lanes."""
    U = rows_times(X, S)
    return U, combine(s, X), vsum(S * U) + added_diagonal


@inlined
def push_lanes(s, U, d_inverse, effort, p, carried):
    """u of one freedom under p, and `carried` with what it passes on."""
    u = effort - combine(s, p)
    return u, add_outer(carried, U, d_inverse * u)


@inlined
def move_lanes(s, Y, d_inverse, u, a, moved):
    """x of one freedom of a body that moves by a with its joint locked, and `moved` with what x adds."""
    x = d_inverse * (u - combine(Y, a))
    return x, add_outer(moved, s, x)


@inlined
def mix_lanes(D, j, d, n, u, o, stride):
    """(D⁻¹ u)_d of a joint of n freedoms, whose rows of D⁻¹ begin at j; u stands in memory from o on, every `stride`."""
    x = D[j + d, 0] * vload(u, o)
    for e in range(1, n):
        x = x + D[j + d, e] * vload(u, o + stride * e)
    return x
