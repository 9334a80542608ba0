"""Fair timing.

Contestants take turns in short samples, so that a noisy moment hits all of them, and in a new random order each round, so
that no contestant always stands where the scheduler cuts in. A ratio is the median of the ratios of single rounds; times
are medians with quartiles. Processor time of the calling thread is taken beside the wall clock's: where the two part, other
programs held the processor, and the report says so. Short calls fit between the time slices of such programs and long ones
do not, so sizes are compared by processor time; contestants of one size by the wall clock.
"""

from __future__ import annotations

import gc
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SAMPLE_TIME = 1e-3  # [s] one sample at least: far above the clock's resolution, below a scheduler's time slice
LONGEST_WARM_UP = 0.2  # [s]


@dataclass(frozen=True)
class Timing:
    """Time of one call [s]: one sample per round."""

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
            "calls_per_round": self.calls,
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
    gc.disable()  # a collection in one contestant's round would favour the other
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


def duration(value: float) -> str:
    """A time with three digits in the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def progress(text: str) -> None:
    """A line on what is under way, on a terminal only."""
    if sys.stderr.isatty():
        print(f"bench: {text}", file=sys.stderr, flush=True)
