"""Derivatives of where bodies are and how they move: one sweep for everything that is a function of poses and twists.

With ξ the twist by which the pose of a body changes, and V its twist:

    root to leaf   ξ = X ξ_λ + S dq,   dV = X dV_λ + (X V_λ) x (S dq) + S dv
    leaf to root   G, B: gradients with respect to ξ and V;  G_λ += XᵀG,  B_λ += XᵀB
                   ∂/∂q = Sᵀ(G - (X V_λ) x* B),   ∂/∂v = SᵀB
"""

from linkwork.core.jit import kernel, routine
from linkwork.derivatives.sweeps.joint_parts import ball_effort, ball_stretch, ball_twist
from linkwork.model import layout
from linkwork.model.kernels.joint_kernels import body_pose, helical_twist, joint_passive_effort, screw_pose, screw_twist
from linkwork.spatial.memory import add_to6, load3, load6, load9, put3, store6
from linkwork.spatial.vectors import (
    ZERO6,
    add6,
    cross_force,
    cross_motion,
    dot6,
    scale6,
    sub6,
    twist_to_child,
    wrench_to_parent,
)


@kernel
def kinematic_adjoint(arrays, q, v, twists, G, B, chain, by_q, by_v):
    """Gradients with respect to q and v into `by_q`, `by_v` (nv,) from those of the bodies, G and B (n, 6), used up here.

    arrays: of the model. twists (n, 6): of the bodies, in their frames. chain (nv, 6): memory for compound joints.
    """
    tree, body, screws = arrays.tree, arrays.body, arrays.screws
    for i in range(tree.shape[0] - 1, -1, -1):
        parent = tree[i, layout.PARENT]
        j = tree[i, layout.V]
        kind = tree[i, layout.KIND]
        g = load6(G, i, 0)
        b = load6(B, i, 0)
        if kind == layout.COMPOUND:
            above = load6(twists, parent, 0) if parent >= 0 else ZERO6
            g, b = compound_adjoint(arrays, q, v, i, above, (g, b), chain, by_q, by_v)
        else:
            twist = load6(twists, i, 0)
            if kind == layout.HELICAL:
                screw = helical_twist(body, i)
                by_q[j] = dot6(screw, g) + dot6(twist, cross_force(screw, b))
                by_v[j] = dot6(screw, b)
            else:
                above = sub6(twist, ball_twist(tree, body, i, v))
                ball_effort(tree, body, i, sub6(g, cross_force(above, b)), by_q)
                ball_effort(tree, body, i, b, by_v)
            R, p = body_pose(tree, body, screws, i, q)
            g, b = wrench_to_parent(R, p, g), wrench_to_parent(R, p, b)
        if parent >= 0:
            add_to6(G, parent, 0, g)
            add_to6(B, parent, 0, b)


@routine
def compound_adjoint(arrays, q, v, i, above, pulls, chain, by_q, by_v):
    """The same through the screws of a compound joint, from the last to the first; `pulls`, g and b, then in the parent."""
    tree, body, screws = arrays.tree, arrays.body, arrays.screws
    g, b = pulls
    j = tree[i, layout.V]
    twist = twist_to_child(load9(body, i, layout.ROTATION), load3(body, i, layout.POSITION), above)
    for d in range(tree[i, layout.DOF]):
        screw, R, p = screw_at(tree, screws, q, i, d)
        twist = twist_to_child(R, p, twist)
        store6(chain, j + d, 0, twist)
        twist = add6(twist, scale6(v[j + d], screw))
    for d in range(tree[i, layout.DOF] - 1, -1, -1):
        screw, R, p = screw_at(tree, screws, q, i, d)
        by_q[j + d] = dot6(screw, g) + dot6(load6(chain, j + d, 0), cross_force(screw, b))
        by_v[j + d] = dot6(screw, b)
        g, b = wrench_to_parent(R, p, g), wrench_to_parent(R, p, b)
    R = load9(body, i, layout.ROTATION)
    p = load3(body, i, layout.POSITION)
    return wrench_to_parent(R, p, g), wrench_to_parent(R, p, b)


@routine
def screw_at(tree, screws, q, i, d):
    """Twist and pose of screw d of a compound joint."""
    row = tree[i, layout.SCREW] + d
    axis = load3(screws, row, layout.SCREW_AXIS)
    slide = load3(screws, row, layout.SCREW_SLIDE)
    center = load3(screws, row, layout.SCREW_CENTER)
    R, p = screw_pose(axis, slide, center, q[tree[i, layout.Q] + d])
    return screw_twist(axis, slide, center), R, p


@kernel
def kinematic_tangent(tree, body, screws, q, v, twists, dq, dv, moved, changed):
    """Writes ξ of every body into `moved` and dV into `changed`, both (n, 6), in the bodies' frames."""
    for i in range(tree.shape[0]):
        parent = tree[i, layout.PARENT]
        j = tree[i, layout.V]
        kind = tree[i, layout.KIND]
        twist, xi, dV = ZERO6, ZERO6, ZERO6
        if parent >= 0:
            twist, xi, dV = load6(twists, parent, 0), load6(moved, parent, 0), load6(changed, parent, 0)
        if kind == layout.COMPOUND:
            R = load9(body, i, layout.ROTATION)
            p = load3(body, i, layout.POSITION)
            twist, xi, dV = twist_to_child(R, p, twist), twist_to_child(R, p, xi), twist_to_child(R, p, dV)
            for d in range(tree[i, layout.DOF]):
                screw, R, p = screw_at(tree, screws, q, i, d)
                twist, xi, dV = twist_to_child(R, p, twist), twist_to_child(R, p, xi), twist_to_child(R, p, dV)
                turn = scale6(dq[j + d], screw)
                dV = add6(dV, add6(cross_motion(twist, turn), scale6(dv[j + d], screw)))
                xi = add6(xi, turn)
                twist = add6(twist, scale6(v[j + d], screw))
        else:
            R, p = body_pose(tree, body, screws, i, q)
            twist, xi, dV = twist_to_child(R, p, twist), twist_to_child(R, p, xi), twist_to_child(R, p, dV)
            if kind == layout.HELICAL:
                screw = helical_twist(body, i)
                turn, dVJ = scale6(dq[j], screw), scale6(dv[j], screw)
            else:
                turn, dVJ = ball_twist(tree, body, i, dq), ball_twist(tree, body, i, dv)
            dV = add6(dV, add6(cross_motion(twist, turn), dVJ))
            xi = add6(xi, turn)
        store6(moved, i, 0, xi)
        store6(changed, i, 0, dV)


@kernel
def stretches(tree, rest, q, out):
    """What the springs of all joints are stretched by, (nv,); half its squares times k are their energy."""
    for i in range(tree.shape[0]):
        kind = tree[i, layout.KIND]
        j = tree[i, layout.V]
        k = tree[i, layout.Q]
        if kind == layout.SPHERICAL or kind == layout.FREE:
            r, x = ball_stretch(tree, rest, i, q)
            put3(out, j, r)
            if kind == layout.FREE:
                put3(out, j + 3, x)
        else:
            for d in range(tree[i, layout.DOF]):
                out[j + d] = q[k + d] - rest[k + d]


@kernel
def spring_pulls(tree, dof, rest, q, v, out):
    """What springs and dampers of all joints resist with, (nv,); at rest the gradient of the energy of springs."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(tree.shape[0]):
        joint_passive_effort(tree, dof, rest, i, q, v, out)
    for j in range(out.shape[0]):
        out[j] = -out[j]
