"""The best-first solve that quasi-statics and dynamics share: what is computed, what may be hidden, when to stop.

Whoever solves computes the nodes that are open, puts the children below them on the frontier with what they may hide, and
then opens the frontier's nodes one by one, largest first, for as long as `what_next` says MORE.
"""

import math

from linkwork.adaptive.frontier import open_node, pop
from linkwork.adaptive.quasi_statics.workspace import (
    HEAP_COUNT,
    JOINT_COUNT,
    MAX_JOINT,
    MAX_QUEUE,
    OPEN_COUNT,
    SUM_JOINT,
    SUM_QUEUE,
)
from linkwork.assembly.plan import HANG, INDEX, JOIN, NODE_KIND
from linkwork.core.jit import inlined, kernel
from linkwork.dynamics.dca.sweeps import IN_1, INPUT_COLUMNS, substitute_node
from linkwork.model.layout import DOF, V
from linkwork.spatial.simd import lane_vector, vstore

ABSOLUTE_LINKAGE, RELATIVE_LINKAGE, ABSOLUTE_JOINT, RELATIVE_JOINT = range(4)
MEASURES = {
    "absolute_linkage": ABSOLUTE_LINKAGE,
    "relative_linkage": RELATIVE_LINKAGE,
    "absolute_joint": ABSOLUTE_JOINT,
    "relative_joint": RELATIVE_JOINT,
}
CLOSE_FRACTION = 0.25  # a node closes when it could hide this part of what the tolerance allows: no flapping
RESUM_EVERY = 64  # nodes opened until the sum over the queue is formed anew

NO_LIMIT = 2**62

MORE, HOLDS, SPENT = range(3)  # the bound asks for more; it holds; the budget is spent


@inlined
def bound_of(measure, live):
    """The proven error by one of the four measures."""
    figure = live.figure
    if measure == ABSOLUTE_LINKAGE:
        return math.sqrt(figure[SUM_QUEUE])
    if measure == ABSOLUTE_JOINT:
        return math.sqrt(figure[MAX_QUEUE])
    if measure == RELATIVE_LINKAGE:
        whole = figure[SUM_QUEUE] + figure[SUM_JOINT]
        return math.sqrt(figure[SUM_QUEUE] / whole) if whole > 0.0 else 0.0
    if figure[MAX_QUEUE] == 0.0:
        return 0.0
    return math.sqrt(figure[MAX_QUEUE] / figure[MAX_JOINT]) if figure[MAX_JOINT] > 0.0 else math.inf


@kernel
def error_bound(live, measure):
    return bound_of(measure, live)


@inlined
def begin_solve(mechanism, live):
    """Nothing is computed, nothing waits; the world accelerates by -g."""
    live.tally[HEAP_COUNT] = 0
    live.tally[JOINT_COUNT] = 0
    live.figure[SUM_JOINT] = 0.0
    live.figure[MAX_JOINT] = 0.0
    live.figure[SUM_QUEUE] = 0.0
    count = live.tally[OPEN_COUNT]
    g = mechanism.gravity
    if count > 0:
        root = live.opened[count - 1]
        vstore(live.inputs, root * INPUT_COLUMNS + IN_1, lane_vector((0.0, 0.0, 0.0, -g[0], -g[1], -g[2]), 0.0))


@inlined
def compute_node(plan, mechanism, coefficients, live, node, qdd):
    """Solves a node's joint and hands its children their inputs; keeps the joint's part of the metric."""
    substitute_node(
        plan.nodes, plan.block, node, mechanism.tree, coefficients.hinge, coefficients.total, coefficients.coef,
        coefficients.freedom, live.inputs, qdd,
    )  # fmt: skip
    kind = plan.nodes[node, NODE_KIND]
    own = 0.0
    if kind == JOIN or kind == HANG:
        i = plan.nodes[node, INDEX]
        j = mechanism.tree[i, V]
        for d in range(mechanism.tree[i, DOF]):
            own += mechanism.weight[j + d] * qdd[j + d] * qdd[j + d]
        if mechanism.tree[i, DOF] > 0:
            live.tally[JOINT_COUNT] += 1
    live.value[node] = own
    live.figure[SUM_JOINT] += own
    live.figure[MAX_JOINT] = max(live.figure[MAX_JOINT], own)


@inlined
def resum_queue(live):
    """The sum over the queue as a sum of what is in it; repeated subtraction would leave rounding behind."""
    total = 0.0
    for k in range(live.tally[HEAP_COUNT]):
        total += live.value[live.heap[k]]
    live.figure[SUM_QUEUE] = total
    live.figure[MAX_QUEUE] = live.value[live.heap[0]] if live.tally[HEAP_COUNT] > 0 else 0.0


@inlined
def what_next(live, measure, tolerance, max_joints):
    """MORE, HOLDS or SPENT; before it says that the bound holds it forms the sum over the queue anew."""
    if bound_of(measure, live) <= tolerance:
        resum_queue(live)
        if bound_of(measure, live) <= tolerance:
            return HOLDS
    if live.tally[HEAP_COUNT] == 0:
        resum_queue(live)
        return HOLDS
    if live.tally[JOINT_COUNT] >= max_joints:
        resum_queue(live)
        return SPENT
    return MORE


@inlined
def open_largest(live):
    """Takes the frontier node that may hide most and opens it; it is the caller's to compute."""
    node = pop(live)
    live.figure[SUM_QUEUE] = max(0.0, live.figure[SUM_QUEUE] - live.value[node])
    open_node(live, node)
    return node


@inlined
def note_opened(live, opened):
    """After the children of the `opened`-th node were queued."""
    if opened % RESUM_EVERY == 0:
        resum_queue(live)
    live.figure[MAX_QUEUE] = live.value[live.heap[0]] if live.tally[HEAP_COUNT] > 0 else 0.0
