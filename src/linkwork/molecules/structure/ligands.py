"""Ligands without parameters, kept as rigid bodies.

A rigid body needs neither bonds nor angles nor torsions of a force field: only what it does to others. Its heavy atoms get
the Lennard-Jones terms that GAFF has for their elements, and no charges. A bond that the file gives between a ligand and a
chain turns, without an energy of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.molecules import extras
from linkwork.molecules.structure.report import PreparationReport

FloatArray = NDArray[np.float64]

# σ [nm] and ε [kJ/mol] of the element's usual type (Wang, Wolf, Caldwell, Kollman and Case 2004)
LENNARD_JONES = {
    "C": (0.3400, 0.4577), "N": (0.3250, 0.7113), "O": (0.2960, 0.8786), "S": (0.3564, 1.0460), "P": (0.3742, 0.8368),
    "F": (0.3118, 0.2552), "Cl": (0.3471, 1.1088), "Br": (0.3956, 1.3389), "I": (0.4187, 1.6736),
}  # fmt: skip
OTHERS = (0.2500, 0.2000)  # metals, boron, silicon
LOOSE = 0.4  # [Å] by which bonded atoms may stand further apart than their covalent radii say
NEAR = 3  # bonds up to which atoms on both sides of a link do not feel each other
TO_NM = 0.1  # from Å

Ligand = tuple[Any, Any]  # gemmi's chain and residue


def add_ligands(
    found: Sequence[Ligand],
    links: Sequence[Any],
    topology: Any,
    positions: FloatArray,
    system: Any,
    report: PreparationReport,
) -> tuple[FloatArray, list[int]]:
    """Adds ligands to topology and System; positions of all atoms [nm], and the numbers of the atoms that were added.

    links: gemmi's connections, of which those between a ligand and a kept residue become bonds.
    """
    app, mm = extras.app("ligands"), extras.openmm("ligands")
    (nonbonded,) = (force for force in system.getForces() if type(force).__name__ == "NonbondedForce")
    rows, added = [positions], []
    of_file: dict[tuple[str, str, str], Any] = {}
    for chain, residue in found:
        made = topology.addResidue(residue.name, topology.addChain(chain.name), *_number(residue))
        members = []
        for atom in residue:
            element = app.Element.getBySymbol(atom.element.name)
            members.append(topology.addAtom(atom.name, element, made))
            of_file[chain.name, str(residue.seqid), atom.name] = members[-1]
            system.addParticle(element.mass)
            nonbonded.addParticle(0.0, *LENNARD_JONES.get(atom.element.name, OTHERS))
        rows.append(np.array([atom.pos.tolist() for atom in residue]) * TO_NM)
        for j, b in enumerate(residue):
            for i, a in enumerate(list(residue)[:j]):
                nonbonded.addException(members[i].index, members[j].index, 0.0, 1.0, 0.0)
                if a.pos.dist(b.pos) < a.element.covalent_r + b.element.covalent_r + LOOSE:
                    topology.addBond(members[i], members[j])
        added += [atom.index for atom in members]
        what = f"{residue.name} kept as a rigid body: {len(residue)} heavy atoms with Lennard-Jones terms, no charges"
        report.note("ligand", f"{chain.name}:{residue.seqid}", what)
    for other in system.getForces():
        if hasattr(other, "addParticle") and other is not nonbonded and not isinstance(other, mm.NonbondedForce):
            raise TypeError(f"{type(other).__name__} counts particles; rigid ligands know NonbondedForce only")
    _join(links, of_file, topology, nonbonded, report)
    return np.concatenate(rows), added


def _number(residue: Any) -> tuple[str, str]:
    return str(residue.seqid.num), residue.seqid.icode.strip()


def _join(
    links: Sequence[Any], of_file: dict[tuple[str, str, str], Any], topology: Any, nonbonded: Any, report: Any
) -> None:
    """Bonds of the file between ligands and kept residues become bonds of the topology."""
    standing = {
        (atom.residue.chain.id, f"{atom.residue.id}{(atom.residue.insertionCode or '').strip()}", atom.name): atom
        for atom in topology.atoms()
    }
    for link in links:
        ends = [(end.chain_name, str(end.res_id.seqid), end.atom_name) for end in (link.partner1, link.partner2)]
        if not all(end in standing for end in ends) or not any(end in of_file for end in ends):
            continue
        atoms = [standing[end] for end in ends]
        topology.addBond(*atoms)
        _exclude_near(topology, nonbonded, atoms[0].index, atoms[1].index)
        named = [f"{atom.residue.name} {atom.residue.chain.id}:{atom.residue.id} {atom.name}" for atom in atoms]
        report.note("link", "", f"bond of {named[0]} to {named[1]} turns, without an energy of its own")


def is_kept(link: Any, ligands: Sequence[Ligand]) -> bool:
    """Whether a covalent bond of the file is one of a ligand that is kept."""
    names = {(chain.name, str(residue.seqid)) for chain, residue in ligands}
    return any((end.chain_name, str(end.res_id.seqid)) in names for end in (link.partner1, link.partner2))


def _exclude_near(topology: Any, nonbonded: Any, a: int, b: int) -> None:
    """Pairs of atoms on either side of the bond a-b that are up to NEAR bonds apart do not feel each other."""
    near: dict[int, list[int]] = {}
    for bond in topology.bonds():
        i, j = bond[0].index, bond[1].index
        near.setdefault(i, []).append(j)
        near.setdefault(j, []).append(i)

    def layers(start: int, other: int) -> dict[int, int]:
        seen, edge = {start: 0}, [start]
        for depth in range(1, NEAR):
            edge = [j for i in edge for j in near.get(i, ()) if j != other and j not in seen]
            seen.update(dict.fromkeys(edge, depth))
        return seen

    one, two = layers(a, b), layers(b, a)
    for i, m in one.items():
        for j, n in two.items():
            if i != j and m + n + 1 <= NEAR:
                nonbonded.addException(i, j, 0.0, 1.0, 0.0, True)
