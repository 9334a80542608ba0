"""Contact points of two solids: one where a corner or a curved side touches, up to four where edges or faces rest.

The feature of A is cut by the sides of the feature of B, seen along the normal; each point left has its own gap.
"""

import math

from linkwork.contact.geometry.closed_forms import axis_of
from linkwork.contact.geometry.distance import signed_distance
from linkwork.contact.geometry.features import FLAT, feature
from linkwork.contact.geometry.solids import BOX, CAPSULE, PLANE, SPHERE
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3, store3
from linkwork.spatial.rotations import add3, cross3, dot3, matvec3, scale3, sub3

MAX_POINTS = 4  # per pair of convex solids
ROOM = 24  # rows of the arrays that hold corners
SAME = 1e-9  # distance of points, relative to the size of the face, that counts as none
ASIDE = (0.36, 0.48, 0.8)  # which solid comes first follows from where they are along this, not by their numbers


@routine
def contact_points(vertices, A, B, margin, scratch):
    """(count, normal, least gap): contact points nearer than `margin` [m] in the first rows of scratch.manifold.

    Each row: point of A, point of B, gap. The normal points from B to A. Nothing is written where the solids are
    farther apart. The same points come out for B and A.
    """
    if A[0] == PLANE or (B[0] != PLANE and dot3(ASIDE, sub3(A[2], B[2])) < 0.0):
        count, n, gap = contact_points_ordered(vertices, B, A, margin, scratch)
        swap_sides(scratch.manifold, count)
        return count, scale3(-1.0, n), gap
    return contact_points_ordered(vertices, A, B, margin, scratch)


@routine
def swap_sides(manifold, count):
    for i in range(count):
        for c in range(3):
            manifold[i, c], manifold[i, 3 + c] = manifold[i, 3 + c], manifold[i, c]


@routine
def contact_points_ordered(vertices, A, B, margin, scratch):
    gap, n, a, b = signed_distance(vertices, A, B, scratch)
    out = scratch.manifold
    if not gap <= margin:
        return 0, n, gap
    if B[0] == PLANE:
        return points_on_plane(vertices, A, B, margin, n, a, gap, scratch), n, gap
    set_point(out, 0, a, b, gap)
    if A[0] == SPHERE or B[0] == SPHERE:
        return 1, n, gap
    ca = feature(vertices, A, scale3(-1.0, n), scratch.face_a)
    cb = feature(vertices, B, n, scratch.face_b)
    if ca == 1 or cb == 1:
        return 1, n, gap
    if ca == 2:
        count = cut_edge(scratch.face_a, scratch.face_b, cb, n, scratch.clipped)
        count = gaps_of(scratch.clipped, count, scratch.face_b, cb, n, margin, out, False)
    elif cb == 2:
        count = cut_edge(scratch.face_b, scratch.face_a, ca, n, scratch.clipped)
        count = gaps_of(scratch.clipped, count, scratch.face_a, ca, n, margin, out, True)
    else:
        count = cut_face(scratch.face_a, ca, scratch.face_b, cb, n, scratch.clipped)
        count = gaps_of(scratch.clipped, count, scratch.face_b, cb, n, margin, out, False)
    count = with_nearest(out, count, a, b, gap)
    return thin_out(out, count, n), n, gap


@inlined
def set_point(out, i, a, b, gap):
    store3(out, i, 0, a)
    store3(out, i, 3, b)
    out[i, 6] = gap


@routine
def with_nearest(out, count, a, b, gap):
    """Adds the nearest points where no point of the cut features comes as near."""
    least = math.inf
    for i in range(count):
        least = min(least, out[i, 6])
    if count == 0 or (least > gap + SAME and count < ROOM):
        set_point(out, count, a, b, gap)
        return count + 1
    return count


# ----------------------------------------------------------------------------------------------------------------- planes


@routine
def points_on_plane(vertices, A, B, margin, n, a, gap, scratch):
    """Corners of A near the plane: both ends of a capsule, the corners of a box, the lowest feature of the others."""
    out, corners = scratch.manifold, scratch.face_a
    kind, R, p, size = A[0], A[1], A[2], A[3]
    if kind == CAPSULE:
        centre, half = axis_of(A)
        down = scale3(size[0], n)
        store3(corners, 0, 0, sub3(sub3(centre, half), down))
        store3(corners, 1, 0, sub3(add3(centre, half), down))
        count = 2
    elif kind == BOX:
        for k in range(8):
            x = size[0] if k & 1 else -size[0]
            y = size[1] if k & 2 else -size[1]
            z = size[2] if k & 4 else -size[2]
            store3(corners, k, 0, add3(matvec3(R, (x, y, z)), p))
        count = 8
    else:
        count = feature(vertices, A, scale3(-1.0, n), corners)
    found = 0
    for i in range(count):
        x = load3(corners, i, 0)
        height = dot3(n, sub3(x, B[2]))
        if height <= margin:
            set_point(out, found, x, sub3(x, scale3(height, n)), height)
            found += 1
    found = with_nearest(out, found, a, sub3(a, scale3(gap, n)), gap)
    return thin_out(out, found, n)


# ---------------------------------------------------------------------------------------------------------------- cutting


