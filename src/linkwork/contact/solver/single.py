"""Coulomb's law of one contact alone, exactly: it parts, sticks, or slides along the one direction that agrees.

With its own response K and its velocity q without its impulse, bias included, u = q + K λ:

    parts    q_n ≥ 0
    sticks   λ = -K⁻¹q,  where |λ_t| ≤ μ λ_n
    slides   λ = n (1, μ c),  |c| = 1,  n = -q_n / (K_nn + μ K_nt·c) > 0,   u_t x c = 0,  u_t·c ≤ 0

A contact that would press itself deeper by sliding (K_nn + μ K_nt·c < 0, Painlevé) sticks, or slides along another
direction: where K is positive definite one of the three holds (Acary and others 2011).
"""

import math

from linkwork.core.jit import inlined, routine

ANGLES = 24  # directions that are looked at first
HALVINGS = 40  # of the arc between two of them; the last ones by secants
NOTHING = (0.0, 0.0, 0.0)


@routine
def solve_single(mu, ways, K, q):
    """λ (normal, two tangents). K: nn, n1, n2, 11, 12, 22. ways: tangents along which anything moves, the first ones."""
    if not q[0] < 0.0:
        return NOTHING
    if ways < 1 or not mu > 0.0:
        return -q[0] / K[0], 0.0, 0.0
    n, a, b = sticking(ways, K, q)
    if n > 0.0 and math.hypot(a, b) <= mu * n:
        return n, a, b
    if ways == 1:
        n, a = sliding_on_line(mu, K, q)
        return n, a, 0.0
    return sliding(mu, K, q)


@inlined
def sticking(ways, K, q):
    """-K⁻¹q; NaN where K is singular."""
    nn, n1, n2, aa, ab, bb = K
    if ways == 1:
        det = nn * aa - n1 * n1
        return -(aa * q[0] - n1 * q[1]) / det, -(nn * q[1] - n1 * q[0]) / det, 0.0
    A, B, C = aa * bb - ab * ab, n2 * ab - n1 * bb, n1 * ab - n2 * aa
    det = nn * A + n1 * B + n2 * C
    D, E, F = nn * bb - n2 * n2, n1 * n2 - nn * ab, nn * aa - n1 * n1
    n = -(A * q[0] + B * q[1] + C * q[2]) / det
    a = -(B * q[0] + D * q[1] + E * q[2]) / det
    b = -(C * q[0] + E * q[1] + F * q[2]) / det
    return n, a, b


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
def sliding(mu, K, q):
    """The least impulse among the directions that agree."""
    best = NOTHING
    step = 2.0 * math.pi / ANGLES
    last, _, _ = off_direction(mu, K, q, 0.0)
    for k in range(ANGLES):
        high = (k + 1) * step
        value, _, _ = off_direction(mu, K, q, high)
        if (last <= 0.0) != (value <= 0.0):
            angle = refine(mu, K, q, k * step, high, last, value)
            _, n, along = off_direction(mu, K, q, angle)
            if n > 0.0 and along <= 0.0 and (best[0] == 0.0 or n < best[0]):
                best = (n, mu * n * math.cos(angle), mu * n * math.sin(angle))
        last = value
    return best


@inlined
def off_direction(mu, K, q, angle):
    """At a direction c of the impulse: D c x u_t, with D = K_nn + μ K_nt·c; n; u_t·c."""
    c, s = math.cos(angle), math.sin(angle)
    nn, n1, n2, aa, ab, bb = K
    D = nn + mu * (n1 * c + n2 * s)
    x = q[1] * D - q[0] * (n1 + mu * (aa * c + ab * s))
    y = q[2] * D - q[0] * (n2 + mu * (ab * c + bb * s))
    n = -q[0] / D if D > 0.0 else 0.0
    return c * y - s * x, n, (c * x + s * y) / D if D > 0.0 else 1.0


@inlined
def refine(mu, K, q, low, high, below, above):
    """A root between two angles of opposite sign: false position that halves what stays (Illinois)."""
    angle, side = high, 0
    for _ in range(HALVINGS):
        angle = (low * above - high * below) / (above - below)
        value, _, _ = off_direction(mu, K, q, angle)
        if value == 0.0 or not high - low > 1e-15:
            break
        if (value <= 0.0) == (above <= 0.0):
            high, above = angle, value
            below = 0.5 * below if side > 0 else below
            side = 1
        else:
            low, below = angle, value
            above = 0.5 * above if side < 0 else above
            side = -1
    return angle
