"""Pairs with one large rigid body, such as all that lies around a region: packed, in that body's frame.

Where one body has most of the atoms, they stand still in its frame for every other atom. Those within reach are written
down with the parameters of each pair, one after the other, when the list of neighbours is made: no lane is empty, nothing
is looked up, and no force is written for the atoms of that body. The wrench on it is the reaction to all the others: with x
the place of an atom in its frame and f the force on the atom, it is -Σ [x x f; f]. Forces on its single atoms are found
when somebody asks for them.
"""

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.pairs.pair_forces import eight_pairs, law_of
from linkwork.molecules.forces.tables import (
    AT_WORK,
    BLOCK,
    CHANGED,
    CUTOFF2,
    FAR,
    FIELD_OK,
    FIELD_PACKED_FULL,
    HAS_REACTIONS,
    PACKED,
    PACKED_ATOMS,
    PACKED_VECTORS,
    PAIRS,
    REACH,
    SURROUNDING,
    SWITCH,
    SWITCH_SLOPE,
)
from linkwork.spatial.memory import load3
from linkwork.spatial.rotations import cross3, matvec3, scale3, sub3, tmatvec3
from linkwork.spatial.simd import lane, splat, vload, vsum
from linkwork.spatial.simd_math import vbits_less, vdiv, vselect_less, vsqrt

MOST_VECTORS = 16384  # of eight pairs: 7 MB, beyond which reading them takes longer than looking parameters up
NONE3 = (0.0, 0.0, 0.0)
SHELLS = 3
REACTION = 12  # where the wrench begins in `work.reaction`


@inlined
def body_of_most(atoms):
    """The body that has more than half of all atoms, or -1: by voting, then by counting."""
    n = atoms.body.shape[0]
    found, votes, count = -1, 0, 0
    for i in range(n):
        if votes == 0:
            found = atoms.body[i]
        votes += 1 if atoms.body[i] == found else -1
    for i in range(n):
        count += atoms.body[i] == found
    return found if 2 * count > n else -1


@routine
def everything_is_listed(atoms, work):
    """No surroundings: the list of neighbours holds every atom."""
    n = atoms.body.shape[0]
    work.counters[SURROUNDING] = 0
    work.counters[PACKED_ATOMS] = 0
    for b in range(work.present.shape[0]):
        work.present[b] = (1 << min(BLOCK, n - b * BLOCK)) - 1


