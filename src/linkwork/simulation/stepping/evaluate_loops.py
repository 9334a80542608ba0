"""Evaluations of linkages with loops, whose forces are found with the accelerations; and of any linkage."""

from linkwork.core.jit import inlined, kernel
from linkwork.simulation.constrained.calling import accelerate_closed, close_loops, close_way
from linkwork.simulation.constrained.constraints import is_constrained
from linkwork.simulation.integrators.chart import DONE
from linkwork.simulation.loading.accelerate import EXPLICIT
from linkwork.simulation.stepping.evaluate import evaluate_tree, make_evaluate

evaluate_loops = make_evaluate(accelerate_closed)


@inlined
def evaluate_any(table, where, h):
    """Of a linkage with loops or without."""
    if is_constrained(table):
        return evaluate_loops(table, where, h)
    return evaluate_tree(table, where, h)


@inlined
def close_any(table):
    """Closes the loops where there are some, at the end of a step: DONE or a failure."""
    return close_loops(table) if is_constrained(table) else DONE


@inlined
def close_any_way(table):
    """The same after steps of Euler's rule: `loop_forces.close_way`."""
    return close_way(table) if is_constrained(table) else DONE


@kernel
def closed_accelerations_now(table):
    """As `accelerations_now`, with loops."""
    return accelerate_closed(table, EXPLICIT, 0.0)
