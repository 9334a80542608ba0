"""Alanine dipeptide's populations for `linkwork bench molecules`: exact weights, replicas, and free atoms by OpenMM."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress

TEMPERATURE = 300.0  # [K]
LADDER = (300.0, 450.0, 675.0, 1000.0)  # [K]
SIGMAS = 2.0  # standard errors between samples and exact weights
BLOCKS = 20
GRID = np.radians(np.arange(-180.0, 180.0, 5.0))
SHAPES = ("C7eq", "C5", "others")


def shape_of(phi: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """0: C7eq (φ < 0, ψ from 0° to 120°), 1: C5 (φ < 0, ψ beyond 120°), 2: everything else."""
    folded, stretched = (psi > 0.0) & (psi < np.radians(120.0)), np.abs(psi) >= np.radians(120.0)
    return np.where(phi >= 0.0, 2, np.where(folded, 0, np.where(stretched, 1, 2)))


def measure_sampling(report: Report, quick: bool) -> None:
    molecule = lw.molecules.peptide("A", relax=True, seed=1)
    field = molecule.field()
    progress("exact weights of alanine dipeptide")
    exact = exact_populations(molecule, field)
    progress("replicas of alanine dipeptide")
    drawn = lw.molecules.replica_exchange(
        molecule, field, LADDER, rounds=60 if quick else 6000, h=0.015, steps=10, seed=1, progress=False
    ).at(TEMPERATURE)
    seen = shape_of(drawn.angles(molecule.phi(1)), drawn.angles(molecule.psi(1)))
    for k in (0, 1):
        mean, error = blocked((seen == k).astype(float))
        apart = abs(mean - exact[k]) / max(error, 1e-12)
        report.requirements.append(
            Requirement(f"alanine dipeptide, {SHAPES[k]}: replicas against exact weights", apart, "standard errors",
                        f"≤ {SIGMAS:g}", apart <= SIGMAS, detail=f"{mean:.3f} ± {error:.3f}, exact {exact[k]:.3f}")
        )  # fmt: skip
    progress("alanine dipeptide of free atoms")
    phi, psi = free_atoms(molecule, 5.0 if quick else 2000.0)
    free = shape_of(phi, psi)
    for k in (0, 1):
        mean, error = blocked((free == k).astype(float))
        report.requirements.append(
            Requirement(f"alanine dipeptide, {SHAPES[k]}: share in Cartesian OpenMM", mean, "of the samples", "", True,
                        detail=f"± {error:.3f}; torsions alone {exact[k]:.3f}")
        )  # fmt: skip
    report.results.append({"case": "populations", "exact": exact.tolist()})


def blocked(values: np.ndarray) -> tuple[float, float]:
    """Mean, and its standard error by blocks."""
    means = np.array([block.mean() for block in np.array_split(values, BLOCKS)])
    return float(values.mean()), float(means.std(ddof=1) / np.sqrt(BLOCKS))


def exact_populations(molecule: Any, field: Any) -> np.ndarray:
    """Shares of the shapes by exp(-E/kT) on a grid of five degrees."""
    E = np.zeros((GRID.size, GRID.size))
    for i, phi in enumerate(GRID):
        row = molecule.with_angle(molecule.state, molecule.phi(1), phi)
        for j, psi in enumerate(GRID):
            E[i, j] = field.energy(molecule.with_angle(row, molecule.psi(1), psi))
    weight = np.exp(-(E - E.min()) / (lw.molecules.BOLTZMANN * TEMPERATURE))
    shape = shape_of(*np.meshgrid(GRID, GRID, indexing="ij"))
    return np.array([weight[shape == k].sum() for k in range(3)]) / weight.sum()


def free_atoms(molecule: Any, time: float) -> tuple[np.ndarray, np.ndarray]:
    """φ and ψ along a run of OpenMM with all atoms free, bonds to hydrogens constrained, at 300 K; time [ps]."""
    import openmm as mm
    from openmm import app

    system = app.ForceField("amber14-all.xml").createSystem(
        molecule.topology, constraints=app.HBonds, removeCMMotion=False
    )
    integrator = mm.LangevinMiddleIntegrator(TEMPERATURE, 2.0, 2e-3)
    integrator.setRandomNumberSeed(1)
    context = mm.Context(system, integrator, mm.Platform.getPlatformByName("Reference"))
    context.setPositions(molecule.reference)
    context.setVelocitiesToTemperature(TEMPERATURE, 1)
    integrator.step(5000)
    atoms = [list(torsion.atoms) for torsion in (molecule.phi(1), molecule.psi(1))]
    rows = []
    for _ in range(round(time / 0.2)):
        integrator.step(100)
        x = context.getState(getPositions=True).getPositions(asNumpy=True)._value
        rows.append([dihedral(*x[four]) for four in atoms])
    phi, psi = np.array(rows).T
    return phi, psi


def dihedral(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> float:
    u, v, w = b - a, c - b, d - c
    first, second = np.cross(u, v), np.cross(v, w)
    return float(np.arctan2(np.linalg.norm(v) * (u @ second), first @ second))
