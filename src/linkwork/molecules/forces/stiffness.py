"""Second derivatives of the pair terms by the coordinates of a linkage, without differences.

A pair of atoms i, j at d = x_i - x_j has the matrix h = (φ'/r) 1 + (φ'' - φ'/r) d dᵀ/r². With J_i the derivative of x_i by
the twist of its body at the world's origin, J_i = [-x_i^, 1], the second derivative by the twists of bodies a and b is

    H_aa = Σ J_iᵀ h J_i,   H_ab = -Σ J_iᵀ h J_j                                                                        (1)

A joint moves all bodies beyond it by one and the same twist s_k in world axes, so K_kl = s_kᵀ (Σ H_ab) s_l, summed over the
bodies a beyond k and b beyond l: both sums go from leaf to root. Positions bend, too: where k carries l,

    ∂²x_i/∂q_k∂q_l = ω_k x (ω_l x x_i + v_l)                                                                           (2)

which meets the slopes g_i of the energy by the positions. With A = Σ g xᵀ over the atoms beyond l,
G_kl = ω_lᵀ A ω_k - (ω_k·ω_l) tr A + (Σ g)·(ω_k x v_l); within a joint of several freedoms the mean of both orders.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import inlined, kernel
from linkwork.dynamics.quantities.motion import body_poses, body_twists
from linkwork.model.state import State
from linkwork.molecules.forces.tables import CUTOFF2, REACTION_K, SWITCH, SWITCH_SLOPE
from linkwork.spatial.vectors import add6


class StiffnessTables(NamedTuple):
    """What `pair_stiffness` reads and writes."""

    x: FloatArray  # (a, 3)    positions [nm]
    g: FloatArray  # (a, 3)    slopes of the pairs' energy by them [kJ/mol/nm], written
    body: IntArray  # (a,)
    of_body: IntArray  # (a,)      atoms, body by body
    first: IntArray  # (n + 1,)  where the atoms of each body begin there
    excluded_start: IntArray  # (a + 1,)
    excluded: IntArray  # (e,)      all excluded partners of each atom
    parent: IntArray  # (n,)
    joint_body: IntArray  # (nv,)     body that each degree of freedom moves
    screw: FloatArray  # (nv, 6)   its twist at the world's origin, in world axes
    row: FloatArray  # (n, 6, 6) H_ab of one body a with all b
    moved: FloatArray  # (n, 6, nv) its product with the screws
    bend: FloatArray  # (n, 12)   A and Σ g of the atoms of each body, then beyond it


NONE6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
NONE9 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@inlined
def add9(C, h, x, y, z):
    """C + h [-x^], row by row; h: the upper half of a symmetric matrix."""
    xx, xy, xz, yy, yz, zz = h
    return (
        C[0] - xy * z + xz * y, C[1] + xx * z - xz * x, C[2] - xx * y + xy * x,
        C[3] - yy * z + yz * y, C[4] + xy * z - yz * x, C[5] - xy * y + yy * x,
        C[6] - yz * z + zz * y, C[7] + xz * z - zz * x, C[8] - xz * y + yz * x,
    )  # fmt: skip


@inlined
def add_block(row, b, sign, S, C, x):
    """Adds ± J_iᵀ [C, S] to the block of body b; J_iᵀ = [x_i^; 1]."""
    full = (
        (C[0], C[1], C[2], S[0], S[1], S[2]),
        (C[3], C[4], C[5], S[1], S[3], S[4]),
        (C[6], C[7], C[8], S[2], S[4], S[5]),
    )
    for c in range(6):
        u, v, w = sign * full[0][c], sign * full[1][c], sign * full[2][c]
        row[b, 0, c] += x[1] * w - x[2] * v
        row[b, 1, c] += x[2] * u - x[0] * w
        row[b, 2, c] += x[0] * v - x[1] * u
        row[b, 3, c] += u
        row[b, 4, c] += v
        row[b, 5, c] += w


@inlined
def bent_by(bend, outer, inner):
    """(2) with the slopes of the energy: ω_lᵀ A ω_k - (ω_k·ω_l) tr A + (Σ g)·(ω_k x v_l)."""
    total = 0.0
    for r in range(3):
        for c in range(3):
            total += inner[r] * bend[3 * r + c] * outer[c]
    both = outer[0] * inner[0] + outer[1] * inner[1] + outer[2] * inner[2]
    total -= both * (bend[0] + bend[4] + bend[8])
    total += bend[9] * (outer[1] * inner[5] - outer[2] * inner[4])
    total += bend[10] * (outer[2] * inner[3] - outer[0] * inner[5])
    return total + bend[11] * (outer[0] * inner[4] - outer[1] * inner[3])


@inlined
def slopes_of_pair(parameters, settings, i, j, r2):
    """r φ' and r² φ'' of a pair at the distance r."""
    p = parameters.shape[0] // 3
    inverse2 = 1.0 / r2
    s = parameters[i] + parameters[j]
    s2 = s * s * inverse2
    s6 = s2 * s2 * s2
    depth = parameters[p + i] * parameters[p + j] * s6
    value, first, second = depth * (s6 - 1.0), depth * (6.0 - 12.0 * s6), depth * (156.0 * s6 - 42.0)
    if settings[SWITCH_SLOPE] > 0.0:
        r = math.sqrt(r2)
        y = settings[SWITCH_SLOPE] * (r - settings[SWITCH])
        if y > 0.0:
            fade = 1.0 - y * y * y * (10.0 - y * (15.0 - 6.0 * y))
            by_r = -30.0 * settings[SWITCH_SLOPE] * (y * (1.0 - y)) ** 2 * r
            twice = -60.0 * settings[SWITCH_SLOPE] ** 2 * y * (1.0 - y) * (1.0 - 2.0 * y) * r2
            second = second * fade + 2.0 * first * by_r + value * twice
            first = first * fade + value * by_r
    qq = parameters[2 * p + i] * parameters[2 * p + j]
    coulomb, field = qq * math.sqrt(inverse2), 2.0 * settings[REACTION_K] * qq * r2
    return first + (field - coulomb), second + (field + 2.0 * coulomb)


