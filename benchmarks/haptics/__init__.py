"""Force feedback: time of one coupling tick at 40 to 1,000,000 joints, rates held beside a simulation, stability region.

Before anything is timed, what the tick makes a hand feel is shown to be the sum of all joint reactions.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..harness import TableReport, fill_in
from .hands import HANDS, several
from .rates import rates
from .region import energy_out, largest_passive, region
from .ticks import SHAPES, growth, table_of_ticks, ticks

__all__ = ["configure", "energy_out", "largest_passive", "run"]

SIZES, QUICK_SIZES = (40, 100, 857, 10_000, 50_000, 1_000_000), (40, 200)
MOST_PER_SHAPE = {"tree": 50_000, "molecule": 50_000}  # the largest size is a chain
CASES = ("ticks", "hands", "rates", "region")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", choices=CASES, help="which part (all)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help=f"chain ({SIZES[-1]} joints)")
    parser.add_argument("--rounds", type=int, default=9, help="turns each contestant takes (9)")
    parser.add_argument("--seconds", type=float, default=2.0, help="that the loops run at each rate (2)")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def run(options: argparse.Namespace) -> TableReport:
    quick, cases = options.quick, (options.case,) if options.case else CASES
    sizes = [n for n in (QUICK_SIZES if quick else SIZES) if n <= options.largest]
    rounds, seconds = (2, 0.2) if quick else (options.rounds, options.seconds)
    report = TableReport("haptics", {"sizes": sizes, "rounds": rounds, "seconds": seconds}, is_judged=not quick)
    if "ticks" in cases:
        times = {shape: {n: ticks(report, shape, n, rounds) for n in _sizes(shape, sizes)} for shape in SHAPES}
        for shape, of_shape in times.items():
            growth(report, shape, of_shape)
        table_of_ticks(report, times)
    if "hands" in cases:
        several(report, 1000 if quick else 50_000, HANDS[:3] if quick else HANDS, rounds)
    if "rates" in cases:
        rates(report, 200 if quick else 50_000, seconds)
    if "region" in cases:
        region(report, (100.0,), precision=10.0) if quick else region(report, (1000.0, 300.0, 100.0, 30.0))
    if options.page is not None:
        fill_in(options.page, report)
    return report


def _sizes(shape: str, sizes: list[int]) -> list[int]:
    return [n for n in sizes if n <= MOST_PER_SHAPE.get(shape, n)]
