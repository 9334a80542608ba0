"""How k bodies respond to wrenches on each other, as a small tree of segments: made in O(k log(n/k)), asked in O(k).

The paths of k bodies to the root of the assembly tree meet in at most k - 1 nodes. Between two *junctions* (nodes of
the bodies, and nodes where paths meet) a path is a chain of linear nodes: a segment with bottom u and top t has

    t = T u                  what goes up: wrenches of branches, changes of acceleration of clusters        (1)
    d_u = R u + Tᵀ d_t       what comes down: accelerations of their carriers, forces of their handles       (2)

because joints respond to each other alike (J M⁻¹ Jᵀ is symmetric). T and R come from one climb and one descent of the
segment for each number of u. Junctions of bodies and of sums carry six numbers: a wrench up, an acceleration down. A
junction where two clusters are joined gets (c₁, g) from the upper one and (g, c₂) from the lower one, with g the change
of the gap that the joint has to close:

    u = (c₁, c₂) + N g       d_g = Nᵀ d_u - W g                                                              (3)

The tree is a run of 8-byte words, so that it can be handed to another process.
"""

from typing import NamedTuple

import numpy as np
from numba import int64

from linkwork.assembly.node_table import BODY, HANG, INDEX, JOIN, LEFT, NODE_KIND, ROLE, UP, UPPER
from linkwork.core.arrays import IntArray
from linkwork.core.bundles import Float2, Int1, reader
from linkwork.core.jit import inlined, routine
from linkwork.dynamics.dca.back_substitution import pass_joint
from linkwork.dynamics.dca.nodes import H_P, H_R, JOIN_L
from linkwork.dynamics.paths.path_data import PathData, path_data_of
from linkwork.dynamics.paths.path_queries import (
    NO_NODE,
    back_on_upper,
    body_acceleration,
    climb_on,
    hang_force,
    join_force,
    push_gap,
    times_block,
)
from linkwork.dynamics.paths.path_union import PathUnion
from linkwork.spatial.memory import load3, load6, load9
from linkwork.spatial.simd import flat6, negate6
from linkwork.spatial.vectors import ZERO6, add6, dot6, scale6, sub6, twist_to_child, unit6

# The tree in words: first, per junction, where it begins, counted from the start of the tree. A junction: 4 integers,
# then its matrices, row by row.
N_ABOVE = 0  # number of the next junction above; -1 at the last one
N_ENTERS = 1  # how it enters the one above
N_SIZE = 2  # numbers of u: 6, or 12 where two clusters are joined
N_ROWS = 3  # rows of T: 6, 12, or none at the last junction
N_R = 4  # R (size x size); then T (6 or 12 rows x size) unless it is the last; then N (12 x 6) and W (6 x 6) of a joint
ADDS, AS_UPPER, AS_LOWER = 0, 1, 2  # N_ENTERS: to the wrench of a body or sum; to (c₁, g); to (g, c₂)
SMALL_JUNCTION = 1 + N_R + 36 + 72
JOINT_JUNCTION = 1 + N_R + 144 + 144 + 72 + 36

# Numbers of a junction while responses are worked out: what came in, u, d_u and d_g.
IN_U, IN_G, AT_U, AT_D, AT_DG, JUNCTION_STATE = 0, 12, 18, 30, 42, 48


def network_words(bodies: int) -> int:
    """Most words that the tree of so many bodies takes."""
    return bodies * SMALL_JUNCTION + max(0, bodies - 1) * JOINT_JUNCTION


class Segments(NamedTuple):
    """The junctions on the paths of k bodies, children before parents."""

    node: Int1  # (s,)  in the assembly tree
    above: Int1  # (s,)  the next junction above; -1 at the last one
    junction: Int1  # (k,)  of each body
    own: Float2  # (s, 144)  response of each junction to itself, with all that is above


segments_of = reader(Segments, PathData, PathUnion)


