"""Energy and momentum of small proteins for `linkwork bench molecules`: default steps of 2 and 5 fs, no thermostat."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress
from .dynamics import warm_state

LIMITS = {2e-3: 0.002, 5e-3: 0.03}  # [kJ/mol/ps] by step [ps]
MOMENTUM = 1e-8  # of the thermal momentum √(m kT)
TIME = 10.0  # [ps]
WARM_UP = (
    1.0  # [ps] with a thermostat: a structure at its minimum takes up heat first, and its energy error changes with it
)


def measure_kept(report: Report, molecules: dict[str, Any], quick: bool) -> None:
    for name, molecule in molecules.items():
        for h, limit in LIMITS.items():
            progress(f"{name} at {1e3 * h:g} fs")
            length = 0.05 if quick else TIME
            start = warmed(molecule, 0.02 if quick else WARM_UP)
            drift, error, change, integrator = kept(molecule, start, h, length)
            cuts = len(molecule.tree.cut)
            what = f"± {error:.1g}; {molecule.n_torsions} torsions, {cuts} cut bonds; {integrator}"
            report.requirements.append(
                Requirement(f"{name}, {length:g} ps at {1e3 * h:g} fs: drift of the energy", abs(drift), "kJ/mol/ps",
                            f"≤ {limit:g}", abs(drift) <= limit, detail=what)
            )  # fmt: skip
            report.requirements.append(
                Requirement(f"{name}, {length:g} ps at {1e3 * h:g} fs: change of momentum", change, "of thermal momentum",
                            f"≤ {MOMENTUM:g}", change <= MOMENTUM)
            )  # fmt: skip


def warmed(molecule: Any, time: float) -> lw.State:
    thermostat = lw.Langevin(300.0, friction=5.0, seed=1)
    sim = lw.FullDynamics(molecule.model, warm_state(molecule, 0), field=molecule.field(), thermostat=thermostat)
    sim.advance(2e-3, round(time / 2e-3))
    return sim.state


def kept(molecule: Any, start: lw.State, h: float, time: float) -> tuple[float, float, float, str]:
    """Slope of the energy and its standard error by tenths of the run [kJ/mol/ps], change of the momentum over √(m kT), and
    the integrator that "auto" took."""
    sim = lw.FullDynamics(molecule.model, start, field=molecule.field())
    thermal = np.sqrt(float(molecule.model.mass.sum()) * lw.molecules.BOLTZMANN * 300.0)
    first = lw.momentum(molecule.model, sim.state).linear
    energies = [sim.energy.total]
    for _ in range(round(time / h)):
        sim.advance(h)
        energies.append(sim.energy.total)
    # A line through the means of tenths: what is left beside it says how well its slope is known
    means = np.array([part.mean() for part in np.array_split(np.array(energies), 10)])
    t = np.linspace(0.05, 0.95, 10) * time
    drift, at_start = (float(x) for x in np.polyfit(t, means, 1))
    left = means - drift * t - at_start
    error = float(np.sqrt((left @ left) / 8.0 / ((t - t.mean()) @ (t - t.mean()))))
    change = float(np.abs(lw.momentum(molecule.model, sim.state).linear - first).max() / thermal)
    return drift, error, change, sim.integrator
