"""One picture of all programs: time of forward dynamics and of a step over the number of joints, 10 to 1,000,000.

Every program gets the same chain, state and efforts; accelerations agree before anything is timed. A program takes part as
long as it can: where its memory, its stack or a limit of seconds per call ends it, its line ends, and the table says why.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import linkwork as lw

from .dynamics import Case, prove_equal
from .harness import Requirement, TableReport, duration, fill_in, progress, take_turns
from .harness.drake_peer import DRAKE_MOST_JOINTS, drake_peer
from .harness.exudyn_peer import EXUDYN_MOST_JOINTS, EXUDYN_STEPS, exudyn_peer
from .harness.peers import MUJOCO_MOST_DEPTH, PINOCCHIO_MOST_JOINTS, Peer, mujoco_peer, pinocchio_peer

SIZES = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK = (10, 100)
ACTIVE = 100  # joints of adaptive steps
ADAPTIVE_FROM = 300  # joints: below, nearly all of them are active
STEPS, STEP = 50, 1e-5  # of adaptive dynamics per call, and how long one is [s]
SLOW = 2.0  # [s] of a call that ends a program's line
PEERS: dict[str, Callable[[Case], Peer | None]] = {
    "Pinocchio": lambda case: pinocchio_peer(case.model, case.state, case.effort, case.acceleration),
    "MuJoCo": lambda case: mujoco_peer(case.model, case.state, case.effort),
    "Drake": lambda case: drake_peer(case.model, case.state, case.effort),
    "Exudyn": lambda case: exudyn_peer(case.model, case.state, case.effort),
}
ENDS = {
    "Pinocchio": f"beyond {PINOCCHIO_MOST_JOINTS} joints its Data takes memory in proportion to nv³ (13.8 GB at 600)",
    "MuJoCo": f"beyond {MUJOCO_MOST_DEPTH:,} bodies deep its compiler refuses a chain",
    "Drake": f"beyond {DRAKE_MOST_JOINTS:,} joints building its plant takes minutes; a call would go on in proportion",
    "Exudyn": f"beyond {EXUDYN_MOST_JOINTS} joints its dense mass matrix keeps fewer than eight digits",
}
COLOURS = {
    "Linkwork, aba": "#3f51b5",
    "Linkwork, adaptive step": "#e91e63",
    "Pinocchio": "#ff9800",
    "MuJoCo": "#4caf50",
    "Drake": "#795548",
    "Exudyn": "#607d8b",
}
# Steps of a call, where a call makes several
SEVERAL = {"Linkwork, adaptive step": STEPS, "Exudyn": EXUDYN_STEPS}
FASTER_AT = 1_000  # joints from which no peer may be faster


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=11, help="turns each program takes (11)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="most joints (1000000)")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")
    parser.add_argument("--pictures", type=Path, help="draw the picture into this folder")


def run(options: argparse.Namespace) -> TableReport:
    sizes = QUICK if options.quick else tuple(size for size in SIZES if size <= options.largest)
    report = TableReport("compare", {"quick": options.quick, "rounds": options.rounds}, is_judged=not options.quick)
    times: dict[str, dict[int, float]] = {}
    for joints in sizes:
        for name, seconds in times_of(report, joints, 3 if options.quick else options.rounds).items():
            times.setdefault(name, {})[joints] = seconds
    rows = [
        [name, *(duration(found[joints]) if joints in found else "" for joints in sizes)]
        for name, found in times.items()
    ]
    report.add_table(
        "times", "a chain: one call of forward dynamics, and one adaptive step", ["", *map("{:,}".format, sizes)], rows
    )
    report.notes += [f"{name}: {why}." for name, why in ENDS.items() if name in times]
    report.notes += [f"{name} is not installed." for name in PEERS if name not in times]
    judge(report, times)
    if options.pictures:
        report.notes.append(save_plot(times, options.pictures))
    if options.page:
        fill_in(options.page, report)
    return report


def times_of(report: TableReport, joints: int, rounds: int) -> dict[str, float]:
    """Processor time of one call of each program at one size [s]."""
    case = Case("chain", joints)
    calls: dict[str, Callable[[], object]] = {"Linkwork, aba": case.forward}
    for name, make in PEERS.items():
        peer = make(case)
        if peer is not None:
            prove_equal(case, peer)
            calls[name] = peer.forward
    if joints >= ADAPTIVE_FROM:
        calls["Linkwork, adaptive step"] = adaptive_steps(case)
    for name, call in list(calls.items()):
        begun = time.process_time()
        call()
        spent, several = time.process_time() - begun, SEVERAL.get(name, 1)
        if spent > SLOW:
            del calls[name]
            steps = f" of {several} steps" if several > 1 else ""
            report.notes.append(f"{name}: a call{steps} at {joints:,} joints takes {spent:.2g} s.")
    timings = take_turns(calls, rounds)
    report.add_timings("chain", joints, timings)
    return {name: timing.processor_median / SEVERAL.get(name, 1) for name, timing in timings.items()}


def adaptive_steps(case: Case) -> Callable[[], object]:
    """Steps of the folded chain as it begins to fall, with everything but the number of active joints at its default."""
    progress(f"adaptive dynamics, {case.joints:,} joints")
    active = min(ACTIVE, case.joints)
    start = lw.State(case.state.q, np.zeros(case.model.nv))
    sim = lw.AdaptiveDynamics(case.model, start, max_active_joints=active)
    report = sim.step(STEP, 2 * STEPS)
    if not (np.isfinite(sim.state.v).all() and report.n_active == active):
        raise lw.LinkworkError(
            f"{case.joints:,} joints: {report.n_active} are active, not {active}. Nothing was timed."
        )
    return lambda: sim.step(STEP, STEPS)


def judge(report: TableReport, times: dict[str, dict[int, float]]) -> None:
    own = times["Linkwork, aba"]
    for name in PEERS:
        found = {joints: seconds for joints, seconds in times.get(name, {}).items() if joints in own}
        if found:
            largest = max(found)
            ratio = found[largest] / own[largest]
            must = largest >= FASTER_AT
            report.requirements.append(
                Requirement(
                    f"aba vs {name}, {largest:,} joints",
                    ratio,
                    "times faster",
                    "≥ 1 times" if must else "",
                    ratio >= 1 or not must,
                )
            )


def save_plot(times: dict[str, dict[int, float]], folder: Path) -> str:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "no picture: matplotlib is not installed."
    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.subplots()
    for name, found in times.items():
        sizes = sorted(found)
        axes.loglog(sizes, [1e6 * found[n] for n in sizes], marker="o", markersize=4, color=COLOURS[name], label=name)
    axes.set(xlabel="joints of a chain", ylabel="time of one call [µs]")
    axes.grid(True, which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "compare.png"
    figure.savefig(path, dpi=110)
    return f"picture: {path}"
