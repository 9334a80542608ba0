"""Changes of forward and inverse dynamics along a direction: one product from the right, O(n).

With ξ = S dq, and the accelerations q̈ held for now:

    root to leaf   dV = X dV_λ + (X V_λ) x ξ + S dv
                   da = X da_λ + (X a_λ) x ξ + dV x (S v) + V x (S dv)
                   df = I da + dV x* I V + V x* I dV + (changes of I and f_ext)
    leaf to root   dτ = Sᵀ df,  df_λ += Xᵀ (df + ξ x* f)

Inverse dynamics is done then. Forward dynamics solves M dq̈ = (change of τ) - dτ on the same way. Theory:
docs/theory/derivatives.md.
"""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.derivatives.sweeps import arrays as at
from linkwork.derivatives.sweeps.arrays import primal_of, tangent_of
from linkwork.derivatives.sweeps.joint_parts import ball_twist, springs_tangent
from linkwork.dynamics.aba import ACCELERATION as ABA_ACCELERATION
from linkwork.dynamics.aba import P_, R_, TWIST  # the same columns in `rnea`
from linkwork.dynamics.one_more_right_side import bias_to_parent, from_parent, solved_twist, to_parent
from linkwork.dynamics.rnea import ACCELERATION as RNEA_ACCELERATION
from linkwork.model import layout
from linkwork.model.kernels.joint_kernels import helical_twist, screw_pose, screw_twist
from linkwork.spatial.inertia import gyroscopic_wrench, rigid_times_twist
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store6, store9
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
def forward_tangent(primal, tangent):
    """The change of q̈ into `result`. Needs what `aba` left in the workspaces of `primal`."""
    mode = flush_subnormals()
    s = primal_of(primal)
    t = tangent_of(tangent)
    n = s.tree.shape[0]
    for i in range(n):
        changes_of_body(s, t, i, ABA_ACCELERATION, False)
    for i in range(n - 1, -1, -1):
        change = load6(t.tangent, i, at.D_THROUGH)
        turned = passive_changes(s, t, i)
        right_side(s, t, i)
        lifted = bias_to_parent(s.tree, s.body, s.dof, i, t.result, change, s.work, s.dof_work)
        hand_up(s, t, i, lifted, turned)
    for i in range(n):
        above = from_parent(s.tree, i, s.work, t.tangent, at.D_TWIST)
        store6(t.tangent, i, at.D_TWIST, solved_twist(s.tree, s.body, i, above, s.work, s.dof_work, t.result))
    restore_mode(mode)


@kernel
def inverse_tangent(primal, tangent):
    """The change of τ into `result`. Needs what `rnea` left in the workspace of `primal`."""
    mode = flush_subnormals()
    s = primal_of(primal)
    t = tangent_of(tangent)
    n = s.tree.shape[0]
    for i in range(n):
        changes_of_body(s, t, i, RNEA_ACCELERATION, True)
    for i in range(n - 1, -1, -1):
        change = load6(t.tangent, i, at.D_THROUGH)
        turned = passive_changes(s, t, i)
        efforts(s, t, i, change)
        hand_up(s, t, i, change, turned)
    restore_mode(mode)


@inlined
def changes_of_body(s, t, i, acceleration, accelerated):
    """dV, da, f and df of body i. accelerated: whether `forcing` holds changes of accelerations."""
    twist = load6(s.work, i, TWIST)
    a = load6(s.work, i, acceleration)
    if s.tree[i, layout.KIND] == layout.COMPOUND:
        dV, da = changes_through_chain(s, t, i, acceleration, accelerated)
    else:
        dV, da = changes_through_joint(s, t, i, twist, a, accelerated)
    inertia = load10(s.body, i, layout.INERTIA)
    h = rigid_times_twist(inertia, twist)
    f = add6(rigid_times_twist(inertia, a), cross_force(twist, h))
    df = add6(rigid_times_twist(inertia, da), cross_force(dV, h))
    df = add6(df, cross_force(twist, rigid_times_twist(inertia, dV)))
    if s.wrenches.shape[0] > 0:
        f = sub6(f, load6(s.wrenches, i, 0))
    if t.dwrenches.shape[0] > 0:
        df = sub6(df, load6(t.dwrenches, i, 0))
    if t.dinertias.shape[0] > 0:
        change = load10(t.dinertias, i, 0)
        df = add6(df, add6(rigid_times_twist(change, a), gyroscopic_wrench(change, twist)))
    store6(t.tangent, i, at.D_TWIST, dV)
    store6(t.tangent, i, at.D_ACCELERATION, da)
    store6(t.tangent, i, at.THROUGH, f)
    store6(t.tangent, i, at.D_THROUGH, df)


