"""100 active joints, every other setting at its default: a step against one `aba`, and energy over a minute.

For the energy the force is taken away after some steps and the region stays as it is: joints that enter or leave lose
energy by design, and what is left shows the integrator that "auto" chose.
"""

from __future__ import annotations

import statistics
from typing import Any

import linkwork as lw

from ..harness import Requirement, TableReport, duration, progress
from .runner import UPDATE_EVERY, Case, Runner, full_steps
from .timing import _timed, quartiles, ratio

ACTIVE, QUICK_ACTIVE = 100, 30
TURNS, QUICK_TURNS = 15, 2
UPDATES = 20  # of the region in a turn
REQUIRED, GOAL = 150.0, 250.0  # times faster than one `aba`
SECONDS, QUICK_SECONDS = 60.0, 0.05
PUSHED = 400  # steps
DRIFT = 0.01  # of the energy
NEVER = 10**9  # steps between updates
LOOKS = 240  # at the energy
BESIDE = "semi_implicit_euler"  # whose energy is shown beside that of the default integrator


def run(report: TableReport, case: Case, quick: bool) -> None:
    active, h = QUICK_ACTIVE if quick else ACTIVE, case.step_size()
    progress(f"{case.name}: {active} active, default settings")
    Runner(case, h, active, options={"integrator": "auto"}).prove_bound("with the default integrator")
    sim = simulation(case, active)
    full = full_steps(case, h)["aba"]
    sim.advance(h, UPDATES * UPDATE_EVERY)
    own, theirs = [], []
    for _ in range(QUICK_TURNS if quick else TURNS):
        sim.advance(h, UPDATE_EVERY)
        own.append(_timed(lambda: sim.advance(h, UPDATES * UPDATE_EVERY), 1)[0] / (UPDATES * UPDATE_EVERY))
        theirs.append(_timed(full, 1)[0])
    ratios = [b / a for a, b in zip(own, theirs, strict=True)]
    reached = statistics.median(ratios)
    low, high = quartiles(ratios)
    name = f"{case.name}, {active} active, default settings ({sim.integrator}), vs aba"
    detail = f"{duration(statistics.median(own))}; quartiles {ratio(low)} to {ratio(high)}"
    required = "" if quick else f"≥ {REQUIRED:g} times"
    met, at_goal = reached >= REQUIRED, reached >= GOAL
    report.requirements.append(
        Requirement(name, reached, "times faster", required, met, f"{GOAL:g} times", at_goal, detail)
    )
    seconds = QUICK_SECONDS if quick else SECONDS
    kinetic, steps, energies = energy_over_time(case, active, h, seconds)
    _, _, beside = energy_over_time(case, active, h, seconds, integrator=BESIDE)
    drift = max(map(abs, energies))
    report.requirements.append(
        Requirement(
            f"{case.name}, {active} active, default settings, energy over {seconds:g} s", 100.0 * drift, "%",
            f"≤ {100 * DRIFT:g} %", drift <= DRIFT, detail=f"{steps:,} steps of {duration(h)}, {kinetic:.2g} J in motion",
        )
    )  # fmt: skip
    report.results.append(
        {"case": "defaults", "linkage": case.name, "active": active, "integrator": sim.integrator, "step_s": own,
         "aba_s": theirs, "ratios": ratios, "energy_drift": drift, "seconds": seconds, "h": h,
         "energies": {sim.integrator: energies, BESIDE: beside}}
    )  # fmt: skip
    rows = [[case.name, f"{active}", sim.integrator, detail, ratio(reached), f"{100 * drift:.2g} %"]]
    columns = ["linkage", "active joints", "integrator", "per step", "vs aba", f"energy over {seconds:g} s"]
    report.add_table("defaults", "default settings", columns, rows)


def simulation(case: Case, active: int, **options: Any) -> lw.AdaptiveDynamics:
    sim = lw.AdaptiveDynamics(case.model, case.state(), max_active_joints=active, **options)
    for k in case.start_places():
        sim.apply_wrench(case.place(k), force=case.force(k))
    return sim


def energy_over_time(
    case: Case, active: int, h: float, seconds: float, **options: str
) -> tuple[float, int, list[float]]:
    """Energy of motion at the start [J]; steps; how far the energy is from its start, as a part of that, at LOOKS times."""
    sim = simulation(case, active, update_every=NEVER, **options)
    sim.advance(h, PUSHED)
    for load in list(sim.loads):
        sim.clear(load)
    first, found = sim.energy, []
    steps = max(1, round(seconds / h / LOOKS))
    for _ in range(LOOKS):
        sim.advance(h, steps)
        found.append((sim.energy.total - first.total) / first.kinetic)
    return first.kinetic, steps * LOOKS, found
