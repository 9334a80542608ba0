"""One body within a variational step: its momentum, and how that changes with where the body ends.

Within a step a body has one momentum, constant in space. With Rd, d its displacement (its frame at the end, seen from its
frame at the start), c its centre of mass, J its inertia there and x = 2 tan(θ/2) times the axis of Rd,

    f = m (Rd c + d - c) / h,     π = (J x + ½ x x J x + ¼ x (x·J x)) / h,     n = c x f + π        (6)  docs/integrators.md

in the frame at the start. A variation η = [w; v] of the frame at the end changes it by K η,

    h K = [ A B - m c^ Rd c^,  m c^ Rd ;  -m Rd c^,  m Rd ],   A = ∂(h π)/∂x,   B = ∂x/∂w = 1 + ½ x^ + ¼ x xᵀ      (7)

Turns within a step are quaternions (w, x, y, z): what does not turn has x = y = z = 0 exactly.
"""

import math

from linkwork.core.jit import inlined
from linkwork.model.layout import INERTIA
from linkwork.spatial.memory import load10
from linkwork.spatial.rotations import (
    IDENTITY3,
    ZERO3,
    add3,
    add9,
    cross3,
    dot3,
    matmul3,
    scale3,
    scale9,
    sub3,
    symvec3,
)
from linkwork.spatial.vectors import join


@inlined
def cayley_vector(turn):
    """x = 2 tan(θ/2) times the axis of a quaternion."""
    k = 2.0 / turn[0]
    return (k * turn[1], k * turn[2], k * turn[3])


@inlined
def way_of(turn, p):
    """Rd p - p: how far a turn moves a point."""
    v = (turn[1], turn[2], turn[3])
    t = cross3(v, p)
    return scale3(2.0, add3(scale3(turn[0], t), cross3(v, t)))


@inlined
def back(turn):
    """The turn the other way."""
    return (turn[0], -turn[1], -turn[2], -turn[3])


@inlined
def one_after_other(a, b):
    """The turn a, followed by b about axes that a has turned."""
    va = (a[1], a[2], a[3])
    vb = (b[1], b[2], b[3])
    v = add3(add3(scale3(a[0], vb), scale3(b[0], va)), cross3(va, vb))
    return (a[0] * b[0] - dot3(va, vb), v[0], v[1], v[2])


@inlined
def turn_matrix_less_one(turn):
    """Rd - 1."""
    w, x, y, z = turn
    a = 2.0 * x
    b = 2.0 * y
    c = 2.0 * z
    return (
        -b * y - c * z,
        a * y - c * w,
        a * z + b * w,
        a * y + c * w,
        -a * x - c * z,
        b * z - a * w,
        a * z - b * w,
        b * z + a * w,
        -a * x - b * y,
    )


@inlined
def turn_of_matrix(E):
    """The quaternion of 1 + E, for turns below π."""
    w = 0.5 * math.sqrt(4.0 + E[0] + E[4] + E[8])
    k = 0.25 / w
    return (w, k * (E[7] - E[5]), k * (E[2] - E[6]), k * (E[3] - E[1]))


@inlined
def center_and_inertia(body, i):
    """Mass, centre of mass and the inertia about it."""
    m, a, b, c, xx, xy, xz, yy, yz, zz = load10(body, i, INERTIA)
    if m == 0.0:
        return m, ZERO3, (xx, xy, xz, yy, yz, zz)
    per_mass = 1.0 / m
    x = a * per_mass
    y = b * per_mass
    z = c * per_mass
    about = (xx - b * y - c * z, xy + a * y, xz + a * z, yy - a * x - c * z, yz + b * z, zz - a * x - b * y)
    return m, (x, y, z), about


@inlined
def momentum_at_start(body, i, turn, d, h):
    """(6): the momentum of a body that is displaced by a turn and d in the step, in its frame at the start."""
    m, c, J = center_and_inertia(body, i)
    x = cayley_vector(turn)
    Jx = symvec3(J, x)
    spin = add3(add3(Jx, scale3(0.5, cross3(x, Jx))), scale3(0.25 * dot3(x, Jx), x))
    f = scale3(m / h, add3(way_of(turn, c), d))
    return join(add3(cross3(c, f), scale3(1.0 / h, spin)), f)


