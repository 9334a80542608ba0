"""Contact: the three scenes of Gayle, Lin and Manocha, with few joints active, with all, and in MuJoCo.

Proven first: with all joints active the adaptive simulation and the full one come to the same state, contacts included.
Times are processor times of steps in which bodies touch, updates of the active region included; loads that change with
time are set from Python before every step, in all programs, and not counted. Contestants take turns, chunk by chunk.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Requirement, TableReport, duration, fill_in, progress
from . import at_random, planning, pressing, problems, responses, runs
from .mujoco_twin import MujocoTwin
from .plots import save_plot
from .scenes import CASES, GROWN, Case, Contestant, adaptive, full, read

CHUNKS, CHUNK = 8, 240  # steps that are timed: so many chunks of so many, 16 updates of the region in each
WARM = 30  # steps before each chunk, two updates, that are not counted
QUICK_CHUNKS, QUICK_CHUNK = 2, 2
LONGEST = 4.0  # [s] of a chunk of the slowest: fewer steps for all where it takes longer
ACTIVE = (10, 20, 40, 70, 100, 200)
GROWN_REQUIRED, GROWN_GOAL = 10.0, 30.0
MOST_TIME = 1e-3  # [s] of Λ of 70 contacts
MOST_GROWTH = 2.0  # of the cost of one more contact, from 10³ to 10⁵ links
LINKS = (2, 20, 200)  # times 500 links: 10³, 10⁴, 10⁵
LEAST_STATES = 1e4  # per second, of a planner
QUESTIONS = {"collide": "whether they collide", "clearances": "how much room they have"}
PARTS = (
    "scenes",
    "grown",
    "active",
    "responses",
    "planning",
    "campaign",
    "walls",
    "dropped",
    "lasting",
    "pressing",
    "problems",
    "runs",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", choices=PARTS, help="which part (all)")
    parser.add_argument(
        "--problems", action="store_const", const="problems", dest="case", help="only solvers on problems"
    )
    parser.add_argument("--scene", choices=[case.scene for case in CASES], help="which scene (all)")
    at_random.configure(parser)
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("out"), help="folder of the pictures (out)")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def run(options: argparse.Namespace) -> TableReport:
    kept = {key: getattr(options, key) for key in ("case", "scene", "quick")}
    report = TableReport("contact", kept, is_judged=not options.quick)
    chosen = [case for case in CASES if options.scene in (None, case.scene)]
    for name, part in (("scenes", of_size), ("grown", grown), ("active", by_active)):
        if options.case in (None, name):
            for case in chosen:
                part(report, case, options)
    if options.case in (None, "responses"):
        of_responses(report, options)
    if options.case in (None, "planning"):
        of_planning(report, options)
    if options.case in (None, "campaign"):
        at_random.of_campaign(report, options)
    if options.case in (None, "walls"):
        at_random.of_walls(report, options)
    if options.case in (None, "dropped"):
        at_random.of_dropped(report, options)
    if options.case in (None, "lasting"):
        at_random.of_lasting(report, options)
    if options.case in (None, "pressing"):
        of_pressing(report, options)
    if options.case in (None, "problems"):
        of_problems(report, options)
    if options.case in (None, "runs"):
        of_runs(report, options)
    if any(result["case"] == "active" for result in report.results):
        report.notes.append(save_plot(report.results, options.out))
    if options.page is not None:
        fill_in(options.page, report, is_whole=options.case in (None, "scenes"))
    return report


def of_pressing(report: TableReport, options: argparse.Namespace) -> None:
    """A robot that presses a table: how far its force strays over a minute."""
    path = pressing.panda()
    if path is None:
        report.notes.append("The package example-robot-data is not installed; nothing presses.")
        return
    rows = []
    for kind in ("full", "adaptive"):
        for margin in pressing.MARGINS:
            progress(f"pressing: margin {margin:g} m, {kind}")
            found = pressing.outcome(path, margin, kind, 2.0 if options.quick else pressing.SECONDS)
            report.results.append({"case": "pressing", **asdict(found)})
            force = found.failure or f"{found.force:.2f} N"
            rows.append([kind, f"{margin:g} m", force, f"{found.apart:.1e}", str(found.not_converged)])
            limit = f"≤ {pressing.MOST:g}"
            name = f"Panda pressing, margin {margin:g} m, {kind}: force beside its mean"
            report.requirements.append(
                Requirement(name, found.apart, "of the mean", limit, found.apart <= pressing.MOST)
            )
    columns = ["", "margin", "mean force", "largest difference, of the mean", "unconverged steps"]
    report.add_table("pressing", "A Panda on a table, 400 N·m/rad, 1 ms, a minute", columns, rows)


def of_runs(report: TableReport, options: argparse.Namespace) -> None:
    """Whole runs of everyday scenes beside MuJoCo."""
    rows = []
    for run in runs.RUNS:
        if options.quick and not run.quick:
            continue
        progress(run.name)
        found = runs.measured(run, 0.05 if options.quick else 1.0)
        report.results.append({"case": "runs", **found})
        ratios = (found["peer_s"] / found["step_s"], found["peer_mean_s"] / found["mean_s"])
        rows.append([
            run.name, found["failure"] or "held", duration(found["step_s"]), duration(found["peer_s"]),
            "unstable" if found["peer_broke_down"] else str(found["peer_split"]),
            *("" if found["peer_broke_down"] else f"{ratio:.2f}" for ratio in ratios),
            f"{found['rise']:.2%}", f"{found['not_converged']:.2%}",
        ])  # fmt: skip
        if not found["peer_broke_down"]:
            require(report, f"{run.name}: MuJoCo's time over ours", ratios[0], 1.0)
    columns = [
        "",
        "",
        "step",
        "MuJoCo",
        "its steps per 2 ms",
        "MuJoCo's over ours",
        "the same of means",
        "energy up by",
        "unconverged steps",
    ]
    report.add_table("runs", "Whole runs at 2 ms; medians of steps", columns, rows)


def prove_all_active(case: Case, one: Contestant, other: Contestant) -> float:
    """Largest difference of the states of two simulations with all joints active; stops where there is one."""
    a, b = one.sim.state, other.sim.state
    difference = float(max(np.abs(a.q - b.q).max(), np.abs(a.v - b.v).max()))
    if difference > 0.0:
        raise lw.LinkworkError(f"{case.scene}: all joints active differ from the full simulation by {difference:.3g}.")
    return difference


def turns(contestants: Mapping[str, Any], quick: bool) -> dict[str, list[float]]:
    """Processor time per step, chunk by chunk [s].

    A step takes 30 µs, and the first ones find the caches as another program left them: some before each chunk are not
    counted, and chunks are long.
    """
    chunks, steps = (QUICK_CHUNKS, QUICK_CHUNK) if quick else (CHUNKS, CHUNK)
    found: dict[str, list[float]] = {name: [] for name in contestants}
    slowest = max(contestant.advance(1, is_timed=False) for contestant in contestants.values())
    count = max(1, min(steps, int(LONGEST / slowest)))
    for _ in range(chunks):
        for name, contestant in contestants.items():
            contestant.advance(min(count, WARM), is_timed=False)
            found[name].append(contestant.advance(count) / count)
            contestant.note()
    return found


def warm_up(case: Case, contestants: Mapping[str, Any], h: float, quick: bool) -> None:
    for contestant in contestants.values():
        contestant.advance(5 if quick else round(case.begin / h), is_timed=False)


def ratio(found: Mapping[str, list[float]], other: str, name: str) -> float:
    return statistics.median(b / a for a, b in zip(found[name], found[other], strict=True))


def quartiles(times: list[float]) -> str:
    low, _, high = statistics.quantiles(times, n=4, method="inclusive")
    return f"{duration(low)} to {duration(high)}"


def of_size(report: TableReport, case: Case, options: argparse.Namespace) -> None:
    """A scene as it is: few joints active, all, full dynamics, MuJoCo."""
    progress(f"{case.scene}: with {case.active} active, all active, MuJoCo")
    scene = read(case)
    contestants: dict[str, Any] = {
        f"{case.active} active": adaptive(scene),
        "all active": adaptive(scene, -1),
        "full": full(scene),
    }
    try:
        contestants["mujoco"] = MujocoTwin(scene)
    except ImportError:
        report.notes.append("MuJoCo is not installed.")
    warm_up(case, contestants, scene.h, options.quick)
    prove_all_active(case, contestants["all active"], contestants["full"])
    found = turns(contestants, options.quick)
    few = f"{case.active} active"
    rows = []
    for name, contestant in contestants.items():
        time = statistics.median(found[name])
        report.results.append({
            "case": "scenes", "scene": case.scene, "contestant": name, "per_step_s": time, "contacts": contestant.contacts,
            "deepest_m": contestant.deepest, "friction_beyond": contestant.slip, "samples_s": found[name],
        })  # fmt: skip
        rows.append([
            name, duration(time), quartiles(found[name]), f"{ratio(found, name, few):.2f}", str(contestant.contacts),
            f"{contestant.deepest:.1e} m", f"{max(contestant.slip, 0.0):.1e}",
        ])  # fmt: skip
    columns = ["", "step", "quartiles", "times the first", "contacts", "deepest penetration", "friction beyond μ"]
    title = f"{case.scene}: {case.joints} joints, h = {scene.h:g} s, from {case.begin:g} s on"
    report.add_table("scenes", title, columns, rows)
    best = min("all active", "full", key=lambda name: statistics.median(found[name]))
    reached = ratio(found, best, few)
    require(report, f"{case.scene}, {few} vs all", reached, case.required, case.goal)
    if "mujoco" in contestants:
        require(report, f"{case.scene}, {few} vs MuJoCo", ratio(found, "mujoco", few), 1.0)


def require(report: TableReport, name: str, reached: float, required: float, goal: float | None = None) -> None:
    report.requirements.append(
        Requirement(
            name, reached, "times faster", f"≥ {required:g} times", reached >= required,
            f"{goal:g} times" if goal else "", reached >= goal if goal else None,
        )
    )  # fmt: skip


def grown(report: TableReport, case: Case, options: argparse.Namespace) -> None:
    """Ten times the joints, the same number active."""
    progress(f"{case.scene}: {GROWN} times the joints")
    scene = read(case, 2 if options.quick else GROWN)
    few = f"{case.active} active"
    contestants = {few: adaptive(scene), "full": full(scene)}
    warm_up(replace(case, begin=case.grown_begin or case.begin), contestants, scene.h, options.quick)
    found = turns(contestants, options.quick)
    if not options.quick and not all(contestant.contacts for contestant in contestants.values()):
        report.notes.append(f"{case.scene} with {GROWN} times the joints touches nothing while it is timed.")
    rows = [
        [
            name,
            duration(statistics.median(found[name])),
            quartiles(found[name]),
            f"{ratio(found, name, few):.1f}",
            str(contestant.contacts),
        ]
        for name, contestant in contestants.items()
    ]
    report.add_table(
        "grown",
        f"{case.scene}: {scene.model.n_bodies:,} links",
        ["", "step", "quartiles", "times the first", "contacts"],
        rows,
    )
    for name in contestants:
        report.results.append({"case": "grown", "scene": case.scene, "contestant": name, "samples_s": found[name]})
    require(
        report,
        f"{case.scene}, {GROWN} times the joints, {few} vs full",
        ratio(found, "full", few),
        GROWN_REQUIRED,
        GROWN_GOAL,
    )


def by_active(report: TableReport, case: Case, options: argparse.Namespace) -> None:
    """Time of a step over the number of active joints: the paper's figure 7."""
    scene = read(case)
    counts = [k for k in ((10, 40) if options.quick else ACTIVE) if k < case.joints]
    contestants = {str(k): adaptive(scene, k) for k in counts} | {"all": adaptive(scene, -1)}
    progress(f"{case.scene}: {', '.join(contestants)} active")
    warm_up(case, contestants, scene.h, options.quick)
    found = turns(contestants, options.quick)
    rows = []
    for name, contestant in contestants.items():
        time = statistics.median(found[name])
        active = case.joints if name == "all" else int(name)
        report.results.append({"case": "active", "scene": case.scene, "active": active, "per_step_s": time})
        rows.append([name, duration(time), str(contestant.contacts)])
    report.add_table("active", f"{case.scene}: time of a step by active joints", ["active", "step", "contacts"], rows)


