"""The finish: Newton's method for the sets of free, sticking and sliding contacts (Alart and Curnier 1991).   (12)

free    λ = 0          stick   u = 0          slide   u_n = 0,  λ_t = μ λ_n d,   d along λ_t - ρ u_t
limit   λ = 0 or u = 0                        loop    u = 0
"""

import math

from linkwork.contact.contact_list import FRICTION
from linkwork.contact.solver.gauss_seidel import SOFT, block_softness, velocities
from linkwork.contact.solver.rows import NO_RESPONSE
from linkwork.core.jit import inlined, routine

MAX_STEPS = 8
PANEL = 4  # columns that are eliminated together


@routine
def newton_step(contacts, count, problem, system, rows, x):
    """One step from x, in place; its size relative to the largest impulse, or -1 where the matrix is singular."""
    fill_system(contacts, count, problem, system, rows, x)
    if not solve_dense(system.matrix, system.last_f, rows, system.pivot):
        return -1.0
    step, size = 0.0, 0.0
    for i in range(rows):
        x[i] += system.last_f[i]
        step = max(step, abs(system.last_f[i]))
        size = max(size, abs(x[i]))
    return step / max(size, 1e-300)


@routine
def fill_system(contacts, count, problem, system, rows, x):
    """Matrix and right side (in last_f) of the step."""
    G, M, f = system.G, system.matrix, system.last_f
    velocities(system, rows, x)
    for i in range(count):
        r = 3 * i
        rho_n = 1.0 / max(G[r, r], 1e-300)
        rho_t = 2.0 / max(G[r + 1, r + 1] + G[r + 2, r + 2], 1e-300)
        un, u1, u2 = system.u[r], system.u[r + 1], system.u[r + 2]
        soft = block_softness(G, r)
        if x[r] - rho_n * un <= 0.0:
            for k in range(3):
                unit_row(M, r + k, rows)
                f[r + k] = -x[r + k]
            continue
        velocity_row(G, M, r, rows, soft)
        f[r] = -un
        s1, s2 = x[r + 1] - rho_t * u1, x[r + 2] - rho_t * u2
        size = math.sqrt(s1 * s1 + s2 * s2)
        mu = contacts.data[i, FRICTION]
        if size <= mu * x[r]:
            velocity_row(G, M, r + 1, rows, soft)
            velocity_row(G, M, r + 2, rows, soft)
            f[r + 1], f[r + 2] = -u1, -u2
            continue
        d1, d2 = s1 / size, s2 / size
        slip = mu * x[r] / size  # λ_t - μ λ_n d(λ_t - ρ u_t) = 0
        p11, p12, p22 = slip * (1.0 - d1 * d1), -slip * d1 * d2, slip * (1.0 - d2 * d2)
        for j in range(rows):
            M[r + 1, j] = rho_t * (p11 * G[r + 1, j] + p12 * G[r + 2, j])
            M[r + 2, j] = rho_t * (p12 * G[r + 1, j] + p22 * G[r + 2, j])
        M[r + 1, r] -= mu * d1
        M[r + 2, r] -= mu * d2
        M[r + 1, r + 1] += 1.0 - p11
        M[r + 1, r + 2] -= p12
        M[r + 2, r + 1] -= p12
        M[r + 2, r + 2] += 1.0 - p22
        f[r + 1] = -(x[r + 1] - mu * x[r] * d1)
        f[r + 2] = -(x[r + 2] - mu * x[r] * d2)
    limits = problem.limit_at.shape[0]
    for r in range(3 * count, rows):
        u = system.u[r]
        if r < 3 * count + limits and x[r] - u / max(G[r, r], 1e-300) <= 0.0:
            unit_row(M, r, rows)
            f[r] = -x[r]
        else:
            velocity_row(G, M, r, rows, SOFT * G[r, r] + 1e-300)
            f[r] = -u


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
    G, M, f, along, unknown = system.G, system.matrix, system.last_f, system.history_g, system.unknown
    for a in range(n):
        ra = unknown[a]
        f[a] = -(system.u_free[ra] + system.bias[ra])
        for b in range(n):
            rb = unknown[b]
            g = G[ra, rb]
            if along[0, b] != 0.0 or along[1, b] != 0.0:
                g += along[0, b] * G[ra, rb + 1] + along[1, b] * G[ra, rb + 2]
            M[a, b] = g
        soft = block_softness(G, ra - ra % 3) if ra < 3 * count else SOFT * G[ra, ra] + 1e-300
        M[a, a] += soft
        f[a] += soft * x[ra]
    if not solve_dense(M, f, n, system.pivot):
        return -1.0
    step, size = 0.0, 0.0
    for a in range(n):
        r = unknown[a]
        step, size = max(step, abs(f[a] - x[r])), max(size, abs(f[a]))
        x[r] = f[a]
        if along[0, a] != 0.0 or along[1, a] != 0.0:
            x[r + 1], x[r + 2] = along[0, a] * f[a], along[1, a] * f[a]
    return step / max(size, 1e-300)


@routine
def unit_row(M, r, rows):
    for j in range(rows):
        M[r, j] = 0.0
    M[r, r] = 1.0


@routine
def velocity_row(G, M, r, rows, soft):
    for j in range(rows):
        M[r, j] = G[r, j]
    M[r, r] += soft


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
