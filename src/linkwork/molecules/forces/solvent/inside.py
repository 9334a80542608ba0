"""Pairs inside rigid groups: their distances and integrals are found once, when groups change."""

import math

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.kernel import carried_by_one
from linkwork.molecules.forces.pairs.pair_forces import BEYOND2
from linkwork.molecules.forces.pairs.pair_list import last_of_kin, within_reach
from linkwork.molecules.forces.solvent.descreening import add_integrals, distance2, integrals_of_pair
from linkwork.molecules.forces.solvent.necks import add_necks, necks_of
from linkwork.molecules.forces.solvent.tables import CLOSE, HAS_NECK, INSIDE_IS_VALID, KIN_COUNT, SCALED2, SCALED3
from linkwork.molecules.forces.tables import BLOCK, CUTOFF2, FIELD_INSIDE_FULL, FIELD_OK
from linkwork.spatial.simd import splat, vload, vstore, vsum
from linkwork.spatial.simd_math import vbits_less, vrsqrt, vselect_less


@routine
def choose_kin(tables, own_tables, cluster):
    """Excluded pairs whose distance can change when bodies of one number in `cluster` (n,) move as one."""
    solvent, own = own_tables
    count = 0
    for k in range(solvent.kin.shape[0]):
        own.kin_moves[k] = 0 if carried_by_one(tables.atoms, cluster, solvent.kin, k) else 1
        if own.kin_moves[k] == 1:
            own.close_pair[count, 0] = solvent.kin[k, 0]
            own.close_pair[count, 1] = solvent.kin[k, 1]
            count += 1
    own.counters[KIN_COUNT] = count
    own.counters[INSIDE_IS_VALID] = 0


@routine
def list_inside(tables, own_tables):
    """Pairs that keep their distance, with its square, and the sums of their integrals. All atoms must be placed."""
    atoms, pairs, _, work = tables
    solvent, own = own_tables
    n = atoms.body.shape[0]
    reach = math.sqrt(pairs.settings[CUTOFF2])
    count = 0
    work.mark[:] = -1
    own.inside_sum[:] = 0.0
    for i in range(n):
        own.inside_row[i] = count
        for k in range(pairs.excluded_start[i], pairs.excluded_start[i + 1]):
            if own.kin_moves[k] == 0:
                work.mark[pairs.excluded[k]] = i
        for b in range(i // BLOCK, last_of_kin(pairs, work, i) // BLOCK + 1):
            if far_apart(work, i // BLOCK, b, reach):
                continue
            mask = only_inside(work, i, b, within_reach(work, i, b, reach))
            if mask == 0:
                continue
            if count == own.inside_entry.shape[0]:
                return FIELD_INSIDE_FULL
            own.inside_entry[count] = b * 256 + mask
            keep_distances(work, solvent, own, i, b * BLOCK, mask, count)
            count += 1
    own.inside_row[n] = count
    own.counters[INSIDE_IS_VALID] = 1
    return FIELD_OK


@inlined
def far_apart(work, a, b, reach):
    sphere = work.block_sphere
    dx, dy, dz = sphere[a, 0] - sphere[b, 0], sphere[a, 1] - sphere[b, 1], sphere[a, 2] - sphere[b, 2]
    far = reach + sphere[a, 3] + sphere[b, 3]
    return dx * dx + dy * dy + dz * dz > far * far


@inlined
def only_inside(work, i, b, mask):
    """Keeps the atoms behind i that move with it, and excluded ones that keep their distance from it."""
    for k in range(BLOCK):
        j = b * BLOCK + k
        if j <= i or work.cluster[j] < 0 or not (work.cluster[j] == work.cluster[i] or work.mark[j] == i):
            mask &= ~(1 << k)
    return mask


@routine
def keep_distances(work, solvent, own, i, j, mask, entry):
    """Squares of the distances of atom i from eight atoms, and what they add to both sums."""
    p = work.cluster.shape[0]
    parameters = solvent.parameters
    dx = splat(work.position[i]) - vload(work.position, j)
    dy = splat(work.position[p + i]) - vload(work.position, p + j)
    dz = splat(work.position[2 * p + i]) - vload(work.position, 2 * p + j)
    r2 = vselect_less(splat(0.0), vload(work.lanes, mask * BLOCK), dx * dx + dy * dy + dz * dz, splat(BEYOND2))
    vstore(own.inside_r2, entry * BLOCK, r2)
    close = splat(parameters[CLOSE * p + i]) + vload(parameters, CLOSE * p + j)
    inverse = vselect_less(r2, splat(BEYOND2), vrsqrt(r2), splat(0.0))
    inverse = vselect_less(r2, close * close, splat(0.0), inverse)
    there, back = add_integrals(
        parameters[SCALED2 * p + i],
        parameters[SCALED3 * p + i],
        vload(parameters, SCALED2 * p + j),
        vload(parameters, SCALED3 * p + j),
        inverse,
    )
    if solvent.settings[HAS_NECK] != 0.0:
        neck_there, neck_back = add_necks(necks_of(solvent, p, i, (j,)), r2, inverse)
        there, back = there + neck_there, back + neck_back
    own.inside_sum[i] += vsum(there)
    vstore(own.inside_sum, j, vload(own.inside_sum, j) + back)
    near = vbits_less(r2, close * close)
    for m in range(BLOCK):
        if (near >> m) & 1:
            r = math.sqrt(distance2(work, i, j + m))
            there_too, back_too, _, _ = integrals_of_pair(solvent, p, i, j + m, r)
            own.inside_sum[i] += there_too
            own.inside_sum[j + m] += back_too
