"""The static elimination: (∂²U + M/s² + springs) x = r in O(n), by the sweeps of the articulated-body algorithm.

    leaf to root   U = I S − ½ S x* F,   D = SᵀI S + k,   I_λ += Xᵀ(I − U D⁻¹Uᵀ)X                 (6) theory/statics.md
    right side     u = r − Sᵀp,          p_λ += Xᵀ(p + U D⁻¹u)                                  (7)
    root to leaf   x = D⁻¹(u − UᵀX V_λ), V = X V_λ + S x                                        (8)

`blend` chooses the stiffness of loads: 0 the exact second derivative, 1 the sum over bodies of |B| (never negative),
between them the mixture. The exact one with s = h and `diagonal` = d/h is the matrix of a linearly implicit Euler step.
"""

import math

from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.aba import subtract_product
from linkwork.dynamics.joint_solve import move_freedom, move_freedoms, push_freedom, push_freedoms
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, DOF, HELICAL, KIND, PARENT, STIFFNESS, V
from linkwork.spatial.inertia import articulated_times_twist, articulated_to_parent, subtract_outer
from linkwork.spatial.memory import add_to6, add_to9, load3, load6, load9, store6
from linkwork.spatial.rotations import dot3
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
    wrench_to_parent,
)
from linkwork.statics.elimination.small_symmetric import SINGULAR_PART, invert_symmetric
from linkwork.statics.elimination.stiffness import (
    add_joint_stiffness,
    child_on_own,
    finish_own,
    own_stiffness,
    row_stiffness,
)
from linkwork.statics.elimination.workspace import (
    BIAS,
    D_D,
    D_INVERSE,
    IA,
    IB,
    IC,
    P_,
    R_,
    RIGHT,
    RIGHT_D,
    TWIST,
    U_,
    U_D,
    WRENCH,
)


@kernel
def eliminate_leaf_to_root(arrays, acting, place, work, blend, inverse_time2, soften, diagonal):
    """Factors the matrix; needs the wrenches of `unbalanced_efforts` at the same place.

    soften: part of each body's |B| that every rotation is resisted with at least.
    diagonal (nv,): added to D; may be empty.
    Returns (number of negative pivots, body of the most negative one or -1, body with a zero pivot or -1).
    """
    tree, body, dof = arrays.tree, arrays.body, arrays.dof
    n = tree.shape[0]
    exact = 1.0 - blend
    for i in range(n):
        own_stiffness(arrays, acting, place, work, i, exact, inverse_time2)
    for k in range(acting.row_body.shape[0]):
        if acting.row_body[k] >= 0:
            row_stiffness(arrays, acting, place, work, k, exact)
    negative = 0
    deepest = -1
    depth = 0.0
    for i in range(n - 1, -1, -1):
        finish_own(work, i, blend, soften)
        parent = tree[i, PARENT]
        if parent >= 0:
            child_on_own(arrays, place, work, i, parent)
        if tree[i, KIND] == HELICAL:
            j = tree[i, V]
            more = dof[j, STIFFNESS] + inverse_time2 * dof[j, ARMATURE]
            if diagonal.shape[0] > 0:
                more += diagonal[j]
            share = eliminate_1dof(body, place, work, i, parent, exact, more)
            if not abs(share) > SINGULAR_PART:
                return negative, deepest, i
            if share < 0.0:
                negative += 1
                if share < depth:
                    depth = share
                    deepest = i
        else:
            count = eliminate_general(arrays, place, work, i, exact, inverse_time2, diagonal)
            if count < 0:
                return negative, deepest, i
            negative += count
            if count > 0 and deepest < 0:
                deepest = i
    return negative, deepest, -1


@inlined
def add_to_parent(place, work, i, parent, A, B, C):
    R = load9(place.pose, i, R_)
    A, B, C = articulated_to_parent(R, load3(place.pose, i, P_), A, B, C)
    add_to6(work.body, parent, IA, A)
    add_to9(work.body, parent, IB, B)
    add_to6(work.body, parent, IC, C)