def segments(nodes: IntArray, union: PathUnion) -> Segments:
    """The junctions of a union of paths. Cost: O(nodes of the union)."""
    meets = ((union.child >= 0).sum(axis=1) == 2) | np.isin(np.arange(union.node.size), union.place)
    places = np.flatnonzero(meets)
    number = {int(union.node[p]): k for k, p in enumerate(places)}
    above = np.full(places.size, -1, dtype=np.int64)
    for k, p in enumerate(places):
        node = int(nodes[union.node[p], UP])
        while node >= 0 and node not in number:
            node = int(nodes[node, UP])
        above[k] = number.get(node, -1)
    junction = np.searchsorted(places, union.place).astype(np.int64)
    return Segments(union.node[places].copy(), above, junction, np.zeros((places.size, 144)))


# --------------------------------------------------------------------------------------------------------- making the tree


@routine
def write_network(table, words, start):
    """Writes the tree of the present coefficients into words[start:]; returns how many words it takes.

    table: of PathData, PathUnion and Segments. Cost: O(k log(n/k)).
    """
    d = path_data_of(table)
    s = segments_of(table)
    header = words.view(int64)
    o = start + s.node.shape[0]
    for k in range(s.node.shape[0]):
        header[start + k] = o - start
        node = s.node[k]
        above = s.above[k]
        size = 12 if d.nodes[node, NODE_KIND] == JOIN else 6
        rows, enters, stop = 0, ADDS, NO_NODE
        if above >= 0:
            stop = s.node[above]
            rows = 6
            if d.nodes[stop, NODE_KIND] == JOIN:
                rows = 12
                enters = AS_UPPER if last_before(d.nodes, node, stop) == UPPER else AS_LOWER
        T = o + N_R + size * size
        for c in range(size):
            write_column(table, words, node, stop, enters, o + N_R, T, size, rows, c)
        end = T + rows * size
        if size == 12:
            write_joint(table, words, node, end)
            end += 108
        header[o + N_ABOVE], header[o + N_ENTERS], header[o + N_SIZE], header[o + N_ROWS] = above, enters, size, rows
        o = end
    return o - start


@inlined
def last_before(nodes, node, stop):
    """Role of the node right below `stop` on the way up from `node`."""
    while nodes[node, UP] != stop:
        node = nodes[node, UP]
    return nodes[node, ROLE]


@routine
def write_column(table, words, node, stop, enters, R, T, size, rows, c):
    """Column c of R and T of the segment from a junction to the one above: one climb, one descent."""
    d = path_data_of(table)
    kind = d.nodes[node, NODE_KIND]
    e = unit6(c % 6)
    b1, b2, p, b = ZERO6, ZERO6, ZERO6, ZERO6
    if kind == BODY:
        b = times_block(d.node_data, d.block[node], e)
        b1, b2 = b, b
    elif kind == JOIN:
        if c < 6:
            b1 = e
        else:
            b2 = e
    else:
        p = negate6(e)
    d.path[0] = node
    count, b1, b2, p = climb_on(table, node, stop, b1, b2, p)
    if rows == 6:
        for r in range(6):
            words[T + r * size + c] = -p[r]
    elif rows == 12:
        i = d.nodes[stop, INDEX]
        low, high = b1, b2
        if enters == AS_UPPER:
            high = twist_to_child(load9(d.joint_data, i, H_R), load3(d.joint_data, i, H_P), b2)
        else:
            low = negate6(b1)
        for r in range(6):
            words[T + r * size + c] = low[r]
            words[T + (6 + r) * size + c] = high[r]
    a, f1, f2 = come_down(table, count)
    if kind == BODY:
        a = body_acceleration(d, node, f1, f2, b)
    if kind == JOIN:
        for r in range(6):
            words[R + r * size + c] = f1[r]
            words[R + (6 + r) * size + c] = f2[r]
    else:
        for r in range(6):
            words[R + r * size + c] = a[r]


