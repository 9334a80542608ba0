"""Inertia: mass, centre of mass and moments of a rigid body, as people give them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.checks import number, shown
from linkwork.core.messages.describe import tabled
from linkwork.errors import ModelError
from linkwork.spatial.pose import ORIGIN, Pose, Vector3, vector3

Moments = tuple[float, float, float, float, float, float]

# Printed digits break the triangle inequality by a little; a body that breaks it by more is unphysical.
TRIANGLE_TOLERANCE = 1e-3
NEGATIVE_TOLERANCE = 1e-12  # part of mass · length² by which rounding may make a moment of zero negative
SHORTEST = 1e-3  # [m] of a body about whose size nothing is known
NO_MOMENT = 1e-20  # [kg·m²] moments of a body without mass below this are the rounding of zero
TOO_LARGE = 1e100  # squares of such numbers would overflow


def _moments(value: Any) -> Moments:
    """(3,) principal moments, (6,) xx xy xz yy yz zz or a symmetric (3, 3) matrix → xx xy xz yy yz zz."""
    if isinstance(value, tuple) and len(value) == 3 and not hasattr(value[0], "__len__"):
        x, y, z = vector3(value, "Inertia moments")
        return (x, 0.0, 0.0, y, 0.0, z)
    try:
        M = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            f"Inertia moments must be numbers of shape (3,), (6,) or (3, 3), not {shown(value)}."
        ) from None
    if M.shape == (3,):
        return (float(M[0]), 0.0, 0.0, float(M[1]), 0.0, float(M[2]))
    if M.shape == (6,):
        xx, xy, xz, yy, yz, zz = M.tolist()
        return (xx, xy, xz, yy, yz, zz)
    if M.shape != (3, 3):
        raise ModelError(f"Inertia moments must have shape (3,), (6,) for xx xy xz yy yz zz, or (3, 3), not {M.shape}.")
    if np.isfinite(M).all() and np.abs(M - M.T).max() > 1e-9 * np.abs(M).max():
        raise ModelError(f"Inertia moments must be a symmetric matrix, not {M.tolist()}.")
    M = 0.5 * (M + M.T)
    return (float(M[0, 0]), float(M[0, 1]), float(M[0, 2]), float(M[1, 1]), float(M[1, 2]), float(M[2, 2]))


@tabled
@dataclass(frozen=True, slots=True, init=False)
class Inertia:
    """Mass [kg], centre of mass [m] in the body frame, moments [kg·m²] about the centre of mass along the body axes.

    moments: principal moments, shape (3,); or xx xy xz yy yz zz, shape (6,), as the attribute `moments` gives them; or a
    symmetric matrix, shape (3, 3), as `matrix` gives it. Products of inertia (xy, xz, yz) are entries of the matrix, with
    its signs, not the sums of m x y that some tables list.
    Values are checked when the linkage compiles, so that all faults are reported together; `faults()` checks one at once.
    """

    mass: float
    com: Vector3
    moments: Moments  # xx xy xz yy yz zz

    def __init__(self, mass: float, com: Sequence[float] = ORIGIN, moments: ArrayLike = (0.0, 0.0, 0.0)):
        object.__setattr__(self, "mass", number(mass, "Inertia mass", ModelError))
        object.__setattr__(self, "com", vector3(com, "Inertia com"))
        object.__setattr__(self, "moments", _moments(moments))

    @classmethod
    def raw(cls, mass: float, com: Any, moments: Any) -> Inertia:
        """An inertia of plain floats in tuples (3,) and (6,): no checks, no copies."""
        inertia = cls.__new__(cls)
        object.__setattr__(inertia, "mass", mass)
        object.__setattr__(inertia, "com", com)
        object.__setattr__(inertia, "moments", moments)
        return inertia

    @classmethod
    def box(cls, mass: float, size: Sequence[float]) -> Inertia:
        """A solid box with edges `size` [m] along x, y, z."""
        x, y, z = vector3(size, "Inertia box size")
        k = number(mass, "Inertia box mass", ModelError) / 12.0
        return cls(mass, moments=(k * (y * y + z * z), k * (x * x + z * z), k * (x * x + y * y)))

    @classmethod
    def sphere(cls, mass: float, radius: float) -> Inertia:
        """A solid sphere."""
        m, r = (number(x, f"Inertia sphere {what}", ModelError) for x, what in ((mass, "mass"), (radius, "radius")))
        i = 0.4 * m * r * r
        return cls(mass, moments=(i, i, i))

    @classmethod
    def cylinder(cls, mass: float, radius: float, length: float) -> Inertia:
        """A solid cylinder along z."""
        m, r, h = _round("cylinder", mass, radius, length)
        side = m * (3.0 * r * r + h * h) / 12.0
        return cls(m, moments=(side, side, 0.5 * m * r * r))

    @classmethod
    def capsule(cls, mass: float, radius: float, length: float) -> Inertia:
        """A solid capsule along z: a cylinder of `length` between two half spheres."""
        m, r, h = _round("capsule", mass, radius, length)
        volume_cylinder = h
        volume_sphere = 4.0 * r / 3.0  # both over π r²
        if volume_cylinder + volume_sphere == 0.0:
            raise ModelError(f"Inertia capsule has no volume: radius {radius:g}, length {length:g}.")
        cylinder = m * volume_cylinder / (volume_cylinder + volume_sphere)
        sphere = m - cylinder
        along = (0.5 * cylinder + 0.4 * sphere) * r * r
        # each half sphere's centre of mass lies 3r/8 beyond the end of the cylinder
        side = cylinder * (3.0 * r * r + h * h) / 12.0 + sphere * (0.4 * r * r + h * h / 4.0 + 3.0 * h * r / 8.0)
        return cls(m, moments=(side, side, along))

    @classmethod
    def point_mass(cls, mass: float, at: Sequence[float] = ORIGIN) -> Inertia:
        """A mass without extent; sums of three or more off a line make a body that can be turned about any axis."""
        return cls(mass, com=at)

    @classmethod
    def total(cls, parts: Iterable[Inertia]) -> Inertia:
        """Many inertias of one frame as one."""
        if not isinstance(parts, Iterable) or (isinstance(parts, np.ndarray) and parts.ndim == 0):
            raise ModelError(f"Inertia.total adds inertias, not {shown(parts)}.")
        result = cls(0.0)
        for part in parts:
            if not isinstance(part, Inertia):
                raise ModelError(f"Inertia.total adds inertias; {shown(part)} is not one.")
            result = result + part
        return result

    def __add__(self, other: Inertia) -> Inertia:
        """Two inertias given in the same frame, as one rigid body."""
        if self.is_massless:
            return other
        if other.is_massless:
            return self
        mass = self.mass + other.mass
        if mass == 0.0:
            return Inertia.raw(0.0, ORIGIN, tuple(a + b for a, b in zip(self.moments, other.moments, strict=True)))
        com = tuple((self.mass * a + other.mass * b) / mass for a, b in zip(self.com, other.com, strict=True))
        moments = [a + b for a, b in zip(self._about(com), other._about(com), strict=True)]
        return Inertia.raw(mass, com, tuple(moments))

    def _about(self, point: Sequence[float]) -> Moments:
        """Moments about another point than the centre of mass (parallel axes)."""
        (a, b, c), (px, py, pz) = self.com, point
        x, y, z = a - px, b - py, c - pz
        m, (xx, xy, xz, yy, yz, zz) = self.mass, self.moments
        return (
            xx + m * (y * y + z * z), xy - m * x * y, xz - m * x * z,
            yy + m * (x * x + z * z), yz - m * y * z, zz + m * (x * x + y * y),
        )  # fmt: skip

    def at(self, pose: Pose) -> Inertia:
        """The same body with its frame placed at `pose`, seen from the outer frame."""
        if not isinstance(pose, Pose):
            raise ModelError(f"an Inertia is placed by a lw.Pose, not by {shown(pose)}.")
        R = np.reshape(pose.rotation, (3, 3))
        M = R @ self.matrix @ R.T
        upper = (M[0, 0], M[0, 1], M[0, 2], M[1, 1], M[1, 2], M[2, 2])
        return Inertia.raw(self.mass, pose.apply(self.com), tuple(map(float, upper)))

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Rotational inertia about the centre of mass [kg·m²], shape (3, 3)."""
        xx, xy, xz, yy, yz, zz = self.moments
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    @property
    def about_origin(self) -> tuple[float, ...]:
        """The ten numbers of a compiled model: m, m c, inertia about the origin (xx xy xz yy yz zz)."""
        m, (x, y, z) = self.mass, self.com
        return (m, m * x, m * y, m * z, *self._about(ORIGIN))

    @property
    def is_massless(self) -> bool:
        return self.mass == 0.0 and max(map(abs, self.moments)) < NO_MOMENT

    def faults(self, length: float = 0.0) -> list[str]:
        """Why this is not the inertia of a physical body; empty when it is.

        length: how far the body reaches [m], by its joints. Moments are measured against mass · length²: a violation
        far below that is rounding, or a flat part of a mechanism that never turns about its other axes.
        """
        length = min(number(length, "length", ModelError), TOO_LARGE)
        numbers = (self.mass, *self.com, *self.moments)
        if not all(map(math.isfinite, numbers)):
            return [
                f"inertia has a number that is not finite: mass {self.mass}, com {self.com}, moments {self.moments}"
            ]
        if max(map(abs, numbers)) > TOO_LARGE:
            return [
                f"inertia has a number above {TOO_LARGE:g}: mass {self.mass}, com {self.com}, moments {self.moments}"
            ]
        if self.mass < 0.0 or (self.mass == 0.0 and not self.is_massless):
            return [f"mass is {self.mass:g} kg with moments {self.moments}; mass must be > 0"]
        low, middle, high = np.linalg.eigvalsh(self.matrix)
        size = max(float(high), self.mass * max(math.hypot(*self.com), length, SHORTEST) ** 2)
        if low < -NEGATIVE_TOLERANCE * size:
            return [f"principal moments ({low:g}, {middle:g}, {high:g}) kg·m² must not be negative"]
        if high - low - middle > TRIANGLE_TOLERANCE * size:
            return [
                f"principal moments ({low:g}, {middle:g}, {high:g}) kg·m² break the triangle inequality: "
                f"{low:g} + {middle:g} < {high:g}; no distribution of mass has them"
            ]
        return []


def _round(kind: str, mass: float, radius: float, length: float) -> tuple[float, float, float]:
    """The three numbers of a cylinder or capsule."""
    given = ((mass, "mass"), (radius, "radius"), (length, "length"))
    m, r, h = (number(x, f"Inertia {kind} {what}", ModelError) for x, what in given)
    return m, r, h


MASSLESS = Inertia(0.0)
