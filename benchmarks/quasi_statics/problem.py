"""What the cases of the quasi-statics benchmark share: a loaded linkage, its full steps, and the timing of one precision.

A step's time is the average over all steps of a run, as the paper's, with the median beside it. A full step computes all
joints at the present state and moves them, q ← q ⊕ ½ h² q̈: by `dca` on one thread and by `aba`. Expressing world-fixed
forces anew is charged to the adaptive step, not to the full ones. All times are processor times of the calling thread,
which does all the work: an adaptive step is so much shorter than a full one that it dodges other programs, and by the wall
clock would win by that alone.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linkwork as lw
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.model import layout

from ..harness import BUSY, TableReport, Timing, duration

FloatArray = NDArray[np.float64]

EXPONENTS = tuple(range(20))  # precisions 2⁻⁰ to 2⁻¹⁹, as in the paper
TABLE_EXPONENTS = (3, 7, 11, 15, 19)  # those of its table 1
FIRST_MOVE = 1e-3  # [rad] farthest any joint turns in the first step: far inside what keeps explicit steps stable
AGREEMENT = 1e-9  # of dca and aba, relative to the largest acceleration: rounding times conditioning
JUDGE_ROUNDING = 1e-11  # of aba, relative to the largest acceleration: the judge's own error
FEWEST_TURNS, MOST_TURNS, STEPS_PER_TURN = 10, 40, 20
FULL_SAMPLE_BODIES = 20_000  # small models take several full steps per sample, so that clocks can tell


@dataclass(frozen=True)
class Problem:
    """A linkage at rest with a force on each of some bodies."""

    name: str
    model: lw.Model
    q: FloatArray  # (nq,) start
    bodies: list[int]
    forces: FloatArray  # (k, 3) [N] in the axes of `frame`
    frame: str = "world"
    first_move: float = FIRST_MOVE
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)  # where on the bodies, in their frames [m]

    def simulation(self, **how: Any) -> lw.QuasiStatics:
        sim = lw.QuasiStatics(self.model, self.state(self.q), **how)
        for body, force in zip(self.bodies, self.forces, strict=True):
            sim.apply_wrench(body, force=force, frame=self.frame, at=self.at)
        return sim

    def state(self, q: FloatArray) -> lw.State:
        return lw.State(q, np.zeros(self.model.nv))

    def wrenches(self, q: FloatArray) -> FloatArray:
        """The forces as all algorithms take them, in the frames of the bodies, shape (n, 6)."""
        result = np.zeros((self.model.n_bodies, 6))
        forces = self.forces
        if self.frame == "world":
            R = lw.body_poses(self.model, self.state(q))[self.bodies, :3, :3]
            forces = np.einsum("kji,kj->ki", R, forces)
        result[self.bodies, :3] = np.cross(self.at, forces)
        result[self.bodies, 3:] = forces
        return result

    def acceleration(self, q: FloatArray) -> FloatArray:
        """Every joint's acceleration by `aba`, the judge."""
        return lw.forward_dynamics(self.model, self.state(q), wrenches=self.wrenches(q), algorithm="aba")

    def step_size(self) -> float:
        """Time step [s] in which the fastest joint first moves by `first_move`."""
        return math.sqrt(2.0 * self.first_move / float(np.abs(self.acceleration(self.q)).max()))

    def full_run(self, steps: int, h: float) -> FloatArray:
        """Coordinates after `steps` steps of all joints by `aba`."""
        q = self.q.copy()
        for _ in range(steps):
            q = moved(self.model, q, self.acceleration(q), h)
        return q

    def displacements(self, q: FloatArray) -> FloatArray:
        """How far every body's centre of mass is from where it began, in the world, shape (n, 3)."""
        return self._centres(q) - self._centres(self.q)

    def size(self) -> float:
        """How far the farthest body is from the first loaded one [m]."""
        centres = self._centres(self.q)
        return float(np.linalg.norm(centres - centres[self.bodies[0]], axis=1).max())

    def _centres(self, q: FloatArray) -> FloatArray:
        T = lw.body_poses(self.model, self.state(q))
        moment = self.model.arrays.body[:, layout.INERTIA + 1 : layout.INERTIA + 4]
        return T[:, :3, 3] + np.einsum("nij,nj->ni", T[:, :3, :3], moment / self.model.mass[:, None])


def moved(model: lw.Model, q: FloatArray, qdd: FloatArray, h: float) -> FloatArray:
    """q ⊕ ½ h² q̈; by the shortest way where all joints are hinges, so that full steps lose no time here."""
    if model.nq == model.nv == model.n_bodies:
        return q + (0.5 * h * h) * qdd
    return model.integrate(q, qdd, 0.5 * h * h)


