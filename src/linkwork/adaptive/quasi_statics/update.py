"""After a step only what moved is updated: poses, loads and coefficients of the open nodes, children before parents."""

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.frontier import sort_open
from linkwork.adaptive.metric.factor import update_factor_at_rest
from linkwork.adaptive.metric.lost_digits import refresh_lost
from linkwork.adaptive.nodes import (
    add_loop_wrenches,
    carries_joint,
    copy_joint,
    load_wrench,
    node_arrays,
    place_in_world,
    refresh_composite,
    refresh_joint,
)
from linkwork.adaptive.quasi_statics.limits import is_limited, room_of
from linkwork.adaptive.workspace import coefficients_of, mechanism_of, plan_of, run_of
from linkwork.assembly.node_table import INDEX
from linkwork.core.jit import inlined, kernel
from linkwork.dynamics.dca.nodes import H_F
from linkwork.dynamics.dca.sweeps import assemble_node
from linkwork.model.layout import DOF, V
from linkwork.spatial.memory import add_to6, load6, store6


@inlined
def express_loads(plan, c, run):
    """World-fixed forces and springs to world points, as wrenches in the frames of the bodies they act on."""
    for k in range(run.counts[ws.LOAD_COUNT]):
        i = run.load_body[k]
        store6(c.joint_data, i, H_F, load6(run.wrench, i, 0))
    for k in range(run.loop_body.shape[0]):
        if run.loop_body[k] >= 0:
            store6(c.joint_data, run.loop_body[k], H_F, load6(run.wrench, run.loop_body[k], 0))
    for k in range(run.counts[ws.LOAD_COUNT]):
        add_to6(c.joint_data, run.load_body[k], H_F, load_wrench(plan, run, k))
    add_loop_wrenches(c, run)


@inlined
def flush(plan, mechanism, c, run):
    """Brings every coefficient up to date and closes the nodes that wait for it; returns a body that failed, or -1.

    Where it fails nothing has closed, and what is not up to date stays marked.
    """
    nodes = plan.nodes
    run.counts[ws.HEAP_COUNT] = 0  # the frontier is gathered anew; until then its memory serves the sort
    run.counts[ws.CHANGED] = 0
    sort_open(run.opened, run.heap, run.counts)
    count = run.counts[ws.OPEN_COUNT]
    for k in range(count):
        if run.flag[run.opened[k]] & ws.DIRTY:
            refresh_composite(plan, mechanism, c, run, run.opened[k], False)
    if run.counts[ws.LOAD_COUNT] > 0 or run.loop_body.shape[0] > 0:
        place_in_world(nodes, run.opened, count, c.joint_data, c.composite, run.world)
        express_loads(plan, c, run)
    updated = 0
    arrays = node_arrays(plan, mechanism, c)
    for k in range(count):
        node = run.opened[k]
        if run.flag[node] & ws.DIRTY:
            updated += 1
            if not assemble_node(arrays, node):
                return nodes[node, INDEX]
            run.flag[node] |= ws.STALE
    close_marked(plan, mechanism, c, run)
    run.counts[ws.UPDATED_COUNT] = updated
    return -1


@inlined
def close_marked(plan, mechanism, c, run):
    """Closes the nodes marked CLOSING, children before parents; the coefficients of all open nodes are up to date."""
    left = 0
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        flag = run.flag[node] & (255 - ws.DIRTY)
        if flag & ws.CLOSING:
            if flag & ws.STALE:
                update_factor_at_rest(plan, mechanism, c, node)
                refresh_lost(plan, mechanism, c, node)
            run.flag[node] = 0
            close_joint(plan, mechanism, run, node)
            if is_limited(mechanism):
                run.room[node] = room_of(plan, mechanism, run, node)
        else:
            run.flag[node] = flag
            run.opened[left] = node
            left += 1
    run.counts[ws.OPEN_COUNT] = left
    run.counts[ws.SORTED_COUNT] = left


@inlined
def close_joint(plan, mechanism, run, node):
    """A closed node's joint is no longer computed; its coordinates stay, and are what going back must find."""
    if carries_joint(plan, node):
        i = plan.nodes[node, INDEX]
        tree = mechanism.tree
        for d in range(tree[i, DOF]):
            run.qdd[tree[i, V] + d] = 0.0
        copy_joint(tree, i, run.q, run.saved_q)


@kernel
def prepare_all(table):
    """Joints and composites of everything, once, before the first step."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    for i in range(mechanism.tree.shape[0]):
        refresh_joint(table, i)
        store6(c.joint_data, i, H_F, load6(run.wrench, i, 0))
    for node in range(plan.nodes.shape[0]):
        refresh_composite(plan, mechanism, c, run, node, False)
