"""Many steps of a tree without leaving compiled code: one kernel per integrator.

A kernel is compiled with all that it calls. So the first step of a simulation compiles the integrator in use, not all six.
"""

from linkwork.core.jit import kernel, routine
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.simulation.acting import note_efforts
from linkwork.simulation.integrators import (
    dormand_prince,
    euler,
    implicit_midpoint,
    kick_drift_kick,
    runge_kutta,
)
from linkwork.simulation.integrators.chart import EVALUATE
from linkwork.simulation.integrators.variational_tree import begin_steps, end_steps, step_tree
from linkwork.simulation.moving import (
    DORMAND_PRINCE,
    IMPLICIT_MIDPOINT,
    KICK_DRIFT_KICK,
    OK,
    RUNGE_KUTTA,
    SEMI_IMPLICIT_EULER,
    VARIATIONAL,
)
from linkwork.simulation.step import accelerate_driven, finish, keep_or_take_back, remember_start, where_joints_act


@kernel
def advance_by_euler(table, h, n):
    """Up to n steps of h [s] of a tree; returns OK or why it stopped, and the number of steps that were made."""
    return advance(table, h, n, euler.begin, euler.resume)


@kernel
def advance_by_runge_kutta(table, h, n):
    return advance(table, h, n, runge_kutta.begin, runge_kutta.resume)


@kernel
def advance_by_dormand_prince(table, h, n):
    return advance(table, h, n, dormand_prince.begin, dormand_prince.resume)


@kernel
def advance_by_implicit_midpoint(table, h, n):
    return advance(table, h, n, implicit_midpoint.begin, implicit_midpoint.resume)


@kernel
def advance_by_kick_drift_kick(table, h, n):
    return advance(table, h, n, kick_drift_kick.begin, kick_drift_kick.resume)


@kernel
def advance_by_variational(table, h, n):
    mode = flush_subnormals()
    status, made = OK, 0
    begin_steps(table, h)
    while made < n and status == OK:
        remember_start(table)
        status = keep_or_take_back(table, step_tree(table, h))
        made += status == OK
    end_steps(table, status, made)
    if status == OK:
        note_efforts(table, h)
    restore_mode(mode)
    return status, made


ADVANCE = {
    SEMI_IMPLICIT_EULER: advance_by_euler,
    RUNGE_KUTTA: advance_by_runge_kutta,
    DORMAND_PRINCE: advance_by_dormand_prince,
    IMPLICIT_MIDPOINT: advance_by_implicit_midpoint,
    KICK_DRIFT_KICK: advance_by_kick_drift_kick,
    VARIATIONAL: advance_by_variational,
}


@routine
def advance(table, h, n, begin, resume):
    mode = flush_subnormals()
    status, made = OK, 0
    while made < n and status == OK:
        status = one_step(table, h, begin, resume)
        made += status == OK
    if status == OK:
        note_efforts(table, h)
    restore_mode(mode)
    return status, made


@routine
def one_step(table, h, begin, resume):
    """One step of h [s], or none: OK, or why it failed."""
    remember_start(table)
    status = begin(table, h)
    while status == EVALUATE:
        status = resume(table, h, accelerate_driven(table, where_joints_act(table), h))
    return finish(table, status)
