"""One step of a linkage that touches itself, the world and the limits of its joints: semi-implicit Euler."""

import math

from linkwork.contact.contact_list import sum_part, take_back_contacts
from linkwork.core.jit import inlined, routine
from linkwork.simulation.integrators import euler
from linkwork.simulation.integrators.chart import EVALUATE
from linkwork.simulation.integrators.euler import BY_EULER, BY_VARIATIONAL, end_whipping, move, where_joints_act
from linkwork.simulation.integrators.variational.variational import begin as begin_variational
from linkwork.simulation.integrators.variational.variational import resume as resume_variational
from linkwork.simulation.integrators.whipping import end_flight, whips
from linkwork.simulation.loading.accelerate import AT_END
from linkwork.simulation.loading.applied_efforts import BY_LIMIT
from linkwork.simulation.momentum.momentum import add_impulses
from linkwork.simulation.moving import KEEPS_MOMENTUM, OK, RULE, moving_of
from linkwork.simulation.stepping.driver import make_finish
from linkwork.simulation.stepping.evaluate_loops import close_any, evaluate_any
from linkwork.simulation.stepping.saving import save_start
from linkwork.simulation.touching import arrays as ta
from linkwork.simulation.touching.arrays import contacts_of, next_meeting, searches, touch_of
from linkwork.simulation.touching.balance import open_balance
from linkwork.simulation.touching.calling import find, shorter_part
from linkwork.simulation.touching.impulses import find_impulses, move_on
from linkwork.simulation.touching.motors import (
    accelerate_as_judged,
    act_otherwise,
    are_motors_limited,
    meet_with_motors,
)
from linkwork.simulation.touching.problem import free_motion, near_limits, pose_problem
from linkwork.simulation.touching.search.changes import note_pressing
from linkwork.simulation.touching.shortening import remember_totals, take_back_part
from linkwork.simulation.touching.turning import turn_half_way
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import dot3

MOST_PARTS = 8  # of a step in which fast bodies meet; the last one is all that is left
SOON = 1e-3  # of a step: bodies that meet earlier than this meet now
SHORT_OF = 1e-9  # of the time until they meet: a part ends right before
CUT = -100  # says to `finish` that a part is to be taken back

finish = make_finish(euler.EULER)
begin_step, note_euler_efforts = euler.begin, euler.record_efforts


@routine
def note_limits(table, h, last):
    """What limits did in the last step of h [s]: their impulses over h; and whether bodies went around in its last part."""
    s = moving_of(table)
    t = touch_of(table)
    note_turns(s, t, last)
    for j in range(s.v.shape[0]):
        s.applied_efforts[j, BY_LIMIT] = (t.summed[t.whole[j], 0] - t.summed[t.whole[j], 1]) / h


@routine
def sum_impulses(table, h):
    """A part of h [s] was made: what contacts and limits gave in it."""
    t = touch_of(table)
    sum_part(contacts_of(table))
    t.balance[ta.LAST_PART] = h
    for k in range(t.counts[ta.LIMITS]):
        place, side = t.whole[t.bound[k, 1]], t.bound[k, 2]
        t.summed[place, 2 + side] += t.held[place, side]


@inlined
def note_turns(s, t, h):
    """Which body turns most by forces alone, if that is more than once around in h [s]: no law of contact sees that."""
    t.counts[ta.TURNED] = 0
    most = (2.0 * math.pi / h) ** 2
    for i in range(s.tree.shape[0]):
        w = load3(t.twists, i, 0)
        if dot3(w, w) > most:
            most = dot3(w, w)
            t.counts[ta.TURNED] = i + 1


@routine
def try_touching(table, h):
    """A step of h [s] at once, or none: OK or why it failed.

    It is cut where two fast bodies meet on the way, far from where they are now: the point between them would have another
    lever now than then. It is cut too where a body would go through another one (`way`). One that fails in a later part
    is taken back whole.
    """
    status, count = begin_euler(table, h)
    if status == OK:
        open_balance(table)
    left, last, parts = h, h, 1
    while True:
        until = next_meeting(table)
        if status == OK and SOON * h < until < last and parts < MOST_PARTS:
            finish(table, CUT)
            take_back_contacts(contacts_of(table))
            last = (1.0 - SHORT_OF) * until
            status, count = begin_euler(table, last)
        push_work = remember_totals(table)
        status = end_touching(table, last, status, count)
        shorter = shorter_part(table, last, h, push_work) if status == OK else 0.0
        if shorter > 0.0:
            last = shorter
        else:
            if status == OK:
                sum_impulses(table, last)
            left -= last
            if status != OK or not left > 0.0:
                break
            parts += 1
            last = left
        status, count = begin_euler(table, last)
    if status != OK and parts > 1:
        take_back_part(moving_of(table), touch_of(table))
    return status


