"""What an update of the active region costs by the joints that enter and leave, and where the time of a step goes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..harness import TableReport, duration, progress
from .runner import UPDATE_EVERY, Case, Runner
from .timing import quartiles

CASE, PARTS, PER_JOINT = "updates", "parts", "per joint"
STRIDES, QUICK_STRIDES = (0, 1, 2, 5, 10, 20, 50), (0, 2)  # places along the path between two updates
ACTIVE, QUICK_ACTIVE = 100, 30
ACTIVES, QUICK_ACTIVES = (30, 100, 300, 1_000, 3_000), (30, 100)
ROUNDS, QUICK_ROUNDS, FEW_ROUNDS = 100, 3, 15
NEVER = 10**9  # steps between updates that the steps themselves make


def run(report: TableReport, case: Case, h: float, quick: bool) -> None:
    progress(f"{case.name}: updates of the region")
    active, rounds = (QUICK_ACTIVE, QUICK_ROUNDS) if quick else (ACTIVE, ROUNDS)
    rows = []
    for stride in QUICK_STRIDES if quick else STRIDES:
        runner = Runner(replace(case, stride=stride), h, active, stride > 0, {"update_every": NEVER})
        found = one_by_one(runner, h, rounds)
        report.results.append({"case": CASE, "joints": case.model.n_bodies, "active_joints": active, **found})
        rows.append([
            f"{stride}", f"{found['changes_per_update']:.1f}", duration(found["update_s"]), duration(found["steps_s"]),
            duration(found["load_change_s"]) if stride else "",
        ])  # fmt: skip
    columns = ["force moves by", "joints that enter or leave", "an update", f"{UPDATE_EVERY} steps", "moving the force"]
    report.add_table(CASE, f"{case.name}, {active} active: an update by itself", columns, rows)
    parts(report, case, h, active, rounds)
    by_active(report, case, h, QUICK_ACTIVES if quick else ACTIVES, min(rounds, FEW_ROUNDS))


def by_active(report: TableReport, case: Case, h: float, actives: tuple[int, ...], rounds: int) -> None:
    """A step and an update, each by itself, for each joint that is active: what a joint costs as caches overflow."""
    rows = []
    for active in actives:
        found = one_by_one(Runner(case, h, active, options={"update_every": NEVER}), h, rounds)
        step = found["steps_s"] / UPDATE_EVERY
        report.results.append({"case": PER_JOINT, "joints": case.model.n_bodies, "active_joints": active, **found})
        rows.append([
            f"{active:,}", duration(step), duration(step / active), duration(found["update_s"]),
            duration(found["update_s"] / active), f"{found['changes_per_update']:.1f}",
        ])  # fmt: skip
    columns = ["active joints", "per step", "per joint", "per update", "per joint", "joints that enter or leave"]
    report.add_table(PARTS, f"{case.name}, force still: steps and updates by themselves", columns, rows)


def one_by_one(runner: Runner, h: float, rounds: int) -> dict[str, Any]:
    """Medians of the processor time of an update, of the steps between two, and of moving the force."""
    sim = runner.sim
    sim.step(h, UPDATE_EVERY)
    taken: dict[str, list[float]] = {"load_change_s": [], "update_s": [], "steps_s": []}
    before = sim.report.region_changes
    for _ in range(rounds):
        taken["load_change_s"].append(timed(runner.travel))
        taken["update_s"].append(timed(lambda: sim.update_region(UPDATE_EVERY * h)))
        taken["steps_s"].append(timed(lambda: sim.step(h, UPDATE_EVERY)))
    changes = (sim.report.region_changes - before) / rounds
    medians = {name: statistics.median(values) for name, values in taken.items()}
    return {"stride": runner.case.stride, "changes_per_update": changes, **medians}


def parts(report: TableReport, case: Case, h: float, active: int, rounds: int) -> None:
    """The time of ten steps and an update by what it is spent on, from differences between runs that leave one part out.

    Differences are taken round by round; their quartiles tell how far to trust them.
    """
    whole = Runner(case, h, active)
    bare = Runner(case, h, active, options={"keep_momentum": False})
    frozen = Runner(case, h, active, options={"update_every": NEVER})
    for runner in (whole, bare, frozen):
        runner.sim.step(h, UPDATE_EVERY)
    taken: dict[str, list[float]] = {name: [] for name in ("whole", "bare", "frozen", "report")}
    for _ in range(rounds):  # twice each: the first call brings what it needs back to the caches
        for name, runner in (("whole", whole), ("bare", bare), ("frozen", frozen)):
            runner.advance()
            taken[name].append(runner.advance()[0])
            if runner is whole:
                taken["report"].append(timed(lambda: whole.sim.report))
    whole_s, bare_s, frozen_s, report_s = (taken[name] for name in ("whole", "bare", "frozen", "report"))
    spent = {
        "10 steps and an update": whole_s,
        "the update (still)": [a - b for a, b in zip(whole_s, frozen_s, strict=True)],
        "keeping the momentum": [a - b for a, b in zip(whole_s, bare_s, strict=True)],
        "the report, once per call": report_s,
        "the steps proper": [b + f - w - r for w, b, f, r in zip(whole_s, bare_s, frozen_s, report_s, strict=True)],
    }
    median = statistics.median(whole_s)
    rows = []
    for name, values in spent.items():
        low, high = quartiles(values)
        middle = statistics.median(values)
        rows.append(
            [name, f"{middle * 1e6:.0f} µs", f"{low * 1e6:.0f} to {high * 1e6:.0f} µs", f"{middle / median:.0%}"]
        )
    report.results.append({"case": PARTS, "joints": case.model.n_bodies, "active_joints": active, "spent_s": spent})
    columns = ["part", "time", "quartiles", "share"]
    report.add_table(PARTS, f"{case.name}, {active} active: where the time goes", columns, rows)


def timed(call: Callable[[], object]) -> float:
    start = time.thread_time()
    call()
    return time.thread_time() - start
