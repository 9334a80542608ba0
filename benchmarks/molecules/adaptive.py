"""Bacteriorhodopsin with few torsions active, and bulk wrenches, for `linkwork bench molecules`."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress, take_turns
from .dynamics import warm_state

CUTOFF = 1.0  # [nm]
H = 2e-3  # [ps]
ACTIVE, LOCAL = 48, 10  # torsions of the paper; neighbours at the end of the chain
LOCAL_SPEED = 25.0  # times faster a step with LOCAL active than with all
BULK_SPEED = 40.0  # times faster bulk wrenches and a step than one call per body and a step
AGREE = 1e-9  # of the field's energy, adaptive against the field itself at the same state
SELDOM = 10**9  # steps between updates where only steps are timed


def compare_adaptive(report: Report, protein: Any, rounds: int, quick: bool) -> None:
    """Steps of all torsions, of 48 chosen by the metric, and of 10 next to each other; and bulk wrenches."""
    progress("adaptive")
    start = warm_state(protein, 3)
    options = {"field": protein.field(cutoff=CUTOFF), "integrator": "kick_drift_kick"}
    active, local = (4, 2) if quick else (ACTIVE, LOCAL)
    full = lw.FullDynamics(protein.model, start, **options)
    chosen = lw.AdaptiveDynamics(protein.model, protein.state, max_active_joints=active, **options)
    chosen.advance(H, 20)
    near = local_simulation(protein, local, options)
    prove(report, protein, {f"{active} active": chosen, f"{local} local active": near})
    timings = take_turns(
        {
            "all active": lambda: full.advance(H, 10),
            f"{active} active, region updated every 10 steps": lambda: chosen.advance(H, 10),
            f"{local} local active": lambda: near.advance(H, 10),
        },
        rounds,
        sample_time=0.02,
    )
    report.add_timings("ten steps with forces at 1.0 nm", protein.n_torsions, timings)
    whole = timings["all active"].processor_median
    for name, timing in timings.items():
        if name == "all active":
            continue
        judged = "local" in name
        times = whole / timing.processor_median
        report.requirements.append(
            Requirement(f"steps with forces, {name}", times, "times faster than all",
                        f"≥ {LOCAL_SPEED:g}" if judged else "", times >= LOCAL_SPEED or not judged)
        )  # fmt: skip
    bulk(report, protein, active, rounds)


def local_simulation(protein: Any, count: int, options: dict[str, Any]) -> lw.AdaptiveDynamics:
    """Only the last torsions along the chain move, all others are held."""
    torsions = sorted(protein.torsions, key=lambda t: int(protein.atoms.residue_of[protein.tree.axis[t.joint, 1]]))
    moving = torsions[-count:]
    state = protein.state
    v = state.v.copy()
    for torsion in moving:
        v[protein.model.v_slice(torsion.joint)] = 1.0
    sim = lw.AdaptiveDynamics(protein.model, lw.State(state.q, v), tolerance=0.0, update_every=SELDOM, **options)
    for torsion in torsions[:-count]:
        sim.pin_inactive(protein.model.joint_names[torsion.joint])
    sim.advance(H, 5)
    return sim


def prove(report: Report, protein: Any, simulations: dict[str, lw.AdaptiveDynamics]) -> None:
    """Energy with pairs inside rigid groups left out, against the whole field at the same state."""
    field = protein.field(cutoff=CUTOFF)
    for name, sim in simulations.items():
        exact = field.energy(sim.state)
        off = abs(sim.field_energy - exact) / abs(exact)
        report.requirements.append(
            Requirement(f"{name}: energy of the field against that of the whole", off, "relative", f"≤ {AGREE:g}",
                        off <= AGREE, detail=f"{sim.report.n_active} active, {sim.field.pairs:,} pairs")
        )  # fmt: skip


def bulk(report: Report, protein: Any, active: int, rounds: int) -> None:
    """New wrenches on all bodies and a step: in one call, and in one call per body."""
    model = protein.model
    n = model.n_bodies
    wrenches = protein.field(cutoff=CUTOFF).at(protein.state)[1]

    def make() -> lw.AdaptiveDynamics:
        return lw.AdaptiveDynamics(model, protein.state, max_active_joints=active, update_every=10, integrator="rk4")

    one, many = make(), make()
    bodies = np.arange(n)
    load = one.apply_wrenches(bodies, wrenches, frame="body")
    loads = [
        many.apply_wrench(int(b), force=w[3:], torque=w[:3], frame="body")
        for b, w in zip(bodies, wrenches, strict=True)
    ]
    for sim in (one, many):
        sim.advance(1e-4, 10)
    gap = float(np.abs(one.state.q - many.state.q).max())
    report.requirements.append(
        Requirement("bulk wrenches and single ones: the same motion", gap, "apart [rad, nm]", "≤ 1e-12", gap <= 1e-12)
    )

    def in_one_call() -> None:
        one.set_wrenches(load, wrenches)
        one.advance(1e-6)

    def body_by_body() -> None:
        for handle, w in zip(loads, wrenches, strict=True):
            many.change_wrench(handle, force=w[3:], torque=w[:3])
        many.advance(1e-6)

    timings = take_turns({"one call": in_one_call, "one call per body": body_by_body}, rounds, sample_time=0.02)
    report.add_timings(f"wrenches on {n} bodies and a step", n, timings)
    times = timings["one call"].times_faster_than(timings["one call per body"])
    report.requirements.append(
        Requirement(f"wrenches on {n} bodies and a step, in one call", times, "times faster than one call per body",
                    f"≥ {BULK_SPEED:g}", times >= BULK_SPEED)
    )  # fmt: skip
