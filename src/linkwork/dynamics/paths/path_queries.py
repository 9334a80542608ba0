"""Walking one path of the assembly tree: O(log n) responses on coefficients that are up to date.

*Climb* carries a change of bias from a body's leaf (or a joint's node) to the root and records, node by node, the change of
the gap β a joint has to close, or of a body's bias b. *Descend* comes down the path of another body or joint, solving each
joint on the way; where both paths are one it meets the recorded changes. The same descent with the state's own β and b
gives actual accelerations. Nothing off the two paths is touched.

Kernels take one table (`core.bundles`) of `PathData`: the coefficients of a solver, or those a simulation keeps.
"""

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, UP, UPPER
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.dca.back_substitution import pass_joint
from linkwork.dynamics.dca.nodes import H_F, H_P, H_R, HANG_L, JOIN_L, JOIN_SOLID, L_BETA, SOLID_B
from linkwork.dynamics.dca.solid import into_lower, is_solid, response_of_stretch, solid_at, solid_pose
from linkwork.dynamics.paths.path_data import path_data_of
from linkwork.model.layout import DOF, V
from linkwork.spatial.memory import load3, load6, load9, store6
from linkwork.spatial.simd import combine, flat6, lane_vector, load_rows, negate6, row_sums, six_lanes
from linkwork.spatial.vectors import ZERO6, add6, sub6, twist_to_child, twist_to_parent, unit6, wrench_to_parent

NO_NODE = -1


@inlined
def times_block(node_data, o, x):
    """The symmetric block at node_data[o] times six numbers."""
    return six_lanes(combine(x, load_rows(node_data, o)))


@routine
def climb(table, start, b):
    """Records the changes on the way from `start` up; returns their number.

    start: BODY node whose bias changes by b, or joint node whose effort is set in `no_effort` (b is not used then).
    """
    d = path_data_of(table)
    nodes = d.nodes
    d.path[0] = start
    b1 = b
    b2 = b
    p = ZERO6
    if nodes[start, NODE_KIND] == BODY:
        store6(d.bias_change, 0, 0, b)
    else:
        store6(d.bias_change, 0, 0, ZERO6)
        b1, b2, p = push_through(table, start, ZERO6, ZERO6, ZERO6)
        clear_effort(d.tree, nodes[start, INDEX], d.no_effort)
    count, _, _, _ = climb_on(table, start, NO_NODE, b1, b2, p)
    return count


@routine
def climb_on(table, node, stop, b1, b2, p):
    """Goes on from below: records the changes at the nodes above `node`, up to the one before `stop` (-1: all of them).

    b1, b2 (of a cluster) and p (of a branch): what changes at `node`, which is recorded already. Returns the number of
    records, and b1, b2 and p of the last node.
    """
    d = path_data_of(table)
    nodes = d.nodes
    count = 1
    up = nodes[node, UP]
    while up != stop:
        kind = nodes[up, NODE_KIND]
        d.path[count] = up
        if kind == JOIN:
            i = nodes[up, INDEX]
            if nodes[node, ROLE] == UPPER:
                gap = twist_to_child(load9(d.joint_data, i, H_R), load3(d.joint_data, i, H_P), b2)
                b2 = ZERO6
            else:
                gap = negate6(b1)
                b1 = ZERO6
            store6(d.bias_change, count, 0, gap)
            b1, b2, p = push_through(table, up, gap, b1, b2)
            store6(d.bias_change, count, 6, b1)
        elif kind == HANG:
            gap = negate6(b1)
            store6(d.bias_change, count, 0, gap)
            b1, b2, p = push_through(table, up, gap, ZERO6, ZERO6)
        elif kind == BODY:
            b1 = negate6(times_block(d.node_data, d.block[up], p))
            b2 = b1
            store6(d.bias_change, count, 0, b1)
        else:
            store6(d.bias_change, count, 0, ZERO6)
        count += 1
        node = up
        up = nodes[node, UP]
    return count, b1, b2, p


@routine
def push_through(table, node, gap, b1, b2):
    """What a change of gap (or the effort in `no_effort`) at a joint does to its node: b1, b2, and p of a HANG."""
    d = path_data_of(table)
    if is_solid(d.nodes, node) and d.nodes[node, NODE_KIND] == JOIN:
        return push_solid(table, node, b1, b2)
    return push_gap(table, node, gap, b1, b2)


