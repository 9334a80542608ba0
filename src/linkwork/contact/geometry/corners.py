"""Corners that come next: of two solids that touch, those whose corners a fast turn could bring onto the other's face.

A rod that touches a wall with one end sweeps the other one onto it, within a step if it is fast. Corners move on arcs
about the centre of mass, which bend away from a wall on the other side of them: one
for which gap + h u_n ≥ 0 is kept does not pass,
however far it is when the step begins.
"""

import math

from linkwork.contact.geometry.features import FLAT, feature
from linkwork.contact.geometry.manifold import ROOM, orientation, set_point
from linkwork.contact.geometry.solids import BOX, CAPSULE, CYLINDER, HULL, PLANE
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3, store3
from linkwork.spatial.rotations import add3, cross3, dot3, matvec3, scale3, sub3, tmatvec3

MOST_COMING = 7  # corners of one solid that are followed beside those that touch


@routine
def with_coming_corners(vertices, A, B, n, count, near, far, scratch):
    """Adds corners nearer than `far` [m] to the `count` points in scratch.manifold that touch; returns how many there are.

    n: normal from B to A. near: what is this near to a point that is listed is that point [m].
    """
    count = add_coming(vertices, A, B, n, count, near, far, scratch, False)
    return add_coming(vertices, B, A, scale3(-1.0, n), count, near, far, scratch, True)


@routine
def add_coming(vertices, A, B, n, count, near, far, scratch, is_swapped):
    """Corners of A over the face of B that looks along n. Of many those that are farthest from all others."""
    sides = 0
    foot = B[2]
    if B[0] != PLANE:
        sides = feature(vertices, B, n, scratch.face_b)
        if sides < 3:
            return count
        foot = load3(scratch.face_b, 0, 0)
    corners = corners_towards(vertices, A, scale3(-1.0, n), scratch.face_a)
    out = scratch.manifold
    first = 3 if is_swapped else 0
    for _ in range(MOST_COMING):
        best, apart = -1, near * near
        for i in range(corners):
            x = load3(scratch.face_a, i, 0)
            gap = dot3(n, sub3(x, foot))
            if not gap <= far or not is_over(scratch.face_b, sides, n, x):
                continue
            least = math.inf
            for k in range(count):
                d = sub3(x, load3(out, k, first))
                least = min(least, dot3(d, d))
            if least > apart:
                best, apart = i, least
        if best < 0 or count == ROOM:
            break
        x = load3(scratch.face_a, best, 0)
        gap = dot3(n, sub3(x, foot))
        y = sub3(x, scale3(gap, n))
        if is_swapped:
            set_point(out, count, y, x, gap)
        else:
            set_point(out, count, x, y, gap)
        count += 1
    return count


@routine
def corners_towards(vertices, solid, direction, out):
    """Corners of a solid; of capsules and cylinders the points of both ends that lie farthest along `direction`."""
    kind, R, p, size = solid[0], solid[1], solid[2], solid[3]
    d = tmatvec3(R, direction)
    count = 0
    if kind == BOX:
        for k in range(8):
            x = size[0] if k & 1 else -size[0]
            y = size[1] if k & 2 else -size[1]
            z = size[2] if k & 4 else -size[2]
            store3(out, k, 0, add3(matvec3(R, (x, y, z)), p))
        count = 8
    elif kind == CAPSULE:
        for k in range(2):
            end = size[1] if k == 0 else -size[1]
            store3(out, k, 0, add3(add3(p, matvec3(R, (0.0, 0.0, end))), scale3(size[0], direction)))
        count = 2
    elif kind == CYLINDER:
        across = math.sqrt(d[0] * d[0] + d[1] * d[1])
        # seen along the axis no point of the rim lies farther than the others, and rounding must not choose one
        x, y = (size[0] * d[0] / across, size[0] * d[1] / across) if across > FLAT else (size[0], 0.0)
        for k in range(2):
            store3(out, k, 0, add3(matvec3(R, (x, y, size[1] if k == 0 else -size[1])), p))
        count = 2
    elif kind == HULL:
        for i in range(solid[4], solid[4] + solid[5]):
            x = load3(vertices, i, 0)
            if count < ROOM:
                store3(out, count, 0, add3(matvec3(R, x), p))
                count += 1
    return count


@inlined
def is_over(face, sides, n, x):
    """Whether x lies over a face with these corners, seen along n; a plane, which has none, is everywhere."""
    over = True
    if sides > 0:
        turn = orientation(face, sides, n)
        for k in range(sides):
            r = load3(face, k, 0)
            side = scale3(turn, cross3(n, sub3(load3(face, (k + 1) % sides, 0), r)))  # points into the face
            over = over and dot3(side, sub3(x, r)) >= 0.0
    return over
