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

from linkwork.core.bundles import Float1, Float2, Int2
from linkwork.core.jit import inlined, kernel, routine
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.dynamics.joint_solve import move_freedom, move_freedoms, over_pivot, pivots
from linkwork.dynamics.linear.small import invert_small
from linkwork.model.kernels.joint_kernels import body_motion, helical_twist, joint_passive_effort
from linkwork.model.layout import ARMATURE, DAMPING, DOF, FREE, HELICAL, INERTIA, KIND, PARENT, STIFFNESS, Q, V
from linkwork.spatial.inertia import (
    articulated_times_twist,
    articulated_to_parent,
    gyroscopic_wrench,
    rigid_as_articulated,
    subtract_outer,
    subtract_product,
)
from linkwork.spatial.memory import add_to6, add_to9, load3, load6, load9, load10, store3, store6, store9
from linkwork.spatial.rotations import dot3, tmatvec3
from linkwork.spatial.vectors import (
    ZERO6,
    add6,
    angular,
    cross_motion,
    dot6,
    join,
    linear,
    scale6,
    sub6,
    twist_to_child,
    wrench_to_parent,
)

# Columns of the workspace, one row per body.
R_, P_, TWIST, BIAS = 0, 9, 12, 18  # pose in the parent, V, c
IA, IB, IC, PA = 24, 30, 39, 45  # articulated inertia and bias wrench
U_, DINV, U_SMALL = 51, 57, 58  # of a joint of one degree of freedom
LOSS = 59  # inertia a joint meets before cancellation over what is left of it: so many times are roundings magnified
ACCELERATION = 24  # written in the last sweep, when the inertia is no longer needed
BODY_WORK = 60

# Columns of the workspace for joints of several degrees of freedom, one row per degree of freedom.
# S and U are rows of six, D⁻¹ takes one row of six for each of its rows.
S_D, U_D, D_D, EFFORT_D = 0, 6, 12, 18
DOF_WORK = 19

OK, SINGULAR, POOR = 0, 1, 2
SINGULAR_PART = 1e-14
POOR_PART = 2.2e-10  # of the inertia a joint meets, left after cancellation: roundings then take all but six digits


class Bodies(NamedTuple):
    """Arrays of a model that the first sweep reads, beside those of freedoms."""

    tree: Int2
    body: Float2
    screws: Float2
    rest: Float1


@inlined
def rigid_bias_wrench(body, wrenches, i, twist):
    """p = V x* I V - f_ext"""
    p = gyroscopic_wrench(load10(body, i, INERTIA), twist)
    if wrenches.shape[0] > 0:
        p = sub6(p, load6(wrenches, i, 0))
    return p


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
    if tree[i, KIND] == HELICAL:
        ok = inertia_to_parent_1dof(tree, body, dof, i, work)
    else:
        ok = inertia_to_parent_general(tree, dof, i, work, dof_work)
    return ok


@inlined
def velocities_root_to_leaf(m, dof, q, v, effort, wrenches, work, dof_work, is_placed):
    """m: Bodies, or any bundle with these arrays. is_placed: poses in `work` are those at q."""
    for i in range(m.tree.shape[0]):
        prepare_body(m, dof, q, v, effort, wrenches, work, dof_work, i, is_placed)


@inlined
def prepare_body(m, dof, q, v, effort, wrenches, work, dof_work, i, is_placed):
    """Pose, velocity, inertia and bias of body i, whose parent has them."""
    tree, body, rest = m.tree, m.body, m.rest
    S, total = dof_work[:, S_D : S_D + 6], dof_work[:, EFFORT_D]
    parent = tree[i, PARENT]
    j = tree[i, V]
    if is_placed and tree[i, KIND] == HELICAL:  # a sine and a cosine are most of its motion
        R, p, VJ, cJ = load9(work, i, R_), load3(work, i, P_), scale6(v[j], helical_twist(body, i)), ZERO6
    else:
        R, p, VJ, cJ = body_motion(tree, body, m.screws, i, q, v, S)
    if tree[i, KIND] == HELICAL:
        k = tree[i, Q]
        tau = -dof[j, DAMPING] * v[j] - dof[j, STIFFNESS] * (q[k] - rest[k])
        if effort.shape[0] > 0:
            tau += effort[j]
        work[i, U_SMALL] = tau
    else:
        for d in range(tree[i, DOF]):
            total[j + d] = effort[j + d] if effort.shape[0] > 0 else 0.0
        joint_passive_effort(tree, dof, rest, i, q, v, total)
    twist = VJ
    if parent >= 0:
        twist = add6(twist_to_child(R, p, load6(work, parent, TWIST)), VJ)
    store9(work, i, R_, R)
    store3(work, i, P_, p)
    store6(work, i, TWIST, twist)
    bias = add6(cJ, cross_motion(twist, VJ))
    begin_body(body, work, i, bias, rigid_bias_wrench(body, wrenches, i, twist))