def full_steps(problem: Problem, h: float) -> dict[str, Callable[[], object]]:
    """One step of all joints by `dca` (one thread) and by `aba`, proven to agree. Every call moves a state of its own."""
    model = problem.model
    solver = DcaSolver(model, threads=1)
    wrenches = problem.wrenches(problem.q)
    rest, no_effort, qdd = np.zeros((3, model.nv))
    q = problem.q.copy()

    def dca() -> None:
        nonlocal q
        solver.prepare(q, rest, no_effort, wrenches)
        if solver.assemble() >= 0:
            raise lw.LinkworkError(f"{problem.name}: dca could not solve a joint.")
        solver.substitute(qdd)
        q = moved(model, q, qdd, h)

    dca()
    exact = problem.acceleration(problem.q)
    difference = float(np.abs(qdd - exact).max() / np.abs(exact).max())
    if not difference <= AGREEMENT:
        raise lw.LinkworkError(f"{problem.name}: dca and aba differ by {difference:.1e}. Nothing was timed.")
    return {"dca": dca, "aba": aba_step(problem, h)}


def aba_step(problem: Problem, h: float) -> Callable[[], None]:
    model, wrenches, q = problem.model, problem.wrenches(problem.q), problem.q.copy()

    def aba() -> None:
        nonlocal q
        qdd = lw.forward_dynamics(model, problem.state(q), wrenches=wrenches, algorithm="aba")
        q = moved(model, q, qdd, h)

    return aba


def prove_bound(problem: Problem, sim: lw.QuasiStatics, when: str) -> tuple[float, float]:
    """The true error of a solve by `relative_joint`, against `aba`, and its bound; stops the benchmark where that fails."""
    report = sim.solve()
    exact = problem.acceleration(sim.state.q)
    largest = float(joint_norms(problem.model, sim.acceleration).max())
    error = float(joint_norms(problem.model, sim.acceleration - exact).max()) / largest
    if not (report.error_bound <= (sim.tolerance or math.inf) + report.rounding_floor):
        raise lw.LinkworkError(f"{problem.name}, {when}: bound {report.error_bound:.1e} misses the tolerance.")
    if not error <= report.error_bound + JUDGE_ROUNDING:
        raise lw.LinkworkError(
            f"{problem.name}, {when}: the error is {error:.3e}, its bound {report.error_bound:.3e}. Nothing was timed."
        )
    return error, report.error_bound


def joint_norms(model: lw.Model, acceleration: FloatArray) -> FloatArray:
    """‖q̈‖ of every joint that moves, shape (m,)."""
    tree = model.arrays.tree
    first = tree[tree[:, layout.DOF] > 0, layout.V]
    return np.sqrt(np.add.reduceat(np.square(acceleration), first))


@dataclass(frozen=True)
class Cell:
    """One run at one precision."""

    exponent: int
    steps: int
    joints: float  # computed per step, on average
    nodes: float  # updated a step, on average
    timings: Mapping[str, Timing]  # of one step: adaptive, dca, aba
    errors: tuple[float, float]  # true, at the start and the end
    bounds: tuple[float, float]
    displacement_error: float | None  # of the run: largest error of a body's displacement over the largest displacement
    displacement_error_of_size: float | None  # the same over the size of the linkage
    end: FloatArray  # coordinates after the run, shape (nq,)

    def time(self, which: str = "adaptive") -> float:
        """Of one step, on average over all of them [s]."""
        return statistics.fmean(self.timings[which].processor_samples)

    def median(self, which: str = "adaptive") -> float:
        """Of one step, the median over the turns [s]."""
        return self.timings[which].processor_median

    def times_faster_than(self, full: str) -> float:
        """Average full step / average adaptive step."""
        return self.time(full) / self.time()

    @property
    def displacement_error_per_step(self) -> float | None:
        """On average, as the paper gives it."""
        return None if self.displacement_error is None else self.displacement_error / self.steps

    def as_dict(self) -> dict[str, Any]:
        return {
            "exponent": self.exponent,
            "steps": self.steps,
            "n_computed": self.joints,
            "nodes_updated": self.nodes,
            "step_s": self.time(),
            "step_median_s": self.median(),
            "step_samples_s": list(self.timings["adaptive"].processor_samples),
            "step_wall_s": self.timings["adaptive"].median,
            "dca_s": self.time("dca"),
            "aba_s": self.time("aba"),
            "taken_by_others": self.timings["adaptive"].taken_by_others,
            "times_faster_than_dca": self.times_faster_than("dca"),
            "times_faster_than_aba": self.times_faster_than("aba"),
            "error_at_start": self.errors[0],
            "error_at_end": self.errors[1],
            "bound_at_start": self.bounds[0],
            "bound_at_end": self.bounds[1],
            "displacement_error": self.displacement_error,
            "displacement_error_per_step": self.displacement_error_per_step,
            "displacement_error_of_size": self.displacement_error_of_size,
        }


