"""OpenMM's System → plain arrays of the terms that the compiled kernel has; all else is refused by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray, lazy_zeros
from linkwork.errors import ModelError
from linkwork.molecules.forces.bonded_forces import COULOMB
from linkwork.molecules.forces.maps import maps_of
from linkwork.molecules.forces.tables import BLOCK, Pairs, Terms, padded
from linkwork.molecules.structure.atoms import AtomTable

NO_CUTOFF2 = 1e29  # [nm²] below the square of the distance that masked lanes are moved to (pair_forces.BEYOND2)
NO_REACH = 1e12  # [nm]
LEAST_LENGTH, MOST_LENGTH = 1e-6, 1e6  # [nm] of a cutoff: far from where its powers leave the numbers there are
SOLVENT_FORCES = ("GBSAOBCForce", "CustomGBForce")  # read by solvent/parameters.py
WITHOUT_FORCE = ("CMMotionRemover",)  # parts of a System that exert none


def terms_of(system: Any) -> Terms:
    """1-4 pairs, torsions, bonds, angles and maps of torsions of a System."""
    cmap: list[tuple[int, ...]] = []
    cmap_map: list[int] = []
    grid = np.zeros((0, 1, 1, 16))
    tables: dict[str, list[tuple[Any, ...]]] = {"near": [], "torsion": [], "bond": [], "angle": []}
    for force in system.getForces():
        kind = type(force).__name__
        if kind == "NonbondedForce":
            for k in range(force.getNumExceptions()):
                i, j, charge, sigma, epsilon = force.getExceptionParameters(k)
                if charge._value != 0.0 or epsilon._value != 0.0:
                    tables["near"].append((i, j, charge._value, sigma._value, epsilon._value))
        elif kind == "PeriodicTorsionForce":
            for k in range(force.getNumTorsions()):
                *who, n, phase, strength = force.getTorsionParameters(k)
                tables["torsion"].append((*who, n, phase._value, strength._value))
        elif kind == "HarmonicBondForce":
            for k in range(force.getNumBonds()):
                *who, length, strength = force.getBondParameters(k)
                tables["bond"].append((*who, length._value, strength._value))
        elif kind == "HarmonicAngleForce":
            for k in range(force.getNumAngles()):
                *who, angle, strength = force.getAngleParameters(k)
                tables["angle"].append((*who, angle._value, strength._value))
        elif kind == "CMAPTorsionForce" and not cmap:
            cmap, cmap_map, grid = maps_of(force)
        elif kind not in (*WITHOUT_FORCE, *SOLVENT_FORCES):
            raise ModelError(
                f"engine='numba' has no {kind}; it knows NonbondedForce, PeriodicTorsionForce, HarmonicBondForce, "
                "HarmonicAngleForce, CMAPTorsionForce and implicit solvent. Use engine='openmm' for this force field."
            )
    near, near_p = _split(tables["near"], 2, 3)
    torsion, torsion_p = _split(tables["torsion"], 4, 3)
    bond, bond_p = _split(tables["bond"], 2, 2)
    angle, angle_p = _split(tables["angle"], 3, 2)
    maps = np.array(cmap, dtype=np.int64).reshape(-1, 8), np.array(cmap_map, dtype=np.int64)
    size = np.array([grid.shape[1]], dtype=np.int64)
    return Terms(near, near_p, torsion, torsion_p, bond, bond_p, angle, angle_p, *maps, size, grid.reshape(-1, 16))


def _split(rows: list[tuple[Any, ...]], atoms: int, numbers: int) -> tuple[IntArray, FloatArray]:
    table = np.array(rows, dtype=float).reshape(-1, atoms + numbers)
    return np.ascontiguousarray(table[:, :atoms].astype(np.int64)), np.ascontiguousarray(table[:, atoms:])


def nonbonded_force(system: Any) -> Any:
    found = [force for force in system.getForces() if type(force).__name__ == "NonbondedForce"]
    if len(found) != 1:
        raise ModelError(f"the System has {len(found)} NonbondedForces; a field needs exactly one.")
    return found[0]


def reach_of(system: Any) -> tuple[float | None, float | None]:
    """The cutoff of a System's pairs [nm], and where Lennard-Jones terms begin to fade; None where there is none."""
    for force in system.getForces():
        if type(force).__name__ == "NonbondedForce" and force.getNonbondedMethod() != type(force).NoCutoff:
            fades = force.getUseSwitchingFunction()
            return force.getCutoffDistance()._value, force.getSwitchingDistance()._value if fades else None
    return None, None


