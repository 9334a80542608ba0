"""Molecule: atoms, their torsion linkage, names, fields and files. Units: nm, ps, Da, kJ/mol, K."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import finite, one_of, positive, shown
from linkwork.core.messages.describe import tabled
from linkwork.dynamics.inputs import as_state
from linkwork.errors import ModelError, StateError
from linkwork.model.linkage import Linkage
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.molecules.checks import flags, force_field_of, optional_word, residue_range, several, words
from linkwork.molecules.forces.field import SKIN, CompiledField, atom_positions, poses_of
from linkwork.molecules.forces.force_fields import plain_system, with_cutoff
from linkwork.molecules.forces.openmm_field import OpenMMField
from linkwork.molecules.forces.parameters import pairs_of, terms_of
from linkwork.molecules.structure.atoms import SULFUR, AtomTable, Residue
from linkwork.molecules.structure.places import check_positions, dihedral
from linkwork.molecules.structure.report import PreparationReport
from linkwork.molecules.structure.strain import Geometry, look_at_geometry
from linkwork.molecules.torsions.bond_graph import Bond, disulfides, ring_closures, turning_bonds
from linkwork.molecules.torsions.names import torsion_atoms
from linkwork.molecules.torsions.tree import TorsionTree, build_tree

NAMED_TORSIONS = ("phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4")
ENGINES = ("numba", "openmm")
RESIDUE_NUMBER = re.compile(r"-?\d+")  # an insertion code may follow


@tabled
@dataclass(frozen=True)
class Torsion:
    """A joint of a molecule, by its name in the field."""

    name: str  # "A:17:phi"
    joint: int  # number of the joint, and of the body it carries
    atoms: tuple[int, int, int, int]  # whose dihedral angle it is


@tabled
class Molecule:
    """A molecule as a linkage of rigid groups that turn about bonds.

    model, state: the compiled linkage and its state at the given geometry (every torsion coordinate is zero there, and
    counts the turn from it).
    report: every change that was made to the structure.
    """

    def __init__(
        self,
        atoms: AtomTable,
        positions: ArrayLike,
        topology: Any,
        report: PreparationReport,
        *,
        force_field: str | Sequence[str] | None = "amber14",
        system: Any = None,
        omega: bool = False,
        hydrogens: bool = False,
        turning: Sequence[Bond] | None = None,
        held: Sequence[int] = (),
        given: Mapping[Bond, bool] | None = None,
        systems: dict[Any, Any] | None = None,
        name: str = "molecule",
    ):
        """held: atoms that are one rigid body. given: bonds of which it is known whether they turn, all others by rule.
        systems: OpenMM's Systems of all pairs by force field, as far as they are known."""
        x = np.array(positions, dtype=float)
        check_positions(atoms, x)
        self.atoms, self.topology, self.report, self.name = atoms, topology, report, name
        self.force_field, self.system = force_field, system
        self.reference = x
        self.given, self._systems = dict(given or {}), {} if systems is None else systems
        closing = (*disulfides(atoms), *ring_closures(atoms))
        cut = tuple((a, b) for a, b in closing if (min(a, b), max(a, b)) not in self.given)
        if turning is None:
            found = turning_bonds(atoms, cut, omega=omega, hydrogens=hydrogens)
            turning = sorted({*found, *self.given} - {bond for bond, turns in self.given.items() if not turns})
        self.tree: TorsionTree = build_tree(atoms, x, turning, cut, name, held=held)
        for a, b in cut:
            what = "disulfide" if atoms.elements[a] == SULFUR else "bond that closes the chain,"
            report.note("cut", "", f"{what} {atoms.label(a)} to {atoms.label(b)} is kept as a term of the force field")
        for body in self.tree.straight:
            report.note(
                "thin", "", f"'{self.model.body_names[body]}' is straight: it got a little inertia about its line"
            )

    # ------------------------------------------------------------------------------------------------------------ linkage

    @property
    def linkage(self) -> Linkage:
        return self.tree.linkage

    @property
    def model(self) -> Model:
        return self.tree.model

    @property
    def state(self) -> State:
        """At rest, in the geometry the molecule was made with."""
        return self.model.neutral()

    def contents(self) -> dict[str, Any]:
        """What it is made of, counted: atoms, residues, chains, pieces (connected parts), cuts, torsions by kind."""
        kinds = Counter(torsion.name.rpartition(":")[2] for torsion in self.torsions)
        named = {kind: kinds.pop(kind) for kind in NAMED_TORSIONS if kind in kinds}
        others = {"other": sum(kinds.values())} if kinds else {}
        return {
            "atoms": len(self.atoms),
            "residues": len(self.atoms.residues),
            "chains": list(dict.fromkeys(residue.chain for residue in self.atoms.residues)),
            "pieces": len({residue.piece for residue in self.atoms.residues}),
            "cuts": len(self.tree.cut),
            "torsions": {**named, **others},
        }

    @property
    def n_torsions(self) -> int:
        return int((self.tree.axis[:, 0] >= 0).sum())

    @cached_property
    def torsions(self) -> tuple[Torsion, ...]:
        """All torsions, in the order of the model's bodies."""
        found = []
        for i, (a, b) in enumerate(self.tree.axis.tolist()):
            if b >= 0:
                found.append(Torsion(self.model.joint_names[i], i, torsion_atoms(self.atoms, a, b)))
        return tuple(found)

    def with_torsions(self, torsions: Iterable[Torsion]) -> Molecule:
        """The same molecule in the same geometry, of whose torsions only these turn; all others are frozen for good."""
        chosen = several(torsions, "torsions", "give some of mol.torsions")
        bonds = [tuple(sorted(self.tree.axis[self._own(torsion).joint].tolist())) for torsion in chosen]
        report = PreparationReport(self.report.source, list(self.report.changes))
        report.note("frozen", "", f"{self.n_torsions - len(bonds)} of {self.n_torsions} torsions do not turn")
        return Molecule(
            self.atoms, self.reference, self.topology, report, force_field=self.force_field, system=self.system,
            turning=bonds, given=self.given, systems=self._systems, name=self.name,
        )  # fmt: skip

    def flexible(
        self, residues: int | str | tuple[int, int], chain: str | None = None, *, closed: bool = True
    ) -> Molecule:
        """The same molecule in the same geometry, of which only the torsions of these residues turn.

        residues: one number, or the first and the last of a range. chain: of several.
        closed: everything outside is one rigid body, and the chain between its two ends is a closed loop, so that only
        the region moves. Otherwise what lies behind the region is carried along.
        `field.on(part)` gives a field of this molecule to the part without reading the force field again.
        """
        flags(closed=closed)
        inside = set(self.select(chain, residues).tolist())
        bonds = [
            (min(bond), max(bond))
            for bond in (tuple(self.tree.axis[torsion.joint].tolist()) for torsion in self.torsions)
            if inside.issuperset(bond)
        ]
        if not bonds:
            raise ModelError(f"residues {shown(residues)} of molecule '{self.name}' have no torsion that turns.")
        held = [i for i in range(len(self.atoms)) if i not in inside] if closed else []
        report = PreparationReport(self.report.source, list(self.report.changes))
        report.note("frozen", "", f"{self.n_torsions - len(bonds)} of {self.n_torsions} torsions do not turn")
        return Molecule(
            self.atoms, self.reference, self.topology, report, force_field=self.force_field, system=self.system,
            turning=bonds, held=held, given=self.given, systems=self._systems, name=self.name,
        )  # fmt: skip

    # -------------------------------------------------------------------------------------------------------------- names

    def atom(self, label: str) -> int:
        """Number of an atom by its label, such as "A:41:CA"; with a single chain "41:CA" will do."""
        index = self.atoms.index
        if not isinstance(label, str):
            raise ModelError(f"{shown(label)} is not the label of an atom; they read like 'A:41:CA'.")
        for candidate in (label, *(f"{chain}:{label}" for chain in self.chains[:1] if len(self.chains) == 1)):
            if candidate in index:
                return index[candidate]
        close = difflib.get_close_matches(label, index, n=3)
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise ModelError(f"molecule '{self.name}' has no atom '{label}'{hint}.")

    @cached_property
    def chains(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(residue.chain for residue in self.atoms.residues))

    def select(
        self,
        chain: str | None = None,
        residues: int | str | tuple[int, int] | None = None,
        atoms: str | Iterable[str] | None = None,
        residue_name: str | None = None,
    ) -> IntArray:
        """Numbers of the atoms that fit all that is given.

        residues: one number ("52A" with its insertion code), or the first and the last of a range.
        atoms: one atom name or several.
        """
        names = None if atoms is None else set(words(atoms, "atoms"))
        optional_word(chain, "chain")
        optional_word(residue_name, "residue_name")
        if residues is not None and not isinstance(residues, str):
            number = isinstance(residues, int | np.integer) and not isinstance(residues, bool)
            residues = str(residues) if number else residue_range(residues)
        found = [
            i
            for residue in self.atoms.residues
            if (chain is None or residue.chain == chain)
            and (residue_name is None or residue.name == residue_name)
            and _fits(residue, residues)
            for i in range(residue.first, residue.last)
            if names is None or self.atoms.names[i] in names
        ]
        if not found:
            asked = {"chain": chain, "residues": residues, "atoms": atoms, "residue_name": residue_name}
            given = ", ".join(f"{name}={shown(value)}" for name, value in asked.items() if value is not None)
            first, last = self.atoms.residues[0].number, self.atoms.residues[-1].number
            raise ModelError(
                f"no atom of molecule '{self.name}' fits {given}; it has chains {', '.join(self.chains)} and residues "
                f"{first} to {last}."
            )
        return np.array(found, dtype=np.int64)

    def torsion(self, kind: str, residue: int | str, chain: str | None = None) -> Torsion:
        """A torsion by kind ("phi", "psi", "omega", "chi1" ... "chi4") and residue (17, "52A", "LYS 41", "B:17")."""
        if not isinstance(kind, str):
            raise ModelError(f"{shown(kind)} is not a kind of torsion; name one, such as 'phi' or 'chi1'.")
        wanted = self._residue(residue, chain)
        name = f"{wanted.label}:{kind}"
        for torsion in self.torsions:
            if torsion.name == name:
                return torsion
        here = [t.name.rpartition(":")[2] for t in self.torsions if t.name.startswith(f"{wanted.label}:")]
        raise ModelError(
            f"residue {wanted.name} {wanted.label} has no torsion '{kind}' that turns; it has {', '.join(here) or 'none'}."
        )

    def phi(self, residue: int | str, chain: str | None = None) -> Torsion:
        return self.torsion("phi", residue, chain)

    def psi(self, residue: int | str, chain: str | None = None) -> Torsion:
        return self.torsion("psi", residue, chain)

    def chi1(self, residue: int | str, chain: str | None = None) -> Torsion:
        return self.torsion("chi1", residue, chain)

    def chi2(self, residue: int | str, chain: str | None = None) -> Torsion:
        return self.torsion("chi2", residue, chain)

    def _residue(self, residue: int | str, chain: str | None) -> Residue:
        if isinstance(residue, bool) or not isinstance(residue, int | np.integer | str) or not str(residue).strip(" :"):
            raise ModelError(f"{shown(residue)} is not a residue; say 17, '52A', 'LYS 41' or 'B:17'.")
        optional_word(chain, "chain")
        *others, number = str(residue).replace(":", " ").split()
        fits = [
            r
            for r in self.atoms.residues
            if r.number == number
            and (chain is None or r.chain == chain)
            and all(word in (r.chain, r.name) for word in others)
        ]
        if len(fits) == 1:
            return fits[0]
        if not fits:
            raise ModelError(
                f"molecule '{self.name}' has no residue {residue!r}{f' in chain {chain}' if chain else ''}."
            )
        raise ModelError(f"residue {residue!r} stands in chains {', '.join(r.chain for r in fits)}; say which.")

    # ----------------------------------------------------------------------------------------------------------- geometry

    def positions(self, state: State) -> FloatArray:
        """World positions of all atoms [nm], shape (a, 3)."""
        q, _ = as_state(self.model, state)
        return atom_positions(self.tree, poses_of(self.model, q))

    def velocities(self, state: State) -> FloatArray:
        """World velocities of all atoms [nm/ps], shape (a, 3)."""
        from linkwork.dynamics.quantities.motion import body_twists

        twists = body_twists(self.model, state, frame="body")[self.tree.body]
        local = twists[:, 3:] + np.cross(twists[:, :3], self.tree.local)
        R = poses_of(self.model, state.q)[self.tree.body, :9].reshape(-1, 3, 3)
        return np.asarray(np.einsum("aij,aj->ai", R, local))

    def angle(self, torsion: Torsion, state: State) -> float:
        """The dihedral angle of a torsion [rad], from -π to π."""
        return dihedral(*self.positions(state)[list(self._own(torsion).atoms)])

    def _own(self, torsion: Torsion) -> Torsion:
        """The torsion, if it is one of this molecule."""
        if not isinstance(torsion, Torsion) or torsion not in self._known_torsions:
            raise ModelError(
                f"{shown(torsion)} is not a torsion of molecule '{self.name}'; mol.torsions and mol.phi(...) give them."
            )
        return torsion

    @cached_property
    def _known_torsions(self) -> frozenset[Torsion]:
        return frozenset(self.torsions)

    def with_angle(self, state: State, torsion: Torsion, angle: float) -> State:
        """The state with one torsion turned to a dihedral angle [rad]."""
        self._own(torsion)
        q, v = (x.copy() for x in as_state(self.model, state))
        angle = finite(angle, "angle")
        # turning the far side by q opens the angle by q, whichever way the four atoms are counted
        q[self.model.q_slice(torsion.joint)] += angle - self.angle(torsion, state)
        return State(q, v)

    # -------------------------------------------------------------------------------------------------------------- field

    def field(
        self,
        force_field: str | Sequence[str] | None = None,
        cutoff: float | None = None,
        engine: str | None = None,
        solvent: str | None = None,
        *,
        switch: float | None = None,
        skin: float = SKIN,
        platform: str = "CPU",
        threads: int | None = None,
    ) -> CompiledField | OpenMMField:
        """The forces of a force field on this molecule.

        force_field: "amber14" and others of `force_fields.FORCE_FIELDS`, or OpenMM's XML files; by default the one the
        molecule was loaded with, or the System it came with.
        cutoff: of Lennard-Jones and Coulomb terms [nm], with a reaction field beyond; none by default.
        switch: distance from which Lennard-Jones terms fade towards the cutoff [nm]. Without it the energy makes a small
        step when a pair crosses the cutoff, and runs of large molecules do not keep it.
        engine: "numba" (own kernel, the default) or "openmm".
        solvent: "obc2" or "gbn2", implicit water with the energy of the surface. skin: of the own list of neighbours [nm].
        platform, threads: of OpenMM.
        """
        chosen = engine if engine is not None else "numba"
        if cutoff is not None:
            positive(cutoff, "cutoff")
        one_of(chosen, ENGINES, "engine")
        system = self._system(force_field, cutoff, solvent, switch)
        if chosen == "numba":
            return CompiledField(self.atoms, self.tree, system, skin)
        return OpenMMField(self.atoms, self.tree, system, platform, threads)

    def _system(
        self,
        force_field: str | Sequence[str] | None,
        cutoff: float | None,
        solvent: str | None,
        switch: float | None = None,
    ) -> Any:
        if force_field is None and self.system is not None:
            if cutoff is not None or solvent is not None or switch is not None:
                raise StateError(
                    "this molecule came with a System of its own, which has its cutoff and solvent already."
                )
            return self.system
        name = force_field if force_field is not None else self.force_field
        if name is None or self.topology is None:
            raise StateError(f"molecule '{self.name}' has no force field; name one.")
        return with_cutoff(self._plain_system(name), self.topology, cutoff, solvent, switch)

    def _plain_system(self, name: str | Sequence[str]) -> Any:
        """OpenMM's System of all pairs, found once for each force field."""
        key = force_field_of(name)
        if key not in self._systems:
            self._systems[key] = plain_system(self.topology, key)
        return self._systems[key]

    def geometry(self) -> Geometry:
        """What the force field says about the geometry that is frozen: strained rigid groups and clashes, worst first."""
        system = self.system if self.system is not None else self._plain_system(self.force_field or "amber14")
        return look_at_geometry(self, self.reference, terms_of(system), pairs_of(system, self.atoms, SKIN))

    # -------------------------------------------------------------------------------------------------------------- files

    def write(self, path: str | Path, states: Any, times: ArrayLike | None = None) -> None:
        """Writes states as .pdb, .cif, .dcd or .xtc.

        states: a State, several, or a recording (whose times are taken).
        times: of the frames [ps], evenly spaced.
        """
        from linkwork.molecules.writing import write_states

        write_states(self, path, states, times)

    def view(self, states: Any = None, style: str = "cartoon") -> Any:
        """A py3Dmol view for notebooks, turned with the mouse; several states are played one after the other.

        style: "cartoon" (ribbons) or "stick". Needs the package py3Dmol.
        """
        from linkwork.molecules.writing import notebook_view

        return notebook_view(self, self.state if states is None else states, style)

    def __repr__(self) -> str:
        return (
            f"Molecule('{self.name}', {len(self.atoms)} atoms, {self.n_torsions} torsions, {len(self.tree.cut)} cuts)"
        )


def _fits(residue: Residue, wanted: int | str | tuple[int, int] | None) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, tuple):
        number = RESIDUE_NUMBER.match(residue.number)
        return number is not None and wanted[0] <= int(number[0]) <= wanted[1]
    return residue.number == str(wanted)
