"""Steps by kick, drift, kick of linkages with loops, and of any linkage with forces from Python.

The kick at the end of a step and that at the start of the next are at the same q. What loops were factored with for one
holds for the other, so these kernels have the forces of loops as subroutines, where steps by other integrators call them.
"""

from linkwork.core.jit import inlined, kernel
from linkwork.simulation.constrained.calling import close_loops
from linkwork.simulation.constrained.constraints import is_constrained
from linkwork.simulation.constrained.loop_forces import (
    accelerate_again,
    stop_last_slips,
    stop_slips_again,
)
from linkwork.simulation.integrators.chart import DONE, EVALUATE
from linkwork.simulation.integrators.kick_drift_kick import make_integrator
from linkwork.simulation.moving import OK
from linkwork.simulation.stepping.driver import make_advance, make_advance_stage
from linkwork.simulation.stepping.evaluate import evaluate_tree, make_evaluate
from linkwork.simulation.stepping.evaluate_loops import evaluate_any, evaluate_loops

evaluate_loops_again = make_evaluate(accelerate_again)  # with explicit joints, at the same q


@inlined
def evaluate_any_again(table, where, h):
    """`evaluate_any` with explicit joints, at the same q as the last time in this step."""
    if is_constrained(table):
        return evaluate_loops_again(table, where, h)
    return evaluate_tree(table, where, h)


@inlined
def close_drift(table):
    """Closes coordinates after a drift, and the velocities that are guessed there: EVALUATE, or a failure."""
    bad = close_loops(table) if is_constrained(table) else OK
    return EVALUATE if bad == OK else bad


@inlined
def close_kick(table):
    """Velocities in each round of the second kick are those of closed loops: EVALUATE, or a failure.

    Near a singular shape accelerations grow with slips without bound, and rounds would lead away.
    """
    bad = stop_slips_again(table) if is_constrained(table) else OK
    return EVALUATE if bad == OK else bad


@inlined
def close_velocities(table):
    """At the end of a step, whose coordinates were closed after the drift: forces that were asked for there hold."""
    return stop_last_slips(table) if is_constrained(table) else DONE


LOOPS_KICK_DRIFT_KICK = make_integrator(close_drift, close_kick)
_advance = make_advance(LOOPS_KICK_DRIFT_KICK, evaluate_loops, close_velocities, again=evaluate_loops_again)
# Loops are closed before forces are asked for, so that these hold where the step ends: one call per step.
_advance_stage = make_advance_stage(LOOPS_KICK_DRIFT_KICK, evaluate_any, close_velocities, again=evaluate_any_again)


@kernel
def advance_closed(table, h, n):
    """Up to n steps of h [s]; returns OK or why it stopped, and the number of steps that were made."""
    return _advance(table, h, n)


@kernel
def advance_stage(table, h, status, bad, is_given):
    """A step up to where Python is asked for forces: `driver.make_advance_stage`."""
    return _advance_stage(table, h, status, bad, is_given)