@inlined
def parent_changes(s, t, i):
    """dV and da of the parent; the world's acceleration changes by -dg."""
    parent = s.tree[i, layout.PARENT]
    dV, da = ZERO6, (0.0, 0.0, 0.0, -t.dgravity[0], -t.dgravity[1], -t.dgravity[2])
    if parent >= 0:
        dV, da = load6(t.tangent, parent, at.D_TWIST), load6(t.tangent, parent, at.D_ACCELERATION)
    return dV, da


@inlined
def joint_twist(tree, body, i, x):
    """S x of a joint whose S is fixed in the body."""
    if tree[i, layout.KIND] == layout.HELICAL:
        found = scale6(x[tree[i, layout.V]], helical_twist(body, i))
    else:
        found = ball_twist(tree, body, i, x)
    return found


@inlined
def changes_through_joint(s, t, i, twist, a, accelerated):
    dV, da = parent_changes(s, t, i)
    R = load9(s.work, i, R_)
    p = load3(s.work, i, P_)
    VJ = joint_twist(s.tree, s.body, i, s.v)
    turn = joint_twist(s.tree, s.body, i, t.dq)
    dVJ = joint_twist(s.tree, s.body, i, t.dv)
    above = sub6(a, add6(joint_twist(s.tree, s.body, i, s.qdd), cross_motion(twist, VJ)))  # X a_λ
    dV = add6(twist_to_child(R, p, dV), add6(cross_motion(sub6(twist, VJ), turn), dVJ))
    da = add6(twist_to_child(R, p, da), cross_motion(above, turn))
    da = add6(da, add6(cross_motion(dV, VJ), cross_motion(twist, dVJ)))
    if accelerated:
        da = add6(da, joint_twist(s.tree, s.body, i, t.forcing))
    return dV, da


@routine
def changes_through_chain(s, t, i, acceleration, accelerated):
    """The same through the screws of a compound joint, one after the other; their poses stay in `chain`."""
    parent = s.tree[i, layout.PARENT]
    j = s.tree[i, layout.V]
    twist, a = ZERO6, (0.0, 0.0, 0.0, -s.gravity[0], -s.gravity[1], -s.gravity[2])
    if parent >= 0:
        twist, a = load6(s.work, parent, TWIST), load6(s.work, parent, acceleration)
    dV, da = parent_changes(s, t, i)
    R = load9(s.body, i, layout.ROTATION)
    p = load3(s.body, i, layout.POSITION)
    twist, a, dV, da = (
        twist_to_child(R, p, twist),
        twist_to_child(R, p, a),
        twist_to_child(R, p, dV),
        twist_to_child(R, p, da),
    )
    for d in range(s.tree[i, layout.DOF]):
        screw, R, p = screw_of(s, i, d)
        store9(t.chain, j + d, at.CHAIN_R, R)
        store3(t.chain, j + d, at.CHAIN_P, p)
        twist, a = twist_to_child(R, p, twist), twist_to_child(R, p, a)
        turn = scale6(t.dq[j + d], screw)
        VJ = scale6(s.v[j + d], screw)
        dVJ = scale6(t.dv[j + d], screw)
        dV = add6(twist_to_child(R, p, dV), add6(cross_motion(twist, turn), dVJ))
        da = add6(twist_to_child(R, p, da), cross_motion(a, turn))
        twist = add6(twist, VJ)
        da = add6(da, add6(cross_motion(dV, VJ), cross_motion(twist, dVJ)))
        a = add6(a, add6(scale6(s.qdd[j + d], screw), cross_motion(twist, VJ)))
        if accelerated:
            da = add6(da, scale6(t.forcing[j + d], screw))
    return dV, da


