"""Forward dynamics by the articulated-body algorithm (Featherstone 1983): O(n), the fastest way to *all* accelerations.

Three sweeps over the bodies, parents numbered before children:

    velocities root to leaf      V = X V_λ + S q̇,  c = c_J + V x S q̇,  p = V x* I V - f_ext
    inertias leaf to root        U = I S,  D = SᵀU + armature,  u = τ - Sᵀp
                                 I_λ += Xᵀ (I - U D⁻¹ Uᵀ) X,  p_λ += Xᵀ (p + I_a c + U D⁻¹ u)
    accelerations root to leaf   a' = X a_λ + c,  q̈ = D⁻¹ (u - Uᵀ a'),  a = a' + S q̈

Joints of one degree of freedom take a path of their own, all in registers; it is what long linkages are made of.
A joint of six freedoms passes nothing on but its effort and what its rotors hold: I - U D⁻¹ Uᵀ is zero without armature A
and A - A D⁻¹ A with it, and is written so, since the rounding of the difference would reach the parent as inertia.
"""

from typing import NamedTuple

from linkwork.algebra.rows import Rows, at
from linkwork.algebra.spatial import ZERO_INERTIA, ZERO_TWIST, ZERO_WRENCH, Pose, Sym6, Twist, Wrench
from linkwork.core.bundles import Float1, Float2, Int2
from linkwork.core.jit import inlined, kernel, routine
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.dynamics.joint_solve import move_freedom, move_freedoms
from linkwork.dynamics.linear.small import invert_small
from linkwork.model.kernels.joint_kernels import helical_twist, joint_moves, joint_passive_effort, turn
from linkwork.model.layout import ARMATURE, DAMPING, DOF, FREE, HELICAL, STIFFNESS, V
from linkwork.model.rows import BODY, TREE
from linkwork.spatial.memory import load6


class Body(
    Rows,
    tree=TREE,
    body=BODY,
    work={
        "X": Pose,  # in the parent
        "V": Twist,
        "c": Twist,  # bias of the acceleration
        "I": Sym6,  # articulated inertia, and what biases it:
        "p": Wrench,
        "U": Wrench,  # of a joint of one freedom: I S, 1 / (Sᵀ I S + armature), and what is left of its effort
        "D": float,
        "u": float,
        "loss": float,  # inertia that a joint meets before cancellation over what is left: so much are roundings magnified
        "a": at("I", Twist),  # acceleration: written in the last sweep, which needs the inertia no longer
    },
):
    """A body and its joint, with what the sweeps leave behind."""


class Freedom(Rows, work={"S": Twist, "U": Wrench, "D": Wrench, "u": float}):
    """One of several freedoms of a joint. D: its row of D⁻¹, of as many numbers as the joint has freedoms."""


class External(Rows, wrenches={"F": Wrench}):
    """A wrench on each body."""


# The same columns by number.
R_, P_ = 0, 9
TWIST, BIAS, IA, PA = (Body.place[name][1].start for name in "VcIp")
IB, IC = IA + 6, IA + 15
U_, DINV, U_SMALL, LOSS, ACCELERATION = (Body.place[name][1].start for name in ("U", "D", "u", "loss", "a"))
S_D, U_D, D_D, EFFORT_D = (Freedom.place[name][1].start for name in "SUDu")
BODY_WORK, DOF_WORK = Body.width["work"], Freedom.width["work"]

OK, SINGULAR, POOR = 0, 1, 2
SINGULAR_PART = 1e-14
POOR_PART = 2.2e-10  # of the inertia a joint meets, left after cancellation: roundings then take all but six digits


class Bodies(NamedTuple):
    """Arrays of a model that the first sweep reads, beside those of freedoms."""

    tree: Int2
    body: Float2
    screws: Float2
    rest: Float1


@kernel
def aba(tree, body, screws, dof, rest, gravity, q, v, effort, wrenches, work, dof_work, qdd):
    """Writes the accelerations into `qdd`; returns (OK, -1), (SINGULAR, body), or (POOR, -1) where digits are few."""
    mode = flush_subnormals()
    velocities_root_to_leaf(Bodies(tree, body, screws, rest), dof, q, v, effort, wrenches, work, dof_work, False)
    bad, loss = inertias_leaf_to_root(tree, body, dof, work, dof_work)
    if bad < 0:
        accelerations_root_to_leaf(tree, body, gravity, work, dof_work, qdd)
    restore_mode(mode)
    if bad >= 0:
        return SINGULAR, bad
    return (OK if POOR_PART * loss < 1.0 else POOR), -1


# ------------------------------------------------------------------------------------------------ velocities root to leaf


@inlined
def velocities_root_to_leaf(m, dof, q, v, effort, wrenches, work, dof_work, is_placed):
    """m: Bodies, or any bundle with these arrays. is_placed: poses in `work` are those at q."""
    for i in range(m.tree.shape[0]):
        prepare_body(m, dof, q, v, effort, wrenches, work, dof_work, i, is_placed)


