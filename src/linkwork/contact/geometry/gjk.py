"""Distance of two convex cores (Gilbert, Johnson and Keerthi 1988).

The set of differences a - b of two convex sets is convex; its point nearest to the origin gives the distance. It is sought
on simplices of at most four differences: `v` is the nearest point of the simplex, and the support point `w` against `v`
bounds what is left to gain: the distance lies between v·w/|v| and |v|   (8) docs/theory/contact.md.

The simplex lives in rows 0 to 3 of `work` (at least (4, 9)): difference, point of a, point of b.
"""

import math

from linkwork.contact.geometry.solids import core_reach, core_support
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3, store3
from linkwork.spatial.rotations import add3, cross3, dot3, norm3, scale3, sub3

MAX_ROUNDS = 100  # curved cores gain about a digit in three rounds
GAIN = 1e-14  # relative gain of v² below which the search ends
ROUNDING = 4e-16  # of a support point, relative to the size of the solids
NEEDLE = 1e-24  # squared sine at a corner below which a triangle is taken for its edges
TOUCHING = 1e-8  # distance, relative to the size, below which the direction of v is not to be trusted

APART, OVERLAP = 0, 1


@routine
def gjk(vertices, A, B, work):
    """(status, a, b, points in the simplex): nearest points of the cores in the world; OVERLAP when within TOUCHING."""
    scale = core_reach(A) + core_reach(B) + 1e-3 * norm3(sub3(A[2], B[2]))
    v = sub3(A[2], B[2])
    if dot3(v, v) < 1e-24 * scale * scale:
        v = (1.0, 0.0, 0.0)
    add_point(vertices, A, B, scale3(-1.0, v), work, 0)
    count = 1
    v = load3(work, 0, 0)
    vv = dot3(v, v)
    weights = (1.0, 0.0, 0.0, 0.0)
    a, b = load3(work, 0, 3), load3(work, 0, 6)
    near = (TOUCHING * scale) * (TOUCHING * scale)
    for _ in range(MAX_ROUNDS):
        if vv <= near:
            return OVERLAP, a, b, count
        add_point(vertices, A, B, scale3(-1.0, v), work, count)
        w = load3(work, count, 0)
        if vv - dot3(v, w) <= GAIN * vv + ROUNDING * scale * math.sqrt(vv):
            break
        if is_known(work, count, w):
            break
        new, weights, inside = nearest_of_simplex(work, count + 1)
        if inside:
            return OVERLAP, a, b, 4
        nv = weighted(work, 0, new, weights)
        nn = dot3(nv, nv)
        if nn >= vv:  # rounding: nothing more to gain
            break
        count, v, vv = new, nv, nn
        a, b = weighted(work, 3, count, weights), weighted(work, 6, count, weights)
    return APART, a, b, count


@routine
def add_point(vertices, A, B, direction, work, row):
    """The difference that lies farthest along `direction`, with its two points."""
    a = core_support(vertices, A, direction)
    b = core_support(vertices, B, scale3(-1.0, direction))
    store3(work, row, 0, sub3(a, b))
    store3(work, row, 3, a)
    store3(work, row, 6, b)


@inlined
def is_known(work, count, w):
    known = False
    for i in range(count):
        if work[i, 0] == w[0] and work[i, 1] == w[1] and work[i, 2] == w[2]:
            known = True
    return known


@inlined
def weighted(work, column, count, weights):
    """Sum of weights times rows, three numbers from `column` on."""
    x = scale3(weights[0], load3(work, 0, column))
    if count > 1:
        x = add3(x, scale3(weights[1], load3(work, 1, column)))
    if count > 2:
        x = add3(x, scale3(weights[2], load3(work, 2, column)))
    return x


@routine
def nearest_of_simplex(work, count):
    """Keeps the points of the simplex whose hull carries the point nearest to the origin.

    Returns how many are kept (moved to the first rows), their weights, and whether the origin is inside (four points).
    """
    if count == 2:
        return nearest_of_segment(work)
    if count == 3:
        return nearest_of_triangle(work)
    return nearest_of_tetrahedron(work)


@routine
def keep(work, i, j, k, count):
    """Moves rows i < j < k (as many as count) to the front."""
    for c in range(9):
        work[0, c] = work[i, c]
        if count > 1:
            work[1, c] = work[j, c]
        if count > 2:
            work[2, c] = work[k, c]


@inlined
def segment_weight(a, b):
    """Weight of b at the point of the segment ab nearest to the origin, not clamped."""
    d = sub3(b, a)
    dd = dot3(d, d)
    if dd > 0.0:
        return -dot3(a, d) / dd
    return 0.0


