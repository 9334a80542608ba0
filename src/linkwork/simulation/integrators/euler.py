"""Semi-implicit Euler: v ← v + h q̈(q, v), then q ← q ⊕ h v with the new v. Order 1, one evaluation.

Steps in which the linkage whips are made by the variational integrator (`whipping` says which, and why), for two more
evaluations and what its equations take.
"""

from linkwork.core.jit import inlined, routine
from linkwork.simulation.integrators.chart import DONE, EVALUATE
from linkwork.simulation.integrators.straight import go_straight, speed_up
from linkwork.simulation.integrators.variational import discrete_equations, variational
from linkwork.simulation.integrators.whipping import whips
from linkwork.simulation.loading.accelerate import AT_END
from linkwork.simulation.loading.acting import note_joints
from linkwork.simulation.momentum.momentum import (
    add_efforts_of_bases,
    add_impulses,
    aim_centres,
    keep_present_momentum,
    momentum_leaf_to_root,
)
from linkwork.simulation.moving import (
    COMPOSITES_READY,
    DEBT_BEFORE,
    ENERGY_DEBT,
    IMPLICIT,
    KEEPS_MOMENTUM,
    MOTORS,
    OK,
    RULE,
    moving_of,
)
from linkwork.simulation.stepping.integrator import Integrator

# RULE of a step: Euler's, unless it whips; variational; Euler's, since that one failed.
BY_EULER, BY_VARIATIONAL, BY_EULER_AGAIN = range(3)

_begin_variational, _resume_variational = variational.begin, variational.resume
_where_variational, _note_variational = variational.where_joints_act, discrete_equations.note_efforts


@inlined
def begin(table, h):
    s = moving_of(table)
    s.counts[RULE] = BY_EULER
    s.numbers[DEBT_BEFORE] = s.numbers[ENERGY_DEBT]
    if s.counts[KEEPS_MOMENTUM] != 0 and s.counts[COMPOSITES_READY] == 0:
        momentum_leaf_to_root(table)
    return EVALUATE


@routine
def resume(table, h, bad):
    s = moving_of(table)
    if s.counts[RULE] == BY_VARIATIONAL:
        status = _resume_variational(table, h, bad)
        if status == EVALUATE or end_whipping(table, status):
            return status
        return EVALUATE
    if bad != OK:
        return bad
    if s.counts[RULE] == BY_EULER and whips(table, h):
        s.counts[RULE] = BY_VARIATIONAL
        return _begin_variational(table, h)
    return resume_plain(table, h, bad)


@inlined
def resume_plain(table, h, bad):
    """By Euler's rule, whatever turns how fast: for accelerations that come from Python."""
    s = moving_of(table)
    if bad != OK:
        return bad
    if s.counts[KEEPS_MOMENTUM] != 0:
        add_impulses(table, h)
    move(table, h)
    return DONE


@routine
def end_whipping(table, status):
    """After a variational step: whether it succeeded. Then momentum is what it left; else all goes back to its start."""
    s = moving_of(table)
    if status == DONE:
        if s.counts[KEEPS_MOMENTUM] != 0:
            keep_present_momentum(table)
        return True
    for k in range(s.q.shape[0]):
        s.q[k] = s.start_q[k]
    for k in range(s.v.shape[0]):
        s.v[k] = s.start_v[k]
    s.counts[RULE] = BY_EULER_AGAIN
    if s.counts[KEEPS_MOMENTUM] != 0:
        momentum_leaf_to_root(table)
    return False


@routine
def move(table, h):
    """From the accelerations of the start, with the velocities there in `v`, to the end of the step."""
    s = moving_of(table)
    speed_up(s, h)
    for k in range(s.v.shape[0]):
        s.u[k] = s.v[k]
    if s.counts[KEEPS_MOMENTUM] != 0:
        add_efforts_of_bases(table, h)
        aim_centres(table, h)
    go_straight(s, s.u, h)


@inlined
def where_joints_act(table):
    return _where_variational(table) if moving_of(table).counts[RULE] == BY_VARIATIONAL else AT_END


@routine
def note_efforts(table, h):
    """What acted on the joints in the step of h [s] that was just made, but for limits: (1) of `acting`."""
    s = moving_of(table)
    if s.counts[RULE] == BY_VARIATIONAL:
        _note_variational(table, h)
    elif s.counts[IMPLICIT] != 0 and s.counts[MOTORS] > 0:
        note_joints(table, s.start_q, s.start_v, h, s.judged)
    else:
        note_joints(table, s.start_q, s.start_v, h if s.counts[IMPLICIT] != 0 else 0.0, s.start_v)


EULER = Integrator(begin, resume, where_joints_act, note_efforts, take_back=variational.take_back_debt)
PLAIN_EULER = Integrator(begin, resume_plain, where_joints_act, note_efforts)
