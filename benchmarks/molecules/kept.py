"""Energy and momentum of small proteins for `linkwork bench molecules`: default steps of 2 and 5 fs, no thermostat."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress
from .dynamics import warm_state

LIMITS = {2e-3: 0.002, 5e-3: 0.03}  # [kJ/mol/ps] by step [ps]
MOMENTUM = 1e-8  # of the thermal momentum √(m kT)
TIME = 4.0  # [ps]


def measure_kept(report: Report, molecules: dict[str, Any], quick: bool) -> None:
    for name, molecule in molecules.items():
        for h, limit in LIMITS.items():
            progress(f"{name} at {1e3 * h:g} fs")
            length = 0.05 if quick else TIME
            drift, change, integrator = kept(molecule, h, length)
            cuts = len(molecule.tree.cut)
            what = f"{molecule.n_torsions} torsions, {cuts} cut bonds; {integrator}"
            report.requirements.append(
                Requirement(f"{name}, {length:g} ps at {1e3 * h:g} fs: drift of the energy", abs(drift), "kJ/mol/ps",
                            f"≤ {limit:g}", abs(drift) <= limit, detail=what)
            )  # fmt: skip
            report.requirements.append(
                Requirement(f"{name}, {length:g} ps at {1e3 * h:g} fs: change of momentum", change, "of thermal momentum",
                            f"≤ {MOMENTUM:g}", change <= MOMENTUM)
            )  # fmt: skip


def kept(molecule: Any, h: float, time: float) -> tuple[float, float, str]:
    """Slope of the energy [kJ/mol/ps], change of the momentum over √(m kT), and the integrator that "auto" took."""
    sim = lw.FullDynamics(molecule.model, warm_state(molecule, 0), field=molecule.field())
    thermal = np.sqrt(float(molecule.model.mass.sum()) * lw.molecules.BOLTZMANN * 300.0)
    first = lw.momentum(molecule.model, sim.state).linear
    energies = [sim.energy.total]
    for _ in range(round(time / h)):
        sim.advance(h)
        energies.append(sim.energy.total)
    drift = float(np.polyfit(h * np.arange(len(energies)), energies, 1)[0])
    change = float(np.abs(lw.momentum(molecule.model, sim.state).linear - first).max() / thermal)
    return drift, change, sim.integrator
