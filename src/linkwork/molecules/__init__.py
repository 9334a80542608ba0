"""Molecules as linkages: structure files and peptides → rigid groups that turn about bonds, with real force fields.

    mol = lw.molecules.load("1crn.pdb", relax=True, seed=1)
    field = mol.field("amber14", cutoff=1.0)
    energy, wrenches = field.at(mol.state)

Units: nm, ps, Da, kJ/mol, K. Needs the extra `proteins` (gemmi, PDBFixer, OpenMM), which is imported when it is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.checks import choice, dimensions, integer, numbers, shown
from linkwork.core.messages.progress import progress_bar
from linkwork.core.units import FORCE_IN_PN
from linkwork.errors import ModelError, StateError
from linkwork.molecules import checks, extras
from linkwork.molecules.forces.field import CompiledField
from linkwork.molecules.forces.openmm_field import OpenMMField
from linkwork.molecules.hydrogen_bonds import HydrogenBond, helix_content, hydrogen_bonds
from linkwork.molecules.molecule import Molecule, Torsion
from linkwork.molecules.pulling import Pulled, pull
from linkwork.molecules.restraints import Restraints
from linkwork.molecules.sampling import Replicas, Sampled, hmc, replica_exchange
from linkwork.molecules.structure.report import Change, PreparationReport
from linkwork.molecules.structure.strain import Clash, Geometry, Strain, note_geometry
from linkwork.simulation.loading.fields import Field
from linkwork.simulation.thermal.fixman import FixmanPotential
from linkwork.simulation.thermal.langevin import BOLTZMANN, RandomVelocities, temperature

__all__ = [
    "BOLTZMANN",
    "FORCE_IN_PN",
    "Change",
    "Clash",
    "CompiledField",
    "Field",
    "FixmanPotential",
    "Geometry",
    "HydrogenBond",
    "Molecule",
    "OpenMMField",
    "PreparationReport",
    "Pulled",
    "RandomVelocities",
    "Replicas",
    "Restraints",
    "Sampled",
    "Strain",
    "Torsion",
    "from_openmm",
    "helix_content",
    "hmc",
    "hydrogen_bonds",
    "load",
    "peptide",
    "pull",
    "replica_exchange",
    "temperature",
]

GAPS = ("keep", "rebuild")
LIGANDS = ("drop", "rigid", "torsions")
STAGES = 5  # of preparing a structure


def load(
    path: str | Path,
    chains: str | Iterable[str] | None = None,
    residues: tuple[int, int] | None = None,
    *,
    relax: bool = False,
    seed: int = 0,
    ph: float = 7.0,
    model: int = 1,
    waters: bool = False,
    ions: bool = True,
    gaps: str = "keep",
    ends: bool = False,
    force_field: str | Sequence[str] = "amber14",
    omega: bool = False,
    hydrogens: bool = False,
    drop: str | Iterable[str] = (),
    replace: str | Iterable[str] = (),
    ligands: str = "drop",
    progress: bool | None = None,
) -> Molecule:
    """A molecule from a PDB or mmCIF file (also .gz and .bz2).

    chains: "A", "A,C" or a sequence; all by default. residues: first and last number of a range. model: of several.
    relax: minimize the energy in Cartesian coordinates before bonds and angles are frozen; files with clashes need it.
    seed: of what is added. waters, ions: kept or dropped. ph: decides on hydrogens.
    ligands: residues that the force field does not have: "drop", or "rigid": kept as rigid bodies of heavy atoms with
    Lennard-Jones terms and without charges, or "torsions": such bodies for their rigid groups, which turn about rotatable
    bonds. Parameters of your own come in by `from_openmm`.
    gaps: "keep" (each piece gets a base of its own) or "rebuild" (from the file's sequence). ends: rebuild missing ends.
    omega, hydrogens: peptide bonds turn; methyl, hydroxyl and amine groups turn.
    drop: names of residues to leave out ("SAH"). replace: names of modified residues ("PTR") that become standard ones;
    those that lose no atom by it (MSE) do so anyway.
    progress: None shows a bar on a terminal and in a notebook.
    Every change is listed in the molecule's `report`, with rigid groups that are strained and atoms that stand too close.
    """
    from linkwork.molecules.forces.force_fields import load_force_field, plain_system
    from linkwork.molecules.structure import choosing, completing, reading
    from linkwork.molecules.structure.atoms import table_from_topology
    from linkwork.molecules.structure.ligands import Ligand, add_ligands
    from linkwork.molecules.structure.special import special_residues

    path = checks.path_of(path, "path")
    choice(gaps, GAPS, "gaps")
    choice(ligands, LIGANDS, "ligands")
    checks.flags(relax=relax, waters=waters, ions=ions, ends=ends, omega=omega, hydrogens=hydrogens)
    checks.acidity(ph)
    checks.seed_of(seed)
    integer(model, 1, "model")
    force_field = checks.force_field_of(force_field)
    wanted = None if chains is None else checks.chain_names(chains)
    span = None if residues is None else checks.residue_range(residues)
    unwanted, replaced = checks.words(drop, "drop"), checks.words(replace, "replace")
    report = PreparationReport(str(path))
    fixing = extras.need("pdbfixer.pdbfixer", "reading a structure")
    special = special_residues(load_force_field(force_field), fixing.substitutions)
    known = {*load_force_field(force_field)._templates, *fixing.proteinResidues, *special}
    structure = reading.read_structure(path, model, report)
    choosing.choose_chains(structure, wanted, str(path))
    choosing.choose_residues(structure, span, str(path))
    if unwanted:
        choosing.drop_residues(structure, unwanted, report)
    choosing.choose_alternatives(structure, report)
    choosing.choose_locations(structure, report)
    kept: list[Ligand] | None = None if ligands == "drop" else []
    pieces = reading.sort_residues(structure, tuple(known), fixing.substitutions, waters, ions, replaced, report, kept)
    kept = kept or []
    choosing.note_cut_links(structure, pieces, report, kept)
    reading.refuse_clashes(pieces, relax, seed, report)
    with progress_bar(STAGES, f"preparing {path.name}", progress) as bar:
        bar(0, "adding what is missing")
        topology, positions = completing.complete(pieces, gaps, ends, seed, report, special)
        bar(1, "adding hydrogens")
        topology, positions = completing.protonate(topology, positions, force_field, ph, seed, report)
        bar(2, "finding parameters")
        plain = plain_system(topology, force_field)
        positions, added, given = add_ligands(
            kept, structure.connections, topology, positions, plain, report, turn=ligands == "torsions"
        )
        bar(3, "relaxing" if relax else "making the linkage")
        if relax:
            positions = completing.relax(topology, positions, plain, report, added)
        name = Path(path).name.partition(".")[0]
        molecule = Molecule(
            table_from_topology(topology), positions, topology, report, force_field=force_field, omega=omega,
            hydrogens=hydrogens, given=given, systems={force_field: plain}, name=name,
        )  # fmt: skip
        bar(4, "looking at its geometry")
        with contextlib.suppress(ModelError):  # a force field with terms that the own kernel does not have
            note_geometry(molecule.geometry(), report)
        bar(STAGES, "")
    return molecule


def peptide(
    sequence: str,
    helix: bool = False,
    *,
    phi: ArrayLike | None = None,
    psi: ArrayLike | None = None,
    caps: bool = True,
    relax: bool = False,
    seed: int = 0,
    ph: float = 7.0,
    force_field: str | Sequence[str] = "amber14",
    omega: bool = False,
    hydrogens: bool = False,
) -> Molecule:
    """A peptide from its sequence, one letter per residue, with standard bonds and angles.

    helix: an α-helix (φ -57°, ψ -47°), otherwise an extended strand. phi, psi: other angles [rad], one or one per residue.
    caps: acetyl before residue 1 and N-methyl behind the last, instead of charged ends.
    """
    from linkwork.molecules.forces.force_fields import plain_system
    from linkwork.molecules.structure import completing, peptides
    from linkwork.molecules.structure.atoms import table_from_topology

    letters = peptides.check_sequence(sequence)
    checks.flags(helix=helix, caps=caps, relax=relax, omega=omega, hydrogens=hydrogens)
    checks.acidity(ph)
    checks.seed_of(seed)
    force_field = checks.force_field_of(force_field)
    report = PreparationReport(f"peptide {letters}")
    angles = []
    for given, default, what in ((phi, 0, "phi"), (psi, 1, "psi")):
        standard = np.radians((peptides.HELIX if helix else peptides.EXTENDED)[default])
        angles.append(np.degrees(_angles(standard if given is None else given, len(letters), what)))
    topology, positions = peptides.peptide_topology(peptides.backbone(letters, list(zip(*angles, strict=True)), caps))
    if not caps or set(letters) - set("AG"):
        topology, positions = _complete_side_chains(topology, positions, seed)
    topology, positions = completing.protonate(topology, positions, force_field, ph, seed, report)
    plain = plain_system(topology, force_field)
    if relax:
        positions = completing.relax(topology, positions, plain, report)
    name = f"{'ace_' if caps else ''}{letters.lower()}{'_nme' if caps else ''}"
    return Molecule(
        table_from_topology(topology), positions, topology, report, force_field=force_field, omega=omega,
        hydrogens=hydrogens, systems={force_field: plain}, name=name,
    )  # fmt: skip


def _angles(given: Any, count: int, what: str) -> Any:
    """One angle for all residues, or one for each, shape (count,) [rad]."""
    shape = () if dimensions(given) == 0 else (count,)
    values = numbers(given, shape, what, f"a sequence of {count} residues (or one angle for all)")
    if not np.isfinite(values).all():
        raise ModelError(f"{what} has an angle that is not finite.")
    return np.broadcast_to(values, count)


def _complete_side_chains(topology: Any, positions: Any, seed: int) -> tuple[Any, Any]:
    from linkwork.molecules.structure.completing import place_terminal_oxygens, repeatable

    app, unit = extras.app("a peptide"), extras.need("openmm.unit", "a peptide")
    fixing = extras.need("pdbfixer.pdbfixer", "side chains")
    text = StringIO()
    app.PDBFile.writeFile(topology, positions * unit.nanometer, text, keepIds=True)
    text.seek(0)
    with repeatable(seed) as platform:
        fixer = fixing.PDBFixer(pdbfile=text, platform=platform)
        fixer.missingResidues = {}
        fixer.findMissingAtoms()
        ends = {(end.chain.id, end.id, end.insertionCode.strip()) for end in fixer.missingTerminals}
        fixer.addMissingAtoms(seed=seed)
        place_terminal_oxygens(fixer, ends)
    return fixer.topology, np.array(fixer.positions.value_in_unit(unit.nanometer), dtype=float)


def from_openmm(
    topology: Any, system: Any, positions: Any, *, omega: bool = False, hydrogens: bool = False, name: str = "molecule"
) -> Molecule:
    """A molecule from OpenMM's objects: any force field and any ligand that OpenMM has parameters for.

    positions: with a unit, or plain numbers [nm], shape (a, 3). Masses are the System's.
    """
    from linkwork.molecules.structure.atoms import table_from_topology

    unit = extras.need("openmm.unit", "from_openmm")
    checks.need_methods(topology, "topology", "Topology", "getNumAtoms", "atoms", "bonds", "chains")
    checks.need_methods(system, "system", "System", "getNumParticles", "getParticleMass", "getForces")
    checks.flags(omega=omega, hydrogens=hydrogens)
    if not isinstance(name, str):
        raise StateError(f"name is {shown(name)}; give a word.")
    count = topology.getNumAtoms()
    if system.getNumParticles() != count:
        raise ModelError(f"the topology has {count} atoms and the System {system.getNumParticles()}; they must agree.")
    x = positions.value_in_unit(unit.nanometer) if hasattr(positions, "value_in_unit") else positions
    masses = np.array([system.getParticleMass(i)._value for i in range(count)])
    report = PreparationReport("OpenMM System")
    if system.getNumConstraints():
        report.note("constraints", "", f"{system.getNumConstraints()} constraints of the System hold by rigid bodies")
    return Molecule(
        table_from_topology(topology, masses), _plain_positions(x, count), topology, report,
        force_field=None, system=system, omega=omega, hydrogens=hydrogens, name=name,
    )  # fmt: skip


def _plain_positions(x: Any, count: int) -> Any:
    """Numbers of shape (count, 3), also where they come as a list of OpenMM's Vec3; what is not finite is named later."""
    try:
        rows = [tuple(row) for row in x] if not isinstance(x, np.ndarray) else x
    except TypeError:
        rows = x
    return numbers(rows, (count, 3), "positions", f"a topology of {count} atoms")