def pairs_of(system: Any, atoms: AtomTable, skin: float) -> Pairs:
    """Lennard-Jones and Coulomb parameters, exclusions and cutoff of a System's NonbondedForce."""
    force = nonbonded_force(system)
    count = system.getNumParticles()
    p = padded(count)
    parameters = lazy_zeros(3 * p)
    for i in range(count):
        charge, sigma, epsilon = (x._value for x in force.getParticleParameters(i))
        if not (math.isfinite(charge) and math.isfinite(sigma) and math.isfinite(epsilon) and epsilon >= 0.0):
            raise ModelError(
                f"{atoms.describe(i)} has charge {charge}, sigma {sigma} and epsilon {epsilon}; they must be finite."
            )
        parameters[i] = 0.5 * sigma
        parameters[p + i] = 2.0 * math.sqrt(epsilon)
        parameters[2 * p + i] = math.sqrt(COULOMB) * charge
    partners: list[set[int]] = [set() for _ in range(count)]
    for k in range(force.getNumExceptions()):
        i, j, *_ = force.getExceptionParameters(k)
        partners[min(i, j)].add(max(i, j))
    starts = np.concatenate([[0], np.cumsum([len(found) for found in partners])]).astype(np.int64)
    excluded = np.array([j for found in partners for j in sorted(found)], dtype=np.int64)
    return Pairs(parameters, _pair_settings(force, skin), starts, excluded)


def _pair_settings(force: Any, skin: float) -> FloatArray:
    method = force.getNonbondedMethod()
    if method == type(force).NoCutoff:
        return np.array([NO_CUTOFF2, 0.0, 0.0, NO_REACH, math.inf, 0.0, 0.0])
    if method != type(force).CutoffNonPeriodic:
        raise ModelError(
            "engine='numba' computes molecules in open space, with a cutoff and a reaction field or without; this System "
            "is periodic. Use engine='openmm', or build the System with nonbondedMethod=CutoffNonPeriodic."
        )
    cutoff = force.getCutoffDistance()._value
    if not LEAST_LENGTH <= cutoff <= MOST_LENGTH:
        raise ModelError(
            f"cutoff is {cutoff:g} nm; it must lie between {LEAST_LENGTH:g} and {MOST_LENGTH:g} nm (1 nm is usual, none "
            "at all is allowed too)."
        )
    if not skin <= MOST_LENGTH:
        raise ModelError(f"skin is {skin:g} nm; it must not be above {MOST_LENGTH:g} nm (0.1 nm is usual).")
    switch, slope = 0.0, 0.0
    if force.getUseSwitchingFunction():
        switch = force.getSwitchingDistance()._value
        slope = 1.0 / (cutoff - switch)
    dielectric = force.getReactionFieldDielectric()
    k = (dielectric - 1.0) / (2.0 * dielectric + 1.0) / cutoff**3
    c = 3.0 * dielectric / (2.0 * dielectric + 1.0) / cutoff
    return np.array([cutoff**2, k, c, cutoff + skin, (0.5 * skin) ** 2, switch, slope])


def capacity_guess(count: int, settings: FloatArray) -> int:
    """Room for a list of neighbours, to begin with: evaluations ask for more where it is too little."""
    reach = settings[3]
    within = min(count, 100.0 * 4.2 * min(reach, 1e3) ** 3)  # some 100 atoms per nm³
    return int(count * (0.5 * within * 2.5 / BLOCK + 8)) + 64
