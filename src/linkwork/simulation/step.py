"""Steps as contact makes them: parts by semi-implicit Euler, and parts by whatever integrator is in use."""

from linkwork.core.jit import routine
from linkwork.simulation.integrators import euler
from linkwork.simulation.integrators.dormand_prince import DORMAND_PRINCE as BY_DORMAND_PRINCE
from linkwork.simulation.integrators.euler import EULER
from linkwork.simulation.integrators.implicit_midpoint import IMPLICIT_MIDPOINT as BY_IMPLICIT_MIDPOINT
from linkwork.simulation.integrators.kick_drift_kick import KICK_DRIFT_KICK as BY_KICK_DRIFT_KICK
from linkwork.simulation.integrators.runge_kutta import RUNGE_KUTTA as BY_RUNGE_KUTTA
from linkwork.simulation.integrators.variational import VARIATIONAL as BY_VARIATIONAL
from linkwork.simulation.moving import (
    DORMAND_PRINCE,
    IMPLICIT_MIDPOINT,
    KICK_DRIFT_KICK,
    METHOD,
    RUNGE_KUTTA,
    SEMI_IMPLICIT_EULER,
    moving_of,
)
from linkwork.simulation.stepping.driver import make_finish, make_step
from linkwork.simulation.stepping.evaluate_loops import close_any, evaluate_any, evaluate_loops
from linkwork.simulation.stepping.evaluate_tree import evaluate_tree
from linkwork.simulation.stepping.saving import save_start

finish = make_finish(EULER)
accelerate_driven, accelerate_driven_closed = evaluate_tree, evaluate_loops

_euler = make_step(EULER, evaluate_any, close_any)
_runge_kutta = make_step(BY_RUNGE_KUTTA, evaluate_any, close_any)
_dormand_prince = make_step(BY_DORMAND_PRINCE, evaluate_any, close_any)
_implicit_midpoint = make_step(BY_IMPLICIT_MIDPOINT, evaluate_any, close_any)
_kick_drift_kick = make_step(BY_KICK_DRIFT_KICK, evaluate_any, close_any)
_variational = make_step(BY_VARIATIONAL, evaluate_any, close_any)

_note_midpoint = BY_IMPLICIT_MIDPOINT.note_efforts
_note_variational = BY_VARIATIONAL.note_efforts
_note_explicit = BY_RUNGE_KUTTA.note_efforts


@routine
def begin(table, h):
    """Begins a step of h [s] by semi-implicit Euler; EVALUATE."""
    save_start(table)
    return euler.begin(table, h)


@routine
def one_step(table, h):
    """One step of h [s] by whatever integrator is in use, or none: OK, or why it failed."""
    method = moving_of(table).counts[METHOD]
    if method == SEMI_IMPLICIT_EULER:
        return _euler(table, h)
    if method == RUNGE_KUTTA:
        return _runge_kutta(table, h)
    if method == DORMAND_PRINCE:
        return _dormand_prince(table, h)
    if method == KICK_DRIFT_KICK:
        return _kick_drift_kick(table, h)
    if method == IMPLICIT_MIDPOINT:
        return _implicit_midpoint(table, h)
    return _variational(table, h)


one_closed_step = one_step  # it asks by itself whether there are loops


@routine
def note_efforts(table, h):
    """What acted on the joints in the last step, but for limits."""
    method = moving_of(table).counts[METHOD]
    if method == SEMI_IMPLICIT_EULER:
        euler.note_efforts(table, h)
    elif method == IMPLICIT_MIDPOINT:
        _note_midpoint(table, h)
    elif method == RUNGE_KUTTA or method == DORMAND_PRINCE or method == KICK_DRIFT_KICK:
        _note_explicit(table, h)
    else:
        _note_variational(table, h)
