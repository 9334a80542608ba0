"""Shapes a body carries for collision and display. Pure description; nothing here computes contact."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.spatial.pose import Pose, Vector3


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape placed in its body's frame, with what contact needs to know of its surface.

    friction: Coulomb's coefficient; restitution: part of the approach speed that is kept; None where nothing was said.
    group, mask: bits. Two shapes a and b may touch when a.group & b.mask or b.group & a.mask is not zero.
    visual_only: for display; never in contact.
    owner: the body of the linkage the shape came with, when compiling has welded that body to another.
    """

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
            elif not _are_numbers(np.ravel(value)) or (not isinstance(self, Mesh) and (np.ravel(value) < 0.0).any()):
                found.append(f"shape {type(self).__name__} has {name} {value!r}; it must be finite numbers ≥ 0")
        for name in ("friction", "restitution"):
            value = getattr(self, name)
            if value is not None and not (_are_numbers(np.ravel(value)) and value >= 0.0):
                found.append(f"shape has {name} {value!r}; it must be a finite number ≥ 0")
        for name in ("group", "mask"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                found.append(f"shape has {name} {value!r}; it must be a whole number, whose bits count")
        return found


def _are_numbers(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "iuf" and bool(np.isfinite(values).all())


@dataclass(frozen=True, slots=True)
class Box(Shape):
    size: Vector3  # full edges along x, y, z [m]


@dataclass(frozen=True, slots=True)
class Sphere(Shape):
    radius: float  # [m]


@dataclass(frozen=True, slots=True)
class Capsule(Shape):
    radius: float  # [m]
    length: float  # of the cylinder between the two half spheres, along z [m]


@dataclass(frozen=True, slots=True)
class Cylinder(Shape):
    radius: float  # [m]
    length: float  # along z [m]


@dataclass(frozen=True, slots=True)
class Mesh(Shape):
    file: str  # as written in the source
    scale: Vector3 = (1.0, 1.0, 1.0)
    path: str = ""  # where the file was when the source was read; "" if it was not there
