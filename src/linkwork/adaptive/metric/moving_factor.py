"""The total acceleration of a cluster that moves rigidly: A(C) = ‖ R (f1, 1, m(ω), f2) ‖², as in `total_acceleration`.

A row is three vectors of eight, the factors of (f1, 1, 0), of the products m(ω) and of (f2, 0, 0); nodes with one free
input have the first two only. So the metric of a cluster that turns is exact, at no cost while it stays rigid.
Theory: docs/theory/adaptive_dynamics.md.
"""

import math

from linkwork.adaptive.metric.factor import has_two_inputs
from linkwork.adaptive.metric.velocity_columns import GAP, lower_products, products, turned_products
from linkwork.assembly.plan import HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, SUM
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import F_N, F_S, FREEDOM_COLUMNS, H_P, H_R, HANG_L, JOIN_L, L_N, L_S, load_ldl
from linkwork.model.layout import DOF, HELICAL, KIND, V
from linkwork.spatial.ldl import backward, forward
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.simd import (
    combine,
    flat6,
    get_lane,
    identity_rows,
    lane,
    load_rows,
    motion_rows_to_child,
    scale_rows,
    set_lane,
    six_lanes,
    splat,
    store_rows,
    sub_outer,
    unit_lane,
    vload,
    vstore,
    vsum,
    with_lane,
    wrench_rows_to_parent,
)

ONE_INPUT, TWO_INPUTS = 13, 19  # columns of R, and so the most rows it needs
ROW_1, ROW_2 = 16, 24  # numbers a row takes
OF_M, OF_F2 = 8, 16  # where a row keeps the factors of the products and of the second wrench
STACK_ROWS = 2 * TWO_INPUTS + 6  # rows of both children and of a joint with six freedoms

# Scratch: f as a function of the node's inputs in three maps of 48; -Xᵀf likewise; the stack of rows; the reflection.
TO_F, TO_BACK = 0, 144
FROM_1, FROM_M, FROM_2 = 0, 48, 96
STACK = 288
REFLECTION = STACK + STACK_ROWS * ROW_2
ROOT_SCRATCH = REFLECTION + STACK_ROWS


@routine
def update_moving_root(plan, mechanism, c, node):
    """Recomputes the root of one node right after its columns; sets its row count."""
    nodes = plan.nodes
    kind = nodes[node, NODE_KIND]
    left = nodes[node, LEFT]
    if kind == JOIN or kind == HANG:
        joint_rows(plan, mechanism, c, node)
    elif kind == SUM:
        count = copy_rows(c.root, plan.root_at[left], c.rows[left], c.root_scratch, 0)
        right = nodes[node, RIGHT]
        count += copy_rows(c.root, plan.root_at[right], c.rows[right], c.root_scratch, count)
        finish(plan, c, node, count, False)
    elif left >= 0:
        b = load_rows(c.columns, plan.columns_at[node])
        phi = set_lane(load_rows(c.coef, plan.block[node]), 6, get_lane(b, 6))
        for r in range(c.rows[left]):  # the branch's input is a = Φ F + b(ω)
            at = plan.root_at[left] + r * ROW_1
            factors = flat6(c.root, at)
            to = STACK + r * ROW_1
            row = combine(factors, phi)
            vstore(c.root_scratch, to, with_lane(row, 6, lane(row, 6) + c.root[at + 6]))
            row = combine(factors, b) + vload(c.root, at + OF_M)
            vstore(c.root_scratch, to + OF_M, with_lane(row, 6, 0.0))
        finish(plan, c, node, c.rows[left], False)


@inlined
def copy_rows(root, at, count, scratch, start):
    for r in range(count):
        to = STACK + (start + r) * ROW_1
        vstore(scratch, to, vload(root, at + r * ROW_1))
        vstore(scratch, to + OF_M, vload(root, at + r * ROW_1 + OF_M))
    return count


