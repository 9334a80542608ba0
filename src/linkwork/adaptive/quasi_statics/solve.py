"""The adaptive solve and the quasi-static step, many of them without leaving compiled code.

A solve opens, without asking, what was open before, gets A(C) of the frontier below it, and goes on best first where the
bound asks for more. Nodes whose whole subtree has become quiet are marked; they are closed, and only then is their factor
recomputed, once the coefficients fit the new coordinates. Where joints come to their limits the solve is made again with
these held there (`limits`). Theory: docs/theory/adaptive_quasi_statics.md.
"""

import math

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.best_first import make_best_first
from linkwork.adaptive.frontier import sort_open
from linkwork.adaptive.measures import CLOSE_FRACTION, bound_of, is_summed, squared_limit
from linkwork.adaptive.metric.factor import total_acceleration_at_rest
from linkwork.adaptive.nodes import carries_joint, copy_joint, refresh_joint
from linkwork.adaptive.quasi_statics.everything import (
    BY_ABA,
    IS_EVERYTHING,
    close_if_cheap,
    move_everything,
    note_cost,
    open_if_dear,
    solve_everything,
)
from linkwork.adaptive.quasi_statics.limits import (
    MOST_PER_FREEDOM,
    MOST_TURNS,
    PATIENCE,
    breaks_limits,
    change_held,
    is_limited,
    looks_at_limits,
    may_come_to_limits,
    renew_held,
    room_of,
    stop_at_limits,
    take_held,
)
from linkwork.adaptive.quasi_statics.update import flush
from linkwork.adaptive.workspace import coefficients_of, mechanism_of, plan_of, run_of
from linkwork.assembly.node_table import INDEX, LEFT, RIGHT, UP
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.dca.nodes import IN_1, IN_2, INPUT_COLUMNS
from linkwork.model.kernels.joint_kernels import joint_integrate
from linkwork.model.layout import DOF, FREE, HELICAL, KIND, SPHERICAL, Q, V
from linkwork.spatial.rotations import ZERO3
from linkwork.spatial.simd import vload


@inlined
def hidden_at_rest(plan, c, run, child):
    """A(C) of a closed node for the inputs its parent handed it."""
    at = child * INPUT_COLUMNS
    F1 = vload(run.inputs, at + IN_1)
    F2 = vload(run.inputs, at + IN_2)
    return total_acceleration_at_rest(plan, c, child, F1, F2, ZERO3, run.metric_sums[ws.UNIT])


@inlined
def enter_at_rest(plan, c, run, node):
    """Coefficients of a closed node are up to date, biases included."""


@inlined
def must_open(mechanism, run, child):
    """Whether a joint inside a closed node may come to a limit in this step."""
    return looks_at_limits(mechanism, run) and may_come_to_limits(run, child, run.value[child], run.step_part[0])


solve_open, expand, _ = make_best_first(hidden_at_rest, enter_at_rest, take_held, must_open)


@inlined
def mark_to_close(plan, mechanism, run, measure, tolerance):
    """Marks open nodes for closing whose subtree could stay unopened well within the tolerance.

    Where a budget stopped the work before, what is far below the bound it left may go: so the region follows the loads.
    """
    limit = squared_limit(measure, run, CLOSE_FRACTION * max(tolerance, bound_of(measure, run)))
    if is_summed(measure):
        limit /= 1 + run.counts[ws.HEAP_COUNT]  # so that the sum over all of them stays within
    sort_open(run.opened, run.heap[run.counts[ws.HEAP_COUNT] :], run.counts)
    count = run.counts[ws.OPEN_COUNT]
    part = run.step_part[0] / CLOSE_FRACTION  # what closes opens again where a limit is near
    for k in range(count):  # own part → sum over the subtree, children before parents
        node = run.opened[k]
        for side in (LEFT, RIGHT):
            child = plan.nodes[node, side]
            if child >= 0:
                run.value[node] += run.value[child]
        if is_limited(mechanism):
            run.room[node] = room_of(plan, mechanism, run, node)
    for k in range(count - 1, -1, -1):
        node = run.opened[k]
        up = plan.nodes[node, UP]
        may_close = run.value[node] <= limit and run.required_open[node] == 0 and up >= 0
        if is_limited(mechanism):
            may_close = may_close and not may_come_to_limits(run, node, run.value[node], part)
        if may_close or (up >= 0 and run.flag[up] & ws.CLOSING and run.required_open[node] == 0):
            run.flag[node] |= ws.CLOSING


@inlined
def move(table, plan, mechanism, run, h):
    """q ← q ⊕ ½ h² q̈ for every computed joint: a step that begins at rest. False, and no step, where it overflows."""
    tree = mechanism.tree
    overflow = 0.0
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        run.flag[node] |= ws.DIRTY
        if carries_joint(plan, node):
            i = plan.nodes[node, INDEX]
            copy_joint(tree, i, run.q, run.saved_q)
            if tree[i, KIND] == HELICAL:
                run.q[tree[i, Q]] += 0.5 * h * h * run.qdd[tree[i, V]]
            else:
                joint_integrate(tree, i, run.q, run.qdd, 0.5 * h * h, run.q)
            overflow += not_finite(tree, i, run.q)
            stop_at_limits(mechanism, run, i)
            refresh_joint(table, i)
    if overflow == 0.0:
        return True
    go_back(table, plan, mechanism, run)
    return False


