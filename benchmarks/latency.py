"""How long the slowest calls take: median, 99 % to 99.99 % and worst, of simulations stepped one call at a time.

Calls are deterministic: the same calls from the same start do the same work. So each series is made several times over, and
of each call the least processor time counts: what other programs do to caches hits other calls each time, what is the
library's own stays. Wall time of one series is shown beside it.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw

from .harness import Requirement, TableReport, duration, fill_in, on_cores, progress

SIZES = (1_000, 50_000)
QUICK_SIZES = (300,)
CALLS, QUICK_CALLS = 1_000_000, 300
REPLAYS, QUICK_REPLAYS = 3, 2
WARM = 200  # calls before the first that counts: set-up, kernels from disk, the first comparison with `aba`
LONGEST = 2**31 - 1  # [ns] of a call that is told apart from longer ones
PARTS = (50.0, 99.0, 99.9, 99.99, 100.0)  # [%]
TOLERANCE = 2.0**-11
ACTIVE = 100  # joints, of adaptive dynamics
H = 1e-3  # [s]
TURN = 1000  # calls in which a force turns once
TOUCHING = "AdaptiveDynamics.step, contact"  # a linkage of its own, and beside `aba` a step of all its joints
# 99.99 % over the median: must, goal. Updates of the region are a part of adaptive steps.
STEP, ADAPTIVE = (5.0, 3.0), (20.0, 8.0)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--calls", type=int, help=f"of each kind (default: {CALLS:,})")
    parser.add_argument("--replays", type=int, help=f"of each series of calls (default: {REPLAYS})")
    parser.add_argument("--case", help="only rows whose name contains this")
    parser.add_argument("--joints", type=int, nargs="+", help=f"of the molecule (default: {SIZES[0]:,} {SIZES[1]:,})")
    parser.add_argument("--workers", type=int, default=1, help="series at a time, each on a core of its own (1)")
    parser.add_argument("--also", metavar="JSON", type=Path, nargs="+", default=[], help="runs that are shown as well")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def run(options: argparse.Namespace) -> TableReport:
    sizes = tuple(options.joints or (QUICK_SIZES if options.quick else SIZES))
    calls = options.calls or (QUICK_CALLS if options.quick else CALLS)
    replays = options.replays or (QUICK_REPLAYS if options.quick else REPLAYS)
    kept = {"joints": sizes, "calls": calls, "replays": replays}
    report = TableReport("latency", kept, is_judged=not options.quick)
    names = [name for name in CASES if not options.case or options.case in name]
    kinds = [(joints, name) for joints in sorted(sizes, reverse=True) for name in names]
    tasks = [(*kind, calls, replay) for kind in kinds for replay in range(replays)]
    series = on_cores(replay_of, tasks, options.workers)
    found = [row_of(*kind, series[k * replays : (k + 1) * replays]) for k, kind in enumerate(kinds)]
    for earlier in options.also:
        found += [with_numbers(result) for result in json.loads(earlier.read_text(encoding="utf-8"))["results"]]
    found.sort(key=lambda result: list(CASES).index(result["case"]))
    for joints in sorted({result["joints"] for result in found}):
        results = [result for result in found if result["joints"] == joints]
        full = float(np.median([result["aba_s"] for result in results]))
        rows = [judge(report, result) for result in results]
        title = (
            f"{joints:,} joints, {calls:,} calls of each, least processor time of {replays} replays; "
            f"one `aba` takes {duration(full)}"
        )
        columns = ["call", *(f"{part:g} %" for part in PARTS[1:-1]), "worst", "wall, 99.99 %", "worst", "collections"]
        report.add_table("calls", title, [columns[0], "median", *columns[1:]], rows)
    if options.page is not None:
        fill_in(options.page, report)
    return report


def with_numbers(result: dict[str, Any]) -> dict[str, Any]:
    """A result read from a file, whose keys are texts there."""
    times = {what: {float(part): x for part, x in result[what].items()} for what in ("seconds", "wall_seconds")}
    return {**result, **times}


def replay_of(joints: int, name: str, calls: int, replay: int) -> dict[str, Any]:
    """Makes one series of one kind of call; times of each [ns]. Wall times are those of the first series."""
    progress(f"{name}, {joints:,} joints, replay {replay + 1}")
    model = pressed_chain(joints) if name == TOUCHING else lw.library.molecule(joints).compile()
    taken, wall, pauses = measure(CASES[name][0](model), calls)
    found = {"taken": taken, "wall": wall if replay == 0 else None, "pauses": pauses, "aba_s": time_of_aba(model)}
    return {**found, "full_s": time_of_full_step(model)} if name == TOUCHING else found


def row_of(joints: int, name: str, replays: list[dict[str, Any]]) -> dict[str, Any]:
    """One kind of call: of each call the least time over the replays."""
    taken = 1e-9 * np.min([replay["taken"] for replay in replays], axis=0)
    pauses = [pause for replay in replays for pause in replay["pauses"]]
    return {
        "case": name,
        "joints": joints,
        "seconds": dict(zip(PARTS, np.percentile(taken, PARTS).tolist(), strict=True)),
        "wall_seconds": dict(zip(PARTS, (1e-9 * np.percentile(replays[0]["wall"], PARTS)).tolist(), strict=True)),
        "collections": f"{len(pauses)}, at most {duration(1e-9 * max(pauses))}" if pauses else "0",
        "aba_s": float(np.median([replay["aba_s"] for replay in replays])),
        "limits": CASES[name][1],
        **({"full_s": float(np.median([replay["full_s"] for replay in replays]))} if "full_s" in replays[0] else {}),
    }


def judge(report: TableReport, result: dict[str, Any]) -> list[str]:
    """Adds the requirements of a kind of call; returns its row of the table."""
    at, full, (must, goal) = result["seconds"], result["aba_s"], result["limits"]
    ratio = at[99.99] / at[50.0]
    what = f"{result['case']}, {result['joints']:,} joints"
    report.requirements.append(
        Requirement(
            f"{what}: 99.99 %", ratio, "times the median", f"≤ {must:g}", ratio <= must, f"≤ {goal:g}", ratio <= goal
        )
    )
    worst = at[100.0] / full
    report.requirements.append(Requirement(f"{what}: worst", worst, "times one aba", "≤ 1", worst <= 1.0))
    if "full_s" in result:  # it solves contacts too, which `aba` does not
        worst = at[100.0] / result["full_s"]
        report.requirements.append(Requirement(f"{what}: worst", worst, "times one full step", "≤ 1", worst <= 1.0))
    report.results.append(result)
    wall = [duration(result["wall_seconds"][part]) if result["wall_seconds"] else "–" for part in (99.99, 100.0)]
    return [result["case"], *(duration(at[part]) for part in PARTS), *wall, result["collections"]]


def measure(call: Callable[[int], object], calls: int) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Processor time and wall time of each call [ns], both of shape (calls,); how long each collection of garbage took."""
    taken, wall = np.empty(calls, dtype=np.int32), np.empty(calls, dtype=np.int32)
    pauses: list[int] = []
    begun = 0

    def watch(phase: str, _: dict[str, int]) -> None:
        nonlocal begun
        if phase == "start":
            begun = time.thread_time_ns()
        else:
            pauses.append(time.thread_time_ns() - begun)

    for k in range(WARM):
        call(k)
    clock, on_the_wall = time.thread_time_ns, time.perf_counter_ns
    gc.callbacks.append(watch)
    try:
        for k in range(calls):
            looked = on_the_wall()
            began = clock()
            call(WARM + k)
            taken[k] = min(clock() - began, LONGEST)
            wall[k] = min(on_the_wall() - looked, LONGEST)
    finally:
        gc.callbacks.remove(watch)
    return taken, wall, pauses


