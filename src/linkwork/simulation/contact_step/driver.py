"""Steps with contact, or with limits of joints alone, by any integrator: one kernel, which calls others (`calling`).

In adaptive simulations a region is updated every five to fifteen steps of contact. What Python does around an update takes
as long as a step with forty active joints, and leaves the caches to the next step as it likes. So where an update needs
nothing from Python, it is made here, right before the step that it is due at, by the kernel that Python would call.

What does not move acts as rigid, so a contact that begins meets the wrong mass where the joints behind it are inactive.
Where a region is chosen by its tolerance alone, such a step is taken back, the region is chosen anew by the forces that it
found, and the step is made again.
"""

import math

from linkwork.core.jit import inlined, kernel, routine
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import begin_count, contact_arrays_of, searches
from linkwork.simulation.contact_step.calling import try_step, update_region
from linkwork.simulation.contact_step.search.contact_events import is_update_due
from linkwork.simulation.contact_step.shortening import begin_part_of, begin_parts, end_part, take_back_step
from linkwork.simulation.integrators.euler import record_efforts as record_euler_efforts
from linkwork.simulation.loading.applied_efforts import BY_LIMIT
from linkwork.simulation.moving import (
    CONTACTS_BEGIN,
    CONTACTS_CHANGED,
    METHOD,
    OK,
    POSES_READY,
    SEMI_IMPLICIT_EULER,
    SUBSTEPS,
    moving_of,
)
from linkwork.simulation.stepping.driver import make_steps
from linkwork.simulation.stepping.integrator import nothing_after
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import dot3


@inlined
def begin_steps(table, h, n):
    contact_arrays_of(table).turns[ca.LEFT] = n


@routine
def next_step(table, h):
    """One step of h [s], or none, behind an update where one is due. Returns OK or why it failed; CONTACTS_CHANGED: a step
    was made after which the region is to be chosen anew, and not here; CONTACTS_BEGIN: none was made before that."""
    turns = contact_arrays_of(table).turns
    if turns[ca.EVERY] > 0 and turns[ca.SINCE] >= turns[ca.EVERY]:
        turns[ca.SINCE] = 0
        status = update_region(table)
        turns[ca.MADE] = 0
        if status != OK:
            turns[ca.UPDATE_FAILED] = 1
            return status
        turns[ca.UPDATES] += 1
    status = one_step(table, h) if turns[ca.ASKS] == 0 else one_step_or_ask(table, h)
    if status != OK:
        return status
    turns[ca.LEFT] -= 1
    turns[ca.SINCE] += 1
    turns[ca.MADE] += 1
    if searches(table) and is_update_due(table):
        if turns[ca.EVERY] == 0:
            return CONTACTS_CHANGED
        turns[ca.SINCE] = turns[ca.EVERY]
    return OK


@routine
def one_step_or_ask(table, h):
    """The same. One in which a pair begins to press is taken back, with CONTACTS_BEGIN; the forces it found are kept."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    substeps, length = s.counts[SUBSTEPS], t.balance[ca.PROPOSED_LENGTH]
    t.turns[ca.BEGUN] = 0
    status = one_step(table, h)
    if status != OK or t.turns[ca.BEGUN] == 0 or t.turns[ca.ASKED] == ca.MOST_ASKED:
        t.turns[ca.ASKED] = 0
        return status
    t.turns[ca.ASKED] += 1
    take_back_step(s, t)
    t.totals[ca.STEP] = h
    s.counts[SUBSTEPS], s.counts[POSES_READY] = substeps, 0
    t.balance[ca.PROPOSED_LENGTH] = length
    return CONTACTS_BEGIN


@routine
def record_efforts(table, h):
    """What acted on the joints in the last step."""
    t = contact_arrays_of(table)
    if t.turns[ca.ENDED_BY] == SEMI_IMPLICIT_EULER:  # kernels of other integrators note what acted in their steps
        record_euler_efforts(table, t.balance[ca.LAST_PART])
    note_limits(table, h, t.balance[ca.LAST_PART])


@routine
def note_limits(table, h, last):
    """What limits did in the last step of h [s]: their impulses over h; and whether bodies went around in its last part."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    note_turns(s, t, last)
    for j in range(s.v.shape[0]):
        s.applied_efforts[j, BY_LIMIT] = (t.limit_sums[t.model_dof[j], 0] - t.limit_sums[t.model_dof[j], 1]) / h


@inlined
def note_turns(s, t, h):
    """Which body turns most by forces alone, if that is more than once around in h [s]: no law of contact shows it."""
    t.counts[ca.TURNED] = 0
    most = (2.0 * math.pi / h) ** 2
    for i in range(s.tree.shape[0]):
        w = load3(t.twists, i, 0)
        if dot3(w, w) > most:
            most = dot3(w, w)
            t.counts[ca.TURNED] = i + 1


_advance = make_steps(next_step, begin_steps, nothing_after, record_efforts)


@kernel
def advance_contact(table, h, n):
    """Up to n steps of h [s]; returns OK or why it stopped, and the number of steps that were made."""
    return _advance(table, h, n)


@routine
def one_step(table, h):
    """One step of h [s], or none, in shorter parts if need be: OK or why it failed."""
    method = moving_of(table).counts[METHOD]
    turns = contact_arrays_of(table).turns
    status = OK
    left, length = h, begin_parts(table, h)
    begin_count(table)
    while length > 0.0:
        begin_part_of(table, h, length)
        turns[ca.ENDED_BY] = method
        status = try_step(table, length)
        status, left, length = end_part(table, h, left, length, status)
    return status