@routine
def joint_rows(plan, mechanism, c, node):
    """A JOIN or HANG: rows of its own joint, and those of its children behind the maps of their inputs."""
    nodes = plan.nodes
    i = nodes[node, INDEX]
    hang = nodes[node, NODE_KIND] == HANG
    two = has_two_inputs(nodes, node)
    scratch = c.root_scratch
    R = load9(c.hinge, i, H_R)
    p = load3(c.hinge, i, H_P)
    o = plan.block[node] + (HANG_L if hang else JOIN_L)
    upper = nodes[node, LEFT]
    lower = upper if hang else nodes[node, RIGHT]
    L, d = load_ldl(c.coef, o)
    G = load_rows(c.scratch, GAP)
    T = identity_rows() if hang else load_rows(c.coef, plan.block[upper])
    T = set_lane(forward(L, motion_rows_to_child(R, p, T)), 6, get_lane(G, 6))
    zero = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    G = set_lane(G, 6, zero)
    own = own_rows(mechanism, c, i, o, d, T, 0, 1.0, two)
    store_rows(scratch, TO_F + FROM_1, backward(L, scale_rows(d, own)))
    own = own_rows(mechanism, c, i, o, d, G, OF_M, 0.0, two)
    store_rows(scratch, TO_F + FROM_M, backward(L, scale_rows(d, own)))
    if two:
        U = forward(L, set_lane(load_rows(c.coef, plan.block[lower]), 6, zero))
        minus = scale_rows((-1.0, -1.0, -1.0, -1.0, -1.0, -1.0), U)
        own = own_rows(mechanism, c, i, o, d, minus, OF_F2, 0.0, two)
        store_rows(scratch, TO_F + FROM_2, backward(L, scale_rows(d, own)))
    count = mechanism.tree[i, DOF]
    if not hang:
        store_rows(scratch, TO_BACK + FROM_1, wrench_rows_to_parent(R, p, load_rows(scratch, TO_F + FROM_1)))
        store_rows(scratch, TO_BACK + FROM_M, wrench_rows_to_parent(R, p, load_rows(scratch, TO_F + FROM_M)))
        if two:
            store_rows(scratch, TO_BACK + FROM_2, wrench_rows_to_parent(R, p, load_rows(scratch, TO_F + FROM_2)))
        count += upper_rows(plan, c, upper, count, two)
    M = turned_products(R) if hang else lower_products(nodes, node, c.hinge, c.place)
    count += lower_rows(plan, c, lower, count, two, M)
    finish(plan, c, node, count, two)


@inlined
def own_rows(mechanism, c, i, o, d, T, group, effort, two):
    """Writes √A q̈ = √A N⁻¹ (effort Q - sᵀD⁻¹T) to one group of the first rows of the stack; returns T + s q̈."""
    tree = mechanism.tree
    j = tree[i, V]
    width = ROW_2 if two else ROW_1
    Z = T
    if tree[i, KIND] == HELICAL:
        s = flat6(c.coef, o + L_S)
        k = combine((d[0] * s[0], d[1] * s[1], d[2] * s[2], d[3] * s[3], d[4] * s[4], d[5] * s[5]), T)
        row = c.coef[o + L_N] * ((effort * c.total[j]) * unit_lane(6) - k)
        vstore(c.root_scratch, STACK + group, math.sqrt(mechanism.weight[j]) * row)
        Z = sub_outer(T, s, splat(0.0) - row)
    else:
        for a in range(tree[i, DOF]):
            row = splat(0.0)
            for b in range(tree[i, DOF]):
                s = flat6(c.freedom, (j + b) * FREEDOM_COLUMNS + F_S)
                k = combine((d[0] * s[0], d[1] * s[1], d[2] * s[2], d[3] * s[3], d[4] * s[4], d[5] * s[5]), T)
                n = c.freedom[(j + a) * FREEDOM_COLUMNS + F_N + b]
                row = row + n * ((effort * c.total[j + b]) * unit_lane(6) - k)
            vstore(c.root_scratch, STACK + a * width + group, math.sqrt(mechanism.weight[j + a]) * row)
            Z = sub_outer(Z, flat6(c.freedom, (j + a) * FREEDOM_COLUMNS + F_S), splat(0.0) - row)
    return Z


@inlined
def upper_rows(plan, c, upper, start, two):
    """Rows of the upper cluster: its inputs are f1 and -Xᵀf, of a single body their sum; it turns as the node does."""
    scratch = c.root_scratch
    wide = has_two_inputs(plan.nodes, upper)
    width = ROW_2 if wide else ROW_1
    to = STACK + start * (ROW_2 if two else ROW_1)
    for r in range(c.rows[upper]):
        at = plan.root_at[upper] + r * width
        factors = flat6(c.root, at + OF_F2) if wide else flat6(c.root, at)
        vstore(scratch, to, vload(c.root, at) - combine(factors, load_rows(scratch, TO_BACK + FROM_1)))
        row = vload(c.root, at + OF_M) - combine(factors, load_rows(scratch, TO_BACK + FROM_M))
        vstore(scratch, to + OF_M, row)
        if two:
            row = splat(0.0) - combine(factors, load_rows(scratch, TO_BACK + FROM_2))
            vstore(scratch, to + OF_F2, row)
        to += ROW_2 if two else ROW_1
    return c.rows[upper]


