"""The active region: which joints move until the next update, and everything that follows from a change of it.

An update asks the acceleration metric of the fully articulated linkage for the joints that matter (the transient region),
looks at the velocities they would have, keeps what the tolerance or the number of joints asks for, stops what leaves by
impulses, and gives nodes that became rigid their inertia, columns and factor. Theory: docs/theory/adaptive_dynamics.md.
"""

import math

from linkwork.adaptive.dynamics.articulated_metric import assemble_opened, expand_metric, solve_opened
from linkwork.adaptive.dynamics.hybrid import (
    express_world_loads,
    refresh_joint_motion,
    relative_motion_leaf_to_root,
    twists_root_to_leaf,
)
from linkwork.adaptive.dynamics.locking import lock_leaving
from linkwork.adaptive.dynamics.momentum import gather_momentum
from linkwork.adaptive.dynamics.rigid_nodes import prepare_front
from linkwork.adaptive.frontier import open_node, pop, push, sort_open
from linkwork.adaptive.measures import CLOSE_FRACTION, NO_LIMIT, is_summed, squared_limit
from linkwork.adaptive.metric.factor import update_factor_in_motion
from linkwork.adaptive.metric.velocity_columns import update_columns
from linkwork.adaptive.nodes import carries_joint, is_active, lower_pose, refresh_composite
from linkwork.adaptive.workspace import (
    ACTIVE,
    ACTIVE_COUNT,
    CHANGE_COUNT,
    CHOSEN,
    FRONT_COUNT,
    HEAP_COUNT,
    JOINT_COUNT,
    LOAD_COUNT,
    MAX_QUEUE,
    OPEN,
    OPEN_COUNT,
    OVERFLOW,
    READY,
    RENEW,
    SORTED_COUNT,
    STALE,
    SUM_JOINT,
    SUM_QUEUE,
    TOUCHED,
    UNIT,
)
from linkwork.assembly.plan import HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, UP
from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.layout import DOF, FREE, KIND, PARENT, V
from linkwork.spatial.memory import store3, store6, store9
from linkwork.spatial.rotations import IDENTITY3, ZERO3
from linkwork.spatial.vectors import ZERO6, compose_pose

# With a number of joints given, this part of it is computed on top, so that the region can follow loads that move.
NEWCOMERS = 0.25
LEAST_NEWCOMERS = 4
ROOM = 0.7  # of a tolerance on a sum is spent on what stays closed, the rest on what closes


# ------------------------------------------------------------------------------------------------------------------ choice


@inlined
def is_counted(plan, mechanism, node):
    """Whether a node's joint counts: one that can move, and is not the base of a floating tree."""
    if not carries_joint(plan, node):
        return False
    i = plan.nodes[node, INDEX]
    tree = mechanism.tree
    return tree[i, DOF] > 0 and not (tree[i, KIND] == FREE and tree[i, PARENT] < 0)


@routine
def count_opened(plan, mechanism, run):
    count = 0
    for k in range(run.counts[OPEN_COUNT]):
        if is_counted(plan, mechanism, run.opened[k]):
            count += 1
    return count


@routine
def sum_over_subtrees(plan, mechanism, run, horizon):
    """Own parts of both metrics → sums over subtrees. Velocities: after `horizon` seconds, were all joints free."""
    for k in range(run.counts[OPEN_COUNT]):
        node = run.opened[k]
        speed = 0.0
        if carries_joint(plan, node):
            i = plan.nodes[node, INDEX]
            j = mechanism.tree[i, V]
            for d in range(mechanism.tree[i, DOF]):
                x = run.v[j + d] + horizon * run.metric_qdd[j + d]
                speed += mechanism.velocity_weight[j + d] * x * x
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0:
                run.value[node] += run.value[child]
                if run.flag[child] & OPEN:
                    speed += run.speed[child]
        run.speed[node] = speed


@inlined
def hidden_limit(run, measure, tolerance):
    """What a rigid node may hide of the acceleration metric, squared."""
    limit = squared_limit(measure, run, tolerance)
    if is_summed(measure):  # every open node may close: their sum, and what the frontier hides, must stay within
        limit = max(0.0, limit - run.metric_sums[SUM_QUEUE]) / (1 + run.counts[OPEN_COUNT])
    return limit


@inlined
def matters(run, node, limit, horizon):
    """Whether a node moves, or would begin to, by more than may be hidden; what is active stays so down to a fraction."""
    if is_active(run, node):
        limit *= CLOSE_FRACTION * CLOSE_FRACTION
    step = horizon / run.metric_sums[UNIT]  # velocities are not in the unit of the metric's sums
    return run.value[node] > limit or run.speed[node] > limit * step * step


