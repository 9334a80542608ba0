"""Two boxes that overlap, where a corner of one is in a face of the other: their distance in closed form.

Of two boxes that overlap, the least width along any direction is one along an edge of either or across an edge of each
(the directions of faces of their difference set). Where it is along an edge, a corner of the other box lies deepest, and
its foot is in that face. Everything else is searched for (`epa`): edges across edges, and feet that rounding put outside.
"""

import math

from linkwork.contact.geometry.solids import core_support
from linkwork.core.jit import inlined, routine
from linkwork.spatial.rotations import add3, dot3, matvec3, scale3, sub3, tmatvec3

TIE = 1e-9  # of the size of a box: edges must be shallower than a face by more, and feet may lie outside by it
PARALLEL = 1e-9  # sine between two edges that have no direction across them
ZERO = (0.0, 0.0, 0.0)


@inlined
def edge_gap(t, u, R, S, a, b, x, y):
    """Separation across two edges, times the sine between them, and its square.

    t, u: way between the centres along the other edges of one box; R, S: the edge of the other box along these; a, b: half
    edges that count with R and S; x, y: what the other box takes up.
    """
    return abs(u * R - t * S) - (a * abs(S) + b * abs(R) + x + y), R * R + S * S


@inlined
def is_deeper(sep, best, tie):
    """Whether a separation across edges leaves a face that is `best` apart, below zero, the nearest one."""
    value, square = sep
    return value <= best or square <= PARALLEL * PARALLEL or value <= (best + tie) * math.sqrt(square)


@routine
def corner_in_face(vertices, A, B):
    """(known, gap, normal from B to A, point of A, point of B) of two boxes; known: they overlap, by a corner in a face."""
    Ra, Rb, h, k = A[1], B[1], A[3], B[3]
    between = sub3(A[2], B[2])
    d, e = tmatvec3(Ra, between), tmatvec3(Rb, between)
    r0 = tmatvec3(Ra, (Rb[0], Rb[3], Rb[6]))  # edges of B, along those of A
    r1 = tmatvec3(Ra, (Rb[1], Rb[4], Rb[7]))
    r2 = tmatvec3(Ra, (Rb[2], Rb[5], Rb[8]))
    best, face = -math.inf, 0
    for c in range(3):
        own = abs(d[c]) - (h[c] + abs(r0[c]) * k[0] + abs(r1[c]) * k[1] + abs(r2[c]) * k[2])
        if own > best:
            best, face = own, c
    s0 = abs(e[0]) - (k[0] + abs(r0[0]) * h[0] + abs(r0[1]) * h[1] + abs(r0[2]) * h[2])
    s1 = abs(e[1]) - (k[1] + abs(r1[0]) * h[0] + abs(r1[1]) * h[1] + abs(r1[2]) * h[2])
    s2 = abs(e[2]) - (k[2] + abs(r2[0]) * h[0] + abs(r2[1]) * h[1] + abs(r2[2]) * h[2])
    if s0 > best:
        best, face = s0, 3
    if s1 > best:
        best, face = s1, 4
    if s2 > best:
        best, face = s2, 5
    if not best < 0.0 or dot3(between, between) == 0.0:
        return False, best, ZERO, ZERO, ZERO
    tie = TIE * max(max(h[0], h[1]), h[2])
    if not is_face_nearest(d, r0, r1, r2, h, k, best, tie):
        return False, best, ZERO, ZERO, ZERO
    if face < 3:
        known, n, b, a = foot(vertices, B, A, Ra, d, h, face, best, -1.0, tie)
    else:
        known, n, a, b = foot(vertices, A, B, Rb, e, k, face - 3, best, 1.0, tie)
    return known, best, n, a, b


@inlined
def is_face_nearest(d, r0, r1, r2, h, k, best, tie):
    """Whether no direction across an edge of each box separates them better than a face does."""
    good = True
    for c in range(3):
        p, q = (c + 1) % 3, (c + 2) % 3
        x, y, z = abs(r0[c]), abs(r1[c]), abs(r2[c])
        good = good and is_deeper(edge_gap(d[p], d[q], r0[p], r0[q], h[p], h[q], k[1] * z, k[2] * y), best, tie)
        good = good and is_deeper(edge_gap(d[p], d[q], r1[p], r1[q], h[p], h[q], k[2] * x, k[0] * z), best, tie)
        good = good and is_deeper(edge_gap(d[p], d[q], r2[p], r2[q], h[p], h[q], k[0] * y, k[1] * x), best, tie)
    return good


@inlined
def foot(vertices, solid, base, R, way, half, face, gap, sign, tie):
    """(known, normal from B to A, the deepest corner of a solid, its foot in a face of the base); sign: -1 where base is A.

    way: from the centre of B to that of A, along the edges of the base.
    """
    outward = sign * (1.0 if way[face] >= 0.0 else -1.0)
    axis = (
        outward if face == 0 else 0.0,
        outward if face == 1 else 0.0,
        outward if face == 2 else 0.0,
    )
    out = matvec3(R, axis)  # from the base to the solid
    corner = core_support(vertices, solid, scale3(-1.0, out))
    at = add3(corner, scale3(-gap, out))
    place = tmatvec3(R, sub3(at, base[2]))
    inside = True
    for c in range(3):
        inside = inside and abs(place[c]) <= half[c] + tie
    return inside, scale3(sign, out), corner, at
