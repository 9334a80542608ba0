"""Ratios of times within one round."""

from __future__ import annotations

import statistics

from ..harness import Timing


def times(one: Timing, other: Timing) -> float:
    """Median over rounds of the ratio of processor times."""
    pairs = zip(one.processor_samples, other.processor_samples, strict=True)
    return statistics.median(a / b for a, b in pairs)
