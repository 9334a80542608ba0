"""Inverse dynamics by the recursive Newton-Euler algorithm (Luh, Walker and Paul 1980): O(n).

root to leaf   V = X V_λ + S q̇,  a = X a_λ + S q̈ + c,  f = I a + V x* I V - f_ext
leaf to root   τ = Sᵀ f + armature q̈ - springs and dampers,  f_λ += Xᵀ f
"""

from linkwork.algebra.rows import Rows
from linkwork.algebra.spatial import Pose, Twist, Wrench
from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.kernels.joint_kernels import joint_moves, joint_passive_effort, turn
from linkwork.model.layout import ARMATURE, DAMPING, DOF, HELICAL, STIFFNESS, V
from linkwork.model.rows import BODY, TREE


class Body(
    Rows,
    tree=TREE,
    body=BODY,
    work={"X": Pose, "V": Twist, "a": Twist, "f": Wrench, "turning": float, "pushing": float},
):
    """A body and its joint, with what the sweeps leave behind. turning, pushing: sizes of moments and forces (`digits`)."""


class Column(Rows, S={"S": Twist}):
    """A column of a joint's motion subspace."""


class External(Rows, wrenches={"F": Wrench}):
    """A wrench on each body."""


R_, P_ = 0, 9  # the same columns by number
TWIST, ACCELERATION, WRENCH = (Body.place[name][1].start for name in "Vaf")
BODY_WORK = Body.width["work"]


@kernel
def rnea(tree, body, screws, dof, rest, gravity, q, v, qdd, wrenches, work, S, effort):
    """Writes the efforts that cause `qdd` into `effort`. S is a workspace of shape (nv, 6)."""
    bodies = Body(tree, body, work)
    for i in range(tree.shape[0]):
        force_of_body(tree, body, screws, gravity, q, v, qdd, wrenches, work, S, i)
    for i in range(tree.shape[0] - 1, -1, -1):
        b = bodies[i]
        f, j = b.f, b.v
        if b.kind == HELICAL:
            tau = b.screw.twist() @ f + dof[j, ARMATURE] * qdd[j]
            effort[j] = tau + dof[j, DAMPING] * v[j] + dof[j, STIFFNESS] * (q[b.q] - rest[b.q])
        else:
            efforts_of_joint(tree, dof, rest, i, q, v, qdd, f, S, effort)
        if b.parent >= 0:
            bodies[b.parent].f += b.X.T @ f


@inlined
def force_of_body(tree, body, screws, gravity, q, v, qdd, wrenches, work, S, i):
    """Pose, velocity and acceleration of body i, whose parent has them, and the force that its motion takes."""
    bodies = Body(tree, body, work)
    b = bodies[i]
    if b.kind == HELICAL:
        J, column = turn(b.screw, q[b.q]), b.screw.twist()
        VJ, aJ = v[b.v] * column, qdd[b.v] * column
    else:
        J, VJ, aJ = joint_moves(tree, body, screws, i, q, v, S)
        for d in range(b.v, b.v + b.freedoms):
            aJ += qdd[d] * Column(S)[d].S
    X = b.rest @ J
    V = VJ
    if b.parent >= 0:
        V = X @ bodies[b.parent].V + VJ
        a = X @ bodies[b.parent].a
    else:
        a = X @ Twist(0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
    a += aJ + V.cross(VJ)
    I = b.inertia
    f = I @ a + V.cross_force(I @ V)
    if wrenches.shape[0] > 0:
        f -= External(wrenches)[i].F
    b.X, b.V, b.a, b.f = X, V, a, f


@routine
def efforts_of_joint(tree, dof, rest, i, q, v, qdd, f, S, effort):
    """Of a joint of several freedoms."""
    first, end = tree[i, V], tree[i, V] + tree[i, DOF]
    for d in range(first, end):
        effort[d] = 0.0
    joint_passive_effort(tree, dof, rest, i, q, v, effort)
    for d in range(first, end):
        effort[d] = Column(S)[d].S @ f + dof[d, ARMATURE] * qdd[d] - effort[d]
