"""Which contacts are new, and which have broken: what makes the choice of the active region old before its time.

A pair of shapes that presses is known from then on, until it has not pressed for PATIENCE steps: bodies that rattle do not
break a contact. A link that slides over an edge hands the contact on to the next one: where the same shape of the world is
pressed within the size of a link of a place that is known, nothing is new; nothing has broken where one is left.
Theory: docs/theory/contact.md.
"""

from linkwork.contact.contact_list import COUNT, NORMAL, POINT, SHAPE_A, SHAPE_B, SIZE
from linkwork.core.jit import inlined, routine
from linkwork.simulation.touching import arrays as ta
from linkwork.simulation.touching.arrays import contacts_of, touch_of
from linkwork.spatial.memory import load3, store3
from linkwork.spatial.rotations import ZERO3, dot3, sub3

NEAR = 2.0  # half sizes of the shape that presses: so far from a known place a contact is not a new one


@routine
def note_pressing(table):
    """After a step or a part of one: what presses is known from now on; what was not known before is a change."""
    t = touch_of(table)
    if t.counts[ta.STOPS_AT_CHANGES] != 0:
        see_all(t, contacts_of(table))


@inlined
def see_all(t, contacts):
    """Contacts and limits that press."""
    guess = 0
    for c in range(contacts.number[COUNT]):
        if dot3(load3(contacts.impulse, c, 0), load3(contacts.data, c, NORMAL)) > 0.0:
            shapes = (contacts.ids[c, SHAPE_A], contacts.ids[c, SHAPE_B])
            guess = 1 + see(t, shapes, load3(contacts.data, c, POINT), NEAR * contacts.data[c, SIZE], guess)
    for k in range(t.counts[ta.LIMITS]):
        place = t.whole[t.bound[k, 1]]
        side = t.bound[k, 2]
        if t.held[place, side] > 0.0:
            limit = -1 - 2 * place - side
            guess = 1 + see(t, (limit, limit), ZERO3, 0.0, guess)


@inlined
def see(t, shapes, point, reach, guess):
    """A pair presses at a point: its row of what is known. guess: the row that it probably has."""
    known = t.counts[ta.KNOWN]
    row = -1
    for k in range(known):
        at = guess + k
        at = at if at < known else at - known
        if t.known[at, ta.KNOWN_A] == shapes[0] and t.known[at, ta.KNOWN_B] == shapes[1]:
            row = at
            break
    if row < 0:
        if known == t.known.shape[0]:  # more than can be told apart
            t.counts[ta.CHANGED] = 1
            return -1
        if not has_near(t, known, -1, shapes[1], point, reach):
            t.counts[ta.CHANGED] = 1
        row = known
        t.turns[ta.BEGUN] = 1
        t.counts[ta.KNOWN] = known + 1
        t.known[row, ta.KNOWN_A] = shapes[0]
        t.known[row, ta.KNOWN_B] = shapes[1]
    t.known[row, ta.AGE] = 0
    store3(t.known_at, row, 0, point)
    t.known_at[row, 3] = reach
    return row


@inlined
def has_near(t, known, but, shape, point, reach):
    """Whether another row than `but` that has not grown too old knows of the same shape of the world near a point."""
    found = False
    for k in range(known):
        if k != but and t.known[k, ta.KNOWN_B] == shape and t.known[k, ta.AGE] <= t.counts[ta.PATIENCE]:
            d = sub3(point, load3(t.known_at, k, 0))
            far = max(reach, t.known_at[k, 3])
            found = found or dot3(d, d) <= far * far
    return found


@routine
def end_watch(table):
    """At the end of a step: forgets what has not pressed for long, and tells whether the region is to be chosen anew now.

    Changes wait until QUIET steps have been made since it was last chosen, so that contacts that come and go without end
    cost no more than one update every so many steps.
    """
    t = touch_of(table)
    return t.counts[ta.STOPS_AT_CHANGES] != 0 and grow_older(t)


@inlined
def grow_older(t):
    """A step has passed: whether an update is due."""
    counts = t.counts
    known = counts[ta.KNOWN]
    has_old = False
    for k in range(known):
        t.known[k, ta.AGE] += 1
        has_old = has_old or t.known[k, ta.AGE] > counts[ta.PATIENCE]
    if has_old:
        forget_old(t, known)
    counts[ta.QUIET] = max(0, counts[ta.QUIET] - 1)
    return counts[ta.CHANGED] != 0 and counts[ta.QUIET] == 0


@inlined
def forget_old(t, known):
    """Takes out what has not pressed for more than PATIENCE steps; where no other is near, a contact has broken."""
    for k in range(known):
        if t.known[k, ta.AGE] > t.counts[ta.PATIENCE]:
            place = load3(t.known_at, k, 0)
            if not has_near(t, known, k, t.known[k, ta.KNOWN_B], place, t.known_at[k, 3]):
                t.counts[ta.CHANGED] = 1
    kept = 0
    for k in range(known):
        if t.known[k, ta.AGE] <= t.counts[ta.PATIENCE]:
            for c in range(t.known.shape[1]):
                t.known[kept, c] = t.known[k, c]
            for c in range(t.known_at.shape[1]):
                t.known_at[kept, c] = t.known_at[k, c]
            kept += 1
    t.counts[ta.KNOWN] = kept
