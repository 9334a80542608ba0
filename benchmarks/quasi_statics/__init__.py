"""Adaptive quasi-statics: the benchmarks of Redon and Lin (2006), against full steps by own dca and own aba.

Everything is proven right first: dca and aba agree, and at the start and the end of every run the true error (against aba)
lies below the bound. One step is solve and move; many steps run without returning to Python. The full steps take turns
with the adaptive ones; times are processor times, averages over all steps with medians beside them. Only ratios compare
machines.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import linkwork as lw

from ..harness import fill_in, progress
from . import molecule
from .plots import Shape, save_pictures
from .problem import (
    COLUMNS,
    EXPONENTS,
    Cell,
    FloatArray,
    Problem,
    TableReport,
    add_cells,
    cell_rows,
    full_steps,
    measure,
    power,
)

CHAIN_LINKS, CHAIN_STEPS, QUICK_CHAIN_STEPS = 30, 10_000, 200
CHAIN_EXPONENTS = (0, 2, 4, 7, 10, 15, 19)
CHAIN_PITCH = 0.0127  # [m] from pin to pin
CHAIN_MOVE = 0.05  # [rad] in the first step: 10,000 steps then lift about half of the chain
MILLIPEDE_STEPS, QUICK_MILLIPEDE_STEPS = 200, 12
MILLIPEDE_LEG, QUICK_MILLIPEDE_LEG = "leg_500_9", "leg_5_9"  # the last link of the leg in the middle


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", choices=CASES, help="which benchmark (all)")
    parser.add_argument(
        "--steps",
        type=_count,
        metavar="N",
        help="steps of every run (chain: 10,000, molecule: 4,000, as the paper; millipede: 200)",
    )
    parser.add_argument("--largest", type=_count, default=1_000_000, help="most joints of the scaling case (1000000)")
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("out"), help="folder of the pictures (out)")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def run(options: argparse.Namespace) -> TableReport:
    kept = {key: getattr(options, key) for key in ("case", "quick", "steps", "largest")}
    report = TableReport("quasi-statics", kept, is_judged=not options.quick)
    shapes: list[Shape] = []
    for name, case in CASES.items():
        if options.case in (None, name):
            shapes += case(report, options) or []
    report.notes.append(save_pictures(report.results, shapes, options.out))
    if options.page is not None:
        fill_in(options.page, report)
    return report


def bicycle_chain(report: TableReport, options: argparse.Namespace) -> list[Shape]:
    """30 links, no gravity, held at one end; a constant force lifts the end of the last. Section 6.1 and figure 1."""
    linkage = lw.library.bicycle_chain(CHAIN_LINKS)
    linkage.gravity = (0.0, 0.0, 0.0)
    model = linkage.compile()
    steps = options.steps or (QUICK_CHAIN_STEPS if options.quick else CHAIN_STEPS)
    up = np.array([[0.0, 0.0, 1.0]])
    start, end = model.neutral().q, (CHAIN_PITCH, 0.0, 0.0)
    problem = Problem("bicycle chain", model, start, [CHAIN_LINKS - 1], up, first_move=CHAIN_MOVE, at=end)
    h = problem.step_size()
    progress(f"{problem.name}: full run")
    last = problem.full_run(steps, h)
    full, reference = full_steps(problem, h), problem.displacements(last)
    shapes = [Shape("start", outline(problem, problem.q)), Shape("all joints", outline(problem, last))]
    cells: list[Cell] = []
    for e in (0, 4) if options.quick else CHAIN_EXPONENTS:
        cells.append(measure(problem, e, steps, h, full, reference))
        shapes.append(Shape(power(e), outline(problem, cells[-1].end)))
    add_cells(report, "bicycle-chain", problem, cells, h)
    title = f"bicycle chain, {CHAIN_LINKS} links, {steps:,} steps"
    report.add_table(
        "bicycle-chain", title, [*COLUMNS, "displacement error per step"], cell_rows(cells, has_displacement=True)
    )
    return shapes


def outline(problem: Problem, q: FloatArray) -> FloatArray:
    """Pins of a chain and its end, in the plane it moves in [m], shape (n + 1, 2)."""
    T = lw.body_poses(problem.model, problem.state(q))
    pins = T[:, :3, 3]
    end = pins[-1] + CHAIN_PITCH * T[-1, :3, 0]
    return np.concatenate([pins, end[None]])[:, [0, 2]]


def millipede(report: TableReport, options: argparse.Namespace) -> None:
    """13,000 links that float without gravity, an upward force on the foot of one leg. Section 6.2 and figure 6."""
    sizes = {"segments": 10, "leg_links": 10, "spine": 30} if options.quick else {}
    linkage = lw.library.millipede(**sizes)
    linkage.gravity = (0.0, 0.0, 0.0)
    model = linkage.compile()
    steps = options.steps or (QUICK_MILLIPEDE_STEPS if options.quick else MILLIPEDE_STEPS)
    leg = model.body(QUICK_MILLIPEDE_LEG if options.quick else MILLIPEDE_LEG)
    problem = Problem("millipede", model, model.neutral().q, [leg], np.array([[0.0, 0.0, 1.0]]))
    h = problem.step_size()
    full = full_steps(problem, h)
    cells = []
    for e in (3, 19) if options.quick else EXPONENTS:
        progress(f"{problem.name}: 2^-{e}")
        cells.append(measure(problem, e, steps, h, full))
    add_cells(report, "millipede", problem, cells, h)
    report.add_table("millipede", f"millipede, {model.n_bodies:,} links, {steps:,} steps", COLUMNS, cell_rows(cells))


CASES = {"bicycle-chain": bicycle_chain, "millipede": millipede, "molecule": molecule.run}