@routine
def push_gap(table, node, gap, b1, b2):
    """The same by the joint's own response to the gap, of whatever kind it is."""
    d = path_data_of(table)
    i = d.nodes[node, INDEX]
    hang = d.nodes[node, NODE_KIND] == HANG
    o = d.block[node] + (HANG_L if hang else JOIN_L)
    f = pass_joint(d.tree, i, d.no_effort, d.node_data, o, d.dof_rows, gap, d.joint_response)
    back = wrench_to_parent(load9(d.joint_data, i, H_R), load3(d.joint_data, i, H_P), f)
    if hang:
        return ZERO6, ZERO6, back
    b1 = sub6(b1, six_lanes(combine(back, load_rows(d.node_data, d.block[d.nodes[node, LEFT]]))))
    b2 = add6(b2, six_lanes(combine(f, load_rows(d.node_data, d.block[d.nodes[node, RIGHT]]))))
    return b1, b2, ZERO6


@routine
def push_solid(table, node, b1, b2):
    """The same for the weld of a rigid stretch, from the changes of both its sides: the whole moves as one.

    With A, B the inverse inertias of both sides at the weld, (A⁻¹ + B⁻¹)⁻¹ (A⁻¹ a + B⁻¹ b) = B M⁻¹ a + A M⁻¹ b. Products
    lose nothing; the difference a - A M⁻¹ (a - b) would lose what a long stretch has left of the motion of its parts.
    """
    d = path_data_of(table)
    i = d.nodes[node, INDEX]
    upper = d.nodes[node, LEFT]
    lower = d.nodes[node, RIGHT]
    o = d.block[node] + JOIN_L
    R = load9(d.joint_data, i, H_R)
    p = load3(d.joint_data, i, H_P)
    Ra, pa = solid_pose(d.node_data, solid_at(d.nodes, d.block, upper))
    Rb, pb = solid_pose(d.node_data, solid_at(d.nodes, d.block, lower))
    above = twist_to_child(R, p, twist_to_child(Ra, pa, b1))
    f = pass_joint(d.tree, i, d.no_effort, d.node_data, o, d.dof_rows, above, d.joint_response)
    last = six_lanes(combine(f, load_rows(d.node_data, d.block[lower])))
    f = pass_joint(d.tree, i, d.no_effort, d.node_data, o, d.dof_rows, twist_to_parent(Rb, pb, b2), d.joint_response)
    first = six_lanes(combine(wrench_to_parent(R, p, f), load_rows(d.node_data, d.block[upper])))
    R, p = solid_pose(d.node_data, d.block[node] + JOIN_SOLID)
    first = add6(first, twist_to_parent(R, p, last))
    return first, twist_to_child(R, p, first), ZERO6


@inlined
def clear_effort(tree, i, effort):
    for d in range(tree[i, DOF]):
        effort[tree[i, V] + d] = 0.0


@inlined
def join_force(d, node, f1, f2, known, effort):
    """Force of a joint between two clusters, on the lower one, from the forces on their handles. known: gap to close."""
    i = d.nodes[node, INDEX]
    R = load9(d.joint_data, i, H_R)
    p = load3(d.joint_data, i, H_P)
    y = twist_to_child(R, p, row_sums(d.node_data, d.block[d.nodes[node, LEFT]], lane_vector(f1, 0.0)))
    y = add6(sub6(y, row_sums(d.node_data, d.block[d.nodes[node, RIGHT]], lane_vector(f2, 0.0))), known)
    return pass_joint(d.tree, i, effort, d.node_data, d.block[node] + JOIN_L, d.dof_rows, y, d.joint_response)


@inlined
def back_on_upper(d, node, f):
    """What a joint that pushes the lower cluster with f does to the upper one."""
    i = d.nodes[node, INDEX]
    return negate6(wrench_to_parent(load9(d.joint_data, i, H_R), load3(d.joint_data, i, H_P), f))


