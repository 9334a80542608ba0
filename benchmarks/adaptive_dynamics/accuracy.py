"""How far an adaptive simulation is from the full one, by the number of active joints: same integrator, step and hit."""

from __future__ import annotations

import numpy as np

import linkwork as lw

from ..harness import Requirement, TableReport, progress
from . import cases
from .runner import Case, FloatArray, Runner, full_run
from .timing import ratio

CASE = "accuracy"
JOINTS, QUICK_JOINTS = 2_000, 120
STEPS, HIT_STEPS = 400, 100  # of the whole run, and of the hit at its beginning
QUICK_STEPS, QUICK_HIT_STEPS = 60, 20
ACTIVE: tuple[int | None, ...] = (3, 10, 30, 100, 300, 600, 1_000, 1_500, None)
QUICK_ACTIVE: tuple[int | None, ...] = (3, 30, None)
ROUNDING = 1e-8  # of the largest motion: what the last digits grow to in a run, where all joints are active


def run(report: TableReport, quick: bool) -> None:
    case = cases.molecule(QUICK_JOINTS if quick else JOINTS, floating=False)
    steps, hit = (QUICK_STEPS, QUICK_HIT_STEPS) if quick else (STEPS, HIT_STEPS)
    h = case.step_size()
    progress(f"accuracy: {case.name}, full run")
    full = full_run(case, h, steps, hit)
    start, end, speeds = places(case, case.state()), places(case, full), velocities(case, full)
    farthest, fastest = largest(end - start), largest(speeds)
    rows, last = [], (0.0, 0.0)
    for active in QUICK_ACTIVE if quick else ACTIVE:
        progress(f"accuracy: {active or 'all'} active")
        runner = Runner(case, h, active)
        runner.sim.step(h, hit)
        for load in runner.loads:
            runner.sim.clear(load)
        reported = runner.sim.step(h, steps - hit)
        own = runner.sim.state
        last = largest(places(case, own) - end) / farthest, largest(velocities(case, own) - speeds) / fastest
        shown = case.joints if active is None else active
        report.results.append({
            "case": CASE, "joints": case.model.n_bodies, "asked": active, "active_joints": shown, "h": h,
            "steps": steps, "position_error": last[0], "velocity_error": last[1], "bound": reported.error_bound,
            "energy": reported.energy, "full_energy": lw.energy(case.model, full).total, "displacement": farthest,
        })  # fmt: skip
        rows.append([
            f"{shown:,}" + (" (all)" if active is None else ""), f"{last[0]:.1e}", f"{last[1]:.1e}",
            ratio(reported.energy / lw.energy(case.model, full).total).replace("x", ""), f"{reported.error_bound:.1e}",
        ])  # fmt: skip
    columns = ["active joints", "position error", "velocity error", "energy / full energy", "bound, rad/s²"]
    title = f"{case.name}, hit for {hit} steps, after {steps}: error against the full simulation"
    report.add_table(CASE, title, columns, rows)
    name = f"{case.name}, all active: positions and velocities after {steps} steps"
    worst = max(last)
    report.requirements.append(
        Requirement(name, worst, "of the largest", f"≤ {ROUNDING:g}", worst <= ROUNDING, detail="against full steps")
    )


def places(case: Case, state: lw.State) -> FloatArray:
    """Origins of all bodies in the world [m], shape (n, 3)."""
    return np.asarray(lw.body_poses(case.model, state)[:, :3, 3])


def velocities(case: Case, state: lw.State) -> FloatArray:
    """Velocities of the origins of all bodies in the world [m/s], shape (n, 3)."""
    R = lw.body_poses(case.model, state)[:, :3, :3]
    return np.einsum("nij,nj->ni", R, lw.body_twists(case.model, state)[:, 3:])


def largest(vectors: FloatArray) -> float:
    return float(np.linalg.norm(vectors, axis=1).max())
