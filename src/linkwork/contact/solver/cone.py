"""One contact alone, solved exactly: Signorini's condition and Coulomb's cone with maximal dissipation.

Given u = K λ + b in the axes (normal, tangent, tangent), K symmetric positive definite:

    b_n ≥ 0                 no impulse                                                                       (9)
    stick                   λ = -K⁻¹ b,  kept where |λ_t| ≤ μ λ_n
    slide                   u_n = 0,  u_t = -κ λ_t,  |λ_t| = μ λ_n,  κ > 0

Sliding has one unknown: with λ_n eliminated, (S + κ) λ_t = -c, S = K_tt - K_tn K_nt / K_nn; κ is the root of
|λ_t(κ)| - μ λ_n(κ), which is positive at κ = 0 and negative for large κ. Newton's method finds it in a bracket, from the
difference of the reciprocals, which is nearly a straight line. It begins at the κ of the impulse so far: while sweeps
converge that is almost the root.
"""

import math

from linkwork.contact.solver.problem import FREE, SLIDE, STICK
from linkwork.core.jit import inlined, routine

MAX_ROUNDS = 80
ROOT = 1e-14  # relative: how near the rim of the cone the root is


@routine
def solve_cone(K, b, mu, guess):
    """(λ_n, λ_1, λ_2, state) of one contact. K: (nn, n1, n2, 11, 12, 22). guess: of κ, from 0 on."""
    nn, n1, n2, k11, k12, k22 = K
    bn, b1, b2 = b
    if bn >= 0.0:
        return 0.0, 0.0, 0.0, FREE
    s11, s12, s22 = k11 - n1 * n1 / nn, k12 - n1 * n2 / nn, k22 - n2 * n2 / nn
    c1, c2 = b1 - n1 * bn / nn, b2 - n2 * bn / nn
    l1, l2 = solve_two(s11, s12, s22, 0.0, c1, c2)
    ln = -(bn + n1 * l1 + n2 * l2) / nn
    if ln >= 0.0 and l1 * l1 + l2 * l2 <= mu * mu * ln * ln:
        return ln, l1, l2, STICK
    if mu == 0.0:
        return -bn / nn, 0.0, 0.0, SLIDE
    low, high, kappa = 0.0, math.inf, guess
    for _ in range(MAX_ROUNDS):
        l1, l2 = solve_two(s11, s12, s22, kappa, c1, c2)
        ln = -(bn + n1 * l1 + n2 * l2) / nn
        size = math.sqrt(l1 * l1 + l2 * l2)
        f = size - mu * ln
        if abs(f) <= ROOT * (size + mu * abs(ln)):
            break
        if f > 0.0:
            low = kappa
        else:
            high = kappa
        guess = -1.0
        if ln > 0.0 and size > 0.0:
            d1, d2 = solve_two(s11, s12, s22, kappa, l1, l2)  # dλ_t/dκ
            slope = (n1 * d1 + n2 * d2) / (nn * mu * ln * ln) + (l1 * d1 + l2 * d2) / (size * size * size)
            if slope != 0.0:
                guess = kappa - (1.0 / (mu * ln) - 1.0 / size) / slope
        if not low < guess < high:
            guess = 0.5 * (low + high) if high < math.inf else max(4.0 * kappa, 1e-3 * (s11 + s22), 1e-300)
        if abs(guess - kappa) <= 1e-16 * kappa:
            break
        kappa = guess
    ln = max(ln, 0.0)
    size = math.sqrt(l1 * l1 + l2 * l2)
    if size > 0.0:  # on the cone to the last bit
        l1, l2 = l1 * (mu * ln / size), l2 * (mu * ln / size)
    return ln, l1, l2, SLIDE


@inlined
def solve_two(s11, s12, s22, k, c1, c2):
    """-(S + k)⁻¹ c for a symmetric 2x2 matrix."""
    a, d = s11 + k, s22 + k
    det = a * d - s12 * s12
    return -(d * c1 - s12 * c2) / det, -(a * c2 - s12 * c1) / det
