"""Tables of what must hold: random scenes, bodies thrown at walls, dropped robots, ropes that lie for a minute."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict

import linkwork as lw

from ..harness import Requirement, TableReport, duration, progress
from . import campaign, dropped, lasting, parallel, walls

QUICK_SCENES, QUICK_THROWS, QUICK_LASTING = 3, 9, 0.02
MOST_GAINED, MOST_OPEN = 1e-3, 0.01  # of random scenes that gain energy; of steps whose solves do not converge
THROWS, SEEDS = 1000, 20
MOST_OFF = 0.01  # of the weight: how far the force of a robot at rest may lie from it
TOLD = 10  # scenes between two lines of progress


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scenes", metavar="N", type=int, default=100, help="random scenes of the campaign (100)")
    parser.add_argument("--first", metavar="K", type=int, default=0, help="number of the first of them (0)")
    parser.add_argument("--seconds", metavar="S", type=float, default=campaign.SECONDS, help="length of each (2)")
    parser.add_argument("--processes", metavar="P", type=int, default=1, help="processes that run them (1)")
    parser.add_argument("--throws", metavar="N", type=int, default=THROWS, help=f"bodies thrown at walls ({THROWS})")
    parser.add_argument("--seeds", metavar="N", type=int, default=SEEDS, help=f"drops of every robot ({SEEDS})")


def of_campaign(report: TableReport, options: argparse.Namespace) -> None:
    """Random scenes: what failed, gained energy or did not converge."""
    count = min(options.scenes, QUICK_SCENES) if options.quick else options.scenes
    journal = options.out / "contact_campaign.jsonl"

    def tell(done: int, job: parallel.Job, row: parallel.Row) -> None:
        each = outcome_of(row, job)
        if each.is_failed or each.has_gained or done % TOLD == 0 or done == count:
            words = each.failure or (f"energy up by {each.gain:.2%}" if each.has_gained else "fine")
            progress(f"{done} of {count}; scene {each.number}: {words}")

    length = "" if options.seconds == campaign.SECONDS else f"@{options.seconds:g}"
    jobs = [("scene", f"{k}{length}") for k in range(options.first, options.first + count)]
    progress(f"{count} random scenes of {options.seconds:g} s, journal {journal}")
    rows = parallel.outcomes(jobs, journal, options.processes, tell)
    found = [outcome_of(rows[job], job) for job in jobs]
    report.results += [{"case": "campaign", **asdict(each)} for each in found]
    steps = max(1, sum(each.steps for each in found))
    overflow, gained = sum(each.is_failed for each in found), sum(each.has_gained for each in found)
    open_steps, short = (sum(getattr(each, name) for each in found) for name in ("not_converged", "shortened"))
    row = [f"{count:,}", str(overflow), str(gained), f"{open_steps / steps:.2%}", f"{short / steps:.2%}"]
    columns = ["scenes", "failed", f"energy up by > {campaign.MOST_GAIN:.0%}", "unconverged steps", "steps in parts"]
    report.add_table("campaign", f"{count} random scenes of {options.seconds:g} s", columns, [row])
    for each in found:
        if each.is_failed or each.has_gained:
            report.notes.append(f"scene {each.number}: {each.words}: {each.failure or f'energy up by {each.gain:.2%}'}")
    for name, value, most in (("failed", overflow, 0.0), ("energy from nothing", gained, MOST_GAINED * count)):
        must_be_zero(report, f"random scenes: {name}", value, "scenes", most)
    share = open_steps / steps
    report.requirements.append(
        Requirement("random scenes: unconverged steps", 100 * share, "%", f"≤ {MOST_OPEN:.0%}", share <= MOST_OPEN)
    )


def outcome_of(row: parallel.Row, job: parallel.Job) -> campaign.Outcome:
    return campaign.Outcome(**({"number": int(job[1].partition("@")[0]), "words": ""} | row))


def of_walls(report: TableReport, options: argparse.Namespace) -> None:
    """Bodies thrown at thin walls: how many pass."""
    count = min(options.throws, QUICK_THROWS) if options.quick else options.throws
    progress(f"{count} bodies thrown at walls of 1 mm")
    found = [walls.outcome(walls.case_of(k)) for k in range(count)]
    report.results += [{"case": "walls", **asdict(each)} for each in found]
    thrown, passed, failed = (
        Counter(each.case.thing for each in found if is_one(each))
        for is_one in (lambda _: True, lambda each: each.passed, lambda each: bool(each.failure))
    )
    rows = [
        [name, f"{what[3]:g} m/s", str(thrown[name]), str(passed[name]), str(failed[name])]
        for name, what in walls.THINGS.items()
    ]
    report.add_table(
        "walls", "Bodies thrown at a wall of 1 mm, h = 1 ms", ["", "speed", "thrown", "passed", "failed"], rows
    )
    for each in found:
        if each.passed or each.failure:
            report.notes.append(f"throw {each.case.number}: {each.case}: {each.failure or 'passed'}")
    must_be_zero(report, "walls: bodies that pass", passed.total(), "bodies", 0.0)
    must_be_zero(report, "walls: runs that fail", failed.total(), "bodies", 0.0)


def of_dropped(report: TableReport, options: argparse.Namespace) -> None:
    """Robots dropped on a floor: what failed, and whether they press with their weight."""
    if dropped.folder() is None:
        report.notes.append("example-robot-data is not installed: only the library's humanoid is dropped.")
    rows, found = [], []
    for name, read in dropped.robots():
        progress(f"dropped: {name}")
        try:
            drops = [dropped.outcome(name, read(), seed) for seed in range(1 if options.quick else options.seeds)]
        except lw.LinkworkError as error:
            report.notes.append(f"{name} is left out: {error}")
            continue
        found += drops
        off = [abs(each.force - 1.0) for each in drops if not each.failure]
        steps = max(1, sum(each.steps for each in drops))
        rows.append([
            name, str(len(drops)), str(sum(bool(each.failure) for each in drops)),
            f"{max(off):.2%}" if off else "", f"{sum(each.not_converged for each in drops) / steps:.2%}",
        ])  # fmt: skip
        report.notes += [f"{name}, seed {each.seed}: {each.failure}" for each in drops if each.failure]
        if options.quick:
            break
    report.results += [{"case": "dropped", **asdict(each)} for each in found]
    columns = ["robot", "drops", "failed", "force off its weight", "unconverged steps"]
    report.add_table("dropped", f"Dropped on a floor for {dropped.SECONDS:g} s", columns, rows)
    must_be_zero(report, "dropped robots: failed", sum(bool(each.failure) for each in found), "drops", 0.0)
    off = sum(not abs(each.force - 1.0) <= MOST_OFF for each in found if not each.failure)
    must_be_zero(report, "dropped robots: force off the weight by > 1 %", off, "drops", 0.0)


def of_lasting(report: TableReport, options: argparse.Namespace) -> None:
    """Ropes, belts and nets on bodies for a minute: what overflows, comes apart or gains energy."""
    rows, found = [], []
    seconds = QUICK_LASTING if options.quick else lasting.SECONDS
    for name in lasting.CASES:
        progress(f"{seconds:g} s of: {name}")
        found.append(lasting.outcome(name, seconds))
        each = found[-1]
        rows.append([
            name, each.failure or "held", f"{each.gain:.2%}", f"{each.lost:.3g} J", f"{each.worst_gap:.1e}",
            f"{each.not_converged / max(1, each.steps):.2%}", duration(each.seconds / max(1, each.steps)),
        ])  # fmt: skip
    report.results += [{"case": "lasting", **asdict(each)} for each in found]
    columns = ["", "", "energy up by", "energy lost", "loops open by", "unconverged steps", "step, mean"]
    report.add_table("lasting", f"Ropes, belts and nets on bodies for {seconds:g} s", columns, rows)
    must_be_zero(report, "ropes, belts, nets: failed", sum(bool(each.failure) for each in found), "runs", 0.0)
    gained = sum(each.gain > lasting.MOST_GAIN for each in found)
    must_be_zero(report, f"ropes, belts, nets: energy up by > {lasting.MOST_GAIN:.0%}", gained, "runs", 0.0)


def must_be_zero(report: TableReport, name: str, value: float, unit: str, most: float) -> None:
    report.requirements.append(
        Requirement(name, value, unit, f"≤ {most:g}", value <= most, goal="0", goal_reached=not value)
    )
