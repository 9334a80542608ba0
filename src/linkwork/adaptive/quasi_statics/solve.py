"""The adaptive solve and the quasi-static step, many of them without leaving compiled code.

A solve opens, without asking, what was open before, gets A(C) of the frontier below it, and goes on best first where the
bound asks for more. Nodes whose whole subtree has become quiet are marked; they are closed, and only then is their root
recomputed, once the coefficients fit the new coordinates. Theory: docs/theory/adaptive_quasi_statics.md.
"""

from linkwork.adaptive.frontier import push, sort_open
from linkwork.adaptive.measures import (
    ABSOLUTE_LINKAGE,
    CLOSE_FRACTION,
    HOLDS,
    MORE,
    RELATIVE_JOINT,
    RELATIVE_LINKAGE,
    begin_solve,
    bound_of,
    compute_node,
    note_opened,
    open_largest,
    resum_queue,
    what_next,
)
from linkwork.adaptive.metric.factor import total_acceleration
from linkwork.adaptive.quasi_statics.update import copy_joint, flush, refresh_joint
from linkwork.adaptive.quasi_statics.workspace import (
    CLOSING,
    DIRTY,
    HEAP_COUNT,
    JOINT_COUNT,
    MAX_JOINT,
    OPEN,
    OPEN_COUNT,
    SUM_JOINT,
    SUM_QUEUE,
    UPDATED_COUNT,
)
from linkwork.assembly.plan import HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, UP
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.dca.sweeps import IN_1, IN_2, INPUT_COLUMNS
from linkwork.model.joint_kernels import joint_integrate
from linkwork.model.layout import HELICAL, KIND, Q, V
from linkwork.spatial.simd import vload


@inlined
def queue_children(plan, coefficients, live, node):
    """Puts the closed children of a freshly computed node on the frontier, where they hide anything."""
    for side in (LEFT, RIGHT):
        child = plan.nodes[node, side]
        if child < 0 or live.flag[child] & OPEN:
            continue
        live.value[child] = 0.0
        if coefficients.rows[child] > 0:
            at = child * INPUT_COLUMNS
            F1 = vload(live.inputs, at + IN_1)
            F2 = vload(live.inputs, at + IN_2)
            live.value[child] = total_acceleration(
                plan.nodes, child, coefficients.root, plan.root_at, coefficients.rows, F1, F2
            )
            live.figure[SUM_QUEUE] += live.value[child]
            push(live, child)


@inlined
def solve_open(plan, mechanism, coefficients, live):
    """Back-substitution over the open nodes, root to leaf; the frontier goes on the heap."""
    begin_solve(mechanism, live)
    for k in range(live.tally[OPEN_COUNT] - 1, -1, -1):
        node = live.opened[k]
        compute_node(plan, mechanism, coefficients, live, node, live.qdd)
        queue_children(plan, coefficients, live, node)


@inlined
def expand(plan, mechanism, coefficients, live, measure, tolerance, max_joints, max_pops):
    """Opens frontier nodes, largest A(C) first, until the bound holds or a budget is spent; True when the bound holds."""
    resum_queue(live)
    pops = 0
    while True:
        answer = what_next(live, measure, tolerance, max_joints)
        if answer != MORE:
            return answer == HOLDS
        if pops >= max_pops:
            resum_queue(live)
            return False
        node = open_largest(live)
        compute_node(plan, mechanism, coefficients, live, node, live.qdd)
        queue_children(plan, coefficients, live, node)
        pops += 1
        note_opened(live, pops)


