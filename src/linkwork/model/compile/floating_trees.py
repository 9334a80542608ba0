"""Floating trees of a model: those whose momentum is kept."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import IntArray
from linkwork.model.layout import ARMATURE, COMPOUND, DOF, FREE, KIND, PARENT, SCREW, SCREW_AXIS, SCREW_SLIDE, V
from linkwork.model.model import Model

LEAST_ANGLE = 1e-3  # [rad] between the two slides of a planar joint


def has_armature(model: Model, base: int) -> bool:
    first, count = model.arrays.tree[base, [V, DOF]]
    return bool(model.arrays.dof[first : first + count, ARMATURE].any())


def is_planar(model: Model, base: int) -> bool:
    """Whether a body slides freely along two directions and then turns about one across both."""
    kind, first, count, screw = model.arrays.tree[base, [KIND, V, DOF, SCREW]]
    if kind != COMPOUND or count != 3:
        return False
    rows = slice(first, first + count)
    if np.isfinite(model.lower[rows]).any() or np.isfinite(model.upper[rows]).any():
        return False
    axis, slide = (model.arrays.screws[screw : screw + 3, at : at + 3] for at in (SCREW_AXIS, SCREW_SLIDE))
    if axis[:2].any() or slide[2].any():
        return False
    area = np.linalg.norm(np.cross(slide[0], slide[1]))
    return bool(area > LEAST_ANGLE and np.abs(slide[:2] @ axis[2]).max() < 1e-9)


def floating_trees(model: Model) -> tuple[IntArray, IntArray]:
    """Bodies on free and planar joints to the world that nothing but external wrenches can push, and the tree of each body,
    or -1.

    With armature on that joint a tree has momentum that no body carries; loops tie trees to others or to the world, and so
    do limits of a planar joint.
    """
    tree = model.arrays.tree
    starts = np.flatnonzero(tree[:, PARENT] < 0)  # bodies are numbered depth first, so trees are runs of them
    of = np.repeat(np.arange(starts.size), np.diff(starts, append=model.n_bodies))
    tied: set[int] = set()
    for loop in model.loops:
        ends = {int(of[body]) if body >= 0 else -1 for body in (loop.body_a, loop.body_b)}
        tied |= ends if len(ends) > 1 else set()
    free = [
        k
        for k, base in enumerate(starts.tolist())
        if k not in tied and (tree[base, KIND] == FREE or is_planar(model, base)) and not has_armature(model, base)
    ]
    number = np.full(starts.size + 1, -1, dtype=np.int64)
    number[free] = np.arange(len(free))
    return np.ascontiguousarray(starts[free]), np.ascontiguousarray(number[of])
