"""The way back through runs, in times of the runs; what they keep."""

from __future__ import annotations

import math
import time
import warnings

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress, take_turns
from .ratios import times

SEED, ANGLE, SPEED = 7, 3.0, 0.1  # a folded chain
RUN, QUICK_RUN = (1000, 200), (50, 20)  # joints, steps
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
    model = lw.library.chain(joints, joint=lw.Revolute((0, 1, 0), damping=1e-3)).compile()
    rng = np.random.default_rng(SEED)
    start, h = model.state(rng.uniform(-ANGLE, ANGLE, joints)), 1e-5
    weights = rng.normal(size=joints)
    efforts, often = np.zeros(joints), {"update_every": every or 10**9}

    def fresh() -> lw.AdaptiveDynamics:
        sim = lw.AdaptiveDynamics(model, start, max_active_joints=0, integrator=integrator, **often)
        for name in model.joint_names[joints - active :]:
            sim.pin_active(name)
        return sim

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LinkworkWarning)  # folded chains cost digits: checked here
        sim = fresh()
        run = lw.run_with_gradients(sim, h, steps)
        found = run.backward(v=weights)
        direction, small = rng.normal(size=found.freedoms.size), 1e-5

        def end(size: float) -> float:
            one = fresh()
            pushed = efforts.copy()
            pushed[found.freedoms] = size * direction
            one.set_efforts(pushed)
            one.advance(h, steps)
            return float(weights @ one.state.v)

        slope = (end(small) - end(-small)) / (2.0 * small)
        apart = float(abs(found.effort @ direction - slope) / np.sum(np.abs(found.effort * direction)))
        timings = take_turns(
            {"run": lambda: sim.advance(h, steps), "back": lambda: run.backward(v=weights)}, min(rounds, 5)
        )
    case = f"by {integrator}, {found.freedoms.size} active of {joints:,}, {updates}"
    report.add_timings(f"adaptive run of {steps} steps {case}", joints, timings)
    ratio = times(timings["back"], timings["run"])
    report.requirements.append(
        Requirement(
            f"back through an adaptive run {case}",
            ratio,
            "times the run",
            f"≤ {RUN_MOST:g}",
            ratio <= RUN_MOST and apart <= 1e-5,
            f"≤ {RUN_GOAL:g}",
            ratio <= RUN_GOAL,
            f"{apart:.0e} from differences",
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
