"""Rigid groups against the obstacles of the world, compared again only when they may have come near.

A *rigid group* is a node of the assembly tree whose joints stand still below one whose joints move, or the shapes of one
body. `travelled` of a group is the distance it has travelled, a sum over steps of the largest displacement of any of its
points. `clearance_bound` of a volume is a lower bound of its distance from every obstacle when it was last compared with
them, plus the distance its group had travelled until then:

    clearance now  ≥  clearance bound - travelled                                                                  (4)

A volume is skipped for as long as that is more than margin + reach. When other joints begin to move, there are other
groups: the parts of a group that is opened have travelled as far as it had, and a group made of several as far as the
farthest of them (`volumes.make_rigid`, `make_open`). So `travelled` grows by the way of every point of a group or more,
whichever groups these are, and (4) holds for every volume. A node of which a part touches is not compared in every
step: the bounds of its two parts say where to go on. A body that stays near an obstacle is not compared with all of
them either: `nearest` names the two that were nearest, and `other_bound` is the bound of all others. Of these two a
plane is kept that has all of the obstacle behind it: while the body is in front of it by more than the margin, and by
what it comes nearer to it in the step, the obstacle is not compared either, however fast the body slides along it:

    n·x - height > margin + h max(0, -n·v + |n x ω| r)                                                              (5)

for the lowest point x of the body, whose points are within r of where v is taken. Nothing is missed: displacements are
those of the poses themselves, whatever moved them. Boxes are compared along their own edges and those of the world.
"""

import math

from linkwork.assembly.node_table import UP
from linkwork.contact.broad_phase import TRUSTED
from linkwork.contact.geometry.boxes import CENTRE, HALF, box_to_parent
from linkwork.contact.geometry.solids import MESH, PLANE, core_radius, core_support
from linkwork.contact.narrow_phase import list_contacts, may_touch, narrow_of, solid_of
from linkwork.contact.swept import Side
from linkwork.contact.tables import CONTACTS, FOUND_NORMAL, MARGIN, MODE, STEP
from linkwork.contact.travel import ROUNDING
from linkwork.contact.volumes import body_of, carried_twist, children, is_own, length, twist_reach
from linkwork.core.jit import inlined, routine
from linkwork.spatial.memory import load3, load9, store3
from linkwork.spatial.rotations import IDENTITY3, ZERO3, add3, cross3, dot3, matmul3, matvec3, sub3, tmatvec3
from linkwork.spatial.vectors import ZERO6, compose_pose

# ------------------------------------------------------------------------------------------------------------------ looks


@routine
def query_obstacles(finder, group, R, p, V, reach):
    """Lists the contacts with the world of a rigid group that may be near it; False where the stack was too short.

    On the way down nothing is placed in the world but what has to be: bodies, and nodes whose boxes are compared. A box
    that was near an obstacle mostly stays so for long: its parts are compared instead, until they are farther away than
    its size, or were never compared.
    """
    volumes, stack = finder.volumes, finder.pairs
    bound, travelled = volumes.clearance_bound, volumes.travelled[group]
    if is_own(volumes, group):
        bound[group] = travelled + list_world(finder, group, R, p, V, reach, travelled, 0)
        return True
    need = finder.query[MARGIN] + reach
    stack[0, 0] = group
    top = 0
    while top >= 0:
        k = stack[top, 0]
        top -= 1
        if 2 * top + 64 > stack.shape[0]:
            return False
        if is_own(volumes, k):
            query_body(finder, group, k, R, p, V, reach, top + 1)
            continue
        first, second = children(volumes, k)
        least = bound[first] if second < 0 else min(bound[first], bound[second])
        if least - travelled > need:
            bound[k] = least
            if least - travelled > length(load3(volumes.volume, k, HALF)):
                volumes.by_parts[k] = 0
            continue
        if (volumes.by_parts[k] == 0 or least == -math.inf) and is_clear(finder, group, k, R, p, need, top + 1):
            continue
        for child in (first, second):
            if child >= 0 and not bound[child] - travelled > need:
                top += 1
                stack[top, 0] = child
                stack[top, 1] = k
    return True


