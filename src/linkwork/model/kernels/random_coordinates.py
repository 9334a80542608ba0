"""Random coordinates of all joints at once: what `Joint.random` does for one, for a million."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.model import layout


def random_coordinates(
    tree: IntArray,
    body: FloatArray,
    screws: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    nq: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Coordinates within the limits, or within (-π, π) and (-1 m, 1 m); orientations are uniform. Shape (nq,)."""
    q = np.empty(nq)
    kind, start = tree[:, layout.KIND], tree[:, layout.Q]

    rows, step = _screw_rows(tree)
    k, j = start[rows] + step, tree[rows, layout.V] + step
    span = np.where(_turns(tree, body, screws, rows, step), math.pi, 1.0)
    low = np.where(np.isfinite(lower[j]), lower[j], np.minimum(-span, upper[j] - 2.0 * span))
    high = np.where(np.isfinite(upper[j]), upper[j], np.maximum(span, low + 2.0 * span))
    q[k] = uniform_within(rng, low, high)

    free = start[kind == layout.FREE]
    q[free[:, None] + np.arange(3)] = rng.uniform(-1.0, 1.0, size=(free.size, 3))
    balls = np.concatenate([start[kind == layout.SPHERICAL], free + 3])
    quaternions = rng.normal(size=(balls.size, 4))
    q[balls[:, None] + np.arange(4)] = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    return q


def uniform_within(rng: np.random.Generator, low: FloatArray, high: FloatArray) -> FloatArray:
    """Evenly distributed numbers; in the half around the middle where an interval is wider than numbers go."""
    with np.errstate(over="ignore"):
        wide = ~np.isfinite(high - low)
    return rng.uniform(np.where(wide, 0.5 * low, low), np.where(wide, 0.5 * high, high))


def _screw_rows(tree: IntArray) -> tuple[IntArray, IntArray]:
    """For every screw of helical and compound joints: the body it belongs to, and its place in the joint."""
    kind = tree[:, layout.KIND]
    bodies = np.flatnonzero((kind == layout.HELICAL) | (kind == layout.COMPOUND))
    dof = tree[bodies, layout.DOF]
    rows = np.repeat(bodies, dof)
    first = np.repeat(np.cumsum(dof) - dof, dof)
    return rows, np.arange(rows.size) - first


def _turns(tree: IntArray, body: FloatArray, screws: FloatArray, rows: IntArray, step: IntArray) -> NDArray[np.bool_]:
    """Which screws have an axis of rotation; the others slide."""
    turns: NDArray[np.bool_] = (body[rows, layout.AXIS : layout.AXIS + 3] != 0.0).any(axis=1)
    compound = tree[rows, layout.KIND] == layout.COMPOUND
    table = screws[tree[rows[compound], layout.SCREW] + step[compound], layout.SCREW_AXIS : layout.SCREW_AXIS + 3]
    turns[compound] = table.any(axis=1)
    return turns
