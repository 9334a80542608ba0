"""What every part of the demo is given and returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from rich.console import Console

import linkwork as lw

MEASURED_CALLS = 5


JOINTS, QUICK_JOINTS = 50_000, 500  # of the molecule


@dataclass(frozen=True)
class Setup:
    """What a part of the demo is given: where it prints, how large it may be, and what several parts show."""

    screen: Console
    quick: bool = False  # small sizes, for tests

    @cached_property
    def molecule(self) -> lw.Model:
        return lw.library.molecule(joints=QUICK_JOINTS if self.quick else JOINTS, seed=1).compile()

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
