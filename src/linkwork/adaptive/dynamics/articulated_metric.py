"""The acceleration metric of the fully articulated linkage at the present velocities, best first.

Rigid nodes answer through their velocity columns and roots, however deep the descent goes; nodes that move, that carry
world loads or that something was changed in are assembled anew first. Theory: docs/theory/adaptive_dynamics.md.
"""

from linkwork.adaptive.dynamics.hybrid import gyroscopic_wrench, load_wrench, twists_root_to_leaf
from linkwork.adaptive.dynamics.rigid_nodes import set_bias
from linkwork.adaptive.dynamics.workspace import OPEN, P_P, P_R
from linkwork.adaptive.frontier import push, sort_open
from linkwork.adaptive.measures import (
    MORE,
    begin_solve,
    compute_node,
    note_opened,
    open_largest,
    resum_queue,
    what_next,
)
from linkwork.adaptive.metric.moving_factor import moving_total_acceleration
from linkwork.adaptive.metric.velocity_columns import branch_bias, classical_part, first_bias, last_bias
from linkwork.adaptive.quasi_statics.workspace import (
    HEAP_COUNT,
    LOAD_COUNT,
    OPEN_COUNT,
    SUM_QUEUE,
)
from linkwork.assembly.plan import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, TOP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import H_F, H_P, H_R, HANG_L, JOIN_L, L_BETA, PHI11, PHI22
from linkwork.dynamics.dca.sweeps import IN_1, IN_2, INPUT_COLUMNS, assemble_node
from linkwork.spatial.memory import add_to6, load3, load6, load9, store6
from linkwork.spatial.simd import lane_vector, vload, vstore
from linkwork.spatial.vectors import ZERO6, sub6, twist_to_child, wrench_to_child


@inlined
def evaluate_bias(plan, c, live, node):
    """Spatial biases of a rigid, unopened node at its velocity, where its parent's assembly reads them."""
    kind = plan.nodes[node, NODE_KIND]
    at = plan.columns_at[node]
    slot = plan.slot[node]
    twist = load6(live.twist, node, 0)
    if kind == BODY or kind == JOIN:
        set_bias(c.phi, slot + PHI11, first_bias(c.columns, at, twist))
        if kind == JOIN and plan.nodes[node, ROLE] != TOP:
            R = load9(c.place, node, P_R)
            p = load3(c.place, node, P_P)
            set_bias(c.phi, slot + PHI22, last_bias(c.columns, at, twist, R, p))
    else:
        set_bias(c.phi, slot, branch_bias(c.columns, at, twist, c.phi, slot))


@routine
def assemble_opened(plan, mechanism, c, live):
    """Coefficients of all opened nodes at the present state; returns a body that failed, or -1."""
    nodes = plan.nodes
    live.tally[HEAP_COUNT] = 0  # the frontier is gathered anew; until then its memory serves the sort
    sort_open(live.opened, live.heap, live.tally)
    count = live.tally[OPEN_COUNT]
    twists_root_to_leaf(plan, c, live, live.opened, count)
    for k in range(count):
        node = live.opened[k]
        for side in (LEFT, RIGHT):
            child = nodes[node, side]
            if child >= 0 and live.flag[child] & OPEN == 0:
                evaluate_bias(plan, c, live, child)
        if nodes[node, NODE_KIND] == BODY:
            i = nodes[node, INDEX]
            gyroscopic = gyroscopic_wrench(mechanism.body, i, load6(live.twist, node, 0))
            store6(c.hinge, i, H_F, sub6(load6(live.wrench, i, 0), gyroscopic))
    for k in range(live.tally[LOAD_COUNT]):
        f = wrench_to_child(load9(live.load_pose, k, 0), load3(live.load_pose, k, 9), load_wrench(live, k))
        add_to6(c.hinge, live.load_body[k], H_F, f)
    for k in range(count):
        node = live.opened[k]
        ok = assemble_node(
            nodes, plan.block, plan.slot, node, mechanism.tree, mechanism.body, mechanism.dof, c.hinge, c.S, c.total,
            c.coef, c.phi, c.freedom, c.scratch,
        )  # fmt: skip
        if not ok:
            return nodes[node, INDEX]
    return -1


