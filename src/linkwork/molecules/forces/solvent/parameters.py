"""OpenMM's implicit solvent → plain arrays: the native OBC force, and Amber's OBC2 and GBn2 as custom forces."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, lazy_zeros
from linkwork.errors import ModelError
from linkwork.molecules import extras
from linkwork.molecules.forces.bonded_forces import COULOMB
from linkwork.molecules.forces.parameters import SOLVENT_FORCES
from linkwork.molecules.forces.solvent.integrals import NECK_UNIT, SERIES_HOLDS
from linkwork.molecules.forces.solvent.tables import (
    ALPHA,
    BETA,
    CHARGE,
    CLOSE,
    GAMMA,
    NECK_HALF,
    OFFSET,
    PER_ATOM,
    RADIUS,
    SCALED,
    SCALED2,
    SCALED3,
    SURFACE,
    Solvent,
)
from linkwork.molecules.forces.tables import CUTOFF2, HALF_SKIN2, Pairs, padded

COULOMB_OF_CUSTOM = 138.935485  # [kJ/mol nm / e²] as OpenMM writes it in its custom forces
SURFACE_OF_CUSTOM = 28.3919551  # [kJ/mol/nm²] 4π times the surface tension there
NATIVE_OFFSET, GBN2_OFFSET = 0.009, 0.0195141  # [nm] by which radii are made smaller
PROBE = 0.14  # [nm] radius of a water molecule
OBC2 = (1.0, 0.8, 4.85)  # α, β, γ
NECK_SCALE, NECK_CUT = 0.826836, 0.68  # [nm] of GBn2


class GeneralizedBorn:
    """Numbers of all atoms, collected from one of OpenMM's forces."""

    def __init__(self, count: int, offset: float, strength: float):
        self.offset = offset  # [nm] ρ - ρ̃
        self.strength = strength  # [kJ/mol nm / e²]
        self.charge, self.small, self.scaled = np.zeros(count), np.ones(count), np.zeros(count)
        self.of_tanh = np.tile(OBC2, (count, 1))
        self.surface = 0.0  # [kJ/mol/nm²] 4π times the surface tension
        self.engulfs = False
        self.kind = np.zeros(count, dtype=np.int64)
        self.depth = self.place = np.zeros((0, 0))


def solvent_of(system: Any, pairs: Pairs) -> Solvent | None:
    """The implicit solvent of a System, or None; what the kernel does not have is refused by name."""
    found = [force for force in system.getForces() if type(force).__name__ in SOLVENT_FORCES]
    if not found:
        return None
    if len(found) > 1:
        raise ModelError(f"the System has {len(found)} forces of implicit solvent; a field takes one.")
    force = found[0]
    values = _native(force) if type(force).__name__ == "GBSAOBCForce" else _custom(force)
    _check_cutoff(force, pairs)
    return _tables(values, pairs)


def _native(force: Any) -> GeneralizedBorn:
    count = force.getNumParticles()
    strength = COULOMB * (1.0 / force.getSoluteDielectric() - 1.0 / force.getSolventDielectric())
    values = GeneralizedBorn(count, NATIVE_OFFSET, strength)
    for i in range(count):
        charge, radius, scale = (x._value if hasattr(x, "_value") else x for x in force.getParticleParameters(i))
        values.charge[i], values.small[i] = charge, radius - NATIVE_OFFSET
        values.scaled[i] = scale * (radius - NATIVE_OFFSET)
    values.surface = 4.0 * math.pi * force.getSurfaceAreaEnergy()._value
    values.engulfs = True
    return values


def _custom(force: Any) -> GeneralizedBorn:
    """OBC2 or GBn2 as `openmm.app` writes them; recognized by their formulas, which are compared with OpenMM's own."""
    forces = extras.need("openmm.app.internal.customgbforces", "implicit solvent")
    formulas = _formulas(force)
    plain, necks = forces.GBSAOBC2Force(), forces.GBSAGBn2Force()
    necks.addParticle([0.0, 0.15, 0.8, 1.0, 0.8, 4.85])
    necks.finalize()
    if formulas not in (_formulas(plain), _formulas(necks)):
        raise ModelError(
            "engine='numba' knows GBSAOBCForce and the forms of OBC2 and GBn2 that openmm.app writes; this CustomGBForce "
            "is neither. Use engine='openmm'."
        )
    is_obc = formulas == _formulas(plain)
    energies = [force.getEnergyTermParameters(k)[0] for k in range(force.getNumEnergyTerms())]
    water, inner, kappa = (_number(energies[0], word) for word in ("solventDielectric", "soluteDielectric", "kappa"))
    if kappa != 0.0:
        raise ModelError("engine='numba' has no salt in its solvent (kappa must be zero). Use engine='openmm'.")
    count = force.getNumParticles()
    offset = NATIVE_OFFSET if is_obc else GBN2_OFFSET
    values = GeneralizedBorn(count, offset, COULOMB_OF_CUSTOM * (1.0 / inner - 1.0 / water))
    for i in range(count):
        numbers = force.getParticleParameters(i)
        values.charge[i], values.small[i], values.scaled[i] = numbers[:3]
        if not is_obc:
            values.of_tanh[i] = numbers[3:6]
            values.kind[i] = int(numbers[6])
    values.surface = SURFACE_OF_CUSTOM if any("28.3919551" in text for text in energies) else 0.0
    if not is_obc:
        tables = {force.getTabulatedFunctionName(k): force.getTabulatedFunction(k) for k in range(2)}
        # a table lists its first index fastest
        values.place, values.depth = (_square(tables[name].getFunctionParameters()) for name in ("getd0", "getm0"))
    return values


