"""The atoms of a molecule as plain tables: names, elements, masses, residues, bonds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray

HYDROGEN, CARBON, NITROGEN, OXYGEN, SULFUR = 1, 6, 7, 8, 16


@dataclass(frozen=True)
class Residue:
    chain: str
    number: str  # with its insertion code, such as "52A"
    name: str
    first: int  # its atoms are first ... last - 1
    last: int
    piece: int  # number of the connected chain it belongs to: a chain with a gap has several pieces

    @property
    def label(self) -> str:
        return f"{self.chain}:{self.number}"


@dataclass(frozen=True)
class AtomTable:
    """Every atom of a molecule, in the order of its topology."""

    names: tuple[str, ...]  # atom names, as in the file: "CA"
    elements: IntArray  # (a,)    atomic numbers; 0 for a bead that is not an element
    masses: FloatArray  # (a,)    [Da]
    residue_of: IntArray  # (a,)
    residues: tuple[Residue, ...]
    bonds: tuple[tuple[int, int], ...]  # lower number first

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def neighbours(self) -> list[list[int]]:
        return neighbour_lists(len(self), self.bonds)

    def residue(self, atom: int) -> Residue:
        return self.residues[int(self.residue_of[atom])]

    def label(self, atom: int) -> str:
        """chain:residue:atom, such as "A:41:CA"."""
        return f"{self.residue(atom).label}:{self.names[atom]}"

    def describe(self, atom: int) -> str:
        """For people: "atom CA of LYS A:41"."""
        residue = self.residue(atom)
        return f"atom {self.names[atom]} of {residue.name} {residue.label}"

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of an atom by its label."""
        return {self.label(i): i for i in reversed(range(len(self)))}


def neighbour_lists(count: int, bonds: tuple[tuple[int, int], ...]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(count)]
    for a, b in bonds:
        found[a].append(b)
        found[b].append(a)
    return found


def table_from_topology(topology: Any, masses: FloatArray | None = None) -> AtomTable:
    """The table of an OpenMM topology; masses [Da] default to those of the elements."""
    atoms = list(topology.atoms())
    residues: list[Residue] = []
    residue_of = np.empty(len(atoms), dtype=np.int64)
    for piece, chain in enumerate(topology.chains()):
        for residue in chain.residues():
            members = [atom.index for atom in residue.atoms()]
            if not members:
                continue
            residue_of[members] = len(residues)
            number = f"{residue.id}{(residue.insertionCode or '').strip()}"
            name = (chain.id or "").strip() or "_"
            residues.append(Residue(name, number, residue.name, members[0], members[-1] + 1, piece))
    if masses is None:
        masses = np.array([0.0 if atom.element is None else atom.element.mass._value for atom in atoms])
    return AtomTable(
        names=tuple(atom.name for atom in atoms),
        elements=np.array(
            [0 if atom.element is None else atom.element.atomic_number for atom in atoms], dtype=np.int64
        ),
        masses=np.asarray(masses, dtype=float),
        residue_of=residue_of,
        residues=tuple(residues),
        bonds=tuple(sorted({(min(a.index, b.index), max(a.index, b.index)) for a, b in topology.bonds()})),
    )
