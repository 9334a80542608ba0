"""Shapes a body carries for collision and display, and shapes that stand in the world. Pure description."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.describe import table_of_attributes
from linkwork.errors import ModelError
from linkwork.spatial.pose import Pose, Vector3


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape placed in its body's frame, with what contact needs to know of its surface.

    friction: Coulomb's coefficient; restitution: part of the approach speed that is kept, at most 1; None takes those of
    the contact settings.
    group, mask: bits. Two shapes a and b may touch when a.group & b.mask or b.group & a.mask is not zero.
    visual_only: for display; never in contact.
    owner: the body of the linkage the shape came with, when compiling has welded that body to another.
    """

    def _repr_html_(self) -> str:
        return table_of_attributes(self)

    placement: Pose = field(default_factory=Pose, kw_only=True)
    friction: float | None = field(default=None, kw_only=True)
    restitution: float | None = field(default=None, kw_only=True)
    group: int = field(default=1, kw_only=True)
    mask: int = field(default=1, kw_only=True)
    visual_only: bool = field(default=False, kw_only=True)
    owner: str = field(default="", kw_only=True)

    def faults(self) -> list[str]:
        """Why this is not a shape; empty when it is."""
        found = []
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(self, Mesh) and name in ("file", "path"):
                if not isinstance(value, str):
                    found.append(f"shape {type(self).__name__} has {name} {value!r}; it must be a path")
            elif not _are_numbers(np.ravel(value)):
                found.append(f"shape {type(self).__name__} has {name} {value!r}; it must be finite numbers")
            elif isinstance(self, Box | Sphere | Capsule | Cylinder) and (np.ravel(value) < 0.0).any():
                found.append(f"shape {type(self).__name__} has {name} {value!r}; it must be finite numbers ≥ 0")
        if not self.placement.is_finite:
            found.append(f"placement has a number that is not finite: {self.placement}")
        if self.friction is not None and not (_is_number(self.friction) and 0.0 <= self.friction < math.inf):
            found.append(f"shape friction is {self.friction!r}; it must be a finite number ≥ 0")
        if self.restitution is not None and not (_is_number(self.restitution) and 0.0 <= self.restitution <= 1.0):
            found.append(f"shape restitution is {self.restitution!r}; it must be a number from 0 to 1")
        for name in ("group", "mask"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                found.append(f"shape has {name} {value!r}; it must be a whole number, whose bits count")
        return found

    def volume_faults(self) -> list[str]:
        """Why nothing can touch it: lengths that are not positive; empty when it has a volume."""
        return [
            f"{name} is {value!r}; it must be a finite number > 0"
            for name, value in self._lengths()
            if not _positive(value)
        ]

    def _lengths(self) -> list[tuple[str, Any]]:
        """Names and values of the lengths that must be positive."""
        return []


def _are_numbers(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "iuf" and bool(np.isfinite(values).all())


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
    file: str  # as written in the source
    scale: Vector3 = (1.0, 1.0, 1.0)
    path: str = ""  # where the file was when the source was read; "" if it was not there


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
        except (TypeError, ValueError, OverflowError):
            raise ModelError("HeightField heights must be rows of numbers, all of the same length.") from None
        if grid.ndim != 2 or min(grid.shape) < 2:
            raise ModelError(
                f"HeightField heights have shape {grid.shape}; at least two rows and two columns are needed."
            )
        object.__setattr__(self, "heights", tuple(map(tuple, grid.tolist())))

    def _lengths(self) -> list[tuple[str, Any]]:
        return [("size along x", self.size[0]), ("size along y", self.size[1])]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _positive(value: Any) -> bool:
    return _is_number(value) and 0.0 < value < math.inf
