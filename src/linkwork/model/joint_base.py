"""What every joint carries: sizes, screws, options, and the checks of their values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.describe import tabled
from linkwork.model.kernels.random_coordinates import uniform_within
from linkwork.model.layout import FIXED, FREE, SPHERICAL
from linkwork.spatial.pose import ORIGIN, Pose, Vector3

PerDof = float | Sequence[float] | None

MAX_DOF = 6


class Screw3(NamedTuple):
    """One degree of freedom: q turns about `axis` through `center` and slides by `slide` q."""

    axis: Vector3  # unit vector, or zero for pure sliding
    slide: Vector3  # [m/rad], or a unit vector for pure sliding
    center: Vector3  # a point of the axis [m]

    def moved(self, pose: Pose) -> Screw3:
        """The same screw, seen from the parent frame of `pose`."""
        return Screw3(pose.rotate(self.axis), pose.rotate(self.slide), pose.apply(self.center))


@tabled
@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """Options of every joint. A number is used for all degrees of freedom; a sequence gives one each.

    limits: (lower, upper) of the coordinate, or one pair for each coordinate [rad or m]
    damping [N·m·s or N·s/m], stiffness [N·m/rad or N/m] and the coordinates `rest` at which the spring is slack; the spring
    of a ball has the energy ½ φᵀKφ of the rotation vector φ from rest, one stiffness per axis of the child
    armature: inertia of the rotor, seen at the joint [kg·m² or kg]
    effort_limit [N·m or N]: of motors. velocity_limit [rad/s or m/s]: speed above which a motor does not push; 0 counts as
    not given
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
        found = [fault for screw in self.screws for fault in screw_faults(screw)]
        return found + [fault for _, fault in self.option_faults()]

    def option_faults(self) -> list[tuple[str, str]]:
        """What is wrong with its springs, dampers, rotors and limits: name of each option at fault, and a sentence."""
        found: list[tuple[str, str]] = []
        if not self.has_options:
            return found
        for name, size, low in _OPTION_RULES:
            value = getattr(self, name)
            if value is None:
                continue
            count = self.nq if size == "nq" else self.nv
            numbers = option_numbers(value)
            if numbers is None:
                found.append((name, f"{name} is {value!r}; it must be a number or a sequence of numbers"))
            elif numbers.size not in (1, count):
                found.append((name, f"{name} has {numbers.size} numbers; it takes one, or {count}"))
            elif np.isnan(numbers).any() or (numbers < low).any():
                rule = f" ≥ {low:g}" if low > -math.inf else ""
                found.append((name, f"{name} is {value}; it must be a number{rule}"))
        found += [("limits", fault) for fault in self._limit_faults()]
        sliding = option_numbers(self.stiffness)
        if self.kind == FREE and sliding is not None and sliding[3:].size and np.ptp(sliding[3:]) > 0:
            # The displacement is measured in the world, the spring would turn with the child: one stiffness for all.
            fault = f"stiffness {self.stiffness} differs between displacements; give one stiffness for all three"
            found.append(("stiffness", fault))
        return found

    def _limit_faults(self) -> list[str]:
        if self.limits is None:
            return []
        try:
            pairs = np.asarray(self.limits, dtype=float)
        except (TypeError, ValueError, OverflowError):
            return [f"limits are {self.limits!r}; they must be numbers (lower, upper), or {self.nv} such pairs"]
        if pairs.shape not in ((2,), (self.nv, 2)) or self.kind in (SPHERICAL, FREE, FIXED):
            if self.kind in (SPHERICAL, FREE, FIXED):
                return [f"limits are given for a {type(self).__name__} joint, which has no coordinate to limit"]
            return [f"limits have shape {pairs.shape}; they are (lower, upper), or {self.nv} such pairs"]
        return [
            f"limits ({low:g}, {high:g}) are the wrong way round, leave no coordinate or are not numbers"
            for low, high in pairs.reshape(-1, 2)
            if not (low <= high and low < math.inf and high > -math.inf)
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
        return uniform_within(rng, low, high)

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


def option_numbers(value: PerDof) -> FloatArray | None:
    """The numbers of an option in a row, or None when it has none."""
    try:
        return None if value is None else np.ravel(np.asarray(value, dtype=float))
    except (TypeError, ValueError, OverflowError):
        return None


def screw_faults(screw: Screw3) -> list[str]:
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