@inlined
def hang_force(d, node, a, known, effort):
    """Force of the joint that a branch hangs on, on the branch. a: acceleration of its carrier; known: gap to close."""
    i = d.nodes[node, INDEX]
    y = add6(twist_to_child(load9(d.joint_data, i, H_R), load3(d.joint_data, i, H_P), a), known)
    return pass_joint(d.tree, i, effort, d.node_data, d.block[node] + HANG_L, d.dof_rows, y, d.joint_response)


@inlined
def body_acceleration(d, node, f1, f2, known):
    """Of a BODY node, from the forces on its handles and its bias."""
    return add6(row_sums(d.node_data, d.block[node], lane_vector(add6(f1, f2), 0.0)), known)


@inlined
def own_bias(d, node):
    """What a node has at the state: the gap β that its joint has to close, or the bias b of its body."""
    kind = d.nodes[node, NODE_KIND]
    known = ZERO6
    if kind == JOIN:
        known = flat6(d.node_data, d.block[node] + JOIN_L + L_BETA)
    elif kind == HANG:
        known = flat6(d.node_data, d.block[node] + HANG_L + L_BETA)
    elif kind == BODY:
        known = body_bias(d, node)
    return known


@routine
def descend(table, base, actual, target, count):
    """Acceleration of the target's BODY node (six numbers); of a joint node into `joint_response`.

    base: acceleration of the world. actual: solve with the state's β, b and efforts; else with the `count` recorded
    changes, and `no_effort` all zero but for a joint whose effort is the cause.
    """
    d = path_data_of(table)
    nodes = d.nodes
    effort = d.effort_sum if actual else d.no_effort
    steps = 0
    node = target
    while node >= 0:
        d.descent[steps] = node
        steps += 1
        node = nodes[node, UP]
    a = base
    f1 = ZERO6
    f2 = ZERO6
    shared = not actual
    for k in range(steps):
        node = d.descent[steps - 1 - k]
        shared = shared and k < count and d.path[count - 1 - k] == node
        kind = nodes[node, NODE_KIND]
        known = load6(d.bias_change, count - 1 - k, 0) if shared else ZERO6
        if actual:
            known = own_bias(d, node)
        if kind == JOIN:
            f = join_force(d, node, f1, f2, known, effort)
            if is_solid(nodes, node):
                if not is_solid(nodes, nodes[node, UP]):
                    at = d.block[node] + JOIN_SOLID
                    a = response_of_stretch(d.node_data, at, f1, f2)
                    if actual:
                        a = add6(a, flat6(d.node_data, at + SOLID_B))
                    elif shared:
                        a = add6(a, load6(d.bias_change, count - 1 - k, 6))
                if k + 1 < steps and d.descent[steps - 2 - k] == nodes[node, RIGHT]:
                    a = into_lower(nodes, d.block, node, d.joint_data, d.node_data, a)
            if k + 1 < steps:
                if d.descent[steps - 2 - k] == nodes[node, LEFT]:
                    f2 = back_on_upper(d, node, f)
                else:
                    f1 = f
        elif kind == HANG:
            f1 = hang_force(d, node, a, known, effort)
            f2 = ZERO6
            if is_solid(nodes, node):
                i = nodes[node, INDEX]
                a = twist_to_child(load9(d.joint_data, i, H_R), load3(d.joint_data, i, H_P), a)
        elif kind == BODY and not is_solid(nodes, node):
            a = body_acceleration(d, node, f1, f2, known)
    return a


@inlined
def body_bias(d, node):
    """b of a BODY node: kept in lane 6 where branches hang, Φ f otherwise."""
    o = d.block[node]
    if d.nodes[node, LEFT] >= 0:
        return (
            d.node_data[o + 6],
            d.node_data[o + 14],
            d.node_data[o + 22],
            d.node_data[o + 30],
            d.node_data[o + 38],
            d.node_data[o + 46],
        )
    return times_block(d.node_data, o, load6(d.joint_data, d.nodes[node, INDEX], H_F))


@kernel
def respond(table, source, target):
    """Acceleration of a body (returned) or a joint (in `joint_response`) by a wrench on a body or an effort on a joint.

    source: BODY node with `wrench` on it, or joint node with its effort in `no_effort`, which is left zero.
    """
    d = path_data_of(table)
    i = d.nodes[source, INDEX]
    b = ZERO6
    e = ZERO6
    n = 0
    if d.nodes[source, NODE_KIND] == BODY:
        b = times_block(d.node_data, d.block[source], given_wrench(d.wrench))
    else:
        n = d.tree[i, DOF]
        e = effort_of(d.tree, i, d.no_effort)
    count = climb(table, source, b)
    for k in range(n):
        d.no_effort[d.tree[i, V] + k] = e[k]
    a = descend(table, ZERO6, False, target, count)
    for k in range(n):
        d.no_effort[d.tree[i, V] + k] = 0.0
    return a


