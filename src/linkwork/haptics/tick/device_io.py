"""Between a device and the memory that the coupling loop reads: one reading in, one force out."""

from __future__ import annotations

import math

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, shown
from linkwork.errors import StateError
from linkwork.haptics.devices.device import Device, Reading, place, unit_quaternion
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.sharing.memory import Output, publish_reading
from linkwork.spatial.rotations import quaternion_conjugate, quaternion_multiply

MOST_BUTTONS = 2**63 - 1
SMOOTHING = 1e-3  # [s] time over which velocities are averaged: devices report positions in steps
SILENCE = 0.5  # [s] without a tick of the coupling loop after which the device is given no force


class DeviceIO:
    """Carries one device's readings to the coupling loop, with velocities, and forces back."""

    def __init__(self, device: Device, slot: int):
        self.device, self.slot = device, slot
        self._message = np.zeros(at.READING_WORDS)
        self._last: tuple[int, FloatArray, FloatArray] | None = None
        self._velocity, self._turn_rate = np.zeros(3), np.zeros(3)

    def read(self, memory: FloatArray, now: int) -> Reading:
        """Takes a reading at the time `now` [ns]; returns it."""
        reading = self.device.read()
        if not all(hasattr(reading, name) for name in Reading._fields):
            raise StateError(f"read() of a device returned {shown(reading)}; it must return a Reading.")
        x = np.array(place(reading.position, "the position that a device read"))
        q = np.array(unit_quaternion(reading.rotation))
        buttons = integer(reading.buttons, 0, "the buttons that a device read")
        self._estimate(now, x, q)
        message = self._message
        message[at.D_POSITION : at.D_POSITION + 3], message[at.D_QUATERNION : at.D_QUATERNION + 4] = x, q
        message[at.D_VELOCITY : at.D_VELOCITY + 3] = self._velocity
        message[at.D_TURN_RATE : at.D_TURN_RATE + 3] = self._turn_rate
        words = message.view(np.int64)
        words[at.D_TIME], words[at.D_BUTTONS] = now, buttons & MOST_BUTTONS
        publish_reading(memory, self.slot, message)
        return reading

    def _estimate(self, now: int, x: FloatArray, q: FloatArray) -> None:
        """Velocities from the way since the last reading, averaged."""
        if self._last is not None and now > self._last[0]:
            passed = (now - self._last[0]) * 1e-9
            share = passed / (passed + SMOOTHING)
            self._velocity += share * ((x - self._last[1]) / passed - self._velocity)
            self._turn_rate += share * (rotation_vector(self._last[2], q) / passed - self._turn_rate)
        self._last = (now, x, q)

    def write(self, memory: FloatArray, number: int, now: int) -> None:
        """Gives the device the last force of its grasp; none where the coupling loop fell silent."""
        output = Output(memory, self.slot)
        mine = output.integer(at.O_GRASP) == number
        felt = output.felt if mine and now - output.integer(at.O_TIME) <= SILENCE * 1e9 else np.zeros(6)
        self.device.write(felt[3:], felt[:3])


def rotation_vector(a: FloatArray, b: FloatArray) -> FloatArray:
    """The rotation [rad] that takes the rotation with quaternion a to the one with b, shape (3,)."""
    w, *xyz = quaternion_multiply(b.tolist(), quaternion_conjugate(a.tolist()))
    if w < 0.0:
        w, xyz = -w, [-value for value in xyz]
    size = math.sqrt(sum(value * value for value in xyz))
    angle = 2.0 * math.atan2(size, w)
    return np.array(xyz) * (angle / size if size > 0.0 else 2.0)
