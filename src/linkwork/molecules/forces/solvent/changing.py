"""Energy of pairs inside rigid groups: they keep their distance, but the Born radii of some of their atoms change.

Between two lists of neighbours a radius can change only where an atom has listed neighbours, or kin whose distance can
change. Three kinds of pairs follow:

- neither radius changes: their energy is kept;
- both change: they are evaluated at every call, in a numbering of the changing atoms alone, eight at a time;
- only that of atom i changes: the energy of all these pairs is one function of B_i. It is found at five Chebyshev points
  within ±5 % of the radius at hand, and the polynomial through them stands for it (1e-9 of it) while B_i stays in there;
  where it leaves, all curves are made anew.
"""

import numpy as np

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.pairs.pair_forces import BEYOND2
from linkwork.molecules.forces.solvent.born import radius_of
from linkwork.molecules.forces.solvent.screening import QUARTER, screened
from linkwork.molecules.forces.solvent.tables import (
    CHANGING,
    CHARGE,
    CURVE_POINTS,
    CURVES_ARE_VALID,
    KIN_COUNT,
    SHIFT,
)
from linkwork.molecules.forces.tables import AT_WORK, BLOCK, FIELD_INSIDE_FULL, FIELD_OK
from linkwork.spatial.simd import splat, vload, vstore, vsum

WIDTH = 0.05  # part of a radius up to which its curve holds, either way
POINTS = np.cos((2.0 * np.arange(CURVE_POINTS) + 1.0) * np.pi / (2.0 * CURVE_POINTS))
POWERS = np.ascontiguousarray(np.linalg.inv(np.vander(POINTS, increasing=True)))  # values at the points → coefficients
NUMBERED_BORN, NUMBERED_INVERSE, NUMBERED_CHARGE, NUMBERED_PULL = range(4)  # rows of `numbered`, each p long


# ------------------------------------------------------------------------------------------------- after a new list


@routine
def find_changing(tables, own_tables):
    """Which radii can change, the pairs of two such atoms, and the energy of what cannot. FIELD_INSIDE_FULL: no room."""
    atoms, _, _, work = tables
    solvent, own = own_tables
    n, p = atoms.body.shape[0], work.cluster.shape[0]
    kin_at_work(work, own)
    mark_changing(n, work, own)
    own.counters[CURVES_ARE_VALID] = 0
    constant_energy = 0.0
    for i in range(n):
        if not radius_changes(own, i):
            own.sum[i] = own.inside_sum[i]
            constant_energy += radius_of(solvent, own, p, i)
    for i in range(n):
        changes = radius_changes(own, i)
        for k in range(own.inside_row[i], own.inside_row[i + 1]):
            bits = own.inside_entry[k] & 255
            fixed = 0 if changes else bits & ~own.changes[own.inside_entry[k] >> 8]
            if fixed != 0:
                constant_energy -= vsum(screened_inside(work, solvent, own, i, k, fixed, 1.0))
    own.constant_energy[0] = constant_energy
    return number_changing(n, work, solvent, own)


