"""M X = B for many right sides, eight at once, with the factors of `aba` and in the frame of the world.

Some 30 products per joint and right side, since nothing is transformed between bodies.
"""

from linkwork.core.jit import inlined, routine
from linkwork.derivatives.sweeps.arrays import C_LIFT, C_S, W_P, W_R
from linkwork.dynamics.aba import D_D, DINV, U_, U_D
from linkwork.dynamics.joint_lanes import mix_lanes, move_lanes, push_lanes
from linkwork.model.layout import DOF, HELICAL, KIND, PARENT, V
from linkwork.spatial.memory import load3, load6, load9, store6
from linkwork.spatial.simd import (
    LANES,
    add_outer,
    add_rows,
    combine,
    load_rows,
    no_rows,
    splat,
    store_rows,
    vload,
    vstore,
)
from linkwork.spatial.vectors import wrench_to_parent

ROW = 6 * LANES  # numbers of one body


@inlined
def fill_lifts(s, m):
    """U of every freedom in the world, into `column`."""
    for i in range(s.tree.shape[0]):
        R = load9(m.world, i, W_R)
        p = load3(m.world, i, W_P)
        j = s.tree[i, V]
        if s.tree[i, KIND] == HELICAL:
            store6(m.column, j, C_LIFT, wrench_to_parent(R, p, load6(s.work, i, U_)))
        else:
            for d in range(s.tree[i, DOF]):
                store6(m.column, j + d, C_LIFT, wrench_to_parent(R, p, load6(s.dof_work, j + d, U_D)))


@routine
def solve_sides(s, m, matrix):
    """matrix ← M⁻¹ matrix, (nv nv,), row by row. The last columns, fewer than eight, are solved in memory of their own."""
    nv = s.v.shape[0]
    whole = nv - nv % LANES
    for first in range(0, whole, LANES):
        solve_eight(s, m, matrix, nv, first)
    if whole < nv:
        for j in range(nv):
            for c in range(LANES):
                m.sides[LANES * j + c] = matrix[nv * j + whole + c] if c < nv - whole else 0.0
        solve_eight(s, m, m.sides, LANES, 0)
        for j in range(nv):
            for c in range(nv - whole):
                matrix[nv * j + whole + c] = m.sides[LANES * j + c]


@routine
def solve_eight(s, m, sides, stride, first):
    """Eight columns of `sides`, whose rows are `stride` numbers long, from `first` on."""
    zero = splat(0.0)
    for k in range(6 * s.tree.shape[0]):
        vstore(m.wrench, LANES * k, zero)
    for i in range(s.tree.shape[0] - 1, -1, -1):
        if s.tree[i, KIND] == HELICAL:
            eight_to_parent(s, m, i, sides, stride, first)
        else:
            eight_to_parent_general(s, m, i, sides, stride, first)
    for i in range(s.tree.shape[0]):
        if s.tree[i, KIND] == HELICAL:
            eight_to_children(s, m, i, sides, stride, first)
        else:
            eight_to_children_general(s, m, i, sides, stride, first)


@inlined
def eight_to_parent(s, m, i, sides, stride, first):
    """u = r - Sᵀp;  p_λ += p + U D⁻¹ u"""
    j = s.tree[i, V]
    parent = s.tree[i, PARENT]
    place = stride * j + first
    p = load_rows(m.wrench, ROW * i)
    S, U = load6(m.column, j, C_S), load6(m.column, j, C_LIFT)
    u, p = push_lanes(S, U, s.work[i, DINV], vload(sides, place), p, p)
    vstore(sides, place, u)
    if parent >= 0:
        store_rows(m.wrench, ROW * parent, add_rows(load_rows(m.wrench, ROW * parent), p))


@routine
def eight_to_parent_general(s, m, i, sides, stride, first):
    j = s.tree[i, V]
    nd = s.tree[i, DOF]
    D = s.dof_work[:, D_D : D_D + 6]
    parent = s.tree[i, PARENT]
    p = load_rows(m.wrench, ROW * i)
    for d in range(nd):
        place = stride * (j + d) + first
        vstore(sides, place, vload(sides, place) - combine(load6(m.column, j + d, C_S), p))
    if parent >= 0:
        for d in range(nd):
            x = mix_lanes(D, j, d, nd, sides, stride * j + first, stride)
            p = add_outer(p, load6(m.column, j + d, C_LIFT), x)
        store_rows(m.wrench, ROW * parent, add_rows(load_rows(m.wrench, ROW * parent), p))


@inlined
def eight_to_children(s, m, i, sides, stride, first):
    """a = a_λ;  x = D⁻¹ (u - Uᵀ a);  a += S x"""
    j = s.tree[i, V]
    parent = s.tree[i, PARENT]
    place = stride * j + first
    a = no_rows()
    if parent >= 0:
        a = load_rows(m.twist, ROW * parent)
    S, U = load6(m.column, j, C_S), load6(m.column, j, C_LIFT)
    x, a = move_lanes(S, U, s.work[i, DINV], vload(sides, place), a, a)
    vstore(sides, place, x)
    store_rows(m.twist, ROW * i, a)


@routine
def eight_to_children_general(s, m, i, sides, stride, first):
    """The same; the rows of `wrench` of the body, used up before, hold the products with D⁻¹."""
    j = s.tree[i, V]
    nd = s.tree[i, DOF]
    D = s.dof_work[:, D_D : D_D + 6]
    parent = s.tree[i, PARENT]
    a = no_rows()
    if parent >= 0:
        a = load_rows(m.twist, ROW * parent)
        for d in range(nd):
            place = stride * (j + d) + first
            vstore(sides, place, vload(sides, place) - combine(load6(m.column, j + d, C_LIFT), a))
    for d in range(nd):
        vstore(m.wrench, ROW * i + LANES * d, mix_lanes(D, j, d, nd, sides, stride * j + first, stride))
    for d in range(nd):
        x = vload(m.wrench, ROW * i + LANES * d)
        vstore(sides, stride * (j + d) + first, x)
        a = add_outer(a, load6(m.column, j + d, C_S), x)
    store_rows(m.twist, ROW * i, a)
