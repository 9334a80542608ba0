"""Two shapes that may touch: their contacts, or their distance."""

import math
from typing import NamedTuple

from linkwork.contact.contact_list import (
    AIMED,
    ALONG,
    COUNT,
    DIRECTED,
    GAP,
    ISOTROPIC,
    NEEDED,
    PARTS,
    POINT,
    SIZE,
    Contacts,
    append,
)
from linkwork.contact.geometry.boxes import boxes_apart
from linkwork.contact.geometry.corners import with_coming_corners
from linkwork.contact.geometry.distance import Scratch, signed_distance, triangle_normal
from linkwork.contact.geometry.manifold import contact_points
from linkwork.contact.geometry.solids import CAPSULE, CYLINDER, MESH, PLANE, SPHERE, TRIANGLE, core_support, half_width
from linkwork.contact.swept import Side, moved, moved_back, time_of_impact
from linkwork.contact.tables import (
    CLEAR,
    CONTACTS,
    DISTANCES,
    FOUND_A,
    FOUND_B,
    FOUND_NORMAL,
    LEAST,
    M_AXIS,
    M_LAW,
    M_PARTS,
    M_PATCH,
    MARGIN,
    MODE,
    NEXT_IMPACT,
    PASSING,
    SHAPE_S,
    SHAPE_T,
    STEP,
    ShapeTable,
)
from linkwork.core.bundles import Float1
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3, load9, store3
from linkwork.spatial.rotations import add3, dot3, matmul3, matvec3, scale3, sub3, tmatvec3
from linkwork.spatial.vectors import ZERO6

TARGET = 0.1  # part of the margin at which a body that comes from afar counts as touching
MESH_POINTS = 8  # contacts kept of one shape with one mesh
COMING = 2.0  # reaches: an impact at one end of a body makes its other end faster, to 3/2 of its speed for a rod
# Of the half widths of two solids together: one that goes deeper than this is on its way through; how much deeper one may
# go that was as deep before; what a body moves by in a step that cannot pass, and that cannot where it is inside already.
DEEP, DEEPER, FAST, SLOW = 0.5, 0.01, 0.4, 0.05
SLIP = 0.1  # of them: how much deeper a moment may be found
TURNS = 0.1  # [rad] a body that turns by more until it meets an obstacle has another lever there
SLIDES = 0.1  # of the half width of the thinner shape: bodies that slide past each other by more meet elsewhere


class Narrow(NamedTuple):
    """What of a `Finder` two shapes need: a kernel hands every array of a bundle on to each subroutine that it calls."""

    table: ShapeTable
    contacts: Contacts
    scratch: Scratch
    query: Float1


@inlined
def narrow_of(finder):
    return Narrow(finder.table, finder.contacts, finder.scratch, finder.query)


@inlined
def solid_of(table, s, R, p):
    """Shape s of a body at pose R, p as a solid in the world."""
    return (
        table.kind[s],
        matmul3(R, load9(table.pose, s, 0)),
        add3(matvec3(R, load3(table.pose, s, 9)), p),
        load3(table.size, s, 0),
        table.span[s, 0],
        table.span[s, 1],
    )


@inlined
def may_touch(table, s, t):
    """Whether groups, masks and the list of pairs to ignore allow two shapes to touch."""
    allowed = (table.filter[s, 0] & table.filter[t, 1]) != 0 or (table.filter[t, 0] & table.filter[s, 1]) != 0
    if allowed and table.ignored.shape[0] > 0:
        a, b = table.entity[s], table.entity[t]
        allowed = not is_ignored(table, min(a, b), max(a, b))
    return allowed


@routine
def is_ignored(table, a, b):
    keys = table.ignored
    low, high = 0, keys.shape[0]
    key = a * table.stride[0] + b
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < keys.shape[0] and keys[low] == key


@routine
def list_contacts(finder, a, b, reach):
    """Contacts (or the distance) of the shapes of two Sides; finder: Narrow.

    reach: how far the two can come nearer in the step [m]. Returns their distance where contacts are sought and they are
    farther apart than the margin, otherwise 0.
    """
    A = solid_of(finder.table, a.shape, a.R, a.p)
    B = solid_of(finder.table, b.shape, b.R, b.p)
    if B[0] == MESH:
        list_contacts_of_mesh(finder, a, A, b.shape, B, reach)
        return 0.0
    return list_contacts_of_solids(finder, a, A, b, B, reach)