@routine
def query_body(finder, group, k, R, p, V, reach, base):
    """The shapes of one body of a rigid group, in the world. R, p, V, reach: of the group.

    What is inside it moves with it, and no farther than its own size lets it.
    base: row of the stack from which on it is free; in that row stands the node that the body belongs to.
    """
    volumes, query = finder.volumes, finder.query
    if volumes.volume[k, HALF] < 0.0:
        volumes.clearance_bound[k] = math.inf
        return
    travelled = volumes.travelled[group]
    Ri, pi = pose_inside(volumes, group, finder.pairs[base, 1])
    pk = add3(matvec3(R, pi), p)
    Vk = carried_twist(V, p, pk)
    reach = min(reach, twist_reach(Vk, volumes.volume, k, query[STEP]))
    if not volumes.clearance_bound[k] - travelled > query[MARGIN] + reach:
        volumes.clearance_bound[k] = travelled + list_world(finder, k, matmul3(R, Ri), pk, Vk, reach, travelled, base)


@routine
def is_clear(finder, group, k, R, p, need, base):
    """Whether the box of a node inside a rigid group is farther than `need` from all obstacles; base: as above."""
    volumes = finder.volumes
    if volumes.volume[k, HALF] < 0.0:
        volumes.clearance_bound[k] = math.inf
        return True
    Ri, pi = pose_inside(volumes, group, k)
    clear = world_clearance(finder, k, matmul3(R, Ri), add3(matvec3(R, pi), p), need, base)
    volumes.by_parts[k] = 0 if clear > need else 1
    if clear > need:
        volumes.clearance_bound[k] = volumes.travelled[group] + clear
    return clear > need


@routine
def pose_inside(volumes, group, node):
    """Pose of a node in the rigid group that it is inside of: on the way up to it. Cost: O(log n)."""
    R, p = IDENTITY3, ZERO3
    while node != group:
        R, p = compose_pose(load9(volumes.place, node, 0), load3(volumes.place, node, 9), R, p)
        node = volumes.nodes[node, UP]
    return R, p


@inlined
def box_clearance(R, centre, h, around, table, w):
    """Lower bound of the distance of a turned box from box w of the world."""
    wc, wh = load3(table.world_boxes, w, 0), load3(table.world_boxes, w, 3)
    d = sub3(centre, wc)
    x = max(abs(d[0]) - around[0] - wh[0], 0.0)
    y = max(abs(d[1]) - around[1] - wh[1], 0.0)
    z = max(abs(d[2]) - around[2] - wh[2], 0.0)
    e = tmatvec3(R, d)
    a = abs(e[0]) - h[0] - abs(R[0]) * wh[0] - abs(R[3]) * wh[1] - abs(R[6]) * wh[2]
    b = abs(e[1]) - h[1] - abs(R[1]) * wh[0] - abs(R[4]) * wh[1] - abs(R[7]) * wh[2]
    c = abs(e[2]) - h[2] - abs(R[2]) * wh[0] - abs(R[5]) * wh[1] - abs(R[8]) * wh[2]
    size = abs(d[0]) + abs(d[1]) + abs(d[2]) + h[0] + h[1] + h[2]
    return max(max(math.sqrt(x * x + y * y + z * z), a), max(b, c)) - ROUNDING * size


@inlined
def plane_clearance(R, centre, h, table, plane):
    """Lower bound of the distance of a turned box from a plane."""
    Rp, p = load9(table.pose, plane, 0), load3(table.pose, plane, 9)
    n = (Rp[2], Rp[5], Rp[8])
    m = tmatvec3(R, n)
    d = sub3(centre, p)
    low = dot3(n, d) - abs(m[0]) * h[0] - abs(m[1]) * h[1] - abs(m[2]) * h[2]
    return low - ROUNDING * (abs(d[0]) + abs(d[1]) + abs(d[2]))


