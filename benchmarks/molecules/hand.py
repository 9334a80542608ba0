"""A hand on bacteriorhodopsin, for `linkwork bench molecules`: figure 5 of Morin and Redon (2007).

What a step of the simulation and a tick of the coupling loop take over time, while a hand takes hold of an atom and lets
go, and the number of active torsions falls from all to 48. What the hand feels is compared with the sum of all joint
reactions before anything is timed. Times are those of the processor: each loop has a core of its own where a person holds
the device.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

import linkwork as lw
from linkwork.haptics.clock import now_ns
from linkwork.haptics.tick.coupling import couple_once
from linkwork.viewer.controls.hand import Hand
from linkwork.viewer.controls.player import FRAME
from linkwork.viewer.frames import framing, up_of
from linkwork.viewer.shapes.instances import instances_of

from ..harness import Report, Requirement, progress
from .dynamics import warm_state

CUTOFF, H = 1.0, 2e-3  # [nm], [ps]
ACTIVE = 48
TICK = 10e-6  # [s] that a tick may take
TICKS = 20  # averaged for one point of the coupling loop
HELD = ((0.1, 0.25), (0.4, 0.6), (0.75, 0.9))  # parts of the time in which the hand holds an atom
AGREE = 1e-7  # of the largest force: rounding of sweeps over 850 light bodies, conditions of some 1e7
COUPLING = {
    "stiffness": 500.0,
    "damping": 0.0,
    "force_limit": 1e4,
    "torque_limit": 1e4,
    "watchdog": 1e3,
    "passive": False,
}
WAY = 0.3  # [nm] that the hand goes to and fro
WARMER = 20.0  # [K] that a drag of the mouse by 1 nm in a second may warm a molecule


class Loops(NamedTuple):
    """What loops took over time. NaN where nobody holds anything."""

    step: np.ndarray  # (steps,) [s]
    tick: np.ndarray  # (steps,) [s]
    active: np.ndarray  # (steps,) torsions


def follow_loops(molecule: Any, steps: int, active: int) -> Loops:
    """All torsions active at first, `active` of them from the middle on; a hand that takes hold three times."""
    field = molecule.field(cutoff=CUTOFF)
    sim = lw.AdaptiveDynamics(
        molecule.model, warm_state(molecule, 5), max_active_joints=molecule.n_torsions, field=field,
        integrator="kick_drift_kick", thermostat=lw.Langevin(300.0, 5.0, seed=1),
    )  # fmt: skip
    device, session = lw.haptics.Pointer(), lw.haptics.session_of(sim)
    session.step(H)
    prove(molecule, sim, device)
    grasp, rows = None, []
    atom = held_atom(molecule)
    for k in range(steps):
        wants = any(a <= k / steps < b for a, b in HELD)
        if wants and grasp is None:
            grasp = lw.haptics.grasp(sim, atom, device, **COUPLING)
        elif grasp is not None and not wants:
            grasp.release()
            grasp = None
        if k == steps // 2:
            sim.max_active_joints = active
            sim.tolerance = None
        device.move((WAY * np.sin(20.0 * k / steps), 0.0, 0.0))
        began = time.thread_time()
        session.step(H)
        step, tick = time.thread_time() - began, np.nan
        if grasp is not None:
            session.read_devices()
            began = time.thread_time()
            for _ in range(TICKS):
                couple_once(session.memory, session.scratch, now_ns())
            tick = (time.thread_time() - began) / TICKS
        rows.append((step, tick, sim.report.n_active))
    return Loops(*np.array(rows).T)


def held_atom(molecule: Any) -> str:
    """The Cα in the middle of the chain."""
    alphas = molecule.select(atoms="CA")
    return str(molecule.atoms.label(int(alphas[len(alphas) // 2])))


def prove(molecule: Any, sim: Any, device: Any) -> None:
    """What a tick makes the hand feel, against forces on the body held and all reactions at its joints, by O(n) sweeps."""
    grasp = lw.haptics.grasp(sim, held_atom(molecule), device, **COUPLING)
    device.move((0.1, 0.05, -0.1))
    grasp.session.tick()
    model, state, body = molecule.model, sim.state, grasp.body
    T = lw.body_poses(model, state)
    R = T[body, :3, :3]
    _, wrenches = molecule.field(cutoff=CUTOFF).at(state)
    force = R.T @ grasp.wrench[3:]
    own = np.concatenate([R.T @ grasp.wrench[:3] + np.cross(grasp.at, force), force])
    wrenches[body] += own
    f = lw.joint_reactions(model, state, wrenches=wrenches)
    total = f[body] + wrenches[body] - own
    for child in np.flatnonzero(model.parent == body).tolist():
        X = np.linalg.inv(T[body]) @ T[child]
        back = X[:3, :3] @ f[child, 3:]
        total -= np.concatenate([X[:3, :3] @ f[child, :3] + np.cross(X[:3, 3], back), back])
    expected = np.concatenate([R @ (total[:3] - np.cross(grasp.at, total[3:])), R @ total[3:]])
    gap = float(np.abs(grasp.felt - expected).max() / np.abs(wrenches).max())
    grasp.release()
    device.move((0.0, 0.0, 0.0))
    if not gap <= AGREE:
        raise lw.LinkworkError(f"what the hand feels is off by {gap:.1e} of the largest force. Nothing was timed.")


def measure_hand(report: Report, molecule: Any, quick: bool) -> None:
    progress("a hand on the protein")
    steps, active = (40, 4) if quick else (400, ACTIVE)
    loops = follow_loops(molecule, steps, active)
    report.results.append(
        {
            "case": "hand", "molecule": molecule.name, "torsions": molecule.n_torsions,
            "step_s": loops.step.tolist(), "active": loops.active.tolist(),
            "tick_s": [None if np.isnan(x) else x for x in loops.tick.tolist()],
        }
    )  # fmt: skip
    tick, held = float(np.nanmedian(loops.tick)), np.isfinite(loops.tick)
    first = np.arange(steps) < steps // 2
    report.requirements.append(
        Requirement(f"coupling tick, a hand on {molecule.name}", 1e6 * tick, "µs", f"≤ {1e6 * TICK:g}", tick <= TICK,
                    detail=f"99 %: {1e6 * float(np.nanquantile(loops.tick, 0.99)):.2f} µs; paper: 50 µs")
    )  # fmt: skip
    for name, half in ((f"all {molecule.n_torsions}", first), (f"{int(loops.active[-1])}", ~first)):
        free, with_hand = (1e3 * float(np.median(loops.step[half & chosen])) for chosen in (~held, held))
        report.requirements.append(
            Requirement(f"simulation loop, {name} torsions active", free, "ms of the processor per step", "", True,
                        detail=f"{with_hand:.2f} ms while a hand holds an atom")
        )  # fmt: skip
    measure_drags(report, lw.molecules.peptide("A" * 20, helix=True, relax=True, seed=1), quick)
    measure_drags(report, molecule, quick)


def measure_drags(report: Report, molecule: Any, quick: bool) -> None:
    """How much warmer a molecule is while the mouse pulls its last atom outwards by 1 nm, than without the mouse."""
    field = molecule.field(cutoff=CUTOFF)
    for name, pace, options in (
        ("all torsions", 1.0, {}),
        ("all torsions, on a slow computer", 0.2, {}),
        (f"{ACTIVE} torsions", 1.0, {"max_active_joints": ACTIVE, "update_every": 10}),
    ):
        kind: Any = lw.AdaptiveDynamics if options else lw.FullDynamics
        seconds, seeds = (0.1, range(1)) if quick else (1.0, range(3))
        means = np.array(
            [[dragged(kind, molecule, field, seed, v, pace, seconds, options) for v in (0.0, 1.0)] for seed in seeds]
        )
        warmer = float((means[:, 1] - means[:, 0]).mean())
        report.requirements.append(
            Requirement(
                f"a drag of the mouse by 1 nm/s, {molecule.name}, {name}", warmer, "K warmer", f"≤ {WARMER:g}",
                warmer <= WARMER, detail=f"{pace:g} ps simulated in a second; {means[:, 0].mean():.0f} K without it",
            )
        )  # fmt: skip


def dragged(
    kind: Any, molecule: Any, field: Any, seed: int, speed: float, pace: float, seconds: float, options: dict[str, int]
) -> float:
    """Mean temperature [K] while the mouse goes outwards [nm/s]. pace: simulated ps per second, as a page plays them."""
    model, bath = molecule.model, lw.Langevin(300.0, 5.0, seed=seed)
    sim = kind(model, warm_state(molecule, seed), field=field, thermostat=bath, **options)
    sim.advance(H, 100)
    T, body = lw.body_poses(model, sim.state), model.n_bodies - 1
    hand, place = Hand(None, framing(instances_of(model).corners(T), up_of(model)).size), T[body, :3, 3]
    outwards = place - T[:, :3, 3].mean(axis=0)
    if speed > 0.0:
        hand.grab(sim, body, place, T)
    found = []
    for k in range(round(seconds / FRAME)):
        hand.pull(place + speed * FRAME * (k + 1) * outwards / np.linalg.norm(outwards))
        hand.advance(sim.advance, H, max(1, round(pace * FRAME / H)))
        found.append(sim.scalars()["temperature"])
    hand.release()
    return float(np.mean(found))
