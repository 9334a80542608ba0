"""What library models are made of: checked sizes, rods, turns."""

from __future__ import annotations

import math
import operator
from typing import NamedTuple

from linkwork.core.checks import flag, shown
from linkwork.errors import ModelError
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Revolute
from linkwork.model.shapes import Capsule, Shape
from linkwork.spatial.pose import IDENTITY, Matrix3, Pose, Vector3

MOST = 10_000_000  # of anything: more would not fit into memory as a linkage

# Shared by every linkage of the library: a million bodies need no million hinges.
HINGE_X = Revolute((1.0, 0.0, 0.0))
HINGE_Y = Revolute((0.0, 1.0, 0.0))
HINGE_Z = Revolute((0.0, 0.0, 1.0))


def yes_or_no(value: object, parameter: str) -> bool:
    """True or False, or a ModelError about the parameter."""
    return flag(value, parameter, ModelError)


def count(value: object, parameter: str, of: str = "", least: int = 1) -> int:
    """A whole number of at least `least`, or a ModelError about the parameter. of: the library model it belongs to."""
    what = f"{of}: {parameter}" if of else parameter
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ModelError(f"{what} must be a whole number, not {value!r}.", about=parameter) from None
    if number > MOST:
        raise ModelError(f"{what} is {shown(value)}; the library builds at most {MOST:,}.", about=parameter)
    if isinstance(value, bool) or number < least:
        raise ModelError(f"{what} must be a whole number of at least {least}, not {value!r}.", about=parameter)
    return number


def positive(value: object, parameter: str, of: str = "") -> float:
    """A finite number above zero, or a ModelError about the parameter. of: the library model it belongs to."""
    what = f"{of}: {parameter}" if of else parameter
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be a number, not {shown(value)}.", about=parameter) from None
    if not (number > 0.0 and math.isfinite(number)):
        raise ModelError(f"{what} must be a finite number above zero, not {value!r}.", about=parameter)
    return number


class Rod(NamedTuple):
    """A straight link: begins at its joint, ends where the next joint may stand."""

    inertia: Inertia
    shapes: tuple[Shape, ...]
    tip: Vector3  # [m], in the link's frame


def rod(mass: float, radius: float, length: float, direction: str = "-z") -> Rod:
    """A solid cylinder of the given mass [kg], radius and length [m] along "-z" or "x", drawn as a capsule."""
    mass, radius, length = positive(mass, "mass"), positive(radius, "radius"), positive(length, "length")
    side, along = mass * (3.0 * radius * radius + length * length) / 12.0, 0.5 * mass * radius * radius
    if direction == "x":
        middle: Vector3 = (0.5 * length, 0.0, 0.0)
        moments = (along, side, side)
        turn = Pose(xyz=middle, rpy=(0.0, 0.5 * math.pi, 0.0))
    else:
        middle = (0.0, 0.0, -0.5 * length)
        moments = (side, side, along)
        turn = Pose(xyz=middle)
    tip = (2.0 * middle[0], 0.0, 2.0 * middle[2])
    return Rod(Inertia(mass, middle, moments), (Capsule(radius, length, placement=turn),), tip)


def shifted(xyz: Vector3) -> Pose:
    """A placement without rotation; skips the checks of `Pose(xyz=...)`."""
    return Pose.raw(IDENTITY, xyz)


def turn_x(angle: float) -> Matrix3:
    """Rotation about x [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    return (1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c)


def turn_y(angle: float) -> Matrix3:
    """Rotation about y [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    return (c, 0.0, s, 0.0, 1.0, 0.0, -s, 0.0, c)


def turn_z(angle: float) -> Matrix3:
    """Rotation about z [rad]."""
    c, s = math.cos(angle), math.sin(angle)
    return (c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)


def placed(xyz: Vector3, *turns: Matrix3) -> Pose:
    """At `xyz`, then turned about the moving axes in the order given."""
    pose = shifted(xyz)
    for turn in turns:
        pose = pose @ Pose.raw(turn, (0.0, 0.0, 0.0))
    return pose


def even_directions(n: int) -> list[tuple[float, float]]:
    """n directions spread evenly over the sphere, as (turn about z, then tilt of -z about y) [rad] (Fibonacci's spiral)."""
    golden = math.pi * (3.0 - math.sqrt(5.0))
    return [(golden * i, math.acos(1.0 - (2.0 * i + 1.0) / n)) for i in range(n)]
