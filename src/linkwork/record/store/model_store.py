"""A compiled model in a recording: its tables as arrays, its names, joints, frames, shapes and loops as JSON.

Joints and shapes are made again field by field, past their constructors: normalizing an axis a second time may change its
last bit, and a recording gives back exactly what was put in.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import frozen
from linkwork.errors import FormatError
from linkwork.model import joints as joint_kinds
from linkwork.model import shapes as shape_kinds
from linkwork.model.actuators import Actuator
from linkwork.model.couplings import Coupling
from linkwork.model.friction import Friction
from linkwork.model.joint_base import OPTIONS, Joint, Screw3
from linkwork.model.loops import LoopClosure
from linkwork.model.model import Frame, Model, ModelArrays
from linkwork.model.rods.ends import RodEnd, RodOn
from linkwork.model.sensors import KINDS as SENSOR_KINDS
from linkwork.model.sensors import Sensor
from linkwork.model.shapes import Shape
from linkwork.record.store.checksums import array_sum
from linkwork.record.store.container import read_rows, write_array
from linkwork.spatial.pose import Pose

UNITS = {
    "tree": "index",
    "body": "SI, by column: rotation, m; kg, kg·m, kg·m²; screw (rotation, m, m)",
    "screws": "SI, by column: rotation, m, m",
    "dof": "N·m·s or N·s/m, N·m/rad or N/m, kg·m² or kg",
    "rest": "rad or m",
    "gravity": "m/s²",
    "limits": "rad or m (lower, upper), N·m or N, rad/s or m/s",
    "rank": "index",
}
JOINT_KINDS = {
    kind.__name__: kind
    for kind in (
        joint_kinds.Revolute,
        joint_kinds.Prismatic,
        joint_kinds.Screw,
        joint_kinds.Cylindrical,
        joint_kinds.Universal,
        joint_kinds.Planar,
        joint_kinds.Spherical,
        joint_kinds.Free,
        joint_kinds.Fixed,
        joint_kinds.Compound,
    )
}
SHAPE_KINDS = {
    kind.__name__: kind
    for kind in (
        shape_kinds.Box,
        shape_kinds.Sphere,
        shape_kinds.Capsule,
        shape_kinds.Cylinder,
        shape_kinds.Mesh,
        shape_kinds.Plane,
        shape_kinds.HeightField,
    )
}


def write_model(group: Any, model: Model) -> dict[str, int]:
    """Puts a model into an empty group. Returns the checksum of every array, by name."""
    limits = np.stack([model.lower, model.upper, model.effort_limit, model.velocity_limit], axis=1)
    tables = {**model.arrays._asdict(), "limits": limits}
    if model.rank is not None:
        tables["rank"] = model.rank
    for name, values in tables.items():
        write_array(group, name, values, UNITS[name])
    text = json.dumps(_description(model), default=_plain).encode()
    tables["description"] = np.frombuffer(text, dtype=np.uint8)
    write_array(group, "description", tables["description"], "JSON, UTF-8")
    return {name: array_sum(values) for name, values in tables.items()}


def read_model(group: Any, read: Callable[[str], NDArray[Any]] | None = None) -> Model:
    """The model of a recording, equal to the one that was written in every number.

    read: reads an array of the group by name; by default without looking at checksums.
    """
    read = read or (lambda name: read_rows(group[name]))
    tables = {name: _frozen(read(name)) for name in (*ModelArrays._fields, "limits")}
    text = json.loads(read("description").tobytes().decode())
    limits = tables.pop("limits")
    rank = _frozen(read("rank")) if "rank" in group else None
    return Model(
        name=text["name"],
        arrays=ModelArrays(**tables),
        body_names=tuple(text["body_names"]),
        joint_names=tuple(text["joint_names"]),
        joints=tuple(_joint(item) for item in text["joints"]),
        frames={name: Frame(body, _pose(pose)) for name, body, pose in text["frames"]},
        shapes=tuple((body, _shape(item)) for body, item in text["shapes"]),
        lower=limits[:, 0],
        upper=limits[:, 1],
        effort_limit=limits[:, 2],
        velocity_limit=limits[:, 3],
        warnings=tuple(text["warnings"]),
        merged_into=dict(text["merged_into"]),
        joint_parts={name: tuple(part) for name, part in text["joint_parts"].items()},
        loops=tuple(
            LoopClosure(name, _joint(joint), a, b, _pose(at_a), _pose(at_b))
            for name, joint, a, b, at_a, at_b in text["loops"]
        ),
        rank=rank,
        units=text["units"],
        obstacles=tuple((name, _shape(item)) for name, item in text["obstacles"]),
        ignore_contact=tuple((a, b) for a, b in text["ignore_contact"]),
        sensors=tuple(_sensor(item) for item in text["sensors"]),
        actuators=tuple(Actuator(**_values(item)) for item in text["actuators"]),
        couplings=tuple(Coupling(**_values(item)) for item in text["couplings"]),
        rods=tuple(_rod(item) for item in text["rods"]),
    )


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    values = np.ascontiguousarray(values)
    frozen(values)
    return values


def _description(model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "units": model.units,
        "body_names": model.body_names,
        "joint_names": model.joint_names,
        "joints": [_joint_fields(joint) for joint in model.joints],
        "frames": [[name, frame.body, _pose_numbers(frame.pose)] for name, frame in model.frames.items()],
        "shapes": [[body, _shape_fields(shape)] for body, shape in model.shapes],
        "obstacles": [[name, _shape_fields(shape)] for name, shape in model.obstacles],
        "ignore_contact": model.ignore_contact,
        "sensors": [{"kind": sensor.KIND, **_named(sensor)} for sensor in model.sensors],
        "actuators": [_named(actuator) for actuator in model.actuators],
        "couplings": [_named(coupling) for coupling in model.couplings],
        "rods": [_rod_fields(rod) for rod in model.rods],
        "warnings": model.warnings,
        "merged_into": model.merged_into,
        "joint_parts": model.joint_parts,
        "loops": [
            [
                loop.name,
                _joint_fields(loop.joint),
                loop.body_a,
                loop.body_b,
                _pose_numbers(loop.placement_a),
                _pose_numbers(loop.placement_b),
            ]
            for loop in model.loops
        ],
    }


def _plain(value: Any) -> Any:
    """What JSON does not have by itself: arrays and numbers of NumPy."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise FormatError(f"a recording cannot hold {value!r} as a part of a model.")


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return (*OPTIONS, "parts") if kind is joint_kinds.Compound else tuple(field.name for field in fields(kind))