@inlined
def mark_quiet(plan, live, measure, tolerance):
    """Marks open nodes for closing whose subtree could stay unopened well within the tolerance.

    Where a budget stopped the work before, what is far below the bound it left may go: so the region follows the loads.
    """
    allowed = CLOSE_FRACTION * max(tolerance, bound_of(measure, live))
    limit = allowed * allowed
    if measure == RELATIVE_JOINT:
        limit *= live.figure[MAX_JOINT]
    elif measure == RELATIVE_LINKAGE:
        limit *= live.figure[SUM_JOINT] + live.figure[SUM_QUEUE]
    if measure == ABSOLUTE_LINKAGE or measure == RELATIVE_LINKAGE:
        limit /= 1 + live.tally[HEAP_COUNT]  # so that the sum over all of them stays within
    sort_open(live.opened, live.heap[live.tally[HEAP_COUNT] :], live.tally)
    count = live.tally[OPEN_COUNT]
    for k in range(count):  # own part → sum over the subtree, children before parents
        node = live.opened[k]
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0:
                live.value[node] += live.value[child]
    for k in range(count - 1, -1, -1):
        node = live.opened[k]
        up = plan.nodes[node, UP]
        quiet = live.value[node] <= limit and live.pin[node] == 0 and up >= 0
        if quiet or (up >= 0 and live.flag[up] & CLOSING and live.pin[node] == 0):
            live.flag[node] |= CLOSING


@inlined
def move(plan, mechanism, coefficients, live, h):
    """q ← q ⊕ ½ h² q̈ for every computed joint: a step that begins at rest."""
    for k in range(live.tally[OPEN_COUNT]):
        node = live.opened[k]
        live.flag[node] |= DIRTY
        kind = plan.nodes[node, NODE_KIND]
        if kind == JOIN or kind == HANG:
            i = plan.nodes[node, INDEX]
            if mechanism.tree[i, KIND] == HELICAL:
                live.q[mechanism.tree[i, Q]] += 0.5 * h * h * live.qdd[mechanism.tree[i, V]]
            else:
                joint_integrate(mechanism.tree, i, live.q, live.qdd, 0.5 * h * h, live.q)
            refresh_joint(mechanism, coefficients, live, i)


@kernel
def keep_coordinates(plan, mechanism, live):
    """Remembers the coordinates of all open joints, to come back to."""
    copy_coordinates(plan, mechanism, live, live.q, live.kept_q)


@kernel
def restore_coordinates(plan, mechanism, coefficients, live):
    """Back to the coordinates kept; the next solve updates what depends on them."""
    copy_coordinates(plan, mechanism, live, live.kept_q, live.q)
    move(plan, mechanism, coefficients, live, 0.0)


@routine
def copy_coordinates(plan, mechanism, live, source, target):
    for k in range(live.tally[OPEN_COUNT]):
        node = live.opened[k]
        kind = plan.nodes[node, NODE_KIND]
        if kind == JOIN or kind == HANG:
            copy_joint(mechanism.tree, plan.nodes[node, INDEX], source, target)


@kernel
def expand_more(plan, mechanism, coefficients, live, measure, tolerance, max_joints, max_pops):
    """Goes on opening nodes from where the last solve stopped; True when the bound holds."""
    return expand(plan, mechanism, coefficients, live, measure, tolerance, max_joints, max_pops)


@kernel
def mark_and_move(plan, mechanism, coefficients, live, h, measure, tolerance):
    """Ends a step whose solve was cut into pieces."""
    mark_quiet(plan, live, measure, tolerance)
    move(plan, mechanism, coefficients, live, h)


@kernel
def advance(plan, mechanism, coefficients, live, steps, h, measure, tolerance, max_joints, max_pops):
    """`steps` adaptive solves, each followed by a step of h [s] (none when h = 0).

    Returns (failed body or -1, whether the last bound holds, joints computed in all steps, nodes updated in all steps).
    """
    reached = True
    joints = 0
    updated = 0
    for _ in range(steps):
        bad = flush(plan, mechanism, coefficients, live)
        if bad >= 0:
            return bad, False, joints, updated
        solve_open(plan, mechanism, coefficients, live)
        reached = expand(plan, mechanism, coefficients, live, measure, tolerance, max_joints, max_pops)
        joints += live.tally[JOINT_COUNT]
        updated += live.tally[UPDATED_COUNT]
        if h != 0.0:
            mark_quiet(plan, live, measure, tolerance)
            move(plan, mechanism, coefficients, live, h)
    return -1, reached, joints, updated