@routine
def pack_surroundings(atoms, pairs, work):
    """Packs all pairs with the body that has most of the atoms, and takes its atoms off the list; positions are up to date.

    FIELD_PACKED_FULL: `counters[PACKED_VECTORS]` says how much room it takes.
    """
    everything_is_listed(atoms, work)
    body = body_of_most(atoms)
    if body < 0:
        return FIELD_OK
    n = atoms.body.shape[0]
    own = -1  # cluster of that body
    for i in range(n):
        if atoms.body[i] == body:
            work.present[i // BLOCK] &= ~(1 << (i % BLOCK))
            own = work.cluster[i]
    work.mark[:] = -1
    count, vectors, found = 0, 0, 0
    for a in range(work.present.shape[0]):
        candidates = blocks_around(work, a, pairs.settings[REACH], n) if work.present[a] != 0 else 0
        for i in range(a * BLOCK, min(n, (a + 1) * BLOCK)):
            if candidates == 0 or (work.present[a] >> (i % BLOCK)) & 1 == 0 or work.cluster[i] == own:
                continue
            slots = pack_atom(atoms, pairs, work, i, candidates, vectors)
            if slots > 0:
                work.packed_atom[count] = i
                work.packed_row[count] = vectors
                vectors += (slots + BLOCK - 1) // BLOCK
                found += slots
                count += 1
    work.packed_row[count] = vectors
    work.counters[PACKED_VECTORS] = vectors
    if vectors > MOST_VECTORS:
        everything_is_listed(atoms, work)
        return FIELD_OK
    if vectors * PACKED > work.packed.shape[0]:
        return FIELD_PACKED_FULL
    work.counters[SURROUNDING] = body + 1
    work.counters[PACKED_ATOMS] = count
    work.counters[PAIRS] = found
    return FIELD_OK


@inlined
def surrounding_bits(work, b, n):
    """One bit for every atom of block b that belongs to the surroundings."""
    return ((1 << min(BLOCK, n - b * BLOCK)) - 1) & ~work.present[b]


@routine
def blocks_around(work, a, reach, n):
    """Collects the blocks with atoms of the surroundings that may be within reach of block a; returns how many."""
    sphere = work.block_sphere
    count = 0
    for b in range(work.present.shape[0]):
        dx = sphere[a, 0] - sphere[b, 0]
        dy = sphere[a, 1] - sphere[b, 1]
        dz = sphere[a, 2] - sphere[b, 2]
        far = reach + sphere[a, 3] + sphere[b, 3]
        if dx * dx + dy * dy + dz * dz < far * far and surrounding_bits(work, b, n) != 0:
            work.candidate[count] = b
            count += 1
    return count


@routine
def pack_atom(atoms, pairs, work, i, candidates, vector):
    """Writes the pairs of atom i from a vector on, as far as there is room; returns how many there are.

    Near ones first: whole vectors of far ones are then beyond the cutoff, and of near ones within the switch.
    """
    n, p = atoms.body.shape[0], work.cluster.shape[0]
    parameters = pairs.parameters
    for k in range(pairs.excluded_start[i], pairs.excluded_start[i + 1]):
        work.mark[pairs.excluded[k]] = i
    xi, yi, zi = splat(work.position[i]), splat(work.position[p + i]), splat(work.position[2 * p + i])
    room = work.packed.shape[0] // 6
    slot = vector * BLOCK
    inner2 = 0.0
    for shell in range(SHELLS):
        outer2 = outer_radius2(pairs.settings, shell)
        for c in range(candidates if outer2 > inner2 else 0):
            first = work.candidate[c] * BLOCK
            dx = xi - vload(work.position, first)
            dy = yi - vload(work.position, p + first)
            dz = zi - vload(work.position, 2 * p + first)
            r2 = dx * dx + dy * dy + dz * dz
            bits = vbits_less(r2, splat(outer2)) & ~vbits_less(r2, splat(inner2))
            bits &= surrounding_bits(work, first // BLOCK, n)
            for k in range(BLOCK if bits != 0 else 0):
                j = first + k
                if (bits >> k) & 1 == 0 or work.mark[j] == i or (j < i and is_excluded(pairs, j, i)):
                    continue
                if slot < room:
                    write_pair(work, slot, load3(atoms.local, j, 0), j)
                    at = slot // BLOCK * PACKED + slot % BLOCK
                    work.packed[at + 3 * BLOCK] = parameters[i] + parameters[j]
                    work.packed[at + 4 * BLOCK] = parameters[p + i] * parameters[p + j]
                    work.packed[at + 5 * BLOCK] = parameters[2 * p + i] * parameters[2 * p + j]
                slot += 1
        inner2 = max(inner2, outer2)
    found = slot - vector * BLOCK
    while slot % BLOCK != 0:
        if slot < room:
            write_pair(work, slot, (FAR, FAR, FAR), -1)
            for c in range(3, 6):
                work.packed[slot // BLOCK * PACKED + c * BLOCK + slot % BLOCK] = 0.0
        slot += 1
    return found


@inlined
def outer_radius2(settings, shell):
    """Square of the distance up to which pairs of a shell are [nm²]: within the switch, within the cutoff, within reach."""
    if shell == 0:
        return settings[SWITCH] ** 2 if settings[SWITCH_SLOPE] > 0.0 else 0.0
    return settings[CUTOFF2] if shell == 1 else settings[REACH] ** 2


@inlined
def write_pair(work, slot, x, partner):
    at = slot // BLOCK * PACKED + slot % BLOCK
    work.packed[at] = x[0]
    work.packed[at + BLOCK] = x[1]
    work.packed[at + 2 * BLOCK] = x[2]
    work.packed_partner[slot] = partner


@inlined
def is_excluded(pairs, j, i):
    """Whether atom j has the later atom i among its excluded partners, which are sorted."""
    begin, end = pairs.excluded_start[j], pairs.excluded_start[j + 1]
    if begin == end or pairs.excluded[end - 1] < i:
        return False
    found = False
    for k in range(begin, end):
        found = found or pairs.excluded[k] == i
    return found


@inlined
def eight_places(work, vector, x):
    """From eight packed atoms to x, all in the frame of the surroundings; and the squares of the distances."""
    at = vector * PACKED
    dx = splat(x[0]) - vload(work.packed, at)
    dy = splat(x[1]) - vload(work.packed, at + BLOCK)
    dz = splat(x[2]) - vload(work.packed, at + 2 * BLOCK)
    return dx, dy, dz, dx * dx + dy * dy + dz * dz


@inlined
def eight_packed(work, vector, r2, cutoff2, law):
    """`eight_pairs` of packed pairs at these distances."""
    at, packed, one = vector * PACKED + 3 * BLOCK, work.packed, splat(1.0)
    _, _, begin_fade, fade = law
    fades = fade > 0.0 and vbits_less(splat(begin_fade * begin_fade), r2) != 0
    inside = vselect_less(r2, cutoff2, one, splat(0.0))
    inverse2 = vdiv(one, r2)
    depth, qq = vload(packed, at + BLOCK) * inside, vload(packed, at + 2 * BLOCK) * inside
    return eight_pairs(law, fades, r2, vsqrt(inverse2), inverse2, vload(packed, at), depth, qq)


@inlined
def packed_place(work, i):
    """Where atom i is in the frame of the surroundings."""
    p = work.cluster.shape[0]
    x = (work.position[i], work.position[p + i], work.position[2 * p + i])
    frame = work.reaction
    R = (frame[0], frame[1], frame[2], frame[3], frame[4], frame[5], frame[6], frame[7], frame[8])
    return R, tmatvec3(R, sub3(x, (frame[9], frame[10], frame[11])))


@routine
def forces_of_surroundings(pairs, work, poses):
    """Adds the forces of all packed pairs on the atoms outside; keeps the wrench on the body. Returns their energy."""
    work.counters[HAS_REACTIONS] = 0
    if work.counters[SURROUNDING] == 0:
        return 0.0
    for k in range(12):
        work.reaction[k] = poses[work.counters[SURROUNDING] - 1, k]
    p = work.cluster.shape[0]
    cutoff2, law = splat(pairs.settings[CUTOFF2]), law_of(pairs.settings)
    zero = splat(0.0)
    energy = zero
    n, f = NONE3, NONE3
    for m in range(work.counters[PACKED_ATOMS]):
        i = work.packed_atom[m]
        R, x = packed_place(work, i)
        fx = fy = fz = zero
        for vector in range(work.packed_row[m], work.packed_row[m + 1]):
            dx, dy, dz, r2 = eight_places(work, vector, x)
            if vbits_less(r2, cutoff2) == 0:
                continue
            found, g = eight_packed(work, vector, r2, cutoff2, law)
            energy = energy + found
            fx, fy, fz = fx + g * dx, fy + g * dy, fz + g * dz
        own = (vsum(fx), vsum(fy), vsum(fz))
        n = sub3(n, cross3(x, own))
        f = sub3(f, own)
        own = matvec3(R, own)
        for d in range(3):
            work.force[d * p + i] += own[d]
    for d in range(3):
        work.reaction[REACTION + d] = n[d]
        work.reaction[REACTION + 3 + d] = f[d]
    return vsum(energy)


@inlined
def add_reaction(work, out):
    """Adds the wrench on the surrounding body to the wrenches on all bodies (n, 6)."""
    body = work.counters[SURROUNDING] - 1
    if body >= 0:
        for d in range(6):
            out[body, d] += work.reaction[REACTION + d]


@routine
def forces_on_surroundings(pairs, work):
    """Adds the forces of the last evaluation on the single atoms of the surroundings."""
    if work.counters[SURROUNDING] == 0 or work.counters[HAS_REACTIONS] == 1:
        return
    work.counters[HAS_REACTIONS] = 1
    p = work.cluster.shape[0]
    for w in range(work.counters[AT_WORK], work.counters[AT_WORK] + work.counters[CHANGED]):
        first = work.at_work[w] * BLOCK
        for i in range(first, first + BLOCK):
            for d in range(3):
                work.force[d * p + i] = 0.0
    cutoff2, law = splat(pairs.settings[CUTOFF2]), law_of(pairs.settings)
    for m in range(work.counters[PACKED_ATOMS]):
        R, x = packed_place(work, work.packed_atom[m])
        for vector in range(work.packed_row[m], work.packed_row[m + 1]):
            dx, dy, dz, r2 = eight_places(work, vector, x)
            _, g = eight_packed(work, vector, r2, cutoff2, law)
            for k in range(BLOCK):
                j = work.packed_partner[vector * BLOCK + k]
                if j >= 0:
                    f = scale3(lane(g, k), matvec3(R, (lane(dx, k), lane(dy, k), lane(dz, k))))
                    for d in range(3):
                        work.force[d * p + j] -= f[d]
