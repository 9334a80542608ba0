"""What a fluid and the seabed do to one body: a wrench, and what resists a change of its velocity within a step.

A body is a straight piece; two points of Gauss along it stand for it. With u the velocity of a point against the stream, uₙ
across the axis a and uₜ along it, per length

    drag         ½ρ (d Cₙ |uₙ| uₙ + π d Cₜ |uₜ| uₜ)
    resists with D = ½ρ (d Cₙ (|uₙ| (1 − a aᵀ) + uₙ uₙᵀ/|uₙ|) + 2 π d Cₜ |uₜ| a aᵀ)                               (1)

which is symmetric and never negative: with h D beside the inertia of the body, a step of h takes drag linearly where it
ends, however thick the fluid. Added mass is ρ V Cₘ across the axis. Springs and dampers of the seabed are taken likewise.
"""

import math

from linkwork.core.jit import inlined, kernel, routine
from linkwork.spatial.memory import load3, load9, store6
from linkwork.spatial.rotations import add3, cross3, dot3, matvec3, scale3, sub3, tmatvec3
from linkwork.spatial.vectors import angular, join, linear

# Columns of the table of wetted bodies.
WET_MIDDLE, WET_AXIS, WET_LENGTH, WET_RADIUS, WET_VOLUME = 0, 3, 6, 7, 8
WET_CROSS, WET_DRAG = 9, 10  # d Cₙ and π d Cₜ [m]
WET_ADDED = 11  # added mass across the axis [kg]
WET_COLUMNS = 12

# Numbers of the fluid.
DENSITY, SURFACE, FLOOR, BED_STIFFNESS, BED_DAMPING, BED_FRICTION, BED_SLOW = range(7)

GAUSS = 0.5 / math.sqrt(3.0)  # of the length: the two points from the middle
SMALLEST = 1e-300


@inlined
def stream_at(profile, z):
    """Velocity of the fluid at the height z: straight lines between rows, the last rows beyond them."""
    m = profile.shape[0]
    k = 0
    while k < m - 2 and profile[k + 1, 0] < z:
        k += 1
    share = 0.0
    if m > 1:
        share = min(max((z - profile[k, 0]) / (profile[k + 1, 0] - profile[k, 0]), 0.0), 1.0)
    n = k + 1 if m > 1 else k
    return (
        profile[k, 1] + share * (profile[n, 1] - profile[k, 1]),
        profile[k, 2] + share * (profile[n, 2] - profile[k, 2]),
        profile[k, 3] + share * (profile[n, 3] - profile[k, 3]),
    )


@inlined
def add_outer3(N, k, a):
    """N + k a aᵀ, symmetric (xx, xy, xz, yy, yz, zz)."""
    return (
        N[0] + k * a[0] * a[0],
        N[1] + k * a[0] * a[1],
        N[2] + k * a[0] * a[2],
        N[3] + k * a[1] * a[1],
        N[4] + k * a[1] * a[2],
        N[5] + k * a[2] * a[2],
    )


@inlined
def add_identity3(N, k):
    return (N[0] + k, N[1], N[2], N[3] + k, N[4], N[5] + k)


@routine
def fluid_at_point(wet, i, water, profile, g, R, p, V, r, h):
    """Force on half of body i at its point r, and what resists there (symmetric 3x3), in the body's frame.

    h [s]: how far ahead drag and the seabed are taken; added mass is always in what resists.
    """
    half = 0.5 * wet[i, WET_LENGTH]
    a = load3(wet, i, WET_AXIS)
    place = add3(matvec3(R, r), p)
    radius = wet[i, WET_RADIUS]
    below = min(max(0.5 + 0.5 * (water[SURFACE] - place[2]) / radius, 0.0), 1.0)
    f = (0.0, 0.0, 0.0)
    N = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    u = add3(linear(V), cross3(angular(V), r))
    if below > 0.0:
        w = sub3(u, tmatvec3(R, stream_at(profile, place[2])))
        along = dot3(w, a)
        across = sub3(w, scale3(along, a))
        speed = math.sqrt(dot3(across, across))
        c = 0.5 * water[DENSITY] * below * half
        cross, skin = c * wet[i, WET_CROSS], c * wet[i, WET_DRAG]
        f = add3(scale3(-cross * speed, across), scale3(-skin * abs(along) * along, a))
        f = add3(f, scale3(-0.5 * below * water[DENSITY] * wet[i, WET_VOLUME], g))
        added = 0.5 * below * wet[i, WET_ADDED]
        push = h * cross * speed + added
        N = add_outer3(add_identity3(N, push), 2.0 * h * skin * abs(along) - push, a)
        if speed > SMALLEST:
            N = add_outer3(N, h * cross / speed, across)
    deep = water[FLOOR] + radius - place[2]
    if deep > 0.0:
        up = tmatvec3(R, (0.0, 0.0, 1.0))
        rising = dot3(u, up)
        k, d = water[BED_STIFFNESS] * half, water[BED_DAMPING] * half
        normal = max(k * deep - (d + h * k) * rising, 0.0)
        f = add3(f, scale3(normal, up))
        N = add_outer3(N, h * d + h * h * k, up)
        slide = sub3(u, scale3(rising, up))
        rub = water[BED_FRICTION] * k * deep / math.sqrt(dot3(slide, slide) + water[BED_SLOW] * water[BED_SLOW])
        f = sub3(f, scale3(rub, slide))
        N = add_outer3(add_identity3(N, h * rub), -h * rub, up)
    return f, N


