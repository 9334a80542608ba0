"""Adaptive dynamics: a step that costs only what moves, against full steps by own dca and own aba.

Everything is proven right first: with all joints active the simulation is the full one, momentum of floating linkages stays
through changes of the region, and at the start and the end of every run the largest acceleration of an inactive joint (by
aba) lies below the bound. The active region is updated every 10 steps, which is included. Forces are still, or travel along
the linkage so that joints enter and leave. Times are processor times; a ratio is the median over turns.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ..harness import BUSY, Requirement, TableReport, duration, fill_in, progress
from . import accuracy, cases, defaults, scaling, stepping, updates
from .plots import save_pictures
from .runner import Case, full_steps, prove_all_active, prove_momentum
from .timing import COLUMNS, TURNS, Cell, load_text, measure, quartiles, ratio

ACTIVE: tuple[int | None, ...] = (3, 10, 30, 100, 300, 1_000, 3_000, None)  # None: all
QUICK_ACTIVE: tuple[int | None, ...] = (3, 30, None)
MOLECULE_JOINTS, QUICK_MOLECULE_JOINTS = 50_000, 600
QUICK_TURNS = 2
JOINTS_PER_PUSH = 25  # one tree is pushed for every so many active joints
REQUIRED_ACTIVE, REQUIRED, GOAL = 100, 200.0, 300.0  # of the molecule: times faster than a full aba step
PROOF_ACTIVE, QUICK_PROOF_ACTIVE = 100, 10


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", choices=CASES, help="which part (all)")
    parser.add_argument("--turns", type=_count, default=TURNS, metavar="N", help=f"turns of every run ({TURNS})")
    parser.add_argument("--largest", type=_count, default=1_000_000, help="most joints of the scaling case (1000000)")
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("out"), help="folder of the pictures (out)")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def run(options: argparse.Namespace) -> TableReport:
    kept = {key: getattr(options, key) for key in ("case", "quick", "turns", "largest")}
    report = TableReport("adaptive-dynamics", kept, is_judged=not options.quick)
    for name, part in CASES.items():
        if options.case in (None, name):
            part(report, options)
    report.notes.append(save_pictures(report.results, options.out))
    if options.page is not None:
        fill_in(options.page, report)
    return report


def millipede(report: TableReport, options: argparse.Namespace) -> None:
    case = cases.millipede(options.quick)
    by_active(report, options, "millipede", case)


def molecule(report: TableReport, options: argparse.Namespace) -> None:
    case = cases.molecule(QUICK_MOLECULE_JOINTS if options.quick else MOLECULE_JOINTS)
    for cell in by_active(report, options, "molecule", case):
        if cell.asked == REQUIRED_ACTIVE:
            reached = cell.times_faster_than("aba")
            low, high = quartiles(cell.ratios("aba"))
            name = f"{case.name}, {cell.asked} active, force {load_text(cell.travels)}, vs aba"
            detail = f"{duration(cell.time())}; quartiles {ratio(low)} to {ratio(high)}"
            report.requirements.append(
                Requirement(
                    name, reached, "times faster", f"≥ {REQUIRED:g} times", reached >= REQUIRED, f"{GOAL:g} times",
                    reached >= GOAL, detail,
                )
            )  # fmt: skip
    updates.run(report, case, case.step_size(), options.quick)


def crowd(report: TableReport, options: argparse.Namespace) -> None:
    by_active(report, options, "crowd", cases.crowd(options.quick))


def by_active(report: TableReport, options: argparse.Namespace, name: str, case: Case) -> list[Cell]:
    """Proves a case right, then times it for every number of active joints, with forces that are still and that travel."""
    h = case.step_size()
    prove(report, name, case, h, QUICK_PROOF_ACTIVE if options.quick else PROOF_ACTIVE)
    full = full_steps(case, h)
    turns = QUICK_TURNS if options.quick else options.turns
    found = []
    for travels in (False, True):
        cells = []
        for active in QUICK_ACTIVE if options.quick else ACTIVE:
            if active is not None and active >= case.joints:
                continue
            progress(f"{case.name}: {active or 'all'} active, {load_text(travels)}")
            cells.append(measure(pushed(case, active), h, active, travels, full, turns))
            report.results.append(
                {"case": name, "linkage": case.name, "joints": case.joints, "h": h, **cells[-1].as_dict()}
            )
        title = f"{case.name}, force {load_text(travels)}; full steps: " + ", ".join(
            f"{which} {duration(sorted(cell.time(which) for cell in cells)[len(cells) // 2])}" for which in full
        )
        report.add_table(name, title, COLUMNS, [cell.row() for cell in cells])
        found += cells
    taken = sorted(cell.timings["adaptive"].taken_by_others for cell in found)[len(found) // 2]
    if taken > BUSY:
        report.notes.append(f"{case.name}: other programs took {taken:.0%} of the wall clock's time.")
    return found


def pushed(case: Case, active: int | None) -> Case:
    """With many trees, as many of them pushed as give the active joints something to do; else the case as it is."""
    if case.forces == 1:
        return case
    forces = len(case.path) if active is None else max(1, min(len(case.path) // 2, active // JOINTS_PER_PUSH))
    return replace(case, forces=forces, stride=forces)


def prove(report: TableReport, name: str, case: Case, h: float, active: int) -> None:
    progress(f"{case.name}: proofs")
    difference = prove_all_active(case, h)
    drift, changes = prove_momentum(case, h, active)
    report.results.append({
        "case": "proofs", "linkage": name, "joints": case.joints, "all_active_difference": difference,
        "momentum_drift": drift, "region_changes": changes,
    })  # fmt: skip
    columns = ["linkage", "all active, from full steps", "momentum drift", "region changes meanwhile"]
    made = next((made for made in report.tables if made["case"] == "proofs"), None)
    if made is None:
        report.add_table("proofs", "proven before timing (relative)", columns, [])
        made = report.tables[-1]
    made["rows"].append([case.name, f"{difference:.0e}", f"{drift:.0e}", f"{changes:,}"])


def accuracy_by_active(report: TableReport, options: argparse.Namespace) -> None:
    accuracy.run(report, options.quick)


def time_by_size(report: TableReport, options: argparse.Namespace) -> None:
    scaling.run(report, options.quick, options.largest)


def steps_of_every_kind(report: TableReport, options: argparse.Namespace) -> None:
    stepping.run(report, options.quick)


def default_settings(report: TableReport, options: argparse.Namespace) -> None:
    defaults.run(report, cases.molecule(QUICK_MOLECULE_JOINTS if options.quick else MOLECULE_JOINTS), options.quick)


CASES = {
    "millipede": millipede,
    "molecule": molecule,
    "crowd": crowd,
    "accuracy": accuracy_by_active,
    "scaling": time_by_size,
    "stepping": steps_of_every_kind,
    "defaults": default_settings,
}
