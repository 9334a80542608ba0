"""The bias of a cluster that moves rigidly, as a function of its angular velocity: b(ω) = b_ext + B m(ω).

While no joint of a cluster moves, the classical accelerations of its bodies depend on velocities only through the six
products m(ω) = (ωx², ωy², ωz², ωxωy, ωxωz, ωyωz), ω that of its first body (of a branch: of its carrier) in its frame. So
a bias is six rows of eight: lanes 0 to 5 multiply the products, lane 6 is what loads and efforts do. The columns depend on
the shape of the cluster alone and stay as they are while it turns and moves. Theory: docs/theory/adaptive_dynamics.md.
"""

import math

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, TOP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.freedoms import project
from linkwork.dynamics.dca.nodes import H_P, H_R, HANG_L, JOIN_L, K1, K2, L_N, L_S, load_ldl
from linkwork.model.layout import ARMATURE, DOF, HELICAL, INERTIA, KIND, V
from linkwork.spatial.ldl import forward
from linkwork.spatial.memory import load3, load6, load9, load10
from linkwork.spatial.rotations import cross3, matmul3, tmatvec3
from linkwork.spatial.simd import (
    combine,
    flat6,
    identity_rows,
    lane,
    lane_vector,
    load_rows,
    motion_rows_to_child,
    row_sums,
    scale_rows,
    set_lane,
    six_lanes,
    splat,
    store_rows,
    sub_outer,
    sub_rows,
    transposed_product,
    unit_lane,
    vload,
    with_lane,
)
from linkwork.spatial.vectors import add6, twist_to_child

COLUMNS_1, COLUMNS_2 = 0, 48  # of the first and of the last body, from columns_at[node] on

# Scratch of the columns: the matrices of `dca`, then the gap T = L⁻¹β over the products, then N⁻¹k of the gap.
GAP = 192
K_GAP = 240
COLUMN_SCRATCH = 288


@inlined
def products(w):
    """m(ω), with a one in lane 6 for what does not depend on it."""
    m = (w[0] * w[0], w[1] * w[1], w[2] * w[2], w[0] * w[1], w[0] * w[2], w[1] * w[2])
    return with_lane(lane_vector(m, 0.0), 6, 1.0)


@inlined
def centripetal_rows(r):
    """ω x (ω x r) as three rows over m(ω)."""
    x, y, z = r
    return (
        lane_vector((0.0, -x, -x, y, z, 0.0), 0.0),
        lane_vector((-y, 0.0, -y, x, 0.0, z), 0.0),
        lane_vector((-z, -z, 0.0, 0.0, x, y), 0.0),
    )


@inlined
def gyroscopic_rows(inertia):
    """[ω x I ω; ω x (ω x h)] as six rows over m(ω): the wrench a body needs to keep turning."""
    _, hx, hy, hz, xx, xy, xz, yy, yz, zz = inertia
    c = centripetal_rows((hx, hy, hz))
    return (
        lane_vector((0.0, yz, -yz, xz, -xy, zz - yy), 0.0),
        lane_vector((-xz, 0.0, xz, -yz, xx - zz, xy), 0.0),
        lane_vector((xy, -xy, 0.0, yy - xx, yz, -xz), 0.0),
        c[0],
        c[1],
        c[2],
    )


@inlined
def product_row(u, w):
    """(u·ω)(w·ω) over m(ω)."""
    u0, u1, u2 = u
    w0, w1, w2 = w
    return lane_vector(
        (u0 * w0, u1 * w1, u2 * w2, u0 * w1 + u1 * w0, u0 * w2 + u2 * w0, u1 * w2 + u2 * w1),
        0.0,
    )


@inlined
def turned_products(R):
    """M with m(Rᵀω) = M m(ω): the products of a body whose axes stand as R in those of ω."""
    a = (R[0], R[3], R[6])
    b = (R[1], R[4], R[7])
    c = (R[2], R[5], R[8])
    return (
        product_row(a, a),
        product_row(b, b),
        product_row(c, c),
        product_row(a, b),
        product_row(a, c),
        product_row(b, c),
    )