@routine
def list_contacts_of_solids(finder, a, A, b, B, reach):
    """The same of their solids A and B, neither of them a mesh."""
    table, scratch, query = finder.table, finder.scratch, finder.query
    if query[MODE] == PASSING:
        return follow(finder, a, A, b, B, reach)
    if query[MODE] != CONTACTS:
        gap, n, x, y = signed_distance(table.vertices, A, B, scratch)
        remember(query, a.shape, b.shape, gap, n, x, y)
        return 0.0
    margin = query[MARGIN]
    query[DISTANCES] += 1.0
    count, n, gap = contact_points(table.vertices, A, B, margin, scratch)
    query[FOUND_NORMAL], query[FOUND_NORMAL + 1], query[FOUND_NORMAL + 2] = n
    if count > 0 and sweeps(query, reach):
        count = with_coming_corners(table.vertices, A, B, n, count, margin, margin + COMING * reach, scratch)
    add_manifold(finder, a, A, b.shape, B, n, count)
    if count == 0 and gap <= margin + reach and query[STEP] > 0.0:
        list_future_contacts(finder, a, A, b, B, gap, n, reach)
    return max(gap, 0.0) if count == 0 else 0.0


@inlined
def add_manifold(finder, a, A, t, B, n, count):
    """Adds the contacts that `contact_points` left in the scratch memory."""
    points = finder.scratch.manifold
    for k in range(count):
        middle = scale3(0.5, add3(load3(points, k, 0), load3(points, k, 3)))
        add_contact(finder, a, A, t, B, middle, n, points[k, 6])


@routine
def follow(finder, a, A, b, B, reach):
    """Follows two solids along the way that they have taken: query[CLEAR] is at most the time when one is on its way
    through the other, deeper than a part of their width and than it was at first [s]. Returns their distance at first.

    Bodies that touch are followed like all others: a rod that rests on a wall with one end sweeps it with the other.
    """
    table, scratch, query = finder.table, finder.scratch, finder.query
    widths = half_width(A) + half_width(B)
    if B[0] == PLANE or reach <= SLOW * widths:
        return 0.0
    query[DISTANCES] += 1.0
    gap, n, _a, _b = signed_distance(table.vertices, A, B, scratch)
    deep = max(DEEP * widths, DEEPER * widths - gap)
    if reach > gap + deep:
        end, slip = query[CLEAR], SLIP * widths
        hit, time, asked = time_of_impact(table.vertices, scratch, a, A, b, B, end, (-deep, slip), gap, n)
        query[DISTANCES] += asked
        if not hit:
            later_a, later_b = moved(A, a.p, a.V, end), moved(B, b.p, b.V, end)
            last, _n, _a, _b = signed_distance(table.vertices, later_a, later_b, scratch)
            hit, time = last < -deep, 0.5 * end
        if hit:
            query[CLEAR] = time
    return max(gap, 0.0)


@routine
def list_future_contacts(finder, a, A, b, B, gap, n, reach):
    """Contacts of two solids that touch within the step, where their points are now. Now they are `gap` apart, along n.

    Against an obstacle the contact acts at the body's own point: between the two it would have another lever, and turn a
    body that slides past. But one that is not a ball would turn on from now by what it gets when it is there. Two bodies
    share the point between theirs, which keeps their momentum; where its lever would be another one than when they meet, or
    a body comes from afar, query[NEXT_IMPACT] is when that is [s], so that the step can be cut there.
    """
    table, scratch, query = finder.table, finder.scratch, finder.query
    margin = query[MARGIN]
    target = TARGET * margin
    near = (target, 0.5 * target)
    hit, time, asked = time_of_impact(table.vertices, scratch, a, A, b, B, query[STEP], near, gap, n)
    query[DISTANCES] += asked
    if hit:
        later_a, later_b = moved(A, a.p, a.V, time), moved(B, b.p, b.V, time)
        count, n, _ = contact_points(table.vertices, later_a, later_b, margin, scratch)
        is_in_contact = count > 0
        if not is_in_contact:  # held up by a corner that stays near, the search ended on its way: what is near is next
            count, n, _ = contact_points(table.vertices, later_a, later_b, margin + reach, scratch)
        if count > 0 and sweeps(query, reach):
            far = margin + COMING * reach
            count = with_coming_corners(table.vertices, later_a, later_b, n, count, margin, far, scratch)
        for k in range(count):
            x = moved_back(load3(scratch.manifold, k, 0), A, later_a)
            y = moved_back(load3(scratch.manifold, k, 3), B, later_b)
            apart = sub3(x, y)
            away = dot3(n, apart)
            is_obstacle = table.body[b.shape] < 0
            add_contact(finder, a, A, b.shape, B, x if is_obstacle else scale3(0.5, add3(x, y)), n, away)
            slide = math.sqrt(max(dot3(apart, apart) - away * away, 0.0))
            size = size_of(table, a.shape)
            if not is_obstacle:
                meets_elsewhere = slide > SLIDES * min(half_width(A), half_width(B))
            else:
                turns = time * math.sqrt(a.V[0] * a.V[0] + a.V[1] * a.V[1] + a.V[2] * a.V[2]) > TURNS
                meets_elsewhere = A[0] != SPHERE and (turns or away > size)
            if is_in_contact and meets_elsewhere:
                query[NEXT_IMPACT] = min(query[NEXT_IMPACT], time)


