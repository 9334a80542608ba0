"""Time of an adaptive step against the number of active joints, in turns with full steps by `dca` and by `aba`."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..harness import Timing, duration
from .runner import UPDATE_EVERY, Case, Runner

LONGEST_PART = 0.02  # [s] adaptive steps of one turn take about so long, or one update's worth of them
MOST_UPDATES = 5  # a turn
TURNS, SLOW_TURNS, SLOW = 15, 5, 0.1  # fewer turns where the steps of one update take longer than SLOW [s]
FULL_SAMPLE_BODIES = 20_000  # small models take several full steps per sample, so that clocks can tell

COLUMNS = ["active joints", "per step", "quartiles", "changes per update", "vs dca", "vs aba", "quartiles", "bound"]


@dataclass(frozen=True)
class Cell:
    """A run with one number of active joints."""

    asked: int | None  # active joints; None: all
    active: int  # at the end
    travels: bool
    changes: float  # joints that became active or inactive at an update, on average
    timings: Mapping[str, Timing]  # of one step: adaptive (updates included), dca, aba
    load_time: float  # to take a force from a body and put it on another, from Python [s]
    errors: tuple[float, float]  # hidden acceleration by aba, at the start and the end
    bounds: tuple[float, float]

    def time(self, which: str = "adaptive") -> float:
        """Of one step [s]."""
        return self.timings[which].processor_median

    def ratios(self, full: str) -> list[float]:
        pairs = zip(self.timings[full].processor_samples, self.timings["adaptive"].processor_samples, strict=True)
        return [theirs / own for theirs, own in pairs]

    def times_faster_than(self, full: str) -> float:
        """Median over the turns of (full step / adaptive step)."""
        return statistics.median(self.ratios(full))

    def as_dict(self) -> dict[str, Any]:
        own = self.timings["adaptive"]
        return {
            "asked": self.asked,
            "active_joints": self.active,
            "load": load_text(self.travels),
            "changes_per_update": self.changes,
            "step_s": self.time(),
            "step_samples_s": list(own.processor_samples),
            "step_wall_s": own.median,
            "taken_by_others": own.taken_by_others,
            "load_change_s": self.load_time,
            "dca_s": self.time("dca"),
            "aba_s": self.time("aba"),
            "times_faster_than_dca": self.times_faster_than("dca"),
            "times_faster_than_aba": self.times_faster_than("aba"),
            "quartiles_faster_than_aba": quartiles(self.ratios("aba")),
            "error_at_start": self.errors[0],
            "error_at_end": self.errors[1],
            "bound_at_start": self.bounds[0],
            "bound_at_end": self.bounds[1],
        }

    def row(self) -> list[str]:
        """One line of COLUMNS."""
        times, ratios = (quartiles(x) for x in (self.timings["adaptive"].processor_samples, self.ratios("aba")))
        return [
            f"{self.active:,}" + (" (all)" if self.asked is None else ""), duration(self.time()),
            f"{duration(times[0])} to {duration(times[1])}", f"{self.changes:,.1f}",
            ratio(self.times_faster_than("dca")), ratio(self.times_faster_than("aba")),
            f"{ratio(ratios[0])} to {ratio(ratios[1])}", f"{max(self.bounds):.1e}",
        ]  # fmt: skip


def measure(
    case: Case, h: float, active: int | None, travels: bool, full: Mapping[str, Callable[[], object]], most_turns: int
) -> Cell:
    """Proves the bound, then lets adaptive and full steps take turns; each turn begins with an update that is not timed.

    That update brings back to the caches what the full steps drove out; in a run of its own it stays there.
    """
    runner = Runner(case, h, active, travels)
    error, bound = runner.prove_bound("at the start")
    runner.travel()
    wait = max(runner.advance()[0], 1e-6)
    turns = max(1, min(most_turns, SLOW_TURNS if wait > SLOW else TURNS))
    updates = max(1, min(MOST_UPDATES, round(LONGEST_PART / wait)))
    repeats = max(1, FULL_SAMPLE_BODIES // case.model.n_bodies)
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in ("adaptive", *full)}
    loading = []
    before = runner.sim.report.region_changes
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(turns):
            runner.travel()
            runner.advance()
            busy = wall = 0.0
            for _ in range(updates):
                start = time.thread_time()
                runner.travel()
                loading.append(time.thread_time() - start)
                taken = runner.advance()
                busy, wall = busy + taken[0], wall + taken[1]
            samples["adaptive"].append((busy / (updates * UPDATE_EVERY), wall / (updates * UPDATE_EVERY)))
            for name, call in full.items():
                samples[name].append(_timed(call, repeats))
    finally:
        if collecting:
            gc.enable()
    report = runner.sim.report
    changes = (report.region_changes - before) / (turns * (updates + 1))
    last_error, last_bound = runner.prove_bound("at the end")
    timings = {
        name: Timing(tuple(wall for _, wall in pairs), tuple(busy for busy, _ in pairs), repeats)
        for name, pairs in samples.items()
    }
    load_time = statistics.median(loading)
    return Cell(active, report.n_active, travels, changes, timings, load_time, (error, last_error), (bound, last_bound))


def _timed(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Processor and wall time of one of several calls [s]."""
    busy, start = time.thread_time(), time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.thread_time() - busy) / repeats, (time.perf_counter() - start) / repeats


def quartiles(values: Any) -> tuple[float, float]:
    values = list(values)
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def ratio(value: float) -> str:
    return f"{value:,.0f}x" if value >= 10 else f"{value:.2g}x"


def load_text(travels: bool) -> str:
    return "travelling" if travels else "still"
