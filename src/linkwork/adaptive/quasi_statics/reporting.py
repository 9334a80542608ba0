"""What a quasi-static simulation reports of its last solves: the bound, with the rounding floor found where it is due."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from linkwork.adaptive.quasi_statics.floor import FLOOR_EVERY, form_floor, measure_more
from linkwork.adaptive.quasi_statics.report import QuasiStaticsReport, error_bound, largest, sums_of
from linkwork.core.messages.warning import warn_user

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics


def report_of(
    sim: QuasiStatics, reached: bool, joints: float, updated: float, goal: float | None, steps: int = 1
) -> QuasiStaticsReport:
    """reached: whether the solve kept its bound. joints, updated: joints computed and nodes updated, per solve.

    goal: the tolerance; None where there is none. steps: how many solves these were.
    """
    measure_more(sim, joints, steps)
    if sim._steps_since_floor >= FLOOR_EVERY:
        sim._floor[:] = form_floor(sim, goal)
        sim._steps_since_floor = 0
    sums, floors = sums_of(sim._tree.run), (sim._floor.item(0), sim._floor.item(1))
    bound, floor = error_bound(sums, sim.measure, floors)
    if goal is not None and 0.0 < goal < floor < math.inf and not sim._warned:
        sim._warned = True
        warn_user(
            f"tolerance {goal:.1e} lies below the rounding floor {floor:.1e} of this linkage under its loads; "
            "the error bound cannot go lower than that. Ask for a larger tolerance."
        )
    floor_is_low = goal is None or goal == 0.0 or floor <= goal
    sim._forces.refresh()
    return QuasiStaticsReport(
        n_computed=round(joints),
        nodes_updated=round(updated),
        error_bound=float(bound),
        reached=bool(math.isfinite(bound) and floor_is_low and (reached or (goal is not None and bound <= goal))),
        rounding_floor=float(floor),
        max_acceleration=float(largest(sums) + floors[1]),
        field_energy=sim._forces.energy,
    )