@inlined
def is_stepping(query):
    """Whether a search is one of a step: its list of contacts, or whether something passes."""
    return query[MODE] == CONTACTS or query[MODE] == PASSING


@inlined
def sweeps(query, reach):
    """Whether bodies are fast enough for corners that do not touch now to do so within the step."""
    return query[STEP] > 0.0 and reach > query[MARGIN]


@inlined
def size_of(table, s):
    """Half the longest edge of the box of a shape [m]."""
    return max(table.box[s, 3], max(table.box[s, 4], table.box[s, 5]))


@inlined
def add_contact(finder, a, A, t, B, point, n, gap):
    """Adds a contact of a Side with shape t, and the material of the pair: geometric mean of frictions, larger restitution
    and patch.

    Friction with a direction counts as it is; A, B: the solids, by which it is turned.
    """
    table, contacts, s = finder.table, finder.contacts, a.shape
    friction = math.sqrt(table.material[s, 0] * table.material[t, 0])
    is_directed = table.material[s, M_LAW] + table.material[t, M_LAW] != ISOTROPIC
    if is_directed:
        friction = table.material[s if table.material[s, M_LAW] != ISOTROPIC else t, 0]
    patch = max(table.material[s, M_PATCH], table.material[t, M_PATCH]) if is_round(A[0]) or is_round(B[0]) else 0.0
    material = (friction, max(table.material[s, 1], table.material[t, 1]), patch)
    local = tmatvec3(a.R, sub3(point, a.p))
    append(contacts, (table.body[s], table.body[t], s, t), point, n, gap, material, local, size_of(table, s))
    if is_directed:
        note_direction(table, contacts, s, t, A, B)


@inlined
def is_round(kind):
    """Whether a solid can roll."""
    return kind == SPHERE or kind == CAPSULE or kind == CYLINDER


@routine
def note_direction(table, contacts, s, t, A, B):
    """Direction and coefficients of the friction of the last contact; as a moves against b, whichever brings them."""
    i = contacts.number[COUNT] - 1
    if contacts.number[NEEDED] > contacts.ids.shape[0]:  # the list was full
        return
    data, material = contacts.data, table.material
    brings = s if material[s, M_LAW] != ISOTROPIC else t
    axis = load3(material, brings, M_AXIS)
    along = matvec3(A[1], axis) if brings == s else scale3(-1.0, matvec3(B[1], axis))
    store3(data, i, ALONG, along)
    for k in range(3):
        data[i, PARTS + k] = material[brings, M_PARTS + k]
    data[i, AIMED], data[i, AIMED + 1] = 1.0, 1.0
    data[i, DIRECTED] = material[brings, M_LAW]


@inlined
def remember(query, s, t, gap, n, a, b):
    """Keeps the smallest distance found."""
    if gap < query[LEAST]:
        query[LEAST] = gap
        query[SHAPE_S], query[SHAPE_T] = s, t
        for c in range(3):
            query[FOUND_NORMAL + c], query[FOUND_A + c], query[FOUND_B + c] = n[c], a[c], b[c]


# ----------------------------------------------------------------------------------------------------------------- meshes


