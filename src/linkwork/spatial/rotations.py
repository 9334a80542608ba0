"""Vectors, matrices and quaternions of three dimensions as tuples of floats, for use inside kernels.

A vector is `(x, y, z)`, a matrix its nine entries row by row, a symmetric matrix `(xx, xy, xz, yy, yz, zz)`, a unit
quaternion `(w, x, y, z)`. Tuples live in registers: nothing here allocates or touches memory.
"""

import math

from linkwork.core.jit import inlined

IDENTITY3 = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
ZERO3 = (0.0, 0.0, 0.0)

SMALL_ANGLE = 1e-4  # below it a Taylor series of two terms is exact to rounding


@inlined
def add3(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inlined
def sub3(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inlined
def scale3(s, a):
    return (s * a[0], s * a[1], s * a[2])


@inlined
def dot3(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def norm3(a):
    return math.sqrt(dot3(a, a))


@inlined
def cross3(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def matvec3(m, a):
    """m a"""
    return (
        m[0] * a[0] + m[1] * a[1] + m[2] * a[2],
        m[3] * a[0] + m[4] * a[1] + m[5] * a[2],
        m[6] * a[0] + m[7] * a[1] + m[8] * a[2],
    )


@inlined
def tmatvec3(m, a):
    """mᵀ a"""
    return (
        m[0] * a[0] + m[3] * a[1] + m[6] * a[2],
        m[1] * a[0] + m[4] * a[1] + m[7] * a[2],
        m[2] * a[0] + m[5] * a[1] + m[8] * a[2],
    )


@inlined
def symvec3(s, a):
    """s a, with s symmetric"""
    return (
        s[0] * a[0] + s[1] * a[1] + s[2] * a[2],
        s[1] * a[0] + s[3] * a[1] + s[4] * a[2],
        s[2] * a[0] + s[4] * a[1] + s[5] * a[2],
    )


@inlined
def symmetric_plus_outer(s, k, a):
    """s + k a aᵀ of a symmetric matrix (xx, xy, xz, yy, yz, zz)."""
    return (
        s[0] + k * a[0] * a[0],
        s[1] + k * a[0] * a[1],
        s[2] + k * a[0] * a[2],
        s[3] + k * a[1] * a[1],
        s[4] + k * a[1] * a[2],
        s[5] + k * a[2] * a[2],
    )


@inlined
def matmul3(a, b):
    """a b"""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )


@inlined
def add9(a, b):
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
    )


@inlined
def any_normal(v):
    """A unit vector across v."""
    x, y, z = abs(v[0]), abs(v[1]), abs(v[2])
    if x <= y and x <= z:
        n = cross3(v, (1.0, 0.0, 0.0))
    elif y <= z:
        n = cross3(v, (0.0, 1.0, 0.0))
    else:
        n = cross3(v, (0.0, 0.0, 1.0))
    return scale3(1.0 / math.sqrt(dot3(n, n)), n)


@inlined
def scale9(s, a):
    return (s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5], s * a[6], s * a[7], s * a[8])


@inlined
def transpose3(m):
    return (m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8])


@inlined
def rotate_matrix(r, m):
    """r m rᵀ for a full matrix m"""
    return matmul3(matmul3(r, m), transpose3(r))


@inlined
def rotate_symmetric(r, s):
    """r s rᵀ for a symmetric s"""
    t = matmul3(r, (s[0], s[1], s[2], s[1], s[3], s[4], s[2], s[4], s[5]))
    return (
        t[0] * r[0] + t[1] * r[1] + t[2] * r[2],
        t[0] * r[3] + t[1] * r[4] + t[2] * r[5],
        t[0] * r[6] + t[1] * r[7] + t[2] * r[8],
        t[3] * r[3] + t[4] * r[4] + t[5] * r[5],
        t[3] * r[6] + t[4] * r[7] + t[5] * r[8],
        t[6] * r[6] + t[7] * r[7] + t[8] * r[8],
    )


@inlined
def rotation_about(axis, angle):
    """Rotation matrix by `angle` about the unit vector `axis` (the identity when the axis is zero)."""
    # From the half angle: 1 - cos(angle) = 2 sin²(angle/2) keeps its digits at small angles.
    half_sin = math.sin(0.5 * angle)
    s = 2.0 * half_sin * math.cos(0.5 * angle)
    k = 2.0 * half_sin * half_sin
    x, y, z = axis
    # The diagonal is written 1 - k (y² + z²), not cos + k x²: that stays a rotation for axis = 0 too.
    return (
        1.0 - k * (y * y + z * z),
        k * x * y - s * z,
        k * x * z + s * y,
        k * x * y + s * z,
        1.0 - k * (x * x + z * z),
        k * y * z - s * x,
        k * x * z - s * y,
        k * y * z + s * x,
        1.0 - k * (x * x + y * y),
    )


@inlined
def quaternion_matrix(q):
    """Rotation matrix of a unit quaternion."""
    w, x, y, z = q
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )


@inlined
def quaternion_multiply(a, b):
    """The rotation b followed by a."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@inlined
def quaternion_conjugate(q):
    return (q[0], -q[1], -q[2], -q[3])


@inlined
def quaternion_normalize(q):
    s = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return (s * q[0], s * q[1], s * q[2], s * q[3])


@inlined
def quaternion_exp(v):
    """Unit quaternion of the rotation vector v (axis times angle)."""
    angle = math.sqrt(dot3(v, v))
    if angle < SMALL_ANGLE:
        s = 0.5 - angle * angle / 48.0
    else:
        s = math.sin(0.5 * angle) / angle
    return (math.cos(0.5 * angle), s * v[0], s * v[1], s * v[2])


@inlined
def quaternion_log(q):
    """Rotation vector of a unit quaternion, angle in [0, π]."""
    w, x, y, z = q
    if w < 0.0:  # q and -q are the same rotation; take the short way
        w, x, y, z = -w, -x, -y, -z
    s = math.sqrt(x * x + y * y + z * z)
    if s < SMALL_ANGLE:
        k = 2.0 / w * (1.0 - s * s / (3.0 * w * w))
    else:
        k = 2.0 * math.atan2(s, w) / s
    return (k * x, k * y, k * z)


@inlined
def matrix_quaternion(m):
    """Unit quaternion of a rotation matrix, by the largest of the four candidates (never divides by a small number)."""
    xx, yy, zz = m[0], m[4], m[8]
    if xx + yy + zz > 0.0:
        t = 1.0 + xx + yy + zz
        q = (t, m[7] - m[5], m[2] - m[6], m[3] - m[1])
    elif xx >= yy and xx >= zz:
        t = 1.0 + xx - yy - zz
        q = (m[7] - m[5], t, m[1] + m[3], m[2] + m[6])
    elif yy >= zz:
        t = 1.0 - xx + yy - zz
        q = (m[2] - m[6], m[1] + m[3], t, m[5] + m[7])
    else:
        t = 1.0 - xx - yy + zz
        q = (m[3] - m[1], m[2] + m[6], m[5] + m[7], t)
    return quaternion_normalize(q)
