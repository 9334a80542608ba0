"""How long the slowest calls take: median, 99 % to 99.99 % and worst, of simulations stepped one call at a time.

Calls are deterministic: the same calls from the same start do the same work. So each series is made several times over, and
of each call the least processor time counts: what other programs do to caches hits other calls each time, what is the
library's own stays. Wall time of one series is shown beside it.

The calls of one kind are made in parts, each from a start of its own, with the load on another body. Parts go to several
processes, each on a core of its own, and percentiles are those of all calls together. With `--keep FILE` each row is
written down when it is there, and those in the file are not measured again.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw

from .harness import Requirement, TableReport, as_they_come, duration, fill_in, progress

SIZES = (1_000, 50_000)
QUICK_SIZES = (300,)
CALLS, QUICK_CALLS = 1_000_000, 300
REPLAYS, QUICK_REPLAYS = 3, 2
PART = 100_000  # calls of one part, at most
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
    parser.add_argument("--case", nargs="+", default=[""], help="only rows whose name contains one of these")
    parser.add_argument("--leave-out", nargs="+", default=[], help="rows whose name contains one of these")
    parser.add_argument("--joints", type=int, nargs="+", help=f"of the molecule (default: {SIZES[0]:,} {SIZES[1]:,})")
    parser.add_argument("--workers", type=int, default=1, help="parts at a time, each on a core of its own (1)")
    parser.add_argument("--keep", metavar="FILE", type=Path, help="of rows, one line each: read, and added to")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def run(options: argparse.Namespace) -> TableReport:
    sizes = tuple(options.joints or (QUICK_SIZES if options.quick else SIZES))
    calls = options.calls or (QUICK_CALLS if options.quick else CALLS)
    replays = options.replays or (QUICK_REPLAYS if options.quick else REPLAYS)
    report = TableReport("latency", {"joints": sizes, "calls": calls, "replays": replays}, is_judged=not options.quick)
    found = kept_rows(options.keep)
    known = {(result["joints"], result["case"]) for result in found}
    names = [
        name for name in CASES if any(x in name for x in options.case) and not any(x in name for x in options.leave_out)
    ]
    kinds = [(n, name) for n in sorted(sizes) for name in names if (n, name) not in known]
    found += measure_rows(kinds, calls, replays, options.workers, options.keep)
    found.sort(key=lambda result: list(CASES).index(result["case"]))
    for joints in sorted({result["joints"] for result in found}):
        results = [result for result in found if result["joints"] == joints]
        full = float(np.median([result["aba_s"] for result in results]))
        rows = [judge(report, result) for result in results]
        made = "; ".join(
            dict.fromkeys(
                f"{r['calls']:,} calls of each, least processor time of {r['replays']} replays" for r in results
            )
        )
        title = f"{joints:,} joints, {made}; one `aba` takes {duration(full)}"
        columns = ["call", *(f"{part:g} %" for part in PARTS[1:-1]), "worst", "wall, 99.99 %", "worst", "collections"]
        report.add_table("calls", title, [columns[0], "median", *columns[1:]], rows)
    if options.page is not None:
        fill_in(options.page, report)
    return report


def kept_rows(path: Path | None) -> list[dict[str, Any]]:
    """Rows of earlier runs; nothing where there is no file yet."""
    if path is None or not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [with_numbers(json.loads(line)) for line in lines if line]


def with_numbers(result: dict[str, Any]) -> dict[str, Any]:
    """A result read from a file, whose keys are texts there."""
    times = {what: {float(part): x for part, x in result[what].items()} for what in ("seconds", "wall_seconds")}
    return {**result, **times}


def measure_rows(
    kinds: list[tuple[int, str]], calls: int, replays: int, workers: int, keep: Path | None
) -> list[dict[str, Any]]:
    """One row for each kind of call, kept as soon as all its parts are there."""
    parts = max(1, math.ceil(calls / PART))
    tasks = [(*kind, part, math.ceil(calls / parts), replays) for kind in kinds for part in range(parts)]
    series: dict[tuple[int, str], list[dict[str, Any]]] = {kind: [] for kind in kinds}
    rows = []
    if workers > 1:  # kernels are compiled once, not by every process that comes to them
        for _ in as_they_come(part_of, [(QUICK_SIZES[0], name, 0, 20, 1) for name in {x for _, x in kinds}], workers):
            pass
    for k, found in as_they_come(part_of, tasks, workers):
        kind = tasks[k][:2]
        series[kind].append(found)
        if len(series[kind]) < parts:
            continue
        rows.append(row_of(*kind, series.pop(kind), replays))
        progress(f"{len(rows)} of {len(kinds)} rows: {kind[1]}, {kind[0]:,} joints")
        if keep is not None:
            with keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[-1]) + "\n")
    return rows


@lru_cache(maxsize=1)
def linkage_of(name: str, joints: int) -> lw.Model:
    return pressed_chain(joints) if name == TOUCHING else lw.library.molecule(joints).compile()


def part_of(joints: int, name: str, part: int, calls: int, replays: int) -> dict[str, Any]:
    """One part of the calls of one kind, made several times over: of each the least processor time [ns].

    Wall times are those of the first time.
    """
    model, pauses = linkage_of(name, joints), []
    taken, wall = np.full(calls, LONGEST, dtype=np.int32), np.zeros(0, dtype=np.int32)
    for replay in range(replays):
        once, on_the_wall, collected = measure(CASES[name][0](model, part), calls)
        np.minimum(taken, once, out=taken)
        pauses += collected
        if replay == 0:
            wall = on_the_wall
    found = {"taken": taken, "wall": wall, "pauses": pauses, "aba_s": time_of_aba(model)}
    return {**found, "full_s": time_of_full_step(model)} if name == TOUCHING else found


def row_of(joints: int, name: str, parts: list[dict[str, Any]], replays: int) -> dict[str, Any]:
    """One kind of call: all its parts together."""
    taken, wall = (1e-9 * np.concatenate([part[what] for part in parts]) for what in ("taken", "wall"))
    pauses = [pause for part in parts for pause in part["pauses"]]
    full = float(np.median([part["aba_s"] for part in parts]))
    return {
        "case": name,
        "joints": joints,
        "calls": taken.size,
        "replays": replays,
        "seconds": dict(zip(PARTS, np.percentile(taken, PARTS).tolist(), strict=True)),
        "wall_seconds": dict(zip(PARTS, np.percentile(wall, PARTS).tolist(), strict=True)),
        "above_aba": int((taken > full).sum()),
        "collections": f"{len(pauses)}, at most {duration(1e-9 * max(pauses))}" if pauses else "0",
        "aba_s": full,
        "limits": CASES[name][1],
        **({"full_s": float(np.median([part["full_s"] for part in parts]))} if "full_s" in parts[0] else {}),
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
    above = f"{result['above_aba']:,} of {result['calls']:,} calls above"
    report.requirements.append(Requirement(f"{what}: worst", worst, "times one aba", "≤ 1", worst <= 1.0, detail=above))
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


def near_middle(bodies: int, part: int) -> int:
    """The body that is loaded: each part has another one next to the middle."""
    return bodies // 2 + part % max(1, bodies // 50)


def quasi_statics(model: lw.Model, part: int, what: str) -> Callable[[int], object]:
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=TOLERANCE)
    middle, way = near_middle(model.n_bodies, part), max(1, model.n_bodies // 50)
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


def adaptive(model: lw.Model, part: int, update_every: int) -> Callable[[int], object]:
    active = min(ACTIVE, model.n_bodies // 3)
    sim = lw.AdaptiveDynamics(
        model, model.neutral(), max_active_joints=active, update_every=update_every, integrator="semi_implicit_euler"
    )
    load = sim.apply_wrench(near_middle(model.n_bodies, part), force=(0.1, 0.0, 0.05), frame="world")
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


def touching(model: lw.Model, part: int) -> Callable[[int], object]:
    """A chain whose last link a force presses onto a block, now more, now less."""
    joints = model.n_bodies
    sim = lw.AdaptiveDynamics(model, model.neutral(), max_active_joints=min(ACTIVE, joints // 3), contact=lw.Contact())
    load = sim.apply_wrench(joints - 1, force=(0.0, 0.0, -0.05), frame="world")
    presses = [np.array([[0.0, 0.0, 0.0, 0.0, 0.0, down - 0.001 * part]]) for down in (-0.05, -0.07)]
    sim.advance(1e-3, 500)
    assert sim.contacts, "the link does not touch the block"

    def step(k: int) -> object:
        sim.set_wrenches(load, presses[k // 100 % 2])
        return sim.step(1e-3)

    return step


def response(model: lw.Model, part: int) -> Callable[[int], object]:
    asked = lw.Response(model, model.neutral())
    bodies = np.random.default_rng(part).integers(model.n_bodies, size=1000).tolist()
    unit = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    first, second = bodies[:2]
    there, back = (asked.body_response(of, wrench_on=on, wrench=unit) for of, on in ((first, second), (second, first)))
    assert math.isclose(there[3], back[3], rel_tol=1e-6, abs_tol=1e-9), "responses are not those of a symmetric matrix"
    return lambda k: asked.body_response(bodies[k % 1000], wrench_on=bodies[(k + 1) % 1000], wrench=unit)


def haptics(model: lw.Model, part: int, tick: bool) -> Callable[[int], object]:
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=TOLERANCE)
    pointer = lw.haptics.Pointer()
    held = lw.haptics.grasp(sim, near_middle(model.n_bodies, part), pointer, stiffness=1.0, damping=0.01)
    session = held.session
    session.publish()

    def move(k: int) -> object:
        pointer.move((0.01 * math.sin(0.01 * k), 0.0, 0.0))
        return session.tick()

    def snapshot(k: int) -> object:
        return session.publish()

    return move if tick else snapshot


# One kind of call: what makes the calls of a part from a fresh start, and must and goal for 99.99 % over the median.
CASES: dict[str, tuple[Callable[[lw.Model, int], Callable[[int], object]], tuple[float, float]]] = {
    "QuasiStatics.step, force still": (lambda model, part: quasi_statics(model, part, "still"), STEP),
    "QuasiStatics.step, force changing": (lambda model, part: quasi_statics(model, part, "changing"), STEP),
    "QuasiStatics.step, force travelling": (lambda model, part: quasi_statics(model, part, "travelling"), STEP),
    "QuasiStatics.solve, force changing": (lambda model, part: quasi_statics(model, part, "solve"), STEP),
    "AdaptiveDynamics.step, no updates": (lambda model, part: adaptive(model, part, 10**9), STEP),
    "AdaptiveDynamics.step, updates every 10": (lambda model, part: adaptive(model, part, 10), ADAPTIVE),
    TOUCHING: (lambda model, part: touching(model, part), ADAPTIVE),
    "Response.body_response": (lambda model, part: response(model, part), STEP),
    "haptic tick": (lambda model, part: haptics(model, part, tick=True), STEP),
    "haptic snapshot": (lambda model, part: haptics(model, part, tick=False), STEP),
}
