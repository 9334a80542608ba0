"""Time of an adaptive step at 100 active joints, by the size of the whole: molecules of 10,000 to 1,000,000 joints."""

from __future__ import annotations

import gc
import os
import random
import statistics
from pathlib import Path
from typing import Any

from ..harness import Requirement, TableReport, duration, progress, take_turns
from . import cases
from .runner import UPDATE_EVERY, Runner, aba_step
from .timing import load_text, quartiles

CASE = "scaling"
SIZES, QUICK_SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000), (300, 600)
ACTIVE, QUICK_ACTIVE = 100, 30
ROUNDS, QUICK_ROUNDS = 25, 3
UPDATES = 5  # timed in a round, after one that is not: it brings back to the caches what the other sizes drove out
BYTES_PER_JOINT = 8_000  # of simulation and model together, rounded up
FLAT = 1.5  # largest time over smallest


def run(report: TableReport, quick: bool, largest: int) -> None:
    sizes = QUICK_SIZES if quick else tuple(size for size in SIZES if size <= largest)
    sizes = within_memory(report, sizes)
    runners: list[Runner] = []
    abas = {}
    for size in sizes:
        case = cases.molecule(size)
        h = case.step_size()
        abas[case.model.n_bodies] = take_turns({"aba": aba_step(case, h)}, 3)["aba"].processor_median
        runners.append(Runner(case, h, QUICK_ACTIVE if quick else ACTIVE))
        runners[-1].prove_bound("at the start")
    rows = []
    for travels in (False, True):
        for runner in runners:
            runner.travels = travels
        progress(f"scaling, {load_text(travels)}")
        times, changes = take_rounds(runners, QUICK_ROUNDS if quick else ROUNDS)
        medians = []
        for runner, samples, changed in zip(runners, times, changes, strict=True):
            n = runner.case.model.n_bodies
            runner.prove_bound(f"{load_text(travels)}, at the end")
            medians.append(statistics.median(samples))
            low, high = quartiles(samples)
            rows.append([
                f"{n:,}", load_text(travels), duration(medians[-1]), f"{duration(low)} to {duration(high)}",
                f"{changed:.1f}", duration(abas[n]),
            ])  # fmt: skip
            report.results.append({
                "case": CASE, "joints": n, "load": load_text(travels), "active_joints": runner.active,
                "step_s": medians[-1], "step_samples_s": samples, "changes_per_update": changed, "aba_s": abas[n],
            })  # fmt: skip
        report.requirements.append(flatness(sizes, runners[0].active, travels, medians))
    columns = ["joints", "force", "per step", "quartiles", "changes per update", "aba, all joints"]
    report.add_table(CASE, f"a step at {runners[0].active} active joints, by size", columns, rows)


def flatness(sizes: tuple[int, ...], active: int | None, travels: bool, medians: list[float]) -> Requirement:
    spread = max(medians) / min(medians)
    name = f"molecule, {sizes[0]:,} to {sizes[-1]:,} joints, {active} active, force {load_text(travels)}: a step"
    detail = f"{duration(min(medians))} to {duration(max(medians))}"
    return Requirement(name, spread, "largest / smallest", f"≤ {FLAT:g}", spread <= FLAT, detail=detail)


def take_rounds(runners: list[Runner], rounds: int) -> tuple[list[list[float]], list[float]]:
    """Processor time of a step, round by round, and region changes per update, of each runner; in new order each round."""
    order = random.Random(1)
    times: list[list[float]] = [[] for _ in runners]
    before = [runner.sim.report.region_changes for runner in runners]
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for k in order.sample(range(len(runners)), len(runners)):
                busy = 0.0
                for turn in range(1 + UPDATES):
                    runners[k].travel()
                    taken = runners[k].advance()[0]
                    busy += taken if turn else 0.0
                times[k].append(busy / (UPDATES * UPDATE_EVERY))
    finally:
        if collecting:
            gc.enable()
    updates = rounds * (1 + UPDATES)
    changed = [(r.sim.report.region_changes - b) / updates for r, b in zip(runners, before, strict=True)]
    return times, changed


def within_memory(report: TableReport, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes that fit into free memory together; the others become a note."""
    free: Any = available_bytes()
    fitting: list[int] = []
    for size in sizes:
        if free is not None and (sum(fitting) + size) * BYTES_PER_JOINT > free:
            report.notes.append(f"scaling: {size:,} joints left out, free memory is {free / 2**30:.1f} GiB.")
        else:
            fitting.append(size)
    return tuple(fitting)


def available_bytes() -> int | None:
    """Memory that programs may still take; None where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (OSError, AttributeError, ValueError):
        return None
