"""How far rounding alone may carry a result: the floor under which no bound may be claimed.

Every joint closes a gap y that is a difference of large numbers (tensions of a cable, weights of what hangs below). Their
relative rounding error is a few units in the last place for each level passed; the same sums taken over absolute values say
what that makes of q̈ and of A(C). Where a pivot of M = L D Lᵀ is what cancellation left of its diagonal entry, its own
relative error is larger by Mᵣᵣ/Dᵣ; thin bodies far from their joints are like that.
"""

import math

from linkwork.adaptive.frontier import sort_open
from linkwork.adaptive.metric.factor import AT_REST, has_two_inputs
from linkwork.adaptive.metric.lost_digits import lost_by, refresh_lost
from linkwork.adaptive.nodes import carries_joint
from linkwork.adaptive.workspace import (
    HEAP_COUNT,
    HELD,
    OPEN,
    OPEN_COUNT,
    UNIT,
    coefficients_of,
    mechanism_of,
    plan_of,
    run_of,
)
from linkwork.assembly.node_table import HANG, INDEX, LEFT, NODE_KIND, RIGHT, SUM, UP
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.dca import nodes as dca
from linkwork.dynamics.dca.solid import is_solid
from linkwork.model.layout import ARMATURE, DOF, HELICAL, KIND, V
from linkwork.spatial.simd import flat6
from linkwork.spatial.vectors import add6, scale6

UNIT_ROUNDOFF = 2.0**-53
ALL = -1  # freedoms of a joint


@kernel
def rounding_floor(table, depth):
    """Rounding error of the metric over computed joints and frontier nodes: root of the sum of squares, and largest.

    Third, by how much coefficients may be worse than that (`lost_digits`); and by how much more this may show where small
    components of forces stand beside large ones.
    """
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    coefficients = coefficients_of(table)
    run = run_of(table)
    total = 0.0
    largest = 0.0
    nodes = plan.nodes
    lost = 1.0
    sort_open(run.opened, run.heap[run.counts[HEAP_COUNT] :], run.counts)  # children before parents
    for k in range(run.counts[OPEN_COUNT]):
        node = run.opened[k]
        refresh_lost(plan, mechanism, coefficients, node)
        if carries_joint(plan, node):
            lost = max(lost, lost_by(plan, coefficients, node))
    size_inputs(plan, mechanism, coefficients, run)
    passed_on = 0.0
    for k in range(run.counts[OPEN_COUNT]):
        node = run.opened[k]
        if carries_joint(plan, node):
            x = joint_floor(plan, mechanism, coefficients, run, node, run.inputs, 2.0 / depth, ALL)
            total += x * x
            largest = max(largest, x)
            x = joint_floor(plan, mechanism, coefficients, run, node, run.input_sizes, 2.0 / depth, ALL)
            passed_on = max(passed_on, x)
        for side in (LEFT, RIGHT):
            child = nodes[node, side]
            if child >= 0 and run.flag[child] & OPEN == 0 and coefficients.rows[child] > 0:
                x = frontier_floor(plan, coefficients, run, child, run.inputs)
                total += x * x
                largest = max(largest, x)
                passed_on = max(passed_on, frontier_floor(plan, coefficients, run, child, run.input_sizes))
    scale = 2.0 * depth * UNIT_ROUNDOFF / run.metric_sums[UNIT]
    return scale * math.sqrt(total), scale * largest, lost, max(1.0, passed_on / largest) if largest > 0.0 else 1.0


@routine
def frontier_floor(plan, coefficients, run, node, inputs):
    """‖ |R| (|f1|, 1, |f2|) ‖, in the unit of the metric's sums: (3) of docs/theory/adaptive_quasi_statics.md."""
    wide = has_two_inputs(plan.nodes, node)
    width = AT_REST.row_2 if wide else AT_REST.row_1
    at = node * dca.INPUT_COLUMNS
    total = 0.0
    for r in range(coefficients.rows[node]):
        o = plan.factor_at[node] + r * width
        x = abs(coefficients.factor[o + 6])
        for c in range(6):
            f1 = abs(inputs[at + dca.IN_1 + c])
            f2 = abs(inputs[at + dca.IN_2 + c])
            x += abs(coefficients.factor[o + c]) * (f1 if wide else f1 + f2)
            if wide:
                x += abs(coefficients.factor[o + AT_REST.of_f2 + c]) * f2
        x *= run.metric_sums[UNIT]
        total += x * x
    return math.sqrt(total)