@inlined
def radius_changes(own, i):
    return (own.changes[i // BLOCK] >> (i % BLOCK)) & 1 == 1


@routine
def mark_changing(n, work, own):
    """One bit per atom, by blocks: 1 where the list of neighbours or moving kin can change its Born radius."""
    own.changes[:] = 0
    for i in range(n):
        if work.row[i] != work.row[i + 1]:
            own.changes[i // BLOCK] |= 1 << (i % BLOCK)
        for k in range(work.row[i], work.row[i + 1]):
            own.changes[work.entry[k] >> 8] |= work.entry[k] & 255
    for c in range(own.counters[KIN_COUNT]):
        for side in range(2):
            i = own.close_pair[c, side]
            own.changes[i // BLOCK] |= 1 << (i % BLOCK)


@routine
def kin_at_work(work, own):
    """Adds the blocks of moving kin to those at work."""
    for c in range(own.counters[KIN_COUNT]):
        for side in range(2):
            work.block_works[own.close_pair[c, side] // BLOCK] = 1
    count = 0
    for b in range(work.block_works.shape[0]):
        if work.block_works[b] == 1:
            work.at_work[count] = b
            count += 1
    work.counters[AT_WORK] = count


@routine
def number_changing(n, work, solvent, own):
    """Numbers the changing atoms in ascending order, and lists their pairs with each other inside rigid groups."""
    p = work.cluster.shape[0]
    count = 0
    for i in range(n):
        if radius_changes(own, i):
            own.changing[count] = i
            own.number[i] = count
            own.numbered[NUMBERED_CHARGE * p + count] = solvent.parameters[CHARGE * p + i]
            count += 1
    own.counters[CHANGING] = count
    for c in range(count, (count + BLOCK - 1) // BLOCK * BLOCK):
        own.numbered[NUMBERED_BORN * p + c] = 1.0
        own.numbered[NUMBERED_INVERSE * p + c] = 1.0
        own.numbered[NUMBERED_CHARGE * p + c] = 0.0
    listed = 0
    for c in range(count):
        own.both_row[c] = listed
        i = own.changing[c]
        block = -1
        for k in range(own.inside_row[i], own.inside_row[i + 1]):
            first = (own.inside_entry[k] >> 8) * BLOCK
            both = own.inside_entry[k] & own.changes[first // BLOCK] & 255
            for m in range(BLOCK):
                if (both >> m) & 1 == 0:
                    continue
                other = own.number[first + m]
                if other // BLOCK != block:
                    if listed == own.both_entry.shape[0]:
                        return FIELD_INSIDE_FULL
                    block = other // BLOCK
                    own.both_entry[listed] = block * 256
                    vstore(own.both_r2, listed * BLOCK, splat(BEYOND2))
                    listed += 1
                own.both_entry[listed - 1] |= 1 << (other % BLOCK)
                own.both_r2[(listed - 1) * BLOCK + other % BLOCK] = own.inside_r2[k * BLOCK + m]
    own.both_row[count] = listed
    return FIELD_OK


# --------------------------------------------------------------------------------------------------- one radius changes


@inlined
def screened_inside(work, solvent, own, i, entry, bits, scale):
    """-E of the pairs of atom i in one entry, those of `bits`, where one radius of each is `scale` times as long."""
    p = work.cluster.shape[0]
    j = (own.inside_entry[entry] >> 8) * BLOCK
    kqq = solvent.parameters[CHARGE * p + i] * (
        vload(solvent.parameters, CHARGE * p + j) * vload(work.lanes, bits * BLOCK)
    )
    quarter = (QUARTER * own.inverse[i] / scale) * vload(own.inverse, j)
    over_f, _, _ = screened(
        vload(own.inside_r2, entry * BLOCK), (scale * own.born[i]) * vload(own.born, j), quarter, kqq
    )
    return over_f - solvent.settings[SHIFT] * kqq


@routine
def refresh_curves(work, solvent, own):
    """Makes the curves of all changing atoms anew, unless every radius is where its curve holds."""
    valid = own.counters[CURVES_ARE_VALID] == 1
    for c in range(own.counters[CHANGING]):
        valid = valid and abs(place_on_curve(own, own.changing[c])) <= 1.0
    if valid:
        return
    p = work.cluster.shape[0]
    own.curve[:] = 0.0
    for c in range(own.counters[CHANGING]):
        own.middle[own.changing[c]] = own.born[own.changing[c]]
    for i in range(work.row.shape[0] - 1):
        changes = radius_changes(own, i)
        for k in range(own.inside_row[i], own.inside_row[i + 1]):
            there = own.changes[own.inside_entry[k] >> 8]
            bits = own.inside_entry[k] & 255 & (~there if changes else there)
            if bits == 0:
                continue
            j = (own.inside_entry[k] >> 8) * BLOCK
            for m in range(CURVE_POINTS):
                value = screened_inside(work, solvent, own, i, k, bits, 1.0 + WIDTH * POINTS[m])
                if changes:
                    own.curve[m * p + i] -= vsum(value)
                else:
                    vstore(own.curve, m * p + j, vload(own.curve, m * p + j) - value)
    for c in range(own.counters[CHANGING]):
        values_to_powers(own, p, own.changing[c])
    own.counters[CURVES_ARE_VALID] = 1


@inlined
def place_on_curve(own, i):
    """-1 to 1 where the curve of atom i holds."""
    return (own.born[i] / own.middle[i] - 1.0) / WIDTH


@routine
def values_to_powers(own, p, i):
    for a in range(CURVE_POINTS):
        own.powers[i, a] = 0.0
        for m in range(CURVE_POINTS):
            own.powers[i, a] += POWERS[a, m] * own.curve[m * p + i]


# ---------------------------------------------------------------------------------------------------------- every call


@routine
def screening_of_changing(work, solvent, own):
    """All pairs inside rigid groups of which a Born radius can change: adds ∂E/∂B to `own.pull`, returns their energy."""
    energy = screening_of_both(work, solvent, own)
    for c in range(own.counters[CHANGING]):
        i = own.changing[c]
        t = place_on_curve(own, i)
        value = slope = 0.0
        for a in range(CURVE_POINTS - 1, -1, -1):
            slope = slope * t + value
            value = value * t + own.powers[i, a]
        energy += value
        own.pull[i] += slope / (WIDTH * own.middle[i])
    return energy


@routine
def screening_of_both(work, solvent, own):
    """Pairs of which both radii can change."""
    p = work.cluster.shape[0]
    numbered, count, shift = own.numbered, own.counters[CHANGING], solvent.settings[SHIFT]
    for c in range(count):
        numbered[NUMBERED_BORN * p + c] = own.born[own.changing[c]]
        numbered[NUMBERED_INVERSE * p + c] = own.inverse[own.changing[c]]
        numbered[NUMBERED_PULL * p + c] = 0.0
    energy = zero = splat(0.0)
    for c in range(count):
        B, quarter = numbered[NUMBERED_BORN * p + c], QUARTER * numbered[NUMBERED_INVERSE * p + c]
        charge = numbered[NUMBERED_CHARGE * p + c]
        pull = zero
        for k in range(own.both_row[c], own.both_row[c + 1]):
            j = (own.both_entry[k] >> 8) * BLOCK
            constant_energy = vload(work.lanes, (own.both_entry[k] & 255) * BLOCK)
            kqq = charge * (vload(numbered, NUMBERED_CHARGE * p + j) * constant_energy)
            B_j = vload(numbered, NUMBERED_BORN * p + j)
            of_j = quarter * vload(numbered, NUMBERED_INVERSE * p + j)
            over_f, _, of_radii = screened(vload(own.both_r2, k * BLOCK), B * B_j, of_j, kqq)
            vstore(numbered, NUMBERED_PULL * p + j, vload(numbered, NUMBERED_PULL * p + j) + (0.5 * B) * of_radii)
            pull = pull + of_radii * B_j
            energy = energy - (over_f - shift * kqq)
        numbered[NUMBERED_PULL * p + c] += 0.5 * vsum(pull)
    for c in range(count):
        own.pull[own.changing[c]] += numbered[NUMBERED_PULL * p + c]
    return vsum(energy)
