"""Many states in one call on the CPU: microseconds per state of a robot of 30 joints, and how much a second core gains.

Before anything is timed, rows of a batch are compared with single calls, in bits. One core is had by taking the others away
from the process (affinity); both ways take turns, and the fastest turn of each counts. Where other programs use the cores
the wall clock says little of a second one; the processor time of the busier thread does: it is the time the call takes
when nothing else runs.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw

from .harness import Report, Requirement, progress

STATES, QUICK_STATES = 1000, 64
SPEED_STATES = 20_000  # long enough that starting threads does not count
TURNS = 40
PER_STATE = 15e-6  # [s]
SHARE = 0.9  # of linear speed-up on two cores


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=TURNS, help=f"turns of each ({TURNS})")


def run(options: argparse.Namespace) -> Report:
    rounds = 2 if options.quick else options.rounds
    states = QUICK_STATES if options.quick else STATES
    report = Report("batches", {"states": states, "rounds": rounds}, is_judged=not options.quick)
    model = lw.library.random_tree(30, seed=3).compile()
    for name, call in calls(model).items():
        progress(name)
        check(model, call)
        least, _ = timed(lambda call=call: call(batch(model, states)), rounds)
        report.results.append({"case": name, "joints": 30, "states": states, "per_state_s": least / states})
        report.requirements.append(
            Requirement(
                f"{name}, {states:,} states, 30 joints",
                1e6 * least / states,
                "µs per state",
                f"≤ {1e6 * PER_STATE:g}",
                least / states <= PER_STATE,
            )
        )
    speed_up(report, model, QUICK_STATES if options.quick else SPEED_STATES, rounds)
    return report


def calls(model: lw.Model) -> dict[str, Callable[[lw.State], Any]]:
    effort = np.linspace(-1.0, 1.0, model.nv)
    return {
        "forward dynamics": lambda s: lw.forward_dynamics(model, s, effort),
        "inverse dynamics": lambda s: lw.inverse_dynamics(model, s, effort),
        "poses": lambda s: lw.body_poses(model, s),
    }


def batch(model: lw.Model, count: int) -> lw.State:
    key = (model.name, count)
    if key not in _KEPT:
        drawn = [model.random_state(seed) for seed in range(min(count, STATES))]
        times = -(-count // len(drawn))
        q, v = (np.tile(np.array([getattr(s, x) for s in drawn]), (times, 1))[:count] for x in "qv")
        _KEPT[key] = lw.State(q, v)
    return _KEPT[key]


_KEPT: dict[Any, lw.State] = {}


def check(model: lw.Model, call: Callable[[lw.State], Any]) -> None:
    states = batch(model, QUICK_STATES)
    together = call(states)
    for k in (0, 7, QUICK_STATES - 1):
        if not np.array_equal(together[k], call(lw.State(states.q[k].copy(), states.v[k].copy()))):
            raise AssertionError("a row of a batch has other bits than a call of its own.")


def timed(call: Callable[[], Any], rounds: int) -> tuple[float, float]:
    """Least seconds of a call, and least processor seconds of its busiest thread."""
    call()
    wall, used = [], []
    for _ in range(rounds):
        begin, busy = time.perf_counter(), thread_times()
        call()
        wall.append(time.perf_counter() - begin)
        used.append(max(now - busy.get(thread, 0.0) for thread, now in thread_times().items()))
    return min(wall), min(used)


def thread_times() -> dict[str, float]:
    """Processor seconds of each thread of this process; of the calling one where the system does not say."""
    try:
        tasks = [
            (task.name, (task / "schedstat").read_text(encoding="ascii")) for task in Path("/proc/self/task").iterdir()
        ]
    except OSError:
        return {"this": time.thread_time()}
    return {name: 1e-9 * float(text.split()[0]) for name, text in tasks}


def two_cores(mine: list[int]) -> list[int]:
    """Two of these processors that are not threads of one core, where the system says so and there are such."""
    try:
        said = Path(f"/sys/devices/system/cpu/cpu{mine[0]}/topology/thread_siblings_list").read_text(encoding="ascii")
    except OSError:
        return mine[:2]
    spans = [[int(end) for end in part.split("-")] for part in said.strip().split(",")]
    others = [cpu for cpu in mine[1:] if not any(span[0] <= cpu <= span[-1] for span in spans)]
    return [mine[0], *(others or mine[1:])[:1]]


def speed_up(report: Report, model: lw.Model, states: int, rounds: int) -> None:
    if not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2:
        report.notes.append("fewer than two cores, or no way to take one away: speed-up is not measured.")
        return
    progress("two cores")
    mine = sorted(os.sched_getaffinity(0))
    two = two_cores(mine)
    call = calls(model)["forward dynamics"]
    given = batch(model, states)
    best = {1: np.inf, 2: np.inf}
    used = {1: np.inf, 2: np.inf}
    try:
        for _ in range(rounds):
            for cores in (1, 2):
                os.sched_setaffinity(0, two[:cores])
                wall, busy = timed(lambda: call(given), 1)
                best[cores], used[cores] = min(best[cores], wall), min(used[cores], busy)
    finally:
        os.sched_setaffinity(0, mine)
    gain, by_clock = used[1] / used[2] / 2.0, best[1] / best[2] / 2.0
    report.results.append(
        {"case": "two cores", "one_s": best[1], "two_s": best[2], "one_busy_s": used[1], "two_busy_s": used[2]}
    )
    report.requirements.append(
        Requirement(
            f"forward dynamics, {states:,} states, two cores",
            gain,
            "of linear speed-up, by processor time of the busier thread",
            f"≥ {SHARE:g}",
            gain >= SHARE,
            detail=f"by the wall clock: {by_clock:.3f}",
        )
    )
