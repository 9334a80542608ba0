"""Linkages on one GPU: a million joints in milliseconds, thousands of samples at once, against every core of the CPU.

Accelerations are compared with those of `aba` on the CPU before anything is timed. A timed call is complete: it begins with
q, v and efforts in CuPy arrays and ends when the accelerations are there, waiting included. Calls of one kind follow each
other for a tenth of a second before another kind has its turn: what a program gets that calls in a loop. What the first
calls take after a pause is a part of its own (`--parts pauses`). Bytes are those that each sweep must read and write once;
the bandwidth beside them is that of a large copy on the same machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.assembly.levels import IS_TOP, Levels
from linkwork.assembly.node_table import BODY, HANG, JOIN, SUM
from linkwork.gpu import DeviceModel
from linkwork.gpu.cuda import load_cupy

from ..harness import Report, Requirement, progress, take_turns
from .cases import SEED, SHAPES, AllCores, figure_of_hinges, random_states
from .peers import STEPS, MujocoRollout
from .settings import IN_A_LOOP, time_kernels, try_pauses, try_settings

AGREEMENT = 1e-9  # relative, in the largest entry
LIMITS = {
    ("chain", 20): (2.0, 1.5),
    ("molecule", 20): (8.0, 4.0),
    ("random tree", 20): (8.0, 4.0),
    ("chain", 14): (0.3, 0.0),
}
FIRST_CALL, LATER_CALL = 15.0, 2.0  # [s] in a process, with and without compilation
BATCH, STATES_RATIO = 16_384, 20.0
STEP = 1e-3  # [s]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=15, help="turns each contestant takes (15)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 14, 17, 20], help="joints: these powers of two")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), help="which shapes (all)")
    parser.add_argument("--batch", type=int, default=BATCH, help=f"samples of the figure of hinges ({BATCH})")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=list(DEFAULT),
        help="which parts (all but settings, kernels and pauses)",
    )


def run(options: argparse.Namespace) -> Report:
    cupy = load_cupy()
    if options.quick:
        options.sizes, options.rounds, options.batch = [8, 10], 3, 256
    keys = ("quick", "rounds", "sizes", "shapes", "batch", "parts")
    report = Report("gpu", {key: getattr(options, key) for key in keys}, is_judged=not options.quick)
    name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())["name"].decode()
    bandwidth = copy_bandwidth(cupy, 2**26 if options.quick else 2**31)
    report.environment["gpu"] = name
    report.notes.append(f"{name}; a large copy moves {bandwidth / 1e12:.2f} TB/s, bytes read and written.")
    for part in options.parts:
        PARTS[part](report, options, cupy, bandwidth)
    return report


def copy_bandwidth(cupy: Any, size: int) -> float:
    """Bytes read and written in a second by a copy within the GPU's memory."""
    one, other = cupy.zeros(size, dtype=cupy.uint8), cupy.empty(size, dtype=cupy.uint8)
    times = []
    for _ in range(5):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        other.data.copy_from_device_async(one.data, size)
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, end) * 1e-3)
    return 2.0 * size / min(times)


def check(what: str, own: np.ndarray, expected: np.ndarray, tolerance: float = AGREEMENT) -> float:
    """Stops the benchmark when answers differ: a fast wrong one is worth nothing."""
    difference = float(np.abs(own - expected).max() / np.abs(expected).max())
    if not difference <= tolerance:
        raise lw.LinkworkError(
            f"{what}: answers differ by {difference:.1e}; at most {tolerance:g} is rounding. Nothing was timed."
        )
    return difference


# ---------------------------------------------------------------------------------------------------- one long linkage


class Case:
    """One mechanism in one state, on the CPU and on the GPU."""

    def __init__(self, cupy: Any, shape: str, joints: int):
        progress(f"{shape}, {joints:,} joints")
        self.cupy, self.model = cupy, SHAPES[shape](joints).compile()
        rng = np.random.default_rng(SEED)
        self.state = self.model.random_state(rng, speed=0.1)
        self.effort = rng.normal(size=self.model.nv)
        self.expected = self.aba()

    def aba(self) -> np.ndarray:
        return lw.forward_dynamics(self.model, self.state, self.effort)

    def on_device(self, dtype: str) -> tuple[DeviceModel, Any]:
        device = DeviceModel(self.model, dtype, schedule="levels")
        arrays = [self.cupy.asarray(x, dtype=dtype) for x in (self.state.q, self.state.v, self.effort)]
        return device, lambda: device.forward_dynamics(*arrays)

    def waiting(self, call: Any) -> Any:
        def complete() -> None:
            call()
            self.cupy.cuda.get_current_stream().synchronize()

        return complete


