"""The solution of a static elimination for any right sides, eight at a time: one pass to the root and one back.

With S, P = U D⁻¹, Q = W D⁻ᵀ and D⁻¹ of each joint (Q = P where the matrix is symmetric), for efforts r and wrenches −p

    leaf to root   u = r − Sᵀp,            p_λ += Xᵀ(p + P u)
    root to leaf   x = D⁻¹u − QᵀX V_λ,     V = X V_λ + S x

Right sides are the lanes of a vector: what is known of a joint is read once for all of them, and one alone takes as long as
eight. Along a chain p and V stay in registers; only bodies where branches meet, and those that are pushed or asked about,
have them in memory.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.jit import inlined, kernel, routine
from linkwork.dynamics.joint_lanes import mix_lanes, move_lanes, push_lanes
from linkwork.model.layout import DOF, PARENT, V
from linkwork.spatial.memory import load3, load6, load9
from linkwork.spatial.rotations import dot3
from linkwork.spatial.simd import (
    LANES,
    add_outer,
    add_rows,
    combine,
    get_lane,
    lane,
    load_rows,
    motion_rows_to_child,
    no_rows,
    splat,
    store_rows,
    vstore,
    with_lane,
    wrench_rows_to_parent,
)
from linkwork.spatial.vectors import angular, dot6, linear
from linkwork.statics.elimination.workspace import INVERSE, P_, R_, S_, U_

ROWS = 6 * LANES  # numbers of the wrenches or twists of one body
WAITS, NEEDS_TWIST = 1, 2  # flags of a body: a wrench on it is in memory; its twist is to be


class Sides(NamedTuple):
    """Memory of right sides, eight at a time."""

    u: FloatArray  # (8 nv,)
    wrench: FloatArray  # (48 n + 8,)  where flags say so
    twist: FloatArray  # (48 n,)
    flags: IntArray  # (n,)  zero between calls


class Pushes(NamedTuple):
    """Wrenches on bodies: b rows per right side, from side `first` on."""

    rows: FloatArray  # (c b, 6)  in the frames of the bodies
    bodies: IntArray  # (b,)  -1: the world, which does not respond
    first: int


def make_sides(bodies: int, freedoms: int) -> Sides:
    """Memory that is not touched is not taken: of a chain, hardly any."""
    return Sides(
        np.empty(LANES * freedoms),
        np.empty(ROWS * bodies + LANES),
        np.empty(ROWS * bodies),
        np.zeros(bodies, dtype=np.int64),
    )


@kernel
def solve_sides(tree, place, factors, back, sides, right, pushes, x, responses):
    """x (m, nv) for m right sides: efforts `right` (k, nv) of the first k, and `pushes`; with the rows of `factors`.

    back: column of Q in `factors`. responses (c, m): the pushes' rows times the twists that their bodies have in x.
    Returns the largest rotation [rad] and displacement of an origin [m] in the first.
    """
    turn, way = 0.0, 0.0
    for first in range(0, x.shape[0], LANES):
        last = min(first + LANES, x.shape[0])
        start_pushes(sides, pushes, first, last)
        push_to_root(tree, place.pose, factors, sides, right, first, last)
        turn2, way2 = move_to_leaves(tree, place.pose, factors, back, sides, x, first, last)
        if first == 0:
            turn, way = math.sqrt(turn2), math.sqrt(way2)
        respond(sides, pushes, responses, first, last)
    return turn, way


@routine
def start_pushes(sides, pushes, first, last):
    """Wrenches on bodies in the sides from `first` to `last`, and flags of all bodies that are pushed in any."""
    m = pushes.bodies.shape[0]
    for b in range(m):
        i = pushes.bodies[b]
        if i >= 0:
            sides.flags[i] = WAITS | NEEDS_TWIST
            store_rows(sides.wrench, ROWS * i, no_rows())
    if m == 0:
        return
    for k in range(max(first, pushes.first), min(last, pushes.first + pushes.rows.shape[0] // m)):
        for b in range(m):
            if pushes.bodies[b] >= 0:
                at = ROWS * pushes.bodies[b] + k - first
                for d in range(6):
                    sides.wrench[at + LANES * d] -= pushes.rows[(k - pushes.first) * m + b, d]


@inlined
def given_efforts(right, j, first, last):
    """Efforts on freedom j in the sides from `first` to `last`."""
    given = splat(0.0)
    for k in range(first, min(last, right.shape[0])):
        given = with_lane(given, k - first, right[k, j])
    return given


@routine
def push_to_root(tree, pose, factors, sides, right, first, last):
    p = no_rows()  # what the body behind this one passes on, if it is its child
    for i in range(tree.shape[0] - 1, -1, -1):
        if sides.flags[i] & WAITS:
            p = add_rows(p, load_rows(sides.wrench, ROWS * i))
        j, parent = tree[i, V], tree[i, PARENT]
        carried = p
        for d in range(j, j + tree[i, DOF]):
            given = given_efforts(right, d, first, last)
            u, carried = push_lanes(load6(factors, d, S_), load6(factors, d, U_), 1.0, given, p, carried)
            vstore(sides.u, LANES * d, u)
        p = no_rows()
        if parent >= 0:
            carried = wrench_rows_to_parent(load9(pose, i, R_), load3(pose, i, P_), carried)
            if parent == i - 1:
                p = carried
            else:
                if sides.flags[parent] & WAITS:
                    carried = add_rows(carried, load_rows(sides.wrench, ROWS * parent))
                sides.flags[parent] = WAITS | NEEDS_TWIST
                store_rows(sides.wrench, ROWS * parent, carried)


@routine
def move_to_leaves(tree, pose, factors, back, sides, x, first, last):
    """Writes x; returns the squares of the largest rotation and displacement in the first of the sides."""
    turn2, way2 = 0.0, 0.0
    D = factors[:, INVERSE : INVERSE + 6]
    moved = no_rows()
    for i in range(tree.shape[0]):
        j, nd, parent = tree[i, V], tree[i, DOF], tree[i, PARENT]
        above = no_rows()
        if parent >= 0:
            if parent != i - 1:
                moved = load_rows(sides.twist, ROWS * parent)
            above = motion_rows_to_child(load9(pose, i, R_), load3(pose, i, P_), moved)
        moved = above
        for d in range(nd):
            y = mix_lanes(D, j, d, nd, sides.u, LANES * j, LANES)
            y, moved = move_lanes(load6(factors, j + d, S_), load6(factors, j + d, back), 1.0, y, above, moved)
            for k in range(first, last):
                x[k, j + d] = lane(y, k - first)
        if sides.flags[i] & NEEDS_TWIST:
            store_rows(sides.twist, ROWS * i, moved)
        sides.flags[i] = 0
        alone = get_lane(moved, 0)
        turn2 = max(turn2, dot3(angular(alone), angular(alone)))
        way2 = max(way2, dot3(linear(alone), linear(alone)))
    return turn2, way2


@routine
def respond(sides, pushes, responses, first, last):
    m = pushes.bodies.shape[0]
    for c in range(responses.shape[0]):
        moved = splat(0.0)
        for b in range(m):
            if pushes.bodies[b] >= 0:
                twist = load_rows(sides.twist, ROWS * pushes.bodies[b])
                moved = moved + combine(load6(pushes.rows, c * m + b, 0), twist)
        for k in range(first, last):
            responses[c, k] = lane(moved, k - first)


@kernel
def follow_negative_pivot(tree, place, factors, start, x, twists):
    """x (nv,) with xᵀ(matrix)x = the negative pivot at joint `start`: one unit there, and what hangs below follows freely.

    Needs the factors of a symmetric matrix; twists (n, 6) is scratch. Returns the largest rotation of a body [rad].
    """
    turn2 = 0.0
    for j in range(x.shape[0]):
        x[j] = 0.0
    for i in range(start, tree.shape[0]):
        parent, j, nd = tree[i, PARENT], tree[i, V], tree[i, DOF]
        above = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        if parent >= start and i > start:
            above = motion_rows_to_child(load9(place.pose, i, R_), load3(place.pose, i, P_), load6(twists, parent, 0))
        row = j  # at the joint where it begins: the direction in which D⁻¹ is most negative among its rows
        for d in range(j, j + nd):
            if factors[d, INVERSE + d - j] < factors[row, INVERSE + row - j]:
                row = d
        moved = above
        for d in range(j, j + nd):
            if i == start:
                x[d] = factors[row, INVERSE + d - j] / factors[row, INVERSE + row - j]
            else:
                x[d] = -dot6(load6(factors, d, U_), above)
            moved = add_outer(moved, load6(factors, d, S_), x[d])
        for e in range(6):
            twists[i, e] = moved[e]
        turn2 = max(turn2, dot3(angular(moved), angular(moved)))
    return math.sqrt(turn2)
