"""Deca-alanine pulled from 1.3 to 3.3 nm for `linkwork bench molecules`: torsions beside free atoms by OpenMM."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress

FROM, TO = 1.3, 3.3  # [nm] between the ends' nitrogens (Park and Schulten 2004)
SPEED = 0.05  # [nm/ps]
STIFFNESS = 500.0  # [kJ/mol/nm²]
FRICTION = 5.0  # [1/ps]
REPEATS = 4


def measure_deca(report: Report, quick: bool) -> None:
    molecule = lw.molecules.peptide("A" * (4 if quick else 10), helix=True, relax=True, seed=1)
    ends = [molecule.atom(f"A:1:{name}") for name in ("N",)] + [int(molecule.select(residue_name="NME", atoms="N")[0])]
    repeats = 1 if quick else REPEATS
    speed = 2.0 if quick else SPEED
    first = float(np.linalg.norm(molecule.reference[ends[1]] - molecule.reference[ends[0]]))
    to = first + 0.2 if quick else TO + first - FROM  # both go the same 2 nm from where the helix is at rest
    progress("deca-alanine in torsions")
    pulled = lw.molecules.pull(
        molecule, molecule.field(), *ends, to=to, speed=speed, stiffness=STIFFNESS, friction=FRICTION, h=4e-3,
        settle=0.05 if quick else 2.0, repeats=repeats, seed=1,
    )  # fmt: skip
    free = [free_work(molecule, ends, first, to, speed, seed, quick) for seed in range(repeats)]
    ours, theirs = pulled.work[:, -1], np.array(free)
    report.results.append({"case": "deca", "torsions_kJ_mol": ours.tolist(), "atoms_kJ_mol": theirs.tolist()})
    spread = (
        f"torsions {ours.mean():.0f} ± {ours.std():.0f}, free atoms {theirs.mean():.0f} ± {theirs.std():.0f} kJ/mol"
    )
    report.requirements.append(
        Requirement(f"deca-alanine, {first:.2f} to {to:.2f} nm at {speed:g} nm/ps, {repeats} runs each: work",
                    float(ours.mean() / theirs.mean()), "times that of free atoms", "", True, detail=spread)
    )  # fmt: skip
    report.requirements.append(
        Requirement("deca-alanine: free energy by Jarzynski's equality", float(pulled.jarzynski()[-1]), "kJ/mol",
                    "≤ mean work", bool(pulled.jarzynski()[-1] <= ours.mean()), detail=f"{repeats} runs")
    )  # fmt: skip


def free_work(molecule: Any, ends: list[int], first: float, to: float, speed: float, seed: int, quick: bool) -> float:
    """Work [kJ/mol] of the same spring on free atoms, bonds to hydrogens constrained, at 2 fs."""
    import openmm as mm
    from openmm import app

    progress(f"deca-alanine of free atoms, run {seed + 1}")
    system = app.ForceField("amber14-all.xml").createSystem(
        molecule.topology, constraints=app.HBonds, removeCMMotion=False
    )
    spring = mm.CustomBondForce("0.5*k*(r-r0)^2")
    spring.addGlobalParameter("k", STIFFNESS)
    spring.addGlobalParameter("r0", first)
    spring.addBond(*ends, [])
    system.addForce(spring)
    h, every = 2e-3, 10
    integrator = mm.LangevinMiddleIntegrator(300.0, FRICTION, h)
    integrator.setRandomNumberSeed(seed + 1)
    context = mm.Context(system, integrator, mm.Platform.getPlatformByName("CPU"), {"Threads": "1"})
    context.setPositions(molecule.reference)
    context.setVelocitiesToTemperature(300.0, seed + 1)
    integrator.step(25 if quick else 1000)
    rounds = max(1, round((to - first) / speed / h / every))
    length, work = first, 0.0
    for target in np.linspace(first, to, rounds + 1)[1:].tolist():
        x = context.getState(getPositions=True).getPositions(asNumpy=True)._value
        r = float(np.linalg.norm(x[ends[1]] - x[ends[0]]))
        work += 0.5 * STIFFNESS * ((target - r) ** 2 - (length - r) ** 2)  # the spring grows at once, then atoms follow
        length = target
        context.setParameter("r0", length)
        integrator.step(every)
    return work
