"""The moving linkage, gathered: joints and groups, the loads, floating trees and loops on them."""

from linkwork.adaptive.dynamics.reduced.reduced import (
    GROUPS,
    ROWS_OF_CONSTRAINED_BODIES,
    WORLD,
    copy_joints,
    has_group,
    joint_pose,
    list_joints,
    load_pose,
    reduced_of,
)
from linkwork.adaptive.dynamics.reduced.rigid_groups import find_last_bodies, place_nodes
from linkwork.adaptive.nodes import is_active
from linkwork.adaptive.workspace import LOAD_COUNT, P_P, P_R, coefficients_of, mechanism_of, plan_of, run_of
from linkwork.assembly.node_table import HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, UP
from linkwork.core.bundles import set_rows
from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.layout import DOF, PARENT, Q, V
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_COLUMNS
from linkwork.simulation.loading.motor_law import MOTOR_COLUMNS
from linkwork.simulation.momentum.momentum import keep_present_momentum
from linkwork.simulation.moving import COMPOSITES_READY, LINKAGE, LOADS, POTENTIAL_OFFSET, moving_of
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import IDENTITY3, ZERO3, add3, matvec3
from linkwork.spatial.vectors import compose_pose, scale6, wrench_to_child, wrench_to_parent


@routine
def body_in_group(plan, c, run, reduced, body):
    """Group in which a body stands, and its pose there: up to the rigid node right below the active region."""
    nodes = plan.nodes
    node = plan.leaf[body]
    R, p = IDENTITY3, ZERO3
    while not is_active(run, node) and nodes[node, UP] >= 0 and not is_active(run, nodes[node, UP]):
        up = nodes[node, UP]
        kind = nodes[up, NODE_KIND]
        if kind == HANG or (kind == JOIN and nodes[up, RIGHT] == node):
            Ri, pi = joint_pose(c, nodes[up, INDEX])
            if kind == JOIN:
                left = nodes[up, LEFT]
                Ri, pi = compose_pose(load9(c.composite, left, P_R), load3(c.composite, left, P_P), Ri, pi)
            R, p = compose_pose(Ri, pi, R, p)
        node = up
    Rn, pn = load_pose(reduced.pose, node)
    R, p = compose_pose(Rn, pn, R, p)
    return reduced.group[node], R, p


@routine
def gather_loads(table, plan, c, run, reduced):
    """Loads held by the world, on the groups of their bodies."""
    s = moving_of(table)
    count = 0
    for k in range(run.counts[LOAD_COUNT]):
        group, R, p = body_in_group(plan, c, run, reduced, run.load_body[k])
        if group == WORLD:
            continue
        for e in range(LOAD_COLUMNS):
            s.load[count, e] = run.load[k, e]
        store3(s.load, count, LOAD_AT, add3(matvec3(R, load3(run.load, k, LOAD_AT)), p))
        s.load_body[count] = group
        count += 1
    s.counts[LOADS] = count


@routine
def gather_trees(table, reduced):
    """Bases of floating trees, and the tree of each group. A base on a planar joint may be inactive: its tree is held.

    One that moves again begins with the momentum that its tree has then.
    """
    s = moving_of(table)
    are_known = True
    for r in range(s.tree.shape[0]):
        s.tree_of[r] = -1
    for t in range(s.base.shape[0]):
        i, was_held = reduced.base[t], s.base[t] < 0
        s.base[t] = reduced.number[i] if has_group(reduced, i) else -1
        if s.base[t] >= 0:
            s.tree_of[s.base[t]] = t
            are_known = are_known and not was_held
    for r in range(s.tree.shape[0]):
        if s.tree[r, PARENT] >= 0:
            s.tree_of[r] = s.tree_of[s.tree[r, PARENT]]
    if not are_known:
        keep_present_momentum(table)


@routine
def gather_loops(table, plan, c, run, reduced):
    """Ends of loops on the groups of their bodies. A loop inside one group stays: its rows respond to nothing, and count as
    redundant."""
    x = constraints_of(table)
    listed = x.constrained_bodies
    count = 0
    for k in range(x.ends.shape[0]):
        for side in range(2):
            body = reduced.loop_ends[k, side]
            group = WORLD
            R, p = IDENTITY3, ZERO3
            if body >= 0:
                group, R, p = body_in_group(plan, c, run, reduced, body)
            Rf = load9(reduced.loop_frames, k, 12 * side)
            pf = load3(reduced.loop_frames, k, 12 * side + 9)
            R, p = compose_pose(R, p, Rf, pf)
            store9(x.frames, k, 12 * side, R)
            store3(x.frames, k, 12 * side + 9, p)
            x.ends[k, side] = group
            number = WORLD
            if group != WORLD:
                number = count
                for m in range(count):
                    if listed[m] == group:
                        number = m
                if number == count:
                    count += 1
                    set_rows(table, ROWS_OF_CONSTRAINED_BODIES, count)
                    listed = constraints_of(table).constrained_bodies  # as long as it is now
                    listed[number] = group
            x.end_body[k, side] = number
    set_rows(table, ROWS_OF_CONSTRAINED_BODIES, count)


