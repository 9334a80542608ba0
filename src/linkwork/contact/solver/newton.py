"""The finish: Newton's method for the sets of free, sticking and sliding contacts (Alart and Curnier 1991).   (12)

free    λ = 0          stick   u = 0          slide   u_n = 0,  λ_t = μ λ_n d,   d along λ_t - ρ u_t
limit   λ = 0 or u = 0                        loop    u = 0
"""

import math

from linkwork.contact.contact_list import FRICTION
from linkwork.contact.solver.few import MOST_FEW, ROW, solve_few
from linkwork.contact.solver.gauss_seidel import SOFT, block_softness, velocities
from linkwork.contact.solver.rows import NO_RESPONSE
from linkwork.core.jit import inlined, routine

MAX_STEPS = 8
PANEL = 4  # columns that are eliminated together


@routine
def newton_step(contacts, count, problem, system, rows, x):
    """One step from x, in place; its size relative to the largest impulse, or -1 where the matrix is singular."""
    n = list_pressing(count, problem, system, rows, x)
    fill_system(contacts, count, system, rows, x, n)
    if not solve_dense(system.matrix, system.last_f, n, system.pivot):
        return -1.0
    step, size = 0.0, 0.0
    for a in range(n):
        r = system.unknown[a]
        x[r] += system.last_f[a]
        step = max(step, abs(system.last_f[a]))
        size = max(size, abs(x[r]))
    return step / max(size, 1e-300)


@routine
def list_pressing(count, problem, system, rows, x):
    """Lists in `unknown` the rows of contacts and limits that press, and of loops; impulses of the others become zero.

    Returns how many rows there are; velocities in system.u follow.
    """
    G = system.G
    velocities(system, rows, x)
    found, limits = 0, problem.limit_at.shape[0]
    for k in range(count + limits):
        r, size = (3 * k, 3) if k < count else (2 * count + k, 1)
        presses = x[r] - system.u[r] / max(G[r, r], 1e-300) > 0.0
        for e in range(size):
            if presses:
                system.unknown[found] = r + e
                found += 1
            else:
                x[r + e] = 0.0
    for r in range(3 * count + limits, rows):
        system.unknown[found] = r
        found += 1
    velocities(system, rows, x)
    return found


