"""Rigid and articulated inertias as tuples, for use inside kernels.

A rigid inertia is `(m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz)`: mass, first moment h = m c and rotational inertia about
the frame's origin. An articulated inertia is three blocks (A, B, C) of the symmetric 6x6

    [n]   [A  B] [α]        A, C symmetric (six floats), B full (nine floats)
    [f] = [Bᵀ C] [a]
"""

from linkwork.core.jit import inlined
from linkwork.spatial.rotations import (
    add3,
    add9,
    cross3,
    matvec3,
    rotate_matrix,
    rotate_symmetric,
    scale3,
    sub3,
    symvec3,
    tmatvec3,
)
from linkwork.spatial.vectors import add6, add_scaled, angular, cross_force, dot6, join, linear, scale6


@inlined
def rigid_times_twist(inertia, V):
    """I V: momentum of a rigid body."""
    m = inertia[0]
    h = (inertia[1], inertia[2], inertia[3])
    w = angular(V)
    v = linear(V)
    n = add3(symvec3((inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9]), w), cross3(h, v))
    return join(n, sub3(scale3(m, v), cross3(h, w)))


@inlined
def gyroscopic_wrench(inertia, V):
    """V x* I V: the wrench a rigid body that moves with V needs to keep its velocity."""
    return cross_force(V, rigid_times_twist(inertia, V))


@inlined
def add10(a, b):
    """Sum of two rigid inertias in one frame."""
    return (
        a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4],
        a[5] + b[5], a[6] + b[6], a[7] + b[7], a[8] + b[8], a[9] + b[9],
    )  # fmt: skip


@inlined
def rigid_as_articulated(inertia):
    m, x, y, z = inertia[0], inertia[1], inertia[2], inertia[3]
    A = (inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9])
    B = (0.0, -z, y, z, 0.0, -x, -y, x, 0.0)
    C = (m, 0.0, 0.0, m, 0.0, m)
    return A, B, C


@inlined
def articulated_times_twist(A, B, C, V):
    """The wrench that gives an articulated inertia the acceleration V."""
    w = angular(V)
    v = linear(V)
    return join(add3(symvec3(A, w), matvec3(B, v)), add3(tmatvec3(B, w), symvec3(C, v)))


@inlined
def subtract_outer(A, B, C, U, k):
    """Articulated inertia less k U Uᵀ."""
    u0, u1, u2, w0, w1, w2 = U
    k0, k1, k2, l0, l1, l2 = k * u0, k * u1, k * u2, k * w0, k * w1, k * w2
    return (
        (A[0] - k0 * u0, A[1] - k0 * u1, A[2] - k0 * u2, A[3] - k1 * u1, A[4] - k1 * u2, A[5] - k2 * u2),
        (
            B[0] - k0 * w0,
            B[1] - k0 * w1,
            B[2] - k0 * w2,
            B[3] - k1 * w0,
            B[4] - k1 * w1,
            B[5] - k1 * w2,
            B[6] - k2 * w0,
            B[7] - k2 * w1,
            B[8] - k2 * w2,
        ),
        (C[0] - l0 * w0, C[1] - l0 * w1, C[2] - l0 * w2, C[3] - l1 * w1, C[4] - l1 * w2, C[5] - l2 * w2),
    )


@inlined
def skew_times_symmetric(r, s):
    """r̂ s"""
    x, y, z = r
    return (
        y * s[2] - z * s[1],
        y * s[4] - z * s[3],
        y * s[5] - z * s[4],
        z * s[0] - x * s[2],
        z * s[1] - x * s[4],
        z * s[2] - x * s[5],
        x * s[1] - y * s[0],
        x * s[3] - y * s[1],
        x * s[4] - y * s[2],
    )


@inlined
def point_as_articulated(r, s):
    """A symmetric 3x3 that resists the point r of a body, as an articulated inertia: blocks r̂ s r̂ᵀ, r̂ s and s."""
    B = skew_times_symmetric(r, s)
    x = cross3(r, (B[0], B[1], B[2]))
    y = cross3(r, (B[3], B[4], B[5]))
    z = cross3(r, (B[6], B[7], B[8]))
    return (x[0], x[1], x[2], y[1], y[2], z[2]), B, s


