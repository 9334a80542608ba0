"""Which bodies a fluid touches, and with what: a straight piece per body, from its shapes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from linkwork.environment.fluid import (
    WET_ADDED,
    WET_AXIS,
    WET_COLUMNS,
    WET_CROSS,
    WET_DRAG,
    WET_LENGTH,
    WET_MIDDLE,
    WET_RADIUS,
    WET_VOLUME,
)
from linkwork.environment.water import Water
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.shapes import Box, Capsule, Cylinder, Shape, Sphere

FloatArray = NDArray[np.float64]


def wetted(model: Model, water: Water) -> FloatArray:
    """One row per body; its volume is zero where the body has no shape that a fluid knows."""
    if not isinstance(water, Water):
        raise StateError(f"water must be lw.Water(...) or lw.air(...), not {type(water).__name__}.")
    rows = np.zeros((model.n_bodies, WET_COLUMNS))
    rows[:, WET_AXIS] = 1.0
    for i, shape in model.shapes:
        if i < 0:
            continue
        size = _piece(shape)
        if size is None:
            continue
        length, radius, volume, axis = size
        if volume <= rows[i, WET_VOLUME]:
            continue  # the largest shape stands for the body
        place = shape.placement.matrix
        rows[i, WET_MIDDLE : WET_MIDDLE + 3] = place[:3, 3]
        rows[i, WET_AXIS : WET_AXIS + 3] = place[:3, axis]
        rows[i, WET_LENGTH], rows[i, WET_RADIUS], rows[i, WET_VOLUME] = length, radius, volume
    rows[:, WET_CROSS] = water.drag[0] * 2.0 * rows[:, WET_RADIUS]
    rows[:, WET_DRAG] = water.drag[1] * 2.0 * math.pi * rows[:, WET_RADIUS]
    rows[:, WET_ADDED] = water.added_mass * water.density * rows[:, WET_VOLUME]
    if not rows[:, WET_VOLUME].any():
        raise StateError(
            f"no body of model '{model.name}' has a shape that water touches; give bodies capsules, cylinders, "
            "spheres or boxes."
        )
    return rows


def _piece(shape: Shape) -> tuple[float, float, float, int] | None:
    """Length, radius, volume and axis of the straight piece that a shape is like."""
    if isinstance(shape, Capsule | Cylinder):  # half spheres of capsules overlap with the next piece
        return shape.length, shape.radius, math.pi * shape.radius**2 * shape.length, 2
    if isinstance(shape, Sphere):  # 2 r · length is the area it shows
        return 0.5 * math.pi * shape.radius, shape.radius, 4.0 / 3.0 * math.pi * shape.radius**3, 0
    if isinstance(shape, Box):
        axis = int(np.argmax(shape.size))
        others = [edge for k, edge in enumerate(shape.size) if k != axis]
        return shape.size[axis], 0.25 * sum(others), math.prod(shape.size), axis
    return None