def _square(parameters: Any) -> FloatArray:
    rows, columns, numbers = parameters
    return np.asarray(numbers, dtype=float).reshape(columns, rows).T


def _formulas(force: Any) -> list[str]:
    return [force.getComputedValueParameters(k)[1].replace(" ", "") for k in range(force.getNumComputedValues())]


def _number(text: str, word: str) -> float:
    found = re.search(rf"{word}=([-+.\deE]+)", text)
    if found is None:
        raise ModelError(f"this CustomGBForce does not say its {word}. Use engine='openmm'.")
    return float(found.group(1))


def _check_cutoff(force: Any, pairs: Pairs) -> None:
    if force.getNonbondedMethod() not in (type(force).NoCutoff, type(force).CutoffNonPeriodic):
        raise ModelError(
            "engine='numba' computes molecules in open space; this solvent is periodic. Use engine='openmm'."
        )
    own = force.getCutoffDistance()._value if force.getNonbondedMethod() == type(force).CutoffNonPeriodic else math.inf
    of_pairs = math.sqrt(pairs.settings[CUTOFF2]) if pairs.settings[HALF_SKIN2] < math.inf else math.inf
    if own != of_pairs and not abs(own - of_pairs) <= 1e-12 * own:
        raise ModelError(
            f"the solvent has the cutoff {own:g} nm and the pairs {of_pairs:g} nm; engine='numba' needs one for both. Use "
            "engine='openmm'."
        )


def _tables(values: GeneralizedBorn, pairs: Pairs) -> Solvent:
    count = len(values.charge)
    p = padded(count)
    table = np.zeros((PER_ATOM, p))
    table[OFFSET], table[RADIUS] = 0.1, 0.1  # of atoms that fill up: no radius is zero
    small, scaled = values.small, values.scaled
    if not (np.isfinite([*small, *scaled, *values.charge]).all() and (small > 0.0).all()):
        raise ModelError("a Born radius is not positive, or a number of the solvent is not finite.")
    table[OFFSET, :count], table[SCALED, :count] = small, scaled
    table[SCALED2], table[SCALED3] = table[SCALED] ** 2, table[SCALED] ** 3
    table[CLOSE, :count] = _nearest(small, np.abs(scaled))
    table[CHARGE, :count] = math.sqrt(values.strength) * values.charge
    radius = small + values.offset
    table[RADIUS, :count] = radius
    table[NECK_HALF, :count] = NECK_UNIT * (radius + 0.5 * NECK_CUT)
    table[[ALPHA, BETA, GAMMA], :count] = values.of_tanh.T
    table[SURFACE, :count] = values.surface * (radius + PROBE) ** 2 * radius**6
    starts = pairs.excluded_start
    first = np.repeat(np.arange(count), np.diff(starts))
    cutoff2 = pairs.settings[CUTOFF2]
    has_neck = values.depth.size > 0
    shift = 1.0 / math.sqrt(cutoff2) if pairs.settings[HALF_SKIN2] < math.inf else 0.0
    settings = np.array([shift, float(values.engulfs), float(has_neck)])
    kind = np.zeros(p, dtype=np.int64)
    kind[:count] = values.kind
    neck: FloatArray = np.zeros(1)
    if has_neck:
        depth, place = (
            2.0 * NECK_SCALE * values.depth,
            NECK_UNIT * values.place,
        )  # (1) has a factor of two over OpenMM's form
        rows = np.zeros((len(depth), 4, p))
        for a in range(len(depth)):
            for row, of in enumerate((depth[a], place[a], depth[:, a], place[:, a])):
                rows[a, row, :count] = of[values.kind]
        neck = rows
    kin = np.ascontiguousarray(np.stack([first, pairs.excluded], axis=1).astype(np.int64))
    return Solvent(_aligned_copy(table), settings, kind, _aligned_copy(neck), kin)


def _aligned_copy(values: FloatArray) -> FloatArray:
    copy = lazy_zeros(values.size)
    copy[:] = values.ravel()
    return copy


def _nearest(small: FloatArray, scaled: FloatArray) -> FloatArray:
    """M of each atom, so that the series holds for all pairs with r ≥ M_i + M_j: spheres apart, and z in its limits."""
    alone = np.maximum(small, scaled)
    return np.maximum(alone, (scaled / math.sqrt(SERIES_HOLDS) - alone).max(initial=0.0))