@inlined
def times3(N, x):
    """N x of a symmetric matrix."""
    return (
        N[0] * x[0] + N[1] * x[1] + N[2] * x[2],
        N[1] * x[0] + N[3] * x[1] + N[4] * x[2],
        N[2] * x[0] + N[4] * x[1] + N[5] * x[2],
    )


@inlined
def gauss_point(wet, i, sign):
    return add3(load3(wet, i, WET_MIDDLE), scale3(sign * GAUSS * wet[i, WET_LENGTH], load3(wet, i, WET_AXIS)))


@inlined
def blocks_at(N, r):
    """What a symmetric 3x3 at the point r is to a twist of the body: blocks −r̂ N r̂, r̂ N and N of a symmetric 6x6."""
    x = (N[0], N[1], N[2])
    y = (N[1], N[3], N[4])
    z = (N[2], N[4], N[5])
    bx, by, bz = cross3(r, x), cross3(r, y), cross3(r, z)  # columns of r̂ N
    B = (bx[0], by[0], bz[0], bx[1], by[1], bz[1], bx[2], by[2], bz[2])
    row0, row1, row2 = (bx[0], by[0], bz[0]), (bx[1], by[1], bz[1]), (bx[2], by[2], bz[2])
    ax, ay, az = cross3(r, row0), cross3(r, row1), cross3(r, row2)  # rows of r̂ N r̂ᵀ
    return (ax[0], ax[1], ax[2], ay[1], ay[2], az[2]), B, N


@inlined
def sum6(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@routine
def fluid_in_step(wet, i, water, profile, g, R, p, V, h):
    """Wrench on body i at its velocity V, and the blocks that resist its acceleration, in its frame at its origin.

    g: of gravity, in the body's frame. `aba` measures accelerations against free fall, which neither drag nor added mass
    resists: that part is in the wrench. So is the change of the added momentum's direction; the moment of
    a slanting ideal stream (Munk) is left out, as in Morison's equation.
    """
    first, second = gauss_point(wet, i, -1.0), gauss_point(wet, i, 1.0)
    f, N = fluid_at_point(wet, i, water, profile, g, R, p, V, first, h)
    e, M = fluid_at_point(wet, i, water, profile, g, R, p, V, second, h)
    f, e = sub3(f, times3(N, g)), sub3(e, times3(M, g))
    place = add3(matvec3(R, load3(wet, i, WET_MIDDLE)), p)
    below = min(max(0.5 + 0.5 * (water[SURFACE] - place[2]) / wet[i, WET_RADIUS], 0.0), 1.0)
    a = load3(wet, i, WET_AXIS)
    stream = tmatvec3(R, stream_at(profile, place[2]))
    u = sub3(add3(linear(V), cross3(angular(V), load3(wet, i, WET_MIDDLE))), stream)
    P = scale3(below * wet[i, WET_ADDED], sub3(u, scale3(dot3(u, a), a)))
    turn = cross3(angular(V), P)
    torque = add3(cross3(first, f), cross3(second, e))
    torque = sub3(torque, cross3(load3(wet, i, WET_MIDDLE), turn))
    A, B, C = blocks_at(N, first)
    A2, B2, C2 = blocks_at(M, second)
    both = (
        B[0] + B2[0],
        B[1] + B2[1],
        B[2] + B2[2],
        B[3] + B2[3],
        B[4] + B2[4],
        B[5] + B2[5],
        B[6] + B2[6],
        B[7] + B2[7],
        B[8] + B2[8],
    )
    return join(torque, sub3(add3(f, e), turn)), sum6(A, A2), both, sum6(C, C2)


@inlined
def wrench_at_rest(wet, i, water, profile, gravity, R, p):
    """Wrench on body i at rest, in its frame at its origin."""
    g = tmatvec3(R, gravity)
    still = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    f, _ = fluid_at_point(wet, i, water, profile, g, R, p, still, gauss_point(wet, i, -1.0), 0.0)
    e, _ = fluid_at_point(wet, i, water, profile, g, R, p, still, gauss_point(wet, i, 1.0), 0.0)
    torque = add3(cross3(gauss_point(wet, i, -1.0), f), cross3(gauss_point(wet, i, 1.0), e))
    return join(torque, add3(f, e))


@kernel
def wrenches_at_rest(wet, water, profile, gravity, pose, rotation_at, place_at, out):
    """Wrenches (n, 6) on bodies at rest; pose (n, k) has their world rotation and place from the given columns on."""
    g = (gravity[0], gravity[1], gravity[2])
    for i in range(wet.shape[0]):
        if wet[i, WET_VOLUME] > 0.0:
            R, p = load9(pose, i, rotation_at), load3(pose, i, place_at)
            store6(out, i, 0, wrench_at_rest(wet, i, water, profile, g, R, p))
        else:
            store6(out, i, 0, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
