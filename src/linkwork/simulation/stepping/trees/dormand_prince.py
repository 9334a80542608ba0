"""Steps of trees by Dormand and Prince's pair."""

from linkwork.core.jit import kernel
from linkwork.simulation.integrators.dormand_prince import DORMAND_PRINCE
from linkwork.simulation.stepping.driver import make_advance
from linkwork.simulation.stepping.evaluate import evaluate_tree

_advance = make_advance(DORMAND_PRINCE, evaluate_tree)


@kernel
def advance_tree(table, h, n):
    """Up to n steps of h [s]; returns OK or why it stopped, and the number of steps that were made."""
    return _advance(table, h, n)
