"""Error bounds against sixty digits, on linkages made to cost digits: mass ratios of 1e8, needles, welds, tiny bodies.

Every case follows from seed and number: `python -m benchmarks.bounds SEED NUMBER` shows one. Odd numbers are linkages of
bodies with almost no moments.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from ..harness import Requirement, TableReport, progress
from .checks import ALLOWED, ALLOWED_IN_MOTION, ALLOWED_TINY, CHECKS, Check, check_in_motion, check_linkage, is_tiny

COUNT, QUICK_COUNT = 100_000, 1_000
EVERY = 500  # linkages between two lines of progress
SHOWN = 10


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=COUNT, help=f"checks ({COUNT:,})")
    parser.add_argument("--seed", type=int, default=1, help="of all cases (1)")
    parser.add_argument("--seconds", type=float, default=None, help="stop after this time, whatever is left")


def run(options: argparse.Namespace) -> TableReport:
    count = QUICK_COUNT if options.quick else options.count
    report = TableReport("bounds", {"count": count, "seed": options.seed}, is_judged=True)
    until = None if options.seconds is None else time.monotonic() + options.seconds
    checks: list[tuple[int, Check]] = []
    moving: list[tuple[int, Check]] = []
    number = refused = 0
    while len(checks) < count and (until is None or time.monotonic() < until):
        found = check_linkage(options.seed, number)
        if found is None:
            refused += 1
        else:
            checks += [(number, check) for check in found]
        moving += [(number, check) for check in check_in_motion(options.seed, number) or []]
        number += 1
        if number % EVERY == 0:
            wrong = sum(c.is_wrong for _, c in (*checks, *moving))
            progress(f"{number:,} linkages, {len(checks):,} and {len(moving):,} checks, {wrong} wrong")
    _tell(report, checks, number, refused)
    _tell_moving(report, moving)
    return report


def _tell_moving(report: TableReport, checks: list[tuple[int, Check]]) -> None:
    rows = []
    for what, tiny in (("hostile", False), ("tiny bodies", True)):
        mine = [check for number, check in checks if is_tiny(number) == tiny]
        wrong = sum(c.is_wrong_in_any_case for c in mine)
        excess = max((c.error - c.bound for c in mine), default=0.0)
        rows.append([what, f"{len(mine):,}", f"{sum(c.reached for c in mine):,}", f"{excess:.0e}", str(wrong)])
    head = ["linkages", "updates", "reached", "largest error - bound", "wrong"]
    report.add_table("in_motion", "AdaptiveDynamics: bounds of region updates, in the same parts", head, rows)
    wrong_ones = [(number, check) for number, check in checks if check.is_wrong_in_any_case]
    _list_wrong(report, wrong_ones, "in_motion")
    bad = len(wrong_ones)
    claim = f"{len(checks):,} bounds of AdaptiveDynamics, reached or not, wrong by more than {ALLOWED_IN_MOTION:g}"
    report.requirements.append(Requirement(claim, bad, "bounds", "0", bad == 0))


def _tell(report: TableReport, checks: list[tuple[int, Check]], linkages: int, refused: int) -> None:
    rows = []
    for measure in dict.fromkeys(check.measure for _, check in checks):
        mine = [check for _, check in checks if check.measure == measure]
        floors = np.array([check.floor for check in mine])
        reached = [check for check in mine if check.reached]
        rows.append(
            [
                measure,
                f"{len(mine):,}",
                f"{len(reached):,}",
                f"{max((c.error - c.bound for c in reached), default=0.0):.0e}",
                f"{np.median(floors[np.isfinite(floors)]):.0e}",
                str(sum(c.is_wrong for c in mine)),
                str(sum(c.is_wrong_in_any_case for c in mine)),
            ]
        )
    head = ["measure", "checks", "reached", "largest error - bound", "median floor", "wrong", "wrong, not reached too"]
    report.add_table(
        "bounds", f"{linkages:,} linkages, {refused} refused; parts of the largest acceleration", head, rows
    )
    wrong = [(number, check) for number, check in checks if check.is_wrong_in_any_case]
    _list_wrong(report, wrong, "wrong")
    bad = sum(check.is_wrong for _, check in checks)
    claim = (
        f"{len(checks):,} bounds said to be reached, wrong by more than {ALLOWED:g} ({ALLOWED_TINY:g} of tiny bodies)"
    )
    report.requirements.append(Requirement(claim, bad, "bounds", "0", bad == 0))
    also = len(wrong)
    report.requirements.append(Requirement("the same, reached or not", also, "bounds", "0", also == 0))
    enough = len(checks) >= CHECKS
    report.requirements.append(Requirement("checks made", len(checks), "checks", f"at least {CHECKS}", enough))


def _list_wrong(report: TableReport, wrong: list[tuple[int, Check]], case: str) -> None:
    if wrong:
        shown = [[str(n), c.measure, f"{c.tolerance:g}", f"{c.error:.1e}", f"{c.bound:.1e}"] for n, c in wrong[:SHOWN]]
        report.add_table(case, "bounds that do not hold", ["number", "measure", "tolerance", "error", "bound"], shown)
