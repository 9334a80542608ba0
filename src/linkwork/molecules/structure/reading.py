"""PDB and mmCIF files → one model, one location per atom, the residues a force field can have. gemmi reads."""

from __future__ import annotations

import bz2
import gzip
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linkwork.core.checks import shown
from linkwork.core.files import checked_file, checked_packed
from linkwork.errors import FormatError
from linkwork.molecules import extras
from linkwork.molecules.structure.choosing import label
from linkwork.molecules.structure.report import PreparationReport

BACKBONE = ("N", "CA", "C")
LONGEST_PEPTIDE_BOND = 2.0  # [Å] between C and N; a bond has 1.33, a gap 3 and more
HEAVY_ATOMS = {
    "ALA": 5, "ARG": 11, "ASN": 8, "ASP": 8, "CYS": 6, "GLN": 9, "GLU": 9, "GLY": 4, "HIS": 10, "ILE": 8, "LEU": 8,
    "LYS": 9, "MET": 8, "PHE": 11, "PRO": 7, "SER": 6, "THR": 7, "TRP": 14, "TYR": 12, "VAL": 7,
}  # fmt: skip
OF_CHARMM = {"HSD": "HIS", "HSE": "HIS", "HSP": "HIP"}  # names of histidines there; hydrogens are placed anew
OF_PROTEINS = ("H", "D", "C", "N", "O", "S")
PHOSPHATE = ("P", "OP1", "OP2", "OP3", "O1P", "O2P", "O3P")
SHAKE = 0.05  # [Å] by which atoms are moved where some stand in one place
CLASH = 0.6  # [Å] no two heavy atoms of a molecule stand nearer: the shortest bond has 1.1
# Files that end with a record END; mmCIF files cannot be cut unnoticed
TEXT_SUFFIXES = tuple(kind + packed for packed in ("", ".gz", ".bz2") for kind in (".pdb", ".ent"))
UNPACK: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
FURTHEST = 1e5  # [Å] from the origin: what the columns of a PDB file can say, 10 µm
SUFFIXES = tuple(kind + packed for packed in ("", ".gz", ".bz2") for kind in (".pdb", ".ent", ".cif", ".mmcif"))
BINARY = (".mmtf", ".bcif", ".mmtf.gz", ".bcif.gz")  # which gemmi does not read


@dataclass
class Piece:
    """Residues of one chain, of which neighbours are bonded; or its ions and waters."""

    chain: str
    residues: list[Any]
    sequence: list[str]  # what the file says the whole chain is made of; empty where it does not

    @property
    def is_ring(self) -> bool:
        """Whether its last residue is bonded to its first: a cyclic peptide."""
        return len(self.residues) > 2 and is_bonded(self.residues[-1], self.residues[0])