@inlined
def not_finite(tree, i, q):
    """Zero, or NaN where a coordinate of joint i is infinite or NaN."""
    x = 0.0
    width = tree[i, DOF]
    if tree[i, KIND] == SPHERICAL or tree[i, KIND] == FREE:
        width += 1
    for c in range(width):
        x += 0.0 * q[tree[i, Q] + c]
    return x


@routine
def go_back(table, plan, mechanism, run):
    """All open joints at the coordinates kept; the next solve updates what depends on them."""
    for k in range(run.counts[ws.OPEN_COUNT]):
        node = run.opened[k]
        run.flag[node] |= ws.DIRTY
        if carries_joint(plan, node):
            i = plan.nodes[node, INDEX]
            copy_joint(mechanism.tree, i, run.saved_q, run.q)
            refresh_joint(table, i)


@routine
def forget_solve(plan, mechanism, run):
    """After a solve that failed: accelerations of open joints are not known, and nothing is proven."""
    run.metric_sums[:] = 0.0
    run.metric_sums[ws.UNIT] = 1.0
    run.counts[ws.HEAP_COUNT] = 0
    for k in range(run.counts[ws.OPEN_COUNT]):
        if carries_joint(plan, run.opened[k]):
            i = plan.nodes[run.opened[k], INDEX]
            for d in range(mechanism.tree[i, DOF]):
                run.qdd[mechanism.tree[i, V] + d] = 0.0


@kernel
def expand_more(table, measure, tolerance, max_joints, max_opened):
    """Goes on opening nodes from where the last solve stopped; True when the bound holds."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    return expand(plan, mechanism, c, run, run.qdd, measure, tolerance, max_joints, max_opened)


@kernel
def mark_and_move(table, h, measure, tolerance):
    """Ends a step whose solve was cut into parts; returns OVERFLOW or -1."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    run = run_of(table)
    mark_to_close(plan, mechanism, run, measure, tolerance)
    return -1 if move(table, plan, mechanism, run, h) else ws.OVERFLOW


@routine
def solve_tree(table, measure, tolerance, max_joints, max_opened):
    """A solve by the assembly tree: (a body that failed or -1, whether the bound holds)."""
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    c = coefficients_of(table)
    run = run_of(table)
    fewest = 2 * mechanism.lower.shape[0] + 1
    patience = PATIENCE
    turns = MOST_TURNS + MOST_PER_FREEDOM * mechanism.lower.shape[0]
    updated = 0
    wrong = -1
    while wrong != 0:
        if is_limited(mechanism):
            renew_held(table)
        bad = flush(plan, mechanism, c, run)
        if bad != -1:
            return bad, False
        updated += run.counts[ws.UPDATED_COUNT]
        solve_open(plan, mechanism, c, run, run.qdd)
        wrong = 0
        # The forces of loops belong to what is held; Python goes on there. And what is not a number says so itself.
        is_settled = run.loop_body.shape[0] > 0 or not run.metric_sums[ws.SUM_JOINT] < math.inf
        if looks_at_limits(mechanism, run) and not is_settled:
            wrong = change_held(table, patience > 0)
            if wrong >= fewest:
                patience -= 1
            fewest = min(fewest, wrong)
            turns -= 1
            if turns < 0:
                return ws.NOT_HELD, False
    run.counts[ws.UPDATED_COUNT] = updated
    return -1, expand(plan, mechanism, c, run, run.qdd, measure, tolerance, max_joints, max_opened)


@kernel
def advance(table, steps, h, measure, tolerance, max_joints, max_opened, may_be_full):
    """`steps` adaptive solves, each followed by a step of h [s] (none when h = 0).

    may_be_full: solves that compute most joints may compute all of them, by `aba`. Returns (a body that failed, OVERFLOW or
    -1; steps done; whether the last bound holds; joints computed in all steps; nodes updated in all steps). A step that
    fails is taken back.
    """
    plan = plan_of(table)
    mechanism = mechanism_of(table)
    run = run_of(table)
    bad = -1
    done = 0
    reached = True
    joints = 0
    updated = 0
    is_handed_over = False
    while done < steps and bad == -1:
        by_aba = may_be_full and open_if_dear(table)
        run.counts[BY_ABA] = by_aba
        if by_aba:
            bad, reached = solve_everything(table, is_handed_over), True
            if bad == -1 and is_limited(mechanism) and breaks_limits(table):
                by_aba = False
                run.counts[IS_EVERYTHING] = 0
                run.counts[BY_ABA] = 0
        if not by_aba:
            bad, reached = solve_tree(table, measure, tolerance, max_joints, max_opened)
        if bad == -1 and not run.metric_sums[ws.SUM_JOINT] + run.metric_sums[ws.SUM_QUEUE] < math.inf:
            bad = ws.OVERFLOW
        if bad == -1:
            joints += run.counts[ws.JOINT_COUNT]
            updated += run.counts[ws.UPDATED_COUNT]
            if by_aba:
                close_if_cheap(table, measure, tolerance)
            elif h != 0.0 and run.counts[IS_EVERYTHING] == 0:
                mark_to_close(plan, mechanism, run, measure, tolerance)
            if by_aba and h != 0.0:
                is_handed_over = done + 1 < steps and run.counts[IS_EVERYTHING] != 0
                if not move_everything(table, h, is_handed_over):
                    go_back(table, plan, mechanism, run)
                    bad = ws.OVERFLOW
            elif h != 0.0 and not move(table, plan, mechanism, run, h):
                bad = ws.OVERFLOW
        if bad == -1:
            if may_be_full and not by_aba:
                note_cost(table)
            done += 1
    if bad != -1:
        forget_solve(plan, mechanism, run)
    return bad, done, reached, joints, updated
