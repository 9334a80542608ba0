"""Rods and cables against the numbers of their field, and beside SciPy's modes and PyElastica's rods.

Every row is a closed form or a published number. Times are those of whole calls of `lw.settle`, `lw.buckling` and
`lw.modes`.
"""

from __future__ import annotations

import argparse
import math
import time

import linkwork as lw

from ..harness import Report, Requirement, progress
from . import problems
from .peers import beside_elastica, beside_scipy
from .speeds import add_speeds

SIZES, QUICK_SIZES = (50, 100), (20, 40)
MOST_SWEEPS, MOST_SECONDS = 30, 2e-3  # of settling at 100 links
MODES, MODE_JOINTS, QUICK_MODE_JOINTS = 20, 100_000, 500


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-peers", action="store_true", help="leave SciPy and PyElastica out")


def run(options: argparse.Namespace) -> Report:
    report = Report("rods", {"quick": options.quick}, is_judged=not options.quick)
    sizes = QUICK_SIZES if options.quick else SIZES
    for problem in problems.PROBLEMS:
        progress(problem.name)
        add_problem(report, problem, tuple(problem.times * n for n in sizes))
    add_modes(report, QUICK_MODE_JOINTS if options.quick else MODE_JOINTS)
    add_speeds(report, options.quick)
    if options.no_peers:
        report.notes.append("SciPy and PyElastica were left out.")
    else:
        beside_scipy(report, QUICK_MODE_JOINTS if options.quick else MODE_JOINTS)
        beside_elastica(report, options.quick)
    return report


def add_problem(report: Report, problem: problems.Problem, sizes: tuple[int, ...]) -> None:
    errors, seconds, sweeps = [], math.inf, 0
    for n in sizes:
        for _ in range(3):
            found, sweeps, taken = problem.solve(n)
            seconds = min(seconds, taken) if n == sizes[-1] else taken
        errors.append(max(abs(found - problem.reference) / problem.scale, 1e-17))
    order = math.log(errors[-2] / errors[-1]) / math.log(sizes[-1] / sizes[-2])
    listed = ", ".join(f"{error:.1e} at {n}" for error, n in zip(errors, sizes, strict=True))
    fast = not problem.is_settled or (sweeps <= MOST_SWEEPS and seconds <= MOST_SECONDS)
    report.requirements.append(
        Requirement(
            problem.name,
            errors[-1],
            f"error at {sizes[-1]} segments",
            f"≤ {problem.must:g}" + (f", {MOST_SWEEPS} sweeps, 2 ms" if problem.is_settled else ""),
            errors[-1] <= problem.must and fast,
            detail=f"{listed}; order {order:.2f}; {sweeps} sweeps, {1e3 * seconds:.2f} ms",
        )
    )


def add_modes(report: Report, joints: int) -> None:
    progress(f"modes of {joints:,} joints")
    rod = problems.cantilever(joints, joints="plane")
    model = rod.compile()
    start = time.process_time()
    found = lw.modes(model, model.neutral(), MODES)
    seconds = time.process_time() - start
    error = abs(2.0 * math.pi * found.frequencies[0] / 1.8751040687**2 - 1.0)
    report.requirements.append(
        Requirement(
            f"{MODES} modes of {joints:,} joints",
            seconds,
            "s of processor time",
            "≤ 5",
            seconds <= 5.0 and error < 1e-5 and found.below == MODES,
            detail=f"{found.sweeps} eliminations, first frequency off by {error:.1e}, none of {found.below} missed",
        )
    )
