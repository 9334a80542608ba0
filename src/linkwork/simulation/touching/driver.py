"""Steps with contact, or with limits of joints alone, by any integrator: one kernel, which calls others (`calling`).

In adaptive simulations a region is updated every five to fifteen steps of contact. What Python does around an update takes
as long as a step with forty active joints, and leaves the caches to the next step as it likes. So where an update needs
nothing from Python, it is made here, right before the step that it is due at, by the kernel that Python would call.

What does not move acts as rigid, so a contact that begins meets the wrong mass where the joints behind it are inactive.
Where a region is chosen by its tolerance alone, such a step is taken back, the region is chosen anew by the forces that it
found, and the step is made again.
"""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.simulation.moving import (
    CONTACTS_BEGIN,
    CONTACTS_CHANGED,
    ENERGY_DEBT,
    METHOD,
    OK,
    POSES_READY,
    PROPOSED_STEP,
    SEMI_IMPLICIT_EULER,
    SUBSTEPS,
    moving_of,
)
from linkwork.simulation.stepping.driver import make_steps
from linkwork.simulation.stepping.integrator import nothing_after
from linkwork.simulation.touching import arrays as ta
from linkwork.simulation.touching.arrays import begin_count, searches, touch_of
from linkwork.simulation.touching.by_integrator import one_step_by
from linkwork.simulation.touching.calling import update_region
from linkwork.simulation.touching.search.changes import end_watch
from linkwork.simulation.touching.shortening import begin_part_of, begin_parts, end_part, take_back_whole
from linkwork.simulation.touching.step import note_euler_efforts, note_limits, try_touching


@inlined
def begin_steps(table, h, n):
    touch_of(table).turns[ta.LEFT] = n


@routine
def next_step(table, h):
    """One step of h [s], or none, behind an update where one is due. Returns OK or why it failed; CONTACTS_CHANGED: a step
    was made after which the region is to be chosen anew, and not here; CONTACTS_BEGIN: none was made before that."""
    turns = touch_of(table).turns
    if turns[ta.EVERY] > 0 and turns[ta.SINCE] >= turns[ta.EVERY]:
        turns[ta.SINCE] = 0
        status = update_region(table)
        turns[ta.MADE] = 0
        if status != OK:
            turns[ta.UPDATE_FAILED] = 1
            return status
        turns[ta.UPDATES] += 1
    status = one_step(table, h) if turns[ta.ASKS] == 0 else one_step_or_ask(table, h)
    if status != OK:
        return status
    turns[ta.LEFT] -= 1
    turns[ta.SINCE] += 1
    turns[ta.MADE] += 1
    if searches(table) and end_watch(table):
        if turns[ta.EVERY] == 0:
            return CONTACTS_CHANGED
        turns[ta.SINCE] = turns[ta.EVERY]
    return OK


@routine
def one_step_or_ask(table, h):
    """The same. One in which a pair begins to press is taken back, with CONTACTS_BEGIN; the forces it found are kept."""
    s = moving_of(table)
    t = touch_of(table)
    substeps, wish, debt = s.counts[SUBSTEPS], s.numbers[PROPOSED_STEP], s.numbers[ENERGY_DEBT]
    length = t.balance[ta.LENGTH_WISH]
    t.turns[ta.BEGUN] = 0
    status = one_step(table, h)
    if status != OK or t.turns[ta.BEGUN] == 0 or t.turns[ta.ASKED] == ta.MOST_ASKED:
        t.turns[ta.ASKED] = 0
        return status
    t.turns[ta.ASKED] += 1
    take_back_whole(s, t)
    t.totals[ta.STEP] = h
    s.counts[SUBSTEPS], s.counts[POSES_READY] = substeps, 0
    s.numbers[PROPOSED_STEP], s.numbers[ENERGY_DEBT], t.balance[ta.LENGTH_WISH] = wish, debt, length
    return CONTACTS_BEGIN


@routine
def record_efforts(table, h):
    """What acted on the joints in the last step."""
    t = touch_of(table)
    if t.turns[ta.ENDED_BY] == SEMI_IMPLICIT_EULER:  # kernels of other integrators note what acted in their steps
        note_euler_efforts(table, t.balance[ta.LAST_PART])
    note_limits(table, h, t.balance[ta.LAST_PART])


_advance = make_steps(next_step, begin_steps, nothing_after, record_efforts)


@kernel
def advance_touching(table, h, n):
    """Up to n steps of h [s]; returns OK or why it stopped, and the number of steps that were made."""
    return _advance(table, h, n)


@routine
def one_step(table, h):
    """One step of h [s], or none, in shorter parts if need be: OK or why it failed."""
    method = moving_of(table).counts[METHOD]
    turns = touch_of(table).turns
    status = OK
    left, length = h, begin_parts(table, h)
    begin_count(table)
    while length > 0.0:
        begin_part_of(table, h, length)
        status, turns[ta.ENDED_BY] = try_step(table, length, method)
        status, left, length = end_part(table, h, left, length, status)
    return status


@inlined
def try_step(table, h, method):
    """A step of h [s] at once, or none: OK or why it failed, and the method that ended it."""
    if method == SEMI_IMPLICIT_EULER:
        return try_touching(table, h), method
    return one_step_by(table, h, method)
