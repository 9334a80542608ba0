"""Rigid stretches of the assembly tree: bodies welded to one another, whose inertias add.

A weld could be eliminated as any joint is. But inverse inertias of a stretch fall with the cube of its length, and
Φ11ᴬ - YᵀD⁻¹Y would form that small number as a difference of large ones. So a stretch keeps what adds up without loss, its
inertia I and the wrench F on it, both about its first body, and the pose of its last body in its first:

    [I | F] = [Iᴬ | Fᴬ] + Xᵀ[Iᴮ X | Fᴮ]
    Φ11 = I⁻¹,   b1 = I⁻¹ F,   Φ21 = X₁₂ Φ11,   Φ22 = X₁₂ Φ11 X₁₂ᵀ,   b2 = X₁₂ b1                              (13)

with X from the first body of A to that of B and X₁₂ from the first body of the whole to its last. Welded to a carrier it is
the branch K = Xᵀ I X, p = -Xᵀ F. On the way back the wrench through a weld comes from L, D and β as in any JOIN, but
accelerations from I a = F + f1 + X₁₂ᵀ f2 of the whole stretch: within it wrenches nearly cancel. theory/dca.md, 5.
"""

from linkwork.assembly.node_table import BODY, HANG, INDEX, LEFT, LOWER, NODE_KIND, RIGHT, ROLE, SOLID, TOP, UP
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.nodes import (
    BODY_SOLID,
    H_P,
    H_R,
    IN_1,
    IN_2,
    INPUT_COLUMNS,
    JOIN_SOLID,
    PHI11,
    PHI22,
    SOLID_B,
    SOLID_P,
    SOLID_R,
    bias_lane,
    block_lower,
    eliminate_hang,
    eliminate_join,
    invert_with_bias,
)
from linkwork.spatial.ldl import backward, forward, ldl6
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.rotations import IDENTITY3, ZERO3
from linkwork.spatial.simd import (
    flat6,
    get_lane,
    identity_rows,
    load_rows,
    motion_rows_to_child,
    negate6,
    set_lane,
    store_rows,
    transposed_product,
    wrench_rows_to_parent,
)
from linkwork.spatial.vectors import add6, compose_pose, twist_to_child, wrench_to_parent


@inlined
def is_solid(nodes, node):
    """Whether a node is part of a rigid stretch, or welds one to its carrier; what is above the root (-1) is not."""
    return node >= 0 and nodes[node, SOLID] == 1


@inlined
def solid_at(nodes, block, node):
    """Where a node of a stretch keeps [I | F] and its pose."""
    return block[node] + (BODY_SOLID if nodes[node, NODE_KIND] == BODY else JOIN_SOLID)


@inlined
def solid_pose(node_data, at):
    """Pose of the last body of a stretch in its first."""
    R = (
        node_data[at + SOLID_R], node_data[at + SOLID_R + 1], node_data[at + SOLID_R + 2], node_data[at + SOLID_R + 3],
        node_data[at + SOLID_R + 4], node_data[at + SOLID_R + 5], node_data[at + SOLID_R + 6], node_data[at + SOLID_R + 7],
        node_data[at + SOLID_R + 8],
    )  # fmt: skip
    return R, (node_data[at + SOLID_P], node_data[at + SOLID_P + 1], node_data[at + SOLID_P + 2])


@inlined
def store_pose(node_data, at, R, p):
    for k in range(9):
        node_data[at + SOLID_R + k] = R[k]
    for k in range(3):
        node_data[at + SOLID_P + k] = p[k]


@inlined
def store_flat6(node_data, at, x):
    for k in range(6):
        node_data[at + k] = x[k]


@inlined
def moved_inertia(R, p, node_data, at, scratch):
    """[XᵀI X | XᵀF] of the stretch at node_data[at]."""
    half = wrench_rows_to_parent(R, p, load_rows(node_data, at))
    store_rows(scratch, 0, half)
    whole = wrench_rows_to_parent(R, p, transposed_product(scratch, 0, identity_rows()))
    return set_lane(whole, 6, get_lane(half, 6))