@routine
def world_clearance(finder, k, R, p, need, base):
    """Lower bound of the distance of volume k from all obstacles; any number up to `need` where it is no more than that.

    base: row of the stack from which on its second column is free.
    """
    table, stack = finder.table, finder.pairs
    h = load3(finder.volumes.volume, k, HALF)
    centre, around = box_to_parent(R, p, load3(finder.volumes.volume, k, CENTRE), h)
    least = math.inf
    for i in range(table.planes.shape[0]):
        least = min(least, plane_clearance(R, centre, h, table, table.planes[i]))
    if table.world_links.shape[0] == 0 or least <= need:
        return least
    stack[base, 1] = 0
    top = base
    while top >= base:
        w = stack[top, 1]
        top -= 1
        clear = box_clearance(R, centre, h, around, table, w)
        if clear >= least:
            continue
        if table.world_links[w, 0] < 0:
            least = clear
            if least <= need:
                return least
        else:
            stack[top + 1, 1], stack[top + 2, 1] = table.world_links[w, 0], table.world_links[w, 1]
            top += 2
    return least


@inlined
def obstacle_clearance(R, centre, h, around, table, w):
    """Lower bound of the distance of a turned box from obstacle w: a leaf of the tree of the world, behind it a plane."""
    boxes = table.world_links.shape[0]
    if w < boxes:
        return box_clearance(R, centre, h, around, table, w)
    return plane_clearance(R, centre, h, table, table.planes[w - boxes])


@inlined
def shape_of(table, w):
    """Shape of obstacle w."""
    boxes = table.world_links.shape[0]
    return table.world_links[w, 2] if w < boxes else table.planes[w - boxes]


@routine
def list_if_near(finder, body, R, p, V, w, clear, reach):
    """Contacts of the shapes of one body with obstacle w, whose box is `clear` away; a lower bound of their distance."""
    if clear > finder.query[MARGIN] + reach:
        return clear
    return list_obstacle(finder, body, R, p, V, shape_of(finder.table, w), reach)


@routine
def room_before_plane(finder, k, e, R, p, V):
    """How far the shapes of one body stay in front of the plane behind which its nearest obstacle (e = 0, or 1 for the
    second one) lies, all along the step; a lower bound of their distance now [m]. Both below zero where none is known. (5)
    """
    table, volumes = finder.table, finder.volumes
    body = body_of(volumes, k)
    height = volumes.planes[body, 4 * e + 3]
    if height == math.inf:
        return -math.inf, -math.inf
    n = load3(volumes.planes, body, 4 * e)
    down = (-n[0], -n[1], -n[2])
    low, size = math.inf, abs(height)
    for s in range(table.first[body + 1], table.first[body + 2]):
        A = solid_of(table, s, R, p)
        lowest = dot3(n, core_support(table.vertices, A, down)) - core_radius(A)
        low = min(low, lowest)
        size += abs(lowest)
    arm = length(load3(volumes.volume, k, CENTRE)) + length(load3(volumes.volume, k, HALF))
    turn = cross3(n, (V[0], V[1], V[2]))
    rate = math.sqrt(dot3(turn, turn)) * arm - dot3(n, (V[3], V[4], V[5]))
    apart = low - height - ROUNDING * (size + length(p))
    return apart - finder.query[STEP] * max(rate, 0.0), apart


@routine
def note_plane(finder, body, e, w):
    """A plane behind which all of obstacle w lies, across the normal that the last comparison with it gave."""
    table, planes, query = finder.table, finder.volumes.planes, finder.query
    t = shape_of(table, w)
    if table.kind[t] == MESH:
        return
    B = solid_of(table, t, IDENTITY3, ZERO3)
    n, top = (query[FOUND_NORMAL], query[FOUND_NORMAL + 1], query[FOUND_NORMAL + 2]), B[2]
    if table.kind[t] == PLANE:
        n = (B[1][2], B[1][5], B[1][8])
    else:
        top = core_support(table.vertices, B, n)
    store3(planes, body, 4 * e, n)
    planes[body, 4 * e + 3] = dot3(n, top) + core_radius(B)