@routine
def come_down(table, count):
    """From the top of a segment, where nothing comes in, down to its bottom: carrier's acceleration and handle forces."""
    d = path_data_of(table)
    a, f1, f2 = ZERO6, ZERO6, ZERO6
    for k in range(count - 1, 0, -1):
        node = d.path[k]
        kind = d.nodes[node, NODE_KIND]
        known = load6(d.bias_change, k, 0)
        if kind == JOIN:
            f = join_force(d, node, f1, f2, known, d.no_effort)
            if d.path[k - 1] == d.nodes[node, LEFT]:
                f2 = back_on_upper(d, node, f)
            else:
                f1 = f
        elif kind == HANG:
            f1 = hang_force(d, node, a, known, d.no_effort)
            f2 = ZERO6
        elif kind == BODY:
            a = body_acceleration(d, node, f1, f2, known)
    return a, f1, f2


@routine
def write_joint(table, words, node, o):
    """N (12 x 6) and W (6 x 6) of a joint between two clusters, equation (3)."""
    d = path_data_of(table)
    i = d.nodes[node, INDEX]
    for c in range(6):
        b1, b2, _ = push_gap(table, node, unit6(c), ZERO6, ZERO6)
        f = pass_joint(
            d.tree, i, d.no_effort, d.node_data, d.block[node] + JOIN_L, d.dof_rows, unit6(c), d.joint_response
        )
        for r in range(6):
            words[o + 6 * r + c] = b1[r]
            words[o + 6 * (6 + r) + c] = b2[r]
            words[o + 72 + 6 * r + c] = f[r]


# ---------------------------------------------------------------------------------------------------------- asking the tree


@inlined
def entry(enters, half):
    """Where the first or second six numbers of a segment's top come in at the junction above."""
    if enters == AS_UPPER:
        return IN_G if half else IN_U
    if enters == AS_LOWER:
        return IN_U + 6 if half else IN_G
    return IN_U


@inlined
def leaves_at(enters, half):
    """Where what comes down into them stands at the junction above."""
    if enters == AS_UPPER:
        return AT_DG if half else AT_D
    if enters == AS_LOWER:
        return AT_D + 6 if half else AT_DG
    return AT_D


@inlined
def put6(a, o, x):
    a[o], a[o + 1], a[o + 2], a[o + 3], a[o + 4], a[o + 5] = x


@inlined
def times(a, o, width, x):
    """Six rows of six numbers at a[o], `width` apart, times x."""
    return (
        dot6(flat6(a, o), x),
        dot6(flat6(a, o + width), x),
        dot6(flat6(a, o + 2 * width), x),
        dot6(flat6(a, o + 3 * width), x),
        dot6(flat6(a, o + 4 * width), x),
        dot6(flat6(a, o + 5 * width), x),
    )


@inlined
def times_transposed(a, o, width, x):
    """The transpose of the same times x."""
    y = scale6(x[0], flat6(a, o))
    for r in range(1, 6):
        y = add6(y, scale6(x[r], flat6(a, o + r * width)))
    return y


