"""When two solids that move with constant twists first touch: conservative advancement (Mirtich 1996).

The distance along the normal cannot shrink faster than `rate`, so that a step of gap / rate passes nothing:

    t ← t + gap / rate      rate = -n·(v_a - v_b) + |n x ω_a| ρ_a + |n x ω_b| ρ_b                             (11)

with ρ the largest distance of a point of the solid from the axis that it turns about, which stays what it is: a rod that
spins about its own axis is followed as easily as one that does not. Overlapping solids are followed in the same way: their
signed distance is the largest separation along any direction, so that (11) bounds how fast they can go deeper.
The contact points are those of the moment of touch, taken back to where they are now.
"""

from typing import Any, NamedTuple

from linkwork.contact.geometry.distance import signed_distance
from linkwork.contact.geometry.solids import BOX, CAPSULE, CYLINDER, PLANE, SPHERE, core_radius, core_reach
from linkwork.core.jit import inlined, routine
from linkwork.spatial.rotations import (
    add3,
    cross3,
    dot3,
    matmul3,
    matvec3,
    norm3,
    rotation_about,
    scale3,
    sub3,
    tmatvec3,
)

MAX_ADVANCES = 64
ROUND = 1.0 + 1e-9  # what rounding may hide of a distance from an axis


class Side(NamedTuple):
    """One of two shapes that may touch: its number, and where its body is and how it moves, in the world."""

    shape: int
    R: Any  # nine numbers
    p: Any  # origin of the body [m]
    V: Any  # twist of the body there [rad/s, m/s]


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


@routine
def axis_distance(solid, origin, w):
    """Largest distance of a point of the solid from the line through `origin` along w [m]; zero where nothing turns."""
    speed = norm3(w)
    kind, R, p, size = solid[0], solid[1], solid[2], solid[3]
    if kind == PLANE or speed == 0.0:
        return 0.0
    axis = scale3(1.0 / speed, w)
    middle = norm3(cross3(axis, sub3(p, origin)))
    if kind == SPHERE:
        far = middle + size[0]
    elif kind == CAPSULE or kind == CYLINDER:
        along = scale3(size[1], (R[2], R[5], R[8]))
        d = sub3(p, origin)
        far = max(norm3(cross3(axis, add3(d, along))), norm3(cross3(axis, sub3(d, along)))) + size[0]
    elif kind == BOX:
        far = 0.0
        for k in range(4):
            x = size[0] if k & 1 else -size[0]
            y = size[1] if k & 2 else -size[1]
            d, e = sub3(p, origin), matvec3(R, (x, y, size[2]))
            far = max(far, max(norm3(cross3(axis, add3(d, e))), norm3(cross3(axis, sub3(d, e)))))
    else:
        far = middle + core_reach(solid) + core_radius(solid)
    return ROUND * far


@routine
def time_of_impact(vertices, scratch, a, A, b, B, h, near, gap, n):
    """(hit, time, distances): when the solids first come near each other in the time h, and how many distances that took.

    a, b: Sides, whose solids are A and B. near: (target, slip), within `target` [m] of each other, and less than `slip` [m]
    nearer; a target below zero is a depth. gap, n: distance and normal now.
    """
    pa, Va, pb, Vb = a.p, a.V, b.p, b.V
    target, slip = near
    wa, wb = (Va[0], Va[1], Va[2]), (Vb[0], Vb[1], Vb[2])
    ra, rb = axis_distance(A, pa, wa), axis_distance(B, pb, wb)
    v = (Va[3] - Vb[3], Va[4] - Vb[4], Va[5] - Vb[5])
    aim = target - slip
    t = 0.0
    for k in range(MAX_ADVANCES):
        if k > 0:
            gap, n, _a, _b = signed_distance(vertices, moved(A, pa, Va, t), moved(B, pb, Vb, t), scratch)
        if gap <= target:
            return True, t, k
        rate = -dot3(n, v) + norm3(cross3(n, wa)) * ra + norm3(cross3(n, wb)) * rb
        if rate <= 0.0:
            return False, h, k
        t += (gap - aim) / rate
        if t >= h:
            return False, h, k
    # Still closing in after so many advances: a grazing touch; taken as one, since to miss it would be worse.
    return True, t, MAX_ADVANCES
