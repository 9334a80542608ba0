"""How a chain without stiffness hangs between two points: one force, the minimum of a convex function.

F is the force of the far point on the chain. Link k turns about its joint until it points along F + Wₖ: Wₖ are the loads of
all that lies beyond the link, and those on it by the part α of its length lₖ at which they act. The chain ends where the
gradient of

    Φ(F) = Σ lₖ |F + Wₖ| − F·d                                                                                        (1)

is zero, d from the first joint to the far point. Φ is convex; a chain shorter than |d| has no minimum. Where loads act on
the lines between joints this is rest, whatever their size; what bends easily rests nearby. Links are ropes here: one at
which F + W is zero may be shorter than it is, and the chain then ends beside the point by less than that link.
"""

import math

from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import CENTER, DOF, HELICAL, INERTIA, KIND, PARENT, SPHERICAL, V
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_FORCE
from linkwork.spatial.memory import load3, load9, store3
from linkwork.spatial.rotations import (
    IDENTITY3,
    ZERO3,
    add3,
    add9,
    cross3,
    dot3,
    matmul3,
    matvec3,
    norm3,
    rotation_about,
    scale3,
    sub3,
    symmetric_plus_outer,
    symvec3,
    tmatvec3,
)
from linkwork.spatial.vectors import angular
from linkwork.statics.elimination.energy import point_in_world
from linkwork.statics.elimination.small_symmetric import invert_three
from linkwork.statics.elimination.workspace import R_

# Columns of `links`, one row per joint of the way that turns: the link at the start, its length, and W.
LINK, LENGTH, LOAD, LINK_COLUMNS = 0, 3, 4, 7
FORCE, LEVER, LOAD_SUMS = 0, 3, 12  # columns of `loads`

TAUT = 0.999  # of its length: a chain stretched further is held by its stretch, and does not hang
STEPS, TRIALS = 50, 30
ZERO9 = (0.0,) * 9
ENOUGH = 1e-6  # of the length: gap at the end
ROUND = 1e-6  # of the loads: where a force vanishes, (1) is rounded off
ARMIJO = 1e-4
NOTHING = 1e-12  # of the length: joints closer than this stand at one point


@inlined
def add_load(loads, i, force, at):
    """A force on body i at a point, in the world: its sum, and Σ force ⊗ point."""
    store3(loads, i, FORCE, add3(load3(loads, i, FORCE), force))
    for r in range(3):
        for c in range(3):
            loads[i, LEVER + 3 * r + c] += force[r] * at[c]


@routine
def gather_loads(arrays, acting, place, end, loads, joints):
    """loads (n, 12): of each body on the way to body `end` and all that hangs from it, the way on left out of the levers
    only; of other bodies, and all that they carry, the forces."""
    tree, body = arrays.tree, arrays.body
    n = tree.shape[0]
    g = (arrays.gravity[0], arrays.gravity[1], arrays.gravity[2])
    for i in range(n):
        joints[i] = 0
        for c in range(LOAD_SUMS):
            loads[i, c] = 0.0
        m = body[i, INERTIA]
        if m > 0.0:
            add_load(loads, i, scale3(m, g), point_in_world(place, i, scale3(1.0 / m, load3(body, i, INERTIA + 1))))
    for k in range(acting.row_body.shape[0]):
        i = acting.row_body[k]
        if i >= 0:
            add_load(
                loads, i, load3(acting.rows, k, LOAD_FORCE), point_in_world(place, i, load3(acting.rows, k, LOAD_AT))
            )
    i = end
    while i >= 0:
        joints[i] = 1
        i = tree[i, PARENT]
    for i in range(n - 1, -1, -1):
        parent = tree[i, PARENT]
        if parent >= 0:
            force = load3(loads, i, FORCE)
            if joints[i] == 0:
                add_load(loads, parent, force, point_in_world(place, i, load3(body, i, CENTER)))
            else:
                store3(loads, parent, FORCE, add3(load3(loads, parent, FORCE), force))


@routine
def list_links(arrays, place, end, point, loads, joints, links):
    """Joints that turn on the way to body `end`, the last first, and their links; returns how many, -1 for other joints.

    point: the end of the last link, in the world.
    """
    tree, body = arrays.tree, arrays.body
    count = 0
    lever = ZERO9  # of the bodies between two joints
    further = ZERO3  # loads beyond the link
    i = end
    while i >= 0:
        lever = add9(lever, load9(loads, i, LEVER))
        kind = tree[i, KIND]
        turns = kind == SPHERICAL
        if kind == HELICAL:
            axis = angular(helical_twist(body, i))
            turns = dot3(axis, axis) > 0.0
        elif not turns and tree[i, DOF] > 0:
            return -1
        if turns:
            start = point_in_world(place, i, load3(body, i, CENTER))
            link = sub3(point, start)
            long2 = dot3(link, link)
            joints[count] = i
            store3(links, count, LINK, link)
            links[count, LENGTH] = math.sqrt(long2)
            W = further
            if long2 > 0.0:  # Σ α force, α = (at − start)·link / l²
                own = sub3(load3(loads, i, FORCE), further)
                W = add3(W, scale3(1.0 / long2, sub3(matvec3(lever, link), scale3(dot3(start, link), own))))
            store3(links, count, LOAD, W)
            further, lever, point = load3(loads, i, FORCE), ZERO9, start
            count += 1
        i = tree[i, PARENT]
    return count


