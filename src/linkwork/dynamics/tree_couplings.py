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
from linkwork.dynamics.tree_factor import BLOCK, MOST_FREEDOMS, shift_columns_up, shift_rows_up
from linkwork.model.layout import PARENT
from linkwork.spatial.inertia import block_plus_outer, block_times_twist, twist_times_block
from linkwork.spatial.memory import add_to6, add_to_block, load6, load_block, store6, store_block
from linkwork.spatial.vectors import dot6, scale6

USED, IS_FULL = 0, 1  # entries of `counts`


@inlined
def clear_couplings(F):
    for i in range(F.head.shape[0]):
        F.head[i] = -1
    F.counts[USED], F.counts[IS_FULL] = 0, 0


@inlined
def other_end(F, entry):
    return F.ends[entry >> 1, 1 - (entry & 1)]


@inlined
def own_half(entry):
    """Where in a row of `coupling` the wrench on the body of this entry begins."""
    return BLOCK * (entry & 1)


@inlined
def other_half(entry):
    return BLOCK * (1 - (entry & 1))


@routine
def couple(F, a, b):
    """The entry of a in its coupling with b, which is made where there is none; -1 where there is no room for it.

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
            return entry
        else:
            last = entry
        entry = following
    k = F.counts[USED]
    if k >= F.ends.shape[0]:
        F.counts[IS_FULL] = 1
        return -1
    F.counts[USED] = k + 1
    F.ends[k, 0], F.ends[k, 1], F.gone_with[k] = a, b, -1
    F.after[2 * k], F.after[2 * k + 1] = F.head[a], F.head[b]
    F.head[a], F.head[b] = 2 * k, 2 * k + 1
    for e in range(2 * BLOCK):
        F.coupling[k, e] = 0.0
    return 2 * k


@inlined
def add_coupling(F, a, b, forth, back):
    """Adds to the wrench on a per twist of b, and to that on b per twist of a."""
    entry = couple(F, a, b)
    if entry >= 0:
        add_to_block(F.coupling, entry >> 1, own_half(entry), forth)
        add_to_block(F.coupling, entry >> 1, other_half(entry), back)


@routine
def list_near(F, i):
    """Lists the entries of the couplings that body i still has, and in `pairs` of those that its elimination makes between
    the bodies on their other ends; how many there are of the first, 0 where there is no room."""
    count, entry = 0, F.head[i]
    while entry >= 0:
        if F.gone_with[entry >> 1] < 0:
            F.near[count] = entry
            count += 1
        entry = F.after[entry]
    pair = 0
    for m in range(count):
        for n in range(m):
            entry = couple(F, other_end(F, F.near[m]), other_end(F, F.near[n]))
            if entry < 0:
                return 0
            F.pairs[pair] = entry
            pair += 1
    return count


@routine
def eliminate_couplings(F, count, place, s, U, Y, D):
    """(5) for freedom s, number `place` of its joint, of the body whose `count` couplings are listed in `near`."""
    pair = 0
    for m in range(count):
        entry = F.near[m]
        k = entry >> 1
        forth, back = load_block(F.coupling, k, own_half(entry)), load_block(F.coupling, k, other_half(entry))
        W, Z = twist_times_block(s, forth), block_times_twist(back, s)
        store6(F.W, MOST_FREEDOMS * k + place, 0, W)
        store6(F.Z, MOST_FREEDOMS * k + place, 0, Z)
        store_block(F.coupling, k, own_half(entry), block_plus_outer(forth, scale6(-1.0 / D, U), W))
        store_block(F.coupling, k, other_half(entry), block_plus_outer(back, scale6(-1.0 / D, Z), Y))
        j = other_end(F, entry)
        store_block(F.block, j, 0, block_plus_outer(load_block(F.block, j, 0), scale6(-1.0 / D, Z), W))
        for n in range(m):
            other = F.near[n]
            Wn, Zn = (
                load6(F.W, MOST_FREEDOMS * (other >> 1) + place, 0),
                load6(F.Z, MOST_FREEDOMS * (other >> 1) + place, 0),
            )
            between = F.pairs[pair]
            pair += 1
            add_outer(F, between >> 1, own_half(between), scale6(-1.0 / D, Z), Wn)
            add_outer(F, between >> 1, other_half(between), scale6(-1.0 / D, Zn), W)


@inlined
def add_outer(F, k, half, u, y):
    store_block(F.coupling, k, half, block_plus_outer(load_block(F.coupling, k, half), u, y))


@routine
def hand_to_parent(F, i, parent, r, count):
    """Couplings of body i, whose freedoms are eliminated, become those of its parent; -1: of the world, that is none."""
    for m in range(count):
        entry = F.near[m]
        k, j = entry >> 1, other_end(F, entry)
        F.gone_with[k] = i
        if parent >= 0:
            forth = shift_columns_up(r, load_block(F.coupling, k, own_half(entry)))
            back = shift_rows_up(r, load_block(F.coupling, k, other_half(entry)))
            if j == parent:
                add_to_block(F.block, parent, 0, forth)
                add_to_block(F.block, parent, 0, back)
            else:
                add_coupling(F, parent, j, forth, back)


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
        count, parent = list_near(F, i), tree[i, PARENT]
        for m in range(count):
            F.gone_with[F.near[m] >> 1] = i
        for m in range(count):
            j = other_end(F, F.near[m])
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
            add_to6(F.wrench, other_end(F, entry), 0, scale6(push, load6(F.Z, MOST_FREEDOMS * k + place, 0)))
        entry = F.after[entry]


@inlined
def effort_of_coupled(F, i, place):
    """Σ W_j·a_j of (6)"""
    effort, entry = 0.0, F.head[i]
    while entry >= 0:
        k = entry >> 1
        if F.gone_with[k] == i:
            a = load6(F.twist, other_end(F, entry), 0)
            effort += dot6(load6(F.W, MOST_FREEDOMS * k + place, 0), a)
        entry = F.after[entry]
    return effort
