"""Steps with contact, or with limits of joints alone, by integrators that are seldom used with them: one kernel of all.

The variational integrator is here for linkages with loops.
"""

from linkwork.core.jit import kernel, routine
from linkwork.simulation.integrators.dormand_prince import DORMAND_PRINCE as BY_DORMAND_PRINCE
from linkwork.simulation.integrators.implicit_midpoint import IMPLICIT_MIDPOINT as BY_IMPLICIT_MIDPOINT
from linkwork.simulation.integrators.kick_drift_kick import KICK_DRIFT_KICK as BY_KICK_DRIFT_KICK
from linkwork.simulation.integrators.runge_kutta import RUNGE_KUTTA as BY_RUNGE_KUTTA
from linkwork.simulation.integrators.variational.variational import VARIATIONAL as BY_VARIATIONAL
from linkwork.simulation.moving import (
    DORMAND_PRINCE,
    IMPLICIT_MIDPOINT,
    KICK_DRIFT_KICK,
    METHOD,
    RUNGE_KUTTA,
    moving_of,
)
from linkwork.simulation.stepping.driver import make_step
from linkwork.simulation.stepping.evaluate_loops import close_any, evaluate_any
from linkwork.simulation.touching.by_integrator import make_advance_touching

_runge_kutta = make_step(BY_RUNGE_KUTTA, evaluate_any, close_any)
_dormand_prince = make_step(BY_DORMAND_PRINCE, evaluate_any, close_any)
_implicit_midpoint = make_step(BY_IMPLICIT_MIDPOINT, evaluate_any, close_any)
_kick_drift_kick = make_step(BY_KICK_DRIFT_KICK, evaluate_any, close_any)
_variational = make_step(BY_VARIATIONAL, evaluate_any, close_any)

_note_midpoint = BY_IMPLICIT_MIDPOINT.note_efforts
_note_variational = BY_VARIATIONAL.note_efforts
_note_explicit = BY_RUNGE_KUTTA.note_efforts


@routine
def _step(table, h):
    """One step of h [s] by the integrator in use, or none: OK, or why it failed."""
    method = moving_of(table).counts[METHOD]
    if method == RUNGE_KUTTA:
        return _runge_kutta(table, h)
    if method == DORMAND_PRINCE:
        return _dormand_prince(table, h)
    if method == KICK_DRIFT_KICK:
        return _kick_drift_kick(table, h)
    if method == IMPLICIT_MIDPOINT:
        return _implicit_midpoint(table, h)
    return _variational(table, h)


@routine
def _note_efforts(table, h):
    """What acted on the joints in the last step, but for limits."""
    method = moving_of(table).counts[METHOD]
    if method == IMPLICIT_MIDPOINT:
        _note_midpoint(table, h)
    elif method == RUNGE_KUTTA or method == DORMAND_PRINCE or method == KICK_DRIFT_KICK:
        _note_explicit(table, h)
    else:
        _note_variational(table, h)


_advance_touching = make_advance_touching(_step, _note_efforts, True)
_advance_limited = make_advance_touching(_step, _note_efforts, False)


@kernel
def advance_touching(table, h, n):
    """Up to n steps of h [s] with contact; returns OK or why it stopped, and the number of steps that were made."""
    return _advance_touching(table, h, n)


@kernel
def advance_limited(table, h, n):
    """The same where only limits of joints act."""
    return _advance_limited(table, h, n)
