"""Which joints are to move until the next update: what the metrics of accelerations and velocities ask for.

The acceleration metric of the fully articulated linkage says which joints would begin to move (transient region); the
velocity metric, after a horizon, which go on moving. Theory: docs/theory/adaptive_dynamics.md.
"""

import math

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.dynamics.region.articulated_metric import (
    NOTHING,
    assemble,
    assemble_opened,
    expand_metric,
    renew_dirty,
    solve_opened,
)
from linkwork.adaptive.dynamics.region.locked_loops import free_locked_loops
from linkwork.adaptive.dynamics.region.squeezing import keep_squeezing
from linkwork.adaptive.dynamics.region.turns import (
    HAS_TURN,
    NONE,
    end_turn,
    forget_turns,
    is_counted,
    is_resting,
    update_turns,
)
from linkwork.adaptive.frontier import pop, push, sort_open
from linkwork.adaptive.measures import CLOSE_FRACTION, NO_LIMIT, is_summed, squared_limit
from linkwork.adaptive.nodes import carries_joint, is_active
from linkwork.assembly.node_table import INDEX, JOIN, LEFT, NODE_KIND, RIGHT, UP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import HANG_L, JOIN_L, L_N
from linkwork.model.layout import DAMPING, DOF, HELICAL, KIND, STIFFNESS, Q, V
from linkwork.simulation.loading.motor_law import motor_law

# With a number of joints given, some are computed on top, so that the region can follow loads that move: twice as many as
# joined it last time, as many as it takes to reach any joint, but at most this part of the number. That part where contacts
# have begun or broken since.
CANDIDATES = 0.25
LEAST_CANDIDATES = 4
MANY = 1 << 30  # in the place of how many joined
ROOM = 0.7  # of a tolerance on a sum is spent on what stays closed, the rest on what closes


# Entries of `settings`, by which an update chooses, in this order.
# PASSES: the bound of this update is not measured: another one follows before anyone can ask for it, or it is found when
# that happens. TIMEOUT: BREAK_TIMEOUT and UPDATE_TIMEOUT of contacts.
# STEPPED: steps were made since the last update. IN_CONTACT: something touches. What would move were all joints free
# and nothing there to hold it gets no turn then: a chain that lies on a table would never come to rest.
# EVALUATIONS: of accelerations until the next update, where all joints may be active if that costs less; 0 where not.
# READY: what ASSEMBLE has left to do: everything; nothing; all biases, for loads are others and opened nodes; or
# biases of nodes that are DIRTY.
# CLOSED: nodes that may get columns and factor. WAITING: how many were left for later, written by the update.
# ASKED: whether updates between steps measure their bound while something touches; see `updates`.
# LATER: an update that has to measure its bound once more leaves that, and what follows, to FINISH. PENDING: it did.
MEASURE, TOLERANCE, MOST, HORIZON, WANTS_ALL, PASSES, TIMEOUT, STEPPED, IN_CONTACT, EVALUATIONS = range(10)
READY, CLOSED, WAITING, ASKED, LATER, PENDING = range(10, 16)
SETTINGS = 16
ALL_AT_ONCE = 2.0**62  # in the place of CLOSED
NOT_READY, ALL_READY, MATRICES_READY, ALL_BUT_DIRTY = range(4)  # values of READY


@inlined
def levels(plan):
    """Nodes from the root of the assembly tree to a joint, about."""
    found = 0
    while (1 << found) < plan.joint.shape[0]:
        found += 1
    return found


@routine
def count_opened(plan, mechanism, run):
    count = 0
    for k in range(run.counts[ws.OPEN_COUNT]):
        if is_counted(plan, mechanism, run.opened[k]):
            count += 1
    return count


@inlined
def velocity_ahead(plan, mechanism, c, run, node, i, d, horizon):
    """Velocity of a coordinate after `horizon` seconds, were all joints free (4).

    Springs, dampers and motors of a joint of one freedom act as they will then, as they do in steps; without that a light
    joint with a damper seems to reach a speed at which the damper would long hold it.
    """
    j = mechanism.tree[i, V] + d
    v = run.v[j]
    acceleration = run.metric_qdd[j]
    if mechanism.tree[i, KIND] == HELICAL:
        q = run.q[mechanism.tree[i, Q]]
        _, stiffness, damping = motor_law(run.motor, mechanism.effort_limit, mechanism.velocity_limit, j, q, v, 0.0, v)
        stiffness += mechanism.dof[j, STIFFNESS]
        damping += mechanism.dof[j, DAMPING]
        o = plan.block[node] + (JOIN_L if plan.nodes[node, NODE_KIND] == JOIN else HANG_L)
        n = c.node_data[o + L_N]
        added_inertia = n * horizon * (damping + horizon * stiffness)
        acceleration = (acceleration - n * horizon * stiffness * v) / (1.0 + added_inertia)
    return v + horizon * acceleration


