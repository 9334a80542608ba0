"""Steps with contact in shorter parts, where one as long as it was asked for cannot be made.

A step that gains energy from nothing (`balance`), whose impulses fail their check (`checking`), whose loops come apart or
whose numbers overflow is made again in parts of half the length, and these again, down to SHORTEST of it; then it fails.
One that gains energy is kept from SHORTEST_FOR_GAINS of it on, and what it gained is taken back from its velocities.
The next step begins with parts of twice the length of the last ones. So every step ends: its parts are bounded in number.
"""

from linkwork.contact.contact_list import commit_sums, forget_sums, take_back_contacts
from linkwork.core.jit import inlined, routine
from linkwork.simulation import moving as mv
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import contact_arrays_of, contacts_of, note_worst
from linkwork.simulation.contact_step.balance import check_balance, limit_gains
from linkwork.simulation.moving import moving_of
from linkwork.simulation.stepping.saving import put_back, save_state

SHORTEST = 2.0**-10  # of a step: its shortest part
SHORTEST_FOR_GAINS = 2.0**-4  # the same of parts that gain energy: shorter ones seldom gain less


@routine
def begin_parts(table, h):
    """At the start of a step of h [s]: the length of its first part [s]."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    remember_step(s, t)
    t.balance[ca.CORRECTED] = t.settings[ca.CORRECTION]
    forget_sums(contacts_of(table))
    for j in range(s.v.shape[0]):
        for side in range(4):
            t.limit_sums[t.model_dof[j], side] = 0.0
    return first_length(t, h)


@inlined
def begin_part_of(table, h, length):
    """Before a part of a step of h [s]: where it begins. A part takes back its part of what a step does of penetration."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    save_state(s, t.part_start_q, t.part_start_v, t.part_start_momentum, t.balance, ca.PART_NUMBERS)
    for k in range(t.totals.shape[0]):
        t.saved_totals[ca.PART_TOTALS, k] = t.totals[k]
    t.balance[ca.HAD_CONTACT] = 0.0
    t.settings[ca.CORRECTION] = t.balance[ca.CORRECTED] * (length / h)


@routine
def end_part(table, h, left, length, status):
    """After a part that was tried, of a step of h [s] of which `left` were not made: OK or why the step fails; what is left
    to make, and the length of the next part [s], zero where there is none.

    A part in which nothing touches, from its start to its end, is the integrator's own, as without contact.
    """
    s = moving_of(table)
    t = contact_arrays_of(table)
    had_contact = t.balance[ca.HAD_CONTACT] != 0.0
    if status == mv.OK and had_contact:
        status = check_balance(table, length)
        if status == mv.CONTACT_GAINS and length <= h * SHORTEST_FOR_GAINS:
            status = mv.OK  # what it gained is taken back from its velocities
        if status != mv.OK:
            note_worst(t.balance, contacts_of(table))
            take_back_contacts(contacts_of(table))
            take_back_part(s, t)
    commit_impulses(table, status == mv.OK)
    if status == mv.OK:
        if had_contact:
            limit_gains(table)
        left = left - length if length < left else 0.0
        if left > 0.0:
            return mv.OK, left, left if left < 1.5 * length else length
    elif is_cured_by_shorter(status) and length > h * SHORTEST:
        for k in range(t.totals.shape[0]):
            t.totals[k] = t.saved_totals[ca.PART_TOTALS, k]
        return mv.OK, left, 0.5 * length
    end_parts(s, t, h, length, status)
    return status, left, 0.0


@inlined
def commit_impulses(table, stands):
    """What contacts and limits gave since the last part that stands, stands too, or was taken back."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    commit_sums(contacts_of(table), stands)
    for j in range(s.v.shape[0]):
        place = t.model_dof[j]
        for side in range(2):
            if stands:
                t.limit_sums[place, side] += t.limit_sums[place, 2 + side]
            t.limit_sums[place, 2 + side] = 0.0


@inlined
def end_parts(s, t, h, length, status):
    """The end of a step, in parts or not."""
    t.settings[ca.CORRECTION] = t.balance[ca.CORRECTED]
    t.balance[ca.PROPOSED_LENGTH] = 0.0
    t.totals[ca.STEP] = h
    if status != mv.OK:
        take_back_step(s, t)
    elif length < h:
        t.totals[ca.SHORTENED] += 1.0
        t.balance[ca.PROPOSED_LENGTH] = 2.0 * length if 2.0 * length < h else 0.0


@inlined
def first_length(t, h):
    """h, or that by a power of two which is at most the proposed length [s]."""
    proposed, span = t.balance[ca.PROPOSED_LENGTH], h
    if proposed > 0.0:
        while span > 1.0001 * proposed and span > h * SHORTEST:
            span *= 0.5
    return span


@inlined
def is_cured_by_shorter(status):
    return (
        status == mv.CONTACT_GAINS or status == mv.CONTACT_UNSOLVED or status == mv.OVERFLOW or status == mv.LOOPS_OPEN
    )


@inlined
def remember_step(s, t):
    save_state(s, t.step_start_q, t.step_start_v, t.step_start_momentum, t.balance, ca.STEP_NUMBERS)
    for k in range(t.totals.shape[0]):
        t.saved_totals[ca.STEP_TOTALS, k] = t.totals[k]


@inlined
def take_back_step(s, t):
    """All parts; what is known of pressing contacts and of impulses stays, as first guesses."""
    put_back(s, t.step_start_q, t.step_start_v, t.step_start_momentum, t.balance, ca.STEP_NUMBERS)
    for k in range(t.totals.shape[0]):
        t.totals[k] = t.saved_totals[ca.STEP_TOTALS, k]


@inlined
def take_back_part(s, t):
    put_back(s, t.part_start_q, t.part_start_v, t.part_start_momentum, t.balance, ca.PART_NUMBERS)


@routine
def remember_totals(table):
    """Before a part whose path is checked: the totals that it adds to, so that it can be taken back."""
    t = contact_arrays_of(table)
    if t.balance[ca.HAD_CONTACT] != 0.0:
        t.balance[ca.HAD_CONTACT] = ca.SOLVED  # and bodies are placed where the part before ended
    for k in range(t.totals.shape[0]):
        t.saved_totals[ca.PATH_TOTALS, k] = t.totals[k]
    return t.balance[ca.PUSH_WORK]
