"""Hydrogen bonds of the backbone by their electrostatic energy (Kabsch and Sander 1983), and the helix in a chain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import shown
from linkwork.core.messages.describe import tabled
from linkwork.dynamics.inputs import as_state
from linkwork.errors import ModelError
from linkwork.model.state import State
from linkwork.molecules.forces.bonded_forces import COULOMB
from linkwork.molecules.molecule import Molecule

CARBONYL, AMIDE = 0.42, 0.20  # partial charges [e] of C=O and N-H
BOND = -0.5 * 4.184  # [kJ/mol] below which it is one
HELIX = 4  # residues from the carbonyl to the amide of an α-helix


@tabled
class HydrogenBond(NamedTuple):
    acceptor: int  # number of the residue whose C=O takes part, in `molecule.atoms.residues`
    donor: int  # and of the one whose N-H does
    energy: float  # [kJ/mol]


def hydrogen_bonds(molecule: Molecule, state: State) -> list[HydrogenBond]:
    """All of them, by acceptor. Cost: O(residues²)."""
    acceptors, donors = _groups(molecule)
    as_state(molecule.model, state)
    if not acceptors or not donors:
        return []
    x = molecule.positions(state)
    energy = _energies(x, acceptors, donors)
    found = []
    for row, (i, _, _) in enumerate(acceptors):
        for column in np.flatnonzero(energy[row] < BOND).tolist():
            j = donors[column][0]
            if abs(i - j) > 1:  # neighbours share a peptide plane
                found.append(HydrogenBond(i, j, float(energy[row, column])))
    return found


def helix_content(molecule: Molecule, state: State) -> float:
    """Part of the hydrogen bonds of an α-helix (residue to fourth next) that are there, from 0 to 1."""
    acceptors, donors = _groups(molecule)
    amides = {j for j, _, _ in donors}
    residues = molecule.atoms.residues
    possible = {
        (i, i + HELIX)
        for i, _, _ in acceptors
        if i + HELIX in amides and residues[i].piece == residues[i + HELIX].piece
    }
    there = {(bond.acceptor, bond.donor) for bond in hydrogen_bonds(molecule, state)}
    return len(there & possible) / len(possible) if possible else 0.0


def _groups(molecule: Molecule) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """(residue, C, O) of all carbonyls and (residue, N, H) of all amides."""
    if not isinstance(molecule, Molecule):
        raise ModelError(f"{shown(molecule)} is not a molecule; lw.molecules.load and peptide make them.")
    atoms = molecule.atoms
    acceptors, donors = [], []
    for k, residue in enumerate(atoms.residues):
        here = {atoms.names[i]: i for i in range(residue.first, residue.last)}
        if "C" in here and "O" in here and residue.name != "HOH":
            acceptors.append((k, here["C"], here["O"]))
        if "N" in here and "H" in here:
            donors.append((k, here["N"], here["H"]))
    return acceptors, donors


def _energies(x: FloatArray, acceptors: list[tuple[int, int, int]], donors: list[tuple[int, int, int]]) -> FloatArray:
    C, O = (x[[group[k] for group in acceptors]] for k in (1, 2))
    N, H = (x[[group[k] for group in donors]] for k in (1, 2))

    def inverse(a: FloatArray, b: FloatArray) -> FloatArray:
        return np.asarray(1.0 / np.linalg.norm(a[:, None] - b[None], axis=2))

    return COULOMB * CARBONYL * AMIDE * (inverse(O, N) + inverse(C, H) - inverse(O, H) - inverse(C, N))