@routine
def gradient(links, count, d, F, small):
    """Φ, its gradient and its second derivative (1) at F."""
    value = -dot3(F, d)
    slope = scale3(-1.0, d)
    H = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for k in range(count):
        T = add3(F, load3(links, k, LOAD))
        size = math.sqrt(dot3(T, T) + small * small)
        long = links[k, LENGTH]
        value += long * size
        a = long / size
        slope = add3(slope, scale3(a, T))
        H = symmetric_plus_outer((H[0] + a, H[1], H[2], H[3] + a, H[4], H[5] + a), -a / (size * size), T)
    return value, slope, H


@routine
def end_force(links, count, d, length, total):
    """F at the minimum of Φ, and whether it was found."""
    small = ROUND * total
    F = ZERO3
    for k in range(count):
        F = sub3(F, scale3(1.0 / count, load3(links, k, LOAD)))
    F = add3(F, scale3(0.3 * total / length, d))
    value, slope, H = gradient(links, count, d, F, small)
    for _ in range(STEPS):
        if norm3(slope) <= ENOUGH * length:
            return F, True
        inverse, _ = invert_three(H)
        x = scale3(-1.0, symvec3(inverse, slope))
        falls = dot3(x, slope)
        scale = 1.0
        for _ in range(TRIALS):
            tried = add3(F, scale3(scale, x))
            there, steep, curved = gradient(links, count, d, tried, small)
            if there <= value + ARMIJO * scale * falls + 1e-14 * abs(value):
                break
            scale *= 0.5
        F, value, slope, H = tried, there, steep, curved
    return F, False


@inlined
def turn_towards(u, t):
    """The rotation vector of the shortest way from direction u to direction t."""
    n = cross3(u, t)
    s = norm3(n)
    if s < NOTHING:
        return ZERO3
    return scale3(math.atan2(s, dot3(u, t)) / s, n)


@inlined
def turn_about(a, u, t):
    """The same about a unit axis a: as near to t as it leads."""
    return scale3(math.atan2(dot3(a, cross3(u, t)), dot3(u, t) - dot3(u, a) * dot3(t, a)), a)


@routine
def turn_links(arrays, place, joints, links, count, F, x):
    """x (nv,): velocities that, in unit time, turn every link along F + W."""
    tree, body = arrays.tree, arrays.body
    turned = IDENTITY3  # of the bodies before the joint, in the world
    for k in range(count - 1, -1, -1):
        i = joints[k]
        j = k
        while j > 0 and links[j, LENGTH] == 0.0:  # several joints at one point share the link beyond
            j -= 1
        T = add3(F, load3(links, j, LOAD))
        pull = norm3(T)
        if links[j, LENGTH] == 0.0 or pull == 0.0:
            continue
        u = matvec3(turned, scale3(1.0 / links[j, LENGTH], load3(links, j, LINK)))
        t = scale3(1.0 / pull, T)
        R = matmul3(turned, load9(place.world, i, R_))
        v = tree[i, V]
        if tree[i, KIND] == SPHERICAL:
            w = turn_towards(u, t)
            local = tmatvec3(R, w)
            x[v], x[v + 1], x[v + 2] = local[0], local[1], local[2]
        else:
            axis = angular(helical_twist(body, i))
            w = turn_about(matvec3(R, axis), u, t)
            x[v] = dot3(w, matvec3(R, axis))
        angle = norm3(w)
        if angle > 0.0:
            turned = matmul3(rotation_about(scale3(1.0 / angle, w), angle), turned)


@kernel
def hang_between(arrays, acting, place, end, points, loads, joints, links, x):
    """x (nv,) that leads from `place` to where the way to body `end` hangs without stiffness.

    Returns whether there is such a place, and the force on the body there, in the world.

    points (2, 3): one of that body, in its frame, and where in the world it is to be. Scratch: loads (n, 12), joints (n,)
    of integers, links (n, 7).
    """
    gather_loads(arrays, acting, place, end, loads, joints)
    count = list_links(arrays, place, end, point_in_world(place, end, load3(points, 0, 0)), loads, joints, links)
    if count < 2:
        return False, ZERO3
    length, total = 0.0, 0.0
    for k in range(count):
        length += links[k, LENGTH]
        total = max(total, norm3(load3(links, k, LOAD)))
    for k in range(count):
        if links[k, LENGTH] < NOTHING * length:
            links[k, LENGTH] = 0.0
    i = joints[count - 1]
    first = point_in_world(place, i, load3(arrays.body, i, CENTER))
    d = sub3(load3(points, 1, 0), first)
    if not (total > 0.0 and norm3(d) < TAUT * length):
        return False, ZERO3
    F, found = end_force(links, count, d, length, total)
    if found:
        turn_links(arrays, place, joints, links, count, F, x)
    return found, F
