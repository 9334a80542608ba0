"""Gradients of forward and inverse dynamics: one product from the left, O(n). Theory: docs/theory/derivatives.md.

With weights μ, L = μᵀ ID(q, v, q̈) = Σ w · f over the bodies, with virtual twists w = X w_λ + S μ:

    root to leaf   w, and of each body  F = I a + V x* I V - f_ext,  A = I w,  B = -w x* I V - I (V x w)
    leaf to root   F_λ += XᵀF,  A_λ += XᵀA,  B_λ += Xᵀ(B + (S v) x* A)

F, A, B are the gradients with respect to w, a and V. For a screw s that turns by q, with T = s x* A:

    ∂L/∂q = a·T + V·(s x* B) + w·(s x* F),   ∂L/∂v = s·B + V·T

Forward dynamics solves for μ = M⁻¹λ first; its gradients are those of -L, and μ itself for the efforts.
"""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.derivatives.sweeps import arrays as at
from linkwork.derivatives.sweeps.arrays import adjoint_of, primal_of
from linkwork.derivatives.sweeps.joint_parts import ball_effort, ball_twist, springs_adjoint
from linkwork.dynamics.aba import ACCELERATION as ABA_ACCELERATION
from linkwork.dynamics.aba import TWIST
from linkwork.dynamics.one_more_right_side import bias_to_parent, from_parent, solved_twist, to_parent
from linkwork.dynamics.rnea import ACCELERATION as RNEA_ACCELERATION
from linkwork.model import layout
from linkwork.model.kernels.joint_kernels import helical_twist, screw_pose, screw_twist
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import add_to6, load3, load6, load9, load10, store3, store6, store9, store10
from linkwork.spatial.rotations import cross3, sub3
from linkwork.spatial.vectors import (
    ZERO6,
    add6,
    angular,
    cross_force,
    cross_motion,
    dot6,
    linear,
    scale6,
    sub6,
    twist_to_child,
    wrench_to_parent,
)

SPARE = layout.DOF_COLUMNS - 1  # a column of the table of freedoms that has no meaning yet


@kernel
def forward_adjoint(primal, adjoint):
    """Gradients of λ · q̈. Needs what `aba` left in the workspaces of `primal`."""
    mode = flush_subnormals()
    s = primal_of(primal)
    g = adjoint_of(adjoint)
    n = s.tree.shape[0]
    for i in range(n):
        store6(g.adjoint, i, at.WRENCH, ZERO6)
    for i in range(n - 1, -1, -1):
        p = bias_to_parent(s.tree, s.body, s.dof, i, g.weights, load6(g.adjoint, i, at.WRENCH), s.work, s.dof_work)
        parent = s.tree[i, layout.PARENT]
        if parent >= 0:
            add_to6(g.adjoint, parent, at.WRENCH, to_parent(i, s.work, p))
    for i in range(n):
        above = from_parent(s.tree, i, s.work, g.adjoint, at.VIRTUAL)
        w = solved_twist(s.tree, s.body, i, above, s.work, s.dof_work, g.mu)
        begin_body(s, g, i, w, ABA_ACCELERATION, -1.0)
    gradients_leaf_to_root(s, g, ABA_ACCELERATION, -1.0)
    for j in range(s.v.shape[0]):
        g.by_forcing[j] = g.mu[j]
    restore_mode(mode)


@kernel
def inverse_adjoint(primal, adjoint):
    """Gradients of μ · τ. Needs what `rnea` left in the workspace of `primal`."""
    mode = flush_subnormals()
    s = primal_of(primal)
    g = adjoint_of(adjoint)
    for i in range(s.tree.shape[0]):
        w = virtual_twist(s, g, i)
        begin_body(s, g, i, w, RNEA_ACCELERATION, 1.0)
    gradients_leaf_to_root(s, g, RNEA_ACCELERATION, 1.0)
    restore_mode(mode)


