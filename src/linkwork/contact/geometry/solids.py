"""Solids as kernels see them: a convex core, and a radius around it.

A *solid* is a tuple `(kind, R, p, size, first, count)`: the pose of the shape in the world, three lengths, and a run of the
vertex table. The core of a sphere is its centre, of a capsule its segment; boxes, cylinders, hulls and triangles are their
own core, with no radius. All distances are distances of cores less the radii.

size by kind: SPHERE (radius, -, -); CAPSULE and CYLINDER (radius, half length, -); BOX half edges; HULL (reach of the
vertices from the origin, half the least width, -); TRIANGLE (that reach, -, -); PLANE none, its outside is z > 0; MESH (a
height field too) is a set of triangles.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.spatial.rotations import add3, matvec3, tmatvec3

SPHERE, CAPSULE, BOX, CYLINDER, HULL, TRIANGLE, PLANE, MESH = range(8)

TINY = 1e-300  # a direction shorter than this has no direction


@inlined
def core_radius(solid):
    """Radius around the core [m]."""
    if solid[0] == SPHERE or solid[0] == CAPSULE:
        return solid[3][0]
    return 0.0


@inlined
def core_reach(solid):
    """Largest distance of a point of the core from the shape's origin [m]."""
    kind, size = solid[0], solid[3]
    if kind == SPHERE:
        return 0.0
    if kind == CAPSULE:
        return size[1]
    if kind == CYLINDER:
        return math.sqrt(size[0] * size[0] + size[1] * size[1])
    if kind == BOX:
        return math.sqrt(size[0] * size[0] + size[1] * size[1] + size[2] * size[2])
    return size[0]


@inlined
def half_width(solid):
    """Half the least width of a solid [m]; zero for a triangle, infinite for a plane."""
    kind, size = solid[0], solid[3]
    if kind == SPHERE or kind == CAPSULE:
        return size[0]
    if kind == BOX:
        return min(size[0], min(size[1], size[2]))
    if kind == CYLINDER:
        return min(size[0], size[1])
    if kind == HULL:
        return size[1]
    return math.inf if kind == PLANE else 0.0


@routine
def core_support(vertices, solid, direction):
    """The point of the core that lies farthest along `direction`, both in the world."""
    kind, R, p, size, first, count = solid
    if kind == SPHERE:
        return p
    d = tmatvec3(R, direction)
    if kind == CAPSULE:
        local = (0.0, 0.0, math.copysign(size[1], d[2]))
    elif kind == BOX:
        local = (math.copysign(size[0], d[0]), math.copysign(size[1], d[1]), math.copysign(size[2], d[2]))
    elif kind == CYLINDER:
        across = math.sqrt(d[0] * d[0] + d[1] * d[1])
        if across > TINY:
            local = (size[0] * d[0] / across, size[0] * d[1] / across, math.copysign(size[1], d[2]))
        else:
            local = (size[0], 0.0, math.copysign(size[1], d[2]))
    else:
        best, far = first, -math.inf
        for i in range(first, first + count):
            height = vertices[i, 0] * d[0] + vertices[i, 1] * d[1] + vertices[i, 2] * d[2]
            if height > far:
                best, far = i, height
        local = (vertices[best, 0], vertices[best, 1], vertices[best, 2])
    return add3(matvec3(R, local), p)
