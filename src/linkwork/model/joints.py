"""The joints people write. Every one is a product of screws, a ball, a free motion or a weld.

`Compound([...])` is a list of one-degree-of-freedom joints with no mass between them. All screws of a joint are given in
its zero frame (where the child frame lies when q = 0), so joining the joints of massless links needs no frames in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import shown
from linkwork.errors import ModelError
from linkwork.model.joint_base import MAX_DOF, OPTIONS, Joint, PerDof, Screw3, option_numbers, unit
from linkwork.model.layout import COMPOUND, FREE, HELICAL, SPHERICAL
from linkwork.spatial.pose import ORIGIN, Pose, Vector3, vector3

__all__ = ["MAX_DOF", "OPTIONS", "Joint", "PerDof", "Screw3", "unit"]  # of `joint_base`, for those who import joints

ALMOST_ALONG_X = 0.9  # a normal this close to ±x leaves too little of x across it to choose the plane's first direction


@dataclass(frozen=True, slots=True, kw_only=True)
class _Screws(Joint):
    """A joint that is a product of screws; coordinates are angles and lengths."""

    def _reversed_screws(self) -> tuple[Screw3, ...]:
        return self.screws[::-1]

    def reverse_coordinates(self, q: FloatArray) -> FloatArray:
        return -np.asarray(q, dtype=float)[::-1]

    def reverse_velocity(self, q: FloatArray, v: FloatArray) -> FloatArray:
        return -np.asarray(v, dtype=float)[::-1]

    def reversed(self) -> Joint:
        return Compound(self._reversed_screws(), **self._mirrored_options())


@dataclass(frozen=True, slots=True)
class _OneAxis(_Screws):
    """A screw about or along one axis through `point` of the joint frame."""

    axis: Vector3 = (0.0, 0.0, 1.0)
    point: Vector3 = ORIGIN

    kind: ClassVar[int] = HELICAL
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(vector3(self.axis, f"{type(self).__name__} axis")))
        if self.point is not ORIGIN:
            object.__setattr__(self, "point", vector3(self.point, f"{type(self).__name__} point"))

    def reversed(self) -> Joint:
        return replace(self, **self._mirrored_options())  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Revolute(_OneAxis):
    """A hinge: turns by q [rad] about an axis."""

    @property
    def screws(self) -> tuple[Screw3, ...]:
        return (Screw3(self.axis, ORIGIN, self.point),)


@dataclass(frozen=True, slots=True)
class Prismatic(_OneAxis):
    """A slider: moves by q [m] along an axis."""

    @property
    def screws(self) -> tuple[Screw3, ...]:
        return (Screw3(ORIGIN, self.axis, ORIGIN),)


@dataclass(frozen=True, slots=True)
class Screw(_OneAxis):
    """A thread: turns by q [rad] about an axis and moves by `pitch` q [m/rad] along it."""

    pitch: float = 0.01

    @property
    def screws(self) -> tuple[Screw3, ...]:
        x, y, z = self.axis
        h = float(self.pitch)
        return (Screw3(self.axis, (h * x, h * y, h * z), self.point),)


@dataclass(frozen=True, slots=True)
class Cylindrical(_Screws):
    """Turns by q[0] [rad] about an axis and slides by q[1] [m] along it, independently."""

    axis: Vector3 = (0.0, 0.0, 1.0)

    kind: ClassVar[int] = COMPOUND
    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(vector3(self.axis, "Cylindrical axis")))

    @property
    def screws(self) -> tuple[Screw3, ...]:
        return (Screw3(self.axis, ORIGIN, ORIGIN), Screw3(ORIGIN, self.axis, ORIGIN))


@dataclass(frozen=True, slots=True)
class Universal(_Screws):
    """Two hinges in one point: q[0] [rad] about `axis`, then q[1] [rad] about `second`, which turns with the first."""

    axis: Vector3 = (1.0, 0.0, 0.0)
    second: Vector3 = (0.0, 1.0, 0.0)

    kind: ClassVar[int] = COMPOUND
    nq: ClassVar[int] = 2
    nv: ClassVar[int] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit(vector3(self.axis, "Universal axis")))
        object.__setattr__(self, "second", unit(vector3(self.second, "Universal second axis")))

    @property
    def screws(self) -> tuple[Screw3, ...]:
        return (Screw3(self.axis, ORIGIN, ORIGIN), Screw3(self.second, ORIGIN, ORIGIN))

    def faults(self) -> list[str]:
        parallel = math.hypot(*np.cross(self.axis, self.second)) < 1e-6
        extra = [f"axes {self.axis} and {self.second} are parallel; a universal joint needs two directions"]
        return [*Joint.faults(self), *(extra if parallel else [])]


@dataclass(frozen=True, slots=True)
class Planar(_Screws):
    """Slides by q[0], q[1] [m] in the plane across `normal`, then turns by q[2] [rad] about it.

    The plane's first direction is the given `first`, or one chosen across the normal.
    """

    normal: Vector3 = (0.0, 0.0, 1.0)
    first: Vector3 | None = None

    kind: ClassVar[int] = COMPOUND
    nq: ClassVar[int] = 3
    nv: ClassVar[int] = 3

    def __post_init__(self) -> None:
        n = unit(vector3(self.normal, "Planar normal"))
        object.__setattr__(self, "normal", n)
        given = self.first
        if given is None:
            given = (0.0, 1.0, 0.0) if abs(n[0]) > ALMOST_ALONG_X else (1.0, 0.0, 0.0)
        across = np.asarray(vector3(given, "Planar first")) - np.dot(given, n) * np.asarray(n)
        object.__setattr__(self, "first", unit(tuple(across.tolist())))

    @property
    def screws(self) -> tuple[Screw3, ...]:
        assert self.first is not None
        second = tuple(np.cross(self.normal, self.first).tolist())
        return (
            Screw3(ORIGIN, self.first, ORIGIN),
            Screw3(ORIGIN, second, ORIGIN),
            Screw3(self.normal, ORIGIN, ORIGIN),
        )


class Compound(_Screws):
    """Several one-degree-of-freedom joints in a row with no mass between them; at most six in all.

    parts: Revolute, Prismatic, Screw (or screws of another joint), outermost last, all given in the joint's zero frame.
    """

    __slots__ = ("parts",)
    parts: tuple[Screw3, ...]
    kind: ClassVar[int] = COMPOUND

    def __init__(self, parts: Iterable[Joint | Screw3], **options: object):
        super().__init__(**options)  # type: ignore[arg-type]
        screws: list[Screw3] = []
        own_options = []
        if isinstance(parts, str | np.ndarray) or not isinstance(parts, Iterable):
            raise ModelError(f"the parts of a Compound are joints, not {shown(parts)}.")
        for part in parts:
            if isinstance(part, Screw3):
                screws.append(part)
                continue
            if not isinstance(part, _Screws) or not part.screws:
                raise ModelError(
                    f"Compound is made of joints with one degree of freedom each; {part!r} is none. "
                    "Give Revolute, Prismatic or Screw joints."
                )
            screws.extend(part.screws)
            own_options.append(part)
        object.__setattr__(self, "parts", tuple(screws))
        if any(part.has_options for part in own_options):
            if options or len(own_options) != len(screws):
                raise ModelError(
                    "Compound: give damping, limits and the like on the parts or on the compound, not both."
                )
            for name, default in _PART_DEFAULTS.items():
                if any(getattr(part, name) is not None for part in own_options):
                    object.__setattr__(self, name, tuple(float(part.per_dof(name, default)[0]) for part in own_options))
            if any(part.limits is not None for part in own_options):
                object.__setattr__(self, "limits", tuple(tuple(part.limit_pairs()[0]) for part in own_options))

    @property
    def screws(self) -> tuple[Screw3, ...]:
        return self.parts

    @property
    def nq(self) -> int:  # type: ignore[override]
        return len(self.parts)

    @property
    def nv(self) -> int:  # type: ignore[override]
        return len(self.parts)

    def faults(self) -> list[str]:
        if not 1 <= self.nv <= MAX_DOF:
            return [f"has {self.nv} degrees of freedom; a joint has 1 to {MAX_DOF}"]
        return Joint.faults(self)

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Compound) and self.parts == other.parts
        return same and all(getattr(self, name) == getattr(other, name) for name in OPTIONS)

    def __hash__(self) -> int:
        return hash((self.parts, *(getattr(self, name) for name in OPTIONS)))

    def __repr__(self) -> str:
        return f"Compound({list(self.parts)!r})"


_PART_DEFAULTS = {
    "damping": 0.0,
    "stiffness": 0.0,
    "rest": 0.0,
    "armature": 0.0,
    "effort_limit": math.inf,
    "velocity_limit": math.inf,
}


@dataclass(frozen=True, slots=True)
class Spherical(Joint):
    """A ball about `point`: q is the child's orientation (w, x, y, z), v its angular velocity in the child frame."""

    point: Vector3 = ORIGIN

    kind: ClassVar[int] = SPHERICAL
    nq: ClassVar[int] = 4
    nv: ClassVar[int] = 3

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", vector3(self.point, "Spherical point"))

    @property
    def center(self) -> Vector3:
        return self.point

    def faults(self) -> list[str]:
        found = Joint.faults(self)
        if not all(map(math.isfinite, self.point)):
            found.append(f"point has a number that is not finite: {self.point}")
        return found

    def option_faults(self) -> list[tuple[str, str]]:
        return Joint.option_faults(self) + _rest_quaternion_faults(self.rest, 4)

    def neutral(self) -> FloatArray:
        return np.array([1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator) -> FloatArray:
        return _random_quaternion(rng)

    def reversed(self) -> Joint:
        return replace(self, rest=None if self.rest is None else tuple(_conjugate(self.rest_coordinates())))

    def reverse_coordinates(self, q: FloatArray) -> FloatArray:
        return _conjugate(q)

    def reverse_velocity(self, q: FloatArray, v: FloatArray) -> FloatArray:
        return -(_quaternion_rotation(q) @ np.asarray(v, dtype=float))


@dataclass(frozen=True, slots=True)
class Free(Joint):
    """No connection: q is the child's position [m] and orientation (w, x, y, z), v its twist [ω; v] in the child frame."""

    kind: ClassVar[int] = FREE
    nq: ClassVar[int] = 7
    nv: ClassVar[int] = 6

    def option_faults(self) -> list[tuple[str, str]]:
        return Joint.option_faults(self) + _rest_quaternion_faults(self.rest, 7)

    def neutral(self) -> FloatArray:
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def random(self, rng: np.random.Generator) -> FloatArray:
        return np.concatenate([rng.uniform(-1.0, 1.0, 3), _random_quaternion(rng)])

    def reversed(self) -> Joint:
        return replace(
            self, rest=None if self.rest is None else tuple(self.reverse_coordinates(self.rest_coordinates()))
        )

    def reverse_coordinates(self, q: FloatArray) -> FloatArray:
        q = np.asarray(q, dtype=float)
        return np.concatenate([-(_quaternion_rotation(q[3:]).T @ q[:3]), _conjugate(q[3:])])

    def reverse_velocity(self, q: FloatArray, v: FloatArray) -> FloatArray:
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        R = _quaternion_rotation(q[3:])
        w = R @ v[:3]
        return -np.concatenate([w, R @ v[3:] + np.cross(q[:3], w)])


@dataclass(frozen=True, slots=True)
class Fixed(Joint):
    """A weld."""

    def random(self, rng: np.random.Generator) -> FloatArray:
        return np.zeros(0)

    def reversed(self) -> Joint:
        return self

    def reverse_coordinates(self, q: FloatArray) -> FloatArray:
        return np.zeros(0)

    def reverse_velocity(self, q: FloatArray, v: FloatArray) -> FloatArray:
        return np.zeros(0)


def _rest_quaternion_faults(rest: PerDof, size: int) -> list[tuple[str, str]]:
    numbers = option_numbers(rest)
    if numbers is None:
        return []
    if numbers.size == size and abs(np.linalg.norm(numbers[-4:]) - 1.0) > 1e-6:
        return [("rest", f"rest orientation {tuple(numbers[-4:])} is not a unit quaternion (w, x, y, z)")]
    return [] if numbers.size == size else [("rest", f"rest has {numbers.size} numbers; it takes {size}")]


def _random_quaternion(rng: np.random.Generator) -> FloatArray:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def _conjugate(q: FloatArray) -> FloatArray:
    return np.asarray(q, dtype=float) * np.array([1.0, -1.0, -1.0, -1.0])


def _quaternion_rotation(q: FloatArray) -> FloatArray:
    return Pose(quaternion=tuple(np.asarray(q, dtype=float))).matrix[:3, :3]
