"""The list of contacts of a step, and what is kept of the last one for a warm start."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linkwork.core.bundles import Float1, Float2, Int1, Int2
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import add_to6, load3, load6, store3, store6
from linkwork.spatial.rotations import ZERO3, add3, dot3, scale3, sub3
from linkwork.spatial.vectors import ZERO6, dot6, join

# columns of ids
BODY_A, BODY_B, SHAPE_A, SHAPE_B, IDS = 0, 1, 2, 3, 4
# columns of data
POINT, NORMAL, GAP, FRICTION, RESTITUTION, LOCAL, SIZE = 0, 3, 6, 7, 8, 9, 12
ALONG, PARTS, AIMED, DIRECTED, PATCH, DATA = 13, 16, 19, 21, 22, 23
ISOTROPIC, ELLIPSE, HU = 0.0, 1.0, 2.0  # laws of friction, in DIRECTED
# columns of `parted`, behind point, normal and gap
SUMMED, PARTED_DATA = 7, 13
SAME_WAY = 0.9  # least cosine between normals of contacts of which one takes over what the other gave
SAME_POINT = 0.1  # of the size of a shape: how far a contact point may wander on its body and be the same contact
COUNT, NEEDED, OLD, PARTED, OLD_PARTED = range(5)
KEY_BITS = 31  # bits of a key for the second of two shapes


class Contacts(NamedTuple):
    """Contacts of one step, `number[COUNT]` of them; the normal points from b to a."""

    # (5,)    contacts listed; contacts there were, more when the list was too short; contacts before; and how many have
    # parted in this step, now and before
    number: Int1
    ids: Int2  # (c, 4)  body a, body b (-1: the world), shape a, shape b
    # (c, 23) point [m], normal (world); gap [m]; friction, restitution; point in body a's frame; size; of friction with a
    # direction: that direction (world), its coefficients forward, backward and sideways, of the largest one each; what
    # tangents along and across it are scaled by in this step; law; radius of the patch that the point stands for [m]
    data: Float2
    impulse: Float2  # (c, 3)  on body a, world axes [N·s]
    # (c, 6) impulses of all parts of this step: of those that stand, and since then [N·s]
    summed: Float2
    old_ids: Int2  # (c, 4)  of the step before
    old_local: Float2  # (c, 3)
    old_impulse: Float2  # (c, 3)
    old_summed: Float2  # (c, 6)
    old_at: Float2  # (c, 7)  point and normal in the world, gap
    # What gave impulses in an early part of this step and is far apart in the last one.
    parted_ids: Int2  # (c, 4)
    # (c, 13)  point, normal and gap when it was last listed, and `summed`; of a pair that parted several times the mean of
    # its points, weighted by impulses
    parted: Float2
    order: Int2  # (2, c)  while they are sorted: keys, and the places that they come from
    spare: Float1  # (23,)   and the numbers of one of them
    table: Int1  # (t,)    pair of shapes → first old contact, open addressing, t a power of two above 2c


def make_contacts(capacity: int) -> Contacts:
    size = 1 << (2 * max(capacity, 8) - 1).bit_length()
    return Contacts(
        np.zeros(5, dtype=np.int64),
        np.zeros((capacity, IDS), dtype=np.int64),
        np.zeros((capacity, DATA)),
        np.zeros((capacity, 3)),
        np.zeros((capacity, 6)),
        np.zeros((capacity, IDS), dtype=np.int64),
        np.zeros((capacity, 3)),
        np.zeros((capacity, 3)),
        np.zeros((capacity, 6)),
        np.zeros((capacity, SUMMED)),
        np.zeros((capacity, IDS), dtype=np.int64),
        np.zeros((capacity, PARTED_DATA)),
        np.zeros((2, capacity), dtype=np.int64),
        np.zeros(DATA),
        np.zeros(size, dtype=np.int64),
    )


@routine
def begin_list(contacts):
    """Puts the contacts aside as old ones and empties the list."""
    count = contacts.number[COUNT]
    for i in range(count):
        for c in range(IDS):
            contacts.old_ids[i, c] = contacts.ids[i, c]
        store3(contacts.old_local, i, 0, load3(contacts.data, i, LOCAL))
        store3(contacts.old_impulse, i, 0, load3(contacts.impulse, i, 0))
        store6(contacts.old_summed, i, 0, load6(contacts.summed, i, 0))
        for e in range(SUMMED):
            contacts.old_at[i, e] = contacts.data[i, e]
    unite_parted(contacts)
    contacts.number[OLD] = count
    contacts.number[COUNT] = 0
    contacts.number[NEEDED] = 0
    table = contacts.table
    for k in range(table.shape[0]):
        table[k] = -1
    for i in range(count):
        if i > 0 and same_pair(contacts.old_ids, i, contacts.old_ids, i - 1):
            continue
        slot = hash_of(contacts.old_ids, i, table.shape[0])
        while table[slot] >= 0:
            slot = (slot + 1) & (table.shape[0] - 1)
        table[slot] = i


@inlined
def hash_of(ids, i, size):
    key = ids[i, SHAPE_A] * 1_000_003 + ids[i, SHAPE_B]
    key = key ^ (key >> 15)
    return (key * 2_654_435_761) & (size - 1)


@inlined
def same_pair(a, i, b, j):
    return a[i, SHAPE_A] == b[j, SHAPE_A] and a[i, SHAPE_B] == b[j, SHAPE_B]


@inlined
def may_take_over(contacts, i, k):
    """Whether contact i of other shapes may take what old contact k gave: of the same two bodies, or of the same body and
    shape of the world, as all obstacles are body -1; and with nearly the same normal, so that floor and wall of one body
    stay two contacts."""
    ids, old = contacts.ids, contacts.old_ids
    if ids[i, BODY_A] != old[k, BODY_A] or ids[i, BODY_B] != old[k, BODY_B]:
        return False
    if ids[i, BODY_B] < 0 and ids[i, SHAPE_B] != old[k, SHAPE_B]:
        return False
    return dot3(load3(contacts.data, i, NORMAL), load3(contacts.old_at, k, NORMAL)) > SAME_WAY


@inlined
def append(contacts, who, point, normal, gap, material, local, size):
    """Adds a contact, whose friction has no direction; one too many is only counted.

    who: body a, body b, shape a, shape b. material: friction, restitution, radius of the patch.
    """
    number = contacts.number
    number[NEEDED] += 1
    i = number[COUNT]
    if i < contacts.ids.shape[0]:
        ids, data = contacts.ids, contacts.data
        ids[i, BODY_A], ids[i, BODY_B], ids[i, SHAPE_A], ids[i, SHAPE_B] = who
        store3(data, i, POINT, point)
        store3(data, i, NORMAL, normal)
        data[i, GAP], data[i, FRICTION], data[i, RESTITUTION] = gap, material[0], material[1]
        store3(data, i, LOCAL, local)
        data[i, SIZE], data[i, DIRECTED], data[i, PATCH] = size, ISOTROPIC, material[2]
        store3(contacts.impulse, i, 0, ZERO3)
        store6(contacts.summed, i, 0, ZERO6)
        number[COUNT] = i + 1


@routine
def warm_start(contacts):
    """Gives every contact the impulse of the old contact of the same shapes whose point is nearest on the body."""
    table, old = contacts.table, contacts.number[OLD]
    for i in range(contacts.number[COUNT]):
        slot = hash_of(contacts.ids, i, table.shape[0])
        first = -1
        while table[slot] >= 0 and first < 0:
            if same_pair(contacts.ids, i, contacts.old_ids, table[slot]):
                first = table[slot]
            slot = (slot + 1) & (table.shape[0] - 1)
        if first < 0:
            continue
        best, least = -1, SAME_POINT * contacts.data[i, SIZE]
        k = first
        while k < old and same_pair(contacts.ids, i, contacts.old_ids, k):
            d = sub3(load3(contacts.data, i, LOCAL), load3(contacts.old_local, k, 0))
            far = math.sqrt(dot3(d, d))
            if far < least:
                best, least = k, far
            k += 1
        if best >= 0:
            store3(contacts.impulse, i, 0, load3(contacts.old_impulse, best, 0))


@routine
def take_back_contacts(contacts):
    """The contacts of the step before are the present ones again; where they are and their impulses, which is all that
    the next search asks of them."""
    for i in range(contacts.number[OLD]):
        for c in range(IDS):
            contacts.ids[i, c] = contacts.old_ids[i, c]
        store3(contacts.data, i, LOCAL, load3(contacts.old_local, i, 0))
        store3(contacts.impulse, i, 0, load3(contacts.old_impulse, i, 0))
        store6(contacts.summed, i, 0, load6(contacts.old_summed, i, 0))
        for e in range(SUMMED):
            contacts.data[i, e] = contacts.old_at[i, e]
    contacts.number[COUNT] = contacts.number[OLD]
    contacts.number[PARTED] = contacts.number[OLD_PARTED]


# ------------------------------------------------------------------------------------- impulses over the parts of a step


@inlined
def forget_sums(contacts):
    """At the start of a step."""
    for i in range(contacts.number[COUNT]):
        store6(contacts.summed, i, 0, ZERO6)
    contacts.number[PARTED], contacts.number[OLD_PARTED] = 0, 0


@routine
def carry_sums(contacts):
    """After a new list was made within a step: what the old contacts gave so far goes to the nearest contact of the same
    shapes, or else of one that may take it over; what has left all of these has parted. False where there is no room."""
    for k in range(contacts.number[OLD]):
        summed = load6(contacts.old_summed, k, 0)
        if dot6(summed, summed) == 0.0:
            continue
        best, least, is_same = -1, math.inf, False
        for i in range(contacts.number[COUNT]):
            same = same_pair(contacts.ids, i, contacts.old_ids, k)
            if not same and not may_take_over(contacts, i, k):
                continue
            d = sub3(load3(contacts.data, i, LOCAL), load3(contacts.old_local, k, 0))
            if (same and not is_same) or (same == is_same and dot3(d, d) < least):
                best, least, is_same = i, dot3(d, d), same
        if best >= 0:
            add_to6(contacts.summed, best, 0, summed)
        elif not part(contacts, k, summed):
            return False
    return True


@inlined
def part(contacts, k, summed):
    """Old contact k is in no list from now on; False where there is no room for it."""
    i = contacts.number[PARTED]
    if i == contacts.parted.shape[0]:
        contacts.number[NEEDED] = i + 1
        return False
    for c in range(IDS):
        contacts.parted_ids[i, c] = contacts.old_ids[k, c]
    for e in range(SUMMED):
        contacts.parted[i, e] = contacts.old_at[k, e]
    store6(contacts.parted, i, SUMMED, summed)
    contacts.number[PARTED] = i + 1
    return True


@inlined
def unite_parted(contacts):
    """Before a new list: what has parted since the last one stays so, whatever becomes of the new one. It joins what has
    parted before of the same shapes (`join_parted`), so that no more part in a step than there are pairs."""
    ids, parted = contacts.parted_ids, contacts.parted
    listed = contacts.number[OLD_PARTED]
    for k in range(listed, contacts.number[PARTED]):
        to = listed
        for i in range(listed - 1, -1, -1):
            if same_pair(ids, i, ids, k):
                to = i
        if to < listed:
            join_parted(parted, to, k)
            continue
        for c in range(IDS):
            ids[listed, c] = ids[k, c]
        for e in range(PARTED_DATA):
            parted[listed, e] = parted[k, e]
        listed += 1
    contacts.number[PARTED], contacts.number[OLD_PARTED] = listed, listed


@inlined
def join_parted(parted, to, k):
    """Row `to` takes the impulse of row k, which parted later, and its normal and gap. Its point is the mean of both,
    weighted by the lengths of their impulses: the moment of the sum is that of both where these are parallel. A part that
    is taken back afterwards takes its impulse back, and leaves the point."""
    earlier, later = given(parted, to), given(parted, k)
    x, y = load3(parted, to, POINT), load3(parted, k, POINT)
    share = later / (earlier + later) if earlier > 0.0 else 1.0
    store3(parted, to, POINT, add3(x, scale3(share, sub3(y, x))))
    store3(parted, to, NORMAL, load3(parted, k, NORMAL))
    parted[to, GAP] = parted[k, GAP]
    add_to6(parted, to, SUMMED, load6(parted, k, SUMMED))


@inlined
def given(parted, i):
    """The length of the impulse of all parts [N·s]."""
    s = load6(parted, i, SUMMED)
    impulse = s[0] + s[3], s[1] + s[4], s[2] + s[5]
    return math.sqrt(dot3(impulse, impulse))


@inlined
def sum_part(contacts):
    """A part of the step was made."""
    for i in range(contacts.number[COUNT]):
        add_to6(contacts.summed, i, 0, join(ZERO3, load3(contacts.impulse, i, 0)))


@inlined
def commit_sums(contacts, stands):
    """The parts since the last call stand, or were taken back."""
    for i in range(contacts.number[COUNT]):
        commit_sum(contacts.summed, i, 0, stands)
    for i in range(contacts.number[PARTED]):
        commit_sum(contacts.parted, i, SUMMED, stands)


@inlined
def commit_sum(summed, i, at, stands):
    s = load6(summed, i, at)
    if stands:
        store3(summed, i, at, (s[0] + s[3], s[1] + s[4], s[2] + s[5]))
    store3(summed, i, at + 3, ZERO3)


@routine
def sort_contacts(contacts):
    """By the numbers of their shapes: the order does not depend on how they were found. Points of a pair stay as they were.

    Keys are sorted first, and each contact is moved once: it is some thirty numbers.
    """
    ids, order = contacts.ids, contacts.order
    count = contacts.number[COUNT]
    for i in range(count):
        key, j = (ids[i, SHAPE_A] << KEY_BITS) + ids[i, SHAPE_B], i
        while j > 0 and order[0, j - 1] > key:
            order[0, j], order[1, j] = order[0, j - 1], order[1, j - 1]
            j -= 1
        order[0, j], order[1, j] = key, i
    for i in range(count):
        if order[1, i] != i:
            move_around(contacts, i)


@routine
def move_around(contacts, first):
    """Moves the contacts of one cycle of `order` to their places; nothing else of a new contact is known yet."""
    ids, data, order, spare = contacts.ids, contacts.data, contacts.order, contacts.spare
    who = ids[first, BODY_A], ids[first, BODY_B], ids[first, SHAPE_A], ids[first, SHAPE_B]
    for e in range(DATA):
        spare[e] = data[first, e]
    to = first
    while order[1, to] != first:
        source = order[1, to]
        for e in range(IDS):
            ids[to, e] = ids[source, e]
        for e in range(DATA):
            data[to, e] = data[source, e]
        order[1, to] = to
        to = source
    ids[to, BODY_A], ids[to, BODY_B], ids[to, SHAPE_A], ids[to, SHAPE_B] = who
    for e in range(DATA):
        data[to, e] = spare[e]
    order[1, to] = to
