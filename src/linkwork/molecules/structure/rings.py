"""Cyclic peptides: the bond between both ends of a chain, for which neither PDBFixer nor OpenMM has a template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

from linkwork.molecules import extras
from linkwork.molecules.structure import peptides
from linkwork.molecules.structure.reading import Piece
from linkwork.molecules.structure.report import PreparationReport


def leave_rings_closed(fixer: Any, whole: Sequence[Piece], names: Sequence[str]) -> None:
    """The end of a ring has no terminal atoms."""
    rings = {name for piece, name in zip(whole, names, strict=True) if piece.is_ring}
    for residue in list(fixer.missingTerminals):
        if residue.chain.id in rings:
            del fixer.missingTerminals[residue]


def close_rings(topology: Any, whole: Sequence[Piece], names: Sequence[str], report: PreparationReport) -> None:
    """Adds the bond between the ends of cyclic peptides."""
    closed = {name: piece for piece, name in zip(whole, names, strict=True) if piece.is_ring}
    for chain in topology.chains():
        if chain.id in closed:
            residues = list(chain.residues())
            (nitrogen,) = (atom for atom in residues[0].atoms() if atom.name == "N")
            (carbon,) = (atom for atom in residues[-1].atoms() if atom.name == "C")
            topology.addBond(carbon, nitrogen)
            ends = f"{residues[-1].name} {residues[-1].id} and {residues[0].name} {residues[0].id}"
            report.note("ring", closed[chain.id].chain, f"closed between {ends}")


def first_of_rings(topology: Any) -> Iterator[Any]:
    """The first residue of each chain whose last one is bonded to it."""
    for one, other in topology.bonds():
        first, last = sorted((one.residue, other.residue), key=lambda residue: residue.index)
        members = list(first.chain.residues()) if first.chain is last.chain else []
        if len(members) > 2 and first is members[0] and last is members[-1] and {one.name, other.name} == {"C", "N"}:
            yield first


def hydrogens_inside(name: str, ph: float) -> list[tuple[str, str]]:
    """Hydrogens, and the atoms they sit on, of a residue inside a chain: those of the middle one of three."""
    app, unit = extras.app("hydrogens"), extras.need("openmm.unit", "hydrogens")
    (letter,) = (letter for letter, known in peptides.LETTERS.items() if known == name)
    residues = peptides.backbone(f"G{letter}G", [peptides.EXTENDED] * 3, False)
    topology, positions = peptides.peptide_topology(residues)
    fixing = extras.need("pdbfixer.pdbfixer", "hydrogens")
    text = StringIO()
    app.PDBFile.writeFile(topology, positions * unit.nanometer, text)
    fixer = fixing.PDBFixer(pdbfile=StringIO(text.getvalue()))
    fixer.findMissingResidues()
    fixer.findMissingAtoms()
    fixer.addMissingAtoms(seed=0)
    modeller = app.Modeller(fixer.topology, fixer.positions)
    modeller.addHydrogens(pH=ph)
    middle = list(modeller.topology.residues())[1]
    pairs = [(bond[0], bond[1]) for bond in modeller.topology.bonds() if bond[0].residue is middle]
    pairs += [(b, a) for a, b in pairs]
    return [(h.name, on.name) for h, on in pairs if h.element.symbol == "H" and on.residue is middle]
