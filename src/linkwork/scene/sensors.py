"""From the tables [[sensor]] of a scene to sensors of its simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from linkwork.model.model import Model
from linkwork.model.sensors import AXES, KINDS, Sensor, sensor_faults
from linkwork.scene.reading import checks as must_be
from linkwork.scene.reading.checks import Key, Keys
from linkwork.scene.reading.faults import Faults

SENSOR: Keys = {
    "kind": Key(must_be.choice(*KINDS), "what it measures", required=True),
    "name": Key(must_be.text, "of the sensor", required=True),
    "on": Key(must_be.text, "body, frame or joint it sits on", required=True),
    "noise": Key(must_be.numbers(0.0), "standard deviation of each number, in its unit; one, or one for each"),
    "latency": Key(must_be.number(0.0), "time until a reading is known", "s"),
    "every": Key(must_be.integer(1), "steps from one reading to the next"),
    "only": Key(must_be.text, "quantity that is read of several, such as gyro of an imu"),
    "axes": Key(must_be.choice(*AXES), "of a velocity"),
    "direction": Key(must_be.vector(3), "of the ray of a range sensor, in its frame"),
    "reach": Key(must_be.number(0.0, above=True), "how far a range sensor looks", "m"),
    "at": Key(must_be.text, "frame on the joint's body that a force_torque reads at"),
    "resolution": Key(must_be.number(0.0), "of the coordinates of an encoder", "rad or m"),
}


def find_sensors(data: Mapping[str, Any], model: Model, faults: Faults) -> tuple[Sensor, ...]:
    """The sensors of the model and of the scene."""
    found: list[Sensor] = []
    known = {*model.body_names, *model.frames, "world"}
    joints = {*model.joint_names, *model.joint_parts}
    taken = {sensor.name for sensor in model.sensors}
    for k, item in enumerate(data["sensor"]):
        path = ("sensor", k)
        if not {"kind", "name", "on"} <= set(item):
            continue  # said already
        kind = KINDS[item["kind"]]
        allowed = {field.name for field in fields(kind)}
        values: dict[str, Any] = {
            name: tuple(x) if isinstance(x, list) else x for name, x in item.items() if name != "kind"
        }
        strange = sorted(set(values) - allowed)
        for name in strange:
            faults.add((*path, name), f"a sensor of kind '{item['kind']}' has no '{name}'; leave it out.")
        if strange:
            continue
        sensor = kind(**values)
        for fault in sensor_faults([sensor], known, joints):
            faults.add(path, fault + ".")
        if sensor.name in taken:
            faults.add((*path, "name"), f"there is a sensor '{sensor.name}' already; choose another name.")
        taken.add(sensor.name)
        found.append(sensor)
    return (*model.sensors, *found)