def of_responses(report: TableReport, options: argparse.Namespace) -> None:
    """Λ of 70 contacts on 500 links, and what one more costs in longer linkages."""
    progress("responses of touched bodies")
    here = responses.measured(1)
    rows = [[f"{here['links']:,}", str(here["contacts"]), duration(here["time_s"]), duration(here["one_more_s"])]]
    detail = f"{here['contacts']} contacts on {here['links']} links"
    passed = here["time_s"] <= MOST_TIME
    report.requirements.append(
        Requirement("Λ, 70 active", here["time_s"] * 1e3, "ms", f"≤ {MOST_TIME * 1e3:g} ms", passed, detail=detail)
    )
    costs = []
    for times in () if options.quick else LINKS:
        found = responses.measured(times)
        costs.append(found["one_more_s"])
        rows.append([f"{found['links']:,}", str(found["contacts"]), duration(found["time_s"]), duration(costs[-1])])
        report.results.append({"case": "responses", **found})
    report.add_table("responses", "Λ, 70 joints active", ["links", "contacts", "Λ", "one more contact"], rows)
    if costs:
        growth = max(costs) / max(min(costs), 1e-12)
        passed = growth <= MOST_GROWTH
        name = "one more contact, 10³ to 10⁵ links, most over least"
        report.requirements.append(Requirement(name, growth, "times", f"≤ {MOST_GROWTH:g} times", passed))