def read_structure(path: str | Path, model: int, report: PreparationReport) -> Any:
    """The file as a gemmi.Structure with one model, without hydrogens."""
    gemmi = extras.need("gemmi", "reading a structure")
    file = Path(path)
    try:
        is_there = file.is_file()
    except OSError as error:  # such as a name that is too long
        raise FormatError(f"{shown(str(file))}: {error.strerror}.") from None
    if not is_there:
        raise FormatError(f"{file}: there is no such file.")
    if str(file).lower().endswith(BINARY):
        raise FormatError(
            f"{file}: MMTF and BinaryCIF are not read; take the same entry as mmCIF (.cif.gz), or convert it with gemmi or "
            "mdtraj."
        )
    if not str(file).lower().endswith(SUFFIXES):
        raise FormatError(f"{file}: a structure file ends in one of {', '.join(SUFFIXES)}.")
    packed = file.suffix.lower()
    checked_packed(file, UNPACK[packed]) if packed in UNPACK else checked_file(file)
    try:
        if packed == ".bz2":  # which gemmi does not unpack itself
            structure = gemmi.read_structure_string(bz2.decompress(file.read_bytes()))
        else:
            structure = gemmi.read_structure(str(file))
        structure.setup_entities()
        for site in (site for found in structure for site in found.all()):
            names = (site.chain.name, site.residue.name, site.atom.name)  # bytes that are not text raise here
            _ = names, site.residue.seqid.icode, site.residue.segment, site.atom.altloc
    except Exception as error:  # gemmi raises whatever its C++ code meets
        raise FormatError(f"{file}: the file is damaged or cut off: {error}") from error
    if len(structure) == 0 or structure[0].count_atom_sites() == 0:
        raise FormatError(f"{file}: the file has no atoms.")
    if file.name.lower().endswith(TEXT_SUFFIXES) and not has_end(file):
        *_, last = structure[0].all()
        where = f"{last.chain.name or '_'}:{last.residue.seqid}"
        note = f"no END record: whole, or cut off behind atom {last.atom.name} of {last.residue.name} {where}"
        report.note("file", "", note)
    if not 1 <= model <= len(structure):
        raise FormatError(f"{file}: there is no model {model}; the file has {len(structure)}.")
    if len(structure) > 1:
        report.note("model", "", f"model {model} of {len(structure)} is read")
    for k in reversed(range(len(structure))):
        if k != model - 1:
            del structure[k]
    name_elements(structure, report)
    before = structure[0].count_atom_sites()
    structure.remove_hydrogens()
    removed = before - structure[0].count_atom_sites()
    if removed:
        report.note("hydrogens", "", f"{removed} hydrogens of the file are placed anew")
    for chain in structure[0]:
        for residue in chain:
            if residue.name in OF_CHARMM:
                report.note(
                    "name", label(chain, residue), f"{residue.name} of CHARMM is read as {OF_CHARMM[residue.name]}"
                )
                residue.name = OF_CHARMM[residue.name]
    return structure


def name_elements(structure: Any, report: PreparationReport) -> None:
    """Elements of atoms in the twenty amino acids by their names: columns of some files make HE1 helium and CA calcium."""
    gemmi = extras.need("gemmi", "reading a structure")
    mended = 0
    for chain in structure[0]:
        for residue in chain:
            if residue.name not in HEAVY_ATOMS and residue.name not in OF_CHARMM:  # others may hold chlorine
                continue
            for atom in residue:
                first = atom.name.lstrip("0123456789")[:1].upper()
                if atom.element.name not in OF_PROTEINS and first in OF_PROTEINS:
                    atom.element = gemmi.Element(first)
                    mended += 1
    if mended:
        report.note("elements", "", f"{mended} atoms of amino acids have their elements by their names")


def has_end(file: Path) -> bool:
    """Whether a PDB file says that it is whole: END, or the end of its last model, is its last record."""
    last = b""
    with UNPACK.get(file.suffix.lower(), open)(file, "rb") as lines:
        for line in lines:
            last = line if line.strip() else last
    return last[:6].strip().upper() in (b"END", b"ENDMDL", b"TER", b"MASTER")