@routine
def absolute_gap(plan, coefficients, inputs, node):
    """|L⁻¹| |y| of a joint, |y| summed over absolute values; inputs: of nodes, or their sizes."""
    nodes = plan.nodes
    data = coefficients.node_data
    i = nodes[node, INDEX]
    at = node * dca.INPUT_COLUMNS
    hang = nodes[node, NODE_KIND] == HANG
    o = block_of_joint(plan, node)
    left = plan.block[nodes[node, LEFT]]
    # |X| of the upper side's part: turned at most, and shifted by the lever arm
    upper_w = 0.0
    upper_v = 0.0
    for r in range(6):
        x = 0.0
        if hang:
            x = abs(inputs[at + dca.IN_1 + r])
        else:
            for c in range(6):
                x += abs(data[left + 8 * r + c] * inputs[at + dca.IN_1 + c])
        if r < 3:
            upper_w += x
        else:
            upper_v += x
    arm = 0.0
    for c in range(3):
        arm += abs(coefficients.joint_data[i, dca.H_P + c])
    rows = lower_part(nodes, node, plan.block, data, inputs, at, hang)
    y = (
        upper_w + rows[0] + abs(data[o + dca.L_BETA]),
        upper_w + rows[1] + abs(data[o + dca.L_BETA + 1]),
        upper_w + rows[2] + abs(data[o + dca.L_BETA + 2]),
        upper_v + arm * upper_w + rows[3] + abs(data[o + dca.L_BETA + 3]),
        upper_v + arm * upper_w + rows[4] + abs(data[o + dca.L_BETA + 4]),
        upper_v + arm * upper_w + rows[5] + abs(data[o + dca.L_BETA + 5]),
    )
    t0 = y[0]
    t1 = y[1] + abs(data[o]) * t0
    t2 = y[2] + abs(data[o + 1]) * t0 + abs(data[o + 2]) * t1
    t3 = y[3] + abs(data[o + 3]) * t0 + abs(data[o + 4]) * t1 + abs(data[o + 5]) * t2
    t4 = y[4] + abs(data[o + 6]) * t0 + abs(data[o + 7]) * t1 + abs(data[o + 8]) * t2 + abs(data[o + 9]) * t3
    t5 = y[5] + abs(data[o + 10]) * t0 + abs(data[o + 11]) * t1 + abs(data[o + 12]) * t2
    t5 += abs(data[o + 13]) * t3 + abs(data[o + 14]) * t4
    return (t0, t1, t2, t3, t4, t5)


@inlined
def block_of_joint(plan, node):
    """Where the factors of a node's joint begin in `node_data`."""
    return plan.block[node] + (dca.HANG_L if plan.nodes[node, NODE_KIND] == HANG else dca.JOIN_L)


