"""law="impacts": one contact after the other, fastest approach first (Mirtich 1996), restitution by work (Stronge 1990).

While a collision lasts positions stand still and the normal impulse p is time:

    du/dp = K ξ,   ξ = (1, -μ cos θ, -μ sin θ) while sliding along θ,                                          (28)
    at u_t = 0: stick if the ξ that keeps u_t = 0 lies in the cone, else slide along the one direction that leaves.

Compression ends at u_n = 0 with the work W = ∫ u_n dp; restitution ends when e² |W| has been given back.
"""

import math

from linkwork.contact.contact_list import COUNT, FRICTION, GAP, RESTITUTION
from linkwork.contact.solver.linear_systems import row_dot, times_delassus
from linkwork.contact.solver.problem import (
    CONTACTS,
    CONVERGED,
    ENERGY,
    LIMIT_RESTITUTION,
    RESIDUAL,
    SLIDE,
    STICK,
    SWEEPS,
)
from linkwork.core.jit import inlined, routine

TURN = 0.05  # [rad] how far the direction of sliding may turn in one step of the integration
MAX_PHASE_STEPS = 2000
STUCK = 1e-12  # of the impact speed: tangential speed that counts as none
SOFT = 1e-7  # of a loop's block: makes rows that depend on each other solvable
DIRECTIONS = 64  # first scan for the direction that leaves


@routine
def solve_impacts(contacts, problem, system, rows, h, settings):
    """Impulses of all rows into system.y, from G and u_free; report.

    settings: tolerance, most collisions per constraint, rest speed [m/s], ... The residual is the largest approach speed
    left [m/s].
    """
    most, rest_speed = int(settings[1]), settings[2]
    count = contacts.number[COUNT]
    x = system.y
    for i in range(rows):
        x[i] = 0.0
    limits = problem.limit_at.shape[0]
    scale = 0.0
    for i in range(rows):
        scale = max(scale, abs(system.u_free[i]))
    speed, done = 0.0, 0
    while done < most * max(count + limits, 1):
        for k in range(problem.loop_first.shape[0] - 1):
            first, last = problem.loop_first[k], problem.loop_first[k + 1]
            solve_loop(system, 3 * count + limits + first, last - first, rows, x)
        chosen, speed = fastest(contacts, count, problem, system, rows, x, h)
        if chosen < 0 or speed <= settings[0] * scale:
            break
        if chosen < count:
            collide(contacts, chosen, system, rows, x, rest_speed)
        else:
            r = 2 * count + chosen
            u = system.u_free[r] + row_dot(system.G, r, x, rows)
            e = problem.limit[chosen - count, LIMIT_RESTITUTION] if u < -rest_speed else 0.0
            x[r] += max(-(1.0 + e) * u / max(system.G[r, r], 1e-300), 0.0)
        done += 1
    report = system.report
    report[RESIDUAL], report[SWEEPS], report[CONTACTS] = speed, done, count
    report[CONVERGED] = 1.0 if speed <= max(settings[0] * scale, 0.0) else 0.0
    report[ENERGY] = energy_change(system, rows, x)


@routine
def energy_change(system, rows, x):
    """Change of kinetic energy by the impulses x [J]: xᵀ u_free + ½ xᵀ G x.   (26)"""
    times_delassus(system.G, x, rows, system.u)
    total = 0.0
    for i in range(rows):
        total += x[i] * (system.u_free[i] + 0.5 * system.u[i])
    return total


