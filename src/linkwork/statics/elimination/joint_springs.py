"""Second derivatives of the springs of balls and free joints, as symmetric matrices: leaves of the static elimination."""

from linkwork.core.jit import inlined, routine
from linkwork.model.kernels.ball_spring import curl, curl_slope, is_even, is_sprung
from linkwork.model.kernels.joint_kernels import quaternion_at
from linkwork.model.layout import STIFFNESS, Q, V
from linkwork.spatial.rotations import (
    add3,
    cross3,
    dot3,
    quaternion_conjugate,
    quaternion_log,
    quaternion_matrix,
    quaternion_multiply,
    scale3,
    tmatvec3,
)
from linkwork.spatial.vectors import ZERO6


@inlined
def stretched(row, a, b, c):
    return (a * row[0], b * row[1], c * row[2])


@inlined
def add_symmetric(D, j, k):
    """Adds a symmetric 3x3 to D from row j on."""
    rows = ((k[0], k[1], k[2]), (k[1], k[3], k[4]), (k[2], k[4], k[5]))
    for d in range(3):
        D[j + d, 0] += rows[d][0]
        D[j + d, 1] += rows[d][1]
        D[j + d, 2] += rows[d][2]


@routine
def spring_curvature(dof, j, w, exact):
    """Symmetric part (xx, xy, xz, yy, yz, zz) of `ball_spring_change` as a matrix: the second derivative of the energy.

    With J = Jl⁻¹(w) it is J K Jᵀ, and for unequal stiffnesses as much of what `turned_by` adds as `exact` says: far from
    rest that may be negative. J = (1 − c θ²) 1 − ½ ŵ + c w wᵀ; with y = K w, z = w x y `turned_by` is T Jᵀ,
    T = ½ ŷ − c ẑ − c (y wᵀ − (w·y) 1) + 2 c' (w x z) wᵀ.
    """
    x, y, z = w
    angle2 = dot3(w, w)
    c = curl(angle2)
    a, b, d = dof[j, STIFFNESS], dof[j + 1, STIFFNESS], dof[j + 2, STIFFNESS]
    one = 1.0 - c * angle2
    if is_even(dof, j):
        k = a * c
        return (a * one + k * x * x, k * x * y, k * x * z, a * one + k * y * y, k * y * z, a * one + k * z * z)
    J = (
        (one + c * x * x, c * x * y + 0.5 * z, c * x * z - 0.5 * y),
        (c * x * y - 0.5 * z, one + c * y * y, c * y * z + 0.5 * x),
        (c * x * z + 0.5 * y, c * y * z - 0.5 * x, one + c * z * z),
    )
    K = (stretched(J[0], a, b, d), stretched(J[1], a, b, d), stretched(J[2], a, b, d))
    pull = (a * x, b * y, d * z)
    across = cross3(w, pull)
    m = add3(scale3(0.5, pull), scale3(-c, across))  # T = m̂ + g wᵀ + c (w·y) 1
    g = add3(scale3(-c, pull), scale3(2.0 * curl_slope(angle2), cross3(w, across)))
    e = c * dot3(w, pull)
    T = (
        (e + g[0] * x, g[0] * y - m[2], g[0] * z + m[1]),
        (g[1] * x + m[2], e + g[1] * y, g[1] * z - m[0]),
        (g[2] * x - m[1], g[2] * y + m[0], e + g[2] * z),
    )
    half = 0.5 * exact
    return (
        dot3(J[0], K[0]) + 2.0 * half * dot3(T[0], J[0]),
        dot3(J[0], K[1]) + half * (dot3(T[0], J[1]) + dot3(T[1], J[0])),
        dot3(J[0], K[2]) + half * (dot3(T[0], J[2]) + dot3(T[2], J[0])),
        dot3(J[1], K[1]) + 2.0 * half * dot3(T[1], J[1]),
        dot3(J[1], K[2]) + half * (dot3(T[1], J[2]) + dot3(T[2], J[1])),
        dot3(J[2], K[2]) + 2.0 * half * dot3(T[2], J[2]),
    )


@inlined
def from_rest(rest, q, k):
    """Rotation vector of a ball, whose quaternion begins at k, from where its spring rests."""
    return quaternion_log(quaternion_multiply(quaternion_conjugate(quaternion_at(rest, k)), quaternion_at(q, k)))


@inlined
def ball_curvature(dof, rest, q, tree, i, exact):
    """Second derivative (5) of the energy ½ φᵀKφ of ball i, symmetric; `exact` of it that may be negative."""
    j = tree[i, V]
    k = ZERO6
    if is_sprung(dof, j):
        k = spring_curvature(dof, j, from_rest(rest, q, tree[i, Q]), exact)
    return k


@routine
def add_free_spring(dof, rest, q, k, j, exact, D):
    """Adds second derivatives of the springs of a free joint: ½ φᵀKφ, ½ k |x − x₀|²."""
    add_symmetric(D, j, spring_curvature(dof, j, from_rest(rest, q, k + 3), exact))
    stiffness = dof[j + 3, STIFFNESS]
    x = (q[k] - rest[k], q[k + 1] - rest[k + 1], q[k + 2] - rest[k + 2])
    y = tmatvec3(quaternion_matrix(quaternion_at(q, k + 3)), x)
    half = -0.5 * stiffness * exact
    skew = (0.0, -half * y[2], half * y[1], half * y[2], 0.0, -half * y[0], -half * y[1], half * y[0], 0.0)
    for d in range(3):
        D[j + 3 + d, 3 + d] += stiffness
        for e in range(3):
            D[j + d, 3 + e] += skew[3 * d + e]
            D[j + 3 + e, d] += skew[3 * d + e]
