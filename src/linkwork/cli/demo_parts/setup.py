"""What every part of the demo is given and returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from rich.console import Console

MEASURED_CALLS = 5


@dataclass(frozen=True)
class Setup:
    """What a part of the demo is given: where it prints, and how large it may be."""

    screen: Console
    quick: bool = False  # small sizes, for tests

    def print(self, text: str) -> None:
        self.screen.print(f"  {text}", markup=False)


class Panel(NamedTuple):
    """One part of the demo's picture."""

    title: str
    draw: Callable[[Any], None]  # takes the axes to draw into


def best_time(call: Callable[[], object], calls: int = MEASURED_CALLS) -> float:
    """Shortest of a few calls by processor time, as on the benchmark pages, after one that compiles [s]."""
    call()
    times = []
    for _ in range(calls):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return min(times)
