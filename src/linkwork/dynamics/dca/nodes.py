"""The arithmetic of one node of the assembly tree, fast form. `node_equations` has the same in plain form and judges it.

Every joining node is one elimination. With M = P22 + Φ11ᴮ = L D Lᵀ and right-hand sides in the lanes beside the matrices,

    T = L⁻¹ [P21 | β]     U = L⁻¹ Φ12ᴮ     s = L⁻¹ S     k = sᵀD⁻¹ T     N = sᵀD⁻¹s + armature
    Y = T - s N⁻¹ k and Z likewise, so that W = L⁻ᵀ p D⁻¹ p L⁻¹ acts by Y and Z alone:
    Φ11 = Φ11ᴬ - YᵀD⁻¹Y          Φ21 = ZᵀD⁻¹Y           Φ22 = Φ22ᴮ - ZᵀD⁻¹Z
    b1 = b1ᴬ - YᵀD⁻¹η - kᵀN⁻¹Q   b2 = b2ᴮ + ZᵀD⁻¹η + ...  (η: lane 6 of Y)

What is taken away is a square, so coefficients stay symmetric and positive semi-definite by construction. A branch is a
join whose upper side is given: P22 = 0, P21 = X. The way back: `back_substitution`.
"""

import math
from typing import NamedTuple

from linkwork.assembly.node_table import BODY, INDEX, LEFT, LOWER, NODE_KIND, RIGHT, ROLE, TOP
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import inlined, routine
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, INERTIA, V
from linkwork.spatial.inertia import rigid_lower
from linkwork.spatial.ldl import forward, ldl6
from linkwork.spatial.memory import load3, load6, load9, load10
from linkwork.spatial.simd import (
    combine,
    flat6,
    get_lane,
    identity_rows,
    lane_vector,
    load_rows,
    motion_rows_to_child,
    negate6,
    scale_rows,
    set_lane,
    six_lanes,
    store_rows,
    sub_outer,
    sub_rows,
    transposed_product,
    unit_lane,
    vstore,
)
from linkwork.spatial.vectors import add6, sub6

# Coefficients live in two arrays; matrices are 6 rows of 8.
# `node_data` holds what the way back needs, at block[node]. BODY: [Φ | b]; b only where branches hang. JOIN: Φ21 for an
# UPPER cluster, Φ12 for a LOWER one; then L. HANG: L.
JOIN_L, HANG_L = 48, 0
L_D, L_N, L_BETA, L_S = 15, 21, 24, 32  # from L on: 1/D (6); N⁻¹ of a joint of one freedom; β (6); s (6) likewise
BLOCK_SIZE = (48, 88, 40, 0)  # BODY, JOIN, HANG, SUM
# Behind it, for bodies and clusters of rigid stretches: [I | F] in 6 rows of 8, pose of the last body in the first, b1.
BODY_SOLID, JOIN_SOLID = BLOCK_SIZE[0], BLOCK_SIZE[1]
SOLID_R, SOLID_P, SOLID_B, SOLID_SIZE = 48, 57, 60, 72
# `phi` holds what the parent node needs, at slot[node]; lane 6 carries the bias. JOIN: [Φ11 | b1], [Φ22 | b2]. BODY:
# [Φ | b] for both. HANG, SUM: [K | Xᵀγ]. Once the parent is done a slot may serve another node.
PHI11, PHI22, SLOT_SIZE = 0, 48, 96

# Columns of `joint_data`, one row per body: pose in the parent, bias c of its joint, external less gyroscopic wrench.
H_R, H_P, H_C, H_F = 0, 9, 12, 18
HINGE_COLUMNS = 24

# Columns of `inputs`, one row per node. A cluster gets the wrenches f1, f2 on its two handles, a branch the acceleration of
# its carrier in the place of f1. Lanes 6 and 7 are zero.
IN_1, IN_2 = 0, 8
INPUT_COLUMNS = 16

# Columns of `dof_rows`, one row for each degree of freedom of joints with several: a row of N⁻¹, a column of L⁻¹S
F_N, F_S = 0, 8
FREEDOM_COLUMNS = 16

SCRATCH = 96 + 2 * 48  # two matrices, and k of six freedoms for each of them
K1, K2 = 96, 144


