"""What each kind of sensor reads at a moment, exactly; noise comes later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.remembered import remembered
from linkwork.errors import ModelError, StateError
from linkwork.model.model import Model
from linkwork.model.sensors import (
    Effort,
    Encoder,
    ForceTorque,
    Imu,
    Orientation,
    Position,
    Range,
    Sensor,
    Touch,
    Velocity,
)
from linkwork.sensing.moment import Moment
from linkwork.sensing.rays import RayCaster
from linkwork.spatial.rotations import matrix_quaternion

Reading = Callable[[Moment], FloatArray]


def reading_of(sensor: Sensor, model: Model, sim: Any) -> Reading:
    """A function from moments to what the sensor reads, shape (width,); refuses what the simulation does not have."""
    kinds: dict[type[Sensor], Callable[..., Reading]] = {
        Position: _position,
        Orientation: _orientation,
        Velocity: _velocity,
        Imu: _imu,
        ForceTorque: _force_torque,
        Touch: _touch,
        Range: _range,
        Encoder: _encoder,
        Effort: _effort,
    }
    return kinds[type(sensor)](sensor, model, sim)


def width_of(sensor: Sensor, model: Model) -> tuple[int, int]:
    """Coordinates and velocities of the joint it sits on; zeros for one on a body."""
    if not sensor.ON_JOINT:
        return 0, 0
    q, v = model.q_slice(sensor.on), model.v_slice(sensor.on)
    return q.stop - q.start, v.stop - v.start


def _position(sensor: Position, model: Model, sim: Any) -> Reading:
    frame = model.frame(sensor.on)
    return lambda moment: moment.now.frame(frame)[1]


def _orientation(sensor: Orientation, model: Model, sim: Any) -> Reading:
    frame = model.frame(sensor.on)

    def read(moment: Moment) -> FloatArray:
        quaternion = np.array(matrix_quaternion(tuple(moment.now.frame(frame)[0].ravel().tolist())))
        return quaternion if quaternion[0] >= 0.0 else -quaternion

    return read


def _velocity(sensor: Velocity, model: Model, sim: Any) -> Reading:
    frame = model.frame(sensor.on)

    def read(moment: Moment) -> FloatArray:
        angular, linear = moment.now.motion(frame)
        R = moment.now.frame(frame)[0] if sensor.axes == "frame" else np.eye(3)
        return np.concatenate([R.T @ angular, R.T @ linear])

    return read


def _imu(sensor: Imu, model: Model, sim: Any) -> Reading:
    frame = model.frame(sensor.on)

    def read(moment: Moment) -> FloatArray:
        R = moment.now.frame(frame)[0]
        angular, linear = moment.now.motion(frame)
        faster = (linear - moment.before.motion(frame)[1]) / moment.h
        return np.concatenate([R.T @ angular, R.T @ (faster - model.gravity)])

    return read


def _force_torque(sensor: ForceTorque, model: Model, sim: Any) -> Reading:
    body = model.joint(sensor.on)
    if model.loops:
        raise StateError(
            f"sensor '{sensor.name}': force and torque at a joint are for trees; model '{model.name}' has loops."
        )
    if getattr(sim, "field", None) is not None or not hasattr(sim, "view"):
        raise StateError(f"sensor '{sensor.name}': the forces on bodies are not known in this simulation.")
    if not sensor.at:
        return lambda moment: moment.reactions[body]
    frame = model.frame(sensor.at)
    if frame.body != body:
        raise ModelError(
            f"sensor '{sensor.name}' reads at '{sensor.at}', which is not on the body that joint '{sensor.on}' carries."
        )
    R, p = np.reshape(frame.pose.rotation, (3, 3)), np.array(frame.pose.xyz)

    def read(moment: Moment) -> FloatArray:
        torque, force = np.split(moment.reactions[body], 2)
        return np.concatenate([R.T @ (torque - np.cross(p, force)), R.T @ force])

    return read


def _touch(sensor: Touch, model: Model, sim: Any) -> Reading:
    body = model.body(sensor.on)
    if body < 0:
        raise ModelError(f"sensor '{sensor.name}' sits on '{sensor.on}', which stands in the world; choose a body.")
    if getattr(sim, "contact", None) is None:
        raise StateError(
            f"sensor '{sensor.name}' feels contact, and this simulation has none; make it with contact=lw.Contact(...)."
        )

    def read(moment: Moment) -> FloatArray:
        force, pressing = moment.touch(body)
        return np.array([*force, pressing])

    return read


def _range(sensor: Range, model: Model, sim: Any) -> Reading:
    frame = model.frame(sensor.on)
    rays = remembered(model, "rays", RayCaster)
    direction = np.array(sensor.direction, dtype=float) / np.linalg.norm(sensor.direction)
    own = frame.body if frame.body >= 0 else -2

    def read(moment: Moment) -> FloatArray:
        R, p = moment.now.frame(frame)
        return np.array([rays.cast(moment.now.poses, p, R @ direction, float(sensor.reach), own).distance])

    return read


def _encoder(sensor: Encoder, model: Model, sim: Any) -> Reading:
    q, v, step = model.q_slice(sensor.on), model.v_slice(sensor.on), float(sensor.resolution)

    def read(moment: Moment) -> FloatArray:
        position = moment.now.state.q[q]
        if step > 0.0:
            position = step * np.round(position / step)
        return np.concatenate([position, moment.now.state.v[v]])

    return read


def _effort(sensor: Effort, model: Model, sim: Any) -> Reading:
    rows = model.v_slice(sensor.on)
    if not hasattr(sim, "applied_effort"):
        raise StateError(f"sensor '{sensor.name}': efforts on joints are not known in this simulation.")
    return lambda moment: moment.effort[rows]
