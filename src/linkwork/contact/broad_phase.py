"""Which bodies may touch: the assembly tree against itself, and against the obstacles of the world.

Both searches descend two trees at a time and drop pairs of volumes that stay farther apart than the margin and their
reaches. Inside a rigid node nothing is tested against itself, and two rigid groups that were far apart are not compared
again until they may have come near (`near_itself`); steps descend only where pairs may be others than were listed
(`listed_pairs`). Open nodes have boxes in the world and no pose; inside rigid
ones the pose and twist of a node travel with it on the stack, so that only what is visited is ever placed in the world.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from linkwork.contact.contact_list import Contacts, begin_list
from linkwork.contact.geometry.boxes import CENTRE, HALF, REACH, box_separation
from linkwork.contact.geometry.distance import Scratch
from linkwork.contact.listed_pairs import (
    LISTED,
    begin_list_of_pairs,
    forget_list_of_pairs,
    is_far,
    is_listed,
    list_pair,
    may_go,
    note_left,
)
from linkwork.contact.narrow_phase import is_stepping, list_contacts, may_touch, narrow_of
from linkwork.contact.near_itself import (
    distance_known,
    distance_left,
    distance_left_by_travel,
    larger_first,
    note_distance,
)
from linkwork.contact.swept import Side
from linkwork.contact.tables import (
    COLLISION,
    CONTACTS,
    FASTEST,
    FOLLOWS,
    LEAST,
    MARGIN,
    MODE,
    NEAR_ITSELF,
    NEXT_IMPACT,
    PASSING,
    STEP,
    ShapeTable,
)
from linkwork.contact.volumes import (
    Volumes,
    body_of,
    children,
    is_open,
    is_own,
    length,
    parts,
    place_child,
    refit,
)
from linkwork.core.bundles import Float1, Float2, Int2
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3, load6, load9, store3, store6, store9
from linkwork.spatial.rotations import dot3

# numbers of a pair on the stack: pose, twist and reach of a, then of b
SIDE, WIDTH = 19, 38
STACK_FULL = -1
TOO_SHORT = -1.0  # a distance that was not found, since the stack was full
AHEAD = 0.5  # of the half diagonal of the smaller of two groups: from how far on a distance is not sought more exactly
TRUSTED = 0.9  # of a distance between solids, whose search ends at an upper bound


class Finder(NamedTuple):
    """All that the search for contacts reads and writes; one per thread."""

    table: ShapeTable
    volumes: Volumes
    contacts: Contacts
    scratch: Scratch
    pairs: Int2  # (k, 2)  stack of volumes; second -1: against itself
    numbers: Float2  # (k, 38) their poses, twists and reaches
    query: Float1  # (24,)   see narrow_phase


@routine
def begin_search(finder, margin, h):
    """An empty list of contacts, and what is sought."""
    begin_list(finder.contacts)
    query = finder.query
    query[MODE], query[MARGIN], query[STEP], query[NEXT_IMPACT] = CONTACTS, margin, h, math.inf
    query[FASTEST], query[NEAR_ITSELF], query[FOLLOWS] = 0.0, 0.0, 0.0


@inlined
def is_decided(query):
    return query[MODE] == COLLISION and query[LEAST] < 0.0


@inlined
def margin_now(query):
    """Distance beyond which nothing matters: for queries the smallest one found so far."""
    if is_stepping(query):
        return query[MARGIN]
    return max(query[LEAST], 0.0)


@inlined
def store_side(finder, row, side, k, R, p, V, reach):
    finder.pairs[row, side] = k
    store9(finder.numbers, row, SIDE * side, R)
    store3(finder.numbers, row, SIDE * side + 9, p)
    store6(finder.numbers, row, SIDE * side + 12, V)
    finder.numbers[row, SIDE * side + 18] = reach


@inlined
def load_side(finder, row, side):
    o = SIDE * side
    numbers = finder.numbers
    return load9(numbers, row, o), load3(numbers, row, o + 9), load6(numbers, row, o + 12), numbers[row, o + 18]


# ------------------------------------------------------------------------------------------------------------------ world


# ----------------------------------------------------------------------------------------------------------------- itself


@routine
def search_itself(finder, open_nodes):
    """The tree against itself: the two parts of every node whose joints move."""
    return descend_itself(finder, open_nodes, False)


@routine
def search_itself_again(finder, open_nodes, h):
    """The same in a step of h [s] that follows another one: by the list of pairs, for as long as it holds; contacts are
    searched for first, which makes it anew. Volumes of open nodes are refitted where they are needed."""
    volumes, query = finder.volumes, finder.query
    if not is_listed(finder, open_nodes, h):
        refit(volumes, open_nodes, h)
        lists = query[MODE] == CONTACTS
        if lists:
            begin_list_of_pairs(finder, open_nodes)
        return descend_itself(finder, open_nodes, lists)
    for k in range(volumes.listing[LISTED]):
        if not is_far(volumes, k, query[MARGIN]):
            if not search_rigid(finder, volumes.listed[k, 0], volumes.listed[k, 1], 0):
                return False
            note_left(volumes, k)
    return True


@routine
def descend_itself(finder, open_nodes, lists):
    """lists: whether pairs that may come near soon are listed on the way."""
    volumes = finder.volumes
    for o in range(open_nodes.shape[0]):
        first, second = parts(volumes, open_nodes[o])
        if second >= 0 and not search_pair(finder, first, second, lists):
            forget_list_of_pairs(volumes)
            return False
        if is_decided(finder.query):
            return True
    return True


@inlined
def apart_in_world(volumes, a, b, margin):
    """Whether two volumes, open or right below open ones, are farther apart than the margin in the world's directions."""
    A = volumes.volume if is_open(volumes, a) else volumes.around
    B = volumes.volume if is_open(volumes, b) else volumes.around
    if A[a, HALF] < 0.0 or B[b, HALF] < 0.0:
        return True
    return (
        abs(A[a, CENTRE] - B[b, CENTRE]) > A[a, HALF] + B[b, HALF] + margin
        or abs(A[a, CENTRE + 1] - B[b, CENTRE + 1]) > A[a, HALF + 1] + B[b, HALF + 1] + margin
        or abs(A[a, CENTRE + 2] - B[b, CENTRE + 2]) > A[a, HALF + 2] + B[b, HALF + 2] + margin
    )


