"""Turns: with a number of joints given, every joint that would move gets to, whatever the metrics say of the others.

The metrics speak of the linkage with every joint free. A few active joints can come to rest against those that are held
and still seem the fastest. Such joints have *settled*; their places go to waiting ones, in the order of bodies.
Theory: docs/theory/adaptive_dynamics.md, section 3.
"""

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.frontier import open_node
from linkwork.adaptive.nodes import carries_joint, is_active
from linkwork.assembly.node_table import INDEX, UP
from linkwork.core.jit import inlined, routine
from linkwork.model.layout import DOF, FREE, KIND, PARENT, V

# Values of the column TURN; a positive one is the round in which the joint has settled.
NONE, HAS_TURN = 0.0, -1.0
# All of these are squares of speeds over squares of speeds.
FADES = 0.25  # what a joint did counts half as much at every update since
DONE = 2.0**-8  # of its fastest since it became active, or of what a joint would do were all free: it hardly moves
PAST = 0.25  # of its fastest: a joint has most of its turn behind it; where nothing damps it, the lowest point
STILL = 2.0**-40  # of the fastest: it does not move at all
AT_REST = 2.0**-60  # of the largest there ever was: rounding, which nobody needs a turn for
CHANGED = 4.0  # times what a joint would have done when it settled: something new acts on it
MOST_TRIES = 64  # joints looked at in an update, so that its cost does not depend on the size of the linkage


@inlined
def is_counted(plan, mechanism, node):
    """Whether a node's joint counts: one that can move, and is not the base of a floating tree."""
    if not carries_joint(plan, node):
        return False
    i = plan.nodes[node, INDEX]
    tree = mechanism.tree
    return tree[i, DOF] > 0 and not (tree[i, KIND] == FREE and tree[i, PARENT] < 0)


@inlined
def this_round(run):
    return 1.0 + run.counts[ws.ROUND]


@inlined
def is_resting(run, i):
    """Whether a joint has settled in this round: others come before it."""
    return run.turns[i, ws.TURN] == this_round(run)


@inlined
def is_moving(plan, run, node):
    """Whether the joint of a counted node moves now."""
    return is_active(run, node) and run.waits[plan.nodes[node, INDEX]] == 0


@inlined
def speed_now(mechanism, run, i, horizon):
    """What joint i does in the motion of the active ones: squares of its velocities and of their change in `horizon`."""
    found = 0.0
    for d in range(mechanism.tree[i, DOF]):
        j = mechanism.tree[i, V] + d
        change = horizon * run.qdd[j]
        found += mechanism.velocity_weight[j] * (run.v[j] * run.v[j] + change * change)
    return found


@routine
def begin_turn(plan, run, i):
    """Joint i moves from the next update on, until it settles; its path is opened for that."""
    run.turns[i, ws.TURN] = HAS_TURN
    run.counts[ws.IN_TURN] += 1
    node = plan.joint[i]
    while node >= 0:
        open_node(run, node)
        run.flag[node] &= 255 - ws.CLOSING
        run.called[node] += 1
        node = plan.nodes[node, UP]


@routine
def end_turn(plan, run, i, value):
    """Joint i is left to the metrics again. value: of its TURN from now on."""
    if run.turns[i, ws.TURN] == HAS_TURN:
        run.counts[ws.IN_TURN] -= 1
        node = plan.joint[i]
        while node >= 0:
            run.called[node] -= 1
            node = plan.nodes[node, UP]
    run.turns[i, ws.TURN] = value


@routine
def forget_turns(run):
    """Everyone may move by the metrics alone."""
    run.counts[ws.RESTING] = 0
    if run.counts[ws.IN_TURN] == 0:
        return
    run.counts[ws.IN_TURN] = 0
    for i in range(run.turns.shape[0]):
        run.turns[i, ws.TURN] = NONE
    for k in range(run.called.shape[0]):
        run.called[k] = 0


@inlined
def has_done(run, i, now, moving, would):
    """Whether a moving joint has done what it could, or never moved, while all that move do little.

    now: what it does; moving: the most that any joint does; would: the most that any would do, were all free. A joint that
    has its turn is compared with itself alone: held joints make it slower than it would be.
    """
    if now <= STILL * max(moving, would):
        return run.turns[i, ws.TURN] == HAS_TURN or moving <= DONE * would
    if run.turns[i, ws.TURN] == HAS_TURN:
        return now <= PAST * run.turns[i, ws.PEAK]
    return moving <= DONE * would and run.turns[i, ws.ACTIVITY] <= DONE * run.turns[i, ws.PEAK]