@inlined
def turn_row(row, M):
    """A row over m(Rᵀω) as a row over m(ω); lane 6 stays."""
    return with_lane(combine(six_lanes(row), M), 6, lane(row, 6))


@inlined
def turn_rows(rows, M):
    return (
        turn_row(rows[0], M),
        turn_row(rows[1], M),
        turn_row(rows[2], M),
        turn_row(rows[3], M),
        turn_row(rows[4], M),
        turn_row(rows[5], M),
    )


@inlined
def first_gap(b1, r):
    """C(r) m - b1: what the lower side of a joint adds to its gap, the joint at r from the carrier in the child's axes."""
    c = centripetal_rows(r)
    zero = splat(0.0)
    return (zero - b1[0], zero - b1[1], zero - b1[2], c[0] - b1[3], c[1] - b1[4], c[2] - b1[5])


# ---------------------------------------------------------------------------------------------------------- evaluation


@inlined
def classical_part(V):
    """[0; ω x v]: classical less spatial acceleration of a body that moves with V."""
    x = cross3((V[0], V[1], V[2]), (V[3], V[4], V[5]))
    return (0.0, 0.0, 0.0, x[0], x[1], x[2])


@inlined
def minus_classical(b, V):
    x = classical_part(V)
    return (b[0], b[1], b[2], b[3] - x[3], b[4] - x[4], b[5] - x[5])


@inlined
def first_bias(columns, at, V):
    """Spatial bias of the first body of a rigid cluster that moves with V."""
    return minus_classical(row_sums(columns, at + COLUMNS_1, products((V[0], V[1], V[2]))), V)


@inlined
def last_bias(columns, at, V, R, p):
    """The same of its last body, whose pose in the first is R, p."""
    b = row_sums(columns, at + COLUMNS_2, products((V[0], V[1], V[2])))
    return minus_classical(b, twist_to_child(R, p, V))


@inlined
def branch_bias(columns, at, V, phi, slot):
    """p of a rigid branch whose carrier moves with V, so that -(K a + p) acts on the carrier."""
    p = row_sums(columns, at, products((V[0], V[1], V[2])))
    return add6(p, six_lanes(combine(classical_part(V), load_rows(phi, slot))))


# -------------------------------------------------------------------------------------------------------------- update


@routine
def update_columns(plan, mechanism, c, wrench, node):
    """Columns (1) of one node from those of its children and its own coefficients, all of which must be up to date.

    Leaves L⁻¹β of its joint in the scratch at GAP, for the factor that is updated next.
    """
    nodes = plan.nodes
    kind = nodes[node, NODE_KIND]
    at = plan.columns_at[node]
    left = nodes[node, LEFT]
    if kind == JOIN:
        join_columns(plan, mechanism, c, node)
    elif kind == HANG:
        hang_columns(plan, mechanism, c, node)
    elif kind == BODY:
        i = nodes[node, INDEX]
        g = gyroscopic_rows(load10(mechanism.body, i, INERTIA))
        zero = splat(0.0)
        w = (zero - g[0], zero - g[1], zero - g[2], zero - g[3], zero - g[4], zero - g[5])
        w = set_lane(w, 6, load6(wrench, i, 0))
        if left >= 0:
            w = sub_rows(w, load_rows(c.columns, plan.columns_at[left]))
        store_rows(c.columns, at, transposed_product(c.node_data, plan.block[node], w))
    else:
        a = load_rows(c.columns, plan.columns_at[left])
        b = load_rows(c.columns, plan.columns_at[nodes[node, RIGHT]])
        store_rows(c.columns, at, (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]))


