"""One step of a linkage that touches itself, the world and the limits of its joints: semi-implicit Euler."""

from linkwork.contact.contact_list import sum_part, take_back_contacts
from linkwork.core.jit import kernel, routine
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import contact_arrays_of, contacts_of, next_impact, searches
from linkwork.simulation.contact_step.balance import open_balance
from linkwork.simulation.contact_step.calling import find, shorter_part
from linkwork.simulation.contact_step.impulses import find_impulses, integrate_positions
from linkwork.simulation.contact_step.motors import (
    accelerate_saturated,
    any_changes_law,
    are_motors_limited,
    solve_with_motors,
)
from linkwork.simulation.contact_step.problem import assemble_problem, free_motion, near_limits
from linkwork.simulation.contact_step.search.contact_events import record_pressing
from linkwork.simulation.contact_step.shortening import remember_totals, take_back_part
from linkwork.simulation.contact_step.turning import turn_half_way
from linkwork.simulation.integrators import euler
from linkwork.simulation.integrators.chart import EVALUATE
from linkwork.simulation.integrators.euler import BY_EULER, BY_VARIATIONAL, end_whipping, move, where_joints_act
from linkwork.simulation.integrators.variational.variational import begin as begin_variational
from linkwork.simulation.integrators.variational.variational import resume as resume_variational
from linkwork.simulation.integrators.whipping import end_flight, whips
from linkwork.simulation.loading.accelerate import AT_END
from linkwork.simulation.momentum.momentum import add_impulses
from linkwork.simulation.moving import KEEPS_MOMENTUM, OK, RULE, moving_of
from linkwork.simulation.stepping.driver import make_finish
from linkwork.simulation.stepping.evaluate_loops import close_any_way, evaluate_any
from linkwork.simulation.stepping.saving import save_start

MOST_PARTS = 8  # of a step in which fast bodies meet; the last one is all that is left
SOON = 1e-3  # of a step: bodies that meet earlier than this meet now
SHORT_OF = 1e-9  # of the time until they meet: a part ends right before
CUT = -100  # status of a part that `finish_step` is to take back

finish_step = make_finish(euler.EULER)
begin_step = euler.begin


@routine
def sum_impulses(table, h):
    """A part of h [s] was made: what contacts and limits gave in it."""
    t = contact_arrays_of(table)
    sum_part(contacts_of(table))
    t.balance[ca.LAST_PART] = h
    for k in range(t.counts[ca.LIMITS]):
        place, side = t.model_dof[t.bound[k, 1]], t.bound[k, 2]
        t.limit_sums[place, 2 + side] += t.limit_impulse[place, side]


@kernel
def try_euler(table, h):
    """A step of h [s] at once, or none: OK or why it failed.

    It is cut where two fast bodies meet on the way, far from where they are now: the point between them would have
    another lever now than then. It is cut too where a body would go through another one (`path_check`). One that fails
    in a later part is taken back whole.
    """
    status, count = begin_euler(table, h)
    if status == OK:
        open_balance(table)
    left, last, parts = h, h, 1
    while True:
        until = next_impact(table)
        while status == OK and SOON * h < until < last and parts < MOST_PARTS:
            finish_step(table, CUT)
            take_back_contacts(contacts_of(table))
            last = (1.0 - SHORT_OF) * until
            status, count = begin_euler(table, last)
            until, parts = next_impact(table), parts + 1  # the velocities by forces alone are others now
        push_work = remember_totals(table)
        status = end_contact_step(table, last, status, count)
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
        take_back_part(moving_of(table), contact_arrays_of(table))
    return status


@routine
def begin_euler(table, h):
    """`begin_and_find`. With contacts or limits, saturation of motors is found together with them (`motors`), and would be
    found twice. So it is found by forces alone only where there are none, now and in the last step."""
    counts = contact_arrays_of(table).counts
    if not are_motors_limited(table) or counts[ca.CONTACT_BODIES] + counts[ca.LIMITS] == 0:
        return begin_and_find(table, h, True, True)
    status, count = begin_and_find(table, h, True, False)
    if status == OK and count == 0 and any_changes_law(moving_of(table), h, moving_of(table).v):
        finish_step(table, CUT)
        take_back_contacts(contacts_of(table))
        status, count = begin_and_find(table, h, True, True)
    return status, count


@routine
def begin_and_find(table, h, may_whip, updates_motors):
    """The first half of a step: OK or a failure, and how many contacts there are. may_whip: Euler's rule makes flights."""
    status, count = begin_contact_step(table, h, may_whip, updates_motors), 0
    if status == OK and searches(table):
        count = find(table, h)
        if count < 0:
            status, count = count, 0
    return status, count


@routine
def begin_contact_step(table, h, may_whip, updates_motors):
    """Accelerations, momentum, and the velocities that forces alone would give; OK or a failure."""
    s = moving_of(table)
    save_start(table)
    begin_step(table, h)
    bad = evaluate_any(table, AT_END, h) if updates_motors else accelerate_saturated(table, h)
    if bad != OK:
        return bad
    if may_whip and whips(table, h):
        s.counts[RULE] = BY_VARIATIONAL  # unless something touches
    if s.counts[KEEPS_MOMENTUM] != 0:
        add_impulses(table, h)
    free_motion(table, h)
    return OK


@routine
def end_contact_step(table, h, status, count):
    """Solves contacts and limits and ends the step; one that failed is taken back."""
    if status == OK:
        limits = near_limits(table, h)
        if count + limits > 0:
            moving_of(table).counts[RULE] = BY_EULER
            status = solve_and_integrate(table, h, count, limits)
        else:
            t = contact_arrays_of(table)
            t.counts[ca.CONTACT_BODIES], t.counts[ca.LIMITS] = 0, 0
            status = end_without_contact(table, h)
    if status == OK:
        status = close_any_way(table)
    status = finish_step(table, status)
    if status == OK:
        record_pressing(table)
    elif count > 0:
        take_back_contacts(contacts_of(table))
    return status


@routine
def solve_and_integrate(table, h, count, limits):
    """Solves contacts and near limits, with motors within their limits, and moves on; OK or a failure."""
    status = OK
    balance = contact_arrays_of(table).balance
    balance[ca.HAD_CONTACT] = 1.0
    end_flight(moving_of(table), balance[ca.ENERGY_START])
    if are_motors_limited(table):
        status, limits = solve_with_motors(table, h, count, limits)
    else:
        status = turn_half_way(table, h)
        if status == OK:
            status = assemble_problem(table, count, limits)
        if status == OK:
            status = find_impulses(table, h, limits)
    if status == OK:
        integrate_positions(table, h, limits)
    return status


@routine
def end_without_contact(table, h):
    """The end of a step without contacts and near limits: that of a step without contact, to the bit; OK or a failure."""
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
