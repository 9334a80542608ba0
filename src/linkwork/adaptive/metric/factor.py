"""The total acceleration of a cluster as a factor: A(C) = Σ q̈ᵀ A q̈ = ‖ R (f1, 1, f2) ‖², never squared on the way.

Rows of R are kept as they come (one per degree of freedom) until there are more of them than columns; then an orthogonal
reduction brings them back to as many. So a small cluster has few rows, a large one never many. In motion a cluster that
moves rigidly has six columns more, for the products m(ω) of its angular velocity: A(C) = ‖ R (f1, 1, m(ω), f2) ‖².

A row is two or three vectors of eight: the factors of (f1, 1, 0), in motion those of m(ω), and those of (f2, 0, 0). Nodes
with one free input (a HANG or SUM, which see the acceleration of their carrier; a BODY, which sees f1 + f2; a cluster under
a HANG, whose f2 is zero) do not have the last one. Theory: docs/theory/total_acceleration.md, adaptive_dynamics.md.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from linkwork.adaptive.metric.velocity_columns import GAP, lower_products, products, turned_products
from linkwork.assembly.node_table import HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, SUM, TOP
from linkwork.core.arrays import IntArray
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.dca.nodes import F_N, F_S, FREEDOM_COLUMNS, H_P, H_R, HANG_L, JOIN_L, L_BETA, L_N, L_S, load_ldl
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
from linkwork.spatial.vectors import ZERO6

# Scratch: f as a function of the node's inputs (f1 and 1, m(ω), f2) in three maps of 48; -Xᵀf likewise; then the stack of
# rows, then the reflection.
TO_F, TO_BACK, STACK = 0, 144, 288
FROM_1, FROM_M, FROM_2 = 0, 48, 96

SAFE_SQUARE = 2.0**-900  # sums of squares below this have lost digits to underflow


class FactorLayout(NamedTuple):
    """Sizes of factors, with and without the columns of velocity products."""

    columns_1: int  # of R with one free input, and so the most rows it needs
    columns_2: int  # with two
    row_1: int  # numbers per row
    row_2: int
    of_m: int  # where a row has the factors of the products (0: nowhere) ...
    of_f2: int  # ... and of the second wrench
    reflection: int  # where the scratch has the vector of a reflection
    scratch: int

    @classmethod
    def of(cls, products: int) -> FactorLayout:
        """products: 0 at rest, 6 in motion."""
        extra = 8 if products else 0
        stack_rows = 2 * (13 + products) + 6  # of both children and of a joint with six freedoms
        reflection = STACK + stack_rows * (16 + extra)
        return cls(
            7 + products, 13 + products, 8 + extra, 16 + extra, extra, 8 + extra, reflection, reflection + stack_rows
        )


AT_REST = FactorLayout.of(products=0)
IN_MOTION = FactorLayout.of(products=6)


@inlined
def has_two_inputs(nodes, node):
    """Whether both handles of a node's cluster are free: a JOIN that is itself joined on."""
    return nodes[node, NODE_KIND] == JOIN and nodes[node, ROLE] != TOP


def factor_capacities(nodes: IntArray, tree: IntArray, columns_1: int, columns_2: int) -> IntArray:
    """Rows the factor of each node can need: its degrees of freedom, or the number of its columns if that is less.

    Shape (N,).
    """
    rows, inside = np.zeros((2, nodes.shape[0]), dtype=np.int64)
    count_capacities(nodes, tree, columns_1, columns_2, inside, rows)
    return rows


@kernel
def count_capacities(nodes, tree, columns_1, columns_2, inside, rows):
    """Sets the rows of each node; those and the degrees of freedom inside it are zero before."""
    for node in range(nodes.shape[0]):
        kind = nodes[node, NODE_KIND]
        for side in (LEFT, RIGHT):
            if nodes[node, side] >= 0:
                inside[node] += inside[nodes[node, side]]
        if kind == JOIN or kind == HANG:
            inside[node] += tree[nodes[node, INDEX], DOF]
        rows[node] = min(inside[node], columns_2 if has_two_inputs(nodes, node) else columns_1)


