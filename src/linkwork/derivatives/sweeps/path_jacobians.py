"""All partial derivatives of inverse dynamics, in O(n · depth): closed forms for every pair of joints on one path.

Everything is expressed in the world. For the freedom j with screw s, behind a body that moves with V and a:

    σ = V x s,   dV = σ dq,   da = (a x s + V x σ) dq + σ dq x V_b       of every body b behind j, seen with the turn by dq
    dV = s dv,   da = (V + V_j) x s dv + s dv x V_b

so that wrenches change by I da + B dV, B σ = I (σ x V) + σ x* I V + V x* I σ, which has two blocks that are not zero. With
I, B and wrenches F summed over all that hangs from a joint, and m the deeper one of i and j:

    ∂τ_i/∂q_j = s_i · (I_m A_j + B_m σ_j) + [i above j] s_i · (s_j x* F_j),   ∂τ_i/∂v_j = s_i · (I_m C_j + B_m s_j)

(after Singh, Russell and Wensing 2022, here with ball joints and products of screws).
"""

from linkwork.core.jit import inlined, routine
from linkwork.derivatives.sweeps import arrays as at
from linkwork.derivatives.sweeps.joint_parts import springs_tangent
from linkwork.dynamics.aba import P_, R_, TWIST
from linkwork.model import layout
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.spatial.inertia import gyroscopic_wrench, rigid_times_twist, rigid_to_parent
from linkwork.spatial.memory import add_to6, add_to9, load3, load6, load9, load10, store3, store6, store9, store10
from linkwork.spatial.rotations import add3, cross3, matvec3, scale3, sub3, symvec3, tmatvec3
from linkwork.spatial.vectors import (
    ZERO6,
    add6,
    angular,
    compose_pose,
    cross_force,
    cross_motion,
    dot6,
    join,
    linear,
    scale6,
    sub6,
    twist_to_parent,
    wrench_to_parent,
)


@inlined
def fill_world(s, m, acceleration):
    """`world` and `column` of all bodies; inertias, rates and wrenches are the bodies' own yet."""
    for i in range(s.tree.shape[0]):
        parent = s.tree[i, layout.PARENT]
        R = load9(s.work, i, R_)
        p = load3(s.work, i, P_)
        before, above = ZERO6, (0.0, 0.0, 0.0, -s.gravity[0], -s.gravity[1], -s.gravity[2])
        if parent >= 0:
            R, p = compose_pose(load9(m.world, parent, at.W_R), load3(m.world, parent, at.W_P), R, p)
            before, above = load6(m.world, parent, at.W_TWIST), load6(m.world, parent, at.W_ACCELERATION)
        twist, a = load6(s.work, i, TWIST), load6(s.work, i, acceleration)
        own = load10(s.body, i, layout.INERTIA)
        wrench = add6(rigid_times_twist(own, a), gyroscopic_wrench(own, twist))
        if s.wrenches.shape[0] > 0:
            wrench = sub6(wrench, load6(s.wrenches, i, 0))
        twist, a = twist_to_parent(R, p, twist), twist_to_parent(R, p, a)
        inertia = rigid_to_parent(R, p, own)
        store9(m.world, i, at.W_R, R)
        store3(m.world, i, at.W_P, p)
        store6(m.world, i, at.W_TWIST, twist)
        store6(m.world, i, at.W_ACCELERATION, a)
        store10(m.world, i, at.W_INERTIA, inertia)
        store6(m.world, i, at.W_WRENCH, wrench_to_parent(R, p, wrench))
        store_rate(m, i, inertia, twist)
        if s.tree[i, layout.KIND] == layout.HELICAL:
            fill_screw(m, s.tree[i, layout.V], twist_to_parent(R, p, helical_twist(s.body, i)), before, above)
        else:
            fill_columns(s, m, i, R, p, before, above)


@inlined
def fill_screw(m, j, screw, before, above):
    sigma = cross_motion(before, screw)
    store6(m.column, j, at.C_S, screw)
    store6(m.column, j, at.C_SIGMA, sigma)
    store6(m.column, j, at.C_BY_Q, add6(cross_motion(above, screw), cross_motion(before, sigma)))
    store6(m.column, j, at.C_BY_V, scale6(2.0, sigma))


@routine
def fill_columns(s, m, i, R, p, before, above):
    """Joints of several freedoms. Both workspaces of the dynamics keep S in the first six columns of their rows."""
    j = s.tree[i, layout.V]
    twist = load6(m.world, i, at.W_TWIST)
    for d in range(s.tree[i, layout.DOF]):
        screw = twist_to_parent(R, p, load6(s.dof_work, j + d, 0))
        fill_screw(m, j + d, screw, before, above)
        if s.tree[i, layout.KIND] == layout.COMPOUND:  # the next screw stands behind this one
            move = scale6(s.v[j + d], screw)
            before = add6(before, move)
            above = add6(above, add6(scale6(s.qdd[j + d], screw), cross_motion(before, move)))
        else:
            store6(m.column, j + d, at.C_BY_V, cross_motion(add6(before, twist), screw))


@inlined
def rate_column(inertia, twist, w):
    """B [w; 0]: moment and force; B [0; x] is zero."""
    h = (inertia[1], inertia[2], inertia[3])
    J = (inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9])
    turn, v = angular(twist), linear(twist)
    mass = inertia[0]
    wt, wv, hw = cross3(w, turn), cross3(w, v), cross3(h, w)
    n = add3(symvec3(J, turn), cross3(h, v))
    f = sub3(scale3(mass, v), cross3(h, turn))
    moment = add3(add3(symvec3(J, wt), cross3(h, wv)), add3(cross3(w, n), cross3(turn, symvec3(J, w))))
    force = add3(sub3(scale3(mass, wv), cross3(h, wt)), sub3(cross3(w, f), cross3(turn, hw)))
    return sub3(moment, cross3(v, hw)), force


