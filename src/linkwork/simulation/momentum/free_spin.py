"""How a free rigid body turns in a step: the implicit midpoint rule for its spin L, which keeps L and the energy.

    I w + ½ h w x I w = L,    R⁺ = R cay(h w),    I w⁺ = cay(h w)ᵀ L = I w - ½ h w x I w                             (6)

all in the axes of the start, I about the centre of mass. Then |I w⁺| = |L|, and the energy is the same because w is at
right angles to w x I w. cay(h w) turns about w by 2 atan(½ h |w|). Euler's rule would do for a body that turns about one of
its main axes. A thin rod that spins about itself is another matter: an error of its direction is a part of L that only
a wild spin about its thin axis can make up for.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.spatial.rotations import add3, cross3, dot3, scale3, sub3, symvec3

NO_TURN = 1e-12  # of L: a smaller w x I w h turns nothing
MOST_ITERATIONS = 8
SOLVED = 1e-13  # of L
ROUGH = 1e-8  # of L: what is not met better is not solved


@inlined
def inertia_about_centre(c):
    """xx, xy, xz, yy, yz, zz about the centre of mass, of the ten numbers of an inertia."""
    m, x, y, z = c[0], c[1] / c[0], c[2] / c[0], c[3] / c[0]
    return (
        c[4] - m * (y * y + z * z),
        c[5] + m * x * y,
        c[6] + m * x * z,
        c[7] - m * (x * x + z * z),
        c[8] + m * y * z,
        c[9] - m * (x * x + y * y),
    )


@inlined
def unmet(inertia, w, L, h):
    """L - (I w + ½ h w x I w)"""
    Iw = symvec3(inertia, w)
    return sub3(L, add3(Iw, scale3(0.5 * h, cross3(w, Iw))))


@routine
def mean_turn(inertia, w, L, h):
    """The rotation vector over h of (6). w: angular velocity at the end of the step.

    Where a body turns so far that (6) is not solved, it turns about L by what w says: that leaves L and the energy
    too. Newton's method, columns of the derivative I + ½ h (w x I · - (I w) x ·) by Cramer's rule.
    """
    size = math.sqrt(dot3(L, L))
    Iw = symvec3(inertia, w)
    gyroscopic = cross3(w, Iw)
    if not h * math.sqrt(dot3(gyroscopic, gyroscopic)) > NO_TURN * size or not size * size > 0.0:
        return scale3(h, w)
    x = w
    left = unmet(inertia, x, L, h)
    for _ in range(MOST_ITERATIONS):
        if dot3(left, left) <= SOLVED * SOLVED * size * size:
            break
        Ix = symvec3(inertia, x)
        a = column(inertia, x, Ix, (1.0, 0.0, 0.0), h)
        b = column(inertia, x, Ix, (0.0, 1.0, 0.0), h)
        c = column(inertia, x, Ix, (0.0, 0.0, 1.0), h)
        bc = cross3(b, c)
        scale = 1.0 / dot3(a, bc)
        x = add3(x, scale3(scale, (dot3(left, bc), dot3(left, cross3(c, a)), dot3(left, cross3(a, b)))))
        left = unmet(inertia, x, L, h)
    speed = math.sqrt(dot3(x, x))
    if not dot3(left, left) <= ROUGH * ROUGH * size * size or not speed > 0.0:
        return scale3(h * dot3(w, L) / (size * size), L)
    return scale3(2.0 * math.atan(0.5 * h * speed) / speed, x)


@inlined
def column(inertia, x, Ix, e, h):
    """The derivative of I w + ½ h w x I w at x along e."""
    Ie = symvec3(inertia, e)
    return add3(Ie, scale3(0.5 * h, add3(cross3(e, Ix), cross3(x, Ie))))
