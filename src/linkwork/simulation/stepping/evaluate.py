"""Evaluations of the accelerations with motors within their limits, of trees and of linkages with loops."""

from __future__ import annotations

from typing import Any

from linkwork.core.jit import inlined, kernel, routine
from linkwork.simulation.loading.accelerate import AT_END, EXPLICIT, accelerate, update_saturation
from linkwork.simulation.moving import IMPLICIT, LIMITED, MOTORS, OK, moving_of

MOST_SATURATION_UPDATES = 25  # evaluations for the limits of motors; few steps need more than two


@inlined
def motors_may_saturate(table, where):
    """Whether motors act implicitly, within limits that must hold where the step ends."""
    counts = moving_of(table).counts
    return where == AT_END and counts[MOTORS] > 0 and counts[LIMITED] != 0 and counts[IMPLICIT] != 0


def make_evaluate(accelerate: Any) -> Any:
    """evaluate(table, where, h): `accelerate`, repeated until the limits of implicit motors hold where the step ends."""

    @routine
    def evaluate(table, where, h):
        """Each repetition is a step of Newton's method. Returns OK, or a body or loop that failed."""
        bad = accelerate(table, where, h)
        if motors_may_saturate(table, where):
            for turn in range(MOST_SATURATION_UPDATES):
                if bad != OK or not update_saturation(table, h, turn == 0):
                    break
                bad = accelerate(table, where, h)
        return bad

    return evaluate


evaluate_tree = make_evaluate(accelerate)


@kernel
def accelerations_now(table):
    """Accelerations at the present state into `qdd`, springs and motors as they are now; OK or a body that failed."""
    return accelerate(table, EXPLICIT, 0.0)
