"""Penetration of two convex cores by the expanding polytope (van den Bergen 2001).

Where the set of differences holds the origin, the depth is the distance from the origin to its boundary. A polytope of
support points inside the set grows where it comes nearest to the origin until its nearest face is a face of the set. The
distances of faces are signed, so that cores that just touch or miss by rounding are treated alike.
"""

import math

from linkwork.contact.geometry.gjk import add_point, is_known, triangle_weights
from linkwork.contact.geometry.solids import core_reach, core_support
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3, store3
from linkwork.spatial.rotations import add3, any_normal, cross3, dot3, scale3, sub3

MAX_POINTS = 96
MAX_FACES = 2 * MAX_POINTS
WORK_ROWS = MAX_POINTS  # of `work`, nine columns: difference, point of a, point of b
SAME_PLANE = 1e-9  # of the size of the solids: faces so little farther away than the nearest one may be in its plane
GAIN = 1e-13  # depth still to gain, relative to the size of the solids, at which the growth ends

# faces (MAX_FACES, 3) of point numbers; planes (MAX_FACES, 4): outward unit normal and distance; -inf distance: no face
FLAT = 1e-22  # squared area, relative to size⁴, of a face too thin to have a normal


@routine
def epa(vertices, A, B, count, scratch):
    """(found, normal, depth, a, b): the shortest way out.

    count: points of the simplex that gjk left in scratch.points.
    normal: direction in which A must move, relative to B, by `depth` [m] to be free; depth may be slightly negative.
    """
    work, faces, planes, horizon = scratch.points, scratch.faces, scratch.planes, scratch.horizon
    scale = core_reach(A) + core_reach(B)
    if not make_tetrahedron(vertices, A, B, work, count, scale):
        return False, (0.0, 0.0, 1.0), 0.0, A[2], B[2]
    n_faces = first_faces(work, faces, planes, scale)
    n_points = 4
    least = math.inf  # width along the best normal so far: A moved by this is free, whatever the polytope looks like
    across = (0.0, 0.0, 1.0)
    a, b = A[2], B[2]
    while n_points < MAX_POINTS:
        best = nearest_face(planes, n_faces)
        normal, depth = (planes[best, 0], planes[best, 1], planes[best, 2]), planes[best, 3]
        add_point(vertices, A, B, normal, work, n_points)
        w = load3(work, n_points, 0)
        width = dot3(normal, w)
        if width < least:
            least, across = width, normal
            a, b = nearest_witness(work, faces, planes, n_faces, scale3(depth, normal), depth + SAME_PLANE * scale)
        if least - depth <= GAIN * scale or is_known(work, n_points, w):
            break
        n_faces = expand(work, faces, planes, horizon, n_faces, best, n_points, scale)
        if n_faces < 0:
            break
        n_points += 1
    # The boundary point nearest to the origin is across * least = a - b: A goes the other way. Where the polytope is not
    # quite the difference set there, both points are put on one line along the normal.
    a, b = on_one_line(vertices, A, B, across, a, b)
    return True, scale3(-1.0, across), least, a, b


@inlined
def on_one_line(vertices, A, B, n, a, b):
    """Both points over their middle, each on the plane that supports its solid across n."""
    middle = scale3(0.5, add3(a, b))
    height = dot3(n, middle)
    top = dot3(n, core_support(vertices, A, n))
    low = dot3(n, core_support(vertices, B, scale3(-1.0, n)))
    return add3(middle, scale3(top - height, n)), add3(middle, scale3(low - height, n))


@routine
def nearest_face(planes, n_faces):
    best, least = 0, math.inf
    for f in range(n_faces):
        if planes[f, 3] > -math.inf and planes[f, 3] < least:
            best, least = f, planes[f, 3]
    return best


