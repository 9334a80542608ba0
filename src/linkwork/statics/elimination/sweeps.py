"""The static elimination: (∂²U + M/s² + springs) x = r in O(n), by the sweep of the articulated-body algorithm to the root.

    leaf to root   U = I S − ½ S x* F,   D = SᵀI S + k,   I_λ += Xᵀ(I − U D⁻¹Uᵀ)X                 (6) theory/statics.md

`solve` takes right sides from there. `blend` chooses the stiffness of loads: 0 the exact second derivative, 1 the sum over
bodies of |B| (never negative), between them the mixture. The exact one with s = h and `diagonal` = d/h is the matrix of a
linearly implicit Euler step. Joints of one and of three freedoms, of which long linkages are made, stay in registers.
"""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.joint_solve import largest_pivot, over_pivot, pivot, pivots
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, DOF, HELICAL, KIND, PARENT, SPHERICAL, STIFFNESS, V
from linkwork.spatial.inertia import articulated_to_parent, subtract_outer, subtract_product
from linkwork.spatial.memory import add_to6, add_to9, load3, load6, load9, store3, store6
from linkwork.spatial.vectors import add6, cross_force, dot6, scale6, sub6
from linkwork.statics.elimination.joint_springs import ball_curvature
from linkwork.statics.elimination.small_symmetric import SINGULAR_PART, invert_symmetric, invert_three
from linkwork.statics.elimination.stiffness import (
    add_joint_stiffness,
    child_on_own,
    finish_own,
    own_stiffness,
    row_stiffness,
)
from linkwork.statics.elimination.workspace import IA, IB, IC, INVERSE, P_, R_, S_, U_, W_, WRENCH


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
    is_mixed = blend > 0.0 or soften > 0.0
    for i in range(n):
        own_stiffness(arrays, acting, place, work, i, exact, inverse_time2, is_mixed)
    for k in range(acting.row_body.shape[0]):
        if acting.row_body[k] >= 0:
            row_stiffness(arrays, acting, place, work, k, exact, is_mixed)
    negative = 0
    deepest = -1
    depth = 0.0
    for i in range(n - 1, -1, -1):
        parent = tree[i, PARENT]
        if is_mixed:
            finish_own(work, i, blend, soften)
            if parent >= 0:
                child_on_own(arrays, place, work, i, parent, blend > 0.0)
        if tree[i, KIND] == HELICAL:
            j = tree[i, V]
            more = dof[j, STIFFNESS] + inverse_time2 * dof[j, ARMATURE]
            if diagonal.shape[0] > 0:
                more += diagonal[j]
            share = eliminate_1dof(body, place, work, i, j, parent, exact, more)
            if not abs(share) > SINGULAR_PART:
                return negative, deepest, i
            if share < 0.0:
                negative += 1
                if share < depth:
                    depth = share
                    deepest = i
        else:
            if tree[i, KIND] == SPHERICAL:
                count = eliminate_ball(arrays, place, work, i, exact, inverse_time2, diagonal)
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
def eliminate_1dof(body, place, work, i, j, parent, exact, more):
    """Returns D as a part of what it could be at most for stiffnesses of this size."""
    A = load6(work.body, i, IA)
    B = load9(work.body, i, IB)
    C = load6(work.body, i, IC)
    s = helical_twist(body, i)
    U, D = pivot(A, B, C, s, more)
    U = sub6(U, scale6(0.5 * exact, cross_force(s, load6(work.body, i, WRENCH))))
    most = largest_pivot(s, abs(A[0]) + abs(A[3]) + abs(A[5]), abs(C[0]) + abs(C[3]) + abs(C[5])) + abs(more)
    d = 1.0 / D
    store6(work.factors, j, S_, s)
    store6(work.factors, j, U_, scale6(d, U))
    work.factors[j, INVERSE] = d
    if parent >= 0:
        A, B, C = subtract_outer(A, B, C, U, d)
        add_to_parent(place, work, i, parent, A, B, C)
    return D / most


