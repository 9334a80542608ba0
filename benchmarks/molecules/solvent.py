"""Implicit solvent for `linkwork bench molecules`: against OpenMM, against vacuum, and with few joints active."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from linkwork.molecules.forces.field import poses_of

from ..harness import Report, Requirement, progress, take_turns
from .dynamics import warm_state

CUTOFF = 1.0  # [nm]
RIGHT = 1e-6  # of energy and of generalized forces, relative to the largest, against OpenMM's double precision
STEP = 3.0  # times the step in vacuum
FROZEN = 15.0  # times faster with 10 local active joints than with all
SOLVENTS = ("obc2", "gbn2")


def compare_solvent(report: Report, molecules: list[Any], rounds: int, clusters: Any) -> None:
    """molecules: the last and largest is timed. clusters(model, active): the cluster of each body."""
    for molecule in molecules:
        for solvent in SOLVENTS:
            progress(f"{molecule.name} in {solvent}")
            worst = disagreement(molecule, solvent)
            report.requirements.append(
                Requirement(f"{molecule.name} in {solvent}: energy and forces against OpenMM Reference", worst,
                            "of the largest", f"≤ {RIGHT:g}", worst <= RIGHT)
            )  # fmt: skip
    protein = molecules[-1]
    progress("timing solvent")
    time_steps(report, protein, rounds)
    time_forces(report, protein, rounds)
    time_frozen(report, protein, rounds, clusters)


def disagreement(molecule: Any, solvent: str) -> float:
    """Largest difference of energy and of generalized forces to OpenMM in double precision, relative to the largest."""
    own = molecule.field(cutoff=CUTOFF, solvent=solvent)
    exact = molecule.field(cutoff=CUTOFF, solvent=solvent, engine="openmm", platform="Reference")
    u = 1e-3 * np.random.default_rng(1).normal(size=molecule.model.nv)
    state = lw.State(molecule.model.integrate(molecule.state.q, u), np.zeros(molecule.model.nv))
    a, b = own.generalized_forces(state), exact.generalized_forces(state)
    scale = abs(exact.energy(state))
    return float(max(abs(own.energy(state) - exact.energy(state)) / scale, np.abs(a - b).max() / np.abs(b).max()))


def time_steps(report: Report, protein: Any, rounds: int) -> None:
    """Steps of 2 fs at 300 K, lists of neighbours made anew as in every run; by processor time."""
    start = warm_state(protein, 2)
    sims = {
        name: lw.FullDynamics(protein.model, start, field=protein.field(cutoff=CUTOFF, solvent=solvent))
        for name, solvent in (("vacuum", None), *((s, s) for s in SOLVENTS))
    }
    timings = take_turns({k: (lambda s=s: s.advance(2e-3, 5)) for k, s in sims.items()}, rounds, sample_time=0.05)
    report.add_timings("five steps in solvent", protein.n_torsions, timings)
    for solvent in SOLVENTS:
        times = timings[solvent].processor_median / timings["vacuum"].processor_median
        report.requirements.append(
            Requirement(f"{protein.name}, a step in {solvent}", times, "times one in vacuum", f"≤ {STEP:g}",
                        times <= STEP)
        )  # fmt: skip


def time_forces(report: Report, protein: Any, rounds: int) -> None:
    poses = poses_of(protein.model, protein.state.q)
    out = np.zeros((protein.model.n_bodies, 6))
    contestants = {}
    for solvent in SOLVENTS:
        own = protein.field(cutoff=CUTOFF, solvent=solvent)
        peer = protein.field(cutoff=CUTOFF, solvent=solvent, engine="openmm", threads=1)
        contestants[solvent] = lambda f=own: f.wrenches(poses, out)
        contestants[f"{solvent}, OpenMM CPU, one thread"] = lambda f=peer: f.wrenches(poses, out)
    timings = take_turns(contestants, rounds, sample_time=0.05)
    report.add_timings("forces in solvent", protein.n_torsions, timings)
    for solvent in SOLVENTS:
        times = timings[solvent].times_faster_than(timings[f"{solvent}, OpenMM CPU, one thread"])
        report.requirements.append(
            Requirement(f"own forces in {solvent}, one thread", times, "times faster than OpenMM CPU, one thread",
                        "≥ 1", times >= 1.0)
        )  # fmt: skip


def time_frozen(report: Report, protein: Any, rounds: int, clusters: Any) -> None:
    """Ten neighbouring torsions at the end of the chain; by processor time."""
    poses = poses_of(protein.model, protein.state.q)
    out = np.zeros((protein.model.n_bodies, 6))
    joints = [torsion.joint for torsion in protein.torsions]
    by_residue = sorted(joints, key=lambda joint: int(protein.atoms.residue_of[protein.tree.axis[joint, 1]]))
    contestants = {}
    for name, active in (("all active", range(protein.model.n_bodies)), ("10 local", by_residue[-10:])):
        field = protein.field(cutoff=CUTOFF, solvent="obc2")
        field.set_clusters(clusters(protein.model, set(active)), poses)
        contestants[name] = lambda f=field: f.wrenches(poses, out)
    timings = take_turns(contestants, rounds, sample_time=0.02)
    report.add_timings("forces in obc2, few joints active", protein.n_torsions, timings)
    times = timings["all active"].processor_median / timings["10 local"].processor_median
    report.requirements.append(
        Requirement("forces in obc2, 10 local active", times, "times faster than all", f"≥ {FROZEN:g}", times >= FROZEN)
    )
