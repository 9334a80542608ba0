"""Contacts of one rigid group with one obstacle, reduced to those that can carry it.

A rigid group that rests on an obstacle with many of its shapes is held by few of them. A group that hangs by a hinge from
another one that touches the same obstacle has one motion left: about the hinge, until its first contact touches, which is
the one of the least slope

    (gap - least gap) / distance from the hinge                                                                   (9)

and that one stays. Any other group turns about its deepest contact until the next one touches, the one of least slope as
seen from there in the direction of the turn: the deepest stays and that of least slope in each of six sectors around it;
along a line that is three. What is left out carries nothing in this step; it stays in the search, and comes back as soon as
it is the next to touch. Points of one pair of shapes span a face by themselves and are not reduced.
"""

import math

from linkwork.contact.contact_list import DIRECTED, FRICTION, GAP, NORMAL, POINT, RESTITUTION, SHAPE_A, SHAPE_B
from linkwork.core.jit import inlined, routine
from linkwork.model.layout import HELICAL, KIND, PARENT
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import cross3, dot3, scale3, sub3

LOOK_BACK = 32  # contacts before one among which its group is sought; they are sorted by bodies
ONE_SIDE = 0.5  # least cosine between normals of a group: what an obstacle does from other sides is another group
SMALL_GROUP = 2  # a group of no more is left as it is
SECTORS = 6
NARROW = 0.27  # tangent of half the angle of the two sectors along the longest direction: 15 degrees
PRESSED = 0.5  # of its slope: a contact that pressed in the last step stays where another is about as good
GROUP, KEEP = 2, 3  # columns of `moving_body`: first contact of the group, whether a contact is kept


@inlined
def is_of_group(moving_body, contacts, c, first):
    """Whether contact c is of the group that begins with contact `first`."""
    ids, data = contacts.ids, contacts.data
    if moving_body[c, 0] != moving_body[first, 0] or moving_body[c, 1] != moving_body[first, 1]:
        return False
    if ids[c, SHAPE_B] != ids[first, SHAPE_B]:
        return False
    if data[c, FRICTION] != data[first, FRICTION] or data[c, RESTITUTION] != data[first, RESTITUTION]:
        return False
    if data[c, DIRECTED] != data[first, DIRECTED]:
        return False
    return dot3(load3(data, c, NORMAL), load3(data, first, NORMAL)) >= ONE_SIDE


@routine
def reduce_contacts(s, moving_body, contacts, count, slack):
    """Says in column STAYS of `moving_body` (c, 4) which of the first `count` contacts stay; how many.

    s: the moving linkage, with world poses.
    """
    for c in range(count):
        moving_body[c, GROUP], moving_body[c, KEEP] = c, 1
        for other in range(c - 1, max(c - LOOK_BACK, 0) - 1, -1):
            first = moving_body[other, GROUP]
            if moving_body[c, GROUP] == c and first == other and is_of_group(moving_body, contacts, c, first):
                moving_body[c, GROUP] = first
    stay = 0
    for first in range(count):
        if moving_body[first, GROUP] != first:
            continue
        end = min(count, first + LOOK_BACK + 1)
        size, is_one_pair, deepest = survey(moving_body, contacts, first, end, slack)
        if is_one_pair:
            stay += size
        elif hangs_from_contact(s, moving_body, contacts, first):
            keep_first_about_hinge(
                load3(s.world, moving_body[first, 0], 9), moving_body, contacts, first, end, deepest, slack
            )
            stay += 1
        elif size > SMALL_GROUP:
            stay += keep_sectors(moving_body, contacts, first, end, deepest, slack)
        else:
            stay += size
    return stay


