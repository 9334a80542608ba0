"""What a target costs: how far it is missed, the wrench that pulls its body there, and the second derivative.

A target costs ½ Σ w e², e a rotation vector or a displacement in the axes of the world. Its gradient by the motion of the
body is exact: log R is its own image under the derivative of the logarithm. The second derivative is that of Gauss and
Newton, never negative, with the identity for the derivative of the logarithm; both agree where e = 0.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.reaching import arrays as at
from linkwork.spatial.memory import load3, load9
from linkwork.spatial.rotations import (
    ZERO3,
    add3,
    cross3,
    dot3,
    matmul3,
    matrix_quaternion,
    matvec3,
    quaternion_log,
    scale3,
    sub3,
    transpose3,
)

ALMOST_OPPOSITE = 1e-12  # sine of the angle between an axis and its goal below which the plane of the turn is any


@inlined
def turn_between(a, d):
    """The shortest rotation vector that takes the unit vector a to d."""
    n = cross3(a, d)
    sine = math.sqrt(dot3(n, n))
    cosine = dot3(a, d)
    angle = math.atan2(sine, cosine)
    turn = n  # to first order, where both are nearly the same
    if sine > ALMOST_OPPOSITE:
        turn = scale3(angle / sine, n)
    elif cosine < 0.0:
        other = (1.0, 0.0, 0.0)
        if abs(a[0]) > 0.7:
            other = (0.0, 1.0, 0.0)
        n = cross3(a, other)
        turn = scale3(math.pi / math.sqrt(dot3(n, n)), n)
    return turn


@inlined
def missed_way(target, t, x):
    """From the point at x to where it shall be."""
    way = sub3(load3(target, t, at.T_GOAL), x)
    if target[t, at.T_IS_ALONG] != 0.0:
        along = load3(target, t, at.T_ALONG)
        way = scale3(dot3(along, way), along)
    return way


@inlined
def missed_rotation(target, t, R):
    """The rotation vector that takes the frame to its goal, in the axes of the world."""
    now = matmul3(R, load9(target, t, at.T_FRAME))
    return quaternion_log(matrix_quaternion(matmul3(load9(target, t, at.T_TURN_GOAL), transpose3(now))))


@inlined
def sight(target, t, x):
    """Direction an axis shall have, and the distance of the point it looks at (0: the direction is given)."""
    d = load3(target, t, at.T_DIRECTION)
    far = 0.0
    if target[t, at.T_LOOKS] != 0.0:
        d = sub3(d, x)
        far = math.sqrt(dot3(d, d))
        if far > 0.0:  # else the axis meets the point already, wherever it points
            d = scale3(1.0 / far, d)
    return d, far


@routine
def target_cost(target, t, R, p):
    """Σ w e² of target t, its body at the pose (R, p) of the world; writes how far it is missed."""
    x = add3(p, matvec3(R, load3(target, t, at.T_POINT)))
    turn2, way2, cost = 0.0, 0.0, 0.0
    if target[t, at.T_WAY] != 0.0:
        e = missed_way(target, t, x)
        way2 = dot3(e, e)
        cost += target[t, at.T_WAY] * way2
    if target[t, at.T_TURN] != 0.0:
        e = missed_rotation(target, t, R)
        turn2 = dot3(e, e)
        cost += target[t, at.T_TURN] * turn2
    if target[t, at.T_POINTING] != 0.0:
        d, _ = sight(target, t, x)
        e = turn_between(matvec3(R, load3(target, t, at.T_AXIS)), d)
        cost += target[t, at.T_POINTING] * dot3(e, e)
        turn2 = max(turn2, dot3(e, e))
    target[t, at.T_MISSED_TURN] = math.sqrt(turn2)
    target[t, at.T_MISSED_WAY] = math.sqrt(way2)
    return cost


@routine
def target_terms(target, t, R, p):
    """Torque and force on the body of target t, blocks A, B, C of the second derivative, and the point x of both."""
    x = add3(p, matvec3(R, load3(target, t, at.T_POINT)))
    n, f = ZERO3, ZERO3
    a0, a1, a2, a3, a4, a5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    B = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    c0, c1, c2, c3, c4, c5 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    w = target[t, at.T_WAY]
    if w != 0.0:
        f = scale3(w, missed_way(target, t, x))
        c0, c3, c5 = w, w, w
        if target[t, at.T_IS_ALONG] != 0.0:
            k = load3(target, t, at.T_ALONG)
            c0, c1, c2 = w * k[0] * k[0], w * k[0] * k[1], w * k[0] * k[2]
            c3, c4, c5 = w * k[1] * k[1], w * k[1] * k[2], w * k[2] * k[2]
    w = target[t, at.T_TURN]
    if w != 0.0:
        n = scale3(w, missed_rotation(target, t, R))
        a0, a3, a5 = w, w, w
    w = target[t, at.T_POINTING]
    if w != 0.0:
        a = matvec3(R, load3(target, t, at.T_AXIS))
        d, far = sight(target, t, x)
        e = scale3(w, turn_between(a, d))
        n = add3(n, e)
        # P = w (1 - a aᵀ): turning about the axis itself changes nothing.
        a0, a1, a2 = a0 + w * (1.0 - a[0] * a[0]), a1 - w * a[0] * a[1], a2 - w * a[0] * a[2]
        a3, a4, a5 = a3 + w * (1.0 - a[1] * a[1]), a4 - w * a[1] * a[2], a5 + w * (1.0 - a[2] * a[2])
        if far > 0.0:  # the direction itself turns by d x v / far as the point moves
            f = add3(f, scale3(1.0 / far, cross3(e, d)))
            c = cross3(a, d)
            k = w / far
            B = (
                -k * a[0] * c[0], k * (-d[2] - a[0] * c[1]), k * (d[1] - a[0] * c[2]),
                k * (d[2] - a[1] * c[0]), -k * a[1] * c[1], k * (-d[0] - a[1] * c[2]),
                k * (-d[1] - a[2] * c[0]), k * (d[0] - a[2] * c[1]), -k * a[2] * c[2],
            )  # fmt: skip
            k = w / (far * far)
            c0 += k * (1.0 - d[0] * d[0] - c[0] * c[0])
            c1 -= k * (d[0] * d[1] + c[0] * c[1])
            c2 -= k * (d[0] * d[2] + c[0] * c[2])
            c3 += k * (1.0 - d[1] * d[1] - c[1] * c[1])
            c4 -= k * (d[1] * d[2] + c[1] * c[2])
            c5 += k * (1.0 - d[2] * d[2] - c[2] * c[2])
    return n, f, (a0, a1, a2, a3, a4, a5), B, (c0, c1, c2, c3, c4, c5), x
