"""Boxes around things, and trees of boxes around many that do not move."""

import math

import numpy as np

from linkwork.core.jit import inlined, kernel, routine
from linkwork.spatial.rotations import add3, matvec3, tmatvec3

# A volume is a row: centre (3) and half edges (3) of a box in some frame. A negative half edge: nothing inside.
CENTRE, HALF, REACH, VOLUME = 0, 3, 6, 8


@inlined
def box_to_parent(R, p, centre, half):
    """The box, along the parent's axes, around a box of the child."""
    h = (
        abs(R[0]) * half[0] + abs(R[1]) * half[1] + abs(R[2]) * half[2],
        abs(R[3]) * half[0] + abs(R[4]) * half[1] + abs(R[5]) * half[2],
        abs(R[6]) * half[0] + abs(R[7]) * half[1] + abs(R[8]) * half[2],
    )
    return add3(matvec3(R, centre), p), h


@inlined
def union(ca, ha, cb, hb):
    """The box around two boxes of one frame."""
    if ha[0] < 0.0:
        return cb, hb
    if hb[0] < 0.0:
        return ca, ha
    lx, ux = min(ca[0] - ha[0], cb[0] - hb[0]), max(ca[0] + ha[0], cb[0] + hb[0])
    ly, uy = min(ca[1] - ha[1], cb[1] - hb[1]), max(ca[1] + ha[1], cb[1] + hb[1])
    lz, uz = min(ca[2] - ha[2], cb[2] - hb[2]), max(ca[2] + ha[2], cb[2] + hb[2])
    return (0.5 * (lx + ux), 0.5 * (ly + uy), 0.5 * (lz + uz)), (0.5 * (ux - lx), 0.5 * (uy - ly), 0.5 * (uz - lz))


@routine
def box_separation(Ra, pa, ca, ha, Rb, pb, cb, hb):
    """Largest separation of two turned boxes along an edge direction of one of them [m]; infinite where one is empty.

    A lower bound of their distance (nine more directions give it exactly); below zero they may overlap by it.
    """
    if ha[0] < 0.0 or hb[0] < 0.0:
        return math.inf
    d = matvec3(Rb, cb)
    e = matvec3(Ra, ca)
    d = (d[0] + pb[0] - e[0] - pa[0], d[1] + pb[1] - e[1] - pa[1], d[2] + pb[2] - e[2] - pa[2])
    da, db = tmatvec3(Ra, d), tmatvec3(Rb, d)
    t00 = abs(Ra[0] * Rb[0] + Ra[3] * Rb[3] + Ra[6] * Rb[6])
    t01 = abs(Ra[0] * Rb[1] + Ra[3] * Rb[4] + Ra[6] * Rb[7])
    t02 = abs(Ra[0] * Rb[2] + Ra[3] * Rb[5] + Ra[6] * Rb[8])
    t10 = abs(Ra[1] * Rb[0] + Ra[4] * Rb[3] + Ra[7] * Rb[6])
    t11 = abs(Ra[1] * Rb[1] + Ra[4] * Rb[4] + Ra[7] * Rb[7])
    t12 = abs(Ra[1] * Rb[2] + Ra[4] * Rb[5] + Ra[7] * Rb[8])
    t20 = abs(Ra[2] * Rb[0] + Ra[5] * Rb[3] + Ra[8] * Rb[6])
    t21 = abs(Ra[2] * Rb[1] + Ra[5] * Rb[4] + Ra[8] * Rb[7])
    t22 = abs(Ra[2] * Rb[2] + Ra[5] * Rb[5] + Ra[8] * Rb[8])
    a = max(
        abs(da[0]) - (ha[0] + t00 * hb[0] + t01 * hb[1] + t02 * hb[2]),
        abs(da[1]) - (ha[1] + t10 * hb[0] + t11 * hb[1] + t12 * hb[2]),
    )
    b = max(
        abs(da[2]) - (ha[2] + t20 * hb[0] + t21 * hb[1] + t22 * hb[2]),
        abs(db[0]) - (hb[0] + t00 * ha[0] + t10 * ha[1] + t20 * ha[2]),
    )
    c = max(
        abs(db[1]) - (hb[1] + t01 * ha[0] + t11 * ha[1] + t21 * ha[2]),
        abs(db[2]) - (hb[2] + t02 * ha[0] + t12 * ha[1] + t22 * ha[2]),
    )
    return max(max(a, b), c)


@inlined
def boxes_apart(Ra, pa, ca, ha, Rb, pb, cb, hb, margin):
    """Whether two turned boxes are farther apart than `margin` along an edge direction of one of them.

    False may be wrong, True never is.
    """
    return box_separation(Ra, pa, ca, ha, Rb, pb, cb, hb) > margin


@kernel(allocates=True)
def build_tree(boxes):
    """A binary tree over boxes (m, 6: centre, half): rows of volumes (2m-1, 6) and of links (2m-1, 3: left, right, item).

    Items are halved by the median along the longest side; the root is row 0. Cost: O(m log² m).
    """
    m = boxes.shape[0]
    volumes = np.empty((max(2 * m - 1, 0), 6))
    links = np.full((max(2 * m - 1, 0), 3), -1, dtype=np.int64)
    order = np.arange(m)
    stack = np.empty((m + 2, 3), dtype=np.int64)
    count = 0
    top = -1
    if m > 0:
        top = 0
        stack[0, 0], stack[0, 1], stack[0, 2] = 0, m, 0
        count = 1
    while top >= 0:
        a, b, node = stack[top, 0], stack[top, 1], stack[top, 2]
        top -= 1
        low = np.full(3, np.inf)
        high = np.full(3, -np.inf)
        for i in range(a, b):
            for c in range(3):
                low[c] = min(low[c], boxes[order[i], c] - boxes[order[i], 3 + c])
                high[c] = max(high[c], boxes[order[i], c] + boxes[order[i], 3 + c])
        axis = 0
        for c in range(3):
            volumes[node, c] = 0.5 * (low[c] + high[c])
            volumes[node, 3 + c] = 0.5 * (high[c] - low[c])
            if high[c] - low[c] > high[axis] - low[axis]:
                axis = c
        if b - a == 1:
            links[node, 2] = order[a]
            continue
        run = order[a:b].copy()
        order[a:b] = run[np.argsort(boxes[run, axis], kind="mergesort")]
        middle = (a + b) // 2
        links[node, 0], links[node, 1] = count, count + 1
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2] = a, middle, count
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2] = middle, b, count + 1
        count += 2
    return volumes, links