@routine
def note_motion(plan, mechanism, run, horizon):
    """What moving joints do now, into ACTIVITY and PEAK; returns the most of it, and the most that any joint would do."""
    moving = 0.0
    would = 0.0
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        if not is_counted(plan, mechanism, node):
            continue
        would = max(would, run.speed[node])
        if is_moving(plan, run, node):
            i = plan.nodes[node, INDEX]
            now = speed_now(mechanism, run, i, horizon)
            run.turns[i, ws.ACTIVITY] = max(now, FADES * run.turns[i, ws.ACTIVITY])
            run.turns[i, ws.PEAK] = max(now, run.turns[i, ws.PEAK])
            moving = max(moving, run.turns[i, ws.ACTIVITY])
    return moving, would


@inlined
def update_turn(plan, mechanism, run, node, i, horizon, moving, would):
    """Notes whether a moving joint has settled."""
    if has_done(run, i, speed_now(mechanism, run, i, horizon), moving, would):
        end_turn(plan, run, i, this_round(run))
        run.turns[i, ws.RESTING_AT] = run.speed[node]
        run.counts[ws.RESTING] += 1
    elif is_resting(run, i):
        run.turns[i, ws.TURN] = NONE  # it moves again


@routine
def update_turns(plan, mechanism, run, horizon):
    """Notes what active joints do, and which of them have settled; these no longer count in the velocity metric.

    `speed` of open nodes: own parts, what their joints would do were all free. RESTING: how many places are given.
    """
    moving, would = note_motion(plan, mechanism, run, horizon)
    run.metric_sums[ws.LARGEST] = max(run.metric_sums[ws.LARGEST], moving, would)
    is_at_rest = not max(moving, would) > AT_REST * run.metric_sums[ws.LARGEST]
    run.counts[ws.RESTING] = 0
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        if not carries_joint(plan, node):
            continue
        i = plan.nodes[node, INDEX]
        if not is_counted(plan, mechanism, node) or run.wanted[node] > 0:
            end_turn(plan, run, i, NONE)  # it was pinned meanwhile
            continue
        if is_moving(plan, run, node):
            if not is_at_rest:
                update_turn(plan, mechanism, run, node, i, horizon, moving, would)
        elif is_resting(run, i) and run.speed[node] > CHANGED * run.turns[i, ws.RESTING_AT]:
            run.turns[i, ws.TURN] = NONE
        if is_resting(run, i):
            run.speed[node] = 0.0


@inlined
def may_hide(plan, run, node):
    """What the highest node on a joint's path that is not open may hide; of an open one, the metric of all below it."""
    while run.flag[node] & ws.OPEN == 0 and plan.nodes[node, UP] >= 0 and run.flag[plan.nodes[node, UP]] & ws.OPEN == 0:
        node = plan.nodes[node, UP]
    return run.value[node]


@routine
def call_waiting(plan, mechanism, run, most, limit):
    """Gives turns to waiting joints, in the order of bodies, as many as joints have settled; the region is applied.

    At most half of `most` have a turn at the same time: the rest follows the metrics. limit: what nodes may hide.
    """
    room = min(run.counts[ws.RESTING], max(1, most // 2) - run.counts[ws.IN_TURN]) if most > 0 else 0
    bodies = plan.joint.shape[0]
    for _ in range(min(MOST_TRIES, bodies)):
        if room <= 0:
            break
        i = run.counts[ws.CURSOR]
        node = plan.joint[i]
        run.counts[ws.CURSOR] += 1
        if run.counts[ws.CURSOR] >= bodies:
            run.counts[ws.CURSOR] = 0
            run.counts[ws.ROUND] += 1
        waits = is_counted(plan, mechanism, node) and not is_moving(plan, run, node)
        if waits and run.turns[i, ws.TURN] != HAS_TURN and not is_resting(run, i) and may_hide(plan, run, node) > limit:
            begin_turn(plan, run, i)
            room -= 1
