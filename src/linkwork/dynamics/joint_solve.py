"""One joint's part of a solve for one more right side, with the factors of an elimination in the axes of its body.

    leaf to root    u = τ - Sᵀp,  p ← p + U D⁻¹ u
    root to leaf    x = D⁻¹ (u - Yᵀ a),  a ← a + S x

p is a wrench on the body with a minus, a at first the twist that it has with its joint locked. Y = U where the matrix is
symmetric. Which matrix was eliminated does not matter: inertia (`aba`), stiffness (`statics.sweeps`), or that of a
variational step (`discrete_newton`). Joints of one freedom have their factors in registers; those of several in rows of
arrays, one per freedom, from row j on: S, U, Y, and D⁻¹ with one row of six each.
"""

from linkwork.core.jit import inlined
from linkwork.spatial.memory import load6
from linkwork.spatial.vectors import add6, dot6, scale6


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
