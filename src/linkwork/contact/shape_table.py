"""From the shapes of a model to the table that kernels read."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from linkwork.contact.contact_list import ELLIPSE, HU, ISOTROPIC
from linkwork.contact.geometry import mesh_files, solids
from linkwork.contact.geometry.boxes import build_tree
from linkwork.contact.settings import Contact
from linkwork.contact.tables import MATERIAL, ShapeTable
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.messages.describe import quoted
from linkwork.core.messages.warning import warn_user
from linkwork.errors import ModelError
from linkwork.model.friction import Friction
from linkwork.model.model import Model
from linkwork.model.shapes import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Shape, Sphere

NAMED_AT_MOST = 6  # meshes in a warning


def shape_table(model: Model, settings: Contact) -> ShapeTable:
    """The table of a model; raises one ModelError with every fault of its shapes.

    Shapes that are only drawn are left out; so are, with a warning, meshes of a robot's file that are not there.
    A mesh on a body counts as its convex hull; an obstacle's must be closed. One on a body that is fixed to the world is
    taken as it is, or where it is not closed as its hull, with a warning.
    """
    rows = [(-1, model.n_bodies + j, f"obstacle '{name}'", shape) for j, (name, shape) in enumerate(model.obstacles)]
    ground = ground_entities(model)
    rows += [
        (body, body if body >= 0 else ground[shape.owner], _owner(model, body, shape), shape)
        for body, shape in model.shapes
    ]
    rows = sorted((row for row in rows if not row[3].visual_only), key=lambda row: row[0])
    _warn_of_missing(
        model, [(what, shape.file) for *_, what, shape in rows if isinstance(shape, Mesh) and shape.missing]
    )
    rows = [row for row in rows if not (isinstance(row[3], Mesh) and row[3].missing)]
    faults = [f"{what}: {fault}" for _, _, what, shape in rows for fault in (*shape.faults(), *shape.volume_faults())]
    if faults:
        raise ModelError(f"model '{model.name}' has shapes that cannot touch:", faults)
    builder = _Builder()
    for body, entity, what, shape in rows:
        builder.add(body, entity, what, shape, settings)
    return builder.finish(model, settings)


def _warn_of_missing(model: Model, missing: list[tuple[str, str]]) -> None:
    if missing:
        named = quoted((f"{what} ('{file}')" for what, file in missing), len(missing), NAMED_AT_MOST)
        warn_user(
            f"model '{model.name}': mesh files are absent, and what they describe touches nothing: {named}. Put the files "
            "where their names say (package://NAME/... is looked for above the robot's file and in ROS_PACKAGE_PATH), or "
            "load with lw.load(path, missing_meshes='capsule') or 'skip'."
        )


def ground_entities(model: Model) -> dict[str, int]:
    """Entities of bodies that are fixed to the world and have shapes, by name; behind bodies and obstacles."""
    names = dict.fromkeys(shape.owner for body, shape in model.shapes if body < 0)
    return {name: model.n_bodies + len(model.obstacles) + k for k, name in enumerate(names)}


def _owner(model: Model, body: int, shape: Shape) -> str:
    return f"body '{model.body_names[body] if body >= 0 else shape.owner}'"


class _Builder:
    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int]] = []
        self.pose: list[list[float]] = []
        self.size: list[tuple[float, float, float]] = []
        self.span: list[tuple[int, int]] = []
        self.box: list[list[float]] = []
        self.material: list[list[float]] = []
        self.filter: list[tuple[int, int]] = []
        self.vertices: list[FloatArray] = []
        self.mesh_boxes: list[FloatArray] = []
        self.mesh_links: list[IntArray] = []
        self.n_vertices = self.n_nodes = 0

    def add(self, body: int, entity: int, what: str, shape: Shape, settings: Contact) -> None:
        kind, size, span, half, middle = self._geometry(body, what, shape)
        R = np.reshape(shape.placement.rotation, (3, 3))
        centre = R @ np.asarray(middle, dtype=float) + shape.placement.xyz
        self.rows.append((kind, body, entity))
        self.pose.append([*shape.placement.rotation, *shape.placement.xyz])
        self.size.append(size)
        self.span.append(span)
        self.box.append([*centre, *(np.abs(R) @ half if kind != solids.PLANE else [math.inf] * 3)])
        friction = settings.friction if shape.friction is None else shape.friction
        restitution = settings.restitution if shape.restitution is None else shape.restitution
        self.material.append(_material(body, friction, restitution, R))
        self.filter.append((shape.group, shape.mask))

    def _geometry(self, body: int, what: str, shape: Shape):  # type: ignore[no-untyped-def]
        """Kind, lengths, span, half edges of the box around it and its middle, in the shape's frame."""
        zero = (0.0, 0.0, 0.0)
        if isinstance(shape, Sphere):
            r = float(shape.radius)
            return solids.SPHERE, (r, 0.0, 0.0), (0, 0), (r, r, r), zero
        if isinstance(shape, Capsule):
            r, h = float(shape.radius), 0.5 * shape.length
            return solids.CAPSULE, (r, h, 0.0), (0, 0), (r, r, r + h), zero
        if isinstance(shape, Cylinder):
            r, h = float(shape.radius), 0.5 * shape.length
            return solids.CYLINDER, (r, h, 0.0), (0, 0), (r, r, h), zero
        if isinstance(shape, Box):
            half = tuple(0.5 * edge for edge in shape.size)
            return solids.BOX, half, (0, 0), half, zero
        if isinstance(shape, Plane):
            return solids.PLANE, zero, (0, 0), zero, zero
        if isinstance(shape, HeightField):
            return self._mesh(field_triangles(shape))
        if isinstance(shape, Mesh):
            corners = mesh_files.without_slivers(mesh_files.read_triangles(shape.path or shape.file, shape.scale))
            if not len(corners):
                raise ModelError(
                    f"{what}: mesh '{shape.file}' has no triangle with an area. Mend it, or use simple shapes."
                )
            if body >= 0:
                return self._hull(mesh_files.hull_corners(corners, f"{what}: mesh '{shape.file}'"))
            faults = mesh_files.closed_faults(corners)
            if faults and shape.owner:  # a link of a robot, which counts as its hull where the robot is not fixed
                warn_user(f"{what}: mesh '{shape.file}' {'; '.join(faults)}. Its convex hull touches in its place.")
                return self._hull(mesh_files.hull_corners(corners, f"{what}: mesh '{shape.file}'"))
            if faults:
                raise ModelError(f"{what}: mesh '{shape.file}' {'; '.join(faults)}. Mend it, or use simple shapes.")
            return self._mesh(corners)
        raise ModelError(f"{what}: a shape of kind {type(shape).__name__} cannot touch anything.")

    def _hull(self, points: FloatArray):  # type: ignore[no-untyped-def]
        span = (self.n_vertices, len(points))
        low, high = points.min(axis=0), points.max(axis=0)
        # The origin of the shape may be far from its points; size is the reach from the origin, for tolerances.
        reach = float(np.linalg.norm(points, axis=1).max())
        self._put(points)
        width = 0.5 * mesh_files.thickness(points)
        return solids.HULL, (reach, width, 0.0), span, tuple(0.5 * (high - low)), tuple(0.5 * (high + low))

    def _mesh(self, corners: FloatArray):  # type: ignore[no-untyped-def]
        low, high = corners.min(axis=1), corners.max(axis=1)
        boxes, links = build_tree(np.hstack([0.5 * (low + high), 0.5 * (high - low)]))
        inner = links[:, 0] >= 0
        links[inner, :2] += self.n_nodes
        links[~inner, 2] = self.n_vertices + 3 * links[~inner, 2]
        span = (self.n_nodes, self.n_nodes + len(links))
        self.mesh_boxes.append(boxes)
        self.mesh_links.append(links)
        self.n_nodes += len(links)
        self._put(corners.reshape(-1, 3))
        reach = float(np.linalg.norm(corners.reshape(-1, 3), axis=1).max())
        box = boxes[0]
        return solids.MESH, (reach, 0.0, 0.0), span, tuple(box[3:]), tuple(box[:3])

    def _put(self, points: FloatArray) -> None:
        self.vertices.append(points)
        self.n_vertices += len(points)

    def finish(self, model: Model, settings: Contact) -> ShapeTable:
        s, n = len(self.rows), model.n_bodies
        kind, body, entity = np.array(self.rows, dtype=np.int64).reshape(s, 3).T.copy()
        box = np.array(self.box, dtype=float).reshape(s, 6)
        still = np.flatnonzero((body < 0) & (kind != solids.PLANE))
        world_boxes, world_links = build_tree(box[still])
        leaf = world_links[:, 2] >= 0
        world_links[leaf, 2] = still[world_links[leaf, 2]]
        return ShapeTable(
            np.ascontiguousarray(kind),
            np.ascontiguousarray(body),
            np.ascontiguousarray(entity),
            np.array(self.pose, dtype=float).reshape(s, 12),
            np.array(self.size, dtype=float).reshape(s, 3),
            np.array(self.span, dtype=np.int64).reshape(s, 2),
            box,
            np.array(self.material, dtype=float).reshape(s, MATERIAL),
            np.array(self.filter, dtype=np.int64).reshape(s, 2),
            np.concatenate([np.zeros((0, 3)), *self.vertices]),
            np.concatenate([np.zeros((0, 6)), *self.mesh_boxes]),
            np.concatenate([np.zeros((0, 3), dtype=np.int64), *self.mesh_links]),
            np.searchsorted(body, np.arange(-1, n + 1)).astype(np.int64),
            np.flatnonzero(kind == solids.PLANE).astype(np.int64),
            world_boxes,
            world_links,
            _ignored(model, settings),
            np.array([key_stride(model)], dtype=np.int64),
            np.ascontiguousarray(model.parent),
        )


