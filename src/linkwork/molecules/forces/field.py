"""Force fields on linkages: what every engine can be asked, and the compiled one."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import numbers, positive
from linkwork.core.messages.describe import described
from linkwork.core.turns import TakesTurns
from linkwork.dynamics.api import inverse_dynamics
from linkwork.dynamics.inputs import as_state
from linkwork.dynamics.kinematics import world_poses
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.molecules.checks import integers, poses_for_kernel, positions_of, wrenches_for_kernel
from linkwork.molecules.forces.evaluating import Evaluation, choose, evaluate_with_room, solvent_tables
from linkwork.molecules.forces.kernel import complete_forces, forces_on_bodies
from linkwork.molecules.forces.parameters import capacity_guess, pairs_of, reach_of, terms_of
from linkwork.molecules.forces.restraint_forces import RestraintTables, add_restraints
from linkwork.molecules.forces.solvent.parameters import solvent_of
from linkwork.molecules.forces.stiffness import stiffness_of_pairs
from linkwork.molecules.forces.tables import LIST_BUILDS, PAIRS, Atoms, FieldTables, make_work, padded
from linkwork.molecules.restraints import Restraints
from linkwork.molecules.structure.atoms import AtomTable
from linkwork.molecules.torsions.tree import TorsionTree
from linkwork.statics.in_field import hessian, hessian_product

SKIN = 0.1  # [nm] how much further than the cutoff the list of neighbours reaches


class FieldQuestions(TakesTurns):
    """What follows from `wrenches` for every engine. Threads that share a field wait for each other."""

    model: Model
    cutoff: float | None  # [nm]
    switch: float | None  # [nm]

    def wrenches(self, poses: FloatArray, out: FloatArray) -> float:
        raise NotImplementedError

    def at(self, state: State) -> tuple[float, FloatArray]:
        """Energy [kJ/mol] and wrenches (n, 6) at a state."""
        q, _ = as_state(self.model, state)
        poses = poses_of(self.model, q)
        out = np.zeros((self.model.n_bodies, 6))
        return self.wrenches(poses, out), out

    def energy(self, state: State) -> float:
        """Energy of the field [kJ/mol]."""
        return self.at(state)[0]

    def generalized_forces(self, state: State) -> FloatArray:
        """-∂E/∂q along every degree of freedom [kJ/mol/rad or kJ/mol/nm], shape (nv,). Cost: one evaluation and O(n)."""
        as_state(self.model, state)
        _, wrenches = self.at(state)
        still = State(state.q, np.zeros(self.model.nv))
        bare = self.model.arrays.gravity.any() or self.model.arrays.dof[:, :2].any()
        efforts = -inverse_dynamics(self.model, still, np.zeros(self.model.nv), wrenches)
        if bare:  # gravity, springs and dampers of the linkage are not the field's
            efforts += inverse_dynamics(self.model, still, np.zeros(self.model.nv))
        return efforts

    def hessian_product(self, state: State, direction: ArrayLike) -> FloatArray:
        """∂²E/∂q² times a direction (nv,), by a difference of forces over 4e-5 rad; two evaluations, error some 1e-6."""
        as_state(self.model, state)
        x = numbers(direction, (self.model.nv,), "direction", f"a model of {self.model.nv} degrees of freedom")
        return hessian_product(self.model, self, state, x)

    def second_derivatives(self, state: State) -> FloatArray:
        """∂²E/∂q², symmetric, shape (nv, nv) [kJ/mol/rad², ...]: by differences of forces, two evaluations per column."""
        as_state(self.model, state)
        return hessian(self.model, self, state)


def poses_of(model: Model, q: ArrayLike) -> FloatArray:
    """World poses as fields take them, shape (n, 12)."""
    tree, body, screws, *_ = model.arrays
    return np.asarray(world_poses(tree, body, screws, np.ascontiguousarray(q, dtype=float)))


@described
class CompiledField(FieldQuestions):
    """Lennard-Jones, Coulomb, 1-4 and torsion terms, maps of torsions, all terms across cut bonds, and implicit solvent.

    Pairs inside one body are left out: they exert no net wrench. Their energy, and that of bonds and angles that cannot
    change, is counted once, so that `energy` is that of the whole System.
    """

    def __init__(self, atoms: AtomTable, tree: TorsionTree, system: Any, skin: float = SKIN):
        self.atom_table, self.tree, self.model = atoms, tree, tree.model
        self.skin = positive(skin, "skin")
        self.cutoff, self.switch = reach_of(system)
        self.tables = make_tables(atoms, tree, system, self.skin)
        solvent = solvent_of(system, self.tables.pairs)
        self.solvent_tables = None if solvent is None else solvent_tables(solvent, len(atoms), self.capacity)
        self._atoms = self.tables.atoms  # on their bodies, also while they are attached to groups
        self.evaluations = 0
        self.constant = 0.0  # [kJ/mol] energy of what cannot change
        self.restraint_tables: RestraintTables | None = None
        self._has_clusters = False
        self._rows = self.model.n_bodies  # of the poses that `wrenches` takes
        poses = poses_of(self.model, self.model.neutral().q)
        total, _ = self.every_term(self.atom_positions(poses))
        self.constant = total - self.set_clusters(np.arange(self.model.n_bodies), poses)
        self._constant_of_bodies = self.constant

    def __getstate__(self) -> dict[str, Any]:
        """Without the table of addresses, which are those of this field's arrays."""
        state = super().__getstate__()
        state.pop("described", None)
        return state

    @property
    def pairs(self) -> int:
        """Pairs on the list of neighbours at the last evaluation."""
        return int(self.tables.work.counters[PAIRS])

    @property
    def list_builds(self) -> int:
        """How often the list was made."""
        return int(self.tables.work.counters[LIST_BUILDS])

    def wrenches(self, poses: FloatArray, out: FloatArray) -> float:
        poses_for_kernel(poses, self._rows, len(self.atom_table) + 1)
        wrenches_for_kernel(out, len(poses))
        self.evaluations += 1
        energy = evaluate_with_room(self, poses, out) + self.constant
        if self.restraint_tables is not None:
            energy += add_restraints(self.restraint_tables, self.tables.atoms, poses, out)
        return energy

    def set_clusters(self, cluster: ArrayLike, poses: FloatArray | None = None) -> float:
        """Bodies of one number move as one from now on: pairs and terms between them are left out.

        cluster: shape (n,), whole numbers from 0 to n - 1: the number of one of its bodies will do.
        poses: with them the energy goes on without a jump: what freezes here counts as constant.
        Returns the energy of what can change [kJ/mol], if poses are given.
        """
        n = self.model.n_bodies
        numbers = integers(cluster, n, n, "cluster")
        if poses is not None:
            poses_for_kernel(poses, n, n)
        self._rows = n
        self.tables = self.tables._replace(atoms=self._atoms)
        if poses is None:
            choose(self, self.tables, numbers)
            return float("nan")
        out = np.zeros((self.model.n_bodies, 6))
        before = evaluate_with_room(self, poses, out) if self._has_clusters else 0.0
        choose(self, self.tables, numbers)
        after = evaluate_with_room(self, poses, out)
        self.constant += before - after if self._has_clusters else 0.0
        self._has_clusters = True
        return after

    def attach_to_pieces(self, piece: ArrayLike, pose: FloatArray) -> None:
        """Bodies of one number are a rigid group from now on: `wrenches` takes poses of groups and gives wrenches on them.

        piece: the group of each body, shape (n,), whole numbers from 0 to n - 1. pose: of each body in it, shape (n, 12).
        `energy`, `at` and `generalized_forces` are for bodies: `set_clusters` goes back to them.
        """
        n = self.model.n_bodies
        numbers = integers(piece, n, n + 1, "piece")
        poses_for_kernel(pose, n, n)
        self._rows = int(numbers.max()) + 1
        choose(self, self.tables._replace(atoms=self._atoms), numbers)
        local = atom_positions(self.tree, pose)
        self.tables = self.tables._replace(atoms=self._atoms._replace(body=numbers[self.tree.body], local=local))

    def wrenches_on_bodies(self, poses: FloatArray, out: FloatArray) -> None:
        """Wrenches (n, 6) of the last evaluation on bodies, also where it was made on groups. poses: of bodies, (n, 12)."""
        n = self.model.n_bodies
        poses_for_kernel(poses, n, n)
        wrenches_for_kernel(out, n)
        forces_on_bodies(self.tables._replace(atoms=self._atoms), poses, out)
        if self.restraint_tables is not None:
            add_restraints(self.restraint_tables, self._atoms, poses, out)

    def with_restraints(self, restraints: Restraints) -> CompiledField:
        """The same field with restraints, instead of those it may have had; their energy counts in `energy`."""
        if getattr(getattr(restraints, "molecule", None), "atoms", None) is not self.atom_table:
            raise StateError(
                "these are not restraints of this field's molecule: lw.molecules.Restraints(mol) makes them."
            )
        other = self.copy()
        other.restraint_tables = restraints.tables()
        return other

    @property
    def restrained(self) -> FloatArray:
        """What each restraint holds, at the last evaluation [nm, rad]: distances, dihedrals, places, shapes."""
        return np.zeros(0) if self.restraint_tables is None else self.restraint_tables.value.copy()

    def on(self, part: Any) -> CompiledField:
        """The same force field on another linkage of the same atoms, such as `mol.flexible(...)`: nothing is read again.

        Cost: two evaluations.
        """
        if getattr(part, "atoms", None) is not self.atom_table:
            raise StateError("a field goes over to linkages of the same molecule, as mol.flexible(...) makes them.")
        other = copy(self)
        tree = part.tree
        other.tree, other.model = tree, tree.model
        work = make_work(len(self.atom_table), term_counts(self.tables.terms), self.capacity)
        other.tables = self.tables._replace(atoms=atoms_on(tree), work=work)
        other._atoms = other.tables.atoms
        if self.solvent_tables is not None:
            other.solvent_tables = solvent_tables(self.solvent_tables.solvent, len(self.atom_table), self.capacity)
        other.evaluations, other.constant, other._has_clusters = 0, 0.0, False
        other._rows = other.model.n_bodies
        # Both linkages stand in the geometry the molecule was made with where no torsion is turned
        plain = self.copy()
        plain.restraint_tables = None
        total = plain.energy(plain.model.neutral())
        poses = poses_of(other.model, other.model.neutral().q)
        other.constant = total - other.set_clusters(np.arange(other.model.n_bodies), poses)
        other._constant_of_bodies = other.constant
        return other

    def copy(self) -> CompiledField:
        """The same field with a list of neighbours and clusters of its own: every body by itself."""
        other = copy(self)
        other.tables = self.tables._replace(
            atoms=self._atoms, work=make_work(len(self.atom_table), term_counts(self.tables.terms), self.capacity)
        )
        other._rows = self.model.n_bodies
        other.evaluations = 0
        other.constant = self._constant_of_bodies
        if self.solvent_tables is not None:
            other.solvent_tables = solvent_tables(self.solvent_tables.solvent, len(self.atom_table), self.capacity)
        if self.restraint_tables is not None:
            other.restraint_tables = RestraintTables._make(table.copy() for table in self.restraint_tables)
        choose(other, other.tables, np.arange(self.model.n_bodies))
        return other

    def forces(self) -> FloatArray:
        """Forces on all atoms at the last evaluation [kJ/mol/nm], shape (a, 3); those inside a body are left out."""
        p = padded(len(self.atom_table))
        complete_forces(self.tables)
        return np.ascontiguousarray(self.tables.work.force.reshape(3, p)[:, : len(self.atom_table)].T)

    def every_term(self, positions: FloatArray) -> tuple[float, FloatArray]:
        """Energy [kJ/mol] and forces on atoms (a, 3) [kJ/mol/nm] of all terms, as if every atom moved alone.

        positions: of all atoms [nm], shape (a, 3).
        """
        count = len(self.atom_table)
        positions = positions_of(positions, count)
        alone = np.arange(count, dtype=np.int64)
        single = Atoms(alone, np.zeros((count, 3)), np.arange(count + 1, dtype=np.int64), alone)
        work = make_work(count, term_counts(self.tables.terms), self.capacity)
        evaluation = Evaluation(FieldTables(single, self.tables.pairs, self.tables.terms, work))
        if self.solvent_tables is not None:
            evaluation.solvent_tables = solvent_tables(self.solvent_tables.solvent, count, self.capacity)
        choose(evaluation, evaluation.tables, alone)
        identity = np.broadcast_to([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], (count, 9))
        forces = np.zeros((count, 6))
        energy = evaluate_with_room(evaluation, np.concatenate([identity, positions], axis=1), forces)
        return energy, forces[:, 3:]

    def second_derivatives(self, state: State) -> FloatArray:
        """∂²E/∂q², symmetric, shape (nv, nv) [kJ/mol/rad², ...].

        Pair terms exactly, which is most of the work; terms of few atoms by differences of their forces. In solvent all by
        differences. Cost: O(pairs) + O(n²).
        """
        as_state(self.model, state)
        if self.solvent_tables is not None:
            return hessian(self.model, self, state)
        without = self.copy()
        nothing = self.tables.pairs._replace(settings=np.array([1e-12, 0.0, 0.0, 1e-6, np.inf, 0.0, 0.0]))
        without.tables = without.tables._replace(pairs=nothing)
        return stiffness_of_pairs(self, state) + hessian(self.model, without, state)

    def poses(self, state: State) -> FloatArray:
        """World poses of all bodies at a state, as `wrenches` takes them, shape (n, 12)."""
        return poses_of(self.model, as_state(self.model, state)[0])

    @property
    def capacity(self) -> int:
        return int(self.tables.work.entry.shape[0])

    def atom_positions(self, poses: FloatArray) -> FloatArray:
        """World positions of all atoms [nm], shape (a, 3)."""
        return atom_positions(self.tree, poses)


def term_counts(terms: Any) -> tuple[int, ...]:
    return tuple(len(table) for table in (terms.near, terms.torsion, terms.bond, terms.angle, terms.cmap))


def make_tables(atoms: AtomTable, tree: TorsionTree, system: Any, skin: float) -> FieldTables:
    pairs, terms = pairs_of(system, atoms, skin), terms_of(system)
    work = make_work(len(atoms), term_counts(terms), capacity_guess(len(atoms), pairs.settings))
    return FieldTables(atoms_on(tree), pairs, terms, work)


def atoms_on(tree: TorsionTree) -> Atoms:
    """Where atoms sit on the bodies of a tree."""
    starts = np.concatenate([[0], np.cumsum([len(found) for found in tree.still_in])]).astype(np.int64)
    still_in = np.array([body for found in tree.still_in for body in found], dtype=np.int64)
    return Atoms(tree.body, tree.local, starts, still_in)


def atom_positions(tree: TorsionTree, poses: FloatArray) -> FloatArray:
    """World positions of all atoms [nm], shape (a, 3)."""
    R = poses[tree.body, :9].reshape(-1, 3, 3)
    return np.einsum("aij,aj->ai", R, tree.local) + poses[tree.body, 9:]
