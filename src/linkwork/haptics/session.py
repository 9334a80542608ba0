"""A session: a simulation, the hands on it, and the loops that run them.

Simulation → coupling: a snapshot of how the bodies held respond. Coupling → simulation: what the hands do, as loads on
those bodies. Device ↔ coupling: poses and forces. All of it goes through mailboxes (`seqlock`), so that no loop waits
for another. The loops run on threads by the clock (`start`), or one after the other in virtual time (`run`), with the
same tick.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import positive, shown
from linkwork.core.messages.describe import described
from linkwork.core.uncopied import Uncopied
from linkwork.errors import StateError
from linkwork.haptics import virtual
from linkwork.haptics.clock import now_ns
from linkwork.haptics.devices.device import Device
from linkwork.haptics.grasp import CouplingSettings, Grasp, default_limits
from linkwork.haptics.loops import Loops
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.sharing.memory import Output, new_memory, publish_snapshot
from linkwork.haptics.snapshot.builder import SnapshotBuilder
from linkwork.haptics.snapshot.grasp_set import GraspSet
from linkwork.haptics.snapshot.sources import source_of
from linkwork.haptics.statistics import LoopStatistics
from linkwork.haptics.tick.coupling import couple_once
from linkwork.haptics.tick.device_io import DeviceIO
from linkwork.haptics.tick.scratch import SCRATCH
from linkwork.haptics.trace import Trace
from linkwork.simulation.base import LinkageSimulation
from linkwork.spatial.rotations import matrix_quaternion, quaternion_conjugate, quaternion_multiply

Advance = Callable[[float, int], None]
SLOWEST, FASTEST = 1e-3, 1e6  # [1/s] of a loop

_sessions: weakref.WeakKeyDictionary[LinkageSimulation, Session] = weakref.WeakKeyDictionary()


def session_of(sim: LinkageSimulation) -> Session:
    """The session of a simulation; made when first asked for."""
    if not isinstance(sim, LinkageSimulation):
        source_of(sim)  # says what can be held
    if sim not in _sessions:
        _sessions[sim] = Session(sim)
    return _sessions[sim]


def session_on(sim: LinkageSimulation) -> Session | None:
    """The session of a simulation, if there is one."""
    return _sessions.get(sim)


@described
class Session(Uncopied):
    """All hands on one simulation. Step the simulation through it while hands hold bodies: `step`, `run` or `start`."""

    def __init__(self, sim: LinkageSimulation):
        self._builder = SnapshotBuilder(sim)
        self._sim = weakref.ref(sim)
        self.memory = new_memory()
        self.grasps: list[Grasp] = []
        self._device_io: dict[int, DeviceIO] = {}
        self._numbers = 0
        self.lock = threading.RLock()  # held during steps and changes of grasps; the coupling loop never takes it
        self.is_in_run = False  # in virtual time
        self.virtual_time: int | None = None  # [ns] time of `run`
        self.scratch = np.zeros(SCRATCH)
        self._message = np.zeros(at.SNAPSHOT_WORDS)
        self._hold = 0.0  # [s] for which the simulation holds a force
        self._loops: Loops | None = None
        self._last_statistics: list[LoopStatistics] = []
        self._arrange()

    @property
    def sim(self) -> LinkageSimulation:
        sim = self._sim()
        if sim is None:
            raise StateError("the simulation of this session is gone.")
        return sim

    def now(self) -> int:
        """Time [ns] by which snapshots, readings and forces are stamped."""
        return now_ns() if self.virtual_time is None else self.virtual_time

    def clock(self) -> float:
        """The same in seconds: what devices that move by themselves follow."""
        return self.now() * 1e-9

    # ------------------------------------------------------------------------------------------------------------- grasps

    def grasp(
        self,
        body: str | int,
        device: Device,
        point: ArrayLike = (0.0, 0.0, 0.0),
        settings: CouplingSettings | None = None,
        align: bool = True,
    ) -> Grasp:
        """A hand takes hold of a point of a body; see `linkwork.haptics.grasp`."""
        if not isinstance(align, bool | np.bool_):
            raise StateError(f"align is {shown(align)}; it must be True or False.")
        if not isinstance(device, Device):
            raise StateError(f"a device has methods read and write; {type(device).__name__} has not.")
        with self.lock:
            free = sorted(set(range(_MOST_GRASPS)) - {grasp.slot for grasp in self.grasps})
            if not free:
                raise StateError(f"{_MOST_GRASPS} hands hold this linkage already; release one first.")
            if hasattr(device, "follow"):
                device.follow(self.clock)
            load = self.sim.apply_wrenches([body], np.zeros((1, 6)), frame="world", at=point)
            self._numbers += 1
            settings = settings or CouplingSettings(**default_limits(self.sim.units))
            grasp = Grasp(self, free[0], self._numbers, load, device, settings)
            try:
                self._device_io[grasp.slot] = DeviceIO(device, grasp.slot)
                reading = self._device_io[grasp.slot].read(self.memory, self.now())
                self.grasps.append(grasp)
                self._arrange()
                self._build_snapshot()
            except Exception:
                self._forget(grasp)
                raise
            if align:
                k = self.grasps.index(grasp)
                assert self.grasp_set is not None
                q = matrix_quaternion(tuple(self.grasp_set.ports.pose[k, :9].tolist()))
                grasp.origin[:] = self._message[_record(k)][_POINT]
                grasp.device_origin[:] = reading.position
                grasp.turn[:] = quaternion_multiply(quaternion_conjugate(np.array(reading.rotation).tolist()), q)
            self._send()
        return grasp

    def release(self, grasp: Grasp) -> None:
        """A hand lets go. Cost: O(log n)."""
        with self.lock:
            if not any(grasp is one for one in self.grasps):
                raise StateError("this hand holds nothing any more.")
            device_io = self._device_io[grasp.slot]
            self._forget(grasp)
            self.publish()
            device_io.device.write(np.zeros(3), np.zeros(3))

    def _forget(self, grasp: Grasp) -> None:
        if grasp in self.grasps:
            self.grasps.remove(grasp)
        grasp.is_held = False
        self._device_io.pop(grasp.slot, None)
        with contextlib.suppress(StateError):  # all loads were cleared meanwhile
            self.sim.clear(grasp.load)
        self._arrange()

    def _change(self, grasp: Grasp, settings: CouplingSettings) -> None:
        with self.lock:
            before, grasp.settings = grasp.settings, settings
            try:
                self.publish()
            except Exception:
                grasp.settings = before
                raise

    def _arrange(self) -> None:
        """Arrays for as many hands as there are."""
        self.grasp_set: GraspSet | None = None
        if self.grasps:
            index = np.array([grasp.body for grasp in self.grasps], dtype=np.int64)
            points = np.array([grasp.at for grasp in self.grasps])
            self.grasp_set = self._builder.hold(index, points, self._message)

    # ----------------------------------------------------------------------------------------------- the simulation's side

    def take_forces(self) -> None:
        """What the hands do becomes loads on the bodies they hold; none from a coupling loop that fell silent."""
        with self.lock:
            for grasp in self.grasps:
                output = Output(self.memory, grasp.slot)
                mine = output.integer(at.O_GRASP) == grasp.number
                fresh = self.now() - output.integer(at.O_TIME) <= grasp.settings.watchdog * 1e9
                wrench = output.wrench if mine and fresh else np.zeros(6)
                before = np.concatenate([grasp.load.torque[0], grasp.load.force[0]])
                if np.isfinite(wrench).all() and not np.array_equal(wrench, before):
                    grasp._warn_of_limits(wrench)
                    self.sim.set_wrenches(grasp.load, wrench.reshape(1, 6))

    def publish(self) -> None:
        """Hands a snapshot of the simulation's present state to the coupling loop."""
        with self.lock:
            self._build_snapshot()
            self._send()

    def _build_snapshot(self) -> None:
        if self.grasp_set is None:
            return
        for row, grasp in zip(self.grasp_set.ports.applied, self.grasps, strict=True):
            row[:3], row[3:] = grasp.load.torque[0], grasp.load.force[0]
        self._builder.build(self.grasp_set)

    def _send(self) -> None:
        message, k = self._message, len(self.grasps)
        words = message.view(np.int64)
        words[at.S_TIME], words[at.S_COUNT], message[at.S_SIM_TIME] = self.now(), k, self.sim.time
        if self.grasp_set is None:
            words[[at.S_WORDS, at.S_JUNCTIONS, at.S_ROWS, at.S_AT_ROWS]] = at.S_GRASPS, 0, 0, at.S_GRASPS
        for h, grasp in enumerate(self.grasps):
            record = message[_record(h)]
            assert self.grasp_set is not None
            grasp.settings.write(record, self._hold, self.grasp_set.ports.mobility[6 * h : 6 * h + 6])
            record.view(np.int64)[[at.R_SLOT, at.R_GRASP]] = grasp.slot, grasp.number
            record[at.R_ORIGIN : at.R_ORIGIN + 3] = grasp.origin
            record[at.R_DEVICE_ORIGIN : at.R_DEVICE_ORIGIN + 3] = grasp.device_origin
            record[at.R_TURN : at.R_TURN + 4] = grasp.turn
        publish_snapshot(self.memory, message[: int(words[at.S_WORDS])])

    @property
    def points(self) -> dict[int, FloatArray]:
        """Points held in the world [m], shape (3,), by the number of the grasp, as last published."""
        return {grasp.number: self._message[_record(h)][_POINT].copy() for h, grasp in enumerate(self.grasps)}

    def step(self, h: float, n: int = 1, advance: Advance | None = None) -> None:
        """n steps of h seconds with the forces of the hands as they are now, then a new snapshot.

        advance: what moves the simulation on; its own `advance` by default.
        """
        h, n = positive(h, "h"), virtual.steps(n)
        with self.lock:
            self.take_forces()
            (self.sim.advance if advance is None else advance)(h, n)
            self._hold = h * n
            self.publish()

    # -------------------------------------------------------------------------------------------------- the devices' side

    def read_devices(self) -> None:
        """Takes a reading of every device."""
        for grasp in tuple(self.grasps):
            device_io = self._device_io.get(grasp.slot)
            if device_io is not None:
                device_io.read(self.memory, self.now())

    def write_devices(self) -> None:
        """Gives every device its force."""
        for grasp in tuple(self.grasps):
            device_io = self._device_io.get(grasp.slot)
            if device_io is not None:
                device_io.write(self.memory, grasp.number, self.now())

    def tick(self) -> None:
        """One tick of all devices and of the coupling loop, now."""
        self.read_devices()
        couple_once(self.memory, self.scratch, self.now())
        self.write_devices()

    # ------------------------------------------------------------------------------------------------------- virtual time

    def run(self, duration: float, h: float, rate: float = 1000.0, n: int = 1, record_every: int = 1) -> Trace:
        """All loops one after the other in virtual time: the same result on every machine, as fast as it goes.

        duration [s]; h: step of the simulation [s], n steps at a time; rate: of the coupling loop and the devices [1/s].
        record_every: ticks between two rows of the trace.
        """
        return virtual.run(self, duration, h, rate, n, record_every)

    def move_on(self, h: float, n: int = 1, advance: Advance | None = None) -> None:
        """One tick of devices and coupling, then n steps of h seconds, in virtual time: for a loop that is not ours.

        advance: what moves the simulation on, as `sim.advance` does, where a scene stands around it.
        """
        virtual.move_on(self, positive(h, "h"), virtual.steps(n), advance)

    def rest(self) -> None:
        """Forces at the present state and the present places of the devices, in virtual time; nothing moves on."""
        virtual.rest(self)

    # ------------------------------------------------------------------------------------------------------- by the clock

    def start(
        self,
        h: float,
        n: int = 1,
        rate: float = 10_000.0,
        device_rate: float = 1000.0,
        sim_rate: float | None = None,
        in_process: bool = False,
        spins: bool = True,
        real_time: bool = False,
    ) -> Session:
        """Starts the loops: coupling at `rate` in a thread without the interpreter lock (or a process of its own), devices
        at `device_rate`, the simulation with n steps of h seconds at a time, `sim_rate` times per second [1/s].

        sim_rate: 1/(n h) by default: simulated time goes as the clock does.
        spins: the coupling loop busy-waits for its next tick; otherwise it sleeps, and is late by
        what the system takes to wake it.
        real_time: the coupling loop goes before all ordinary programs (Linux; needs the right to).
        Use it in a `with` block, or call `stop`.
        """
        if self._loops is not None:
            raise StateError("the loops of this session run already; stop() them first.")
        h, n = positive(h, "h"), virtual.steps(n)
        rates = {"rate": rate, "device_rate": device_rate, "sim_rate": 1.0 / (n * h) if sim_rate is None else sim_rate}
        for name, value in rates.items():
            rates[name] = positive(value, name)
            if not SLOWEST <= rates[name] <= FASTEST:
                raise StateError(f"{name} is {rates[name]:g} per second; from {SLOWEST:g} to {FASTEST:g} can be kept.")
        self.virtual_time, self._hold = None, h * n
        self._loops = Loops(self, h, n, rates, in_process, spins, real_time)
        try:
            self._loops.start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Ends the loops; raises what ended one of them before its time."""
        if self._loops is None:
            return
        loops, self._loops = self._loops, None
        loops.stop()
        self._last_statistics = loops.statistics()
        for device_io in self._device_io.values():
            device_io.device.write(np.zeros(3), np.zeros(3))
        if loops.failure is not None:
            raise loops.failure

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.stop()
        else:
            try:
                self.stop()
            except Exception as other:
                error.add_note(f"and a haptic loop had failed: {other}")

    @property
    def is_running(self) -> bool:
        """Whether its loops run by the clock."""
        return self._loops is not None

    @property
    def owns_time(self) -> bool:
        """Whether it steps the simulation: from `start` to `stop`, or in `run`. Then nobody else does."""
        return self.is_running or self.is_in_run

    @property
    def memory_file(self) -> Path | None:
        """The file that other processes map while the coupling loop is a process of its own."""
        return None if self._loops is None else self._loops.file

    def statistics(self) -> list[LoopStatistics]:
        """Of the loops that run by the clock, or ran last: coupling, simulation, devices."""
        return self._last_statistics if self._loops is None else self._loops.statistics()


_MOST_GRASPS = at.GRASPS
_POINT = slice(at.R_POINT, at.R_POINT + 3)


def _record(h: int) -> slice:
    return slice(at.S_GRASPS + h * at.RECORD, at.S_GRASPS + (h + 1) * at.RECORD)


def grasp(
    sim: LinkageSimulation,
    body: str | int,
    device: Device,
    at: ArrayLike = (0.0, 0.0, 0.0),
    *,
    align: bool = True,
    **settings: Any,
) -> Grasp:
    """A hand takes hold of a point of a body of a simulation, through a device.

    body: name (also of a frame welded to a body) or index; at: the point, in its frame [m].
    device: anything with read() and write(force, torque); see `linkwork.haptics.devices`.
    settings: of the coupling (`CouplingSettings`): stiffness, damping, torque, torque_damping, force_limit, torque_limit,
    length_scale, force_scale, watchdog, fade, feel.
    align: where the device is now belongs to where the body is now, so that a grasp begins without a force; otherwise the
    device's origin is the world's, and its axes are the world's.
    Several hands may hold the same body or others. Cost: O(log n), at any time.
    """
    unknown = [name for name in settings if name not in CouplingSettings.__dataclass_fields__]
    if unknown:
        names = ", ".join(CouplingSettings.__dataclass_fields__)
        raise StateError(f"a grasp has no {', '.join(unknown)}; it has {names}.")
    session = session_of(sim)
    return session.grasp(body, device, at, CouplingSettings(**{**default_limits(sim.units), **settings}), align)