@inlined
def lower_rows(plan, c, lower, start, two, M):
    """Rows of the lower cluster: its inputs are f and f2, of a single body their sum; its products are turned by M."""
    scratch = c.root_scratch
    wide = has_two_inputs(plan.nodes, lower)
    width = ROW_2 if wide else ROW_1
    to = STACK + start * (ROW_2 if two else ROW_1)
    for r in range(c.rows[lower]):
        at = plan.root_at[lower] + r * width
        factors = flat6(c.root, at)
        row = combine(factors, load_rows(scratch, TO_F + FROM_1))
        vstore(scratch, to, with_lane(row, 6, lane(row, 6) + c.root[at + 6]))
        turned = combine(six_lanes(vload(c.root, at + OF_M)), M)
        vstore(scratch, to + OF_M, combine(factors, load_rows(scratch, TO_F + FROM_M)) + turned)
        if two:
            passed = vload(c.root, at + OF_F2) if wide else with_lane(vload(c.root, at), 6, 0.0)
            vstore(scratch, to + OF_F2, combine(factors, load_rows(scratch, TO_F + FROM_2)) + passed)
        to += ROW_2 if two else ROW_1
    return c.rows[lower]


@routine
def finish(plan, c, node, count, two):
    """Reduces the stack to as many rows as there are columns and keeps them; the constant column is eliminated last."""
    scratch = c.root_scratch
    width = ROW_2 if two else ROW_1
    columns = TWO_INPUTS if two else ONE_INPUT
    if count > columns:
        for k in range(columns):
            if k == columns - 1:
                column = 6
            elif k < 6:
                column = k
            elif two and k < 12:
                column = OF_F2 + k - 6
            else:
                column = OF_M + k - columns + 7
            if two:
                reflect_3(scratch, count, k, column)
            else:
                reflect_2(scratch, count, k, column)
        count = columns
    at = plan.root_at[node]
    for r in range(count * (width // 8)):
        vstore(c.root, at + 8 * r, vload(scratch, STACK + 8 * r))
    c.rows[node] = count


@inlined
def reflection(scratch, count, k, column, width):
    """Writes v of a Householder reflection that zeros the column below row k; returns 2 / vᵀv, or zero."""
    norm2 = 0.0
    for r in range(k, count):
        x = scratch[STACK + r * width + column]
        scratch[REFLECTION + r] = x
        norm2 += x * x
    if norm2 == 0.0:
        return 0.0
    head = scratch[REFLECTION + k]
    norm = math.sqrt(norm2)
    if head > 0.0:
        norm = -norm
    scratch[REFLECTION + k] = head - norm
    return 1.0 / (norm * (norm - head))


@inlined
def reflect_2(scratch, count, k, column):
    factor = reflection(scratch, count, k, column, ROW_1)
    if factor == 0.0:
        return
    w1 = splat(0.0)
    w2 = splat(0.0)
    for r in range(k, count):
        v = scratch[REFLECTION + r]
        w1 = w1 + v * vload(scratch, STACK + r * ROW_1)
        w2 = w2 + v * vload(scratch, STACK + r * ROW_1 + 8)
    w1 = factor * w1
    w2 = factor * w2
    for r in range(k, count):
        v = scratch[REFLECTION + r]
        at = STACK + r * ROW_1
        vstore(scratch, at, vload(scratch, at) - v * w1)
        vstore(scratch, at + 8, vload(scratch, at + 8) - v * w2)


@inlined
def reflect_3(scratch, count, k, column):
    factor = reflection(scratch, count, k, column, ROW_2)
    if factor == 0.0:
        return
    w1 = splat(0.0)
    w2 = splat(0.0)
    w3 = splat(0.0)
    for r in range(k, count):
        v = scratch[REFLECTION + r]
        at = STACK + r * ROW_2
        w1 = w1 + v * vload(scratch, at)
        w2 = w2 + v * vload(scratch, at + 8)
        w3 = w3 + v * vload(scratch, at + 16)
    w1 = factor * w1
    w2 = factor * w2
    w3 = factor * w3
    for r in range(k, count):
        v = scratch[REFLECTION + r]
        at = STACK + r * ROW_2
        vstore(scratch, at, vload(scratch, at) - v * w1)
        vstore(scratch, at + 8, vload(scratch, at + 8) - v * w2)
        vstore(scratch, at + 16, vload(scratch, at + 16) - v * w3)


@inlined
def moving_total_acceleration(plan, c, node, F1, F2, w):
    """A(C) of a node that turns with ω for its inputs; those of a branch in classical acceleration. Lanes 6, 7 are zero."""
    at = plan.root_at[node]
    m = with_lane(products(w), 6, 0.0)
    total = 0.0
    if has_two_inputs(plan.nodes, node):
        F1 = with_lane(F1, 6, 1.0)
        for r in range(c.rows[node]):
            o = at + r * ROW_2
            x = vsum(vload(c.root, o) * F1 + vload(c.root, o + OF_M) * m + vload(c.root, o + OF_F2) * F2)
            total += x * x
    else:
        F = with_lane(F1 + F2, 6, 1.0)  # the second input is zero wherever the first is not a sum with it
        for r in range(c.rows[node]):
            o = at + r * ROW_1
            x = vsum(vload(c.root, o) * F + vload(c.root, o + OF_M) * m)
            total += x * x
    return total
