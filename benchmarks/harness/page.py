"""Fills the tables of a Markdown page in, so that a page never shows other numbers than a run gave.

A part of the page between `<!-- begin NAME -->` and `<!-- end NAME -->` is replaced by the tables of that name; the names
`requirements`, `timings` and `environment` take those. Parts a run has no tables for stay as they are. A page without any
marks gets a section at its end.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

from linkwork.errors import LinkworkError

from .report import Report, Requirement, TableReport
from .stored import PAGES, store
from .timing import duration

SECTION = "\n## As the last run gave it\n"


def fill_in(path: Path, report: Report, is_whole: bool = True) -> None:
    """Writes what a run measured into a page, and stores the tables of the page beside it (`stored`).

    is_whole: requirements and environment of the page are those of this run; otherwise only tables are filled in, and
    their titles say where and when they were measured.
    """
    parts: dict[str, list[str]] = {"environment": [environment_text(report)]} if is_whole else {}
    for made in report.tables if isinstance(report, TableReport) else ():
        title = made["title"] if is_whole else f"{made['title']}; {environment_text(report)}"
        parts.setdefault(made["case"], []).append(f"**{title}**\n\n{markdown(made['columns'], made['rows'])}")
    if report.requirements and is_whole:
        parts["requirements"] = [requirements_text(report)]
    timings = [result for result in report.results if "median_s" in result]
    if timings:
        parts["timings"] = [markdown(*timings_table(timings))]
    text = path.read_text(encoding="utf-8")
    if "<!-- begin " not in text:
        names = [name for name in ("environment", "requirements", "timings") if name in parts]
        text += SECTION + "".join(f"\n<!-- begin {name} -->\n<!-- end {name} -->\n" for name in names)
    for name, blocks in parts.items():
        marks = re.compile(f"(<!-- begin {re.escape(name)} -->\n).*?(<!-- end {re.escape(name)} -->)", re.DOTALL)
        body = "\n\n".join(blocks) + "\n"
        text = marks.sub(partial(_between_marks, body), text)
    path.write_text(text, encoding="utf-8")
    if path.parent.name == PAGES.name:
        store(path)


def _between_marks(body: str, match: re.Match[str]) -> str:
    return match[1] + body + match[2]


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def fill_in_judged(path: Path, report: Report) -> None:
    """`fill_in`, unless the run was a quick one: its sizes say nothing."""
    if not report.is_judged:
        raise LinkworkError("--page keeps what was measured; a run with --quick is too small for that.")
    fill_in(path, report)


def timings_table(timings: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Columns, and one row per case and contestant."""
    rows = []
    for one in timings:
        low, high = (duration(x) for x in one["quartiles_s"])
        rows.append(
            [one["case"], f"{one['joints']:,}", one["contestant"], duration(one["median_s"]), f"{low} to {high}"]
        )
    return ["case", "joints", "contestant", "median", "quartiles"], rows


def requirements_text(report: Report) -> str:
    return markdown(*requirements_table(report.requirements))


def requirements_table(requirements: list[Requirement]) -> tuple[list[str], list[list[str]]]:
    """Columns, and one row for each requirement."""
    rows = []
    for r in requirements:
        verdict = "" if not r.required else "pass" if r.passed else "**miss**"
        goal = f"{r.goal}: {'reached' if r.goal_reached else 'not yet'}" if r.goal else ""
        rows.append([r.case, f"{r.reached:.3g} {r.unit}", r.detail, r.required, verdict, goal])
    return ["case", "reached", "at", "must reach", "verdict", "goal"], rows


def environment_text(report: Report) -> str:
    where = report.environment
    versions = ", ".join(
        f"{name} {where['packages'][name]}" for name in ("numpy", "numba") if name in where["packages"]
    )
    load = f"; load average {where['load_average'][0]:.1f} at the start" if where["load_average"] else ""
    return f"{where['cpu']}, {where['cores']} cores; Python {where['python']}, {versions}; {where['date'][:10]}{load}."
