"""Generalized forces against differences of the energy, for `linkwork bench molecules`: all degrees of freedom."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress

SLOPE = 1e-6  # of the largest generalized force
H = 1e-4  # [rad, nm] error h⁴ E⁽⁵⁾ / 30 and rounding 1e-12 E / h are both some 1e-8 of the largest


def compare_slopes(report: Report, helix: Any, options: argparse.Namespace) -> None:
    """The helix, crambin and bacteriorhodopsin, as far as their files are there."""
    molecules = [helix]
    files = () if options.quick else (options.structure.with_name("1CRN.pdb"), options.structure)
    for file in files:
        if file.is_file():
            progress(f"reading {file.name}")
            molecules.append(lw.molecules.load(file, chains="A", relax=True, seed=1))
        else:
            report.notes.append(f"there is no file {file.name}; the slopes of its energy are not compared.")
    for molecule in molecules:
        progress(f"slopes of {molecule.name}")
        worst = worst_slope(molecule)
        report.requirements.append(
            Requirement(
                f"{molecule.name}: generalized forces against differences of the energy", worst, "of the largest",
                f"≤ {SLOPE:g}", worst <= SLOPE, detail=f"{molecule.model.nv} degrees of freedom",
            )
        )  # fmt: skip


def worst_slope(molecule: Any) -> float:
    """Largest difference of a generalized force to a difference of fourth order, relative to the largest force.

    Without a cutoff: the energy of pairs that cross one makes a step.
    """
    field, model = molecule.field(), molecule.model
    u = 0.01 * np.random.default_rng(5).normal(size=model.nv)
    q, v = model.integrate(molecule.state.q, u), np.zeros(model.nv)
    forces = field.generalized_forces(lw.State(q, v))
    worst = 0.0
    for k in range(model.nv):
        unit = np.zeros(model.nv)
        unit[k] = 1.0
        at = [field.energy(lw.State(model.integrate(q, unit, s * H), v)) for s in (-2, -1, 1, 2)]
        slope = (at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * H)
        worst = max(worst, abs(forces[k] + slope))
    return float(worst / np.abs(forces).max())