@inlined
def screw_of(s, i, d):
    """Twist and pose of screw d of a compound joint."""
    row = s.tree[i, layout.SCREW] + d
    axis = load3(s.screws, row, layout.SCREW_AXIS)
    slide = load3(s.screws, row, layout.SCREW_SLIDE)
    center = load3(s.screws, row, layout.SCREW_CENTER)
    R, p = screw_pose(axis, slide, center, s.q[s.tree[i, layout.Q] + d])
    return screw_twist(axis, slide, center), R, p


@inlined
def right_side(s, t, i):
    """The change of effort less what `passive_changes` left in `result`."""
    j = s.tree[i, layout.V]
    for d in range(s.tree[i, layout.DOF]):
        t.result[j + d] = t.forcing[j + d] - t.result[j + d]


@inlined
def passive_changes(s, t, i):
    """What springs, dampers, changed rotors and turning columns add to dτ, into `result`.

    Returns what ξ x* f adds to the parent's df, in the parent's frame.
    """
    j = s.tree[i, layout.V]
    F = load6(t.tangent, i, at.THROUGH)
    if s.tree[i, layout.KIND] == layout.HELICAL:
        k = s.tree[i, layout.Q]
        passive = s.dof[j, layout.DAMPING] * t.dv[j] + s.dof[j, layout.STIFFNESS] * t.dq[j]
        if t.ddof.shape[0] > 0:
            passive += t.ddof[j, layout.DAMPING] * s.v[j] + t.ddof[j, layout.STIFFNESS] * (s.q[k] - s.rest[k])
            passive += t.ddof[j, layout.ARMATURE] * s.qdd[j]
        t.result[j] = passive
        turned = to_parent(i, s.work, cross_force(scale6(t.dq[j], helical_twist(s.body, i)), F))
    else:
        turned = passive_changes_general(s, t, i, F)
    return turned


@routine
def passive_changes_general(s, t, i, F):
    j = s.tree[i, layout.V]
    nd = s.tree[i, layout.DOF]
    for d in range(nd):
        passive = s.dof[j + d, layout.DAMPING] * t.dv[j + d]
        if t.ddof.shape[0] > 0:
            passive += t.ddof[j + d, layout.DAMPING] * s.v[j + d] + t.ddof[j + d, layout.ARMATURE] * s.qdd[j + d]
        t.result[j + d] = passive
    springs_tangent(s.tree, s.dof, s.rest, i, s.q, t.dq, t.ddof, t.result)
    turned = ZERO6
    if s.tree[i, layout.KIND] == layout.COMPOUND:
        for d in range(nd - 1, -1, -1):
            screw, _, _ = screw_of(s, i, d)
            R = load9(t.chain, j + d, at.CHAIN_R)
            p = load3(t.chain, j + d, at.CHAIN_P)
            t.result[j + d] += dot6(screw, turned)
            turned = wrench_to_parent(R, p, add6(turned, cross_force(scale6(t.dq[j + d], screw), F)))
            F = wrench_to_parent(R, p, F)
        turned = wrench_to_parent(load9(s.body, i, layout.ROTATION), load3(s.body, i, layout.POSITION), turned)
    else:
        turned = to_parent(i, s.work, cross_force(ball_twist(s.tree, s.body, i, t.dq), F))
    return turned


@inlined
def hand_up(s, t, i, change, turned):
    """f and df to the parent."""
    parent = s.tree[i, layout.PARENT]
    if parent >= 0:
        add_to6(t.tangent, parent, at.THROUGH, to_parent(i, s.work, load6(t.tangent, i, at.THROUGH)))
        add_to6(t.tangent, parent, at.D_THROUGH, add6(to_parent(i, s.work, change), turned))


@inlined
def efforts(s, t, i, change):
    """dτ of inverse dynamics; `forcing` holds changes of accelerations here."""
    j = s.tree[i, layout.V]
    if s.tree[i, layout.KIND] == layout.HELICAL:
        t.result[j] += dot6(helical_twist(s.body, i), change) + s.dof[j, layout.ARMATURE] * t.forcing[j]
    else:
        efforts_general(s, t, i, change)


@routine
def efforts_general(s, t, i, change):
    j = s.tree[i, layout.V]
    for d in range(s.tree[i, layout.DOF]):  # `rnea` keeps the columns of all joints but helical ones
        t.result[j + d] += dot6(load6(s.dof_work, j + d, 0), change) + s.dof[j + d, layout.ARMATURE] * t.forcing[j + d]
