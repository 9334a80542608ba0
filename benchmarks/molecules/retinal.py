"""Rhodopsin with its retinal for `linkwork bench molecules`: a ligand that a covalent bond holds, in a whole chain.

`pip install nglview` brings `md_1u19.pdb`, a frame of a simulation of 1U19, where lysine 296 and its retinal are one
residue (LRT) and two cysteines carry palmitates (YPL). Here they are written as in a file of the Protein Data Bank:
retinal by itself, with a LINK record; palmitates and hydrogens are left out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import linkwork as lw

from ..harness import Report, Requirement, progress
from .structures import in_package

LYSINE = {"N", "CA", "C", "O", "CB", "CG", "CD", "CE", "NZ"}
CYSTEINE = {"N", "CA", "C", "O", "CB", "SG"}
OTHER_NAMES = {"GLH": "GLU", "ASH": "ASP", "YPL": "CYS", "LRT": "LYS"}
LINK = "LINK         NZ  LYS A 296                 C15 RET A 400     1555   1555  1.35"
EXACT = 1e-10  # of energy and of generalized forces, relative to the largest


def measure_retinal(report: Report, disagreement: Callable[[Any], float]) -> None:
    file = in_package("nglview", "datafiles/md_1u19.pdb")
    if file is None:
        report.notes.append("rhodopsin: there is no file; `pip install nglview` brings it.")
        return
    progress("rhodopsin with its retinal")
    path = Path(tempfile.mkdtemp()) / "1u19_retinal.pdb"
    path.write_text(apart(file.read_text()), encoding="ascii")
    molecule = lw.molecules.load(path, ligands="rigid", relax=True, seed=1)
    links = [str(change) for change in molecule.report.of("link")]
    report.requirements.append(
        Requirement("rhodopsin with retinal: bonds of ligands named", len(links), "", "= 1", len(links) == 1,
                    detail="; ".join(links))
    )  # fmt: skip
    bases = int((molecule.model.parent < 0).sum())
    report.requirements.append(
        Requirement("rhodopsin with retinal: bases", bases, "", "= 1", bases == 1,
                    detail=f"{len(molecule.atoms):,} atoms, {molecule.n_torsions:,} torsions")
    )  # fmt: skip
    worst = disagreement(molecule)
    report.requirements.append(
        Requirement("rhodopsin with retinal: energy and forces against OpenMM Reference", worst, "of the largest",
                    f"≤ {EXACT:g}", worst <= EXACT)
    )  # fmt: skip


def apart(text: str) -> str:
    """The first frame with retinal as a residue of its own: heavy atoms only."""
    chain, retinal = [], []
    for row in text.splitlines():
        if row.startswith("ENDMDL"):
            break
        if not row.startswith("ATOM"):
            continue
        name, residue, number, place = row[12:16].strip(), row[17:20], int(row[22:26]), row[30:54]
        if name.lstrip("0123456789").startswith("H"):
            continue
        if residue == "LRT" and name not in LYSINE:
            retinal.append(("HETATM", name, "RET", 400, place))
        elif residue != "YPL" or name in CYSTEINE:
            chain.append(("ATOM", name, OTHER_NAMES.get(residue, residue), number, place))
    rows = [
        f"{record:6}{k:5}  {name:3} {residue} A{number:4}    {place}  1.00  0.00           {name[0]}"
        for k, (record, name, residue, number, place) in enumerate([*chain, *retinal], 1)
    ]
    return "\n".join([LINK, *rows[: len(chain)], "TER", *rows[len(chain) :], "END", ""])