@inlined
def helical_step(mechanism, i, node_data, o, d):
    """s, D⁻¹s, N⁻¹ and α of `one_freedom`, from what the elimination has kept."""
    s = flat6(node_data, o + L_S)
    ds = (d[0] * s[0], d[1] * s[1], d[2] * s[2], d[3] * s[3], d[4] * s[4], d[5] * s[5])
    rho = s[0] * ds[0] + s[1] * ds[1] + s[2] * ds[2] + s[3] * ds[3] + s[4] * ds[4] + s[5] * ds[5]
    n = node_data[o + L_N]
    armature = mechanism.dof[mechanism.tree[i, V], ARMATURE]
    return s, ds, n, (1.0 - math.sqrt(armature * n)) / rho


@inlined
def add_effort(rows, sign, total, tree, i, scratch, at):
    """Adds ± kᵀN⁻¹Q to lane 6."""
    lift = splat(0.0)
    for a in range(tree[i, DOF]):
        lift = lift + (sign * total[tree[i, V] + a]) * vload(scratch, at + 8 * a)
    return sub_outer(rows, six_lanes(lift), splat(0.0) - unit_lane(6))


@inlined
def add_armature_columns(rows, sign, mechanism, i, scratch, at):
    """Adds ± what armature leaves of W along the freedoms: (N⁻¹k)ᵀ armature (N⁻¹k_β)."""
    j = mechanism.tree[i, V]
    for a in range(mechanism.tree[i, DOF]):
        armature = mechanism.dof[j + a, ARMATURE]
        if armature != 0.0:
            g = six_lanes((-sign * armature) * vload(scratch, at + 8 * a))
            rows = sub_outer(rows, g, vload(scratch, K_GAP + 8 * a))
    return rows


@routine
def hang_columns(plan, mechanism, c, node):
    """p = YᵀD⁻¹G_Y + kᵀN⁻¹Q of a branch, with the gap G = L⁻¹ (C(r) - b1) M, as in (2)."""
    i = plan.nodes[node, INDEX]
    child = plan.nodes[node, LEFT]
    R = load9(c.joint_data, i, H_R)
    p = load3(c.joint_data, i, H_P)
    o = plan.block[node] + HANG_L
    L, d = load_ldl(c.node_data, o)
    beta = first_gap(load_rows(c.columns, plan.columns_at[child]), tmatvec3(R, p))
    G = forward(L, turn_rows(beta, turned_products(R)))
    T = forward(L, motion_rows_to_child(R, p, identity_rows()))
    store_rows(c.scratch, GAP, G)
    if mechanism.tree[i, KIND] == HELICAL:
        s, ds, n, alpha = helical_step(mechanism, i, c.node_data, o, d)
        k = combine(ds, T)
        lift = six_lanes((n * c.effort_sum[mechanism.tree[i, V]]) * k)
        store_rows(c.scratch, 0, scale_rows(d, sub_outer(T, s, alpha * k)))
        P = transposed_product(c.scratch, 0, sub_outer(G, s, alpha * combine(ds, G)))
        P = sub_outer(P, lift, splat(0.0) - unit_lane(6))
    else:
        Y = project(mechanism.tree, i, c.dof_rows, d, T, c.scratch, K1)
        g = project(mechanism.tree, i, c.dof_rows, d, G, c.scratch, K_GAP)
        store_rows(c.scratch, 0, scale_rows(d, Y))
        P = transposed_product(c.scratch, 0, g)
        P = add_armature_columns(P, 1.0, mechanism, i, c.scratch, K1)
        P = add_effort(P, 1.0, c.effort_sum, mechanism.tree, i, c.scratch, K1)
    store_rows(c.columns, plan.columns_at[node], P)


