"""What a fluid and the seabed do to one body: a wrench, and what resists a change of its velocity within a step.

A body is a straight piece; two points of Gauss along it stand for it. With u the velocity of a point against the stream, uₙ
across the axis a and uₜ along it, per length

    drag         ½ρ (d Cₙ |uₙ| uₙ + π d Cₜ |uₜ| uₜ)
    resists with D = ½ρ (d Cₙ (|uₙ| (1 − a aᵀ) + uₙ uₙᵀ/|uₙ|) + 2 π d Cₜ |uₜ| a aᵀ)                               (1)

which is symmetric and never negative: with h D beside the inertia of the body, a step of h takes drag linearly where it
ends, however thick the fluid. Added mass is ρ V Cₘ across the axis. In waves the fluid accelerates by u̇, and pushes with
ρ V (u̇ + Cₘ u̇ₙ) (Morison). Springs and dampers of the seabed are taken as drag is.
"""

import math

from linkwork.core.jit import inlined, kernel, routine
from linkwork.environment import wet_columns as at
from linkwork.environment.stream import flow_at
from linkwork.spatial.inertia import point_as_articulated
from linkwork.spatial.memory import load3, load6, load9, store6
from linkwork.spatial.rotations import (
    add3,
    add9,
    cross3,
    dot3,
    matvec3,
    scale3,
    sub3,
    symmetric_plus_outer,
    symvec3,
    tmatvec3,
)
from linkwork.spatial.vectors import ZERO6, add6, angular, join, linear

GAUSS = 0.5 / math.sqrt(3.0)  # of the length: the two points from the middle
SMALLEST = 1e-300


@inlined
def part_below(height, surface, radius):
    """Part of a piece that is below the surface, by the height of its axis."""
    return min(max(0.5 + 0.5 * (surface - height) / radius, 0.0), 1.0)


@inlined
def across_axis(u, a):
    return sub3(u, scale3(dot3(u, a), a))


@routine
def fluid_at_point(wet, k, water, profile, g, R, p, V, r, h):
    """Force on half of the piece in row k at its point r, and what resists there (symmetric 3x3), in the body's frame.

    h [s]: how far ahead drag and the seabed are taken; added mass is always in what resists.
    """
    half = 0.5 * wet[k, at.WET_LENGTH]
    a = load3(wet, k, at.WET_AXIS)
    place = add3(matvec3(R, r), p)
    radius = wet[k, at.WET_RADIUS]
    stream, push, surface = flow_at(water, profile, place)
    below = part_below(place[2], surface, radius)
    f = (0.0, 0.0, 0.0)
    N = ZERO6
    u = add3(linear(V), cross3(angular(V), r))
    if below > 0.0:
        w = sub3(u, tmatvec3(R, add3(stream, load3(wet, k, at.WET_STREAM))))
        along = dot3(w, a)
        across = sub3(w, scale3(along, a))
        speed = math.sqrt(dot3(across, across))
        c = 0.5 * water[at.DENSITY] * below * half
        cross, skin = c * wet[k, at.WET_CROSS], c * wet[k, at.WET_DRAG]
        displaced = 0.5 * below * water[at.DENSITY] * wet[k, at.WET_VOLUME]
        added = 0.5 * below * wet[k, at.WET_ADDED]
        f = add3(scale3(-cross * speed, across), scale3(-skin * abs(along) * along, a))
        wave = tmatvec3(R, push)
        f = add3(f, add3(scale3(displaced, sub3(wave, g)), scale3(added, across_axis(wave, a))))
        resists = h * cross * speed + added
        N = symmetric_plus_outer((resists, 0.0, 0.0, resists, 0.0, resists), 2.0 * h * skin * abs(along) - resists, a)
        if speed > SMALLEST:
            N = symmetric_plus_outer(N, h * cross / speed, across)
    deep = water[at.FLOOR] + radius - place[2]
    if deep > 0.0:
        up = tmatvec3(R, (0.0, 0.0, 1.0))
        rising = dot3(u, up)
        stiff, d = water[at.BED_STIFFNESS] * half, water[at.BED_DAMPING] * half
        normal = max(stiff * deep - (d + h * stiff) * rising, 0.0)
        f = add3(f, scale3(normal, up))
        N = symmetric_plus_outer(N, h * d + h * h * stiff, up)
        slide = sub3(u, scale3(rising, up))
        rub = (
            water[at.BED_FRICTION]
            * stiff
            * deep
            / math.sqrt(dot3(slide, slide) + water[at.BED_SLOW] * water[at.BED_SLOW])
        )
        f = sub3(f, scale3(rub, slide))
        N = add6(N, symmetric_plus_outer((h * rub, 0.0, 0.0, h * rub, 0.0, h * rub), -h * rub, up))
    return f, N