@inlined
def add_pairs_of_atom(t, parameters, settings, a, i):
    """Blocks of body a with all others by the pairs of its atom i, and the slope of their energy by its position."""
    x = (t.x[i, 0], t.x[i, 1], t.x[i, 2])
    k, last = t.excluded_start[i], t.excluded_start[i + 1]
    own = NONE6  # Σ h of this atom
    S, C, at = NONE6, NONE9, -1  # Σ h and Σ h J_j over atoms of body `at`, as far as it goes on in the order of atoms
    gx = gy = gz = 0.0
    for j in range(t.x.shape[0]):
        if k < last and t.excluded[k] == j:
            k += 1
            continue
        b = t.body[j]
        if b == a:
            continue
        dx, dy, dz = x[0] - t.x[j, 0], x[1] - t.x[j, 1], x[2] - t.x[j, 2]
        r2 = dx * dx + dy * dy + dz * dz
        if r2 >= settings[CUTOFF2]:
            continue
        first, second = slopes_of_pair(parameters, settings, i, j, r2)
        inverse2 = 1.0 / r2
        e1 = first * inverse2
        e2 = (second - first) * inverse2 * inverse2
        h = (e1 + e2 * dx * dx, e2 * dx * dy, e2 * dx * dz, e1 + e2 * dy * dy, e2 * dy * dz, e1 + e2 * dz * dz)
        if b != at:
            if at >= 0:
                add_block(t.row, at, -1.0, S, C, x)
            S, C, at = NONE6, NONE9, b
        own = add6(own, h)
        S = add6(S, h)
        C = add9(C, h, t.x[j, 0], t.x[j, 1], t.x[j, 2])
        gx, gy, gz = gx + e1 * dx, gy + e1 * dy, gz + e1 * dz
    if at >= 0:
        add_block(t.row, at, -1.0, S, C, x)
    add_block(t.row, a, 1.0, own, add9(NONE9, own, x[0], x[1], x[2]), x)
    t.g[i, 0], t.g[i, 1], t.g[i, 2] = gx, gy, gz
    for c in range(3):
        g = t.g[i, c]
        for d in range(3):
            t.bend[a, 3 * c + d] += g * x[d]
        t.bend[a, 9 + c] += g