@routine
def joint_floor(plan, mechanism, coefficients, run, node, inputs, once, freedom):
    """The same for a computed joint, (2): √A N⁻¹ (|Q| + |s|ᵀD⁻¹ |L⁻¹| |y|), |y| summed over absolute values.

    A pivot has a relative error of its growth Mᵣᵣ/Dᵣ, whatever the level; its effect on t + s q̈ is added.
    inputs: of nodes, or their sizes. freedom: of the joint, or ALL but those that limits hold.
    """
    tree = mechanism.tree
    data = coefficients.node_data
    i = plan.nodes[node, INDEX]
    o = block_of_joint(plan, node)
    t = absolute_gap(plan, coefficients, inputs, node)
    growth = pivot_growth(data, o)
    j = tree[i, V]
    total = 0.0
    if tree[i, KIND] == HELICAL:
        if freedom == ALL and mechanism.dof[j, ARMATURE] == HELD:
            return 0.0
        x = abs(coefficients.effort_sum[j])
        for r in range(6):
            s = abs(data[o + dca.L_S + r])
            x += s * data[o + dca.L_D + r] * (t[r] + once * growth[r] * (t[r] + s * abs(run.qdd[j])))
        x *= data[o + dca.L_N]
        return math.sqrt(mechanism.weight[j]) * x * run.metric_sums[UNIT]
    dof_rows = coefficients.dof_rows
    n = tree[i, DOF]
    for a in range(n):
        is_asked = freedom == a if freedom != ALL else mechanism.dof[j + a, ARMATURE] != HELD
        if not is_asked:
            continue
        x = 0.0
        for b in range(n):
            k = abs(coefficients.effort_sum[j + b])
            for r in range(6):
                e = t[r]
                for c in range(n):
                    e += abs(dof_rows[(j + c) * dca.FREEDOM_COLUMNS + dca.F_S + r] * run.qdd[j + c])
                s = abs(dof_rows[(j + b) * dca.FREEDOM_COLUMNS + dca.F_S + r])
                k += s * data[o + dca.L_D + r] * (t[r] + once * growth[r] * e)
            x += abs(dof_rows[(j + a) * dca.FREEDOM_COLUMNS + dca.F_N + b]) * k
        x *= run.metric_sums[UNIT]
        total += mechanism.weight[j + a] * x * x
    return math.sqrt(total)


@routine
def size_inputs(plan, mechanism, coefficients, run):
    """What the inputs of open nodes and of those below them are summed of, by absolute values, into `input_sizes`.

    The force through a joint is a sum of larger ones, |L⁻ᵀ| D⁻¹ (|L⁻¹| |y| + |s q̈|): where digits are lost its small
    components have errors as large as what large ones leave, and a body with small moments feels them.
    """
    for k in range(run.counts[OPEN_COUNT] - 1, -1, -1):
        node = run.opened[k]
        at = node * dca.INPUT_COLUMNS
        if plan.nodes[node, UP] < 0:
            for c in range(dca.INPUT_COLUMNS):
                run.input_sizes[at + c] = abs(run.inputs[at + c])
        left = plan.nodes[node, LEFT] * dca.INPUT_COLUMNS
        right = plan.nodes[node, RIGHT] * dca.INPUT_COLUMNS
        for side in (left, right):
            if side >= 0:
                for c in range(dca.INPUT_COLUMNS):
                    run.input_sizes[side + c] = abs(run.inputs[side + c])
        if carries_joint(plan, node):
            size_force(plan, mechanism, coefficients, run, node, left, right)
        elif plan.nodes[node, NODE_KIND] == SUM:
            for c in range(6):
                run.input_sizes[left + dca.IN_1 + c] = run.input_sizes[at + dca.IN_1 + c]
                run.input_sizes[right + dca.IN_1 + c] = run.input_sizes[at + dca.IN_1 + c]
        elif left >= 0 and not is_solid(plan.nodes, node):
            o = plan.block[node]
            for r in range(6):
                x = abs(coefficients.node_data[o + 8 * r + 6])
                for c in range(6):
                    f = run.input_sizes[at + dca.IN_1 + c] + run.input_sizes[at + dca.IN_2 + c]
                    x += abs(coefficients.node_data[o + 8 * r + c]) * f
                run.input_sizes[left + dca.IN_1 + r] = x


