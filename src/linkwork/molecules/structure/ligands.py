"""Ligands without parameters, kept as rigid bodies, or as rigid groups of atoms that turn about their rotatable bonds.

A rigid body needs neither bonds nor angles nor torsions of a force field: only what it does to others. Its heavy atoms get
the Lennard-Jones terms that GAFF has for their elements, and no charges. Torsions of a ligand have no energy of their own.

Hydrogens are absent, so that which atoms are planar follows from the angles between heavy neighbours (Meng and Lewis 1991).
A bond that the file gives between a ligand and a chain turns, unless it is a double bond by its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.molecules import extras
from linkwork.molecules.structure.atoms import neighbour_lists
from linkwork.molecules.structure.report import PreparationReport
from linkwork.molecules.torsions.bond_graph import Bond, bridges

# σ [nm] and ε [kJ/mol] of the element's usual type (Wang, Wolf, Caldwell, Kollman and Case 2004)
LENNARD_JONES = {
    "C": (0.3400, 0.4577), "N": (0.3250, 0.7113), "O": (0.2960, 0.8786), "S": (0.3564, 1.0460), "P": (0.3742, 0.8368),
    "F": (0.3118, 0.2552), "Cl": (0.3471, 1.1088), "Br": (0.3956, 1.3389), "I": (0.4187, 1.6736),
}  # fmt: skip
OTHERS = (0.2500, 0.2000)  # metals, boron, silicon
LOOSE = 0.4  # [Å] by which bonded atoms may stand further apart than their covalent radii say
NEAR = 3  # bonds up to which atoms on both sides of a link do not feel each other
TO_NM = 0.1  # from Å
PLANAR = 115.0  # [°] mean angle between the neighbours of a carbon or nitrogen above which it is planar
SHORT = 0.007  # [nm] by which a double bond is shorter than covalent radii say, at least
LINK_STRETCH, LINK_BEND = 2.5e5, 500.0  # [kJ/mol/nm², kJ/mol/rad²] of a bond to a ligand and its angles: GAFF's c3-n3

Ligand = tuple[Any, Any]  # gemmi's chain and residue


def add_ligands(
    found: Sequence[Ligand],
    links: Sequence[Any],
    topology: Any,
    positions: FloatArray,
    system: Any,
    report: PreparationReport,
    *,
    turn: bool = False,
) -> tuple[FloatArray, list[int], dict[Bond, bool]]:
    """Adds ligands to topology and System; positions of all atoms [nm], the numbers of the atoms that were added, and
    their bonds, with whether they turn.

    links: gemmi's connections, of which those between a ligand and a kept residue become bonds. turn: whether bonds inside
    ligands may turn.
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
                if not turn:
                    nonbonded.addException(members[i].index, members[j].index, 0.0, 1.0, 0.0)
                if a.pos.dist(b.pos) < a.element.covalent_r + b.element.covalent_r + LOOSE:
                    topology.addBond(members[i], members[j])
        added += [atom.index for atom in members]
    for other in system.getForces():
        if hasattr(other, "addParticle") and other is not nonbonded and not isinstance(other, mm.NonbondedForce):
            raise TypeError(f"{type(other).__name__} counts particles; rigid ligands know NonbondedForce only")
    x = np.concatenate(rows)
    joined = _join(links, of_file, topology)
    graph = _Graph(topology, x)
    if turn:
        _exclude_near_inside(graph, nonbonded, added)
    given = _turning(graph, set(added), joined, turn)
    for a, b in joined:
        _exclude_near(graph.near, nonbonded, a, b)
        _hold(graph, system, a, b)
        named = [f"{atom.residue.name} {atom.residue.chain.id}:{atom.residue.id} {atom.name}" for atom in graph.atoms]
        how = "turns, without an energy of its own" if given[min(a, b), max(a, b)] else "is a double bond, and rigid"
        report.note("link", "", f"bond of {named[a]} to {named[b]} {how}")
    _note_ligands(found, topology, given, report, turn)
    return x, added, given


def _number(residue: Any) -> tuple[str, str]:
    return str(residue.seqid.num), residue.seqid.icode.strip()


def _note_ligands(
    found: Sequence[Ligand], topology: Any, given: dict[Bond, bool], report: PreparationReport, turn: bool
) -> None:
    residue_of = [atom.residue.index for atom in topology.atoms()]
    first = topology.getNumResidues() - len(found)
    for k, (chain, residue) in enumerate(found):
        turning = sum(turns and {residue_of[i] for i in bond} == {first + k} for bond, turns in given.items())
        how = f"with {turning} torsions" if turn else "as a rigid body"
        what = f"{residue.name} kept {how}: {len(residue)} heavy atoms with Lennard-Jones terms, no charges"
        report.note("ligand", f"{chain.name}:{residue.seqid}", what)


def _join(links: Sequence[Any], of_file: dict[tuple[str, str, str], Any], topology: Any) -> list[Bond]:
    """Bonds of the file between ligands and kept residues become bonds of the topology; returns them."""
    standing = {
        (atom.residue.chain.id, f"{atom.residue.id}{(atom.residue.insertionCode or '').strip()}", atom.name): atom
        for atom in topology.atoms()
    }
    joined = []
    for link in links:
        ends = [(end.chain_name, str(end.res_id.seqid), end.atom_name) for end in (link.partner1, link.partner2)]
        if not all(end in standing for end in ends) or not any(end in of_file for end in ends):
            continue
        atoms = [standing[end] for end in ends]
        topology.addBond(*atoms)
        joined.append((atoms[0].index, atoms[1].index))
    return joined


