"""The step of Newton's method where contacts are few: over the matrix of their own responses, D = J Λ Jᵀ.

Near the velocities u each contact has impulses of a few directions c, which depend on velocities along directions r,

    η' = Σ c z,   z = γ - k r·(u' - u)          stick  c = r = each axis         slide  c = (1, μ d), r by the law; across d

so that the unknowns z are those of contacts that press, with the compliance 1/k of each on the diagonal:

    r·(u_free + bias + D η') + z / k = r·u + γ / k                                                                    (25)
"""

from linkwork.contact.solver.linear_systems import MOST_SMALL, ROW, row_width, solve_dense, solve_small, times_delassus
from linkwork.contact.solver.problem import FREE, SLIDE
from linkwork.core.jit import inlined, routine
from linkwork.simulation.contact_step.arrays import sweeps_of, system_of
from linkwork.simulation.contact_step.sweeps.memory import ACROSS, ALONG_A, ALONG_B, CONVEX, IS_SINGULAR, LEAD
from linkwork.simulation.contact_step.sweeps.points import all_rows


@routine
def dense_velocities(table, count, limits, impulse, out):
    """out = free + bias + D impulse."""
    w = sweeps_of(table)
    rows = all_rows(w, count, limits)
    times_delassus(system_of(table).G, impulse, rows, out)
    for r in range(rows):
        out[r] += w.free[r] + w.bias[r]


@routine
def dense_step(table, count, limits, law):
    """(25): from `mode`, `lead`, `stiff` and `gamma` to `u_new` and `eta_new`."""
    w = sweeps_of(table)
    system = system_of(table)
    n = list_unknowns(w, system, count, limits, law)
    for r in range(all_rows(w, count, limits)):
        w.eta_new[r] = 0.0
    z = system.x
    solved = solve_unknowns(w, system, all_rows(w, count, limits), n)
    if not solved:
        w.counts[IS_SINGULAR] = 1
    for a in range(n):
        r = w.acting[a]
        w.eta_new[r] += w.column[a, 0] * z[a]
        if w.spans[a] > 1:
            w.eta_new[r + 1] += w.column[a, 1] * z[a]
            w.eta_new[r + 2] += w.column[a, 2] * z[a]
    dense_velocities(table, count, limits, w.eta_new, w.u_new)


@routine
def list_unknowns(w, system, count, limits, law):
    """Unknowns of what presses: first row, whether of three rows, directions c and r, 1/k, γ/k; returns how many."""
    n = 0
    for c in range(count):
        if w.mode[c] == FREE:
            continue
        r = 3 * c
        if w.mode[c] == SLIDE:
            p, q, k, across = w.lead[c, ALONG_A], w.lead[c, ALONG_B], w.lead[c, LEAD], w.lead[c, ACROSS]
            m = w.friction[c]
            is_wide = m > 0.0 and (p != 0.0 or q != 0.0)
            one = m if law == CONVEX else 0.0
            n = note(w, n, r, is_wide, (1.0, m * p, m * q), (1.0, one * p, one * q), k, w.gamma[r])
            if across > 0.0:
                n = note(w, n, r, True, (0.0, -q, p), (0.0, -q, p), across, p * w.gamma[r + 2] - q * w.gamma[r + 1])
        else:
            for e in range(w.tangents[c] + 1):
                n = note(w, n, r + e, False, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0), w.stiff[c, 4 * e], w.gamma[r + e])
    for r in range(3 * count, all_rows(w, count, limits)):
        k = w.stiff[r - 2 * count, 0]
        if k > 0.0:
            n = note(w, n, r, False, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0), k, w.gamma[r])
    return n


@inlined
def note(w, n, r, is_wide, c, d, k, gamma):
    """Unknown number n; its right side of (25) less r·(u_free + bias) into `ease`."""
    w.acting[n], w.spans[n] = r, 3 if is_wide else 1
    w.column[n, 0], w.column[n, 1], w.column[n, 2] = c
    w.across[n, 0], w.across[n, 1], w.across[n, 2] = d
    right = d[0] * (w.u[r] - w.free[r] - w.bias[r]) + gamma / k
    if is_wide:
        right += d[1] * (w.u[r + 1] - w.free[r + 1] - w.bias[r + 1])
        right += d[2] * (w.u[r + 2] - w.free[r + 2] - w.bias[r + 2])
    w.ease[n, 0], w.ease[n, 1] = 1.0 / k, right
    return n + 1


@routine
def solve_unknowns(w, system, rows, n):
    """z of n unknowns into system.x; False where the matrix is singular."""
    G, A, g = system.G, system.matrix, system.u
    if n <= MOST_SMALL:
        return solve_small_unknowns(w, system, n)
    width = row_width(n)
    for a in range(n):
        r, x, y, z = w.acting[a], w.across[a, 0], w.across[a, 1], w.across[a, 2]
        if w.spans[a] > 1 and (y != 0.0 or z != 0.0):
            for k in range(rows):
                g[k] = x * G[r, k] + y * G[r + 1, k] + z * G[r + 2, k]
        else:
            for k in range(rows):
                g[k] = G[r, k]
        for b in range(n):
            r = w.acting[b]
            value = w.column[b, 0] * g[r]
            if w.spans[b] > 1:
                value += w.column[b, 1] * g[r + 1] + w.column[b, 2] * g[r + 2]
            if a == b:
                value += w.ease[a, 0]
            A[width * a + b] = value
        A[width * a + n] = w.ease[a, 1]
        for b in range(n + 1, width):
            A[width * a + b] = 0.0
    solved = solve_dense(A, n)
    for a in range(n):
        system.x[a] = A[width * n + a]
    return solved


@inlined
def solve_small_unknowns(w, system, n):
    """The same of so few that rows of the matrix are not worth going over: each entry by itself."""
    G = system.G
    for a in range(n):
        r, y, z = w.acting[a], w.across[a, 1], w.across[a, 2]
        is_wide = w.spans[a] > 1 and (y != 0.0 or z != 0.0)
        for b in range(n):
            q, c0, c1, c2 = w.acting[b], w.column[b, 0], w.column[b, 1], w.column[b, 2]
            value = w.across[a, 0] * response_along(G, r, q, w.spans[b], c0, c1, c2)
            if is_wide:
                value += y * response_along(G, r + 1, q, w.spans[b], c0, c1, c2)
                value += z * response_along(G, r + 2, q, w.spans[b], c0, c1, c2)
            system.small_matrix[ROW * a + b] = value + w.ease[a, 0] if a == b else value
        system.small_matrix[ROW * a + n] = w.ease[a, 1]
    if not solve_small(system.small_matrix, n):
        return False
    for a in range(n):
        system.x[a] = system.small_matrix[ROW * a + n]
    return True


@inlined
def response_along(G, r, q, span, c0, c1, c2):
    """Velocity of row r per unknown of rows q, q + 1, q + 2, or of q alone."""
    value = c0 * G[r, q]
    return value + c1 * G[r, q + 1] + c2 * G[r, q + 2] if span > 1 else value
