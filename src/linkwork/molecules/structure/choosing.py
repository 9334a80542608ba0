"""What of a structure is read: chains, residues, one alternate location per atom; and what its records say is bonded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.errors import FormatError
from linkwork.molecules import extras
from linkwork.molecules.structure.ligands import is_kept
from linkwork.molecules.structure.report import PreparationReport


def label(chain: Any, residue: Any) -> str:
    return f"{chain.name or '_'}:{residue.seqid.num}{residue.seqid.icode.strip()}"


def choose_chains(structure: Any, wanted: Sequence[str] | None, source: str) -> None:
    """Takes away all chains but those asked for."""
    if wanted is None:
        return
    known = [chain.name for chain in structure[0]]
    missing = [name for name in wanted if name not in known]
    if missing or not wanted:
        raise FormatError(
            f"{source}: there is no chain {', '.join(map(repr, missing))}; the file has {', '.join(known)}."
        )
    for name in known:
        if name not in wanted:
            structure[0].remove_chain(name)


def choose_residues(structure: Any, residues: tuple[int, int] | None, source: str) -> None:
    """Takes away residues whose numbers lie outside the range (first, last)."""
    if residues is None:
        return
    first, last = residues
    for chain in structure[0]:
        for k in reversed(range(len(chain))):
            if not first <= chain[k].seqid.num <= last:
                del chain[k]
    structure.remove_empty_chains()
    if len(structure) == 0 or structure[0].count_atom_sites() == 0:
        raise FormatError(f"{source}: no residue has a number from {first} to {last}.")


def drop_residues(structure: Any, names: Sequence[str], report: PreparationReport) -> None:
    """Takes away residues that the caller does not want, by name."""
    found = dict.fromkeys(names, 0)
    for chain in structure[0]:
        for k in reversed(range(len(chain))):
            if chain[k].name in found:
                found[chain[k].name] += 1
                report.note("dropped", label(chain, chain[k]), f"{chain[k].name} left out as asked")
                del chain[k]
    missing = [name for name, count in found.items() if not count]
    if missing:
        here = ", ".join(sorted({residue.name for chain in structure[0] for residue in chain}))
        raise FormatError(f"{report.source}: there is no residue {', '.join(missing)} to drop; there are {here}.")


def choose_alternatives(structure: Any, report: PreparationReport) -> None:
    """Of several residues with one number (microheterogeneity) the first."""
    for chain in structure[0]:
        for k in range(len(chain) - 1, 0, -1):
            here, before = chain[k], chain[k - 1]
            if str(here.seqid) != str(before.seqid) or here.name == before.name or here.is_water():
                continue
            if not (len(here) and len(before)):  # damaged files have residues without atoms
                continue
            if here[0].altloc != "\0" and before[0].altloc != "\0":
                what = f"{before.name} or {here.name}: {before.name}, the first, is kept"
                report.note("altloc", label(chain, here), what)
                del chain[k]


def choose_locations(structure: Any, report: PreparationReport) -> None:
    """One alternate location per residue: the most occupied, and of equals the first."""
    for chain in structure[0]:
        for residue in chain:
            letters = sorted({atom.altloc for atom in residue if atom.altloc != "\0"})
            if not letters:
                continue
            best = max(letters, key=lambda letter: sum(atom.occ for atom in residue if atom.altloc == letter))
            names = {atom.name for atom in residue if atom.altloc == best}
            for k in reversed(range(len(residue))):
                letter = residue[k].altloc
                # an atom that only another location has is kept from that one
                if letter not in ("\0", best) and residue[k].name in names:
                    del residue[k]
            seen: set[str] = set()
            for k in reversed(range(len(residue))):
                if residue[k].name in seen:
                    del residue[k]
                else:
                    seen.add(residue[k].name)
                    residue[k].altloc = "\0"
            others = ", ".join(letter for letter in letters if letter != best)
            report.note("altloc", label(chain, residue), f"{residue.name}: location {best} of {best}, {others}")


def note_cut_links(structure: Any, pieces: Sequence[Any], report: PreparationReport, ligands: Sequence[Any]) -> None:
    """Names every bond of the file's LINK or struct_conn records that the linkage will not have. ligands: kept ones."""
    gemmi = extras.need("gemmi", "reading a structure")
    kept = {(piece.chain, str(residue.seqid), residue.name) for piece in pieces for residue in piece.residues}
    for link in structure.connections:
        ends = (link.partner1, link.partner2)
        if link.type not in (gemmi.ConnectionType.Covale, gemmi.ConnectionType.MetalC, gemmi.ConnectionType.Unknown):
            continue
        if {end.atom_name for end in ends} in ({"C", "N"}, {"O3'", "P"}):
            continue  # the bond along a chain, or the one that closes it to a ring
        if link.type == gemmi.ConnectionType.Covale and is_kept(link, ligands):
            continue
        named = [f"{end.res_id.name} {end.chain_name}:{end.res_id.seqid} {end.atom_name}" for end in ends]
        gone = [(end.chain_name, str(end.res_id.seqid), end.res_id.name) not in kept for end in ends]
        why = "neither is kept" if all(gone) else "the first is left out" if gone[0] else "the second is left out"
        if not any(gone):
            why = "the force field has no such bond; both ends move apart"
        report.note("link", "", f"bond of {named[0]} to {named[1]} is cut: {why}")
