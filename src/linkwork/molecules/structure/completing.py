"""From heavy atoms of a file to a whole molecule: PDBFixer adds what is missing, OpenMM protonates and relaxes."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.errors import FormatError, LinkworkError
from linkwork.molecules import extras
from linkwork.molecules.forces.force_fields import explain_template_error, load_force_field, with_cutoff
from linkwork.molecules.structure import metals, rings
from linkwork.molecules.structure.peptides import opposite
from linkwork.molecules.structure.reading import Piece
from linkwork.molecules.structure.report import PreparationReport
from linkwork.molecules.structure.special import add_bonds, define_hydrogens

LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits
PDB_ATOMS = 99_000  # more do not fit the columns of a PDB file
RELAX_CUTOFF = 1.0  # [nm] for molecules of more than RELAX_ALL_PAIRS atoms
RELAX_ALL_PAIRS = 1500
CARBOXYLATE = 0.125  # [nm] from carbon to oxygen
TANGLED = 1e3  # [kJ/mol] per atom, from which forces are too large to be followed
WALL = 0.85  # of σ: nearer, Lennard-Jones terms are a wall
SOFT = 2e4  # [kJ/mol/nm²] of the springs that push atoms apart: less than bonds have
SOFT_REACH = 0.6  # [nm]
RELAX_FORCE = 10.0  # [kJ/mol/nm] root mean square at which relaxing ends


@contextmanager
def repeatable(seed: int) -> Iterator[Any]:
    """OpenMM's CPU platform with one thread and numbers of its own: the same seed gives the same structure."""
    platform = extras.openmm("completing a structure").Platform.getPlatformByName("CPU")
    before = platform.getPropertyDefaultValue("Threads")
    numbers = random.getstate()
    platform.setPropertyDefaultValue("Threads", "1")
    random.seed(seed)  # OpenMM draws first places of hydrogens from Python's own random numbers
    try:
        yield platform
    finally:
        platform.setPropertyDefaultValue("Threads", before)
        random.setstate(numbers)


def _as_text(pieces: Sequence[Piece], names: Sequence[str]) -> tuple[str, str]:
    """The pieces as a file, each with a chain name of its own; and the name of PDBFixer's argument for it."""
    gemmi = extras.need("gemmi", "reading a structure")
    structure = gemmi.Structure()
    model = gemmi.Model("1" if not hasattr(gemmi.Model("1"), "num") else 1)
    for piece, name in zip(pieces, names, strict=True):
        chain = gemmi.Chain(name)
        for residue in piece.residues:
            chain.add_residue(residue)
        model.add_chain(chain)
    structure.add_model(model)
    structure.setup_entities()
    if len(pieces) <= len(LETTERS) and model.count_atom_sites() <= PDB_ATOMS:
        return "pdbfile", structure.make_pdb_string()
    return "pdbxfile", structure.make_mmcif_document().as_string()


def join_over_gaps(pieces: Sequence[Piece], gaps: str, report: PreparationReport) -> list[Piece]:
    """Pieces of a chain become one where the gap between them is to be rebuilt and the file has the sequence."""
    joined: list[Piece] = []
    for piece in pieces:
        before = joined[-1] if joined else None
        is_gap = before is not None and before.chain == piece.chain and bool(before.sequence) and bool(piece.sequence)
        if before is None or before.chain != piece.chain:
            joined.append(Piece(piece.chain, list(piece.residues), piece.sequence))
            continue
        ends = [f"{residue.name} {residue.seqid}" for residue in (before.residues[-1], piece.residues[0])]
        if is_gap and gaps == "rebuild":
            before.residues.extend(piece.residues)
        else:
            if piece.residues[0].entity_type == before.residues[-1].entity_type:
                why = "" if gaps == "keep" else "; the file has no sequence to rebuild it from"
                report.note("gap", piece.chain, f"kept between {ends[0]} and {ends[1]}: two pieces{why}")
            joined.append(Piece(piece.chain, list(piece.residues), piece.sequence))
    return joined


def complete(
    pieces: Sequence[Piece], gaps: str, ends: bool, seed: int, report: PreparationReport, special: Mapping[str, Any]
) -> tuple[Any, FloatArray]:
    """Topology with all heavy atoms, and their positions [nm], shape (a, 3).

    special: residues that are not standard and kept, as `special_residues` has them.
    """
    whole = join_over_gaps(pieces, gaps, report)
    try:
        return _complete(whole, gaps, ends, seed, report, special)
    except LinkworkError:
        raise
    except Exception as error:  # PDBFixer and OpenMM raise of many kinds, their own among them
        raise FormatError(f"{report.source}: the structure cannot be completed: {error}") from error


