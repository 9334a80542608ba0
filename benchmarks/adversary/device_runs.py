"""Devices that say what nobody means, datagrams from anywhere, sessions with odd settings, and DeviceModels."""

from __future__ import annotations

import random
import socket
import struct
from functools import cache
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.haptics.devices.udp import MAGIC, POSE

from .values import NUMBERS, odd_value

LONGEST = 0.02  # [s] of a run
PARTS = ("position", "rotation", "buttons")
RUN = {"duration": LONGEST, "h": 1e-3, "rate": 1000.0, "n": 1, "record_every": 1}
SETTINGS = ("stiffness", "damping", "torque", "torque_damping", "force_limit", "torque_limit", "length_scale",
            "force_scale", "watchdog", "fade", "feel", "passive", "allowance", "implicit")  # fmt: skip


@cache
def model() -> lw.Model:
    return lw.library.chain(6).compile()


class OddDevice:
    """Reads well for a while, then once something else, then well again."""

    def __init__(self, rng: random.Random):
        self._left, self._rng, self.written = rng.randrange(12), rng, []  # type: ignore[var-annotated]

    def read(self) -> Any:
        self._left -= 1
        parts: dict[str, Any] = {"position": (0.0, 0.01, 0.0), "rotation": (1.0, 0.0, 0.0, 0.0), "buttons": 0}
        if self._left == 0:
            if self._rng.random() < 0.2:
                return odd_value(self._rng)
            parts[self._rng.choice(PARTS)] = odd_value(self._rng)
        return lw.haptics.Reading(**parts)

    def write(self, force: Any, torque: Any) -> None:
        self.written.append(np.concatenate([force, torque]))


def simulation(rng: random.Random) -> Any:
    state = model().random_state(rng.randrange(100), speed=0.1)
    kind = rng.randrange(3)
    if kind == 0:
        return lw.FullDynamics(model(), state)
    if kind == 1:
        return lw.AdaptiveDynamics(model(), state, max_active_joints=3)
    return lw.QuasiStatics(model(), model().neutral(), tolerance=1e-3)


def held_by_a_hand(rng: random.Random) -> Any:
    """A session with a device that says odd things, or with odd settings: coordinates and forces at its end."""
    sim, device = simulation(rng), OddDevice(rng)
    settings = {rng.choice(SETTINGS): odd_value(rng)} if rng.random() < 0.4 else {}
    grasp = lw.haptics.grasp(sim, rng.randrange(6), device, **settings)
    session = lw.haptics.session_of(sim)
    arguments = dict(RUN)
    if rng.random() < 0.4:
        name = rng.choice(sorted(arguments))
        value = odd_value(rng)
        # A long run takes its time rightly: what is long is left to the other arguments.
        if name not in ("duration", "rate") or not isinstance(value, int | float) or not 1.0 < float_of(value) < 1e9:
            arguments[name] = value
    try:
        session.run(**arguments)
        if rng.random() < 0.5:
            grasp.change(**{rng.choice(SETTINGS): odd_value(rng)})
            session.step(1e-3, 2)
    finally:  # whatever was refused: the simulation and what the hand feels stay numbers
        grasp.release()
        assert np.isfinite(sim.state.q).all()
        assert all(np.isfinite(force).all() for force in device.written)
        sim.step(1e-3, 2)
    return tuple(sim.state)


def float_of(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def datagrams(rng: random.Random) -> Any:
    """A device on the network that hears anything; where it stands, and forces that go back."""
    device = lw.haptics.UdpDevice()
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        for _ in range(rng.randrange(1, 6)):
            sender.sendto(datagram(rng), device.address)
        reading = device.read()
        sim = lw.FullDynamics(model(), model().neutral())
        grasp = lw.haptics.grasp(sim, 3, device)
        lw.haptics.session_of(sim).run(5e-3, 1e-3)
        grasp.release()
        return (*np.asarray(reading.position, dtype=float), *np.asarray(reading.rotation), *sim.state)
    finally:
        device.close()
        sender.close()


def datagram(rng: random.Random) -> bytes:
    def number() -> float:
        return min(max(float_of(rng.choice(NUMBERS)), -1e308), 1e308) if rng.random() < 0.5 else rng.gauss(0.0, 1.0)

    kind = rng.randrange(4)
    if kind == 0:
        return rng.randbytes(rng.randrange(200))
    magic = MAGIC if kind > 1 else number()
    data = POSE.pack(magic, number(), *(number() for _ in range(7)), rng.getrandbits(64))
    if kind == 2:
        at = rng.randrange(len(data))
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    return data + struct.pack("<d", 0.0) if rng.random() < 0.1 else data


@cache
def device_model() -> Any:
    from linkwork.gpu.host import HostBackend

    return lw.gpu.DeviceModel(model(), backend=HostBackend)


def on_a_device_model(rng: random.Random) -> Any:
    """A call of a DeviceModel with one argument that is not what is asked for, or numbers that overflow."""
    device, batch = device_model(), rng.choice((None, 1, 3))
    lead = () if batch is None else (batch,)
    q, v = np.zeros((*lead, model().nq)), np.full((*lead, model().nv), 0.1)
    given: dict[str, Any] = {"q": q, "v": v, "effort": None, "wrenches": None, "gravity": None, "inertias": None}
    if rng.random() < 0.5:
        given[rng.choice(sorted(given))] = odd_value(rng)
    else:
        v.reshape(-1)[rng.randrange(v.size)] = rng.choice((np.nan, np.inf, 1e308, 1e200))
    with np.errstate(all="ignore"):
        if rng.random() < 0.5:
            found = device.forward_dynamics(**given, check=True)
        else:
            device.set_state(**given)
            device.step(odd_value(rng) if rng.random() < 0.3 else rng.choice((1e-3, 1e3, 1e200)), 3)
            device.check()
            found = (device.q, device.v)
        return found


def odd_device(rng: random.Random) -> Any:
    return rng.choice((held_by_a_hand, held_by_a_hand, datagrams, on_a_device_model))(rng)
