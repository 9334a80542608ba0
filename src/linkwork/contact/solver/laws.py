"""How far impulses are from the laws of contact, whoever found them.

With the velocities u that impulses λ give, ũ = (u_n + μ |u_t|, u_t) and P the nearest point of the cone (De Saxcé and Feng
1998), the laws are one equation:

    λ = P(λ - ρ ũ)        limits: λ = max(0, λ - ρ u)                                                    (24)
"""

import math

from linkwork.core.jit import inlined


@inlined
def size_of(a, b):
    """Length of (a, b). `math.hypot` minds numbers beyond 1e154 too, and takes ten times as long."""
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