def _material(body: int, friction: float | Friction, restitution: float, R: FloatArray) -> list[float]:
    """A row of `material`. R: axes of the shape in the frame of its body."""
    if not isinstance(friction, Friction):
        return [float(friction), restitution, ISOTROPIC, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    largest = friction.largest
    parts = [mu / largest if largest > 0.0 else 1.0 for mu in friction.coefficients]
    axis = R.T @ np.asarray(friction.axis) if body >= 0 else np.asarray(friction.axis)
    return [largest, restitution, HU if friction.law == "hu" else ELLIPSE, *parts, *axis.tolist(), friction.patch]


def _ignored(model: Model, settings: Contact) -> IntArray:
    """Keys of pairs that never touch: those named, and bodies that a loop joins, as those along the tree never do."""
    stride, entities_of = key_stride(model), entities_by_name(model)
    keys = set()
    for a, b in (*model.ignore_contact, *settings.ignore):
        for i in entities_of(a):
            keys |= {min(i, j) * stride + max(i, j) for j in entities_of(b) if i != j}
    for loop in model.loops:
        i, j = sorted((loop.body_a, loop.body_b))
        if 0 <= i < j:
            keys.add(i * stride + j)
    return np.array(sorted(keys), dtype=np.int64)


def with_ignored(table: ShapeTable, pairs: IntArray) -> ShapeTable:
    """The same table, with more pairs of entities (k, 2) that never touch."""
    keys = pairs.min(axis=1) * table.stride[0] + pairs.max(axis=1) if len(pairs) else table.ignored
    return table._replace(ignored=np.union1d(table.ignored, keys))


def entities_by_name(model: Model) -> Callable[[str], list[int]]:
    """What names of bodies and obstacles stand for; that of the world for all bodies that are fixed to it."""
    ground = ground_entities(model)
    still = ground | {name: model.n_bodies + j for j, (name, _) in enumerate(model.obstacles)}

    def entities_of(name: str) -> list[int]:
        if name in still:
            return [still[name]]
        body = model.body(name)
        return [body] if body >= 0 else list(ground.values())

    return entities_of


def key_stride(model: Model) -> int:
    return model.n_bodies + len(model.obstacles) + len(ground_entities(model)) + 1


def mean_size(table: ShapeTable) -> float:
    """Mean half size of the shapes that move [m]; of all shapes where none does."""
    moving = table.box[table.body >= 0, 3:]
    chosen = moving if len(moving) else table.box[table.kind != solids.PLANE, 3:]
    return float(chosen.max(axis=1).mean()) if len(chosen) else 1.0


def field_triangles(field: HeightField) -> FloatArray:
    """Two triangles per cell, turned upward, shape (m, 3, 3)."""
    z = np.array(field.heights, dtype=float)
    rows, columns = z.shape
    x = np.linspace(-0.5, 0.5, columns) * field.size[0]
    y = np.linspace(-0.5, 0.5, rows) * field.size[1]
    points = np.stack([np.broadcast_to(x, z.shape), np.broadcast_to(y[:, None], z.shape), z], axis=-1)
    a, b, c, d = points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]
    return np.concatenate(
        [np.stack([a, b, c], axis=2).reshape(-1, 3, 3), np.stack([a, c, d], axis=2).reshape(-1, 3, 3)]
    )
