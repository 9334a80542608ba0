"""How long the parts are in which a variational step is made: h, h/2, h/4, ...

A part that fails is made again at half the length. Lengths double again from step to step, up to one that failed twice
within a few steps: that one is tried after two steps, and after twice as many each time that it fails again.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.simulation import moving as mv
from linkwork.simulation.integrators.chart import DONE, EVALUATE
from linkwork.simulation.integrators.variational.discrete_equations import SUB_Q
from linkwork.simulation.moving import moving_of

SHORTEST = 2.0**-10  # part of a step to which it is halved at most
FEW = 4.0  # steps within which a length that fails twice is too long for now
FIRST_WAIT, LONGEST_WAIT = 2.0, 16.0  # steps until it is tried again; as long, steps after one in parts are in doubt


@inlined
def first_length(table, h):
    """h, or that by a power of two which is at most the proposed length [s]."""
    proposed = moving_of(table).numbers[mv.PROPOSED_STEP]
    span = h
    while span > 1.0001 * proposed and span > h * SHORTEST:
        span *= 0.5
    return span


@routine
def halve(table, h):
    """Back to where the part began, and on with one of half the length: EVALUATE, or NOT_CONVERGED after the shortest."""
    s = moving_of(table)
    s.counts[mv.HALVINGS] += 1
    span = s.numbers[mv.SUBSTEP]
    if span <= h * SHORTEST:
        return mv.NOT_CONVERGED
    failed = s.numbers[mv.FAILED_LENGTH]
    if failed > 0.0 and span > 0.9999 * failed:
        s.numbers[mv.WAIT] = min(2.0 * s.numbers[mv.WAIT], LONGEST_WAIT)
    elif s.numbers[mv.SINCE_FAILURE] > 0.0:
        s.numbers[mv.FAILED_LENGTH] = span
        s.numbers[mv.WAIT] = FIRST_WAIT
    s.numbers[mv.WAIT_LEFT] = s.numbers[mv.WAIT]
    s.numbers[mv.SINCE_FAILURE] = FEW
    s.numbers[mv.SUBSTEP] = 0.5 * span
    s.numbers[mv.PROPOSED_STEP] = 0.5 * span
    for k in range(s.q.shape[0]):
        s.q[k] = s.stages[SUB_Q, k]
    return EVALUATE


@routine
def lengthen(table, h):
    """After a step of h [s]: the length that the next one may begin with."""
    s = moving_of(table)
    s.numbers[mv.SINCE_FAILURE] = max(0.0, s.numbers[mv.SINCE_FAILURE] - 1.0)
    s.numbers[mv.CAUTIOUS_STEPS] = (
        LONGEST_WAIT if s.numbers[mv.SUBSTEP] < h else max(0.0, s.numbers[mv.CAUTIOUS_STEPS] - 1.0)
    )
    if s.numbers[mv.PROPOSED_STEP] == math.inf:
        return
    failed = s.numbers[mv.FAILED_LENGTH]
    longer = 2.0 * s.numbers[mv.PROPOSED_STEP]
    if failed > 0.0 and longer > 0.9999 * failed:
        s.numbers[mv.WAIT_LEFT] -= 1.0
        if s.numbers[mv.WAIT_LEFT] > 0.0:
            return
        if s.numbers[mv.PROPOSED_STEP] > 0.9999 * failed:  # it did well for as long as it had to wait
            s.numbers[mv.FAILED_LENGTH] = 0.0
        s.numbers[mv.WAIT_LEFT] = s.numbers[mv.WAIT]
    s.numbers[mv.PROPOSED_STEP] = longer if longer < h else math.inf


@inlined
def is_cautious(table, h):
    """Whether the step of h [s] is made in parts, or one of the last few was."""
    s = moving_of(table)
    return s.numbers[mv.SUBSTEP] < h or s.numbers[mv.CAUTIOUS_STEPS] > 0.0


@inlined
def next_part(table, h):
    """After a part that succeeded: DONE where it was the last of the step of h [s], else EVALUATE, with the next length."""
    s = moving_of(table)
    span = s.numbers[mv.SUBSTEP]
    if span >= h - s.numbers[mv.PASSED]:
        return DONE
    s.numbers[mv.PASSED] += span
    left = h - s.numbers[mv.PASSED]
    if left < 1.5 * span:
        s.numbers[mv.SUBSTEP] = left
    return EVALUATE