def time_of_aba(model: lw.Model) -> float:
    """Median processor time of one call of forward dynamics [s]."""
    state = model.neutral()
    taken = []
    for _ in range(9):
        began = time.thread_time_ns()
        lw.forward_dynamics(model, state, algorithm="aba")
        taken.append(1e-9 * (time.thread_time_ns() - began))
    return float(np.median(taken))


# ------------------------------------------------------------------------------------------------------------------- calls


def pulls(lift: float) -> list[np.ndarray]:
    """A force [N] that turns once in 1,000 calls, as wrenches, each of shape (1, 6). lift: along z."""
    angles = 2.0 * np.pi * np.arange(TURN) / TURN
    rows = np.zeros((TURN, 1, 6))
    rows[:, 0, 3], rows[:, 0, 4], rows[:, 0, 5] = 0.1 * np.cos(angles), 0.1 * np.sin(angles), lift
    return list(rows)


def quasi_statics(model: lw.Model, what: str) -> Callable[[int], object]:
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=TOLERANCE)
    middle, way = model.n_bodies // 2, max(1, model.n_bodies // 50)
    load = sim.apply_wrench(middle, force=(0.1, 0.0, 0.05), frame="world")
    turning = pulls(0.05)
    found = sim.solve()
    exact = lw.forward_dynamics(model, sim.state, wrenches=wrenches_of(model, middle, sim))
    error = np.abs(sim.acceleration - exact).max() / np.abs(exact).max()
    assert error <= found.error_bound, f"the solve is off by {error:.1e}, its bound says {found.error_bound:.1e}"

    def still(k: int) -> object:
        return sim.step(H)

    def changing(k: int) -> object:
        sim.set_wrenches(load, turning[k % TURN])
        return sim.step(H)

    def travelling(k: int) -> object:
        nonlocal load
        sim.clear(load)
        load = sim.apply_wrench(middle + (k // 10) % way, force=(0.1, 0.0, 0.05), frame="world")
        return sim.step(H)

    def solve(k: int) -> object:
        sim.set_wrenches(load, turning[k % TURN])
        return sim.solve()

    return {"still": still, "changing": changing, "travelling": travelling, "solve": solve}[what]


def wrenches_of(model: lw.Model, body: int, sim: lw.QuasiStatics) -> np.ndarray:
    """The force on a body in its own frame, as forward dynamics takes it, shape (n, 6)."""
    wrenches = np.zeros((model.n_bodies, 6))
    wrenches[body, 3:] = lw.body_poses(model, sim.state)[body, :3, :3].T @ (0.1, 0.0, 0.05)
    return wrenches


def adaptive(model: lw.Model, update_every: int) -> Callable[[int], object]:
    active = min(ACTIVE, model.n_bodies // 3)
    sim = lw.AdaptiveDynamics(
        model, model.neutral(), max_active_joints=active, update_every=update_every, integrator="semi_implicit_euler"
    )
    load = sim.apply_wrench(model.n_bodies // 2, force=(0.1, 0.0, 0.05), frame="world")
    turning = pulls(0.0)
    sim.step(1e-5)
    assert sim.report.n_active == active

    def step(k: int) -> object:
        sim.set_wrenches(load, turning[k % TURN])
        return sim.step(1e-4)

    return step


def time_of_full_step(model: lw.Model) -> float:
    """Median processor time of a step of all joints with contact, while the link is pressed onto the block [s]."""
    sim = lw.FullDynamics(model, model.neutral(), contact=lw.Contact())
    sim.apply_wrench(model.n_bodies - 1, force=(0.0, 0.0, -0.05), frame="world")
    sim.advance(1e-3, 500)
    assert sim.contacts, "the link does not touch the block"
    taken = []
    for _ in range(99):
        began = time.thread_time_ns()
        sim.step(1e-3)
        taken.append(1e-9 * (time.thread_time_ns() - began))
    return float(np.median(taken))


def pressed_chain(joints: int) -> lw.Model:
    """A straight chain without weight, whose last link lies right above a block."""
    linkage = lw.Linkage("pressed chain")
    linkage.gravity = (0.0, 0.0, 0.0)
    rod = lw.Inertia.box(0.1, (0.1, 0.02, 0.02)).at(lw.Pose((0.05, 0.0, 0.0)))
    hinge = lw.Revolute((0.0, 1.0, 0.0), damping=0.01)
    for k in range(joints):
        along = lw.Pose((0.05, 0.0, 0.0), rpy=(0.0, math.pi / 2, 0.0))
        shapes = [lw.Capsule(0.01, 0.08, placement=along)] if k == joints - 1 else []
        linkage.add_body(
            f"link_{k}",
            f"link_{k - 1}" if k else "world",
            hinge,
            lw.Pose((0.1 if k else 0.0, 0.0, 0.0)),
            rod,
            shapes=shapes,
        )
    tip = 0.1 * (joints - 1)
    linkage.add_obstacle("block", lw.Box((0.2, 0.2, 0.1)), lw.Pose((tip, 0.0, -0.0655)))
    return linkage.compile()


def touching(model: lw.Model) -> Callable[[int], object]:
    """A chain whose last link a force presses onto a block, now more, now less."""
    joints = model.n_bodies
    sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=min(ACTIVE, joints // 3), contact=lw.Contact())
    load = sim.apply_wrench(joints - 1, force=(0.0, 0.0, -0.05), frame="world")
    presses = [np.array([[0.0, 0.0, 0.0, 0.0, 0.0, down]]) for down in (-0.05, -0.07)]
    sim.advance(1e-3, 500)
    assert sim.contacts, "the link does not touch the block"

    def step(k: int) -> object:
        sim.set_wrenches(load, presses[k // 100 % 2])
        return sim.step(1e-3)

    return step


def response(model: lw.Model) -> Callable[[int], object]:
    asked = lw.Response(model, model.neutral())
    bodies = np.random.default_rng(0).integers(model.n_bodies, size=1000).tolist()
    unit = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    first, second = bodies[:2]
    there, back = (asked.body_response(of, wrench_on=on, wrench=unit) for of, on in ((first, second), (second, first)))
    assert math.isclose(there[3], back[3], rel_tol=1e-6, abs_tol=1e-9), "responses are not those of a symmetric matrix"
    return lambda k: asked.body_response(bodies[k % 1000], wrench_on=bodies[(k + 1) % 1000], wrench=unit)


def haptics(model: lw.Model, tick: bool) -> Callable[[int], object]:
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=TOLERANCE)
    pointer = lw.haptics.Pointer()
    held = lw.haptics.grasp(sim, model.n_bodies // 2, pointer, stiffness=1.0, damping=0.01)
    session = held.session
    session.publish()

    def move(k: int) -> object:
        pointer.move((0.01 * math.sin(0.01 * k), 0.0, 0.0))
        return session.tick()

    def snapshot(k: int) -> object:
        return session.publish()

    return move if tick else snapshot


# One kind of call: what makes the calls from a fresh start, and must and goal for 99.99 % over the median.
CASES: dict[str, tuple[Callable[[lw.Model], Callable[[int], object]], tuple[float, float]]] = {
    "QuasiStatics.step, force still": (lambda model: quasi_statics(model, "still"), STEP),
    "QuasiStatics.step, force changing": (lambda model: quasi_statics(model, "changing"), STEP),
    "QuasiStatics.step, force travelling": (lambda model: quasi_statics(model, "travelling"), STEP),
    "QuasiStatics.solve, force changing": (lambda model: quasi_statics(model, "solve"), STEP),
    "AdaptiveDynamics.step, no updates": (lambda model: adaptive(model, 10**9), STEP),
    "AdaptiveDynamics.step, updates every 10": (lambda model: adaptive(model, 10), ADAPTIVE),
    TOUCHING: (lambda model: touching(model), ADAPTIVE),
    "Response.body_response": (lambda model: response(model), STEP),
    "haptic tick": (lambda model: haptics(model, tick=True), STEP),
    "haptic snapshot": (lambda model: haptics(model, tick=False), STEP),
}
