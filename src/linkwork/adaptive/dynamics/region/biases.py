"""Biases of nodes whose matrices are known: nothing in them has moved, but velocities, loads or efforts are others.

A bias is how a cluster accelerates with nothing on its handles. So a joint is solved as on the way back, with no wrenches
on the handles of its node; what then goes through it tells the biases (5). That takes a fourth of an assembly.
Theory: docs/theory/adaptive_dynamics.md.
"""

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, RIGHT, ROLE, TOP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import (
    H_C,
    H_F,
    H_P,
    H_R,
    HANG_L,
    JOIN_L,
    L_BETA,
    PHI11,
    PHI22,
    bias_lane,
    lower_handle,
    pass_joint,
)
from linkwork.spatial.memory import load3, load6, load9
from linkwork.spatial.simd import combine, lane_vector, load_rows, six_lanes, vstore
from linkwork.spatial.vectors import add6, sub6, twist_to_child, wrench_to_parent


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
        f = through_joint(plan, mechanism, c, i, plan.block[node] + JOIN_L, gap, qdd)
        back = wrench_to_parent(R, p, f)
        set_bias(c.handed_up, slot + PHI11, sub6(b1, six_lanes(combine(back, load_rows(c.kept, plan.block[left])))))
        if nodes[node, ROLE] != TOP:
            b2 = add6(b2, six_lanes(combine(f, load_rows(c.kept, plan.block[lower]))))
            set_bias(c.handed_up, slot + PHI22, b2)
    elif kind == HANG:
        b = bias_lane(c.handed_up, plan.slot[left] + PHI11)
        gap = (-b[0], -b[1], -b[2], -b[3], -b[4], -b[5])
        f = through_joint(plan, mechanism, c, i, plan.block[node] + HANG_L, gap, qdd)
        set_bias(c.handed_up, slot, wrench_to_parent(load9(c.joint_data, i, H_R), load3(c.joint_data, i, H_P), f))
    elif kind == BODY:
        f = load6(c.joint_data, i, H_F)
        if left >= 0:
            f = sub6(f, bias_lane(c.handed_up, plan.slot[left]))
        b = six_lanes(combine(f, load_rows(c.kept, plan.block[node])))
        set_bias(c.handed_up, slot, b)
        if left >= 0:
            set_bias(c.kept, plan.block[node], b)
    else:
        a = bias_lane(c.handed_up, plan.slot[left])
        set_bias(c.handed_up, slot, add6(a, bias_lane(c.handed_up, plan.slot[nodes[node, RIGHT]])))


@inlined
def through_joint(plan, mechanism, c, i, o, gap, qdd):
    """Wrench through joint i with nothing on the handles of its node; keeps the gap β for the way back."""
    beta = add6(gap, load6(c.joint_data, i, H_C))
    vstore(c.kept, o + L_BETA, lane_vector(beta, 0.0))
    return pass_joint(mechanism.tree, i, c.effort_sum, c.kept, o, c.dof_rows, beta, qdd)
