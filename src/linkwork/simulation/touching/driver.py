"""Steps with contact, or with limits of joints alone, by any integrator: one kernel, which calls others (`calling`)."""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.simulation.moving import CONTACTS_CHANGED, METHOD, OK, SEMI_IMPLICIT_EULER, moving_of
from linkwork.simulation.touching.arrays import begin_count, searches
from linkwork.simulation.touching.by_integrator import one_step_by
from linkwork.simulation.touching.search.changes import end_watch
from linkwork.simulation.touching.shortening import begin_part_of, begin_parts, end_part
from linkwork.simulation.touching.step import note_euler_efforts, note_limits, try_touching


@kernel
def advance_touching(table, h, n):
    """Up to n steps of h [s]; returns OK or why it stopped, and the number of steps that were made."""
    mode = flush_subnormals()
    status, made, by, last = OK, 0, SEMI_IMPLICIT_EULER, h
    while made < n and status == OK:
        status, by, last = one_step(table, h)
        made += status == OK
        if status == OK and searches(table) and end_watch(table):
            status = CONTACTS_CHANGED
    if status == OK or status == CONTACTS_CHANGED:
        if by == SEMI_IMPLICIT_EULER:  # kernels of other integrators note what acted in their steps
            note_euler_efforts(table, last)
        note_limits(table, h, last)
    restore_mode(mode)
    return status, made


@routine
def one_step(table, h):
    """One step of h [s], or none, in shorter parts if need be: OK or why it failed, method and length of its last part."""
    method = moving_of(table).counts[METHOD]
    status, by, last = OK, method, h
    left, length = h, begin_parts(table, h)
    begin_count(table)
    while length > 0.0:
        begin_part_of(table, h, length)
        status, by, last = try_step(table, length, method)
        status, left, length = end_part(table, h, left, length, status)
    return status, by, last


@inlined
def try_step(table, h, method):
    """A step of h [s] at once, or none. Returns as `one_step`."""
    if method == SEMI_IMPLICIT_EULER:
        return try_touching(table, h)
    return one_step_by(table, h, method)
