"""The molecule of the quasi-statics benchmark: table 1 and figures 8 and 9 of the paper, and what it leaves out: how cost
and load changes grow from 10,000 to 1,000,000 joints, and how much it matters where a force is applied."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.model.compile.neighbours import nearest_bodies

from ..harness import Requirement, duration, progress, take_turns
from .problem import (
    COLUMNS,
    EXPONENTS,
    TABLE_EXPONENTS,
    Cell,
    Problem,
    TableReport,
    aba_step,
    add_cells,
    cell_rows,
    forces_text,
    full_steps,
    measure,
    power,
    prove_bound,
    ratio,
)

CASE, SCALING, LOADS, PLACES = "molecule", "molecule, scaling", "molecule, load changes", "molecule, places"
SEED = 1
JOINTS, QUICK_JOINTS = 50_000, 600
STEPS, QUICK_STEPS = 4000, 12
FORCES, QUICK_FORCES = (1, 10, 100, 1000), (1, 10)
SIZES, QUICK_SIZES = (10_000, 100_000, 1_000_000), (300, 600)
BUDGET = 100  # joints computed per step in the scaling case
SLOW_MOVE = 1e-5  # [rad] in the first of the many steps of the scaling case
SCALING_ROUNDS, SCALING_CALL = 21, 20  # turns, and steps per call
LOAD_ROUNDS = 101
PLACES_TRIED = 11
FLAT = 2.0  # largest cost over smallest: the depth of the tree grows 1.4 times from 10⁴ to 10⁶ joints

# forces, exponent → must reach and goal, vs dca and vs aba
REQUIRED = {
    (1, 19): ((250.0, 500.0), (30.0, 60.0)),
    (1, 3): ((600.0, 1500.0), (80.0, 200.0)),
    (100, 19): ((80.0, 150.0), (10.0, 20.0)),
    (1000, 19): ((18.0, 30.0), (2.2, 4.0)),
}


def run(report: TableReport, options: argparse.Namespace) -> None:
    quick = options.quick
    model = build(QUICK_JOINTS if quick else JOINTS)
    steps = options.steps or (QUICK_STEPS if quick else STEPS)
    by_forces: dict[int, list[Cell]] = {}
    for count in QUICK_FORCES if quick else FORCES:
        by_forces[count] = table_1_rows(report, pulled(model, count), steps, (3, 19) if quick else EXPONENTS)
    add_tables(report, by_forces)
    add_requirements(report, by_forces)
    places(report, model, 2 if quick else PLACES_TRIED)
    sizes = QUICK_SIZES if quick else [size for size in SIZES if size <= options.largest]
    problems = [pulled(build(size), 1) for size in sizes]
    scaling(report, problems, 3 if quick else SCALING_ROUNDS)
    load_changes(report, problems, 5 if quick else LOAD_ROUNDS)


def build(joints: int) -> lw.Model:
    progress(f"molecule of {joints:,} joints")
    return lw.library.molecule(joints=joints, seed=SEED).compile()


def pulled(model: lw.Model, count: int) -> Problem:
    """Forces of 1 N in random directions on `count` neighbours in the middle of the backbone, at random torsions.

    Neighbours: the first `count` bodies that a breadth-first walk over the joints meets from the middle alpha carbon.
    """
    rng = np.random.default_rng(SEED)
    state = model.random_state(rng, speed=0.0)
    directions = rng.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    alphas = backbone(model)
    name = f"molecule of {model.n_bodies:,} joints, {forces_text(count)}"
    return Problem(name, model, state.q, nearest_bodies(model, alphas[len(alphas) // 2], count), directions)


def backbone(model: lw.Model) -> list[int]:
    """Bodies of the alpha carbons, from the held end on."""
    return [i for i, name in enumerate(model.body_names) if name.startswith("ca_")]


def table_1_rows(report: TableReport, problem: Problem, steps: int, exponents: tuple[int, ...]) -> list[Cell]:
    """All precisions with forces fixed in the world, then those of the table with forces fixed in the bodies."""
    progress(f"{problem.name}: full run")
    h = problem.step_size()
    full = full_steps(problem, h)
    reference = problem.displacements(problem.full_run(steps, h))
    farthest = float(np.linalg.norm(reference, axis=1).max())
    report.results.append({"case": CASE, "forces": len(problem.bodies), "h": h, "displacement": farthest})
    cells = []
    for e in exponents:
        progress(f"{problem.name}: 2^-{e}")
        cells.append(measure(problem, e, steps, h, full, reference))
    add_cells(report, CASE, problem, cells, h)
    turning = replace(problem, forces=problem.wrenches(problem.q)[problem.bodies, 3:], frame="body")
    turning_cells = [measure(turning, e, steps, h, full) for e in exponents if e in TABLE_EXPONENTS]
    add_cells(report, CASE, turning, turning_cells, h)
    report.add_table(
        "molecule-details",
        f"{problem.name}, {steps:,} steps",
        [*COLUMNS, "displacement error per step"],
        cell_rows(cells, has_displacement=True),
    )
    report.add_table("molecule-body", f"{problem.name}, fixed in the bodies", COLUMNS, cell_rows(turning_cells))
    return cells


PAPER = {  # table 1: time [ms], joints computed, relative displacement error; dca [ms]
    1: ("0.6 0.9 1.4 1.9 2.4", "25 37 47 59 73", "6e-5 2e-6 1e-7 4e-9 2e-9", 875.1),
    10: ("0.9 1.3 1.8 2.6 3.1", "32 45 56 75 85", "1e-4 1e-4 4e-7 4e-8 1e-8", 873.0),
    100: ("2.7 4.1 6.4 7.8 8.4", "39 80 145 189 206", "8e-4 6e-4 7e-5 3e-6 1e-7", 875.0),
    1000: ("17.8 21.4 42.6 49.2 49.9", "41 149 830 1060 1086", "6e-3 2e-3 7e-5 2e-6 6e-8", 880.0),
}


def add_tables(report: TableReport, by_forces: dict[int, list[Cell]]) -> None:
    """Our figures beside those of the paper: Linkwork / paper in every place."""
    shown = [cell.exponent for cell in next(iter(by_forces.values())) if cell.exponent in TABLE_EXPONENTS]
    at = [TABLE_EXPONENTS.index(e) for e in shown]
    columns = ["forces", *(power(e) for e in shown)]
    times, ratios, joints, errors, of_size = [], [], [], [], []
    for count, cells in by_forces.items():
        ours = [cell for cell in cells if cell.exponent in TABLE_EXPONENTS]
        milliseconds, computed, displaced, full = PAPER[count]
        theirs = [float(milliseconds.split()[k]) for k in at]
        name = f"{count:,}"
        dca, aba = (duration(ours[-1].time(which)) for which in ("dca", "aba"))
        times.append(
            [
                name,
                *(
                    f"{duration(c.time())} ({duration(c.median())}) / {t:g} ms"
                    for c, t in zip(ours, theirs, strict=True)
                ),
            ]
        )
        times[-1] += [f"{dca} / {full:.0f} ms", aba]
        ratios.append(
            [name, *(f"{ratio(c.times_faster_than('dca'))}, {ratio(c.times_faster_than('aba'))} / {ratio(full / t)}"
                     for c, t in zip(ours, theirs, strict=True))]
        )  # fmt: skip
        joints.append([name, *(f"{c.joints:,.0f} / {computed.split()[k]}" for c, k in zip(ours, at, strict=True))])
        errors.append(
            [
                name,
                *(
                    f"{c.displacement_error_per_step:.0e} / {displaced.split()[k]}"
                    for c, k in zip(ours, at, strict=True)
                ),
            ]
        )
        of_size.append([name, *(f"{c.displacement_error_of_size:.0e}" for c in ours)])
    report.add_table("molecule", "mean time of a step (median), Linkwork / paper", [*columns, "dca", "aba"], times)
    report.add_table("molecule", "times faster than own dca, own aba / paper: than its DCA", columns, ratios)
    report.add_table("molecule", "joints computed, Linkwork / paper", columns, joints)
    report.add_table("molecule", "relative displacement error per step, Linkwork / paper", columns, errors)
    report.add_table(
        "molecule-size",
        "largest error of a displacement at the end of the run / size of the molecule",
        columns,
        of_size,
    )


def add_requirements(report: TableReport, by_forces: dict[int, list[Cell]]) -> None:
    for (count, exponent), limits in REQUIRED.items():
        for cell in by_forces.get(count, []):
            if cell.exponent != exponent:
                continue
            for full, (least, goal) in zip(("dca", "aba"), limits, strict=True):
                reached = cell.times_faster_than(full)
                name = f"molecule, {forces_text(count)}, {power(exponent)}, vs {full}"
                detail = f"{cell.joints:,.0f} joints, {duration(cell.time())}"
                report.requirements.append(
                    Requirement(
                        name, reached, "times faster", f"≥ {least:g} times", reached >= least, f"{goal:g} times",
                        reached >= goal, detail,
                    )
                )  # fmt: skip


def places(report: TableReport, model: lw.Model, count: int) -> None:
    """One force on the middle and on random bodies of the backbone: how many joints a solve computes."""
    start = pulled(model, 1)
    rng = np.random.default_rng(SEED)
    alphas = backbone(model)
    computed: list[list[int]] = []
    for body in [start.bodies[0], *rng.choice(alphas, count - 1)]:
        direction = rng.normal(size=3)
        problem = replace(start, bodies=[int(body)], forces=(direction / np.linalg.norm(direction))[None])
        sim = problem.simulation(tolerance=1.0)
        computed.append([sim.refine(2.0**-e).n_computed for e in TABLE_EXPONENTS])
    spread = np.quantile(np.array(computed), (0.0, 0.5, 1.0), axis=0)
    report.results.append(
        {"case": PLACES, "joints": model.n_bodies, "exponents": TABLE_EXPONENTS, "computed": computed}
    )
    rows = [[what, *(f"{v:,.0f}" for v in row)] for what, row in zip(("fewest", "median", "most"), spread, strict=True)]
    title = f"joints computed for one force, {count} places on the backbone"
    report.add_table("molecule-places", title, ["", *(power(e) for e in TABLE_EXPONENTS)], rows)


def scaling(report: TableReport, problems: list[Problem], rounds: int) -> None:
    """A step of BUDGET joints by size of the whole; sizes take turns, judged by processor time as `dynamics` does."""
    calls: dict[str, Callable[[], Any]] = {}
    sims: dict[int, lw.QuasiStatics] = {}
    for problem in problems:
        progress(f"{problem.name}: {BUDGET} joints computed")
        problem = replace(problem, first_move=SLOW_MOVE)
        n, h = problem.model.n_bodies, problem.step_size()
        sims[n] = problem.simulation(max_active_joints=BUDGET)
        prove_bound(problem, sims[n], "at the start")
        calls[f"{n}"] = partial(sims[n].step, h, SCALING_CALL)
    timings = take_turns(calls, rounds, sample_time=5e-3)
    rows, costs = [], []
    for problem in problems:
        n = problem.model.n_bodies
        prove_bound(problem, sims[n], "at the end")
        calls[f"{n}"]()
        last = calls[f"{n}"]()
        cost = timings[f"{n}"].processor_median / SCALING_CALL
        costs.append(cost)
        aba = take_turns({"aba": aba_step(problem, h=0.0)}, 3)["aba"].processor_median
        rows.append(
            [
                f"{n:,}",
                f"{last.n_computed:,}",
                f"{last.nodes_updated:,}",
                duration(cost),
                duration(aba),
            ]
        )
        report.results.append(
            {"case": SCALING, "joints": n, "step_s": cost, "aba_s": aba,
             "n_computed": last.n_computed, "nodes_updated": last.nodes_updated}
        )  # fmt: skip
    columns = ["joints", "joints computed", "nodes updated", "per step", "aba, all joints"]
    report.add_table("molecule-scaling", f"a step at {BUDGET} joints computed, by size", columns, rows)
    spread = max(costs) / min(costs)
    span = f"{problems[0].model.n_bodies:,} to {problems[-1].model.n_bodies:,}"
    detail = f"{duration(min(costs))} to {duration(max(costs))}"
    report.requirements.append(
        Requirement(
            f"molecule, {span} joints, {BUDGET} computed: a step", spread, "largest / smallest", f"≤ {FLAT:g}",
            spread <= FLAT, detail=detail,
        )
    )  # fmt: skip


def load_changes(report: TableReport, problems: list[Problem], rounds: int) -> None:
    """Time of one call that adds, changes or takes away a force on a random body, and of the solve after it."""
    rng = np.random.default_rng(SEED)
    names = ("apply", "change", "clear", "solve after a change", "solve without")
    taken: dict[int, dict[str, list[float]]] = {p.model.n_bodies: {name: [] for name in names} for p in problems}
    sims = {problem.model.n_bodies: problem.simulation(tolerance=2.0**-11) for problem in problems}
    for _ in range(rounds):
        for n, sim in sims.items():
            body = int(rng.integers(n))
            force = rng.normal(size=3)

            def timed(name: str, call: Callable[..., Any], *values: Any, n: int = n, **named: Any) -> Any:
                start = time.perf_counter()
                result = call(*values, **named)
                taken[n][name].append(time.perf_counter() - start)
                return result

            load = timed("apply", sim.apply_wrench, body, force=force, frame="world")
            sim.solve()
            timed("change", sim.change_wrench, load, force=-force)
            timed("solve after a change", sim.solve)
            timed("solve without", sim.solve)
            timed("clear", sim.clear, load)
            sim.step(1e-9, 2)  # closes what only this load had opened
    rows = []
    for n, samples in taken.items():
        medians = {name: float(np.median(values)) for name, values in samples.items()}
        rows.append([f"{n:,}", *(duration(medians[name]) for name in names)])
        report.results.append(
            {"case": LOADS, "joints": n, **{f"{k.replace(' ', '_')}_s": v for k, v in medians.items()}}
        )
    report.add_table("molecule-loads", "load changes, one call from Python", ["joints", *names], rows)
