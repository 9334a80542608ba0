"""Minima and normal modes in torsions for `linkwork bench molecules`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import linkwork as lw

from ..harness import Report, Requirement, progress

CALLS = 300  # evaluations of the field until no effort is above 1e-3 kJ/mol/rad
MODES, SECONDS = 50, 10.0  # lowest modes of a protein, of the processor's time
DENSE = 500  # degrees of freedom up to which modes are compared
SAME = 1e-8  # of the highest of them, against dense matrices put together otherwise


def measure_rest(report: Report, molecules: list[Any], judged: str) -> None:
    """judged: name of the molecule whose evaluations the requirement is about; those of others are told."""
    for molecule in molecules:
        progress(f"{molecule.name} comes to rest")
        field = molecule.field()  # forces step at a cutoff: there is no minimum to 1e-3 kJ/mol/rad
        try:
            rest, how = lw.settle(molecule.model, molecule.state, field=field, max_sweeps=3000)
        except lw.StateError as error:
            report.requirements.append(
                Requirement(f"{molecule.name} at rest", 0.0, "", "at rest", False, detail=str(error))
            )
            continue
        report.requirements.append(
            Requirement(f"{molecule.name} at rest to 1e-3 kJ/mol/rad", how.evaluations, "evaluations",
                        f"≤ {CALLS}" if molecule.name == judged else "",
                        how.evaluations <= CALLS or molecule.name != judged,
                        detail=f"{molecule.n_torsions} torsions, {how.energy:.0f} kJ/mol")
        )  # fmt: skip
        began = time.process_time()
        found = lw.modes(molecule.model, rest, MODES, field=field)
        taken = time.process_time() - began
        report.requirements.append(
            Requirement(f"{molecule.name}: {MODES} lowest modes", taken, "s of the processor", f"≤ {SECONDS:g}",
                        taken <= SECONDS, detail=f"{found.frequencies[6]:.3g} to {found.frequencies[-1]:.3g} per ps")
        )  # fmt: skip
        if molecule.model.nv > DENSE:
            continue  # as long again, for the same comparison
        M = lw.mass_matrix(molecule.model, rest)
        dense = np.linalg.eigvals(np.linalg.solve(M, by_differences(molecule.model, field, rest)))
        dense = np.sort(dense.real)[: len(found.rates2)]
        apart = float(np.abs(dense - found.rates2).max() / np.abs(found.rates2).max())
        report.requirements.append(
            Requirement(
                f"{molecule.name}: modes against dense ones", apart, "of the highest", f"≤ {SAME:g}", apart <= SAME
            )
        )


def by_differences(model: Any, field: Any, state: lw.State, h: float = 7e-5) -> np.ndarray:
    """∂²E/∂q² by differences of fourth order of the forces, shape (nv, nv).

    h [rad]: in ubiquitin the error falls as h⁴ down to here (7e-8 at 3e-4, 3e-10 at 7e-5), then rounding shows.
    """
    columns = []
    for x in np.eye(model.nv):
        at = [-field.generalized_forces(lw.State(model.integrate(state.q, x, s * h), state.v)) for s in (-2, -1, 1, 2)]
        columns.append((at[0] - 8.0 * at[1] + 8.0 * at[2] - at[3]) / (12.0 * h))
    K = np.array(columns)
    return 0.5 * (K + K.T)
