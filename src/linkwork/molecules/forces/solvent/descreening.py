"""Sums of pair integrals over all atoms: the first pass of an evaluation.

Two times eight pairs at a time by the series; pairs too near for it one by one. Theory and symbols: `integrals.py`.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.pairs.pair_forces import BEYOND2
from linkwork.molecules.forces.solvent.integrals import NECK_UNIT, G, apart, integral, neck, polynomial
from linkwork.molecules.forces.solvent.necks import add_necks, necks_of_two
from linkwork.molecules.forces.solvent.tables import (
    CLOSE,
    CLOSE_COUNT,
    ENGULFS,
    HAS_NECK,
    KIN_COUNT,
    NECK_DEPTH,
    NECK_DEPTH_BACK,
    NECK_HALF,
    NECK_PLACE,
    NECK_PLACE_BACK,
    OFFSET,
    SCALED,
    SCALED2,
    SCALED3,
)
from linkwork.molecules.forces.tables import AT_WORK, BLOCK, CUTOFF2, FIELD_INSIDE_FULL, FIELD_OK
from linkwork.spatial.simd import splat, vload, vstore, vsum
from linkwork.spatial.simd_math import vbits_less, vrsqrt, vselect_less
from linkwork.spatial.simd_two import folded, splat_two, vload_two, vstore_two


@routine
def sum_integrals(pairs, work, solvent, own):
    """Σ I of the atoms at work: inside rigid parts, of listed and of close pairs. FIELD_INSIDE_FULL: no room.

    Entries of the list with a pair within the cutoff are noted for the passes that follow.
    """
    p, parameters, cutoff2 = work.cluster.shape[0], solvent.parameters, pairs.settings[CUTOFF2]
    atoms, has_neck = work.row.shape[0] - 1, solvent.settings[HAS_NECK] != 0.0
    for w in range(work.counters[AT_WORK]):
        j = work.at_work[w] * BLOCK
        vstore(own.sum, j, vload(own.inside_sum, j))
    own.counters[CLOSE_COUNT] = own.counters[KIN_COUNT]
    end = 0
    for w in range(work.counters[AT_WORK]):
        first = work.at_work[w] * BLOCK
        for i in range(first, min(first + BLOCK, atoms)):
            begin = end
            end = find_near(work, own, i, begin, cutoff2)
            own.near_row[i, 0], own.near_row[i, 1] = begin, end
            if begin == end:
                continue
            s2, s3, here = parameters[SCALED2 * p + i], parameters[SCALED3 * p + i], splat_two(0.0)
            for k in range(begin, end, 2):
                j, j2 = own.near_first[k], own.near_first[k + 1]
                r2 = vload_two(own.row_r2, (k - begin) * BLOCK, (k + 1 - begin) * BLOCK)
                reach = parameters[CLOSE * p + i] + vload_two(parameters, CLOSE * p + j, CLOSE * p + j2)
                reach2 = reach * reach
                inverse = vselect_less(r2, cutoff2, vrsqrt(r2), 0.0)
                vstore_two(
                    own.pair_inverse, k * BLOCK, (k + 1) * BLOCK, vselect_less(r2, reach2, 0.0 - inverse, inverse)
                )
                inverse = vselect_less(r2, reach2, 0.0, inverse)
                there, back = add_integrals(
                    s2,
                    s3,
                    vload_two(parameters, SCALED2 * p + j, SCALED2 * p + j2),
                    vload_two(parameters, SCALED3 * p + j, SCALED3 * p + j2),
                    inverse,
                )
                if has_neck:
                    neck_there, neck_back = add_necks(necks_of_two(solvent, p, i, j, j2), r2, inverse)
                    there = there + neck_there
                    back = back + neck_back
                here = here + there
                vstore_two(own.sum, j, j2, vload_two(own.sum, j, j2) + back)
                near = vbits_less(r2, reach2)
                if near != 0:
                    remember_near(own, i, j, j2, near)
            own.sum[i] += vsum(folded(here))
    if own.counters[CLOSE_COUNT] > own.close_pair.shape[0]:
        return FIELD_INSIDE_FULL
    sum_over_close(pairs, work, solvent, own)
    return FIELD_OK


@routine
def find_near(work, own, i, found, cutoff2):
    """Notes the listed entries of atom i with a pair within the cutoff, from `found` on; returns where they end.

    A fifth of the entries have none, in no order a processor could guess: written always, kept if there is one.
    """
    position, lanes, p = work.position, work.lanes, work.cluster.shape[0]
    within = splat(cutoff2)
    xi, yi, zi = splat(position[i]), splat(position[p + i]), splat(position[2 * p + i])
    begin = found
    for k in range(work.row[i], work.row[i + 1]):
        j = (work.entry[k] >> 8) * BLOCK
        bits = vload(lanes, (work.entry[k] & 255) * BLOCK)
        dx = xi - vload(position, j)
        dy = yi - vload(position, p + j)
        dz = zi - vload(position, 2 * p + j)
        r2 = vselect_less(0.0, bits, dx * dx + dy * dy + dz * dz, BEYOND2)
        vstore(own.row_r2, (found - begin) * BLOCK, r2)
        own.near_first[found] = j
        found += 1 if vbits_less(r2, within) != 0 else 0
    if (
        found - begin
    ) % 2 == 1:  # passes take two entries at a time: one without pairs within the cutoff joins the last
        vstore(own.row_r2, (found - begin) * BLOCK, splat(BEYOND2))
        own.near_first[found] = own.near_first[found - 1]
        found += 1
    return found


@routine
def remember_near(own, i, j, j2, near):
    """Adds atom i with those of eight from j on and eight from j2 on whose bit is set to the close pairs; counts on
    without room."""
    count, room = own.counters[CLOSE_COUNT], own.close_pair.shape[0]
    for m in range(2 * BLOCK):
        if count < room:  # written always, kept if the bit is set: which bits are, no processor could guess
            own.close_pair[count, 0] = i
            own.close_pair[count, 1] = j + m if m < BLOCK else j2 + m - BLOCK
        count += (near >> m) & 1
    own.counters[CLOSE_COUNT] = count


@inlined
def add_integrals(s2_i, s3_i, s2_j, s3_j, inverse):
    """I of atom i with atoms j, and back, from their s² and s³. inverse: 1/r, zero where the series does not hold."""
    y = inverse * inverse
    y2 = y * y
    return (s3_j * y2) * polynomial(G, s2_j * y), (s3_i * y2) * polynomial(G, s2_i * y)


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
    s_i, s_j = parameters[SCALED * p + i], parameters[SCALED * p + j]
    if r < parameters[CLOSE * p + i] + parameters[CLOSE * p + j]:
        there, slope = integral(parameters[OFFSET * p + i], s_j, r, engulfs)
        back, slope_back = integral(parameters[OFFSET * p + j], s_i, r, engulfs)
    else:
        there, slope = apart(s_j, r)
        back, slope_back = apart(s_i, r)
    ends = parameters[NECK_HALF * p + i] + parameters[NECK_HALF * p + j]
    if solvent.settings[HAS_NECK] != 0.0 and NECK_UNIT * r < ends:
        first = 4 * solvent.kind[i] * p + j
        extra, extra_slope = neck(solvent.neck[first + NECK_DEPTH * p], solvent.neck[first + NECK_PLACE * p], r)
        there += extra
        slope += extra_slope
        first_back = first + NECK_DEPTH_BACK * p
        extra, extra_slope = neck(solvent.neck[first_back], solvent.neck[first + NECK_PLACE_BACK * p], r)
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
            r = math.sqrt(r2)
            there, back, slope, slope_back = integrals_of_pair(solvent, p, i, j, r)
            own.sum[i] += there
            own.sum[j] += back
            own.close_slope[c, 0] = slope / r
            own.close_slope[c, 1] = slope_back / r


@inlined
def push_apart(work, i, j, g):
    """The force g (x_i - x_j) on atom i, and its reaction on atom j."""
    p = work.cluster.shape[0]
    for d in range(3):
        f = g * (work.position[d * p + i] - work.position[d * p + j])
        work.force[d * p + i] += f
        work.force[d * p + j] -= f