@inlined
def gauss_point(wet, k, sign):
    return add3(load3(wet, k, at.WET_MIDDLE), scale3(sign * GAUSS * wet[k, at.WET_LENGTH], load3(wet, k, at.WET_AXIS)))


@routine
def fluid_in_step(wet, k, water, profile, g, R, p, V, h):
    """Wrench on the piece in row k at its velocity V, and the blocks that resist, in the body's frame at its origin.

    g: of gravity, in the body's frame. `aba` measures accelerations against free fall, which neither drag nor added mass
    resists: that part is in the wrench. So is the change of the added momentum's direction; the moment of
    a slanting ideal stream (Munk) is left out, as in Morison's equation.
    """
    first, second = gauss_point(wet, k, -1.0), gauss_point(wet, k, 1.0)
    f, N = fluid_at_point(wet, k, water, profile, g, R, p, V, first, h)
    e, M = fluid_at_point(wet, k, water, profile, g, R, p, V, second, h)
    f, e = sub3(f, symvec3(N, g)), sub3(e, symvec3(M, g))
    middle = load3(wet, k, at.WET_MIDDLE)
    place = add3(matvec3(R, middle), p)
    stream, _, surface = flow_at(water, profile, place)
    below = part_below(place[2], surface, wet[k, at.WET_RADIUS])
    stream = tmatvec3(R, add3(stream, load3(wet, k, at.WET_STREAM)))
    u = sub3(add3(linear(V), cross3(angular(V), middle)), stream)
    P = scale3(below * wet[k, at.WET_ADDED], across_axis(u, load3(wet, k, at.WET_AXIS)))
    turn = cross3(angular(V), P)
    torque = sub3(add3(cross3(first, f), cross3(second, e)), cross3(middle, turn))
    A, B, C = point_as_articulated(first, N)
    A2, B2, C2 = point_as_articulated(second, M)
    return join(torque, sub3(add3(f, e), turn)), add6(A, A2), add9(B, B2), add6(C, C2)


@inlined
def wrench_at_rest(wet, k, water, profile, gravity, R, p):
    """Wrench on the piece in row k at rest, in the frame of its body at its origin."""
    g = tmatvec3(R, gravity)
    first, second = gauss_point(wet, k, -1.0), gauss_point(wet, k, 1.0)
    f, _ = fluid_at_point(wet, k, water, profile, g, R, p, ZERO6, first, 0.0)
    e, _ = fluid_at_point(wet, k, water, profile, g, R, p, ZERO6, second, 0.0)
    return join(add3(cross3(first, f), cross3(second, e)), add3(f, e))


@kernel
def wrenches_at_rest(wet, wet_body, water, profile, gravity, pose, rotation_at, place_at, out):
    """Wrenches (n, 6) on bodies at rest; pose (n, k) has their world rotation and place from the given columns on."""
    g = (gravity[0], gravity[1], gravity[2])
    for i in range(out.shape[0]):
        store6(out, i, 0, ZERO6)
    for k in range(wet.shape[0]):
        i = wet_body[k]
        R, p = load9(pose, i, rotation_at), load3(pose, i, place_at)
        store6(out, i, 0, wrench_at_rest(wet, k, water, profile, g, R, p))


@kernel
def wrenches_in_motion(wet, wet_body, water, profile, gravity, poses, twists, out):
    """Wrenches (n, 6) on bodies that move, in their frames: buoyancy, drag, the seabed. Added mass is left out, an inertia.

    poses (n, 12): rotation and place in the world; twists (n, 6), in the frames of the bodies.
    """
    g = (gravity[0], gravity[1], gravity[2])
    for i in range(out.shape[0]):
        store6(out, i, 0, ZERO6)
    for k in range(wet.shape[0]):
        i = wet_body[k]
        R, p, V = load9(poses, i, 0), load3(poses, i, 9), load6(twists, i, 0)
        down = tmatvec3(R, g)
        first, second = gauss_point(wet, k, -1.0), gauss_point(wet, k, 1.0)
        f, _ = fluid_at_point(wet, k, water, profile, down, R, p, V, first, 0.0)
        e, _ = fluid_at_point(wet, k, water, profile, down, R, p, V, second, 0.0)
        store6(out, i, 0, join(add3(cross3(first, f), cross3(second, e)), add3(f, e)))
