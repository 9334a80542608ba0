"""How solves and steps keep a deadline: when no more joints are computed, and what is closed where that is not enough."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.measures import MEASURES, NO_LIMIT
from linkwork.adaptive.quasi_statics.report import QuasiStaticsReport, hidden, with_no_joint
from linkwork.adaptive.quasi_statics.reporting import report_of
from linkwork.adaptive.quasi_statics.solve import expand_more, mark_and_move

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics

DEADLINE_CHUNK = 64  # nodes opened between two looks at the clock
MOST_OVERLOAD = 2.0**20  # of what may be hidden while deadlines are missed
LEAST_CLOSED = 1e-3  # part of the whole that may be hidden first where nothing is hidden yet


class Pace:
    """What the last steps of a simulation say about how long the next one takes."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._overload = 1.0  # doubles with every step that misses its deadline
        self._tail = 0.0  # [s] that the end of a step takes, after the last joint was computed

    def end_of_opening(self, started: float, deadline: float | None) -> float:
        """When to stop opening nodes, by the clock, so that what comes after them is within the deadline."""
        return math.inf if deadline is None else started + deadline - self._tail

    def may_be_hidden(self, run: ws.Run, measure: str, asked: float) -> float:
        """By how much what the move closes may go wrong: more than `asked` while steps take too long."""
        if self._overload <= 1.0:
            return asked
        everything = (self._overload - 1.0) * LEAST_CLOSED * with_no_joint(run, measure)
        return max(asked, self._overload * hidden(run, measure), everything)

    def note(self, started: float, solved: float, deadline: float) -> None:
        """A step ends now, by the clock."""
        ended = time.perf_counter()
        self._tail = max(ended - solved, 0.9 * self._tail)
        late = ended - started > deadline
        self._overload = min(2.0 * self._overload, MOST_OVERLOAD) if late else max(1.0, 0.5 * self._overload)


def open_until(table: Any, counts: Any, measure: int, tolerance: float, budget: int, end: float) -> bool:
    """Opens nodes until the bound holds, the budget is spent, or the clock shows `end` [s]; whether the bound holds."""
    chunk = NO_LIMIT if end == math.inf else DEADLINE_CHUNK
    reached = False
    while not reached and time.perf_counter() < end:
        reached = bool(expand_more(table, measure, tolerance, budget, chunk))
        if chunk == NO_LIMIT or counts[ws.JOINT_COUNT] >= budget:
            break
    return reached


def step_within_deadline(sim: QuasiStatics, h: float, deadline: float) -> QuasiStaticsReport:
    """A solve and a move of h [s], which together keep the deadline [s] if they can."""
    started = time.perf_counter()
    sim._update_forces(h)
    reached, joints, updated = sim._solve_once(sim.tolerance, started)
    solved = time.perf_counter()
    report = report_of(sim, reached, joints, updated, sim.tolerance)
    allowed = sim._pace.may_be_hidden(sim._tree.run, sim.measure, sim._asked(sim.tolerance))
    bad = mark_and_move(sim._tree.table, h, MEASURES[sim.measure], allowed)
    sim._count(1 if bad == -1 else 0, h)
    sim._steps_since_floor += 1
    sim._check(bad)
    sim._pace.note(started, solved, deadline)
    return report
