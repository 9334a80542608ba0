"""What the kernels of implicit solvent read and write, beside the tables of the field itself.

Numbers per atom lie one kind after the other, p of each, so that eight atoms of a block are one vector.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, IntArray, lazy_zeros
from linkwork.molecules.forces.tables import BLOCK, padded

ShortArray = NDArray[np.int32]  # half the memory to read, three times per evaluation; enough for 2²³ blocks

# kinds of numbers per atom, each p long
OFFSET, SCALED, CLOSE, CHARGE = range(4)  # ρ̃, s, how near the series holds [nm]; charge √(k/4πε₀ (1/ε - 1/ε_water))
RADIUS, ALPHA, BETA, GAMMA, SURFACE = range(4, 9)  # ρ [nm], of tanh, energy of the surface times B⁶ [kJ/mol nm⁶]
SCALED2, SCALED3, NECK_HALF = range(9, 12)  # s², s³; necks end where r is the sum of both of these [units of necks]
PER_ATOM = 12
# settings
SHIFT, ENGULFS, HAS_NECK = range(3)  # [nm⁻¹] one over the cutoff; 1 or 0; 1 or 0
# rows of the neck per kind of radius, each p long: seen from the atom of that kind, then from the other one
NECK_DEPTH, NECK_PLACE, NECK_DEPTH_BACK, NECK_PLACE_BACK = range(4)
# counters
KIN_COUNT, CLOSE_COUNT, INSIDE_IS_VALID, CHANGING, CURVES_ARE_VALID = range(5)
SOLVENT_COUNTERS = 5
GATHERED = 64  # close pairs at a time
AHEAD = 2  # blocks for which there is room behind the list
CURVE_POINTS = 5  # at which the energy of pairs with one changing radius is found


class Solvent(NamedTuple):
    """Generalized Born parameters of all atoms."""

    parameters: FloatArray  # (12 p,)
    settings: FloatArray  # (3,)
    kind: IntArray  # (p,)       number of each atom's radius among the different ones
    neck: FloatArray  # (4 kinds p,)  depth [nm⁻¹] and place [units of necks] with every atom, both ways; one number without
    kin: IntArray  # (e, 2)     the excluded pairs, in the order of `Pairs.excluded`: the solvent takes them in


class SolventWork(NamedTuple):
    """What evaluations write."""

    inside_sum: FloatArray  # (p,)      Σ I over the atoms that always keep their distance [nm⁻¹]
    sum: FloatArray  # (p,)      Σ I over all atoms
    born: FloatArray  # (p,)      Born radius B [nm]
    inverse: FloatArray  # (p,)      1/B
    chain: FloatArray  # (p,)      dB/dΣI [nm²]
    pull: FloatArray  # (p,)      ∂E/∂B, then ∂E/∂ΣI
    changes: IntArray  # (blocks,)  one bit per atom: its Born radius can change while the list of neighbours holds
    inside_row: IntArray  # (a + 1,)  first entry of each atom below
    inside_entry: IntArray  # (capacity,)  block · 256 + one bit per atom that keeps its distance
    inside_r2: FloatArray  # (8 capacity,)  squares of these distances [nm²]
    changing: IntArray  # (p,)       the atoms whose radius can change, ascending
    number: IntArray  # (p,)       where each of these stands among them
    numbered: FloatArray  # (4 p,)     their radii, 1/B, charges and ∂E/∂B
    both_row: IntArray  # (p + 1,)   first entry of each of them below
    both_entry: IntArray  # (capacity,)  pairs of two of them that keep their distance: eight numbers · 256 + bits
    both_r2: FloatArray  # (8 capacity,)  squares of these distances [nm²]
    middle: FloatArray  # (p,)       radius about which the curve of each atom holds [nm]
    curve: FloatArray  # (5 p,)     energy of its pairs with atoms whose radius cannot change, at five radii [kJ/mol]
    powers: FloatArray  # (p, 5)     coefficients of the polynomial through these
    near_row: IntArray  # (a, 4)     where blocks and halves of each atom with pairs within the cutoff begin and end
    near_block: ShortArray  # (listed + 2,)  block · 256 + one bit per pair within the cutoff
    near_half: ShortArray  # (listed + a + 1,)  the same, with bits of one half
    pair_inverse: (
        FloatArray  # (12 listed,)  their 1/r [nm⁻¹]; below zero: too near for the series; zero: beyond the cutoff
    )
    pair_g: FloatArray  # (12 listed,)  their forces over their distances, Born radii held [kJ/mol/nm²]
    row_found: IntArray  # (blocks,)  listed entries of one atom, with the bits of pairs within the cutoff
    kin_moves: IntArray  # (m + 1,)  1 where the distance of kin can change
    close_pair: IntArray  # (capacity, 2)  those, then the listed pairs that are too near for the series
    close_slope: FloatArray  # (capacity, 2)  (dI/dr) / r both ways [nm⁻³]
    gathered: FloatArray  # (14 · 64,)  numbers of close pairs, next to each other
    constant_energy: FloatArray  # (1,)      energy of what cannot change [kJ/mol]
    counters: IntArray  # (5,)


class SolventTables(NamedTuple):
    solvent: Solvent
    work: SolventWork


def room_for_listed(atoms: int, listed: int) -> dict[str, Any]:
    """Arrays of what passes note of the list of neighbours.

    The first pass looks one block ahead, and writes one half more than it keeps; an odd half of each atom is filled up.
    """
    blocks, halves = listed + AHEAD, listed + atoms + 1
    pairs = BLOCK * blocks + BLOCK // 2 * halves
    return {
        "near_block": np.zeros(blocks, dtype=np.int32),
        "near_half": np.zeros(halves, dtype=np.int32),
        "pair_inverse": lazy_zeros(pairs),
        "pair_g": lazy_zeros(pairs),
    }


def make_solvent_work(atoms: int, kin: int, capacity: int, listed: int) -> SolventWork:
    p = padded(atoms)
    work = SolventWork(
        inside_sum=lazy_zeros(p),
        sum=lazy_zeros(p),
        born=lazy_zeros(p),
        inverse=lazy_zeros(p),
        chain=lazy_zeros(p),
        pull=lazy_zeros(p),
        changes=np.zeros(p // BLOCK, dtype=np.int64),
        inside_row=np.zeros(atoms + 1, dtype=np.int64),
        inside_entry=np.zeros(capacity, dtype=np.int64),
        inside_r2=lazy_zeros(BLOCK * capacity),
        changing=np.zeros(p, dtype=np.int64),
        number=np.zeros(p, dtype=np.int64),
        numbered=lazy_zeros(4 * p),
        both_row=np.zeros(p + 1, dtype=np.int64),
        both_entry=np.zeros(capacity, dtype=np.int64),
        both_r2=lazy_zeros(BLOCK * capacity),
        middle=lazy_zeros(p),
        curve=lazy_zeros(CURVE_POINTS * p),
        powers=np.zeros((p, CURVE_POINTS)),
        near_row=np.zeros((atoms, 4), dtype=np.int64),
        **room_for_listed(atoms, listed),
        row_found=np.zeros(p // BLOCK, dtype=np.int64),
        kin_moves=np.zeros(kin + 1, dtype=np.int64),
        close_pair=np.zeros((kin + capacity, 2), dtype=np.int64),
        close_slope=np.zeros((kin + capacity, 2)),
        gathered=lazy_zeros(14 * GATHERED),
        constant_energy=np.zeros(1),
        counters=np.zeros(SOLVENT_COUNTERS, dtype=np.int64),
    )
    for radii in (work.born, work.inverse, work.middle):
        radii[:] = 1.0
    return work