@inlined
def eliminate_1dof(body, place, work, i, parent, exact, more):
    """Returns D as a part of what it could be at most for stiffnesses of this size."""
    A = load6(work.body, i, IA)
    B = load9(work.body, i, IB)
    C = load6(work.body, i, IC)
    s = helical_twist(body, i)
    U = articulated_times_twist(A, B, C, s)
    D = dot6(s, U) + more
    U = sub6(U, scale6(0.5 * exact, cross_force(s, load6(work.body, i, WRENCH))))
    turning, sliding = dot3(angular(s), angular(s)), dot3(linear(s), linear(s))
    whole = turning * (abs(A[0]) + abs(A[3]) + abs(A[5])) + sliding * (abs(C[0]) + abs(C[3]) + abs(C[5])) + abs(more)
    d = 1.0 / D
    store6(work.body, i, U_, U)
    work.body[i, D_INVERSE] = d
    if parent >= 0:
        A, B, C = subtract_outer(A, B, C, U, d)
        add_to_parent(place, work, i, parent, A, B, C)
    return D / whole


@routine
def eliminate_general(arrays, place, work, i, exact, inverse_time2, diagonal):
    """Returns the number of negative pivots, or -1 where one is zero."""
    tree = arrays.tree
    A = load6(work.body, i, IA)
    B = load9(work.body, i, IB)
    C = load6(work.body, i, IC)
    F = load6(work.body, i, WRENCH)
    j = tree[i, V]
    nd = tree[i, DOF]
    D = work.dof[:, D_D : D_D + 6]
    for d in range(nd):
        store6(work.dof, j + d, U_D, articulated_times_twist(A, B, C, load6(place.S, j + d, 0)))
    for d in range(nd):
        for e in range(nd):
            D[j + d, e] = dot6(load6(place.S, j + d, 0), load6(work.dof, j + e, U_D))
    add_joint_stiffness(arrays, place, work, i, exact, inverse_time2, diagonal)
    for d in range(nd):
        across = cross_force(load6(place.S, j + d, 0), F)
        store6(work.dof, j + d, U_D, sub6(load6(work.dof, j + d, U_D), scale6(0.5 * exact, across)))
    negative = invert_symmetric(D, j, nd)
    parent = tree[i, PARENT]
    if negative >= 0 and parent >= 0:
        for d in range(nd):
            w = ZERO6
            for e in range(nd):
                w = add6(w, scale6(D[j + d, e], load6(work.dof, j + e, U_D)))
            A, B, C = subtract_product(A, B, C, w, load6(work.dof, j + d, U_D))
        add_to_parent(place, work, i, parent, A, B, C)
    return negative


@kernel
def solve_right_side(arrays, place, work, r, pushes, push_body, x):
    """x (nv,) for efforts r (nv,) and wrenches `pushes` (m, 6) on bodies `push_body` (m,), in their frames.

    Leaves the twists of all bodies in the workspace. Returns the largest rotation [rad] and displacement of an origin [m].
    """
    return solve_efforts_and_pushes(arrays, place, work, r, pushes, 0, push_body, x)


@kernel
def solve_pushes(arrays, place, work, rows, push_body, x, Y, A):
    """Y (nv, p), A (p, p) ← H⁻¹Jᵀ, J H⁻¹Jᵀ of p constraints, whose rows (p m, 6) act on m bodies; x (nv,) is scratch."""
    m = push_body.shape[0]
    for k in range(A.shape[0]):
        solve_efforts_and_pushes(arrays, place, work, work.still, rows, k * m, push_body, x)
        for j in range(x.shape[0]):
            Y[j, k] = x[j]
        for c in range(A.shape[0]):
            moved = 0.0
            for b in range(m):
                if push_body[b] >= 0:
                    moved += dot6(load6(rows, c * m + b, 0), load6(work.body, push_body[b], TWIST))
            A[c, k] = moved


@routine
def solve_efforts_and_pushes(arrays, place, work, r, pushes, first, push_body, x):
    """`solve_right_side` with the pushes from row `first` on."""
    tree, body = arrays.tree, arrays.body
    n = tree.shape[0]
    for i in range(n):
        store6(work.body, i, BIAS, ZERO6)
    for k in range(push_body.shape[0]):
        if push_body[k] >= 0:
            add_to6(work.body, push_body[k], BIAS, scale6(-1.0, load6(pushes, first + k, 0)))
    for i in range(n - 1, -1, -1):
        p = load6(work.body, i, BIAS)
        parent = tree[i, PARENT]
        j = tree[i, V]
        if tree[i, KIND] == HELICAL:
            s, U = helical_twist(body, i), load6(work.body, i, U_)
            work.body[i, RIGHT], p = push_freedom(s, U, work.body[i, D_INVERSE], r[j], p)
        else:
            p = right_side_general(tree, place, work, i, r, p)
        if parent >= 0:
            add_to6(work.body, parent, BIAS, wrench_to_parent(load9(place.pose, i, R_), load3(place.pose, i, P_), p))
    return displacements_root_to_leaf(arrays, place, work, x)


