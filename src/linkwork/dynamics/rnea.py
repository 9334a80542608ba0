"""Inverse dynamics by the recursive Newton-Euler algorithm (Luh, Walker and Paul 1980): O(n).

root to leaf   V = X V_λ + S q̇,  a = X a_λ + S q̈ + c,  f = I a + V x* I V - f_ext
leaf to root   τ = Sᵀ f + armature q̈ - springs and dampers,  f_λ += Xᵀ f
"""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.kernels.joint_kernels import body_motion, helical_twist, joint_passive_effort
from linkwork.model.layout import ARMATURE, DAMPING, DOF, HELICAL, INERTIA, KIND, PARENT, STIFFNESS, Q, V
from linkwork.spatial.inertia import gyroscopic_wrench, rigid_times_twist
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.rotations import tmatvec3
from linkwork.spatial.vectors import add6, cross_motion, dot6, join, scale6, sub6, twist_to_child, wrench_to_parent

R_, P_, TWIST, ACCELERATION, WRENCH = 0, 9, 12, 18, 24  # columns of the workspace, one row per body
BODY_WORK = 32


@kernel
def rnea(tree, body, screws, dof, rest, gravity, q, v, qdd, wrenches, work, S, effort):
    """Writes the efforts that cause `qdd` into `effort`. S is a workspace of shape (nv, 6)."""
    wrenches_root_to_leaf(tree, body, screws, gravity, q, v, qdd, wrenches, work, S)
    for i in range(tree.shape[0] - 1, -1, -1):
        f = load6(work, i, WRENCH)
        j = tree[i, V]
        if tree[i, KIND] == HELICAL:
            k = tree[i, Q]
            tau = dot6(helical_twist(body, i), f) + dof[j, ARMATURE] * qdd[j]
            effort[j] = tau + dof[j, DAMPING] * v[j] + dof[j, STIFFNESS] * (q[k] - rest[k])
        else:
            effort_general(tree, dof, rest, i, q, v, qdd, f, S, effort)
        parent = tree[i, PARENT]
        if parent >= 0:
            add_to6(work, parent, WRENCH, wrench_to_parent(load9(work, i, R_), load3(work, i, P_), f))


@inlined
def wrenches_root_to_leaf(tree, body, screws, gravity, q, v, qdd, wrenches, work, S):
    for i in range(tree.shape[0]):
        parent = tree[i, PARENT]
        j = tree[i, V]
        R, p, VJ, cJ = body_motion(tree, body, screws, i, q, v, S)
        if parent >= 0:
            twist = add6(twist_to_child(R, p, load6(work, parent, TWIST)), VJ)
            a = twist_to_child(R, p, load6(work, parent, ACCELERATION))
        else:
            twist = VJ
            a = join((0.0, 0.0, 0.0), tmatvec3(R, (-gravity[0], -gravity[1], -gravity[2])))
        a = add6(a, add6(cJ, cross_motion(twist, VJ)))
        if tree[i, KIND] == HELICAL:
            a = add6(a, scale6(qdd[j], helical_twist(body, i)))
        else:
            for d in range(tree[i, DOF]):
                a = add6(a, scale6(qdd[j + d], load6(S, j + d, 0)))
        inertia = load10(body, i, INERTIA)
        f = add6(rigid_times_twist(inertia, a), gyroscopic_wrench(inertia, twist))
        if wrenches.shape[0] > 0:
            f = sub6(f, load6(wrenches, i, 0))
        store9(work, i, R_, R)
        store3(work, i, P_, p)
        store6(work, i, TWIST, twist)
        store6(work, i, ACCELERATION, a)
        store6(work, i, WRENCH, f)


@routine
def effort_general(tree, dof, rest, i, q, v, qdd, f, S, effort):
    j = tree[i, V]
    for d in range(tree[i, DOF]):
        effort[j + d] = 0.0
    joint_passive_effort(tree, dof, rest, i, q, v, effort)
    for d in range(tree[i, DOF]):
        effort[j + d] = dot6(load6(S, j + d, 0), f) + dof[j + d, ARMATURE] * qdd[j + d] - effort[j + d]
