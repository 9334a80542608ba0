"""M X = B for many right sides, eight at once, with the factors of `aba` and in the frame of the world.

Some 30 products per joint and right side, since nothing is transformed between bodies.
"""

from linkwork.core.jit import inlined, routine
from linkwork.derivatives.sweeps.arrays import C_LIFT, C_S, W_P, W_R
from linkwork.dynamics.aba import D_D, DINV, U_, U_D
from linkwork.model.layout import DOF, HELICAL, KIND, PARENT, V
from linkwork.spatial.memory import load3, load6, load9, store6
from linkwork.spatial.simd import LANES, add_outer, combine, load_rows, splat, store_rows, vload, vstore
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
def add_rows(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@inlined
def eight_to_parent(s, m, i, sides, stride, first):
    """u = r - Sᵀp;  p_λ += p + U D⁻¹ u"""
    j = s.tree[i, V]
    parent = s.tree[i, PARENT]
    place = stride * j + first
    p = load_rows(m.wrench, ROW * i)
    u = vload(sides, place) - combine(load6(m.column, j, C_S), p)
    vstore(sides, place, u)
    if parent >= 0:
        p = add_outer(p, load6(m.column, j, C_LIFT), s.work[i, DINV] * u)
        store_rows(m.wrench, ROW * parent, add_rows(load_rows(m.wrench, ROW * parent), p))


@routine
def eight_to_parent_general(s, m, i, sides, stride, first):
    j = s.tree[i, V]
    nd = s.tree[i, DOF]
    parent = s.tree[i, PARENT]
    p = load_rows(m.wrench, ROW * i)
    for d in range(nd):
        place = stride * (j + d) + first
        vstore(sides, place, vload(sides, place) - combine(load6(m.column, j + d, C_S), p))
    if parent >= 0:
        for d in range(nd):
            p = add_outer(p, load6(m.column, j + d, C_LIFT), mixed(s, j, d, nd, sides, stride, first))
        store_rows(m.wrench, ROW * parent, add_rows(load_rows(m.wrench, ROW * parent), p))


@inlined
def mixed(s, j, d, nd, sides, stride, first):
    """Row d of D⁻¹ times the rows of the joint."""
    total = splat(0.0)
    for e in range(nd):
        total = total + s.dof_work[j + d, D_D + e] * vload(sides, stride * (j + e) + first)
    return total


@inlined
def eight_to_children(s, m, i, sides, stride, first):
    """a = a_λ;  x = D⁻¹ (u - Uᵀ a);  a += S x"""
    j = s.tree[i, V]
    parent = s.tree[i, PARENT]
    place = stride * j + first
    u = vload(sides, place)
    zero = splat(0.0)
    a = (zero, zero, zero, zero, zero, zero)
    if parent >= 0:
        a = load_rows(m.twist, ROW * parent)
        u = u - combine(load6(m.column, j, C_LIFT), a)
    x = s.work[i, DINV] * u
    vstore(sides, place, x)
    store_rows(m.twist, ROW * i, add_outer(a, load6(m.column, j, C_S), x))


@routine
def eight_to_children_general(s, m, i, sides, stride, first):
    """The same; the rows of `wrench` of the body, used up before, hold the products with D⁻¹."""
    j = s.tree[i, V]
    nd = s.tree[i, DOF]
    parent = s.tree[i, PARENT]
    zero = splat(0.0)
    a = (zero, zero, zero, zero, zero, zero)
    if parent >= 0:
        a = load_rows(m.twist, ROW * parent)
        for d in range(nd):
            place = stride * (j + d) + first
            vstore(sides, place, vload(sides, place) - combine(load6(m.column, j + d, C_LIFT), a))
    for d in range(nd):
        vstore(m.wrench, ROW * i + LANES * d, mixed(s, j, d, nd, sides, stride, first))
    for d in range(nd):
        x = vload(m.wrench, ROW * i + LANES * d)
        vstore(sides, stride * (j + d) + first, x)
        a = add_outer(a, load6(m.column, j + d, C_S), x)
    store_rows(m.twist, ROW * i, a)