@inlined
def store_rate(m, i, inertia, twist):
    a, x = rate_column(inertia, twist, (1.0, 0.0, 0.0))
    b, y = rate_column(inertia, twist, (0.0, 1.0, 0.0))
    c, z = rate_column(inertia, twist, (0.0, 0.0, 1.0))
    store9(m.world, i, at.W_RATE, (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]))
    store9(m.world, i, at.W_RATE + 9, (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]))


@inlined
def rate_times(m, i, sigma):
    """B σ"""
    w = angular(sigma)
    return join(matvec3(load9(m.world, i, at.W_RATE), w), matvec3(load9(m.world, i, at.W_RATE + 9), w))


@inlined
def fill_pairs(s, m, sign):
    """sign · ∂τ/∂q and sign · ∂τ/∂v into `by_q`, `by_v`, and the mass matrix into `by_forcing`; all zero before."""
    for i in range(s.tree.shape[0] - 1, -1, -1):
        j = s.tree[i, layout.V]
        for d in range(s.tree[i, layout.DOF]):
            fill_path(s, m, i, j + d, sign)
        passive_pairs(s, m, i, sign)
        parent = s.tree[i, layout.PARENT]
        if parent >= 0:
            for k in range(10):
                m.world[parent, at.W_INERTIA + k] += m.world[i, at.W_INERTIA + k]
            add_to9(m.world, parent, at.W_RATE, load9(m.world, i, at.W_RATE))
            add_to9(m.world, parent, at.W_RATE + 9, load9(m.world, i, at.W_RATE + 9))
            add_to6(m.world, parent, at.W_WRENCH, load6(m.world, i, at.W_WRENCH))


@routine
def fill_path(s, m, i, j, sign):
    """Freedom j of body i with all freedoms between it and the world, and those of its own joint."""
    nv = s.v.shape[0]
    inertia = load10(m.world, i, at.W_INERTIA)
    screw, sigma = load6(m.column, j, at.C_S), load6(m.column, j, at.C_SIGMA)
    U = rigid_times_twist(inertia, screw)
    # Bᵀ s has an angular part alone.
    turned = tmatvec3(load9(m.world, i, at.W_RATE), angular(screw))
    turned = add3(turned, tmatvec3(load9(m.world, i, at.W_RATE + 9), linear(screw)))
    by_q = add6(rigid_times_twist(inertia, load6(m.column, j, at.C_BY_Q)), rate_times(m, i, sigma))
    by_v = add6(rigid_times_twist(inertia, load6(m.column, j, at.C_BY_V)), rate_times(m, i, screw))
    lifted = add6(by_q, cross_force(screw, load6(m.world, i, at.W_WRENCH)))
    together = s.tree[i, layout.KIND] == layout.SPHERICAL or s.tree[i, layout.KIND] == layout.FREE
    k = i
    while k >= 0:
        first = s.tree[k, layout.V]
        for e in range(first, first + s.tree[k, layout.DOF]):
            if k == i and e > j and not together:  # a screw behind this one: met from there
                continue
            other = load6(m.column, e, at.C_S)
            own = k == i and (together or e == j)  # turns with the freedom itself
            m.by_q[nv * e + j] = sign * dot6(other, by_q if own else lifted)
            m.by_v[nv * e + j] = sign * dot6(other, by_v)
            m.by_forcing[nv * e + j] = dot6(other, U)
            if not own:
                x = load6(m.column, e, at.C_SIGMA)
                below = turned[0] * x[0] + turned[1] * x[1] + turned[2] * x[2]
                m.by_q[nv * j + e] = sign * (dot6(U, load6(m.column, e, at.C_BY_Q)) + below)
                below = turned[0] * other[0] + turned[1] * other[1] + turned[2] * other[2]
                m.by_v[nv * j + e] = sign * (dot6(U, load6(m.column, e, at.C_BY_V)) + below)
                m.by_forcing[nv * j + e] = m.by_forcing[nv * e + j]
        k = s.tree[k, layout.PARENT]


@routine
def passive_pairs(s, m, i, sign):
    """Springs, dampers and rotors of joint i."""
    j = s.tree[i, layout.V]
    kind = s.tree[i, layout.KIND]
    nd = s.tree[i, layout.DOF]
    nv = s.v.shape[0]
    for d in range(nd):
        m.by_v[nv * (j + d) + j + d] += sign * s.dof[j + d, layout.DAMPING]
        m.by_forcing[nv * (j + d) + j + d] += s.dof[j + d, layout.ARMATURE]
        if kind == layout.HELICAL or kind == layout.COMPOUND:
            m.by_q[nv * (j + d) + j + d] += sign * s.dof[j + d, layout.STIFFNESS]
        else:
            for e in range(nd):
                m.effort[j + e] = 0.0
            m.unit[j + d] = 1.0
            springs_tangent(s.tree, s.dof, s.rest, i, s.q, m.unit, s.dof[:0], m.effort)
            m.unit[j + d] = 0.0
            for e in range(nd):
                m.by_q[nv * (j + e) + j + d] += sign * m.effort[j + e]
