"""The face, edge or corner with which a solid touches in a given direction."""

import math

from linkwork.contact.geometry.solids import BOX, CAPSULE, CYLINDER, SPHERE
from linkwork.core.jit import routine
from linkwork.spatial.memory import load3, store3
from linkwork.spatial.rotations import add3, cross3, dot3, matvec3, scale3, sub3, tmatvec3

FLAT = 0.035  # [rad] two degrees: what is flatter than this against the other solid touches as a whole
RIM = 8  # corners that stand for the rim of a disc
MAX_CORNERS = 16


@routine
def feature(vertices, solid, direction, out):
    """Corners of the feature of `solid` that faces the unit vector `direction`, in order round it, in the world.

    out (24, 3) receives them; returns how many: 1 a point, 2 an edge, more a face.
    """
    kind, R, p, size = solid[0], solid[1], solid[2], solid[3]
    d = tmatvec3(R, direction)
    if kind == SPHERE:
        store3(out, 0, 0, add3(p, scale3(size[0], direction)))
        return 1
    if kind == CAPSULE:
        return capsule_feature(solid, direction, d, out)
    if kind == BOX:
        return box_feature(solid, d, out)
    if kind == CYLINDER:
        return cylinder_feature(solid, d, out)
    return hull_feature(vertices, solid, direction, d, out)


@routine
def capsule_feature(solid, direction, d, out):
    R, p, size = solid[1], solid[2], solid[3]
    side = add3(p, scale3(size[0], direction))
    half = (size[1] * R[2], size[1] * R[5], size[1] * R[8])
    if abs(d[2]) < FLAT:
        store3(out, 0, 0, sub3(side, half))
        store3(out, 1, 0, add3(side, half))
        return 2
    store3(out, 0, 0, add3(side, half) if d[2] > 0.0 else sub3(side, half))
    return 1


@routine
def box_feature(solid, d, out):
    R, p, size = solid[1], solid[2], solid[3]
    count = 0
    # The corners of a face in order round it: signs of the two free axes follow (-,-), (+,-), (+,+), (-,+).
    free = (abs(d[0]) < FLAT, abs(d[1]) < FLAT, abs(d[2]) < FLAT)
    first, second = -1, -1
    for axis in range(3):
        if free[axis]:
            if first < 0:
                first = axis
            elif second < 0:
                second = axis
    turns = 1 if first < 0 else (2 if second < 0 else 4)
    for k in range(turns):
        s1 = 1.0 if k == 1 or k == 2 else -1.0
        s2 = 1.0 if k >= 2 else -1.0
        x = math.copysign(size[0], d[0])
        y = math.copysign(size[1], d[1])
        z = math.copysign(size[2], d[2])
        if first == 0:
            x = s1 * size[0]
        elif first == 1:
            y = s1 * size[1]
        elif first == 2:
            z = s1 * size[2]
        if second == 1:
            y = s2 * size[1]
        elif second == 2:
            z = s2 * size[2]
        store3(out, count, 0, add3(matvec3(R, (x, y, z)), p))
        count += 1
    return count


@routine
def cylinder_feature(solid, d, out):
    R, p, size = solid[1], solid[2], solid[3]
    across = math.sqrt(d[0] * d[0] + d[1] * d[1])
    ux, uy = (d[0] / across, d[1] / across) if across > 0.0 else (1.0, 0.0)
    end = math.copysign(size[1], d[2])
    if across < FLAT:
        for k in range(RIM):  # fixed in the body: which of them lies lowest is rounding where it lies flat
            local = (size[0] * math.cos(2.0 * math.pi * k / RIM), size[0] * math.sin(2.0 * math.pi * k / RIM), end)
            store3(out, k, 0, add3(matvec3(R, local), p))
        return RIM
    if abs(d[2]) < FLAT:
        store3(out, 0, 0, add3(matvec3(R, (size[0] * ux, size[0] * uy, -size[1])), p))
        store3(out, 1, 0, add3(matvec3(R, (size[0] * ux, size[0] * uy, size[1])), p))
        return 2
    store3(out, 0, 0, add3(matvec3(R, (size[0] * ux, size[0] * uy, end)), p))
    return 1


@routine
def hull_feature(vertices, solid, direction, d, out):
    """Vertices of a hull within FLAT of the highest, sorted by angle round their mean."""
    R, p, reach, first, size = solid[1], solid[2], solid[3][0], solid[4], solid[5]
    top = -math.inf
    for i in range(first, first + size):
        top = max(top, dot3(d, load3(vertices, i, 0)))
    count = 0
    mean = (0.0, 0.0, 0.0)
    for i in range(first, first + size):
        x = load3(vertices, i, 0)
        if dot3(d, x) >= top - FLAT * reach and count < MAX_CORNERS:
            x = add3(matvec3(R, x), p)
            store3(out, count, 0, x)
            mean = add3(mean, x)
            count += 1
    if count < 3:
        return count
    mean = scale3(1.0 / count, mean)
    u = sub3(load3(out, 0, 0), mean)
    w = cross3(direction, u)
    for i in range(1, count):  # insertion sort by angle: few corners
        x = load3(out, i, 0)
        angle = angle_of(sub3(x, mean), u, w)
        j = i - 1
        while j >= 0 and angle_of(sub3(load3(out, j, 0), mean), u, w) > angle:
            store3(out, j + 1, 0, load3(out, j, 0))
            j -= 1
        store3(out, j + 1, 0, x)
    return count


@routine
def angle_of(x, u, w):
    return math.atan2(dot3(x, w), dot3(x, u))
