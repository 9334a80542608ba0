"""Events of contact: which pairs begin to press and which have broken, after which the active region is chosen anew.

A pair of shapes that presses is remembered until it has not pressed for BREAK_TIMEOUT steps: bodies that rattle do not
break a contact. A link that slides over an edge hands the contact on to the next one: where the same shape of the world
is pressed within the size of a link of a remembered place, nothing is new; nothing has broken where one is left.
Theory: docs/theory/contact.md.
"""

from linkwork.contact.contact_list import COUNT, NORMAL, POINT, SHAPE_A, SHAPE_B, SIZE
from linkwork.core.jit import inlined, routine
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import contact_arrays_of, contacts_of
from linkwork.spatial.memory import load3, store3
from linkwork.spatial.rotations import ZERO3, dot3, sub3

NEAR = 2.0  # half sizes of the shape that presses: so far from a remembered place a contact is not a new one


@routine
def record_pressing(table):
    """After a step or a part of one: pairs that press are remembered; one that was not remembered before is a change."""
    t = contact_arrays_of(table)
    if t.counts[ca.STOPS_AT_CHANGES] != 0:
        record_all_pressing(t, contacts_of(table))


@inlined
def record_all_pressing(t, contacts):
    """Contacts and limits that press."""
    guess = 0
    for c in range(contacts.number[COUNT]):
        if dot3(load3(contacts.impulse, c, 0), load3(contacts.data, c, NORMAL)) > 0.0:
            shapes = (contacts.ids[c, SHAPE_A], contacts.ids[c, SHAPE_B])
            guess = 1 + record_pair(t, shapes, load3(contacts.data, c, POINT), NEAR * contacts.data[c, SIZE], guess)
    for k in range(t.counts[ca.LIMITS]):
        place = t.model_dof[t.bound[k, 1]]
        side = t.bound[k, 2]
        if t.limit_impulse[place, side] > 0.0:
            limit = -1 - 2 * place - side
            guess = 1 + record_pair(t, (limit, limit), ZERO3, 0.0, guess)


@inlined
def record_pair(t, shapes, point, reach, guess):
    """A pair presses at a point: its row of `recent`. guess: the row that it probably has."""
    count = t.counts[ca.RECENT]
    row = -1
    for k in range(count):
        at = guess + k
        at = at if at < count else at - count
        if t.recent[at, ca.RECENT_A] == shapes[0] and t.recent[at, ca.RECENT_B] == shapes[1]:
            row = at
            break
    if row < 0:
        if count == t.recent.shape[0]:  # more than there is room for
            t.counts[ca.CHANGED] = 1
            return -1
        if not has_near(t, count, -1, shapes[1], point, reach):
            t.counts[ca.CHANGED] = 1
        row = count
        t.turns[ca.BEGUN] = 1
        t.counts[ca.RECENT] = count + 1
        t.recent[row, ca.RECENT_A] = shapes[0]
        t.recent[row, ca.RECENT_B] = shapes[1]
    t.recent[row, ca.AGE] = 0
    store3(t.recent_at, row, 0, point)
    t.recent_at[row, 3] = reach
    return row


@inlined
def has_near(t, count, but, shape, point, reach):
    """Whether another row than `but` that is not too old has the same shape of the world near a point."""
    found = False
    for k in range(count):
        if k != but and t.recent[k, ca.RECENT_B] == shape and t.recent[k, ca.AGE] <= t.counts[ca.BREAK_TIMEOUT]:
            d = sub3(point, load3(t.recent_at, k, 0))
            far = max(reach, t.recent_at[k, 3])
            found = found or dot3(d, d) <= far * far
    return found


@routine
def is_update_due(table):
    """At the end of a step: drops what has not pressed for long; whether the region is to be chosen anew now.

    Changes wait until UPDATE_TIMEOUT steps have been made since it was last chosen, so that contacts that come and go
    without end cost no more than one update every so many steps.
    """
    t = contact_arrays_of(table)
    return t.counts[ca.STOPS_AT_CHANGES] != 0 and age_events(t)


@inlined
def age_events(t):
    """A step has passed: whether an update is due."""
    counts = t.counts
    count = counts[ca.RECENT]
    has_old = False
    for k in range(count):
        t.recent[k, ca.AGE] += 1
        has_old = has_old or t.recent[k, ca.AGE] > counts[ca.BREAK_TIMEOUT]
    if has_old:
        drop_old(t, count)
    counts[ca.UPDATE_TIMEOUT] = max(0, counts[ca.UPDATE_TIMEOUT] - 1)
    return counts[ca.CHANGED] != 0 and counts[ca.UPDATE_TIMEOUT] == 0


@inlined
def drop_old(t, count):
    """Takes out what has not pressed for more than BREAK_TIMEOUT steps; where no other is near, a contact has broken."""
    for k in range(count):
        if t.recent[k, ca.AGE] > t.counts[ca.BREAK_TIMEOUT]:
            place = load3(t.recent_at, k, 0)
            if not has_near(t, count, k, t.recent[k, ca.RECENT_B], place, t.recent_at[k, 3]):
                t.counts[ca.CHANGED] = 1
    listed = 0
    for k in range(count):
        if t.recent[k, ca.AGE] <= t.counts[ca.BREAK_TIMEOUT]:
            for c in range(t.recent.shape[1]):
                t.recent[listed, c] = t.recent[k, c]
            for c in range(t.recent_at.shape[1]):
                t.recent_at[listed, c] = t.recent_at[k, c]
            listed += 1
    t.counts[ca.RECENT] = listed
