"""The rounding floor of a solve: estimated where that is enough, measured where digits may have been lost.

The estimate of `metric/rounding_floor.py` counts the roundings of one solve. `metric/lost_digits.py` adds by how much the
coefficients themselves may be worse; it errs on the safe side, often by far. Where even that is nothing, it is the floor.
Where it is small against the tolerance, and the bound keeps the tolerance with it, it is the floor too. Where not, the
accelerations are compared with those of `aba`, which adds inertias and keeps its digits there: O(n). What was found goes on
to the solves that follow, under other loads too, but much larger: where that is small against the tolerance. So a change of
loads costs O(log n), not O(n), unless the tolerance is near rounding or the linkage is delicate. What was found long ago is
found anew a few bodies per step (`comparison`), so that no step is long; the first one, with much to be set up anyway, is
compared at once. On delicate linkages (`metric/delicate.py`) nothing goes on to other solves: all are compared at once.
Theory: docs/theory/adaptive_quasi_statics.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linkwork.adaptive.metric.missed import MARGIN_OF_ABA, missed_accelerations
from linkwork.adaptive.metric.rounding_floor import rounding_floor
from linkwork.adaptive.quasi_statics.everything import BY_ABA, LEAST_JOINTS
from linkwork.adaptive.quasi_statics.report import error_bound, size, sums_of
from linkwork.adaptive.workspace import JOINT_COUNT, MAX_JOINT, SUM_JOINT
from linkwork.core.arrays import FloatArray

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics
    from linkwork.model.model import Model
    from linkwork.model.state import State

FLOOR_EVERY = 64  # steps between two estimates of the rounding floor
ABA_EVERY = 1024  # solves by `aba` between two looks at what they miss, which take as long as three of them

NEGLIGIBLE = 1e-9  # part of the accelerations that a loss may be without being looked into
SMALL_PART = 0.125  # of the tolerance, that a loss may be without being looked into
LARGE_PART = 0.5  # of the tolerance, that it may be while it is looked into, a few bodies per step
LEFT_TO_ROUNDING = 2.0**-6  # of the tolerance: a bound that just keeps it would break it by the least floor
WORTH_MEASURING = 64  # joints computed since the last measurement, per body: then another one costs a few per cent
OTHER_JOINTS = 1.5  # times as many joints computed: what was measured said too little about them
MOST_GROWTH = 8.0  # times as many: it said nothing
OTHER_SOLVES = 1e4  # times as much may be lost in another solve as where it was measured
FEARED = 0.04  # or this part of what the estimate says; seen between two loads: 4e-3 of it; ten of that
PASSED_ON = (
    0.01  # part that is seen of what small components of large forces could carry on: 6e-4; ten of that and more
)
LEAST_BODIES = 64  # of a comparison per step, or as many as joints were computed: a part of what the step costs
SAME_LOADS = 100.0  # the same where nothing that acts has changed since; seen over 2,560 steps: 14 times
OTHER_LOADS = 100.0  # times as much may be lost by `aba` in another solve
MARGIN = 4.0  # over the difference of two algorithms, of which either may be the worse


# What was measured last: the floors over their estimates (zero: nothing was); joints that may be computed until it is
# measured again; the most that were computed; solves since the last estimate.
RATIO, LEFT, JOINTS, SOLVES = slice(0, 2), 2, 3, 4
# And of solves by `aba`: what rounding did relative to the accelerations (zero: not known), and solves since.
# And the part of the tolerance that solves leave to rounding, so that what is known of it need not be measured anew.
OF_ABA, SINCE_ABA, LEFT_OUT = slice(5, 7), 7, 8
# How often what acts has changed, limits among it; how often it had when floors were measured; changes of limits of those.
CHANGES, MEASURED_AT, OF_LIMITS, MEASURED = 9, 10, 11, 12


def form_floor(sim: QuasiStatics, goal: float | None) -> tuple[float, float]:
    """What rounding may have done: (root of the sum of squares, largest) in the metric."""
    if sim._tree.run.counts[BY_ABA]:
        return floor_of_everything(sim)
    total, largest, lost, shown = rounding_floor(sim._tree.table, sim._depth)
    known, joints = sim._measured_floor, int(sim._tree.run.counts[JOINT_COUNT])
    # Where nothing accelerates nothing is lost, however many digits are: infinity times zero is not a number.
    passed_on = PASSED_ON * shown
    most = max(lost, passed_on)
    suspected = (most * total if total > 0.0 else 0.0, most * largest if largest > 0.0 else 0.0)
    doubt = suspected[0 if "linkage" in sim.measure else 1]
    known[LEFT] -= known[SOLVES] * joints
    known[SOLVES] = 0.0
    ratio, ratio_of_largest, left, most_joints = known[:SOLVES].tolist()
    is_known, is_fresh = ratio > 0.0, left > 0.0
    is_looked_into = is_known or is_fresh  # or `aba` had no answer, and will be asked again later
    if doubt <= NEGLIGIBLE * size(sim._tree.run, sim.measure) or (is_looked_into and _is_small(sim, suspected, goal)):
        return suspected
    comparison = sim._comparison
    growth = max(1.0, joints / max(1.0, most_joints))
    if is_known and growth <= MOST_GROWTH and not sim._is_delicate:
        other = max(OTHER_SOLVES, FEARED * lost, passed_on) if known[MEASURED_AT] != known[CHANGES] else SAME_LOADS
        worse = growth * growth * other
        likely = (min(worse * ratio * total, suspected[0]), min(worse * ratio_of_largest * largest, suspected[1]))
        _leave_room(sim, likely, goal)
        if goal is None or _is_small(sim, likely, goal, LARGE_PART):
            is_due = not is_fresh or growth > OTHER_JOINTS or (goal is not None and not _is_small(sim, likely, goal))
            if is_due and not comparison.is_running:  # another is made, a few bodies per step
                comparison.begin(sim, joints, total, largest, known.item(CHANGES))
            return likely
    comparison.begin(sim, joints, total, largest, known.item(CHANGES))
    comparison.finish()
    if not learn(sim):
        return suspected
    return min(known[0] * total, suspected[0]), min(known[1] * largest, suspected[1])


def floor_of_everything(sim: QuasiStatics) -> tuple[float, float]:
    """The same of a solve by `aba`: what its accelerations miss, put back into inverse dynamics, every so many solves.

    In between, and under other loads, the same part of the accelerations, many times over.
    """
    known, sums = sim._measured_floor, sim._tree.run.metric_sums
    sizes = np.sqrt([sums[SUM_JOINT], sums[MAX_JOINT]])
    known[SINCE_ABA] += known[SOLVES]
    known[SOLVES] = 0.0
    if known[OF_ABA][0] > 0.0 and known[SINCE_ABA] < ABA_EVERY:
        total, largest = OTHER_LOADS * known[OF_ABA] * sizes
        return float(total), float(largest)
    missed = MARGIN_OF_ABA * sim._comparison.what_is_missed(sim)
    known[OF_ABA] = np.divide(missed, sizes, out=np.zeros(2), where=sizes > 0.0)
    known[SINCE_ABA] = 0.0
    return float(missed[0]), float(missed[1])


def load_kernels(model: Model, state: State) -> None:
    """Before the first step of a linkage whose solves may be by `aba`: what their floors need, so that no step waits."""
    if model.n_bodies >= LEAST_JOINTS:
        still = np.zeros(model.nv)
        missed_accelerations(model, state, still, np.zeros((model.n_bodies, 6)), still)


def measure_more(sim: QuasiStatics, joints: float, steps: int) -> None:
    """After `steps` steps that computed so many joints each: goes on with a comparison that was begun."""
    if sim._comparison.is_running and sim._comparison.visit_more(int(max(LEAST_BODIES, joints)) * steps):
        learn(sim)


def finish_measuring(sim: QuasiStatics) -> None:
    """Ends a comparison that was begun: what goes on from here begins with what it found."""
    if sim._comparison.is_running:
        sim._comparison.finish()
        learn(sim)


def learn(sim: QuasiStatics) -> bool:
    """Takes note of what a comparison found; False where it found nothing."""
    x, known = sim._comparison, sim._measured_floor
    measured = x.difference()
    known[LEFT] = WORTH_MEASURING * sim.model.n_bodies
    if measured is None or not (x.total > 0.0 and x.largest > 0.0):
        return False
    known[0] = max(1.0, MARGIN * measured[0] / x.total)
    known[1] = max(1.0, MARGIN * measured[1] / x.largest)
    known[JOINTS] = max(x.joints, known.item(JOINTS))
    known[MEASURED_AT] = x.loads
    return True


def _is_small(sim: QuasiStatics, floors: tuple[float, float], goal: float | None, most: float = SMALL_PART) -> bool:
    """Whether the tolerance is kept with such floors, and they are at most a part of it."""
    bound, part = error_bound(sums_of(sim._tree.run), sim.measure, floors)
    return goal is not None and part <= most * goal and bound <= goal


def _leave_room(sim: QuasiStatics, floors: tuple[float, float], goal: float | None) -> None:
    """Where known floors are more than solves leave to rounding: those to come leave them room.

    Now, and not when a bound first comes too near the tolerance for them: that solve would have to be compared at once.
    """
    part = error_bound(sums_of(sim._tree.run), sim.measure, floors)[1]
    if goal is None or not part <= LARGE_PART * goal:
        return
    room = next(room for room in (LEFT_TO_ROUNDING, SMALL_PART, LARGE_PART) if part <= room * goal)
    sim._measured_floor[LEFT_OUT] = max(room, sim._measured_floor.item(LEFT_OUT))


def left_to_solves(known: FloatArray) -> float:
    """The part of a tolerance that the accelerations left out may be; rounding has the rest."""
    return 1.0 - max(LEFT_TO_ROUNDING, known.item(LEFT_OUT))
