"""Lennard-Jones and Coulomb forces of the listed pairs, eight at a time.

    E = 4 √(ε_i ε_j) (s¹² - s⁶) + q_i q_j (1/r + k r² - c),   s = (σ_i + σ_j) / 2 r,   r < cutoff

k and c belong to the reaction field (Tironi et al. 1995); both are zero without a cutoff. With a switch the Lennard-Jones
part fades by S = 1 - 10 x³ + 15 x⁴ - 6 x⁵, x = (r - switch) / (cutoff - switch): the energy has no step.
A lane whose bit is not set is moved beyond the cutoff, which is all the masking there is.
"""

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.tables import AT_WORK, BLOCK, CUTOFF2, REACTION_C, REACTION_K, SWITCH, SWITCH_SLOPE
from linkwork.spatial.simd import splat, vload, vstore, vsum
from linkwork.spatial.simd_math import vdiv, vselect_less, vsqrt

BEYOND2 = 1e30  # [nm²] square of a distance no cutoff reaches


@inlined
def law_of(settings):
    """What `eight_pairs` needs of the settings, in registers."""
    return settings[REACTION_K], settings[REACTION_C], settings[SWITCH], settings[SWITCH_SLOPE]


@inlined
def eight_pairs(law, fades, r2, inverse, inverse2, sigma, depth, qq):
    """Energy of eight pairs [kJ/mol], and -(dE/dr) / r. inverse: 1/r. depth: 4 ε; it and qq are zero beyond the cutoff.

    fades: whether one of them is beyond the switch.
    """
    k_field, c_field, begin_fade, fade = law
    s2 = sigma * sigma * inverse2
    s6 = s2 * s2 * s2
    attraction = depth * s6
    coulomb = qq * inverse
    field = k_field * qq
    dispersion = attraction * (-1.0 + s6)
    push = attraction * (-6.0 + 12.0 * s6)  # -r dE/dr
    if fades:
        r = r2 * inverse
        x = fade * (-begin_fade + r)
        x = vselect_less(x, 0.0, 0.0, vselect_less(x, 1.0, x, 1.0))
        rest = 1.0 - x
        slope = (-30.0 * fade) * (x * x * rest * rest)  # dS/dr
        S = 1.0 - x * x * x * (10.0 - x * (15.0 - 6.0 * x))
        push = push * S - dispersion * slope * r
        dispersion = dispersion * S
    energy = dispersion + coulomb + (field * r2 - c_field * qq)
    return energy, (push + coulomb) * inverse2 - 2.0 * field


@routine
def pair_forces(pairs, work):
    """Adds the forces of all listed pairs to `work.force`; returns their energy [kJ/mol]."""
    position, force, parameters, lanes = work.position, work.force, pairs.parameters, work.lanes
    p = work.cluster.shape[0]
    one = splat(1.0)
    zero = splat(0.0)
    beyond = splat(BEYOND2)
    cutoff2, law = splat(pairs.settings[CUTOFF2]), law_of(pairs.settings)
    fades = pairs.settings[SWITCH_SLOPE] > 0.0
    energy = zero
    atoms = work.row.shape[0] - 1
    for w in range(work.counters[AT_WORK]):
        first = work.at_work[w] * BLOCK
        for i in range(first, min(first + BLOCK, atoms)):
            begin, end = work.row[i], work.row[i + 1]
            if begin == end:
                continue
            xi, yi, zi = splat(position[i]), splat(position[p + i]), splat(position[2 * p + i])
            half_sigma = splat(parameters[i])
            root_epsilon = parameters[p + i]
            charge = parameters[2 * p + i]
            fx = fy = fz = zero
            for k in range(begin, end):
                j = (work.entry[k] >> 8) * BLOCK
                bits = vload(lanes, (work.entry[k] & 255) * BLOCK)
                dx = xi - vload(position, j)
                dy = yi - vload(position, p + j)
                dz = zi - vload(position, 2 * p + j)
                r2 = dx * dx + dy * dy + dz * dz
                r2 = vselect_less(zero, bits, r2, beyond)
                inside = vselect_less(r2, cutoff2, one, zero)
                inverse2 = vdiv(one, r2)
                depth = root_epsilon * (vload(parameters, p + j) * inside)
                qq = charge * (vload(parameters, 2 * p + j) * inside)
                sigma = half_sigma + vload(parameters, j)
                found, g = eight_pairs(law, fades, r2, vsqrt(inverse2), inverse2, sigma, depth, qq)
                energy = energy + found
                gx, gy, gz = g * dx, g * dy, g * dz
                fx, fy, fz = fx + gx, fy + gy, fz + gz
                vstore(force, j, vload(force, j) - gx)
                vstore(force, p + j, vload(force, p + j) - gy)
                vstore(force, 2 * p + j, vload(force, 2 * p + j) - gz)
            force[i] += vsum(fx)
            force[p + i] += vsum(fy)
            force[2 * p + i] += vsum(fz)
    return vsum(energy)
