"""Evaluations of trees."""

from linkwork.core.jit import kernel
from linkwork.simulation.loading.accelerate import EXPLICIT, accelerate
from linkwork.simulation.stepping.evaluate import make_evaluate

evaluate_tree = make_evaluate(accelerate)


@kernel
def accelerations_now(table):
    """Accelerations at the present state into `qdd`, springs and motors as they are now; OK or a body that failed."""
    return accelerate(table, EXPLICIT, 0.0)
