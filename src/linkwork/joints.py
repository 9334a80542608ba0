"""Kinds of joints: `lw.joints.Revolute((0, 0, 1))`, the same as `lw.Revolute`."""

from linkwork.model.joints import (
    Compound,
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)

__all__ = [
    "Compound",
    "Cylindrical",
    "Fixed",
    "Free",
    "Joint",
    "Planar",
    "Prismatic",
    "Revolute",
    "Screw",
    "Spherical",
    "Universal",
]
