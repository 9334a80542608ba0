"""Triangles of shapes at unit size, which instances scale, and the triangles of mesh files."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from linkwork.contact.geometry.mesh_files import read_any_mesh
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.model.shapes import HeightField

FINE, COARSE = 20, 8  # sides of what is round, in small models and in large ones
# Capsules whose length to radius differs by less share one prototype, and are stretched by the rest.
ASPECT_STEP, COARSE_ASPECT_STEP = 1.1, 2.0


class Triangles(NamedTuple):
    """A surface: points (v, 3) [m] and triangles (f, 3), anticlockwise seen from outside."""

    points: FloatArray
    faces: IntArray


def box() -> Triangles:
    """The cube of edge 1 about the origin; corners are kept apart so that edges stay sharp."""
    points: list[FloatArray] = []
    faces: list[list[int]] = []
    for axis in range(3):
        for side in (-0.5, 0.5):
            u, v = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
            middle = side * np.eye(3)[axis]
            ring = [middle + 0.5 * (a * u + b * v) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            k = len(points)
            points += ring
            order = ((0, 1, 2), (0, 2, 3)) if side > 0 else ((0, 2, 1), (0, 3, 2))
            faces += [[k + i for i in face] for face in order]
    return Triangles(np.array(points), np.array(faces, dtype=np.int64))


def sphere(sides: int = FINE) -> Triangles:
    """The sphere of radius 1 about the origin."""
    return capsule(0.0, sides)


def cylinder(sides: int = FINE) -> Triangles:
    """Radius 1, from z = -1/2 to z = 1/2."""
    return _revolved([[(0.0, -0.5), (1.0, -0.5)], [(1.0, -0.5), (1.0, 0.5)], [(1.0, 0.5), (0.0, 0.5)]], sides)


def capsule(aspect: float, sides: int = FINE) -> Triangles:
    """Radius 1; the cylinder between the half spheres has the length `aspect`, along z."""
    angles = np.linspace(0.0, 0.5 * math.pi, max(2, sides // 4) + 1)
    upper = [(math.cos(a), 0.5 * aspect + math.sin(a)) for a in angles[:-1]] + [(0.0, 0.5 * aspect + 1.0)]
    lower = [(r, -z) for r, z in reversed(upper)]
    return _revolved([lower + (upper if aspect > 0.0 else upper[1:])], sides)


def rounded_aspect(length: float, radius: float, step: float = ASPECT_STEP) -> float:
    """The aspect of the prototype that stands for a capsule: equal for capsules that are nearly similar."""
    if length <= 0.0 or radius <= 0.0:
        return 0.0
    return step ** round(math.log(length / radius) / math.log(step))


def _revolved(profiles: list[list[tuple[float, float]]], sides: int) -> Triangles:
    """Surfaces of revolution about z from (radius, height) upwards, each with points of its own."""
    turn = 2.0 * math.pi * np.arange(sides) / sides
    around = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    points: list[FloatArray] = []
    faces: list[tuple[int, int, int]] = []
    first = 0
    for profile in profiles:
        starts = []
        for r, z in profile:
            ring = np.hstack([r * around, np.full((sides, 1), z)]) if r > 0.0 else np.array([[0.0, 0.0, z]])
            starts.append((first, len(ring)))
            points.append(ring)
            first += len(ring)
        for (a, size_a), (b, size_b) in itertools.pairwise(starts):
            for i in range(sides):
                j = (i + 1) % sides
                if size_a > 1:
                    faces.append((a + i, a + j, b + (j if size_b > 1 else 0)))
                if size_b > 1:
                    faces.append((a + (i if size_a > 1 else 0), b + j, b + i))
    return Triangles(np.concatenate(points), np.array(faces, dtype=np.int64))


def height_field(shape: HeightField) -> Triangles:
    """The surface of a height field."""
    z = np.array(shape.heights)
    rows, columns = z.shape
    y, x = np.meshgrid(
        np.linspace(-0.5, 0.5, rows) * shape.size[1], np.linspace(-0.5, 0.5, columns) * shape.size[0], indexing="ij"
    )
    index = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    faces = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])
    return Triangles(np.stack([x, y, z], -1).reshape(-1, 3), faces)


def mesh_file(path: str) -> Triangles:
    """The triangles of a mesh file, in metres where the file names its unit."""
    return Triangles(*read_any_mesh(path, "drawing mesh files"))
