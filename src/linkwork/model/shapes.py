"""Shapes a body carries for collision and display, and shapes that stand in the world. Pure description."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork.core.checks import float_or_nan, shown
from linkwork.core.messages.describe import tabled
from linkwork.errors import ModelError
from linkwork.model.friction import Friction
from linkwork.spatial.pose import Pose, Vector3


@tabled
@dataclass(frozen=True, slots=True)
class Shape:
    """A shape placed in its body's frame, with what contact needs of its surface.

    friction: Coulomb's coefficient, or a lw.Friction, which depends on the direction;
    restitution: part of the approach speed that is kept, at most 1; None takes those of the contact settings.
    group, mask: bits. Two shapes a and b may touch when a.group & b.mask or b.group & a.mask is not zero.
    visual_only: for display; never in contact.
    owner: the body of the linkage the shape came with, when compiling has welded that body to another.
    """

    placement: Pose = field(default_factory=Pose, kw_only=True)
    friction: float | Friction | None = field(default=None, kw_only=True)
    restitution: float | None = field(default=None, kw_only=True)
    group: int = field(default=1, kw_only=True)
    mask: int = field(default=1, kw_only=True)
    visual_only: bool = field(default=False, kw_only=True)
    owner: str = field(default="", kw_only=True)

    def faults(self) -> list[str]:
        """Why this is not a shape; empty when it is."""
        found = []
        kind = type(self).__name__
        for name, wanted in self._sizes().items():
            value = getattr(self, name)
            if not _are_numbers(value, wanted):
                many = f"{wanted} finite numbers" if wanted > 1 else "a finite number"
                found.append(f"shape {kind} has {name} {shown(value)}; it must be {many}")
            elif isinstance(self, Box | Sphere | Capsule | Cylinder) and min(np.ravel(value).tolist()) < 0.0:
                found.append(f"shape {kind} has {name} {shown(value)}; it must be finite numbers ≥ 0")
        for name in ("file", "path") if isinstance(self, Mesh) else ():
            if not isinstance(getattr(self, name), str):
                found.append(f"shape Mesh has {name} {shown(getattr(self, name))}; it must be a path")
        return found + self._surface_faults()

    def _surface_faults(self) -> list[str]:
        """Of what every shape has."""
        found = []
        if not isinstance(self.placement, Pose):
            found.append(f"shape placement is {shown(self.placement)}; it must be a lw.Pose")
        elif not self.placement.is_finite:
            found.append(f"placement has a number that is not finite: {self.placement}")
        if (
            not (self.friction is None or isinstance(self.friction, Friction))
            and not 0.0 <= float_or_nan(self.friction) < math.inf
        ):
            found.append(f"shape friction is {shown(self.friction)}; it must be a finite number ≥ 0, or a lw.Friction")
        if self.restitution is not None and not 0.0 <= float_or_nan(self.restitution) <= 1.0:
            found.append(f"shape restitution is {shown(self.restitution)}; it must be a number from 0 to 1")
        for name in ("group", "mask"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not -(2**63) <= value < 2**63:
                found.append(f"shape has {name} {shown(value)}; it must be a whole number of 64 bits, which count")
        for name in ("visual_only", "missing") if isinstance(self, Mesh) else ("visual_only",):
            if not isinstance(getattr(self, name), bool | np.bool_):
                found.append(f"shape has {name} {shown(getattr(self, name))}; it must be True or False")
        if not isinstance(self.owner, str):
            found.append(f"shape has owner {shown(self.owner)}; it must be the name of a body")
        return found

    def _sizes(self) -> dict[str, int]:
        """Names of the numbers that describe it, and how many each has; 0: any."""
        return {}

    def volume_faults(self) -> list[str]:
        """Why nothing can touch it: lengths that are not positive; empty when it has a volume."""
        if self.faults():
            return []  # which are reported
        return [
            f"{name} is {shown(value)}; it must be a finite number > 0"
            for name, value in self._lengths()
            if not 0.0 < float_or_nan(value) < math.inf
        ]

    def _lengths(self) -> list[tuple[str, Any]]:
        """Names and values of the lengths that must be positive."""
        return []


def _are_numbers(value: Any, count: int) -> bool:
    """Whether `value` is one finite number, or a row of so many; 0: an array of any shape."""
    try:
        values = np.asarray(value)
    except (TypeError, ValueError, OverflowError):  # rows of different lengths
        return False
    shape: tuple[int, ...] = () if count == 1 else (count,)
    return values.dtype.kind in "iuf" and (count == 0 or values.shape == shape) and bool(np.isfinite(values).all())


@dataclass(frozen=True, slots=True)
class Box(Shape):
    """A box. size: its edges along x, y, z [m]."""

    size: Vector3  # full edges along x, y, z [m]

    def _sizes(self) -> dict[str, int]:
        return {"size": 3}

    def _lengths(self) -> list[tuple[str, Any]]:
        return [(f"size along {axis}", edge) for axis, edge in zip("xyz", self.size, strict=True)]


@dataclass(frozen=True, slots=True)
class Sphere(Shape):
    """A ball. radius: [m]."""

    radius: float  # [m]

    def _sizes(self) -> dict[str, int]:
        return {"radius": 1}

    def _lengths(self) -> list[tuple[str, Any]]:
        return [("radius", self.radius)]


@dataclass(frozen=True, slots=True)
class Capsule(Shape):
    """A cylinder along z between two half spheres. radius: [m]; length: of the cylinder [m]."""

    radius: float  # [m]
    length: float  # of the cylinder between the two half spheres, along z [m]

    def _sizes(self) -> dict[str, int]:
        return {"radius": 1, "length": 1}

    def _lengths(self) -> list[tuple[str, Any]]:
        return [("radius", self.radius), ("length", self.length)]


@dataclass(frozen=True, slots=True)
class Cylinder(Shape):
    """A cylinder along z. radius, length: [m]."""

    radius: float  # [m]
    length: float  # along z [m]

    def _sizes(self) -> dict[str, int]:
        return {"radius": 1, "length": 1}

    def _lengths(self) -> list[tuple[str, Any]]:
        return [("radius", self.radius), ("length", self.length)]


@dataclass(frozen=True, slots=True)
class Mesh(Shape):
    """A mesh from a file (STL, OBJ; others with the extra `viewer`), on a body its convex hull.

    scale: of its coordinates along x, y, z.
    """

    file: str  # as written in the source
    scale: Vector3 = (1.0, 1.0, 1.0)
    path: str = ""  # where the file was when the source was read; "" if it was not there
    missing: bool = field(default=False, kw_only=True)  # named by a robot's file and not there: it touches nothing

    def _sizes(self) -> dict[str, int]:
        return {"scale": 3}


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

    def _sizes(self) -> dict[str, int]:
        return {"heights": 0, "size": 2}

    def _lengths(self) -> list[tuple[str, Any]]:
        return [("size along x", self.size[0]), ("size along y", self.size[1])]
