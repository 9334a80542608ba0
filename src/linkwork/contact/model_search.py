"""All contacts of a linkage at once, whose volumes are placed in the world: the search of queries and of first looks.

Steps search from one moment to the next (`simulation.contact_step.search`), by the same descent of the tree against itself
(`broad_phase`); obstacles are met here by a descent of both trees.
"""

from __future__ import annotations

import math

import numpy as np

from linkwork.contact.broad_phase import (
    STACK_FULL,
    WIDTH,
    Finder,
    begin_search,
    is_decided,
    load_side,
    margin_now,
    search_itself,
    store_side,
)
from linkwork.contact.contact_list import make_contacts, warm_start
from linkwork.contact.geometry.boxes import CENTRE, HALF, REACH, boxes_apart
from linkwork.contact.geometry.distance import make_scratch
from linkwork.contact.narrow_phase import list_contacts, may_touch, narrow_of
from linkwork.contact.near_world import list_obstacle
from linkwork.contact.swept import Side
from linkwork.contact.tables import (
    CLEARANCE,
    LEAST,
    MODE,
    QUERY,
    THIN,
    ShapeTable,
    thinnest,
)
from linkwork.contact.volumes import (
    Volumes,
    below,
    body_of,
    is_own,
    place_child,
    place_nodes,
    refit,
)
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import inlined, kernel, routine
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.rotations import IDENTITY3, ZERO3, dot3
from linkwork.spatial.vectors import ZERO6


def make_finder(table: ShapeTable, volumes: Volumes, depth: int, capacity: int = 256) -> Finder:
    """depth: of the assembly tree; capacity: contacts at first."""
    rows = 8 * depth + 4 * (len(table.world_links).bit_length() + 8) + 64
    query = np.zeros(QUERY)
    query[THIN] = thinnest(table)
    return Finder(
        table,
        volumes,
        make_contacts(capacity),
        make_scratch(),
        np.zeros((rows, 2), dtype=np.int64),
        np.zeros((rows, WIDTH)),
        query,
    )


@routine
def find_contacts(finder, open_nodes, margin, h, self_contact):
    """Lists the contacts of this moment; volumes' places and twists are up to date.

    open_nodes: nodes with moving joints, children before parents. h: step over which bodies are followed [s]; 0: none.
    Returns the number of contacts, or -1 where the stack was too short.
    """
    refit(finder.volumes, open_nodes, h)
    begin_search(finder, margin, h)
    if not search(finder, open_nodes, self_contact):
        return STACK_FULL
    warm_start(finder.contacts)
    return finder.contacts.number[0]


def find_all_contacts(finder: Finder, open_nodes, poses, twists, margin, h, self_contact) -> int:  # type: ignore[no-untyped-def]
    """The same for a linkage whose joints all move: world poses (n, 12), twists (n, 6; world axes, at body origins)."""
    nothing = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
    found: int = look(finder, open_nodes, poses, twists, margin, h, self_contact, *nothing)
    return found


def gaps_of_shapes(finder: Finder, poses: FloatArray, pairs: IntArray) -> FloatArray:
    """Distances of pairs of shapes, (k, 2), below zero where they overlap [m]; infinite where they may not touch."""
    gaps = np.zeros(len(pairs))
    look(finder, np.zeros(0, dtype=np.int64), poses, np.zeros((len(poses), 6)), 0.0, 0.0, False, pairs, gaps)
    return gaps


@kernel
def look(finder, open_nodes, poses, twists, margin, h, self_contact, pairs, gaps):
    """Both of these, in one kernel: most of what it takes to compile them is the same."""
    if pairs.shape[0] == 0:
        place_nodes(finder.volumes, poses, twists)
        return find_contacts(finder, open_nodes, margin, h, self_contact)
    for k in range(pairs.shape[0]):
        finder.query[MODE], finder.query[LEAST] = CLEARANCE, math.inf
        if may_touch(finder.table, pairs[k, 0], pairs[k, 1]):
            measure_pair(finder, poses, pairs[k, 0], pairs[k, 1])
        gaps[k] = finder.query[LEAST]
    return 0


@inlined
def pose_of_shape(table, poses, s):
    """World pose of the body that shape s stands on."""
    R, p = IDENTITY3, ZERO3
    if table.body[s] >= 0:
        R, p = load9(poses, table.body[s], 0), load3(poses, table.body[s], 9)
    return R, p


