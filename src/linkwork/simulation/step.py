"""The one step of a linkage in time: evaluations of the accelerations, integrator, momentum, check of overflow.

Many steps run without leaving compiled code: `advance.py` for trees, `advance_closed` here. A step that fails is taken
back: the state is that of the last good step. Accelerations by other algorithms than `aba` come from outside: `begin_step`,
then `resume_step` after each evaluation for as long as it says EVALUATE, then `finish_step`.
"""

import math

from linkwork.core.jit import inlined, kernel, routine
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.simulation.accelerate import (
    AT_END,
    AT_MIDPOINT,
    EXPLICIT,
    FROM_REST,
    HALF_WAY,
    accelerate,
    judge_motors,
    place_and_move,
)
from linkwork.simulation.acting import note_efforts
from linkwork.simulation.integrators import (
    dormand_prince,
    euler,
    implicit_midpoint,
    kick_drift_kick,
    runge_kutta,
    variational,
)
from linkwork.simulation.integrators.chart import DONE, EVALUATE
from linkwork.simulation.loop_forces import accelerate_closed, close_loops
from linkwork.simulation.momentum import correct_bases
from linkwork.simulation.moving import (
    COMPOSITES_READY,
    DEBT_BEFORE,
    DORMAND_PRINCE,
    ENERGY_DEBT,
    IMPLICIT,
    IMPLICIT_MIDPOINT,
    ITERATIONS,
    KEEPS_MOMENTUM,
    KICK_DRIFT_KICK,
    LIMITED,
    METHOD,
    MOTORS,
    OK,
    OVERFLOW,
    RUNGE_KUTTA,
    SEMI_IMPLICIT_EULER,
    STAGE,
    SUBSTEP_WISH,
    SUBSTEPS,
    VARIATIONAL,
    WISH_BEFORE,
    moving_of,
)

MOST_JUDGEMENTS = 25  # evaluations for the limits of motors; few steps need more than two


@kernel
def advance_closed(table, h, n):
    """Up to n steps of h [s] of a linkage with loops; returns OK or why it stopped, and the number of steps made."""
    mode = flush_subnormals()
    status, made = OK, 0
    while made < n and status == OK:
        status = one_closed_step(table, h)
        made += status == OK
    if status == OK:
        note_efforts(table, h)
    restore_mode(mode)
    return status, made


@routine
def one_step(table, h):
    """One step of h [s] of a tree by whatever integrator is in use, or none: OK, or why it failed."""
    status = begin(table, h)
    while status == EVALUATE:
        status = resume(table, h, accelerate_driven(table, where_joints_act(table), h))
    return finish(table, status)


@routine
def one_closed_step(table, h):
    """The same with loops.

    Every evaluation meets the accelerations of the loops, and the end of the step is closed again.
    """
    status = begin(table, h)
    while status == EVALUATE:
        status = resume(table, h, accelerate_driven_closed(table, where_joints_act(table), h))
    if status == DONE:
        status = close_loops(table)
    return finish(table, status)


@inlined
def where_joints_act(table):
    """Where in the step the integrator takes springs, dampers and motors."""
    s = moving_of(table)
    method = s.counts[METHOD]
    if method == SEMI_IMPLICIT_EULER:
        return AT_END
    if method == VARIATIONAL:
        return HALF_WAY if s.counts[STAGE] == variational.AT_START else FROM_REST
    return AT_MIDPOINT if method == IMPLICIT_MIDPOINT else EXPLICIT


@inlined
def limits_are_judged(table, where):
    """Whether motors act implicitly, within limits that must hold where the step ends."""
    counts = moving_of(table).counts
    return where == AT_END and counts[MOTORS] > 0 and counts[LIMITED] != 0 and counts[IMPLICIT] != 0


@routine
def accelerate_driven(table, where, h):
    """`accelerate`, repeated until the limits of implicit motors hold where the step ends; as Newton's method would."""
    bad = accelerate(table, where, h)
    if limits_are_judged(table, where):
        for _ in range(MOST_JUDGEMENTS):
            if bad != OK or not judge_motors(table, h):
                break
            bad = accelerate(table, where, h)
    return bad


@routine
def accelerate_driven_closed(table, where, h):
    """The same with loops."""
    bad = accelerate_closed(table, where, h)
    if limits_are_judged(table, where):
        for _ in range(MOST_JUDGEMENTS):
            if bad != OK or not judge_motors(table, h):
                break
            bad = accelerate_closed(table, where, h)
    return bad


@routine
def remember_start(table):
    """Remembers where the step begins."""
    s = moving_of(table)
    for k in range(s.q.shape[0]):
        s.start_q[k] = s.q[k]
    for k in range(s.v.shape[0]):
        s.start_v[k] = s.v[k]
    for t in range(s.kept.shape[0]):
        for k in range(6):
            s.start_kept[t, k] = s.kept[t, k]
    s.numbers[WISH_BEFORE] = s.numbers[SUBSTEP_WISH]
    if s.counts[MOTORS] > 0:
        for k in range(s.v.shape[0]):
            s.judged[k] = math.nan  # at first as without limits


