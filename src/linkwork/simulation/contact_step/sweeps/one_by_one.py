"""One contact, limit and row of a loop after the other, each exactly with the others as they are (Gauss and Seidel).

Newton's steps ask for all contacts at once what presses, sticks and slides, and go round in circles where one of them
would press itself deeper by sliding (Painlevé). A contact alone always has a solution: a few rounds over all of them lead
Newton's steps to where they converge. It needs the matrix of responses.

Coulomb's law of one contact alone is met exactly: it parts, sticks, or slides along the one direction that agrees. With its
own response K and its velocity q without its impulse, bias included, u = q + K λ:

    parts    q_n ≥ 0
    sticks   λ = -K⁻¹q,  where |λ_t| ≤ μ λ_n
    slides   λ = n (1, μ c),  |c| = 1,  n = -q_n / (K_nn + μ K_nt·c) > 0,   u_t x c = 0,  u_t·c ≤ 0

A contact that would press itself deeper by sliding (K_nn + μ K_nt·c < 0, Painlevé) sticks, or slides along another
direction: where K is positive definite one of the three holds (Acary and others 2011).
"""

import math

from linkwork.contact.solver.laws import size_of
from linkwork.contact.solver.linear_systems import add_row
from linkwork.core.jit import inlined, routine
from linkwork.simulation.contact_step.arrays import sweeps_of, system_of
from linkwork.simulation.contact_step.sweeps.dense import dense_velocities
from linkwork.simulation.contact_step.sweeps.points import all_rows

DIRECTIONS = 48  # that are tried, all around
ROUND = tuple(
    (math.cos(2.0 * math.pi * (k + 1) / DIRECTIONS), math.sin(2.0 * math.pi * (k + 1) / DIRECTIONS))
    for k in range(DIRECTIONS)
)
C, S = math.cos(0.1), math.sin(0.1)  # [rad] to both sides of the direction before
SOFT = 1e-10  # of the sum of responses: softness that makes K regular
STILL = 1e-2  # of its velocity without its impulse: more is left where nothing stops the contact
MOST_TRIALS = 30  # between two of them
AGREES = 1e-11  # of their distance
NOTHING = (0.0, 0.0, 0.0)


@routine
def solve_single(mu, tangents, K, q, before):
    """λ (normal, two tangents). K: nn, n1, n2, 11, 12, 22. ways: tangents along which anything moves, the first ones.
    before: friction so far, whose direction is tried first."""
    if not q[0] < 0.0:
        return NOTHING
    if tangents < 1 or not mu > 0.0:
        return -q[0] / K[0], 0.0, 0.0
    n, a, b = sticking(tangents, K, q)
    if n > 0.0 and size_of(a, b) <= mu * n:
        return n, a, b
    if tangents == 1:
        n, a = sliding_on_line(mu, K, q)
        return n, a, 0.0
    return sliding(mu, K, q, before)


@inlined
def sticking(tangents, K, q):
    """-K⁻¹q, the least impulse but for SOFT where K is singular; NaN where none stops the contact."""
    soft = SOFT * (K[0] + K[3] + K[5])
    nn, n1, n2, aa, ab, bb = K[0] + soft, K[1], K[2], K[3] + soft, K[4], K[5] + soft
    if tangents == 1:
        det = nn * aa - n1 * n1
        n, a, b = -(aa * q[0] - n1 * q[1]) / det, -(nn * q[1] - n1 * q[0]) / det, 0.0
    else:
        A, B, C = aa * bb - ab * ab, n2 * ab - n1 * bb, n1 * ab - n2 * aa
        det = nn * A + n1 * B + n2 * C
        D, E, F = nn * bb - n2 * n2, n1 * n2 - nn * ab, nn * aa - n1 * n1
        n = -(A * q[0] + B * q[1] + C * q[2]) / det
        a = -(B * q[0] + D * q[1] + E * q[2]) / det
        b = -(C * q[0] + E * q[1] + F * q[2]) / det
    stops = soft * max(abs(n), abs(a), abs(b)) <= STILL * max(abs(q[0]), abs(q[1]), abs(q[2]))  # u = -soft λ
    return (n, a, b) if stops else (math.nan, 0.0, 0.0)


@inlined
def sliding_on_line(mu, K, q):
    n, a = 0.0, 0.0
    for side in range(2):
        c = -1.0 if side == 0 else 1.0
        D = K[0] + mu * c * K[1]
        if D > 0.0:
            x = -q[0] / D
            if c * (q[1] + x * (K[1] + mu * c * K[3])) <= 0.0 and (n == 0.0 or x < n):
                n, a = x, mu * c * x
    return n, a