def long_linkages(report: Report, options: argparse.Namespace, cupy: Any, bandwidth: float) -> None:
    for shape in options.shapes:
        for power in options.sizes:
            case = Case(cupy, shape, 2**power)
            device, call = case.on_device("float64")
            difference = check(f"{shape}, 2^{power} joints", call().get(), case.expected)
            single, single_call = case.on_device("float32")
            calls = {"gpu": case.waiting(call), "gpu, float32": case.waiting(single_call), "aba, one core": case.aba}
            rounds = options.rounds if power < 19 else min(options.rounds, 7)
            timings = take_turns(calls, rounds, sample_time=5e-3 if options.quick else IN_A_LOOP)
            moved = bytes_moved(device._plan(1)[0], case.model, 8)
            report.add_timings(
                f"forward dynamics, {shape}", 2**power, timings, bytes_moved=moved, difference=difference
            )
            milliseconds = timings["gpu"].median * 1e3
            must, goal = LIMITS.get((shape, power), (0.0, 0.0))
            share = moved / bandwidth / timings["gpu"].median
            times = timings["gpu"].times_faster_than(timings["aba, one core"])
            report.requirements.append(
                Requirement(
                    f"forward dynamics, {shape}, 2^{power} joints, float64", milliseconds, "ms",
                    f"≤ {must:g} ms" if must else "", not must or milliseconds <= must,
                    f"≤ {goal:g} ms" if goal else "", milliseconds <= goal if goal else None,
                    detail=f"{moved / 1e9:.3g} GB moved, {share:.0%} of the bandwidth; {times:.2g} times aba on one core; "
                    f"differs by {difference:.0e}",
                )
            )  # fmt: skip
            del device, call, single, single_call, calls
            cupy.get_default_memory_pool().free_all_blocks()


def bytes_moved(levels: Levels, model: lw.Model, itemsize: int) -> int:
    """What the sweeps of forward dynamics read and write, each number of a sweep once."""
    n, nv = model.n_bodies, model.nv
    kind, is_top = levels.code & 3, (levels.code & IS_TOP) > 0
    there = levels.code >= 0
    for start, end in zip(levels.first, levels.alone, strict=False):
        there[start:end] = False  # nodes inside strands
    joins, hangs = there & (kind == JOIN), there & (kind == HANG)
    fat, sums = int((there & (kind == BODY)).sum()), int((there & (kind == SUM)).sum())
    plain_child = np.zeros(levels.code.size)
    for child in (levels.left, levels.right):
        is_body = (child < 0) | ((child >= 0) & (kind[child] == BODY))
        plain_child += np.where(is_body, 1.0, 0.0)
    cluster = 90.0  # Φ11, Φ22, Φ21, b1, b2; of a body Φ and b: 27
    joint = 12 + 6 + 6 + 2  # pose, c, column, effort, armature
    up = (2 * cluster - (cluster - 27) * plain_child[joins] + joint + 27 + np.where(is_top[joins], 27, 90)).sum()
    up += hangs.sum() * (27 + joint + 27 + 27) + fat * (27 + 16 + 27) + sums * 81
    down = (2 * 36 - 15 * plain_child[joins] + 12 + 27 + joint + 24 + 1).sum()
    down += hangs.sum() * (6 + 27 + joint + 12 + 1) + fat * (12 + 27 + 12) + sums * 18
    kinematics = joins.sum() * (18 * 3 + 18 + 18 + 6 + 18 + 12) + hangs.sum() * (6 + 18 + 6) + fat * 18 + sums * 18
    strands, in_strands = levels.strand_slot.size, int((levels.strand_body >= 0).sum())
    pivots, inside = 13, in_strands - strands  # joints inside strands
    up += in_strands * (10 + 6) + inside * (joint + pivots) + strands * cluster
    down += inside * (joint - 2 + pivots + 1) + strands * (27 + 36 + 12)
    kinematics += inside * (18 + 18 + 6) + strands * (18 + 6 + 6)
    bodies = n * (12 + 9 + 6 + 12 + 6) + 8 * nv + n * (6 + 6 + 10 + 12) + (n - in_strands) * 21 + 6 * nv
    return int(itemsize * (up + down + kinematics + bodies))


# ---------------------------------------------------------------------------------------------------------- first call

FIRST = """
import sys, time
import numpy as np, cupy
import linkwork as lw
model = lw.library.chain(joints=1024).compile()
state = model.random_state(1)
lw.forward_dynamics(model, state)
cupy.zeros(1).sum().item()
start = time.perf_counter()
device = lw.gpu.DeviceModel(model)
device.forward_dynamics(state.q, state.v, check=True)
print(time.perf_counter() - start)
"""