@inlined
def virtual_twist(s, g, i):
    """w = X w_λ + S μ"""
    w = from_parent(s.tree, i, s.work, g.adjoint, at.VIRTUAL)
    kind = s.tree[i, layout.KIND]
    j = s.tree[i, layout.V]
    if kind == layout.HELICAL:
        w = add6(w, scale6(g.mu[j], helical_twist(s.body, i)))
    elif kind == layout.COMPOUND:
        for d in range(s.tree[i, layout.DOF]):  # `rnea` keeps the columns of compound joints
            w = add6(w, scale6(g.mu[j + d], load6(s.dof_work, j + d, 0)))
    else:
        w = add6(w, ball_twist(s.tree, s.body, i, g.mu))
    return w


@inlined
def begin_body(s, g, i, w, acceleration, sign):
    """The body's own part of F, A and B, and the gradients that end with it. sign: of L in what is differentiated."""
    twist = load6(s.work, i, TWIST)
    a = load6(s.work, i, acceleration)
    inertia = load10(s.body, i, layout.INERTIA)
    h = rigid_times_twist(inertia, twist)
    bent = cross_motion(twist, w)
    F = add6(rigid_times_twist(inertia, a), cross_force(twist, h))
    if s.wrenches.shape[0] > 0:
        F = sub6(F, load6(s.wrenches, i, 0))
    store6(g.adjoint, i, at.VIRTUAL, w)
    store6(g.adjoint, i, at.WRENCH, F)
    store6(g.adjoint, i, at.MOMENTUM, rigid_times_twist(inertia, w))
    store6(g.adjoint, i, at.TWISTED, scale6(-1.0, add6(cross_force(w, h), rigid_times_twist(inertia, bent))))
    if g.by_wrenches.shape[0] > 0:
        store6(g.by_wrenches, i, 0, scale6(-sign, w))
    if g.by_inertias.shape[0] > 0:
        store10(g.by_inertias, i, 0, bilinear10(sign, w, a, bent, twist))


@inlined
def gradients_leaf_to_root(s, g, acceleration, sign):
    g.by_gravity[0] = 0.0
    g.by_gravity[1] = 0.0
    g.by_gravity[2] = 0.0
    for i in range(s.tree.shape[0] - 1, -1, -1):
        parent = s.tree[i, layout.PARENT]
        F = load6(g.adjoint, i, at.WRENCH)
        A = load6(g.adjoint, i, at.MOMENTUM)
        B = load6(g.adjoint, i, at.TWISTED)
        kind = s.tree[i, layout.KIND]
        if kind == layout.HELICAL:
            B = helical_gradients(s, g, i, F, A, B, acceleration, sign)
            F, A, B = to_parent(i, s.work, F), to_parent(i, s.work, A), to_parent(i, s.work, B)
        elif kind == layout.COMPOUND:
            F, A, B = compound_gradients(s, g, i, F, A, B, acceleration, sign)
        else:
            B = ball_gradients(s, g, i, F, A, B, acceleration, sign)
            F, A, B = to_parent(i, s.work, F), to_parent(i, s.work, A), to_parent(i, s.work, B)
        if parent >= 0:
            add_to6(g.adjoint, parent, at.WRENCH, F)
            add_to6(g.adjoint, parent, at.MOMENTUM, A)
            add_to6(g.adjoint, parent, at.TWISTED, B)
        else:  # the world accelerates by -g
            for k in range(3):
                g.by_gravity[k] -= sign * A[3 + k]


@inlined
def helical_gradients(s, g, i, F, A, B, acceleration, sign):
    """Gradients of one screw; returns B + (S v) x* A."""
    j = s.tree[i, layout.V]
    k = s.tree[i, layout.Q]
    screw = helical_twist(s.body, i)
    twist = load6(s.work, i, TWIST)
    T = cross_force(screw, A)
    by_q = dot6(load6(s.work, i, acceleration), T) + dot6(twist, cross_force(screw, B))
    by_q += dot6(load6(g.adjoint, i, at.VIRTUAL), cross_force(screw, F))
    by_v = dot6(screw, B) + dot6(twist, T)
    mu = g.mu[j]
    g.by_q[j] = sign * (by_q + s.dof[j, layout.STIFFNESS] * mu)
    g.by_v[j] = sign * (by_v + s.dof[j, layout.DAMPING] * mu)
    g.by_forcing[j] = (
        dot6(screw, A) + s.dof[j, layout.ARMATURE] * mu
    )  # of inverse dynamics; forward dynamics writes its own
    if g.by_dof.shape[0] > 0:
        g.by_dof[j, layout.STIFFNESS] = sign * mu * (s.q[k] - s.rest[k])
        g.by_dof[j, layout.DAMPING] = sign * mu * s.v[j]
        g.by_dof[j, layout.ARMATURE] = sign * mu * s.qdd[j]
        g.by_dof[j, SPARE] = 0.0
    return add6(B, scale6(s.v[j], T))


