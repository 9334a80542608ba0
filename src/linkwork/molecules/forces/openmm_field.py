"""OpenMM as the engine of a field: every force it has, implicit solvent included."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, shown
from linkwork.core.messages.describe import described
from linkwork.errors import ModelError, StateError
from linkwork.molecules import extras
from linkwork.molecules.checks import poses_for_kernel, wrenches_for_kernel
from linkwork.molecules.forces.field import FieldQuestions, atom_positions, poses_of
from linkwork.molecules.forces.kernel import wrenches_of_forces
from linkwork.molecules.forces.parameters import reach_of
from linkwork.molecules.structure.atoms import AtomTable
from linkwork.molecules.torsions.tree import TorsionTree

MOST_THREADS = 1024  # OpenMM ends the program where the system cannot make as many
FURTHEST = 1e9  # [nm] from the origin
WATER = 78.5  # relative permittivity, as in OpenMM's own implicit solvent files
SOLVENTS = ("obc2", "gbn2")
BONDED = {  # terms that rigid groups make constant: class → (how to count, read and add, atoms of a term)
    "HarmonicBondForce": ("Bond", 2),
    "HarmonicAngleForce": ("Angle", 3),
    "PeriodicTorsionForce": ("Torsion", 4),
}


@described
class OpenMMField(FieldQuestions):
    """Forces of an OpenMM System, gathered into wrenches.

    Bonds, angles and torsions that cannot change are left out of the evaluation; their energy is counted once, so that
    `energy` is that of the whole System (to the precision of the platform: single on "CPU", double on "Reference").
    """

    def __init__(
        self,
        atoms: AtomTable,
        tree: TorsionTree,
        system: Any,
        platform: str = "CPU",
        threads: int | None = None,
    ):
        mm = extras.openmm("engine='openmm'")
        if threads is not None and integer(threads, 1, "threads") > MOST_THREADS:
            raise StateError(f"threads is {shown(threads)}; it must be at most {MOST_THREADS}.")
        self.atom_table, self.tree, self.model = atoms, tree, tree.model
        try:
            if not isinstance(platform, str):
                raise TypeError
            engine = mm.Platform.getPlatformByName(platform)
        except Exception:
            known = [mm.Platform.getPlatform(k).getName() for k in range(mm.Platform.getNumPlatforms())]
            raise StateError(f"OpenMM has no platform {shown(platform)} here; it has {', '.join(known)}.") from None
        settings = {"Threads": str(threads)} if threads is not None and platform == "CPU" else {}
        moving, frozen = split_system(mm, system, tree)
        self.platform = platform
        self.cutoff, self.switch = reach_of(system)
        self.context = mm.Context(moving, mm.VerletIntegrator(1e-3), engine, settings)
        self.evaluations = 0
        self.constant = _energy(mm, frozen, atom_positions(tree, poses_of(self.model, self.model.neutral().q)))
        self._forces = np.zeros((len(atoms), 3))

    def wrenches(self, poses: FloatArray, out: FloatArray) -> float:
        n = self.model.n_bodies
        poses_for_kernel(poses, n, n)
        wrenches_for_kernel(out, n)
        self.evaluations += 1
        positions = atom_positions(self.tree, poses)
        if not np.isfinite(positions).all():
            raise StateError("a body's pose is not finite; the state before this one was the last good one.")
        self._set_positions(positions)
        state = self.context.getState(getForces=True, getEnergy=True)
        self._forces = np.ascontiguousarray(state.getForces(asNumpy=True)._value)
        wrenches_of_forces(self.tree.body, self.tree.local, self._forces, poses, out)
        return float(state.getPotentialEnergy()._value) + self.constant

    def _set_positions(self, positions: FloatArray) -> None:
        """OpenMM counts in single precision on most platforms: what is too large there is not a number."""
        if np.abs(positions).max() > FURTHEST:
            raise StateError(f"an atom is further than {FURTHEST:g} nm from the origin; OpenMM cannot place it.")
        self.context.setPositions(positions)

    def forces(self) -> FloatArray:
        """Forces on all atoms at the last evaluation [kJ/mol/nm], shape (a, 3)."""
        return self._forces.copy()


def split_system(mm: Any, system: Any, tree: TorsionTree) -> tuple[Any, Any]:
    """Two Systems: what can change, and the bonded terms inside rigid groups."""
    moving, frozen = mm.System(), mm.System()
    for i in range(system.getNumParticles()):
        for half in (moving, frozen):
            half.addParticle(system.getParticleMass(i))
    for force in system.getForces():
        kind = type(force).__name__
        if kind == "CMMotionRemover":
            continue
        if kind not in BONDED:
            moving.addForce(mm.XmlSerializer.clone(force))
            continue
        word, size = BONDED[kind]
        halves = type(force)(), type(force)()
        for k in range(getattr(force, f"getNum{word}s")()):
            parameters = getattr(force, f"get{word}Parameters")(k)
            carried = set.intersection(*(set(tree.still_in[i]) for i in parameters[:size]))
            getattr(halves[bool(carried)], f"add{word}")(*parameters)
        moving.addForce(halves[0])
        frozen.addForce(halves[1])
    return moving, frozen


def _energy(mm: Any, system: Any, positions: FloatArray) -> float:
    context = mm.Context(system, mm.VerletIntegrator(1e-3), mm.Platform.getPlatformByName("Reference"))
    context.setPositions(positions)
    return float(context.getState(getEnergy=True).getPotentialEnergy()._value)


def add_implicit_solvent(system: Any, topology: Any, solvent: str, cutoff: float | None) -> None:
    """Adds OpenMM's native GBSA-OBC force (Onufriev, Bashford and Case 2004, model II), or GBn2 (Nguyen, Roe and
    Simmerling 2013) as Amber has it, both with the energy of the surface, to a System."""
    if not isinstance(solvent, str) or solvent not in SOLVENTS:
        raise ModelError(f"there is no solvent {shown(solvent)}; choose {', '.join(map(repr, SOLVENTS))} or None.")
    mm = extras.openmm("implicit solvent")
    forces = extras.need("openmm.app.internal.customgbforces", "implicit solvent")
    nonbonded = next(force for force in system.getForces() if type(force).__name__ == "NonbondedForce")
    nonbonded.setReactionFieldDielectric(1.0)  # the solvent does the screening
    kind = forces.GBSAOBC2Force if solvent == "obc2" else forces.GBSAGBn2Force
    parameters = kind.getStandardParameters(topology)
    charges = [nonbonded.getParticleParameters(i)[0] for i in range(system.getNumParticles())]
    if solvent == "obc2":
        force = mm.GBSAOBCForce()
        force.setSolventDielectric(WATER)
        for charge, (radius, scale) in zip(charges, parameters, strict=True):
            force.addParticle(charge, float(radius), float(scale))
    else:
        force = kind(solventDielectric=WATER, soluteDielectric=1.0, SA="ACE", cutoff=cutoff)
        for charge, numbers in zip(charges, parameters, strict=True):
            force.addParticle([charge._value, *(float(x) for x in numbers)])
        force.finalize()
    if cutoff is None:
        force.setNonbondedMethod(type(force).NoCutoff)
    else:
        force.setNonbondedMethod(type(force).CutoffNonPeriodic)
        force.setCutoffDistance(cutoff)
    system.addForce(force)
