"""Two rigid groups of one linkage, compared again only when they may have come near each other.

Groups of a linkage that swings move far in the world and little against each other. The table `pair_bounds` keeps their
distance at their last comparison, and the pose R₀, p₀ of the smaller one in the larger one then. From their poses now

    distance now  ≥  apart - |R₁c + p₁ - R₀c - p₀| - |R₁ - R₀| r                                                   (6)

for all points within r of the centre c of the smaller group; |R₁ - R₀| is 2 sin(½ angle). This bound is kept too. It
shrinks no faster than by the distances that both groups travel in the world (`near_world`), two numbers, and (6) is
evaluated again only where these exceed it. Bodies that may not touch, such as those that a joint connects, do not
count: two of them alone are infinitely far apart. A group that is made rigid anew has another shape, and another number
in `times_rigid`. A place in the table serves many pairs: where another pair has taken it, two groups are compared once
more than they had to be."""

import math

from linkwork.contact.geometry.boxes import CENTRE, HALF
from linkwork.contact.volumes import length
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3, load9, store3, store9
from linkwork.spatial.rotations import add3, dot3, matmul3, matvec3, sub3, tmatvec3, transpose3

# Columns of `pair_bounds`: the two groups, when they were made rigid, distance [m]; what was left of it when (6) was last
# asked, plus the distances that both travelled in the world until then [m]; pose of the smaller in the larger.
GROUP_A, GROUP_B, MADE, APART, LEFT, TURN, AT = 0, 1, 2, 3, 4, 5, 14
ROUNDING = 1e-12  # of coordinates: what rounding may hide of a displacement
CHORD = math.sqrt(0.5) * (1.0 + 1e-9)  # |R₁ - R₀| over Frobenius' norm of it


@inlined
def larger_first(volumes, a, b):
    """Two groups, the one with the larger box first."""
    one, other = load3(volumes.volume, a, HALF), load3(volumes.volume, b, HALF)
    return (a, b) if dot3(one, one) >= dot3(other, other) else (b, a)


@inlined
def row_of(volumes, a, b):
    """The place in the table of a pair."""
    key = a * 1_000_003 + b
    key = key ^ (key >> 15)
    return ((key * 2_654_435_761) >> 16) & (volumes.pair_bounds.shape[0] - 1)


@inlined
def times_rigid(volumes, a, b):
    """Grows whenever one of two groups is made rigid anew."""
    return volumes.times_rigid[a] + volumes.times_rigid[b]


@inlined
def distance_known(volumes, a, b):
    """Distance of two groups at their last comparison [m]; below zero: it is not known."""
    row, pairs = row_of(volumes, a, b), volumes.pair_bounds
    is_this = pairs[row, GROUP_A] == a and pairs[row, GROUP_B] == b and pairs[row, MADE] == times_rigid(volumes, a, b)
    return pairs[row, APART] if is_this else -1.0


@inlined
def distance_left_by_travel(volumes, a, b):
    """Lower bound of the distance of two groups with a stored one, by how far they travelled in the world since then."""
    return volumes.pair_bounds[row_of(volumes, a, b), LEFT] - volumes.travelled[a] - volumes.travelled[b]


@inlined
def left_by_travel(volumes, a, b):
    """LEFT of two groups: infinite where they may not touch, minus infinity where their distance is not known."""
    apart = distance_known(volumes, a, b)
    if apart < 0.0 or apart == math.inf:
        return apart if apart > 0.0 else -math.inf
    return volumes.pair_bounds[row_of(volumes, a, b), LEFT]


@routine
def distance_left(volumes, a, b, apart, follows):
    """Lower bound of the distance of two groups now, which were `apart` at their last comparison.   (6)

    follows: whether the distances that they travelled in the world are up to date.
    """
    row, pairs = row_of(volumes, a, b), volumes.pair_bounds
    R, p = pose_between(volumes, a, b)
    R0, p0 = load9(pairs, row, TURN), load3(pairs, row, AT)
    turned = 0.0
    for e in range(9):
        turned += (R[e] - R0[e]) ** 2
    c, r = load3(volumes.volume, b, CENTRE), length(load3(volumes.volume, b, HALF))
    moved = length(sub3(add3(matvec3(R, c), p), add3(matvec3(R0, c), p0)))
    left = apart - moved - CHORD * math.sqrt(turned) * r
    pairs[row, LEFT] = left + volumes.travelled[a] + volumes.travelled[b] if follows else -math.inf
    return left


@routine
def note_distance(volumes, a, b, apart, follows):
    """Two groups are `apart` [m] or more at their places in the world. follows: as above."""
    row, pairs = row_of(volumes, a, b), volumes.pair_bounds
    R, p = pose_between(volumes, a, b)
    size = length(load3(volumes.place, a, 9)) + length(load3(volumes.place, b, 9))
    size += length(load3(volumes.volume, b, CENTRE)) + length(load3(volumes.volume, b, HALF))
    pairs[row, GROUP_A], pairs[row, GROUP_B], pairs[row, MADE] = a, b, times_rigid(volumes, a, b)
    pairs[row, APART] = max(apart - ROUNDING * size, 0.0)
    pairs[row, LEFT] = pairs[row, APART] + volumes.travelled[a] + volumes.travelled[b] if follows else -math.inf
    store9(pairs, row, TURN, R)
    store3(pairs, row, AT, p)


@inlined
def pose_between(volumes, a, b):
    """Pose of group b in group a, from their places in the world."""
    Ra, pa = load9(volumes.place, a, 0), load3(volumes.place, a, 9)
    Rb, pb = load9(volumes.place, b, 0), load3(volumes.place, b, 9)
    return matmul3(transpose3(Ra), Rb), tmatvec3(Ra, sub3(pb, pa))
