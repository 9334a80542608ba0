"""Divide and conquer: against own `aba`, on one core and two, from 1,000 to 1,000,000 joints, and single path queries.

Accelerations are compared with those of `aba`, path queries with differences of whole sweeps, before anything is timed. The
sweeps are those of `lw.forward_dynamics(..., algorithm="dca")` on a solver with a given number of threads; path queries
run in a loop that stays compiled.
"""

from __future__ import annotations

import argparse
import gc
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.assembly.numbering import node_depths
from linkwork.assembly.plan import assemble
from linkwork.core.bundles import describe
from linkwork.core.jit import kernel
from linkwork.dynamics.api import solve_dca
from linkwork.dynamics.dca.solver import DcaSolver, available_threads
from linkwork.dynamics.inputs import NO_WRENCHES
from linkwork.dynamics.paths.path_data import solver_paths
from linkwork.dynamics.paths.path_queries import respond

from .harness import Report, Requirement, Timing, progress, resident_bytes, take_turns

SHAPES: dict[str, Callable[[int], lw.Linkage]] = {
    "chain": lambda joints: lw.library.chain(joints=joints),
    "molecule": lambda joints: lw.library.molecule(joints=joints, seed=1),
}
SEED = 7
AGREEMENT = 1e-9  # relative, in the largest entry; rounding of both sweeps, 1e-12 at a million joints
SLOWER = 6.0  # than aba, at most
COST_SPREAD = 2.0  # largest cost of a joint over the smallest
TWO_CORES = 1.5  # times faster than one
QUERY = 15e-6  # [s]
BYTES_PER_JOINT = 4096.0
BUILD = {50_000: 1.0, 1_000_000: 30.0}  # [s] the plan of so many joints
QUERIES = 2_000  # in a call. Anywhere: all about different pairs of bodies, too many for their paths to stay in a cache
PAIRS = 4  # About the same bodies: so many different pairs, each asked again and again


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=31, help="turns each contestant takes (31)")
    parser.add_argument("--joints", type=int, default=50_000, help="joints of the single comparisons (50000)")
    parser.add_argument("--largest", type=int, default=1_000_000, help="most joints of the scaling cases (1000000)")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES), help="which shapes (both)")


def run(options: argparse.Namespace) -> Report:
    rounds = 3 if options.quick else options.rounds
    joints = 500 if options.quick else options.joints
    sizes = [100, 1000] if options.quick else [10**k for k in range(2, 7) if 10**k <= options.largest]
    report = Report("dca", {key: getattr(options, key) for key in _OPTIONS}, is_judged=not options.quick)
    build_times(report, [1000] if options.quick else [n for n in BUILD if n <= options.largest])
    for shape in options.shapes:
        case = Case(shape, joints)
        against_aba(report, case, rounds)
        two_cores(report, case, rounds)
    for shape in options.shapes:
        scaling(report, shape, sizes, joints, rounds)
    return report


_OPTIONS = ("quick", "rounds", "joints", "largest", "shapes")


class Case:
    """One mechanism in one state, solved by `dca` on one core and found equal to `aba`."""

    def __init__(self, shape: str, joints: int):
        progress(f"{shape}, {joints:,} joints")
        self.shape, self.joints = shape, joints
        self.model = SHAPES[shape](joints).compile()
        rng = np.random.default_rng(SEED)
        self.state = self.model.random_state(rng, speed=0.1)
        self.effort = rng.normal(size=self.model.nv)
        before = resident_bytes()
        self.solver = DcaSolver(self.model, threads=1)
        self.check("accelerations", self.forward(), self.aba())
        after = resident_bytes()
        self.grown = None if before is None or after is None else after - before

    def aba(self) -> np.ndarray:
        return lw.forward_dynamics(self.model, self.state, self.effort)

    def forward(self, solver: DcaSolver | None = None) -> np.ndarray:
        return solve_dca(solver or self.solver, self.state.q, self.state.v, self.effort, NO_WRENCHES)

    def check(self, what: str, own: np.ndarray, judge: np.ndarray, tolerance: float = AGREEMENT) -> None:
        """Stops the benchmark when answers differ: a fast wrong one is worth nothing."""
        difference = float(np.abs(own - judge).max() / np.abs(judge).max())
        if not difference <= tolerance:
            raise lw.LinkworkError(
                f"{self.shape}, {self.joints:,} joints: {what} differ by {difference:.1e} of the largest; at most "
                f"{tolerance:g} is rounding. Nothing was timed."
            )


# ----------------------------------------------------------------------------------------------------------------- sweeps


def against_aba(report: Report, case: Case, rounds: int) -> None:
    timings = take_turns({"dca, one core": case.forward, "aba": case.aba}, rounds, sample_time=0.02)
    report.add_timings(f"forward dynamics, {case.shape}", case.joints, timings)
    slower = timings["aba"].times_faster_than(timings["dca, one core"])
    name = f"dca, {case.shape}, {case.joints:,} joints, one core, vs own aba"
    report.requirements.append(Requirement(name, slower, "times its time", f"≤ {SLOWER:g}", slower <= SLOWER))