@routine
def begin(table, h):
    """Remembers where the step begins, and asks for the first evaluation."""
    remember_start(table)
    method = moving_of(table).counts[METHOD]
    if method == SEMI_IMPLICIT_EULER:
        return euler.begin(table, h)
    if method == RUNGE_KUTTA:
        return runge_kutta.begin(table, h)
    if method == DORMAND_PRINCE:
        return dormand_prince.begin(table, h)
    if method == KICK_DRIFT_KICK:
        return kick_drift_kick.begin(table, h)
    if method == VARIATIONAL:
        return variational.begin(table, h)
    return implicit_midpoint.begin(table, h)


@routine
def resume(table, h, bad):
    """Goes on after an evaluation, which failed where `bad` is not OK: EVALUATE, DONE or a failure."""
    s = moving_of(table)
    method = s.counts[METHOD]
    if method == SEMI_IMPLICIT_EULER:
        return euler.resume(table, h, bad)
    if method == RUNGE_KUTTA:
        return runge_kutta.resume(table, h, bad)
    if method == DORMAND_PRINCE:
        return dormand_prince.resume(table, h, bad)
    if method == KICK_DRIFT_KICK:
        return kick_drift_kick.resume(table, h, bad)
    if method == VARIATIONAL:
        return variational.resume(table, h, bad)
    return implicit_midpoint.resume(table, h, bad)


@routine
def finish(table, status):
    """Puts momentum right and looks for overflow; a step that failed is taken back. Returns OK or the failure."""
    s = moving_of(table)
    if status == DONE and s.counts[KEEPS_MOMENTUM] != 0:
        correct_bases(table)
    else:
        s.counts[COMPOSITES_READY] = 0
    return keep_or_take_back(table, status)


@routine
def keep_or_take_back(table, status):
    """The end of a step whose integrator keeps momentum by itself, or nobody does: as `finish`."""
    s = moving_of(table)
    if s.counts[METHOD] != DORMAND_PRINCE:
        s.counts[SUBSTEPS] += 1
    if status == DONE:
        if is_finite(table):
            return OK
        status = OVERFLOW
    for k in range(s.q.shape[0]):
        s.q[k] = s.start_q[k]
    for k in range(s.v.shape[0]):
        s.v[k] = s.start_v[k]
    for t in range(s.kept.shape[0]):
        for k in range(6):
            s.kept[t, k] = s.start_kept[t, k]
    s.numbers[SUBSTEP_WISH] = s.numbers[WISH_BEFORE]
    if s.counts[METHOD] == VARIATIONAL:
        s.numbers[ENERGY_DEBT] = s.numbers[DEBT_BEFORE]
    s.counts[COMPOSITES_READY] = 0
    return status


@routine
def is_finite(table):
    s = moving_of(table)
    x = 0.0
    for k in range(s.q.shape[0]):
        x += 0.0 * s.q[k]
    for k in range(s.v.shape[0]):
        x += 0.0 * s.v[k]
    return x == 0.0


# ------------------------------------------------------------------------------------- for accelerations from outside


@kernel
def begin_step(table, h):
    return begin(table, h)


@kernel
def resume_step(table, h, bad):
    return resume(table, h, bad)


@kernel
def finish_step(table, status):
    return finish(table, status)


@kernel
def place_bodies(table):
    """World poses of all bodies at q into `world`; forces that depend on them are found outside."""
    s = moving_of(table)
    for i in range(s.tree.shape[0]):
        place_and_move(s, i)


@inlined
def stays_at_q(table):
    """Whether the next evaluation is at the same coordinates: forces from outside that depend on these alone still hold."""
    s = moving_of(table)
    return s.counts[METHOD] == KICK_DRIFT_KICK and s.counts[ITERATIONS] > 1


@kernel
def go_on(table, h):
    """Evaluations by `aba` at the present coordinates within a step, and on to the next stage."""
    status = resume(table, h, accelerate(table, where_joints_act(table), h))
    while status == EVALUATE and stays_at_q(table):
        status = resume(table, h, accelerate(table, where_joints_act(table), h))
    return status


@kernel
def go_on_closed(table, h):
    """The same with loops."""
    status = resume(table, h, accelerate_closed(table, where_joints_act(table), h))
    while status == EVALUATE and stays_at_q(table):
        status = resume(table, h, accelerate_closed(table, where_joints_act(table), h))
    if status == DONE:
        status = close_loops(table)
    return status


@kernel
def evaluate(table):
    """Accelerations at the present state into `qdd`, springs and motors as they are now; OK or a body that failed."""
    return accelerate(table, EXPLICIT, 0.0)


@kernel
def evaluate_closed(table):
    """The same with loops."""
    return accelerate_closed(table, EXPLICIT, 0.0)
