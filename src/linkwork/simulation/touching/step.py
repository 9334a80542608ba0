"""One step of a linkage that touches itself, the world and the limits of its joints: semi-implicit Euler."""

import math

from linkwork.contact.broad_phase import begin_search, search_itself
from linkwork.contact.contact_list import NEEDED, carry_sums, sum_part, take_back_contacts, warm_start
from linkwork.contact.narrow_phase import DISTANCES, SEARCHES
from linkwork.contact.near_world import sort_contacts
from linkwork.contact.volumes import refit
from linkwork.core.jit import inlined, kernel, routine
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.simulation.integrators import euler
from linkwork.simulation.integrators.chart import EVALUATE
from linkwork.simulation.integrators.euler import BY_EULER, BY_VARIATIONAL, end_whipping, move, where_joints_act
from linkwork.simulation.integrators.variational.variational import begin as begin_variational
from linkwork.simulation.integrators.variational.variational import resume as resume_variational
from linkwork.simulation.integrators.whipping import whips
from linkwork.simulation.loading.accelerate import AT_END
from linkwork.simulation.loading.acting import BY_LIMIT
from linkwork.simulation.momentum.momentum import add_impulses
from linkwork.simulation.moving import (
    CONTACT_ENDLESS,
    CONTACTS_CHANGED,
    CONTACTS_GROW,
    KEEPS_MOMENTUM,
    OK,
    RULE,
    SEARCH_TOO_DEEP,
    SEMI_IMPLICIT_EULER,
    moving_of,
)
from linkwork.simulation.stepping.driver import make_finish
from linkwork.simulation.stepping.evaluate_loops import close_any, evaluate_any
from linkwork.simulation.stepping.saving import save_start
from linkwork.simulation.touching.arrays import (
    CONTINUOUS,
    LAST_PART,
    LIMITS,
    MARGIN,
    SELF_CONTACT,
    SLOTS,
    TURNED,
    WAS_TOUCHING,
    contacts_of,
    finder_of,
    next_meeting,
    touch_of,
)
from linkwork.simulation.touching.flight import has_gained_in_flight, note_flight, open_after_flight
from linkwork.simulation.touching.judging import note_worst
from linkwork.simulation.touching.motors import are_motors_limited, meet_with_motors
from linkwork.simulation.touching.problem import (
    find_impulses,
    free_motion,
    move_on,
    near_limits,
    pose_problem,
)
from linkwork.simulation.touching.search.changes import end_watch, note_pressing
from linkwork.simulation.touching.search.fronts import look_at_fronts, measure_travel
from linkwork.simulation.touching.search.patches import spread_patches
from linkwork.simulation.touching.search.placing import find_carriers, place_open_nodes
from linkwork.simulation.touching.search.way import remember_totals, shorter_part
from linkwork.simulation.touching.shortening import (
    begin_part_of,
    begin_parts,
    end_part,
    take_back_part,
)
from linkwork.simulation.touching.turning import turn_half_way
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import dot3

# In a step, all its parts and what is tried again: searches, and distances of solids. In 15,500 steps of random scenes the
# most were 10 and 282; a step far beyond these bounds takes seconds.
MOST_SEARCHES, MOST_DISTANCES, DISTANCES_PER_SHAPE = 2000.0, 5e5, 500.0
MOST_PARTS = 8  # of a step in which fast bodies meet; the last one is all that is left
SOON = 1e-3  # of a step: bodies that meet earlier than this meet now
SHORT_OF = 1e-9  # of the time until they meet: a part ends right before
CUT = -100  # says to `finish` that a part is to be taken back

finish = make_finish(euler.EULER)
begin_step, note_efforts = euler.begin, euler.note_efforts


@kernel
def advance_touching(table, h, n):
    """Up to n steps of h [s] with contact; returns OK or why it stopped, and the number of steps that were made."""
    mode = flush_subnormals()
    status, made, last = OK, 0, h
    while made < n and status == OK:
        status, _, last = one_touching_step(table, h)
        made += status == OK
        if status == OK and end_watch(table):
            status = CONTACTS_CHANGED
    if status == OK or status == CONTACTS_CHANGED:
        note_all_efforts(table, h, last)
    restore_mode(mode)
    return status, made


@kernel
def advance_limited(table, h, n):
    """The same where only limits of joints act."""
    mode = flush_subnormals()
    status, made, last = OK, 0, h
    while made < n and status == OK:
        status, _, last = one_limited_step(table, h)
        made += status == OK
    if status == OK:
        note_all_efforts(table, h, last)
    restore_mode(mode)
    return status, made


@routine
def note_all_efforts(table, h, last):
    """What acted on the joints in the last step of h [s], limits included; and whether bodies went around. Its last part,
    an Euler step, had a length of `last` [s]."""
    note_efforts(table, last)
    note_limits(table, h, last)


@routine
def note_limits(table, h, last):
    """What limits did in the last step of h [s]: their impulses over h; and whether bodies went around in its last part."""
    s = moving_of(table)
    t = touch_of(table)
    note_turns(s, t, last)
    for j in range(s.v.shape[0]):
        s.acted[j, BY_LIMIT] = (t.summed[t.whole[j], 0] - t.summed[t.whole[j], 1]) / h


@routine
def sum_impulses(table, h):
    """A part of h [s] was made: what contacts and limits gave in it."""
    t = touch_of(table)
    sum_part(contacts_of(table))
    t.balance[LAST_PART] = h
    for k in range(t.counts[LIMITS]):
        place, side = t.whole[t.bound[k, 1]], t.bound[k, 2]
        t.summed[place, 2 + side] += t.held[place, side]


