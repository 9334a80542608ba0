"""Named frames: where they are, how joints move them, and how they accelerate while joints keep their velocities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import choice, shown
from linkwork.dynamics import kinematics
from linkwork.dynamics.batches import takes_batches
from linkwork.dynamics.inputs import as_state
from linkwork.dynamics.quantities.quantities import accelerations_of_bodies
from linkwork.errors import StateError
from linkwork.model.model import Frame, Model
from linkwork.model.state import State
from linkwork.spatial.matrices import motion_matrix, skew

AXES = ("frame", "world")


@takes_batches()
def frame_poses(model: Model, state: State, frames: str | Sequence[str]) -> FloatArray:
    """World poses of bodies and frames by name, shape (4, 4) for one name, (k, 4, 4) for several. Cost: O(n)."""
    q, _ = as_state(model, state)
    names = [frames] if isinstance(frames, str) else _names(frames)
    found = [model.frame(name) for name in names]
    tree, body, screws, *_ = model.arrays
    flat = kinematics.world_poses(tree, body, screws, q)
    T = np.array([world_pose(flat, frame) for frame in found]).reshape(-1, 4, 4)
    if not np.isfinite(T).all():
        raise StateError("frame_poses overflowed: numbers in the state are too large.")
    return T[0] if isinstance(frames, str) else T


@takes_batches()
def frame_jacobian(model: Model, state: State, frame: str, *, axes: str = "frame") -> FloatArray:
    """The matrix that takes joint velocities to the twist [ω; v] of a body or frame at its origin, shape (6, nv).

    axes: that the twist refers to, those of the "frame" or of the "world".
    Cost: O(depth) beyond the memory of the result and the pose.
    """
    q, _ = as_state(model, state)
    choice(axes, AXES, "axes")
    where = model.frame(frame)
    tree, body, screws, *_ = model.arrays
    if where.body < 0:
        return np.zeros((6, model.nv))
    J = kinematics.local_jacobian(tree, body, screws, q, np.zeros(model.nv), where.body)
    J = motion_matrix(where.pose.rotation, where.pose.xyz) @ J
    if axes == "world":
        R = world_pose(kinematics.world_poses(tree, body, screws, q), where)[:3, :3]
        J = np.concatenate([R @ J[:3], R @ J[3:]])
    return np.asarray(J)


@takes_batches()
def frame_bias_acceleration(model: Model, state: State, frame: str, *, axes: str = "frame") -> FloatArray:
    """J̇ q̇: acceleration [ω̇; dv/dt] of a frame's origin while joint velocities stay as they are, shape (6,).

    The linear part is that of the point itself (not of a spatial vector), so that with J = frame_jacobian in the axes of
    the world, J q̈ + J̇ q̇ is the time derivative of J q̇ [rad/s², m/s²].
    axes: as in `frame_jacobian`; in the axes of the frame it is the same vector, turned.
    """
    q, v = as_state(model, state)
    choice(axes, AXES, "axes")
    where = model.frame(frame)
    if where.body < 0:
        return np.zeros(6)
    spatial, twists, flat = accelerations_of_bodies(model, q, v, np.zeros(model.nv))
    X = motion_matrix(where.pose.rotation, where.pose.xyz)
    a, V = X @ spatial[where.body], X @ twists[where.body]
    a[3:] += skew(V[:3]) @ V[3:]
    if axes == "world":
        R = world_pose(flat, where)[:3, :3]
        a = np.concatenate([R @ a[:3], R @ a[3:]])
    if not np.isfinite(a).all():
        raise StateError("frame_bias_acceleration overflowed: numbers in the state are too large.")
    return np.asarray(a)


def world_pose(flat: FloatArray, frame: Frame) -> FloatArray:
    """Of a frame, from the poses of all bodies (n, 12), shape (4, 4)."""
    T = np.eye(4)
    if frame.body >= 0:
        T[:3, :3], T[:3, 3] = flat[frame.body, :9].reshape(3, 3), flat[frame.body, 9:]
    return np.asarray(T @ frame.pose.matrix)


def _names(frames: Any) -> list[str]:
    if not isinstance(frames, Sequence):
        raise StateError(f"frames must be a name or a sequence of names, not {shown(frames)}.")
    return list(frames)
