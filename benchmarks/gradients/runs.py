"""The way back through runs, in times of the runs; what they keep."""

from __future__ import annotations

import math
import time
import warnings

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, Timing, progress, take_turns
from .ratios import times

SEED, ANGLE, SPEED = 7, 3.0, 0.1  # a folded chain
RUN, QUICK_RUN = (1000, 200), (50, 20)  # joints, steps
CHECKED = 50  # steps in which gradients of a run whose region changes are compared with those of the whole linkage
RUN_INTEGRATORS = ("semi_implicit_euler", "variational")
ADAPTIVE, QUICK_ADAPTIVE = (50_000, 100, 200), (500, 20, 20)  # joints, active ones, steps
RUN_MOST, RUN_GOAL = 8.0, 5.0  # times the run itself
LONG_RUN, LONG_MEMORY = 100_000, 500e6  # steps, bytes


def runs(report: Report, integrator: str, joints: int, steps: int, rounds: int) -> None:
    """The way back through a run, in times of the run; checked by a difference along one direction of velocities."""
    progress(f"run of {joints} joints by {integrator}")
    model = lw.library.chain(joints, joint=lw.Revolute((0, 1, 0), damping=1e-3)).compile()
    rng = np.random.default_rng(SEED)
    start = model.state(rng.uniform(-ANGLE, ANGLE, joints), SPEED * rng.normal(size=joints))
    weights, h = rng.normal(size=joints), 1e-5

    def fresh(v: np.ndarray) -> lw.FullDynamics:
        return lw.FullDynamics(model, lw.State(start.q, v), integrator=integrator)

    def end(v: np.ndarray) -> float:
        sim = fresh(v)
        sim.advance(h, steps)
        return float(weights @ sim.state.v)

    run = lw.run_with_gradients(fresh(start.v), h, steps)
    direction, small = rng.normal(size=joints), 1e-5
    slope = (end(start.v + small * direction) - end(start.v - small * direction)) / (2.0 * small)
    found = run.backward(v=weights).v @ direction
    apart = float(abs(found - slope) / abs(slope))
    sim = fresh(start.v)

    def forward() -> None:
        sim.set_state(start)
        sim.advance(h, steps)

    timings = take_turns({"run": forward, "back": lambda: run.backward(v=weights)}, min(rounds, 5))
    report.add_timings(f"run of {steps} steps, {integrator}", joints, timings)
    ratio = times(timings["back"], timings["run"])
    kept = bytes_kept(run, LONG_RUN)
    report.requirements.append(
        Requirement(
            f"back through {steps} steps by {integrator}, {joints:,} joints",
            ratio,
            "times the run",
            f"≤ {RUN_MOST:g}",
            ratio <= RUN_MOST and apart <= 1e-5,
            f"≤ {RUN_GOAL:g}",
            ratio <= RUN_GOAL,
            f"{apart:.0e} from differences",
        )
    )
    report.requirements.append(
        Requirement(
            f"states kept for {LONG_RUN:,} steps by {integrator}, {joints:,} joints",
            kept / 1e6,
            "MB",
            f"≤ {LONG_MEMORY / 1e6:g} MB",
            kept <= LONG_MEMORY,
        )
    )


def bytes_kept(run: lw.GradientRun, steps: int) -> float:
    """What a run of so many steps keeps at a time: every √steps-th state with all that a step remembers, and the states
    between two of them."""
    one = sum(np.asarray(part).nbytes for part in run.kept_states[0].values())
    every = math.isqrt(steps)
    return steps / every * one + every * 8 * (run.model.nq + run.model.nv)


def adaptive(
    report: Report, joints: int, active: int, steps: int, rounds: int, integrator: str, every: int | None
) -> None:
    """The way back through an adaptive run whose region stays, in times of the run. every: steps between updates."""
    updates = f"an update every {every} steps" if every else "no update"
    progress(f"adaptive run of {joints:,} joints, {active} active, {integrator}, {updates}")
    run = AdaptiveRun(joints, active, steps, integrator, 1e-5, every, stays=True)
    sim = run.sim
    timings = take_turns({"run": lambda: sim.advance(run.h, steps), "back": run.back}, min(rounds, 5))
    judge(report, run, f"{run.found.freedoms.size} active of {joints:,}, {updates}", timings)


def changing(report: Report, joints: int, active: int, steps: int, rounds: int, integrator: str) -> None:
    """The same where updates change the region. Every run begins anew: a linkage that falls on needs shorter steps."""
    progress(f"adaptive run of {joints:,} joints, {active} active that change, {integrator}")
    run = AdaptiveRun(joints, active, steps, integrator, 1e-3, 10, stays=False)
    count = max(3, min(rounds, 5))
    samples: dict[str, list[float]] = {"run": [], "back": []}
    run.back()
    for _ in range(count):
        sim = run.fresh()
        sim.update_region(10 * run.h)  # the first one opens the region: O(n) are its coefficients
        for name, act in (("run", lambda s=sim: s.advance(run.h, steps)), ("back", run.back)):
            started = time.thread_time()
            act()
            samples[name].append(time.thread_time() - started)
    timings = {name: Timing(tuple(x), tuple(x), 1) for name, x in samples.items()}
    regions = len(run.run.segments)
    case = f"{active} active of {joints:,}, {regions} regions with {run.found.freedoms.size} joints"
    judge(report, run, case, timings)


