"""The discrete equations of motion of a variational step, transposed: one elimination and one solve over the tree.

A step from q to q⁺ solves F = 0, the first of (5) in docs/integrators.md. A change of q⁺ changes momenta of bodies by K, so
that -∂F/∂q⁺ = J₀ᵀ K J₁ + C, with J₀, J₁ the Jacobians of the poses at both ends and C of the joints. Its transpose is
solved by the elimination of `discrete_newton`, in which both ends change their places:

    D = S₀ᵀ K S₁ + C,   K_λ += X₀ᵀ (K - K S₁ D⁻¹ S₀ᵀ K) X₁
    ρ = S₁ᵀ r + g,   r_λ += X₁ᵀ (r - KᵀS₀ D⁻ᵀ ρ),      w' = X₀ w_λ,   y = D⁻ᵀ (ρ - (K S₁)ᵀ w'),   w = w' + S₀ y

With weights U and -w on the momenta Λ₁, Λ₀ of a body at its ends, and Ad the displacement of its frame, the number
(Ad U - w) · Λ₀ has the gradients  Kᵀ (Ad U - w) + U x* Λ₁  with respect to the frame at the end, and minus that, seen from
the start, with respect to the frame there.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.core.bundles import Float1, Float2, Int2, reader
from linkwork.core.jit import inlined, kernel
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.model.kernels.joint_kernels import body_motion, helical_twist
from linkwork.model.layout import DOF, HELICAL, KIND, PARENT, V
from linkwork.simulation.integrators.variational import discrete_newton as newton
from linkwork.simulation.integrators.variational.discrete_body import (
    cayley_vector,
    center_and_inertia,
    change_of_momentum,
    momentum_at_end,
    momentum_at_start,
    turn_matrix_less_one,
)
from linkwork.simulation.integrators.variational.discrete_newton import (
    displace,
    end_rotation,
    invert_in_place,
    less_joint,
    pass_on,
    step_pivots,
)
from linkwork.spatial.inertia import twist_times_block
from linkwork.spatial.memory import (
    add_to6,
    load3,
    load4,
    load6,
    load9,
    load_block,
    store3,
    store6,
    store9,
    store10,
    store_block,
)
from linkwork.spatial.rotations import IDENTITY3, add3, add9, cross3, dot3, matvec3, scale3, sub3, tmatvec3
from linkwork.spatial.vectors import (
    ZERO6,
    add6,
    angular,
    cross_force,
    dot6,
    linear,
    scale6,
    sub6,
    twist_to_child,
    twist_to_parent,
    wrench_to_parent,
)

VARIATIONAL_COLUMNS, VARIATIONAL_DOF_COLUMNS = 84, 32
SOLVED = -1  # no body whose joint resists with nothing


class Discrete(NamedTuple):
    """A step of a tree, weights on it and their gradients."""

    tree: Int2  # (n, 6)
    body: Float2  # (n, 32)
    screws: Float2  # (m, 9)
    start: Float1  # (nq,) q
    q: Float1  # (nq,) q⁺
    u: Float1  # (nv,) q⁺ ⊖ q
    start_v: Float1  # (nv,) zeros
    variational_work: Float2  # (n, 84), columns as in `discrete_newton`
    variational_dof_work: Float2  # (nv, 32)
    at_start: Float2  # (n, 6) momenta of the bodies in their frames at the start
    at_end: Float2  # (n, 6) at the end
    joint: Float2  # (nv, 6) C: rows of the block of each joint
    weights: Float2  # (n, 6) U
    right: Float1  # (nv,) g
    y: Float1  # (nv,)
    virtual: Float2  # (n, 6) w
    by_start: Float1  # (nv,) gradient with respect to q, of what bodies have of it
    by_inertias: Float2  # (n, 10), or no rows


discrete_of = reader(Discrete)


@kernel
def compare_ends(found, before, after, u, q, h, near):
    """Velocities after a step over those of the equations, and what is left of their difference.

    Returns the factor, one where it is that but for `near`; the largest difference; the largest speed in the step, of
    velocities and displacements over h; and the largest coordinate, or one.
    """
    square, along, size, far, missed = 0.0, 0.0, 0.0, 1.0, 0.0
    for k in range(found.shape[0]):
        square += found[k] * found[k]
        along += found[k] * after[k]
        size = max(size, abs(after[k]), abs(before[k]), abs(u[k]) / h)
    scale = along / square if square > 0.0 else 1.0
    if abs(scale - 1.0) < near:
        scale = 1.0
    for k in range(found.shape[0]):
        left = abs(scale * found[k] - after[k])
        if not left <= missed and missed == missed:  # what is not a number stays
            missed = left
    for k in range(q.shape[0]):
        far = max(far, abs(q[k]))
    return scale, missed, size, far


@kernel
def discrete_momenta(table, h):
    """Poses at both ends, displacements and momenta of all bodies."""
    s = discrete_of(table)
    mode = flush_subnormals()
    at_start = s.variational_dof_work[:, newton.S_0 : newton.S_0 + 6]
    at_end = s.variational_dof_work[:, newton.S_1 : newton.S_1 + 6]
    for i in range(s.tree.shape[0]):
        R, p, _, _ = body_motion(s.tree, s.body, s.screws, i, s.start, s.start_v, at_start)
        store9(s.variational_work, i, newton.R_0, R)
        store3(s.variational_work, i, newton.P_0, p)
        turn, d, R0, joint, p1 = displace(s, i, at_end)
        store9(s.variational_work, i, newton.R_1, end_rotation(R0, joint))
        store3(s.variational_work, i, newton.P_1, p1)
        if s.tree[i, KIND] == HELICAL:
            store6(s.variational_dof_work, s.tree[i, V], newton.S_0, helical_twist(s.body, i))
            store6(s.variational_dof_work, s.tree[i, V], newton.S_1, helical_twist(s.body, i))
        store6(s.at_start, i, 0, momentum_at_start(s.body, i, turn, d, h))
        momentum, _ = momentum_at_end(s.body, i, turn, d, h)
        store6(s.at_end, i, 0, momentum)
    restore_mode(mode)


@kernel
def discrete_adjoint(table, h):
    """y, w and the gradients of the momenta with respect to q and inertias. Needs `discrete_momenta`.

    Returns SOLVED, or a body whose joint resists with nothing.
    """
    s = discrete_of(table)
    mode = flush_subnormals()
    bad = SOLVED
    for i in range(s.tree.shape[0]):
        K = change_of_momentum(s.body, i, load4(s.variational_work, i, newton.TURN), h)
        store_block(s.variational_work, i, newton.K_, K)
        U = load6(s.weights, i, 0)
        ahead = add6(twist_times_block(to_start(s.variational_work, i, U), K), cross_force(U, load6(s.at_end, i, 0)))
        store6(s.variational_work, i, newton.MISSING, ahead)
        store6(s.virtual, i, 0, ahead)  # kept for the gradient with respect to the start
    for i in range(s.tree.shape[0] - 1, -1, -1):
        if bad == SOLVED and not eliminate_transposed(s, i):
            bad = i
    if bad == SOLVED:
        substitute_transposed(s)
        starts_leaf_to_root(s, h)
    restore_mode(mode)
    return bad


@inlined
def displacement(change, i):
    """Rotation and translation of the frame of body i within the step."""
    return add9(IDENTITY3, turn_matrix_less_one(load4(change, i, newton.TURN))), load3(change, i, newton.P_D)


@inlined
def to_start(change, i, V_):
    """Ad: a twist in the frame at the end, in that at the start."""
    R, p = displacement(change, i)
    return twist_to_parent(R, p, V_)


@inlined
def eliminate_transposed(s, i):
    """Body i of the first sweep; False where its joint resists with nothing."""
    K = load_block(s.variational_work, i, newton.K_)
    r = load6(s.variational_work, i, newton.MISSING)
    j = s.tree[i, V]
    nd = s.tree[i, DOF]
    a = s.variational_dof_work
    step_pivots(a, j, nd, K)
    for d in range(nd):
        a[j + d, newton.RHO_D] = dot6(load6(a, j + d, newton.S_1), r) + s.right[j + d]
        for e in range(nd):
            a[j + d, newton.D_D + e] += s.joint[j + d, e]
    if not invert_in_place(a, j, nd):
        return False
    parent = s.tree[i, PARENT]
    if parent >= 0:
        for d in range(nd):
            x = 0.0  # of D⁻ᵀ ρ
            for e in range(nd):
                x += a[j + e, newton.D_D + d] * a[j + e, newton.RHO_D]
            r = sub6(r, scale6(x, load6(a, j + d, newton.ROW_D)))
        pass_on(s, i, parent, less_joint(a, j, nd, K))
        up = wrench_to_parent(load9(s.variational_work, i, newton.R_1), load3(s.variational_work, i, newton.P_1), r)
        add_to6(s.variational_work, parent, newton.MISSING, up)
    return True


@inlined
def substitute_transposed(s):
    """y, and w of all bodies into MISSING."""
    a = s.variational_dof_work
    for i in range(s.tree.shape[0]):
        parent = s.tree[i, PARENT]
        w = ZERO6
        if parent >= 0:
            w = twist_to_child(
                load9(s.variational_work, i, newton.R_0),
                load3(s.variational_work, i, newton.P_0),
                load6(s.variational_work, parent, newton.MISSING),
            )
        j = s.tree[i, V]
        nd = s.tree[i, DOF]
        for d in range(nd):
            a[j + d, newton.RHO_D] -= dot6(load6(a, j + d, newton.COLUMN_D), w)
        for d in range(nd):
            x = 0.0
            for e in range(nd):
                x += a[j + e, newton.D_D + d] * a[j + e, newton.RHO_D]
            s.y[j + d] = x
            w = add6(w, scale6(x, load6(a, j + d, newton.S_0)))
        store6(s.variational_work, i, newton.MISSING, w)


@inlined
def starts_leaf_to_root(s, h):
    """Gradients with respect to q and inertias of (Ad U - w) · Λ₀ of all bodies; w into `virtual`."""
    for i in range(s.tree.shape[0]):
        turn = load4(s.variational_work, i, newton.TURN)
        K = change_of_momentum(s.body, i, turn, h)
        w = load6(s.variational_work, i, newton.MISSING)
        ahead = sub6(load6(s.virtual, i, 0), twist_times_block(w, K))
        R, p = displacement(s.variational_work, i)
        store6(s.virtual, i, 0, w)
        store6(s.variational_work, i, newton.MISSING, scale6(-1.0, wrench_to_parent(R, p, ahead)))
        if s.by_inertias.shape[0] > 0:
            weights = sub6(to_start(s.variational_work, i, load6(s.weights, i, 0)), w)
            store10(s.by_inertias, i, 0, momentum_by_inertia(s.body, i, turn, p, h, weights))
    for i in range(s.tree.shape[0] - 1, -1, -1):
        g = load6(s.variational_work, i, newton.MISSING)
        for j in range(s.tree[i, V], s.tree[i, V] + s.tree[i, DOF]):
            s.by_start[j] = dot6(load6(s.variational_dof_work, j, newton.S_0), g)
        if s.tree[i, PARENT] >= 0:
            up = wrench_to_parent(load9(s.variational_work, i, newton.R_0), load3(s.variational_work, i, newton.P_0), g)
            add_to6(s.variational_work, s.tree[i, PARENT], newton.MISSING, up)


@inlined
def momentum_by_inertia(body, i, turn, d, h, z):
    """Gradient of z · Λ₀, by (6) of `discrete_body`, with respect to the ten numbers of the inertia about the origin."""
    m, c, _ = center_and_inertia(body, i)
    zw = angular(z)
    R = add9(IDENTITY3, turn_matrix_less_one(turn))
    x = cayley_vector(turn)
    per_h = 1.0 / h
    a = add3(linear(z), cross3(zw, c))
    way = add3(sub3(matvec3(R, c), c), d)
    by_m = per_h * dot3(way, a)
    by_c = add3(scale3(m * per_h, sub3(tmatvec3(R, a), a)), scale3(m * per_h, cross3(way, zw)))
    b = add3(add3(zw, scale3(0.5, cross3(zw, x))), scale3(0.25 * dot3(zw, x), x))
    gxx, gyy, gzz = per_h * b[0] * x[0], per_h * b[1] * x[1], per_h * b[2] * x[2]
    gxy = per_h * (b[0] * x[1] + b[1] * x[0])  # of both places of the matrix
    gxz = per_h * (b[0] * x[2] + b[2] * x[0])
    gyz = per_h * (b[1] * x[2] + b[2] * x[1])
    # J about the centre is J about the origin less m (c·c - c cᵀ), and m c are three of the ten numbers.
    trace = gxx + gyy + gzz
    Gc = (
        gxx * c[0] + 0.5 * (gxy * c[1] + gxz * c[2]),
        gyy * c[1] + 0.5 * (gxy * c[0] + gyz * c[2]),
        gzz * c[2] + 0.5 * (gxz * c[0] + gyz * c[1]),
    )
    per_m = 1.0 / m if m != 0.0 else 0.0
    by_h = add3(scale3(per_m, by_c), scale3(-2.0, sub3(scale3(trace, c), Gc)))
    by_m += -per_m * dot3(by_c, c) + trace * dot3(c, c) - dot3(c, Gc)
    return (by_m, by_h[0], by_h[1], by_h[2], gxx, gxy, gxz, gyy, gyz, gzz)
