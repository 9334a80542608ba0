"""Distances that need no search: between points, segments, planes, from a point to a box or a cylinder, and from a segment
to a box or to the side of a cylinder.

Each function gives `(gap, normal, a, b)`: signed distance [m], unit normal from B to A, nearest points of both surfaces,
all in the world. A negative gap is the depth of penetration.
"""

import math

from linkwork.contact.geometry.solids import CAPSULE, core_radius, core_support
from linkwork.core.jit import inlined, routine
from linkwork.spatial.rotations import add3, any_normal, cross3, dot3, matvec3, scale3, sub3, tmatvec3

PARALLEL = 1e-14  # squared sine of the angle between segments below which the overlap decides
CENTRED = 1e-13  # distance of axes, relative to their size, that has no direction
MEETING = 1e-8  # distance of an axis from a box, relative to their size, whose direction is not to be trusted


@inlined
def axis_of(solid):
    """Centre and half vector of the core of a sphere or capsule."""
    R, half = solid[1], solid[3][1]
    if solid[0] == CAPSULE:
        return solid[2], (half * R[2], half * R[5], half * R[8])
    return solid[2], (0.0, 0.0, 0.0)


@routine
def nearest_on_segments(ca, ha, cb, hb):
    """Parameters s, t in [-1, 1] of the nearest points ca + s ha, cb + t hb; the middle of the overlap of parallels."""
    r = sub3(ca, cb)
    aa, bb, ab = dot3(ha, ha), dot3(hb, hb), dot3(ha, hb)
    ra, rb = dot3(r, ha), dot3(r, hb)
    if aa == 0.0 and bb == 0.0:
        return 0.0, 0.0
    if aa == 0.0:
        return 0.0, min(max(rb / bb, -1.0), 1.0)
    if bb == 0.0:
        return min(max(-ra / aa, -1.0), 1.0), 0.0
    det = aa * bb - ab * ab
    if det <= PARALLEL * aa * bb:
        # Seen from a: b covers the run [m - k, m + k] of s.
        m, k = -ra / aa, abs(ab) / aa
        low, high = max(-1.0, m - k), min(1.0, m + k)
        s = 0.5 * (low + high) if low <= high else (1.0 if m > 0.0 else -1.0)
    else:
        s = min(max((ab * rb - bb * ra) / det, -1.0), 1.0)
    t = (rb + s * ab) / bb
    if t < -1.0:
        t = -1.0
        s = min(max((-ab - ra) / aa, -1.0), 1.0)
    elif t > 1.0:
        t = 1.0
        s = min(max((ab - ra) / aa, -1.0), 1.0)
    return s, t


@routine
def round_round(A, B):
    """Spheres and capsules."""
    ca, ha = axis_of(A)
    cb, hb = axis_of(B)
    s, t = nearest_on_segments(ca, ha, cb, hb)
    a, b = add3(ca, scale3(s, ha)), add3(cb, scale3(t, hb))
    return inflate(a, b, A[3][0], B[3][0], cross3(ha, hb), ha, hb)


@routine
def inflate(a, b, ra, rb, across, ha, hb):
    """From nearest points of cores to those of surfaces; where the cores meet, the normal is one across both axes."""
    v = sub3(a, b)
    d = math.sqrt(dot3(v, v))
    if d > CENTRED * (ra + rb):
        n = scale3(1.0 / d, v)
    else:
        length = math.sqrt(dot3(across, across))
        if length > 1e-7 * (dot3(ha, ha) + dot3(hb, hb)):
            n = scale3(1.0 / length, across)
        elif dot3(ha, ha) + dot3(hb, hb) > 0.0:
            n = any_normal(ha if dot3(ha, ha) >= dot3(hb, hb) else hb)
        else:
            n = (0.0, 0.0, 1.0)
    return d - ra - rb, n, sub3(a, scale3(ra, n)), add3(b, scale3(rb, n))


@routine
def any_plane(vertices, A, B):
    """Any convex solid A above the plane B (z = 0 of its frame, outside z > 0)."""
    n = (B[1][2], B[1][5], B[1][8])
    a = sub3(core_support(vertices, A, scale3(-1.0, n)), scale3(core_radius(A), n))
    gap = dot3(n, sub3(a, B[2]))
    return gap, n, a, sub3(a, scale3(gap, n))


@routine
def sphere_box(A, B):
    """A sphere and a box: outside the clamped centre, inside the nearest face."""
    R, size, r = B[1], B[3], A[3][0]
    c = tmatvec3(R, sub3(A[2], B[2]))
    q = (
        min(max(c[0], -size[0]), size[0]),
        min(max(c[1], -size[1]), size[1]),
        min(max(c[2], -size[2]), size[2]),
    )
    v = sub3(c, q)
    d = math.sqrt(dot3(v, v))
    if d > CENTRED * r:
        n = scale3(1.0 / d, v)
    else:
        dx, dy, dz = size[0] - abs(c[0]), size[1] - abs(c[1]), size[2] - abs(c[2])
        if dx <= dy and dx <= dz:
            n = (math.copysign(1.0, c[0]), 0.0, 0.0)
            d = -dx
            q = (math.copysign(size[0], c[0]), c[1], c[2])
        elif dy <= dz:
            n = (0.0, math.copysign(1.0, c[1]), 0.0)
            d = -dy
            q = (c[0], math.copysign(size[1], c[1]), c[2])
        else:
            n = (0.0, 0.0, math.copysign(1.0, c[2]))
            d = -dz
            q = (c[0], c[1], math.copysign(size[2], c[2]))
    return placed(A, B, d - r, n, q)


