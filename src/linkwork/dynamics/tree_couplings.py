"""Couplings of bodies in the elimination of a tree: contacts between two bodies, and loops.

Such a row adds blocks to both of its bodies, and couples them: K_ij is the wrench on i per twist of j, K_ji that on j per
twist of i. When a freedom s of body i is eliminated, with U, Y and D of `tree_elimination`, so are its couplings:

    W_j = K_ijᵀ s,  Z_j = K_ji s        K_ij ← K_ij - U D⁻¹ W_jᵀ,  K_ji ← K_ji - Z_j D⁻¹ Yᵀ
                                        X_j ← X_j - Z_j D⁻¹ W_jᵀ,  K_jk ← K_jk - Z_j D⁻¹ W_kᵀ  for any two of them       (5)
    right sides     p_j ← p_j + Z_j D⁻¹ u
    solution        x = D⁻¹ (u - Y·a - Σ W_j·a_j)                                                                    (6)

What is left of K_ij then couples the parent of i with j. A body that is coupled with m others when it is eliminated takes
O(m²): a stack of boxes and a closed chain take O(n), as a tree does.
"""

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.tree_factor import BLOCK, MOST_FREEDOMS, ROW, add_numbers
from linkwork.model.layout import PARENT
from linkwork.spatial.lane_moves import columns_up, load_row, store_row
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

USED, IS_FULL = 0, 1  # entries of `counts`


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
    """(5) for freedom s, number `place` of its joint, of the body whose `count` couplings are listed in `near`."""
    u, y = scale6(1.0 / D, U), scale6(1.0 / D, Y)
    pair = 0
    for m in range(count):
        k = F.near[m]
        o, at = 2 * BLOCK * k, ROW * (MOST_FREEDOMS * k + place)
        forth, back = load_rows(F.coupling, o), load_rows(F.coupling, o + BLOCK)
        W, Z = combine(s, forth), combine(s, back)
        vstore(F.W, at, W)
        vstore(F.Z, at, Z)
        store_rows(F.coupling, o, sub_outer(forth, u, W))
        store_rows(F.coupling, o + BLOCK, sub_outer(back, y, Z))
        w, z = scale6(1.0 / D, six_lanes(W)), scale6(1.0 / D, six_lanes(Z))
        j = F.ends[k, 1]
        less_outer(F.block, BLOCK * j, z, W)
        for n in range(m):
            other = ROW * (MOST_FREEDOMS * F.near[n] + place)
            Wn, Zn = vload(F.W, other), vload(F.Z, other)
            between = F.pairs[pair]
            pair += 1
            o = 2 * BLOCK * between
            if F.ends[between, 0] == j:
                less_outer(F.coupling, o, z, Wn)
                less_outer(F.coupling, o + BLOCK, w, Zn)
            else:
                less_outer(F.coupling, o, scale6(1.0 / D, flat6(F.Z, other)), W)
                less_outer(F.coupling, o + BLOCK, scale6(1.0 / D, flat6(F.W, other)), Z)


@inlined
def less_outer(a, o, x, v):
    """The block at a[o] less x vᵀ."""
    store_rows(a, o, sub_outer(load_rows(a, o), x, v))


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


@inlined
def push_coupled(F, i, place, push):
    """p_j of (6), push: D⁻¹ u of freedom number `place` of body i."""
    entry = F.head[i]
    while entry >= 0:
        k = entry >> 1
        if F.gone_with[k] == i:
            j, Z = F.ends[k, 1], vload(F.Z, ROW * (MOST_FREEDOMS * k + place))
            store_row(F.wrench, j, load_row(F.wrench, j) + push * Z)
        entry = F.after[entry]


@inlined
def effort_of_coupled(F, i, place):
    """Σ W_j·a_j of (6)"""
    effort, entry = 0.0, F.head[i]
    while entry >= 0:
        k = entry >> 1
        if F.gone_with[k] == i:
            effort += vsum(vload(F.W, ROW * (MOST_FREEDOMS * k + place)) * load_row(F.twist, F.ends[k, 1]))
        entry = F.after[entry]
    return effort
