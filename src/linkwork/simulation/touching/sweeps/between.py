"""Contacts between two bodies of the linkage, and loops: they couple what the elimination of the tree keeps apart.

With the rest eliminated, P, and the rows B of these contacts and loops (Woodbury):

    η = f - G u,   u = u₀ + W η,   W = B P⁻¹ Bᵀ        (1 + G W) η = f - G u₀                                         (28)

W is found for eight impulses side by side, over the paths from the bodies of these rows to the world alone. Only
contacts that act (G ≠ 0) are unknowns.
"""

from linkwork.contact.solver.linear_systems import row_width, solve_dense
from linkwork.core.jit import inlined, routine
from linkwork.model.layout import DOF, PARENT, V
from linkwork.simulation.constrained.constraints import constraints_of
from linkwork.simulation.moving import moving_of
from linkwork.simulation.touching.arrays import factor_of, problem_of, sweeps_of, system_of, touch_of
from linkwork.simulation.touching.sweeps.memory import BETWEEN, IS_SINGULAR, LANES, LOOP_ROWS, PATH
from linkwork.simulation.touching.sweeps.points import is_acting, row_between
from linkwork.spatial.memory import load3, load6
from linkwork.spatial.simd import lane, splat, vload, vstore
from linkwork.spatial.vectors import dot6

UNTOUCHED, MOVED, PUSHED = 0, 1, 2  # marks of bodies: what impulses on some rows do with them
WIDE = 6 * LANES  # numbers of eight wrenches or twists of a body


@routine
def find_paths_between(table):
    """Lists the bodies on the paths from contacts between two bodies, and from loops, to the world, parents first."""
    s = moving_of(table)
    t = touch_of(table)
    x = constraints_of(table)
    w = sweeps_of(table)
    for k in range(w.counts[BETWEEN] + w.counts[LOOP_ROWS]):
        for side in range(2):
            c = k - w.counts[BETWEEN]
            i = w.loop_body[c, side] if c >= 0 else t.carrier[w.between[k], side]
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


@inlined
def is_within_tree(s, t, c):
    """Whether the two bodies of a contact may answer each other's impulses; those of two floating trees do not."""
    a, b = s.tree_of[t.carrier[c, 0]], s.tree_of[t.carrier[c, 1]]
    return a < 0 or a == b


@routine
def list_between(table, loops, acting_only):
    """Lists in `acting` the rows of contacts between two bodies that act, or of all within one tree, and of loops; how many
    there are."""
    s = moving_of(table)
    t = touch_of(table)
    w = sweeps_of(table)
    n = 0
    for k in range(w.counts[BETWEEN]):
        c = w.between[k]
        if is_acting(w, c) if acting_only else is_within_tree(s, t, c):
            for e in range(3):
                w.acting[n + e] = 3 * c + e
            n += 3
    for r in range(loops, loops + w.counts[LOOP_ROWS]):
        w.acting[n] = r
        n += 1
    return n


@routine
def responses_between(table, loops, rows):
    """W of the rows acting[:rows], into the solver's G: velocity of each row per impulse on each."""
    t = touch_of(table)
    x = constraints_of(table)
    w = sweeps_of(table)
    problem = problem_of(table)
    G = system_of(table).between
    for first in range(0, rows, LANES):
        last = min(first + LANES, rows)
        mark_reached(table, loops, first, last)
        push_wide(table, loops, first, last)
        climb_wide(table)
        come_down_wide(table)
        for k in range(rows):
            u = splat(0.0)
            for side in range(2):
                i, f = row_between(t, w, problem, loops, w.acting[k], side)
                if i >= 0 and x.mark[i] != UNTOUCHED:
                    for a in range(6):
                        u = u + f[a] * vload(w.wide_twist, WIDE * i + LANES * a)
            for column in range(first, last):
                G[k, column] = lane(u, column - first)
    for e in range(w.counts[PATH]):
        x.mark[x.members[e]] = UNTOUCHED


