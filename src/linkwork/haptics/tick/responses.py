"""How the bodies held respond to the wrenches of all hands, by a snapshot; both sides of the coupling ask it.

a = K w - Gᵀ G w        K w by the tree of segments, G by the rows of constraints                       (6)  docs/haptics.md
"""

from numba import int64  # what kernels see words as

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.paths.path_segments import AT_D, AT_U, IN_U, JUNCTION_STATE, network_responses, put6, times
from linkwork.haptics.sharing import layout
from linkwork.spatial.simd import flat6
from linkwork.spatial.vectors import add6, dot6, scale6, sub6


@inlined
def row_of(words, r, h):
    """Row r of the constraints on the body of hand h, in its frame."""
    integers = words.view(int64)
    return flat6(words, integers[layout.S_AT_ROWS] + 6 * (r * integers[layout.S_COUNT] + h))


@routine
def hand_responses(words, work, wrench, state, rows):
    """Works out the responses to wrenches at the points held, axes of the world: work[wrench:], six numbers per hand.

    They are turned into the bodies' frames in place. state, rows: where junctions and rows of constraints stand in
    `work`. Cost: O(hands (1 + rows)).
    """
    integers = words.view(int64)
    count, junctions = integers[layout.S_COUNT], integers[layout.S_JUNCTIONS]
    for k in range(junctions):
        for e in range(AT_U):
            work[state + JUNCTION_STATE * k + e] = 0.0
    for h in range(count):
        o = layout.S_GRASPS + h * layout.RECORD
        w = times(words, o + layout.R_INTO, 6, flat6(work, wrench + 6 * h))
        put6(work, wrench + 6 * h, w)
        at = state + JUNCTION_STATE * integers[o + layout.R_JUNCTION] + IN_U
        put6(work, at, add6(flat6(work, at), w))
    network_responses(words, layout.S_GRASPS + count * layout.RECORD, junctions, work[state:])
    for r in range(integers[layout.S_ROWS]):
        x = 0.0
        for h in range(count):
            x += dot6(row_of(words, r, h), flat6(work, wrench + 6 * h))
        work[rows + r] = x


@inlined
def hand_acceleration(words, work, h, state, rows):
    """Acceleration of the body of hand h, in its frame, as `hand_responses` left it."""
    integers = words.view(int64)
    a = flat6(work, state + JUNCTION_STATE * integers[layout.S_GRASPS + h * layout.RECORD + layout.R_JUNCTION] + AT_D)
    for r in range(integers[layout.S_ROWS]):
        row = row_of(words, r, h)
        a = sub6(a, scale6(work[rows + r], row))
    return a
