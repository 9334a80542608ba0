"""Steps by kick, drift, kick of linkages with loops, and of any linkage with forces from Python."""

from linkwork.core.jit import kernel
from linkwork.simulation.constrained.loop_forces import close_where_evaluated
from linkwork.simulation.integrators.kick_drift_kick import KICK_DRIFT_KICK, make_integrator
from linkwork.simulation.stepping.driver import make_advance, make_go_on
from linkwork.simulation.stepping.evaluate_loops import (
    close_any_where_evaluated,
    close_drift_any,
    evaluate_any,
    evaluate_any_again,
    evaluate_loops,
    evaluate_loops_again,
)

_advance = make_advance(KICK_DRIFT_KICK, evaluate_loops, close_where_evaluated, again=evaluate_loops_again)
# Loops are closed before forces are asked for, so that these hold where the step ends: one call per step.
_go_on = make_go_on(make_integrator(close_drift_any), evaluate_any, close_any_where_evaluated, again=evaluate_any_again)


@kernel
def advance_closed(table, h, n):
    """Up to n steps of h [s]; returns OK or why it stopped, and the number of steps that were made."""
    return _advance(table, h, n)


@kernel
def go_on(table, h, status, bad, is_given):
    """A step up to where Python is asked for forces: `driver.make_go_on`."""
    return _go_on(table, h, status, bad, is_given)
