"""Steps with contact, or with limits of joints alone, by the variational integrator, of trees."""

from linkwork.core.jit import kernel, routine
from linkwork.simulation.integrators.variational.variational_tree import VARIATIONAL_TREE
from linkwork.simulation.moving import OK
from linkwork.simulation.stepping.driver import make_step
from linkwork.simulation.touching.by_integrator import make_advance_touching

_begin_steps, _one_step, _end_steps = (
    VARIATIONAL_TREE.begin_steps,
    make_step(VARIATIONAL_TREE, None),
    VARIATIONAL_TREE.end_steps,
)


@routine
def _step(table, h):
    """A step of its own, with the velocities at its end; the next one goes on from there as if none had been asked for."""
    _begin_steps(table, h)
    status = _one_step(table, h)
    _end_steps(table, status, 1 if status == OK else 0)
    return status


_advance_touching = make_advance_touching(_step, VARIATIONAL_TREE.note_efforts, True)
_advance_limited = make_advance_touching(_step, VARIATIONAL_TREE.note_efforts, False)


@kernel
def advance_touching(table, h, n):
    """Up to n steps of h [s] with contact; returns OK or why it stopped, and the number of steps that were made."""
    return _advance_touching(table, h, n)


@kernel
def advance_limited(table, h, n):
    """The same where only limits of joints act."""
    return _advance_limited(table, h, n)