@inlined
def prepare_body(m, dof, q, v, effort, wrenches, work, dof_work, i, is_placed):
    """Pose, velocity, inertia and bias of body i, whose parent has them."""
    bodies = Body(m.tree, m.body, work)
    b = bodies[i]
    j, c = b.v, ZERO_TWIST
    if b.kind == HELICAL:
        k = b.q
        if not is_placed:  # a sine and a cosine are most of its motion
            J = turn(b.screw, q[k])
            b.X = b.rest @ J
        tau = -dof[j, DAMPING] * v[j] - dof[j, STIFFNESS] * (q[k] - m.rest[k])
        b.u = tau + effort[j] if effort.shape[0] > 0 else tau
        V = v[j] * b.screw.twist()
    else:
        V, c = prepare_joint(m, dof, q, v, effort, work, dof_work, i)
    VJ = V
    if b.parent >= 0:
        V = b.X @ bodies[b.parent].V + VJ
    b.V = V
    p = V.cross_force(b.inertia @ V)
    if wrenches.shape[0] > 0:
        p -= External(wrenches)[i].F
    begin_body(m.tree, m.body, work, i, c + V.cross(VJ), p)


@routine
def prepare_joint(m, dof, q, v, effort, work, dof_work, i):
    """Pose and efforts of a joint of several freedoms; returns S q̇ and c_J."""
    b, freedoms = Body(m.tree, m.body, work)[i], Freedom(dof_work)
    J, VJ, cJ = joint_moves(m.tree, m.body, m.screws, i, q, v, dof_work[:, S_D : S_D + 6])
    b.X = b.rest @ J
    for d in range(b.v, b.v + b.freedoms):
        freedoms[d].u = effort[d] if effort.shape[0] > 0 else 0.0
    joint_passive_effort(m.tree, dof, m.rest, i, q, v, dof_work[:, EFFORT_D])
    return VJ, cJ


@inlined
def begin_body(tree, body, work, i, c, p):
    """Body i alone: its inertia, the bias c of its acceleration, and p, what acts on it, with a minus.

    With impulses or momenta in the place of forces, and no velocities in c and p, the other two sweeps find changes of
    velocity.
    """
    b = Body(tree, body, work)[i]
    b.c, b.I, b.p = c, b.inertia.articulated(), p


# ------------------------------------------------------------------------------------------------- inertias leaf to root


@inlined
def inertias_leaf_to_root(tree, body, dof, work, dof_work):
    """Articulated inertias and biases; returns a body whose joint resists with no inertia (or -1) and the digits lost."""
    loss = 0.0
    for i in range(tree.shape[0] - 1, -1, -1):
        if not inertia_to_parent(tree, body, dof, i, work, dof_work):
            return i, loss
        loss = max(loss, work[i, LOSS])
    return -1, loss


@inlined
def inertia_to_parent(tree, body, dof, i, work, dof_work):
    """What body i does to its parent; False where its joint resists with no inertia."""
    ok = True
    if Body(tree, body, work)[i].kind == HELICAL:
        ok = inertia_to_parent_1dof(tree, body, dof, i, work)
    else:
        ok = inertia_to_parent_general(tree, body, dof, i, work, dof_work)
    return ok


@inlined
def inertia_to_parent_1dof(tree, body, dof, i, work):
    bodies = Body(tree, body, work)
    b = bodies[i]
    I, p, S = b.I, b.p, b.screw.twist()
    U = I @ S
    D = S @ U + dof[b.v, ARMATURE]
    most = I.largest(S)
    d, u = 1.0 / D, b.u - S @ p
    b.U, b.D, b.u, b.loss = U, d, u, most * d
    if b.parent >= 0:
        I = I.minus(d * U, U)
        add_to_parent(bodies, i, I, p + I @ b.c + (d * u) * U)
    return SINGULAR_PART * most < D


@inlined
def add_to_parent(bodies, i, I, p):
    b = bodies[i]
    parent = bodies[b.parent]
    X = b.X
    parent.I += I.through(X)
    parent.p += X.T @ p


