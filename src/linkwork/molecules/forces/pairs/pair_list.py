"""The list of neighbours: for every atom the blocks of eight atoms within reach, with one bit per atom that counts.

Left out are pairs inside a cluster that moves as one (they exert no net wrench on it), excluded pairs, and each pair's
second mention. Blocks are first compared by the spheres around them, then each atom with eight others at a time.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.pairs.at_work import (
    find_atoms_at_work,
    largest_move2,
    place_all_atoms,
    place_atoms_at_work,
    remember_bodies,
)
from linkwork.molecules.forces.pairs.surroundings import everything_is_listed, pack_surroundings
from linkwork.molecules.forces.tables import (
    BLOCK,
    FIELD_LIST_FULL,
    FIELD_NOT_FINITE,
    FIELD_OK,
    HALF_SKIN2,
    LIST_BUILDS,
    LIST_IS_VALID,
    LISTED,
    PAIRS,
    REACH,
)
from linkwork.spatial.simd import splat, vload
from linkwork.spatial.simd_math import vbits_less

SEVERAL = -2  # in `block_cluster`


@routine
def refresh_list(tables, poses, packs):
    """Places the atoms that matter. Makes the list anew where atoms moved more than half the skin, or clusters changed.

    packs: whether pairs with a body of most atoms are packed (`surroundings`) and taken off the list.
    """
    atoms, pairs, terms, work = tables
    moved2 = largest_move2(work, poses)
    if not math.isfinite(moved2):
        return FIELD_NOT_FINITE
    if work.counters[LIST_IS_VALID] == 1 and moved2 <= pairs.settings[HALF_SKIN2]:
        place_atoms_at_work(atoms, work, poses)
        return FIELD_OK
    work.counters[LIST_IS_VALID] = 0
    place_all_atoms(atoms, work, poses)
    describe_blocks(work)
    work.counters[PAIRS] = 0
    status = FIELD_OK
    if packs:
        status = pack_surroundings(atoms, pairs, work)
    else:
        everything_is_listed(atoms, work)
    if status == FIELD_OK:
        status = list_neighbours(atoms, pairs, work)
    if status != FIELD_OK:
        return status
    remember_bodies(atoms, work, poses)
    find_atoms_at_work(atoms, terms, work)
    work.counters[LIST_IS_VALID] = 1
    work.counters[LIST_BUILDS] += 1
    return FIELD_OK


@routine
def describe_blocks(work):
    """Spheres around the blocks, and whether their atoms move as one."""
    position, p = work.position, work.cluster.shape[0]
    for b in range(work.block_cluster.shape[0]):
        first = b * BLOCK
        last = first
        x = y = z = 0.0
        cluster = work.cluster[first]
        for i in range(first, first + BLOCK):
            if work.cluster[i] < 0:
                break
            last = i + 1
            work.cluster_end[work.cluster[i]] = i
            x += position[i]
            y += position[p + i]
            z += position[2 * p + i]
            if work.cluster[i] != cluster:
                cluster = SEVERAL
        count = last - first
        x, y, z = x / count, y / count, z / count
        r2 = 0.0
        for i in range(first, last):
            r2 = max(r2, (position[i] - x) ** 2 + (position[p + i] - y) ** 2 + (position[2 * p + i] - z) ** 2)
        work.block_sphere[b, 0] = x
        work.block_sphere[b, 1] = y
        work.block_sphere[b, 2] = z
        work.block_sphere[b, 3] = math.sqrt(r2)
        work.block_cluster[b] = cluster
    last = work.block_cluster.shape[0] - 1
    work.run_end[last] = last + 1
    for b in range(last - 1, -1, -1):
        goes_on = work.block_cluster[b] != SEVERAL and work.block_cluster[b] == work.block_cluster[b + 1]
        work.run_end[b] = work.run_end[b + 1] if goes_on else b + 1


@routine
def list_neighbours(atoms, pairs, work):
    """Writes rows and entries; FIELD_LIST_FULL where there is no room."""
    n = atoms.body.shape[0]
    reach = pairs.settings[REACH]
    listed = 0
    found = 0
    work.mark[:] = -1
    for a in range(work.block_cluster.shape[0]):
        candidates = nearby_blocks(work, a, reach) if work.present[a] != 0 else 0
        if candidates == 0:
            for i in range(a * BLOCK, min(n, (a + 1) * BLOCK)):
                work.row[i] = listed
            continue
        for i in range(a * BLOCK, min(n, (a + 1) * BLOCK)):
            for k in range(pairs.excluded_start[i], pairs.excluded_start[i + 1]):
                work.mark[pairs.excluded[k]] = i
            work.row[i] = listed
            if (work.present[a] >> (i % BLOCK)) & 1 == 0:
                continue
            last_to_look_at = last_of_kin(pairs, work, i) // BLOCK
            if listed + candidates > work.entry.shape[0]:
                return FIELD_LIST_FULL
            for c in range(candidates):
                b = work.candidate[c]
                if work.block_cluster[b] == work.cluster[i]:
                    continue
                mask = within_reach(work, i, b, reach) & work.present[b]
                if b <= last_to_look_at:
                    mask = without_own(work, i, b, mask)
                # Half of the masks are empty, in no order a processor could guess: written always, kept if not empty
                work.entry[listed] = b * 256 + mask
                listed += 1 if mask != 0 else 0
                found += count_bits(mask)
    work.row[n] = listed
    work.counters[LISTED] = listed
    work.counters[PAIRS] += found
    return FIELD_OK


@routine
def nearby_blocks(work, a, reach):
    """Collects the blocks from `a` on that may hold partners of its atoms; returns how many."""
    sphere = work.block_sphere
    own = work.block_cluster[a]
    count = 0
    b = a - 1
    while b + 1 < work.block_cluster.shape[0]:
        b += 1
        if own != SEVERAL and own == work.block_cluster[b]:
            b = work.run_end[b] - 1  # all blocks up to there move as this one does
            continue
        dx = sphere[a, 0] - sphere[b, 0]
        dy = sphere[a, 1] - sphere[b, 1]
        dz = sphere[a, 2] - sphere[b, 2]
        far = reach + sphere[a, 3] + sphere[b, 3]
        if dx * dx + dy * dy + dz * dz < far * far and work.present[b] != 0:
            work.candidate[count] = b
            count += 1
    return count


@inlined
def within_reach(work, i, b, reach):
    """One bit for every atom of block b that is nearer to atom i than `reach`."""
    p = work.cluster.shape[0]
    first = b * BLOCK
    dx = splat(work.position[i]) - vload(work.position, first)
    dy = splat(work.position[p + i]) - vload(work.position, p + first)
    dz = splat(work.position[2 * p + i]) - vload(work.position, 2 * p + first)
    return vbits_less(dx * dx + dy * dy + dz * dz, splat(reach * reach))


@inlined
def without_own(work, i, b, mask):
    """Takes out atoms of the same cluster, excluded ones and those before i."""
    for k in range(BLOCK):
        j = b * BLOCK + k
        cluster = work.cluster[j]
        if j <= i or cluster == work.cluster[i] or work.mark[j] == i:
            mask &= ~(1 << k)
    return mask


@inlined
def last_of_kin(pairs, work, i):
    """The last atom that moves with atom i or is excluded from it: none further on needs a look."""
    last = max(i, work.cluster_end[work.cluster[i]])
    end = pairs.excluded_start[i + 1]
    if end > pairs.excluded_start[i]:
        last = max(last, pairs.excluded[end - 1])  # sorted
    return last


@inlined
def count_bits(mask):
    """Bits set in eight."""
    pairs = mask - ((mask >> 1) & 0x55)
    fours = (pairs & 0x33) + ((pairs >> 2) & 0x33)
    return (fours + (fours >> 4)) & 0x0F
