"""The active region: which joints move until the next update, and everything that follows from a change of it.

An update asks the acceleration metric of the fully articulated linkage for the joints that matter (the transient region),
looks at the velocities they would have, keeps what the tolerance or the number of joints asks for, stops what leaves by
impulses, and gives nodes that became rigid their inertia, columns and root. Theory: docs/theory/adaptive_dynamics.md.
"""

from typing import NamedTuple

from linkwork.adaptive.dynamics.articulated_metric import assemble_opened, expand_metric, solve_opened
from linkwork.adaptive.dynamics.hybrid import (
    express_world_loads,
    is_active,
    refresh_joint_motion,
    relative_motion_leaf_to_root,
    twists_root_to_leaf,
)
from linkwork.adaptive.dynamics.locking import carries_joint, lock_leaving
from linkwork.adaptive.dynamics.momentum import gather_momentum
from linkwork.adaptive.dynamics.rigid_nodes import lower_pose, prepare_front, refresh_composite
from linkwork.adaptive.dynamics.workspace import (
    ACTIVE,
    ACTIVE_COUNT,
    CHANGE_COUNT,
    CHOSEN,
    FRONT_COUNT,
    OPEN,
    READY,
    RENEW,
    STALE,
    TOUCHED,
    FloatArray,
    IntArray,
)
from linkwork.adaptive.frontier import open_node, pop, push, sort_open
from linkwork.adaptive.measures import (
    ABSOLUTE_LINKAGE,
    CLOSE_FRACTION,
    NO_LIMIT,
    RELATIVE_JOINT,
    RELATIVE_LINKAGE,
)
from linkwork.adaptive.metric.moving_factor import update_moving_root
from linkwork.adaptive.metric.velocity_columns import update_columns
from linkwork.adaptive.quasi_statics.workspace import (
    HEAP_COUNT,
    JOINT_COUNT,
    LOAD_COUNT,
    MAX_JOINT,
    MAX_QUEUE,
    OPEN_COUNT,
    SORTED_COUNT,
    SUM_JOINT,
    SUM_QUEUE,
)
from linkwork.assembly.plan import HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, UP
from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.layout import DOF, FREE, KIND, PARENT, V
from linkwork.spatial.memory import store3, store6, store9
from linkwork.spatial.rotations import IDENTITY3, ZERO3
from linkwork.spatial.vectors import ZERO6, compose_pose

# With a number of joints given, so many more are computed than may be active: where loads move to, the region can follow.
NEWCOMERS = 0.25
LEAST_NEWCOMERS = 4
ROOM = 0.7  # of a tolerance on a sum is spent on what stays closed, the rest on what closes


class Queue(NamedTuple):
    """What `push` and `pop` of `best_first` read, keyed by the velocity metric."""

    heap: IntArray
    value: FloatArray
    tally: IntArray


# ------------------------------------------------------------------------------------------------------------------ choice


@inlined
def is_counted(plan, mechanism, node):
    """Whether a node's joint counts: one that can move, and is not the base of a floating figure."""
    if not carries_joint(plan, node):
        return False
    i = plan.nodes[node, INDEX]
    tree = mechanism.tree
    return tree[i, DOF] > 0 and not (tree[i, KIND] == FREE and tree[i, PARENT] < 0)


@routine
def count_opened(plan, mechanism, live):
    count = 0
    for k in range(live.tally[OPEN_COUNT]):
        if is_counted(plan, mechanism, live.opened[k]):
            count += 1
    return count


@routine
def sum_over_subtrees(plan, mechanism, live, horizon):
    """Own parts of both metrics → sums over subtrees. Velocities: after `horizon` seconds, were all joints free."""
    for k in range(live.tally[OPEN_COUNT]):
        node = live.opened[k]
        speed = 0.0
        if carries_joint(plan, node):
            i = plan.nodes[node, INDEX]
            j = mechanism.tree[i, V]
            for d in range(mechanism.tree[i, DOF]):
                x = live.v[j + d] + horizon * live.metric_qdd[j + d]
                speed += mechanism.velocity_weight[j + d] * x * x
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0:
                live.value[node] += live.value[child]
                if live.flag[child] & OPEN:
                    speed += live.speed[child]
        live.speed[node] = speed


@inlined
def hidden_limit(live, measure, tolerance):
    """What a rigid node may hide of the acceleration metric, squared."""
    limit = tolerance * tolerance
    if measure == RELATIVE_JOINT:
        limit *= live.figure[MAX_JOINT]
    elif measure == RELATIVE_LINKAGE:
        limit *= live.figure[SUM_JOINT] + live.figure[SUM_QUEUE]
    if is_summed(measure):  # every open node may close: their sum, and what the frontier hides, must stay within
        limit = max(0.0, limit - live.figure[SUM_QUEUE]) / (1 + live.tally[OPEN_COUNT])
    return limit


@inlined
def is_summed(measure):
    return measure == ABSOLUTE_LINKAGE or measure == RELATIVE_LINKAGE