def measure(
    problem: Problem,
    exponent: int,
    steps: int,
    h: float,
    full: Mapping[str, Callable[[], object]],
    reference: FloatArray | None = None,
) -> Cell:
    """Runs `steps` steps at precision 2⁻ᵉ; between some of them the full steps take their turns."""
    sim = problem.simulation(tolerance=2.0**-exponent)
    error, bound = prove_bound(problem, sim, f"2^-{exponent}, at the start")
    turns = max(1, min(MOST_TURNS, max(FEWEST_TURNS, steps // STEPS_PER_TURN), steps // 2))
    parts = [steps * (k + 1) // turns - steps * k // turns for k in range(turns)]
    samples: dict[str, list[float]] = {name: [] for name in ("adaptive", *full)}
    processor: dict[str, list[float]] = {name: [] for name in samples}
    joints = nodes = 0.0
    repeats = max(1, FULL_SAMPLE_BODIES // problem.model.n_bodies)

    def timed(name: str, call: Callable[[], Any], amount: int) -> Any:
        busy, start = time.thread_time(), time.perf_counter()
        result = call()
        samples[name].append((time.perf_counter() - start) / amount)
        processor[name].append((time.thread_time() - busy) / amount)
        return result

    collecting = gc.isenabled()
    gc.disable()
    try:
        for part in parts:
            report = timed("adaptive", partial(sim.step, h, part), part)
            joints += part * report.n_computed
            nodes += part * report.nodes_updated
            for name, call in full.items():
                timed(name, partial(repeat, call, repeats), repeats)
    finally:
        if collecting:
            gc.enable()
    displacement_error, of_size, end = None, None, sim.state.q
    if reference is not None:
        wrong = np.linalg.norm(problem.displacements(end) - reference, axis=1).max()
        displacement_error = float(wrong / np.linalg.norm(reference, axis=1).max())
        of_size = float(wrong / problem.size())
    last_error, last_bound = prove_bound(problem, sim, f"2^-{exponent}, after {steps} steps")
    timings = {name: Timing(tuple(samples[name]), tuple(processor[name]), repeats) for name in samples}
    return Cell(
        exponent, steps, joints / steps, nodes / steps, timings, (error, last_error), (bound, last_bound),
        displacement_error, of_size, end,
    )  # fmt: skip


def repeat(call: Callable[[], object], times: int) -> None:
    for _ in range(times):
        call()


def add_cells(report: TableReport, case: str, problem: Problem, cells: list[Cell], h: float) -> None:
    known = {"case": case, "joints": len(problem.model.joint_names), "forces": len(problem.bodies), "h": h}
    for cell in cells:
        report.results.append({**known, "frame": problem.frame, **cell.as_dict()})
    taken = statistics.median(cell.timings["adaptive"].taken_by_others for cell in cells)
    if taken > BUSY:
        report.notes.append(f"{problem.name}: other programs took {taken:.0%} of the time.")


def cell_rows(cells: list[Cell], has_displacement: bool = False) -> list[list[str]]:
    """Rows of COLUMNS, one per precision."""
    rows = []
    for cell in cells:
        row = [
            power(cell.exponent), duration(cell.time()), duration(cell.median()), f"{cell.joints:,.0f}",
            f"{cell.nodes:,.0f}", ratio(cell.times_faster_than("dca")), ratio(cell.times_faster_than("aba")),
            f"{max(cell.errors):.1e}", f"{max(cell.bounds):.1e}",
        ]  # fmt: skip
        if has_displacement:
            per_step = cell.displacement_error_per_step
            row.append("" if per_step is None else f"{per_step:.0e}")
        rows.append(row)
    return rows


COLUMNS = [
    "precision",
    "mean step",
    "median",
    "joints computed",
    "nodes updated",
    "vs dca",
    "vs aba",
    "true error",
    "bound",
]
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def forces_text(count: int) -> str:
    return f"{count:,} force{'s' if count > 1 else ''}"


def power(exponent: int) -> str:
    return "2⁻" + str(exponent).translate(SUPERSCRIPTS)


def ratio(value: float) -> str:
    return f"{value:,.0f}x" if value >= 10 else f"{value:.2g}x"