@routine
def make_tetrahedron(vertices, A, B, work, count, scale):
    """Completes a simplex of 1 to 4 points to a tetrahedron with volume; False where the difference set is flat."""
    small = 1e-9 * scale
    if count == 4 and volume(work) > small * scale * scale:
        return True
    if count == 4:
        count = 3
    if count == 3 and area(work) <= small * scale:
        count = 2
    if count == 2 and separation(work) <= small:
        count = 1
    if count == 1:
        found = False
        for axis in range(3):
            for sign in (1.0, -1.0):
                if not found:
                    d = (sign if axis == 0 else 0.0, sign if axis == 1 else 0.0, sign if axis == 2 else 0.0)
                    add_point(vertices, A, B, d, work, 1)
                    found = separation(work) > small
        if not found:
            return False
        count = 2
    if count == 2:
        along = sub3(load3(work, 1, 0), load3(work, 0, 0))
        across = any_normal(along)
        other = cross3(along, across)
        other = scale3(1.0 / math.sqrt(dot3(other, other)), other)
        found = False
        for k in range(4):
            if not found:
                d = across if k < 2 else other
                add_point(vertices, A, B, d if k % 2 == 0 else scale3(-1.0, d), work, 2)
                found = area(work) > small * scale
        if not found:
            return False
    n = cross3(sub3(load3(work, 1, 0), load3(work, 0, 0)), sub3(load3(work, 2, 0), load3(work, 0, 0)))
    add_point(vertices, A, B, n, work, 3)
    first = volume(work)
    if dot3(n, load3(work, 0, 0)) > 0.0 or first <= small * scale * scale:  # the origin is on the other side
        add_point(vertices, A, B, scale3(-1.0, n), work, 3)
        if volume(work) <= small * scale * scale:
            add_point(vertices, A, B, n, work, 3)
    return volume(work) > small * scale * scale


@inlined
def separation(work):
    d = sub3(load3(work, 1, 0), load3(work, 0, 0))
    return math.sqrt(dot3(d, d))


@inlined
def area(work):
    n = cross3(sub3(load3(work, 1, 0), load3(work, 0, 0)), sub3(load3(work, 2, 0), load3(work, 0, 0)))
    return math.sqrt(dot3(n, n))


@inlined
def volume(work):
    n = cross3(sub3(load3(work, 1, 0), load3(work, 0, 0)), sub3(load3(work, 2, 0), load3(work, 0, 0)))
    return abs(dot3(n, sub3(load3(work, 3, 0), load3(work, 0, 0))))


@routine
def first_faces(work, faces, planes, scale):
    n = cross3(sub3(load3(work, 1, 0), load3(work, 0, 0)), sub3(load3(work, 2, 0), load3(work, 0, 0)))
    if dot3(n, sub3(load3(work, 3, 0), load3(work, 0, 0))) > 0.0:  # make abc turn outward
        for c in range(9):
            work[1, c], work[2, c] = work[2, c], work[1, c]
    set_face(work, faces, planes, 0, 0, 1, 2, scale)
    set_face(work, faces, planes, 1, 0, 3, 1, scale)
    set_face(work, faces, planes, 2, 1, 3, 2, scale)
    set_face(work, faces, planes, 3, 2, 3, 0, scale)
    return 4


@routine
def set_face(work, faces, planes, f, i, j, k, scale):
    faces[f, 0], faces[f, 1], faces[f, 2] = i, j, k
    a = load3(work, i, 0)
    n = cross3(sub3(load3(work, j, 0), a), sub3(load3(work, k, 0), a))
    nn = dot3(n, n)
    if nn > FLAT * scale * scale * scale * scale:
        n = scale3(1.0 / math.sqrt(nn), n)
        store3(planes, f, 0, n)
        planes[f, 3] = max(dot3(n, a), max(dot3(n, load3(work, j, 0)), dot3(n, load3(work, k, 0))))
    else:  # a sliver: it stays in the polytope so that edges match, but is never the nearest face
        store3(planes, f, 0, (0.0, 0.0, 0.0))
        planes[f, 3] = math.inf


