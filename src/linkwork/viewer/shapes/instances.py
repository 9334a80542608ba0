"""What is drawn of a model: one instance of a prototype for each shape, and capsules along bones where there are none."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.errors import FormatError, LinkworkWarning
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.shapes import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Shape, Sphere
from linkwork.viewer.shapes import prototypes
from linkwork.viewer.shapes.colors import WORLD
from linkwork.viewer.shapes.molecules import add_molecule, atoms_of
from linkwork.viewer.shapes.prototypes import Triangles

COARSE_FROM = 3000  # shapes; from there on round ones get fewer sides
BONE_RADIUS = 0.09  # of the median length of bones
STOUTEST_BONE = 0.3  # radius of a bone at most, by its own length


@dataclass(frozen=True)
class Instances:
    """Instances of prototypes, fixed in bodies (-1: the world)."""

    prototypes: tuple[Triangles, ...]
    kind: IntArray  # (m,) which prototype
    body: IntArray  # (m,) ascending within a kind
    place: FloatArray  # (m, 4, 4) in the body's frame
    scale: FloatArray  # (m, 3)
    own_color: FloatArray  # (m, 3) from 0 to 255, of instances that do not have the colour of their body; -1 of others
    is_molecule: bool = False

    def colors(self, of_bodies: NDArray[Any]) -> NDArray[Any]:
        """Of all instances, shape (m, 3). of_bodies: (n, 3)."""
        inherited = np.concatenate([of_bodies, WORLD[None].astype(of_bodies.dtype)])[self.body]
        return np.where(self.own_color < 0.0, inherited, self.own_color).astype(of_bodies.dtype)

    def world_poses(self, T: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Poses of all instances, or of some, in the world, shape (m, 4, 4). T: poses of bodies, shape (n, 4, 4)."""
        body, place = (self.body, self.place) if rows is None else (self.body[rows], self.place[rows])
        frames = T[body] if len(T) else np.zeros((body.size, 4, 4))
        frames[body < 0] = np.eye(4)
        return frames @ place

    def corners(self, T: FloatArray) -> FloatArray:
        """Corners of boxes about all instances in the world [m], shape (8 m, 3)."""
        if not self.kind.size:
            return np.zeros((0, 3))
        boxes = np.array([[p.points.min(axis=0), p.points.max(axis=0)] for p in self.prototypes])
        pick = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
        local = boxes[self.kind][:, pick, [0, 1, 2]] * self.scale[:, None]  # (m, 8, 3)
        X = self.world_poses(T)
        return (np.einsum("mij,mkj->mki", X[:, :3, :3], local) + X[:, None, :3, 3]).reshape(-1, 3)


class Collector:
    """Gathers instances and the prototypes they are of."""

    def __init__(self, sides: int):
        self.sides = sides
        self.known: dict[object, int] = {}
        self.triangles: list[Triangles] = []
        self.rows: list[tuple[int, int, FloatArray, tuple[float, float, float]]] = []
        self.own_colors: dict[int, tuple[int, int, int]] = {}  # by place in `rows`
        self.unread: dict[str, str] = {}  # mesh files that cannot be drawn, and why

    def kind_of(self, key: object, triangles: Triangles | None = None) -> int:
        if key not in self.known:
            self.known[key] = len(self.triangles)
            self.triangles.append(triangles if triangles is not None else self._make(key))
        return self.known[key]

    def _make(self, key: object) -> Triangles:
        if key == "box":
            return prototypes.box()
        if key == "sphere":
            return prototypes.sphere(self.sides)
        if key == "cylinder":
            return prototypes.cylinder(self.sides)
        assert isinstance(key, tuple)
        return prototypes.capsule(key[1], self.sides) if key[0] == "capsule" else prototypes.mesh_file(key[1])

    def add(self, body: int, shape: Shape) -> bool:
        """Adds a shape; says whether it can be drawn."""
        place = shape.placement.matrix
        if isinstance(shape, Box):
            self.rows.append((self.kind_of("box"), body, place, shape.size))
        elif isinstance(shape, Sphere):
            self.rows.append((self.kind_of("sphere"), body, place, (shape.radius,) * 3))
        elif isinstance(shape, Cylinder):
            self.rows.append((self.kind_of("cylinder"), body, place, (shape.radius, shape.radius, shape.length)))
        elif isinstance(shape, Capsule):
            self.add_capsule(body, place, shape.radius, shape.length)
        elif isinstance(shape, HeightField):
            self.rows.append((self.kind_of(id(shape), prototypes.height_field(shape)), body, place, (1.0, 1.0, 1.0)))
        elif isinstance(shape, Mesh) and shape.missing:
            self.unread.setdefault(shape.file, f"mesh file '{shape.file}' is absent")
            return False
        elif isinstance(shape, Mesh) and shape.path:
            try:
                self.rows.append((self.kind_of(("mesh", shape.path)), body, place, shape.scale))
            except FormatError as error:
                self.unread.setdefault(shape.path, str(error))
                return False
        else:
            return False
        return True

    def add_capsule(self, body: int, place: FloatArray, radius: float, length: float) -> None:
        step = prototypes.ASPECT_STEP if self.sides == prototypes.FINE else prototypes.COARSE_ASPECT_STEP
        aspect = prototypes.rounded_aspect(length, radius, step)
        stretch = (length + 2.0 * radius) / (aspect + 2.0)  # the whole length is right, the caps are up to 5 % off
        self.rows.append((self.kind_of(("capsule", aspect)), body, place, (radius, radius, stretch)))

    def add_ribbon(self, body: int, place: FloatArray, half: tuple[float, float], cap: float, length: float) -> None:
        """A flat capsule along z of `place`. half: of width (along x) and thickness; cap: how far its ends reach on."""
        aspect = prototypes.rounded_aspect(length, cap, prototypes.COARSE_ASPECT_STEP)
        stretch = (length + 2.0 * cap) / (aspect + 2.0)
        self.rows.append((self.kind_of(("capsule", aspect)), body, place, (*half, stretch)))

    def add_ball(self, body: int, at: FloatArray, radius: float, color: tuple[int, int, int] | None = None) -> None:
        place = np.eye(4)
        place[:3, 3] = at
        if color is not None:
            self.own_colors[len(self.rows)] = color
        self.rows.append((self.kind_of("sphere"), body, place, (radius,) * 3))

    @staticmethod
    def along(a: FloatArray, b: FloatArray) -> FloatArray:
        """The frame in the middle of a and b with z from a to b, shape (4, 4)."""
        return _along(a, b)


