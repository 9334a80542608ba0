"""What kernels of contact read of the shapes of a model (`shape_table` makes it), and the numbers of a search."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linkwork.contact.geometry import solids
from linkwork.core.bundles import Float2, Int1, Int2

# The numbers of a search, query (24,): what it is after, in query[MODE], and what it has found.
CONTACTS, CLEARANCE, COLLISION, PASSING = 0.0, 1.0, 2.0, 3.0
MODE, MARGIN, STEP, LEAST, SHAPE_S, SHAPE_T, FOUND_NORMAL, FOUND_A, FOUND_B = 0, 1, 2, 3, 4, 5, 6, 9, 12
NEXT_IMPACT, FASTEST, CLEAR, THIN, QUERY = 15, 16, 17, 18, 24
SEARCHES, DISTANCES = 19, 20  # work of this step so far: searches for contacts, distances of solids that they asked for
# Pairs of rigid groups of one linkage that the last search for contacts found within margin and reaches; whether the
# distances that all groups have travelled are up to date.
NEAR_ITSELF, FOLLOWS = 21, 22

# columns of material beside friction and restitution, of friction with a direction: law, coefficients forward, backward and
# sideways, of the largest one each, and the axis, in the frame of the shape
M_LAW, M_PARTS, M_AXIS, M_PATCH, MATERIAL = 2, 3, 6, 9, 10


class ShapeTable(NamedTuple):
    """All shapes that can touch: those of the world first, then body by body."""

    kind: Int1  # (s,)    see geometry.solids
    body: Int1  # (s,)    body that carries the shape; -1 stands in the world
    entity: Int1  # (s,)    body, or n + number of the obstacle, for pairs to ignore
    pose: Float2  # (s, 12) rotation and position in the body's frame [m]
    size: Float2  # (s, 3)  lengths by kind [m]
    span: Int2  # (s, 2)  HULL: first vertex, how many. MESH: first and last+1 node of its tree
    box: Float2  # (s, 6)  centre and half edges around the shape, in the body's frame [m]; planes: infinite
    material: Float2  # (s, 10)  friction, restitution; see M_LAW
    filter: Int2  # (s, 2)  group, mask
    vertices: Float2  # (v, 3)  of hulls; of triangles three by three [m]
    mesh_boxes: Float2  # (k, 6)  trees over the triangles of meshes, in the shape's frame
    mesh_links: Int2  # (k, 3)  left, right; first vertex of the triangle of a leaf
    first: Int1  # (n+2,)  shapes of body i are first[i+1] to first[i+2]; of the world first[0] to first[1]
    planes: Int1  # (p,)    shapes that are planes
    world_boxes: Float2  # (2w-1, 6) tree over the bounded shapes of the world
    world_links: Int2  # (2w-1, 3) left, right; shape
    ignored: Int1  # (g,)    sorted keys entity · stride + entity of pairs that never touch
    stride: Int1  # (1,)    of those keys
    parent: Int1  # (n,)    of each body


def thinnest(table: ShapeTable) -> float:
    """Half the least width of the shapes that move [m]; infinite where none does."""
    moving = np.flatnonzero(table.body >= 0)
    lengths = {
        solids.SPHERE: slice(0, 1), solids.CAPSULE: slice(0, 1), solids.BOX: slice(0, 3), solids.CYLINDER: slice(0, 2),
        solids.HULL: slice(1, 2),
    }  # fmt: skip
    return min((float(table.size[s, lengths[int(table.kind[s])]].min()) for s in moving), default=math.inf)
