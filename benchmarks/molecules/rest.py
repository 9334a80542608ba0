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


def measure_rest(report: Report, molecules: list[Any]) -> None:
    for molecule in molecules:
        progress(f"{molecule.name} comes to rest")
        field = molecule.field()  # forces step at a cutoff: there is no minimum to 1e-3 kJ/mol/rad
        try:
            rest, how = lw.settle(molecule.model, molecule.state, field=field, max_sweeps=3000)
        except lw.StateError as error:
            report.requirements.append(
                Requirement(f"{molecule.name} at rest", 0.0, "", f"≤ {CALLS}", False, detail=str(error))
            )
            continue
        report.requirements.append(
            Requirement(f"{molecule.name} at rest to 1e-3 kJ/mol/rad", how.evaluations, "evaluations", f"≤ {CALLS}",
                        how.evaluations <= CALLS, detail=f"{molecule.n_torsions} torsions, {how.energy:.0f} kJ/mol")
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
        K = np.array([field.hessian_product(rest, row) for row in np.eye(molecule.model.nv)])
        M = lw.mass_matrix(molecule.model, rest)
        dense = np.sort(np.linalg.eigvals(np.linalg.solve(M, 0.5 * (K + K.T))).real)[: len(found.rates2)]
        apart = float(np.abs(dense - found.rates2).max() / np.abs(found.rates2).max())
        report.requirements.append(
            Requirement(
                f"{molecule.name}: modes against dense ones", apart, "of the highest", f"≤ {SAME:g}", apart <= SAME
            )
        )