@inlined
def begin_body(body, work, i, bias, p):
    """Body i alone: its inertia, the bias c of its acceleration, and p, what acts on it, with a minus.

    With impulses or momenta in the place of forces, and no velocities in c and p, the other two sweeps find changes of
    velocity.
    """
    A, B, C = rigid_as_articulated(load10(body, i, INERTIA))
    store6(work, i, BIAS, bias)
    store6(work, i, IA, A)
    store9(work, i, IB, B)
    store6(work, i, IC, C)
    store6(work, i, PA, p)


@inlined
def add_to_parent(work, i, parent, A, B, C, p):
    R = load9(work, i, R_)
    r = load3(work, i, P_)
    A, B, C = articulated_to_parent(R, r, A, B, C)
    add_to6(work, parent, IA, A)
    add_to9(work, parent, IB, B)
    add_to6(work, parent, IC, C)
    add_to6(work, parent, PA, wrench_to_parent(R, r, p))


@inlined
def inertia_to_parent_1dof(tree, body, dof, i, work):
    A = load6(work, i, IA)
    B = load9(work, i, IB)
    C = load6(work, i, IC)
    p = load6(work, i, PA)
    s = helical_twist(body, i)
    U = articulated_times_twist(A, B, C, s)
    D = dot6(s, U) + dof[tree[i, V], ARMATURE]
    # What D would be, at most, for inertia of this size: below rounding of that, the joint resists with nothing.
    scale = dot3(angular(s), angular(s)) * (A[0] + A[3] + A[5]) + dot3(linear(s), linear(s)) * (C[0] + C[3] + C[5])
    u = work[i, U_SMALL] - dot6(s, p)
    d = 1.0 / D
    store6(work, i, U_, U)
    work[i, DINV] = d
    work[i, LOSS] = scale * d
    work[i, U_SMALL] = u
    parent = tree[i, PARENT]
    if parent >= 0:
        A, B, C = subtract_outer(A, B, C, U, d)
        p = add6(p, add6(articulated_times_twist(A, B, C, load6(work, i, BIAS)), scale6(d * u, U)))
        add_to_parent(work, i, parent, A, B, C, p)
    return SINGULAR_PART * scale < D


@routine
def inertia_to_parent_general(tree, dof, i, work, dof_work):
    A = load6(work, i, IA)
    B = load9(work, i, IB)
    C = load6(work, i, IC)
    p = load6(work, i, PA)
    j = tree[i, V]
    nd = tree[i, DOF]
    S, U, D = factors_of_joints(dof_work)
    pivots(A, B, C, S, U, D, j, nd)
    geared = False
    for d in range(nd):
        D[j + d, d] += dof[j + d, ARMATURE]
        geared = geared or dof[j + d, ARMATURE] != 0.0
    if not invert_small(D, j, nd):
        return False
    work[i, LOSS] = loss_of_freedoms(A, C, dof_work, j, nd)
    parent = tree[i, PARENT]
    if parent >= 0 and nd == 6 and not geared:
        lift = six_efforts(dof_work, j)
        if tree[i, KIND] != FREE:
            lift = lifted_efforts(dof_work, j, nd)
        add_to6(work, parent, PA, wrench_to_parent(load9(work, i, R_), load3(work, i, P_), lift))
    rotors_only = tree[i, KIND] == FREE and rotors_are_small(A, C, dof, j)
    tau = six_efforts(dof_work, j) if rotors_only else ZERO6
    for d in range(nd):
        dof_work[j + d, EFFORT_D] -= dot6(load6(dof_work, j + d, S_D), p)  # u
    if parent >= 0 and (nd < 6 or geared):
        if rotors_only:
            A, B, C, p = through_rotors(dof, dof_work, j, nd, load6(work, i, BIAS), tau)
        else:
            A, B, C, p = through_joint(A, B, C, p, dof_work, j, nd, load6(work, i, BIAS))
        add_to_parent(work, i, parent, A, B, C, p)
    return SINGULAR_PART * work[i, LOSS] < 1.0


@inlined
def loss_of_freedoms(A, C, dof_work, j, nd):
    """The largest LOSS of a joint's freedoms, each with the others free to move."""
    loss = 0.0
    for d in range(nd):
        s = load6(dof_work, j + d, S_D)
        scale = dot3(angular(s), angular(s)) * (A[0] + A[3] + A[5]) + dot3(linear(s), linear(s)) * (C[0] + C[3] + C[5])
        loss = max(loss, scale * dof_work[j + d, D_D + d])
    return loss