@routine
def mark_reached(table, loops, first, last):
    """Marks the bodies on the paths from the rows acting[first:last] to the world, and the others that these move: of
    trees that no row is on, none."""
    s = moving_of(table)
    t = touch_of(table)
    x = constraints_of(table)
    w = sweeps_of(table)
    for e in range(w.counts[PATH]):
        x.mark[x.members[e]] = UNTOUCHED
    for column in range(first, last):
        r = w.acting[column]
        for side in range(2):
            i = t.carrier[r // 3, side] if r < loops else w.loop_body[r - loops, side]
            while i >= 0 and x.mark[i] == UNTOUCHED:
                x.mark[i] = PUSHED
                i = s.tree[i, PARENT]
    for e in range(w.counts[PATH]):
        i = x.members[e]
        parent = s.tree[i, PARENT]
        if x.mark[i] == UNTOUCHED and parent >= 0 and x.mark[parent] != UNTOUCHED:
            x.mark[i] = MOVED


@routine
def push_wide(table, loops, first, last):
    """Unit impulses on the rows acting[first:last], each in a lane of its own."""
    t = touch_of(table)
    x = constraints_of(table)
    w = sweeps_of(table)
    problem = problem_of(table)
    for e in range(w.counts[PATH]):
        if x.mark[x.members[e]] == PUSHED:
            for a in range(6):
                vstore(w.wide_wrench, WIDE * x.members[e] + LANES * a, splat(0.0))
    for column in range(first, last):
        for side in range(2):
            i, f = row_between(t, w, problem, loops, w.acting[column], side)
            if i >= 0:
                for a in range(6):
                    w.wide_wrench[WIDE * i + LANES * a + column - first] -= f[a]


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
        if x.mark[i] != PUSHED:
            continue
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
        if x.mark[i] == UNTOUCHED:
            continue
        parent, is_pushed = s.tree[i, PARENT], x.mark[i] == PUSHED
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
            u = vload(w.wide_effort, LANES * d) if is_pushed else zero
            y = F.Dinv[d] * (u - dot_wide(load6(F.Y, d, 0), v))
            v = add_wide(v, load6(F.S, d, 0), y)
        store_wide(w.wide_twist, i, v)


@routine
def solve_between(table, count, limits):
    """(28): `eta_new` of contacts between two bodies and of loops, from the twists that the others alone make."""
    t = touch_of(table)
    F = factor_of(table)
    w = sweeps_of(table)
    problem = problem_of(table)
    system = system_of(table)
    A, loops = system.matrix, 3 * count + limits
    for k in range(w.counts[BETWEEN]):
        for e in range(3):
            w.eta_new[3 * w.between[k] + e] = 0.0
    n = list_between(table, loops, True)
    if n == 0:
        return
    responses_between(table, loops, n)
    for k in range(n):
        u = 0.0
        for side in range(2):
            i, f = row_between(t, w, problem, loops, w.acting[k], side)
            if i >= 0:
                u += dot6(f, load6(F.twist, i, 0))
        system.last_g[k] = u
    k = 0
    while k < n:
        r = w.acting[k]
        if r < loops:
            c = r // 3
            for e in range(3):
                row = (w.stiff[c, 3 * e], w.stiff[c, 3 * e + 1], w.stiff[c, 3 * e + 2])
                write_row(system, n, k, k + e, row, w.right[r + e])
            k += 3
        else:
            write_row(system, n, k, k, (w.stiff[r - 2 * count, 0], 0.0, 0.0), w.right[r])
            k += 1
    if not solve_dense(A, n):
        w.counts[IS_SINGULAR] = 1
    for k in range(n):
        w.eta_new[w.acting[k]] = A[row_width(n) * n + k]


@inlined
def write_row(system, n, first, k, stiff, right):
    """Row k of 1 + G W and its right side; G has `stiff` from column `first` on.

    Stiffness may differ by many orders between contacts: rows are made of one size.
    """
    G, A, u = system.between, system.matrix, system.last_g
    b, c = min(first + 1, n - 1), min(first + 2, n - 1)  # of a loop, whose other two are zero
    largest, row = 0.0, row_width(n) * k
    for q in range(n):
        A[row + q] = stiff[0] * G[first, q] + stiff[1] * G[b, q] + stiff[2] * G[c, q]
    A[row + k] += 1.0
    for q in range(n):
        largest = max(largest, abs(A[row + q]))
    A[row + n] = right - (stiff[0] * u[first] + stiff[1] * u[b] + stiff[2] * u[c])
    for q in range(n + 1):
        A[row + q] /= largest
    for q in range(n + 1, row_width(n)):
        A[row + q] = 0.0
