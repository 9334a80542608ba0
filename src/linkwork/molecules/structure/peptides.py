"""Peptides from their torsions: standard bond lengths and angles (Engh and Huber 1991)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import shown
from linkwork.errors import ModelError
from linkwork.molecules import extras

LETTERS = {
    "A": "ALA", "R": "ARG", "N": "ASN", "D": "ASP", "C": "CYS", "Q": "GLN", "E": "GLU", "G": "GLY", "H": "HIS",
    "I": "ILE", "L": "LEU", "K": "LYS", "M": "MET", "F": "PHE", "P": "PRO", "S": "SER", "T": "THR", "W": "TRP",
    "Y": "TYR", "V": "VAL",
}  # fmt: skip
HELIX = (-57.0, -47.0)  # [°] φ and ψ of the α-helix (Arnott and Dover 1967)
EXTENDED = (-139.0, 135.0)  # [°] of the antiparallel β-strand
OMEGA = 180.0

# bond lengths [nm] and angles [°]
N_CA, CA_C, C_N, C_O, CA_CB, CH3_C = 0.1449, 0.1522, 0.1335, 0.1229, 0.1526, 0.1522
C_N_CA, N_CA_C, CA_C_N, N_CA_CB = 121.9, 111.0, 116.6, 110.5
CB_TURN = -122.6  # [°] torsion C-N-CA-CB less φ: an L residue


def place(a: FloatArray, b: FloatArray, c: FloatArray, length: float, angle: float, torsion: float) -> FloatArray:
    """The atom at `length` from c, with `angle` [°] at c and `torsion` [°] about b-c; shape (3,)."""
    theta, phi = np.radians(angle), np.radians(torsion)
    along = (c - b) / np.linalg.norm(c - b)
    normal = np.cross(b - a, along)
    normal /= np.linalg.norm(normal)
    across = np.cross(normal, along)
    return np.asarray(
        c + length * (-np.cos(theta) * along + np.sin(theta) * (np.cos(phi) * across + np.sin(phi) * normal))
    )


def backbone(
    sequence: str, torsions: Sequence[tuple[float, float]], caps: bool
) -> list[tuple[str, list[tuple[str, FloatArray]]]]:
    """Residues with the atoms that torsions fix: N, CA, C, O and CB; with caps ACE before and NME behind. [nm]"""
    CH3 = np.array([0.0, 0.0, 0.0])
    C = np.array([CH3_C, 0.0, 0.0])
    N = place(np.array([0.0, -0.1, 0.0]), CH3, C, C_N, CA_C_N, 180.0)
    residues: list[tuple[str, list[tuple[str, FloatArray]]]] = []
    if caps:
        residues.append(("ACE", [("CH3", CH3), ("C", C), ("O", place(N, CH3, C, C_O, 120.4, 0.0))]))
        residues[0][1][2] = ("O", opposite(CH3, C, N, C_O))
    before, before_C = CH3, C
    for letter, (phi, psi) in zip(sequence, torsions, strict=True):
        CA = place(before, before_C, N, N_CA, C_N_CA, OMEGA)
        C = place(before_C, N, CA, CA_C, N_CA_C, phi)
        atoms = [("N", N), ("CA", CA), ("C", C)]
        next_N = place(N, CA, C, C_N, CA_C_N, psi)
        atoms.append(("O", opposite(CA, C, next_N, C_O)))
        if letter != "G":
            atoms.append(("CB", place(before_C, N, CA, CA_CB, N_CA_CB, phi + CB_TURN)))
        residues.append((LETTERS[letter], atoms))
        before, before_C, N = CA, C, next_N
    if caps:
        residues.append(("NME", [("N", N), ("C", place(before, before_C, N, N_CA, C_N_CA, OMEGA))]))
    return residues


def opposite(a: FloatArray, center: FloatArray, b: FloatArray, length: float) -> FloatArray:
    """The third neighbour of a planar atom: in the plane of the other two, opposite both."""
    direction = -(a - center) / np.linalg.norm(a - center) - (b - center) / np.linalg.norm(b - center)
    return np.asarray(center + length * direction / np.linalg.norm(direction))


def check_sequence(sequence: str) -> str:
    if not isinstance(sequence, str):
        raise ModelError(f"the sequence is {shown(sequence)}; write one letter per residue.")
    letters = sequence.strip().upper()
    unknown = sorted(set(letters) - set(LETTERS))
    if not letters or unknown:
        raise ModelError(
            f"the sequence {sequence!r} has {', '.join(unknown) or 'no letters'}; write one letter per residue, of "
            f"{''.join(sorted(LETTERS))}."
        )
    return letters


def peptide_topology(residues: list[tuple[str, list[tuple[str, FloatArray]]]]) -> tuple[Any, FloatArray]:
    """OpenMM's topology of a backbone, and positions [nm], shape (a, 3)."""
    app = extras.app("a peptide")
    topology = app.Topology()
    chain = topology.addChain("A")
    elements = {"C": app.element.carbon, "N": app.element.nitrogen, "O": app.element.oxygen}
    positions = []
    number = 0 if residues[0][0] == "ACE" else 1  # residue 1 is the first of the sequence, caps or not
    for name, atoms in residues:
        residue = topology.addResidue(name, chain, str(number))
        number += 1
        for atom, position in atoms:
            topology.addAtom(atom, elements[atom[0]], residue)
            positions.append(position)
    topology.createStandardBonds()
    return topology, np.array(positions)