def make_factor(layout: FactorLayout) -> tuple[Any, Any]:
    """The two subroutines that work on factors of one layout: `update_factor` and `total_acceleration`.

    What differs is decided here, once: code for velocity products is not even compiled where there are none.
    """
    columns_1, columns_2, row_1, row_2, of_m, of_f2, reflection_at, _ = layout
    in_motion = of_m > 0

    @routine
    def update_factor(plan, mechanism, c, node):
        """Recomputes the factor of one node, in motion right after its columns; sets its row count."""
        nodes = plan.nodes
        kind = nodes[node, NODE_KIND]
        left = nodes[node, LEFT]
        if kind == JOIN or kind == HANG:
            joint_rows(plan, mechanism, c, node)
        elif kind == SUM:
            count = copy_rows(plan, c, left, 0)
            count += copy_rows(plan, c, nodes[node, RIGHT], count)
            finish(plan, c, node, count, False)
        elif left >= 0:
            body_rows(plan, c, node, left)
            finish(plan, c, node, c.rows[left], False)

    @inlined
    def copy_rows(plan, c, child, start):
        count = c.rows[child]
        for k in range(0, count * row_1, 8):
            vstore(c.factor_scratch, STACK + start * row_1 + k, vload(c.factor, plan.factor_at[child] + k))
        return count

    @inlined
    def body_rows(plan, c, node, branch):
        """Rows of a body's branches: their input is its acceleration a = Φ F + b(ω)."""
        phi = load_rows(c.node_data, plan.block[node])
        if in_motion:
            b = load_rows(c.columns, plan.columns_at[node])
            phi = set_lane(phi, 6, get_lane(b, 6))
        for r in range(c.rows[branch]):
            at = plan.factor_at[branch] + r * row_1
            to = STACK + r * row_1
            factors = flat6(c.factor, at)
            row = combine(factors, phi)
            vstore(c.factor_scratch, to, with_lane(row, 6, lane(row, 6) + c.factor[at + 6]))
            if in_motion:
                row = combine(factors, b) + vload(c.factor, at + of_m)
                vstore(c.factor_scratch, to + of_m, with_lane(row, 6, 0.0))

    @routine
    def joint_rows(plan, mechanism, c, node):
        """A JOIN or HANG: rows of its own joint, and those of its children behind the maps (4) of their inputs."""
        nodes = plan.nodes
        i = nodes[node, INDEX]
        hang = nodes[node, NODE_KIND] == HANG
        two = has_two_inputs(nodes, node)
        scratch = c.factor_scratch
        R = load9(c.joint_data, i, H_R)
        p = load3(c.joint_data, i, H_P)
        o = plan.block[node] + (HANG_L if hang else JOIN_L)
        upper = nodes[node, LEFT]
        lower = upper if hang else nodes[node, RIGHT]
        L, d = load_ldl(c.node_data, o)
        T = motion_rows_to_child(R, p, identity_rows() if hang else load_rows(c.node_data, plan.block[upper]))
        if in_motion:
            G = load_rows(c.scratch, GAP)
            T = set_lane(forward(L, T), 6, get_lane(G, 6))
            rest = own_rows(mechanism, c, i, o, d, set_lane(G, 6, ZERO6), of_m, 0.0, two)
            store_map(scratch, FROM_M, R, p, backward(L, scale_rows(d, rest)), hang)
        else:
            T = forward(L, set_lane(T, 6, flat6(c.node_data, o + L_BETA)))
        rest = own_rows(mechanism, c, i, o, d, T, 0, 1.0, two)
        store_map(scratch, FROM_1, R, p, backward(L, scale_rows(d, rest)), hang)
        if two:
            U = forward(L, set_lane(load_rows(c.node_data, plan.block[lower]), 6, ZERO6))
            minus = scale_rows((-1.0, -1.0, -1.0, -1.0, -1.0, -1.0), U)
            rest = own_rows(mechanism, c, i, o, d, minus, of_f2, 0.0, two)
            store_map(scratch, FROM_2, R, p, backward(L, scale_rows(d, rest)), hang)
        count = mechanism.tree[i, DOF]
        if not hang:
            count += upper_rows(plan, c, upper, count, two)
        count += lower_rows(plan, c, node, lower, count, two)
        finish(plan, c, node, count, two)

    @inlined
    def store_map(scratch, group, R, p, f, hang):
        """f over one group of the node's inputs, and -(-Xᵀf) for the upper cluster."""
        store_rows(scratch, TO_F + group, f)
        if not hang:
            store_rows(scratch, TO_BACK + group, wrench_rows_to_parent(R, p, f))

    @inlined
    def own_rows(mechanism, c, i, o, d, T, group, effort, two):
        """Writes √A q̈ = √A N⁻¹ (effort Q - sᵀD⁻¹T) to one group of the first rows of the stack; returns T + s q̈."""
        tree = mechanism.tree
        j = tree[i, V]
        width = row_2 if two else row_1
        Z = T
        if tree[i, KIND] == HELICAL:
            s = flat6(c.node_data, o + L_S)
            k = combine((d[0] * s[0], d[1] * s[1], d[2] * s[2], d[3] * s[3], d[4] * s[4], d[5] * s[5]), T)
            row = c.node_data[o + L_N] * ((effort * c.effort_sum[j]) * unit_lane(6) - k)
            vstore(c.factor_scratch, STACK + group, math.sqrt(mechanism.weight[j]) * row)
            Z = sub_outer(T, s, splat(0.0) - row)
        else:
            for a in range(tree[i, DOF]):
                row = splat(0.0)
                for b in range(tree[i, DOF]):
                    s = flat6(c.dof_rows, (j + b) * FREEDOM_COLUMNS + F_S)
                    k = combine((d[0] * s[0], d[1] * s[1], d[2] * s[2], d[3] * s[3], d[4] * s[4], d[5] * s[5]), T)
                    n = c.dof_rows[(j + a) * FREEDOM_COLUMNS + F_N + b]
                    row = row + n * ((effort * c.effort_sum[j + b]) * unit_lane(6) - k)
                vstore(c.factor_scratch, STACK + a * width + group, math.sqrt(mechanism.weight[j + a]) * row)
                Z = sub_outer(Z, flat6(c.dof_rows, (j + a) * FREEDOM_COLUMNS + F_S), splat(0.0) - row)
        return Z

    @inlined
    def upper_rows(plan, c, upper, start, two):
        """Rows of the upper cluster: inputs f1 and -Xᵀf, of a single body their sum; it turns as the node does."""
        scratch = c.factor_scratch
        wide = has_two_inputs(plan.nodes, upper)
        at = plan.factor_at[upper]
        to = STACK + start * (row_2 if two else row_1)
        for _ in range(c.rows[upper]):
            factors = flat6(c.factor, at + of_f2) if wide else flat6(c.factor, at)
            vstore(scratch, to, vload(c.factor, at) - combine(factors, load_rows(scratch, TO_BACK + FROM_1)))
            if in_motion:
                row = vload(c.factor, at + of_m) - combine(factors, load_rows(scratch, TO_BACK + FROM_M))
                vstore(scratch, to + of_m, row)
            if two:
                vstore(scratch, to + of_f2, splat(0.0) - combine(factors, load_rows(scratch, TO_BACK + FROM_2)))
            at += row_2 if wide else row_1
            to += row_2 if two else row_1
        return c.rows[upper]

    @inlined
    def lower_rows(plan, c, node, lower, start, two):
        """Rows of the lower cluster: inputs f and f2, of a single body their sum; products m(ω) turn with its axes."""
        scratch = c.factor_scratch
        if in_motion:
            i = plan.nodes[node, INDEX]
            hang = plan.nodes[node, NODE_KIND] == HANG
            R = load9(c.joint_data, i, H_R)
            M = turned_products(R) if hang else lower_products(plan.nodes, node, c.joint_data, c.composite)
        wide = has_two_inputs(plan.nodes, lower)
        at = plan.factor_at[lower]
        to = STACK + start * (row_2 if two else row_1)
        for _ in range(c.rows[lower]):
            factors = flat6(c.factor, at)
            row = combine(factors, load_rows(scratch, TO_F + FROM_1))
            vstore(scratch, to, with_lane(row, 6, lane(row, 6) + c.factor[at + 6]))
            if in_motion:
                turned = combine(six_lanes(vload(c.factor, at + of_m)), M)
                vstore(scratch, to + of_m, combine(factors, load_rows(scratch, TO_F + FROM_M)) + turned)
            if two:
                passed = vload(c.factor, at + of_f2) if wide else with_lane(vload(c.factor, at), 6, 0.0)
                vstore(scratch, to + of_f2, combine(factors, load_rows(scratch, TO_F + FROM_2)) + passed)
            at += row_2 if wide else row_1
            to += row_2 if two else row_1
        return c.rows[lower]

    @routine
    def finish(plan, c, node, count, two):
        """Reduces the stack to as many rows as there are columns and keeps them; the constant is eliminated last."""
        scratch = c.factor_scratch
        columns = columns_2 if two else columns_1
        if count > columns:
            for k in range(columns):
                if k == columns - 1:
                    column = 6
                elif k < 6:
                    column = k
                elif two and k < 12:
                    column = of_f2 + k - 6
                else:
                    column = of_m + k - columns + 7
                if two:
                    reflect(scratch, count, k, column, row_2)
                else:
                    reflect(scratch, count, k, column, row_1)
            count = columns
        at = plan.factor_at[node]
        for k in range(0, count * (row_2 if two else row_1), 8):
            vstore(c.factor, at + k, vload(scratch, STACK + k))
        c.rows[node] = count

    @inlined
    def reflect(scratch, count, k, column, width):
        """One Householder reflection of rows of `width` numbers: zeros the column below row k of the stack."""
        factor = reflection(scratch, reflection_at, count, k, column, width)
        if factor == 0.0:
            return
        w1 = splat(0.0)
        w2 = splat(0.0)
        w3 = splat(0.0)
        for r in range(k, count):
            v = scratch[reflection_at + r]
            at = STACK + r * width
            w1 = w1 + v * vload(scratch, at)
            if width > 8:
                w2 = w2 + v * vload(scratch, at + 8)
            if width > 16:
                w3 = w3 + v * vload(scratch, at + 16)
        w1 = factor * w1
        w2 = factor * w2
        w3 = factor * w3
        for r in range(k, count):
            v = scratch[reflection_at + r]
            at = STACK + r * width
            vstore(scratch, at, vload(scratch, at) - v * w1)
            if width > 8:
                vstore(scratch, at + 8, vload(scratch, at + 8) - v * w2)
            if width > 16:
                vstore(scratch, at + 16, vload(scratch, at + 16) - v * w3)

    @inlined
    def total_acceleration(plan, c, node, F1, F2, w, unit):
        """unit² A(C) of a node for its inputs, (3) or in motion (1): a branch's is a classical acceleration.

        w: angular velocity of the node's first body (ignored at rest). Lanes 6 and 7 of F1 and F2 are zero.
        """
        at = plan.factor_at[node]
        two = has_two_inputs(plan.nodes, node)
        # The second input of a node with one is zero wherever the first is not a sum with it.
        F1 = with_lane(F1 if two else F1 + F2, 6, 1.0)
        m = with_lane(products(w), 6, 0.0)
        total = 0.0
        if two:
            for o in range(at, at + c.rows[node] * row_2, row_2):
                row = vload(c.factor, o) * F1 + vload(c.factor, o + of_f2) * F2
                x = unit * vsum(row + vload(c.factor, o + of_m) * m if in_motion else row)
                total += x * x
        else:
            for o in range(at, at + c.rows[node] * row_1, row_1):
                row = vload(c.factor, o) * F1
                x = unit * vsum(row + vload(c.factor, o + of_m) * m if in_motion else row)
                total += x * x
        return total

    return update_factor, total_acceleration


@inlined
def reflection(scratch, to, count, k, column, width):
    """Writes v of a reflection that zeros the column below row k to scratch[to + k:]; returns 2 / vᵀv, or zero."""
    norm2 = 0.0
    for r in range(k, count):
        x = scratch[STACK + r * width + column]
        scratch[to + r] = x
        norm2 += x * x
    if norm2 < SAFE_SQUARE:  # v may have any length: as if the largest entry were one
        largest = 0.0
        for r in range(k, count):
            largest = max(largest, abs(scratch[to + r]))
        if largest == 0.0:
            return 0.0
        norm2 = 0.0
        for r in range(k, count):
            scratch[to + r] /= largest
            norm2 += scratch[to + r] * scratch[to + r]
    head = scratch[to + k]
    norm = math.sqrt(norm2)
    if head > 0.0:
        norm = -norm
    scratch[to + k] = head - norm
    return 1.0 / (norm * (norm - head))


update_factor_at_rest, total_acceleration_at_rest = make_factor(AT_REST)
update_factor_in_motion, total_acceleration_in_motion = make_factor(IN_MOTION)