def instances_of(model: Model) -> Instances:
    """All that is drawn of a model's bodies, and of what stands in the world save planes."""
    atoms = atoms_of(model)
    made = Collector(
        prototypes.COARSE
        if max(len(model.shapes), model.n_bodies, len(model.frames)) > COARSE_FROM
        else prototypes.FINE
    )
    drawn = {body for body, shape in model.shapes if shape.visual_only and made.add(body, shape)}
    seen = drawn.copy()  # what is made for the eye goes before what is made for contact
    for body, shape in model.shapes:
        if not shape.visual_only and body not in seen and made.add(body, shape):
            drawn.add(body)
    for _, shape in model.obstacles:
        if not isinstance(shape, Plane):
            made.add(-1, shape)
    if atoms is not None and not drawn:
        add_molecule(model, atoms, made)
    else:
        _add_bones(model, made, drawn)
    _warn_of_unread(made.unread)
    order = sorted(range(len(made.rows)), key=lambda k: (made.rows[k][0], made.rows[k][1]))
    rows = [made.rows[k] for k in order]
    return Instances(
        tuple(made.triangles),
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.int64),
        np.array([row[2] for row in rows], dtype=float).reshape(-1, 4, 4),
        np.array([row[3] for row in rows], dtype=float).reshape(-1, 3),
        np.array([made.own_colors.get(k, (-1, -1, -1)) for k in order], dtype=float).reshape(-1, 3),
        atoms is not None and not drawn,
    )


def _warn_of_unread(unread: dict[str, str]) -> None:
    if unread:
        first = next(iter(unread.values()))
        others = f" and {len(unread) - 1} more mesh files" if len(unread) > 1 else ""
        warnings.warn(
            f"{first}{others}; not drawn. Other shapes or bones stand for them.", LinkworkWarning, stacklevel=4
        )


def _add_bones(model: Model, made: Collector, drawn: set[int]) -> None:
    """Capsules from each joint to the next, for bodies without shapes; beyond the last joints as far as the mass lies."""
    if len(drawn - {-1}) == model.n_bodies:
        return
    start, end, owner = bones(model)
    length = np.linalg.norm(end - start, axis=1)
    usual = float(np.median(length[length > 0.0])) if (length > 0.0).any() else 1.0
    radius = np.minimum(BONE_RADIUS * usual, STOUTEST_BONE * length)
    for a, b, along, r, body in zip(start, end, length.tolist(), radius.tolist(), owner.tolist(), strict=True):
        if body in drawn:
            continue
        if along <= 1e-9 * usual:
            place = np.eye(4)
            place[:3, 3] = a
            made.rows.append((made.kind_of("sphere"), body, place, (BONE_RADIUS * usual,) * 3))
        else:
            made.add_capsule(body, _along(a, b), r, max(0.0, along - r))  # caps meet at the joints


def bones(model: Model) -> tuple[FloatArray, FloatArray, IntArray]:
    """Starts and ends of bones in their bodies' frames [m], shape (m, 3), and their bodies, shape (m,)."""
    T = body_poses(model, model.neutral())
    parent = model.parent
    below = np.flatnonzero(parent >= 0)
    above = parent[below]
    joint_at = np.einsum("nji,nj->ni", T[above, :3, :3], T[below, :3, 3] - T[above, :3, 3])
    tips = np.setdiff1d(np.arange(model.n_bodies), above)
    mass, moment = model.mass[tips, None], model.arrays.body[tips, layout.INERTIA + 1 : layout.INERTIA + 4]
    middle = np.divide(moment, mass, out=np.zeros_like(moment), where=mass > 0)
    ends = np.concatenate([joint_at, 2.0 * middle])  # a rod reaches as far beyond its centre of mass
    return np.zeros_like(ends), ends, np.concatenate([above, tips])


def _along(a: FloatArray, b: FloatArray) -> FloatArray:
    """The frame in the middle of a and b with z from a to b, shape (4, 4)."""
    z = (b - a) / np.linalg.norm(b - a)
    side = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = np.cross(side, z)
    x /= np.linalg.norm(x)
    place = np.eye(4)
    place[:3, :3] = np.stack([x, np.cross(z, x), z], axis=1)
    place[:3, 3] = 0.5 * (a + b)
    return place
