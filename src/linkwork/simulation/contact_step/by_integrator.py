"""Contact and joint limits with any integrator.

A step in which nothing meets is the integrator's own, of its order. Where bodies meet on the way, it is cut at that moment.
What bounces does so in a very short part of its own, and the integrator goes on from there; where bodies stay together, the
rest of the step is made as semi-implicit Euler with impulses (`contact_step.step`), of order one. In runs with gradients it
is not cut: a step in which bodies meet is made whole by that rule, whose way back is known. The integrator's own step is a
kernel of its own (`calling`), so that none is compiled but the one in use.

    gap + u_n t + ½ (u_n free - u_n) t² / h = 0                                             (36)  theory/contact.md
"""

import math

from linkwork.contact.contact_list import COUNT, GAP, NORMAL, POINT, RESTITUTION
from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.layout import Q, V
from linkwork.simulation import moving as mv
from linkwork.simulation.contact_step import arrays as ca
from linkwork.simulation.contact_step.arrays import contact_arrays_of, contacts_of
from linkwork.simulation.contact_step.balance import open_balance
from linkwork.simulation.contact_step.calling import own_step, shorter_part
from linkwork.simulation.contact_step.problem import near_limits
from linkwork.simulation.contact_step.search.contact_events import record_pressing
from linkwork.simulation.contact_step.shortening import remember_totals, take_back_part
from linkwork.simulation.contact_step.step import begin_and_find, end_contact_step, sum_impulses
from linkwork.simulation.momentum.momentum import keep_present_momentum
from linkwork.simulation.moving import moving_of
from linkwork.spatial.memory import load3, load6, load9, store3
from linkwork.spatial.rotations import ZERO3, add3, cross3, dot3, sub3
from linkwork.spatial.vectors import to_world

SOON = 1e-3  # of a step: bodies that meet earlier than this meet now; and the part in which they bounce
MOST_BOUNCES = 4  # in a step, one after the other; what bounces more often comes to rest
RESTS_BELOW = 2.0  # of the slack in which bodies come to rest: nearer ones meet now, unless they bounce
MOST_PARTS = 12  # of a step; the last one is all that is left


@kernel
def try_integrator(table, h):
    """One step of h [s], or none: OK or a failure. Leaves the method that ended it in `turns`.

    A part in which a body would go through another one is made again, as far as it was on its own side (`path_check`).
    """
    s = moving_of(table)
    t = contact_arrays_of(table)
    method = s.counts[mv.METHOD]
    soon = SOON * h if s.counts[mv.NEVER_WHIPS] == 0 else h  # then steps in which bodies meet are not cut
    left, span, status, by, last, parts, bounced = h, h, mv.OK, method, h, 0, 0
    while status == mv.OK and left > 0.0:
        status, count = begin_part(table, span)
        if status == mv.OK and parts == 0:
            open_balance(table)
        until, bounces = first_impact(table, span, count, soon) if status == mv.OK else (0.0, False)
        last = span
        parts += 1
        push_work = remember_totals(table)
        if until <= soon or (until < span and parts >= MOST_PARTS):
            by = mv.SEMI_IMPLICIT_EULER
            if status == mv.OK and bounces and bounced < MOST_BOUNCES and span > soon:
                bounced += 1
                last = SOON * h
                take_back_velocities(s)
                status, count = begin_part(table, last)
            status = end_contact_step(table, last, status, count)
        else:
            by = method
            last = min(until, span)
            begin_own_step(table)
            status = own_step(table, last)
            if status == mv.OK:
                record_pressing(table)
            else:  # it took its part back; what it cannot solve is made by Euler's rule, and its energy checked
                by = mv.SEMI_IMPLICIT_EULER
                t.balance[ca.HAD_CONTACT] = 1.0
                status, count = begin_part(table, last)
                status = end_contact_step(table, last, status, count)
        shorter = shorter_part(table, last, h, push_work) if status == mv.OK else 0.0
        if shorter > 0.0:
            span = shorter
        else:
            if status == mv.OK:
                sum_impulses(table, last)
            left = left - last if last < left else 0.0
            span = left
    s.counts[mv.KEEPS_MOMENTUM] = 0
    if status != mv.OK:
        take_back_part(s, t)
    t.turns[ca.ENDED_BY] = by
    return status