@routine
def search_pair(finder, first, second, lists):
    """Two volumes, open or right below open ones, against each other; lists: as above."""
    volumes, pairs = finder.volumes, finder.pairs
    volume = volumes.volume
    pairs[0, 0], pairs[0, 1] = first, second
    top = 0
    while top >= 0:
        if is_decided(finder.query):
            return True
        a, b = pairs[top, 0], pairs[top, 1]
        top -= 1
        margin = margin_now(finder.query)
        need = margin + volume[a, REACH] + volume[b, REACH]
        soon = margin + may_go(volume[a, REACH], margin) + may_go(volume[b, REACH], margin) if lists else need
        if apart_in_world(volumes, a, b, soon):
            continue
        if top + 4 > pairs.shape[0]:
            return False
        if not is_open(volumes, a) and not is_open(volumes, b):
            is_near = not lists or not apart_in_world(volumes, a, b, need)
            if is_near and not search_rigid(finder, a, b, top + 1):
                return False
            if lists:
                list_pair(volumes, a, b)
            continue
        ha, hb = load3(volume, a, HALF), load3(volume, b, HALF)
        splits_a = is_open(volumes, a) and (not is_open(volumes, b) or dot3(ha, ha) >= dot3(hb, hb))
        one, other = (a, b) if splits_a else (b, a)
        left, right = parts(volumes, one)
        for part in (left, right):
            if part >= 0:
                top += 1
                pairs[top, 0], pairs[top, 1] = part, other
    return True


