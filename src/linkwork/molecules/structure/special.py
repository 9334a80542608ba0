"""Residues that the force field has and PDBFixer would replace (hydroxyproline): kept, with what its templates say of them.

OpenMM has neither the bonds nor the hydrogens of residues that are not standard; templates of the force field do.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.molecules import extras

LONGEST_PEPTIDE = 0.2  # [nm]
BACKBONE = {"N", "CA", "C"}  # DGN is D-glutamine in files and a nucleoside in force fields
OTHER_NAMES = {"NH2": "NHE"}  # of files → of force fields


def special_residues(force_field: Any, substitutes: Mapping[str, str]) -> dict[str, Any]:
    """Templates of the force field by the names of residues in files: those that would be replaced otherwise."""
    templates = force_field._templates
    found = {
        name: templates[name]
        for name in substitutes
        if name in templates and {atom.name for atom in templates[name].atoms} >= BACKBONE
    }
    return found | {name: templates[own] for name, own in OTHER_NAMES.items() if own in templates}


def define_hydrogens(special: Mapping[str, Any]) -> None:
    """Gives OpenMM the hydrogens of these residues, where it has none."""
    modeller = extras.app("hydrogens").Modeller
    modeller._loadStandardHydrogenDefinitions()
    lines = []
    for name, template in special.items():
        if name in modeller._residueHydrogens:
            continue
        lines.append(f'<Residue name="{name}">')
        for a, b in template.bonds:
            ends = sorted((template.atoms[a], template.atoms[b]), key=lambda atom: atom.element.atomic_number)
            if ends[0].element.atomic_number == 1:
                lines.append(f'<H name="{ends[0].name}" parent="{ends[1].name}"/>')
        lines.append("</Residue>")
    if lines:
        modeller.loadHydrogenDefinitions(StringIO(f"<Residues>{''.join(lines)}</Residues>"))


def add_bonds(topology: Any, positions: FloatArray, special: Mapping[str, Any]) -> None:
    """Bonds of these residues and to the ones before them, where the topology has none. positions: [nm], shape (a, 3)."""
    bonded = {frozenset((bond[0].index, bond[1].index)) for bond in topology.bonds()}

    def join(first: Any, second: Any) -> None:
        if first is not None and second is not None and frozenset((first.index, second.index)) not in bonded:
            topology.addBond(first, second)

    for chain in topology.chains():
        before: Any = None
        for residue in chain.residues():
            atoms = {atom.name: atom for atom in residue.atoms()}
            template = special.get(residue.name)
            if template is not None:
                for a, b in template.bonds:
                    join(atoms.get(template.atoms[a].name), atoms.get(template.atoms[b].name))
                end: Any = None if before is None else {atom.name: atom for atom in before.atoms()}.get("C")
                start = atoms.get("N")
                if end is not None and start is not None:
                    gap = np.linalg.norm(positions[end.index] - positions[start.index])
                    join(end if gap < LONGEST_PEPTIDE else None, start)
            before = residue
