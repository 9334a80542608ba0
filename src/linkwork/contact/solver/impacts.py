"""law="impacts": one contact after the other, fastest approach first (Mirtich 1996), restitution by work (Stronge 1990).

While a collision lasts positions stand still and the normal impulse p is time:

    du/dp = K ξ,   ξ = (1, -μ cos θ, -μ sin θ) while sliding along θ,                                          (28)
    at u_t = 0: stick if the ξ that keeps u_t = 0 lies in the cone, else slide along the one direction that leaves.

Compression ends at u_n = 0 with the work W = ∫ u_n dp; restitution ends when e² |W| has been given back.
"""

import math

from linkwork.contact.contact_list import COUNT, FRICTION, GAP, RESTITUTION
from linkwork.contact.solver.laws import size_of
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

TURN = 0.25  # [rad] most that the direction of sliding turns in one step of the integration
MOST_PIECES = 2000
STUCK = 1e-10  # of the impact speed: tangential speed that counts as none
STRAIGHT = 1e-8  # of the fastest turn: what counts as no turn
HALVINGS = 45  # of a step in which a phase ends
NEWTON = 60
SOFT = 1e-7  # of a loop's block: makes rows that depend on each other solvable


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
def velocity(K, u, n, a, b):
    """The velocity that the impulse (n, a, b) leaves of u."""
    return (
        u[0] + K[0] * n + K[1] * a + K[2] * b,
        u[1] + K[1] * n + K[3] * a + K[4] * b,
        u[2] + K[2] * n + K[4] * a + K[5] * b,
    )


@routine
def from_rest(K, mu):
    """ξ_t, constant from u_t = 0 on, and whether it sticks.   (28)

    It slides along c with du_t/dp = k - μ A c = R c, R > 0, that is |(μ A + R)⁻¹ k| = 1: one R, which Newton's method finds
    from below. k, A: the blocks of K.
    """
    det = K[3] * K[5] - K[4] * K[4]
    a, b = -(K[5] * K[1] - K[4] * K[2]) / det, -(K[3] * K[2] - K[4] * K[1]) / det
    if a * a + b * b <= mu * mu:
        return a, b, STICK
    R = max(size_of(K[1], K[2]) - mu * (K[3] + K[5]), 0.0)
    for _ in range(NEWTON):
        x, y, z = mu * K[3] + R, mu * K[4], mu * K[5] + R
        det = x * z - y * y
        a, b = (z * K[1] - y * K[2]) / det, (x * K[2] - y * K[1]) / det
        size = size_of(a, b)
        if not size > 1.0:
            break
        R += (size - 1.0) * size * size * det / (a * (z * a - y * b) + b * (x * b - y * a))
    size = size_of(a, b)
    return -mu * a / size, -mu * b / size, SLIDE


@inlined
def sliding(K, u, mu, x):
    """dx/dτ with dp = |u_t| dτ: smooth as far as u_t = 0, where it ends."""
    v = velocity(K, u, x[0], x[1], x[2])
    size = size_of(v[1], v[2])
    return size, -mu * v[1], -mu * v[2], mu * size * size


@inlined
def ahead(x, tau, d):
    return x[0] + tau * d[0], x[1] + tau * d[1], x[2] + tau * d[2], x[3] + tau * d[3]


@routine
def slide(K, u, mu, x, tau):
    """x after sliding for tau, by Runge and Kutta."""
    a = sliding(K, u, mu, x)
    b = sliding(K, u, mu, ahead(x, 0.5 * tau, a))
    c = sliding(K, u, mu, ahead(x, 0.5 * tau, b))
    d = sliding(K, u, mu, ahead(x, tau, c))
    return ahead(ahead(x, tau / 6.0, ahead(a, 1.0, d)), tau / 3.0, ahead(b, 1.0, c))


@inlined
def left_of_phase(K, u, x, compressing, goal):
    """Below zero until a phase ends: u_n in compression; in restitution the work less that with which it ends."""
    v = velocity(K, u, x[0], x[1], x[2])
    if compressing:
        return v[0]
    work = x[3]  # of the normal impulse: all of it less that of friction
    for i in range(3):
        work += 0.5 * x[i] * (u[i] + v[i])
    return work - goal


@routine
def integrate_collision(K, u, mu, e):
    """(λ_n, λ_1, λ_2, state): the impulse of one collision that begins with the velocity u, u_n < 0.

    x: the impulse so far, and what friction took. Where u_t keeps its direction ξ is constant, and a piece is exact.
    """
    speed = math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    fastest_turn = size_of(K[1], K[2]) + mu * (K[3] + K[5])  # |du_t/dτ| ≤ this |u_t|
    x, state = (0.0, 0.0, 0.0, 0.0), SLIDE
    stopped, rests = False, False
    a, b = 0.0, 0.0
    compressing, goal = True, 0.0
    for _ in range(MOST_PIECES):
        v = velocity(K, u, x[0], x[1], x[2])
        size = size_of(v[1], v[2])
        if not rests and (stopped or size <= STUCK * speed):
            rests = True
            a, b, state = from_rest(K, mu)
        if not rests:
            a, b = -mu * v[1] / size, -mu * v[2] / size
        d = velocity(K, (0.0, 0.0, 0.0), 1.0, a, b)
        if rests or mu * abs(v[1] * d[2] - v[2] * d[1]) <= STRAIGHT * fastest_turn * size:
            along = v[1] * d[1] + v[2] * d[2]
            stop = -size * size / along if along < 0.0 and not rests else math.inf
            p = piece_end(v[0], d[0], -left_of_phase(K, u, x, compressing, goal), compressing)
            ends = p <= stop
            if not ends:
                p, stopped = stop, True
            heat = -p * (a * (v[1] + 0.5 * p * d[1]) + b * (v[2] + 0.5 * p * d[2]))
            x = x[0] + p, x[1] + p * a, x[2] + p * b, x[3] + max(heat, 0.0)
        else:
            low, high = 0.0, TURN / fastest_turn
            y = slide(K, u, mu, x, high)
            ends = left_of_phase(K, u, y, compressing, goal) >= 0.0
            for _half in range(HALVINGS if ends else 0):
                middle = 0.5 * (low + high)
                z = slide(K, u, mu, x, middle)
                if left_of_phase(K, u, z, compressing, goal) >= 0.0:
                    high, y = middle, z
                else:
                    low = middle
            x = y
        if ends:
            if not compressing or e == 0.0:
                break
            compressing = False
            goal = (1.0 - e * e) * left_of_phase(K, u, x, False, 0.0)
    return x[0], x[1], x[2], state


@inlined
def piece_end(speed, d, rest, compressing):
    """Normal impulse until a phase ends while ξ is constant: u_n = speed + d p; rest: what is left of the phase.

    Infinite where it does not end, as where sliding presses deeper: then the sliding comes to rest first.
    """
    if compressing:
        return rest / d if d > 0.0 else math.inf
    square = speed * speed + 2.0 * d * rest  # ½ d p² + speed p = rest
    if square < 0.0 or (d <= 0.0 and speed <= 0.0):
        return math.inf
    root = math.sqrt(square)
    return max(2.0 * rest / (speed + root) if speed > 0.0 else (root - speed) / d, 0.0)
