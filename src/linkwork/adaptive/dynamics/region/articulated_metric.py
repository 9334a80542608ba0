"""The acceleration metric of the fully articulated linkage at the present velocities, best first.

Rigid nodes respond through their velocity columns and factors, however deep the descent goes; nodes that move, that carry
world loads or that something was changed in are assembled anew first. Theory: docs/theory/adaptive_dynamics.md.

Where nothing in a node has moved, but velocities, loads or efforts are others, its matrices are known and only its biases
are renewed. A bias is how a cluster accelerates with nothing on its handles. So a joint is solved as on the way back, with
no wrenches on the handles of its node; what then goes through it is the biases (5). That takes a fourth of an assembly.
"""

from linkwork.adaptive.best_first import make_best_first
from linkwork.adaptive.dynamics.region.motion import twists_root_to_leaf
from linkwork.adaptive.frontier import sort_open
from linkwork.adaptive.metric.factor import total_acceleration_in_motion
from linkwork.adaptive.metric.velocity_columns import branch_bias, classical_part, first_bias, last_bias
from linkwork.adaptive.nodes import add_loop_wrenches, load_wrench, node_arrays, place_in_world
from linkwork.adaptive.workspace import DIRTY, HEAP_COUNT, LOAD_COUNT, OPEN, OPEN_COUNT, P_P, P_R, UNIT
from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, TOP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.back_substitution import pass_joint
from linkwork.dynamics.dca.nodes import (
    H_C,
    H_F,
    H_P,
    H_R,
    HANG_L,
    IN_1,
    IN_2,
    INPUT_COLUMNS,
    JOIN_L,
    L_BETA,
    PHI11,
    PHI22,
    bias_lane,
    lower_handle,
)
from linkwork.dynamics.dca.sweeps import assemble_node
from linkwork.model.layout import INERTIA
from linkwork.spatial.inertia import gyroscopic_wrench
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store6
from linkwork.spatial.simd import combine, lane_vector, load_rows, six_lanes, vload, vstore
from linkwork.spatial.vectors import ZERO6, add6, sub6, twist_to_child, wrench_to_parent

NOTHING = 0  # flags of no node


@inlined
def set_bias(phi, at, b):
    """Lane 6 of the block at phi[at]."""
    phi[at + 6] = b[0]
    phi[at + 14] = b[1]
    phi[at + 22] = b[2]
    phi[at + 30] = b[3]
    phi[at + 38] = b[4]
    phi[at + 46] = b[5]


@routine
def renew_bias(plan, mechanism, c, node, qdd):
    """Biases of one node from those of its children, by (5). qdd, shape (nv,): scratch for its joint."""
    nodes = plan.nodes
    kind = nodes[node, NODE_KIND]
    i = nodes[node, INDEX]
    slot = plan.slot[node]
    left = nodes[node, LEFT]
    if kind == JOIN:
        lower = nodes[node, RIGHT]
        b1 = bias_lane(c.handed_up, plan.slot[left] + PHI11)
        b2 = bias_lane(c.handed_up, lower_handle(nodes, plan.slot, lower))
        R = load9(c.joint_data, i, H_R)
        p = load3(c.joint_data, i, H_P)
        gap = twist_to_child(R, p, bias_lane(c.handed_up, lower_handle(nodes, plan.slot, left)))
        gap = sub6(gap, bias_lane(c.handed_up, plan.slot[lower] + PHI11))
        f = through_joint(mechanism, c, i, plan.block[node] + JOIN_L, gap, qdd)
        back = wrench_to_parent(R, p, f)
        set_bias(
            c.handed_up, slot + PHI11, sub6(b1, six_lanes(combine(back, load_rows(c.node_data, plan.block[left]))))
        )
        if nodes[node, ROLE] != TOP:
            b2 = add6(b2, six_lanes(combine(f, load_rows(c.node_data, plan.block[lower]))))
            set_bias(c.handed_up, slot + PHI22, b2)
    elif kind == HANG:
        b = bias_lane(c.handed_up, plan.slot[left] + PHI11)
        gap = (-b[0], -b[1], -b[2], -b[3], -b[4], -b[5])
        f = through_joint(mechanism, c, i, plan.block[node] + HANG_L, gap, qdd)
        set_bias(c.handed_up, slot, wrench_to_parent(load9(c.joint_data, i, H_R), load3(c.joint_data, i, H_P), f))
    elif kind == BODY:
        f = load6(c.joint_data, i, H_F)
        if left >= 0:
            f = sub6(f, bias_lane(c.handed_up, plan.slot[left]))
        b = six_lanes(combine(f, load_rows(c.node_data, plan.block[node])))
        set_bias(c.handed_up, slot, b)
        if left >= 0:
            set_bias(c.node_data, plan.block[node], b)
    else:
        a = bias_lane(c.handed_up, plan.slot[left])
        set_bias(c.handed_up, slot, add6(a, bias_lane(c.handed_up, plan.slot[nodes[node, RIGHT]])))


