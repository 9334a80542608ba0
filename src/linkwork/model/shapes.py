"""Shapes a body carries for collision and display. Pure description; nothing here computes contact."""

from __future__ import annotations

from dataclasses import dataclass, field

from linkwork.spatial.pose import Pose, Vector3


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape placed in its body's frame."""

    placement: Pose = field(default_factory=Pose, kw_only=True)


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
    file: str  # as written in the source; resolved by whoever draws or collides it
    scale: Vector3 = (1.0, 1.0, 1.0)