@inlined
def note_turns(s, t, h):
    """Which body turns most by forces alone, if that is more than once around in h [s]: no law of contact sees that."""
    t.counts[TURNED] = 0
    most = (2.0 * math.pi / h) ** 2
    for i in range(s.tree.shape[0]):
        w = load3(t.twists, i, 0)
        if dot3(w, w) > most:
            most = dot3(w, w)
            t.counts[TURNED] = i + 1


@routine
def one_touching_step(table, h):
    """One step of h [s], or none, in shorter parts if need be: OK or why it failed, method and length of its last part."""
    status, by, last = OK, 0, h
    left, length = h, begin_parts(table, h)
    begin_count(table)
    while length > 0.0:
        begin_part_of(table, h, length)
        status, by, last = try_touching(table, length)
        status, left, length = end_part(table, h, left, length, status)
        note_flight(table, status)
    return status, by, last


@routine
def try_touching(table, h):
    """A step of h [s] at once, or none. Returns as `one_touching_step`.

    It is cut where two fast bodies meet on the way, far from where they are now: the point between them would have another
    lever now than then. It is cut too where a body would go through another one (`way`). One that fails in a later part
    is taken back whole.
    """
    status, count = begin_and_find(table, h)
    if status == OK:
        open_after_flight(table)
    left, last, parts = h, h, 1
    while True:
        until = next_meeting(table)
        if status == OK and SOON * h < until < last and parts < MOST_PARTS:
            finish(table, CUT)
            take_back_contacts(contacts_of(table))
            last = (1.0 - SHORT_OF) * until
            status, count = begin_and_find(table, last)
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
        status, count = begin_and_find(table, last)
    if status != OK and parts > 1:
        take_back_part(moving_of(table), touch_of(table))
    return status, SEMI_IMPLICIT_EULER, last


@routine
def one_limited_step(table, h):
    """The same where only limits of joints act."""
    status, by, last = OK, 0, h
    left, length = h, begin_parts(table, h)
    while length > 0.0:
        begin_part_of(table, h, length)
        status, by, last = try_limited(table, length)
        status, left, length = end_part(table, h, left, length, status)
        note_flight(table, status)
    return status, by, last


@routine
def try_limited(table, h):
    """The same where only limits of joints act."""
    status = begin_touching(table, h)
    if status == OK:
        open_after_flight(table)
    status = end_touching(table, h, status, 0)
    if status == OK:
        sum_impulses(table, h)
    return status, SEMI_IMPLICIT_EULER, h


@routine
def begin_and_find(table, h):
    """The first half of a step: OK or a failure, and how many contacts there are."""
    status, count = begin_touching(table, h), 0
    if status == OK:
        count = find(table, h)
        if count < 0:
            status, count = count, 0
    return status, count


@routine
def begin_touching(table, h):
    """Accelerations, momentum, and the velocities that forces alone would give; OK or a failure."""
    s = moving_of(table)
    save_start(table)
    begin_step(table, h)
    bad = evaluate_any(table, AT_END, h)
    if bad != OK:
        return bad
    if whips(table, h, has_gained_in_flight(table)):
        s.counts[RULE] = BY_VARIATIONAL  # unless something touches
    if s.counts[KEEPS_MOMENTUM] != 0:
        add_impulses(table, h)
    free_motion(table, h)
    return OK


@routine
def find(table, h):
    """Lists the contacts of this moment and what carries them; their number, or why it failed."""
    t = touch_of(table)
    finder = finder_of(table)
    if is_endless(finder):
        note_worst(t.balance, finder.contacts)
        return CONTACT_ENDLESS
    follow = h if t.counts[CONTINUOUS] != 0 else 0.0
    begin_search(finder, t.settings[MARGIN], follow)
    measure_travel(table, finder.volumes)
    found = look_at_fronts(table, finder, follow)
    if found and t.counts[SELF_CONTACT] != 0 and t.open_nodes.shape[0] > 0:
        place_open_nodes(table, finder.volumes)
        refit(finder.volumes, t.open_nodes, follow)
        found = search_itself(finder, t.open_nodes)
    if not found:
        take_back_contacts(finder.contacts)
        return SEARCH_TOO_DEEP
    if finder.contacts.number[NEEDED] > finder.contacts.ids.shape[0]:
        take_back_contacts(finder.contacts)
        return CONTACTS_GROW
    sort_contacts(finder.contacts)
    warm_start(finder.contacts)
    count = spread_patches(table, find_carriers(moving_of(table), t, finder.volumes, finder.contacts))
    if count < 0:
        take_back_contacts(finder.contacts)
        return count
    carry_sums(finder.contacts)
    return count


@inlined
def is_endless(finder):
    """Counts a search of this step, whose work is bounded: a part of a step begins with one."""
    query = finder.query
    query[SEARCHES] += 1.0
    most = MOST_DISTANCES + DISTANCES_PER_SHAPE * finder.table.kind.shape[0]
    return query[SEARCHES] > MOST_SEARCHES or query[DISTANCES] > most


@inlined
def begin_count(table):
    """Before a step: nothing was searched in it."""
    query = finder_of(table).query
    query[SEARCHES], query[DISTANCES] = 0.0, 0.0


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
            t.counts[SLOTS], t.counts[LIMITS] = 0, 0
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
    touch_of(table).balance[WAS_TOUCHING] = 1.0
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
