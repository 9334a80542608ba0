"""The page of `linkwork bench molecules`: one section per part, with the circumstances of the run that filled it in.

Parts take minutes each and may be run one by one; a run replaces the sections of its own parts and leaves the others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ..harness import TableReport, duration, fill_in
from ..harness.page import environment_text, requirements_table


class Span(NamedTuple):
    """What one part of a run added to the report."""

    part: str
    requirements: slice
    results: slice


def fill_page(path: Path, report: TableReport, spans: list[Span]) -> None:
    """Replaces the sections of the parts that were run."""
    page = TableReport(report.benchmark, report.options, environment=report.environment)
    where = environment_text(report)
    for span in spans:
        columns, rows = requirements_table(report.requirements[span.requirements])
        page.add_table(span.part, where, columns, rows)
        timings = timing_rows(report.results[span.results])
        if timings:
            page.add_table(span.part, "Timings, medians", ["case", "contestant", "wall clock", "processor"], timings)
    fill_in(path, page)


def timing_rows(results: list[dict[str, Any]]) -> list[list[str]]:
    """One row for each contestant: wall clock, and processor time, which other programs on the machine do not blur.

    OpenMM computes in threads of its own, whose processor time is not seen here.
    """
    return [
        [
            r["case"], r["contestant"], duration(r["median_s"]),
            "" if "OpenMM" in r["contestant"] else duration(r["processor_median_s"]),
        ]
        for r in results
        if "median_s" in r
    ]  # fmt: skip