@routine
def find_speeds(plan, mechanism, c, run, horizon):
    """Own parts of the velocity metric of open nodes: after `horizon` seconds, were all joints free."""
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        speed = 0.0
        if carries_joint(plan, node):
            i = plan.nodes[node, INDEX]
            j = mechanism.tree[i, V]
            for d in range(mechanism.tree[i, DOF]):
                x = velocity_ahead(plan, mechanism, c, run, node, i, d, horizon)
                speed += mechanism.velocity_weight[j + d] * x * x
        run.speed[node] = speed


@routine
def sum_over_subtrees(plan, run):
    """Own parts of both metrics → sums over subtrees."""
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0:
                run.value[node] += run.value[child]
                if run.flag[child] & ws.OPEN:
                    run.speed[node] += run.speed[child]


@inlined
def hidden_limit(run, measure, tolerance):
    """What a rigid node may hide of the acceleration metric, squared."""
    limit = squared_limit(measure, run, tolerance)
    if is_summed(measure):  # every open node may close: their sum, and what the frontier hides, must stay within
        limit = max(0.0, limit - run.metric_sums[ws.SUM_QUEUE]) / (1 + run.counts[ws.OPEN_COUNT])
    return limit


@inlined
def matters(run, node, speed, limit, horizon):
    """Whether a node moves, or would begin to, by more than may be hidden; what is active stays so down to a fraction."""
    if is_active(run, node):
        limit *= CLOSE_FRACTION * CLOSE_FRACTION
    step = horizon / run.metric_sums[ws.UNIT]  # velocities are not in the unit of the metric's sums
    return run.value[node] > limit or speed > limit * step * step


@routine
def choose_by_tolerance(plan, run, limit, horizon):
    for k in range(run.counts[ws.OPEN_COUNT] - 1, -1, -1):
        node = run.opened[k]
        up = plan.nodes[node, UP]
        if up >= 0 and run.flag[up] & ws.CHOSEN == 0:
            continue
        if run.wanted[node] > 0 or matters(run, node, run.speed[node], limit, horizon):
            run.flag[node] |= ws.CHOSEN


@routine
def choose_wanted(plan, mechanism, run, most):
    """What comes before all: what the user wants active, then joints that have a turn; what may follow goes on the heap.

    Joints on the way to a turn wait, unless there is room for them later. Returns how many were chosen.
    """
    handicap = CLOSE_FRACTION * CLOSE_FRACTION  # a power of two
    run.counts[ws.HEAP_COUNT] = 0
    chosen = 0
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        if run.wanted[node] > 0 and is_counted(plan, mechanism, node):
            chosen += 1
    for k in range(run.counts[ws.OPEN_COUNT] - 1, -1, -1):
        node = run.opened[k]
        up = plan.nodes[node, UP]
        if not is_active(run, node):
            run.speed[node] *= handicap
        counted = is_counted(plan, mechanism, node)
        if counted:
            i = plan.nodes[node, INDEX]
            run.waits[i] = 0
            if run.turns[i, ws.TURN] == HAS_TURN and run.wanted[node] == 0:
                if chosen < most:
                    chosen += 1
                    run.flag[node] |= ws.CHOSEN
                    continue
                end_turn(plan, run, i, NONE)  # the number was made smaller
        if run.wanted[node] > 0:
            run.flag[node] |= ws.CHOSEN
            continue
        if run.called[node] > 0:
            run.flag[node] |= ws.CHOSEN
            if not counted:
                continue
            run.waits[plan.nodes[node, INDEX]] = 1
        if up < 0 or run.flag[up] & ws.CHOSEN:
            push(run.heap, run.speed, run.counts, node)
    return chosen


