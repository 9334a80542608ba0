"""What a step of a simulation costs: many in one call of compiled code, and one per call from Python."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from .report import Requirement
from .timing import Timing, duration

STEPS = 500  # of the call that shows what a step itself costs
MOST_BEYOND = 25e-6  # [s] that one step per call may take on top of that
MANY, REPORTED, BARE = f"step(h, {STEPS})", "step(h)", "advance(h)"


class Steps(Protocol):
    def step(self, h: float, n: int = 1) -> Any: ...

    def advance(self, h: float, n: int = 1) -> None: ...


def step_calls(sim: Steps, h: float) -> dict[str, Callable[[], object]]:
    """The three ways to make steps, as contestants of `take_turns`."""
    return {MANY: lambda: sim.step(h, STEPS), REPORTED: lambda: sim.step(h), BARE: lambda: sim.advance(h)}


def time_per_step(timings: Mapping[str, Timing], call: str) -> list[float]:
    """Processor time of one step, round by round [s]."""
    return [sample / (STEPS if call == MANY else 1) for sample in timings[call].processor_samples]


def call_requirements(name: str, timings: Mapping[str, Timing]) -> list[Requirement]:
    """One step per call takes little more than the step itself, with a report and without."""
    itself = time_per_step(timings, MANY)
    made = []
    for call in (REPORTED, BARE):
        beyond = statistics.median(a - b for a, b in zip(time_per_step(timings, call), itself, strict=True))
        detail = f"the step itself {duration(statistics.median(itself))}"
        made.append(
            Requirement(
                f"{name}, {call}: one call beyond the step itself", beyond * 1e6, "µs", f"≤ {MOST_BEYOND * 1e6:g} µs",
                beyond <= MOST_BEYOND, detail=detail,
            )
        )  # fmt: skip
    return made
