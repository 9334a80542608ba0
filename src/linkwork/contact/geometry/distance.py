"""Signed distance of two solids: closed forms where there are some, otherwise GJK and, where cores overlap, EPA."""

import math
from typing import NamedTuple

import numpy as np

from linkwork.contact.geometry.closed_forms import (
    any_plane,
    capsule_beside_cylinder,
    capsule_outside_box,
    inflate,
    round_round,
    sphere_box,
    sphere_cylinder,
)
from linkwork.contact.geometry.epa import MAX_FACES, WORK_ROWS, epa
from linkwork.contact.geometry.gjk import OVERLAP, gjk
from linkwork.contact.geometry.overlapping_boxes import corner_in_face
from linkwork.contact.geometry.solids import BOX, CAPSULE, CYLINDER, PLANE, SPHERE, TRIANGLE, core_radius
from linkwork.core.bundles import Float2, Int1, Int2
from linkwork.core.jit import inlined, kernel, routine
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.rotations import add3, any_normal, cross3, dot3, matvec3, scale3, sub3


class Scratch(NamedTuple):
    """Memory of the narrow phase, one set per thread."""

    points: Float2  # (96, 9)   simplex or polytope: difference, point of a, point of b [m]
    faces: Int2  # (192, 3)  of the polytope
    planes: Float2  # (192, 4)  outward normals and distances [m]
    horizon: Int2  # (192, 2)  edges between faces that are seen and those that are not
    face_a: Float2  # (24, 3)   support feature of A [m]
    face_b: Float2  # (24, 3)   of B
    clipped: Float2  # (24, 3)
    manifold: Float2  # (24, 7)   contact points of one pair: point of A, of B, gap [m]
    stack: Int1  # (256,)    nodes of a mesh that wait


def make_scratch() -> Scratch:
    return Scratch(
        np.zeros((WORK_ROWS, 9)),
        np.zeros((MAX_FACES, 3), dtype=np.int64),
        np.zeros((MAX_FACES, 4)),
        np.zeros((MAX_FACES, 2), dtype=np.int64),
        np.zeros((24, 3)),
        np.zeros((24, 3)),
        np.zeros((24, 3)),
        np.zeros((24, 7)),
        np.zeros(256, dtype=np.int64),
    )


@routine
def signed_distance(vertices, A, B, scratch):
    """(gap, normal, a, b): signed distance [m], unit normal from B to A, nearest surface points in the world.

    Convex solids and planes; two planes have no distance (gap infinite).
    """
    ka, kb = A[0], B[0]
    if ka == PLANE or (kb == SPHERE and ka != SPHERE) or (kb == CAPSULE and ka > CAPSULE):
        if ka == PLANE and kb == PLANE:
            return math.inf, (0.0, 0.0, 1.0), A[2], B[2]
        gap, n, b, a = ordered_distance(vertices, B, A, scratch)
        return gap, scale3(-1.0, n), a, b
    return ordered_distance(vertices, A, B, scratch)


@routine
def ordered_distance(vertices, A, B, scratch):
    """The same where A is the simpler one."""
    ka, kb = A[0], B[0]
    if kb == PLANE:
        return any_plane(vertices, A, B)
    if ka <= CAPSULE and kb <= CAPSULE:
        return round_round(A, B)
    if ka == SPHERE and kb == BOX:
        return sphere_box(A, B)
    if ka == SPHERE and kb == CYLINDER:
        return sphere_cylinder(A, B)
    if ka == CAPSULE and kb == CYLINDER:
        known, gap, n, a, b = capsule_beside_cylinder(A, B)
        if known:
            return gap, n, a, b
    if ka == CAPSULE and kb == BOX:
        known, gap, n, a, b = capsule_outside_box(A, B)
        if known:
            return gap, n, a, b
    if ka == BOX and kb == BOX:
        known, gap, n, a, b = corner_in_face(vertices, A, B)
        if known:
            return gap, n, a, b
    return searched_distance(vertices, A, B, scratch)


@routine
def searched_distance(vertices, A, B, scratch):
    status, a, b, count = gjk(vertices, A, B, scratch.points)
    ra, rb = core_radius(A), core_radius(B)
    if status == OVERLAP:
        found, n, depth, ea, eb = epa(vertices, A, B, count, scratch)
        if not found:  # a flat set of differences: cores in one plane, or a point in a triangle
            n, depth, ea, eb = flat_normal(vertices, A, B), 0.0, a, b
        return -depth - ra - rb, n, sub3(ea, scale3(ra, n)), add3(eb, scale3(rb, n))
    zero = (0.0, 0.0, 0.0)
    return inflate(a, b, ra, rb, zero, zero, zero)


@routine
def flat_normal(vertices, A, B):
    """A direction out of cores that lie in one plane."""
    if B[0] == TRIANGLE:
        return triangle_normal(vertices, B)
    if A[0] == TRIANGLE:
        return scale3(-1.0, triangle_normal(vertices, A))
    between = sub3(A[2], B[2])
    if dot3(between, between) > 0.0:
        return scale3(1.0 / math.sqrt(dot3(between, between)), between)
    return any_normal((B[1][2], B[1][5], B[1][8]))


@inlined
def triangle_normal(vertices, solid):
    """Unit normal of a triangle in the world, by the turn of its corners."""
    f = solid[4]
    p = load3(vertices, f, 0)
    n = cross3(sub3(load3(vertices, f + 1, 0), p), sub3(load3(vertices, f + 2, 0), p))
    return matvec3(solid[1], scale3(1.0 / math.sqrt(dot3(n, n)), n))


@kernel
def distances(vertices, kinds, poses, sizes, spans, scratch, out):
    """Signed distances of pairs, one after the other, for planners and tests.

    kinds (m, 2); poses (m, 2, 12); sizes (m, 2, 3); spans (m, 2, 2) runs of vertices.
    out (m, 10): gap, normal from B to A, nearest point of A, of B.
    """
    for i in range(kinds.shape[0]):
        A = (
            kinds[i, 0],
            load9(poses[i], 0, 0),
            load3(poses[i], 0, 9),
            load3(sizes[i], 0, 0),
            spans[i, 0, 0],
            spans[i, 0, 1],
        )
        B = (
            kinds[i, 1],
            load9(poses[i], 1, 0),
            load3(poses[i], 1, 9),
            load3(sizes[i], 1, 0),
            spans[i, 1, 0],
            spans[i, 1, 1],
        )
        gap, n, a, b = signed_distance(vertices, A, B, scratch)
        out[i, 0] = gap
        for c in range(3):
            out[i, 1 + c], out[i, 4 + c], out[i, 7 + c] = n[c], a[c], b[c]