@inlined
def through_joint(mechanism, c, i, o, gap, qdd):
    """Wrench through joint i with nothing on the handles of its node; keeps the gap β for the way back."""
    beta = add6(gap, load6(c.joint_data, i, H_C))
    vstore(c.node_data, o + L_BETA, lane_vector(beta, 0.0))
    return pass_joint(mechanism.tree, i, c.effort_sum, c.node_data, o, c.dof_rows, beta, qdd)


@inlined
def evaluate_bias(plan, c, run, node):
    """Spatial biases of a rigid, unopened node at its velocity, where its parent's assembly reads them."""
    kind = plan.nodes[node, NODE_KIND]
    at = plan.columns_at[node]
    slot = plan.slot[node]
    twist = load6(run.twist, node, 0)
    if kind == BODY or kind == JOIN:
        set_bias(c.handed_up, slot + PHI11, first_bias(c.columns, at, twist))
        if kind == JOIN and plan.nodes[node, ROLE] != TOP:
            R = load9(c.composite, node, P_R)
            p = load3(c.composite, node, P_P)
            set_bias(c.handed_up, slot + PHI22, last_bias(c.columns, at, twist, R, p))
    else:
        set_bias(c.handed_up, slot, branch_bias(c.columns, at, twist, c.handed_up, slot))


@routine
def assemble_opened(plan, mechanism, c, run, what):
    """Coefficients of all opened nodes at the present state; returns a body that failed, or -1.

    what: flags of the nodes whose matrices are assembled; of the others only biases are renewed. Joints move in ACTIVE
    nodes alone, so that the matrices of others stay as they were unless a joint was pinned (REBUILD).
    """
    run.counts[HEAP_COUNT] = 0  # the frontier is gathered anew; until then its memory serves the sort
    sort_open(run.opened, run.heap, run.counts)
    if run.counts[LOAD_COUNT] > 0:
        place_in_world(plan.nodes, run.opened, run.counts[OPEN_COUNT], c.joint_data, c.composite, run.world)
    take_motion(plan, mechanism, c, run)
    return assemble(plan, mechanism, c, run, what)


@routine
def take_motion(plan, mechanism, c, run):
    """Velocities of all opened nodes, and what acts on their bodies, where these stand: all that `assemble` reads."""
    nodes = plan.nodes
    count = run.counts[OPEN_COUNT]
    twists_root_to_leaf(plan, c, run, run.opened, count)
    for k in range(count):
        node = run.opened[k]
        if nodes[node, NODE_KIND] == BODY:
            take_wrench(mechanism, c, run, node, nodes[node, INDEX])
    for k in range(run.counts[LOAD_COUNT]):  # the paths of loads are open, down to the bodies they act on
        add_to6(c.joint_data, run.load_body[k], H_F, load_wrench(plan, run, k))
    add_loop_wrenches(c, run)


@inlined
def take_wrench(mechanism, c, run, node, i):
    """What acts on body i, whose node this is, at its velocity, but for world loads and loops."""
    gyroscopic = gyroscopic_wrench(load10(mechanism.body, i, INERTIA), load6(run.twist, node, 0))
    store6(c.joint_data, i, H_F, sub6(load6(run.wrench, i, 0), gyroscopic))


