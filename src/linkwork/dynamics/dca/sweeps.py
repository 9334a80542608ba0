"""Forward dynamics by divide and conquer (Featherstone 1999) on the assembly tree: O(n) work, O(log n) depth.

Three sweeps, the first over bodies, the others over nodes. Both node sweeps work on runs of nodes, and every subtree is
such a run: disjoint subtrees can be swept at the same time, by the same compiled code.
"""

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT
from linkwork.core.jit import inlined, kernel
from linkwork.dynamics.dca.back_substitution import gap_of_join, pass_hang, pass_joint
from linkwork.dynamics.dca.freedoms import hang_general, join_general
from linkwork.dynamics.dca.nodes import (
    BODY_SOLID,
    H_C,
    H_F,
    H_P,
    H_R,
    HINGE_COLUMNS,
    IN_1,
    IN_2,
    INPUT_COLUMNS,
    JOIN_L,
    add_branches,
    body_with_branches,
    hang_1dof,
    invert_with_bias,
    join_1dof,
    keep_inertia,
    plain_body,
)
from linkwork.dynamics.dca.solid import hang_solid, is_solid, join_solid, motion_in_stretch
from linkwork.model.kernels.joint_kernels import body_motion, joint_passive_effort
from linkwork.model.layout import DAMPING, DOF, HELICAL, INERTIA, KIND, PARENT, STIFFNESS, Q, V
from linkwork.spatial.inertia import gyroscopic_wrench, rigid_lower
from linkwork.spatial.memory import load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.simd import (
    flat6,
    lane_vector,
    negate6,
    prefetch,
    row_sums,
    splat,
    store_rows,
    vload,
    vstore,
    with_lane,
)
from linkwork.spatial.vectors import add6, cross_motion, sub6, twist_to_child, wrench_to_parent

NODES_AHEAD = 6  # some 600 ns of work: a little more than memory takes to answer

# Relative to the moments about a body's origin. A point mass leaves 1e-16; a rod a thousand times as long as thick, held
# ten lengths off, 1e-9.
SMALLEST_MOMENT = 1e-12


@kernel
def velocities_root_to_leaf(arrays, q, v, effort, wrenches, twist, joint_data, S, effort_sum):
    """Poses, biases and wrenches of all joints and bodies into `joint_data`; efforts with springs into `effort_sum`.

    arrays: of the model.
    """
    tree, body, screws, dof, rest = arrays.tree, arrays.body, arrays.screws, arrays.dof, arrays.rest
    for i in range(tree.shape[0]):
        parent = tree[i, PARENT]
        j = tree[i, V]
        R, p, VJ, cJ = body_motion(tree, body, screws, i, q, v, S)
        for d in range(tree[i, DOF]):
            effort_sum[j + d] = effort[j + d] if effort.shape[0] > 0 else 0.0
        if tree[i, KIND] == HELICAL:
            k = tree[i, Q]
            effort_sum[j] -= dof[j, DAMPING] * v[j] + dof[j, STIFFNESS] * (q[k] - rest[k])
        else:
            joint_passive_effort(tree, dof, rest, i, q, v, effort_sum)
        Vi = VJ
        if parent >= 0:
            Vi = add6(twist_to_child(R, p, load6(twist, parent, 0)), VJ)
        store6(twist, i, 0, Vi)
        store9(joint_data, i, H_R, R)
        store3(joint_data, i, H_P, p)
        store6(joint_data, i, H_C, add6(cJ, cross_motion(Vi, VJ)))
        f = gyroscopic_wrench(load10(body, i, INERTIA), Vi)
        if wrenches.shape[0] > 0:
            f = sub6(f, load6(wrenches, i, 0))
        store6(joint_data, i, H_F, negate6(f))


