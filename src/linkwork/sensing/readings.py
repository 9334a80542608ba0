"""What each kind of sensor reads at a moment, exactly; noise comes later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.remembered import remembered
from linkwork.errors import ModelError, StateError
from linkwork.model.layout import INERTIA, POSITION, ROTATION
from linkwork.model.model import Frame, Model
from linkwork.model.rerooting.reversal import flipped_coordinates, flipped_velocity
from linkwork.model.sensors import (
    Effort,
    Encoder,
    ForceTorque,
    Imu,
    JointSensor,
    Orientation,
    Position,
    Range,
    Sensor,
    Touch,
    Velocity,
)
from linkwork.sensing.moment import Moment
from linkwork.sensing.rays import RayCaster
from linkwork.spatial.pose import Pose
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
    carried = model.joint(sensor.on)
    body = int(model.parent[carried]) if sensor.reversed else carried
    if model.loops:
        raise StateError(
            f"sensor '{sensor.name}': force and torque at a joint are for trees; model '{model.name}' has loops."
        )
    if getattr(sim, "field", None) is not None or not hasattr(sim, "view"):
        raise StateError(f"sensor '{sensor.name}': the forces on bodies are not known in this simulation.")
    frame = model.frame(sensor.at) if sensor.at else Frame(body, Pose())
    if frame.body != body:
        raise ModelError(
            f"sensor '{sensor.name}' reads at '{sensor.at}', which is not on the body that joint '{sensor.on}' carries."
        )

    def read(moment: Moment) -> FloatArray:
        R, p = moment.before.frame(frame)
        turn, origin = moment.before.frame(Frame(carried, Pose()))
        torque, force = turn @ moment.reactions[carried, :3], turn @ moment.reactions[carried, 3:]
        wrench = np.concatenate([R.T @ (torque + np.cross(origin - p, force)), R.T @ force])
        return -wrench if sensor.reversed else wrench

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
        position, velocity = moment.now.state.q[q], moment.now.state.v[v]
        if sensor.reversed:
            position, velocity = _other_side(sensor, model, position, velocity)
        if step > 0.0:
            position = step * np.round(position / step)
        return np.concatenate([position, velocity])

    return read


def _effort(sensor: Effort, model: Model, sim: Any) -> Reading:
    rows, q = model.v_slice(sensor.on), model.q_slice(sensor.on)
    if not hasattr(sim, "applied_effort"):
        raise StateError(f"sensor '{sensor.name}': efforts on joints are not known in this simulation.")

    def read(moment: Moment) -> FloatArray:
        effort = moment.effort[rows]
        if not sensor.reversed:
            return effort
        place = moment.before.state.q[q]  # power is the same from either side: τᵀ v = τ'ᵀ v'
        turned = np.array([_other_side(sensor, model, place, unit)[1] for unit in np.eye(effort.size)])
        return np.asarray(np.linalg.solve(turned, effort))

    return read


def _other_side(sensor: JointSensor, model: Model, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coordinates and velocities of a sensor's joint, seen as if it carried its parent."""
    i = model.joint(sensor.on)
    joint = model.joints[i]
    if joint.screws:  # also for one of several that were merged
        return -q[::-1], -v[::-1]
    R, p = model.arrays.body[i, ROTATION:POSITION].tolist(), model.arrays.body[i, POSITION:INERTIA].tolist()
    placement = Pose.raw(tuple(R), tuple(p))
    return flipped_coordinates(joint, placement, q), flipped_velocity(joint, placement, q, v)