@inlined
def take_back_velocities(s):
    """`begin_part` left those that forces alone would give."""
    for k in range(s.v.shape[0]):
        s.v[k] = s.start_v[k]


@routine
def begin_part(table, h):
    """Begins a part of h [s] as semi-implicit Euler does, and lists its contacts: OK or a failure, and how many."""
    s = moving_of(table)
    if s.base.shape[0] > 0:
        s.counts[mv.KEEPS_MOMENTUM] = 1
        keep_present_momentum(table)
    return begin_and_find(table, h, False, True)


@routine
def first_impact(table, h, count, soon):
    """Time until the first contact or limit is met [s], infinite where none is; and whether one bounces now."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    contacts = contacts_of(table)
    soonest, bounces, slow = math.inf, False, t.settings[ca.REST_SPEED]
    rest = RESTS_BELOW * t.settings[ca.SLACK]
    for c in range(count):
        normal, point = load3(contacts.data, c, NORMAL), load3(contacts.data, c, POINT)
        a, b = t.moving_body[c, 0], t.moving_body[c, 1]
        before = speed_before(s, t, a, point, normal) - speed_before(s, t, b, point, normal)
        after = speed_after(s, t, a, point, normal) - speed_after(s, t, b, point, normal)
        gap = contacts.data[c, GAP]
        until = time_to_impact(gap - (rest if before >= -slow else 0.0), before, after, h)
        if gap < -rest:  # what spins by radians per step sinks in while its rates at both ends are those of parting
            until = 0.0
        bounces = bounces or (until <= soon and -contacts.data[c, RESTITUTION] * before > slow)
        soonest = min(soonest, until)
    limits = near_limits(table, h)
    if limits > t.bound.shape[0]:
        return 0.0, False  # they are counted again where there is room for them
    for k in range(limits):
        i, j, side = t.bound[k, 0], t.bound[k, 1], t.bound[k, 2]
        q = s.q[s.tree[i, Q] + j - s.tree[i, V]]
        sign = 1.0 if side == 0 else -1.0
        gap = q - t.lower[t.model_dof[j]] if side == 0 else t.upper[t.model_dof[j]] - q
        until = time_to_impact(gap, sign * s.start_v[j], sign * s.v[j], h)
        bounces = bounces or (until <= soon and -t.settings[ca.LIMIT_BOUNCE] * sign * s.start_v[j] > slow)
        soonest = min(soonest, until)
    return soonest, bounces


@inlined
def time_to_impact(gap, before, after, h):
    """(36): [s] from the gap and its rates at the ends of h; zero for what touches and does not part."""
    if gap <= 0.0:
        return 0.0 if before + after <= 0.0 else math.inf
    bend = 2.0 * (after - before) / h
    square = before * before - bend * gap
    root = math.sqrt(square) - before if square >= 0.0 else 0.0
    return 2.0 * gap / root if root > 0.0 else math.inf


@inlined
def speed_before(s, t, body, point, normal):
    """Speed of a point of a moving body along the normal, at the start of the part; zero for the world."""
    if body < 0:
        return 0.0
    return speed_along(s, to_world(load9(s.world, body, 0), load6(t.before, body, 0)), body, point, normal)


@inlined
def speed_after(s, t, body, point, normal):
    """The same with the velocities that forces alone would give."""
    if body < 0:
        return 0.0
    return speed_along(s, load6(t.twists, body, 0), body, point, normal)


@inlined
def speed_along(s, twist, body, point, normal):
    w, v = (twist[0], twist[1], twist[2]), (twist[3], twist[4], twist[5])
    return dot3(normal, add3(v, cross3(w, sub3(point, load3(s.world, body, 9)))))


@inlined
def begin_own_step(table):
    """Before the integrator's own step, from where `begin_contact_step` began."""
    s = moving_of(table)
    t = contact_arrays_of(table)
    s.counts[mv.KEEPS_MOMENTUM], s.counts[mv.COMPOSITES_READY] = 0, 0
    t.counts[ca.CONTACT_BODIES], t.counts[ca.LIMITS] = 0, 0
    contacts = contacts_of(table)
    for c in range(contacts.number[COUNT]):
        store3(contacts.impulse, c, 0, ZERO3)
    take_back_velocities(s)