@routine
def assemble(plan, mechanism, c, run, what):
    """The rest of `assemble_opened`. what: NOTHING, where no body stands elsewhere than at the last assembly."""
    nodes = plan.nodes
    arrays = node_arrays(plan, mechanism, c)
    for k in range(run.counts[OPEN_COUNT]):
        node = run.opened[k]
        for side in (LEFT, RIGHT):
            child = nodes[node, side]
            if child >= 0 and run.flag[child] & OPEN == 0:
                evaluate_bias(plan, c, run, child)
        if run.flag[node] & what == 0:
            renew_bias(plan, mechanism, c, node, run.metric_qdd)
            continue
        if not assemble_node(arrays, node):
            return nodes[node, INDEX]
    return -1


@routine
def renew_dirty(plan, mechanism, c, run):
    """Biases of opened nodes in which loads or efforts changed since `assemble_opened`, at the same state."""
    nodes = plan.nodes
    for k in range(run.counts[OPEN_COUNT]):
        node = run.opened[k]
        if nodes[node, NODE_KIND] == BODY and run.flag[node] & DIRTY:
            take_wrench(mechanism, c, run, node, nodes[node, INDEX])
    for k in range(run.counts[LOAD_COUNT]):
        if run.flag[plan.leaf[run.load_body[k]]] & DIRTY:
            add_to6(c.joint_data, run.load_body[k], H_F, load_wrench(plan, run, k))
    for k in range(run.loop_body.shape[0]):
        body = run.loop_body[k]
        if body >= 0 and run.flag[plan.leaf[body]] & DIRTY:
            add_to6(c.joint_data, body, H_F, load6(run.loop_wrench, k, 0))
    for k in range(run.counts[OPEN_COUNT]):
        if run.flag[run.opened[k]] & DIRTY:
            renew_bias(plan, mechanism, c, run.opened[k], run.metric_qdd)


@inlined
def hidden_in_motion(plan, c, run, child):
    """A(C) of a rigid node at its velocity, for the inputs its parent handed it; those of a branch made classical."""
    at = child * INPUT_COLUMNS
    F1 = vload(run.inputs, at + IN_1)
    F2 = vload(run.inputs, at + IN_2)
    twist = load6(run.twist, child, 0)
    kind = plan.nodes[child, NODE_KIND]
    if kind != BODY and kind != JOIN:
        F1 = F1 + lane_vector(classical_part(twist), 0.0)
        F2 = lane_vector(ZERO6, 0.0)
    w = (twist[0], twist[1], twist[2])
    return total_acceleration_in_motion(plan, c, child, F1, F2, w, run.metric_sums[UNIT])


@routine
def enter_rigid(plan, c, run, node):
    """Gives a rigid node what its back-substitution reads: its children's velocities and the gap at its joint."""
    nodes = plan.nodes
    kind = nodes[node, NODE_KIND]
    left = nodes[node, LEFT]
    right = nodes[node, RIGHT]
    twist = load6(run.twist, node, 0)
    if kind == JOIN or kind == HANG:
        i = nodes[node, INDEX]
        R = load9(c.joint_data, i, H_R)
        p = load3(c.joint_data, i, H_P)
        upper = twist
        beta = ZERO6
        lower = left
        if kind == JOIN:
            lower = right
            store6(run.twist, left, 0, twist)
            Ra = load9(c.composite, left, P_R)
            pa = load3(c.composite, left, P_P)
            upper = twist_to_child(Ra, pa, twist)
            if nodes[left, NODE_KIND] == BODY:
                b = first_bias(c.columns, plan.columns_at[left], twist)
            else:
                b = last_bias(c.columns, plan.columns_at[left], twist, Ra, pa)
            beta = twist_to_child(R, p, b)
        below = twist_to_child(R, p, upper)
        store6(run.twist, lower, 0, below)
        beta = sub6(beta, first_bias(c.columns, plan.columns_at[lower], below))
        o = plan.block[node] + (JOIN_L if kind == JOIN else HANG_L)
        vstore(c.node_data, o + L_BETA, lane_vector(beta, 0.0))
    else:
        if kind == BODY:
            set_bias(c.node_data, plan.block[node], first_bias(c.columns, plan.columns_at[node], twist))
        if left >= 0:
            store6(run.twist, left, 0, twist)
        if right >= 0:
            store6(run.twist, right, 0, twist)


@inlined
def take_as_found(mechanism, run, i, qdd):
    """Limits act in steps."""


@inlined
def never(mechanism, run, child):
    return False


solve_opened, expand_metric, open_path = make_best_first(hidden_in_motion, enter_rigid, take_as_found, never)
