"""Coordinates around the start of a step: q = start ⊕ u, and the rate of u while the linkage moves.

Ball and free joints have velocities in the moving frame. With g = g₀ exp(u) and ġ = g v the coordinates u obey
u̇ = dexp⁻¹(v) = v + ½ [u, v] + c₂ [u, [u, v]] + c₄ [u, [u, [u, [u, v]]]], not u̇ = v: without the brackets every method is of
order two. The series ends there because ad has no eigenvalues but 0 and ± iθ, each at most twice. docs/integrators.md.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.model.kernels.joint_kernels import joint_integrate
from linkwork.model.layout import DOF, FREE, HELICAL, KIND, SPHERICAL, Q, V
from linkwork.simulation.moving import moving_of
from linkwork.spatial.vectors import add6, cross_motion, scale6

SMALL_ANGLE2 = (
    1e-2  # angle squared, below which the first terms of the series of both coefficients are exact to rounding
)

EVALUATE, DONE = -100, -1  # what an integrator needs next; anything else is a failure (`moving`)


@inlined
def coefficients(angle2):
    """c₂ and c₄ for turns by the angle θ: the polynomial that agrees with θ/2 cot(θ/2) and its slope at iθ."""
    if angle2 < SMALL_ANGLE2:
        return (
            1.0 / 12.0 - angle2 * angle2 / 30240.0,
            -1.0 / 720.0 - angle2 / 15120.0 - angle2 * angle2 / 403200.0,
        )
    x = math.sqrt(angle2)
    cot = 1.0 / math.tan(0.5 * x)
    missing = 1.0 - 0.5 * x * cot
    slope = 0.5 * cot - 0.25 * x * (1.0 + cot * cot)
    c4 = (slope + 2.0 * missing / x) / (2.0 * angle2 * x)
    return missing / angle2 + c4 * angle2, c4


@routine
def rate_of_chart(u, v):
    """u̇ for which g₀ exp(u) moves with the twist v."""
    c2, c4 = coefficients(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    one = cross_motion(u, v)
    two = cross_motion(u, one)
    four = cross_motion(u, cross_motion(u, two))
    return add6(add6(v, scale6(0.5, one)), add6(scale6(c2, two), scale6(c4, four)))


@inlined
def twist_at(a, j, kind):
    """Six numbers of a spherical (no translation) or free joint."""
    if kind == SPHERICAL:
        return (a[j], a[j + 1], a[j + 2], 0.0, 0.0, 0.0)
    return (a[j], a[j + 1], a[j + 2], a[j + 3], a[j + 4], a[j + 5])


@routine
def rates(table, out):
    """Writes u̇ at (u, v) into a row."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        kind = s.tree[i, KIND]
        j = s.tree[i, V]
        if kind == SPHERICAL or kind == FREE:
            rate = rate_of_chart(twist_at(s.u, j, kind), twist_at(s.v, j, kind))
            for d in range(s.tree[i, DOF]):
                out[j + d] = rate[d]
        else:
            for d in range(s.tree[i, DOF]):
                out[j + d] = s.v[j + d]


@routine
def integrate(tree, start, velocity, h, out):
    """out ← start ⊕ h · velocity, for all joints."""
    for i in range(tree.shape[0]):
        if tree[i, KIND] == HELICAL:
            out[tree[i, Q]] = start[tree[i, Q]] + h * velocity[tree[i, V]]
        else:
            joint_integrate(tree, i, start, velocity, h, out)