@routine
def list_world(finder, k, R, p, V, reach, travelled, base):
    """Contacts of the shapes of one body with all obstacles; returns a lower bound of its distance from them.

    travelled: by its rigid group. base: as of `world_clearance`.
    """
    volumes = finder.volumes
    body = body_of(volumes, k)
    least = volumes.other_bound[body] - travelled
    if not least > finder.query[MARGIN] + reach:
        return list_all(finder, k, R, p, V, reach, travelled, base)
    h = load3(volumes.volume, k, HALF)
    centre, around = box_to_parent(R, p, load3(volumes.volume, k, CENTRE), h)
    margin = finder.query[MARGIN]
    for e in range(volumes.nearest.shape[1]):
        w = volumes.nearest[body, e]
        if w < 0:
            continue
        room, clear = room_before_plane(finder, k, e, R, p, V)
        if not room > margin:
            clear = obstacle_clearance(R, centre, h, around, finder.table, w)
            if not clear > margin + reach:
                clear = list_obstacle(finder, body, R, p, V, shape_of(finder.table, w), reach)
                if finder.query[MODE] == CONTACTS:
                    note_plane(finder, body, e, w)
        least = min(least, clear)
    return least


@routine
def list_all(finder, k, R, p, V, reach, travelled, base):
    """The same by a comparison with all of them, of which the nearest two are noted, and how far the others are."""
    volumes, table, stack = finder.volumes, finder.table, finder.pairs
    need = finder.query[MARGIN] + reach
    body = body_of(volumes, k)
    h = load3(volumes.volume, k, HALF)
    centre, around = box_to_parent(R, p, load3(volumes.volume, k, CENTRE), h)
    boxes = table.world_links.shape[0]
    first, second, third = (math.inf, -1), (math.inf, -1), math.inf
    for i in range(table.planes.shape[0]):
        w = boxes + i
        clear = obstacle_clearance(R, centre, h, around, table, w)
        clear = list_if_near(finder, body, R, p, V, w, clear, reach)
        first, second, third = among_nearest(first, second, third, clear, w)
    stack[base, 1] = 0
    top = base if boxes > 0 else base - 1
    while top >= base:
        w = stack[top, 1]
        top -= 1
        clear = box_clearance(R, centre, h, around, table, w)
        if clear > need and clear >= third:
            continue
        if table.world_links[w, 0] >= 0:
            stack[top + 1, 1], stack[top + 2, 1] = table.world_links[w, 0], table.world_links[w, 1]
            top += 2
            continue
        clear = list_if_near(finder, body, R, p, V, w, clear, reach)
        first, second, third = among_nearest(first, second, third, clear, w)
    volumes.nearest[body, 0], volumes.nearest[body, 1] = first[1], second[1]
    volumes.planes[body, 3], volumes.planes[body, 7] = math.inf, math.inf
    volumes.other_bound[body] = travelled + third
    return first[0]


@inlined
def among_nearest(first, second, third, clear, w):
    """The nearest two obstacles (distance, number) and the distance of the next one, with obstacle w among them."""
    if clear < first[0]:
        return (clear, w), first, second[0]
    if clear < second[0]:
        return first, (clear, w), second[0]
    return first, second, min(third, clear)


@routine
def list_obstacle(finder, body, R, p, V, t, reach):
    """All shapes of a body against shape t of the world; returns a lower bound of their distance."""
    table = finder.table
    least = math.inf
    for s in range(table.first[body + 1], table.first[body + 2]):
        if may_touch(table, s, t):
            gap = list_contacts(narrow_of(finder), Side(s, R, p, V), Side(t, IDENTITY3, ZERO3, ZERO6), reach)
            least = min(least, TRUSTED * gap)
    return least