@routine
def cut_edge(edge, face, corners, n, out):
    """The part of an edge that lies over an edge (when parallel) or a face, as two points; 0 where there is none."""
    p, q = load3(edge, 0, 0), load3(edge, 1, 0)
    d = sub3(q, p)
    low, high = 0.0, 1.0
    if corners == 2:
        r, s = load3(face, 0, 0), load3(face, 1, 0)
        e = sub3(s, r)
        turn = cross3(d, e)
        if dot3(turn, turn) > FLAT * FLAT * dot3(d, d) * dot3(e, e):
            return 0
        t0, t1 = dot3(sub3(r, p), d) / dot3(d, d), dot3(sub3(s, p), d) / dot3(d, d)
        low, high = max(0.0, min(t0, t1)), min(1.0, max(t0, t1))
    else:
        turn = orientation(face, corners, n)
        for k in range(corners):
            r = load3(face, k, 0)
            side = scale3(turn, cross3(n, sub3(load3(face, (k + 1) % corners, 0), r)))  # points into the face
            start, slope = dot3(side, sub3(p, r)), dot3(side, d)
            if slope > 0.0:
                low = max(low, -start / slope)
            elif slope < 0.0:
                high = min(high, -start / slope)
            elif start < 0.0:
                return 0
    if not low <= high:
        return 0
    store3(out, 0, 0, add3(p, scale3(low, d)))
    store3(out, 1, 0, add3(p, scale3(high, d)))
    return 2


@routine
def orientation(face, corners, n):
    """+1 where the corners turn left seen against n, else -1."""
    total = 0.0
    p = load3(face, 0, 0)
    for k in range(1, corners - 1):
        total += dot3(n, cross3(sub3(load3(face, k, 0), p), sub3(load3(face, k + 1, 0), p)))
    return 1.0 if total >= 0.0 else -1.0


@routine
def cut_face(face, corners, other, sides, n, out):
    """Sutherland and Hodgman: the part of a face that lies over another one, both seen along n."""
    turn = orientation(other, sides, n)
    count = corners
    for i in range(corners):
        store3(out, i, 0, load3(face, i, 0))
    for k in range(sides):
        r = load3(other, k, 0)
        side = scale3(turn, cross3(n, sub3(load3(other, (k + 1) % sides, 0), r)))
        listed = 0
        last = load3(out, count - 1, 0)
        before = dot3(side, sub3(last, r))
        for i in range(count):
            x = load3(out, i, 0)
            here = dot3(side, sub3(x, r))
            if (before < 0.0) != (here < 0.0) and listed < ROOM:
                cut = add3(last, scale3(before / (before - here), sub3(x, last)))
                store3(face, listed, 0, cut)  # the face itself is free by now
                listed += 1
            if here >= 0.0 and listed < ROOM:
                store3(face, listed, 0, x)
                listed += 1
            last, before = x, here
        for i in range(listed):
            store3(out, i, 0, load3(face, i, 0))
        count = listed
        if count == 0:
            return 0
    return count


@routine
def gaps_of(points, count, other, corners, n, margin, out, points_are_of_b):
    """Pairs of points along n between a cut feature and the plane or line of the other; those beyond margin are dropped."""
    r = load3(other, 0, 0)
    if corners == 2:
        e = sub3(load3(other, 1, 0), r)
        across = cross3(n, e)
        m = cross3(e, across)  # normal of the plane that holds the edge and `across`
    else:
        m = cross3(sub3(load3(other, 1, 0), r), sub3(load3(other, 2, 0), r))
        for k in range(3, corners):  # three corners of a rim may be close: take the largest triangle
            m2 = cross3(sub3(load3(other, k - 1, 0), r), sub3(load3(other, k, 0), r))
            if dot3(m2, m2) > dot3(m, m):
                m = m2
    slope = dot3(m, n)
    if slope * slope < 0.25 * dot3(m, m):  # a sliver with no plane to speak of
        m, slope = n, 1.0
    found = 0
    for i in range(count):
        x = load3(points, i, 0)
        t = dot3(m, sub3(r, x)) / slope  # x + t n is on the other feature
        y = add3(x, scale3(t, n))
        gap = t if points_are_of_b else -t
        if gap <= margin:
            if points_are_of_b:
                set_point(out, found, y, x, gap)
            else:
                set_point(out, found, x, y, gap)
            found += 1
    return found


# --------------------------------------------------------------------------------------------------------------- thinning


@routine
def thin_out(out, count, n):
    """Keeps at most four: the nearest, the farthest from it, and the two that span most on either side.

    Of points that are as good but for rounding the first is taken, so that rounding does not choose.
    """
    if count <= 1:
        return count
    far, reach = farthest(out, count, load3(out, 0, 0))
    if reach == 0.0:
        return 1
    bring_forward(out, 0, deepest(out, count, SAME * math.sqrt(reach)))
    p = load3(out, 0, 0)
    far, reach = farthest(out, count, p)
    bring_forward(out, 1, far)
    d = sub3(load3(out, 1, 0), p)
    across = cross3(n, d)
    left, right = -1, -1
    none = SAME * dot3(d, d)
    most, least = none, -none
    for i in range(2, count):
        side = dot3(across, sub3(load3(out, i, 0), p))
        if side > most + none:
            most, left = side, i
        elif side < least - none:
            least, right = side, i
    listed = 2
    if left >= 0:
        bring_forward(out, listed, left)
        if right == listed:
            right = left
        listed += 1
    if right >= 0:
        bring_forward(out, listed, right)
        listed += 1
    return listed


@inlined
def deepest(out, count, none):
    """The first point that no other is below by more than `none` [m]."""
    best = 0
    for i in range(1, count):
        if out[i, 6] < out[best, 6] - none:
            best = i
    return best


@inlined
def farthest(out, count, p):
    """The first point that is as far from p as any, and its squared distance."""
    best, reach = 0, 0.0
    for i in range(count):
        d = sub3(load3(out, i, 0), p)
        if dot3(d, d) > reach * (1.0 + SAME):
            best, reach = i, dot3(d, d)
    return best, reach


@inlined
def bring_forward(out, i, j):
    """Swaps two rows."""
    if i != j:
        for c in range(7):
            out[i, c], out[j, c] = out[j, c], out[i, c]
