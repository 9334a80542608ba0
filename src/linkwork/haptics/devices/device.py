"""The protocol of a device, in two calls, and the simplest one: a point that a program moves, such as a viewer's mouse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, numbers, shown
from linkwork.core.messages.describe import described, tabled
from linkwork.errors import StateError

UPRIGHT = (1.0, 0.0, 0.0, 0.0)


@tabled
class Reading(NamedTuple):
    """Where a device is.

    position: [m], in the device's own axes, shape (3,). rotation: unit quaternion w, x, y, z. buttons: one bit each.
    """

    position: Sequence[float]
    rotation: Sequence[float] = UPRIGHT
    buttons: int = 0


@runtime_checkable
class Device(Protocol):
    """A hand's device. Both calls must return at once: a device that has to wait does so in a thread of its own.

    A device that moves by itself may have a method `follow(clock)`: it gets a function that returns the time [s] of the
    session, which is virtual where a session runs without a real clock.
    """

    def read(self) -> Reading:
        """Where the device is now."""

    def write(self, force: FloatArray, torque: FloatArray) -> None:
        """What the hand is to feel from now on [N, N·m], each of shape (3,)."""


@described
class Pointer:
    """A device moved from outside, as by the mouse of a viewer; it keeps the force to be shown.

    force, torque: last ones written [N, N·m], shape (3,).
    """

    def __init__(self, position: ArrayLike = (0.0, 0.0, 0.0), rotation: Sequence[float] = UPRIGHT):
        self.force, self.torque = np.zeros(3), np.zeros(3)
        self._reading = Reading((0.0, 0.0, 0.0))
        self.move(position, rotation)

    def move(self, position: ArrayLike, rotation: Sequence[float] | None = None, buttons: int = 0) -> None:
        """Puts the device somewhere [m], and turns it (quaternion w, x, y, z) if a rotation is given."""
        x = place(position, "position")
        turned = self._reading.rotation if rotation is None else unit_quaternion(rotation)
        self._reading = Reading(x, turned, integer(buttons, 0, "buttons"))

    def read(self) -> Reading:
        return self._reading

    def write(self, force: FloatArray, torque: FloatArray) -> None:
        self.force, self.torque = force.copy(), torque.copy()


def place(value: ArrayLike, what: str) -> tuple[float, float, float]:
    """Three finite numbers [m]; refuses anything else."""
    x = numbers(value, (3,), what, "a device")
    if not np.isfinite(x).all():
        raise StateError(f"{what} must be three finite numbers [m], not {shown(value)}.")
    a, b, c = x.tolist()
    return (a, b, c)


def unit_quaternion(rotation: ArrayLike) -> tuple[float, float, float, float]:
    """A rotation as unit quaternion; refuses what cannot be one."""
    q = numbers(rotation, (4,), "rotation", "a quaternion w, x, y, z")
    size = float(np.abs(q).max()) if np.isfinite(q).all() else 0.0
    if not size > 0.0:
        raise StateError(f"rotation must be a quaternion w, x, y, z, not {shown(rotation)}.")
    q = q / size  # so that no square is too large or too small
    w, x, y, z = (q / float(np.sqrt(q @ q))).tolist()
    return (w, x, y, z)
