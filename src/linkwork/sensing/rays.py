"""Rays: how far it is along a straight line to the first shape, for sensors of distance.

Boxes, spheres, capsules, cylinders and planes by closed forms: where a line is inside a convex solid is one interval of it.
Meshes and height fields by their triangles (Möller and Trumbore 1997). A ball around each shape is tried first, for all
shapes at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from linkwork.contact.geometry import mesh_files
from linkwork.contact.shape_table import field_triangles
from linkwork.core.arrays import FloatArray
from linkwork.model.model import Model
from linkwork.model.shapes import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Shape, Sphere

Interval = tuple[float, float]
EVERYWHERE, NOWHERE = (-math.inf, math.inf), (math.inf, -math.inf)
PARALLEL = 1e-300  # parts of a direction below which a line runs along a face


class Hit(NamedTuple):
    """Where a ray ends: the distance [m], and the number of the body it met; -1 stands for what the world holds."""

    distance: float
    body: int


class RayCaster:
    """Rays among the shapes of a model and its obstacles. Cost of a ray: O(shapes), closed forms for those near it only."""

    def __init__(self, model: Model):
        found = [(body, shape) for body, shape in model.shapes] + [(-1, shape) for _, shape in model.obstacles]
        seen = [(b, s) for b, s in found if not s.visual_only and not (isinstance(s, Mesh) and s.missing)]
        self._body = np.array([body for body, _ in seen], dtype=np.int64)
        self._shapes = [shape for _, shape in seen]
        self._triangles: dict[int, FloatArray] = {}
        for k, shape in enumerate(self._shapes):
            if isinstance(shape, Mesh):
                self._triangles[k] = mesh_files.read_triangles(shape.path or shape.file, shape.scale)
            elif isinstance(shape, HeightField):
                self._triangles[k] = field_triangles(shape)
        placements = [shape.placement for shape in self._shapes]
        self._R = np.array([pose.rotation for pose in placements]).reshape(-1, 3, 3)
        self._p = np.array([pose.xyz for pose in placements]).reshape(-1, 3)
        self._radius = np.array([self._reach(k, shape) for k, shape in enumerate(self._shapes)])

    def _reach(self, k: int, shape: Shape) -> float:
        """Radius of a ball around the shape's origin that holds all of it."""
        if k in self._triangles:
            return float(np.linalg.norm(self._triangles[k].reshape(-1, 3), axis=1).max(initial=0.0))
        if isinstance(shape, Box):
            return 0.5 * math.sqrt(sum(edge * edge for edge in shape.size))
        if isinstance(shape, Capsule):
            return shape.radius + 0.5 * shape.length
        if isinstance(shape, Cylinder):
            return math.hypot(shape.radius, 0.5 * shape.length)
        return shape.radius if isinstance(shape, Sphere) else math.inf

    def cast(self, poses: FloatArray, origin: FloatArray, direction: FloatArray, reach: float, own: int = -2) -> Hit:
        """The first shape along a ray from `origin` in the unit `direction` (both in the world), up to `reach` [m].

        poses: of all bodies, shape (n, 12). own: a body that is not seen. A ray that begins inside a solid ends there.
        """
        R, p = self._R, self._p
        moving = np.flatnonzero(self._body >= 0)
        if moving.size:
            R, p = R.copy(), p.copy()
            host = poses[self._body[moving]]
            turn = host[:, :9].reshape(-1, 3, 3)
            p[moving] = np.einsum("kij,kj->ki", turn, self._p[moving]) + host[:, 9:]
            R[moving] = turn @ self._R[moving]
        to = p - origin
        along = to @ direction
        aside2 = np.einsum("ij,ij->i", to, to) - along * along
        near = (aside2 <= self._radius**2 * (1.0 + 1e-9)) & (along >= -self._radius) & (along <= reach + self._radius)
        near |= np.isinf(self._radius)
        best, body = reach, -2
        for k in np.flatnonzero(near & (self._body != own)).tolist():
            start, way = R[k].T @ (origin - p[k]), R[k].T @ direction
            distance = self._distance(k, start, way)
            if distance < best:
                best, body = distance, int(self._body[k])
        return Hit(best, body)

    def _distance(self, k: int, start: FloatArray, way: FloatArray) -> float:
        if k in self._triangles:
            return triangles_met(self._triangles[k], start, way)
        enter, leave = SOLIDS[type(self._shapes[k])](self._shapes[k], start, way)
        return math.inf if not leave >= max(enter, 0.0) else max(enter, 0.0)