def two_cores(report: Report, case: Case, rounds: int) -> None:
    if available_threads() < 2:
        report.notes.append("this process may use one core only: two cores are left out.")
        return
    second = DcaSolver(case.model, threads=2)
    if not (case.forward(second) == case.forward()).all():
        raise lw.LinkworkError(f"{case.shape}: two cores do not give the bits of one. Nothing was timed.")
    calls = {"one core": case.forward, "two cores": lambda: case.forward(second)}
    timings = take_turns(calls, rounds, sample_time=0.02)
    for name, timing in timings.items():  # not add_timings: waiting for another thread is not a busy machine
        figure = {"case": f"cores, {case.shape}", "joints": case.joints, "contestant": name}
        report.results.append({**figure, **timing.as_dict()})
    faster = timings["two cores"].times_faster_than(timings["one core"])
    name = f"dca, {case.shape}, {case.joints:,} joints, two cores vs one"
    quietest = min(timings["one core"].samples) / min(timings["two cores"].samples)  # other programs take cores away
    detail = f"{quietest:.2f} between the quietest rounds"
    report.requirements.append(
        Requirement(name, faster, "times faster", f"≥ {TWO_CORES:g} times", faster >= TWO_CORES, detail=detail)
    )


def scaling(report: Report, shape: str, sizes: list[int], joints: int, rounds: int) -> None:
    """Cost and memory of a joint in the sweeps, and of a path query, over all sizes."""
    cases = {n: Case(shape, n) for n in sorted({*sizes, joints})}
    sweeps = [n for n in sizes if n >= 1_000] or sizes
    calls = {f"{n}": cases[n].forward for n in sweeps}
    timings = take_turns(calls, max(3, rounds // 3), sample_time=0.02)
    costs = []  # processor time per joint [s]: what other programs take counts against no size
    for n in sweeps:
        counted, measured = memory_per_joint(cases[n])
        timing = timings[f"{n}"]
        report.add_timings(
            f"dca scaling, {shape}", n, {"one core": timing},
            bytes_per_joint_counted=counted, bytes_per_joint_measured=measured,
        )  # fmt: skip
        costs.append(timing.processor_median / n)
    spread = max(costs) / min(costs)
    is_required = shape == "chain"
    report.requirements.append(
        Requirement(
            f"dca, {shape}, {sweeps[0]:,} to {sweeps[-1]:,} joints: cost of a joint", spread, "largest / smallest",
            f"≤ {COST_SPREAD:g}" if is_required else "", spread <= COST_SPREAD or not is_required,
            detail=" ".join(f"{cost * 1e9:.0f}" for cost in costs) + " ns",
        )
    )  # fmt: skip
    most = counted if measured is None else max(counted, measured)  # of the largest size, where pages do not blur it
    how = f"{counted:.0f} counted" + ("" if measured is None else f", {measured:.0f} measured")
    name = f"dca, {shape}, {sweeps[-1]:,} joints: memory, model included"
    report.requirements.append(
        Requirement(name, most, "bytes per joint", f"≤ {BYTES_PER_JOINT:g}", most <= BYTES_PER_JOINT, detail=how)
    )
    query_times(report, shape, cases, joints, rounds)


def memory_per_joint(case: Case) -> tuple[float, float | None]:
    """Bytes per joint: counted over the arrays of model and solver, and as growth of the process for the solver's."""
    arrays = [*case.model.arrays, *case.state, case.effort]
    model_bytes = sum(array.nbytes for array in arrays)
    own = {id(value): value for value in vars(case.solver).values() if isinstance(value, np.ndarray)}
    own |= {id(array): array for array in case.solver.assembly}
    kept = {id(array) for array in arrays}  # the model's tree is read by the solver, not copied
    counted = model_bytes + sum(array.nbytes for key, array in own.items() if key not in kept)
    measured = None if case.grown is None else (model_bytes + case.grown) / case.joints
    return counted / case.joints, measured


# ---------------------------------------------------------------------------------------------------------- path queries


@kernel
def respond_many(table, sources, targets):
    """The largest acceleration among the answers to many questions: one wrench on a body, one body's acceleration."""
    largest = 0.0
    for k in range(sources.shape[0]):
        a = respond(table, sources[k], targets[k])
        for r in range(6):
            largest = max(largest, abs(a[r]))
    return largest


class Queries:
    """Questions about random pairs of bodies, asked in one call."""

    def __init__(self, case: Case, pairs: int):
        solver, n = case.solver, case.model.n_bodies
        rng = np.random.default_rng(SEED)
        leaf = solver.assembly.leaf
        self.bodies = np.repeat(rng.integers(n, size=(2, pairs)), QUERIES // pairs, axis=1)
        self.wrench = rng.normal(size=6)
        self.paths = solver_paths(solver)
        self.paths.wrench[:] = self.wrench
        self.table = describe(self.paths)
        self.rest: tuple[Any, ...] = (leaf[self.bodies[0]], leaf[self.bodies[1]])
        self.prove(case)
        depths = node_depths(solver.assembly.nodes)[leaf]
        self.nodes = float(
            depths[self.bodies].sum() / self.bodies.shape[1]
        )  # on the two ways of a question, on average

    def __call__(self) -> float:
        return float(respond_many(self.table, *self.rest))

    def prove(self, case: Case) -> None:
        """What one question says of a joint is the difference of two whole sweeps."""
        on = int(self.bodies[0, 0])
        wrenches = np.zeros((case.model.n_bodies, 6))
        wrenches[on] = 1e3 * self.wrench  # large, so that rounding of the sweeps does not hide the difference
        change = lw.forward_dynamics(case.model, case.state, case.effort, wrenches) - case.aba()
        source = case.solver.assembly.leaf[on]
        body = case.model.joint_of(int(np.abs(change).argmax()))
        self.paths.wrench[:] = wrenches[on]
        respond(self.table, source, case.solver.assembly.joint[body])
        self.paths.wrench[:] = self.wrench
        rows = case.model.v_slice(body)
        case.check("path queries and sweeps", self.paths.joint_response[rows], change[rows], 1e-6)


def query_times(report: Report, shape: str, cases: dict[int, Case], joints: int, rounds: int) -> None:
    """Time of one question at every size. The nodes on its way grow like log2(n); caches may make each of them dearer."""
    for what, pairs in (("the same bodies", PAIRS), ("bodies anywhere", QUERIES)):
        queries = {n: Queries(case, pairs) for n, case in cases.items()}
        samples = take_turns({f"{n}": call for n, call in queries.items()}, max(3, rounds // 3), sample_time=0.01)
        timings = {n: one_question(samples[f"{n}"]) for n in queries}
        for n, timing in timings.items():
            extra = {"depth": cases[n].solver.assembly.depth, "nodes_on_the_way": queries[n].nodes}
            report.add_timings(f"path query, {shape}, {what}", n, {"response": timing}, **extra)
        reached = timings[joints].processor_median  # one core works: time that other programs take is not its own
        report.requirements.append(
            Requirement(
                f"response, {shape}, {joints:,} joints, {what}", reached * 1e6, "µs", f"≤ {QUERY * 1e6:g} µs",
                reached <= QUERY, detail=f"{timings[joints].median * 1e6:.1f} µs by the wall clock",
            )
        )  # fmt: skip
        report.requirements.append(growth(shape, what, timings, queries, joints))


def one_question(samples: Timing) -> Timing:
    wall, processor = ([t / QUERIES for t in times] for times in (samples.samples, samples.processor_samples))
    return Timing(tuple(wall), tuple(processor), samples.calls * QUERIES)


def growth(shape: str, what: str, timings: dict[int, Timing], queries: dict[int, Queries], joints: int) -> Requirement:
    """How a question grows with the linkage, beside a straight line in log2(n)."""
    sizes = [n for n in timings if n != joints] or list(timings)
    times = [timings[n].processor_median * 1e6 for n in sizes]
    logs = [math.log2(n) for n in sizes]
    fit = statistics.linear_regression(logs, times)
    off = max(abs(t - fit.intercept - fit.slope * x) / t for t, x in zip(times, logs, strict=True))
    listed = ", ".join(f"{t:.2f} µs ({queries[n].nodes:.0f} nodes)" for n, t in zip(sizes, times, strict=True))
    return Requirement(
        f"response, {shape}, {sizes[0]:,} to {sizes[-1]:,} joints, {what}", times[-1] / times[0], "last / first", "", True,
        detail=f"{listed}; {fit.intercept:.2f} + {fit.slope:.2f} log2(n) µs within {off:.0%}",
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------------ plans


def build_times(report: Report, sizes: list[int]) -> None:
    """Time to plan the assembly tree, from the array of parents; the worst shape counts."""
    for n in sizes:
        body = np.arange(n)
        anywhere = (np.random.default_rng(SEED).random(n) * body).astype(np.int64)
        shapes = {
            "chain": body - 1,
            "star": np.minimum(body - 1, 0),
            "binary tree": (body - 1) // 2,
            "random tree": np.where(body == 0, -1, anywhere),
        }
        slowest, depths = 0.0, []
        for shape, parent in shapes.items():
            progress(f"plan, {shape}, {n:,} joints")
            depth = assemble(parent).depth  # compiles and warms up
            gc.collect()
            start = time.perf_counter()
            assemble(parent)
            seconds = time.perf_counter() - start
            slowest = max(slowest, seconds)
            depths.append(f"{shape} {depth}")
            report.results.append({"case": f"plan, {shape}", "joints": n, "seconds": seconds, "depth": depth})
        limit = BUILD.get(n, 1.0)
        report.requirements.append(
            Requirement(
                f"assembly plan, {n:,} joints, slowest of {len(shapes)} shapes", slowest, "s", f"≤ {limit:g} s",
                slowest <= limit, detail="depths: " + ", ".join(depths),
            )
        )  # fmt: skip
