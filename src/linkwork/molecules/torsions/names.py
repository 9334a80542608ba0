"""Names of torsions: phi, psi, omega and chi1 ... chi4, from the names of the atoms."""

from __future__ import annotations

from linkwork.molecules.structure.atoms import AtomTable

CHI = {
    frozenset(("CA", "CB")): "chi1",
    frozenset(("CB", "CG")): "chi2",
    frozenset(("CB", "CG1")): "chi2",
    frozenset(("CG", "CD")): "chi3",
    frozenset(("CG", "SD")): "chi3",
    frozenset(("CD", "CE")): "chi4",
    frozenset(("CD", "NE")): "chi4",
}
# The atom beyond each end of a torsion's bond that its angle is measured to, by preference (IUPAC-IUB 1970).
BEFORE = {"CA": ("N",), "CB": ("CA",), "CG": ("CB",), "CD": ("CG",)}
AFTER = ("CG", "CG1", "OG", "OG1", "SG", "CD", "CD1", "OD1", "ND1", "SD", "CE", "OE1", "NE", "NZ", "CZ")


def torsion_name(atoms: AtomTable, a: int, b: int) -> str:
    """chain:residue:name of the torsion about a bond; where it has no name in the field, the names of both atoms."""
    here, there = atoms.residue(a), atoms.residue(b)
    pair = {atoms.names[a], atoms.names[b]}
    if here is there:
        if pair == {"N", "CA"}:
            return f"{here.label}:phi"
        if pair == {"CA", "C"}:
            return f"{here.label}:psi"
        chi = CHI.get(frozenset(pair))
        if chi is not None:
            return f"{here.label}:{chi}"
        return f"{here.label}:{atoms.names[a]}-{atoms.names[b]}"
    if pair == {"C", "N"}:
        first = here if atoms.names[a] == "C" else there
        return f"{first.label}:omega"
    return f"{here.label}:{atoms.names[a]}-{there.label}:{atoms.names[b]}"


def torsion_atoms(atoms: AtomTable, a: int, b: int) -> tuple[int, int, int, int]:
    """The four atoms whose dihedral angle is the torsion about the bond a-b, a on the side of the chain's beginning."""
    name = torsion_name(atoms, a, b).rpartition(":")[2]
    names = atoms.names
    if name == "phi" and names[a] != "N":
        a, b = b, a
    if name in ("psi", "chi1") and names[a] != "CA":
        a, b = b, a
    before = _beyond(
        atoms, a, b, {"phi": ("C",), "psi": ("N",), "omega": ("CA", "CH3")}.get(name, BEFORE.get(names[a], ()))
    )
    after = {"phi": ("C",), "psi": ("N", "O", "OXT"), "omega": ("CA", "C", "CH3")}.get(name, AFTER)
    return before, a, b, _beyond(atoms, b, a, after)


def _beyond(atoms: AtomTable, a: int, b: int, wanted: tuple[str, ...]) -> int:
    """A neighbour of a other than b: the one whose name comes first in `wanted`, or the heaviest."""
    found = [k for k in atoms.neighbours[a] if k != b]
    rank = {name: place for place, name in enumerate(wanted)}
    return min(found, key=lambda k: (rank.get(atoms.names[k], len(rank)), -int(atoms.elements[k]), k))
