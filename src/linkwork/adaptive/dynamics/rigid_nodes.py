"""Clusters that move as one rigid body: their inertia, the loads on them, and what the active region above sees of them."""

from linkwork.adaptive.dynamics.workspace import P_FORCE, P_INERTIA, P_P, P_R, P_SPRING
from linkwork.assembly.plan import BODY, HANG, INDEX, JOIN, LEFT, LOWER, NODE_KIND, RIGHT, ROLE, TOP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import H_P, H_R, PHI11, PHI22, invert_with_bias, rigid_lower
from linkwork.model.joint_kernels import joint_spring_energy
from linkwork.model.layout import INERTIA
from linkwork.spatial.inertia import rigid_times_twist, rigid_to_parent
from linkwork.spatial.memory import load3, load6, load9, load10, store3, store6, store9, store10
from linkwork.spatial.rotations import IDENTITY3, ZERO3
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
from linkwork.spatial.vectors import ZERO6, add6, compose_pose, cross_force, sub6, twist_to_child, wrench_to_parent


@inlined
def add10(a, b):
    return (
        a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4],
        a[5] + b[5], a[6] + b[6], a[7] + b[7], a[8] + b[8], a[9] + b[9],
    )  # fmt: skip


@inlined
def lower_pose(nodes, node, hinge, place):
    """Pose of the first body below a JOIN's or HANG's joint in the node's own frame."""
    i = nodes[node, INDEX]
    R = load9(hinge, i, H_R)
    p = load3(hinge, i, H_P)
    if nodes[node, NODE_KIND] == JOIN:
        left = nodes[node, LEFT]
        R, p = compose_pose(load9(place, left, P_R), load3(place, left, P_P), R, p)
    return R, p


@routine
def refresh_composite(plan, mechanism, c, live, node):
    """A rigid node as one body: pose of its last body, inertia, wrench and spring energy, from its children."""
    nodes = plan.nodes
    place = c.place
    kind = nodes[node, NODE_KIND]
    left = nodes[node, LEFT]
    i = nodes[node, INDEX]
    if kind == BODY:
        inertia = load10(mechanism.body, i, INERTIA)
        force = load6(live.wrench, i, 0)
        spring = 0.0
        if left >= 0:
            inertia = add10(inertia, load10(place, left, P_INERTIA))
            force = add6(force, load6(place, left, P_FORCE))
            spring = place[left, P_SPRING]
        store9(place, node, P_R, IDENTITY3)
        store3(place, node, P_P, ZERO3)
    elif kind == JOIN or kind == HANG:
        R, p = lower_pose(nodes, node, c.hinge, place)
        below = nodes[node, RIGHT] if kind == JOIN else left
        inertia = rigid_to_parent(R, p, load10(place, below, P_INERTIA))
        force = wrench_to_parent(R, p, load6(place, below, P_FORCE))
        spring = place[below, P_SPRING]
        spring += joint_spring_energy(mechanism.whole_tree, mechanism.dof, mechanism.rest, i, live.q)
        if kind == JOIN:
            inertia = add10(load10(place, left, P_INERTIA), inertia)
            force = add6(load6(place, left, P_FORCE), force)
            spring += place[left, P_SPRING]
            R, p = compose_pose(R, p, load9(place, below, P_R), load3(place, below, P_P))
            store9(place, node, P_R, R)
            store3(place, node, P_P, p)
    else:
        right = nodes[node, RIGHT]
        inertia = add10(load10(place, left, P_INERTIA), load10(place, right, P_INERTIA))
        force = add6(load6(place, left, P_FORCE), load6(place, right, P_FORCE))
        spring = place[left, P_SPRING] + place[right, P_SPRING]
    store10(place, node, P_INERTIA, inertia)
    store6(place, node, P_FORCE, force)
    place[node, P_SPRING] = spring


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
    inertia = load10(c.place, node, P_INERTIA)
    if kind != BODY and kind != JOIN:
        store_rows(hybrid.phi, at, rigid_rows(inertia))
        return
    if kind == BODY and nodes[node, LEFT] < 0:
        phi = load_rows(c.coef, plan.block[node])
    else:
        phi, _ = invert_with_bias(rigid_lower(inertia), ZERO6, c.scratch)
    store_rows(hybrid.phi, at + PHI11, phi)
    if kind == BODY:
        store_rows(hybrid.coef, plan.block[node], phi)
        return
    role = nodes[node, ROLE]
    if role == TOP:
        return
    R = load9(c.place, node, P_R)
    p = load3(c.place, node, P_P)
    phi21 = motion_rows_to_child(R, p, phi)
    store_rows(c.scratch, 0, phi21)
    phi12 = transposed_product(c.scratch, 0, identity_rows())
    store_rows(hybrid.phi, at + PHI22, motion_rows_to_child(R, p, phi12))
    store_rows(hybrid.coef, plan.block[node], phi12 if role == LOWER else phi21)


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
        b = six_lanes(combine(w, load_rows(hybrid.phi, at + PHI11)))
        set_bias(hybrid.phi, at + PHI11, b)
        if kind == JOIN and plan.nodes[node, ROLE] != TOP:
            b2 = twist_to_child(load9(c.place, node, P_R), load3(c.place, node, P_P), b)
            set_bias(hybrid.phi, at + PHI22, b2)
    else:
        set_bias(hybrid.phi, at, (-w[0], -w[1], -w[2], -w[3], -w[4], -w[5]))


@inlined
def front_wrench(c, live, node):
    """f - V x* I V of a rigid node."""
    twist = load6(live.twist, node, 0)
    gyroscopic = cross_force(twist, rigid_times_twist(load10(c.place, node, P_INERTIA), twist))
    return sub6(add6(load6(c.place, node, P_FORCE), load6(live.force, node, 0)), gyroscopic)