def _joint_fields(joint: Joint) -> dict[str, Any]:
    kind = type(joint)
    if JOINT_KINDS.get(kind.__name__) is not kind:
        raise FormatError(f"a recording cannot hold a joint of kind {kind.__name__}.")
    values = {name: getattr(joint, name) for name in _field_names(kind)}
    return {"kind": kind.__name__, **{name: value for name, value in values.items() if value is not None}}


def _joint(item: dict[str, Any]) -> Joint:
    kind = JOINT_KINDS[item["kind"]]
    joint = kind.__new__(kind)
    for name in _field_names(kind):
        value = _tuples(item.get(name))
        if name == "parts":
            value = tuple(Screw3(*screw) for screw in value)
        object.__setattr__(joint, name, value)
    return joint


def _named(described: Sensor | Actuator | Coupling | Shape) -> dict[str, Any]:
    return {field.name: getattr(described, field.name) for field in fields(described)}


def _values(item: dict[str, Any]) -> dict[str, Any]:
    return {name: _tuples(value) for name, value in item.items()}


def _sensor(item: dict[str, Any]) -> Sensor:
    values = _values(item)
    return SENSOR_KINDS[values.pop("kind")](**values)


def _rod_fields(rod: RodOn) -> dict[str, Any]:
    ends = {name: [end.body, _pose_numbers(end.frame), end.mass, end.length] for name, end in _ends(rod)}
    return {**{field.name: getattr(rod, field.name) for field in fields(rod)}, **ends}


def _ends(rod: RodOn) -> tuple[tuple[str, RodEnd], ...]:
    return ("start", rod.start), ("end", rod.end)


def _rod(item: dict[str, Any]) -> RodOn:
    values = dict(item)
    for name in ("start", "end"):
        body, pose, mass, length = values[name]
        values[name] = RodEnd(body, _pose(pose), mass, length)
    for name in ("s", "spacing", "curvature"):
        values[name] = _frozen(np.array(values[name], dtype=float))
    values["bodies"] = tuple(values["bodies"])
    return RodOn(**values)


def _pose_numbers(pose: Pose) -> list[Any]:
    return [pose.rotation, pose.xyz]


def _pose(item: Any) -> Pose:
    return Pose.raw(tuple(item[0]), tuple(item[1]))


def _shape_fields(shape: Shape) -> dict[str, Any]:
    kind = type(shape)
    if SHAPE_KINDS.get(kind.__name__) is not kind:
        raise FormatError(f"a recording cannot hold a shape of kind {kind.__name__}.")
    given = shape.friction
    friction = asdict(given) if isinstance(given, Friction) else given
    return {**_named(shape), "kind": kind.__name__, "placement": _pose_numbers(shape.placement), "friction": friction}


def _shape(item: dict[str, Any]) -> Shape:
    kind = SHAPE_KINDS[item["kind"]]
    shape = kind.__new__(kind)
    for name in _field_names(kind):
        value = _pose(item["placement"]) if name == "placement" else _tuples(item[name])
        object.__setattr__(shape, name, Friction(**_values(value)) if isinstance(value, dict) else value)
    return shape
