"""What every benchmark is made of: fair timing, requirements with verdicts, the environment, a table and a JSON file.

Contestants take turns in short samples, so that a noisy moment hits all of them, and in a new random order each round, so
that no contestant always stands where the scheduler cuts in. A ratio is the median of the ratios of single rounds; times
are medians with quartiles. Processor time of the calling thread is taken beside the wall clock's: where the two part, other
programs held the processor, and the report says so. Long calls cannot dodge such programs and short ones can, so sizes are
compared by processor time; contestants of one size by the wall clock.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

PACKAGES = ("linkwork", "numpy", "numba", "llvmlite", "pin", "mujoco", "openmm", "jax")
SAMPLE_TIME = 1e-3  # [s] one sample at least: far above the clock's resolution, below a scheduler's time slice
BUSY = 0.1  # part of the wall clock's time taken by other programs from which a figure deserves a warning
LONGEST_WARM_UP = 0.2  # [s]


@dataclass(frozen=True)
class Timing:
    """Time of one call [s]: one sample a round."""

    samples: tuple[float, ...]  # by the wall clock
    processor_samples: tuple[float, ...]  # of this thread; engines timed here use one
    calls: int  # calls in a sample

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def quartiles(self) -> tuple[float, float]:
        if len(self.samples) < 2:
            return self.samples[0], self.samples[0]
        low, _, high = statistics.quantiles(self.samples, n=4, method="inclusive")
        return low, high

    @property
    def processor_median(self) -> float:
        return statistics.median(self.processor_samples)

    @property
    def taken_by_others(self) -> float:
        """Part of the time that went to other programs."""
        return max(0.0, 1.0 - sum(self.processor_samples) / sum(self.samples))

    def times_faster_than(self, other: Timing) -> float:
        """Median over rounds of (other's time / own time); above 1: faster."""
        return statistics.median(b / a for a, b in zip(self.samples, other.samples, strict=True))

    def as_dict(self) -> dict[str, Any]:
        low, high = self.quartiles
        return {
            "median_s": self.median,
            "quartiles_s": [low, high],
            "processor_median_s": self.processor_median,
            "taken_by_others": self.taken_by_others,
            "rounds": len(self.samples),
            "calls_a_round": self.calls,
            "samples_s": list(self.samples),
        }


def take_turns(
    contestants: Mapping[str, Callable[[], object]], rounds: int, sample_time: float = SAMPLE_TIME
) -> dict[str, Timing]:
    """Times calls that do comparable work, one round of each after the other.

    Calls must return only when their result is there.
    """
    calls = {name: _calls_for(call, sample_time) for name, call in contestants.items()}
    samples: dict[str, list[float]] = {name: [] for name in contestants}
    processor: dict[str, list[float]] = {name: [] for name in contestants}
    order = random.Random(1)
    collecting = gc.isenabled()
    gc.disable()  # a collection in one contestant's round would be a gift to the other
    try:
        for _ in range(rounds):
            for name in order.sample(list(contestants), len(contestants)):
                call, repeats = contestants[name], range(calls[name])
                started, start = time.thread_time(), time.perf_counter()
                for _ in repeats:
                    call()
                samples[name].append((time.perf_counter() - start) / calls[name])
                processor[name].append((time.thread_time() - started) / calls[name])
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(tuple(samples[name]), tuple(processor[name]), calls[name]) for name in contestants}


def _calls_for(call: Callable[[], object], sample_time: float) -> int:
    """Warms up (compilation, caches, clock speed) and finds how many calls fill a sample."""
    call()
    start = time.perf_counter()
    count = 0
    while count == 0 or (time.perf_counter() - start < min(LONGEST_WARM_UP, 5 * sample_time) and count < 1000):
        call()
        count += 1
    one = (time.perf_counter() - start) / count
    return max(1, round(sample_time / one))


