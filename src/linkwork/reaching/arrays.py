"""Arrays of one reaching problem: the joints that move targets, what is asked of them, and the memory of its sweeps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.bundles import Float1, Float2, Int1, Int2, describe, reader
from linkwork.core.jit import kernel
from linkwork.model import layout
from linkwork.model.layout import PARENT
from linkwork.model.model import Model

# Columns of `Reaching.target`, one row per target. Weights are zero for what a target does not ask.
T_POINT, T_GOAL, T_WAY = 0, 3, 6  # point of the body [m]; where it shall be in the world [m]; weight [1/m²]
T_FRAME, T_TURN_GOAL, T_TURN = 7, 16, 25  # frame in the body; its rotation in the world; weight [1/rad²]
T_AXIS, T_DIRECTION, T_POINTING = 26, 29, 32  # axis of the body; direction in the world, or point to look at; weight
T_LOOKS = 33  # 1: T_DIRECTION is a point [m] that the axis through T_POINT shall meet
T_ALONG, T_IS_ALONG = 34, 37  # 1: only the part of the way along this direction of the world counts
T_MISSED_TURN, T_MISSED_WAY = 38, 39  # written: how far the target is missed [rad], [m]
TARGET_COLUMNS = 40

# Columns of `Reaching.node`, one row per body of `path`: all in the axes of the world, about the problem's origin.
IA, IB, IC = 0, 6, 15  # second derivative of the cost: blocks of a symmetric 6x6
PULL, BIAS, TWIST = 21, 27, 33  # wrench of the targets on what hangs here; of a right side; twist of the body
NODE_COLUMNS = 39

# Columns of `Reaching.freedom`, one row per degree of freedom of the model.
SCREW, U_, D_INVERSE, RIGHT = 0, 6, 12, 13  # its twist; U = I S, 1/D and right side of an elimination
FREEDOM_COLUMNS = 14

# Columns of `Reaching.tree`'s dof table: METRIC takes the place of armature, posture's weight that of stiffness.
METRIC = layout.ARMATURE
CENTRING = 3  # 1 / (half range)² of a joint with limits, 0 without; the column that models leave free

FREE_TO_MOVE, BLOCKED = 0, 1
SHORTEST_RANGE = 1e-6  # [rad or m] half range of a joint below which it cannot be drawn to its middle


class Reaching(NamedTuple):
    tree: Int2  # (n, 6) of the model
    body: Float2  # (n, 32)
    screws: Float2  # (m, 9)
    dof: Float2  # (nv, 4) weight of the posture as stiffness, metric of the joints as armature
    rest: Float1  # (nq,) the posture
    path: Int1  # (k,) bodies that carry targets or lead to them, parents first
    up: Int1  # (k,) parent of each in `path`, or -1
    lower: Float1  # (nv,) limits of joints; infinite where there are none
    upper: Float1  # (nv,)
    target_node: Int1  # (t,) place in `path` of the body of each target
    target: Float2  # (t, 40)
    origin: Float1  # (3,) point of the world that twists refer to [m]: where the first target's body is
    q: Float1  # (nq,)
    trial: Float1  # (nq,)
    still: Float1  # (nv,) zeros
    pose: Float2  # (2 k, 12) of bodies in the world: two places, here and there
    node: Float2  # (k, 39)
    freedom: Float2  # (nv, 14)
    blocked: Int1  # (nv,) whether a joint is held in the step
    step: Float1  # (nv,) the step; of held joints, what they are moved by
    gradient: Float1  # (nv,) how fast the cost falls
    first: Int1  # (p + 1,) of each coupling that is kept, in the lists of their joints
    coupled: Int1  # (m,) place of each coupled joint in v
    coupled_place: Int1  # (m,) in q
    coefficient: Float1  # (m,)
    offset: Float1  # (p,)
    response: Float2  # (p + 1, nv) of the couplings; the step without them
    A: Float2  # (p, p), and on, as `loops.forces.LoopRows`
    free: Float1
    right: Float1
    force: Float1
    scale: Float1
    order: Int1
    left: Float1
    L: Float2
    rank: Int1


reaching_of = reader(Reaching)


class Paths(NamedTuple):
    """Which joints move given bodies; made once per set of bodies."""

    path: IntArray  # (k,)
    up: IntArray  # (k,)
    freedoms: IntArray  # (f,) degrees of freedom of the joints of `path`


@kernel
def mark_paths(tree, bodies, marked):
    """Marks the bodies on the ways from the world to `bodies`."""
    for i in bodies:
        while i >= 0 and marked[i] == 0:
            marked[i] = 1
            i = tree[i, PARENT]


def find_paths(model: Model, bodies: IntArray) -> Paths:
    """The joints that move some bodies; -1, the world, is moved by none."""
    tree = model.arrays.tree
    marked = np.zeros(model.n_bodies, dtype=np.int64)
    mark_paths(tree, bodies, marked)
    path = np.flatnonzero(marked).astype(np.int64)
    place = np.cumsum(marked) - 1
    parent = tree[path, PARENT]
    up = np.where(parent >= 0, place[parent], -1).astype(np.int64)
    first, size = tree[path, layout.V], tree[path, layout.DOF]
    starts = np.cumsum(size) - size
    freedoms = np.repeat(first - starts, size) + np.arange(int(size.sum()))
    return Paths(path, up, freedoms.astype(np.int64))


def make_reaching(
    model: Model, paths: Paths, nodes: IntArray, limits: bool, metric: FloatArray, couplings: tuple[Any, ...]
) -> Reaching:
    """Memory for targets on the bodies `path[nodes]`; targets, posture and coordinates are written later.

    couplings: the arrays of those that are kept, from `first` on.
    """
    tree, body, screws, _, rest, _ = model.arrays
    size = paths.path.size
    dof = np.zeros((model.nv, layout.DOF_COLUMNS))
    dof[:, METRIC] = metric
    if limits:
        dof[:, CENTRING] = _centring(model)
    return Reaching(
        tree, body, screws, dof, rest.copy(), paths.path, paths.up,
        np.array(model.lower) if limits else np.full(model.nv, -np.inf),
        np.array(model.upper) if limits else np.full(model.nv, np.inf),
        nodes, np.zeros((nodes.size, TARGET_COLUMNS)), np.zeros(3), np.zeros(model.nq), np.zeros(model.nq),
        np.zeros(model.nv), np.zeros((2 * size, 12)), np.zeros((size, NODE_COLUMNS)),
        np.zeros((model.nv, FREEDOM_COLUMNS)), np.zeros(model.nv, dtype=np.int64), np.zeros(model.nv),
        np.zeros(model.nv), *couplings,
    )  # fmt: skip


def _centring(model: Model) -> FloatArray:
    """1 / (half range)² of joints with limits on both sides, shape (nv,)."""
    half = 0.5 * (np.array(model.upper) - np.array(model.lower))  # infinite where a side has no limit
    return np.divide(1.0, half**2, out=np.zeros(model.nv), where=np.isfinite(half) & (half > SHORTEST_RANGE))


def middles(model: Model) -> FloatArray:
    """The coordinates of joints with limits on both sides in the middle of them, zero elsewhere, shape (nq,)."""
    found = np.zeros(model.nq)
    for i, joint in enumerate(model.joints):
        if joint.kind in (layout.HELICAL, layout.COMPOUND):
            q, v = model.q_slice(i), model.v_slice(i)
            low, high = model.lower[v], model.upper[v]
            both = np.isfinite(low) & np.isfinite(high)
            found[q] = 0.5 * (np.where(both, low, 0.0) + np.where(both, high, 0.0))
    return found


def table_of(reaching: Reaching) -> IntArray:
    return describe(reaching)
