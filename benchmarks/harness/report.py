"""What a benchmark reports: requirements with verdicts, results, tables; for the screen and for a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from linkwork.cli.screen import table as text_table

from .environment import environment
from .timing import Timing, duration

BUSY = 0.1  # part of the wall clock's time taken by other programs from which a result deserves a warning


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
    """Every result of a run, for the screen and for a file."""

    benchmark: str
    options: dict[str, Any] = field(default_factory=dict)
    requirements: list[Requirement] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)  # timings and sizes behind the requirements
    notes: list[str] = field(default_factory=list)  # peers that are missing, cases left out
    is_judged: bool = True  # False for quick runs, whose sizes say nothing about the requirements
    environment: dict[str, Any] = field(default_factory=lambda: environment())

    @property
    def passed(self) -> bool:
        """No requirement was missed (a quick run misses none)."""
        return not self.is_judged or all(requirement.passed for requirement in self.requirements)

    def add_timings(self, case: str, joints: int, timings: Mapping[str, Timing], **extra: Any) -> None:
        for contestant, timing in timings.items():
            if timing.taken_by_others > BUSY:
                share = f"{timing.taken_by_others:.0%}"
                self.notes.append(f"{case}, {joints:,} joints, {contestant}: other programs took {share} of the time.")
            self.results.append({"case": case, "joints": joints, "contestant": contestant, **timing.as_dict(), **extra})

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
        for name in ("median", "quartiles", "per joint"):
            table.add_column(name, justify="right")
        for result in self.results:
            if "median_s" in result:
                low, high = result["quartiles_s"]
                joints = result["joints"]
                table.add_row(
                    result["case"], f"{joints:,}", result["contestant"], duration(result["median_s"]),
                    f"{duration(low)} to {duration(high)}", duration(result["median_s"] / joints),
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


@dataclass
class TableReport(Report):
    """A report that shows tables of its own."""

    tables: list[dict[str, Any]] = field(default_factory=list)  # title, columns, rows of text: for screen and page

    def add_table(self, case: str, title: str, columns: list[str], rows: list[list[str]]) -> None:
        self.tables.append({"case": case, "title": title, "columns": columns, "rows": rows})

    def _show_timings(self, screen: Console) -> None:
        for made in self.tables:
            screen.print(text_table(made["title"], made["columns"], made["rows"]))

    def _show_requirements(self, screen: Console) -> None:
        if self.requirements:
            super()._show_requirements(screen)
