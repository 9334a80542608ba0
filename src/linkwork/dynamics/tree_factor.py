"""Elimination of a tree of bodies, and its solution for any right side: (M + what is added to bodies and joints) x = b.

Bodies may carry any 6x6 block in the place of their inertia, such as inertia and the stiffness of contacts with the world;
it need not be symmetric. A joint of several freedoms is eliminated one freedom after the other, as massless joints of one
freedom in a row would be, so that all kinds of joints are one. Everything stands in world axes at the origin of each body,
so that going from a body to its parent is a shift by r. With s the column of a freedom:

    leaf to root    U = X s,  Y = Xᵀ s,  D = s·U + resistance,  X ← X - U D⁻¹ Yᵀ,  X_λ += shifted X                  (1)
                    u = τ - s·p,  p ← p + U D⁻¹ u,  p_λ += shifted p                                                (2)
    root to leaf    x = D⁻¹ (u - Y·a),  a ← a + s x        a: the shifted velocity of the parent, at first           (3)

τ acts on freedoms, -p on bodies. `aba` does the same for one symmetric matrix and one right side, fused, in body axes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.bundles import Float1, Float2
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.joint_solve import block_pivot, largest_pivot, move_freedom, push_freedom
from linkwork.model.layout import DOF, PARENT, V
from linkwork.spatial.inertia import block_plus_outer, block_times_twist, twist_times_block
from linkwork.spatial.memory import add_to6, add_to_block, load3, load6, load_block, store6, store_block
from linkwork.spatial.rotations import add3, cross3
from linkwork.spatial.vectors import ZERO6, add_scaled, angular, join, linear, scale6

BLOCK = 36  # numbers of a 6x6 block, row after row
LEAST_PIVOT = 1e-14  # of what D would be at most for blocks of this size: below that it is rounding


class TreeFactor(NamedTuple):
    """A tree of n bodies with nv freedoms; world axes, at the bodies' origins."""

    S: Float2  # (nv, 6)  column of each freedom
    r: Float2  # (n, 3)   from the origin of the parent to that of the body [m]
    block: Float2  # (n, 36)  what each body carries, row after row; eliminated by `factor`
    resistance: Float1  # (nv,)    what is added to the diagonal: armature, springs, limits
    U: Float2  # (nv, 6)
    Y: Float2  # (nv, 6)
    Dinv: Float1  # (nv,)
    wrench: Float2  # (n, 6)   p; what impulses on a body are, negative
    effort: Float1  # (nv,)    τ, then u
    x: Float1  # (nv,)    the solution
    twist: Float2  # (n, 6)   velocities of the bodies with it


def make_tree_factor(bodies: int, freedoms: int) -> TreeFactor:
    """Memory for a tree of up to so many bodies and freedoms."""
    return TreeFactor(
        S=np.zeros((freedoms, 6)),
        r=np.zeros((bodies, 3)),
        block=np.zeros((bodies, BLOCK)),
        resistance=np.zeros(freedoms),
        U=np.zeros((freedoms, 6)),
        Y=np.zeros((freedoms, 6)),
        Dinv=np.zeros(freedoms),
        wrench=np.zeros((bodies, 6)),
        effort=np.zeros(freedoms),
        x=np.zeros(freedoms),
        twist=np.zeros((bodies, 6)),
    )


@inlined
def shift_up(r, f):
    """A wrench on a body, about the origin of its parent."""
    return join(add3(angular(f), cross3(r, linear(f))), linear(f))


@inlined
def shift_down(r, a):
    """A twist of the parent, at the origin of the body."""
    return join(angular(a), add3(linear(a), cross3(angular(a), r)))


@inlined
def shift_columns_up(r, X):
    """Each column of X as a wrench about the origin of the parent."""
    x, y, z = r
    return (
        add_scaled(add_scaled(X[0], y, X[5]), -z, X[4]),
        add_scaled(add_scaled(X[1], z, X[3]), -x, X[5]),
        add_scaled(add_scaled(X[2], x, X[4]), -y, X[3]),
        X[3],
        X[4],
        X[5],
    )


@inlined
def shift_block_up(r, X):
    """A block of a body, on the twist of its parent."""
    Z = shift_columns_up(r, X)
    return (
        shift_up(r, Z[0]),
        shift_up(r, Z[1]),
        shift_up(r, Z[2]),
        shift_up(r, Z[3]),
        shift_up(r, Z[4]),
        shift_up(r, Z[5]),
    )