@routine
def measure_pair(finder, poses, s, t):
    """The distance of two shapes, kept where it is the smallest so far."""
    table = finder.table
    Ra, pa = pose_of_shape(table, poses, s)
    Rb, pb = pose_of_shape(table, poses, t)
    list_contacts(narrow_of(finder), Side(s, Ra, pa, ZERO6), Side(t, Rb, pb, ZERO6), 0.0)


@routine
def search(finder, open_nodes, self_contact):
    """Visits all pairs of shapes that may be near; False where the stack was too short."""
    root = finder.volumes.nodes.shape[0] - 1
    if root < 0:
        return True
    if not search_world(finder, root):
        return False
    if self_contact and not is_decided(finder.query):
        return search_itself(finder, open_nodes)
    return True


@routine
def search_world(finder, root):
    table, volumes = finder.table, finder.volumes
    for i in range(table.planes.shape[0]):
        store_side(finder, 0, 0, root, IDENTITY3, ZERO3, ZERO6, finder.volumes.volume[root, REACH])
        if not descend_plane(finder, table.planes[i]):
            return False
    if table.world_links.shape[0] == 0:
        return True
    store_side(finder, 0, 0, root, IDENTITY3, ZERO3, ZERO6, finder.volumes.volume[root, REACH])
    finder.pairs[0, 1] = 0
    top = 0
    while top >= 0:
        if is_decided(finder.query):
            return True
        k, w = finder.pairs[top, 0], finder.pairs[top, 1]
        R, p, V, reach = load_side(finder, top, 0)
        top -= 1
        centre, half = load3(volumes.volume, k, CENTRE), load3(volumes.volume, k, HALF)
        box_c, box_h = load3(table.world_boxes, w, 0), load3(table.world_boxes, w, 3)
        if boxes_apart(R, p, centre, half, IDENTITY3, ZERO3, box_c, box_h, margin_now(finder.query) + reach):
            continue
        is_leaf = table.world_links[w, 0] < 0
        if top + 3 > finder.pairs.shape[0]:
            return False
        if is_own(volumes, k) and is_leaf:
            list_obstacle(finder, body_of(volumes, k), R, p, V, table.world_links[w, 2], reach)
        elif is_own(volumes, k) or (not is_leaf and dot3(box_h, box_h) > dot3(half, half)):
            for c in range(2):
                top += 1
                store_side(finder, top, 0, k, R, p, V, reach)
                finder.pairs[top, 1] = table.world_links[w, c]
        else:
            before, top = top, push_parts(finder, top, k, R, p, V, reach)
            finder.pairs[before + 1 : top + 1, 1] = w
    return True


@routine
def descend_plane(finder, plane):
    """The tree against one plane; the root is in row 0 of the stack."""
    table, volumes = finder.table, finder.volumes
    R0, p0 = load9(table.pose, plane, 0), load3(table.pose, plane, 9)
    n = (R0[2], R0[5], R0[8])
    level = dot3(n, p0)
    top = 0
    while top >= 0:
        if is_decided(finder.query):
            return True
        k = finder.pairs[top, 0]
        R, p, V, reach = load_side(finder, top, 0)
        top -= 1
        c, h = load3(volumes.volume, k, CENTRE), load3(volumes.volume, k, HALF)
        if h[0] < 0.0:
            continue
        m = (dot3(n, (R[0], R[3], R[6])), dot3(n, (R[1], R[4], R[7])), dot3(n, (R[2], R[5], R[8])))
        low = dot3(n, p) + dot3(m, c) - abs(m[0]) * h[0] - abs(m[1]) * h[1] - abs(m[2]) * h[2] - level
        if low > margin_now(finder.query) + reach:
            continue
        if is_own(volumes, k):
            list_obstacle(finder, body_of(volumes, k), R, p, V, plane, reach)
            continue
        if top + 3 > finder.pairs.shape[0]:
            return False
        top = push_parts(finder, top, k, R, p, V, reach)
    return True


@inlined
def push_parts(finder, top, k, R, p, V, reach):
    """The parts of volume k on the stack above row `top`; returns the row of the last of them."""
    volumes = finder.volumes
    first, second = below(volumes, k)
    for child in (first, second):
        if child >= 0:
            Rc, pc, Vc, rc = place_child(volumes, k, child, R, p, V, reach)
            top += 1
            store_side(finder, top, 0, child, Rc, pc, Vc, rc)
    return top
