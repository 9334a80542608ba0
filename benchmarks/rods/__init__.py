"""Rods and cables against the numbers of their field, and beside SciPy, PyElastica, Exudyn, MoorDyn and MuJoCo.

Every row is a closed form or a published number. Times are those of whole calls of `lw.settle`, `lw.buckling` and
`lw.modes`. Set OPENBLAS_NUM_THREADS=1: threads of BLAS that wait count as processor time.
"""

from __future__ import annotations

import argparse
import math
import os
from dataclasses import replace
from pathlib import Path

from ..harness import Requirement, TableReport, fill_in, progress
from . import problems
from .modes import add_modes
from .rest_peers import add_rest_peers
from .speeds import add_adaptive, add_speeds
from .swinging import add_swinging

LINKS, MOST_SWEEPS, MOST_SECONDS = 100, 30, 2e-3  # of settling
REPEATS = 15  # of which the shortest counts: other programs run on the machine
ROUNDING = 1e-9  # errors below it have no order
COLUMNS = ["problem", "reference", "found", "errors", "order", "sweeps", "time", "must", "verdict"]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-peers", action="store_true", help="leave the other programs out")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def run(options: argparse.Namespace) -> TableReport:
    report = TableReport("rods", {"quick": options.quick}, is_judged=not options.quick)
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        report.notes.append("OPENBLAS_NUM_THREADS is not 1: threads that wait count as time.")
    rows = []
    for problem in problems.PROBLEMS:
        progress(problem.name)
        rows.append(solved(report, problem, options.quick))
    title = f"problems of the field; sweeps and time at {LINKS} segments, errors and what was found at the sizes given"
    report.add_table("problems", title, COLUMNS, rows)
    add_speeds(report, options.quick)
    add_adaptive(report, options.quick)
    add_modes(report, options.quick, not options.no_peers)
    if options.no_peers:
        report.notes.append("Other programs were left out.")
    else:
        add_rest_peers(report)
        add_swinging(report, options.quick)
    if options.page is not None:  # the table of problems has verdicts of its own
        known = {problem.name for problem in problems.PROBLEMS}
        fill_in(options.page, replace(report, requirements=[r for r in report.requirements if r.case not in known]))
    return report


def solved(report: TableReport, problem: problems.Problem, quick: bool) -> list[str]:
    """Solves a problem at three sizes, judges it, and returns its row."""
    sizes = tuple(n // 2 for n in problem.sizes) if quick else problem.sizes
    try:
        found = [problem.solve(n)[0] for n in sizes]
        runs = [problem.solve(LINKS) for _ in range(REPEATS if problem.is_settled else 2)]
    except Exception as error:  # a problem that fails is a row that is missed, and the others are still run
        said = f"{type(error).__name__}: {str(error)[:80]}"
        report.requirements.append(Requirement(problem.name, math.nan, "", f"≤ {problem.must:g}", False, detail=said))
        return [problem.name, _shown(problem.reference), said, "", "", "", "", f"{problem.must:g}", "**miss**"]
    sweeps, seconds = runs[-1][1], min(taken for _, _, taken in runs)
    errors = [problem.error(x) for x in found]
    is_right = errors[-1] <= problem.must
    is_fast = not problem.is_settled or (sweeps <= MOST_SWEEPS and seconds <= MOST_SECONDS)
    listed = ", ".join(f"{error:.1e}" for error in errors) + " at " + ", ".join(map(str, sizes))
    must = f"{problem.must:g}" + (f", {MOST_SWEEPS} sweeps, 2 ms" if problem.is_settled else "")
    order = _order(found, errors)
    report.requirements.append(
        Requirement(
            problem.name,
            errors[-1],
            f"error at {sizes[-1]} segments",
            f"≤ {must}",
            is_right and is_fast,
            detail=f"{listed}; order {order}; {sweeps} sweeps, {1e3 * seconds:.2f} ms at {LINKS}",
        )
    )
    verdict = (
        "pass" if is_right and is_fast else "**miss**" + ("" if is_right else ", error") + ("" if is_fast else ", time")
    )
    return [
        problem.name, _shown(problem.reference), _shown(found[-1]), listed, order, str(sweeps), f"{1e3 * seconds:.2f} ms",
        must, verdict,
    ]  # fmt: skip


def _shown(values: tuple[float, ...]) -> str:
    return ", ".join(f"{x:.7g}" for x in values)


def _order(found: list[tuple[float, ...]], errors: list[float]) -> str:
    """From the differences of three results, each at twice as many segments: whatever digits the reference has."""
    if errors[0] < ROUNDING:
        return ""
    first = max(abs(x - y) for x, y in zip(found[0], found[1], strict=True))
    second = max(abs(x - y) for x, y in zip(found[1], found[2], strict=True))
    return f"{math.log2(first / second):.2f}" if second > 0.0 else ""