@routine
def nearest_of_segment(work):
    t = segment_weight(load3(work, 0, 0), load3(work, 1, 0))
    if t <= 0.0:
        return 1, (1.0, 0.0, 0.0, 0.0), False
    if t >= 1.0:
        keep(work, 1, 1, 1, 1)
        return 1, (1.0, 0.0, 0.0, 0.0), False
    return 2, (1.0 - t, t, 0.0, 0.0), False


@inlined
def triangle_weights(a, b, c):
    """(best, wa, wb, wc, |x|²): point of the triangle nearest to the origin; exact on faces, edges and corners.

    The face is asked first; where a weight is not positive, all three edges are compared.
    """
    ab, ac = sub3(b, a), sub3(c, a)
    n = cross3(ab, ac)
    nn = dot3(n, n)
    wb = dot3(n, cross3(ac, a))
    wc = dot3(n, cross3(a, ab))
    wa = nn - wb - wc
    if nn > NEEDLE * dot3(ab, ab) * dot3(ac, ac) and wa > 0.0 and wb > 0.0 and wc > 0.0:
        wb, wc = wb / nn, wc / nn
        wa = 1.0 - wb - wc
        x = add3(a, add3(scale3(wb, ab), scale3(wc, ac)))
        return wa, wb, wc, dot3(x, x)
    best = math.inf
    ra, rb, rc = 1.0, 0.0, 0.0
    t = min(max(segment_weight(a, b), 0.0), 1.0)
    x = add3(scale3(1.0 - t, a), scale3(t, b))
    xx = dot3(x, x)
    if xx < best:
        best, ra, rb, rc = xx, 1.0 - t, t, 0.0
    t = min(max(segment_weight(a, c), 0.0), 1.0)
    x = add3(scale3(1.0 - t, a), scale3(t, c))
    xx = dot3(x, x)
    if xx < best:
        best, ra, rb, rc = xx, 1.0 - t, 0.0, t
    t = min(max(segment_weight(b, c), 0.0), 1.0)
    x = add3(scale3(1.0 - t, b), scale3(t, c))
    xx = dot3(x, x)
    if xx < best:
        best, ra, rb, rc = xx, 0.0, 1.0 - t, t
    return ra, rb, rc, best


@inlined
def keep_positive(work, i, j, k, wi, wj, wk):
    """Rows with positive weight to the front; returns count and weights."""
    first, second, third = 0.0, 0.0, 0.0
    ri, rj, rk = 0, 0, 0
    count = 0
    if wi > 0.0:
        first, ri, count = wi, i, 1
    if wj > 0.0:
        if count == 0:
            first, ri = wj, j
        else:
            second, rj = wj, j
        count += 1
    if wk > 0.0:
        if count == 0:
            first, ri = wk, k
        elif count == 1:
            second, rj = wk, k
        else:
            third, rk = wk, k
        count += 1
    keep(work, ri, rj, rk, count)
    return count, (first, second, third, 0.0), False


@routine
def nearest_of_triangle(work):
    wa, wb, wc, _ = triangle_weights(load3(work, 0, 0), load3(work, 1, 0), load3(work, 2, 0))
    return keep_positive(work, 0, 1, 2, wa, wb, wc)


@routine
def nearest_of_tetrahedron(work):
    """Inside, or the nearest of the four faces."""
    a, b, c, d = load3(work, 0, 0), load3(work, 1, 0), load3(work, 2, 0), load3(work, 3, 0)
    outside = (
        origin_beyond(a, b, c, d) or origin_beyond(a, b, d, c) or origin_beyond(a, c, d, b) or origin_beyond(b, c, d, a)
    )
    if not outside:
        return 4, (0.0, 0.0, 0.0, 0.0), True
    best = math.inf
    bi, bj, bk = 0, 1, 2
    w0, w1, w2 = 1.0, 0.0, 0.0
    for face in range(4):
        if face == 0:
            i, j, k = 0, 1, 2
        elif face == 1:
            i, j, k = 0, 1, 3
        elif face == 2:
            i, j, k = 0, 2, 3
        else:
            i, j, k = 1, 2, 3
        wi, wj, wk, xx = triangle_weights(load3(work, i, 0), load3(work, j, 0), load3(work, k, 0))
        if xx < best:
            best, bi, bj, bk, w0, w1, w2 = xx, i, j, k, wi, wj, wk
    return keep_positive(work, bi, bj, bk, w0, w1, w2)


@inlined
def origin_beyond(a, b, c, d):
    """Whether the origin lies on the other side of the plane abc than d (or d in the plane)."""
    n = cross3(sub3(b, a), sub3(c, a))
    here = -dot3(a, n)
    there = dot3(sub3(d, a), n)
    return here * there <= 0.0
