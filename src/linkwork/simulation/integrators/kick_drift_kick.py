"""Velocity Verlet on the manifold of joint coordinates: half a kick, a drift, half a kick. Order 2, symmetric in time.

    v½ = v + ½ h q̈(q, v),   q⁺ = q ⊕ h v½,   v⁺ = v½ + ½ h q̈(q⁺, v⁺)                               (4)  docs/integrators.md

Accelerations of linkages depend on velocities, so the second kick is an equation for the new velocity. Each round of its
fixed-point iteration gains a factor ½ h |∂q̈/∂v|. All of them are at one and the same q, and so is the first evaluation of
the next step: forces that depend on q alone are found once per step.
"""

import math
from typing import Any

from linkwork.core.jit import inlined, routine
from linkwork.simulation.integrators.chart import DONE, EVALUATE, integrate
from linkwork.simulation.moving import ALLOWED, BEST, IDLE, ITERATIONS, NOT_CONVERGED, OK, RESIDUAL, moving_of
from linkwork.simulation.stepping.integrator import Integrator

SOLVE_TOLERANCE = 1e-12  # of the second kick, relative to the velocities
UNSEEN = 2.0**-52  # [rad or m] displacement in a step that is lost beside one radian or metre
MAX_ITERATIONS = 60
ROUNDING_FLOOR = 1e-9  # a change that no longer falls, but lies below this part of the velocities, is rounding
PATIENCE = 4  # iterations without progress that count as "no longer falls"

HALF = 0  # row of `stages`: v½


@inlined
def begin(table, h):
    s = moving_of(table)
    s.counts[ITERATIONS] = 0
    s.counts[IDLE] = 0
    s.numbers[BEST] = math.inf
    return EVALUATE


@inlined
def evaluate_next(table):
    return EVALUATE


def make_integrator(after_drift: Any = evaluate_next, after_kick: Any = evaluate_next) -> Integrator:
    """after_drift(table): what is done to coordinates and velocities before forces are found there; after_kick(table): to
    velocities in each round of the second kick. EVALUATE or a failure."""

    @routine
    def resume(table, h, bad):
        s = moving_of(table)
        if bad != OK:
            return bad
        s.counts[ITERATIONS] += 1
        if s.counts[ITERATIONS] > 1:
            return second_kick(table, h)
        for k in range(s.v.shape[0]):
            s.stages[HALF, k] = s.v[k] + 0.5 * h * s.qdd[k]
            s.v[k] = s.stages[HALF, k] + 0.5 * h * s.qdd[k]
        integrate(s.tree, s.start_q, s.stages[HALF], h, s.q)
        return after_drift(table)

    @routine
    def second_kick(table, h):
        """One round of the equation for the new velocity; DONE, EVALUATE or a failure."""
        s = moving_of(table)
        n = s.v.shape[0]
        scale = 0.0
        for k in range(n):
            kick = 0.5 * h * s.qdd[k]
            s.u[k] = s.v[k]
            s.v[k] = s.stages[HALF, k] + kick
            scale = max(scale, abs(s.v[k]) + abs(kick))
        bad = after_kick(table)
        if bad != EVALUATE:
            return bad
        change = 0.0
        for k in range(n):
            x = abs(s.v[k] - s.u[k])
            if not x <= change:  # NaN stays NaN
                change = x
        s.numbers[RESIDUAL] = change
        # Velocities that no coordinate would show within the step count as solved: a linkage at rest has no others.
        s.numbers[ALLOWED] = SOLVE_TOLERANCE * scale + UNSEEN / h
        if not math.isfinite(change):
            return NOT_CONVERGED
        s.counts[IDLE] = 0 if change < 0.5 * s.numbers[BEST] else s.counts[IDLE] + 1
        s.numbers[BEST] = min(s.numbers[BEST], change)
        if change <= s.numbers[ALLOWED] or (s.counts[IDLE] >= PATIENCE and change <= ROUNDING_FLOOR * scale):
            return DONE
        return EVALUATE if s.counts[ITERATIONS] < MAX_ITERATIONS else NOT_CONVERGED

    return Integrator(begin, resume, stays_at_q=stays_at_q)


@inlined
def stays_at_q(table):
    """All evaluations but the first are at the coordinates of the end."""
    return moving_of(table).counts[ITERATIONS] > 1


KICK_DRIFT_KICK = make_integrator()
