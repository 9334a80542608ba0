"""Energy and momentum of small proteins for `linkwork bench molecules`: default steps of 2 and 5 fs, no thermostat.

The energy of a symplectic step swings with the state and takes a small step, up or down, where two atoms meet faster than
steps resolve (at 5 fs a hydrogen of a salt bridge at 0.15 nm: 0.3 to 1 kJ/mol). Both look like a drift over a few ps. So
the slope is taken over 20 ps, from several starts that were warm for 5 ps, and is given with its standard error.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress
from .dynamics import warm_state

LIMITS = {2e-3: 0.002, 5e-3: 0.03}  # [kJ/mol/ps] by step [ps]
MOMENTUM = 1e-8  # of the thermal momentum √(m kT)
TIME = 20.0  # [ps]
WARM_UP = (
    5.0  # [ps] with a thermostat: a structure at its minimum takes up heat first, and its energy error changes with it
)
STARTS = 2
PARTS = 20  # of a run, whose means the line goes through


class Kept(NamedTuple):
    """What a run kept."""

    drift: float  # [kJ/mol/ps]
    error: float  # [kJ/mol/ps] standard error of the drift
    momentum: float  # its change over √(m kT)
    integrator: str  # that "auto" took


def measure_kept(report: Report, molecules: dict[str, Any], quick: bool, seed: int = 0) -> None:
    """seed: of the first start; the others take those that follow."""
    length, warm, starts = (0.1, 0.02, 1) if quick else (TIME, WARM_UP, STARTS)
    for name, molecule in molecules.items():
        from_here = [warmed(molecule, warm, seed + k) for k in range(starts)]
        for h, limit in LIMITS.items():
            progress(f"{name} at {1e3 * h:g} fs")
            runs = [kept(molecule, start, h, length) for start in from_here]
            drift = float(np.mean([run.drift for run in runs]))
            each = ", ".join(f"{run.drift:.1g} ± {run.error:.1g}" for run in runs)
            what = f"{each}; {molecule.n_torsions} torsions, {len(molecule.tree.cut)} cut bonds; {runs[0].integrator}"
            report.requirements.append(
                Requirement(f"{name}, {starts} × {length:g} ps at {1e3 * h:g} fs: drift of the energy", abs(drift),
                            "kJ/mol/ps", f"≤ {limit:g}", abs(drift) <= limit, detail=what)
            )  # fmt: skip
            change = max(run.momentum for run in runs)
            report.requirements.append(
                Requirement(f"{name}, {length:g} ps at {1e3 * h:g} fs: change of momentum", change, "of thermal momentum",
                            f"≤ {MOMENTUM:g}", change <= MOMENTUM)
            )  # fmt: skip


def warmed(molecule: Any, time: float, seed: int) -> lw.State:
    thermostat = lw.Langevin(300.0, friction=5.0, seed=seed + 1)
    sim = lw.FullDynamics(molecule.model, warm_state(molecule, seed), field=molecule.field(), thermostat=thermostat)
    sim.advance(2e-3, round(time / 2e-3))
    return sim.state


def kept(molecule: Any, start: lw.State, h: float, time: float) -> Kept:
    """A run from a warm state by the integrator that is the default."""
    sim = lw.FullDynamics(molecule.model, start, field=molecule.field())
    thermal = np.sqrt(float(molecule.model.mass.sum()) * lw.molecules.BOLTZMANN * 300.0)
    first = lw.momentum(molecule.model, sim.state).linear
    energies = [sim.energy.total]
    for _ in range(round(time / h)):
        sim.advance(h)
        energies.append(sim.energy.total)
    # A line through the means of parts: what is left beside it says how well its slope is known
    means = np.array([part.mean() for part in np.array_split(np.array(energies), PARTS)])
    t = (np.arange(PARTS) + 0.5) / PARTS * time
    drift, at_start = (float(x) for x in np.polyfit(t, means, 1))
    left = means - drift * t - at_start
    error = float(np.sqrt((left @ left) / (PARTS - 2) / ((t - t.mean()) @ (t - t.mean()))))
    change = float(np.abs(lw.momentum(molecule.model, sim.state).linear - first).max() / thermal)
    return Kept(drift, error, change, sim.integrator)
