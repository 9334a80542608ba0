"""Which bodies a fluid touches, and with what: a straight piece per body, from its shapes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.dynamics.kinematics import local_twists, world_poses
from linkwork.dynamics.quantities.motion import body_poses, body_twists
from linkwork.dynamics.quantities.rod_forces import RodForces, find_rod, rod_forces
from linkwork.environment import wet_columns as at
from linkwork.environment.fluid import wrenches_in_motion
from linkwork.environment.water import Water
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.rods.ends import RodOn
from linkwork.model.shapes import Box, Capsule, Cylinder, Shape, Sphere
from linkwork.model.state import State


class Wetted(NamedTuple):
    """The pieces that a fluid touches, one row each."""

    rows: FloatArray  # (m, 15)  columns of `wet_columns`, in the frame of the body
    body: IntArray  # (m,)  ascending

    def follow(self, water: Water, middles: FloatArray, time: float) -> None:
        """The stream at the middles (m, 3) of all pieces in the world, where a function gives it."""
        if water.asks:
            self.rows[:, at.WET_STREAM : at.WET_STREAM + 3] = water.velocity(middles, time)


def wetted(model: Model, water: Water) -> Wetted:
    """The largest shape for which a fluid has a law stands for each body; bodies without one are not wetted."""
    if not isinstance(water, Water):
        raise StateError(f"water must be lw.Water(...) or lw.air(...), not {type(water).__name__}.")
    rows, bodies = _pieces(model)
    if not bodies.size:
        raise StateError(
            f"no body of model '{model.name}' has a shape that water touches; give bodies capsules, cylinders, "
            "spheres or boxes."
        )
    return _in_water(water, rows, bodies)


def _in_water(water: Water, rows: FloatArray, bodies: IntArray) -> Wetted:
    """Pieces with the coefficients of a fluid."""
    rows[:, at.WET_CROSS] = water.drag[0] * 2.0 * rows[:, at.WET_RADIUS]
    rows[:, at.WET_DRAG] = water.drag[1] * 2.0 * math.pi * rows[:, at.WET_RADIUS]
    rows[:, at.WET_ADDED] = water.added_mass * water.density * rows[:, at.WET_VOLUME]
    return Wetted(rows, bodies)


def _pieces(model: Model) -> tuple[FloatArray, IntArray]:
    """Rows with geometry alone, and their bodies; equal shapes are looked at once."""
    kinds: dict[int, int] = {}  # of a shape: where its row is
    found: list[tuple[float, FloatArray] | None] = []
    largest: dict[int, int] = {}
    for i, shape in model.shapes:
        if i < 0:
            continue
        kind = kinds.get(id(shape))
        if kind is None:
            kind = kinds[id(shape)] = len(found)
            found.append(_row(shape))
        one = found[kind]
        if one is None:
            continue
        other = found[largest[i]] if i in largest else None
        if other is None or one[0] > other[0]:
            largest[i] = kind
    table = np.array([np.zeros(at.WET_COLUMNS) if one is None else one[1] for one in found]).reshape(-1, at.WET_COLUMNS)
    bodies = np.array(sorted(largest), dtype=np.int64)
    return table[[largest[i] for i in bodies.tolist()]].reshape(-1, at.WET_COLUMNS), bodies


def _row(shape: Shape) -> tuple[float, FloatArray] | None:
    """Volume and row of a shape."""
    size = _piece(shape)
    if size is None:
        return None
    length, radius, volume, axis = size
    place, row = shape.placement.matrix, np.zeros(at.WET_COLUMNS)
    row[at.WET_MIDDLE : at.WET_MIDDLE + 3], row[at.WET_AXIS : at.WET_AXIS + 3] = place[:3, 3], place[:3, axis]
    row[at.WET_LENGTH], row[at.WET_RADIUS], row[at.WET_VOLUME] = length, radius, volume
    return volume, row


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


def fluid_wrenches(model: Model, water: Water, q: FloatArray, v: FloatArray, time: float = 0.0) -> FloatArray:
    """What a fluid does to all bodies at a state, in their frames at their origins [N·m, N], shape (n, 6).

    Buoyancy, drag, waves and the seabed; added mass is left out.
    """
    tree, body, screws, *_ = model.arrays
    poses, twists = world_poses(tree, body, screws, q), local_twists(tree, body, screws, q, v)
    return _wrenches(wetted(model, water), water, model.arrays.gravity, poses, twists, time)


def _wrenches(
    wet: Wetted, water: Water, gravity: FloatArray, poses: FloatArray, twists: FloatArray, time: float
) -> FloatArray:
    numbers = water.numbers_in_motion
    numbers[at.TIME] = time
    turned = np.einsum(
        "kij,kj->ki", poses[wet.body, :9].reshape(-1, 3, 3), wet.rows[:, at.WET_MIDDLE : at.WET_MIDDLE + 3]
    )
    wet.follow(water, turned + poses[wet.body, 9:], time)
    out = np.zeros((poses.shape[0], 6))
    wrenches_in_motion(*wet, numbers, water.profile, gravity, poses, twists, out)
    return out


def rod_forces_in_fluid(
    model: Model,
    state: State,
    reactions: FloatArray,
    name: str | None,
    loops: FloatArray | None,
    water: Water | None,
    time: float = 0.0,
) -> RodForces:
    """`rod_forces`, with what a fluid does to a clamped first piece in `start_force`."""
    found = rod_forces(model, state, reactions, name, loops=loops)
    if water is None:
        return found
    on_piece = force_on_clamped_piece(model, water, find_rod(model, name), state, time)
    return found._replace(start_force=found.start_force - on_piece)


def force_on_clamped_piece(model: Model, water: Water, rod: RodOn, state: State, time: float = 0.0) -> FloatArray:
    """What a fluid does to the first piece of a rod that is clamped, a part of the body that holds it: the force in the
    world [N], shape (3,); zeros where the first piece is a body of its own."""
    row = next((_row(shape) for _, shape in model.shapes if shape.owner == rod.start.body), None)
    if row is None:
        return np.zeros(3)
    wet = _in_water(water, row[1][None], np.zeros(1, dtype=np.int64))
    host, pose, twist = model.body(rod.start.body), np.eye(4), np.zeros((1, 6))
    if host >= 0:
        pose, twist = body_poses(model, state)[host], body_twists(model, state)[host : host + 1]
    flat = np.concatenate([pose[:3, :3].ravel(), pose[:3, 3]])[None]
    wrench = _wrenches(wet, water, model.arrays.gravity, flat, twist, time)
    return np.asarray(pose[:3, :3] @ wrench[0, 3:])