@inlined
def is_singular(inertia):
    """Whether the smallest moment about the centre of mass is no more than rounding leaves of zero."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = inertia
    if not m > 0.0:
        return True
    noise = SMALLEST_MOMENT * (xx + yy + zz)
    a, b, c = xx - (y * y + z * z) / m, yy - (x * x + z * z) / m, zz - (x * x + y * y) / m
    d, e, f = xy + x * y / m, xz + x * z / m, yz + y * z / m
    pairs = a * b - d * d + a * c - e * e + b * c - f * f  # of two moments each, summed
    determinant = a * (b * c - f * f) - d * (d * c - e * f) + e * (d * f - b * e)
    # The smallest moment lies between determinant / pairs and three times that.
    return not (a + b + c > noise and pairs > noise * (a + b + c) and determinant > noise * pairs)


@kernel
def invert_inertias(nodes, block, body, node_data, scratch):
    """Φ = I⁻¹ of every plain body, once and for all; returns the first body whose inertia is singular, or -1.

    A body with branches has the inverse of I + K instead, which may be regular where I is not; but nobody could tell from
    its pivots, so a singular I is refused there too.
    """
    still = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for node in range(nodes.shape[0]):
        if nodes[node, NODE_KIND] == BODY:
            i = nodes[node, INDEX]
            inertia = load10(body, i, INERTIA)
            if is_singular(inertia):
                return i
            if nodes[node, LEFT] < 0:
                rows, ok = invert_with_bias(rigid_lower(inertia), still, scratch)
                if not ok:
                    return i
                store_rows(node_data, block[node], rows)
    return -1


@kernel
def assemble_leaf_to_root(x, runs):
    """Coefficients of the nodes of all `runs` (first, last + 1), in order; returns the body that failed, or -1.

    x: NodeArrays.
    """
    for r in range(runs.shape[0]):
        for node in range(runs[r, 0], runs[r, 1]):
            if not assemble_node(x, node):
                return x.nodes[node, INDEX]
    return -1


@inlined
def assemble_node(x, node):
    """Coefficients of one node from those of its children; False if its joint cannot be solved."""
    nodes, slot = x.nodes, x.slot
    kind = nodes[node, NODE_KIND]
    i = nodes[node, INDEX]
    if kind == JOIN:
        if x.tree[i, KIND] == HELICAL:
            return join_1dof(x, node)
        if is_solid(nodes, node):
            return join_solid(x, node)
        return join_general(x, node)
    if kind == HANG:
        if x.tree[i, KIND] == HELICAL:
            return hang_1dof(x, node)
        if is_solid(nodes, node):
            return hang_solid(x, node)
        return hang_general(x, node)
    if kind == BODY:
        return assemble_body(x, node)
    add_branches(x.phi, slot[nodes[node, LEFT]], slot[nodes[node, RIGHT]], slot[node])
    return True


@inlined
def assemble_body(x, node):
    """The same of a node that is one body, with its branches."""
    nodes, block, slot, body, joint_data, node_data, phi = (
        x.nodes,
        x.block,
        x.slot,
        x.body,
        x.joint_data,
        x.node_data,
        x.phi,
    )
    i = nodes[node, INDEX]
    branch = nodes[node, LEFT]
    if branch >= 0:
        solid = is_solid(nodes, node)
        return body_with_branches(
            body, joint_data, i, node_data, block[node], phi, slot[branch], slot[node], x.scratch, solid
        )
    plain_body(node_data, block[node], load6(joint_data, i, H_F), phi, slot[node])
    if is_solid(nodes, node):
        f = load6(joint_data, i, H_F)
        keep_inertia(node_data, block[node] + BODY_SOLID, rigid_lower(load10(body, i, INERTIA)), f)
    return True


@kernel
def substitute_root_to_leaf(nodes, block, tree, joint_data, effort_sum, node_data, dof_rows, inputs, qdd, runs):
    """Accelerations of the joints of all `runs`, from last to first, from the inputs of their nodes."""
    for r in range(runs.shape[0] - 1, -1, -1):
        for node in range(runs[r, 1] - 1, runs[r, 0] - 1, -1):
            ask_ahead(nodes, block, max(node - NODES_AHEAD, 0), joint_data, node_data)
            substitute_node(nodes, block, node, tree, joint_data, effort_sum, node_data, dof_rows, inputs, qdd)


@inlined
def ask_ahead(nodes, block, node, joint_data, node_data):
    """Prefetches what a JOIN reads far from its own block: a sweep from the root jumps between subtrees."""
    if nodes[node, NODE_KIND] == JOIN:
        left = block[nodes[node, LEFT]]
        right = block[nodes[node, RIGHT]]
        for row in range(6):
            prefetch(node_data, left + 8 * row)
            prefetch(node_data, right + 8 * row)
        at = nodes[node, INDEX] * HINGE_COLUMNS
        prefetch(joint_data, at)
        prefetch(joint_data, at + 8)


@inlined
def substitute_node(nodes, block, node, tree, joint_data, effort_sum, node_data, dof_rows, inputs, qdd):
    """The acceleration of a node's joint, and the inputs of its children."""
    kind = nodes[node, NODE_KIND]
    at = node * INPUT_COLUMNS
    left = nodes[node, LEFT] * INPUT_COLUMNS
    if kind == JOIN:
        F1 = vload(inputs, at + IN_1)
        F2 = vload(inputs, at + IN_2)
        i = nodes[node, INDEX]
        y = gap_of_join(nodes, block, node, joint_data, node_data, F1, F2)
        f = pass_joint(tree, i, effort_sum, node_data, block[node] + JOIN_L, dof_rows, y, qdd)
        back = wrench_to_parent(load9(joint_data, i, H_R), load3(joint_data, i, H_P), f)
        right = nodes[node, RIGHT] * INPUT_COLUMNS
        vstore(inputs, left + IN_1, F1)
        vstore(inputs, left + IN_2, lane_vector(negate6(back), 0.0))
        vstore(inputs, right + IN_1, lane_vector(f, 0.0))
        vstore(inputs, right + IN_2, F2)
    elif kind == HANG:
        f = pass_hang(
            nodes, block, node, tree, joint_data, effort_sum, node_data, dof_rows, flat6(inputs, at + IN_1), qdd
        )
        vstore(inputs, left + IN_1, lane_vector(f, 0.0))
        vstore(inputs, left + IN_2, splat(0.0))
    elif kind == BODY:
        if left >= 0:
            if is_solid(nodes, node):
                a = motion_in_stretch(nodes, block, node, joint_data, node_data, inputs)
            else:
                F = vload(inputs, at + IN_1) + vload(inputs, at + IN_2)
                a = row_sums(node_data, block[node], with_lane(F, 6, 1.0))  # Φ (f1 + f2) + b
            vstore(inputs, left + IN_1, lane_vector(a, 0.0))
    else:
        a = vload(inputs, at + IN_1)
        vstore(inputs, left + IN_1, a)
        vstore(inputs, nodes[node, RIGHT] * INPUT_COLUMNS + IN_1, a)
