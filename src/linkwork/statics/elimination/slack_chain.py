"""How a chain without stiffness hangs between two points: one force, the minimum of a convex function.

F is the force of the far point on the chain. Link k turns about its joint until it points along F + Wₖ, with Wₖ the loads of
all that lies beyond the link and the share α of its own, by where on the link they act; lₖ its length. The chain ends where
the gradient of

    Φ(F) = Σ lₖ |F + Wₖ| − F·d                                                                                        (1)

is zero, d from the first joint to the far point. Φ is convex; a chain shorter than |d| has no minimum. Chains of any loads
and lengths are exact, so that the start of a search for rest lies next to the rest of anything that bends easily.
"""

import math

from linkwork.core.jit import inlined, kernel, routine
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import CENTER, DOF, HELICAL, INERTIA, KIND, PARENT, SPHERICAL, V
from linkwork.simulation.loading.load_columns import LOAD_FORCE
from linkwork.spatial.memory import load3, load9, store3
from linkwork.spatial.rotations import (
    IDENTITY3,
    ZERO3,
    add3,
    cross3,
    dot3,
    matmul3,
    matvec3,
    rotation_about,
    scale3,
    sub3,
    symmetric_plus_outer,
    symvec3,
    tmatvec3,
)
from linkwork.spatial.vectors import angular
from linkwork.statics.elimination.forces import length3
from linkwork.statics.elimination.small_symmetric import invert_three
from linkwork.statics.elimination.workspace import P_, R_

# Columns of `links`, one row per joint of the way that turns: the link at the start, its length, and W.
LINK, LENGTH, LOAD, LINK_COLUMNS = 0, 3, 4, 7

TAUT = 0.999  # of its length: a chain stretched further is held by its stretch, and does not hang
STEPS, TRIALS = 50, 30
ENOUGH = 1e-6  # of the length: gap at the end
ROUND = 1e-6  # of the loads: where a force vanishes, (1) is rounded off
ARMIJO = 1e-4
NOTHING = 1e-12  # of the length: joints closer than this stand at one point


@inlined
def joint_point(body, place, i):
    """The centre of joint i in the world."""
    return add3(matvec3(load9(place.world, i, R_), load3(body, i, CENTER)), load3(place.world, i, P_))


@routine
def list_links(arrays, acting, place, end, point, beyond, joints, links):
    """Joints that turn on the way to body `end`, the last first, and their links; returns how many, -1 for other joints.

    point: the end of the last link, in the world. beyond (n, 3) is filled with the loads of each body and all it carries.
    """
    tree, body = arrays.tree, arrays.body
    g = (arrays.gravity[0], arrays.gravity[1], arrays.gravity[2])
    for i in range(tree.shape[0]):
        store3(beyond, i, 0, scale3(body[i, INERTIA], g))
    for k in range(acting.row_body.shape[0]):
        i = acting.row_body[k]
        if i >= 0:
            store3(beyond, i, 0, add3(load3(beyond, i, 0), load3(acting.rows, k, LOAD_FORCE)))
    for i in range(tree.shape[0] - 1, -1, -1):
        parent = tree[i, PARENT]
        if parent >= 0:
            store3(beyond, parent, 0, add3(load3(beyond, parent, 0), load3(beyond, i, 0)))
    count = 0
    mass, moment = 0.0, ZERO3  # of the bodies between two joints
    further = ZERO3  # loads beyond the link
    i = end
    while i >= 0:
        m = body[i, INERTIA]
        mass += m
        h = matvec3(load9(place.world, i, R_), load3(body, i, INERTIA + 1))
        moment = add3(moment, add3(h, scale3(m, load3(place.world, i, P_))))
        kind = tree[i, KIND]
        turns = kind == SPHERICAL
        if kind == HELICAL:
            axis = angular(helical_twist(body, i))
            turns = dot3(axis, axis) > 0.0
        elif not turns and tree[i, DOF] > 0:
            return -1
        if turns:
            start = joint_point(body, place, i)
            link = sub3(point, start)
            long2 = dot3(link, link)
            share = 0.5
            if mass > 0.0 and long2 > 0.0:
                share = min(max(dot3(sub3(scale3(1.0 / mass, moment), start), link) / long2, 0.0), 1.0)
            joints[count] = i
            store3(links, count, LINK, link)
            links[count, LENGTH] = math.sqrt(long2)
            own = sub3(load3(beyond, i, 0), further)
            store3(links, count, LOAD, add3(further, scale3(share, own)))
            further, mass, moment, point = load3(beyond, i, 0), 0.0, ZERO3, start
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
def end_force(links, count, d, whole, total):
    """F at the minimum of Φ, and whether it was found."""
    small = ROUND * total
    F = ZERO3
    for k in range(count):
        F = sub3(F, scale3(1.0 / count, load3(links, k, LOAD)))
    F = add3(F, scale3(0.3 * total / whole, d))
    value, slope, H = gradient(links, count, d, F, small)
    for _ in range(STEPS):
        if length3(slope) <= ENOUGH * whole:
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
    s = length3(n)
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
        pull = length3(T)
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
        angle = length3(w)
        if angle > 0.0:
            turned = matmul3(rotation_about(scale3(1.0 / angle, w), angle), turned)


@kernel
def hang_between(arrays, acting, place, end, points, beyond, joints, links, x):
    """x (nv,) that leads from `place` to where the way to body `end` hangs without stiffness.

    Returns whether there is such a place, and the force on the body there, in the world.

    points (2, 3): one of that body, in its frame, and where in the world it is to be. Scratch: beyond (n, 3), joints (n,)
    of integers, links (n, 7).
    """
    at = add3(matvec3(load9(place.world, end, R_), load3(points, 0, 0)), load3(place.world, end, P_))
    count = list_links(arrays, acting, place, end, at, beyond, joints, links)
    if count < 2:
        return False, ZERO3
    whole, total = 0.0, 0.0
    for k in range(count):
        whole += links[k, LENGTH]
        total = max(total, length3(load3(links, k, LOAD)))
    for k in range(count):
        if links[k, LENGTH] < NOTHING * whole:
            links[k, LENGTH] = 0.0
    first = joint_point(arrays.body, place, joints[count - 1])
    d = sub3(load3(points, 1, 0), first)
    if not (total > 0.0 and length3(d) < TAUT * whole):
        return False, ZERO3
    F, found = end_force(links, count, d, whole, total)
    if found:
        turn_links(arrays, place, joints, links, count, F, x)
    return found, F
