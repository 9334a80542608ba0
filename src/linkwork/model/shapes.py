"""Shapes a body carries for collision and display, and shapes that stand in the world. Pure description."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.errors import ModelError
from linkwork.spatial.pose import Pose, Vector3


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape placed in its body's frame.

    friction, restitution: of this shape's material; None takes those of the contact settings.
    group, mask: two shapes can touch when the group of each shares a bit with the mask of the other.
    visual_only: the shape is drawn, and touches nothing.
    """

    placement: Pose = field(default_factory=Pose, kw_only=True)
    friction: float | None = field(default=None, kw_only=True)
    restitution: float | None = field(default=None, kw_only=True)
    group: int = field(default=1, kw_only=True)
    mask: int = field(default=-1, kw_only=True)
    visual_only: bool = field(default=False, kw_only=True)

    def faults(self) -> list[str]:
        """What makes the shape unfit for contact; empty when nothing does."""
        found = [
            f"{name} is {value!r}; it must be a finite number > 0"
            for name, value in self._lengths()
            if not _positive(value)
        ]
        if not self.placement.is_finite:
            found.append(f"placement has a number that is not finite: {self.placement}")
        if self.friction is not None and not (_is_number(self.friction) and 0.0 <= self.friction < math.inf):
            found.append(f"friction is {self.friction!r}; it must be a finite number ≥ 0")
        if self.restitution is not None and not (_is_number(self.restitution) and 0.0 <= self.restitution <= 1.0):
            found.append(f"restitution is {self.restitution!r}; it must be a number from 0 to 1")
        return found

    def _lengths(self) -> list[tuple[str, Any]]:
        """Names and values of the lengths that must be positive."""
        return []


@dataclass(frozen=True, slots=True)
class Box(Shape):
    size: Vector3  # full edges along x, y, z [m]

    def _lengths(self) -> list[tuple[str, Any]]:
        return [(f"size along {axis}", edge) for axis, edge in zip("xyz", self.size, strict=True)]


@dataclass(frozen=True, slots=True)
class Sphere(Shape):
    radius: float  # [m]

    def _lengths(self) -> list[tuple[str, Any]]:
        return [("radius", self.radius)]


@dataclass(frozen=True, slots=True)
class Capsule(Shape):
    radius: float  # [m]
    length: float  # of the cylinder between the two half spheres, along z [m]

    def _lengths(self) -> list[tuple[str, Any]]:
        return [("radius", self.radius), ("length", self.length)]


@dataclass(frozen=True, slots=True)
class Cylinder(Shape):
    radius: float  # [m]
    length: float  # along z [m]

    def _lengths(self) -> list[tuple[str, Any]]:
        return [("radius", self.radius), ("length", self.length)]


@dataclass(frozen=True, slots=True)
class Mesh(Shape):
    file: str  # as written in the source; resolved by whoever draws or collides it
    scale: Vector3 = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Plane(Shape):
    """The half space z < 0 of its frame, solid and without end; only an obstacle can be one."""


@dataclass(frozen=True, slots=True)
class HeightField(Shape):
    """Ground whose height is given on a grid, solid below; only an obstacle can be one."""

    heights: tuple[tuple[float, ...], ...]  # rows along y, columns along x [m]
    size: tuple[float, float]  # extent along x and y, centred on the frame's origin [m]

    def __post_init__(self) -> None:
        try:
            grid = np.array(self.heights, dtype=float)
        except (TypeError, ValueError):
            raise ModelError("HeightField heights must be rows of numbers, all of the same length.") from None
        if grid.ndim != 2 or min(grid.shape) < 2:
            raise ModelError(
                f"HeightField heights have shape {grid.shape}; at least two rows and two columns are needed."
            )
        object.__setattr__(self, "heights", tuple(map(tuple, grid.tolist())))

    def _lengths(self) -> list[tuple[str, Any]]:
        return [("size along x", self.size[0]), ("size along y", self.size[1])]

    def faults(self) -> list[str]:
        # slots=True makes the class anew, so that super() without arguments would not find it
        found = Shape.faults(self)
        if not np.isfinite(self.heights).all():
            found.append("heights has a number that is not finite")
        return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _positive(value: Any) -> bool:
    return _is_number(value) and 0.0 < value < math.inf