@routine
def choose_by_tolerance(plan, run, limit, horizon):
    for k in range(run.counts[OPEN_COUNT] - 1, -1, -1):
        node = run.opened[k]
        up = plan.nodes[node, UP]
        if up >= 0 and run.flag[up] & CHOSEN == 0:
            continue
        if run.wanted[node] > 0 or matters(run, node, limit, horizon):
            run.flag[node] |= CHOSEN


@routine
def choose_by_number(plan, mechanism, run, limit, horizon, most):
    """The same, fastest subtrees first, until `most` joints are chosen; what the user wants active comes before all.

    One that is not active yet must be faster by a factor to take the place of one that is, against flapping.
    """
    run.counts[HEAP_COUNT] = 0
    chosen = 0
    for k in range(run.counts[OPEN_COUNT] - 1, -1, -1):
        node = run.opened[k]
        up = plan.nodes[node, UP]
        if not is_active(run, node):
            run.speed[node] *= CLOSE_FRACTION
        if run.wanted[node] > 0:
            run.flag[node] |= CHOSEN
            chosen += 1 if is_counted(plan, mechanism, node) else 0
        elif up < 0 or run.flag[up] & CHOSEN:
            push(run.heap, run.speed, run.counts, node)
    while run.counts[HEAP_COUNT] > 0:
        node = pop(run.heap, run.speed, run.counts)
        if not matters(run, node, limit, horizon):
            continue
        counted = is_counted(plan, mechanism, node)
        if counted and chosen >= most:
            continue
        chosen += 1 if counted else 0
        run.flag[node] |= CHOSEN
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0 and run.flag[child] & OPEN and run.flag[child] & CHOSEN == 0:
                push(run.heap, run.speed, run.counts, child)


@routine
def sum_up_hidden(plan, run):
    """What the rigid nodes below the chosen region hide of the acceleration metric: the proven bound."""
    total = 0.0
    largest = 0.0
    whole = 0.0
    for k in range(run.counts[OPEN_COUNT]):
        node = run.opened[k]
        if plan.nodes[node, UP] < 0:
            whole = run.value[node]
            if run.flag[node] & CHOSEN == 0:
                total = whole
                largest = whole
        if run.flag[node] & CHOSEN:
            for side in (LEFT, RIGHT):
                child = plan.nodes[node, side]
                if child >= 0 and run.flag[child] & CHOSEN == 0:
                    total += run.value[child]
                    largest = max(largest, run.value[child])
    run.metric_sums[SUM_QUEUE] = total
    run.metric_sums[MAX_QUEUE] = largest
    run.metric_sums[SUM_JOINT] = max(0.0, whole - total)


# ------------------------------------------------------------------------------------------------------------ consequences


@routine
def apply_choice(plan, mechanism, c, hybrid, run):
    """Makes the CHOSEN nodes the active region; returns a body that failed, or -1."""
    bad = lock_leaving(plan, mechanism, c, hybrid, run)
    if bad >= 0:
        return bad
    kept = 0
    active = 0
    for k in range(run.counts[OPEN_COUNT]):
        node = run.opened[k]
        flag = run.flag[node]
        if (flag & ACTIVE == 0) != (flag & CHOSEN == 0) and is_counted(plan, mechanism, node):
            run.counts[CHANGE_COUNT] += 1
        if flag & CHOSEN:
            run.flag[node] = OPEN | ACTIVE | STALE
            run.active[active] = node
            active += 1
            run.opened[kept] = node
            kept += 1
            continue
        if flag & STALE:
            store6(run.relative, node, 0, ZERO6)
            refresh_composite(plan, mechanism, c, run, node, True)
            flag &= 255 - READY
        if run.held_open[node] > 0:
            run.flag[node] = (flag & READY) | OPEN | STALE
            run.opened[kept] = node
            kept += 1
            continue
        if flag & STALE:
            update_columns(plan, mechanism, c, run.wrench, node)
            update_factor_in_motion(plan, mechanism, c, node)
        run.flag[node] = flag & READY
    run.counts[OPEN_COUNT] = kept
    run.counts[SORTED_COUNT] = kept
    run.counts[ACTIVE_COUNT] = active
    find_front(plan, c, hybrid, run)
    attach_loads(plan, c, run)
    refresh_motion(plan, mechanism, c, run)
    return -1


@routine
def find_front(plan, c, hybrid, run):
    """Lists the rigid nodes right below the active region, and makes them single bodies to it."""
    count = 0
    for k in range(run.counts[ACTIVE_COUNT]):
        node = run.active[k]
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0 and not is_active(run, child):
                run.front[count] = child
                count += 1
                if run.flag[child] & READY == 0:
                    prepare_front(plan, c, hybrid, child)
                    run.flag[child] |= READY
    run.counts[FRONT_COUNT] = count


