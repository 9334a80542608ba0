"""Shapes of bodies and obstacles: `lw.shapes.Box((1, 1, 1))`, the same as `lw.Box`."""

from linkwork.model.shapes import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Shape, Sphere

__all__ = ["Box", "Capsule", "Cylinder", "HeightField", "Mesh", "Plane", "Shape", "Sphere"]