def _complete(
    whole: Sequence[Piece], gaps: str, ends: bool, seed: int, report: PreparationReport, special: Mapping[str, Any]
) -> tuple[Any, FloatArray]:
    fixing = extras.need("pdbfixer.pdbfixer", "completing a structure")
    names = list(LETTERS[: len(whole)]) if len(whole) <= len(LETTERS) else [f"x{k}" for k in range(len(whole))]
    argument, text = _as_text(whole, names)
    with repeatable(seed) as platform:
        fixer = fixing.PDBFixer(**{argument: StringIO(text)}, platform=platform)
        fixer.sequences = [
            fixing.Sequence(name, piece.sequence) for name, piece in zip(names, whole, strict=True) if piece.sequence
        ]
        original = dict(zip(names, (piece.chain for piece in whole), strict=True))
        fixer.findMissingResidues()
        _choose_missing_residues(fixer, whole, gaps, ends, report)
        fixer.findNonstandardResidues()
        fixer.nonstandardResidues = [pair for pair in fixer.nonstandardResidues if pair[0].name not in special]
        for residue, standard in fixer.nonstandardResidues:
            report.note("residue", _where(original, residue), f"{residue.name} replaced by {standard}")
        fixer.replaceNonstandardResidues()
        fixer.findMissingAtoms()
        rings.leave_rings_closed(fixer, whole, names)
        for kind in (fixer.missingAtoms, fixer.missingTerminals):
            for residue, atoms in kind.items():
                added = ", ".join(atom if isinstance(atom, str) else atom.name for atom in atoms)
                report.note("atoms", _where(original, residue), f"{residue.name}: {added} added")
        fixer.addMissingAtoms(seed=seed)
        place_terminal_oxygens(fixer, {_place(residue) for residue in fixer.missingTerminals})
    rings.close_rings(fixer.topology, whole, names, report)
    add_bonds(fixer.topology, _in_nanometres(fixer.positions), special)
    define_hydrogens(special)
    for chain in fixer.topology.chains():
        chain.id = original.get(chain.id, chain.id)
    return fixer.topology, _in_nanometres(fixer.positions)


def _choose_missing_residues(
    fixer: Any, whole: Sequence[Piece], gaps: str, ends: bool, report: PreparationReport
) -> None:
    """Keeps what is to be rebuilt of what the sequences say is missing, and reports all of it.

    A chain with gaps that are kept is several pieces: its beginning is missing before the first, its end behind the last.
    """
    chains = list(fixer.topology.chains())
    kept = {}
    for (c, k), names in fixer.missingResidues.items():
        length = len(list(chains[c].residues()))
        is_end = k in (0, length)
        if is_end and _has_piece_beyond(whole, c, before=k == 0):
            continue
        is_rebuilt = ends if is_end else gaps == "rebuild"
        if is_rebuilt:
            kept[c, k] = names
        verb = "rebuilt" if is_rebuilt else "left out"
        side = "at the beginning" if k == 0 else "at the end" if k == length else f"inside, after residue {k}"
        what = f"{len(names)} residues missing {side} {verb}"
        report.note("end" if is_end else "gap", whole[c].chain, what)
    fixer.missingResidues = kept


def place_terminal_oxygens(fixer: Any, where: set[tuple[str, str, str]]) -> None:
    """Puts the second oxygens that PDBFixer added to ends of chains opposite CA and O.

    It places them beside O, on the wrong side, and its minimization does not always bring them round.
    """
    unit = extras.need("openmm.unit", "a structure")
    for residue in fixer.topology.residues():
        atoms = {atom.name: atom.index for atom in residue.atoms()}
        if _place(residue) in where and {"CA", "C", "O", "OXT"} <= set(atoms):
            near, center, other = (
                np.array(fixer.positions[atoms[name]].value_in_unit(unit.nanometer)) for name in ("CA", "C", "O")
            )
            fixer.positions[atoms["OXT"]] = opposite(near, center, other, CARBOXYLATE) * unit.nanometer


def _place(residue: Any) -> tuple[str, str, str]:
    return residue.chain.id, residue.id, residue.insertionCode.strip()


def _has_piece_beyond(whole: Sequence[Piece], c: int, before: bool) -> bool:
    """Whether a chain goes on beyond a gap, before or behind its piece c."""
    others = whole[:c] if before else whole[c + 1 :]
    return any(piece.chain == whole[c].chain and piece.sequence for piece in others)


def _where(original: dict[str, str], residue: Any) -> str:
    return f"{original.get(residue.chain.id, residue.chain.id)}:{residue.id}{residue.insertionCode.strip()}"


def _in_nanometres(positions: Any) -> FloatArray:
    unit = extras.need("openmm.unit", "a structure")
    return np.array(positions.value_in_unit(unit.nanometer), dtype=float).reshape(-1, 3)