@routine
def choose_by_number(plan, mechanism, run, limit, horizon, most):
    """The same, fastest subtrees first, until `most` joints are chosen; what the user wants active comes before all.

    One that is not active yet must be four times as fast to take the place of one that is, against flapping. Joints that
    have settled let others below them move, and move only where there is room.
    """
    handicap = CLOSE_FRACTION * CLOSE_FRACTION  # a power of two
    chosen = choose_wanted(plan, mechanism, run, most)
    while run.counts[ws.HEAP_COUNT] > 0:
        node = pop(run.heap, run.speed, run.counts)
        speed = run.speed[node] if is_active(run, node) else run.speed[node] / handicap
        if not matters(run, node, speed, limit, horizon):
            continue
        counted = is_counted(plan, mechanism, node)
        if counted and chosen >= most:
            continue
        is_on_the_way = run.flag[node] & ws.CHOSEN != 0
        run.flag[node] |= ws.CHOSEN
        if counted:
            i = plan.nodes[node, INDEX]
            run.waits[i] = 1 if is_resting(run, i) and speed > 0.0 else 0
            chosen += 1 - run.waits[i]
        if is_on_the_way:
            continue
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0 and run.flag[child] & ws.OPEN and run.flag[child] & ws.CHOSEN == 0:
                push(run.heap, run.speed, run.counts, child)
    use_room(plan, mechanism, run, most - chosen)


@routine
def use_room(plan, mechanism, run, room):
    """Waiting joints with nothing active below them leave the choice; others of them move where there is room."""
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        if run.flag[node] & ws.CHOSEN == 0 or not is_counted(plan, mechanism, node):
            continue
        i = plan.nodes[node, INDEX]
        if run.waits[i] == 0:
            continue
        below = False
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            below = below or (child >= 0 and run.flag[child] & ws.CHOSEN != 0)
        if not below:
            run.waits[i] = 0
            run.flag[node] &= 255 - ws.CHOSEN
    for k in range(run.counts[ws.OPEN_COUNT] - 1, -1, -1):
        node = run.opened[k]
        if room <= 0:
            break
        if run.flag[node] & ws.CHOSEN and is_counted(plan, mechanism, node) and run.waits[plan.nodes[node, INDEX]] != 0:
            run.waits[plan.nodes[node, INDEX]] = 0
            room -= 1


@inlined
def own_part(plan, mechanism, run, node):
    """The acceleration metric of a node's own joint."""
    i = plan.nodes[node, INDEX]
    j = mechanism.tree[i, V]
    own = 0.0
    for d in range(mechanism.tree[i, DOF]):
        x = run.metric_sums[ws.UNIT] * run.metric_qdd[j + d]
        own += mechanism.weight[j + d] * x * x
    return own


@routine
def sum_up_hidden(plan, mechanism, run, region):
    """What rigid nodes below a region and joints that wait hide of the acceleration metric: the proven bound.

    region: the flag of its nodes, CHOSEN or ACTIVE.
    """
    total = 0.0
    largest = 0.0
    root_value = 0.0
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        if plan.nodes[node, UP] < 0:
            root_value = run.value[node]
            if run.flag[node] & region == 0:
                total = root_value
                largest = root_value
        if run.flag[node] & region:
            if carries_joint(plan, node) and run.waits[plan.nodes[node, INDEX]] != 0:
                own = own_part(plan, mechanism, run, node)
                total += own
                largest = max(largest, own)
            for side in (LEFT, RIGHT):
                child = plan.nodes[node, side]
                if child >= 0 and run.flag[child] & region == 0:
                    total += run.value[child]
                    largest = max(largest, run.value[child])
    run.metric_sums[ws.SUM_QUEUE] = total
    run.metric_sums[ws.MAX_QUEUE] = largest
    run.metric_sums[ws.SUM_JOINT] = max(0.0, root_value - total)