@routine
def list_contacts_of_mesh(finder, a, A, t, B, reach):
    """A Side against the triangles of mesh t, which stands in the world."""
    table, contacts, scratch, query, s = finder.table, finder.contacts, finder.scratch, finder.query, a.shape
    first = contacts.number[COUNT]
    stack = scratch.stack
    stack[0] = table.span[t, 0]
    top = 0
    centre, half = load3(table.box, s, 0), load3(table.box, s, 3)
    while top >= 0:
        k = stack[top]
        top -= 1
        margin = query[MARGIN] if is_stepping(query) else max(query[LEAST], 0.0)
        box_c, box_h = load3(table.mesh_boxes, k, 0), load3(table.mesh_boxes, k, 3)
        if boxes_apart(a.R, a.p, centre, half, B[1], B[2], box_c, box_h, margin + reach):
            continue
        if table.mesh_links[k, 0] >= 0:
            stack[top + 1], stack[top + 2] = table.mesh_links[k, 0], table.mesh_links[k, 1]
            top += 2
            continue
        T = (TRIANGLE, B[1], B[2], B[3], table.mesh_links[k, 2], 3)
        face = triangle_normal(table.vertices, T)
        if query[MODE] == CONTACTS:
            list_contacts_of_triangle(finder, a, A, t, T, face, reach)
        elif query[MODE] == PASSING:
            corner = add3(matvec3(T[1], load3(table.vertices, T[4], 0)), T[2])
            if dot3(face, sub3(A[2], corner)) >= 0.0:  # from behind it does not push
                follow(finder, a, A, Side(t, T[1], T[2], ZERO6), T, reach)
        else:
            gap, n, x, y = signed_distance(table.vertices, A, T, scratch)
            remember(query, s, t, gap, n, x, y)
    drop_doubles(contacts, first)


@routine
def list_contacts_of_triangle(finder, a, A, t, T, face, reach):
    """One triangle: it pushes outward only; what comes from behind belongs to another triangle."""
    table, scratch, query = finder.table, finder.scratch, finder.query
    margin = query[MARGIN]
    query[DISTANCES] += 1.0
    count, n, gap = contact_points(table.vertices, A, T, margin, scratch)
    if count > 0 and dot3(n, face) <= 0.0:
        corner = add3(matvec3(T[1], load3(table.vertices, T[4], 0)), T[2])
        if dot3(face, sub3(A[2], corner)) < 0.0:
            return
        # The solid has crossed the triangle while its centre is still outside: out along the face.
        down = core_support(table.vertices, A, scale3(-1.0, face))
        depth = dot3(face, sub3(down, corner))
        add_contact(finder, a, A, t, T, sub3(down, scale3(0.5 * depth, face)), face, depth)
        return
    if count > 0 and sweeps(query, reach):
        count = with_coming_corners(table.vertices, A, T, n, count, margin, margin + COMING * reach, scratch)
    add_manifold(finder, a, A, t, T, n, count)
    if count == 0 and gap <= margin + reach and query[STEP] > 0.0 and dot3(n, face) > 0.0:
        list_future_contacts(finder, a, A, Side(t, T[1], T[2], ZERO6), T, gap, n, reach)


@routine
def drop_doubles(contacts, first):
    """Neighbouring triangles see the same point: of contacts at one place the nearest stays; at most eight are kept."""
    data, number = contacts.data, contacts.number
    count = number[COUNT]
    listed = first
    for i in range(first, count):
        double = -1
        for j in range(first, listed):
            d = sub3(load3(data, i, POINT), load3(data, j, POINT))
            if dot3(d, d) < 1e-6 * data[i, SIZE] * data[i, SIZE]:
                double = j
        if double < 0 and listed - first >= MESH_POINTS:  # the list is full: the farthest makes room
            double = first
            for j in range(first, listed):
                if data[j, GAP] > data[double, GAP]:
                    double = j
        if double < 0:
            copy_contact(contacts, i, listed)
            listed += 1
        elif data[i, GAP] < data[double, GAP]:
            copy_contact(contacts, i, double)
    number[COUNT] = listed


@inlined
def copy_contact(contacts, i, j):
    if i != j:
        for c in range(contacts.ids.shape[1]):
            contacts.ids[j, c] = contacts.ids[i, c]
        for c in range(contacts.data.shape[1]):
            contacts.data[j, c] = contacts.data[i, c]