@routine
def network_responses(words, start, count, state):
    """Accelerations of all junctions, equations (1) to (3).

    state: JUNCTION_STATE numbers per junction; on entry IN_U has the wrenches on junctions of bodies and all else
    of IN_U and IN_G is zero, on return AT_D has the accelerations. count: of junctions. Cost: O(count).
    """
    header = words.view(int64)
    for k in range(count):
        o = start + header[start + k]
        s = k * JUNCTION_STATE
        size, rows, enters = header[o + N_SIZE], header[o + N_ROWS], header[o + N_ENTERS]
        above = header[o + N_ABOVE] * JUNCTION_STATE
        T = o + N_R + size * size
        u = flat6(state, s + IN_U)
        low = ZERO6
        if size == 12:
            N = T + rows * size
            g = flat6(state, s + IN_G)
            u = add6(u, times(words, N, 6, g))  # (3)
            low = add6(flat6(state, s + IN_U + 6), times(words, N + 36, 6, g))
            put6(state, s + AT_U + 6, low)
        put6(state, s + AT_U, u)
        for half in range(rows // 6):
            t = times(words, T + 6 * half * size, size, u)  # (1)
            if size == 12:
                t = add6(t, times(words, T + 6 * half * size + 6, size, low))
            at = above + entry(enters, half)
            put6(state, at, add6(flat6(state, at), t))
    for k in range(count - 1, -1, -1):
        o = start + header[start + k]
        s = k * JUNCTION_STATE
        size, rows, enters = header[o + N_SIZE], header[o + N_ROWS], header[o + N_ENTERS]
        above = header[o + N_ABOVE] * JUNCTION_STATE
        R, T = o + N_R, o + N_R + size * size
        u = flat6(state, s + AT_U)
        d = times(words, R, size, u)  # (2)
        low = ZERO6
        if size == 12:
            v = flat6(state, s + AT_U + 6)
            d = add6(d, times(words, R + 6, 12, v))
            low = add6(times(words, R + 72, 12, u), times(words, R + 78, 12, v))
        for half in range(rows // 6):
            t = flat6(state, above + leaves_at(enters, half))
            d = add6(d, times_transposed(words, T + 6 * half * size, size, t))
            if size == 12:
                low = add6(low, times_transposed(words, T + 6 * half * size + 6, size, t))
        put6(state, s + AT_D, d)
        if size == 12:
            N = T + rows * size
            put6(state, s + AT_D + 6, low)
            g = times(words, N + 72, 6, flat6(state, s + IN_G))
            g = sub6(add6(times_transposed(words, N, 6, d), times_transposed(words, N + 36, 6, low)), g)
            put6(state, s + AT_DG, g)  # (3)


@routine
def own_responses(words, start, own, E, M):
    """How each junction responds to itself, with all that is above it: own (s, 144), rows of its size; last first.

        Z = R + Tᵀ Z_t T        Z_t of a joint's sides: Eᵀ Z E, less W on g, with u = E (c₁, g) or E (g, c₂)      (4)

    E (12, 13), M (12, 12): scratch. Cost: O(junctions).
    """
    header = words.view(int64)
    for k in range(own.shape[0] - 1, -1, -1):
        o = start + header[start + k]
        size, rows, enters, above = header[o + N_SIZE], header[o + N_ROWS], header[o + N_ENTERS], header[o + N_ABOVE]
        T = o + N_R + size * size
        for r in range(size):
            for c in range(size):
                own[k, size * r + c] = words[o + N_R + size * r + c]
        if rows == 0:
            continue
        if rows == 6:
            for r in range(6):
                for c in range(6):
                    M[r, c] = own[above, 6 * r + c]
        else:
            joint_side(words, start + header[start + above], enters, own, above, E, M)
        for c in range(size):
            for r in range(rows):
                x = 0.0
                for m in range(rows):
                    x += M[r, m] * words[T + m * size + c]
                E[r, 12] = x
            for r in range(size):
                x = 0.0
                for m in range(rows):
                    x += words[T + m * size + r] * E[m, 12]
                own[k, size * r + c] += x


@routine
def joint_side(words, o, enters, own, k, E, M):
    """Z_t of equation (4): how the joint junction k, at words[o], responds to one of its sides, into M (12, 12)."""
    header = words.view(int64)
    N = o + N_R + 144 + header[o + N_ROWS] * 12
    g = 6 if enters == AS_UPPER else 0  # where g stands in the side's numbers
    for r in range(12):
        for c in range(12):
            E[r, c] = 0.0
        for c in range(6):
            E[r, g + c] = words[N + 6 * r + c]
    for r in range(6):
        E[r + 6 - g, r + 6 - g] = 1.0
    for c in range(12):
        for r in range(12):
            x = 0.0
            for m in range(12):
                x += own[k, 12 * r + m] * E[m, c]
            E[r, 12] = x
        for r in range(12):
            x = 0.0
            for m in range(12):
                x += E[m, r] * E[m, 12]
            M[r, c] = x
    for r in range(6):
        for c in range(6):
            M[g + r, g + c] -= words[N + 72 + 6 * r + c]
