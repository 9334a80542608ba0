"""How far rigid groups have travelled, by which the search skips what cannot have come near: (4) of `near_world`.

A file of its own, since what changes the region of an adaptive simulation measures ways and searches for nothing.
"""

import math

from linkwork.contact.geometry.boxes import CENTRE, HALF
from linkwork.contact.listed_pairs import forget_list_of_pairs
from linkwork.contact.near_itself import CHORD, LEFT
from linkwork.contact.volumes import FARTHEST, REGION, length
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3, load9, store3, store9
from linkwork.spatial.rotations import add3, matvec3, sub3

ROUNDING = 1e-12  # of coordinates: what rounding may hide of a displacement or a distance
LONG = 1e3  # [m] of way after which counting begins anew, before rounding eats into it


@inlined
def displacement(volumes, row, R, p):
    """Bound of how far a point of a rigid group has gone since its last pose.

    |R₁c + p₁ - R₀c - p₀| + |R₁ - R₀| r for all points within r of the centre c; the norm is 2 sin(½ angle).
    """
    c, h = load3(volumes.volume, row, CENTRE), load3(volumes.volume, row, HALF)
    R0, p0 = load9(volumes.last_pose, row, 0), load3(volumes.last_pose, row, 9)
    turned = 0.0
    for e in range(9):
        turned += (R[e] - R0[e]) ** 2
    now, before = add3(matvec3(R, c), p), add3(matvec3(R0, c), p0)
    r = length(h)
    return length(sub3(now, before)) + CHORD * math.sqrt(turned) * r + ROUNDING * (length(now) + length(c) + r)


@routine
def forget_clearances(volumes):
    """Nothing is known of any distance. Cost: O(n)."""
    for k in range(volumes.clearance_bound.shape[0]):
        volumes.clearance_bound[k] = -math.inf
        volumes.travelled[k] = 0.0
    for i in range(volumes.other_bound.shape[0]):
        volumes.other_bound[i] = -math.inf
    for k in range(volumes.pair_bounds.shape[0]):
        volumes.pair_bounds[k, LEFT] = -math.inf
    volumes.region_state[FARTHEST] = 0.0
    forget_list_of_pairs(volumes)


@inlined
def add_travel(volumes, row, R, p):
    """Adds the way of a rigid group to R, p since the last time to `travelled`, and returns that.

    A node that was a group in the present region or in the one before has a last pose; another one has just become one.
    """
    region = int(volumes.region_state[REGION])
    if volumes.last_region[row] >= region - 1:
        volumes.travelled[row] += displacement(volumes, row, R, p)
    volumes.last_region[row] = region
    store9(volumes.last_pose, row, 0, R)
    store3(volumes.last_pose, row, 9, p)
    return volumes.travelled[row]


@routine
def note_farthest(volumes, farthest):
    """No rigid group has travelled farther [m]."""
    volumes.region_state[FARTHEST] = farthest
    if not farthest < LONG:
        forget_clearances(volumes)