@routine
def right_side_general(tree, place, work, i, r, p):
    j = tree[i, V]
    nd = tree[i, DOF]
    for d in range(nd):
        work.dof[j + d, RIGHT_D] = r[j + d]
    U, D = work.dof[:, U_D : U_D + 6], work.dof[:, D_D : D_D + 6]
    return push_freedoms(place.S, U, D, work.dof[:, RIGHT_D], j, nd, p)


@inlined
def displacements_root_to_leaf(arrays, place, work, x):
    tree, body = arrays.tree, arrays.body
    turn2, way2 = 0.0, 0.0
    for i in range(tree.shape[0]):
        parent = tree[i, PARENT]
        j = tree[i, V]
        V_ = ZERO6
        if parent >= 0:
            V_ = twist_to_child(load9(place.pose, i, R_), load3(place.pose, i, P_), load6(work.body, parent, TWIST))
        if tree[i, KIND] == HELICAL:
            s, U = helical_twist(body, i), load6(work.body, i, U_)
            x[j], V_ = move_freedom(s, U, work.body[i, D_INVERSE], work.body[i, RIGHT], V_)
        else:
            V_ = displacement_general(tree, place, work, i, V_, x)
        store6(work.body, i, TWIST, V_)
        turn2 = max(turn2, dot3(angular(V_), angular(V_)))
        way2 = max(way2, dot3(linear(V_), linear(V_)))
    return math.sqrt(turn2), math.sqrt(way2)


@routine
def displacement_general(tree, place, work, i, V_, x):
    j = tree[i, V]
    U, D = work.dof[:, U_D : U_D + 6], work.dof[:, D_D : D_D + 6]
    return move_freedoms(place.S, U, D, work.dof[:, RIGHT_D], j, tree[i, DOF], V_, x)


@kernel
def follow_negative_pivot(arrays, place, work, start, x):
    """x (nv,) with xᵀ(matrix)x = the negative pivot at joint `start`: one unit there, and what hangs below follows freely.

    Needs the factors of `eliminate_leaf_to_root`. Returns the largest rotation of a body [rad].
    """
    tree, body = arrays.tree, arrays.body
    turn2 = 0.0
    for i in range(tree.shape[0]):
        parent = tree[i, PARENT]
        j = tree[i, V]
        for d in range(tree[i, DOF]):
            x[j + d] = 0.0
        V_ = ZERO6
        if parent >= start and i > start:
            V_ = twist_to_child(load9(place.pose, i, R_), load3(place.pose, i, P_), load6(work.body, parent, TWIST))
        if tree[i, KIND] == HELICAL:
            x[j] = 1.0 if i == start else -work.body[i, D_INVERSE] * dot6(load6(work.body, i, U_), V_)
            V_ = add6(V_, scale6(x[j], helical_twist(body, i)))
        else:
            V_ = follow_general(tree, place, work, i, i == start, V_, x)
        store6(work.body, i, TWIST, V_)
        turn2 = max(turn2, dot3(angular(V_), angular(V_)))
    return math.sqrt(turn2)


@routine
def follow_general(tree, place, work, i, begins, V_, x):
    """At the joint where it begins: the direction in which D⁻¹ is most negative among its rows."""
    j = tree[i, V]
    nd = tree[i, DOF]
    if not begins:
        for d in range(nd):
            work.dof[j + d, RIGHT_D] = 0.0
        return displacement_general(tree, place, work, i, V_, x)
    row = 0
    for d in range(nd):
        if work.dof[j + d, D_D + d] < work.dof[j + row, D_D + row]:
            row = d
    for d in range(nd):
        x[j + d] = work.dof[j + row, D_D + d] / work.dof[j + row, D_D + row]
        V_ = add6(V_, scale6(x[j + d], load6(place.S, j + d, 0)))
    return V_
