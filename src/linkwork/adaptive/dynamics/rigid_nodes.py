"""Clusters that move as one rigid body: their inertia, the loads on them, and what the active region above sees of them."""

from linkwork.adaptive.workspace import P_FORCE, P_INERTIA, P_P, P_R
from linkwork.assembly.plan import BODY, JOIN, LEFT, LOWER, NODE_KIND, ROLE, TOP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import PHI11, PHI22, invert_with_bias, rigid_lower
from linkwork.spatial.inertia import gyroscopic_wrench
from linkwork.spatial.memory import load3, load6, load9, load10
from linkwork.spatial.simd import (
    combine,
    identity_rows,
    lane_vector,
    load_rows,
    motion_rows_to_child,
    six_lanes,
    store_rows,
    transposed_product,
)
from linkwork.spatial.vectors import ZERO6, add6, sub6, twist_to_child


@inlined
def rigid_rows(inertia):
    """The 6x6 of a rigid inertia."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = inertia
    o = 0.0
    return (
        lane_vector((xx, xy, xz, o, -z, y), 0.0),
        lane_vector((xy, yy, yz, z, o, -x), 0.0),
        lane_vector((xz, yz, zz, -y, x, o), 0.0),
        lane_vector((o, z, -y, m, o, o), 0.0),
        lane_vector((-z, o, x, o, m, o), 0.0),
        lane_vector((y, -x, o, o, o, m), 0.0),
    )


@routine
def prepare_front(plan, c, hybrid, node):
    """Hybrid coefficients of a rigid node that stay while it is rigid: Φ11 = I⁻¹, Φ21 = X Φ11, Φ22 = X Φ11 Xᵀ; K = I."""
    nodes = plan.nodes
    kind = nodes[node, NODE_KIND]
    at = plan.slot[node]
    inertia = load10(c.composite, node, P_INERTIA)
    if kind != BODY and kind != JOIN:
        store_rows(hybrid.handed_up, at, rigid_rows(inertia))
        return
    if kind == BODY and nodes[node, LEFT] < 0:
        phi = load_rows(c.kept, plan.block[node])
    else:
        phi, _ = invert_with_bias(rigid_lower(inertia), ZERO6, c.scratch)
    store_rows(hybrid.handed_up, at + PHI11, phi)
    if kind == BODY:
        store_rows(hybrid.kept, plan.block[node], phi)
        return
    role = nodes[node, ROLE]
    if role == TOP:
        return
    R = load9(c.composite, node, P_R)
    p = load3(c.composite, node, P_P)
    phi21 = motion_rows_to_child(R, p, phi)
    store_rows(c.scratch, 0, phi21)
    phi12 = transposed_product(c.scratch, 0, identity_rows())
    store_rows(hybrid.handed_up, at + PHI22, motion_rows_to_child(R, p, phi12))
    store_rows(hybrid.kept, plan.block[node], phi12 if role == LOWER else phi21)


@inlined
def set_bias(phi, at, b):
    """Lane 6 of the block at phi[at]."""
    phi[at + 6] = b[0]
    phi[at + 14] = b[1]
    phi[at + 22] = b[2]
    phi[at + 30] = b[3]
    phi[at + 38] = b[4]
    phi[at + 46] = b[5]


@inlined
def set_front_bias(plan, c, hybrid, node, w):
    """Bias of a rigid node on which the wrench w acts, gyroscopic forces included."""
    kind = plan.nodes[node, NODE_KIND]
    at = plan.slot[node]
    if kind == BODY or kind == JOIN:
        b = six_lanes(combine(w, load_rows(hybrid.handed_up, at + PHI11)))
        set_bias(hybrid.handed_up, at + PHI11, b)
        if kind == JOIN and plan.nodes[node, ROLE] != TOP:
            b2 = twist_to_child(load9(c.composite, node, P_R), load3(c.composite, node, P_P), b)
            set_bias(hybrid.handed_up, at + PHI22, b2)
    else:
        set_bias(hybrid.handed_up, at, (-w[0], -w[1], -w[2], -w[3], -w[4], -w[5]))


@inlined
def front_wrench(c, run, node):
    """f - V x* I V of a rigid node."""
    twist = load6(run.twist, node, 0)
    gyroscopic = gyroscopic_wrench(load10(c.composite, node, P_INERTIA), twist)
    return sub6(add6(load6(c.composite, node, P_FORCE), load6(run.force, node, 0)), gyroscopic)