class _Graph:
    """Atoms, bonds and positions of a topology."""

    def __init__(self, topology: Any, positions: FloatArray):
        self.atoms = list(topology.atoms())
        self.bonds = tuple((bond[0].index, bond[1].index) for bond in topology.bonds())
        self.near = neighbour_lists(len(self.atoms), self.bonds)
        self.x = positions

    def heavy(self, i: int) -> list[int]:
        """Neighbours that are not hydrogens."""
        return [j for j in self.near[i] if self.atoms[j].element.atomic_number > 1]

    def angle(self, a: int, middle: int, b: int) -> float:
        """[rad]"""
        u, v = self.x[a] - self.x[middle], self.x[b] - self.x[middle]
        return float(np.arctan2(np.linalg.norm(np.cross(u, v)), u @ v))

    def is_planar(self, i: int) -> bool:
        """Whether a carbon or nitrogen is planar, by the angles between its heavy neighbours."""
        near = self.heavy(i)
        if self.atoms[i].element.symbol not in ("C", "N") or not 2 <= len(near) <= 3:
            return False
        found = [self.angle(a, i, b) for k, a in enumerate(near) for b in near[:k]]
        return bool(np.degrees(np.mean(found)) > PLANAR)

    def is_short(self, a: int, b: int) -> bool:
        """Whether a bond has the length of a double one."""
        gemmi = extras.need("gemmi", "ligands")
        radii = sum(gemmi.Element(self.atoms[i].element.symbol).covalent_r for i in (a, b))
        return bool(np.linalg.norm(self.x[a] - self.x[b]) < radii * TO_NM - SHORT)


def _turning(graph: _Graph, ligand: set[int], joined: Sequence[Bond], turn: bool) -> dict[Bond, bool]:
    """Bonds inside ligands and to them, with whether they turn: by the rule of `bond_graph`, planar atoms by geometry."""
    open_ = bridges(graph.near)
    links = {(min(bond), max(bond)) for bond in joined}
    given = {}
    for a, b in {(min(bond), max(bond)) for bond in graph.bonds if ligand.issuperset(bond)} | links:
        # In many files the angles at a link are poor (retinal in 3PQR: 114° at NZ, 106° at C15), and its length is good
        is_double = graph.is_short(a, b) if (a, b) in links else graph.is_planar(a) and graph.is_planar(b)
        has_more = len(graph.heavy(a)) > 1 and len(graph.heavy(b)) > 1
        may = turn or (a, b) in links
        given[a, b] = may and has_more and not is_double and (a, b) in open_
    return dict(sorted(given.items()))


def _hold(graph: _Graph, system: Any, a: int, b: int) -> None:
    """Terms that keep the bond a-b and the angles beside it as they are in the file while a structure is relaxed."""
    forces = {type(force).__name__: force for force in system.getForces()}
    length = float(np.linalg.norm(graph.x[a] - graph.x[b]))
    forces["HarmonicBondForce"].addBond(a, b, length, LINK_STRETCH)
    for middle, end in ((a, b), (b, a)):
        for other in graph.heavy(middle):
            if other != end:
                angle = graph.angle(other, middle, end)
                forces["HarmonicAngleForce"].addAngle(other, middle, end, angle, LINK_BEND)


def is_kept(link: Any, ligands: Sequence[Ligand]) -> bool:
    """Whether a covalent bond of the file is one of a ligand that is kept."""
    names = {(chain.name, str(residue.seqid)) for chain, residue in ligands}
    return any((end.chain_name, str(end.res_id.seqid)) in names for end in (link.partner1, link.partner2))


def _exclude_near_inside(graph: _Graph, nonbonded: Any, ligand: Sequence[int]) -> None:
    """Pairs inside ligands that are up to NEAR bonds apart do not feel each other."""
    for start in ligand:
        seen, edge = {start}, [start]
        for _ in range(NEAR):
            edge = [j for i in edge for j in graph.near[i] if j not in seen]
            seen.update(edge)
        for other in seen.intersection(ligand):
            if other > start:
                nonbonded.addException(start, other, 0.0, 1.0, 0.0, True)


def _exclude_near(near: Sequence[Sequence[int]], nonbonded: Any, a: int, b: int) -> None:
    """Pairs of atoms on either side of the bond a-b that are up to NEAR bonds apart do not feel each other."""

    def layers(start: int, other: int) -> dict[int, int]:
        seen, edge = {start: 0}, [start]
        for depth in range(1, NEAR):
            edge = [j for i in edge for j in near[i] if j != other and j not in seen]
            seen.update(dict.fromkeys(edge, depth))
        return seen

    one, two = layers(a, b), layers(b, a)
    for i, m in one.items():
        for j, n in two.items():
            if i != j and m + n + 1 <= NEAR:
                nonbonded.addException(i, j, 0.0, 1.0, 0.0, True)