@routine
def ball_gradients(s, g, i, F, A, B, acceleration, sign):
    """The same for a joint whose S is fixed in the body: ball, free joint, weld."""
    twist = load6(s.work, i, TWIST)
    VJ = ball_twist(s.tree, s.body, i, s.v)
    above = sub6(twist, VJ)  # X V_λ
    ball_effort(s.tree, s.body, i, sub6(B, cross_force(above, A)), g.by_v)
    B = add6(B, cross_force(VJ, A))
    a = sub6(load6(s.work, i, acceleration), add6(ball_twist(s.tree, s.body, i, s.qdd), cross_motion(twist, VJ)))
    w = sub6(load6(g.adjoint, i, at.VIRTUAL), ball_twist(s.tree, s.body, i, g.mu))
    turned = add6(add6(cross_force(a, A), cross_force(above, B)), cross_force(w, F))
    ball_effort(s.tree, s.body, i, scale6(-1.0, turned), g.by_q)
    ball_effort(s.tree, s.body, i, A, g.by_forcing)
    finish_freedoms(s, g, i, sign)
    return B


@routine
def compound_gradients(s, g, i, F, A, B, acceleration, sign):
    """The same for a product of screws: a chain of bodies without mass, walked back. Returns F, A, B in the parent."""
    walk_down_chain(s, i, g.adjoint, at.VIRTUAL, g.mu, acceleration, g.chain)
    j = s.tree[i, layout.V]
    first = s.tree[i, layout.SCREW]
    for d in range(s.tree[i, layout.DOF] - 1, -1, -1):
        row = first + d
        screw = screw_twist(
            load3(s.screws, row, layout.SCREW_AXIS),
            load3(s.screws, row, layout.SCREW_SLIDE),
            load3(s.screws, row, layout.SCREW_CENTER),
        )
        above = load6(g.chain, j + d, at.CHAIN_TWIST)
        T = cross_force(screw, A)
        g.by_v[j + d] = dot6(screw, B) + dot6(above, T)
        B = add6(B, scale6(s.v[j + d], T))
        by_q = dot6(load6(g.chain, j + d, at.CHAIN_ACCELERATION), T) + dot6(above, cross_force(screw, B))
        g.by_q[j + d] = by_q + dot6(load6(g.chain, j + d, at.CHAIN_VIRTUAL), cross_force(screw, F))
        g.by_forcing[j + d] = dot6(screw, A)
        R = load9(g.chain, j + d, at.CHAIN_R)
        p = load3(g.chain, j + d, at.CHAIN_P)
        F, A, B = wrench_to_parent(R, p, F), wrench_to_parent(R, p, A), wrench_to_parent(R, p, B)
    finish_freedoms(s, g, i, sign)
    R = load9(s.body, i, layout.ROTATION)
    p = load3(s.body, i, layout.POSITION)
    return wrench_to_parent(R, p, F), wrench_to_parent(R, p, A), wrench_to_parent(R, p, B)