@dataclass(frozen=True)
class Requirement:
    """One line of the result: what was reached, what must be, what would be nice."""

    case: str
    reached: float
    unit: str
    required: str  # as a person reads it; "" when there is only a goal
    passed: bool
    goal: str = ""
    goal_reached: bool | None = None
    detail: str = ""


@dataclass
class Report:
    """Every figure of a run, for the screen and for a file."""

    benchmark: str
    options: dict[str, Any] = field(default_factory=dict)
    requirements: list[Requirement] = field(default_factory=list)
    figures: list[dict[str, Any]] = field(default_factory=list)  # timings and sizes behind the requirements
    notes: list[str] = field(default_factory=list)  # peers that are missing, cases left out
    is_judged: bool = True  # False for quick runs, whose sizes say nothing about the requirements
    environment: dict[str, Any] = field(default_factory=lambda: environment())

    @property
    def passed(self) -> bool:
        """No required figure was missed (a quick run misses none)."""
        return not self.is_judged or all(requirement.passed for requirement in self.requirements)

    def add_timings(self, case: str, joints: int, timings: Mapping[str, Timing], **extra: Any) -> None:
        for contestant, timing in timings.items():
            if timing.taken_by_others > BUSY:
                share = f"{timing.taken_by_others:.0%}"
                self.notes.append(f"{case}, {joints:,} joints, {contestant}: other programs took {share} of the time.")
            self.figures.append({"case": case, "joints": joints, "contestant": contestant, **timing.as_dict(), **extra})

    def save(self, path: Path) -> None:
        content = {**asdict(self), "passed": self.passed}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def show(self, screen: Console) -> None:
        self._show_timings(screen)
        self._show_requirements(screen)
        for note in self.notes:
            screen.print(f"note: {note}", markup=False)
        where = self.environment
        versions = ", ".join(f"{name} {version}" for name, version in where["packages"].items())
        screen.print(f"{where['cpu']}, {where['cores']} cores; Python {where['python']}, {versions}", markup=False)

    def _show_timings(self, screen: Console) -> None:
        table = Table(title="one call from Python", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("case", "joints", "contestant"):
            table.add_column(name, justify="right" if name == "joints" else "left")
        for name in ("median", "quartiles", "a joint"):
            table.add_column(name, justify="right")
        for figure in self.figures:
            if "median_s" in figure:
                low, high = figure["quartiles_s"]
                joints = figure["joints"]
                table.add_row(
                    figure["case"], f"{joints:,}", figure["contestant"], duration(figure["median_s"]),
                    f"{duration(low)} to {duration(high)}", duration(figure["median_s"] / joints),
                )  # fmt: skip
        screen.print(table)

    def _show_requirements(self, screen: Console) -> None:
        table = Table(title="requirements", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for name in ("case", "reached", "must reach", "verdict", "goal"):
            table.add_column(name, justify="right" if name == "reached" else "left", overflow="fold")
        for r in self.requirements:
            goal = f"{r.goal}: {'reached' if r.goal_reached else 'not yet'}" if r.goal else ""
            reached = f"{r.reached:.3g} {r.unit}" + (f" ({r.detail})" if r.detail else "")
            table.add_row(r.case, reached, r.required, self._verdict(r), goal if self.is_judged else "")
        screen.print(table)

    def _verdict(self, requirement: Requirement) -> str:
        if not requirement.required:
            return ""
        if not self.is_judged:
            return "not judged"
        return "[green]pass[/green]" if requirement.passed else "[bold red]MISS[/bold red]"


def duration(value: float) -> str:
    """A time with three digits in the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def environment() -> dict[str, Any]:
    """Where the figures come from: machine, versions, date."""
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg() if hasattr(os, "getloadavg") else None,  # at the start
        "memory_bytes": _total_memory(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": packages,
    }


def cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _total_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def resident_bytes() -> int | None:
    """Memory this process holds now; None where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return None
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def progress(text: str) -> None:
    """A line on what is under way, on a terminal only."""
    if sys.stderr.isatty():
        print(f"bench: {text}", file=sys.stderr, flush=True)
