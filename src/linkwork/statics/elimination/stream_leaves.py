"""What resists a body in a stream: s I − K, with K the change of its wrench per twist, in world axes at its origin.

Where a small displacement changes nothing (one velocity of the stream, all of the piece below the surface and above the
floor) K of the fluid is known: with w the velocity against the stream, t and n its parts along the axis a and across it, a
rotation ω changes a by ω x a, and so the drag −C |n| n − K |t| t a. Elsewhere it is a difference.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.environment.fluid import wrench_at_rest
from linkwork.environment.stream import stream_at
from linkwork.environment.wet_columns import (
    DENSITY,
    FLOOR,
    SURFACE,
    WET_AXIS,
    WET_CROSS,
    WET_DRAG,
    WET_LENGTH,
    WET_MIDDLE,
    WET_RADIUS,
    WET_STREAM,
    WET_VOLUME,
)
from linkwork.model.layout import INERTIA
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_STIFFNESS
from linkwork.spatial.inertia import rigid_times_twist
from linkwork.spatial.memory import load3, load6, load9, load10
from linkwork.spatial.rotations import (
    ZERO3,
    add3,
    cross3,
    dot3,
    matmul3,
    matvec3,
    rotation_about,
    scale3,
    sub3,
    tmatvec3,
)
from linkwork.spatial.vectors import ZERO6, add6, angular, cross_force, join, linear, scale6, sub6, unit6
from linkwork.statics.elimination.forces import row_force
from linkwork.statics.elimination.workspace import P_, R_

TURN, MOVE = 1e-6, 1e-4  # over which the fluid's wrench is differentiated: [rad], and a part of the body's radius
LEAST_MOVE = 1e-9  # [m]
SLOWEST = 1e-300


@inlined
def turned(R, F):
    """A wrench or twist in the axes of the world."""
    return join(matvec3(R, angular(F)), matvec3(R, linear(F)))


@inlined
def turned_back(R, F):
    return join(tmatvec3(R, angular(F)), tmatvec3(R, linear(F)))


@inlined
def moved_force(force, at, T):
    """Change of the wrench of a world-fixed force at the point `at` of a body that moves by the twist T."""
    return join(cross3(add3(linear(T), cross3(angular(T), at)), force), ZERO3)


@routine
def own_block(arrays, acting, place, wet, water, profile, k, i, rate2, A):
    """s I − K of body i: its weight, wrenches fixed in it, the fluid on the piece in row k of `wet`, if not -1."""
    R, p = load9(place.world, i, R_), load3(place.world, i, P_)
    g = (arrays.gravity[0], arrays.gravity[1], arrays.gravity[2])
    ten = load10(arrays.body, i, INERTIA)
    lever = matvec3(R, (ten[1], ten[2], ten[3]))  # m c
    fixed = turned(R, load6(acting.wrenches, i, 0))
    is_inside = k >= 0 and stays_inside(wet, k, water, profile, p)
    before = ZERO6
    if is_inside:
        middle, force = uniform_force(wet, k, water, profile, g, R)
        before = join(cross3(middle, force), force)
    elif k >= 0:
        before = turned(R, wrench_at_rest(wet, k, water, profile, g, R, p))
    fixed = sub6(fixed, before)  # the fluid's is not fixed in the body
    for c in range(6):
        T = unit6(c)
        inertia = turned(R, rigid_times_twist(ten, turned_back(R, T)))
        falls = join(cross3(add3(scale3(ten[0], linear(T)), cross3(angular(T), lever)), g), ZERO3)
        F = sub6(scale6(rate2, inertia), add6(falls, cross_force(T, fixed)))
        if is_inside:
            F = sub6(F, uniform_change(wet, k, water, profile, R, linear(before), T))
        elif k >= 0:
            F = sub6(F, difference(wet, k, water, profile, g, R, p, before, T))
        for e in range(6):
            A[i, 6 * e + c] = F[e]


@inlined
def stays_inside(wet, k, water, profile, p):
    """Whether a small displacement leaves the fluid around a piece as it is."""
    middle = load3(wet, k, WET_MIDDLE)
    reach = abs(middle[0]) + abs(middle[1]) + abs(middle[2]) + wet[k, WET_LENGTH] + 2.0 * wet[k, WET_RADIUS]
    return profile.shape[0] == 1 and p[2] + reach < water[SURFACE] and p[2] - reach > water[FLOOR]


@inlined
def against_stream(wet, k, water, profile, R):
    """Axis a of the piece, its velocities t along it and n across it against a stream that is everywhere the same, and the
    coefficients of both kinds of drag; in world axes."""
    a = matvec3(R, load3(wet, k, WET_AXIS))
    w = scale3(-1.0, add3(stream_at(profile, 0.0), load3(wet, k, WET_STREAM)))
    c = 0.5 * water[DENSITY] * wet[k, WET_LENGTH]
    return a, w, c * wet[k, WET_CROSS], c * wet[k, WET_DRAG]


@inlined
def uniform_force(wet, k, water, profile, g, R):
    """The middle of a piece, from its body's origin, and the force of the fluid there."""
    a, w, cross, skin = against_stream(wet, k, water, profile, R)
    t = dot3(w, a)
    n = sub3(w, scale3(t, a))
    drag = add3(scale3(-cross * math.sqrt(dot3(n, n)), n), scale3(-skin * abs(t) * t, a))
    force = add3(drag, scale3(-water[DENSITY] * wet[k, WET_VOLUME], g))
    return matvec3(R, load3(wet, k, WET_MIDDLE)), force


