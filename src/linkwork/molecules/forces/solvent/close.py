"""Close pairs: excluded ones whose distance can change, and those too near for the series. Eight at a time.

Their numbers are gathered, many pairs before the first are read as vectors: a processor waits where it reads eight numbers
that it has just written one by one. All by (1) and (2) of `integrals.py`: what cancels there, far apart, leaves 1e-16/r.
"""

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.pairs.pair_forces import BEYOND2
from linkwork.molecules.forces.solvent.integrals import NECK_NEAR, NECK_UNIT
from linkwork.molecules.forces.solvent.tables import (
    CLOSE_COUNT,
    ENGULFS,
    GATHERED,
    HAS_NECK,
    NECK_DEPTH,
    NECK_DEPTH_BACK,
    NECK_HALF,
    NECK_PLACE,
    NECK_PLACE_BACK,
    OFFSET,
    SCALED,
)
from linkwork.molecules.forces.tables import BLOCK, CUTOFF2
from linkwork.spatial.simd import splat, vload, vstore
from linkwork.spatial.simd_math import vabs, vdiv, vlog, vselect_less, vsqrt

# rows of `own.gathered`, `GATHERED` long: of the atoms and the neck of each pair, there and back; then what is found
R2, OFFSETS, OFFSETS_BACK, SCALES, SCALES_BACK = range(5)
DEPTHS, PLACES, DEPTHS_BACK, PLACES_BACK, ENDS = range(5, 10)
SUMS, SUMS_BACK, SLOPES, SLOPES_BACK = range(10, 14)


@routine
def sum_over_close(pairs, work, solvent, own):
    """The part of close pairs in the sums. Keeps their slopes."""
    has_neck, count = solvent.settings[HAS_NECK] != 0.0, own.counters[CLOSE_COUNT]
    for c in range(0, count, GATHERED):
        lanes = min(GATHERED, count - c)
        for m in range(lanes):
            gather_pair(work, solvent, own, has_neck, own.close_pair[c + m, 0], own.close_pair[c + m, 1], m)
        for m in range(lanes, (lanes + BLOCK - 1) // BLOCK * BLOCK):
            own.gathered[R2 * GATHERED + m] = BEYOND2
        for m in range(0, lanes, BLOCK):
            close_eight(solvent, own, has_neck, pairs.settings[CUTOFF2], m)
        for m in range(lanes):
            own.sum[own.close_pair[c + m, 0]] += own.gathered[SUMS * GATHERED + m]
            own.sum[own.close_pair[c + m, 1]] += own.gathered[SUMS_BACK * GATHERED + m]
            own.close_slope[c + m, 0] = own.gathered[SLOPES * GATHERED + m]
            own.close_slope[c + m, 1] = own.gathered[SLOPES_BACK * GATHERED + m]


@inlined
def gather_pair(work, solvent, own, has_neck, i, j, m):
    """Writes what is needed of one pair to lane m."""
    p, parameters, gathered = work.cluster.shape[0], solvent.parameters, own.gathered
    dx = work.position[i] - work.position[j]
    dy = work.position[p + i] - work.position[p + j]
    dz = work.position[2 * p + i] - work.position[2 * p + j]
    gathered[R2 * GATHERED + m] = dx * dx + dy * dy + dz * dz
    gathered[OFFSETS * GATHERED + m] = parameters[OFFSET * p + i]
    gathered[OFFSETS_BACK * GATHERED + m] = parameters[OFFSET * p + j]
    gathered[SCALES * GATHERED + m] = parameters[SCALED * p + j]
    gathered[SCALES_BACK * GATHERED + m] = parameters[SCALED * p + i]
    if has_neck:
        first, neck = 4 * solvent.kind[i] * p + j, solvent.neck
        gathered[DEPTHS * GATHERED + m] = neck[first + NECK_DEPTH * p]
        gathered[PLACES * GATHERED + m] = neck[first + NECK_PLACE * p]
        gathered[DEPTHS_BACK * GATHERED + m] = neck[first + NECK_DEPTH_BACK * p]
        gathered[PLACES_BACK * GATHERED + m] = neck[first + NECK_PLACE_BACK * p]
        gathered[ENDS * GATHERED + m] = parameters[NECK_HALF * p + i] + parameters[NECK_HALF * p + j]


@inlined
def close_eight(solvent, own, has_neck, cutoff2, m):
    """Integrals and their slopes over r, both ways, of eight gathered pairs from m on; zero beyond the cutoff."""
    gathered, engulfs = own.gathered, solvent.settings[ENGULFS]
    r2 = vload(gathered, R2 * GATHERED + m)
    within = vselect_less(r2, cutoff2, splat(1.0), 0.0)
    r = vsqrt(vselect_less(r2, cutoff2, r2, cutoff2))
    inverse = vdiv(splat(1.0), r)
    for k in range(2):
        offset, s = vload(gathered, (OFFSETS + k) * GATHERED + m), vload(gathered, (SCALES + k) * GATHERED + m)
        value, slope = integral_of_eight(offset, s, r, inverse, engulfs)
        if has_neck:
            depth, place = (
                vload(gathered, (DEPTHS + 2 * k) * GATHERED + m),
                vload(gathered, (PLACES + 2 * k) * GATHERED + m),
            )
            extra, extra_slope = neck_of_eight(depth, place, vload(gathered, ENDS * GATHERED + m), r)
            value = value + extra
            slope = slope + extra_slope
        vstore(gathered, (SUMS + k) * GATHERED + m, within * value)
        vstore(gathered, (SLOPES + k) * GATHERED + m, within * (slope * inverse))


@inlined
def integral_of_eight(offset, s, r, inverse, engulfs):
    """`integrals.integral` of eight pairs."""
    U, one = r + s, splat(1.0)
    exists = vselect_less(offset, U, one, 0.0)
    U = vselect_less(offset, U, U, offset)  # so that nothing below is out of its range
    apart = vabs(r - s)
    L = vselect_less(offset, apart, apart, offset)
    u, low = vdiv(one, U), vdiv(one, L)
    log = (0.5 * inverse) * vlog(L * u)
    squares, x = 0.25 * (u * u - low * low), s * inverse
    value = low - u + r * (1.0 - x * x) * squares + log
    slope = (1.0 + x * x) * squares - log * inverse
    engulfed = vselect_less(offset, s - r, one, 0.0)
    if engulfs != 0.0:
        value = value + engulfed * (2.0 * (vdiv(one, offset) - low))
    else:
        slope = slope + engulfed * (2.0 * (low * low))
    return exists * value, exists * slope


@inlined
def neck_of_eight(depth, place, ends, r):
    """`integrals.neck` of eight pairs; zero beyond the necks."""
    d = NECK_UNIT * r - place
    d2 = d * d
    inverse = vdiv(vselect_less(NECK_UNIT * r, ends, splat(1.0), 0.0), 1.0 + d2 * (NECK_NEAR + d2 * d2))
    value = depth * inverse
    return value, (-NECK_UNIT) * (value * inverse) * d * (2.0 * NECK_NEAR + 6.0 * (d2 * d2))
