"""Steps with contact, or with limits of joints alone, by the variational integrator, of linkages with loops."""

from linkwork.core.jit import kernel
from linkwork.simulation.integrators.variational import VARIATIONAL
from linkwork.simulation.stepping.driver import make_step
from linkwork.simulation.stepping.evaluate_loops import close_any, evaluate_any
from linkwork.simulation.touching.by_integrator import make_advance_touching

_step = make_step(VARIATIONAL, evaluate_any, close_any)
_advance_touching = make_advance_touching(VARIATIONAL, _step, True)
_advance_limited = make_advance_touching(VARIATIONAL, _step, False)


@kernel
def advance_touching(table, h, n):
    """Up to n steps of h [s] with contact; returns OK or why it stopped, and the number of steps that were made."""
    return _advance_touching(table, h, n)


@kernel
def advance_limited(table, h, n):
    """The same where only limits of joints act."""
    return _advance_limited(table, h, n)
