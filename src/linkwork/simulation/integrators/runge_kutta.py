"""The classical Runge-Kutta method in exponential coordinates (Munthe-Kaas 1999). Order 4, four evaluations.

It works on u and v, where q = start ⊕ u and u = 0 at the start of the step. Both are vectors, so it keeps its order.
"""

from linkwork.core.jit import inlined, routine
from linkwork.simulation.integrators.chart import DONE, EVALUATE, integrate, rates
from linkwork.simulation.moving import OK, STAGE, moving_of
from linkwork.simulation.stepping.integrator import Integrator

RATE_U, SUM_U, SUM_V = range(3)  # rows of `stages`


@inlined
def begin(table, h):
    s = moving_of(table)
    s.counts[STAGE] = 0
    for k in range(s.v.shape[0]):
        s.u[k] = 0.0
        s.stages[SUM_U, k] = 0.0
        s.stages[SUM_V, k] = 0.0
    return EVALUATE


@routine
def resume(table, h, bad):
    s = moving_of(table)
    if bad != OK:
        return bad
    stage = s.counts[STAGE]
    rates(table, s.stages[RATE_U])
    weight = 1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0
    span = h if stage == 2 else 0.5 * h
    for k in range(s.v.shape[0]):
        s.stages[SUM_U, k] += weight * s.stages[RATE_U, k]
        s.stages[SUM_V, k] += weight * s.qdd[k]
        if stage < 3:
            s.u[k] = span * s.stages[RATE_U, k]
            s.v[k] = s.start_v[k] + span * s.qdd[k]
        else:
            s.u[k] = h * s.stages[SUM_U, k]
            s.v[k] = s.start_v[k] + h * s.stages[SUM_V, k]
    integrate(s.tree, s.start_q, s.u, 1.0, s.q)
    s.counts[STAGE] = stage + 1
    return DONE if stage == 3 else EVALUATE


RUNGE_KUTTA = Integrator(begin, resume)
