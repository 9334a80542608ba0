"""Solves that compute every joint: where most joints matter, `aba` finds them all in less time than a tree of nodes does.

A joint in an adaptive solve costs as much as two to four in `aba`. Where solve after solve would have cost less by `aba`,
everything is opened, and `aba` solves in the place of the tree, from the poses and efforts that the tree keeps
of each joint; nothing is hidden then. Coefficients of nodes are left behind, marked as those of any node that moved. From
time to time the accelerations say how many nodes would be open; when these are few, the others close, and the tree goes
on. What is decided depends on counts alone, never on a clock. Theory: docs/theory/adaptive_quasi_statics.md.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.measures import is_summed, squared_limit
from linkwork.adaptive.nodes import carries_joint, copy_joint, refresh_joint
from linkwork.adaptive.quasi_statics.limits import stop_at_limits
from linkwork.adaptive.workspace import (
    Coefficients,
    Mechanism,
    Plan,
    Run,
    coefficients_of,
    mechanism_of,
    plan_of,
    run_of,
)
from linkwork.assembly.node_table import INDEX, LEFT, RIGHT, UP
from linkwork.core.arrays import lazy_zeros
from linkwork.core.bundles import Float2, Int1, reader
from linkwork.core.jit import inlined, routine
from linkwork.dynamics import aba
from linkwork.dynamics.aba import accelerations_root_to_leaf, inertias_leaf_to_root
from linkwork.dynamics.dca.nodes import H_F, H_P, H_R
from linkwork.model.kernels.joint_kernels import joint_integrate
from linkwork.model.layout import DOF, HELICAL, INERTIA, KIND, PARENT, Q, V
from linkwork.simulation.loading.accelerate import load_wrench
from linkwork.spatial.inertia import rigid_as_articulated
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.vectors import ZERO6, compose_pose, scale6

# Entries of `counts` that are free in quasi-statics: whether everything is computed; solves in a row that were dear, or
# that computed everything; solves after which the accelerations are asked again; solves since the tree went on; whether the
# last solve was by `aba`.
IS_EVERYTHING, IN_A_ROW, WAIT, SINCE, BY_ABA = ws.ACTIVE_COUNT, ws.CHANGE_COUNT, ws.UNCHANGED, ws.ACTIVATED, ws.IN_TURN
DEAR_SOLVES = 4  # in a row, until everything is opened
FIRST_WAIT, USUAL_WAIT, LONGEST_WAIT = 8, 64, 512
SOON = 64  # solves: a tree that is dear again after fewer is waited for twice as long
LEAST_JOINTS = 64  # of linkages on which it is worth any thought
BEYOND_CACHES, FAR_BEYOND = 2048, 16_384  # joints of a linkage whose nodes lie in main memory, in part and all of them
# Of a joint in a solve of the tree then, and of a node on the frontier, whose factor is read: in joints of `aba`. By least
# squares over chains and millipedes of 10,000 joints with 800 to 1,200 computed and 460 to 1,090 nodes on the frontier; and
# over chains, molecules and millipedes of 100,000 with 300 to 63,000 computed and 300 to 12,000 there, all within 12 %.
JOINT_NEAR = 3.3  # within the caches: 2.0 to 2.5 on a processor with wide registers, 3.2 to 4 on another
JOINT_THERE, FRONTIER_THERE = 3.0, 8.0
JOINT_FAR, FRONTIER_FAR = 4.3, 12.4
LEAST_SUM = 2.0**-900  # squares below lose digits: such loads are the tree's, which measures in a smaller unit


class Everything(NamedTuple):
    """Memory of `aba`, not touched before it is needed."""

    work: Float2  # (n, 60)
    dof_work: Float2  # (nv, 19)
    world: Float2  # (n, 12)  poses, where loads held by the world act


class Loads(NamedTuple):
    load: Float2
    load_body: Int1
    world: Float2


everything_of = reader(Everything, Plan, Mechanism, Coefficients, Run)


def allocate_everything(bodies: int, freedoms: int) -> Everything:
    return Everything(lazy_zeros(bodies, aba.BODY_WORK), lazy_zeros(freedoms, aba.DOF_WORK), lazy_zeros(bodies, 12))


# ------------------------------------------------------------------------------------------------------------- a solve


@inlined
def hand_over(mechanism, c, run, x, i):
    """What `aba` reads of body i and its joint, all but the bias, which is zero at rest."""
    store9(x.work, i, aba.R_, load9(c.joint_data, i, H_R))
    store3(x.work, i, aba.P_, load3(c.joint_data, i, H_P))
    A, B, C = rigid_as_articulated(load10(mechanism.body, i, INERTIA))
    store6(x.work, i, aba.IA, A)
    store9(x.work, i, aba.IB, B)
    store6(x.work, i, aba.IC, C)
    store6(x.work, i, aba.PA, scale6(-1.0, load6(run.wrench, i, 0)))
    j = mechanism.tree[i, V]
    if mechanism.tree[i, KIND] == HELICAL:
        x.work[i, aba.U_SMALL] = c.effort_sum[j]
    else:
        for d in range(j, j + mechanism.tree[i, DOF]):
            x.dof_work[d, aba.EFFORT_D] = c.effort_sum[d]
            store6(x.dof_work, d, aba.S_D, load6(c.S, d, 0))


@routine
def solve_everything(table, is_handed_over):
    """Accelerations of all joints by `aba`; returns a body that failed, or -1.

    is_handed_over: by the step before, in the same call, as `move_everything` does on its way.
    """
    mechanism = mechanism_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    x = everything_of(table)
    tree = mechanism.tree
    if not is_handed_over:
        for i in range(tree.shape[0]):
            hand_over(mechanism, c, run, x, i)
            store6(x.work, i, aba.BIAS, ZERO6)
    push_from_world(table)
    bad, _ = inertias_leaf_to_root(tree, mechanism.body, mechanism.dof, x.work, x.dof_work)
    if bad < 0:
        accelerations_root_to_leaf(tree, mechanism.body, mechanism.gravity, x.work, x.dof_work, run.qdd)
        add_up(table)
    return bad


@routine
def push_from_world(table):
    """Loads held by the world, in the frames of their bodies, for `aba` and for the next solve of the tree."""
    tree = mechanism_of(table).tree
    c = coefficients_of(table)
    run = run_of(table)
    x = everything_of(table)
    if run.counts[ws.LOAD_COUNT] == 0:
        return
    for i in range(tree.shape[0]):
        R = load9(x.work, i, aba.R_)
        p = load3(x.work, i, aba.P_)
        parent = tree[i, PARENT]
        if parent >= 0:
            R, p = compose_pose(load9(x.world, parent, 0), load3(x.world, parent, 9), R, p)
        store9(x.world, i, 0, R)
        store3(x.world, i, 9, p)
    loads = Loads(run.load, run.load_body, x.world)
    for k in range(run.counts[ws.LOAD_COUNT]):
        i = run.load_body[k]
        store6(c.joint_data, i, H_F, load6(run.wrench, i, 0))
    for k in range(run.counts[ws.LOAD_COUNT]):
        wrench = load_wrench(loads, k)
        add_to6(c.joint_data, run.load_body[k], H_F, wrench)
        add_to6(x.work, run.load_body[k], aba.PA, scale6(-1.0, wrench))


@routine
def add_up(table):
    """Each joint's part of the metric, and their sums: nothing is hidden."""
    mechanism = mechanism_of(table)
    run = run_of(table)
    sums = run.metric_sums
    total = 0.0
    largest = 0.0
    joints = 0
    for i in range(mechanism.tree.shape[0]):
        own = own_part(mechanism, run, i)
        joints += mechanism.tree[i, DOF] > 0
        total += own
        largest = max(largest, own)
    sums[ws.MAX_QUEUE] = 0.0
    sums[ws.SUM_QUEUE] = 0.0
    sums[ws.SUM_JOINT] = total
    sums[ws.MAX_JOINT] = largest
    sums[ws.UNIT] = 1.0
    run.counts[ws.HEAP_COUNT] = 0
    run.counts[ws.JOINT_COUNT] = joints
    run.counts[ws.UPDATED_COUNT] = 0


