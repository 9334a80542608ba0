"""How far impulses are from the laws of contact, whoever found them.

With the velocities u that impulses λ give, ũ = (u_n + μ |u_t|, u_t) and P the nearest point of the cone (De Saxcé and Feng
1998), the laws are one equation:

    λ = P(λ - ρ ũ)        limits: λ = max(0, λ - ρ u)                                                    (24)

Sweeps ask another question: whether each contact alone, the others as they are, would change its impulse. A contact that
lifts off when it is pressed and dragged (Painlevé) has two answers to that, so that a right one can look wrong there.
"""

import math

from linkwork.contact.contact_list import FRICTION
from linkwork.contact.solver.gauss_seidel import velocities
from linkwork.contact.solver.problem import FREE, SLIDE, STICK
from linkwork.core.jit import inlined, routine

RIM = 1e-9  # relative: how near its rim an impulse is on the cone


@routine
def breach_of_laws(contacts, count, problem, system, rows, x):
    """The largest change of an impulse by (24), relative to the largest; states of contacts and system.u follow."""
    velocities(system, rows, x)
    G, u = system.G, system.u
    wrong, largest = 0.0, 0.0
    for i in range(count):
        r, mu = 3 * i, contacts.data[i, FRICTION]
        rho = 1.0 / max(G[r, r] + G[r + 1, r + 1] + G[r + 2, r + 2], 1e-300)
        slip = math.hypot(u[r + 1], u[r + 2])
        n, a, b = nearest_in_cone(
            mu, x[r] - rho * (u[r] + mu * slip), x[r + 1] - rho * u[r + 1], x[r + 2] - rho * u[r + 2]
        )
        wrong = max(wrong, math.sqrt((n - x[r]) ** 2 + (a - x[r + 1]) ** 2 + (b - x[r + 2]) ** 2))
        friction = math.hypot(x[r + 1], x[r + 2])
        largest = max(largest, math.hypot(x[r], friction))
        system.state[i] = FREE if x[r] <= 0.0 else STICK if friction < (1.0 - RIM) * mu * x[r] else SLIDE
    for r in range(3 * count, 3 * count + problem.limit_at.shape[0]):
        y = max(x[r] - u[r] / max(G[r, r], 1e-300), 0.0)
        wrong, largest = max(wrong, abs(y - x[r])), max(largest, x[r])
    return wrong / largest if largest > 0.0 else wrong


@inlined
def nearest_in_cone(mu, n, a, b):
    """The point with |t| ≤ μ n that is nearest to (n, t), t = (a, b)."""
    size = math.hypot(a, b)
    if size <= mu * n:
        return n, a, b
    if mu * size <= -n:
        return 0.0, 0.0, 0.0
    nearest = (n + mu * size) / (1.0 + mu * mu)
    return nearest, mu * nearest * a / size, mu * nearest * b / size
