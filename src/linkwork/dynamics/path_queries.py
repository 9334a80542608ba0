"""Walking one path of the assembly tree: O(log n) answers on coefficients that are up to date.

*Climb* carries a change of bias from a body's leaf (or a joint's node) to the root and records, node by node, the change of
the gap β a joint has to close, or of a body's bias b. *Descend* comes down the path of another body or joint, solving each
joint on the way; where both paths are one it meets the recorded changes. The same descent with the state's own β and b
gives actual accelerations. Nothing off the two paths is touched.
"""

from linkwork.assembly.plan import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, UP, UPPER
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.dca.nodes import H_F, H_P, H_R, HANG_L, JOIN_L, L_BETA, pass_joint
from linkwork.model.joint_kernels import joint_motion
from linkwork.model.layout import DOF, V
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import IDENTITY3, ZERO3
from linkwork.spatial.simd import combine, flat6, lane_vector, load_rows, negate6, row_sums, six_lanes
from linkwork.spatial.vectors import ZERO6, add6, compose_pose, sub6, twist_to_child, wrench_to_parent

MAX_DEPTH = 512  # nodes on a path; at most 5.1 log2(n) + 6 for any shape, which is 160 for a billion joints
NO_NODE = -1


@inlined
def times_block(coef, o, x):
    """The symmetric block at coef[o] times six numbers."""
    return six_lanes(combine(x, load_rows(coef, o)))


@routine
def climb(nodes, block, tree, hinge, coef, freedom, quiet, unused, start, b, path, change):
    """Records the changes on the way from `start` up; returns their number.

    start: BODY node whose bias changes by b, or joint node whose effort is set in `quiet` (b is not used then).
    """
    count = 0
    path[0] = start
    node = start
    b1 = b
    b2 = b
    p = ZERO6
    if nodes[start, NODE_KIND] == BODY:
        store6(change, 0, 0, b)
        count = 1
    else:
        store6(change, 0, 0, ZERO6)
        b1, b2, p = push_through(nodes, block, start, tree, hinge, coef, freedom, quiet, unused, ZERO6, ZERO6, ZERO6)
        clear_effort(tree, nodes[start, INDEX], quiet)
        count = 1
    up = nodes[node, UP]
    while up >= 0:
        kind = nodes[up, NODE_KIND]
        path[count] = up
        if kind == JOIN:
            i = nodes[up, INDEX]
            if nodes[node, ROLE] == UPPER:
                gap = twist_to_child(load9(hinge, i, H_R), load3(hinge, i, H_P), b2)
                b2 = ZERO6
            else:
                gap = negate6(b1)
                b1 = ZERO6
            store6(change, count, 0, gap)
            b1, b2, p = push_through(nodes, block, up, tree, hinge, coef, freedom, quiet, unused, gap, b1, b2)
        elif kind == HANG:
            gap = negate6(b1)
            store6(change, count, 0, gap)
            b1, b2, p = push_through(nodes, block, up, tree, hinge, coef, freedom, quiet, unused, gap, ZERO6, ZERO6)
        elif kind == BODY:
            b1 = negate6(times_block(coef, block[up], p))
            b2 = b1
            store6(change, count, 0, b1)
        else:
            store6(change, count, 0, ZERO6)
        count += 1
        node = up
        up = nodes[node, UP]
    return count


@routine
def push_through(nodes, block, node, tree, hinge, coef, freedom, quiet, unused, gap, b1, b2):
    """What a change of gap (or the effort in `quiet`) at a joint does to its node: b1, b2, and p of a HANG."""
    i = nodes[node, INDEX]
    hang = nodes[node, NODE_KIND] == HANG
    o = block[node] + (HANG_L if hang else JOIN_L)
    f = pass_joint(tree, i, quiet, coef, o, freedom, gap, unused)
    back = wrench_to_parent(load9(hinge, i, H_R), load3(hinge, i, H_P), f)
    if hang:
        return ZERO6, ZERO6, back
    b1 = sub6(b1, six_lanes(combine(back, load_rows(coef, block[nodes[node, LEFT]]))))
    b2 = add6(b2, six_lanes(combine(f, load_rows(coef, block[nodes[node, RIGHT]]))))
    return b1, b2, ZERO6


@inlined
def clear_effort(tree, i, quiet):
    for d in range(tree[i, DOF]):
        quiet[tree[i, V] + d] = 0.0