def first_calls(report: Report, options: argparse.Namespace, cupy: Any, bandwidth: float) -> None:
    """DeviceModel and its first forward dynamics in new processes: nothing compiled yet, then all of it kept on disk."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CUPY_CACHE_DIR": folder}
        for what, limit in (("compilation included", FIRST_CALL), ("in a later process", LATER_CALL)):
            progress(f"first call, {what}")
            done = subprocess.run(
                [sys.executable, "-c", FIRST], env=environment, capture_output=True, text=True, check=True
            )
            seconds = float(done.stdout.split()[-1])
            report.requirements.append(
                Requirement(f"first call, {what}", seconds, "s", f"≤ {limit:g} s", seconds <= limit)
            )


# ---------------------------------------------------------------------------------------------------- single precision


def single_precision(report: Report, options: argparse.Namespace, cupy: Any, bandwidth: float) -> None:
    """What float32 costs in digits on chains."""
    for joints in (100, 1000) if options.quick else (10**2, 10**3, 10**4, 10**5, 10**6):
        case = Case(cupy, "chain", joints)
        _, call = case.on_device("float32")
        error = float(np.linalg.norm(call().get() - case.expected) / np.linalg.norm(case.expected))
        report.requirements.append(
            Requirement(
                f"float32, chain of {joints:,} joints",
                error,
                "relative error",
                "",
                True,
                detail=f"{-np.log10(error):.1f} digits",
            )
        )


# ------------------------------------------------------------------------------------------------------------- samples


def samples(report: Report, options: argparse.Namespace, cupy: Any, bandwidth: float) -> None:
    """Many samples of a floating tree of 30 hinges: accelerations against all cores, steps against MuJoCo's rollout."""
    model, batch = figure_of_hinges().compile(), options.batch
    q, v = random_states(model, batch)
    effort = np.random.default_rng(SEED).normal(size=v.shape)
    cores = AllCores(model, q, v, effort)
    cores()
    device = DeviceModel(model)
    arrays = [cupy.asarray(x) for x in (q, v, effort)]
    stream = cupy.cuda.get_current_stream
    difference = check(f"{batch:,} samples", device.forward_dynamics(*arrays).get(), cores.qdd)

    def call() -> None:
        device.forward_dynamics(*arrays)
        stream().synchronize()

    timings = take_turns({"gpu": call, f"aba, {cores.threads} cores": cores}, options.rounds, sample_time=5e-3)
    report.results += [  # not add_timings: a thread that waits for others is not a busy machine
        {"case": f"{batch:,} samples of a figure of 30 hinges", "joints": batch * model.n_bodies, "contestant": name,
         "difference": difference, **timing.as_dict()}
        for name, timing in timings.items()
    ]  # fmt: skip
    ratio = timings["gpu"].times_faster_than(timings[f"aba, {cores.threads} cores"])
    rate = batch / timings["gpu"].median
    report.requirements.append(
        Requirement(
            f"{batch:,} samples of a figure of 30 hinges, vs aba on {cores.threads} cores",
            ratio, "times the states per second",
            f"≥ {STATES_RATIO:g}", ratio >= STATES_RATIO,
            detail=f"{rate / 1e6:.1f} million states per second; differs by {difference:.0e}",
        )
    )  # fmt: skip
    try:
        rollout = MujocoRollout(model, q, v, STEP)
    except ImportError:
        report.notes.append("MuJoCo is not installed: its rollout is left out.")
        return
    still = q[0].copy()
    still[3:7] = (1.0, 0.0, 0.0, 0.0)
    expected = lw.forward_dynamics(model, lw.State(still, np.zeros(model.nv)))
    check("MuJoCo's figure", rollout.acceleration(still), expected, 1e-8)
    device.set_state(*arrays[:2])

    def steps() -> None:
        device.step(STEP, STEPS)
        stream().synchronize()

    rounds = max(3, options.rounds // 3)
    turns = take_turns({"gpu": steps, "MuJoCo rollout": rollout}, rounds, sample_time=5e-3)
    faster = turns["gpu"].times_faster_than(turns["MuJoCo rollout"])
    report.results += [
        {
            "case": f"{STEPS} steps of {batch:,} samples",
            "joints": batch * model.n_bodies,
            "contestant": name,
            **t.as_dict(),
        }
        for name, t in turns.items()
    ]
    report.requirements.append(
        Requirement(
            f"{STEPS} steps of {batch:,} samples, vs MuJoCo's rollout on {cores.threads} cores",
            faster, "times faster", "> 1", faster > 1.0,
            detail=f"{batch * STEPS / turns['gpu'].median / 1e6:.1f} million steps per second",
        )
    )  # fmt: skip


DEFAULT = {"long": long_linkages, "first": first_calls, "single": single_precision, "samples": samples}
PARTS = {**DEFAULT, "settings": try_settings, "kernels": time_kernels, "pauses": try_pauses}