@routine
def attach_loads(plan, c, run):
    """Finds the rigid node (or active body) each world load acts on, and where on it."""
    for k in range(run.counts[LOAD_COUNT]):
        store6(run.force, run.load_front[k], 0, ZERO6)
    for k in range(run.counts[LOAD_COUNT]):
        node = plan.leaf[run.load_body[k]]
        R, p = IDENTITY3, ZERO3
        while not is_active(run, node) and plan.nodes[node, UP] >= 0 and not is_active(run, plan.nodes[node, UP]):
            up = plan.nodes[node, UP]
            kind = plan.nodes[up, NODE_KIND]
            if kind == HANG or (kind == JOIN and plan.nodes[up, RIGHT] == node):
                Ru, pu = lower_pose(plan.nodes, up, c.joint_data, c.composite)
                R, p = compose_pose(Ru, pu, R, p)
            node = up
        run.load_front[k] = node
        store9(run.load_pose, k, 0, R)
        store3(run.load_pose, k, 9, p)


@routine
def refresh_motion(plan, mechanism, c, run):
    """Poses, velocities, momentum and inertia of the active nodes at the present state."""
    relative_motion_leaf_to_root(plan, c, run)
    twists_root_to_leaf(plan, c, run, run.active, run.counts[ACTIVE_COUNT])
    gather_momentum(plan, mechanism, c, run)


@routine
def update_active_region(plan, mechanism, c, hybrid, run, measure, tolerance, most, horizon):
    """One update; returns a body that failed, OVERFLOW or -1."""
    express_world_loads(plan, c, run)
    bad = assemble_opened(plan, mechanism, c, run)
    if bad >= 0:
        return bad
    solve_opened(plan, mechanism, c, run, run.metric_qdd)
    budget = NO_LIMIT
    if most < NO_LIMIT:
        missing = 0
        if most > 0:
            missing = max(most - count_opened(plan, mechanism, run), int(NEWCOMERS * most), LEAST_NEWCOMERS)
        budget = run.counts[JOINT_COUNT] + missing
    # A sum over all parts needs room for the parts that are to close.
    goal = ROOM * tolerance if is_summed(measure) else tolerance
    expand_metric(plan, mechanism, c, run, run.metric_qdd, measure, goal, budget, NO_LIMIT)
    if not run.metric_sums[SUM_JOINT] + run.metric_sums[SUM_QUEUE] < math.inf:
        return OVERFLOW
    sort_open(run.opened, run.heap[run.counts[HEAP_COUNT] :], run.counts)
    limit = hidden_limit(run, measure, tolerance)
    sum_over_subtrees(plan, mechanism, run, horizon)
    if most == NO_LIMIT:
        choose_by_tolerance(plan, run, limit, horizon)
    else:
        choose_by_number(plan, mechanism, run, limit, horizon, most)
    sum_up_hidden(plan, run)
    return apply_choice(plan, mechanism, c, hybrid, run)


# --------------------------------------------------------------------------------------------------------------- beginning


@kernel
def open_moving(plan, mechanism, run):
    """At the beginning every joint that moves is active, and so is the base of every floating tree."""
    tree = mechanism.tree
    for i in range(tree.shape[0]):
        moving = tree[i, KIND] == FREE and tree[i, PARENT] < 0
        for d in range(tree[i, DOF]):
            moving = moving or run.v[tree[i, V] + d] != 0.0
        node = plan.joint[i]
        while moving and node >= 0 and run.flag[node] & CHOSEN == 0:
            open_node(run, node)
            run.flag[node] |= CHOSEN
            node = plan.nodes[node, UP]
    run.counts[HEAP_COUNT] = 0
    sort_open(run.opened, run.heap, run.counts)


@kernel
def want_path(plan, run, node, change):
    """One joint more (change 1) or less (-1) that the user wants active; opens its path for the next update."""
    while node >= 0:
        open_node(run, node)
        run.wanted[node] += change
        node = plan.nodes[node, UP]


@routine
def renew_touched(plan, mechanism, c, run):
    """Efforts of joints and inertias and wrenches of rigid nodes that were touched, and where loads act."""
    run.counts[TOUCHED] = 0
    run.counts[HEAP_COUNT] = 0
    sort_open(run.opened, run.heap, run.counts)
    for k in range(run.counts[OPEN_COUNT]):
        node = run.opened[k]
        if run.flag[node] & RENEW:
            run.flag[node] &= 255 - RENEW
            if carries_joint(plan, node):
                refresh_joint_motion(mechanism, c, run, plan.nodes[node, INDEX])
            if not is_active(run, node):
                refresh_composite(plan, mechanism, c, run, node, True)
    attach_loads(plan, c, run)
    refresh_motion(plan, mechanism, c, run)