@inlined
def gather_couplings(table, mechanism, run, reduced):
    """Joints of couplings as joints of the moving linkage; one that does not move counts with the coordinate it has."""
    s = moving_of(table)
    x = constraints_of(table)
    tree = mechanism.tree
    for k in range(x.offset.shape[0]):
        x.offset[k] = reduced.offset[k]
        for e in range(x.coupled_first[k], x.coupled_first[k + 1]):
            i = reduced.coupled_body[e]
            if has_group(reduced, i):
                r = reduced.number[i]
                x.coupled_body[e] = r
                x.coupled_freedom[e] = s.tree[r, V] + reduced.coupled_freedom[e] - tree[i, V]
                x.coupled_place[e] = s.tree[r, Q] + reduced.coupled_place[e] - tree[i, Q]
            else:
                x.coupled_body[e] = WORLD
                x.offset[k] -= x.coefficient[e] * run.q[reduced.coupled_place[e]]
    for j in range(x.push.shape[0]):
        x.push[j] = 0.0


@inlined
def express_coupling_forces(c, run, reduced, x):
    """Efforts of couplings at the last step as wrenches on the bodies of their joints: loads of the next update.

    A wrench along the joint's motion acts on the body that the joint carries, its opposite on the parent; on the joint it
    is the effort. They stand behind those of loops, parent and body of each joint.
    """
    for k in range(x.offset.shape[0]):
        for e in range(x.coupled_first[k], x.coupled_first[k + 1]):
            T = scale6(x.coupling[k] * x.coefficient[e], load6(reduced.coupled_dual, e, 0))
            row = 2 * (x.ends.shape[0] + e)
            R, p = joint_pose(c, reduced.coupled_body[e])
            store6(run.loop_wrench, row, 0, scale6(-1.0, wrench_to_parent(R, p, T)))
            store6(run.loop_wrench, row + 1, 0, T)


@routine
def express_loop_forces(table, plan, c, run, reduced):
    """Wrenches of loops at the last step, on groups → on the bodies at their ends: loads of the next update."""
    x = constraints_of(table)
    for k in range(x.ends.shape[0]):
        for side in range(2):
            if reduced.loop_ends[k, side] >= 0:
                _, R, p = body_in_group(plan, c, run, reduced, reduced.loop_ends[k, side])
                store6(run.loop_wrench, 2 * k + side, 0, wrench_to_child(R, p, load6(x.loop_wrenches, k, 6 * side)))
    express_coupling_forces(c, run, reduced, x)


@kernel
def renew_acting(table, moving):
    """Efforts and motors of the joints that move, and loads held by the world, where nothing else has changed.

    Cost: O(active joints + loads log n).
    """
    gather_acting(moving, plan_of(table), mechanism_of(table), coefficients_of(table), run_of(table), reduced_of(table))


@routine
def gather_acting(table, plan, mechanism, c, run, reduced):
    """What acts on a moving linkage that is the same as before: loads, efforts and motors."""
    tree = mechanism.tree
    gather_loads(table, plan, c, run, reduced)
    s = moving_of(table)
    for r in range(reduced.counts[GROUPS]):
        i = reduced.joint[r]
        for d in range(s.tree[r, DOF]):
            j, source = s.tree[r, V] + d, tree[i, V] + d
            s.effort[j] = run.effort[source]
            for e in range(MOTOR_COLUMNS):
                s.motor[j, e] = run.motor[source, e]


@routine
def gather(table, plan, mechanism, c, run, reduced):
    """Writes the moving linkage of the present region and state into the arrays of `table`."""
    differs = list_joints(plan, mechanism, run, reduced)
    copy_joints(table, mechanism, run, reduced)
    find_last_bodies(plan, mechanism, c, run, reduced)
    potential = place_nodes(table, plan, mechanism, c, run, reduced)
    gather_loads(table, plan, c, run, reduced)
    gather_trees(table, reduced)
    gather_loops(table, plan, c, run, reduced)
    gather_couplings(table, mechanism, run, reduced)
    s = moving_of(table)
    s.numbers[POTENTIAL_OFFSET] = potential
    s.counts[COMPOSITES_READY] = 0
    if differs:
        s.numbers[LINKAGE] += 1.0