def sort_residues(
    structure: Any,
    known: Sequence[str],
    substitutes: dict[str, str],
    waters: bool,
    ions: bool,
    replace: Sequence[str],
    report: PreparationReport,
    ligands: list[Any] | None = None,
) -> list[Piece]:
    """Chains cut at their gaps, ions and waters behind them; ligands are left out, unknown residues in a chain refused.

    replace: names of modified residues that may become standard ones although atoms are lost.
    ligands: takes the residues that the force field does not have, with their chains; without it they are left out.
    """
    faults: list[str] = []
    pieces: list[Piece] = []
    for chain in structure[0]:
        chain_residues, others = [], []
        dropped: dict[str, int] = defaultdict(int)
        for k, residue in enumerate(chain):
            where = label(chain, residue)
            names = {atom.name for atom in residue}
            has_ends = bool({"P", "O3'"} & names) or {"N", "C"} <= names
            beside = (chain[k - 1] if k else None, chain[k + 1] if k + 1 < len(chain) else None)
            is_linked = has_ends and (residue.name in known or _is_in_chain(residue, *beside))
            if residue.is_water():
                if waters:
                    others.append(residue)
                else:
                    dropped["water"] += 1
            elif residue.name in known or residue.name in substitutes:
                if len(residue) == 1 and residue.name not in substitutes and not is_linked and _is_ion(residue):
                    if ions:
                        others.append(residue)
                        report.note("ion", where, f"{residue.name} kept")
                    else:
                        report.note("ion", where, f"{residue.name} dropped")
                else:
                    chain_residues.append(residue)
                    faults += _backbone_faults(where, residue, names)
                    if residue.name not in known:
                        faults += _replacement_faults(where, residue, substitutes[residue.name], replace)
            elif is_linked:
                faults.append(
                    f"residue {residue.name} {where} (atoms {', '.join(sorted(names))}) is not one the force field knows; "
                    "leave it out with residues=, mutate it in the file, or build the System with OpenMM and use "
                    "lw.molecules.from_openmm."
                )
            elif ligands is not None:
                ligands.append((chain, residue))
            else:
                report.note("ligand", where, f"{residue.name} dropped ({len(residue)} atoms, no parameters)")
        if dropped["water"]:
            report.note("water", chain.name, f"{dropped['water']} waters dropped")
        faults += _coordinate_faults(chain)
        sequence = _sequence(structure, chain)
        strands = _cut_at_gaps(chain, chain_residues, sequence)
        for strand in strands:
            _take_phosphate_off(chain, strand.residues[0], report)
        pieces += strands
        if others:
            pieces.append(Piece(chain.name, others, []))
    if faults:
        raise FormatError(f"{report.source}: {len(faults)} fault{'s' if len(faults) > 1 else ''}", faults)
    if not any(piece.residues for piece in pieces):
        chains = ", ".join(chain.name for chain in structure[0])
        raise FormatError(f"{report.source}: chain {chains} has no residue that the force field knows.")
    return pieces


def _is_in_chain(residue: Any, before: Any, after: Any) -> bool:
    """Whether a residue is bonded to a neighbour as links of a chain are; a ligand with such atoms is not."""
    return (before is not None and is_bonded(before, residue)) or (after is not None and is_bonded(residue, after))


def _replacement_faults(where: str, residue: Any, standard: str, replace: Sequence[str]) -> list[str]:
    """A modified residue becomes its standard one in silence only where no atom is lost by it (MSE to MET)."""
    heavy = sum(not atom.is_hydrogen() and atom.name != "OXT" for atom in residue)
    if residue.name in replace or heavy <= HEAVY_ATOMS.get(standard, heavy):
        return []
    return [
        f"residue {residue.name} {where} is a {standard} with {heavy - HEAVY_ATOMS[standard]} atoms more, for which the "
        f'force field has no parameters. Give replace=("{residue.name}",) to make it a plain {standard}, or build the '
        "System with OpenMM and use lw.molecules.from_openmm."
    ]


def _take_phosphate_off(chain: Any, residue: Any, report: PreparationReport) -> None:
    """Strands end in a hydroxyl in force fields; a phosphate before the first sugar has no parameters."""
    names = {atom.name for atom in residue}
    if "P" not in names or "C1'" not in names:
        return
    for k in reversed(range(len(residue))):
        if residue[k].name in PHOSPHATE:
            del residue[k]
    report.note(
        "phosphate", label(chain, residue), f"{residue.name}: the phosphate before the first sugar is taken off"
    )


def _is_ion(residue: Any) -> bool:
    return residue[0].element.is_metal or residue[0].element.name in ("F", "Cl", "Br", "I")


