"""Memory of the elimination of a tree (`tree_elimination`), and the ways between a body and its parent.

Everything stands in world axes at the origin of each body, so that going from a body to its parent is a shift by r.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.bundles import Float1, Float2, Int1, Int2
from linkwork.core.jit import inlined
from linkwork.spatial.rotations import add3, cross3
from linkwork.spatial.simd import flat6
from linkwork.spatial.vectors import add_scaled, angular, join, linear

BLOCK, ROW = 48, 8  # numbers of a 6x6 block, row after row, and of a row: six, rounded up to a whole register
MOST_FREEDOMS = 6  # of a joint


class TreeFactor(NamedTuple):
    """A tree of n bodies with nv freedoms and up to c couplings; world axes, at the bodies' origins."""

    S: Float2  # (nv, 8)  column of each freedom; rows of wrenches and twists have eight numbers, of which two are zero
    is_unit: Int1  # (n,)     1: a free body that stands in the world, whose columns are those of the unit matrix
    r: Float2  # (n, 8)   from the origin of the parent to that of the body [m]
    block: Float1  # (48 n,)  what each body carries, 6x8, row after row; eliminated by `factor`
    added_diagonal: Float1  # (nv,)    what is added to the diagonal: armature, springs, limits
    U: Float2  # (nv, 8)
    Y: Float2  # (nv, 8)
    Dinv: Float1  # (nv,)
    wrench: Float2  # (n, 8)   p; what impulses on a body are, negative
    effort: Float1  # (nv,)    τ, then u
    x: Float1  # (nv,)    the solution
    twist: Float2  # (n, 8)   velocities of the bodies with it
    order: Int1  # (n,)     bodies as they are eliminated: each before its parent
    rank: Int1  # (n,)     place of each body in `order`
    head: Int1  # (n,)     first entry in the list of a body's couplings, -1: none
    after: Int1  # (2 c,)   the next entry in the list: coupling k has 2 k in that of a, 2 k + 1 in that of b
    ends: Int2  # (c, 2)   bodies a and b of a coupling; a is eliminated before b
    gone_with: Int1  # (c,)     a, once it was eliminated, before that -1
    coupling: Float1  # (96 c,)  wrench on a per twist of b, 6x8, and that on b per twist of a, transposed; lanes: of b
    Z: Float1  # (48 c,)  of each freedom of a: wrench on b per velocity of the freedom, over D
    W: Float1  # (48 c,)  and the effort on the freedom per twist of b
    near: Int1  # (n,)     couplings of the body that is being eliminated
    pairs: Int1  # (c,)     couplings between any two bodies that it is coupled with
    waits: Int1  # (n,)     while `order` is found: children that come before a body, -1: no coupling is below it
    asked: Int2  # (c, 2)   couplings and parents of bodies that `order` is for
    asked_parent: Int1  # (n,)
    counts: Int1  # (4,)     see `tree_couplings`


def make_tree_factor(bodies: int, freedoms: int, couplings: int = 0) -> TreeFactor:
    """Memory for a tree of up to so many bodies and freedoms, with room for so many couplings."""
    return TreeFactor(
        S=np.zeros((freedoms, ROW)),
        is_unit=np.zeros(bodies, dtype=np.int64),
        r=np.zeros((bodies, ROW)),
        block=np.zeros(BLOCK * bodies),
        added_diagonal=np.zeros(freedoms),
        U=np.zeros((freedoms, ROW)),
        Y=np.zeros((freedoms, ROW)),
        Dinv=np.zeros(freedoms),
        wrench=np.zeros((bodies, ROW)),
        effort=np.zeros(freedoms),
        x=np.zeros(freedoms),
        twist=np.zeros((bodies, ROW)),
        order=np.arange(bodies)[::-1].copy(),
        rank=np.arange(bodies)[::-1].copy(),
        head=np.full(bodies, -1, dtype=np.int64),
        after=np.zeros(2 * couplings, dtype=np.int64),
        ends=np.zeros((couplings, 2), dtype=np.int64),
        gone_with=np.zeros(couplings, dtype=np.int64),
        coupling=np.zeros(2 * BLOCK * couplings),
        Z=np.zeros(ROW * MOST_FREEDOMS * couplings),
        W=np.zeros(ROW * MOST_FREEDOMS * couplings),
        near=np.zeros(bodies, dtype=np.int64),
        pairs=np.zeros(couplings, dtype=np.int64),
        waits=np.zeros(bodies, dtype=np.int64),
        asked=np.zeros((couplings, 2), dtype=np.int64),
        asked_parent=np.zeros(bodies, dtype=np.int64),
        counts=np.zeros(4, dtype=np.int64),
    )


@inlined
def load_numbers(a, i):
    """The six rows of block i of an array of them."""
    o = BLOCK * i
    return (
        flat6(a, o),
        flat6(a, o + ROW),
        flat6(a, o + 2 * ROW),
        flat6(a, o + 3 * ROW),
        flat6(a, o + 4 * ROW),
        flat6(a, o + 5 * ROW),
    )


@inlined
def store_numbers(a, i, X):
    for e in range(6):
        o = BLOCK * i + e
        a[o], a[o + ROW], a[o + 2 * ROW] = X[0][e], X[1][e], X[2][e]
        a[o + 3 * ROW], a[o + 4 * ROW], a[o + 5 * ROW] = X[3][e], X[4][e], X[5][e]


@inlined
def add_numbers(a, i, X):
    for e in range(6):
        o = BLOCK * i + e
        a[o] += X[0][e]
        a[o + ROW] += X[1][e]
        a[o + 2 * ROW] += X[2][e]
        a[o + 3 * ROW] += X[3][e]
        a[o + 4 * ROW] += X[4][e]
        a[o + 5 * ROW] += X[5][e]


@inlined
def shift_up(r, f):
    """A wrench on a body, about the origin of its parent."""
    return join(add3(angular(f), cross3(r, linear(f))), linear(f))


@inlined
def shift_columns_up(r, X):
    """Each column of X as a wrench about the origin of the parent."""
    x, y, z = r
    return (
        add_scaled(add_scaled(X[0], y, X[5]), -z, X[4]),
        add_scaled(add_scaled(X[1], z, X[3]), -x, X[5]),
        add_scaled(add_scaled(X[2], x, X[4]), -y, X[3]),
        X[3],
        X[4],
        X[5],
    )


@inlined
def shift_rows_up(r, X):
    """Each row of X, what twists of the body count for, as what twists of the parent do."""
    return (
        shift_up(r, X[0]),
        shift_up(r, X[1]),
        shift_up(r, X[2]),
        shift_up(r, X[3]),
        shift_up(r, X[4]),
        shift_up(r, X[5]),
    )


@inlined
def shift_block_up(r, X):
    """A block of a body, on the twist of its parent."""
    return shift_rows_up(r, shift_columns_up(r, X))