@inlined
def given_wrench(w):
    return (w[0], w[1], w[2], w[3], w[4], w[5])


@inlined
def effort_of(tree, i, effort):
    """Efforts of joint i as six numbers, zero beyond its freedoms."""
    j = tree[i, V]
    n = tree[i, DOF]
    return (
        effort[j] if n > 0 else 0.0,
        effort[j + 1] if n > 1 else 0.0,
        effort[j + 2] if n > 2 else 0.0,
        effort[j + 3] if n > 3 else 0.0,
        effort[j + 4] if n > 4 else 0.0,
        effort[j + 5] if n > 5 else 0.0,
    )


@kernel
def body_block(table, source, target, out):
    """The 6x6 block of J M⁻¹ Jᵀ: acceleration of the target body for unit wrenches on the source body, column by column."""
    d = path_data_of(table)
    for c in range(6):
        count = climb(table, source, times_block(d.node_data, d.block[source], unit6(c)))
        a = descend(table, ZERO6, False, target, count)
        for r in range(6):
            out[r, c] = a[r]


@routine
def responses_of_pairs(table, leaves, out):
    """Acceleration of body r for unit wrenches on body c, for all pairs: out (6 m, 6 m), symmetric.

    leaves (m,): BODY nodes; -1 is the world, whose rows and columns stay zero. One climb per column, one descent per pair:
    O(m² log n).
    """
    d = path_data_of(table)
    out[:] = 0.0
    for c in range(leaves.shape[0]):
        if leaves[c] < 0:
            continue
        for x in range(6):
            count = climb(table, leaves[c], times_block(d.node_data, d.block[leaves[c]], unit6(x)))
            for r in range(c + 1):
                if leaves[r] >= 0:
                    a = descend(table, ZERO6, False, leaves[r], count)
                    for y in range(6):
                        out[6 * r + y, 6 * c + x] = a[y]
                        out[6 * c + x, 6 * r + y] = a[y]


@kernel
def response_matrix(table, leaves, out):
    """J M⁻¹ Jᵀ over pairs of bodies, as `responses_of_pairs`."""
    responses_of_pairs(table, leaves, out)


@inlined
def acceleration_at(table, target):
    """Acceleration of a node's body (world accelerating by -g) or joint at the state, from its path alone."""
    g = path_data_of(table).gravity
    return descend(table, (0.0, 0.0, 0.0, -g[0], -g[1], -g[2]), True, target, 0)


@kernel
def actual_acceleration(table, target):
    """As `acceleration_at`."""
    return acceleration_at(table, target)


@kernel
def update_bias(table, source):
    """Adds `wrench` on a body, or the effort in `no_effort` on a joint, to the coefficients: its path only, biases only."""
    d = path_data_of(table)
    i = d.nodes[source, INDEX]
    b = ZERO6
    if d.nodes[source, NODE_KIND] == BODY:
        w = given_wrench(d.wrench)
        store6(d.joint_data, i, H_F, add6(load6(d.joint_data, i, H_F), w))
        b = times_block(d.node_data, d.block[source], w)
    count = climb(table, source, b)
    for k in range(count):
        node = d.path[k]
        kind = d.nodes[node, NODE_KIND]
        if kind == JOIN or kind == HANG:
            o = d.block[node] + (HANG_L if kind == HANG else JOIN_L) + L_BETA
            for r in range(6):
                d.node_data[o + r] += d.bias_change[k, r]
            if kind == JOIN and is_solid(d.nodes, node):
                for r in range(6):
                    d.node_data[d.block[node] + JOIN_SOLID + SOLID_B + r] += d.bias_change[k, 6 + r]
        elif kind == BODY and d.nodes[node, LEFT] >= 0:
            for r in range(6):
                d.node_data[d.block[node] + 8 * r + 6] += d.bias_change[k, r]
