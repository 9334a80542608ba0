"""Nodes that became rigid are closed a few per step where an update would take long by it.

Until then the metric computes them as it does open ones, which changes no result.
"""

from linkwork.adaptive.dynamics.region.choice import ALL_AT_ONCE, CLOSED, WAITING
from linkwork.adaptive.frontier import sort_open
from linkwork.adaptive.metric.factor import update_factor_in_motion
from linkwork.adaptive.metric.velocity_columns import update_columns
from linkwork.adaptive.workspace import CLOSING, HEAP_COUNT, OPEN, OPEN_COUNT, SORTED_COUNT, STALE
from linkwork.assembly.node_table import LEFT, RIGHT
from linkwork.core.jit import inlined, routine


@inlined
def is_open_below(plan, run, node):
    """Whether a child of a node is open: the node's columns and factor are made of those of its children."""
    found = False
    for side in (LEFT, RIGHT):
        child = plan.nodes[node, side]
        found = found or (child >= 0 and run.flag[child] & OPEN != 0)
    return found


@routine
def close_some(plan, mechanism, c, run, settings):
    """Closes rigid nodes that wait for that, at most settings[CLOSED] of them; settings[WAITING]: how many are left."""
    settings[WAITING] = close_up_to(plan, mechanism, c, run, settings[CLOSED])


@routine
def close_all(plan, mechanism, c, run):
    close_up_to(plan, mechanism, c, run, ALL_AT_ONCE)


@routine
def close_up_to(plan, mechanism, c, run, most):
    """Closes as many; those whose columns and factor are as they were are not counted. Returns how many are left.

    Columns and factor of a node take several times as long as what an update computes of it otherwise.
    """
    run.counts[HEAP_COUNT] = 0
    sort_open(run.opened, run.heap, run.counts)
    closed = 0
    waiting = 0
    count = 0
    for k in range(run.counts[OPEN_COUNT]):
        node = run.opened[k]
        flag = run.flag[node]
        if flag & CLOSING and not is_open_below(plan, run, node):
            if flag & STALE == 0:
                run.flag[node] = 0
                continue
            if closed < most:
                update_columns(plan, mechanism, c, run.wrench, node)
                update_factor_in_motion(plan, mechanism, c, node)
                run.flag[node] = 0
                closed += 1
                continue
            waiting += 1
        run.opened[count] = node
        count += 1
    run.counts[OPEN_COUNT] = count
    run.counts[SORTED_COUNT] = count
    return waiting
