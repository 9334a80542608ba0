"""How far rigid parts have gone, by which the search knows what it need not look at: `gone` of `near_world` (18).

A file of its own, since what changes the region of an adaptive simulation measures ways and searches for nothing.
"""

import math

from linkwork.contact.geometry.boxes import CENTRE, HALF
from linkwork.contact.listed_pairs import forget_list_of_pairs
from linkwork.contact.near_itself import CHORD, LEFT
from linkwork.contact.volumes import REGION, TRAVEL, length
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3, load9, store3, store9
from linkwork.spatial.rotations import add3, matvec3, sub3

ROUNDING = 1e-12  # of coordinates: what rounding may hide of a displacement or a distance
LONG = 1e3  # [m] of way after which counting begins anew, before rounding eats into it


@inlined
def displacement(volumes, row, R, p):
    """Bound of how far a point of a front has gone since it stood where `stood` says.

    |R₁c + p₁ - R₀c - p₀| + |R₁ - R₀| r for all points within r of the centre c; the norm is 2 sin(½ angle).
    """
    c, h = load3(volumes.volume, row, CENTRE), load3(volumes.volume, row, HALF)
    R0, p0 = load9(volumes.stood, row, 0), load3(volumes.stood, row, 9)
    turned = 0.0
    for e in range(9):
        turned += (R[e] - R0[e]) ** 2
    now, before = add3(matvec3(R, c), p), add3(matvec3(R0, c), p0)
    r = length(h)
    return length(sub3(now, before)) + CHORD * math.sqrt(turned) * r + ROUNDING * (length(now) + length(c) + r)


@routine
def forget_clearances(volumes):
    """Nothing is known of any distance. Cost: O(n)."""
    for k in range(volumes.known.shape[0]):
        volumes.known[k] = -math.inf
        volumes.gone[k] = 0.0
    for i in range(volumes.beyond.shape[0]):
        volumes.beyond[i] = -math.inf
    for k in range(volumes.pairs_known.shape[0]):
        volumes.pairs_known[k, LEFT] = -math.inf
    volumes.travel[TRAVEL] = 0.0
    forget_list_of_pairs(volumes)


@inlined
def go_to(volumes, row, R, p):
    """A front stands at R, p now: adds its way since the last time to `gone`, and returns that.

    One that was a front in the present region or in the one before has stood somewhere; another one has just become one.
    """
    region = int(volumes.travel[REGION])
    if volumes.part_in[row] >= region - 1:
        volumes.gone[row] += displacement(volumes, row, R, p)
    volumes.part_in[row] = region
    store9(volumes.stood, row, 0, R)
    store3(volumes.stood, row, 9, p)
    return volumes.gone[row]


@routine
def note_farthest(volumes, gone):
    """No front has gone farther than `gone` [m]."""
    volumes.travel[TRAVEL] = gone
    if not gone < LONG:
        forget_clearances(volumes)