def _backbone_faults(where: str, residue: Any, names: set[str]) -> list[str]:
    if residue.name in ("ACE", "NME", "NH2") or "P" in names or "O5'" in names or "C1'" in names:
        return []
    missing = [name for name in BACKBONE if name not in names]
    if not missing:
        return []
    return [
        f"residue {residue.name} {where} has no atom {', '.join(missing)} (it has {', '.join(sorted(names))}); side chains "
        "can be completed, backbones not. Is the file cut off? Leave the residue out with residues=(first, last)."
    ]


def _coordinate_faults(chain: Any) -> list[str]:
    return [
        f"atom {atom.name} of {residue.name} {label(chain, residue)} stands at ({atom.pos.x}, {atom.pos.y}, {atom.pos.z}); "
        f"coordinates are finite and within ±{FURTHEST:g} Å."
        for residue in chain
        for atom in residue
        if not all(abs(x) <= FURTHEST for x in (atom.pos.x, atom.pos.y, atom.pos.z))
    ]


def _sequence(structure: Any, chain: Any) -> list[str]:
    polymer = chain.get_polymer()
    entity = structure.get_entity_of(polymer) if len(polymer) else None
    if entity is None:
        return []
    return [name.split(",")[0] for name in entity.full_sequence]


def _cut_at_gaps(chain: Any, residues: list[Any], sequence: list[str]) -> list[Piece]:
    pieces: list[Piece] = []
    for residue in residues:
        if pieces and is_bonded(pieces[-1].residues[-1], residue):
            pieces[-1].residues.append(residue)
        else:
            pieces.append(Piece(chain.name, [residue], sequence))
    return pieces


def is_bonded(before: Any, after: Any) -> bool:
    """Whether two neighbours in a file are joined by a peptide bond, or by a sugar-phosphate one."""
    for last, first in (("C", "N"), ("O3'", "P")):
        a, b = before.find_atom(last, "*"), after.find_atom(first, "*")
        if a is not None and b is not None:
            return a.pos.dist(b.pos) < LONGEST_PEPTIDE_BOND
    return False


def refuse_clashes(pieces: Sequence[Piece], relax: bool, seed: int, report: PreparationReport) -> None:
    """Refuses atoms in one place, unless the structure is relaxed: then they are noted, and moved a little apart."""
    faults = clash_faults(pieces)
    if faults and not relax:
        raise FormatError(
            f"{report.source}: {len(faults)} clash{'es' if len(faults) > 1 else ''}; relax=True moves such atoms apart",
            faults,
        )
    for fault in faults:
        report.note("clash", "", fault.replace("; leave one of them out.", "; relaxing moves them apart"))
    if not faults:
        return
    rng = random.Random(seed)
    for piece in pieces:  # atoms in the very same place have no direction to go
        for residue in piece.residues:
            for atom in residue:
                for axis in "xyz":
                    setattr(atom.pos, axis, getattr(atom.pos, axis) + SHAKE * (2.0 * rng.random() - 1.0))


def clash_faults(pieces: Sequence[Piece]) -> list[str]:
    """Pairs of atoms in one place."""
    cells: dict[tuple[int, int, int], list[tuple[Any, str]]] = defaultdict(list)
    faults = []
    for piece in pieces:
        for residue in piece.residues:
            for atom in residue:
                p = atom.pos
                name = (
                    f"atom {atom.name} of {residue.name} {piece.chain}:{residue.seqid.num}{residue.seqid.icode.strip()}"
                )
                home = (math.floor(p.x), math.floor(p.y), math.floor(p.z))
                around = (
                    other
                    for dx in (-1, 0, 1)
                    for dy in (-1, 0, 1)
                    for dz in (-1, 0, 1)
                    for other in cells.get((home[0] + dx, home[1] + dy, home[2] + dz), ())
                )
                faults += [
                    f"{name} and {there} stand {p.dist(position):.2f} Å apart; leave one of them out."
                    for position, there in around
                    if p.dist(position) < CLASH
                ]
                cells[home].append((p, name))
    return faults