@inlined
def own_part(mechanism, run, i):
    """What joint i is of the metric."""
    own = 0.0
    j = mechanism.tree[i, V]
    for d in range(j, j + mechanism.tree[i, DOF]):
        own += mechanism.weight[d] * run.qdd[d] * run.qdd[d]
    return own


@routine
def move_everything(table, h, goes_on):
    """q ← q ⊕ ½ h² q̈ for all joints; their nodes are marked already. False, and no step, where it overflows.

    goes_on: another solve of everything follows at once. What it reads of a joint is handed over while it is at hand.
    """
    mechanism = mechanism_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    x = everything_of(table)
    tree = mechanism.tree
    overflow = 0.0
    for i in range(tree.shape[0]):
        copy_joint(tree, i, run.q, run.saved_q)
        if tree[i, KIND] == HELICAL:
            run.q[tree[i, Q]] += 0.5 * h * h * run.qdd[tree[i, V]]
            overflow += 0.0 * run.q[tree[i, Q]]
        else:
            joint_integrate(tree, i, run.q, run.qdd, 0.5 * h * h, run.q)
            for e in range(tree[i, DOF]):  # of a quaternion three of four will do
                overflow += 0.0 * run.q[tree[i, Q] + e]
        stop_at_limits(mechanism, run, i)
        refresh_joint(table, i)
        if goes_on:
            hand_over(mechanism, c, run, x, i)
    return overflow == 0.0


