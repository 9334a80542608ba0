"""Dormand and Prince's embedded pair of orders 5 and 4 in exponential coordinates, with error control.

Substeps end at h exactly, each as long as rtol and atol allow; six evaluations per substep. One passes when the estimated
error of every coordinate and velocity is at most atol + rtol · its size: |q|, or one radian for orientations; |v|.
"""

import math
from typing import Any

from linkwork.core.jit import inlined, routine
from linkwork.model.layout import DOF, FREE, KIND, SPHERICAL, Q, V
from linkwork.simulation import moving as mv
from linkwork.simulation.integrators.chart import DONE, EVALUATE, integrate, rates
from linkwork.simulation.moving import moving_of
from linkwork.simulation.stepping.integrator import Integrator

# Dormand and Prince 1980, table 2; the last row of stages is the solution of order five.
STAGES = (
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0),
    (3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0),
    (44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
FOURTH = (5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40)
DIFFERENCE = tuple(b - c for b, c in zip((*STAGES[-1], 0.0), FOURTH, strict=True))

# The controller of Hairer, Nørsett and Wanner (II.4): a proportional part and a little of the error before.
MEMORY = 0.04
PROPORTION = 0.2 - 0.75 * MEMORY
SAFETY, LEAST, MOST = 0.9, 0.2, 10.0
LEAST_ERROR = 1e-4  # a smaller error before does not change the controller
TINIEST = 1e-12  # of the whole step: shorter substeps make no way
CAUTION = 0.01  # first substep of all: the part of the time in which velocities change by their own size
LAST = 6  # stage at the end of a substep, whose rates begin the next one

RATE_U, RATE_V, SUB_Q, SUB_V = 0, 7, 14, 15  # rows of `stages`: rates of the seven stages, state before a substep


@inlined
def begin(table, h):
    s = moving_of(table)
    s.counts[mv.STAGE] = 0
    s.counts[mv.REJECTED] = 0
    s.numbers[mv.PASSED] = 0.0
    s.numbers[mv.ERROR_BEFORE] = LEAST_ERROR
    for k in range(s.v.shape[0]):
        s.u[k] = 0.0
    keep_state(s)
    return EVALUATE


@inlined
def keep_state(s):
    for k in range(s.q.shape[0]):
        s.stages[SUB_Q, k] = s.q[k]
    for k in range(s.v.shape[0]):
        s.stages[SUB_V, k] = s.v[k]


@inlined
def set_substep(s, h):
    left = h - s.numbers[mv.PASSED]
    proposed = s.numbers[mv.PROPOSED_STEP]
    s.numbers[mv.SUBSTEP] = left if proposed >= 0.99 * left else min(proposed, 0.5 * left)  # no sliver at the end


@routine
def go_to_stage(table, stage):
    """To the point that a row of the tableau makes of the stages before."""
    s = moving_of(table)
    h = s.numbers[mv.SUBSTEP]
    for k in range(s.v.shape[0]):
        u = 0.0
        v = 0.0
        for e in range(stage):
            u += STAGES[stage][e] * s.stages[RATE_U + e, k]
            v += STAGES[stage][e] * s.stages[RATE_V + e, k]
        s.u[k] = h * u
        s.v[k] = s.stages[SUB_V, k] + h * v
    integrate(s.tree, s.stages[SUB_Q], s.u, 1.0, s.q)
    s.counts[mv.STAGE] = stage


@inlined
def size_of_coordinate(s, row, i, d):
    """What an error of a coordinate compares with: |q|, one radian for orientations, the distance of a free body."""
    kind = s.tree[i, KIND]
    k = s.tree[i, Q]
    if kind == SPHERICAL or (kind == FREE and d < 3):
        return 1.0
    if kind == FREE:
        return math.sqrt(row[k] * row[k] + row[k + 1] * row[k + 1] + row[k + 2] * row[k + 2])
    return abs(row[k + d])


@routine
def errors(table):
    """Estimated error of the substep: as a part of what is allowed, and as it is, in the worst coordinate or velocity."""
    s = moving_of(table)
    h = s.numbers[mv.SUBSTEP]
    rtol = s.numbers[mv.RTOL]
    atol = s.numbers[mv.ATOL]
    ratio = 0.0
    largest = 0.0
    for i in range(s.tree.shape[0]):
        for d in range(s.tree[i, DOF]):
            j = s.tree[i, V] + d
            u = 0.0
            v = 0.0
            for e in range(LAST + 1):
                u += DIFFERENCE[e] * s.stages[RATE_U + e, j]
                v += DIFFERENCE[e] * s.stages[RATE_V + e, j]
            u = abs(h * u)
            v = abs(h * v)
            size = max(size_of_coordinate(s, s.stages[SUB_Q], i, d), size_of_coordinate(s, s.q, i, d))
            part_u = u / (atol + rtol * size)
            part_v = v / (atol + rtol * max(abs(s.stages[SUB_V, j]), abs(s.v[j])))
            if ratio == ratio and not part_u <= ratio:  # NaN stays NaN
                ratio = part_u
            if ratio == ratio and not part_v <= ratio:
                ratio = part_v
            largest = max(largest, u, v)
    return ratio, largest


@routine
def reject(table, h, ratio, cause):
    """Tries again from where the substep began, with a shorter one. cause: of the failure where there is none."""
    s = moving_of(table)
    shrink = max(LEAST, SAFETY * ratio**-0.2) if math.isfinite(ratio) else LEAST
    s.numbers[mv.PROPOSED_STEP] = s.numbers[mv.SUBSTEP] * shrink
    s.counts[mv.REJECTED] = 1
    if s.numbers[mv.PROPOSED_STEP] < TINIEST * h:
        return cause
    set_substep(s, h)
    go_to_stage(table, 1)
    return EVALUATE


@inlined
def cautious(table, h):
    """A first substep that is surely short enough to learn from (Hairer, Nørsett and Wanner, II.4)."""
    s = moving_of(table)
    speed = 0.0
    change = 0.0
    for k in range(s.v.shape[0]):
        scale = s.numbers[mv.ATOL] + s.numbers[mv.RTOL] * abs(s.v[k])
        speed = max(speed, abs(s.v[k]) / scale)
        change = max(change, abs(s.qdd[k]) / scale)
    return min(h, CAUTION * speed / change) if speed > 1e-5 and change > 1e-5 else CAUTION * h


@inlined
def nothing_to_close(table):
    return mv.OK


def make_integrator(close: Any = None) -> Integrator:
    """close(table): brings loops together after a substep, and the next one evaluates there; OK or a failure."""
    closes = close is not None
    close_substep = close if closes else nothing_to_close

    @routine
    def resume(table, h, bad):
        s = moving_of(table)
        stage = s.counts[mv.STAGE]
        if bad != mv.OK:
            return bad if stage == 0 else reject(table, h, math.inf, bad)
        rates(table, s.stages[RATE_U + stage])
        for k in range(s.v.shape[0]):
            s.stages[RATE_V + stage, k] = s.qdd[k]
        if stage == LAST:
            return accept_or_reject(table, h)
        if stage == 0:
            if not math.isfinite(s.numbers[mv.PROPOSED_STEP]):
                s.numbers[mv.PROPOSED_STEP] = cautious(table, h)
            set_substep(s, h)
        go_to_stage(table, stage + 1)
        return EVALUATE

    @routine
    def accept_or_reject(table, h):
        """Accepts or rejects the substep that is complete."""
        s = moving_of(table)
        ratio, largest = errors(table)
        if not ratio <= 1.0:
            return reject(table, h, ratio, mv.SUBSTEPS_VANISH)
        substep = s.numbers[mv.SUBSTEP]
        at_end = substep == h - s.numbers[mv.PASSED]
        if not at_end:
            bad = close_substep(table)
            if bad != mv.OK:
                return reject(table, h, math.inf, bad)
        proposed = s.numbers[mv.PROPOSED_STEP]
        grow = MOST if ratio == 0.0 else SAFETY * ratio**-PROPORTION * s.numbers[mv.ERROR_BEFORE] ** MEMORY
        proposal = substep * min(1.0 if s.counts[mv.REJECTED] else MOST, max(LEAST, grow))
        # A substep cut short by the end of the step says little about the longer one that was proposed.
        s.numbers[mv.PROPOSED_STEP] = (
            max(proposed, proposal) if substep < proposed and not s.counts[mv.REJECTED] else proposal
        )
        s.numbers[mv.PASSED] += substep
        s.numbers[mv.ERROR] += largest
        s.numbers[mv.ERROR_BEFORE] = max(ratio, LEAST_ERROR)
        s.counts[mv.REJECTED] = 0
        s.counts[mv.SUBSTEPS] += 1
        if at_end:
            return DONE
        keep_state(s)
        if closes:
            s.counts[mv.STAGE] = 0
            for k in range(s.v.shape[0]):
                s.u[k] = 0.0
            return EVALUATE
        for k in range(s.v.shape[0]):
            s.stages[RATE_U, k] = s.v[k]
            s.stages[RATE_V, k] = s.stages[RATE_V + LAST, k]
        set_substep(s, h)
        go_to_stage(table, 1)
        return EVALUATE

    return Integrator(begin, resume, counts_substeps=True)


DORMAND_PRINCE = make_integrator()
