"""Contacts between two bodies of the linkage: they couple places that the elimination of the tree treats one by one.

With the rest eliminated, P, and the rows B of these contacts (Woodbury):

    η = f - G u,   u = u₀ + W η,   W = B P⁻¹ Bᵀ        (1 + G W) η = f - G u₀                                         (28)

W is found for eight impulses side by side, over the paths from the bodies of these contacts to the world alone. Only
contacts that act (G ≠ 0) are unknowns.
"""

from linkwork.core.jit import inlined, routine
from linkwork.model.layout import DOF, PARENT, V
from linkwork.simulation.constraints import constraints_of
from linkwork.simulation.moving import moving_of
from linkwork.simulation.touching.arrays import factor_of, sweeps_of, system_of, touch_of
from linkwork.simulation.touching.sweeps.memory import BETWEEN, IS_SINGULAR, LANES, PATH
from linkwork.simulation.touching.sweeps.points import is_acting, push_of_row, speed_of_row
from linkwork.spatial.memory import load3, load6
from linkwork.spatial.simd import lane, splat, vload, vstore

WIDE = 6 * LANES  # numbers of eight wrenches or twists of a body


@routine
def find_paths_between(table):
    """Lists the bodies on the paths from contacts between two bodies to the world, parents first."""
    s = moving_of(table)
    t = touch_of(table)
    x = constraints_of(table)
    w = sweeps_of(table)
    for k in range(w.counts[BETWEEN]):
        for side in range(2):
            i = t.carrier[w.between[k], side]
            while i >= 0 and x.mark[i] == 0:
                x.mark[i] = 1
                i = s.tree[i, PARENT]
    count = 0
    for i in range(s.tree.shape[0]):
        if x.mark[i] != 0:
            x.members[count] = i
            x.mark[i] = 0
            count += 1
    w.counts[PATH] = count


@routine
def responses_between(table, which, count):
    """W of the contacts which[:count], into the solver's G: velocity of each row per impulse on each."""
    t = touch_of(table)
    w = sweeps_of(table)
    G = system_of(table).G
    columns = 3 * count
    for first in range(0, columns, LANES):
        last = min(first + LANES, columns)
        push_wide(table, which, first, last)
        climb_wide(table)
        come_down_wide(table)
        for k in range(count):
            for e in range(3):
                u = splat(0.0)
                for side in range(2):
                    i = t.carrier[which[k], side]
                    f = push_of_row(w, which[k], e, side)
                    one = splat(0.0)
                    for a in range(6):
                        one = one + f[a] * vload(w.wide_twist, WIDE * i + LANES * a)
                    u = u + one if side == 0 else u - one
                for column in range(first, last):
                    G[3 * k + e, column] = lane(u, column - first)