@routine
def finish_freedoms(s, g, i, sign):
    """Springs, dampers and rotors of joint i, and the sign."""
    j = s.tree[i, layout.V]
    springs_adjoint(s.tree, s.dof, s.rest, i, s.q, g.mu, g.by_q, g.by_dof)
    for d in range(s.tree[i, layout.DOF]):
        mu = g.mu[j + d]
        g.by_q[j + d] *= sign
        g.by_v[j + d] = sign * (g.by_v[j + d] + s.dof[j + d, layout.DAMPING] * mu)
        g.by_forcing[j + d] += s.dof[j + d, layout.ARMATURE] * mu
        if g.by_dof.shape[0] > 0:
            g.by_dof[j + d, layout.STIFFNESS] *= sign
            g.by_dof[j + d, layout.DAMPING] = sign * mu * s.v[j + d]
            g.by_dof[j + d, layout.ARMATURE] = sign * mu * s.qdd[j + d]
            g.by_dof[j + d, SPARE] = 0.0


# ----------------------------------------------------------------------------------------------------- chains of screws


@routine
def walk_down_chain(s, i, rows, column, mu, acceleration, chain):
    """Writes pose and X V, X a, X w of what comes to each screw of joint i into the rows of `chain`.

    rows, column: where the parent's virtual twist w is kept; mu: the virtual velocities (nv,).
    """
    parent = s.tree[i, layout.PARENT]
    j = s.tree[i, layout.V]
    k = s.tree[i, layout.Q]
    V_, a, w = ZERO6, (0.0, 0.0, 0.0, -s.gravity[0], -s.gravity[1], -s.gravity[2]), ZERO6
    if parent >= 0:
        V_, a, w = load6(s.work, parent, TWIST), load6(s.work, parent, acceleration), load6(rows, parent, column)
    R = load9(s.body, i, layout.ROTATION)
    p = load3(s.body, i, layout.POSITION)
    V_, a, w = twist_to_child(R, p, V_), twist_to_child(R, p, a), twist_to_child(R, p, w)
    for d in range(s.tree[i, layout.DOF]):
        row = s.tree[i, layout.SCREW] + d
        axis = load3(s.screws, row, layout.SCREW_AXIS)
        slide = load3(s.screws, row, layout.SCREW_SLIDE)
        center = load3(s.screws, row, layout.SCREW_CENTER)
        R, p = screw_pose(axis, slide, center, s.q[k + d])
        V_, a, w = twist_to_child(R, p, V_), twist_to_child(R, p, a), twist_to_child(R, p, w)
        store9(chain, j + d, at.CHAIN_R, R)
        store3(chain, j + d, at.CHAIN_P, p)
        store6(chain, j + d, at.CHAIN_TWIST, V_)
        store6(chain, j + d, at.CHAIN_ACCELERATION, a)
        store6(chain, j + d, at.CHAIN_VIRTUAL, w)
        screw = screw_twist(axis, slide, center)
        VJ = scale6(s.v[j + d], screw)
        V_ = add6(V_, VJ)
        a = add6(a, add6(scale6(s.qdd[j + d], screw), cross_motion(V_, VJ)))
        w = add6(w, scale6(mu[j + d], screw))


# -------------------------------------------------------------------------------------------------------------- inertia


@inlined
def bilinear(x, y):
    """Gradient of x · I y with respect to (m, h, I)."""
    u, a = angular(x), linear(x)
    w, b = angular(y), linear(y)
    h = sub3(cross3(b, u), cross3(w, a))  # u · (h x b) - a · (h x w)
    return (
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
        h[0],
        h[1],
        h[2],
        u[0] * w[0],
        u[0] * w[1] + u[1] * w[0],
        u[0] * w[2] + u[2] * w[0],
        u[1] * w[1],
        u[1] * w[2] + u[2] * w[1],
        u[2] * w[2],
    )


@inlined
def bilinear10(sign, w, a, bent, twist):
    """Gradient of sign · (w · I a - (V x w) · I V)."""
    x = bilinear(w, a)
    y = bilinear(bent, twist)
    return (
        sign * (x[0] - y[0]),
        sign * (x[1] - y[1]),
        sign * (x[2] - y[2]),
        sign * (x[3] - y[3]),
        sign * (x[4] - y[4]),
        sign * (x[5] - y[5]),
        sign * (x[6] - y[6]),
        sign * (x[7] - y[7]),
        sign * (x[8] - y[8]),
        sign * (x[9] - y[9]),
    )
