"""The joints people write. Every one is a product of screws, a ball, a free motion or a weld.

`Compound([...])` is a list of one-degree-of-freedom joints with no mass between them. All screws of a joint are given in
its zero frame (where the child frame lies when q = 0), so joining the joints of massless links needs no frames in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import ModelError
from linkwork.model.layout import COMPOUND, FIXED, FREE, HELICAL, SPHERICAL
from linkwork.spatial.pose import ORIGIN, Pose, Vector3, vector3

FloatArray = NDArray[np.float64]
PerDof = float | Sequence[float] | None

MAX_DOF = 6
ALMOST_ALONG_X = 0.9  # a normal this close to ±x leaves too little of x across it to choose the plane's first direction


class Screw3(NamedTuple):
    """One degree of freedom: q turns about `axis` through `center` and slides by `slide` q."""

    axis: Vector3  # unit vector, or zero for pure sliding
    slide: Vector3  # [m/rad], or a unit vector for pure sliding
    center: Vector3  # a point of the axis [m]

    def moved(self, pose: Pose) -> Screw3:
        """The same screw, seen from the parent frame of `pose`."""
        return Screw3(pose.rotate(self.axis), pose.rotate(self.slide), pose.apply(self.center))


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """What every joint may carry. A number serves all degrees of freedom; a sequence gives one each.

    limits: (lower, upper) of the coordinate, or one pair for each coordinate [rad or m]
    damping [N·m·s or N·s/m], stiffness [N·m/rad or N/m] and the coordinates `rest` at which the spring is slack
    armature: inertia of the rotor, seen at the joint [kg·m² or kg]
    effort_limit [N·m or N], velocity_limit [rad/s or m/s]: data for controllers; dynamics does not clamp
    """

    limits: Sequence[float] | Sequence[Sequence[float]] | None = None
    damping: PerDof = None
    stiffness: PerDof = None
    rest: PerDof = None
    armature: PerDof = None
    effort_limit: PerDof = None
    velocity_limit: PerDof = None

    kind: ClassVar[int] = FIXED
    nq: ClassVar[int] = 0
    nv: ClassVar[int] = 0

    @property
    def screws(self) -> tuple[Screw3, ...]:
        """The product of screws this joint is made of; empty for ball, free and fixed joints."""
        return ()

    @property
    def center(self) -> Vector3:
        """Centre of a ball joint, in the body frame."""
        return ORIGIN

    @property
    def has_options(self) -> bool:
        """Whether any of OPTIONS is given; spelled out because compiling asks every joint."""
        return not (
            self.limits is None
            and self.damping is None
            and self.stiffness is None
            and self.rest is None
            and self.armature is None
            and self.effort_limit is None
            and self.velocity_limit is None
        )

    def faults(self) -> list[str]:
        """Why this joint cannot be simulated; empty when it can."""
        found = [fault for screw in self.screws for fault in _screw_faults(screw)]
        if not self.has_options:
            return found
        for name, size, low in _OPTION_RULES:
            value = getattr(self, name)
            if value is None:
                continue
            count = self.nq if size == "nq" else self.nv
            numbers = _numbers(value)
            if numbers is None:
                found.append(f"{name} is {value!r}; it must be a number or a sequence of numbers")
            elif numbers.size not in (1, count):
                found.append(f"{name} has {numbers.size} numbers; it takes one, or {count}")
            elif np.isnan(numbers).any() or (numbers < low).any():
                found.append(f"{name} is {value}; it must be a number" + (f" ≥ {low:g}" if low > -math.inf else ""))
        found += self._limit_faults()
        turning = _numbers(self.stiffness)
        if self.kind in (SPHERICAL, FREE) and turning is not None:
            # A spring that pulls along the whole rotation (or displacement) has an energy only if it is the same all round.
            for what, part in (("rotations", turning[:3]), ("displacements", turning[3:])):
                if part.size and np.ptp(part) > 0:
                    found.append(f"stiffness {self.stiffness} differs between {what}; give one stiffness for all three")
        return found

    def _limit_faults(self) -> list[str]:
        if self.limits is None:
            return []
        try:
            pairs = np.asarray(self.limits, dtype=float)
        except (TypeError, ValueError):
            return [f"limits are {self.limits!r}; they must be numbers (lower, upper), or {self.nv} such pairs"]
        if pairs.shape not in ((2,), (self.nv, 2)) or self.kind in (SPHERICAL, FREE, FIXED):
            if self.kind in (SPHERICAL, FREE, FIXED):
                return [f"limits are given for a {type(self).__name__} joint, which has no coordinate to limit"]
            return [f"limits have shape {pairs.shape}; they are (lower, upper), or {self.nv} such pairs"]
        return [
            f"limits ({low:g}, {high:g}) are the wrong way round or not numbers"
            for low, high in pairs.reshape(-1, 2)
            if not low <= high
        ]

    def per_dof(self, name: str, default: float = 0.0) -> FloatArray:
        """An option spread over the degrees of freedom, shape (nv,)."""
        value = getattr(self, name)
        return np.broadcast_to(np.asarray(default if value is None else value, dtype=float), (self.nv,)).copy()

    def limit_pairs(self) -> FloatArray:
        """Lower and upper limits, shape (nv, 2); infinite where there is none."""
        pairs = (-math.inf, math.inf) if self.limits is None else self.limits
        return np.broadcast_to(np.asarray(pairs, dtype=float), (self.nv, 2)).copy()

    def neutral(self) -> FloatArray:
        """The coordinates at which the child frame lies in the zero frame, shape (nq,)."""
        return np.zeros(self.nq)

    def rest_coordinates(self) -> FloatArray:
        """Where the spring is slack, shape (nq,)."""
        if self.rest is None:
            return self.neutral()
        return np.broadcast_to(np.asarray(self.rest, dtype=float), (self.nq,)).copy()

    def random(self, rng: np.random.Generator) -> FloatArray:
        """Coordinates within the limits, or within (-π, π) and (-1 m, 1 m), shape (nq,)."""
        pairs = self.limit_pairs()
        span = np.array([math.pi if any(screw.axis) else 1.0 for screw in self.screws])
        low = np.where(np.isfinite(pairs[:, 0]), pairs[:, 0], np.minimum(-span, pairs[:, 1] - 2 * span))
        high = np.where(np.isfinite(pairs[:, 1]), pairs[:, 1], np.maximum(span, low + 2 * span))
        return rng.uniform(low, high)

    def reversed(self) -> Joint:
        """The joint seen from the other side: its pose is the inverse of this one's."""
        raise NotImplementedError

    def reverse_coordinates(self, q: FloatArray) -> FloatArray:
        """Coordinates of `reversed()` at the same pose, shape (nq,)."""
        raise NotImplementedError

    def reverse_velocity(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Velocities of `reversed()` in the same motion, shape (nv,)."""
        raise NotImplementedError

    def _mirrored_options(self) -> dict[str, object]:
        """Options of a reversed product of screws: coordinates change sign, order turns round."""

        def flip(value: PerDof, sign: float = 1.0) -> object:
            return None if value is None else tuple(sign * np.broadcast_to(np.asarray(value, float), (self.nv,))[::-1])

        changed: dict[str, object] = {
            name: flip(getattr(self, name)) for name in OPTIONS if name not in ("limits", "rest")
        }
        changed["rest"] = flip(self.rest, -1.0)
        limits = None if self.limits is None else tuple(map(tuple, -self.limit_pairs()[::-1, ::-1]))
        changed["limits"] = limits
        return changed


OPTIONS = ("limits", "damping", "stiffness", "rest", "armature", "effort_limit", "velocity_limit")
_OPTION_RULES = (
    ("damping", "nv", 0.0),
    ("stiffness", "nv", 0.0),
    ("armature", "nv", 0.0),
    ("effort_limit", "nv", 0.0),
    ("velocity_limit", "nv", 0.0),
    ("rest", "nq", -math.inf),
)


def _numbers(value: PerDof) -> FloatArray | None:
    """The numbers of an option in a row, or None when it has none."""
    try:
        return None if value is None else np.ravel(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        return None


def _screw_faults(screw: Screw3) -> list[str]:
    (ax, ay, az), (sx, sy, sz), (cx, cy, cz) = screw
    if not math.isfinite(ax + ay + az + sx + sy + sz + cx + cy + cz):  # a sum is finite only if every term is
        return [f"axis has a number that is not finite: {screw.axis}, {screw.slide}"]
    if not any(screw.axis) and not any(screw.slide):
        return ["axis is zero; give a direction such as (0, 0, 1)"]
    return []


def unit(axis: Vector3) -> Vector3:
    """The direction of an axis; zero and NaN pass through, to be reported with the joint's name."""
    norm = math.hypot(*axis)
    if norm == 0.0 or not math.isfinite(norm):
        return axis
    return (axis[0] / norm, axis[1] / norm, axis[2] / norm)


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
        return found + _rest_quaternion_faults(self.rest, 4)

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

    def faults(self) -> list[str]:
        return Joint.faults(self) + _rest_quaternion_faults(self.rest, 7)

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


def _rest_quaternion_faults(rest: PerDof, size: int) -> list[str]:
    numbers = _numbers(rest)
    if numbers is None:
        return []
    if numbers.size == size and abs(np.linalg.norm(numbers[-4:]) - 1.0) > 1e-6:
        return [f"rest orientation {tuple(numbers[-4:])} is no unit quaternion (w, x, y, z)"]
    return [] if numbers.size == size else [f"rest has {numbers.size} numbers; it takes {size}"]


def _random_quaternion(rng: np.random.Generator) -> FloatArray:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def _conjugate(q: FloatArray) -> FloatArray:
    return np.asarray(q, dtype=float) * np.array([1.0, -1.0, -1.0, -1.0])


def _quaternion_rotation(q: FloatArray) -> FloatArray:
    return Pose(quaternion=tuple(np.asarray(q, dtype=float))).matrix[:3, :3]