@routine
def eliminate_ball(arrays, place, work, i, exact, inverse_time2, diagonal):
    """Returns the number of negative pivots, or -1 where one is zero."""
    tree, dof = arrays.tree, arrays.dof
    A = load6(work.body, i, IA)
    B = load9(work.body, i, IB)
    C = load6(work.body, i, IC)
    F = load6(work.body, i, WRENCH)
    j, parent = tree[i, V], tree[i, PARENT]
    x, y, z = load6(place.S, j, 0), load6(place.S, j + 1, 0), load6(place.S, j + 2, 0)
    k = ball_curvature(dof, arrays.rest, place.q, tree, i, exact)
    more = load_diagonal(dof, inverse_time2, diagonal, j)
    ux, xx = pivot(A, B, C, x, k[0])
    uy, yy = pivot(A, B, C, y, k[3])
    uz, zz = pivot(A, B, C, z, k[5])
    D = (
        xx + more[0],
        dot6(x, uy) + k[1],
        dot6(x, uz) + k[2],
        yy + more[1],
        dot6(y, uz) + k[4],
        zz + more[2],
    )
    ux = sub6(ux, scale6(0.5 * exact, cross_force(x, F)))
    uy = sub6(uy, scale6(0.5 * exact, cross_force(y, F)))
    uz = sub6(uz, scale6(0.5 * exact, cross_force(z, F)))
    D, negative = invert_three(D)
    px = add6(scale6(D[0], ux), add6(scale6(D[1], uy), scale6(D[2], uz)))
    py = add6(scale6(D[1], ux), add6(scale6(D[3], uy), scale6(D[4], uz)))
    pz = add6(scale6(D[2], ux), add6(scale6(D[4], uy), scale6(D[5], uz)))
    store_row(work.factors, j, x, px, (D[0], D[1], D[2]))
    store_row(work.factors, j + 1, y, py, (D[1], D[3], D[4]))
    store_row(work.factors, j + 2, z, pz, (D[2], D[4], D[5]))
    if parent >= 0:
        A, B, C = subtract_product(A, B, C, px, ux)
        A, B, C = subtract_product(A, B, C, py, uy)
        A, B, C = subtract_product(A, B, C, pz, uz)
        add_to_parent(place, work, i, parent, A, B, C)
    return negative


@inlined
def store_row(factors, j, s, p, inverse):
    store6(factors, j, S_, s)
    store6(factors, j, U_, p)
    store3(factors, j, INVERSE, inverse)


@inlined
def load_diagonal(dof, inverse_time2, diagonal, j):
    """What rotors and `diagonal` add to three freedoms."""
    x, y, z = (
        inverse_time2 * dof[j, ARMATURE],
        inverse_time2 * dof[j + 1, ARMATURE],
        inverse_time2 * dof[j + 2, ARMATURE],
    )
    if diagonal.shape[0] > 0:
        x, y, z = x + diagonal[j], y + diagonal[j + 1], z + diagonal[j + 2]
    return x, y, z


@routine
def eliminate_general(arrays, place, work, i, exact, inverse_time2, diagonal):
    """The same for any joint: U stands where W does in matrices that are not symmetric, until it is used up."""
    tree, factors = arrays.tree, work.factors
    A = load6(work.body, i, IA)
    B = load9(work.body, i, IB)
    C = load6(work.body, i, IC)
    F = load6(work.body, i, WRENCH)
    j = tree[i, V]
    nd = tree[i, DOF]
    S, U, D = place.S, factors[:, W_ : W_ + 6], factors[:, INVERSE : INVERSE + 6]
    pivots(A, B, C, S, U, D, j, nd)
    add_joint_stiffness(arrays, place, work, i, exact, inverse_time2, diagonal)
    for d in range(nd):
        s = load6(S, j + d, 0)
        store6(factors, j + d, S_, s)
        store6(U, j + d, 0, sub6(load6(U, j + d, 0), scale6(0.5 * exact, cross_force(s, F))))
    negative = invert_symmetric(D, j, nd)
    parent = tree[i, PARENT]
    for d in range(nd):
        w = over_pivot(D, U, j, d, nd)
        store6(factors, j + d, U_, w)
        A, B, C = subtract_product(A, B, C, w, load6(U, j + d, 0))
    if negative >= 0 and parent >= 0:
        add_to_parent(place, work, i, parent, A, B, C)
    return negative
