"""One joint's part of the elimination of a tree's matrix, and of its solution for one more right side.

With X the block of a body and of all that it carries, in the axes of the sweep, S the columns of its joint and k what the
joint itself resists with:

    leaf to root    U = X S,  Y = Xᵀ S,  D = SᵀU + k,  X ← X - U D⁻¹ Yᵀ         the matrix
                    u = τ - Sᵀp,  p ← p + U D⁻¹ u                               a right side
    root to leaf    x = D⁻¹ (u - Yᵀ a),  a ← a + S x

p is a wrench on the body with a minus, a at first the twist that it has with its joint locked. Which matrix it is does not
matter. Where it is symmetric, Y = U, and X is A, B, C like an articulated inertia: stiffness (`sweeps` of statics), targets
(`reaching.sweeps`). Where it is not, X is six rows: contacts (`tree_factor`), streams (`stream_sweeps` of statics), a
variational step (`discrete_newton`). `aba` does all of it for inertia at once. Joints of one freedom have their factors in
registers; those of several in rows of arrays, one per freedom, from row j on: S, U, Y, and D⁻¹ with one row of six each.
"""

from linkwork.core.jit import inlined
from linkwork.spatial.inertia import articulated_times_twist, block_less_outer, block_times_twist, twist_times_block
from linkwork.spatial.memory import load6, store6
from linkwork.spatial.rotations import dot3
from linkwork.spatial.vectors import ZERO6, add6, angular, dot6, linear, scale6


@inlined
def pivot(A, B, C, s, added_diagonal):
    """U and D of a joint of one freedom; symmetric."""
    U = articulated_times_twist(A, B, C, s)
    return U, dot6(s, U) + added_diagonal


@inlined
def pivots(A, B, C, S, U, D, j, n):
    """U and SᵀU of a joint of n freedoms; symmetric."""
    for d in range(n):
        store6(U, j + d, 0, articulated_times_twist(A, B, C, load6(S, j + d, 0)))
    fill_pivot(S, U, D, j, n)


@inlined
def block_pivot(X, s, added_diagonal):
    """U, Y and D of a joint of one freedom."""
    U = block_times_twist(X, s)
    return U, twist_times_block(s, X), dot6(s, U) + added_diagonal


@inlined
def block_pivots(X, left, right, U, Y, D, j, n):
    """U, Y and SᵀU of a joint of n freedoms; left, right: S on either side, where they differ."""
    for d in range(n):
        store6(U, j + d, 0, block_times_twist(X, load6(right, j + d, 0)))
        store6(Y, j + d, 0, twist_times_block(load6(left, j + d, 0), X))
    fill_pivot(left, U, D, j, n)


@inlined
def fill_pivot(S, U, D, j, n):
    for d in range(n):
        for e in range(n):
            D[j + d, e] = dot6(load6(S, j + d, 0), load6(U, j + e, 0))


@inlined
def largest_pivot(s, turning, sliding):
    """What D is at most for blocks with these traces: below rounding of that, a joint resists with nothing."""
    return dot3(angular(s), angular(s)) * turning + dot3(linear(s), linear(s)) * sliding


@inlined
def over_pivot(D, Y, j, d, n):
    """Row d of D⁻¹ Yᵀ"""
    w = ZERO6
    for e in range(n):
        w = add6(w, scale6(D[j + d, e], load6(Y, j + e, 0)))
    return w


@inlined
def less_freedoms(X, U, Y, D, j, n):
    """What is left of X behind a joint of n freedoms."""
    for d in range(n):
        X = block_less_outer(X, load6(U, j + d, 0), over_pivot(D, Y, j, d, n))
    return X


@inlined
def push_freedom(s, U, d_inverse, effort, p):
    """u, and what a joint of one freedom passes on."""
    u = effort - dot6(s, p)
    return u, add6(p, scale6(d_inverse * u, U))


@inlined
def move_freedom(s, Y, d_inverse, u, a):
    """x, and the twist of the body."""
    x = d_inverse * (u - dot6(Y, a))
    return x, add6(a, scale6(x, s))


@inlined
def push_freedoms(S, U, D, u, j, n, p):
    """What a joint of n freedoms passes on; u holds τ before, u after."""
    for d in range(n):
        u[j + d] -= dot6(load6(S, j + d, 0), p)
    for d in range(n):
        p = add6(p, scale6(row_times(D, j, d, n, u), load6(U, j + d, 0)))
    return p


@inlined
def move_freedoms(S, Y, D, u, j, n, a, out):
    """x of a joint of n freedoms into `out`, and the twist of the body; u is used up."""
    for d in range(n):
        u[j + d] -= dot6(load6(Y, j + d, 0), a)
    for d in range(n):
        x = row_times(D, j, d, n, u)
        out[j + d] = x
        a = add6(a, scale6(x, load6(S, j + d, 0)))
    return a


@inlined
def row_times(D, j, d, n, u):
    """(D⁻¹ u)_d"""
    x = 0.0
    for e in range(n):
        x += D[j + d, e] * u[j + e]
    return x
