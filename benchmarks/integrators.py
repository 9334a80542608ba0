"""A minute of linkages that whip, by the variational integrator: energy, and the time of a step over that of one `aba`.

Chains are let go from the horizontal; molecules begin with random velocities and no gravity. In adaptive runs joints that
stop take energy away by design: what updates of the region change is told apart from what steps change.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass, field

import numpy as np

import linkwork as lw

from .harness import Requirement, progress
from .harness.report import TableReport

H = 1e-3  # [s]
SECONDS = 60.0
BLOCK = 20  # steps between two looks at the energy, and at the time of one `aba`
ABAS = 10  # steps of semi-implicit Euler in between: one `aba` each, and 5 % more
NO_TIME = 1e-12  # [s] of these steps: the linkage that they are timed on stays where it is
MOST_ABAS = 4.0
MOST_CHANGE = 0.01  # of the largest kinetic energy
UPDATE_EVERY = 10

# name → joints, speed of molecules [rad/s], and joints active at most in adaptive runs
FULL = {
    "chain of 100": (100, None),
    "chain of 50": (50, None),
    "molecule of 500, speed 0.1": (500, 0.1),
    "molecule of 500, speed 0.3": (500, 0.3),
    "molecule of 500, speed 1": (500, 1.0),
}
ADAPTIVE = {
    "chain of 100, 30 active": (100, None, 30),
    "molecule of 500, speed 0.1, 100 active": (500, 0.1, 100),
    "molecule of 500, speed 0.3, 100 active": (500, 0.3, 100),
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--case", choices=(*FULL, *ADAPTIVE), help="this case only, not judged")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of simulated time (60)")


def run(options: argparse.Namespace) -> TableReport:
    seconds = 0.5 if options.quick else options.seconds
    judged = not options.quick and not options.case and seconds >= SECONDS
    report = TableReport("integrators", {"h": H, "seconds": seconds}, is_judged=judged)
    full = [add_full(report, name, seconds) for name in FULL if options.case in (None, name)]
    adaptive = [add_adaptive(report, name, seconds) for name in ADAPTIVE if options.case in (None, name)]
    columns = ["full", "largest change of energy", "largest turn per step", "halvings per step", "a step", "one aba"]
    report.add_table("full", f"{seconds:g} s at h = {H:g} s", columns, full)
    columns = ["adaptive", "steps make at most", "updates make at most", "updates took", "in motion at most", "changes"]
    report.add_table("adaptive", f"{seconds:g} s at h = {H:g} s, updates every {UPDATE_EVERY} steps", columns, adaptive)
    return report


def linkage(joints: int, speed: float | None) -> tuple[lw.Model, lw.State]:
    """A molecule with random velocities, or a chain that is let go from the horizontal."""
    if speed is not None:
        model = lw.library.molecule(joints).compile()
        return model, model.random_state(1, speed=speed)
    model = lw.library.chain(joints).compile()
    return model, model.state(q=[0.5 * np.pi, *[0.0] * (joints - 1)])


@dataclass
class Course:
    """What a full run showed."""

    changes: list[float] = field(default_factory=list)  # [J] of energy since the start
    kinetic: list[float] = field(default_factory=list)  # [J]
    turns: list[float] = field(default_factory=list)  # [rad] of the fastest joint in a step
    step_s: list[float] = field(default_factory=list)
    aba_s: list[float] = field(default_factory=list)
    halvings: int = 0


def follow(name: str, seconds: float) -> Course:
    joints, speed = FULL[name]
    model, start = linkage(joints, speed)
    sim = lw.FullDynamics(model, start, integrator="variational")
    other = lw.FullDynamics(model, start, integrator="semi_implicit_euler")
    first, course = sim.energy.total, Course()
    other.advance(NO_TIME)
    while sim.time < seconds - 0.5 * H:
        began = time.process_time()
        other.advance(NO_TIME, ABAS)
        between = time.process_time()
        report = sim.step(H, BLOCK)
        course.step_s.append((time.process_time() - between) / BLOCK)
        course.aba_s.append((between - began) / ABAS)
        course.changes.append(report.energy - first)
        course.kinetic.append(sim.energy.kinetic)
        course.turns.append(H * float(np.abs(sim.state.v).max()))
        course.halvings += report.halvings
    return course


def add_full(report: TableReport, name: str, seconds: float) -> list[str]:
    progress(f"{name}, {seconds:g} s")
    course = follow(name, seconds)
    change = max(map(abs, course.changes)) / max(course.kinetic)
    step, aba = statistics.median(course.step_s), statistics.median(course.aba_s)
    # Neighbouring samples share what else the machine does; the median leaves out those that were cut.
    ratio = statistics.median(a / b for a, b in zip(course.step_s, course.aba_s, strict=True))
    report.requirements.append(
        Requirement(f"{name}: energy", 100.0 * change, "% of the largest kinetic", "≤ 1", change <= MOST_CHANGE)
    )
    report.requirements.append(
        Requirement(f"{name}: a step", ratio, "times one aba", f"≤ {MOST_ABAS:g}", ratio <= MOST_ABAS)
    )
    steps = len(course.step_s) * BLOCK
    return [
        name,
        f"{100.0 * change:.2f} % of {max(course.kinetic):.3g} J",
        f"{max(course.turns):.2f} rad",
        f"{course.halvings / steps:.3f}",
        f"{step * 1e6:.1f} µs = {ratio:.2f} aba",
        f"{aba * 1e6:.1f} µs",
    ]


def add_adaptive(report: TableReport, name: str, seconds: float) -> list[str]:
    """Energy of the linkage that moves: what steps change between updates, and what each update of the region takes."""
    progress(f"{name}, {seconds:g} s")
    joints, speed, active = ADAPTIVE[name]
    model, start = linkage(joints, speed)
    sim = lw.AdaptiveDynamics(
        model,
        start,
        max_active_joints=active,
        update_every=UPDATE_EVERY,
        horizon=UPDATE_EVERY * H,
        integrator="variational",
    )
    by_steps = lowest = highest = by_updates = largest_update = top = 0.0
    energy = sim.energy.total
    while sim.time < seconds - 0.5 * H:
        sim.update_region()
        after = sim.energy.total
        sim.advance(H, UPDATE_EVERY)
        now = sim.energy
        by_updates += after - energy
        largest_update = max(largest_update, after - energy)
        by_steps += now.total - after
        lowest, highest = min(lowest, by_steps), max(highest, by_steps)
        top = max(top, now.kinetic)
        energy = now.total
    changes = sim.report.region_changes
    swing = max(highest, -lowest) / top
    made = max(0.0, largest_update) / top
    report.requirements.append(
        Requirement(f"{name}: steps", 100.0 * swing, "% of the largest kinetic", "≤ 1", swing <= MOST_CHANGE)
    )
    report.requirements.append(
        Requirement(f"{name}: an update", 100.0 * made, "% made at most", "≤ 1e-6", made <= 1e-8)
    )
    return [
        name,
        f"{100.0 * swing:.2f} %",
        f"{largest_update:.1e} J",
        f"{-by_updates:.3g} J, {-by_updates / max(changes, 1):.2g} J each",
        f"{top:.3g} J",
        f"{changes:,}",
    ]