@routine
def begin_euler(table, h):
    """`begin_and_find`. Where something touches, limits of motors are found with contacts (`motors`) and would be judged
    twice; so they are judged by forces alone only where nothing does, or did in the last step, and what is found then is
    what counts."""
    counts = touch_of(table).counts
    if not are_motors_limited(table) or counts[ta.SLOTS] + counts[ta.LIMITS] == 0:
        return begin_and_find(table, h, True, True)
    status, count = begin_and_find(table, h, True, False)
    if status == OK and count == 0 and act_otherwise(moving_of(table), h, moving_of(table).v):
        finish(table, CUT)
        take_back_contacts(contacts_of(table))
        status, count = begin_and_find(table, h, True, True)
    return status, count


@routine
def begin_and_find(table, h, may_whip, are_motors_judged):
    """The first half of a step: OK or a failure, and how many contacts there are. may_whip: Euler's rule makes flights."""
    status, count = begin_touching(table, h, may_whip, are_motors_judged), 0
    if status == OK and searches(table):
        count = find(table, h)
        if count < 0:
            status, count = count, 0
    return status, count


@routine
def begin_touching(table, h, may_whip, are_motors_judged):
    """Accelerations, momentum, and the velocities that forces alone would give; OK or a failure."""
    s = moving_of(table)
    save_start(table)
    begin_step(table, h)
    bad = evaluate_any(table, AT_END, h) if are_motors_judged else accelerate_as_judged(table, h)
    if bad != OK:
        return bad
    if may_whip and whips(table, h):
        s.counts[RULE] = BY_VARIATIONAL  # unless something touches
    if s.counts[KEEPS_MOMENTUM] != 0:
        add_impulses(table, h)
    free_motion(table, h)
    return OK


@routine
def end_touching(table, h, status, count):
    """Solves contacts and limits and ends the step; one that failed is taken back."""
    if status == OK:
        limits = near_limits(table, h)
        if count + limits > 0:
            moving_of(table).counts[RULE] = BY_EULER
            status = meet(table, h, count, limits)
        else:
            t = touch_of(table)
            t.counts[ta.SLOTS], t.counts[ta.LIMITS] = 0, 0
            status = end_untouched(table, h)
    if status == OK:
        status = close_any(table)
    status = finish(table, status)
    if status == OK:
        note_pressing(table)
    elif count > 0:
        take_back_contacts(contacts_of(table))
    return status


@routine
def meet(table, h, count, limits):
    """Solves contacts and near limits, with motors within their limits, and moves on; OK or a failure."""
    status = OK
    balance = touch_of(table).balance
    balance[ta.WAS_TOUCHING] = 1.0
    end_flight(moving_of(table), balance[ta.ENERGY_START])
    if are_motors_limited(table):
        status, limits = meet_with_motors(table, h, count, limits)
    else:
        status = turn_half_way(table, h)
        if status == OK:
            status = pose_problem(table, count, limits)
        if status == OK:
            status = find_impulses(table, h, limits)
    if status == OK:
        move_on(table, h, limits)
    return status


@routine
def end_untouched(table, h):
    """The end of a step in which nothing touched: that of a step without contact, to the bit; OK or a failure."""
    s = moving_of(table)
    for k in range(s.v.shape[0]):
        s.v[k] = s.start_v[k]
    if s.counts[RULE] == BY_VARIATIONAL:
        status = begin_variational(table, h)
        while status == EVALUATE:
            status = resume_variational(table, h, evaluate_any(table, where_joints_act(table), h))
        if end_whipping(table, status):
            return OK
        bad = evaluate_any(table, AT_END, h)
        if bad != OK:
            return bad
    move(table, h)
    return OK
