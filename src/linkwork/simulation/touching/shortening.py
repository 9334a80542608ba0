"""Steps with contact in shorter parts, where one as long as it was asked for cannot be made.

A step that gains energy from nothing (`balance`), whose contacts have no answer (`judging`), whose loops come apart or
whose numbers overflow is made again in parts of half the length, and these again, down to SHORTEST of it; then it fails.
One that gains energy is kept from SHORTEST_FOR_GAINS of it on, and what it gained is taken back from its velocities.
The next step begins with parts of twice the length of the last ones. So every step ends: its parts are bounded in number.
"""

from linkwork.contact.contact_list import forget_sums, settle_sums, take_back_contacts
from linkwork.core.jit import inlined, routine
from linkwork.simulation.moving import (
    CONTACT_GAINS,
    CONTACT_UNSOLVED,
    ENERGY_DEBT,
    LOOPS_OPEN,
    OK,
    OVERFLOW,
    SUBSTEP_WISH,
    moving_of,
)
from linkwork.simulation.stepping.saving import put_back, save_state
from linkwork.simulation.touching.arrays import (
    CORRECTED,
    CORRECTION,
    LENGTH_WISH,
    PART_DEBT,
    PART_TOTALS,
    PART_WISH,
    PUSH_WORK,
    SHORTENED,
    STEP,
    TOUCHED,
    WAS_TOUCHING,
    WAY_TOTALS,
    WHOLE_TOTALS,
    contacts_of,
    touch_of,
)
from linkwork.simulation.touching.balance import judge_balance, settle_balance
from linkwork.simulation.touching.judging import note_worst

SHORTEST = 2.0**-10  # of a step: its shortest part
SHORTEST_FOR_GAINS = 2.0**-4  # the same of parts that gain energy: shorter ones seldom gain less


@routine
def begin_parts(table, h):
    """At the start of a step of h [s]: the length of its first part [s]."""
    s = moving_of(table)
    t = touch_of(table)
    remember_whole(s, t)
    t.balance[CORRECTED] = t.settings[CORRECTION]
    forget_sums(contacts_of(table))
    for j in range(s.v.shape[0]):
        for side in range(4):
            t.summed[t.whole[j], side] = 0.0
    return first_length(t, h)


@inlined
def begin_part_of(table, h, length):
    """Before a part of a step of h [s]: where it begins. A part takes back its part of what a step does of penetration."""
    s = moving_of(table)
    t = touch_of(table)
    save_state(s, t.began_q, t.began_v, t.began_kept)
    for k in range(t.totals.shape[0]):
        t.safe_totals[PART_TOTALS, k] = t.totals[k]
    t.balance[PART_WISH], t.balance[PART_DEBT] = s.numbers[SUBSTEP_WISH], s.numbers[ENERGY_DEBT]
    t.balance[WAS_TOUCHING] = 0.0
    t.settings[CORRECTION] = t.balance[CORRECTED] * (length / h)


@routine
def end_part(table, h, left, length, status):
    """After a part that was tried, of a step of h [s] of which `left` were not made: OK or why the step fails; what is left
    to make, and the length of the next part [s], zero where there is none.

    A part in which nothing touches, from its start to its end, is the integrator's own, as without contact.
    """
    s = moving_of(table)
    t = touch_of(table)
    has_touched = t.balance[WAS_TOUCHING] != 0.0
    if status == OK and has_touched:
        status = judge_balance(table, length)
        if status == CONTACT_GAINS and length <= h * SHORTEST_FOR_GAINS:
            status = OK  # what it gained is taken back from its velocities
        if status != OK:
            note_worst(t.balance, contacts_of(table))
            take_back_contacts(contacts_of(table))
            take_back_part(s, t)
            s.numbers[SUBSTEP_WISH], s.numbers[ENERGY_DEBT] = t.balance[PART_WISH], t.balance[PART_DEBT]
    settle_impulses(table, status == OK)
    if status == OK:
        if has_touched:
            settle_balance(table)
        left = left - length if length < left else 0.0
        if left > 0.0:
            return OK, left, left if left < 1.5 * length else length
    elif is_cured_by_shorter(status) and length > h * SHORTEST:
        for k in range(t.totals.shape[0]):
            t.totals[k] = t.safe_totals[PART_TOTALS, k]
        return OK, left, 0.5 * length
    end_parts(s, t, h, length, status)
    return status, left, 0.0


@inlined
def settle_impulses(table, stands):
    """What contacts and limits gave since the last part that stands, stands too, or was taken back."""
    s = moving_of(table)
    t = touch_of(table)
    settle_sums(contacts_of(table), stands)
    for j in range(s.v.shape[0]):
        place = t.whole[j]
        for side in range(2):
            if stands:
                t.summed[place, side] += t.summed[place, 2 + side]
            t.summed[place, 2 + side] = 0.0


@inlined
def end_parts(s, t, h, length, status):
    """The end of a step, in parts or not."""
    t.settings[CORRECTION] = t.balance[CORRECTED]
    t.balance[LENGTH_WISH] = 0.0
    t.totals[STEP] = h
    if status != OK:
        take_back_whole(s, t)
    elif length < h:
        t.totals[SHORTENED] += 1.0
        t.balance[LENGTH_WISH] = 2.0 * length if 2.0 * length < h else 0.0


@inlined
def first_length(t, h):
    """h, or that by a power of two which is at most the length wished for [s]."""
    wish, span = t.balance[LENGTH_WISH], h
    if wish > 0.0:
        while span > 1.0001 * wish and span > h * SHORTEST:
            span *= 0.5
    return span


@inlined
def is_cured_by_shorter(status):
    return status == CONTACT_GAINS or status == CONTACT_UNSOLVED or status == OVERFLOW or status == LOOPS_OPEN


@inlined
def remember_whole(s, t):
    save_state(s, t.safe_q, t.safe_v, t.safe_kept)
    for k in range(t.totals.shape[0]):
        t.safe_totals[WHOLE_TOTALS, k] = t.totals[k]


@inlined
def take_back_whole(s, t):
    """All parts; what is known of pressing contacts and of impulses stays, as first guesses."""
    put_back(s, t.safe_q, t.safe_v, t.safe_kept)
    for k in range(t.totals.shape[0]):
        t.totals[k] = t.safe_totals[WHOLE_TOTALS, k]


@inlined
def take_back_part(s, t):
    put_back(s, t.began_q, t.began_v, t.began_kept)


@routine
def remember_totals(table):
    """Before a part whose way is looked at: what it adds to, so that it can be taken back."""
    t = touch_of(table)
    if t.balance[WAS_TOUCHING] != 0.0:
        t.balance[WAS_TOUCHING] = TOUCHED  # and bodies are placed where the part before ended
    for k in range(t.totals.shape[0]):
        t.safe_totals[WAY_TOTALS, k] = t.totals[k]
    return t.balance[PUSH_WORK]