@inlined
def matters(live, node, limit, horizon):
    """Whether a node moves, or would begin to, by more than may be hidden; what is active stays so down to a fraction."""
    if is_active(live, node):
        limit *= CLOSE_FRACTION * CLOSE_FRACTION
    return live.value[node] > limit or live.speed[node] > limit * horizon * horizon


@routine
def choose_by_tolerance(plan, live, limit, horizon):
    for k in range(live.tally[OPEN_COUNT] - 1, -1, -1):
        node = live.opened[k]
        up = plan.nodes[node, UP]
        if up >= 0 and live.flag[up] & CHOSEN == 0:
            continue
        if live.keep[node] > 0 or matters(live, node, limit, horizon):
            live.flag[node] |= CHOSEN


@routine
def choose_by_number(plan, mechanism, live, limit, horizon, most):
    """The same, fastest subtrees first, until `most` joints are chosen; what the user wants active comes before all.

    One that is not active yet must be faster by a factor to take the place of one that is, against flapping.
    """
    queue = Queue(live.heap, live.speed, live.tally)
    queue.tally[HEAP_COUNT] = 0
    chosen = 0
    for k in range(live.tally[OPEN_COUNT] - 1, -1, -1):
        node = live.opened[k]
        up = plan.nodes[node, UP]
        if not is_active(live, node):
            live.speed[node] *= CLOSE_FRACTION
        if live.keep[node] > 0:
            live.flag[node] |= CHOSEN
            chosen += 1 if is_counted(plan, mechanism, node) else 0
        elif up < 0 or live.flag[up] & CHOSEN:
            push(queue, node)
    while queue.tally[HEAP_COUNT] > 0:
        node = pop(queue)
        if not matters(live, node, limit, horizon):
            continue
        counted = is_counted(plan, mechanism, node)
        if counted and chosen >= most:
            continue
        chosen += 1 if counted else 0
        live.flag[node] |= CHOSEN
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0 and live.flag[child] & OPEN and live.flag[child] & CHOSEN == 0:
                push(queue, child)


@routine
def sum_up_hidden(plan, live):
    """What the rigid nodes below the chosen region hide of the acceleration metric: the proven bound."""
    total = 0.0
    largest = 0.0
    whole = 0.0
    for k in range(live.tally[OPEN_COUNT]):
        node = live.opened[k]
        if plan.nodes[node, UP] < 0:
            whole = live.value[node]
            if live.flag[node] & CHOSEN == 0:
                total = whole
                largest = whole
        if live.flag[node] & CHOSEN:
            for side in (LEFT, RIGHT):
                child = plan.nodes[node, side]
                if child >= 0 and live.flag[child] & CHOSEN == 0:
                    total += live.value[child]
                    largest = max(largest, live.value[child])
    live.figure[SUM_QUEUE] = total
    live.figure[MAX_QUEUE] = largest
    live.figure[SUM_JOINT] = max(0.0, whole - total)


# ------------------------------------------------------------------------------------------------------------ consequences


@routine
def apply_choice(plan, mechanism, c, hybrid, live):
    """Makes the CHOSEN nodes the active region; returns a body that failed, or -1."""
    bad = lock_leaving(plan, mechanism, c, hybrid, live)
    if bad >= 0:
        return bad
    kept = 0
    active = 0
    for k in range(live.tally[OPEN_COUNT]):
        node = live.opened[k]
        flag = live.flag[node]
        if (flag & ACTIVE == 0) != (flag & CHOSEN == 0) and is_counted(plan, mechanism, node):
            live.tally[CHANGE_COUNT] += 1
        if flag & CHOSEN:
            live.flag[node] = OPEN | ACTIVE | STALE
            live.active[active] = node
            active += 1
            live.opened[kept] = node
            kept += 1
            continue
        if flag & STALE:
            store6(live.relative, node, 0, ZERO6)
            refresh_composite(plan, mechanism, c, live, node)
            flag &= 255 - READY
        if live.pin[node] > 0:
            live.flag[node] = (flag & READY) | OPEN | STALE
            live.opened[kept] = node
            kept += 1
            continue
        if flag & STALE:
            update_columns(plan, mechanism, c, live.wrench, node)
            update_moving_root(plan, mechanism, c, node)
        live.flag[node] = flag & READY
    live.tally[OPEN_COUNT] = kept
    live.tally[SORTED_COUNT] = kept
    live.tally[ACTIVE_COUNT] = active
    find_front(plan, c, hybrid, live)
    attach_loads(plan, c, live)
    refresh_motion(plan, mechanism, c, live)
    return -1


@routine
def find_front(plan, c, hybrid, live):
    """Lists the rigid nodes right below the active region, and makes them single bodies to it."""
    count = 0
    for k in range(live.tally[ACTIVE_COUNT]):
        node = live.active[k]
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0 and not is_active(live, child):
                live.front[count] = child
                count += 1
                if live.flag[child] & READY == 0:
                    prepare_front(plan, c, hybrid, child)
                    live.flag[child] |= READY
    live.tally[FRONT_COUNT] = count


