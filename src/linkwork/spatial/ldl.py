"""L D Lᵀ of a symmetric positive definite 6x6, all in registers: the one factorization of divide and conquer.

Written out: the compiler keeps 21 numbers in registers only without a loop, and the strict order of six pivots is
the longest chain of dependent operations in a node. No square roots, six divisions.
"""

from linkwork.core.jit import inlined


@inlined
def ldl6(m):
    """L D Lᵀ of a symmetric 6x6 given by its lower triangle, row by row; returns L (15), 1/D (6) and whether D > 0."""
    (
        m00,
        m10,
        m11,
        m20,
        m21,
        m22,
        m30,
        m31,
        m32,
        m33,
        m40,
        m41,
        m42,
        m43,
        m44,
        m50,
        m51,
        m52,
        m53,
        m54,
        m55,
    ) = m
    d0 = m00
    i0 = 1.0 / d0
    a10 = m10
    l10 = a10 * i0
    a20 = m20
    l20 = a20 * i0
    a30 = m30
    l30 = a30 * i0
    a40 = m40
    l40 = a40 * i0
    a50 = m50
    l50 = a50 * i0
    d1 = m11 - l10 * a10
    i1 = 1.0 / d1
    a21 = m21 - l20 * a10
    l21 = a21 * i1
    a31 = m31 - l30 * a10
    l31 = a31 * i1
    a41 = m41 - l40 * a10
    l41 = a41 * i1
    a51 = m51 - l50 * a10
    l51 = a51 * i1
    d2 = m22 - l20 * a20 - l21 * a21
    i2 = 1.0 / d2
    a32 = m32 - l30 * a20 - l31 * a21
    l32 = a32 * i2
    a42 = m42 - l40 * a20 - l41 * a21
    l42 = a42 * i2
    a52 = m52 - l50 * a20 - l51 * a21
    l52 = a52 * i2
    d3 = m33 - l30 * a30 - l31 * a31 - l32 * a32
    i3 = 1.0 / d3
    a43 = m43 - l40 * a30 - l41 * a31 - l42 * a32
    l43 = a43 * i3
    a53 = m53 - l50 * a30 - l51 * a31 - l52 * a32
    l53 = a53 * i3
    d4 = m44 - l40 * a40 - l41 * a41 - l42 * a42 - l43 * a43
    i4 = 1.0 / d4
    a54 = m54 - l50 * a40 - l51 * a41 - l52 * a42 - l53 * a43
    l54 = a54 * i4
    d5 = m55 - l50 * a50 - l51 * a51 - l52 * a52 - l53 * a53 - l54 * a54
    i5 = 1.0 / d5
    L = (l10, l20, l21, l30, l31, l32, l40, l41, l42, l43, l50, l51, l52, l53, l54)
    positive = d0 > 0.0 and d1 > 0.0 and d2 > 0.0 and d3 > 0.0 and d4 > 0.0 and d5 > 0.0
    return L, (i0, i1, i2, i3, i4, i5), positive


@inlined
def forward(L, r):
    """L⁻¹ r for the rows (or numbers) r."""
    t0 = r[0]
    t1 = r[1] - L[0] * t0
    t2 = r[2] - L[1] * t0 - L[2] * t1
    t3 = r[3] - L[3] * t0 - L[4] * t1 - L[5] * t2
    t4 = r[4] - L[6] * t0 - L[7] * t1 - L[8] * t2 - L[9] * t3
    t5 = r[5] - L[10] * t0 - L[11] * t1 - L[12] * t2 - L[13] * t3 - L[14] * t4
    return (t0, t1, t2, t3, t4, t5)


@inlined
def backward(L, u):
    """L⁻ᵀ u for six numbers u."""
    f5 = u[5]
    f4 = u[4] - L[14] * f5
    f3 = u[3] - L[9] * f4 - L[13] * f5
    f2 = u[2] - L[5] * f3 - L[8] * f4 - L[12] * f5
    f1 = u[1] - L[2] * f2 - L[4] * f3 - L[7] * f4 - L[11] * f5
    f0 = u[0] - L[0] * f1 - L[1] * f2 - L[3] * f3 - L[6] * f4 - L[10] * f5
    return (f0, f1, f2, f3, f4, f5)