class NodeArrays(NamedTuple):
    """What coefficients of nodes are formed of and stored in; columns and blocks as above.

    `adaptive.workspace` has the same arrays as fields of `Plan`, `Mechanism` and `Coefficients`.
    """

    nodes: IntArray  # the plan
    block: IntArray  # where the block of a node begins in `node_data`
    slot: IntArray  # and what it hands up in `phi`
    tree: IntArray
    body: FloatArray
    dof: FloatArray
    joint_data: FloatArray
    S: FloatArray
    effort_sum: FloatArray  # efforts, with springs and dampers
    node_data: FloatArray
    phi: FloatArray
    dof_rows: FloatArray
    scratch: FloatArray


@inlined
def load_ldl(a, o):
    L = (
        a[o], a[o + 1], a[o + 2], a[o + 3], a[o + 4], a[o + 5], a[o + 6], a[o + 7],
        a[o + 8], a[o + 9], a[o + 10], a[o + 11], a[o + 12], a[o + 13], a[o + 14],
    )  # fmt: skip
    return L, flat6(a, o + L_D)


@inlined
def store_elimination(a, o, L, d, beta):
    for i in range(15):
        a[o + i] = L[i]
    for i in range(6):
        a[o + L_D + i] = d[i]
    vstore(a, o + L_BETA, lane_vector(beta, 0.0))


# --------------------------------------------------------------------------------------------------------------- bodies


@inlined
def plain_body(node_data, o, f, phi, at):
    """[Φ | Φ f] of a body without branches."""
    m = load_rows(node_data, o)
    store_rows(phi, at, set_lane(m, 6, six_lanes(combine(f, m))))


@inlined
def block_lower(a, o):
    """Lower triangle of the block at a[o], row by row."""
    return (
        a[o],
        a[o + 8], a[o + 9],
        a[o + 16], a[o + 17], a[o + 18],
        a[o + 24], a[o + 25], a[o + 26], a[o + 27],
        a[o + 32], a[o + 33], a[o + 34], a[o + 35], a[o + 36],
        a[o + 40], a[o + 41], a[o + 42], a[o + 43], a[o + 44], a[o + 45],
    )  # fmt: skip


@inlined
def add21(m, n):
    return (
        m[0] + n[0], m[1] + n[1], m[2] + n[2], m[3] + n[3], m[4] + n[4], m[5] + n[5], m[6] + n[6],
        m[7] + n[7], m[8] + n[8], m[9] + n[9], m[10] + n[10], m[11] + n[11], m[12] + n[12], m[13] + n[13],
        m[14] + n[14], m[15] + n[15], m[16] + n[16], m[17] + n[17], m[18] + n[18], m[19] + n[19], m[20] + n[20],
    )  # fmt: skip


@inlined
def bias_lane(a, o):
    """Lane 6 of the block at a[o]."""
    return (a[o + 6], a[o + 14], a[o + 22], a[o + 30], a[o + 38], a[o + 46])


@routine
def invert_with_bias(m, f, scratch):
    """[Φ | Φ f] of the inertia with lower triangle m, and whether it could be inverted."""
    L, d, ok = ldl6(m)
    T = forward(L, set_lane(identity_rows(), 6, f))
    store_rows(scratch, 0, scale_rows(d, T))
    return transposed_product(scratch, 0, T), ok


@inlined
def body_with_branches(body, joint_data, i, node_data, o, phi, branch, at, scratch, solid):
    """Φ = (I + K)⁻¹, b = Φ (f - Xᵀγ): a body that took over its branches. solid: whether it is part of a rigid stretch."""
    m = add21(rigid_lower(load10(body, i, INERTIA)), block_lower(phi, branch))
    f = sub6(load6(joint_data, i, H_F), bias_lane(phi, branch))
    if solid:
        keep_inertia(node_data, o + BODY_SOLID, m, f)
    rows, ok = invert_with_bias(m, f, scratch)
    store_rows(node_data, o, rows)
    store_rows(phi, at, rows)
    return ok


