"""The best-first solve: what is computed, what may be hidden, when to stop. Theory: docs/theory/adaptive_quasi_statics.md.

A solve computes the nodes that are open, puts the children below them on the frontier with what they may hide, and then
opens the frontier's nodes one by one, largest first, until the bound holds or a budget is spent.
"""

from __future__ import annotations

import math
from typing import Any

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.frontier import open_node, pop, push
from linkwork.adaptive.measures import bound_of
from linkwork.adaptive.nodes import carries_joint
from linkwork.assembly.node_table import INDEX, LEFT, RIGHT, UP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import IN_1, INPUT_COLUMNS
from linkwork.dynamics.dca.sweeps import substitute_node
from linkwork.model.layout import DOF, V
from linkwork.spatial.simd import lane_vector, vstore

RESUM_EVERY = 64  # nodes opened until the sum over the frontier is formed anew
UNDERFLOW = 2.0**-900  # squares below this lose digits, or all of themselves ...
SMALL_UNIT = 2.0**500  # ... unless accelerations are measured in a smaller unit

MORE, HOLDS, SPENT = range(3)  # the bound asks for more; it holds; the budget is spent


@inlined
def begin_solve(mechanism, run, count, unit):
    """Nothing is computed, nothing waits; the world accelerates by -g. count: open nodes, ascending."""
    run.counts[ws.HEAP_COUNT] = 0
    run.counts[ws.JOINT_COUNT] = 0
    run.metric_sums[ws.SUM_JOINT] = 0.0
    run.metric_sums[ws.MAX_JOINT] = 0.0
    run.metric_sums[ws.SUM_QUEUE] = 0.0
    run.metric_sums[ws.UNIT] = unit
    g = mechanism.gravity
    if count > 0:
        top = run.opened[count - 1]
        vstore(run.inputs, top * INPUT_COLUMNS + IN_1, lane_vector((0.0, 0.0, 0.0, -g[0], -g[1], -g[2]), 0.0))


@inlined
def note_largest(run):
    run.metric_sums[ws.MAX_QUEUE] = run.value[run.heap[0]] if run.counts[ws.HEAP_COUNT] > 0 else 0.0


@inlined
def sum_frontier(run):
    """The sum over the frontier as a sum of what is in it; repeated subtraction would leave rounding behind."""
    total = 0.0
    for k in range(run.counts[ws.HEAP_COUNT]):
        total += run.value[run.heap[k]]
    run.metric_sums[ws.SUM_QUEUE] = total
    note_largest(run)


@inlined
def what_next(run, measure, tolerance, max_joints):
    """MORE, HOLDS or SPENT; before it says that the bound holds it forms the sum over the frontier anew."""
    if bound_of(measure, run) <= tolerance:
        sum_frontier(run)
        if bound_of(measure, run) <= tolerance:
            return HOLDS
    if run.counts[ws.HEAP_COUNT] == 0:
        sum_frontier(run)
        return HOLDS
    overflow = not run.metric_sums[ws.SUM_QUEUE] + run.metric_sums[ws.SUM_JOINT] < math.inf
    if run.counts[ws.JOINT_COUNT] >= max_joints or overflow:
        sum_frontier(run)
        return SPENT
    return MORE