@inlined
def articulated_to_parent(R, p, A, B, C):
    """X_cpᵀ I X_cp: an articulated inertia of the child frame, seen in the parent frame."""
    Ar = rotate_symmetric(R, A)
    Br = rotate_matrix(R, B)
    Cp = rotate_symmetric(R, C)
    K = skew_times_symmetric(p, Cp)
    Bp = add9(Br, K)
    # Ap = Ar - Br p̂ + p̂ Bpᵀ; only the upper half is formed.
    x, y, z = p
    Ap = (
        Ar[0] + (Br[2] * y - Br[1] * z) + (y * Bp[2] - z * Bp[1]),
        Ar[1] + (Br[0] * z - Br[2] * x) + (y * Bp[5] - z * Bp[4]),
        Ar[2] + (Br[1] * x - Br[0] * y) + (y * Bp[8] - z * Bp[7]),
        Ar[3] + (Br[3] * z - Br[5] * x) + (z * Bp[3] - x * Bp[5]),
        Ar[4] + (Br[4] * x - Br[3] * y) + (z * Bp[6] - x * Bp[8]),
        Ar[5] + (Br[7] * x - Br[6] * y) + (x * Bp[7] - y * Bp[6]),
    )
    return Ap, Bp, Cp


@inlined
def rigid_to_parent(R, p, inertia):
    """A rigid inertia of the child frame, seen in the parent frame."""
    m = inertia[0]
    h = matvec3(R, (inertia[1], inertia[2], inertia[3]))
    s = rotate_symmetric(R, (inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9]))
    x, y, z = p
    # I' = R I Rᵀ + 2 (p·h) 1 - h pᵀ - p hᵀ + m (p·p 1 - p pᵀ)
    d = 2.0 * (x * h[0] + y * h[1] + z * h[2]) + m * (x * x + y * y + z * z)
    return (
        m,
        h[0] + m * x,
        h[1] + m * y,
        h[2] + m * z,
        s[0] + d - 2.0 * h[0] * x - m * x * x,
        s[1] - h[0] * y - h[1] * x - m * x * y,
        s[2] - h[0] * z - h[2] * x - m * x * z,
        s[3] + d - 2.0 * h[1] * y - m * y * y,
        s[4] - h[1] * z - h[2] * y - m * y * z,
        s[5] + d - 2.0 * h[2] * z - m * z * z,
    )


@inlined
def subtract_product(A, B, C, w, u):
    """Upper half of the articulated inertia less w uᵀ; the sum over a joint's columns is symmetric."""
    return (
        (
            A[0] - w[0] * u[0],
            A[1] - w[0] * u[1],
            A[2] - w[0] * u[2],
            A[3] - w[1] * u[1],
            A[4] - w[1] * u[2],
            A[5] - w[2] * u[2],
        ),
        (
            B[0] - w[0] * u[3],
            B[1] - w[0] * u[4],
            B[2] - w[0] * u[5],
            B[3] - w[1] * u[3],
            B[4] - w[1] * u[4],
            B[5] - w[1] * u[5],
            B[6] - w[2] * u[3],
            B[7] - w[2] * u[4],
            B[8] - w[2] * u[5],
        ),
        (
            C[0] - w[3] * u[3],
            C[1] - w[3] * u[4],
            C[2] - w[3] * u[5],
            C[3] - w[4] * u[4],
            C[4] - w[4] * u[5],
            C[5] - w[5] * u[5],
        ),
    )


# --------------------------------------------------------------------------------- blocks that are not symmetric: six rows


@inlined
def block_times_twist(X, s):
    """X s"""
    return dot6(X[0], s), dot6(X[1], s), dot6(X[2], s), dot6(X[3], s), dot6(X[4], s), dot6(X[5], s)


@inlined
def twist_times_block(s, X):
    """Xᵀ s"""
    top = add6(scale6(s[0], X[0]), add6(scale6(s[1], X[1]), scale6(s[2], X[2])))
    return add6(top, add6(scale6(s[3], X[3]), add6(scale6(s[4], X[4]), scale6(s[5], X[5]))))


@inlined
def block_plus_outer(X, u, y):
    """X + u yᵀ"""
    return (
        add_scaled(X[0], u[0], y),
        add_scaled(X[1], u[1], y),
        add_scaled(X[2], u[2], y),
        add_scaled(X[3], u[3], y),
        add_scaled(X[4], u[4], y),
        add_scaled(X[5], u[5], y),
    )


@inlined
def block_less_outer(X, u, y):
    """X - u yᵀ"""
    return block_plus_outer(X, scale6(-1.0, u), y)


@inlined
def rigid_lower(inertia):
    """Lower triangle of the 6x6 of a rigid inertia, row by row."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = inertia
    o = 0.0
    return (
        xx,
        xy, yy,
        xz, yz, zz,
        o, z, -y, m,
        -z, o, x, o, m,
        y, -x, o, o, o, m,
    )  # fmt: skip
