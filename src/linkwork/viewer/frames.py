"""Rotations as quaternions, where a mechanism stands, and from where to look at it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.model.model import Model
from linkwork.model.shapes import Plane

VIEW_FROM = np.array([0.75, -1.0, 0.45])  # in front, to the right, above; z is up
FIELD_OF_VIEW = 40.0  # degrees, from top to bottom
ROOM = 1.15  # around the mechanism, of its size


class Camera(NamedTuple):
    """From where one looks at what. position, look_at [m], up: shape (3,); size: of what is to be seen [m]."""

    position: FloatArray
    look_at: FloatArray
    up: FloatArray
    size: float


def quaternions(R: FloatArray) -> FloatArray:
    """Quaternions (w, x, y, z) of rotations, shape (n, 4). R: shape (n, 3, 3).

    The largest of the four is formed from the diagonal and the others from it, so that none loses digits.
    """
    xx, yy, zz = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    squares = np.stack([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz], axis=1)
    yz, zx, xy = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    sxy, szx, syz = R[:, 1, 0] + R[:, 0, 1], R[:, 0, 2] + R[:, 2, 0], R[:, 2, 1] + R[:, 1, 2]
    rows = np.stack(
        [
            np.stack([squares[:, 0], yz, zx, xy], axis=1),
            np.stack([yz, squares[:, 1], sxy, szx], axis=1),
            np.stack([zx, sxy, squares[:, 2], syz], axis=1),
            np.stack([xy, szx, syz, squares[:, 3]], axis=1),
        ],
        axis=1,
    )
    best = rows[np.arange(len(R)), squares.argmax(axis=1)]
    return best / np.linalg.norm(best, axis=1, keepdims=True)


def up_of(model: Model) -> FloatArray:
    """The unit vector against gravity; z where there is none."""
    g = np.asarray(model.gravity, dtype=float)
    size = np.linalg.norm(g)
    return -g / size if size > 0.0 else np.array([0.0, 0.0, 1.0])


def turn_up(up: FloatArray) -> FloatArray:
    """A rotation that takes z to `up`, shape (3, 3)."""
    if up[2] < -1.0 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    v = np.cross([0.0, 0.0, 1.0], up)
    cross = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return np.eye(3) + cross + cross @ cross / (1.0 + up[2])


def framing(corners: FloatArray, up: FloatArray) -> Camera:
    """A camera that sees all corners [m], shape (k, 3)."""
    if not len(corners):
        corners = np.array([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]])
    low, high = corners.min(axis=0), corners.max(axis=0)
    middle = 0.5 * (low + high)
    size = max(float(np.linalg.norm(high - low)), 1e-6)
    away = turn_up(up) @ VIEW_FROM
    away /= np.linalg.norm(away)
    distance = ROOM * 0.5 * size / np.tan(0.5 * np.radians(FIELD_OF_VIEW))
    return Camera(middle + distance * away, middle, up, size)


def ground_height(model: Model, corners: FloatArray, up: FloatArray) -> float:
    """Height of the ground along `up` [m]: of the highest plane, or zero, or below what reaches deeper."""
    planes = [float(shape.placement.matrix[:3, 3] @ up) for _, shape in model.obstacles if isinstance(shape, Plane)]
    if planes:
        return max(planes)
    if not len(corners):
        return 0.0
    heights = corners @ up
    lowest, extent = float(heights.min()), max(float(np.ptp(corners, axis=0).max()), 1e-9)
    return 0.0 if lowest > -0.02 * extent else lowest - 0.05 * extent
