"""Energy of charges that the solvent screens (Still et al. 1990), beside Lennard-Jones and Coulomb of the same pairs.

    E = -k q_i q_j (1/f - shift),   f² = r² + B_i B_j e,   e = exp(-D),   D = r² / 4 B_i B_j
    (dE/dr) / r = k q_i q_j / f³ (1 - e/4),   ∂E/∂B_i = ½ k q_i q_j / f³ e (1 + D) B_j

Pairs inside a rigid group keep r, and their forces move nothing; what they do to radii counts.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.pairs.pair_forces import eight_pairs, law_of
from linkwork.molecules.forces.solvent.descreening import distance2, push_apart
from linkwork.molecules.forces.solvent.near import (
    BLOCKS_BEGIN,
    BLOCKS_END,
    HALVES_BEGIN,
    HALVES_END,
    nothing_near,
    slot_of_block,
    slot_of_halves,
    two_halves,
    whole_block,
)
from linkwork.molecules.forces.solvent.tables import CHARGE, KIN_COUNT, SHIFT
from linkwork.molecules.forces.tables import AT_WORK, BLOCK, CUTOFF2, SWITCH_SLOPE
from linkwork.spatial.simd import splat, vload, vstore, vsum
from linkwork.spatial.simd_math import vabs, vexp2, vrsqrt, vselect_less
from linkwork.spatial.simd_places import vload_at, vstore_at

MOST_D = 800.0  # exp(-D ln 2) is zero to every digit, and still a normal number
LN2 = math.log(2.0)
QUARTER = 0.25 / LN2  # so that exp(-D) is a power of two


@inlined
def screened(r2, bb, quarter, qq):
    """Of eight pairs: k qq / f, (dE/dr) / r, and 2 ∂E/∂(B_i B_j). quarter: `QUARTER` / B_i B_j."""
    D = r2 * quarter  # over ln 2
    D = vselect_less(D, MOST_D, D, MOST_D)
    e = vexp2(0.0 - D)
    inverse = vrsqrt(r2 + bb * e)
    over_f = qq * inverse
    g = over_f * (inverse * inverse)
    ge = g * e
    return over_f, g - 0.25 * ge, ge * (1.0 + LN2 * D)


@routine
def pairs_in_solvent(pairs, work, solvent, own):
    """`pair_forces` with the screening of the same pairs: writes force over distance to `own.pair_g` and adds ∂E/∂B to
    `own.pull`. Returns the energy [kJ/mol]."""
    law = law_of(pairs.settings), pairs.settings[SWITCH_SLOPE] > 0.0, solvent.settings[SHIFT]
    energy = splat(0.0)
    position, parameters, charges = work.position, pairs.parameters, solvent.parameters
    atoms, p = work.row.shape[0] - 1, work.cluster.shape[0]
    for w in range(work.counters[AT_WORK]):
        first = work.at_work[w] * BLOCK
        for i in range(first, min(first + BLOCK, atoms)):
            if nothing_near(own, i):
                continue
            x = position[i], position[p + i], position[2 * p + i]
            of_pairs = parameters[i], parameters[p + i], parameters[2 * p + i]
            atom = x, of_pairs, own.born[i], QUARTER * own.inverse[i], charges[CHARGE * p + i]
            pull = splat(0.0)
            for k in range(own.near_row[i, BLOCKS_BEGIN], own.near_row[i, BLOCKS_END]):
                places, _ = whole_block(own, k)
                found, of_radii = screen_eight(pairs, work, solvent, own, law, atom, slot_of_block(k), places)
                energy = energy + found
                pull = pull + of_radii
            for k in range(own.near_row[i, HALVES_BEGIN], own.near_row[i, HALVES_END], 2):
                places, _ = two_halves(own, k)
                found, of_radii = screen_eight(pairs, work, solvent, own, law, atom, slot_of_halves(own, k), places)
                energy = energy + found
                pull = pull + of_radii
            own.pull[i] += 0.5 * vsum(pull)
    return vsum(energy)


@inlined
def screen_eight(pairs, work, solvent, own, law, atom, slot, places):
    """All terms of one atom with eight others. Returns their energies and 2 ∂E/∂B of the one."""
    position, parameters, p = work.position, pairs.parameters, work.cluster.shape[0]
    of_pairs, fades, shift = law
    x, (half_sigma, root_epsilon, charge), B, quarter, q = atom
    inverse = vabs(vload(own.pair_inverse, slot))
    dx = x[0] - vload_at(position, 0, places)
    dy = x[1] - vload_at(position, p, places)
    dz = x[2] - vload_at(position, 2 * p, places)
    r2 = dx * dx + dy * dy + dz * dz
    B_j = vload_at(own.born, 0, places)
    kqq = q * vload_at(solvent.parameters, CHARGE * p, places)
    kqq = vselect_less(0.0, inverse, kqq, 0.0)
    over_f, of_distance, of_radii = screened(r2, B * B_j, quarter * vload_at(own.inverse, 0, places), kqq)
    depth = root_epsilon * vload_at(parameters, p, places)
    qq = vselect_less(0.0, inverse, charge * vload_at(parameters, 2 * p, places), 0.0)
    sigma = half_sigma + vload_at(parameters, 0, places)
    found, g = eight_pairs(of_pairs, fades, r2, inverse, inverse * inverse, sigma, depth, qq)
    vstore_at(own.pull, 0, places, vload_at(own.pull, 0, places) + (0.5 * B) * of_radii)
    vstore(own.pair_g, slot, g - of_distance)
    return found - (over_f - shift * kqq), of_radii * B_j


@routine
def screening_of_kin(pairs, work, solvent, own):
    """Excluded pairs whose distance can change: the solvent takes them in. Returns their energy."""
    p = work.cluster.shape[0]
    energy = 0.0
    for c in range(own.counters[KIN_COUNT]):
        i, j = own.close_pair[c, 0], own.close_pair[c, 1]
        r2 = distance2(work, i, j)
        if not r2 < pairs.settings[CUTOFF2]:
            continue
        bb = own.born[i] * own.born[j]
        D = 0.25 * r2 * (own.inverse[i] * own.inverse[j])
        e = math.exp(-D)
        inverse2 = 1.0 / (r2 + bb * e)
        kqq = solvent.parameters[CHARGE * p + i] * solvent.parameters[CHARGE * p + j]
        over_f = kqq * math.sqrt(inverse2)
        g = over_f * inverse2
        of_radii = 0.5 * g * e * (1.0 + D)
        own.pull[i] += of_radii * own.born[j]
        own.pull[j] += of_radii * own.born[i]
        push_apart(work, i, j, -g * (1.0 - 0.25 * e))
        energy -= over_f - kqq * solvent.settings[SHIFT]
    return energy
