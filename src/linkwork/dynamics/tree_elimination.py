"""Elimination of a tree of bodies, and its solution for any right side: (M + what is added to bodies and joints) x = b.

Bodies may carry any 6x6 block in the place of their inertia, such as inertia and the stiffness of contacts with the world;
it need not be symmetric. A joint of several freedoms is eliminated one freedom after the other, as massless joints of one
freedom in a row would be, so that all kinds of joints are one. With s the column of a freedom:

    leaf to root    U = X s,  Y = Xᵀ s,  D = s·U + added,  X ← X - U D⁻¹ Yᵀ,  X_λ += shifted X                      (1)
                    u = τ - s·p,  p ← p + U D⁻¹ u,  p_λ += shifted p                                                (2)
    root to leaf    x = D⁻¹ (u - Y·a),  a ← a + s x        a: the shifted velocity of the parent, at first           (3)

τ acts on freedoms, -p on bodies. `aba` does the same for one symmetric matrix and one right side, fused, in body axes.
Bodies of one tree or of several may be coupled with each other (`tree_couplings`).
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.joint_lanes import pivot_of_rows
from linkwork.dynamics.joint_solve import largest_pivot, push_freedom
from linkwork.dynamics.tree_couplings import (
    IS_FULL,
    eliminate_couplings,
    eliminate_free_couplings,
    hand_to_parent,
    list_near,
    pass_on,
    push_coupled,
    take_coupled,
)
from linkwork.dynamics.tree_factor import BLOCK, MOST_FREEDOMS, ROW, load_numbers, shift_up
from linkwork.model.layout import DOF, PARENT, V
from linkwork.spatial.inertia import block_times_twist
from linkwork.spatial.lane_moves import (
    block_down,
    block_up,
    load_row,
    row_down,
    row_up,
    rows_times,
    store_row,
    ways_down,
    ways_up,
)
from linkwork.spatial.memory import load3, load6
from linkwork.spatial.simd import (
    add_outer,
    add_rows,
    combine,
    lane,
    load_rows,
    no_rows,
    six_lanes,
    splat,
    store_rows,
    sub_outer,
    vload,
    vstore,
    vsum,
)
from linkwork.spatial.vectors import add6, dot6, scale6

LEAST_PIVOT = 1e-14  # of what D would be at most for blocks of this size: below that it is rounding


@routine
def factor_leaf_to_root(tree, F):
    """(1) for all bodies, those of `block`, `added_diagonal` and couplings; False where a pivot vanishes or is not a
    number, or where there was no room for couplings that came on the way."""
    good = True
    for at in range(tree.shape[0]):
        i = F.order[at]
        coupled = list_near(F, i) if F.head[i] >= 0 else 0
        j, dof = tree[i, V], tree[i, DOF]
        if F.is_unit[i] != 0:
            good = eliminate_free(F, i, j) and good
            if coupled > 0:
                eliminate_free_couplings(F, coupled, j)
                pass_on(F, coupled, dof)
                hand_to_parent(F, i, -1, (0.0, 0.0, 0.0), coupled)
            continue
        X = load_rows(F.block, BLOCK * i)
        for place in range(dof - 1, -1, -1):
            d = j + place
            s = load6(F.S, d, 0)
            U, Y, D = pivot_of_rows(X, s, load_row(F.S, d), F.added_diagonal[d])
            turning = abs(lane(X[0], 0)) + abs(lane(X[1], 1)) + abs(lane(X[2], 2))
            sliding = abs(lane(X[3], 3)) + abs(lane(X[4], 4)) + abs(lane(X[5], 5))
            good = good and abs(D) > LEAST_PIVOT * largest_pivot(s, turning, sliding)
            store_row(F.U, d, U)
            store_row(F.Y, d, Y)
            F.Dinv[d] = 1.0 / D
            X = sub_outer(X, six_lanes((1.0 / D) * U), Y)
            if coupled > 0:
                eliminate_couplings(F, coupled, place, s, six_lanes(U), six_lanes(Y), D)
        parent, r = tree[i, PARENT], load3(F.r, i, 0)
        if parent >= 0:
            o = BLOCK * parent
            store_rows(F.block, o, add_rows(load_rows(F.block, o), block_up(r, ways_up(load_row(F.r, i)), X)))
        if coupled > 0:
            pass_on(F, coupled, dof)
            hand_to_parent(F, i, parent, r, coupled)
    return good and F.counts[IS_FULL] == 0


@routine
def eliminate_free(F, i, j):
    """(1) of body i, a free one with columns of the unit matrix from j on: its block is eliminated by rows, the last one
    first, where it stands."""
    X, o, good = F.block, BLOCK * i, True
    turning = abs(X[o]) + abs(X[o + ROW + 1]) + abs(X[o + 2 * ROW + 2])
    sliding = abs(X[o + 3 * ROW + 3]) + abs(X[o + 4 * ROW + 4]) + abs(X[o + 5 * ROW + 5])
    for d in range(MOST_FREEDOMS - 1, -1, -1):
        Y, D = vload(X, o + ROW * d), X[o + ROW * d + d]
        good = good and abs(D) > LEAST_PIVOT * (turning if d < 3 else sliding)
        inverse = 1.0 / D
        F.Dinv[j + d] = inverse
        store_row(F.Y, j + d, Y)
        store_row(F.U, j + d, splat(0.0))
        F.U[j + d, d] = D
        for e in range(d):
            u, row = X[o + ROW * e + d], o + ROW * e
            F.U[j + d, e] = u
            vstore(X, row, vload(X, row) - (u * inverse) * Y)
    return good


@routine
def solve_tree(tree, F):
    """(2) and (3): x and twists for the `wrench` and `effort` given, which are used up."""
    for at in range(tree.shape[0]):
        i = F.order[at]
        p = load_row(F.wrench, i)
        j, parent = tree[i, V], tree[i, PARENT]
        for d in range(j + tree[i, DOF] - 1, j - 1, -1):
            F.effort[d] -= vsum(load_row(F.S, d) * p)
            p = p + (F.Dinv[d] * F.effort[d]) * load_row(F.U, d)
        if F.head[i] >= 0:
            push_coupled(F, i, j, tree[i, DOF])
        if parent >= 0:
            store_row(F.wrench, parent, load_row(F.wrench, parent) + row_up(ways_up(load_row(F.r, i)), p))
    for at in range(tree.shape[0] - 1, -1, -1):
        i = F.order[at]
        a, j = splat(0.0), tree[i, V]
        if tree[i, PARENT] >= 0:
            a = row_down(ways_down(load_row(F.r, i)), load_row(F.twist, tree[i, PARENT]))
        if F.head[i] >= 0:
            take_coupled(F, i, j, tree[i, DOF])
        for d in range(j, j + tree[i, DOF]):
            x = F.Dinv[d] * (F.effort[d] - vsum(load_row(F.Y, d) * a))
            a = a + x * load_row(F.S, d)
            F.x[d] = x
        store_row(F.twist, i, a)


@routine
def own_responses_root_to_leaf(tree, F):
    """Twist of each body per impulse on it, 6x6, into `block`, which `factor` has used up.

    Λ = (1 - s D⁻¹ Yᵀ) Λ (1 - U D⁻¹ sᵀ) + s D⁻¹ sᵀ      Λ: shifted from the parent, at first; 0 for the world      (4)
    """
    for i in range(tree.shape[0]):
        X = no_rows()
        if tree[i, PARENT] >= 0:
            X = load_rows(F.block, BLOCK * tree[i, PARENT])
            X = block_down(load3(F.r, i, 0), ways_down(load_row(F.r, i)), X)
        j = tree[i, V]
        for d in range(j, j + tree[i, DOF]):
            s, S, D = load6(F.S, d, 0), load_row(F.S, d), F.Dinv[d]
            X = sub_outer(X, scale6(D, s), combine(load6(F.Y, d, 0), X))
            X = add_outer(X, six_lanes(D * (S - rows_times(X, load_row(F.U, d)))), S)
        store_rows(F.block, BLOCK * i, X)


@inlined
def push_pair(tree, F, i, p, q, K):
    """Two wrenches on body i, handed to its parent; what its joint adds to the response of one to the other."""
    j = tree[i, V]
    for d in range(j + tree[i, DOF] - 1, j - 1, -1):
        s, U = load6(F.S, d, 0), load6(F.U, d, 0)
        u, p = push_freedom(s, U, F.Dinv[d], 0.0, p)
        v, q = push_freedom(s, U, F.Dinv[d], 0.0, q)
        K += u * v * F.Dinv[d]
    r = load3(F.r, i, 0)
    return shift_up(r, p), shift_up(r, q), K


@routine
def response_between(tree, F, a, f_a, g_a, b, f_b, g_b):
    """g·M⁻¹f of two pairs of wrenches between the bodies a and b, -1: the world; after `own_responses_root_to_leaf`.

    Σ u D⁻¹ u + (p_a + p_b)·Λ (p_a + p_b)        u, p: of (2), from both bodies up to the one where their paths meet
    """
    K = 0.0
    while a != b:
        if a > b:
            f_a, g_a, K = push_pair(tree, F, a, f_a, g_a, K)
            a = tree[a, PARENT]
        else:
            f_b, g_b, K = push_pair(tree, F, b, f_b, g_b, K)
            b = tree[b, PARENT]
    if a >= 0:
        K += dot6(add6(g_a, g_b), block_times_twist(load_numbers(F.block, a), add6(f_a, f_b)))
    return K
