"""Couplings of bodies in the elimination of a tree: contacts between two bodies, and loops.

Such a row adds blocks to both of its bodies, and couples them: K_ij is the wrench on i per twist of j, K_ji that on j per
twist of i. When a freedom s of body i is eliminated, with U, Y and D of `tree_elimination`, so are its couplings:

    W_j = K_ijᵀ s,  Z_j = K_ji s        K_ij ← K_ij - U D⁻¹ W_jᵀ,  K_ji ← K_ji - Z_j D⁻¹ Yᵀ
                                        X_j ← X_j - Z_j D⁻¹ W_jᵀ,  K_jk ← K_jk - Z_j D⁻¹ W_kᵀ  for any two of them       (5)
    right sides     p_j ← p_j + Z_j D⁻¹ u      (Z D⁻¹ is stored)
    solution        x = D⁻¹ (u - Y·a - Σ W_j·a_j)                                                                    (6)

What is left of K_ij then couples the parent of i with j. A body that is coupled with m others when it is eliminated takes
O(m²): a stack of boxes and a closed chain take O(n), as a tree does.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.tree_factor import BLOCK, MOST_FREEDOMS, ROW, add_numbers
from linkwork.model.layout import PARENT
from linkwork.spatial.lane_moves import columns_up, load_row, rows_times, store_row
from linkwork.spatial.simd import (
    add_rows,
    combine,
    flat6,
    load_rows,
    six_lanes,
    splat,
    store_rows,
    sub_outer,
    vload,
    vstore,
    vsum,
)
from linkwork.spatial.vectors import scale6

# Entries of `counts`: couplings in use; whether there was no room for one; bodies and couplings that `order` is for.
USED, IS_FULL, BODIES, ASKED = range(4)


@inlined
def clear_couplings(F):
    for i in range(F.head.shape[0]):
        F.head[i] = -1
    F.counts[USED], F.counts[IS_FULL] = 0, 0


@inlined
def other_end(F, entry):
    return F.ends[entry >> 1, 1 - (entry & 1)]


@routine
def couple(F, a, b):
    """The coupling of two bodies, which is made where there is none; -1 where there is no room for it.

    On the way couplings that are gone are taken from the list of a.
    """
    last, entry = -1, F.head[a]
    while entry >= 0:
        following = F.after[entry]
        if F.gone_with[entry >> 1] >= 0:
            if last >= 0:
                F.after[last] = following
            else:
                F.head[a] = following
        elif other_end(F, entry) == b:
            return entry >> 1
        else:
            last = entry
        entry = following
    k = F.counts[USED]
    if k >= F.ends.shape[0]:
        F.counts[IS_FULL] = 1
        return -1
    F.counts[USED] = k + 1
    if F.rank[a] > F.rank[b]:
        a, b = b, a
    F.ends[k, 0], F.ends[k, 1], F.gone_with[k] = a, b, -1
    F.after[2 * k], F.after[2 * k + 1] = F.head[a], F.head[b]
    F.head[a], F.head[b] = 2 * k, 2 * k + 1
    zero = splat(0.0)
    for e in range(2 * BLOCK // ROW):
        vstore(F.coupling, 2 * BLOCK * k + ROW * e, zero)
    return k


@inlined
def add_coupling(F, a, b, forth, back):
    """Adds to the wrench on a per twist of b, and to that on b per twist of a: rows of numbers."""
    k = couple(F, a, b)
    if k >= 0:
        straight, turned = (forth, back) if F.ends[k, 0] == a else (back, forth)
        add_numbers(F.coupling, 2 * k, straight)
        o = 2 * BLOCK * k + BLOCK
        for e in range(6):
            for d in range(6):
                F.coupling[o + ROW * d + e] += turned[e][d]


@routine
def list_near(F, i):
    """Lists the couplings that body i still has, and in `pairs` those that its elimination makes between the bodies on
    their other ends; how many there are of the first, 0 where there is no room."""
    count, entry = 0, F.head[i]
    while entry >= 0:
        if F.gone_with[entry >> 1] < 0:
            F.near[count] = entry >> 1
            count += 1
        entry = F.after[entry]
    pair = 0
    for m in range(count):
        for n in range(m):
            k = couple(F, F.ends[F.near[m], 1], F.ends[F.near[n], 1])
            if k < 0:
                return 0
            F.pairs[pair] = k
            pair += 1
    return count


@routine
def eliminate_couplings(F, count, place, s, U, Y, D):
    """The couplings of (5) for freedom s, number `place` of its joint, of the body whose `count` couplings are listed in
    `near`. What this leaves to the bodies on their other ends follows for all freedoms at once (`pass_on`)."""
    u, y = scale6(1.0 / D, U), scale6(1.0 / D, Y)
    for m in range(count):
        k = F.near[m]
        o, at = 2 * BLOCK * k, ROW * (MOST_FREEDOMS * k + place)
        forth, back = load_rows(F.coupling, o), load_rows(F.coupling, o + BLOCK)
        W, Z = combine(s, forth), combine(s, back)
        vstore(F.W, at, W)
        vstore(F.Z, at, (1.0 / D) * Z)
        store_rows(F.coupling, o, sub_outer(forth, u, W))
        store_rows(F.coupling, o + BLOCK, sub_outer(back, y, Z))


@routine
def eliminate_free_couplings(F, count, j):
    """The same for the six freedoms of a free body from j on, whose columns are those of the unit matrix: W and Z are rows
    of the couplings, and of what is left of these no more is needed than the freedoms to come ask for."""
    for m in range(count):
        k = F.near[m]
        o, at = 2 * BLOCK * k, ROW * MOST_FREEDOMS * k
        for d in range(MOST_FREEDOMS - 1, -1, -1):
            W, Z = vload(F.coupling, o + ROW * d), vload(F.coupling, o + BLOCK + ROW * d)
            vstore(F.W, at + ROW * d, W)
            vstore(F.Z, at + ROW * d, F.Dinv[j + d] * Z)
            for e in range(d):
                to = o + ROW * e
                vstore(F.coupling, to, vload(F.coupling, to) - (F.Dinv[j + d] * F.U[j + d, e]) * W)
                to += BLOCK
                vstore(F.coupling, to, vload(F.coupling, to) - (F.Dinv[j + d] * F.Y[j + d, e]) * Z)


@routine
def pass_on(F, count, dof):
    """X_j and K_jk of (5), of all bodies on the other ends of the `count` couplings in `near`, for all freedoms."""
    pair = 0
    for m in range(count):
        k = F.near[m]
        j, own = F.ends[k, 1], ROW * MOST_FREEDOMS * k
        X = load_rows(F.block, BLOCK * j)
        for d in range(0, ROW * dof, ROW):
            X = sub_outer(X, flat6(F.Z, own + d), vload(F.W, own + d))
        store_rows(F.block, BLOCK * j, X)
        for n in range(m):
            between, other = F.pairs[pair], ROW * MOST_FREEDOMS * F.near[n]
            pair += 1
            left, right = (own, other) if F.ends[between, 0] == j else (other, own)
            o = 2 * BLOCK * between
            forth, back = load_rows(F.coupling, o), load_rows(F.coupling, o + BLOCK)
            for d in range(0, ROW * dof, ROW):
                forth = sub_outer(forth, flat6(F.Z, left + d), vload(F.W, right + d))
                back = sub_outer(back, flat6(F.W, left + d), vload(F.Z, right + d))
            store_rows(F.coupling, o, forth)
            store_rows(F.coupling, o + BLOCK, back)


@routine
def hand_to_parent(F, i, parent, r, count):
    """Couplings of body i, whose freedoms are eliminated, become those of its parent; -1: of the world, that is none."""
    for m in range(count):
        k = F.near[m]
        j = F.ends[k, 1]
        F.gone_with[k] = i
        if parent >= 0:
            o = 2 * BLOCK * k
            forth = columns_up(r, load_rows(F.coupling, o))
            back = columns_up(r, load_rows(F.coupling, o + BLOCK))
            if j == parent:
                add_vectors(F.block, BLOCK * parent, forth)
                store_rows(F.coupling, o + BLOCK, back)
                add_transposed(F.block, BLOCK * parent, F.coupling, o + BLOCK)
                continue
            to = couple(F, parent, j)
            if to < 0:
                continue
            if F.ends[to, 0] == parent:
                add_vectors(F.coupling, 2 * BLOCK * to, forth)
                add_vectors(F.coupling, 2 * BLOCK * to + BLOCK, back)
            else:
                store_rows(F.coupling, o, forth)
                store_rows(F.coupling, o + BLOCK, back)
                add_transposed(F.coupling, 2 * BLOCK * to, F.coupling, o + BLOCK)
                add_transposed(F.coupling, 2 * BLOCK * to + BLOCK, F.coupling, o)


@inlined
def add_vectors(a, o, X):
    store_rows(a, o, add_rows(load_rows(a, o), X))


@routine
def add_transposed(a, o, b, p):
    """Adds the transposed block at b[p] to that at a[o]."""
    for e in range(6):
        for d in range(6):
            a[o + ROW * e + d] += b[p + ROW * d + e]


@routine
def is_same_tree(tree, F):
    """Whether `order` is for a tree with these parents, which are noted."""
    same = F.counts[BODIES] == tree.shape[0]
    F.counts[BODIES] = tree.shape[0]
    for i in range(tree.shape[0]):
        same = same and F.asked_parent[i] == tree[i, PARENT]
        F.asked_parent[i] = tree[i, PARENT]
    return same


@inlined
def ask_for(F, k, a, b):
    """Whether the coupling number k that `order` is for was that of these two bodies, which are noted."""
    same = F.asked[k, 0] == a and F.asked[k, 1] == b
    F.asked[k, 0], F.asked[k, 1] = a, b
    return same


@routine
def order_least_coupled(tree, F):
    """Fills `order`: bodies without couplings on their subtrees first, then always one that is coupled with the fewest.

    The couplings are made by `couple`; they are used up. Where there is no room for those that elimination makes, leaves
    come before roots in the order of their numbers.
    """
    n = tree.shape[0]
    for i in range(n):
        F.waits[i] = -1  # no coupling below
    for i in range(n - 1, -1, -1):
        parent = tree[i, PARENT]
        if F.head[i] >= 0 and F.waits[i] < 0:
            F.waits[i] = 0
        if F.waits[i] >= 0 and parent >= 0:
            F.waits[parent] = max(F.waits[parent], 0) + 1  # children that are to be eliminated before it
    at = 0
    for i in range(n - 1, -1, -1):
        if F.waits[i] < 0:
            F.order[at] = i
            at += 1
    ready = at  # order[at:ready]: bodies that wait for nothing
    for i in range(n - 1, -1, -1):
        if F.waits[i] == 0:
            F.order[ready] = i
            ready += 1
    while at < n and F.counts[IS_FULL] == 0:
        best, fewest = at, degree_of(F, F.order[at])
        for k in range(at + 1, ready):
            degree = degree_of(F, F.order[k])
            if degree < fewest:
                best, fewest = k, degree
        i = F.order[best]
        F.order[best], F.order[at] = F.order[at], i
        at += 1
        count, parent = list_others(F, i), tree[i, PARENT]
        for m in range(count):
            j = F.near[m]
            for k in range(m):
                couple(F, j, F.near[k])
            if parent >= 0 and parent != j:
                couple(F, parent, j)
        if parent >= 0:
            F.waits[parent] -= 1
            if F.waits[parent] == 0:
                F.order[ready] = parent
                ready += 1
    if F.counts[IS_FULL] != 0:
        for i in range(n):
            F.order[i] = n - 1 - i
    for k in range(n):
        F.rank[F.order[k]] = k


@inlined
def list_others(F, i):
    """Lists the bodies that body i is still coupled with, in `near`, and that these couplings are gone; how many."""
    count, entry = 0, F.head[i]
    while entry >= 0:
        if F.gone_with[entry >> 1] < 0:
            F.near[count] = other_end(F, entry)
            F.gone_with[entry >> 1] = i
            count += 1
        entry = F.after[entry]
    return count


@inlined
def degree_of(F, i):
    """Couplings that body i still has."""
    count, entry = 0, F.head[i]
    while entry >= 0:
        count += 1 if F.gone_with[entry >> 1] < 0 else 0
        entry = F.after[entry]
    return count


@routine
def push_coupled(F, i, j, dof):
    """p_j of (6), of all bodies that were coupled with body i, whose freedoms from j on have their u in `effort`."""
    entry = F.head[i]
    while entry >= 0:
        k = entry >> 1
        if F.gone_with[k] == i:
            p, at = load_row(F.wrench, F.ends[k, 1]), ROW * MOST_FREEDOMS * k
            for d in range(dof):
                p = p + F.effort[j + d] * vload(F.Z, at + ROW * d)
            store_row(F.wrench, F.ends[k, 1], p)
        entry = F.after[entry]


@routine
def take_coupled(F, i, j, dof):
    """Σ W_j·a_j of (6), off the u of the freedoms of body i."""
    entry = F.head[i]
    while entry >= 0:
        k = entry >> 1
        if F.gone_with[k] == i:
            a, at = load_row(F.twist, F.ends[k, 1]), ROW * MOST_FREEDOMS * k
            if dof == MOST_FREEDOMS:
                felt = six_lanes(rows_times(load_rows(F.W, at), a))
                for d in range(MOST_FREEDOMS):
                    F.effort[j + d] -= felt[d]
            else:
                for d in range(dof):
                    F.effort[j + d] -= vsum(vload(F.W, at + ROW * d) * a)
        entry = F.after[entry]
