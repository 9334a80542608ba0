"""Which listed pairs are within the cutoff: noted by the first pass of an evaluation, for all three.

An entry of the list is one atom and a block of eight others. Of the lanes of entries with a pair within the cutoff, 65 %
hold one. So a block stays whole only if both of its halves hold such a pair; of the others one half is kept, and two halves
go together as a block does: 76 % of the lanes hold a pair then, and each pass has 15 % fewer vectors to do.
"""

from linkwork.core.jit import inlined, routine
from linkwork.molecules.forces.tables import BLOCK
from linkwork.spatial.simd import splat, vload
from linkwork.spatial.simd_math import vbits_less

HALF = BLOCK // 2
LOW, HIGH = (1 << HALF) - 1, 255 - ((1 << HALF) - 1)  # bits of the first and of the second half of a block
BLOCKS_BEGIN, BLOCKS_END, HALVES_BEGIN, HALVES_END = range(4)  # columns of `near_row`


@routine
def find_near(work, own, i, block, half, cutoff2):
    """Notes the pairs of atom i within the cutoff: blocks from number `block` on, halves from number `half` on.

    Returns where both end. There is an even number of halves, the last one perhaps without pairs.
    """
    count = compare_with_cutoff(work, own, i, cutoff2)
    own.near_row[i, BLOCKS_BEGIN], own.near_row[i, HALVES_BEGIN] = block, half
    for k in range(count):
        found = own.row_found[k]
        has_low, has_high = ((found & LOW) + LOW) >> HALF, ((found & HIGH) + HIGH) >> BLOCK  # 1 or 0
        # Which of them stay, no processor could guess: written always, kept if they do
        own.near_block[block] = found
        own.near_half[half] = found
        block += has_low & has_high
        half += has_low ^ has_high
    if (half - own.near_row[i, HALVES_BEGIN]) % 2 == 1:
        own.near_half[half] = own.near_half[half - 1] & ~255
        half += 1
    own.near_row[i, BLOCKS_END], own.near_row[i, HALVES_END] = block, half
    return block, half


@routine
def compare_with_cutoff(work, own, i, cutoff2):
    """Writes the listed entries of atom i to `row_found`, with the bits of pairs within the cutoff; returns their number.

    A loop of its own: with stores whose place depends on what was found, it takes twice as long.
    """
    position, p = work.position, work.cluster.shape[0]
    within = splat(cutoff2)
    xi, yi, zi = splat(position[i]), splat(position[p + i]), splat(position[2 * p + i])
    begin = work.row[i]
    for k in range(begin, work.row[i + 1]):
        j = (work.entry[k] >> 8) * BLOCK
        dx = xi - vload(position, j)
        dy = yi - vload(position, p + j)
        dz = zi - vload(position, 2 * p + j)
        bits = vbits_less(dx * dx + dy * dy + dz * dz, within)
        own.row_found[k - begin] = work.entry[k] & (bits | ~255)
    return work.row[i + 1] - begin


@inlined
def nothing_near(own, i):
    row = own.near_row
    return row[i, BLOCKS_BEGIN] == row[i, BLOCKS_END] and row[i, HALVES_BEGIN] == row[i, HALVES_END]


@inlined
def first_of_half(found):
    """The first atom of a half; one without pairs stands for the first half of its block."""
    second = 0 if found & HIGH == 0 else HALF
    return (found >> 8) * BLOCK + second


@inlined
def whole_block(own, k):
    """Where the atoms of a block begin, and one bit for each: whether the pair is within the cutoff."""
    found = own.near_block[k]
    return ((found >> 8) * BLOCK,), found & 255


@inlined
def two_halves(own, k):
    """Where the atoms of two halves begin, and one bit for each."""
    one, other = own.near_half[k], own.near_half[k + 1]
    return (first_of_half(one), first_of_half(other)), bits_of_half(one) | bits_of_half(other) << HALF


@inlined
def bits_of_half(found):
    return (found | found >> HALF) & LOW


@inlined
def slot_of_block(k):
    """Where the numbers of pairs of a block are kept."""
    return k * BLOCK


@inlined
def slot_of_halves(own, k):
    """Where the numbers of pairs of two halves are kept: behind those of all blocks."""
    return own.near_block.shape[0] * BLOCK + k * HALF