def of_planning(report: TableReport, options: argparse.Namespace) -> None:
    """States per second that a planner may ask about."""
    progress("states among walls")
    found = planning.measured(options.quick)
    report.results.append({"case": "planning", **found})
    rows = [[words, f"{found[f'{name}_per_s']:,.0f}"] for name, words in QUESTIONS.items()]
    title = f"{planning.LINKS} links among the walls of threading, {found['colliding']:.0%} of the states collide"
    report.add_table("planning", title, ["", "states per second"], rows)
    for name, words in QUESTIONS.items():
        rate = found[f"{name}_per_s"]
        wanted = f"≥ {LEAST_STATES:,.0f} per second"
        report.requirements.append(Requirement(f"states: {words}", rate, "per second", wanted, rate >= LEAST_STATES))


def of_problems(report: TableReport, options: argparse.Namespace) -> None:
    """Both linear steps of the contact solver on the same problems, made anew from seeds."""
    kinds: dict[str, problems.Found] = {}
    for name, *scene in problems.all_scenes(options.quick):
        if options.scene is not None and not name.startswith(options.scene):
            continue
        if name not in kinds:
            progress(f"problems: {name}")
        problems.judge(kinds.setdefault(name, problems.Found()), *scene)
    rows: list[list[str]] = []
    for name, found in kinds.items():
        numbers = found.numbers()
        report.results.append({"case": "problems", "scene": name, **numbers})
        for solver in numbers["time_s"]:
            number = numbers["problems"][solver]
            rows.append([
                name, f"{numbers['contacts']:.0f}", solver, f"{found.missed[solver]} of {number:,}",
                str(found.made[solver]), duration(numbers["time_s"][solver]),
                duration(numbers["slow_s"][solver]), f"{numbers['sweeps'][solver]:.1f}",
            ])  # fmt: skip
    for solver in problems.SOLVERS:
        number = sum(len(found.times[solver]) for found in kinds.values())
        missed = sum(found.missed[solver] for found in kinds.values())
        made = sum(found.made[solver] for found in kinds.values())
        rows.append(["all", "", solver, f"{missed} of {number:,}", str(made), "", "", ""])
    columns = ["problems of", "contacts", "solver", "not converged", "made energy", "step, median", "99 %", "sweeps"]
    report.add_table("problems", "One step from the same state and warm start by each solver", columns, rows)