@inlined
def uniform_change(wet, k, water, profile, R, force, T):
    """Change of the fluid's wrench about where the origin was, per twist T of the body."""
    a, w, cross, skin = against_stream(wet, k, water, profile, R)
    middle = matvec3(R, load3(wet, k, WET_MIDDLE))
    turning = cross3(angular(T), a)
    t, dt = dot3(w, a), dot3(w, turning)
    n = sub3(w, scale3(t, a))
    dn = scale3(-1.0, add3(scale3(dt, a), scale3(t, turning)))
    speed = max(math.sqrt(dot3(n, n)), SLOWEST)
    across = add3(scale3(-cross * speed, dn), scale3(-cross * dot3(n, dn) / speed, n))
    change = sub3(across, add3(scale3(2.0 * skin * abs(t) * dt, a), scale3(skin * abs(t) * t, turning)))
    way = add3(linear(T), cross3(angular(T), middle))
    return join(add3(cross3(way, force), cross3(middle, change)), change)


@routine
def difference(wet, k, water, profile, g, R, p, before, T):
    """The same, by a difference."""
    if angular(T) != ZERO3:
        R2 = matmul3(rotation_about(angular(T), TURN), R)
        return scale6(1.0 / TURN, sub6(turned(R2, wrench_at_rest(wet, k, water, profile, g, R2, p)), before))
    move = max(MOVE * wet[k, WET_RADIUS], LEAST_MOVE)
    way = scale3(move, linear(T))
    after = turned(R, wrench_at_rest(wet, k, water, profile, g, R, add3(p, way)))
    after = add6(after, join(cross3(way, linear(after)), ZERO3))
    return scale6(1.0 / move, sub6(after, before))


@inlined
def add_row_block(acting, place, k, A):
    """−K of a load held by the world: its force at a point of the body, its spring."""
    i = acting.row_body[k]
    at = matvec3(load9(place.world, i, R_), load3(acting.rows, k, LOAD_AT))
    force = row_force(acting, place, k)
    stiffness = acting.rows[k, LOAD_STIFFNESS]
    for c in range(6):
        T = unit6(c)
        pull = scale3(stiffness, add3(linear(T), cross3(angular(T), at)))
        F = sub6(join(cross3(at, pull), pull), moved_force(force, at, T))
        for e in range(6):
            A[i, 6 * e + c] += F[e]