@inlined
def is_visible(work, faces, planes, f, w, scale):
    """Whether point w lies on the outer side of face f."""
    if planes[f, 3] < math.inf:
        height = planes[f, 0] * w[0] + planes[f, 1] * w[1] + planes[f, 2] * w[2] - planes[f, 3]
        return height > 1e-15 * scale
    i, j, k = load3(work, faces[f, 0], 0), load3(work, faces[f, 1], 0), load3(work, faces[f, 2], 0)
    return dot3(cross3(sub3(j, i), sub3(k, i)), sub3(w, i)) > 0.0


@inlined
def touches_rim(faces, f, horizon, edges):
    """Whether face f shares an edge with the rim."""
    found = False
    for side in range(3):
        i, j = faces[f, side], faces[f, (side + 1) % 3]
        for e in range(edges):
            if horizon[e, 0] == j and horizon[e, 1] == i:
                found = True
    return found


@routine
def remove_face(faces, planes, f, horizon, edges):
    """Removes face f; its edges join the rim, or leave it where the face beyond is gone already."""
    for side in range(3):
        i, j = faces[f, side], faces[f, (side + 1) % 3]
        twin = -1
        for e in range(edges):
            if horizon[e, 0] == j and horizon[e, 1] == i:
                twin = e
        if twin >= 0:
            edges -= 1
            horizon[twin, 0], horizon[twin, 1] = horizon[edges, 0], horizon[edges, 1]
        else:
            horizon[edges, 0], horizon[edges, 1] = i, j
            edges += 1
    planes[f, 3] = -math.inf
    return edges


@routine
def expand(work, faces, planes, horizon, n_faces, best, new, scale):
    """Replaces the faces that see point `new` by a fan over their rim; the number of faces, or -1 where there is no room.

    The faces are taken out outward from the nearest one, so that rounding on coplanar faces cannot tear the polytope.
    """
    w = load3(work, new, 0)
    edges = remove_face(faces, planes, best, horizon, 0)
    changed = True
    while changed:
        changed = False
        for f in range(n_faces):
            if planes[f, 3] == -math.inf or edges + 3 > horizon.shape[0]:
                continue
            if is_visible(work, faces, planes, f, w, scale) and touches_rim(faces, f, horizon, edges):
                edges = remove_face(faces, planes, f, horizon, edges)
                changed = True
    f = 0
    for e in range(edges):
        while f < n_faces and planes[f, 3] != -math.inf:
            f += 1
        if f >= MAX_FACES:
            return -1
        set_face(work, faces, planes, f, horizon[e, 0], horizon[e, 1], new, scale)
        n_faces = max(n_faces, f + 1)
        f += 1
    return n_faces


@routine
def nearest_witness(work, faces, planes, n_faces, x, limit):
    """Points of A and B above the boundary point x: of the faces in its plane, that which holds it.

    limit: of the distances of planes that may hold it. Two edges across each other make a face of four corners, which is
    two faces here, and either may be found first.
    """
    a, b, least = x, x, math.inf
    for f in range(n_faces):
        if -math.inf < planes[f, 3] <= limit:
            p, q, off = face_witness(work, faces, f, x)
            if off < least:
                a, b, least = p, q, off
    return a, b


@inlined
def face_witness(work, faces, f, x):
    """Points of A and B above the point of face f that is nearest to x, and how far it is from x, squared."""
    i, j, k = faces[f, 0], faces[f, 1], faces[f, 2]
    c = load3(work, i, 0), load3(work, j, 0), load3(work, k, 0)
    wi, wj, wk, off = triangle_weights(sub3(c[0], x), sub3(c[1], x), sub3(c[2], x))
    a = add3(scale3(wi, load3(work, i, 3)), add3(scale3(wj, load3(work, j, 3)), scale3(wk, load3(work, k, 3))))
    b = add3(scale3(wi, load3(work, i, 6)), add3(scale3(wj, load3(work, j, 6)), scale3(wk, load3(work, k, 6))))
    return a, b, off
