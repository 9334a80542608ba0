"""Small symmetric matrices inside kernels: absolute value of a 3x3, inverse and signs of at most 6x6."""

import math

from linkwork.core.jit import inlined, routine

TURNS = 8  # of Jacobi's method over the three off-diagonal entries; five reach rounding
THIRD = 2.0 * math.pi / 3.0
SINGULAR_PART = 1e-13  # of a diagonal entry: a pivot below it is rounding of the sums that made it


@inlined
def jacobi_angle(app, aqq, apq):
    """Cosine and sine of the rotation that makes the off-diagonal entry zero."""
    c, s = 1.0, 0.0
    if apq != 0.0:
        ratio = (aqq - app) / (2.0 * apq)
        t = 1.0 / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
        if ratio < 0.0:
            t = -t
        c = 1.0 / math.sqrt(1.0 + t * t)
        s = t * c
    return c, s


@routine
def absolute_value(b):
    """The symmetric 3x3 (xx, xy, xz, yy, yz, zz) with the absolute values of its eigenvalues.

    At most one of three has another sign than the others: ±(b − 2 λ v vᵀ), with v vᵀ the adjugate of b − λ over its trace.
    Where λ is nearly another eigenvalue, and in planes, where one rotation is enough, by Jacobi's method.
    """
    xx, xy, xz, yy, yz, zz = b
    if yz == 0.0 and (xy == 0.0 or xz == 0.0):
        return by_rotations(b)
    mean = (xx + yy + zz) / 3.0
    x, y, z = xx - mean, yy - mean, zz - mean
    spread2 = (x * x + y * y + z * z + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0
    spread = math.sqrt(spread2)
    size2 = spread2 + mean * mean
    sign, odd = 1.0 if mean >= 0.0 else -1.0, 0.0
    if spread2 > 1e-30 * size2:
        det = x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz)
        turn = math.acos(min(max(0.5 * det / (spread2 * spread), -1.0), 1.0)) / 3.0
        largest = mean + 2.0 * spread * math.cos(turn)
        least = mean + 2.0 * spread * math.cos(turn + THIRD)
        sign, odd = 1.0, min(least, 0.0)
        if 3.0 * mean - largest - least < 0.0:
            sign, odd = -1.0, max(largest, 0.0)
    if odd == 0.0:
        return (sign * xx, sign * xy, sign * xz, sign * yy, sign * yz, sign * zz)
    x, y, z = xx - odd, yy - odd, zz - odd
    a, c, f = y * z - yz * yz, x * z - xz * xz, x * y - xy * xy
    trace = a + c + f
    if not trace > 1e-7 * size2:
        return by_rotations(b)
    k = 2.0 * odd / trace
    return (
        sign * (xx - k * a),
        sign * (xy - k * (xz * yz - xy * z)),
        sign * (xz - k * (xy * yz - xz * y)),
        sign * (yy - k * c),
        sign * (yz - k * (xy * xz - yz * x)),
        sign * (zz - k * f),
    )