@inlined
def survey(moving_body, contacts, first, end, slack):
    """Contacts of a group, whether they are of one pair of shapes, and the deepest of them.

    One that pressed in the last step stays the deepest until another is deeper by more than the slack.
    """
    size, shapes, deepest, least = 0, False, first, math.inf
    for c in range(first, end):
        if moving_body[c, GROUP] == first:
            size += 1
            shapes = shapes or contacts.ids[c, SHAPE_A] != contacts.ids[first, SHAPE_A]
            gap = contacts.data[c, GAP] - (slack if has_pressed(contacts.impulse, c) else 0.0)
            if gap < least:
                deepest, least = c, gap
    return size, not shapes, deepest


@inlined
def hangs_from_contact(s, moving_body, contacts, first):
    """Whether a rigid group hangs by a joint of one coordinate from one that touches the same obstacle there."""
    a = moving_body[first, 0]
    if a < 0 or moving_body[first, 1] >= 0 or s.tree[a, KIND] != HELICAL:
        return False
    parent = s.tree[a, PARENT]
    found = False
    if parent >= 0:
        n = load3(contacts.data, first, NORMAL)
        for c in range(max(first - LOOK_BACK, 0), first):
            if moving_body[c, 0] == parent and contacts.ids[c, SHAPE_B] == contacts.ids[first, SHAPE_B]:
                found = found or dot3(load3(contacts.data, c, NORMAL), n) >= ONE_SIDE
    return found


@inlined
def slope_of(contacts, c, deepest, slack, distance):
    """(9); half of it for a contact that pressed in the last step, so that two about as good do not take turns."""
    gap = max(contacts.data[c, GAP] - contacts.data[deepest, GAP], 0.0) + slack
    return gap * (PRESSED if has_pressed(contacts.impulse, c) else 1.0) / max(distance, 1e-300)


@routine
def keep_first_about_hinge(hinge, moving_body, contacts, first, end, deepest, slack):
    """Of the group that begins with contact `first` and ends before `end` the next to touch about the hinge stays."""
    best, least = first, math.inf
    for c in range(first, end):
        if moving_body[c, GROUP] == first:
            moving_body[c, KEEP] = 0
            d = sub3(load3(contacts.data, c, POINT), hinge)
            slope = slope_of(contacts, c, deepest, slack, math.sqrt(dot3(d, d)))
            if slope < least:
                best, least = c, slope
    moving_body[best, KEEP] = 1


@routine
def keep_sectors(moving_body, contacts, first, end, deepest, slack):
    """Of such a group the deepest stays, and in each sector around it the next to touch; returns how many."""
    data = contacts.data
    p, n = load3(data, deepest, POINT), load3(data, deepest, NORMAL)
    far, e1 = 0.0, (0.0, 0.0, 0.0)
    for c in range(first, end):
        if moving_body[c, GROUP] == first:
            moving_body[c, KEEP] = 1 if c == deepest else 0
            d = across(sub3(load3(data, c, POINT), p), n)
            length = math.sqrt(dot3(d, d))
            if length > far:
                far, e1 = length, scale3(1.0 / length, d)
    e2 = cross3(n, e1)
    stay = 1
    for sector in range(SECTORS):
        best, least = -1, math.inf
        for c in range(first, end):
            if moving_body[c, GROUP] != first or c == deepest:
                continue
            d = across(sub3(load3(data, c, POINT), p), n)
            x, y = dot3(d, e1), dot3(d, e2)
            if sector_of(x, y) == sector:
                slope = slope_of(contacts, c, deepest, slack, math.sqrt(x * x + y * y))
                if slope < least:
                    best, least = c, slope
        if best >= 0:
            moving_body[best, KEEP] = 1
            stay += 1
    return stay


@inlined
def has_pressed(impulse, c):
    f = load3(impulse, c, 0)
    return dot3(f, f) > 0.0


@inlined
def across(d, n):
    """The part of d across n."""
    return sub3(d, scale3(dot3(d, n), n))


@inlined
def sector_of(x, y):
    """Number of the sector of a direction: two narrow ones along the first axis, four between them."""
    if abs(y) <= NARROW * abs(x):
        return 0 if x > 0.0 else 3
    if y > 0.0:
        return 1 if x >= 0.0 else 2
    return 5 if x >= 0.0 else 4