@inlined
def queue_children(plan, c, live, node):
    """Puts the rigid children of a computed node on the frontier, where they hide anything."""
    nodes = plan.nodes
    for side in (LEFT, RIGHT):
        child = nodes[node, side]
        if child < 0 or live.flag[child] & OPEN:
            continue
        live.value[child] = 0.0
        if c.rows[child] > 0:
            at = child * INPUT_COLUMNS
            F1 = vload(live.inputs, at + IN_1)
            F2 = vload(live.inputs, at + IN_2)
            twist = load6(live.twist, child, 0)
            kind = nodes[child, NODE_KIND]
            if kind != BODY and kind != JOIN:
                F1 = F1 + lane_vector(classical_part(twist), 0.0)
                F2 = lane_vector(ZERO6, 0.0)
            live.value[child] = moving_total_acceleration(plan, c, child, F1, F2, (twist[0], twist[1], twist[2]))
            live.figure[SUM_QUEUE] += live.value[child]
            push(live, child)


@routine
def solve_opened(plan, mechanism, c, live):
    """Back-substitution over the opened nodes, root to leaf; the frontier goes on the heap."""
    begin_solve(mechanism, live)
    for k in range(live.tally[OPEN_COUNT] - 1, -1, -1):
        node = live.opened[k]
        compute_node(plan, mechanism, c, live, node, live.metric_qdd)
        queue_children(plan, c, live, node)


@routine
def enter_rigid(plan, c, live, node):
    """Gives a rigid node what its back-substitution reads: its children's velocities and the gap at its joint."""
    nodes = plan.nodes
    kind = nodes[node, NODE_KIND]
    left = nodes[node, LEFT]
    right = nodes[node, RIGHT]
    twist = load6(live.twist, node, 0)
    if kind == JOIN or kind == HANG:
        i = nodes[node, INDEX]
        R = load9(c.hinge, i, H_R)
        p = load3(c.hinge, i, H_P)
        upper = twist
        beta = ZERO6
        lower = left
        if kind == JOIN:
            lower = right
            store6(live.twist, left, 0, twist)
            Ra = load9(c.place, left, P_R)
            pa = load3(c.place, left, P_P)
            upper = twist_to_child(Ra, pa, twist)
            if nodes[left, NODE_KIND] == BODY:
                b = first_bias(c.columns, plan.columns_at[left], twist)
            else:
                b = last_bias(c.columns, plan.columns_at[left], twist, Ra, pa)
            beta = twist_to_child(R, p, b)
        below = twist_to_child(R, p, upper)
        store6(live.twist, lower, 0, below)
        beta = sub6(beta, first_bias(c.columns, plan.columns_at[lower], below))
        o = plan.block[node] + (JOIN_L if kind == JOIN else HANG_L)
        vstore(c.coef, o + L_BETA, lane_vector(beta, 0.0))
    else:
        if kind == BODY:
            set_bias(c.coef, plan.block[node], first_bias(c.columns, plan.columns_at[node], twist))
        if left >= 0:
            store6(live.twist, left, 0, twist)
        if right >= 0:
            store6(live.twist, right, 0, twist)


@routine
def expand_metric(plan, mechanism, c, live, measure, tolerance, max_joints):
    """Opens frontier nodes, largest A(C) first, until the bound holds or the budget is spent."""
    resum_queue(live)
    opened = 0
    while what_next(live, measure, tolerance, max_joints) == MORE:
        node = open_largest(live)
        enter_rigid(plan, c, live, node)
        compute_node(plan, mechanism, c, live, node, live.metric_qdd)
        queue_children(plan, c, live, node)
        opened += 1
        note_opened(live, opened)
