"""The total acceleration of a cluster in square-root form: A(C) = Σ q̈ᵀ A q̈ = ‖ R (f1, 1, f2) ‖², never squared on the way.

Rows of R are kept as they come (one a degree of freedom) until there are more of them than columns; then an orthogonal
reduction brings them back to 13 (7 where only one handle is free). So a small cluster has few rows, a large one never many.

A row is two vectors of eight: the factors of (f1, 1, 0) and those of (f2, 0, 0). Nodes with one free input (a HANG or SUM,
which see the acceleration of their carrier; a BODY, which sees f1 + f2; a cluster under a HANG, whose f2 is zero) have the
first vector only. Theory: docs/theory/total_acceleration.md.
"""

import math

import numpy as np

from linkwork.assembly.plan import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, SUM, TOP
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.dca.nodes import (
    F_N,
    F_S,
    FREEDOM_COLUMNS,
    H_P,
    H_R,
    HANG_L,
    JOIN_L,
    L_BETA,
    L_N,
    L_S,
    load_ldl,
)
from linkwork.model.layout import DOF, HELICAL, KIND, V
from linkwork.spatial.ldl import backward, forward
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.simd import (
    combine,
    flat6,
    identity_rows,
    lane,
    load_rows,
    motion_rows_to_child,
    scale_rows,
    set_lane,
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

ONE_INPUT, TWO_INPUTS = 7, 13  # columns of R, and so the most rows it needs
ROW_1, ROW_2 = 8, 16  # numbers a row takes
STACK_ROWS = 2 * TWO_INPUTS + 6  # rows of both children and of a joint with six freedoms
MAPS = 0  # scratch: 24 vectors of the maps f(f1, f2) and -Xᵀf, then the stack of rows, then the reflection
STACK = 24 * 8
REFLECTION = STACK + STACK_ROWS * ROW_2
ROOT_SCRATCH = REFLECTION + STACK_ROWS


@inlined
def has_two_inputs(nodes, node):
    """Whether both handles of a node's cluster are free: a JOIN that is itself joined on."""
    return nodes[node, NODE_KIND] == JOIN and nodes[node, ROLE] != TOP


@kernel(allocates=True)
def root_capacities(nodes, tree, one_input, two_inputs):
    """Rows the root of each node can need: its degrees of freedom, or the number of its columns if that is less.

    one_input, two_inputs: columns of a root with one free input and with two.
    """
    rows = np.zeros(nodes.shape[0], dtype=np.int64)
    inside = np.zeros(nodes.shape[0], dtype=np.int64)
    for node in range(nodes.shape[0]):
        kind = nodes[node, NODE_KIND]
        for side in (LEFT, RIGHT):
            if nodes[node, side] >= 0:
                inside[node] += inside[nodes[node, side]]
        if kind == JOIN or kind == HANG:
            inside[node] += tree[nodes[node, INDEX], DOF]
        rows[node] = min(inside[node], two_inputs if has_two_inputs(nodes, node) else one_input)
    return rows


@routine
def update_root(nodes, block, node, tree, hinge, total, coef, freedom, weight, root, root_at, rows, scratch):
    """Recomputes the root of one node from the roots of its children and its own coefficients; sets its row count."""
    kind = nodes[node, NODE_KIND]
    left = nodes[node, LEFT]
    right = nodes[node, RIGHT]
    count = 0
    if kind == SUM:
        count = copy_rows(root, root_at[left], rows[left], scratch, 0)
        count += copy_rows(root, root_at[right], rows[right], scratch, count)
        finish_one(scratch, count, node, root, root_at, rows)
    elif kind == BODY:
        if left >= 0:
            phi = load_rows(coef, block[node])
            for r in range(rows[left]):  # the branch's input is a = Φ F + b
                o = root_at[left] + r * ROW_1
                row = combine(flat6(root, o), phi)
                vstore(scratch, STACK + r * ROW_1, with_lane(row, 6, lane(row, 6) + root[o + 6]))
            finish_one(scratch, rows[left], node, root, root_at, rows)
    elif kind == HANG:
        i = nodes[node, INDEX]
        R = load9(hinge, i, H_R)
        p = load3(hinge, i, H_P)
        rhs = motion_rows_to_child(R, p, identity_rows())
        o = block[node] + HANG_L
        count = joint_rows_one(tree, i, total, coef, o, freedom, weight, rhs, scratch)
        for r in range(rows[left]):
            at = root_at[left] + r * ROW_1
            row = combine(flat6(root, at), load_rows(scratch, MAPS))
            vstore(scratch, STACK + (count + r) * ROW_1, with_lane(row, 6, lane(row, 6) + root[at + 6]))
        finish_one(scratch, count + rows[left], node, root, root_at, rows)
    elif has_two_inputs(nodes, node):
        join_rows(nodes, block, node, tree, hinge, total, coef, freedom, weight, root, root_at, rows, scratch)
    else:
        top_rows(nodes, block, node, tree, hinge, total, coef, freedom, weight, root, root_at, rows, scratch)


@inlined
def copy_rows(root, at, count, scratch, start):
    for r in range(count):
        vstore(scratch, STACK + (start + r) * ROW_1, vload(root, at + r * ROW_1))
    return count


@routine
def finish_one(scratch, count, node, root, root_at, rows):
    """Reduces the stack to at most 7 rows and keeps them."""
    if count > ONE_INPUT:
        for k in range(ONE_INPUT):
            reflect(scratch, count, k, k, ROW_1)
        count = ONE_INPUT
    for r in range(count):
        vstore(root, root_at[node] + r * ROW_1, vload(scratch, STACK + r * ROW_1))
    rows[node] = count


@routine
def finish_two(scratch, count, node, root, root_at, rows):
    """Reduces the stack to at most 13 rows and keeps them; the constant column is eliminated last."""
    if count > TWO_INPUTS:
        for k in range(TWO_INPUTS):
            column = k if k < 6 else (k + 2 if k < 12 else 6)
            reflect(scratch, count, k, column, ROW_2)
        count = TWO_INPUTS
    for r in range(count):
        vstore(root, root_at[node] + r * ROW_2, vload(scratch, STACK + r * ROW_2))
        vstore(root, root_at[node] + r * ROW_2 + 8, vload(scratch, STACK + r * ROW_2 + 8))
    rows[node] = count


@inlined
def reflect(scratch, count, k, column, width):
    """One Householder reflection: zeros the column below row k of the stack."""
    norm2 = 0.0
    for r in range(k, count):
        x = scratch[STACK + r * width + column]
        scratch[REFLECTION + r] = x
        norm2 += x * x
    if norm2 == 0.0:
        return
    head = scratch[REFLECTION + k]
    norm = math.sqrt(norm2)
    if head > 0.0:
        norm = -norm
    scratch[REFLECTION + k] = head - norm
    factor = 1.0 / (norm * (norm - head))  # 2 / vᵀv
    w1 = splat(0.0)
    w2 = splat(0.0)
    for r in range(k, count):
        v = scratch[REFLECTION + r]
        w1 = w1 + v * vload(scratch, STACK + r * width)
        if width == ROW_2:
            w2 = w2 + v * vload(scratch, STACK + r * width + 8)
    w1 = factor * w1
    w2 = factor * w2
    for r in range(k, count):
        v = scratch[REFLECTION + r]
        vstore(scratch, STACK + r * width, vload(scratch, STACK + r * width) - v * w1)
        if width == ROW_2:
            vstore(scratch, STACK + r * width + 8, vload(scratch, STACK + r * width + 8) - v * w2)


@inlined
def joint_rows_one(tree, i, total, coef, o, freedom, weight, rhs, scratch):
    """Rows √A q̈ of a joint with one input, on the stack; the map to f in the scratch's MAPS. Returns the row count."""
    L, d = load_ldl(coef, o)
    T = forward(L, set_lane(rhs, 6, flat6(coef, o + L_BETA)))
    j = tree[i, V]
    n = tree[i, DOF]
    Z = T
    if tree[i, KIND] == HELICAL:
        s = flat6(coef, o + L_S)
        k = combine((d[0] * s[0], d[1] * s[1], d[2] * s[2], d[3] * s[3], d[4] * s[4], d[5] * s[5]), T)
        row = coef[o + L_N] * (total[j] * unit_lane(6) - k)
        vstore(scratch, STACK, math.sqrt(weight[j]) * row)
        Z = sub_outer(T, s, -1.0 * row)
    else:
        for a in range(n):
            row = freedom_row(tree, i, a, total, freedom, d, T)
            vstore(scratch, STACK + a * ROW_1, math.sqrt(weight[j + a]) * row)
            Z = sub_outer(Z, flat6(freedom, (j + a) * FREEDOM_COLUMNS + F_S), -1.0 * row)
    store_rows(scratch, MAPS, backward(L, scale_rows(d, Z)))
    return n


@inlined
def freedom_row(tree, i, a, total, freedom, d, T):
    """q̈ of freedom a of a joint with several, as a row over (f1, 1): N⁻¹ (Q - sᵀD⁻¹T)."""
    j = tree[i, V]
    row = splat(0.0)
    for b in range(tree[i, DOF]):
        s = flat6(freedom, (j + b) * FREEDOM_COLUMNS + F_S)
        k = combine((d[0] * s[0], d[1] * s[1], d[2] * s[2], d[3] * s[3], d[4] * s[4], d[5] * s[5]), T)
        row = row + freedom[(j + a) * FREEDOM_COLUMNS + F_N + b] * (total[j + b] * unit_lane(6) - k)
    return row


@inlined
def freedom_row_2(tree, i, a, freedom, d, U):
    """The part of the same row over f2: N⁻¹ sᵀD⁻¹U."""
    j = tree[i, V]
    row = splat(0.0)
    for b in range(tree[i, DOF]):
        s = flat6(freedom, (j + b) * FREEDOM_COLUMNS + F_S)
        k = combine((d[0] * s[0], d[1] * s[1], d[2] * s[2], d[3] * s[3], d[4] * s[4], d[5] * s[5]), U)
        row = row + freedom[(j + a) * FREEDOM_COLUMNS + F_N + b] * k
    return row


@routine
def top_rows(nodes, block, node, tree, hinge, total, coef, freedom, weight, root, root_at, rows, scratch):
    """A JOIN under a HANG: its f2 is zero, so one input serves."""
    i = nodes[node, INDEX]
    upper = nodes[node, LEFT]
    lower = nodes[node, RIGHT]
    R = load9(hinge, i, H_R)
    p = load3(hinge, i, H_P)
    rhs = motion_rows_to_child(R, p, load_rows(coef, block[upper]))
    count = joint_rows_one(tree, i, total, coef, block[node] + JOIN_L, freedom, weight, rhs, scratch)
    f = load_rows(scratch, MAPS)
    back = wrench_rows_to_parent(R, p, f)
    wide = has_two_inputs(nodes, upper)
    width = ROW_2 if wide else ROW_1
    for r in range(rows[upper]):  # inputs of the upper cluster: f1 and -Xᵀf; of a body their sum
        at = root_at[upper] + r * width
        factors = flat6(root, at + 8) if wide else flat6(root, at)
        row = vload(root, at) - combine(factors, back)
        vstore(scratch, STACK + (count + r) * ROW_1, row)
    count += rows[upper]
    width = ROW_2 if has_two_inputs(nodes, lower) else ROW_1
    for r in range(rows[lower]):  # inputs of the lower one: f, and nothing
        at = root_at[lower] + r * width
        row = combine(flat6(root, at), f)
        vstore(scratch, STACK + (count + r) * ROW_1, with_lane(row, 6, lane(row, 6) + root[at + 6]))
    finish_one(scratch, count + rows[lower], node, root, root_at, rows)


@routine
def join_rows(nodes, block, node, tree, hinge, total, coef, freedom, weight, root, root_at, rows, scratch):
    """A JOIN with two free handles."""
    i = nodes[node, INDEX]
    upper = nodes[node, LEFT]
    lower = nodes[node, RIGHT]
    R = load9(hinge, i, H_R)
    p = load3(hinge, i, H_P)
    zero = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    o = block[node] + JOIN_L
    L, d = load_ldl(coef, o)
    T = forward(L, set_lane(motion_rows_to_child(R, p, load_rows(coef, block[upper])), 6, flat6(coef, o + L_BETA)))
    U = forward(L, set_lane(load_rows(coef, block[lower]), 6, zero))
    j = tree[i, V]
    count = tree[i, DOF]
    Z1 = T
    Z2 = scale_rows((-1.0, -1.0, -1.0, -1.0, -1.0, -1.0), U)
    if tree[i, KIND] == HELICAL:
        s = flat6(coef, o + L_S)
        ds = (d[0] * s[0], d[1] * s[1], d[2] * s[2], d[3] * s[3], d[4] * s[4], d[5] * s[5])
        n = coef[o + L_N]
        row1 = n * (total[j] * unit_lane(6) - combine(ds, T))
        row2 = n * combine(ds, U)
        root_weight = math.sqrt(weight[j])
        vstore(scratch, STACK, root_weight * row1)
        vstore(scratch, STACK + 8, root_weight * row2)
        Z1 = sub_outer(Z1, s, -1.0 * row1)
        Z2 = sub_outer(Z2, s, -1.0 * row2)
    else:
        for a in range(count):
            row1 = freedom_row(tree, i, a, total, freedom, d, T)
            row2 = freedom_row_2(tree, i, a, freedom, d, U)
            root_weight = math.sqrt(weight[j + a])
            vstore(scratch, STACK + a * ROW_2, root_weight * row1)
            vstore(scratch, STACK + a * ROW_2 + 8, root_weight * row2)
            s = flat6(freedom, (j + a) * FREEDOM_COLUMNS + F_S)
            Z1 = sub_outer(Z1, s, -1.0 * row1)
            Z2 = sub_outer(Z2, s, -1.0 * row2)
    f1 = backward(L, scale_rows(d, Z1))
    f2 = backward(L, scale_rows(d, Z2))
    store_rows(scratch, MAPS, wrench_rows_to_parent(R, p, f1))
    store_rows(scratch, MAPS + 48, wrench_rows_to_parent(R, p, f2))
    store_rows(scratch, MAPS + 96, f1)
    store_rows(scratch, MAPS + 144, f2)
    wide = has_two_inputs(nodes, upper)
    width = ROW_2 if wide else ROW_1
    for r in range(rows[upper]):
        at = root_at[upper] + r * width
        factors = flat6(root, at + 8) if wide else flat6(root, at)
        o = STACK + (count + r) * ROW_2
        vstore(scratch, o, vload(root, at) - combine(factors, load_rows(scratch, MAPS)))
        vstore(scratch, o + 8, splat(0.0) - combine(factors, load_rows(scratch, MAPS + 48)))
    count += rows[upper]
    wide = has_two_inputs(nodes, lower)
    width = ROW_2 if wide else ROW_1
    for r in range(rows[lower]):
        at = root_at[lower] + r * width
        factors = flat6(root, at)
        o = STACK + (count + r) * ROW_2
        row = combine(factors, load_rows(scratch, MAPS + 96))
        vstore(scratch, o, with_lane(row, 6, lane(row, 6) + root[at + 6]))
        passed = vload(root, at + 8) if wide else with_lane(vload(root, at), 6, 0.0)
        vstore(scratch, o + 8, combine(factors, load_rows(scratch, MAPS + 144)) + passed)
    finish_two(scratch, count + rows[lower], node, root, root_at, rows)


@inlined
def total_acceleration(nodes, node, root, root_at, rows, F1, F2):
    """A(C) of a node for its inputs: ‖R (F1, 1, F2)‖². Lanes 6 and 7 of F1, F2 are zero."""
    at = root_at[node]
    total = 0.0
    if has_two_inputs(nodes, node):
        F1 = with_lane(F1, 6, 1.0)
        for r in range(rows[node]):
            x = vsum(vload(root, at + r * ROW_2) * F1 + vload(root, at + r * ROW_2 + 8) * F2)
            total += x * x
    else:
        F = with_lane(F1 + F2, 6, 1.0)  # the second input is zero wherever the first is not a sum with it
        for r in range(rows[node]):
            x = vsum(vload(root, at + r * ROW_1) * F)
            total += x * x
    return total
