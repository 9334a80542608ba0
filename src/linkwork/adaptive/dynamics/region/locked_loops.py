"""Loops in which some joints are chosen, but too few for any of them to move.

The metrics are those of the tree under the forces that closed its loops in the last step. A loop with r independent rows is
locked by r chosen freedoms or fewer: its forces cancel what drives it, and the metrics then say that nothing would move. So
every loop with a chosen joint gets r + 1 freedoms of its own, or all that it has; the motion then decides what moves. A
freedom that several loops share counts for one of them. Theory: docs/theory/adaptive_dynamics.md, section 3.
"""

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.dynamics.reduced.reduced import moves
from linkwork.adaptive.dynamics.region.articulated_metric import open_path
from linkwork.adaptive.frontier import sort_open
from linkwork.adaptive.nodes import carries_joint
from linkwork.assembly.node_table import INDEX, UP
from linkwork.core.jit import inlined, routine
from linkwork.model.layout import DOF

UNTOUCHED = -1  # in `loop_has`: none of its joints is chosen


@routine
def free_locked_loops(plan, mechanism, c, run, reduced):
    """Chooses more joints of loops that would be locked. Cost: O(open nodes + loops), and of what it chooses."""
    loops = reduced.loop_needs.shape[0]
    if loops == 0:
        return
    for k in range(loops):
        reduced.loop_has[k] = UNTOUCHED
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        if run.flag[node] & ws.CHOSEN and carries_joint(plan, node):
            i = plan.nodes[node, INDEX]
            if moves(mechanism, run, i):
                count_in_loops(mechanism, reduced, i)
    again = True
    while again:  # joints that are chosen may touch other loops
        again = False
        for k in range(loops):
            if lacks(reduced, k):
                for anywhere in range(2):  # first joints that touch no other loop
                    again = choose_in_loop(plan, mechanism, c, run, reduced, k, anywhere != 0) or again
    run.counts[ws.HEAP_COUNT] = 0
    sort_open(run.opened, run.heap, run.counts)


@inlined
def lacks(reduced, k):
    return reduced.loop_has[k] != UNTOUCHED and reduced.loop_has[k] < reduced.loop_needs[k]


@routine
def count_in_loops(mechanism, reduced, i):
    """A chosen joint touches the loops that it is part of; its freedoms count for the one that lacks most."""
    best = -1
    for e in range(reduced.first_loop[i], reduced.first_loop[i + 1]):
        k = reduced.loops_of_joint[e]
        reduced.loop_has[k] = max(reduced.loop_has[k], 0)
        if best < 0 or missing(reduced, k) > missing(reduced, best):
            best = k
    if best >= 0:
        reduced.loop_has[best] += mechanism.tree[i, DOF]


@inlined
def missing(reduced, k):
    return reduced.loop_needs[k] - reduced.loop_has[k]


@routine
def choose_in_loop(plan, mechanism, c, run, reduced, k, anywhere):
    """Chooses joints of loop k until it lacks none; whether it did. anywhere: also where other loops are not touched."""
    found = False
    for e in range(reduced.first_in_loop[k], reduced.first_in_loop[k + 1]):
        i = reduced.joints_of_loop[e]
        is_chosen = run.flag[plan.joint[i]] & ws.CHOSEN != 0 and run.waits[i] == 0
        if not lacks(reduced, k):
            break
        if mechanism.tree[i, DOF] > 0 and not is_chosen and (anywhere or touches_no_other(reduced, i)):
            choose_joint(plan, mechanism, c, run, i)
            count_in_loops(mechanism, reduced, i)
            found = True
    return found


@inlined
def touches_no_other(reduced, i):
    found = True
    for e in range(reduced.first_loop[i], reduced.first_loop[i + 1]):
        found = found and reduced.loop_has[reduced.loops_of_joint[e]] != UNTOUCHED
    return found


@routine
def choose_joint(plan, mechanism, c, run, i):
    """Joint i moves; joints above it in the assembly tree that were not chosen wait."""
    node = plan.joint[i]
    open_path(plan, mechanism, c, run, node, run.metric_qdd)
    while node >= 0 and run.flag[node] & ws.CHOSEN == 0:
        run.flag[node] |= ws.CHOSEN
        if carries_joint(plan, node):
            run.waits[plan.nodes[node, INDEX]] = 1
        node = plan.nodes[node, UP]
    run.waits[i] = 0
