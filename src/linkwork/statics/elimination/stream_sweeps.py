"""The elimination for forces without a potential: (s M − ∂r/∂q) x = r in O(n), not symmetric.

With world axes, everything about the origin of each body, K the change of a body's wrench per twist, F the wrench on all
that a joint carries:

    leaf to root   A = s I − K + Σ A',  U = A S,  W = Aᵀ S − S x* F,  D = Sᵀ U + k,  A' = A − U D⁻¹ Wᵀ           (10)
                                                                                               theory/statics.md
`solve` takes right sides from there. For loads with a potential it is the symmetric elimination of `sweeps` in other words,
at twice its cost.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.joint_solve import block_pivots, over_pivot
from linkwork.dynamics.tree_factor import shift_block_up
from linkwork.model import layout
from linkwork.model.kernels.ball_spring import ball_spring_pull
from linkwork.model.kernels.joint_kernels import helical_twist, quaternion_at
from linkwork.model.model import Model
from linkwork.spatial.inertia import block_less_outer
from linkwork.spatial.memory import add_to_block, load3, load6, load9, load_block, store6
from linkwork.spatial.rotations import (
    ZERO3,
    quaternion_conjugate,
    quaternion_log,
    quaternion_matrix,
    quaternion_multiply,
    scale3,
    sub3,
    tmatvec3,
)
from linkwork.spatial.vectors import ZERO6, add6, cross_force, cross_motion, dot6, join, scale6, sub6
from linkwork.statics.elimination.stiffness import add_joint_stiffness
from linkwork.statics.elimination.stream_leaves import add_row_block, own_block, turned, turned_back
from linkwork.statics.elimination.workspace import INVERSE, P_, R_, S_, U_, W_, WRENCH

NO_DIAGONAL = np.zeros(0)
LOCKING = 1e12  # times the largest pivot of its joint: a rotation that is held


class StreamWork(NamedTuple):
    """Coefficients of one elimination, in world axes."""

    A: FloatArray  # (n, 36)  rows of A
    U: FloatArray  # (nv, 6)
    W: FloatArray  # (nv, 6)
    S: FloatArray  # (nv, 6)
    small: FloatArray  # (6, 12)  D beside the identity, while it is inverted


class Around(NamedTuple):
    """The fluid around bodies."""

    wet: FloatArray  # (w, columns)  pieces in it
    water: FloatArray  # numbers of the fluid
    profile: FloatArray  # of its stream
    row: IntArray  # (n,)  row of `wet` of each body, or -1


def make_stream_work(model: Model) -> StreamWork:
    U, W, S = (np.zeros((model.nv, 6)) for _ in range(3))
    return StreamWork(np.zeros((model.n_bodies, 36)), U, W, S, np.zeros((6, 12)))


@kernel
def eliminate_in_stream(arrays, acting, place, work, stream, around, rate2, hold):
    """Factors s M − ∂r/∂q with s = rate2; needs the wrenches of `unbalanced_efforts`. Returns a body without pivot, or -1.

    around: Around. `acting.wrenches` holds the fluid's wrenches too.
    hold: a rotation of a ball that is resisted by less than this part of its largest is held for this step (`hold_roll`).
    """
    tree, body = arrays.tree, arrays.body
    A = stream.A
    n = tree.shape[0]
    for i in range(n):
        own_block(arrays, acting, place, around.wet, around.water, around.profile, around.row[i], i, rate2, A)
    for k in range(acting.row_body.shape[0]):
        if acting.row_body[k] >= 0:
            add_row_block(acting, place, k, A)
    for i in range(n - 1, -1, -1):
        R = load9(place.world, i, R_)
        j, nd = tree[i, layout.V], tree[i, layout.DOF]
        F = turned(R, load6(work.body, i, WRENCH))
        X = load_block(A, i, 0)
        for d in range(j, j + nd):
            s = helical_twist(body, i) if tree[i, layout.KIND] == layout.HELICAL else load6(place.S, d, 0)
            store6(stream.S, d, 0, turned(R, s))
        D = work.factors[:, INVERSE : INVERSE + 6]
        block_pivots(X, stream.S, stream.S, stream.U, stream.W, D, j, nd)
        for d in range(j, j + nd):
            across = cross_force(load6(stream.S, d, 0), F)
            store6(stream.W, d, 0, sub6(load6(stream.W, d, 0), across))
        if not invert_pivot(arrays, place, work, stream, i, rate2, hold):
            return i
        parent = tree[i, layout.PARENT]
        for d in range(nd):
            w = store_factors(R, work.factors, stream, j, d, nd)
            X = block_less_outer(X, load6(stream.U, j + d, 0), w)
        if parent >= 0:
            way = sub3(load3(place.world, i, P_), load3(place.world, parent, P_))
            add_to_block(A, parent, 0, shift_block_up(way, X))
    return -1


@inlined
def store_factors(R, factors, stream, j, d, nd):
    """Rows of `solve` of freedom d of a joint, in body axes; returns its column of W D⁻ᵀ in world axes."""
    w, u = over_pivot(factors[:, INVERSE : INVERSE + 6], stream.W, j, d, nd), ZERO6
    for e in range(nd):
        u = add6(u, scale6(factors[j + e, INVERSE + d], load6(stream.U, j + e, 0)))
    store6(factors, j + d, S_, turned_back(R, load6(stream.S, j + d, 0)))
    store6(factors, j + d, U_, turned_back(R, u))
    store6(factors, j + d, W_, turned_back(R, w))
    return w


@routine
def invert_pivot(arrays, place, work, stream, i, rate2, hold):
    """D⁻¹ of joint i, by elimination with pivoting, in the place of SᵀU in `work.factors`; False where it has none."""
    tree, dof = arrays.tree, arrays.dof
    D = work.factors[:, INVERSE : INVERSE + 6]
    j, nd = tree[i, layout.V], tree[i, layout.DOF]
    small = stream.small
    if tree[i, layout.KIND] == layout.HELICAL:
        resists = D[j, 0] + dof[j, layout.STIFFNESS] + rate2 * dof[j, layout.ARMATURE]
        D[j, 0] = 1.0 / resists if resists != 0.0 else 0.0
        return resists != 0.0
    add_joint_stiffness(arrays, place, work, i, 1.0, rate2, NO_DIAGONAL)
    add_turning_axes(arrays, place, work, i, D)
    for d in range(nd):
        for e in range(nd):
            small[d, e] = D[j + d, e]
            small[d, nd + e] = 1.0 if d == e else 0.0
    if hold > 0.0 and tree[i, layout.KIND] == layout.SPHERICAL:
        hold_roll(small, hold)
    for c in range(nd):
        best = c
        for d in range(c + 1, nd):
            if abs(small[d, c]) > abs(small[best, c]):
                best = d
        if small[best, c] == 0.0:
            return False
        for e in range(2 * nd):
            small[c, e], small[best, e] = small[best, e], small[c, e]
        scale = 1.0 / small[c, c]
        for e in range(2 * nd):
            small[c, e] *= scale
        for d in range(nd):
            if d != c:
                factor = small[d, c]
                for e in range(2 * nd):
                    small[d, e] -= factor * small[c, e]
    for d in range(nd):
        for e in range(nd):
            D[j + d, e] = small[d, nd + e]
    return True


@routine
def hold_roll(D, hold):
    """Makes the softest of three rotations stiff where hardly anything resists it.

    A round rod on a ball rolls about its axis, which changes nothing: the derivative has no inverse at rest, and next to it
    steps roll by much and gain nothing. The roll is held, and its equation left out, which the others fulfil.
    """
    largest, softest, least = 0.0, -1, math.inf
    for c in range(3):
        a, b = (c + 1) % 3, (c + 2) % 3
        largest = max(largest, abs(D[c, c]))
        minor = D[a, a] * D[b, b] - D[a, b] * D[b, a]
        if minor != 0.0:
            x = (D[b, b] * D[a, c] - D[a, b] * D[b, c]) / minor
            y = (D[a, a] * D[b, c] - D[b, a] * D[a, c]) / minor
            resists = abs(D[c, c] - D[c, a] * x - D[c, b] * y)
            if resists < least:
                softest, least = c, resists
    if least < hold * largest:
        for c in range(3):
            D[softest, c] = 0.0
            D[c, softest] = 0.0
        D[softest, softest] = LOCKING * largest


@routine
def add_turning_axes(arrays, place, work, i, D):
    """Adds to D what is not symmetric in it: axes that turn with the joint's own motion carry F with them.

    Axes of balls and free joints move with the body, those of compound joints with the screws before them; springs of balls
    come symmetric from `add_joint_stiffness`, without ½ τ·(e x d). The sum with F is symmetric where a joint is balanced.
    """
    tree = arrays.tree
    j, nd, kind = tree[i, layout.V], tree[i, layout.DOF], tree[i, layout.KIND]
    F = load6(work.body, i, WRENCH)
    pull = ZERO6  # of the joint's springs
    if kind == layout.SPHERICAL or kind == layout.FREE:
        k = tree[i, layout.Q] + (3 if kind == layout.FREE else 0)
        now = quaternion_at(place.q, k)
        from_rest = quaternion_multiply(quaternion_conjugate(quaternion_at(arrays.rest, k)), now)
        straight = ZERO3
        if kind == layout.FREE:
            way = sub3(
                (place.q[k - 3], place.q[k - 2], place.q[k - 1]),
                (arrays.rest[k - 3], arrays.rest[k - 2], arrays.rest[k - 1]),
            )
            straight = scale3(arrays.dof[j + 3, layout.STIFFNESS], tmatvec3(quaternion_matrix(now), way))
        pull = join(ball_spring_pull(arrays.dof, j, quaternion_log(from_rest)), straight)
    for d in range(nd):
        for e in range(d):
            S_d, S_e = load6(place.S, j + d, 0), load6(place.S, j + e, 0)
            turned_axis = cross_motion(S_e, S_d)
            carried = dot6(F, turned_axis)
            if kind == layout.COMPOUND:
                D[j + d, e] -= 0.5 * carried
                D[j + e, d] += 0.5 * carried
            else:
                more = 0.5 * dot6(pull, turned_axis) - carried
                D[j + d, e] += more
                D[j + e, d] -= more