@routine
def descend(nodes, block, tree, hinge, coef, freedom, effort, answer, base, actual, target, way, path, change, count):
    """Acceleration of the target's BODY node (six numbers); of a joint node into `answer`.

    base: acceleration of the world. actual: solve with the state's β, b and efforts; else with the recorded changes, and
    `effort` all zero but for a joint whose effort is the cause.
    """
    steps = 0
    node = target
    while node >= 0:
        way[steps] = node
        steps += 1
        node = nodes[node, UP]
    a = base
    f1 = ZERO6
    f2 = ZERO6
    shared = not actual
    for k in range(steps):
        node = way[steps - 1 - k]
        shared = shared and k < count and path[count - 1 - k] == node
        kind = nodes[node, NODE_KIND]
        i = nodes[node, INDEX]
        known = load6(change, count - 1 - k, 0) if shared else ZERO6
        if kind == JOIN:
            o = block[node] + JOIN_L
            R = load9(hinge, i, H_R)
            p = load3(hinge, i, H_P)
            y = twist_to_child(R, p, row_sums(coef, block[nodes[node, LEFT]], lane_vector(f1, 0.0)))
            y = add6(sub6(y, row_sums(coef, block[nodes[node, RIGHT]], lane_vector(f2, 0.0))), known)
            if actual:
                y = add6(y, flat6(coef, o + L_BETA))
            f = pass_joint(tree, i, effort, coef, o, freedom, y, answer)
            if k + 1 < steps:
                if way[steps - 2 - k] == nodes[node, LEFT]:
                    f2 = negate6(wrench_to_parent(R, p, f))
                else:
                    f1 = f
        elif kind == HANG:
            o = block[node] + HANG_L
            y = add6(twist_to_child(load9(hinge, i, H_R), load3(hinge, i, H_P), a), known)
            if actual:
                y = add6(y, flat6(coef, o + L_BETA))
            f1 = pass_joint(tree, i, effort, coef, o, freedom, y, answer)
            f2 = ZERO6
        elif kind == BODY:
            a = add6(row_sums(coef, block[node], lane_vector(add6(f1, f2), 0.0)), known)
            if actual:
                a = add6(a, body_bias(nodes, block, hinge, coef, node))
    return a


@inlined
def body_bias(nodes, block, hinge, coef, node):
    """b of a BODY node: kept in lane 6 where branches hang, Φ f otherwise."""
    o = block[node]
    if nodes[node, LEFT] >= 0:
        return (coef[o + 6], coef[o + 14], coef[o + 22], coef[o + 30], coef[o + 38], coef[o + 46])
    return times_block(coef, o, load6(hinge, nodes[node, INDEX], H_F))


@kernel
def respond(nodes, block, tree, hinge, coef, freedom, quiet, answer, source, wrench, target, way, path, change):
    """Acceleration of a node's body (returned) or joint (in `answer`) caused by a wrench on a body or an effort on a joint.

    source: BODY node with `wrench` on it, or joint node with its effort in `quiet`, which is left zero.
    """
    i = nodes[source, INDEX]
    b = ZERO6
    e = ZERO6
    n = 0
    if nodes[source, NODE_KIND] == BODY:
        b = times_block(coef, block[source], (wrench[0], wrench[1], wrench[2], wrench[3], wrench[4], wrench[5]))
    else:
        n = tree[i, DOF]
        e = effort_of(tree, i, quiet)
    count = climb(nodes, block, tree, hinge, coef, freedom, quiet, answer, source, b, path, change)
    for d in range(n):
        quiet[tree[i, V] + d] = e[d]
    a = descend(nodes, block, tree, hinge, coef, freedom, quiet, answer, ZERO6, False, target, way, path, change, count)
    for d in range(n):
        quiet[tree[i, V] + d] = 0.0
    return a


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
def body_block(nodes, block, tree, hinge, coef, freedom, quiet, answer, source, target, way, path, change, wrench, out):
    """The 6x6 block of J M⁻¹ Jᵀ: acceleration of the target body for unit wrenches on the source body, column by column."""
    for c in range(6):
        wrench[c] = 1.0
        a = respond(nodes, block, tree, hinge, coef, freedom, quiet, answer, source, wrench, target, way, path, change)
        wrench[c] = 0.0
        for r in range(6):
            out[r, c] = a[r]