@routine
def sphere_cylinder(A, B):
    R, size, r = B[1], B[3], A[3][0]
    c = tmatvec3(R, sub3(A[2], B[2]))
    across = math.sqrt(c[0] * c[0] + c[1] * c[1])
    out, up = across - size[0], abs(c[2]) - size[1]
    side = (c[0] / across, c[1] / across, 0.0) if across > CENTRED * size[0] else (1.0, 0.0, 0.0)
    end = math.copysign(1.0, c[2])
    if out <= 0.0 and up <= 0.0:  # the centre is inside
        if out >= up:
            n, d = side, out
            q = (size[0] * side[0], size[0] * side[1], c[2])
        else:
            n, d = (0.0, 0.0, end), up
            q = (c[0], c[1], end * size[1])
    else:
        q = (
            min(across, size[0]) * side[0],
            min(across, size[0]) * side[1],
            min(max(c[2], -size[1]), size[1]),
        )
        v = sub3(c, q)
        d = math.sqrt(dot3(v, v))
        n = scale3(1.0 / d, v)
    return placed(A, B, d - r, n, q)


@routine
def capsule_beside_cylinder(A, B):
    """(known, gap, normal, a, b): a capsule whose axis lies between the ends of a cylinder and outside its side.

    All points of the axis then have their nearest point on the side: the distance is that of the axis from the cylinder's
    line, less both radii. Elsewhere `known` is False, and the distance must be searched.
    """
    R, radius, half = B[1], B[3][0], B[3][1]
    ca, ha = axis_of(A)
    along = (R[2], R[5], R[8])
    r = sub3(ca, B[2])
    middle, rise = dot3(r, along), dot3(ha, along)
    e = sub3(ha, scale3(rise, along))  # both across the cylinder's line
    d = sub3(r, scale3(middle, along))
    ee = dot3(e, e)
    s = 0.0
    if ee > PARALLEL * dot3(ha, ha):
        s = min(max(-dot3(d, e) / ee, -1.0), 1.0)
    d = add3(d, scale3(s, e))
    across = math.sqrt(dot3(d, d))
    known = abs(middle) + abs(rise) <= half and across > radius
    if not known:
        return False, 0.0, along, ca, ca
    n = scale3(1.0 / across, d)
    a = add3(ca, scale3(s, ha))
    return True, across - radius - A[3][0], n, sub3(a, scale3(A[3][0], n)), sub3(a, scale3(across - radius, n))


@routine
def capsule_outside_box(A, B):
    """(known, gap, normal, a, b): a capsule whose axis does not meet a box.

    The squared distance of the box from a point that runs along the axis is convex, and a parabola between the places where
    the point passes a plane of a face: its slope is bracketed by these places, and vanishes on a straight line between two.
    Where the axis meets the box, or nearly so, `known` is False, and the depth must be searched.
    """
    R, size = B[1], B[3]
    ca, ha = axis_of(A)
    c, d = tmatvec3(R, sub3(ca, B[2])), tmatvec3(R, ha)
    ends = (-1.0, slope_to_box(c, d, size, -1.0), 1.0, slope_to_box(c, d, size, 1.0))
    if ends[1] >= 0.0:
        t = -1.0
    elif ends[3] <= 0.0:
        t = 1.0
    else:
        for side in (-1.0, 1.0):
            ends = between_faces(c, d, size, side * size[0] - c[0], d[0], ends)
            ends = between_faces(c, d, size, side * size[1] - c[1], d[1], ends)
            ends = between_faces(c, d, size, side * size[2] - c[2], d[2], ends)
        t = ends[0] - (ends[2] - ends[0]) * ends[1] / (ends[3] - ends[1])
    x = add3(c, scale3(t, d))
    v = beyond_box(x, size)
    distance = math.sqrt(dot3(v, v))
    if not distance > MEETING * (A[3][1] + size[0] + size[1] + size[2]):
        return False, 0.0, c, c, c
    n = matvec3(R, scale3(1.0 / distance, v))
    a = add3(ca, scale3(t, ha))
    return True, distance - A[3][0], n, sub3(a, scale3(A[3][0], n)), sub3(a, scale3(distance, n))


@inlined
def between_faces(c, d, size, way, speed, ends):
    """Two places on an axis and the slopes there, the first < 0, narrowed at the plane of a face: `way` = t `speed`."""
    low, below, high, above = ends
    if low * abs(speed) < (way if speed > 0.0 else -way) < high * abs(speed):
        t = way / speed
        slope = slope_to_box(c, d, size, t)
        if slope < 0.0:
            low, below = t, slope
        else:
            high, above = t, slope
    return low, below, high, above


@inlined
def beyond_box(x, size):
    """From the nearest point of a box to x, in the frame of the box; zero inside."""
    return (
        x[0] - min(max(x[0], -size[0]), size[0]),
        x[1] - min(max(x[1], -size[1]), size[1]),
        x[2] - min(max(x[2], -size[2]), size[2]),
    )


@inlined
def slope_to_box(c, d, size, t):
    """Half the slope of the squared distance of c + t d from a box."""
    return dot3(d, beyond_box(add3(c, scale3(t, d)), size))


@inlined
def placed(A, B, gap, n_local, q_local):
    """A sphere's result from the frame of B to the world."""
    n = matvec3(B[1], n_local)
    return gap, n, sub3(A[2], scale3(A[3][0], n)), add3(matvec3(B[1], q_local), B[2])
