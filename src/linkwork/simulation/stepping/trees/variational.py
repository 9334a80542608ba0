"""Steps of trees by the variational integrator."""

from linkwork.core.jit import kernel
from linkwork.simulation.integrators.variational.variational_tree import VARIATIONAL_TREE
from linkwork.simulation.stepping.driver import make_advance

_advance = make_advance(VARIATIONAL_TREE)


@kernel
def advance_tree(table, h, n):
    """Up to n steps of h [s]; returns OK or why it stopped, and the number of steps that were made."""
    return _advance(table, h, n)