# ------------------------------------------------------------------------------------------------------------ decisions


@inlined
def cost_by_tree(computed, frontier, joints):
    """Of a solve that computes so many joints, with so many nodes right below them, in joints of `aba`."""
    if joints > FAR_BEYOND:
        return JOINT_FAR * computed + FRONTIER_FAR * frontier
    if joints > BEYOND_CACHES:
        return JOINT_THERE * computed + FRONTIER_THERE * frontier
    return JOINT_NEAR * computed


@inlined
def note_cost(table):
    """After a solve of the tree: whether it was dear."""
    run = run_of(table)
    counts = run.counts
    joints = mechanism_of(table).tree.shape[0]
    is_dear = joints >= LEAST_JOINTS and cost_by_tree(counts[ws.JOINT_COUNT], counts[ws.HEAP_COUNT], joints) > joints
    is_dear = is_dear and run.metric_sums[ws.SUM_JOINT] >= LEAST_SUM and counts[ws.HELD_COUNT] == 0
    counts[IN_A_ROW] = counts[IN_A_ROW] + 1 if is_dear else 0
    counts[SINCE] += 1


@routine
def open_if_dear(table):
    """Before a solve, after several that were dear: everything is opened. Returns whether `aba` is to solve."""
    counts = run_of(table).counts
    if counts[IS_EVERYTHING] == 0 and counts[IN_A_ROW] >= DEAR_SOLVES:
        plan = plan_of(table)
        run = run_of(table)
        again = counts[WAIT] > 0 and counts[SINCE] <= SOON
        counts[WAIT] = min(2 * counts[WAIT], LONGEST_WAIT) if again else FIRST_WAIT
        counts[IS_EVERYTHING] = 1
        counts[IN_A_ROW] = 0
        count = plan.nodes.shape[0]
        for node in range(count):
            run.opened[node] = node
            run.flag[node] = ws.OPEN | ws.DIRTY
        counts[ws.OPEN_COUNT] = count
        counts[ws.SORTED_COUNT] = count
    return counts[IS_EVERYTHING] != 0


@inlined
def stays_open(run, node, limit):
    return run.value[node] > limit or run.required_open[node] > 0


@inlined
def needed_nodes(plan, c, run, limit):
    """Nodes with a joint that would stay open, subtrees of which may hide so much; and nodes right below open ones."""
    needed = 0
    frontier = 0
    for node in range(plan.nodes.shape[0]):
        up = plan.nodes[node, UP]
        if stays_open(run, node, limit):
            needed += carries_joint(plan, node)
        elif up >= 0 and c.rows[node] > 0:
            frontier += stays_open(run, up, limit)
    return needed, frontier


@routine
def close_if_cheap(table, measure, tolerance):
    """After a solve of everything, from time to time: marks what the tree would close, where that is most of it."""
    plan = plan_of(table)
    run = run_of(table)
    counts = run.counts
    counts[IN_A_ROW] += 1
    is_tiny = not run.metric_sums[ws.SUM_JOINT] >= LEAST_SUM
    if counts[IN_A_ROW] < counts[WAIT] and not is_tiny:
        return
    counts[IN_A_ROW] = 0
    count = plan.nodes.shape[0]
    mechanism = mechanism_of(table)
    for node in range(count):  # own part and those below, children before parents
        run.value[node] = own_part(mechanism, run, plan.nodes[node, INDEX]) if carries_joint(plan, node) else 0.0
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0:
                run.value[node] += run.value[child]
    limit = squared_limit(measure, run, tolerance)
    c = coefficients_of(table)
    needed, frontier = needed_nodes(plan, c, run, limit)
    if is_summed(measure):  # the limit is shared by the nodes below the open ones, about as many as these
        shared = limit
        for _ in range(3):
            limit = shared / (1.0 + needed)
            needed, frontier = needed_nodes(plan, c, run, limit)
    joints = mechanism.tree.shape[0]
    if cost_by_tree(needed, frontier, joints) > joints and not is_tiny:
        if counts[WAIT] < USUAL_WAIT:  # asking costs a part of a solve
            counts[WAIT] *= 2
        return
    for node in range(count - 1, -1, -1):
        up = plan.nodes[node, UP]
        may_close = run.value[node] <= limit and run.required_open[node] == 0 and up >= 0
        if may_close or (up >= 0 and run.flag[up] & ws.CLOSING and run.required_open[node] == 0):
            run.flag[node] |= ws.CLOSING
    counts[IS_EVERYTHING] = 0
    counts[SINCE] = 0
