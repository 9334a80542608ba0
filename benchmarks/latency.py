"""How long the slowest calls take: median, 99 % to 99.99 % and worst, of simulations stepped one call at a time."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import linkwork as lw

from .harness import Requirement, TableReport, duration, fill_in, progress

SIZES = (1_000, 50_000)
QUICK_SIZES = (300,)
CALLS, QUICK_CALLS = 1_000_000, 300
WARM = 200  # calls before the first that counts: set-up, kernels from disk, the first comparison with `aba`
PARTS = (50.0, 99.0, 99.9, 99.99, 100.0)  # [%]
TOLERANCE = 2.0**-11
ACTIVE = 100  # joints, of adaptive dynamics
H = 1e-3  # [s]
# 99.99 % over the median: must, goal. Updates of the region are a part of adaptive steps.
STEP, ADAPTIVE = (5.0, 3.0), (20.0, 8.0)


class Case(NamedTuple):
    """One kind of call, made again and again. limits: must and goal for 99.99 % over the median."""

    name: str
    call: Callable[[int], object]
    limits: tuple[float, float]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--calls", type=int, help=f"of each kind (default: {CALLS:,})")
    parser.add_argument("--joints", type=int, nargs="+", help=f"of the molecule (default: {SIZES[0]:,} {SIZES[1]:,})")
    parser.add_argument("--page", metavar="FILE", type=Path, help="fill the tables of a Markdown page in")


def run(options: argparse.Namespace) -> TableReport:
    sizes = tuple(options.joints or (QUICK_SIZES if options.quick else SIZES))
    calls = options.calls or (QUICK_CALLS if options.quick else CALLS)
    report = TableReport("latency", {"joints": sizes, "calls": calls}, is_judged=not options.quick)
    for joints in sizes:
        model = lw.library.molecule(joints).compile()
        full = time_of_aba(model)
        rows = []
        for case in cases(model):
            progress(f"{case.name}, {joints:,} joints")
            taken = measure(case.call, calls)
            rows.append(judge(report, case, joints, taken, full))
        title = f"{joints:,} joints, {calls:,} calls of each, processor time; one `aba` takes {duration(full)}"
        report.add_table("calls", title, ["call", "median", "99 %", "99.9 %", "99.99 %", "worst"], rows)
    if options.page is not None:
        fill_in(options.page, report)
    return report


def judge(report: TableReport, case: Case, joints: int, taken: np.ndarray, full: float) -> list[str]:
    """Adds the requirements of a case; returns its row of the table. taken: [s] of each call."""
    at = dict(zip(PARTS, np.percentile(taken, PARTS).tolist(), strict=True))
    must, goal = case.limits
    ratio = at[99.99] / at[50.0]
    what = f"{case.name}, {joints:,} joints"
    report.requirements.append(
        Requirement(
            f"{what}: 99.99 %", ratio, "times the median", f"≤ {must:g}", ratio <= must, f"≤ {goal:g}", ratio <= goal
        )
    )
    worst = at[100.0] / full
    report.requirements.append(Requirement(f"{what}: worst", worst, "times one aba", "≤ 1", worst <= 1.0))
    report.results.append({"case": case.name, "joints": joints, "seconds": at, "aba_s": full})
    return [case.name, *(duration(at[part]) for part in PARTS)]


def measure(call: Callable[[int], object], calls: int) -> np.ndarray:
    """Processor time of each call [s], shape (calls,): what other programs take is not part of it."""
    for k in range(WARM):
        call(k)
    taken, clock = np.empty(calls, dtype=np.int64), time.thread_time_ns
    for k in range(calls):
        began = clock()
        call(WARM + k)
        taken[k] = clock() - began
    return 1e-9 * taken


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


def cases(model: lw.Model) -> Iterator[Case]:
    """Each is made when its turn comes, proven right, and left when the next one is made."""
    yield Case("QuasiStatics.step, force still", quasi_statics(model, "still"), STEP)
    yield Case("QuasiStatics.step, force changing", quasi_statics(model, "changing"), STEP)
    yield Case("QuasiStatics.step, force travelling", quasi_statics(model, "travelling"), STEP)
    yield Case("QuasiStatics.solve, force changing", quasi_statics(model, "solve"), STEP)
    yield Case("AdaptiveDynamics.step, no updates", adaptive(model, 10**9), STEP)
    yield Case("AdaptiveDynamics.step, updates every 10", adaptive(model, 10), ADAPTIVE)
    yield Case("Response.body_response", response(model), STEP)
    yield Case("haptic tick", haptics(model, tick=True), STEP)
    yield Case("haptic snapshot", haptics(model, tick=False), STEP)


def pull(model: lw.Model, k: int) -> np.ndarray:
    """A force [N] that turns with the calls, as a wrench, shape (1, 6)."""
    angle = 2.0 * math.pi * k / 1000.0
    return np.array([[0.0, 0.0, 0.0, 0.1 * math.cos(angle), 0.1 * math.sin(angle), 0.05]])


def quasi_statics(model: lw.Model, what: str) -> Callable[[int], object]:
    sim = lw.QuasiStatics(model, model.neutral(), tolerance=TOLERANCE)
    middle, way = model.n_bodies // 2, max(1, model.n_bodies // 50)
    load = sim.apply_wrench(middle, force=(0.1, 0.0, 0.05), frame="world")
    found = sim.solve()
    exact = lw.forward_dynamics(model, sim.state, wrenches=wrenches_of(model, middle, sim))
    error = np.abs(sim.acceleration - exact).max() / np.abs(exact).max()
    assert error <= found.error_bound, f"the solve is off by {error:.1e}, its bound says {found.error_bound:.1e}"

    def still(k: int) -> object:
        return sim.step(H)

    def changing(k: int) -> object:
        sim.set_wrenches(load, pull(model, k))
        return sim.step(H)

    def travelling(k: int) -> object:
        nonlocal load
        sim.clear(load)
        load = sim.apply_wrench(middle + (k // 10) % way, force=(0.1, 0.0, 0.05), frame="world")
        return sim.step(H)

    def solve(k: int) -> object:
        sim.set_wrenches(load, pull(model, k))
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
    sim.step(1e-5)
    assert sim.report.n_active == active

    def step(k: int) -> object:
        if k % 100 == 0:  # to and fro, so that it stays near
            sim.set_wrenches(load, pull(model, 500 * (k // 100)))
        return sim.step(1e-4)

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