@routine
def search_rigid(finder, first, second, base):
    """Two rigid groups, right below open nodes, against each other, where they may have come near since they were last
    compared. base: row of the stack from which on it is free; False where that was too short."""
    volumes, query = finder.volumes, finder.query
    if not is_stepping(query):
        return descend_rigid(finder, first, second, 0.0, base) > TOO_SHORT
    a, b = larger_first(volumes, first, second)
    apart, follows = distance_known(volumes, a, b), query[FOLLOWS] != 0.0
    need = query[MARGIN] + volumes.volume[a, REACH] + volumes.volume[b, REACH]
    if apart > need:
        if apart == math.inf or (follows and distance_left_by_travel(volumes, a, b) > need):
            return True
        if distance_left(volumes, a, b, apart, follows) > need:
            return True
    is_near = 0.0 <= apart <= need  # then nothing is gained by finding out how near
    extra_distance = 0.0 if is_near or query[MODE] == PASSING else AHEAD * length(load3(volumes.volume, b, HALF))
    apart = descend_rigid(finder, first, second, extra_distance, base)
    if query[MODE] == CONTACTS and apart > TOO_SHORT:
        note_distance(volumes, a, b, apart, follows)
        if apart <= need:
            query[NEAR_ITSELF] += 1.0
    return apart > TOO_SHORT


@routine
def descend_rigid(finder, first, second, extra_distance, base):
    """The same by a descent; a lower bound of their distance, TOO_SHORT where the stack was.

    What is farther apart than margin and reaches is followed for as long as it is the nearest so far, to find the distance,
    if it is not `extra_distance` [m] farther still.
    """
    volumes = finder.volumes
    for side in range(2):
        k = first if side == 0 else second
        R, p, V = load9(volumes.place, k, 0), load3(volumes.place, k, 9), load6(volumes.twist, k, 0)
        store_side(finder, base, side, k, R, p, V, volumes.volume[k, REACH])
    top, least = base, math.inf
    while top >= base:
        if is_decided(finder.query):
            return least
        a, b = finder.pairs[top, 0], finder.pairs[top, 1]
        Ra, pa, Va, reach_a = load_side(finder, top, 0)
        Rb, pb, Vb, reach_b = load_side(finder, top, 1)
        top -= 1
        if top + 4 > finder.pairs.shape[0]:
            return TOO_SHORT
        reach = reach_a + reach_b
        ca, ha = load3(volumes.volume, a, CENTRE), load3(volumes.volume, a, HALF)
        cb, hb = load3(volumes.volume, b, CENTRE), load3(volumes.volume, b, HALF)
        apart, need = box_separation(Ra, pa, ca, ha, Rb, pb, cb, hb), margin_now(finder.query) + reach
        are_bodies = is_own(volumes, a) and is_own(volumes, b)
        if apart > need and (apart >= least or apart > need + extra_distance or are_bodies):
            least = min(least, apart)
        elif are_bodies:
            apart = mark_bodies(finder, body_of(volumes, a), Ra, pa, Va, body_of(volumes, b), Rb, pb, Vb, reach)
            least = min(least, apart)
        elif is_own(volumes, b) or (not is_own(volumes, a) and dot3(ha, ha) >= dot3(hb, hb)):
            for child in children(volumes, a):
                if child >= 0:
                    Rc, pc, Vc, rc = place_child(volumes, a, child, Ra, pa, Va, reach_a)
                    top += 1
                    store_side(finder, top, 0, child, Rc, pc, Vc, rc)
                    store_side(finder, top, 1, b, Rb, pb, Vb, reach_b)
        else:
            for child in children(volumes, b):
                if child >= 0:
                    Rc, pc, Vc, rc = place_child(volumes, b, child, Rb, pb, Vb, reach_b)
                    top += 1
                    store_side(finder, top, 0, a, Ra, pa, Va, reach_a)
                    store_side(finder, top, 1, child, Rc, pc, Vc, rc)
    return least


@routine
def mark_bodies(finder, a, Ra, pa, Va, b, Rb, pb, Vb, reach):
    """All shapes of one body against those of another; a lower bound of their distance. Body a is the lower one.

    Bodies that a joint connects do not touch: their distance is infinite.
    """
    table = finder.table
    least = math.inf
    if table.parent[a] == b or table.parent[b] == a:
        return least
    if a > b:
        a, Ra, pa, Va, b, Rb, pb, Vb = b, Rb, pb, Vb, a, Ra, pa, Va
    for s in range(table.first[a + 1], table.first[a + 2]):
        for t in range(table.first[b + 1], table.first[b + 2]):
            if may_touch(table, s, t):
                gap = list_contacts(narrow_of(finder), Side(s, Ra, pa, Va), Side(t, Rb, pb, Vb), reach)
                least = min(least, TRUSTED * gap)
    return least
