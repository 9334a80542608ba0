"""Steps by semi-implicit Euler of linkages with loops, and of any linkage with forces from Python."""

from linkwork.core.jit import kernel
from linkwork.simulation.constrained.calling import close_way
from linkwork.simulation.integrators.euler import EULER, PLAIN_EULER
from linkwork.simulation.stepping.driver import make_advance, make_advance_stage
from linkwork.simulation.stepping.evaluate_loops import close_any_way, evaluate_any, evaluate_loops

_advance = make_advance(EULER, evaluate_loops, close_way)
_advance_stage = make_advance_stage(PLAIN_EULER, evaluate_any, close_any_way)


@kernel
def advance_closed(table, h, n):
    """Up to n steps of h [s]; returns OK or why it stopped, and the number of steps that were made."""
    return _advance(table, h, n)


@kernel
def advance_stage(table, h, status, bad, is_given):
    """A step up to where Python is asked for forces: `driver.make_advance_stage`."""
    return _advance_stage(table, h, status, bad, is_given)