@routine
def join_columns(plan, mechanism, c, node):
    """b1 and b2 of a JOIN by (2)."""
    nodes = plan.nodes
    i = nodes[node, INDEX]
    upper = nodes[node, LEFT]
    lower = nodes[node, RIGHT]
    R = load9(c.joint_data, i, H_R)
    p = load3(c.joint_data, i, H_P)
    o = plan.block[node] + JOIN_L
    L, d = load_ldl(c.node_data, o)
    M = lower_products(nodes, node, c.joint_data, c.composite)
    last = COLUMNS_1 if nodes[upper, NODE_KIND] == BODY else COLUMNS_2
    beta = turn_rows(first_gap(load_rows(c.columns, plan.columns_at[lower]), tmatvec3(R, p)), M)
    b2 = motion_rows_to_child(R, p, load_rows(c.columns, plan.columns_at[upper] + last))
    G = forward(
        L, (b2[0] + beta[0], b2[1] + beta[1], b2[2] + beta[2], b2[3] + beta[3], b2[4] + beta[4], b2[5] + beta[5])
    )
    T = forward(L, motion_rows_to_child(R, p, load_rows(c.node_data, plan.block[upper])))
    store_rows(c.scratch, GAP, G)
    at = plan.columns_at[node]
    helical = mechanism.tree[i, KIND] == HELICAL
    if helical:
        s, ds, n, alpha = helical_step(mechanism, i, c.node_data, o, d)
        k = combine(ds, T)
        effort = n * c.effort_sum[mechanism.tree[i, V]]
        store_rows(c.scratch, 0, scale_rows(d, sub_outer(T, s, alpha * k)))
        g = sub_outer(G, s, alpha * combine(ds, G))
        b1 = sub_rows(load_rows(c.columns, plan.columns_at[upper]), transposed_product(c.scratch, 0, g))
        store_rows(c.columns, at + COLUMNS_1, sub_outer(b1, six_lanes(effort * k), unit_lane(6)))
    else:
        Y = project(mechanism.tree, i, c.dof_rows, d, T, c.scratch, K1)
        g = project(mechanism.tree, i, c.dof_rows, d, G, c.scratch, K_GAP)
        store_rows(c.scratch, 0, scale_rows(d, Y))
        b1 = sub_rows(load_rows(c.columns, plan.columns_at[upper]), transposed_product(c.scratch, 0, g))
        b1 = add_armature_columns(b1, -1.0, mechanism, i, c.scratch, K1)
        store_rows(c.columns, at + COLUMNS_1, add_effort(b1, -1.0, c.effort_sum, mechanism.tree, i, c.scratch, K1))
    if nodes[node, ROLE] == TOP:
        return
    U = forward(L, load_rows(c.node_data, plan.block[lower]))
    last = COLUMNS_1 if nodes[lower, NODE_KIND] == BODY else COLUMNS_2
    b2 = turn_rows(load_rows(c.columns, plan.columns_at[lower] + last), M)
    if helical:
        k = combine(ds, U)
        store_rows(c.scratch, 0, scale_rows(d, sub_outer(U, s, alpha * k)))
        x = transposed_product(c.scratch, 0, g)
        b2 = (b2[0] + x[0], b2[1] + x[1], b2[2] + x[2], b2[3] + x[3], b2[4] + x[4], b2[5] + x[5])
        b2 = sub_outer(b2, six_lanes(effort * k), splat(0.0) - unit_lane(6))
    else:
        Z = project(mechanism.tree, i, c.dof_rows, d, U, c.scratch, K2)
        store_rows(c.scratch, 0, scale_rows(d, Z))
        x = transposed_product(c.scratch, 0, g)
        b2 = (b2[0] + x[0], b2[1] + x[1], b2[2] + x[2], b2[3] + x[3], b2[4] + x[4], b2[5] + x[5])
        b2 = add_armature_columns(b2, 1.0, mechanism, i, c.scratch, K2)
        b2 = add_effort(b2, 1.0, c.effort_sum, mechanism.tree, i, c.scratch, K2)
    store_rows(c.columns, at + COLUMNS_2, b2)


@inlined
def lower_products(nodes, node, joint_data, composite):
    """M that takes the products of a JOIN's first body to those of its lower cluster's."""
    return turned_products(matmul3(load9(composite, nodes[node, LEFT], 0), load9(joint_data, nodes[node, INDEX], H_R)))