# --------------------------------------------------------------------------------------- where a line is inside a solid


def _slab(x: float, dx: float, half: float) -> Interval:
    """Where |x + t dx| ≤ half."""
    if abs(dx) < PARALLEL:
        return EVERYWHERE if abs(x) <= half else NOWHERE
    a, b = (-half - x) / dx, (half - x) / dx
    return min(a, b), max(a, b)


def _round(start: FloatArray, way: FloatArray, radius: float) -> Interval:
    """Where |start + t way| ≤ radius, for vectors of any size."""
    a, b, c = float(way @ way), float(start @ way), float(start @ start) - radius * radius
    if a < PARALLEL:
        return EVERYWHERE if c <= 0.0 else NOWHERE
    root2 = b * b - a * c
    if root2 < 0.0:
        return NOWHERE
    root = math.sqrt(root2)
    return (-b - root) / a, (-b + root) / a


def _both(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), min(a[1], b[1])


def _either(a: Interval, b: Interval) -> Interval:
    """Two intervals whose union is one."""
    if a[0] > a[1]:
        return b
    return a if b[0] > b[1] else (min(a[0], b[0]), max(a[1], b[1]))


def _in_box(shape: Box, start: FloatArray, way: FloatArray) -> Interval:
    found = EVERYWHERE
    for x, dx, edge in zip(start.tolist(), way.tolist(), shape.size, strict=True):
        found = _both(found, _slab(x, dx, 0.5 * edge))
    return found


def _in_cylinder(shape: Cylinder | Capsule, start: FloatArray, way: FloatArray) -> Interval:
    return _both(_round(start[:2], way[:2], shape.radius), _slab(float(start[2]), float(way[2]), 0.5 * shape.length))


def _in_capsule(shape: Capsule, start: FloatArray, way: FloatArray) -> Interval:
    found = _in_cylinder(shape, start, way)
    for end in (-0.5 * shape.length, 0.5 * shape.length):
        found = _either(found, _round(start - (0.0, 0.0, end), way, shape.radius))
    return found


def _in_half_space(shape: Plane, start: FloatArray, way: FloatArray) -> Interval:
    z, dz = float(start[2]), float(way[2])
    if abs(dz) < PARALLEL:
        return EVERYWHERE if z <= 0.0 else NOWHERE
    return (-z / dz, math.inf) if dz < 0.0 else (-math.inf, -z / dz)


SOLIDS: dict[type, Callable[..., Interval]] = {
    Box: _in_box,
    Sphere: lambda shape, start, way: _round(start, way, shape.radius),
    Capsule: _in_capsule,
    Cylinder: _in_cylinder,
    Plane: _in_half_space,
}


def triangles_met(triangles: FloatArray, start: FloatArray, way: FloatArray) -> float:
    """Distance to the first of many triangles (m, 3, 3) along a ray; infinite where it meets none."""
    corners = triangles.reshape(-1, 3, 3)
    a, e1, e2 = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(way, e2)
    volume = np.einsum("ij,ij->i", e1, across)
    with np.errstate(divide="ignore", invalid="ignore"):
        to = start - a
        u = np.einsum("ij,ij->i", to, across) / volume
        back = np.cross(to, e1)
        v = back @ way / volume
        t = np.einsum("ij,ij->i", e2, back) / volume
    met = (np.abs(volume) > 0.0) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t >= 0.0)
    return float(t[met].min(initial=math.inf))