def make_best_first(hidden: Any, enter: Any, take: Any, must_open: Any) -> tuple[Any, Any, Any]:
    """`solve_open`, `expand` and `open_path`, for a linkage at rest or in motion.

    hidden(plan, c, run, child): A(C) of a closed child of a computed node, in units of `metric_sums`.
    enter(plan, c, run, node): what a closed node needs before its back-substitution.
    take(mechanism, run, i, qdd): what becomes of the acceleration of joint i, just solved for.
    must_open(mechanism, run, child): whether a closed child is opened whatever the tolerance, A(C) of which is known.
    """

    @inlined
    def compute_node(plan, mechanism, c, run, node, qdd):
        """Solves a node's joint and hands its children their inputs; adds the joint's part of the metric."""
        substitute_node(
            plan.nodes,
            plan.block,
            node,
            mechanism.tree,
            c.joint_data,
            c.effort_sum,
            c.node_data,
            c.dof_rows,
            run.inputs,
            qdd,
        )
        sums = run.metric_sums
        own = 0.0
        if carries_joint(plan, node):
            i = plan.nodes[node, INDEX]
            j = mechanism.tree[i, V]
            take(mechanism, run, i, qdd)
            for d in range(mechanism.tree[i, DOF]):
                x = sums[ws.UNIT] * qdd[j + d]
                own += mechanism.weight[j + d] * x * x
            if mechanism.tree[i, DOF] > 0:
                run.counts[ws.JOINT_COUNT] += 1
        run.value[node] = own
        sums[ws.SUM_JOINT] += own
        sums[ws.MAX_JOINT] = max(sums[ws.MAX_JOINT], own)

    @inlined
    def queue_children(plan, mechanism, c, run, node):
        """Puts the closed children of a computed node on the frontier, where they hide anything, or opens them."""
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child < 0 or run.flag[child] & ws.OPEN:
                continue
            run.value[child] = 0.0
            if c.rows[child] > 0:
                run.value[child] = hidden(plan, c, run, child)
                if must_open(mechanism, run, child):
                    open_node(run, child)
                else:
                    run.metric_sums[ws.SUM_QUEUE] += run.value[child]
                    push(run.heap, run.value, run.counts, child)

    @inlined
    def compute_open(plan, mechanism, c, run, qdd, count, unit):
        """The first `count` open nodes, parents before children, and those that this opens behind them."""
        begin_solve(mechanism, run, count, unit)
        done = 0
        while done < run.counts[ws.OPEN_COUNT]:
            node = run.opened[count - 1 - done if done < count else done]
            compute_node(plan, mechanism, c, run, node, qdd)
            queue_children(plan, mechanism, c, run, node)
            done += 1

    @routine
    def solve_open(plan, mechanism, c, run, qdd):
        """Back-substitution over the open nodes, root to leaf; the frontier goes on the heap."""
        unit = 1.0
        count = run.counts[ws.OPEN_COUNT]
        for _ in range(2):
            compute_open(plan, mechanism, c, run, qdd, count, unit)
            if not run.metric_sums[ws.SUM_JOINT] + run.metric_sums[ws.SUM_QUEUE] < UNDERFLOW:
                break
            unit = SMALL_UNIT
        sum_frontier(run)

    @routine
    def expand(plan, mechanism, c, run, qdd, measure, tolerance, max_joints, max_opened):
        """Opens frontier nodes, largest A(C) first, until the bound holds or a budget is spent; True when it holds."""
        opened = 0
        while True:
            answer = what_next(run, measure, tolerance, max_joints)
            if answer != MORE:
                return answer == HOLDS
            if opened >= max_opened:
                sum_frontier(run)
                return False
            node = pop(run.heap, run.value, run.counts)
            run.metric_sums[ws.SUM_QUEUE] = max(0.0, run.metric_sums[ws.SUM_QUEUE] - run.value[node])
            open_node(run, node)
            enter(plan, c, run, node)
            compute_node(plan, mechanism, c, run, node, qdd)
            queue_children(plan, mechanism, c, run, node)
            opened += 1
            if opened % RESUM_EVERY == 0:
                sum_frontier(run)
            note_largest(run)

    @routine
    def open_path(plan, mechanism, c, run, node, qdd):
        """Computes a node and those above it, whatever they hide; `value` of each is the sum over its subtree then."""
        while run.flag[node] & ws.OPEN == 0:
            top = node
            while run.flag[plan.nodes[top, UP]] & ws.OPEN == 0:  # the root is always open
                top = plan.nodes[top, UP]
            below = run.value[top]
            open_node(run, top)
            enter(plan, c, run, top)
            compute_node(plan, mechanism, c, run, top, qdd)
            queue_children(plan, mechanism, c, run, top)
            run.value[top] = below

    return solve_open, expand, open_path
