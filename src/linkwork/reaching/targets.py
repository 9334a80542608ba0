"""What can be asked of a body: a pose, a point, a direction, a point to look at; from a dictionary to rows of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import positive, shown
from linkwork.core.messages.describe import tabled
from linkwork.errors import ModelError, StateError
from linkwork.model.model import Frame, Model
from linkwork.reaching import arrays as at
from linkwork.spatial.pose import ORIGIN, Pose, Vector3, vector3

ASKS = ("pose", "point", "direction", "look_at")


@tabled
@dataclass(frozen=True)
class Target:
    """The goal of a body or frame: one of pose, point, direction and look_at, or a point with one of the last two.

    pose: of the frame in the world.
    point: where the point `at` of the frame shall be in the world [m].
    direction: of the world, that the `axis` of the frame shall have; turning about it is free.
    look_at: a point of the world [m] that the `axis` through the point `at` shall meet.
    at: a point of the frame [m]. axis: a direction of the frame.
    weight: of its squared errors beside those of other targets. It matters where not all can be met.
    """

    pose: Pose | None = None
    point: ArrayLike | None = None
    direction: ArrayLike | None = None
    look_at: ArrayLike | None = None
    at: ArrayLike = ORIGIN
    axis: ArrayLike = (0.0, 0.0, 1.0)
    weight: float = 1.0


class Row(NamedTuple):
    """One target as kernels read it."""

    name: str
    body: int
    numbers: FloatArray  # (40,)


def as_rows(model: Model, targets: Any, length: float) -> list[Row]:
    """Targets by name of a body or frame; length: metres that count as much as one radian."""
    if not isinstance(targets, Mapping):
        raise StateError(
            f'targets must be a dictionary such as {{"gripper": lw.Pose(...)}}, not {shown(targets)}; its keys are '
            "names of bodies or frames."
        )
    rows = []
    for name, value in targets.items():
        frame = model.frame(name)
        if frame.body < 0:
            raise ModelError(f"target '{name}' is fixed in the world: no joint of model '{model.name}' moves it.")
        several = isinstance(value, list | tuple) and any(isinstance(one, Target | Pose) for one in value)
        rows += [_row(name, frame, as_target(name, one), length) for one in (value if several else [value])]
    return rows


def as_target(name: str, value: Any) -> Target:
    """A target of what may stand for one: a pose, or three numbers for a point."""
    if isinstance(value, Target):
        return value
    if isinstance(value, Pose):
        return Target(pose=value)
    if isinstance(value, np.ndarray) and value.shape == (4, 4):
        return Target(pose=Pose(matrix=value))
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and len(value) == 3:
        return Target(point=value)
    raise StateError(
        f"target '{name}' must be a lw.Target, a lw.Pose or the three coordinates of a point, not {shown(value)}."
    )


def _row(name: str, frame: Frame, target: Target, length: float) -> Row:
    asked = [ask for ask in ASKS if getattr(target, ask) is not None]
    allowed = ({"pose"}, {"point"}, {"direction"}, {"look_at"}, {"point", "direction"}, {"point", "look_at"})
    if set(asked) not in allowed:
        given = " and ".join(asked) or "nothing"
        raise StateError(
            f"target '{name}' asks for {given}; give one of pose, point, direction and look_at, or a point with one of "
            "the last two."
        )
    weight = positive(target.weight, f"weight of target '{name}'")
    row = np.zeros(at.TARGET_COLUMNS)
    point = frame.pose.apply(_finite(target.at, name, "at"))
    row[at.T_POINT : at.T_POINT + 3] = point
    row[at.T_FRAME : at.T_FRAME + 9] = frame.pose.rotation
    if target.pose is not None:
        if not isinstance(target.pose, Pose) or not target.pose.is_finite:
            raise StateError(f"pose of target '{name}' must be a lw.Pose of finite numbers, not {shown(target.pose)}.")
        row[at.T_GOAL : at.T_GOAL + 3] = target.pose.apply(_finite(target.at, name, "at"))
        row[at.T_TURN_GOAL : at.T_TURN_GOAL + 9] = target.pose.rotation
        row[at.T_WAY], row[at.T_TURN] = weight / length**2, weight
    if target.point is not None:
        row[at.T_GOAL : at.T_GOAL + 3] = _finite(target.point, name, "point")
        row[at.T_WAY] = weight / length**2
    if target.direction is not None or target.look_at is not None:
        row[at.T_AXIS : at.T_AXIS + 3] = frame.pose.rotate(_unit(target.axis, name, "axis"))
        row[at.T_POINTING] = weight
    if target.direction is not None:
        row[at.T_DIRECTION : at.T_DIRECTION + 3] = _unit(target.direction, name, "direction")
    if target.look_at is not None:
        row[at.T_DIRECTION : at.T_DIRECTION + 3] = _finite(target.look_at, name, "look_at")
        row[at.T_LOOKS] = 1.0
    return Row(name, frame.body, row)


def _finite(value: Any, name: str, what: str) -> Vector3:
    try:
        vector = vector3(value, what)
    except ModelError:
        vector = (math.nan,) * 3
    if not all(map(math.isfinite, vector)):
        raise StateError(f"{what} of target '{name}' must be three finite numbers, not {shown(value)}.")
    return vector


def _unit(value: Any, name: str, what: str) -> Vector3:
    x, y, z = _finite(value, name, what)
    norm = math.hypot(x, y, z)
    if not norm > 0.0:
        raise StateError(f"{what} of target '{name}' is zero; give a direction such as (0, 0, 1).")
    return (x / norm, y / norm, z / norm)
