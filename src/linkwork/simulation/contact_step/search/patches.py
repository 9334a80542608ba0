"""Rolling and spinning friction: what touches on a patch instead of a point.

A point of contact with a patch of radius ρ becomes six points on the rim of the patch, with its normal and gap, the first
one ahead of the rolling body. A body rolls on when the point ahead carries all of the normal force N, and so against a
moment of ρ N; one that spins does so against friction at all points, a moment of μ ρ N:

    |m_roll| ≤ ρ N,   |m_spin| ≤ μ ρ N                                                                              (10)

The contacts are those of the one system, and their laws hold as they stand. What rolls keeps a gap of ρ ω h: with it the
point ahead neither parts nor goes deeper. Where nothing rolls yet, the rim has a corner every 60°, and a moment of at least
0.87 ρ N is resisted. Theory: docs/theory/contact.md.
"""

import math

from linkwork.contact.contact_list import COUNT, DATA, IDS, LOCAL, NEEDED, NORMAL, PATCH, POINT, warm_start
from linkwork.core.jit import inlined, routine
from linkwork.simulation.contact_step.arrays import contact_arrays_of, contacts_of
from linkwork.simulation.moving import CONTACTS_GROW, moving_of
from linkwork.spatial.memory import load3, load9, store3, store6
from linkwork.spatial.rotations import ZERO3, add3, cross3, dot3, scale3, sub3, tmatvec3
from linkwork.spatial.vectors import ZERO6

CORNERS = 6
TURN = 2.0 * math.pi / CORNERS
STILL = 1e-9  # [rad/s] what turns more slowly has no direction


@routine
def spread_patches(table, count):
    """Puts the corners of their patches in place of contacts that have one; the number of contacts, or why it failed."""
    contacts = contacts_of(table)
    needed = count
    for c in range(count):
        if contacts.data[c, PATCH] > 0.0:
            needed += CORNERS - 1
    if needed == count:
        return count
    if needed > contacts.ids.shape[0]:
        contacts.number[NEEDED] = needed
        return CONTACTS_GROW
    t = contact_arrays_of(table)
    to = needed
    for c in range(count - 1, -1, -1):  # from the end, so that nothing is written over
        corners = CORNERS if contacts.data[c, PATCH] > 0.0 else 1
        to -= corners
        for k in range(corners - 1, -1, -1):
            copy_contact(contacts, t, c, to + k)
        if corners > 1:
            place_corners(table, to)
    contacts.number[COUNT] = needed
    warm_start(contacts)
    return needed


@inlined
def copy_contact(contacts, t, c, to):
    if to != c:
        t.moving_body[to, 0], t.moving_body[to, 1] = t.moving_body[c, 0], t.moving_body[c, 1]
        for e in range(IDS):
            contacts.ids[to, e] = contacts.ids[c, e]
        for e in range(DATA):
            contacts.data[to, e] = contacts.data[c, e]
    store3(contacts.impulse, to, 0, ZERO3)
    store6(contacts.summed, to, 0, ZERO6)


@inlined
def place_corners(table, first):
    """Moves the contacts from number `first` on, all at one point, to the corners of its patch."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    contacts = contacts_of(table)
    n, middle = load3(contacts.data, first, NORMAL), load3(contacts.data, first, POINT)
    local, radius = load3(contacts.data, first, LOCAL), contacts.data[first, PATCH]
    a, b = t.moving_body[first, 0], t.moving_body[first, 1]
    turning = sub3(load3(t.twists, a, 0) if a >= 0 else ZERO3, load3(t.twists, b, 0) if b >= 0 else ZERO3)
    ahead = cross3(turning, n)
    if dot3(ahead, ahead) <= STILL * STILL:
        least = 0 if abs(n[0]) < abs(n[1]) and abs(n[0]) < abs(n[2]) else (1 if abs(n[1]) < abs(n[2]) else 2)
        ahead = cross3(n, (1.0 if least == 0 else 0.0, 1.0 if least == 1 else 0.0, 1.0 if least == 2 else 0.0))
    ahead = scale3(1.0 / math.sqrt(dot3(ahead, ahead)), ahead)
    aside = cross3(n, ahead)
    for k in range(CORNERS):
        way = add3(scale3(radius * math.cos(k * TURN), ahead), scale3(radius * math.sin(k * TURN), aside))
        store3(contacts.data, first + k, POINT, add3(middle, way))
        # `local` is of the body of the model, whose axes are those of its moving body but for joints that stand still
        store3(contacts.data, first + k, LOCAL, add3(local, tmatvec3(load9(s.world, a, 0), way) if a >= 0 else way))
