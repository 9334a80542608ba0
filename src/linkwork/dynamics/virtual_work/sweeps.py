"""Forward dynamics by the principle of virtual work (Yamane and Nakamura): O(n), with every constraint force.

Each joint i has a 6x6 block of columns B (constraint_basis): its wrench is f = E τ + B n. The condition that bodies stay
together, Bᵀ(a_i - X a_λ - c) + J n = 0, with a = G (f_ext + Σ wrenches), G = I⁻¹, is one linear system over joints,

    Φ_ii = Bᵀ G_i B + Hᵀ G_λ H + J         H = XᵀB: the columns of joint i, seen in the link that carries it
    Φ_ci = -H_cᵀ G_i B_i                    a joint c below link i, and the joint i above it
    Φ_cl = H_cᵀ G_i H_l                     two joints below the same link
    α_i  = Bᵀ(X ā_λ + c - ā_i)              ā = G t: accelerations with efforts and loads, but no constraints

solved leaf to root (the joints below a link are eliminated when it is visited) and root to leaf (n, then a and q̈).
Links with k children cost O(k³): that is what splitting is for. Theory: docs/theory/virtual_work.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.dca.nodes import H_C, H_F, H_P, H_R, block_lower, invert_with_bias
from linkwork.dynamics.dca.sweeps import is_singular, velocities_root_to_leaf
from linkwork.dynamics.virtual_work.constraint_basis import joint_basis, unit_block
from linkwork.model.layout import ARMATURE, COMPOUND, DOF, INERTIA, KIND, V
from linkwork.spatial.inertia import rigid_lower
from linkwork.spatial.ldl import backward, forward, ldl6
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store6
from linkwork.spatial.rotations import IDENTITY3, ZERO3
from linkwork.spatial.simd import (
    combine,
    flat6,
    get_lane,
    lane_vector,
    load_rows,
    negate6,
    row_sums,
    scale_rows,
    set_lane,
    six_lanes,
    splat,
    store_rows,
    sub_rows,
    transposed_product,
    with_lane,
    wrench_rows_to_parent,
)
from linkwork.spatial.vectors import ZERO6, add6, dot6, scale6, sub6, twist_to_child, wrench_to_parent

# One row of numbers per link; matrices are 6 rows of 8, lane 6 carries right-hand sides. G, B, Q = G B and OWN = BᵀGB + J
# change only where a joint is compound. DIAGONAL: [Φ_ii | α_i] while joints below are eliminated; then L (15), 1/D (6).
# COUPLING: L⁻¹ [Φ_ci | α_c] to the joint above.
G_, B_, Q_, OWN, H_, COUPLING, DIAGONAL, LINK_SIZE = 0, 48, 96, 144, 192, 240, 288, 336
LDL_D = 15
PAIR_SIZE = 48  # L⁻¹ Φ_cl of two joints below the same link

# Columns of `load`, one row per link: wrench without constraints, ā, effort wrench of its joint, n, acceleration
T_, FREE_A, EFFORT, N_, A_, LOAD_COLUMNS = 0, 6, 12, 18, 24, 30
# Columns of `links` (m, 5): its body, the link that carries it, whether it is welded to that, where its children begin in
# `child`, and how many they are; its pairs of children begin at `pair`.
BODY, PARENT, IS_WELD, CHILDREN, COUNT, LINK_COLUMNS = 0, 1, 2, 3, 4, 5


class LinkTree(NamedTuple):
    """m links, which are bodies or welded pieces of them."""

    links: IntArray  # (m, 5)
    child: IntArray  # (m,)  children of each link in a row
    pair: IntArray  # (m,)  where the pairs of children of each link begin
    pieces: IntArray  # (n,)  how many links each body is


class LinkWork(NamedTuple):
    """Memory of the sweeps."""

    twist: FloatArray  # (n, 6)
    joint_data: FloatArray  # (n, 24)
    S: FloatArray  # (nv, 6)
    effort_sum: FloatArray  # (nv,)
    link_data: FloatArray  # (336 m,)
    pairs: FloatArray  # 48 per pair of children
    load: FloatArray  # (m, 30)
    E: FloatArray  # (nv, 6)
    scratch: FloatArray
    matrix: FloatArray  # (6, 14)


# ----------------------------------------------------------------------------------------------------- once for a model


@kernel
def prepare_links(arrays, t, w):
    """G, B, Q, OWN of all links; returns the first body whose inertia is singular, or -1."""
    tree, body, links, data = arrays.tree, arrays.body, t.links, w.link_data
    for m in range(links.shape[0]):
        o = m * LINK_SIZE
        i = links[m, BODY]
        inertia = load10(body, i, INERTIA)
        rows, ok = invert_with_bias(rigid_lower(inertia), ZERO6, w.scratch)
        if not ok or is_singular(inertia):
            return i
        share = t.pieces[i] * 1.0  # a piece of k has a k-th of the inertia
        store_rows(data, o + G_, scale_rows((share, share, share, share, share, share), rows))
        if links[m, IS_WELD]:
            unit_block(data, o + B_)
            unit_block(data, o + H_)
            own_block(data, o, 0)
        elif tree[i, KIND] != COMPOUND:
            joint_basis(tree, body, arrays.dof, i, w.S, data, o + B_, w.E, w.matrix)
            own_block(data, o, tree[i, DOF])
    return -1


@inlined
def own_block(data, o, freedoms):
    """Q = G B and BᵀGB + J."""
    Q = transposed_product(data, o + G_, load_rows(data, o + B_))
    store_rows(data, o + Q_, Q)
    store_rows(data, o + OWN, transposed_product(data, o + B_, Q))
    for d in range(6 - freedoms, 6):
        data[o + OWN + 9 * d] += 1.0


# ---------------------------------------------------------------------------------------------------------- three sweeps


@kernel
def virtual_work(arrays, q, v, effort, wrenches, t, w, qdd):
    """Writes accelerations into `qdd`, constraint forces into `load`; returns the body whose joint failed, or -1.

    arrays: of the model. t: LinkTree, w: LinkWork.
    """
    a = arrays
    velocities_root_to_leaf(a, q, v, effort, wrenches, w.twist, w.joint_data, w.S, w.effort_sum)
    bad = loads_root_to_leaf(a, t, w)
    if bad >= 0:
        return bad
    for m in range(t.links.shape[0] - 1, -1, -1):
        ok = eliminate_leaf_to_root(t, w, a.gravity, m)
        if not ok:
            return t.links[m, BODY]
    accelerations_root_to_leaf(a, t, w, qdd)
    return -1


@inlined
def carried_at(links, joint_data, m):
    """Pose of a link in the one that carries it, and the bias of the joint between."""
    i = links[m, BODY]
    if links[m, IS_WELD]:
        return IDENTITY3, ZERO3, ZERO6
    return load9(joint_data, i, H_R), load3(joint_data, i, H_P), load6(joint_data, i, H_C)


@inlined
def loads_root_to_leaf(arrays, t, w):
    """H of all joints, and what acts on links besides constraints: t = f + E τ - Σ Xᵀ E τ of the joints below."""
    tree, links, joint_data, data, load = arrays.tree, t.links, w.joint_data, w.link_data, w.load
    for m in range(links.shape[0]):
        o = m * LINK_SIZE
        i = links[m, BODY]
        f = scale6(1.0 / t.pieces[i], load6(joint_data, i, H_F))
        e = ZERO6
        if not links[m, IS_WELD]:
            if tree[i, KIND] == COMPOUND:
                if not joint_basis(tree, arrays.body, arrays.dof, i, w.S, data, o + B_, w.E, w.matrix):
                    return i
                own_block(data, o, tree[i, DOF])
            j = tree[i, V]
            for d in range(tree[i, DOF]):
                e = add6(e, scale6(w.effort_sum[j + d], load6(w.E, j + d, 0)))
            R = load9(joint_data, i, H_R)
            p = load3(joint_data, i, H_P)
            store_rows(data, o + H_, wrench_rows_to_parent(R, p, load_rows(data, o + B_)))
            if links[m, PARENT] >= 0:
                add_to6(load, links[m, PARENT], T_, negate6(wrench_to_parent(R, p, e)))
        store6(load, m, EFFORT, e)
        store6(load, m, T_, add6(f, e))
    return -1


@inlined
def eliminate_leaf_to_root(t, w, gravity, m):
    """Brings the joints below link m into the system and eliminates them; False if a block is not definite."""
    links, child, data, load = t.links, t.child, w.link_data, w.load
    o = m * LINK_SIZE
    free = six_lanes(combine(load6(load, m, T_), load_rows(data, o + G_)))
    store6(load, m, FREE_A, free)
    store_rows(data, o + DIAGONAL, load_rows(data, o + OWN))
    start = links[m, CHILDREN]
    count = links[m, COUNT]
    for j in range(count):
        c = child[start + j]
        join_link(links, w.joint_data, data, load, w.scratch, m, c, free)
        for k in range(j + 1, count):
            H = load_rows(data, child[start + k] * LINK_SIZE + H_)
            store_rows(w.pairs, pair_at(t.pair, m, count, j, k), transposed_product(w.scratch, 0, H))
    ok = True
    for j in range(count):
        ok = eliminate_child(t, w, m, j) and ok
    if links[m, PARENT] < 0:
        ok = solve_root(links, w.joint_data, gravity, data, load, m) and ok
    return ok


@inlined
def pair_at(pair, m, count, j, k):
    """Where the block of the children j < k of link m begins."""
    return pair[m] + (j * count - (j * (j + 1)) // 2 + k - j - 1) * PAIR_SIZE


@inlined
def join_link(links, joint_data, data, load, scratch, m, c, free):
    """What link m adds to the block, right-hand side and coupling of a joint c below it. Leaves G H in scratch."""
    o = m * LINK_SIZE
    at = c * LINK_SIZE
    GH = transposed_product(data, o + G_, load_rows(data, at + H_))
    store_rows(scratch, 0, GH)
    D = load_rows(data, at + DIAGONAL)
    K = transposed_product(data, at + H_, GH)
    store_rows(data, at + DIAGONAL, (D[0] + K[0], D[1] + K[1], D[2] + K[2], D[3] + K[3], D[4] + K[4], D[5] + K[5]))
    R, p, bias = carried_at(links, joint_data, c)
    gap = sub6(add6(twist_to_child(R, p, free), bias), load6(load, c, FREE_A))
    alpha = add6(six_lanes(combine(gap, load_rows(data, at + B_))), get_lane(D, 6))
    C = transposed_product(data, at + H_, load_rows(data, o + Q_))
    zero = splat(0.0)
    C = (zero - C[0], zero - C[1], zero - C[2], zero - C[3], zero - C[4], zero - C[5])
    store_rows(data, at + COUPLING, set_lane(C, 6, alpha))


@inlined
def eliminate_child(t, w, m, j):
    data, scratch = w.link_data, w.scratch
    at = t.child[t.links[m, CHILDREN] + j] * LINK_SIZE
    L, d, ok = ldl6(block_lower(data, at + DIAGONAL))
    U = forward(L, load_rows(data, at + COUPLING))
    store_rows(data, at + COUPLING, U)
    for k in range(15):
        data[at + DIAGONAL + k] = L[k]
    for k in range(6):
        data[at + DIAGONAL + LDL_D + k] = d[k]
    store_rows(scratch, 0, scale_rows(d, U))
    above = m * LINK_SIZE + DIAGONAL
    store_rows(data, above, sub_rows(load_rows(data, above), transposed_product(scratch, 0, U)))
    if j + 1 < t.links[m, COUNT]:
        eliminate_from_siblings(t, w, m, j, L, d, U)
    return ok


@routine
def eliminate_from_siblings(t, w, m, j, L, d, U):
    """Takes joint j out of the equations of the joints beside it: what grows with the square of their number."""
    pair, data, pairs, scratch = t.pair, w.link_data, w.pairs, w.scratch
    start, count = t.links[m, CHILDREN], t.links[m, COUNT]
    for k in range(j + 1, count):
        jk = pair_at(pair, m, count, j, k)
        store_rows(pairs, jk, forward(L, load_rows(pairs, jk)))
    for k in range(j + 1, count):
        V_ = load_rows(pairs, pair_at(pair, m, count, j, k))
        store_rows(scratch, 0, scale_rows(d, V_))
        beside = t.child[start + k] * LINK_SIZE
        # lane 6 of DIAGONAL has already moved to COUPLING, so only the matrix counts here
        subtract_at(data, beside + DIAGONAL, transposed_product(scratch, 0, V_))
        subtract_at(data, beside + COUPLING, transposed_product(scratch, 0, U))
        for n in range(k + 1, count):
            W = load_rows(pairs, pair_at(pair, m, count, j, n))
            subtract_at(pairs, pair_at(pair, m, count, k, n), transposed_product(scratch, 0, W))


@inlined
def subtract_at(a, o, rows):
    store_rows(a, o, sub_rows(load_rows(a, o), rows))


@inlined
def solve_root(links, joint_data, gravity, data, load, m):
    """The joint that holds a tree on the world, which accelerates by -g and yields to nothing."""
    at = m * LINK_SIZE
    R, p, bias = carried_at(links, joint_data, m)
    base = (0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
    gap = sub6(add6(twist_to_child(R, p, base), bias), load6(load, m, FREE_A))
    alpha = add6(six_lanes(combine(gap, load_rows(data, at + B_))), get_lane(load_rows(data, at + DIAGONAL), 6))
    L, d, ok = ldl6(block_lower(data, at + DIAGONAL))
    store6(load, m, N_, weighted_backward(L, d, forward(L, alpha)))
    return ok


@inlined
def weighted_backward(L, d, u):
    """L⁻ᵀ D⁻¹ u"""
    return backward(L, (d[0] * u[0], d[1] * u[1], d[2] * u[2], d[3] * u[3], d[4] * u[4], d[5] * u[5]))


@inlined
def accelerations_root_to_leaf(arrays, t, w, qdd):
    """n of the joints below each link, then the link's acceleration and that of its joint."""
    gravity, links, child, joint_data, data, load = arrays.gravity, t.links, t.child, w.joint_data, w.link_data, w.load
    base = (0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
    for m in range(links.shape[0]):
        o = m * LINK_SIZE
        n = load6(load, m, N_)
        f = add6(load6(load, m, T_), row_sums(data, o + B_, lane_vector(n, 0.0)))
        given = with_lane(lane_vector(negate6(n), 0.0), 6, 1.0)
        start = links[m, CHILDREN]
        count = links[m, COUNT]
        for j in range(count - 1, -1, -1):
            c = child[start + j]
            nc = child_constraint(t, w, m, j, given)
            store6(load, c, N_, nc)
            f = sub6(f, row_sums(data, c * LINK_SIZE + H_, lane_vector(nc, 0.0)))
        a = six_lanes(combine(f, load_rows(data, o + G_)))
        store6(load, m, A_, a)
        i = links[m, BODY]
        if not links[m, IS_WELD]:
            above = base
            if links[m, PARENT] >= 0:
                above = load6(load, links[m, PARENT], A_)
            a = sub6(a, twist_to_child(load9(joint_data, i, H_R), load3(joint_data, i, H_P), above))
            a = sub6(a, load6(joint_data, i, H_C))
            joint_accelerations(arrays.tree, arrays.dof, i, n, a, w.E, qdd)


@inlined
def joint_accelerations(tree, dof, i, n, a, E, qdd):
    """q̈ = Eᵀ(a_i - X a_λ - c), or from its rotor, √A q̈ = -z: a large armature leaves nothing of the difference."""
    j = tree[i, V]
    for d in range(tree[i, DOF]):
        armature = dof[j + d, ARMATURE]
        if armature > 0.0:
            qdd[j + d] = -n[6 - tree[i, DOF] + d] / math.sqrt(armature)
        else:
            qdd[j + d] = dot6(load6(E, j + d, 0), a)


@inlined
def child_constraint(t, w, m, j, given):
    child, data, load = t.child, w.link_data, w.load
    start, count = t.links[m, CHILDREN], t.links[m, COUNT]
    at = child[start + j] * LINK_SIZE
    u = row_sums(data, at + COUPLING, given)
    for k in range(j + 1, count):
        beside = lane_vector(load6(load, child[start + k], N_), 0.0)
        u = sub6(u, row_sums(w.pairs, pair_at(t.pair, m, count, j, k), beside))
    o = at + DIAGONAL
    L = (
        data[o], data[o + 1], data[o + 2], data[o + 3], data[o + 4], data[o + 5], data[o + 6], data[o + 7],
        data[o + 8], data[o + 9], data[o + 10], data[o + 11], data[o + 12], data[o + 13], data[o + 14],
    )  # fmt: skip
    return weighted_backward(L, flat6(data, o + LDL_D), u)


@kernel
def reactions_of(links, data, load, out):
    """E τ + B n of every body's joint, in the body's frame, into `out` (n, 6)."""
    for m in range(links.shape[0]):
        if not links[m, IS_WELD]:
            n = lane_vector(load6(load, m, N_), 0.0)
            store6(out, links[m, BODY], 0, add6(load6(load, m, EFFORT), row_sums(data, m * LINK_SIZE + B_, n)))
