"""Sensors as people describe them: what each measures, where, how often, how noisy and how late. Pure description.

What they read in a simulation is worked out in `linkwork.sensing`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from linkwork.core.checks import float_or_nan, shown
from linkwork.core.messages.describe import tabled
from linkwork.core.messages.names import did_you_mean
from linkwork.errors import ModelError
from linkwork.spatial.pose import Vector3

XYZ = ("x", "y", "z")
AXES = ("world", "frame")
FAR = 1e3  # [m] how far a ray reaches by default


@tabled
@dataclass(frozen=True, slots=True)
class Sensor:
    """A sensor. One of the kinds in `lw.sensors`.

    name: of the sensor. on: the body, frame or joint it sits on.
    noise: standard deviation of what is added to each number of a reading, in its unit; one number, or one for each.
    latency: time until a reading is known [s]. every: steps from one reading to the next.
    only: the one quantity that is read of several, by the name of its channels, such as "gyro" of an Imu; "" reads all.
    """

    KIND: ClassVar[str] = ""  # in scenes
    ON_JOINT: ClassVar[bool] = False

    name: str
    on: str
    noise: float | tuple[float, ...] = field(default=0.0, kw_only=True)
    latency: float = field(default=0.0, kw_only=True)
    every: int = field(default=1, kw_only=True)
    only: str = field(default="", kw_only=True)
    source: str = field(default="", kw_only=True)  # "file:line" when a file brought it

    def channels(self, nq: int, nv: int) -> tuple[tuple[str, str], ...]:
        """Name and unit of each number of a reading. nq, nv: coordinates and velocities of its joint, if it sits on one."""
        raise NotImplementedError

    def faults(self) -> list[str]:
        """Why this is not a sensor; empty when it is."""
        found = []
        for what in ("name", "on"):
            if not isinstance(getattr(self, what), str) or not getattr(self, what):
                found.append(f"{what} is {shown(getattr(self, what))}; it must be a text")
        levels = self.noise if isinstance(self.noise, tuple | list) else (self.noise,)
        if not all(0.0 <= float_or_nan(level) < math.inf for level in levels):
            found.append(f"noise is {shown(self.noise)}; it must be finite numbers ≥ 0")
        if not 0.0 <= float_or_nan(self.latency) < math.inf:
            found.append(f"latency is {shown(self.latency)}; it must be a finite number ≥ 0 [s]")
        known = list(dict.fromkeys(quantity(channel) for channel, _ in self.channels(1, 1)))
        if self.only not in ("", *known):
            found.append(f"only is {shown(self.only)}; it must be one of {', '.join(known)}")
        if isinstance(self.every, bool) or not isinstance(self.every, int) or self.every < 1:
            found.append(f"every is {shown(self.every)}; it must be a whole number ≥ 1 [steps]")
        return found

    def moved_to(self, name: str, on: str, renamed: Callable[[str], str] = str) -> Sensor:
        """The same sensor under another name, on something else. renamed: of other bodies and frames that it names."""
        return replace(self, name=name, on=on)


@dataclass(frozen=True, slots=True)
class JointSensor(Sensor):
    """A sensor on a joint.

    reversed: read the joint from its other side, as if it carried its parent; `lw.reroot` sets it where it turns a joint.
    """

    ON_JOINT: ClassVar[bool] = True

    reversed: bool = field(default=False, kw_only=True)

    def faults(self) -> list[str]:
        found = Sensor.faults(self)
        if not isinstance(self.reversed, bool):
            found.append(f"reversed is {shown(self.reversed)}; it must be True or False")
        return found


def quantity(channel: str) -> str:
    """What a channel is one of the numbers of: "gyro" of "gyro.x"."""
    return channel.split(".")[0]


def _three(what: str, unit: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"{what}.{axis}", unit) for axis in XYZ)


@dataclass(frozen=True, slots=True)
class Position(Sensor):
    """Where the origin of a body or frame is in the world: x, y, z [m]."""

    KIND: ClassVar[str] = "position"

    def channels(self, nq: int, nv: int) -> tuple[tuple[str, str], ...]:
        return _three("position", "m")


@dataclass(frozen=True, slots=True)
class Orientation(Sensor):
    """How a body or frame is turned in the world: a unit quaternion w, x, y, z with w ≥ 0.

    Noise turns it by a random rotation vector with this standard deviation per axis [rad].
    """

    KIND: ClassVar[str] = "orientation"

    def channels(self, nq: int, nv: int) -> tuple[tuple[str, str], ...]:
        return tuple((f"orientation.{axis}", "1") for axis in ("w", *XYZ))


@dataclass(frozen=True, slots=True)
class Velocity(Sensor):
    """Angular velocity [rad/s] of a body or frame, then the velocity of its origin [m/s], against the world.

    axes: that the numbers refer to, those of the "world" or of the "frame" itself.
    """

    KIND: ClassVar[str] = "velocity"
    axes: str = "world"

    def channels(self, nq: int, nv: int) -> tuple[tuple[str, str], ...]:
        return _three("angular", "rad/s") + _three("linear", "m/s")

    def faults(self) -> list[str]:
        found = Sensor.faults(self)
        if self.axes not in AXES:
            found.append(f"axes is {shown(self.axes)}; it must be 'world' or 'frame'")
        return found


@dataclass(frozen=True, slots=True)
class Imu(Sensor):
    """Gyroscope and accelerometer in the axes of a body or frame: angular velocity [rad/s], then specific force [m/s²].

    Specific force is acceleration less that of free fall: at rest on the ground it points up, with 9.81 m/s²; in free fall
    it is zero. It is the mean over the step before the reading, so a bounce within the step counts.
    """

    KIND: ClassVar[str] = "imu"

    def channels(self, nq: int, nv: int) -> tuple[tuple[str, str], ...]:
        return _three("gyro", "rad/s") + _three("accelerometer", "m/s²")


@dataclass(frozen=True, slots=True)
class ForceTorque(JointSensor):
    """What a joint passes to the body it carries: torque [N·m], then force [N], in the body's frame at its origin.

    Constraint, motor, spring and damper together, with gravity, loads, contact and loops on what the joint carries.
    at: a frame on that body, in whose axes and about whose origin the numbers are instead.
    A fixed joint has a wrench of its own in models that keep it: linkage.compile(merge_fixed=False).
    """

    KIND: ClassVar[str] = "force_torque"
    at: str = ""

    def channels(self, nq: int, nv: int) -> tuple[tuple[str, str], ...]:
        return _three("torque", "N·m") + _three("force", "N")

    def faults(self) -> list[str]:
        found = JointSensor.faults(self)
        if not isinstance(self.at, str):
            found.append(f"at is {shown(self.at)}; it must be the name of a frame")
        return found

    def moved_to(self, name: str, on: str, renamed: Callable[[str], str] = str) -> Sensor:
        return replace(self, name=name, on=on, at=renamed(self.at) if self.at else "")


@dataclass(frozen=True, slots=True)
class Touch(Sensor):
    """The sum of all contact forces on a body [N], in the world, then the sum of what presses along the normals [N].

    Forces of the last step; the second sum counts a body that is squeezed, where the first is zero.
    """

    KIND: ClassVar[str] = "touch"

    def channels(self, nq: int, nv: int) -> tuple[tuple[str, str], ...]:
        return (*_three("force", "N"), ("pressing", "N"))


@dataclass(frozen=True, slots=True)
class Range(Sensor):
    """Distance along a ray from the origin of a body or frame to the first shape it meets [m].

    direction: of the ray, in the frame. reach: how far it looks [m]; that is what it reads where it meets nothing.
    Shapes of its own body are not seen, nor those that are only for display.
    """

    KIND: ClassVar[str] = "range"
    direction: Vector3 = (1.0, 0.0, 0.0)
    reach: float = FAR

    def channels(self, nq: int, nv: int) -> tuple[tuple[str, str], ...]:
        return (("distance", "m"),)

    def faults(self) -> list[str]:
        found = Sensor.faults(self)
        try:
            size = (
                math.sqrt(sum(float_or_nan(x) ** 2 for x in self.direction)) if len(self.direction) == 3 else math.nan
            )
        except TypeError:
            size = math.nan
        if not 0.0 < size < math.inf:
            found.append(f"direction is {shown(self.direction)}; it must be three finite numbers, not all zero")
        if not 0.0 < float_or_nan(self.reach) < math.inf:
            found.append(f"reach is {shown(self.reach)}; it must be a finite number > 0 [m]")
        return found


@dataclass(frozen=True, slots=True)
class Encoder(JointSensor):
    """Coordinates of a joint [rad or m], then its velocities [rad/s or m/s].

    resolution: coordinates are read as multiples of it [rad or m]; 0 reads them exactly.
    """

    KIND: ClassVar[str] = "encoder"
    resolution: float = 0.0

    def channels(self, nq: int, nv: int) -> tuple[tuple[str, str], ...]:
        positions = tuple((_numbered("position", k, nq), "rad or m") for k in range(nq))
        return positions + tuple((_numbered("velocity", k, nv), "rad/s or m/s") for k in range(nv))

    def faults(self) -> list[str]:
        found = JointSensor.faults(self)
        if not 0.0 <= float_or_nan(self.resolution) < math.inf:
            found.append(f"resolution is {shown(self.resolution)}; it must be a finite number ≥ 0 [rad or m]")
        return found


@dataclass(frozen=True, slots=True)
class Effort(JointSensor):
    """All that acted on a joint along its motion in the last step [N·m or N]: given, motor, spring, damper, limits."""

    KIND: ClassVar[str] = "effort"

    def channels(self, nq: int, nv: int) -> tuple[tuple[str, str], ...]:
        return tuple((_numbered("effort", k, nv), "N·m or N") for k in range(nv))


def _numbered(what: str, k: int, count: int) -> str:
    return what if count == 1 else f"{what}.{k}"


KINDS: dict[str, type[Sensor]] = {
    kind.KIND: kind for kind in (Position, Orientation, Velocity, Imu, ForceTorque, Touch, Range, Encoder, Effort)
}


def sensor_faults(
    sensors: Iterable[Sensor], bodies: Collection[str], joints: Iterable[str], merged: str = ""
) -> list[str]:
    """Why sensors of a linkage cannot be read; empty when they can. merged: what may have become of a joint."""
    faults: list[str] = []
    seen: set[str] = set()
    known = set(joints)
    for sensor in sensors:
        if not isinstance(sensor, Sensor) or type(sensor) not in KINDS.values():
            faults.append(
                f"a sensor must be one of lw.sensors, such as lw.sensors.Imu('imu', 'hand'), not {shown(sensor)}"
            )
            continue
        label = f"{sensor.source}: sensor '{sensor.name}'" if sensor.source else f"sensor '{sensor.name}'"
        own = sensor.faults()
        faults += [f"{label}: {fault}" for fault in own]
        if own:
            continue
        if sensor.name in seen:
            faults.append(f"{label}: the name is used twice; names of sensors must be unique")
        seen.add(sensor.name)
        if sensor.ON_JOINT and sensor.on not in known:
            faults.append(f"{label} sits on the unknown joint '{sensor.on}'{did_you_mean(sensor.on, known) or merged}")
        if isinstance(sensor, ForceTorque) and sensor.at and sensor.at not in bodies:
            faults.append(f"{label} reads at the unknown body or frame '{sensor.at}'{did_you_mean(sensor.at, bodies)}")
        if not sensor.ON_JOINT and sensor.on not in bodies:
            faults.append(f"{label} sits on the unknown body or frame '{sensor.on}'{did_you_mean(sensor.on, bodies)}")
    return faults


def refuse_faulty(sensors: Iterable[Sensor], bodies: Collection[str], joints: Iterable[str]) -> None:
    merged = "; fixed joints are merged into their parents unless linkage.compile(merge_fixed=False) keeps them"
    faults = sensor_faults(sensors, bodies, joints, merged)
    if faults:
        raise ModelError(f"{len(faults)} fault{'s' if len(faults) > 1 else ''} of sensors:", faults)
