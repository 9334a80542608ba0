"""A device on the network: datagrams with poses come in, datagrams with forces go back to where they came from.

A pose is 9 float64 and one uint64, little-endian, 80 bytes: magic, sequence number, position x y z [m], quaternion w x y z,
buttons. A force is 8 float64, 64 bytes: magic, the sequence number it answers, force x y z [N], torque x y z [N·m]. Late
and repeated datagrams are dropped by their sequence number.
"""

from __future__ import annotations

import contextlib
import math
import socket
import struct

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, shown
from linkwork.core.messages.describe import described
from linkwork.errors import StateError
from linkwork.haptics.devices.device import Reading

MAGIC = 20070410.0  # both ways
LAST_PORT = 65535
POSE = struct.Struct("<2d3d4dQ")
FORCE = struct.Struct("<2d3d3d")


@described
class UdpDevice:
    """A device whose driver sends poses to a port of this machine. force, torque: last ones sent [N, N·m].

    address: to listen at, ("127.0.0.1", 0) by default: reachable from this machine only, at a free port (`address` then
    says which). Before the first pose the device is at its origin.
    """

    def __init__(self, address: tuple[str, int] = ("127.0.0.1", 0)):
        if not (isinstance(address, tuple) and len(address) == 2 and isinstance(address[0], str)):
            raise StateError(f'address must be a pair such as ("127.0.0.1", 0), not {shown(address)}.')
        if integer(address[1], 0, "the port of a device") > LAST_PORT:
            raise StateError(f"the port of a device is {address[1]}; ports go up to {LAST_PORT}.")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(address)
        except (OSError, UnicodeError) as error:  # names that no host can have
            self._socket.close()
            raise StateError(f"cannot listen for a device at {address[0]}:{address[1]}: {error}.") from error
        self._socket.setblocking(False)
        self.address: tuple[str, int] = self._socket.getsockname()
        self.force, self.torque = np.zeros(3), np.zeros(3)
        self.refused = 0  # datagrams that were not poses
        self._sequence = -math.inf
        self._peer: tuple[str, int] | None = None
        self._reading = Reading((0.0, 0.0, 0.0))

    def read(self) -> Reading:
        while True:
            try:
                data, peer = self._socket.recvfrom(2048)
            except (BlockingIOError, InterruptedError, ConnectionResetError):
                return self._reading
            self._take(data, peer)

    def _take(self, data: bytes, peer: tuple[str, int]) -> None:
        if len(data) != POSE.size:
            self.refused += 1
            return
        magic, sequence, x, y, z, qw, qx, qy, qz, buttons = POSE.unpack(data)
        size = math.sqrt(qw * qw + qx * qx + qy * qy + qz * qz)
        if magic != MAGIC or not math.isfinite(sequence + x + y + z + size) or not size > 0.0:
            self.refused += 1
        elif sequence > self._sequence:
            self._sequence, self._peer = sequence, peer
            rotation = (qw / size, qx / size, qy / size, qz / size)
            self._reading = Reading((x, y, z), rotation, buttons & (2**63 - 1))

    def write(self, force: FloatArray, torque: FloatArray) -> None:
        self.force, self.torque = force.copy(), torque.copy()
        if self._peer is not None:
            with contextlib.suppress(BlockingIOError, InterruptedError, ConnectionError):  # the next force comes soon
                self._socket.sendto(FORCE.pack(MAGIC, self._sequence, *force, *torque), self._peer)

    def close(self) -> None:
        self._socket.close()