@inlined
def factors_of_joints(dof_work):
    """S, U and D⁻¹ of joints of several freedoms, as `joint_solve` takes them."""
    return dof_work[:, S_D : S_D + 6], dof_work[:, U_D : U_D + 6], dof_work[:, D_D : D_D + 6]


@inlined
def six_efforts(dof_work, j):
    """τ of a joint of six freedoms."""
    return (
        dof_work[j, EFFORT_D],
        dof_work[j + 1, EFFORT_D],
        dof_work[j + 2, EFFORT_D],
        dof_work[j + 3, EFFORT_D],
        dof_work[j + 4, EFFORT_D],
        dof_work[j + 5, EFFORT_D],
    )


@inlined
def lifted_efforts(dof_work, j, six):
    """S⁻ᵀ τ = U D⁻¹ τ: all that a joint of six freedoms passes on; τ itself where S = 1.

    six: their number, from where it was read: loops of a known length would be written out, 36 times over.
    """
    _, U, D = factors_of_joints(dof_work)
    lift = ZERO6
    for d in range(six):
        lift = add6(lift, scale6(dof_work[j + d, EFFORT_D], over_pivot(D, U, j, d, six)))
    return lift


@inlined
def through_joint(A, B, C, p, dof_work, j, nd, bias):
    """I_a = I - U D⁻¹ Uᵀ, column by column of the symmetric product, and p + I_a c + U D⁻¹ u."""
    _, U, D = factors_of_joints(dof_work)
    lift = ZERO6
    for d in range(nd):
        w = over_pivot(D, U, j, d, nd)
        lift = add6(lift, scale6(dof_work[j + d, EFFORT_D], w))
        A, B, C = subtract_product(A, B, C, w, load6(dof_work, j + d, U_D))
    return A, B, C, add6(p, add6(articulated_times_twist(A, B, C, bias), lift))


@inlined
def rotors_are_small(A, C, dof, j):
    turning = dof[j, ARMATURE] + dof[j + 1, ARMATURE] + dof[j + 2, ARMATURE]
    sliding = dof[j + 3, ARMATURE] + dof[j + 4, ARMATURE] + dof[j + 5, ARMATURE]
    return turning < A[0] + A[3] + A[5] and sliding < C[0] + C[3] + C[5]


@inlined
def through_rotors(dof, dof_work, j, six, bias, tau):
    """The same for a free joint, S = 1: I_a = A - A D⁻¹ A, and τ - A D⁻¹ u + I_a c, since p + u = τ."""
    A = ZERO6
    B = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    C = ZERO6
    lift = tau
    for d in range(six):
        armature = dof[j + d, ARMATURE]
        row = ZERO6
        unit = load6(dof_work, j + d, S_D)
        for e in range(six):
            other = load6(dof_work, j + e, S_D)
            row = add6(row, scale6(armature * dof_work[j + d, D_D + e] * dof[j + e, ARMATURE], other))
            lift = sub6(lift, scale6(armature * dof_work[j + d, D_D + e] * dof_work[j + e, EFFORT_D], unit))
        A, B, C = subtract_product(A, B, C, unit, sub6(row, scale6(armature, unit)))
    return A, B, C, add6(lift, articulated_times_twist(A, B, C, bias))


@inlined
def accelerations_root_to_leaf(tree, body, gravity, work, dof_work, qdd):
    base = (0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
    for i in range(tree.shape[0]):
        accelerate_body(tree, body, base, work, dof_work, qdd, i)


@inlined
def accelerate_body(tree, body, base, work, dof_work, qdd, i):
    """Accelerations of body i and its joint; base: of the world."""
    parent = tree[i, PARENT]
    j = tree[i, V]
    R = load9(work, i, R_)
    if parent >= 0:
        a = twist_to_child(R, load3(work, i, P_), load6(work, parent, ACCELERATION))
    else:
        a = join((0.0, 0.0, 0.0), tmatvec3(R, (base[3], base[4], base[5])))
    a = add6(a, load6(work, i, BIAS))
    if tree[i, KIND] == HELICAL:
        qdd[j], a = move_one(body, work, i, work[i, U_SMALL], a)
    else:
        a = move_several(tree, i, a, dof_work, qdd)
    store6(work, i, ACCELERATION, a)


@inlined
def move_one(body, work, i, u, a):
    """x of joint i, and the twist of body i, which is a with the joint locked."""
    return move_freedom(helical_twist(body, i), load6(work, i, U_), work[i, DINV], u, a)


@routine
def move_several(tree, i, a, dof_work, x):
    """x of joint i for u in EFFORT_D, which is used up; returns the twist of body i."""
    S, U, D = factors_of_joints(dof_work)
    return move_freedoms(S, U, D, dof_work[:, EFFORT_D], tree[i, V], tree[i, DOF], a, x)
