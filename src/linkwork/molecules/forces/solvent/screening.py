"""Energy of charges that the solvent screens (Still et al. 1990), beside Lennard-Jones and Coulomb of the same pairs.

    E = -k q_i q_j (1/f - shift),   f² = r² + B_i B_j e,   e = exp(-D),   D = r² / 4 B_i B_j
    (dE/dr) / r = k q_i q_j / f³ (1 - e/4),   ∂E/∂B_i = ½ k q_i q_j / f³ e (1 + D) B_j

Pairs inside a rigid part keep r, and their forces move nothing; what they do to radii counts.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.pairs.pair_forces import eight_pairs, law_of
from linkwork.molecules.forces.solvent.descreening import distance2, push_apart
from linkwork.molecules.forces.solvent.tables import CHARGE, KIN_COUNT, SHIFT
from linkwork.molecules.forces.tables import AT_WORK, BLOCK, CUTOFF2, SWITCH_SLOPE
from linkwork.spatial.simd import splat, vload, vstore, vsum
from linkwork.spatial.simd_math import vexp, vrsqrt, vselect_less

MOST_D = 600.0  # exp(-D) is zero to every digit, and still a normal number


@inlined
def screened(r2, bb, quarter, qq):
    """Of eight pairs: k qq / f, (dE/dr) / r, and ∂E/∂(B_i B_j). quarter: 1 / 4 B_i B_j."""
    one = splat(1.0)
    D = r2 * quarter
    D = vselect_less(D, splat(MOST_D), D, splat(MOST_D))
    e = vexp(splat(0.0) - D)
    inverse = vrsqrt(r2 + bb * e)
    over_f = qq * inverse
    g = over_f * (inverse * inverse)
    return over_f, g * (one - 0.25 * e), 0.5 * (g * e * (one + D))


@routine
def pairs_in_solvent(pairs, work, solvent, own):
    """`pair_forces` with the screening of the same pairs: writes force over distance to `own.pair_g` and adds ∂E/∂B to
    `own.pull`. Returns the energy [kJ/mol]."""
    position, parameters = work.position, pairs.parameters
    p = work.cluster.shape[0]
    one, zero = splat(1.0), splat(0.0)
    law, shift = law_of(pairs.settings), splat(solvent.settings[SHIFT])
    fades = pairs.settings[SWITCH_SLOPE] > 0.0
    energy = zero
    atoms = work.row.shape[0] - 1
    for w in range(work.counters[AT_WORK]):
        first = work.at_work[w] * BLOCK
        for i in range(first, min(first + BLOCK, atoms)):
            begin, end = own.near_row[i, 0], own.near_row[i, 1]
            if begin == end:
                continue
            xi, yi, zi = splat(position[i]), splat(position[p + i]), splat(position[2 * p + i])
            half_sigma = splat(parameters[i])
            root_epsilon = parameters[p + i]
            charge = parameters[2 * p + i]
            B, quarter = own.born[i], 0.25 * own.inverse[i]
            screened_charge = solvent.parameters[CHARGE * p + i]
            pull = zero
            for k in range(begin, end):
                j = own.near_first[k]
                inverse = vload(own.pair_inverse, k * BLOCK)
                inverse = vselect_less(zero, inverse, inverse, zero - inverse)
                inside = vselect_less(zero, inverse, one, zero)
                dx = xi - vload(position, j)
                dy = yi - vload(position, p + j)
                dz = zi - vload(position, 2 * p + j)
                r2 = dx * dx + dy * dy + dz * dz
                B_j = vload(own.born, j)
                kqq = screened_charge * (vload(solvent.parameters, CHARGE * p + j) * inside)
                over_f, of_distance, of_radii = screened(r2, B * B_j, quarter * vload(own.inverse, j), kqq)
                inverse2 = inverse * inverse
                depth = root_epsilon * vload(parameters, p + j)
                qq = charge * (vload(parameters, 2 * p + j) * inside)
                sigma = half_sigma + vload(parameters, j)
                found, g = eight_pairs(law, fades, r2, inverse, inverse2, sigma, depth, qq)
                energy = energy + (found - (over_f - kqq * shift))
                pull = pull + of_radii * B_j
                vstore(own.pull, j, vload(own.pull, j) + B * of_radii)
                vstore(own.pair_g, k * BLOCK, g - of_distance)
            own.pull[i] += vsum(pull)
    return vsum(energy)


@routine
def screening_of_kin(pairs, work, solvent, own):
    """Excluded pairs whose distance can change: the solvent sees them. Returns their energy."""
    p = work.cluster.shape[0]
    energy = 0.0
    for c in range(own.counters[KIN_COUNT]):
        i, j = own.close_pair[c, 0], own.close_pair[c, 1]
        r2 = distance2(work, i, j)
        if not r2 < pairs.settings[CUTOFF2]:
            continue
        bb = own.born[i] * own.born[j]
        D = 0.25 * r2 / bb
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