class AdaptiveRun:
    """A folded chain of which some joints move, run with gradients. stays: the last joints, always; else those that matter.

    apart: how far its gradients are from those of a judge, relative.
    """

    def __init__(
        self, joints: int, active: int, steps: int, integrator: str, h: float, every: int | None, *, stays: bool
    ):
        self.model = lw.library.chain(joints, joint=lw.Revolute((0, 1, 0), damping=1e-3)).compile()
        self.active, self.integrator, self.h, self.steps, self.every = active, integrator, h, steps, every
        self.stays = stays
        rng = np.random.default_rng(SEED)
        self.start = self.model.state(rng.uniform(-ANGLE, ANGLE, joints))
        self.weights = rng.normal(size=joints)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lw.LinkworkWarning)  # folded chains cost digits: checked here
            self.sim = self.fresh()
            self.run = lw.run_with_gradients(self.sim, h, steps)
            self.found = self.back()
            self.apart = self.from_differences(rng) if stays else self.from_whole()

    def from_differences(self, rng: np.random.Generator) -> float:
        """How far the gradient by efforts is from a difference, of the sum of its parts."""
        direction, small = rng.normal(size=self.found.freedoms.size), 1e-5
        slope = (self.end(small * direction) - self.end(-small * direction)) / (2.0 * small)
        size = np.sum(np.abs(self.found.effort * direction))
        return float(abs(self.found.effort @ direction - slope) / size)

    def from_whole(self) -> float:
        """How far gradients of a shorter run are from those of the whole linkage with locked joints, which are in O(n).

        Differences say nothing here: the least effort changes which of so many joints matter.
        """
        run = lw.run_with_gradients(self.fresh(), self.h, min(CHECKED, self.steps))
        few, whole = run.backward(v=self.weights), run.backward(v=self.weights, whole=True)
        pairs = [(getattr(few, x), getattr(whole, x)[few.freedoms]) for x in ("q", "v", "effort", "damping")]
        return max(float(np.abs(ours - theirs).max() / np.abs(theirs).max()) for ours, theirs in pairs)

    def fresh(self) -> lw.AdaptiveDynamics:
        options = {"integrator": self.integrator, "update_every": self.every or 10**9}
        most = 0 if self.stays else self.active
        sim = lw.AdaptiveDynamics(self.model, self.start, max_active_joints=most, **options)
        if self.stays:
            for name in self.model.joint_names[self.model.n_bodies - self.active :]:
                sim.pin_active(name)
        return sim

    def back(self) -> lw.RegionGradients:
        return self.run.backward(v=self.weights)

    def end(self, pushes: np.ndarray) -> float:
        """The loss where efforts push what moves."""
        sim, efforts = self.fresh(), np.zeros(self.model.nv)
        efforts[self.found.freedoms] = pushes
        sim.set_efforts(efforts)
        return float(self.weights @ lw.run_with_gradients(sim, self.h, self.steps).state.v)


def judge(report: Report, run: AdaptiveRun, case: str, timings: dict[str, Timing]) -> None:
    case = f"by {run.integrator}, {case}"
    report.add_timings(f"adaptive run of {run.steps} steps {case}", run.model.nv, timings)
    ratio = times(timings["back"], timings["run"])
    report.requirements.append(
        Requirement(
            f"back through an adaptive run {case}",
            ratio,
            "times the run",
            f"≤ {RUN_MOST:g}",
            ratio <= RUN_MOST and run.apart <= 1e-5,
            f"≤ {RUN_GOAL:g}",
            ratio <= RUN_GOAL,
            f"{run.apart:.0e} from {'differences' if run.stays else 'the whole linkage'}",
        )
    )


def long_run(report: Report, joints: int, short: int) -> None:
    """A run of 100,000 steps (500 times `short`) there and back: memory, time, the same bits where steps are made again."""
    import resource  # of POSIX systems

    steps = 500 * short
    model = lw.library.chain(joints, joint=lw.Revolute((0, 1, 0), damping=1e-3)).compile()
    rng = np.random.default_rng(SEED)
    start = model.state(rng.uniform(-ANGLE, ANGLE, joints), SPEED * rng.normal(size=joints))
    weights, h = rng.normal(size=joints), 1e-5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)
        lw.run_with_gradients(lw.FullDynamics(model, start, integrator="semi_implicit_euler"), h, 20).backward(
            v=weights
        )
        progress(f"{steps:,} steps of {joints:,} joints, forward")
        sim = lw.FullDynamics(model, start, integrator="semi_implicit_euler")
        before, clock = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
        sim.advance(h, steps)
        plain = time.process_time() - clock
        sim.set_state(start)
        run = lw.run_with_gradients(sim, h, steps)
        progress("and back")
        clock = time.process_time()
        found = run.backward(v=weights)  # raises where steps made again end in other bits
        back = time.process_time() - clock
    grown = 1024.0 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    taken = max(grown, bytes_kept(run, steps))  # a process that was larger once does not grow
    finite = bool(np.isfinite(found.v).all() and np.isfinite(found.inertias).all())
    report.notes.append(
        f"{steps:,} steps of {joints:,} joints: forward {plain:.1f} s, back {back:.1f} s of the processor."
    )
    report.requirements.append(
        Requirement(
            f"back through {steps:,} steps, {joints:,} joints, the same bits made again",
            back / plain,
            "times the run",
            f"≤ {RUN_MOST:g}",
            finite and back / plain <= RUN_MOST,
            f"≤ {RUN_GOAL:g}",
            back / plain <= RUN_GOAL,
        )
    )
    report.requirements.append(
        Requirement(
            f"memory that run and way back took on, {steps:,} steps",
            taken / 1e6,
            "MB",
            f"≤ {LONG_MEMORY / 1e6:g} MB",
            taken <= LONG_MEMORY,
        )
    )
