"""Sums of pair integrals over all atoms, and forces through them: the first and the last pass of an evaluation.

Eight pairs at a time by the series; pairs too near for it one by one. Theory and symbols: `integrals.py`.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.pairs.pair_forces import BEYOND2
from linkwork.molecules.forces.solvent.integrals import (
    NECK_FAR,
    NECK_NEAR,
    integral,
    neck,
    series,
    slope_series,
)
from linkwork.molecules.forces.solvent.tables import (
    CLOSE,
    CLOSE_COUNT,
    ENGULFS,
    HAS_NECK,
    KIN_COUNT,
    NECK_DEPTH,
    NECK_DEPTH_BACK,
    NECK_PLACE,
    NECK_PLACE_BACK,
    NECK_REACH,
    OFFSET,
    RADIUS,
    SCALED,
)
from linkwork.molecules.forces.tables import AT_WORK, BLOCK, CUTOFF2, FIELD_INSIDE_FULL, FIELD_OK
from linkwork.spatial.simd import splat, vload, vstore, vsum
from linkwork.spatial.simd_math import vbits_less, vdiv, vrsqrt, vselect_less

BEYOND_NECKS = 1e3  # [nm] a distance that no neck reaches


@routine
def sum_integrals(pairs, work, solvent, own):
    """Σ I of the atoms at work: inside rigid parts, of listed and of close pairs. FIELD_INSIDE_FULL: no room.

    Entries of the list with a pair within the cutoff are noted for the passes that follow.
    """
    p = work.cluster.shape[0]
    position, lanes, parameters = work.position, work.lanes, solvent.parameters
    cutoff2, beyond, zero = splat(pairs.settings[CUTOFF2]), splat(BEYOND2), splat(0.0)
    atoms = work.row.shape[0] - 1
    for w in range(work.counters[AT_WORK]):
        j = work.at_work[w] * BLOCK
        vstore(own.sum, j, vload(own.inside_sum, j))
    count = own.counters[KIN_COUNT]
    found = 0
    for w in range(work.counters[AT_WORK]):
        first = work.at_work[w] * BLOCK
        for i in range(first, min(first + BLOCK, atoms)):
            own.near_row[i, 0] = own.near_row[i, 1] = found
            if work.row[i] == work.row[i + 1]:
                continue
            xi, yi, zi = splat(position[i]), splat(position[p + i]), splat(position[2 * p + i])
            close = splat(parameters[CLOSE * p + i])
            here = zero
            for k in range(work.row[i], work.row[i + 1]):
                j = (work.entry[k] >> 8) * BLOCK
                bits = vload(lanes, (work.entry[k] & 255) * BLOCK)
                dx = xi - vload(position, j)
                dy = yi - vload(position, p + j)
                dz = zi - vload(position, 2 * p + j)
                r2 = dx * dx + dy * dy + dz * dz
                r2 = vselect_less(zero, bits, r2, beyond)
                if vbits_less(r2, cutoff2) == 0:
                    continue
                reach = close + vload(parameters, CLOSE * p + j)
                reach2 = reach * reach
                inverse = vselect_less(r2, cutoff2, vrsqrt(r2), zero)
                inverse = vselect_less(r2, reach2, zero - inverse, inverse)
                vstore(own.pair_inverse, found * BLOCK, inverse)
                own.near_first[found] = j
                found += 1
                there, back = eight_integrals(
                    solvent, parameters, p, i, j, r2, vselect_less(zero, inverse, inverse, zero)
                )
                here = here + there
                vstore(own.sum, j, vload(own.sum, j) + back)
                near = vbits_less(r2, reach2)
                if near != 0:
                    count = remember_near(own, i, j, near, count)
            own.sum[i] += vsum(here)
            own.near_row[i, 1] = found
    own.counters[CLOSE_COUNT] = count
    if count > own.close_pair.shape[0]:
        return FIELD_INSIDE_FULL
    sum_over_close(pairs, work, solvent, own)
    return FIELD_OK


@routine
def remember_near(own, i, j, near, count):
    """Adds atom i with those of the eight from j on whose bit is set to the close pairs; counts on without room."""
    for m in range(BLOCK):
        if (near >> m) & 1:
            if count < own.close_pair.shape[0]:
                own.close_pair[count, 0] = i
                own.close_pair[count, 1] = j + m
            count += 1
    return count


@inlined
def eight_integrals(solvent, parameters, p, i, j, r2, inverse):
    """I of atom i with eight atoms from j on, and back. inverse: 1/r, zero where the series does not hold."""
    s_i, s_j = parameters[SCALED * p + i], vload(parameters, SCALED * p + j)
    y = inverse * inverse
    y2 = y * y
    s2_i, s2_j = s_i * s_i, s_j * s_j
    there = s_j * s2_j * y2 * series(s2_j * y)
    back = (s_i * s2_i) * y2 * series(s2_i * y)
    if solvent.settings[HAS_NECK] != 0.0:
        r = vselect_less(splat(0.0), inverse, r2 * inverse, splat(BEYOND_NECKS))
        neck_there, neck_back = eight_necks(solvent, parameters, p, i, j, r)
        there = there + neck_there
        back = back + neck_back
    return there, back


@inlined
def eight_necks(solvent, parameters, p, i, j, r):
    """What the necks with eight atoms add, both ways."""
    zero, one = splat(0.0), splat(1.0)
    first = 4 * solvent.kind[i] * p + j
    ends = splat(solvent.settings[NECK_REACH] + parameters[RADIUS * p + i]) + vload(parameters, RADIUS * p + j)
    d = r - vload(solvent.neck, first + NECK_PLACE * p)
    e = r - vload(solvent.neck, first + NECK_PLACE_BACK * p)
    d2, e2 = d * d, e * e
    inside = vselect_less(r, ends, one, zero)
    shape = one + d2 * (splat(NECK_NEAR) + NECK_FAR * (d2 * d2))
    shape_back = one + e2 * (splat(NECK_NEAR) + NECK_FAR * (e2 * e2))
    inverse = vdiv(inside, shape * shape_back)
    there = vload(solvent.neck, first + NECK_DEPTH * p) * (inverse * shape_back)
    back = vload(solvent.neck, first + NECK_DEPTH_BACK * p) * (inverse * shape)
    return there, back


@inlined
def distance2(work, i, j):
    p = work.cluster.shape[0]
    dx = work.position[i] - work.position[j]
    dy = work.position[p + i] - work.position[p + j]
    dz = work.position[2 * p + i] - work.position[2 * p + j]
    return dx * dx + dy * dy + dz * dz


@inlined
def integrals_of_pair(solvent, p, i, j, r):
    """I and dI/dr of i with j and of j with i, necks included."""
    parameters, engulfs = solvent.parameters, solvent.settings[ENGULFS]
    there, slope = integral(parameters[OFFSET * p + i], parameters[SCALED * p + j], r, engulfs)
    back, slope_back = integral(parameters[OFFSET * p + j], parameters[SCALED * p + i], r, engulfs)
    if solvent.settings[HAS_NECK] != 0.0:
        ends = solvent.settings[NECK_REACH] + parameters[RADIUS * p + i] + parameters[RADIUS * p + j]
        if r < ends:
            first = 4 * solvent.kind[i] * p + j
            extra, extra_slope = neck(solvent.neck[first + NECK_DEPTH * p], solvent.neck[first + NECK_PLACE * p], r)
            there += extra
            slope += extra_slope
            extra, extra_slope = neck(
                solvent.neck[first + NECK_DEPTH_BACK * p], solvent.neck[first + NECK_PLACE_BACK * p], r
            )
            back += extra
            slope_back += extra_slope
    return there, back, slope, slope_back


@routine
def sum_over_close(pairs, work, solvent, own):
    """The part of close pairs: excluded ones whose distance can change, and those too near for the series. Keeps slopes."""
    p = work.cluster.shape[0]
    for c in range(own.counters[CLOSE_COUNT]):
        i, j = own.close_pair[c, 0], own.close_pair[c, 1]
        r2 = distance2(work, i, j)
        own.close_slope[c, 0] = 0.0
        own.close_slope[c, 1] = 0.0
        if r2 < pairs.settings[CUTOFF2]:
            there, back, slope, slope_back = integrals_of_pair(solvent, p, i, j, math.sqrt(r2))
            own.sum[i] += there
            own.sum[j] += back
            own.close_slope[c, 0] = slope
            own.close_slope[c, 1] = slope_back


@routine
def forces_through_radii(work, solvent, own):
    """Adds the forces of all listed pairs: `own.pair_g`, and -(P_i dI_ij/dr + P_j dI_ji/dr), P = ∂E/∂ΣI in `own.pull`."""
    p = work.cluster.shape[0]
    position, force, parameters = work.position, work.force, solvent.parameters
    zero, far = splat(0.0), splat(BEYOND_NECKS)
    atoms = work.row.shape[0] - 1
    forces_of_close(work, own)
    for w in range(work.counters[AT_WORK]):
        first = work.at_work[w] * BLOCK
        for i in range(first, min(first + BLOCK, atoms)):
            if own.near_row[i, 0] == own.near_row[i, 1]:
                continue
            xi, yi, zi = splat(position[i]), splat(position[p + i]), splat(position[2 * p + i])
            s_i = parameters[SCALED * p + i]
            s2_i, s3_i, pull_i = s_i * s_i, s_i * s_i * s_i, own.pull[i]
            fx = fy = fz = zero
            for k in range(own.near_row[i, 0], own.near_row[i, 1]):
                j = own.near_first[k]
                inverse = vload(own.pair_inverse, k * BLOCK)
                inverse = vselect_less(zero, inverse, inverse, zero)
                y = inverse * inverse
                dx = xi - vload(position, j)
                dy = yi - vload(position, p + j)
                dz = zi - vload(position, 2 * p + j)
                s_j, pull_j = vload(parameters, SCALED * p + j), vload(own.pull, j)
                s2_j = s_j * s_j
                both = pull_i * (s_j * s2_j * slope_series(s2_j * y)) + (s3_i * pull_j) * slope_series(s2_i * y)
                g = vload(own.pair_g, k * BLOCK) + 2.0 * (y * y * y) * both  # -(dE/dr) / r, by (4)
                if solvent.settings[HAS_NECK] != 0.0:
                    r = vselect_less(zero, inverse, (dx * dx + dy * dy + dz * dz) * inverse, far)
                    g = g - inverse * neck_slopes(solvent, parameters, p, i, j, r, pull_i, pull_j)
                gx, gy, gz = g * dx, g * dy, g * dz
                fx, fy, fz = fx + gx, fy + gy, fz + gz
                vstore(force, j, vload(force, j) - gx)
                vstore(force, p + j, vload(force, p + j) - gy)
                vstore(force, 2 * p + j, vload(force, 2 * p + j) - gz)
            force[i] += vsum(fx)
            force[p + i] += vsum(fy)
            force[2 * p + i] += vsum(fz)


@inlined
def neck_slopes(solvent, parameters, p, i, j, r, pull_i, pull_j):
    """P_i dI_ij/dr + P_j dI_ji/dr of the necks with eight atoms."""
    zero, one = splat(0.0), splat(1.0)
    first = 4 * solvent.kind[i] * p + j
    ends = splat(solvent.settings[NECK_REACH] + parameters[RADIUS * p + i]) + vload(parameters, RADIUS * p + j)
    d = r - vload(solvent.neck, first + NECK_PLACE * p)
    e = r - vload(solvent.neck, first + NECK_PLACE_BACK * p)
    d2, e2 = d * d, e * e
    d4, e4 = d2 * d2, e2 * e2
    shape = one + d2 * (splat(NECK_NEAR) + NECK_FAR * d4)
    shape_back = one + e2 * (splat(NECK_NEAR) + NECK_FAR * e4)
    inverse = vdiv(vselect_less(r, ends, one, zero), shape * shape_back)
    of_there, of_back = inverse * shape_back, inverse * shape
    there = pull_i * (vload(solvent.neck, first + NECK_DEPTH * p) * d * (of_there * of_there))
    back = pull_j * (vload(solvent.neck, first + NECK_DEPTH_BACK * p) * e * (of_back * of_back))
    there = there * (splat(2.0 * NECK_NEAR) + (6.0 * NECK_FAR) * d4)
    back = back * (splat(2.0 * NECK_NEAR) + (6.0 * NECK_FAR) * e4)
    return zero - (there + back)


@routine
def forces_of_close(work, own):
    for c in range(own.counters[CLOSE_COUNT]):
        i, j = own.close_pair[c, 0], own.close_pair[c, 1]
        slope = own.pull[i] * own.close_slope[c, 0] + own.pull[j] * own.close_slope[c, 1]
        if slope != 0.0:
            push_apart(work, i, j, -slope / math.sqrt(distance2(work, i, j)))


@inlined
def push_apart(work, i, j, g):
    """The force g (x_i - x_j) on atom i, and its reaction on atom j."""
    p = work.cluster.shape[0]
    for d in range(3):
        f = g * (work.position[d * p + i] - work.position[d * p + j])
        work.force[d * p + i] += f
        work.force[d * p + j] -= f