@routine
def push_wide(table, which, first, last):
    """Unit impulses on columns first to last of the contacts `which`, each in a lane of its own."""
    t = touch_of(table)
    x = constraints_of(table)
    w = sweeps_of(table)
    for e in range(w.counts[PATH]):
        for a in range(6):
            vstore(w.wide_wrench, WIDE * x.members[e] + LANES * a, splat(0.0))
    for column in range(first, last):
        c = which[column // 3]
        for side in range(2):
            f = push_of_row(w, c, column % 3, side)
            for a in range(6):
                at = WIDE * t.carrier[c, side] + LANES * a + column - first
                w.wide_wrench[at] += f[a] if side == 1 else -f[a]


@inlined
def load_wide(a, i):
    o = WIDE * i
    return (
        vload(a, o),
        vload(a, o + 8),
        vload(a, o + 16),
        vload(a, o + 24),
        vload(a, o + 32),
        vload(a, o + 40),
    )


@inlined
def store_wide(a, i, p):
    o = WIDE * i
    vstore(a, o, p[0])
    vstore(a, o + 8, p[1])
    vstore(a, o + 16, p[2])
    vstore(a, o + 24, p[3])
    vstore(a, o + 32, p[4])
    vstore(a, o + 40, p[5])


@inlined
def dot_wide(s, p):
    low = s[0] * p[0] + s[1] * p[1] + s[2] * p[2]
    return low + (s[3] * p[3] + s[4] * p[4] + s[5] * p[5])


@inlined
def add_wide(p, s, u):
    return (p[0] + s[0] * u, p[1] + s[1] * u, p[2] + s[2] * u, p[3] + s[3] * u, p[4] + s[4] * u, p[5] + s[5] * u)


@routine
def climb_wide(table):
    """Equation (2) of `dynamics.tree_factor` for eight right sides, over the paths."""
    s = moving_of(table)
    x = constraints_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    for e in range(w.counts[PATH] - 1, -1, -1):
        i = x.members[e]
        p = load_wide(w.wide_wrench, i)
        j = s.tree[i, V]
        for d in range(j + s.tree[i, DOF] - 1, j - 1, -1):
            u = splat(0.0) - dot_wide(load6(F.S, d, 0), p)
            vstore(w.wide_effort, LANES * d, u)
            p = add_wide(p, load6(F.U, d, 0), F.Dinv[d] * u)
        parent = s.tree[i, PARENT]
        if parent >= 0:
            a, b, c = load3(F.r, i, 0)
            q = load_wide(w.wide_wrench, parent)
            q = (
                q[0] + p[0] + b * p[5] - c * p[4],
                q[1] + p[1] + c * p[3] - a * p[5],
                q[2] + p[2] + a * p[4] - b * p[3],
                q[3] + p[3],
                q[4] + p[4],
                q[5] + p[5],
            )
            store_wide(w.wide_wrench, parent, q)


@routine
def come_down_wide(table):
    """Equation (3) of the same."""
    s = moving_of(table)
    x = constraints_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    for e in range(w.counts[PATH]):
        i = x.members[e]
        parent = s.tree[i, PARENT]
        zero = splat(0.0)
        v = (zero, zero, zero, zero, zero, zero)
        if parent >= 0:
            a, b, c = load3(F.r, i, 0)
            q = load_wide(w.wide_twist, parent)
            v = (
                q[0],
                q[1],
                q[2],
                q[3] + c * q[1] - b * q[2],
                q[4] + a * q[2] - c * q[0],
                q[5] + b * q[0] - a * q[1],
            )
        j = s.tree[i, V]
        for d in range(j, j + s.tree[i, DOF]):
            y = F.Dinv[d] * (vload(w.wide_effort, LANES * d) - dot_wide(load6(F.Y, d, 0), v))
            v = add_wide(v, load6(F.S, d, 0), y)
        store_wide(w.wide_twist, i, v)


@routine
def solve_between(table):
    """(28): `eta_new` of contacts between two bodies, from the twists that the others alone make."""
    t = touch_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    system = system_of(table)
    G, A = system.G, system.matrix
    count = 0
    for k in range(w.counts[BETWEEN]):
        c = w.between[k]
        for e in range(3):
            w.eta_new[3 * c + e] = 0.0
        if is_acting(w, c):
            w.acting[count] = c
            count += 1
    if count == 0:
        return
    responses_between(table, w.acting, count)
    n = 3 * count
    for k in range(count):
        c = w.acting[k]
        u0, u1, u2 = (
            speed_of_row(t, w, c, 0, F.twist),
            speed_of_row(t, w, c, 1, F.twist),
            speed_of_row(t, w, c, 2, F.twist),
        )
        for e in range(3):
            r = 3 * k + e
            g0, g1, g2 = w.stiff[c, 3 * e], w.stiff[c, 3 * e + 1], w.stiff[c, 3 * e + 2]
            for q in range(n):
                A[r, q] = g0 * G[3 * k, q] + g1 * G[3 * k + 1, q] + g2 * G[3 * k + 2, q]
            A[r, r] += 1.0
            largest = 0.0  # stiffness may differ by many orders between contacts: rows are made of one size
            for q in range(n):
                largest = max(largest, abs(A[r, q]))
            for q in range(n):
                A[r, q] /= largest
            system.x[r] = (w.right[3 * c + e] - (g0 * u0 + g1 * u1 + g2 * u2)) / largest
    if not eliminate(A, system.x, n):
        w.counts[IS_SINGULAR] = 1
    for k in range(count):
        for e in range(3):
            w.eta_new[3 * w.acting[k] + e] = system.x[3 * k + e]


@routine
def eliminate(A, x, n):
    """Solves A x = x in place by elimination with row exchanges; False at a pivot that is zero or not a number."""
    good = True
    for q in range(n):
        best = q
        for i in range(q + 1, n):
            if abs(A[i, q]) > abs(A[best, q]):
                best = i
        if best != q:
            for k in range(q, n):
                A[q, k], A[best, k] = A[best, k], A[q, k]
            x[q], x[best] = x[best], x[q]
        good = good and abs(A[q, q]) > 0.0
        inverse = 1.0 / A[q, q]
        for i in range(q + 1, n):
            factor = A[i, q] * inverse
            if factor != 0.0:
                for k in range(q + 1, n):
                    A[i, k] -= factor * A[q, k]
                x[i] -= factor * x[q]
    for i in range(n - 1, -1, -1):
        value = x[i]
        for k in range(i + 1, n):
            value -= A[i, k] * x[k]
        x[i] = value / A[i, i]
    return good
