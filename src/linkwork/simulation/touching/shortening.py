"""Steps with contact in shorter parts, where one as long as it was asked for cannot be made.

A step that gains energy from nothing (`balance`), whose contacts have no answer (`judging`), whose loops come apart or
whose numbers overflow is made again in parts of half the length, and these again, down to SHORTEST of it; then it fails.
One that gains energy is kept from SHORTEST_FOR_GAINS of it on, and what it gained is taken back from its velocities.
The next step begins with parts of twice the length of the last ones. So every step ends: its parts are bounded in number.
"""

from linkwork.contact.contact_list import forget_sums, settle_sums, take_back_contacts
from linkwork.core.jit import inlined, routine
from linkwork.simulation import moving as mv
from linkwork.simulation.moving import moving_of
from linkwork.simulation.stepping.saving import put_back, save_state
from linkwork.simulation.touching import arrays as ta
from linkwork.simulation.touching.arrays import contacts_of, touch_of
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
    t.balance[ta.CORRECTED] = t.settings[ta.CORRECTION]
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
    save_state(s, t.began_q, t.began_v, t.began_target_momentum)
    for k in range(t.totals.shape[0]):
        t.safe_totals[ta.PART_TOTALS, k] = t.totals[k]
    t.balance[ta.PART_WISH], t.balance[ta.PART_DEBT] = s.numbers[mv.PROPOSED_STEP], s.numbers[mv.ENERGY_DEBT]
    t.balance[ta.WAS_TOUCHING] = 0.0
    t.settings[ta.CORRECTION] = t.balance[ta.CORRECTED] * (length / h)


@routine
def end_part(table, h, left, length, status):
    """After a part that was tried, of a step of h [s] of which `left` were not made: OK or why the step fails; what is left
    to make, and the length of the next part [s], zero where there is none.

    A part in which nothing touches, from its start to its end, is the integrator's own, as without contact.
    """
    s = moving_of(table)
    t = touch_of(table)
    has_touched = t.balance[ta.WAS_TOUCHING] != 0.0
    if status == mv.OK and has_touched:
        status = judge_balance(table, length)
        if status == mv.CONTACT_GAINS and length <= h * SHORTEST_FOR_GAINS:
            status = mv.OK  # what it gained is taken back from its velocities
        if status != mv.OK:
            note_worst(t.balance, contacts_of(table))
            take_back_contacts(contacts_of(table))
            take_back_part(s, t)
            s.numbers[mv.PROPOSED_STEP], s.numbers[mv.ENERGY_DEBT] = t.balance[ta.PART_WISH], t.balance[ta.PART_DEBT]
    settle_impulses(table, status == mv.OK)
    if status == mv.OK:
        if has_touched:
            settle_balance(table)
        left = left - length if length < left else 0.0
        if left > 0.0:
            return mv.OK, left, left if left < 1.5 * length else length
    elif is_cured_by_shorter(status) and length > h * SHORTEST:
        for k in range(t.totals.shape[0]):
            t.totals[k] = t.safe_totals[ta.PART_TOTALS, k]
        return mv.OK, left, 0.5 * length
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
    t.settings[ta.CORRECTION] = t.balance[ta.CORRECTED]
    t.balance[ta.LENGTH_WISH] = 0.0
    t.totals[ta.STEP] = h
    if status != mv.OK:
        take_back_whole(s, t)
    elif length < h:
        t.totals[ta.SHORTENED] += 1.0
        t.balance[ta.LENGTH_WISH] = 2.0 * length if 2.0 * length < h else 0.0


@inlined
def first_length(t, h):
    """h, or that by a power of two which is at most the length wished for [s]."""
    wish, span = t.balance[ta.LENGTH_WISH], h
    if wish > 0.0:
        while span > 1.0001 * wish and span > h * SHORTEST:
            span *= 0.5
    return span


@inlined
def is_cured_by_shorter(status):
    return (
        status == mv.CONTACT_GAINS or status == mv.CONTACT_UNSOLVED or status == mv.OVERFLOW or status == mv.LOOPS_OPEN
    )


@inlined
def remember_whole(s, t):
    save_state(s, t.safe_q, t.safe_v, t.safe_target_momentum)
    for k in range(t.totals.shape[0]):
        t.safe_totals[ta.WHOLE_TOTALS, k] = t.totals[k]


@inlined
def take_back_whole(s, t):
    """All parts; what is known of pressing contacts and of impulses stays, as first guesses."""
    put_back(s, t.safe_q, t.safe_v, t.safe_target_momentum)
    for k in range(t.totals.shape[0]):
        t.totals[k] = t.safe_totals[ta.WHOLE_TOTALS, k]


@inlined
def take_back_part(s, t):
    put_back(s, t.began_q, t.began_v, t.began_target_momentum)


@routine
def remember_totals(table):
    """Before a part whose way is looked at: what it adds to, so that it can be taken back."""
    t = touch_of(table)
    if t.balance[ta.WAS_TOUCHING] != 0.0:
        t.balance[ta.WAS_TOUCHING] = ta.TOUCHED  # and bodies are placed where the part before ended
    for k in range(t.totals.shape[0]):
        t.safe_totals[ta.WAY_TOTALS, k] = t.totals[k]
    return t.balance[ta.PUSH_WORK]