def protonate(
    topology: Any,
    positions: FloatArray,
    force_field: str | Sequence[str],
    ph: float,
    seed: int,
    report: PreparationReport,
) -> tuple[Any, FloatArray]:
    """Adds hydrogens for a pH; reports every residue that could be protonated in several ways."""
    app, unit = extras.app("hydrogens"), extras.need("openmm.unit", "hydrogens")
    loaded = load_force_field(force_field)
    modeller = app.Modeller(topology, positions * unit.nanometer)
    residues = list(topology.residues())
    asked: list[Any] = [None] * len(residues)
    with repeatable(seed) as platform:
        for first in rings.first_of_rings(topology):  # OpenMM takes it for the end of a chain
            asked[first.index] = rings.hydrogens_inside(first.name, ph)
        at_metals = metals.residues_at_metals(topology, positions)
        for index, (form, _) in at_metals.items():
            asked[index] = metals.OF_OPENMM.get(form, form)
        try:
            variants = modeller.addHydrogens(loaded, pH=ph, variants=asked, platform=platform)
        except Exception as error:  # OpenMM raises of many kinds, its own among them
            raise FormatError(f"{report.source}: {explain_template_error(topology, str(error))}") from error
    made = list(modeller.topology.residues())
    for residue, with_hydrogens, chosen in zip(residues, made, variants, strict=True):
        variant = chosen if isinstance(chosen, str) else charged_otherwise(with_hydrogens)
        why = "disulfide" if variant == "CYX" else f"pH {ph:g}"
        if residue.index in at_metals:
            variant, why = at_metals[residue.index]
        if variant is not None:
            where = f"{residue.chain.id}:{residue.id}{residue.insertionCode.strip()}"
            report.note("protonation", where, f"{residue.name} as {variant} ({why})")
    added = modeller.topology.getNumAtoms() - topology.getNumAtoms()
    report.note("hydrogens", "", f"{added} hydrogens added at pH {ph:g}")
    return modeller.topology, _in_nanometres(modeller.positions)


def charged_otherwise(residue: Any) -> str | None:
    """The name of the form of a residue that is not charged as it is in water at pH 7, by its hydrogens; None if it is."""
    names = {atom.name for atom in residue.atoms()}
    if residue.name == "ASP" and names & {"HD1", "HD2"}:
        return "ASH"
    if residue.name == "GLU" and names & {"HE1", "HE2"}:
        return "GLH"
    if residue.name == "LYS" and len(names & {"HZ1", "HZ2", "HZ3"}) == 2:
        return "LYN"
    if residue.name == "CYS" and not names & {"HG"} and "SG" in names:
        return "CYM"
    return None


def _untangled(system: Any, positions: FloatArray, platform: Any) -> FloatArray:
    """Positions without clashes [nm]: springs in the place of Lennard-Jones and Coulomb terms push atoms apart.

    Where atoms stand in one place, forces of 1e12 kJ/mol/nm leave no direction that a minimization could follow.
    """
    mm = extras.openmm("relaxing")
    soft = mm.XmlSerializer.clone(system)
    for k in reversed(range(soft.getNumForces())):
        if isinstance(soft.getForce(k), mm.NonbondedForce):
            pairs = soft.getForce(k)
            springs = mm.CustomNonbondedForce(f"{SOFT}*step(a-r)*(a-r)^2; a=a1+a2")
            springs.addPerParticleParameter("a")
            for i in range(pairs.getNumParticles()):
                springs.addParticle([0.5 * WALL * pairs.getParticleParameters(i)[1]._value])
            for e in range(pairs.getNumExceptions()):
                springs.addExclusion(*pairs.getExceptionParameters(e)[:2])
            springs.setNonbondedMethod(springs.CutoffNonPeriodic)
            springs.setCutoffDistance(SOFT_REACH)
            soft.removeForce(k)
            soft.addForce(springs)
    context = mm.Context(soft, mm.VerletIntegrator(1e-3), platform)
    context.setPositions(positions)
    mm.LocalEnergyMinimizer.minimize(context, RELAX_FORCE)
    return np.array(context.getState(getPositions=True).getPositions(asNumpy=True)._value, dtype=float)


def relax(
    topology: Any, positions: FloatArray, plain: Any, report: PreparationReport, held: Sequence[int] = ()
) -> FloatArray:
    """Minimizes the energy in Cartesian coordinates, in vacuum, before bonds and angles are frozen; positions [nm].

    plain: System of all pairs. held: atoms that stay where they are.
    """
    mm = extras.openmm("relaxing")
    cutoff = RELAX_CUTOFF if topology.getNumAtoms() > RELAX_ALL_PAIRS else None
    system = with_cutoff(plain, topology, cutoff, None)
    for i in held:
        system.setParticleMass(i, 0.0)
    with repeatable(0) as platform:
        context = mm.Context(system, mm.VerletIntegrator(1e-3), platform)
        context.setPositions(positions)
        before = context.getState(getEnergy=True).getPotentialEnergy()._value
        if not before < TANGLED * len(positions):  # NaN too
            context.setPositions(_untangled(system, positions, platform))
        mm.LocalEnergyMinimizer.minimize(context, RELAX_FORCE)
        state = context.getState(getEnergy=True, getPositions=True)
    after = state.getPotentialEnergy()._value
    moved = np.array(state.getPositions(asNumpy=True)._value, dtype=float)
    distance = np.linalg.norm(moved - positions, axis=1).max()
    report.note(
        "relaxed", "", f"energy {before:.0f} → {after:.0f} kJ/mol; the atom that moved most went {distance:.3f} nm"
    )
    return moved