@routine
def by_rotations(b):
    """The same by Jacobi's method."""
    xx, xy, xz, yy, yz, zz = b
    v0, v1, v2, v3, v4, v5, v6, v7, v8 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0  # columns: eigenvectors
    size = abs(xx) + abs(yy) + abs(zz) + abs(xy) + abs(xz) + abs(yz)
    for _ in range(TURNS):
        if abs(xy) + abs(xz) + abs(yz) <= 1e-16 * size:
            break
        c, s = jacobi_angle(xx, yy, xy)
        xx, yy, xy = c * c * xx - 2.0 * s * c * xy + s * s * yy, s * s * xx + 2.0 * s * c * xy + c * c * yy, 0.0
        xz, yz = c * xz - s * yz, s * xz + c * yz
        v0, v1 = c * v0 - s * v1, s * v0 + c * v1
        v3, v4 = c * v3 - s * v4, s * v3 + c * v4
        v6, v7 = c * v6 - s * v7, s * v6 + c * v7
        c, s = jacobi_angle(xx, zz, xz)
        xx, zz, xz = c * c * xx - 2.0 * s * c * xz + s * s * zz, s * s * xx + 2.0 * s * c * xz + c * c * zz, 0.0
        xy, yz = c * xy - s * yz, s * xy + c * yz
        v0, v2 = c * v0 - s * v2, s * v0 + c * v2
        v3, v5 = c * v3 - s * v5, s * v3 + c * v5
        v6, v8 = c * v6 - s * v8, s * v6 + c * v8
        c, s = jacobi_angle(yy, zz, yz)
        yy, zz, yz = c * c * yy - 2.0 * s * c * yz + s * s * zz, s * s * yy + 2.0 * s * c * yz + c * c * zz, 0.0
        xy, xz = c * xy - s * xz, s * xy + c * xz
        v1, v2 = c * v1 - s * v2, s * v1 + c * v2
        v4, v5 = c * v4 - s * v5, s * v4 + c * v5
        v7, v8 = c * v7 - s * v8, s * v7 + c * v8
    x, y, z = abs(xx), abs(yy), abs(zz)
    return (
        x * v0 * v0 + y * v1 * v1 + z * v2 * v2,
        x * v0 * v3 + y * v1 * v4 + z * v2 * v5,
        x * v0 * v6 + y * v1 * v7 + z * v2 * v8,
        x * v3 * v3 + y * v4 * v4 + z * v5 * v5,
        x * v3 * v6 + y * v4 * v7 + z * v5 * v8,
        x * v6 * v6 + y * v7 * v7 + z * v8 * v8,
    )


@routine
def invert_symmetric(D, j, size):
    """Replaces the symmetric block D[j:j+size, 0:size] by its inverse, from its factors L Δ Lᵀ.

    Returns the number of negative pivots, or -1 where a pivot is zero but for rounding.
    """
    negative = 0
    for c in range(size):  # L below the diagonal, Δ on it
        total = abs(D[j + c, c])
        pivot = D[j + c, c]
        for k in range(c):
            part = D[j + c, k] * D[j + c, k] * D[j + k, k]
            pivot -= part
            total += abs(part)
        if not abs(pivot) > SINGULAR_PART * total:
            return -1
        if pivot < 0.0:
            negative += 1
        D[j + c, c] = pivot
        for r in range(c + 1, size):
            x = D[j + r, c]
            for k in range(c):
                x -= D[j + r, k] * D[j + c, k] * D[j + k, k]
            D[j + r, c] = x / pivot
    for c in range(size):  # L⁻¹ below the diagonal, in place
        for r in range(c + 1, size):
            x = -D[j + r, c]
            for k in range(c + 1, r):
                x -= D[j + r, k] * D[j + k, c]
            D[j + r, c] = x
        D[j + c, c] = 1.0 / D[j + c, c]
    for r in range(size):  # L⁻ᵀ Δ⁻¹ L⁻¹, upper triangle, then mirrored
        for c in range(r, size):
            x = D[j + c, r] * D[j + c, c] if c > r else D[j + c, c]
            for k in range(c + 1, size):
                x += D[j + k, r] * D[j + k, c] * D[j + k, k]
            D[j + r, c] = x
    for r in range(size):
        for c in range(r):
            D[j + r, c] = D[j + c, r]
    return negative


@inlined
def invert_three(D):
    """The inverse of a symmetric 3x3 (xx, xy, xz, yy, yz, zz), from its factors L Δ Lᵀ, and how many pivots are negative:
    -1 where one is zero but for rounding."""
    a = D[0]
    l1, l2 = D[1] / a, D[2] / a
    b = D[3] - l1 * D[1]
    off = D[4] - l1 * D[2]
    l3 = off / b
    c = D[5] - l2 * D[2] - l3 * off
    negative = 0
    for pivot in (a, b, c):
        if pivot < 0.0:
            negative += 1
    good = abs(a) > 0.0 and abs(b) > SINGULAR_PART * (abs(D[3]) + abs(l1 * D[1]))
    if not (good and abs(c) > SINGULAR_PART * (abs(D[5]) + abs(l2 * D[2]) + abs(l3 * off))):
        negative = -1
    ia, ib, ic = 1.0 / a, 1.0 / b, 1.0 / c
    m2 = l1 * l3 - l2  # of L⁻¹: below the diagonal −l1, m2, −l3
    zx, zy = ic * m2, -ic * l3
    return (ia + ib * l1 * l1 + zx * m2, -ib * l1 + zy * m2, zx, ib - zy * l3, zy, ic), negative
