"""All joints active against `FullDynamics`, and what one step per call from Python costs on top of the step itself."""

from __future__ import annotations

import statistics

import numpy as np

import linkwork as lw

from ..harness import Requirement, TableReport, duration, progress, take_turns
from ..harness.stepping import BARE, MANY, REPORTED, call_requirements, step_calls, time_per_step
from . import cases
from .runner import AGREEMENT, UPDATE_EVERY, Case, Runner
from .timing import quartiles

CASE = "stepping"
FULL_JOINTS, QUICK_FULL_JOINTS = 2_000, 120
JOINTS, QUICK_JOINTS = 50_000, 600
ACTIVE, QUICK_ACTIVE = 100, 30
ROUNDS, QUICK_ROUNDS = 51, 3
PROOF_STEPS = 50
MOST_OF_FULL = 1.3  # times a step of FullDynamics, with all joints active
NEVER = 10**9  # steps between updates of the region, where a step by itself is timed
SLOW_DOWN = (
    1e-3  # steps are this much shorter than those of other cases: many thousand are made, and nothing may run away
)


def run(report: TableReport, quick: bool) -> None:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    rows = [all_active(report, cases.molecule(QUICK_FULL_JOINTS if quick else FULL_JOINTS), rounds)]
    case = cases.molecule(QUICK_JOINTS if quick else JOINTS)
    rows += one_per_call(report, case, QUICK_ACTIVE if quick else ACTIVE, rounds)
    report.add_table(CASE, "steps of every kind", ["linkage", "what", "per step", "quartiles"], rows)


def all_active(report: TableReport, case: Case, rounds: int) -> list[str]:
    """`UPDATE_EVERY` steps and what an update is when all joints are active, against as many of FullDynamics."""
    h = SLOW_DOWN * case.step_size()
    progress(f"{case.name}: all active")
    own, full = Runner(case, h, None).sim, full_simulation(case)
    difference = prove_equal(case, own, full, h)
    calls = {"adaptive": lambda: own.step(h, UPDATE_EVERY), "full": lambda: full.step(h, UPDATE_EVERY)}
    timings = take_turns(calls, rounds, sample_time=0.02)
    pairs = zip(timings["adaptive"].processor_samples, timings["full"].processor_samples, strict=True)
    ratios = [a / b for a, b in pairs]
    ratio = statistics.median(ratios)
    low, high = (x / UPDATE_EVERY for x in quartiles(timings["adaptive"].processor_samples))
    times = {name: timing.processor_median / UPDATE_EVERY for name, timing in timings.items()}
    report.results.append(
        {"case": CASE, "linkage": case.name, "what": "all active", "step_s": times["adaptive"],
         "full_step_s": times["full"], "ratios": ratios, "difference": difference}
    )  # fmt: skip
    detail = f"{duration(times['adaptive'])} against {duration(times['full'])}"
    report.requirements.append(
        Requirement(
            f"{case.name}, all active, vs FullDynamics", ratio, "times its time", f"≤ {MOST_OF_FULL:g}",
            ratio <= MOST_OF_FULL, detail=detail,
        )
    )  # fmt: skip
    what = f"all active; FullDynamics {duration(times['full'])}"
    return [case.name, what, duration(times["adaptive"]), f"{duration(low)} to {duration(high)}"]


def full_simulation(case: Case) -> lw.FullDynamics:
    sim = lw.FullDynamics(case.model, case.state(), integrator="semi_implicit_euler")
    for k in case.start_places():
        sim.apply_wrench(case.place(k), force=case.force(k))
    return sim


def prove_equal(case: Case, own: lw.AdaptiveDynamics, full: lw.FullDynamics, h: float) -> float:
    """Both simulations make the same steps: largest difference of the velocities, relative; stops where they part."""
    own.step(h, PROOF_STEPS)
    full.step(h, PROOF_STEPS)
    v = full.state.v
    difference = float(np.abs(own.state.v - v).max() / np.abs(v).max())
    if not difference <= AGREEMENT:
        raise lw.LinkworkError(
            f"{case.name}: all active and FullDynamics differ by {difference:.1e}. Nothing was timed."
        )
    return difference


def one_per_call(report: TableReport, case: Case, active: int, rounds: int) -> list[list[str]]:
    h = SLOW_DOWN * case.step_size()
    progress(f"{case.name}: one step per call")
    runner = Runner(case, h, active, options={"update_every": NEVER})
    runner.prove_bound("before single steps")
    timings = take_turns(step_calls(runner.sim, h), rounds)
    name = f"{case.name}, {active} active"
    report.requirements += call_requirements(name, timings)
    rows = []
    for call in (MANY, REPORTED, BARE):
        times = time_per_step(timings, call)
        low, high = quartiles(times)
        report.results.append({"case": CASE, "linkage": case.name, "what": call, "step_samples_s": times})
        rows.append([name, call, duration(statistics.median(times)), f"{duration(low)} to {duration(high)}"])
    return rows