@kernel
def actual_acceleration(nodes, block, tree, hinge, coef, freedom, total, answer, gravity, target, way, path, change):
    """Acceleration of a node's body (world accelerating by -g) or joint at the state, from its path alone."""
    base = (0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
    return descend(nodes, block, tree, hinge, coef, freedom, total, answer, base, True, target, way, path, change, 0)


@kernel
def update_bias(nodes, block, tree, hinge, coef, freedom, quiet, unused, source, wrench, path, change):
    """Adds a wrench on a body, or the effort in `quiet` on a joint, to the coefficients: its path only, biases only."""
    i = nodes[source, INDEX]
    b = ZERO6
    if nodes[source, NODE_KIND] == BODY:
        w = (wrench[0], wrench[1], wrench[2], wrench[3], wrench[4], wrench[5])
        store6(hinge, i, H_F, add6(load6(hinge, i, H_F), w))
        b = times_block(coef, block[source], w)
    count = climb(nodes, block, tree, hinge, coef, freedom, quiet, unused, source, b, path, change)
    for k in range(count):
        node = path[k]
        kind = nodes[node, NODE_KIND]
        if kind == JOIN or kind == HANG:
            o = block[node] + (HANG_L if kind == HANG else JOIN_L) + L_BETA
            for r in range(6):
                coef[o + r] += change[k, r]
        elif kind == BODY and nodes[node, LEFT] >= 0:
            for r in range(6):
                coef[block[node] + 8 * r + 6] += change[k, r]


# ---------------------------------------------------------------------------------------------------------------- places

# Columns of `place`, one row a JOIN node: pose of its last body in its first one, and the relative twist.
PLACE_R, PLACE_P, PLACE_TWIST = 0, 9, 12
PLACE_COLUMNS = 18


@kernel
def place_leaf_to_root(nodes, tree, body, screws, hinge, q, v, S, place):
    """Pose and twist of the last body of every cluster relative to its first, so that one path places a body."""
    for node in range(nodes.shape[0]):
        if nodes[node, NODE_KIND] == JOIN:
            i = nodes[node, INDEX]
            twist, _ = joint_motion(tree, body, screws, i, q, v, S)
            R, p, twist = beyond(nodes, place, hinge, i, nodes[node, LEFT], twist)
            lower = nodes[node, RIGHT]
            if nodes[lower, NODE_KIND] == JOIN:
                Rb = load9(place, lower, PLACE_R)
                pb = load3(place, lower, PLACE_P)
                twist = add6(twist_to_child(Rb, pb, twist), load6(place, lower, PLACE_TWIST))
                R, p = compose_pose(R, p, Rb, pb)
            store9(place, node, PLACE_R, R)
            store3(place, node, PLACE_P, p)
            store6(place, node, PLACE_TWIST, twist)


@inlined
def beyond(nodes, place, hinge, i, upper, joint_twist):
    """Pose and twist of body i relative to the first body of the cluster `upper` that carries it."""
    R = load9(hinge, i, H_R)
    p = load3(hinge, i, H_P)
    twist = joint_twist
    if nodes[upper, NODE_KIND] == JOIN:
        twist = add6(twist_to_child(R, p, load6(place, upper, PLACE_TWIST)), twist)
        R, p = compose_pose(load9(place, upper, PLACE_R), load3(place, upper, PLACE_P), R, p)
    return R, p, twist


@kernel
def place_body(nodes, tree, body, screws, hinge, q, v, S, place, leaf, out):
    """World pose (12 numbers) and twist in its own frame (6) of one body, from its path."""
    R, p, twist = IDENTITY3, ZERO3, ZERO6
    node = leaf
    up = nodes[node, UP]
    while up >= 0:
        kind = nodes[up, NODE_KIND]
        if kind == HANG or (kind == JOIN and nodes[node, ROLE] != UPPER):
            i = nodes[up, INDEX]
            step, _ = joint_motion(tree, body, screws, i, q, v, S)
            if kind == JOIN:
                Ri, pi, step = beyond(nodes, place, hinge, i, nodes[up, LEFT], step)
            else:
                Ri = load9(hinge, i, H_R)
                pi = load3(hinge, i, H_P)
            twist = add6(twist, twist_to_child(R, p, step))
            R, p = compose_pose(Ri, pi, R, p)
        node = up
        up = nodes[node, UP]
    for k in range(9):
        out[k] = R[k]
    for k in range(3):
        out[9 + k] = p[k]
    for k in range(6):
        out[12 + k] = twist[k]
