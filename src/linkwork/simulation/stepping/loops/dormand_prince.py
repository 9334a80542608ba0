"""Steps by Dormand and Prince's pair of linkages with loops, and of any linkage with forces from Python."""

from linkwork.core.jit import kernel
from linkwork.simulation.constrained.calling import close_loops
from linkwork.simulation.integrators.dormand_prince import make_integrator
from linkwork.simulation.stepping.driver import make_advance, make_advance_stage
from linkwork.simulation.stepping.evaluate_loops import close_any, evaluate_any, evaluate_loops

_advance = make_advance(make_integrator(close_loops), evaluate_loops, close_loops)
_advance_stage = make_advance_stage(make_integrator(close_any), evaluate_any, close_any)


@kernel
def advance_closed(table, h, n):
    """Up to n steps of h [s]; returns OK or why it stopped, and the number of steps that were made."""
    return _advance(table, h, n)


@kernel
def advance_stage(table, h, status, bad, is_given):
    """A step up to where Python is asked for forces: `driver.make_advance_stage`."""
    return _advance_stage(table, h, status, bad, is_given)