@routine
def factor_leaf_to_root(tree, F):
    """(1) for all bodies, those of `block` and `resistance`; False where a pivot vanishes, or is not a number."""
    good = True
    for i in range(tree.shape[0] - 1, -1, -1):
        X = load_block(F.block, i, 0)
        j = tree[i, V]
        for d in range(j + tree[i, DOF] - 1, j - 1, -1):
            s = load6(F.S, d, 0)
            U, Y, D = block_pivot(X, s, F.resistance[d])
            turning = abs(X[0][0]) + abs(X[1][1]) + abs(X[2][2])
            sliding = abs(X[3][3]) + abs(X[4][4]) + abs(X[5][5])
            good = good and abs(D) > LEAST_PIVOT * largest_pivot(s, turning, sliding)
            store6(F.U, d, 0, U)
            store6(F.Y, d, 0, Y)
            F.Dinv[d] = 1.0 / D
            X = block_plus_outer(X, scale6(-1.0 / D, U), Y)
        if tree[i, PARENT] >= 0:
            add_to_block(F.block, tree[i, PARENT], 0, shift_block_up(load3(F.r, i, 0), X))
    return good


@routine
def solve_tree(tree, F):
    """(2) and (3): x and twists for the `wrench` and `effort` given, which are used up."""
    for i in range(tree.shape[0] - 1, -1, -1):
        p = load6(F.wrench, i, 0)
        j = tree[i, V]
        for d in range(j + tree[i, DOF] - 1, j - 1, -1):
            S, U = load6(F.S, d, 0), load6(F.U, d, 0)
            F.effort[d], p = push_freedom(S, U, F.Dinv[d], F.effort[d], p)
        if tree[i, PARENT] >= 0:
            add_to6(F.wrench, tree[i, PARENT], 0, shift_up(load3(F.r, i, 0), p))
    for i in range(tree.shape[0]):
        a = ZERO6
        if tree[i, PARENT] >= 0:
            a = shift_down(load3(F.r, i, 0), load6(F.twist, tree[i, PARENT], 0))
        j = tree[i, V]
        for d in range(j, j + tree[i, DOF]):
            S, Y = load6(F.S, d, 0), load6(F.Y, d, 0)
            F.x[d], a = move_freedom(S, Y, F.Dinv[d], F.effort[d], a)
        store6(F.twist, i, 0, a)


@routine
def own_responses_root_to_leaf(tree, F):
    """Twist of each body per impulse on it, 6x6, into `block`, which `factor` has used up.

    Λ = (1 - s D⁻¹ Yᵀ) Λ (1 - U D⁻¹ sᵀ) + s D⁻¹ sᵀ      Λ: shifted from the parent, at first; 0 for the world      (4)
    """
    for i in range(tree.shape[0]):
        X = (ZERO6, ZERO6, ZERO6, ZERO6, ZERO6, ZERO6)
        if tree[i, PARENT] >= 0:
            r = load3(F.r, i, 0)
            X = shift_block_down(r, load_block(F.block, tree[i, PARENT], 0))
        j = tree[i, V]
        for d in range(j, j + tree[i, DOF]):
            s, U, Y, D = load6(F.S, d, 0), load6(F.U, d, 0), load6(F.Y, d, 0), F.Dinv[d]
            X = block_plus_outer(X, scale6(-D, s), twist_times_block(Y, X))
            X = block_plus_outer(X, add_scaled(scale6(D, s), -D, block_times_twist(X, U)), s)
        store_block(F.block, i, 0, X)


@inlined
def shift_rows_down(r, X):
    """Each column of X as a twist at the origin of the body."""
    x, y, z = r
    return (
        X[0],
        X[1],
        X[2],
        add_scaled(add_scaled(X[3], z, X[1]), -y, X[2]),
        add_scaled(add_scaled(X[4], x, X[2]), -z, X[0]),
        add_scaled(add_scaled(X[5], y, X[0]), -x, X[1]),
    )


@inlined
def shift_block_down(r, X):
    """Twists of the parent per impulse on it, as those of the body per impulse on the body, were the joint locked."""
    Z = shift_rows_down(r, X)
    return (
        shift_down(r, Z[0]),
        shift_down(r, Z[1]),
        shift_down(r, Z[2]),
        shift_down(r, Z[3]),
        shift_down(r, Z[4]),
        shift_down(r, Z[5]),
    )


@kernel
def factor_and_solve(tree, F):
    """`factor_leaf_to_root` and `solve_tree` as an entry from Python."""
    good = factor_leaf_to_root(tree, F)
    solve_tree(tree, F)
    own_responses_root_to_leaf(tree, F)
    return good
