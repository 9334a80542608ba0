"""Sums of pair integrals over all atoms: the first pass of an evaluation.

Eight pairs at a time by the series; for pairs too near for it `close.py`. Theory and symbols: `integrals.py`.
"""

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.solvent.close import sum_over_close
from linkwork.molecules.forces.solvent.integrals import NECK_UNIT, G, apart, integral, neck, polynomial
from linkwork.molecules.forces.solvent.near import (
    HALF,
    LOW,
    find_near,
    nothing_near,
    slot_of_block,
    slot_of_halves,
    two_halves,
    whole_block,
)
from linkwork.molecules.forces.solvent.necks import add_necks, necks_of
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
from linkwork.spatial.simd_math import vbits_less, vrsqrt, vselect_bits, vselect_less
from linkwork.spatial.simd_places import vload_at, vstore_at


@routine
def sum_integrals(pairs, work, solvent, own):
    """Σ I of the atoms at work: inside rigid groups, of listed and of close pairs. FIELD_INSIDE_FULL: no room.

    Entries of the list with a pair within the cutoff are noted for the passes that follow.
    """
    p, parameters, cutoff2 = work.cluster.shape[0], solvent.parameters, pairs.settings[CUTOFF2]
    atoms, has_neck = work.row.shape[0] - 1, solvent.settings[HAS_NECK] != 0.0
    for w in range(work.counters[AT_WORK]):
        j = work.at_work[w] * BLOCK
        vstore(own.sum, j, vload(own.inside_sum, j))
    own.counters[CLOSE_COUNT] = own.counters[KIN_COUNT]
    block_end = half_end = 0
    for w in range(work.counters[AT_WORK]):
        first = work.at_work[w] * BLOCK
        for i in range(first, min(first + BLOCK, atoms)):
            block, half = block_end, half_end
            block_end, half_end = find_near(work, own, i, block, half, cutoff2)
            if nothing_near(own, i):
                continue
            x = work.position[i], work.position[p + i], work.position[2 * p + i]
            atom = parameters[CLOSE * p + i], parameters[SCALED2 * p + i], parameters[SCALED3 * p + i]
            here = splat(0.0)
            # 1/r is found one turn ahead: while a processor waits for the results of one turn, one after the other, it does
            # not look far enough ahead to find the next turn. The last one looks at an entry that it does not need.
            next_pair = inverse_distances(work, x, *whole_block(own, block))
            for k in range(block, block_end):
                (places, bits), pair = whole_block(own, k), next_pair
                next_pair = inverse_distances(work, x, *whole_block(own, k + 1))
                there, near = sum_eight(solvent, own, p, has_neck, i, atom, slot_of_block(k), places, bits, pair)
                here = here + there
                if near != 0:
                    remember_near(own, i, places[0], near)
            for k in range(half, half_end, 2):
                places, bits = two_halves(own, k)
                pair = inverse_distances(work, x, places, bits)
                there, near = sum_eight(solvent, own, p, has_neck, i, atom, slot_of_halves(own, k), places, bits, pair)
                here = here + there
                if near != 0:
                    remember_near(own, i, places[0], near & LOW)
                    remember_near(own, i, places[1], near >> HALF)
            own.sum[i] += vsum(here)
    if own.counters[CLOSE_COUNT] > own.close_pair.shape[0]:
        return FIELD_INSIDE_FULL
    sum_over_close(pairs, work, solvent, own)
    return FIELD_OK


@inlined
def inverse_distances(work, x, places, bits):
    """r² of x from eight atoms, and 1/r, which is zero where the bit is not set."""
    position, p = work.position, work.cluster.shape[0]
    dx = x[0] - vload_at(position, 0, places)
    dy = x[1] - vload_at(position, p, places)
    dz = x[2] - vload_at(position, 2 * p, places)
    r2 = dx * dx + dy * dy + dz * dz
    return r2, vselect_bits(bits, vrsqrt(r2), 0.0)


@inlined
def sum_eight(solvent, own, p, has_neck, i, atom, slot, places, bits, pair):
    """Adds to the sums of eight atoms; returns what they add to that of atom i, and bits of those too near."""
    parameters = solvent.parameters
    (close, s2, s3), (r2, inverse) = atom, pair
    reach = close + vload_at(parameters, CLOSE * p, places)
    reach2 = reach * reach
    vstore(own.pair_inverse, slot, vselect_less(r2, reach2, 0.0 - inverse, inverse))
    inverse = vselect_less(r2, reach2, 0.0, inverse)
    there, back = add_integrals(
        s2, s3, vload_at(parameters, SCALED2 * p, places), vload_at(parameters, SCALED3 * p, places), inverse
    )
    if has_neck:
        neck_there, neck_back = add_necks(necks_of(solvent, p, i, places), r2, inverse)
        there = there + neck_there
        back = back + neck_back
    vstore_at(own.sum, 0, places, vload_at(own.sum, 0, places) + back)
    return there, vbits_less(r2, reach2) & bits


@routine
def remember_near(own, i, j, near):
    """Adds atom i with those from j on whose bit is set to the close pairs; counts on without room."""
    count, room = own.counters[CLOSE_COUNT], own.close_pair.shape[0]
    while near != 0:
        if count < room:  # written always, kept if the bit is set: which bits are, no processor could guess
            own.close_pair[count, 0] = i
            own.close_pair[count, 1] = j
        count += near & 1
        near >>= 1
        j += 1
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


@inlined
def push_apart(work, i, j, g):
    """The force g (x_i - x_j) on atom i, and its reaction on atom j."""
    p = work.cluster.shape[0]
    for d in range(3):
        f = g * (work.position[d * p + i] - work.position[d * p + j])
        work.force[d * p + i] += f
        work.force[d * p + j] -= f
