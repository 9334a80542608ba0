"""Fills the tables of a Markdown page in, so that a page never shows other numbers than a run gave.

A part of the page between `<!-- begin NAME -->` and `<!-- end NAME -->` is replaced by the tables of that name; the names
`requirements` and `environment` take those. Parts a run has no tables for stay as they are.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from .report import Requirement, TableReport
from .stored import store


def fill_in(path: Path, report: TableReport) -> None:
    parts: dict[str, list[str]] = {"environment": [environment_text(report)]}
    for made in report.tables:
        parts.setdefault(made["case"], []).append(f"**{made['title']}**\n\n{markdown(made['columns'], made['rows'])}")
    if report.requirements:
        parts["requirements"] = [requirements_text(report)]
    text = path.read_text(encoding="utf-8")
    for name, blocks in parts.items():
        marks = re.compile(f"(<!-- begin {re.escape(name)} -->\n).*?(<!-- end {re.escape(name)} -->)", re.DOTALL)
        body = "\n\n".join(blocks) + "\n"
        text = marks.sub(partial(_between_marks, body), text)
    path.write_text(text, encoding="utf-8")
    if path.name.startswith("benchmarks_"):
        store(path)


def _between_marks(body: str, match: re.Match[str]) -> str:
    return match[1] + body + match[2]


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "| --- |" + " ---: |" * (len(columns) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def requirements_text(report: TableReport) -> str:
    return markdown(*requirements_table(report.requirements))


def requirements_table(requirements: list[Requirement]) -> tuple[list[str], list[list[str]]]:
    """Columns, and one row for each requirement."""
    rows = []
    for r in requirements:
        verdict = "" if not r.required else "pass" if r.passed else "**miss**"
        goal = f"{r.goal}: {'reached' if r.goal_reached else 'not yet'}" if r.goal else ""
        rows.append([r.case, f"{r.reached:.3g} {r.unit}", r.detail, r.required, verdict, goal])
    return ["case", "reached", "at", "must reach", "verdict", "goal"], rows


def environment_text(report: TableReport) -> str:
    where = report.environment
    versions = ", ".join(
        f"{name} {where['packages'][name]}" for name in ("numpy", "numba") if name in where["packages"]
    )
    load = f"; load average {where['load_average'][0]:.1f} at the start" if where["load_average"] else ""
    return f"{where['cpu']}, {where['cores']} cores; Python {where['python']}, {versions}; {where['date'][:10]}{load}."
