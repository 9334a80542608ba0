"""The laws of contact, and impulses that they allow near any other.

With the velocities u that impulses λ give, ũ = (u_n + μ |u_t|, u_t) and P the nearest point of the cone (De Saxcé and Feng
1998), the laws are one equation:

    λ = P(λ - ρ ũ)        limits: λ = max(0, λ - ρ u)                                                    (18)

Two projections with their derivatives serve Newton's method:

    nearest      the nearest point of Coulomb's cone |t| ≤ μ n. It belongs to a convex law, in which what slides also parts
                 with μ |u_t|; De Saxcé's term takes that out                                                          (20)
    law itself   n ≥ 0 first, then the nearest t with |t| ≤ μ n (Alart and Curnier 1991): Coulomb's law, not convex     (21)

Both give (n, a, b), the state, and the derivative of the three by the three, row after row; that of (20) is symmetric.
"""

import math

from linkwork.contact.solver.problem import FREE, SLIDE, STICK
from linkwork.core.jit import inlined


@inlined
def size_of(a, b):
    """Length of (a, b). `math.hypot` is right beyond 1e154 too, and takes ten times as long."""
    return math.sqrt(a * a + b * b)


@inlined
def nearest_in_cone(mu, n, a, b):
    """The point with |t| ≤ μ n that is nearest to (n, t), t = (a, b)."""
    size = size_of(a, b)
    if mu * size <= -n:
        return 0.0, 0.0, 0.0
    if size <= mu * n:
        return n, a, b
    nearest = (n + mu * size) / (1.0 + mu * mu)
    return nearest, mu * nearest * a / size, mu * nearest * b / size


NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
ALL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
NORMAL_ONLY = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inlined
def nearest_of_cone(mu, n, a, b):
    """(20)"""
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
    """(21)"""
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