@inlined
def size_force(plan, mechanism, coefficients, run, node, left, right):
    """The same of the force through a node's joint, on both sides; the inputs of the node itself are passed on."""
    data = coefficients.node_data
    sizes = run.input_sizes
    at = node * dca.INPUT_COLUMNS
    i = plan.nodes[node, INDEX]
    o = block_of_joint(plan, node)
    t = absolute_gap(plan, coefficients, run.inputs, node)
    j = mechanism.tree[i, V]
    if mechanism.tree[i, KIND] == HELICAL:
        t = add6(t, absolute6(scale6(run.qdd[j], flat6(data, o + dca.L_S))))
    else:
        for d in range(j, j + mechanism.tree[i, DOF]):
            s = flat6(coefficients.dof_rows, d * dca.FREEDOM_COLUMNS + dca.F_S)
            t = add6(t, absolute6(scale6(run.qdd[d], s)))
    d = flat6(data, o + dca.L_D)
    f5 = d[5] * t[5]
    f4 = d[4] * t[4] + abs(data[o + 14]) * f5
    f3 = d[3] * t[3] + abs(data[o + 9]) * f4 + abs(data[o + 13]) * f5
    f2 = d[2] * t[2] + abs(data[o + 5]) * f3 + abs(data[o + 8]) * f4 + abs(data[o + 12]) * f5
    f1 = d[1] * t[1] + abs(data[o + 2]) * f2 + abs(data[o + 4]) * f3 + abs(data[o + 7]) * f4 + abs(data[o + 11]) * f5
    f0 = d[0] * t[0] + abs(data[o]) * f1 + abs(data[o + 1]) * f2 + abs(data[o + 3]) * f3
    f0 += abs(data[o + 6]) * f4 + abs(data[o + 10]) * f5
    if plan.nodes[node, NODE_KIND] == HANG:
        store6_at(sizes, left + dca.IN_1, (f0, f1, f2, f3, f4, f5))
        return
    store6_at(sizes, right + dca.IN_1, (f0, f1, f2, f3, f4, f5))
    store6_at(sizes, right + dca.IN_2, flat6(sizes, at + dca.IN_2))
    store6_at(sizes, left + dca.IN_1, flat6(sizes, at + dca.IN_1))
    arm = 0.0
    for c in range(3):
        arm += abs(coefficients.joint_data[i, dca.H_P + c])
    force, moment = f3 + f4 + f5, f0 + f1 + f2  # turned at most
    moment += arm * force
    store6_at(sizes, left + dca.IN_2, (moment, moment, moment, force, force, force))


@inlined
def absolute6(a):
    return abs(a[0]), abs(a[1]), abs(a[2]), abs(a[3]), abs(a[4]), abs(a[5])


@inlined
def store6_at(array, at, a):
    for c in range(6):
        array[at + c] = a[c]


@inlined
def pivot_growth(data, o):
    """Mᵣᵣ/Dᵣ of the six pivots; the diagonal of M = L D Lᵀ is formed again from what is kept."""
    d0, d1, d2 = data[o + dca.L_D], data[o + dca.L_D + 1], data[o + dca.L_D + 2]
    d3, d4, d5 = data[o + dca.L_D + 3], data[o + dca.L_D + 4], data[o + dca.L_D + 5]
    m1 = square(data[o]) / d0 + 1.0 / d1
    m2 = square(data[o + 1]) / d0 + square(data[o + 2]) / d1 + 1.0 / d2
    m3 = square(data[o + 3]) / d0 + square(data[o + 4]) / d1 + square(data[o + 5]) / d2 + 1.0 / d3
    m4 = square(data[o + 6]) / d0 + square(data[o + 7]) / d1 + square(data[o + 8]) / d2 + square(data[o + 9]) / d3
    m4 += 1.0 / d4
    m5 = square(data[o + 10]) / d0 + square(data[o + 11]) / d1 + square(data[o + 12]) / d2 + square(data[o + 13]) / d3
    m5 += square(data[o + 14]) / d4 + 1.0 / d5
    return (1.0, d1 * m1, d2 * m2, d3 * m3, d4 * m4, d5 * m5)


@inlined
def square(x):
    return x * x


@inlined
def lower_part(nodes, node, block, data, inputs, at, hang):
    """|Φ12| |f2| of a JOIN's lower cluster, row by row."""
    if hang:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    o = block[nodes[node, RIGHT]]
    return (
        absolute_row(data, o, inputs, at),
        absolute_row(data, o + 8, inputs, at),
        absolute_row(data, o + 16, inputs, at),
        absolute_row(data, o + 24, inputs, at),
        absolute_row(data, o + 32, inputs, at),
        absolute_row(data, o + 40, inputs, at),
    )


@inlined
def absolute_row(data, o, inputs, at):
    x = 0.0
    for c in range(6):
        x += abs(data[o + c] * inputs[at + dca.IN_2 + c])
    return x
