"""How regularly a loop ran: median, 99 %, 99.9 % and longest of its times, and the ticks it missed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import IntArray
from linkwork.core.messages.describe import tabled
from linkwork.haptics.sharing import layout as at

BIN_WIDTH = 2.0 ** (1.0 / at.BINS_PER_OCTAVE)  # relative: times are known to 4 %


@tabled
@dataclass(frozen=True, slots=True)
class LoopStatistics:
    """Of one loop. Times [s] from a histogram with bins of 4 %; the longest is exact.

    busy: what a tick takes. interval: from tick to tick. Each: (median, 99 %, 99.9 %, longest).
    missed: ticks that were due while an earlier one was under way or the processor was away. period [s]: as asked for.
    """

    name: str
    ticks: int
    missed: int
    period: float
    busy: tuple[float, float, float, float]
    interval: tuple[float, float, float, float]

    @property
    def rate(self) -> float:
        """Ticks made per second: each period of the run saw its tick, or missed it."""
        return self.ticks / ((self.ticks + self.missed) * self.period) if self.ticks else 0.0


def summary(histogram: IntArray) -> tuple[float, float, float, float]:
    """Median, 99 %, 99.9 % and longest [s] of a histogram of times, shape (HISTOGRAM,)."""
    counts, longest = histogram[: at.BINS], float(histogram[at.LONGEST])
    total = int(counts.sum())
    if total == 0:
        return (math.nan,) * 4
    reached = np.cumsum(counts)
    upper = [int(np.searchsorted(reached, math.ceil(part * total))) for part in (0.5, 0.99, 0.999)]
    median, most, nearly_all = (min(BIN_WIDTH ** (k + 0.5), longest) * 1e-9 for k in upper)
    return median, most, nearly_all, longest * 1e-9


class LoopClock:
    """Counts the times of a loop that Python runs, as the coupling loop counts its own."""

    def __init__(self, name: str, period: float):
        """period: [ns]."""
        self.name, self.period = name, period
        self.busy, self.interval = (np.zeros(at.HISTOGRAM, dtype=np.int64) for _ in range(2))
        self.ticks = self.missed = 0
        self._last: int | None = None

    def count(self, start: int, end: int) -> None:
        """A tick that began and ended at these times [ns]."""
        self.ticks += 1
        _count(self.busy, end - start)
        if self._last is not None:
            _count(self.interval, start - self._last)
        self._last = start

    @property
    def statistics(self) -> LoopStatistics:
        return LoopStatistics(
            self.name, self.ticks, self.missed, self.period * 1e-9, summary(self.busy), summary(self.interval)
        )


def _count(histogram: IntArray, duration: int) -> None:
    k = int(at.BINS_PER_OCTAVE * math.log2(max(duration, 1)))
    histogram[min(max(k, 0), at.BINS - 1)] += 1
    histogram[at.LONGEST] = max(int(histogram[at.LONGEST]), duration)


def coupling_statistics(memory: NDArray[np.float64]) -> LoopStatistics:
    """Of the coupling loop, from the memory it counts in."""
    words = memory.view(np.int64)
    tables = words[at.STATISTICS : at.STATISTICS + at.HISTOGRAMS * at.HISTOGRAM].reshape(at.HISTOGRAMS, at.HISTOGRAM)
    return LoopStatistics(
        "coupling",
        int(words[at.H_TICKS]),
        int(words[at.H_MISSED]),
        int(words[at.H_PERIOD]) * 1e-9,
        summary(tables[at.T_TICK]),
        summary(tables[at.T_INTERVAL]),
    )
