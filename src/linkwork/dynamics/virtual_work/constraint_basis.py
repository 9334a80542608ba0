"""The two halves of a joint's wrench: what it constrains, and what its effort and its rotor pass on.

Columns T span the wrenches that do no work in the joint's motion, TᵀS = 0; columns E carry efforts, EᵀS = 1, TᵀE = 0 not
needed. A rotor (armature A) takes A q̈ out of the effort: with f = E τ + T n + E A^½ z this reads A^½ Eᵀ(S q̈) + z = 0, one
more row of the same symmetric system. So every joint has six columns, B = [T | E A^½], and a diagonal J, zero on T, one on
the rest: a joint of any kind, with rotors or without, is one 6x6 block, and a column that is zero keeps to itself.
"""

import math

from linkwork.core.jit import inlined, routine
from linkwork.model.kernels.joint_kernels import helical_twist
from linkwork.model.layout import ARMATURE, CENTER, COMPOUND, DOF, FREE, HELICAL, KIND, SPHERICAL, V
from linkwork.spatial.memory import load3, store6
from linkwork.spatial.vectors import dot6, scale6

SAME_SIGN = 1e-6  # part of a column: a head that is zero but for rounding must not turn the basis over
SINGULAR = 1e-9  # part of a column of S left after the columns before it, from which it counts as dependent on them


@inlined
def set_column(B, o, k, b):
    """Column k of the 6x8 block at B[o]."""
    for r in range(6):
        B[o + 8 * r + k] = b[r]


@inlined
def clear_block(B, o):
    for k in range(48):
        B[o + k] = 0.0


@inlined
def unit_block(B, o):
    clear_block(B, o)
    for k in range(6):
        B[o + 9 * k] = 1.0


@routine
def joint_basis(tree, body, dof, i, S, B, o, E, scratch):
    """Writes B into the 6x8 block at B[o] and the columns of E into its rows (nv, 6); False where S is singular.

    S: rows of the motion subspace, used for compound joints only. scratch: at least (6, 14).
    """
    kind = tree[i, KIND]
    j = tree[i, V]
    clear_block(B, o)
    if kind == HELICAL:
        helical_basis(helical_twist(body, i), dof[j, ARMATURE], j, B, o, E)
    elif kind == SPHERICAL:
        x, y, z = load3(body, i, CENTER)
        set_column(B, o, 0, (0.0, z, -y, 1.0, 0.0, 0.0))  # forces through the centre: moments c x f
        set_column(B, o, 1, (-z, 0.0, x, 0.0, 1.0, 0.0))
        set_column(B, o, 2, (y, -x, 0.0, 0.0, 0.0, 1.0))
        for d in range(3):
            for r in range(6):
                E[j + d, r] = 0.0
            E[j + d, d] = 1.0
            B[o + 8 * d + 3 + d] = math.sqrt(dof[j + d, ARMATURE])
    elif kind == FREE:
        for d in range(6):
            for r in range(6):
                E[j + d, r] = 0.0
            E[j + d, d] = 1.0
            B[o + 9 * d] = math.sqrt(dof[j + d, ARMATURE])
    elif kind == COMPOUND:
        return compound_basis(tree, dof, i, S, B, o, E, scratch)
    else:
        unit_block(B, o)
    return True


@inlined
def helical_basis(s, armature, j, B, o, E):
    """T from the reflection that turns s into the first axis; E along s."""
    length2 = dot6(s, s)
    u = scale6(1.0 / math.sqrt(length2), s)
    sign = 1.0 if u[0] >= 0.0 else -1.0
    w = (u[0] + sign, u[1], u[2], u[3], u[4], u[5])
    scale = 1.0 / (1.0 + abs(u[0]))
    for k in range(5):
        for r in range(6):
            B[o + 8 * r + k] = -scale * w[r] * w[k + 1]
        B[o + 8 * (k + 1) + k] += 1.0
    e = scale6(1.0 / length2, s)
    store6(E, j, 0, e)
    set_column(B, o, 5, scale6(math.sqrt(armature), e))


@routine
def compound_basis(tree, dof, i, S, B, o, E, a):
    """Householder's QR of S: T is what is left of the orthogonal factor, E = Q R⁻ᵀ."""
    j = tree[i, V]
    nd = tree[i, DOF]
    for d in range(nd):  # columns 0 to d - 1 hold S, columns 8 to 13 the orthogonal factor
        for r in range(6):
            a[r, d] = S[j + d, r]
    for r in range(6):
        for k in range(6):
            a[r, 8 + k] = 1.0 if r == k else 0.0
    for d in range(nd):
        total = 0.0
        for r in range(6):
            total += a[r, d] * a[r, d]
        tail = 0.0
        for r in range(d, 6):
            tail += a[r, d] * a[r, d]
        if not tail > SINGULAR * SINGULAR * total:
            return False
        norm = math.sqrt(tail)
        head = a[d, d]
        alpha = -norm if head >= -SAME_SIGN * norm else norm
        w0 = head - alpha
        beta = 1.0 / (norm * abs(w0))  # 2 / wᵀw
        for k in range(d + 1, nd):
            x = w0 * a[d, k]
            for r in range(d + 1, 6):
                x += a[r, d] * a[r, k]
            x *= beta
            a[d, k] -= x * w0
            for r in range(d + 1, 6):
                a[r, k] -= x * a[r, d]
        for r in range(6):  # the factor from the right
            x = a[r, 8 + d] * w0
            for k in range(d + 1, 6):
                x += a[r, 8 + k] * a[k, d]
            x *= beta
            a[r, 8 + d] -= x * w0
            for k in range(d + 1, 6):
                a[r, 8 + k] -= x * a[k, d]
        a[d, d] = alpha
    for k in range(nd, 6):
        for r in range(6):
            B[o + 8 * r + k - nd] = a[r, 8 + k]
    for r in range(6):  # E Rᵀ = Q, row by row, last column first
        for d in range(nd - 1, -1, -1):
            x = a[r, 8 + d]
            for k in range(d + 1, nd):
                x -= E[j + k, r] * a[d, k]
            E[j + d, r] = x / a[d, d]
    for d in range(nd):
        root = math.sqrt(dof[j + d, ARMATURE])
        for r in range(6):
            B[o + 8 * r + 6 - nd + d] = root * E[j + d, r]
    return True
