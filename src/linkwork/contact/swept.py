"""When two solids that move with constant twists first touch: conservative advancement (Mirtich 1996).

The distance along the normal cannot shrink faster than `rate`, so that a step of gap / rate passes nothing:

    t ← t + gap / rate      rate = -n·(v_a - v_b) + |ω_a| r_a + |ω_b| r_b                                     (4)

The contact points are those of the moment of touch, taken back to where they are now.
"""

import math

from linkwork.contact.geometry.distance import signed_distance
from linkwork.contact.geometry.solids import PLANE, core_radius, core_reach
from linkwork.core.jit import inlined, routine
from linkwork.spatial.rotations import add3, dot3, matmul3, matvec3, rotation_about, scale3, sub3, tmatvec3

MAX_ADVANCES = 64


@inlined
def norm3(x):
    return math.sqrt(dot3(x, x))


@inlined
def moved(solid, origin, V, t):
    """The solid after the body with origin `origin` has moved with the twist V (world axes) for the time t."""
    w = (V[0], V[1], V[2])
    speed = norm3(w)
    if speed > 0.0:
        R = rotation_about(scale3(1.0 / speed, w), speed * t)
    else:
        R = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    p = add3(add3(origin, scale3(t, (V[3], V[4], V[5]))), matvec3(R, sub3(solid[2], origin)))
    return (solid[0], matmul3(R, solid[1]), p, solid[3], solid[4], solid[5])


@inlined
def moved_back(x, solid, later):
    """Where a point of the moved solid is now."""
    return add3(matvec3(solid[1], tmatvec3(later[1], sub3(x, later[2]))), solid[2])


@inlined
def spin_radius(solid, origin):
    """Largest distance of a point of the solid from the body's origin; planes do not move."""
    if solid[0] == PLANE:
        return 0.0
    return norm3(sub3(solid[2], origin)) + core_reach(solid) + core_radius(solid)


@routine
def time_of_impact(vertices, A, pa, Va, B, pb, Vb, h, target, scratch, gap, n):
    """(hit, time): when the solids first come within `target` [m] of each other in the time h.

    pa, pb: origins of the bodies in the world [m]. gap, n: distance and normal now.
    """
    turning = norm3((Va[0], Va[1], Va[2])) * spin_radius(A, pa) + norm3((Vb[0], Vb[1], Vb[2])) * spin_radius(B, pb)
    v = (Va[3] - Vb[3], Va[4] - Vb[4], Va[5] - Vb[5])
    t = 0.0
    for k in range(MAX_ADVANCES):
        if k > 0:
            gap, n, _a, _b = signed_distance(vertices, moved(A, pa, Va, t), moved(B, pb, Vb, t), scratch)
        if gap <= target:
            return True, t
        rate = -dot3(n, v) + turning
        if rate <= 0.0:
            return False, h
        t += (gap - 0.5 * target) / rate
        if t >= h:
            return False, h
    # Still closing in after so many advances: a grazing touch; taken as one, since to miss it would be worse.
    return True, t