@inlined
def keep_inertia(node_data, at, m, f):
    """A body of a rigid stretch: [I | F], and itself as its last body."""
    for r in range(6):
        for c in range(r + 1):
            node_data[at + 8 * r + c] = m[r * (r + 1) // 2 + c]
            node_data[at + 8 * c + r] = m[r * (r + 1) // 2 + c]
        node_data[at + 8 * r + 6] = f[r]
    for k in range(9):
        node_data[at + SOLID_R + k] = 1.0 if k % 4 == 0 else 0.0


@inlined
def add_branches(phi, left, right, at):
    a = load_rows(phi, left)
    b = load_rows(phi, right)
    store_rows(phi, at, (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]))


# ---------------------------------------------------------------------------------------------------- what a joint joins


@inlined
def lower_handle(nodes, slot, node):
    """Where [Φ22 | b2] of a cluster is; a single body has one block for both handles."""
    if nodes[node, NODE_KIND] == BODY:
        return slot[node] + PHI11
    return slot[node] + PHI22


@inlined
def joint_matrix(R, p, phi, upper22, scratch):
    """Lower triangle of P22 = X Φ22ᴬ Xᵀ, and X b2ᴬ."""
    store_rows(scratch, 0, motion_rows_to_child(R, p, load_rows(phi, upper22)))  # G = X [Φ22 | b2]
    g = scratch
    # A row (u, w) of G becomes (E u, E (w + u x p)) in G Xᵀ, with E = Rᵀ.
    m00, m10, m11 = turned(g, 0, R, 0), turned(g, 8, R, 0), turned(g, 8, R, 1)
    m20, m21, m22 = turned(g, 16, R, 0), turned(g, 16, R, 1), turned(g, 16, R, 2)
    m30, m31, m32 = turned(g, 24, R, 0), turned(g, 24, R, 1), turned(g, 24, R, 2)
    m40, m41, m42 = turned(g, 32, R, 0), turned(g, 32, R, 1), turned(g, 32, R, 2)
    m50, m51, m52 = turned(g, 40, R, 0), turned(g, 40, R, 1), turned(g, 40, R, 2)
    w3, w4, w5 = shifted(g, 24, p), shifted(g, 32, p), shifted(g, 40, p)
    m33 = column_dot(w3, R, 0)
    m43, m44 = column_dot(w4, R, 0), column_dot(w4, R, 1)
    m53, m54, m55 = column_dot(w5, R, 0), column_dot(w5, R, 1), column_dot(w5, R, 2)
    m = (m00, m10, m11, m20, m21, m22, m30, m31, m32, m33, m40, m41, m42, m43, m44, m50, m51, m52, m53, m54, m55)
    return m, bias_lane(g, 0)


@inlined
def turned(g, o, R, j):
    """First three numbers of a row of G with column j of R."""
    return g[o] * R[j] + g[o + 1] * R[3 + j] + g[o + 2] * R[6 + j]


@inlined
def shifted(g, o, p):
    """w + u x p of a row (u, w) of G."""
    return (
        g[o + 3] + g[o + 1] * p[2] - g[o + 2] * p[1],
        g[o + 4] + g[o + 2] * p[0] - g[o] * p[2],
        g[o + 5] + g[o] * p[1] - g[o + 1] * p[0],
    )


@inlined
def column_dot(w, R, j):
    return w[0] * R[j] + w[1] * R[3 + j] + w[2] * R[6 + j]


@inlined
def eliminate_join(x, node):
    """L, 1/D, M and the right-hand sides T, U of a JOIN; keeps what the way back needs."""
    i = x.nodes[node, INDEX]
    upper = x.nodes[node, LEFT]
    lower = x.nodes[node, RIGHT]
    B11 = x.slot[lower] + PHI11
    R = load9(x.joint_data, i, H_R)
    p = load3(x.joint_data, i, H_P)
    p22, b2 = joint_matrix(R, p, x.phi, lower_handle(x.nodes, x.slot, upper), x.scratch)
    m = add21(p22, block_lower(x.phi, B11))
    L, d, ok = ldl6(m)
    beta = add6(sub6(b2, bias_lane(x.phi, B11)), load6(x.joint_data, i, H_C))
    store_elimination(x.node_data, x.block[node] + JOIN_L, L, d, beta)
    T = forward(L, set_lane(motion_rows_to_child(R, p, load_rows(x.node_data, x.block[upper])), 6, beta))
    U = forward(L, set_lane(load_rows(x.node_data, x.block[lower]), 6, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
    return m, L, d, ok, T, U


@inlined
def eliminate_hang(x, node):
    """The same for a HANG, where the upper side is given: M = Φ11, P21 = X, β = c - b1."""
    i = x.nodes[node, INDEX]
    B11 = x.slot[x.nodes[node, LEFT]] + PHI11
    m = block_lower(x.phi, B11)
    L, d, ok = ldl6(m)
    beta = sub6(load6(x.joint_data, i, H_C), bias_lane(x.phi, B11))
    store_elimination(x.node_data, x.block[node] + HANG_L, L, d, beta)
    X = motion_rows_to_child(load9(x.joint_data, i, H_R), load3(x.joint_data, i, H_P), identity_rows())
    return m, L, d, ok, forward(L, set_lane(X, 6, beta))


@inlined
def store_cluster(x, node, Y, Z, d, lift1, lift2):
    """Φ and b of a JOIN from the projected rows; the lifts are what efforts add to the biases."""
    at = x.slot[node]
    nodes, node_data, phi, scratch = x.nodes, x.node_data, x.phi, x.scratch
    store_rows(scratch, 0, scale_rows(d, Y))  # D⁻¹ Y
    upper11 = load_rows(phi, x.slot[nodes[node, LEFT]] + PHI11)
    phi11 = sub_rows(upper11, transposed_product(scratch, 0, Y))
    store_rows(phi, at + PHI11, sub_outer(phi11, lift1, unit_lane(6)))
    role = nodes[node, ROLE]
    if role == TOP:  # a HANG asks only for the upper handle
        return
    store_rows(scratch, 48, scale_rows(d, Z))  # D⁻¹ Z
    if role == LOWER:
        store_rows(node_data, x.block[node], transposed_product(scratch, 0, Z))  # Φ12
    else:
        store_rows(node_data, x.block[node], transposed_product(scratch, 48, Y))  # Φ21
    lower22 = load_rows(phi, lower_handle(nodes, x.slot, nodes[node, RIGHT]))
    Zb = set_lane(Z, 6, negate6(get_lane(Y, 6)))
    phi22 = sub_rows(lower22, transposed_product(scratch, 48, Zb))
    store_rows(phi, at + PHI22, sub_outer(phi22, negate6(lift2), unit_lane(6)))


@inlined
def store_branch(phi, at, Y, d, lift, scratch):
    """[K | Xᵀγ] of a branch, as it acts on its carrier."""
    store_rows(scratch, 0, scale_rows(d, Y))
    K = transposed_product(scratch, 0, Y)
    store_rows(phi, at, sub_outer(K, negate6(lift), unit_lane(6)))


# --------------------------------------------------------------------------------------- joints of one degree of freedom


@inlined
def one_freedom(tree, body, dof, i, L, d, node_data, o):
    """s, D⁻¹s, N⁻¹ and the step α with (T - α s k)ᵀD⁻¹(T - α s k) = TᵀD⁻¹T - kᵀN⁻¹k, armature included.

    α = (1 - √(armature / N)) / ρ, written without the difference: it would leave nothing of ρ beside a large armature.
    """
    s = forward(L, helical_twist(body, i))
    ds = (d[0] * s[0], d[1] * s[1], d[2] * s[2], d[3] * s[3], d[4] * s[4], d[5] * s[5])
    rho = s[0] * ds[0] + s[1] * ds[1] + s[2] * ds[2] + s[3] * ds[3] + s[4] * ds[4] + s[5] * ds[5]
    armature = dof[tree[i, V], ARMATURE]
    n = 1.0 / (rho + armature)
    node_data[o + L_N] = n
    vstore(node_data, o + L_S, lane_vector(s, 0.0))
    return s, ds, n, n / (1.0 + math.sqrt(armature * n))


@routine
def join_1dof(x, node):
    """Joins two clusters by a joint of one degree of freedom; False if it resists with no inertia."""
    i = x.nodes[node, INDEX]
    _, L, d, ok, T, U = eliminate_join(x, node)
    s, ds, n, alpha = one_freedom(x.tree, x.body, x.dof, i, L, d, x.node_data, x.block[node] + JOIN_L)
    k1 = combine(ds, T)
    k2 = combine(ds, U)
    effort = n * x.effort_sum[x.tree[i, V]]
    lift1 = six_lanes(effort * k1)
    lift2 = six_lanes(effort * k2)
    Y = sub_outer(T, s, alpha * k1)
    Z = sub_outer(U, s, alpha * k2)
    store_cluster(x, node, Y, Z, d, lift1, lift2)
    return ok and n > 0.0


@routine
def hang_1dof(x, node):
    """Hangs a finished path from its carrier by a joint of one degree of freedom."""
    i = x.nodes[node, INDEX]
    _, L, d, ok, T = eliminate_hang(x, node)
    s, ds, n, alpha = one_freedom(x.tree, x.body, x.dof, i, L, d, x.node_data, x.block[node] + HANG_L)
    k = combine(ds, T)
    lift = six_lanes((n * x.effort_sum[x.tree[i, V]]) * k)
    store_branch(x.phi, x.slot[node], sub_outer(T, s, alpha * k), d, lift, x.scratch)
    return ok and n > 0.0