@routine
def fill_system(contacts, count, system, rows, x, n):
    """Matrix and right side (in last_f) of the step, for the n rows of `unknown`; three for each contact that presses."""
    G, M, f, unknown = system.G, system.matrix, system.last_f, system.unknown
    a = 0
    while a < n:
        r = unknown[a]
        if r >= 3 * count:
            velocity_row(system, a, n, SOFT * G[r, r] + 1e-300)
            a += 1
            continue
        rho = 2.0 / max(G[r + 1, r + 1] + G[r + 2, r + 2], 1e-300)
        soft = block_softness(G, r)
        velocity_row(system, a, n, soft)
        s1, s2 = x[r + 1] - rho * system.u[r + 1], x[r + 2] - rho * system.u[r + 2]
        size = math.sqrt(s1 * s1 + s2 * s2)
        mu = contacts.data[r // 3, FRICTION]
        if size <= mu * x[r]:
            velocity_row(system, a + 1, n, soft)
            velocity_row(system, a + 2, n, soft)
        else:
            d1, d2 = s1 / size, s2 / size
            slip = mu * x[r] / size  # λ_t - μ λ_n d(λ_t - ρ u_t) = 0
            p11, p12, p22 = slip * (1.0 - d1 * d1), -slip * d1 * d2, slip * (1.0 - d2 * d2)
            for b in range(n):
                g1, g2 = G[r + 1, unknown[b]], G[r + 2, unknown[b]]
                M[a + 1, b] = rho * (p11 * g1 + p12 * g2)
                M[a + 2, b] = rho * (p12 * g1 + p22 * g2)
            M[a + 1, a] -= mu * d1
            M[a + 2, a] -= mu * d2
            M[a + 1, a + 1] += 1.0 - p11
            M[a + 1, a + 2] -= p12
            M[a + 2, a + 1] -= p12
            M[a + 2, a + 2] += 1.0 - p22
            f[a + 1] = -(x[r + 1] - mu * x[r] * d1)
            f[a + 2] = -(x[r + 2] - mu * x[r] * d2)
        a += 3


@inlined
def velocity_row(system, a, n, soft):
    """The velocity of row a of the unknowns is to vanish."""
    G, M, unknown = system.G, system.matrix, system.unknown
    r = unknown[a]
    for b in range(n):
        M[a, b] = G[r, unknown[b]]
    M[a, a] += soft
    system.last_f[a] = -system.u[r]


# ----------------------------------------------------------------------------------------- directions of sliding held


@routine
def list_unknowns(contacts, count, problem, system, rows, x):
    """What a step with the directions of sliding held solves for; returns how many unknowns there are.

    unknown: row of each. A sliding contact has one, its normal impulse, which carries μ d along: rows 0 and 1 of history_g.
    Impulses of free contacts and limits become zero.
    """
    G, along = system.G, system.history_g
    velocities(system, rows, x)
    found = 0
    for i in range(count):
        r = 3 * i
        if x[r] - system.u[r] / max(G[r, r], 1e-300) <= 0.0:
            x[r], x[r + 1], x[r + 2] = 0.0, 0.0, 0.0
            continue
        rho = 2.0 / max(G[r + 1, r + 1] + G[r + 2, r + 2], 1e-300)
        s1, s2 = x[r + 1] - rho * system.u[r + 1], x[r + 2] - rho * system.u[r + 2]
        size = math.sqrt(s1 * s1 + s2 * s2)
        mu = contacts.data[i, FRICTION]
        slides = size > mu * x[r]
        for k in range(1 if slides else 3):
            if k > 0 and not G[r + k, r + k] > NO_RESPONSE * G[r, r]:
                continue  # a direction that was dropped
            system.unknown[found] = r + k
            along[0, found] = mu * s1 / size if slides else 0.0
            along[1, found] = mu * s2 / size if slides else 0.0
            found += 1
    limits = problem.limit_at.shape[0]
    for r in range(3 * count, rows):
        if r < 3 * count + limits and x[r] - system.u[r] / max(G[r, r], 1e-300) <= 0.0:
            x[r] = 0.0
        else:
            system.unknown[found] = r
            along[0, found], along[1, found] = 0.0, 0.0
            found += 1
    return found


@routine
def direction_step(contacts, count, problem, system, rows, x):
    """A step as `newton_step`, with the directions of sliding held: a third of the unknowns, a tenth of the work.

    Velocities of the unknowns' rows vanish; x is new in place. Returns its relative change, or -1 where the matrix is
    singular.
    """
    n = list_unknowns(contacts, count, problem, system, rows, x)
    if not (solve_few_members(system, n, count, x) if n <= MOST_FEW else solve_members(system, n, count, x)):
        return -1.0
    f, along = system.last_f, system.history_g
    step, size = 0.0, 0.0
    for a in range(n):
        r = system.unknown[a]
        step, size = max(step, abs(f[a] - x[r])), max(size, abs(f[a]))
        x[r] = f[a]
        if along[0, a] != 0.0 or along[1, a] != 0.0:
            x[r + 1], x[r + 2] = along[0, a] * f[a], along[1, a] * f[a]
    return step / max(size, 1e-300)


@routine
def solve_members(system, n, count, x):
    """Impulses of the n unknowns (in last_f) with which the velocities of their rows vanish; False: a singular matrix."""
    M, f = system.matrix, system.last_f
    for a in range(n):
        for b in range(n):
            M[a, b] = velocity_by_unknown(system, a, b)
        soft, f[a] = softness_and_right_side(system, a, count, x)
        M[a, a] += soft
    return solve_dense(M, f, n, system.pivot)


@routine
def solve_few_members(system, n, count, x):
    """The same of a few unknowns; leaves no factors."""
    M = system.few
    for a in range(n):
        for b in range(n):
            M[ROW * a + b] = velocity_by_unknown(system, a, b)
        soft, M[ROW * a + n] = softness_and_right_side(system, a, count, x)
        M[ROW * a + a] += soft
    if not solve_few(M, n):
        return False
    for a in range(n):
        system.last_f[a] = M[ROW * a + n]
    return True


@inlined
def velocity_by_unknown(system, a, b):
    """Velocity of the row of unknown a per impulse of unknown b."""
    G, along, ra, rb = system.G, system.history_g, system.unknown[a], system.unknown[b]
    g = G[ra, rb]
    if along[0, b] != 0.0 or along[1, b] != 0.0:
        g += along[0, b] * G[ra, rb + 1] + along[1, b] * G[ra, rb + 2]
    return g


@inlined
def softness_and_right_side(system, a, count, x):
    G, r = system.G, system.unknown[a]
    soft = block_softness(G, r - r % 3) if r < 3 * count else SOFT * G[r, r] + 1e-300
    return soft, soft * x[r] - (system.u_free[r] + system.bias[r])


@routine
def solve_dense(M, f, n, pivot):
    """Gauss elimination with row exchanges, in place; False at a singular pivot.

    PANEL columns at a time: what is right of them is updated once by all of them, and read and written a quarter as often.
    """
    for k in range(0, n, PANEL):
        end = min(k + PANEL, n)
        if not eliminate_panel(M, f, k, end, n, pivot):
            return False
        for q in range(k + 1, end):
            for r in range(k, q):
                factor = M[q, r]
                for j in range(end, n):
                    M[q, j] -= factor * M[r, j]
        for i in range(end, n):
            a, b, c, d = M[i, k], M[i, k + 1], M[i, k + 2], M[i, k + 3]
            for j in range(end, n):
                M[i, j] -= a * M[k, j] + b * M[k + 1, j] + c * M[k + 2, j] + d * M[k + 3, j]
    for i in range(n - 1, -1, -1):
        value = f[i]
        for j in range(i + 1, n):
            value -= M[i, j] * f[j]
        f[i] = value / M[i, i]
        if not math.isfinite(f[i]):
            return False
    return True


@routine
def solve_factored(M, n, row, pivot):
    """Solves for the right side in row `row` of M, in place, with the factors that `solve_dense` left in n rows."""
    for k in range(0, n, PANEL):
        end = min(k + PANEL, n)
        for q in range(k, end):
            M[row, q], M[row, pivot[q]] = M[row, pivot[q]], M[row, q]
        for q in range(k + 1, end):
            for r in range(k, q):
                M[row, q] -= M[q, r] * M[row, r]
        a, b, c, d = M[row, k], M[row, min(k + 1, n - 1)], M[row, min(k + 2, n - 1)], M[row, min(k + 3, n - 1)]
        for i in range(end, n):  # only behind whole panels
            M[row, i] -= M[i, k] * a + M[i, k + 1] * b + M[i, k + 2] * c + M[i, k + 3] * d
    for i in range(n - 1, -1, -1):
        value = M[row, i]
        for j in range(i + 1, n):
            value -= M[i, j] * M[row, j]
        M[row, i] = value / M[i, i]


@inlined
def eliminate_panel(M, f, k, end, n, pivot):
    """Columns k to end, below the diagonal: their factors stand there afterwards. f follows."""
    for q in range(k, end):
        best, largest = q, abs(M[q, q])
        for i in range(q + 1, n):
            if abs(M[i, q]) > largest:
                best, largest = i, abs(M[i, q])
        pivot[q] = best
        if not largest > 0.0:
            return False
        if best != q:
            for j in range(k, n):
                M[q, j], M[best, j] = M[best, j], M[q, j]
            f[q], f[best] = f[best], f[q]
        inverse = 1.0 / M[q, q]
        for i in range(q + 1, n):
            factor = M[i, q] * inverse
            M[i, q] = factor
            if factor != 0.0:
                for j in range(q + 1, end):
                    M[i, j] -= factor * M[q, j]
                f[i] -= factor * f[q]
    return True
