"""What a quasi-static solve reached: accelerations in the metric, and the bound on their error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from linkwork.adaptive.measures import MEASURES, bound_of
from linkwork.adaptive.workspace import MAX_JOINT, MAX_QUEUE, SUM_JOINT, SUM_QUEUE, UNIT, Run
from linkwork.simulation.protocol import Report


@dataclass(frozen=True, slots=True)
class QuasiStaticsReport(Report):
    """What a solve or step reached.

    n_computed: joints computed, per solve on average; nodes_updated: nodes of the assembly tree brought up to date.
    error_bound: error of the accelerations by the chosen measure: what joints left out hide, proven in exact arithmetic,
        and rounding, estimated. Infinite where rounding may be all there is.
    reached: whether what is left out is within the tolerance (a budget may have stopped the work before) and so is
        rounding; with tolerance 0, whether everything is computed.
    rounding_floor: part of the bound that is rounding, in the same measure, as last estimated.
    max_acceleration: bound on every joint's acceleration, computed or not, in the metric.
    field_energy: of the field at the end [J]; zero without one.
    """

    n_computed: int
    nodes_updated: int
    error_bound: float
    reached: bool
    rounding_floor: float
    max_acceleration: float
    field_energy: float = 0.0

    def note(self) -> str:
        return f"{self.n_computed:,} joints, bound {self.error_bound:.1e}"


class Sums(NamedTuple):
    """`metric_sums` of a run as plain numbers, which Python reads ten times as fast."""

    metric_sums: list[float]


def sums_of(run: Run) -> Sums:
    return Sums(run.metric_sums.tolist())


def hidden(run: Run | Sums, measure: str) -> float:
    """Error by a measure, proven in exact arithmetic."""
    return float(bound_of(MEASURES[measure], run))


def with_no_joint(run: Run | Sums, measure: str) -> float:
    """What a measure would be with no joint computed: one for relative measures."""
    return 1.0 if measure.startswith("relative") else size(run, measure)


def size(run: Run | Sums, measure: str) -> float:
    """Acceleration of the linkage, or of its fastest computed joint, whichever is measured, in the metric."""
    sums = run.metric_sums
    square = sums[SUM_JOINT] + sums[SUM_QUEUE] if "linkage" in measure else sums[MAX_JOINT]
    return math.sqrt(square) / float(sums[UNIT])


def largest(run: Run | Sums) -> float:
    """Bound on every joint's acceleration, computed or not, in the metric, without rounding."""
    sums = run.metric_sums
    return math.sqrt(max(sums[MAX_JOINT], sums[MAX_QUEUE])) / float(sums[UNIT])


def error_bound(run: Run | Sums, measure: str, floors: tuple[float, float]) -> tuple[float, float]:
    """Error bound by a measure, and the part of it that is rounding.

    floors: what rounding may be, of the linkage and of a joint, in the metric.
    """
    left_out, floor = hidden(run, measure), floors[0 if "linkage" in measure else 1]
    if not measure.startswith("relative"):
        return left_out + floor, floor
    present = size(run, measure)
    if floor == 0.0 or left_out == math.inf:
        return left_out, 0.0
    if not present > floor:  # rounding may be all there is
        return math.inf, math.inf
    # The true size may be smaller than the computed one by floor.
    rounding = (1.0 + left_out) * floor / (present - floor)
    return left_out + rounding, rounding