@routine
def join_solid(x, node):
    """Joins two rigid stretches by the weld between them: (13)."""
    nodes, block, slot, joint_data, node_data, phi, scratch = (
        x.nodes,
        x.block,
        x.slot,
        x.joint_data,
        x.node_data,
        x.phi,
        x.scratch,
    )
    i = nodes[node, INDEX]
    upper = solid_at(nodes, block, nodes[node, LEFT])
    lower = solid_at(nodes, block, nodes[node, RIGHT])
    at = solid_at(nodes, block, node)
    _, _, _, ok, _, _ = eliminate_join(x, node)
    Ra, pa = solid_pose(node_data, upper)
    R, p = compose_pose(Ra, pa, load9(joint_data, i, H_R), load3(joint_data, i, H_P))
    a = load_rows(node_data, upper)
    b = moved_inertia(R, p, node_data, lower, scratch)
    store_rows(node_data, at, (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]))
    Rb, pb = solid_pose(node_data, lower)
    R, p = compose_pose(R, p, Rb, pb)
    store_pose(node_data, at, R, p)
    phi11, invertible = invert_with_bias(block_lower(node_data, at), bias_lane(node_data, at), scratch)
    store_rows(phi, slot[node] + PHI11, phi11)
    store_flat6(node_data, at + SOLID_B, get_lane(phi11, 6))
    role = nodes[node, ROLE]
    if role == TOP:
        return ok and invertible
    phi21 = motion_rows_to_child(R, p, phi11)
    store_rows(scratch, 0, phi21)
    phi12 = transposed_product(scratch, 0, identity_rows())
    if role == LOWER:
        store_rows(node_data, block[node], phi12)
    else:
        store_rows(node_data, block[node], set_lane(phi21, 6, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)))
    phi22 = motion_rows_to_child(R, p, phi12)
    store_rows(phi, slot[node] + PHI22, set_lane(phi22, 6, get_lane(phi21, 6)))
    return ok and invertible


@routine
def hang_solid(x, node):
    """A rigid stretch welded to its carrier: its inertia, seen from there."""
    i = x.nodes[node, INDEX]
    _, _, _, ok, _ = eliminate_hang(x, node)
    at = solid_at(x.nodes, x.block, x.nodes[node, LEFT])
    K = moved_inertia(load9(x.joint_data, i, H_R), load3(x.joint_data, i, H_P), x.node_data, at, x.scratch)
    store_rows(x.phi, x.slot[node], set_lane(K, 6, negate6(get_lane(K, 6))))
    return ok


# ------------------------------------------------------------------------------------------------------------- way back


@inlined
def response_of_stretch(node_data, at, f1, f2):
    """I⁻¹ (f1 + X₁₂ᵀ f2): acceleration of the first body of a stretch by wrenches on its ends."""
    R, p = solid_pose(node_data, at)
    L, d, _ = ldl6(block_lower(node_data, at))
    t = forward(L, add6(f1, wrench_to_parent(R, p, f2)))
    return backward(L, (d[0] * t[0], d[1] * t[1], d[2] * t[2], d[3] * t[3], d[4] * t[4], d[5] * t[5]))


@inlined
def into_lower(nodes, block, node, joint_data, node_data, a):
    """Acceleration of the first body below the weld of a stretch from that of the first body of the stretch."""
    i = nodes[node, INDEX]
    R, p = solid_pose(node_data, solid_at(nodes, block, nodes[node, LEFT]))
    R, p = compose_pose(R, p, load9(joint_data, i, H_R), load3(joint_data, i, H_P))
    return twist_to_child(R, p, a)


@routine
def motion_in_stretch(nodes, block, node, joint_data, node_data, inputs):
    """Acceleration of a body of a stretch, from the wrenches on the ends of the whole stretch or from its carrier."""
    R, p = IDENTITY3, ZERO3  # of the body in the first one of `top`
    top = node
    up = nodes[top, UP]
    while is_solid(nodes, up):
        i = nodes[up, INDEX]
        if nodes[up, NODE_KIND] == HANG:
            R, p = compose_pose(load9(joint_data, i, H_R), load3(joint_data, i, H_P), R, p)
        elif nodes[up, RIGHT] == top:
            Ra, pa = solid_pose(node_data, solid_at(nodes, block, nodes[up, LEFT]))
            Ra, pa = compose_pose(Ra, pa, load9(joint_data, i, H_R), load3(joint_data, i, H_P))
            R, p = compose_pose(Ra, pa, R, p)
        top = up
        up = nodes[top, UP]
    at = top * INPUT_COLUMNS
    if nodes[top, NODE_KIND] == HANG:
        return twist_to_child(R, p, flat6(inputs, at + IN_1))
    o = solid_at(nodes, block, top)
    a = response_of_stretch(node_data, o, flat6(inputs, at + IN_1), flat6(inputs, at + IN_2))
    return twist_to_child(R, p, add6(a, flat6(node_data, o + SOLID_B)))
