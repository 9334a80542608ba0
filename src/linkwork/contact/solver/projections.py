"""Impulses that the laws of a contact allow, near any other: two projections and their derivatives.

    nearest      the nearest point of Coulomb's cone |t| ≤ μ n. It belongs to a convex law, in which what slides also parts
                 with μ |u_t|; De Saxcé's term takes that out                                                          (25)
    law itself   n ≥ 0 first, then the nearest t with |t| ≤ μ n (Alart and Curnier 1991): Coulomb's law, not convex     (26)

Both give (n, a, b), the state, and the derivative of the three by the three, row after row; that of (25) is symmetric.
"""

import math

from linkwork.contact.solver.problem import FREE, SLIDE, STICK
from linkwork.core.jit import inlined

NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
ALL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
NORMAL_ONLY = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inlined
def nearest_of_cone(mu, n, a, b):
    """(25)"""
    size = math.sqrt(a * a + b * b)
    if not n + mu * size > 0.0:  # in the polar cone
        return (0.0, 0.0, 0.0), FREE, NOTHING
    if mu == 0.0:
        return (n, 0.0, 0.0), SLIDE, NORMAL_ONLY
    if size <= mu * n:
        return (n, a, b), STICK, ALL
    f = 1.0 / (1.0 + mu * mu)
    k = f * (n + mu * size)
    p, q = a / size, b / size
    turn = mu * k / size
    m = f * mu
    D = (
        f,
        m * p,
        m * q,
        m * p,
        mu * m * p * p + turn * q * q,
        (mu * m - turn) * p * q,
        m * q,
        (mu * m - turn) * p * q,
        mu * m * q * q + turn * p * p,
    )
    return (k, mu * k * p, mu * k * q), SLIDE, D


@inlined
def allowed_by_coulomb(mu, n, a, b):
    """(26)"""
    if not n > 0.0:
        return (0.0, 0.0, 0.0), FREE, NOTHING
    size = math.sqrt(a * a + b * b)
    if mu == 0.0:
        return (n, 0.0, 0.0), SLIDE, NORMAL_ONLY
    if size <= mu * n:
        return (n, a, b), STICK, ALL
    p, q = a / size, b / size
    turn = mu * n / size
    D = (1.0, 0.0, 0.0, mu * p, turn * q * q, -turn * p * q, mu * q, -turn * p * q, turn * p * p)
    return (n, mu * n * p, mu * n * q), SLIDE, D