@routine
def choose(plan, mechanism, c, run, reduced, settings):
    """Marks the nodes that are to be active as CHOSEN; returns a body that failed, OVERFLOW or -1."""
    measure = int(settings[MEASURE])
    tolerance = settings[TOLERANCE]
    most = int(settings[MOST])
    ready = settings[READY]
    if ready == ALL_BUT_DIRTY:
        renew_dirty(plan, mechanism, c, run)
    elif ready != ALL_READY:
        bad = assemble_opened(plan, mechanism, c, run, ws.ACTIVE | ws.REBUILD if ready == NOT_READY else ws.REBUILD)
        if bad >= 0:
            return bad
    solve_opened(plan, mechanism, c, run, run.metric_qdd)
    budget = NO_LIMIT
    if most < NO_LIMIT:
        missing = 0
        if most > 0:
            candidates = min(max(2 * run.counts[ws.ACTIVATED], levels(plan)), int(CANDIDATES * most))
            candidates = max(candidates, LEAST_CANDIDATES)
            missing = max(most - count_opened(plan, mechanism, run), candidates)
        budget = run.counts[ws.JOINT_COUNT] + missing
    # A sum over all parts needs room for the parts that are to close.
    goal = ROOM * tolerance if is_summed(measure) else tolerance
    expand_metric(plan, mechanism, c, run, run.metric_qdd, measure, goal, budget, NO_LIMIT)
    if not run.metric_sums[ws.SUM_JOINT] + run.metric_sums[ws.SUM_QUEUE] < math.inf:
        return ws.OVERFLOW
    sort_open(run.opened, run.heap[run.counts[ws.HEAP_COUNT] :], run.counts)
    limit = hidden_limit(run, measure, tolerance)
    find_speeds(plan, mechanism, c, run, settings[HORIZON])
    squeezing = keep_squeezing(plan, mechanism, c, run, reduced) if settings[IN_CONTACT] != 0.0 else 0
    if most == NO_LIMIT:
        forget_turns(run)
        clear_waits(plan, run)
        sum_over_subtrees(plan, run)
        choose_by_tolerance(plan, run, limit, settings[HORIZON])
    else:
        run.counts[ws.RESTING] = 0
        if settings[IN_CONTACT] != 0.0:
            forget_turns(run)
        elif settings[STEPPED] != 0.0:
            update_turns(plan, mechanism, run, settings[HORIZON])
        sum_over_subtrees(plan, run)
        choose_by_number(plan, mechanism, run, limit, settings[HORIZON], most + squeezing)
    free_locked_loops(plan, mechanism, c, run, reduced)
    sum_up_hidden(plan, mechanism, run, ws.CHOSEN)
    return -1


@routine
def measure_again(plan, mechanism, c, run):
    """The bound of the active region at the velocities that `take_motion` found; returns OVERFLOW or -1.

    Joints that were stopped have lost their velocities, and dampers and centrifugal forces with them: what they hide at
    rest is not what they hid while they moved.
    """
    computed = run.counts[ws.JOINT_COUNT]
    assemble(plan, mechanism, c, run, NOTHING)  # nothing has moved since `choose`
    solve_opened(plan, mechanism, c, run, run.metric_qdd)
    run.counts[ws.JOINT_COUNT] = computed
    if not run.metric_sums[ws.SUM_JOINT] + run.metric_sums[ws.SUM_QUEUE] < math.inf:
        return ws.OVERFLOW
    sum_over_subtrees(plan, run)
    sum_up_hidden(plan, mechanism, run, ws.ACTIVE)
    return -1


@routine
def clear_waits(plan, run):
    for k in range(run.counts[ws.OPEN_COUNT]):
        if carries_joint(plan, run.opened[k]):
            run.waits[plan.nodes[run.opened[k], INDEX]] = 0


@routine
def choose_all(plan, mechanism, run):
    """Marks every node as CHOSEN: nothing is hidden, and no metric is needed for that."""
    forget_turns(run)
    clear_waits(plan, run)
    count = plan.nodes.shape[0]
    joints = 0
    for node in range(count):
        run.opened[node] = node
        run.flag[node] |= ws.OPEN | ws.CHOSEN
        if carries_joint(plan, node) and mechanism.tree[plan.nodes[node, INDEX], DOF] > 0:
            joints += 1
    run.counts[ws.OPEN_COUNT] = count
    run.counts[ws.SORTED_COUNT] = count
    run.counts[ws.HEAP_COUNT] = 0
    run.counts[ws.JOINT_COUNT] = joints
    run.metric_sums[ws.MAX_QUEUE] = 0.0
    run.metric_sums[ws.SUM_QUEUE] = 0.0
    run.metric_sums[ws.MAX_JOINT] = 0.0
    run.metric_sums[ws.SUM_JOINT] = 0.0
    run.metric_sums[ws.UNIT] = 1.0