@inlined
def momentum_at_end(body, i, turn, d, h):
    """The same momentum in the body's frame at the end, and the kinetic energy that goes with it."""
    m, c, J = center_and_inertia(body, i)
    x = cayley_vector(turn)
    Jx = symvec3(J, x)
    turning = dot3(x, Jx)
    spin = add3(sub3(Jx, scale3(0.5, cross3(x, Jx))), scale3(0.25 * turning, x))  # Rdᵀ π h
    way = add3(way_of(turn, c), d)
    f = scale3(m / h, way)
    energy = 0.5 * (dot3(f, way) + turning / h) / h
    f = add3(f, way_of(back(turn), f))
    return join(add3(cross3(c, f), scale3(1.0 / h, spin)), f), energy


@inlined
def change_of_momentum(body, i, turn, h):
    """K of (7), six rows."""
    m, c, J = center_and_inertia(body, i)
    mR = scale9(m / h, add9(IDENTITY3, turn_matrix_less_one(turn)))
    Rc = times_hat(mR, c)
    A = add9(turning_block(J, cayley_vector(turn), h), scale9(-1.0, hat_times(c, Rc)))
    return rows_of(A, hat_times(c, mR), scale9(-1.0, Rc), mR)


@inlined
def turning_block(J, x, h):
    """A B / h of (7)."""
    Jx = symvec3(J, x)
    e = 0.25 * dot3(x, Jx)
    xx, xy, xz, yy, yz, zz = J
    # A = J + ½ (x^ J - (J x)^) + ¼ (x·Jx + 2 x (Jx)ᵀ)
    A = (
        xx + 0.5 * (x[1] * xz - x[2] * xy) + e + 0.5 * x[0] * Jx[0],
        xy + 0.5 * (x[1] * yz - x[2] * yy + Jx[2]) + 0.5 * x[0] * Jx[1],
        xz + 0.5 * (x[1] * zz - x[2] * yz - Jx[1]) + 0.5 * x[0] * Jx[2],
        xy + 0.5 * (x[2] * xx - x[0] * xz - Jx[2]) + 0.5 * x[1] * Jx[0],
        yy + 0.5 * (x[2] * xy - x[0] * yz) + e + 0.5 * x[1] * Jx[1],
        yz + 0.5 * (x[2] * xz - x[0] * zz + Jx[0]) + 0.5 * x[1] * Jx[2],
        xz + 0.5 * (x[0] * xy - x[1] * xx + Jx[1]) + 0.5 * x[2] * Jx[0],
        yz + 0.5 * (x[0] * yy - x[1] * xy - Jx[0]) + 0.5 * x[2] * Jx[1],
        zz + 0.5 * (x[0] * yz - x[1] * xz) + e + 0.5 * x[2] * Jx[2],
    )
    k = 1.0 / h
    a, b, c = x
    B = (
        k * (1.0 + 0.25 * a * a),
        k * (0.25 * a * b - 0.5 * c),
        k * (0.25 * a * c + 0.5 * b),
        k * (0.25 * a * b + 0.5 * c),
        k * (1.0 + 0.25 * b * b),
        k * (0.25 * b * c - 0.5 * a),
        k * (0.25 * a * c - 0.5 * b),
        k * (0.25 * b * c + 0.5 * a),
        k * (1.0 + 0.25 * c * c),
    )
    return matmul3(A, B)


@inlined
def times_hat(m, p):
    """m p^: each row crossed with p"""
    a = cross3((m[0], m[1], m[2]), p)
    b = cross3((m[3], m[4], m[5]), p)
    c = cross3((m[6], m[7], m[8]), p)
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])


@inlined
def hat_times(p, m):
    """p^ m: p crossed with each column"""
    a = cross3(p, (m[0], m[3], m[6]))
    b = cross3(p, (m[1], m[4], m[7]))
    c = cross3(p, (m[2], m[5], m[8]))
    return (a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])


@inlined
def rows_of(A, B, C, D):
    """The rows of [A B; C D]."""
    return (
        (A[0], A[1], A[2], B[0], B[1], B[2]),
        (A[3], A[4], A[5], B[3], B[4], B[5]),
        (A[6], A[7], A[8], B[6], B[7], B[8]),
        (C[0], C[1], C[2], D[0], D[1], D[2]),
        (C[3], C[4], C[5], D[3], D[4], D[5]),
        (C[6], C[7], C[8], D[6], D[7], D[8]),
    )


@inlined
def stacked(a, b, c):
    """The 3x3 matrix of three rows."""
    return (a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2])
