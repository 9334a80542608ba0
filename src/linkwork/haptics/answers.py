"""How the bodies held answer the wrenches of all hands, from the words of a snapshot: the coupling loop's side and the other's.

a = K w - Gᵀ G w        K w by the tree of segments, G by the rows of constraints                       (6)  docs/haptics.md
"""

from numba import int64  # what kernels see words as

from linkwork.core.jit import inlined, routine
from linkwork.dynamics.path_segments import AT_D, AT_U, IN_U, STATION_STATE, answer_network
from linkwork.haptics.layout import (
    R_INTO,
    R_STATION,
    RECORD,
    S_AT_ROWS,
    S_COUNT,
    S_HANDS,
    S_ROWS,
    S_STATIONS,
)
from linkwork.spatial.vectors import sub6


@inlined
def six(a, o):
    return (a[o], a[o + 1], a[o + 2], a[o + 3], a[o + 4], a[o + 5])


@inlined
def row_of(words, r, h):
    """Row r of the constraints on the body of hand h, in its frame."""
    whole = words.view(int64)
    return six(words, whole[S_AT_ROWS] + 6 * (r * whole[S_COUNT] + h))


@routine
def answer_hands(words, work, wrench, state, rows):
    """Works out the answers to wrenches at the points held, axes of the world: work[wrench:], six numbers per hand.

    They are turned into the bodies' frames in place. state, rows: where stations and rows of constraints stand in `work`.
    Cost: O(hands (1 + rows)).
    """
    whole = words.view(int64)
    count, stations = whole[S_COUNT], whole[S_STATIONS]
    for k in range(stations):
        for e in range(AT_U):
            work[state + STATION_STATE * k + e] = 0.0
    for h in range(count):
        o = S_HANDS + h * RECORD
        w = six(work, wrench + 6 * h)
        at = state + STATION_STATE * whole[o + R_STATION] + IN_U
        for r in range(6):
            m = o + R_INTO + 6 * r
            x = 0.0
            for c in range(6):
                x += words[m + c] * w[c]
            work[wrench + 6 * h + r] = x
            work[at + r] += x
    answer_network(words, S_HANDS + count * RECORD, stations, work[state:])
    for r in range(whole[S_ROWS]):
        x = 0.0
        for h in range(count):
            row = row_of(words, r, h)
            for e in range(6):
                x += row[e] * work[wrench + 6 * h + e]
        work[rows + r] = x


@inlined
def hand_acceleration(words, work, h, state, rows):
    """Acceleration of the body of hand h, in its frame, as `answer_hands` left it."""
    whole = words.view(int64)
    a = six(work, state + STATION_STATE * whole[S_HANDS + h * RECORD + R_STATION] + AT_D)
    for r in range(whole[S_ROWS]):
        row = row_of(words, r, h)
        x = work[rows + r]
        a = sub6(a, (x * row[0], x * row[1], x * row[2], x * row[3], x * row[4], x * row[5]))
    return a