@inlined
def move_others(t, a):
    """What the screws do to body a by its blocks with all others, each of which is carried by those before it."""
    for b in range(t.parent.shape[0] - 1, -1, -1):
        if t.parent[b] >= 0:
            for r in range(6):
                for c in range(6):
                    t.row[t.parent[b], r, c] += t.row[b, r, c]
    for m in range(t.joint_body.shape[0]):
        b = t.joint_body[m]
        for r in range(6):
            total = 0.0
            for c in range(6):
                total += t.row[b, r, c] * t.screw[m, c]
            t.moved[a, r, m] = total


@inlined
def add_bends(t, K):
    """(2): every freedom on the way to the root carries those beyond it; those of one joint do so in both orders."""
    for m in range(t.joint_body.shape[0]):
        b = t.joint_body[m]
        while b >= 0:
            for k in range(t.joint_body.shape[0]):
                if t.joint_body[k] == b:
                    bent = bent_by(t.bend[t.joint_body[m]], t.screw[k], t.screw[m])
                    part = 0.5 * bent if b == t.joint_body[m] else bent
                    K[k, m] += part
                    K[m, k] += part
            b = t.parent[b]


@kernel
def pair_stiffness(t, parameters, settings, K):
    """Adds the second derivatives of all pairs between different bodies to K (nv, nv)."""
    n, nv = t.parent.shape[0], t.joint_body.shape[0]
    t.moved[:] = 0.0
    t.bend[:] = 0.0
    t.g[:] = 0.0
    for a in range(n):
        t.row[:] = 0.0
        for place in range(t.first[a], t.first[a + 1]):
            add_pairs_of_atom(t, parameters, settings, a, t.of_body[place])
        move_others(t, a)
    for a in range(n - 1, -1, -1):
        if t.parent[a] >= 0:
            for r in range(6):
                for m in range(nv):
                    t.moved[t.parent[a], r, m] += t.moved[a, r, m]
            for c in range(12):
                t.bend[t.parent[a], c] += t.bend[a, c]
    for k in range(nv):
        for m in range(nv):
            total = 0.0
            for r in range(6):
                total += t.screw[k, r] * t.moved[t.joint_body[k], r, m]
            K[k, m] += total
    add_bends(t, K)


def stiffness_of_pairs(field: Any, state: State) -> FloatArray:
    """∂²/∂q² of all pair terms between different bodies [kJ/mol/rad², ...], shape (nv, nv). Cost: O(pairs) and O(n²)."""
    model, tree, pairs = field.model, field.tree, field.tables.pairs
    x = field.atom_positions(field.poses(state))
    n, nv, count = model.n_bodies, model.nv, len(x)
    low = np.repeat(np.arange(count), np.diff(pairs.excluded_start))
    one, two = np.concatenate([low, pairs.excluded]), np.concatenate([pairs.excluded, low])
    order = np.lexsort((two, one))
    of_body = np.argsort(tree.body, kind="stable").astype(np.int64)
    tables = StiffnessTables(
        x=np.ascontiguousarray(x),
        g=np.zeros((count, 3)),
        body=tree.body,
        of_body=of_body,
        first=np.searchsorted(tree.body[of_body], np.arange(n + 1)).astype(np.int64),
        excluded_start=np.searchsorted(one[order], np.arange(count + 1)).astype(np.int64),
        excluded=np.ascontiguousarray(two[order]),
        parent=np.ascontiguousarray(model.parent, dtype=np.int64),
        joint_body=np.array([model.joint_of(k) for k in range(nv)], dtype=np.int64),
        screw=screws_of(model, state),
        row=np.zeros((n, 6, 6)),
        moved=np.zeros((n, 6, nv)),
        bend=np.zeros((n, 12)),
    )
    K = np.zeros((nv, nv))
    pair_stiffness(tables, pairs.parameters, pairs.settings, K)
    return K


def screws_of(model: Any, state: State) -> FloatArray:
    """The twist of the bodies beyond each degree of freedom: at the world's origin, in world axes, shape (nv, 6)."""
    found = np.zeros((model.nv, 6))
    place = body_poses(model, state)[:, :3, 3]
    for k in range(model.nv):
        unit = np.zeros(model.nv)
        unit[k] = 1.0
        body = model.joint_of(k)
        twist = body_twists(model, State(state.q, unit), frame="world")[body]
        found[k, :3] = twist[:3]
        found[k, 3:] = twist[3:] - np.cross(twist[:3], place[body])
    return found
