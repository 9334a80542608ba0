"""Steps by the variational integrator of linkages with loops, and of any linkage with forces from Python.

What closes loops at the end of a step moves bodies, whose velocities stay: floating trees get their momentum back then.
"""

from linkwork.core.jit import inlined, kernel, routine
from linkwork.simulation.constrained.calling import close_loops
from linkwork.simulation.constrained.constraints import is_constrained
from linkwork.simulation.integrators.chart import DONE
from linkwork.simulation.integrators.variational.variational import VARIATIONAL
from linkwork.simulation.momentum.momentum import correct_bases, keep_present_momentum
from linkwork.simulation.moving import COMPOSITES_READY, moving_of
from linkwork.simulation.stepping.driver import make_advance, make_advance_stage
from linkwork.simulation.stepping.evaluate_loops import evaluate_any, evaluate_loops


@routine
def close_in_flight(table):
    """Closes loops and couplings by what changes no momentum of floating trees: DONE or a failure."""
    s = moving_of(table)
    if s.base.shape[0] == 0:
        return close_loops(table)
    keep_present_momentum(table)
    status = close_loops(table)
    if status == DONE:
        correct_bases(table)
    s.counts[COMPOSITES_READY] = 0
    return status


@inlined
def close_any_in_flight(table):
    """The same of any linkage."""
    return close_in_flight(table) if is_constrained(table) else DONE


_advance = make_advance(VARIATIONAL, evaluate_loops, close_in_flight)
_advance_stage = make_advance_stage(VARIATIONAL, evaluate_any, close_any_in_flight)


@kernel
def advance_closed(table, h, n):
    """Up to n steps of h [s]; returns OK or why it stopped, and the number of steps that were made."""
    return _advance(table, h, n)


@kernel
def advance_stage(table, h, status, bad, is_given):
    """A step up to where Python is asked for forces: `driver.make_advance_stage`."""
    return _advance_stage(table, h, status, bad, is_given)