@inlined
def sliding(mu, K, q, before):
    """Near the direction that it slid along before, if that agrees; else the least impulse among all that agree; without
    friction where none is found, which two of them hide that are next to each other."""
    size = size_of(before[0], before[1])
    if size > 0.0:
        x, y = before[0] / size, before[1] / size
        a, b = (x * C - y * S, y * C + x * S), (x * C + y * S, y * C - x * S)
        near = between_directions(mu, K, q, b, a, off_direction(mu, K, q, b)[0], off_direction(mu, K, q, a)[0])
        if near[0] > 0.0:
            return near
    best = NOTHING
    low = (1.0, 0.0)
    last = off_direction(mu, K, q, low)[0]
    for k in range(DIRECTIONS):
        high = ROUND[k]
        value = off_direction(mu, K, q, high)[0]
        found = between_directions(mu, K, q, low, high, last, value)
        if found[0] > 0.0 and (best[0] == 0.0 or found[0] < best[0]):
            best = found
        low, last = high, value
    return best if best[0] > 0.0 else (-q[0] / K[0], 0.0, 0.0)


@inlined
def off_direction(mu, K, q, direction):
    """At a direction c of the impulse: D c x u_t, with D = K_nn + μ K_nt·c; n; u_t·c."""
    c, s = direction
    nn, n1, n2, aa, ab, bb = K
    D = nn + mu * (n1 * c + n2 * s)
    x = q[1] * D - q[0] * (n1 + mu * (aa * c + ab * s))
    y = q[2] * D - q[0] * (n2 + mu * (ab * c + bb * s))
    n = -q[0] / D if D > 0.0 else 0.0
    return c * y - s * x, n, (c * x + s * y) / D if D > 0.0 else 1.0


@inlined
def between_directions(mu, K, q, low, high, below, above):
    """The impulse along the direction between two at which c x u_t is zero and friction holds back; nothing where none is.

    False position over the chord between them, with the value that stays halved (Illinois).
    """
    if (below <= 0.0) == (above <= 0.0):
        return NOTHING
    a, b, side, last, c = 0.0, 1.0, 0, 2.0, high
    for _ in range(MOST_TRIALS):
        part = (a * above - b * below) / (above - below)
        x, y = low[0] + part * (high[0] - low[0]), low[1] + part * (high[1] - low[1])
        size = math.sqrt(x * x + y * y)
        c = (x / size, y / size)
        value = off_direction(mu, K, q, c)[0]
        if abs(part - last) < AGREES:
            break
        last = part
        if (value <= 0.0) == (above <= 0.0):
            b, above = part, value
            below = 0.5 * below if side > 0 else below
            side = 1
        else:
            a, below = part, value
            above = 0.5 * above if side < 0 else above
            side = -1
    _, n, along = off_direction(mu, K, q, c)
    return (n, mu * n * c[0], mu * n * c[1]) if n > 0.0 and along <= 0.0 else NOTHING


CONVERGED = 1e-9  # of the largest impulse: changes of a round after which no more are made


@routine
def gauss_seidel(table, count, limits, rounds):
    """Up to so many rounds from (eta, u) on."""
    w = sweeps_of(table)
    G = system_of(table).G
    rows = all_rows(w, count, limits)
    for _ in range(rounds):
        moved, largest = 0.0, 0.0
        for c in range(count):
            if w.tangents[c] >= 0:
                moved = max(moved, renew_contact(w, G, rows, c))
                largest = max(largest, w.eta[3 * c])
        for r in range(3 * count, rows):
            if w.soft[r - 2 * count] < 1e300:
                value = w.eta[r] - w.u[r] / G[r, r]
                moved = max(moved, renew_row(w, G, rows, r, value if r >= 3 * count + limits else max(value, 0.0)))
                largest = max(largest, abs(w.eta[r]))
        if not moved > CONVERGED * largest:
            break
    dense_velocities(table, count, limits, w.eta, w.u)


@inlined
def renew_contact(w, G, rows, c):
    """The impulse of contact c for the velocity that the others give it; returns by how much it changed."""
    r = 3 * c
    x, y, z = w.eta[r], w.eta[r + 1], w.eta[r + 2]
    K = (G[r, r], G[r, r + 1], G[r, r + 2], G[r + 1, r + 1], G[r + 1, r + 2], G[r + 2, r + 2])
    q = (
        w.u[r] - K[0] * x - K[1] * y - K[2] * z,
        w.u[r + 1] - K[1] * x - K[3] * y - K[4] * z,
        w.u[r + 2] - K[2] * x - K[4] * y - K[5] * z,
    )
    n, a, b = solve_single(w.friction[c], w.tangents[c], K, q, (y, z))
    x, y, z = n - x, a - y, b - z
    moved = max(abs(x), abs(y), abs(z))
    if moved > 0.0:
        w.eta[r], w.eta[r + 1], w.eta[r + 2] = n, a, b
        for k in range(rows):
            w.u[k] += x * G[r, k] + y * G[r + 1, k] + z * G[r + 2, k]
    return moved


@inlined
def renew_row(w, G, rows, r, value):
    change = value - w.eta[r]
    if change != 0.0:
        w.eta[r] = value
        add_row(G, r, change, rows, w.u)
    return abs(change)