@routine
def attach_loads(plan, c, live):
    """Finds the rigid node (or active body) each world load acts on, and where on it."""
    for k in range(live.tally[LOAD_COUNT]):
        store6(live.force, live.load_front[k], 0, ZERO6)
    for k in range(live.tally[LOAD_COUNT]):
        node = live.leaf[live.load_body[k]]
        R, p = IDENTITY3, ZERO3
        while not is_active(live, node) and plan.nodes[node, UP] >= 0 and not is_active(live, plan.nodes[node, UP]):
            up = plan.nodes[node, UP]
            kind = plan.nodes[up, NODE_KIND]
            if kind == HANG or (kind == JOIN and plan.nodes[up, RIGHT] == node):
                Ru, pu = lower_pose(plan.nodes, up, c.hinge, c.place)
                R, p = compose_pose(Ru, pu, R, p)
            node = up
        live.load_front[k] = node
        store9(live.load_pose, k, 0, R)
        store3(live.load_pose, k, 9, p)


@routine
def refresh_motion(plan, mechanism, c, live):
    """Poses, velocities, momentum and inertia of the active nodes at the present state."""
    relative_motion_leaf_to_root(plan, c, live)
    twists_root_to_leaf(plan, c, live, live.active, live.tally[ACTIVE_COUNT])
    gather_momentum(plan, mechanism, c, live)


@routine
def update_active_region(plan, mechanism, c, hybrid, live, measure, tolerance, most, horizon):
    """One update; returns a body that failed, or -1."""
    express_world_loads(plan, c, live)
    bad = assemble_opened(plan, mechanism, c, live)
    if bad >= 0:
        return bad
    solve_opened(plan, mechanism, c, live)
    budget = NO_LIMIT
    if most < NO_LIMIT:
        missing = 0
        if most > 0:
            missing = max(most - count_opened(plan, mechanism, live), int(NEWCOMERS * most), LEAST_NEWCOMERS)
        budget = live.tally[JOINT_COUNT] + missing
    # A sum over all parts needs room for the parts that are to close.
    expand_metric(plan, mechanism, c, live, measure, ROOM * tolerance if is_summed(measure) else tolerance, budget)
    sort_open(live.opened, live.heap[live.tally[HEAP_COUNT] :], live.tally)
    limit = hidden_limit(live, measure, tolerance)
    sum_over_subtrees(plan, mechanism, live, horizon)
    if most == NO_LIMIT:
        choose_by_tolerance(plan, live, limit, horizon)
    else:
        choose_by_number(plan, mechanism, live, limit, horizon, most)
    sum_up_hidden(plan, live)
    return apply_choice(plan, mechanism, c, hybrid, live)


# --------------------------------------------------------------------------------------------------------------- beginning


@kernel
def open_moving(plan, mechanism, live):
    """At the beginning every joint that moves is active, and so is the base of every floating figure."""
    tree = mechanism.tree
    for i in range(tree.shape[0]):
        moving = tree[i, KIND] == FREE and tree[i, PARENT] < 0
        for d in range(tree[i, DOF]):
            moving = moving or live.v[tree[i, V] + d] != 0.0
        node = plan.joint[i]
        while moving and node >= 0 and live.flag[node] & CHOSEN == 0:
            open_node(live, node)
            live.flag[node] |= CHOSEN
            node = plan.nodes[node, UP]
    live.tally[HEAP_COUNT] = 0
    sort_open(live.opened, live.heap, live.tally)


@kernel
def keep_path(plan, live, node, wish):
    """Adds `wish` (1 or -1) to what keeps the path of a node active, and opens it for the next update."""
    while node >= 0:
        open_node(live, node)
        live.keep[node] += wish
        node = plan.nodes[node, UP]


@kernel
def touch_region_path(plan, live, node, pin):
    """Something changed at a node: its path is renewed before the next step, and assembled anew at the next update.

    pin: 1 when a world load begins to act there, -1 when one ends.
    """
    live.tally[TOUCHED] = 1
    while node >= 0:
        open_node(live, node)
        live.flag[node] |= STALE | RENEW
        live.pin[node] += pin
        node = plan.nodes[node, UP]


@routine
def renew_touched(plan, mechanism, c, live):
    """Efforts of joints and inertias and wrenches of rigid nodes that were touched, and where loads act."""
    live.tally[TOUCHED] = 0
    live.tally[HEAP_COUNT] = 0
    sort_open(live.opened, live.heap, live.tally)
    for k in range(live.tally[OPEN_COUNT]):
        node = live.opened[k]
        if live.flag[node] & RENEW:
            live.flag[node] &= 255 - RENEW
            if carries_joint(plan, node):
                refresh_joint_motion(mechanism, c, live, plan.nodes[node, INDEX])
            if not is_active(live, node):
                refresh_composite(plan, mechanism, c, live, node)
    attach_loads(plan, c, live)
    refresh_motion(plan, mechanism, c, live)
