"""Where the mouse points in the world, worked out from the camera of a page.

A page works it out itself and sends the point of the body and of the mouse with every movement. While bodies move it may
send NaN instead: its picture of the body has been replaced meanwhile. What it shows, it sends in any case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.model.layout import INERTIA
from linkwork.model.model import Model
from linkwork.spatial.rotations import quaternion_matrix

SMALLEST_DEPTH = 1e-9  # part of the distance: a plane that the line of sight never meets


class Sight(NamedTuple):
    """A line of sight: from the eye [m], along a unit vector; `forward` is the middle of the picture."""

    eye: FloatArray
    along: FloatArray
    forward: FloatArray

    def nearest(self, point: FloatArray) -> FloatArray:
        """The point of the line nearest to another [m]."""
        return self.eye + max(0.0, float(self.along @ (point - self.eye))) * self.along

    def meet(self, point: FloatArray) -> FloatArray:
        """Where the line meets the plane through a point that the picture is parallel to [m]; that point if nowhere."""
        depth, rate = float(self.forward @ (point - self.eye)), float(self.forward @ self.along)
        if not (depth > 0.0 and rate > SMALLEST_DEPTH):
            return point
        return self.eye + (depth / rate) * self.along


def sight(camera: Any, screen: Any) -> Sight | None:
    """The line of sight through a place on the screen, (0, 0) top left and (1, 1) bottom right; None if not known.

    camera: with position, wxyz (x to the right, y down, z forward), fov [rad] of its height and aspect.
    """
    u, v = (float(x) for x in screen)
    half = np.tan(0.5 * float(camera.fov))
    R = np.reshape(quaternion_matrix(tuple(float(x) for x in camera.wxyz)), (3, 3))
    along = R @ np.array([(2.0 * u - 1.0) * half * float(camera.aspect), (2.0 * v - 1.0) * half, 1.0])
    eye = np.asarray(camera.position, dtype=float)
    length = float(np.linalg.norm(along))
    if not (np.isfinite(eye).all() and 0.0 < length < np.inf):
        return None
    return Sight(eye, along / length, R[:, 2])


def centre(model: Model, body: int, T: FloatArray) -> FloatArray:
    """Centre of mass of a body in the world [m], its origin where it has no mass. T: poses, shape (n, 4, 4)."""
    mass, *moment = model.arrays.body[body, INERTIA : INERTIA + 4]
    at = np.array(moment) / mass if mass > 0.0 else np.zeros(3)
    place: FloatArray = T[body, :3, :3] @ at + T[body, :3, 3]
    return place


def grabbed(model: Model, body: int, T: FloatArray, place: Any, look: Sight | None) -> FloatArray:
    """The point of a body that was grabbed [m]: as sent, or by the line of sight, or the centre of the body."""
    if np.isfinite(place).all():
        return np.asarray(place, dtype=float)
    middle = centre(model, body, T)
    return middle if look is None else look.nearest(middle)


def pointed_at(target: Any, look: Sight | None, held: FloatArray) -> FloatArray | None:
    """Where the mouse points [m]: as sent, or by the line of sight, in the plane of the point `held`; None if not known."""
    if target is not None and np.isfinite(target).all():
        return np.asarray(target, dtype=float)
    return None if look is None else look.meet(held)