@routine
def solve_loop(system, row, size, rows, x):
    """Impulses of a loop with which its velocities are those wanted, by Cholesky's factors of its block of G."""
    G, L = system.G, system.small
    trace = 0.0
    for i in range(size):
        trace += G[row + i, row + i]
    for i in range(size):
        u = system.u_free[row + i] + system.bias[row + i] + row_dot(G, row + i, x, rows)
        L[8, i] = -u
        for j in range(i + 1):
            value = G[row + i, row + j] + (SOFT * trace / size + 1e-300 if i == j else 0.0)
            for k in range(j):
                value -= L[i, k] * L[j, k]
            L[i, j] = math.sqrt(max(value, 1e-300)) if i == j else value / L[j, j]
    for i in range(size):
        for k in range(i):
            L[8, i] -= L[i, k] * L[8, k]
        L[8, i] /= L[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            L[8, i] -= L[k, i] * L[8, k]
        L[8, i] /= L[i, i]
    for i in range(size):
        x[row + i] += L[8, i]


@routine
def fastest(contacts, count, problem, system, rows, x, h):
    """The contact or limit that would close fastest within the step, and how fast it approaches; -1: none."""
    chosen, speed = -1, 0.0
    for i in range(count + problem.limit_at.shape[0]):
        r = 3 * i if i < count else 2 * count + i
        gap = contacts.data[i, GAP] if i < count else problem.limit[i - count, 1]
        u = system.u_free[r] + row_dot(system.G, r, x, rows)
        if u + max(gap, 0.0) / h < 0.0 and -u > speed:
            chosen, speed = i, -u
    return chosen, speed


@routine
def collide(contacts, i, system, rows, x, rest_speed):
    """Adds the impulse of one collision of contact i to x."""
    G, r = system.G, 3 * i
    u = (
        system.u_free[r] + row_dot(G, r, x, rows),
        system.u_free[r + 1] + row_dot(G, r + 1, x, rows),
        system.u_free[r + 2] + row_dot(G, r + 2, x, rows),
    )
    soft = 1e-12 * (G[r, r] + G[r + 1, r + 1] + G[r + 2, r + 2])
    K = (G[r, r] + soft, G[r, r + 1], G[r, r + 2], G[r + 1, r + 1] + soft, G[r + 1, r + 2], G[r + 2, r + 2] + soft)
    e = contacts.data[i, RESTITUTION] if u[0] < -rest_speed else 0.0
    ln, l1, l2, state = integrate_collision(K, u, contacts.data[i, FRICTION], e)
    system.state[i] = state
    x[r] += ln
    x[r + 1] += l1
    x[r + 2] += l2


@inlined
def rate(K, g1, g2):
    """du/dp for the tangential impulse (g1, g2) per normal impulse."""
    return (
        K[0] + K[1] * g1 + K[2] * g2,
        K[1] + K[3] * g1 + K[4] * g2,
        K[2] + K[4] * g1 + K[5] * g2,
    )


@inlined
def sticking(K):
    """Tangential impulse per normal impulse that keeps u_t = 0."""
    det = K[3] * K[5] - K[4] * K[4]
    return -(K[5] * K[1] - K[4] * K[2]) / det, -(K[3] * K[2] - K[4] * K[1]) / det


@routine
def leaving_direction(K, mu):
    """The direction (cos θ, sin θ) along which sliding can start from rest: du_t/dp is parallel to it and outward."""
    best, found = 0.0, False
    last, last_out = sideways(K, mu, 0.0)
    for k in range(1, DIRECTIONS + 1):
        theta = 2.0 * math.pi * k / DIRECTIONS
        side, out = sideways(K, mu, theta)
        if not found and ((last <= 0.0) != (side <= 0.0) or side == 0.0) and (out > 0.0 or last_out > 0.0):
            low, high, low_side = theta - 2.0 * math.pi / DIRECTIONS, theta, last
            for _ in range(60):
                middle = 0.5 * (low + high)
                s, _o = sideways(K, mu, middle)
                if (s <= 0.0) == (low_side <= 0.0):
                    low = middle
                else:
                    high = middle
            s, o = sideways(K, mu, 0.5 * (low + high))
            if o > 0.0:
                best, found = 0.5 * (low + high), True
        last, last_out = side, out
    return found, math.cos(best), math.sin(best)


@inlined
def sideways(K, mu, theta):
    """Components of du_t/dp across and along the direction θ while sliding that way."""
    c, s = math.cos(theta), math.sin(theta)
    d = rate(K, -mu * c, -mu * s)
    return c * d[2] - s * d[1], c * d[1] + s * d[2]


@routine
def integrate_collision(K, u, mu, e):
    """(λ_n, λ_1, λ_2, state): the impulse of one collision that begins with the velocity u, u_n < 0."""
    u0 = u
    speed = math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    ln, l1, l2, work = 0.0, 0.0, 0.0, 0.0
    compressing, goal = True, 0.0
    state = SLIDE
    if math.sqrt(u[1] * u[1] + u[2] * u[2]) <= STUCK * speed:
        state = STICK
    for _ in range(MAX_PHASE_STEPS):
        # The tangential impulse per normal impulse, constant over this piece or turning with u_t.
        if state == STICK:
            g1, g2 = sticking(K)
            if g1 * g1 + g2 * g2 > mu * mu:
                found, c, s = leaving_direction(K, mu)
                if found:
                    g1, g2 = -mu * c, -mu * s
                else:  # rounding at the edge of the cone
                    size = math.sqrt(g1 * g1 + g2 * g2)
                    g1, g2 = mu * g1 / size, mu * g2 / size
            turning = False
        else:
            size = math.sqrt(u[1] * u[1] + u[2] * u[2])
            g1, g2 = -mu * u[1] / size, -mu * u[2] / size
            turning = True
        d = rate(K, g1, g2)
        step = piece_end(u, d, work, goal, compressing)
        reached_end = True
        if turning:
            size2 = u[1] * u[1] + u[2] * u[2]
            across = abs(u[1] * d[2] - u[2] * d[1])
            along = (u[1] * d[1] + u[2] * d[2]) / math.sqrt(size2)
            limit = math.inf
            if across > 0.0:
                limit = TURN * size2 / across
            if along < 0.0:
                stop = -math.sqrt(size2) / along
                if across <= 1e-9 * abs(along) * math.sqrt(size2):  # heads straight for rest: reach it exactly
                    limit = min(limit, stop)
                else:
                    limit = min(limit, 0.5 * stop)
            if limit < step:
                step, reached_end = limit, False
            # Heun: the direction at the end of the piece, averaged
            v1, v2 = u[1] + step * d[1], u[2] + step * d[2]
            end = math.sqrt(v1 * v1 + v2 * v2)
            if end > STUCK * speed and across > 1e-9 * abs(along) * math.sqrt(size2):
                g1, g2 = 0.5 * (g1 - mu * v1 / end), 0.5 * (g2 - mu * v2 / end)
                d = rate(K, g1, g2)
                if reached_end:
                    step = piece_end(u, d, work, goal, compressing)
        work += step * (u[0] + 0.5 * step * d[0])
        ln, l1, l2 = ln + step, l1 + step * g1, l2 + step * g2
        u = (u[0] + step * d[0], u[1] + step * d[1], u[2] + step * d[2])
        if state == SLIDE and math.sqrt(u[1] * u[1] + u[2] * u[2]) <= 1e-9 * speed:
            u = (u[0], 0.0, 0.0)
            state = STICK
        elif state == STICK and math.sqrt(u[1] * u[1] + u[2] * u[2]) > 1e-6 * speed:
            state = SLIDE
        if reached_end:
            if not compressing or e == 0.0:
                break
            compressing, goal, work = False, e * e * max(-work, 0.0), 0.0
    return without_gain(K, u0, ln, l1, l2, state)


@inlined
def piece_end(u, d, work, goal, compressing):
    """Normal impulse until u_n = 0 (compression) or until the work has been given back (restitution)."""
    if compressing:
        return max(-u[0], 0.0) / d[0] if d[0] > 0.0 else 1e-3 * max(-u[0], 0.0) / max(abs(d[0]), 1e-300)
    rest = max(goal - work, 0.0)  # ½ d s² + u s = rest
    if abs(d[0]) <= 1e-300:
        return rest / max(u[0], 1e-300)
    root = u[0] * u[0] + 2.0 * d[0] * rest
    return 2.0 * rest / (u[0] + math.sqrt(max(root, 0.0))) if rest > 0.0 else 0.0


@inlined
def without_gain(K, u, ln, l1, l2, state):
    """The impulse, shortened where the error of the integration would have made energy."""
    q = (
        K[0] * ln + K[1] * l1 + K[2] * l2,
        K[1] * ln + K[3] * l1 + K[4] * l2,
        K[2] * ln + K[4] * l1 + K[5] * l2,
    )
    first = ln * u[0] + l1 * u[1] + l2 * u[2]
    second = 0.5 * (ln * q[0] + l1 * q[1] + l2 * q[2])
    if first + second > 0.0 and second > 0.0:
        t = max(-first / second, 0.0)
        return t * ln, t * l1, t * l2, state
    return ln, l1, l2, state