@routine
def inertia_to_parent_general(tree, body, dof, i, work, dof_work):
    bodies, freedoms, D = Body(tree, body, work), Freedom(dof_work), dof_work[:, D_D : D_D + 6]
    b = bodies[i]
    I, p, j, n = b.I, b.p, b.v, b.freedoms
    is_geared = False
    for d in range(n):
        freedoms[j + d].U = I @ freedoms[j + d].S
        is_geared = is_geared or dof[j + d, ARMATURE] != 0.0
    for d in range(n):
        for e in range(n):
            D[j + d, e] = freedoms[j + d].S @ freedoms[j + e].U
        D[j + d, d] += dof[j + d, ARMATURE]
    if not invert_small(D, j, n):
        return False
    loss = 0.0
    for d in range(n):  # each with the others free to move
        loss = max(loss, I.largest(freedoms[j + d].S) * D[j + d, d])
    b.loss = loss
    is_free, passes_rotors = b.kind == FREE, False
    if is_free:
        turning = dof[j, ARMATURE] + dof[j + 1, ARMATURE] + dof[j + 2, ARMATURE]
        sliding = dof[j + 3, ARMATURE] + dof[j + 4, ARMATURE] + dof[j + 5, ARMATURE]
        passes_rotors = turning < I.A.trace() and sliding < I.C.trace()
    tau = ZERO_WRENCH
    if n == 6 and (passes_rotors or not is_geared):
        tau = lifted_efforts(dof_work, j, n) if not is_free else six_efforts(dof_work, j)
    for d in range(j, j + n):
        freedoms[d].u -= freedoms[d].S @ p
    if b.parent >= 0:
        if n == 6 and not is_geared:
            bodies[b.parent].p += b.X.T @ tau
        else:
            if passes_rotors:
                I, p = through_rotors(dof, dof_work, j, n, tau)
            else:
                for d in range(n):
                    w = over_pivot(dof_work, j, d, n)
                    p += freedoms[j + d].u * w
                    I = I.minus(w, freedoms[j + d].U)
            add_to_parent(bodies, i, I, p + I @ b.c)
    return SINGULAR_PART * loss < 1.0


@inlined
def over_pivot(dof_work, j, d, n):
    """Row d of D⁻¹ Uᵀ"""
    freedoms, w = Freedom(dof_work), ZERO_WRENCH
    for e in range(n):
        w += dof_work[j + d, D_D + e] * freedoms[j + e].U
    return w


@inlined
def six_efforts(dof_work, j):
    """τ of a joint of six freedoms."""
    u = dof_work[:, EFFORT_D]
    return Wrench(u[j], u[j + 1], u[j + 2], u[j + 3], u[j + 4], u[j + 5])


@inlined
def lifted_efforts(dof_work, j, six):
    """S⁻ᵀ τ = U D⁻¹ τ: all that a joint of six freedoms passes on; τ itself where S = 1.

    six: their number, from where it was read: loops of a known length would be written out, 36 times over.
    """
    freedoms, lift = Freedom(dof_work), ZERO_WRENCH
    for d in range(six):
        lift += freedoms[j + d].u * over_pivot(dof_work, j, d, six)
    return lift


@inlined
def through_rotors(dof, dof_work, j, six, tau):
    """What a free joint with rotors passes on, S = 1: I_a = A - A D⁻¹ A, and τ - A D⁻¹ u, since p + u = τ."""
    freedoms, I, p = Freedom(dof_work), ZERO_INERTIA, tau
    for d in range(six):
        row, unit, armature = ZERO_WRENCH, Wrench(freedoms[j + d].S.x), dof[j + d, ARMATURE]
        for e in range(six):
            over = armature * dof_work[j + d, D_D + e]
            row += (over * dof[j + e, ARMATURE]) * Wrench(freedoms[j + e].S.x)
            p -= (over * freedoms[j + e].u) * unit
        I = I.minus(unit, row - armature * unit)
    return I, p


# --------------------------------------------------------------------------------------------- accelerations root to leaf


@inlined
def accelerations_root_to_leaf(tree, body, gravity, work, dof_work, qdd):
    for i in range(tree.shape[0]):
        accelerate_body(tree, body, gravity, work, dof_work, qdd, i)


@inlined
def accelerate_body(tree, body, gravity, work, dof_work, qdd, i):
    """Accelerations of body i and its joint."""
    bodies, base = Body(tree, body, work), Twist(0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
    b = bodies[i]
    a = b.c + (b.X @ bodies[b.parent].a if b.parent >= 0 else b.X @ base)
    if b.kind == HELICAL:
        x = b.D * (b.u - b.U @ a)
        qdd[b.v] = x
        a += x * b.screw.twist()
    else:
        a = Twist(move_several(tree, i, a.x, dof_work, qdd))
    b.a = a


# ------------------------------------------------------------------------------------------------ one more right side


@inlined
def factors_of_joints(dof_work):
    """S, U and D⁻¹ of joints of several freedoms, as `joint_solve` takes them."""
    return dof_work[:, S_D : S_D + 6], dof_work[:, U_D : U_D + 6], dof_work[:, D_D : D_D + 6]


@inlined
def move_one(body, work, i, u, a):
    """x of joint i, and the twist of body i, which is a with the joint locked."""
    return move_freedom(helical_twist(body, i), load6(work, i, U_), work[i, DINV], u, a)


@routine
def move_several(tree, i, a, dof_work, x):
    """x of joint i for u in EFFORT_D, which is used up; returns the twist of body i."""
    S, U, D = factors_of_joints(dof_work)
    return move_freedoms(S, U, D, dof_work[:, EFFORT_D], tree[i, V], tree[i, DOF], a, x)
