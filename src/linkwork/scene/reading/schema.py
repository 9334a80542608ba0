"""What a scene file may say: every table and key, with its check, unit and meaning. docs/scenes.md says more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from linkwork.core.messages.names import did_you_mean_or_list
from linkwork.core.units import given_in, unit
from linkwork.scene.methods import METHODS
from linkwork.scene.obstacles import CONTACT, OBSTACLE
from linkwork.scene.reading import checks as must_be
from linkwork.scene.reading.checks import Key, Keys, kind_of
from linkwork.scene.reading.faults import Faults, dotted
from linkwork.scene.reading.lines import KeyPath
from linkwork.scene.sensors import SENSOR
from linkwork.scene.waters import WATER

MOST_STEPS = 10**12  # weeks of the fastest steps there are; beyond it a unit or an exponent went wrong
PICKS = ("only", "all", "first", "middle", "last")

TOP: Keys = {
    "title": Key(must_be.text, "one line for lists, bars and plots"),
    "description": Key(must_be.text, "what one sees"),
    "gravity": Key(must_be.vector(3), "acceleration of free fall; the model's own without it", "m/s²"),
}
MODEL: Keys = {
    "library": Key(must_be.text, "name of a library model"),
    "file": Key(must_be.text, "path of a model file, from the scene's folder"),
    "parameters": Key(must_be.anything, "parameters of the library model, or options of the importer", default={}),
    "floating": Key(must_be.boolean, "sets every body that hangs from the world free", default=False),
    "copies": Key(must_be.integer(1), "how many of it stand side by side", default=1),
    "spacing": Key(must_be.vector(3), "from one copy to the next", "m", default=[1.0, 0.0, 0.0]),
}
RUN: Keys = {
    "h": Key(must_be.number(0.0, above=True), "time step", "s", required=True),
    "duration": Key(must_be.number(0.0, above=True), "simulated time", "s"),
    "steps": Key(must_be.integer(1, MOST_STEPS), "how many steps, instead of a duration"),
}
STATE: Keys = {
    "kind": Key(must_be.choice("neutral", "random", "file"), "where coordinates begin", default="neutral"),
    "seed": Key(must_be.integer(0), "of the random state", default=0),
    "scale": Key(must_be.number(0.0, 1.0), "part of the distance from neutral to random", default=1.0),
    "speed": Key(must_be.number(0.0), "scale of random velocities", "rad/s or m/s", default=0.0),
    "file": Key(must_be.text, "an .npz with q and v, or a recording whose last state is taken"),
    "close_loops": Key(must_be.boolean, "brings the frames of loops together first", default=True),
    "settle": Key(
        must_be.boolean,
        "begins at the equilibrium, in the water of the scene",
        default=False,
    ),
    "q": Key(must_be.anything, "coordinates by joint name or pattern", "rad or m", default={}),
    "v": Key(must_be.anything, "velocities by joint name or pattern", "rad/s or m/s", default={}),
}
BODY: Keys = {
    "body": Key(must_be.text, "name of a body or frame, or a pattern", required=True),
    "pick": Key(must_be.choice(*PICKS), "which of the bodies a pattern stands for", default="only"),
    "neighbours": Key(must_be.integer(1), "takes this many bodies nearest to the picked one, itself included"),
    "at": Key(must_be.vector(3), "the point of the body it acts at", "m", default=[0.0, 0.0, 0.0]),
}
LOAD: Keys = {
    **BODY,
    "frame": Key(must_be.choice("world", "body"), "axes of force and torque", default="world"),
    "force": Key(must_be.anything, "three time functions, or { magnitude, seed } in random directions", "N"),
    "torque": Key(must_be.signal_vector(), "three time functions", "N·m"),
}
SPRING: Keys = {
    **BODY,
    "stiffness": Key(must_be.number(0.0, above=True), "of the spring", "N/m", required=True),
    "to": Key(must_be.signal_vector(), "the world point it pulls to, three time functions", "m"),
    "offset": Key(must_be.signal_vector(), "the same, from where the point is at the start", "m"),
}
JOINT: Keys = {
    "joint": Key(must_be.texts, "name or pattern of joints, or a list of them", required=True),
    "stiffness": Key(must_be.numbers(0.0), "of the joint's spring", "N·m/rad or N/m"),
    "damping": Key(must_be.numbers(0.0), "of the joint", "N·m·s/rad or N·s/m"),
    "rest": Key(must_be.numbers(), "coordinates at which the spring is slack", "rad or m"),
    "armature": Key(must_be.numbers(0.0), "inertia of a rotor, seen at the joint", "kg·m² or kg"),
}
ANCHOR: Keys = {
    "body": Key(must_be.text, "name of a body", required=True),
    "at": Key(must_be.vector(3), "the point of the body that is held", "m", default=[0.0, 0.0, 0.0]),
    "to": Key(must_be.vector(3), "the point of the world it is held at, free to turn", "m", required=True),
}
MOTOR: Keys = {
    "joint": Key(must_be.texts, "name or pattern of joints, or a list of them", required=True),
    "effort": Key(must_be.signals, "a time function, or one for each degree of freedom", "N·m or N"),
    "position": Key(must_be.signals, "target, followed with `stiffness`", "rad or m"),
    "velocity": Key(must_be.signals, "target, followed with `damping`", "rad/s or m/s"),
    "stiffness": Key(must_be.number(0.0), "gain on the distance from `position`", "N·m/rad or N/m"),
    "damping": Key(must_be.number(0.0), "gain on the distance from `velocity`", "N·m·s/rad or N·s/m"),
}
PIN: Keys = {
    "joint": Key(must_be.texts, "name or pattern of joints, or a list of them", required=True),
    "to": Key(must_be.choice("active", "inactive"), "what they stay, whatever the errors", required=True),
}
RECORD: Keys = {
    "every": Key(must_be.number(0.0, above=True), "time between frames; about 200 in a run without it", "s"),
    "every_steps": Key(must_be.integer(1, MOST_STEPS), "steps between frames, instead"),
    "points": Key(must_be.anything, "points that plots follow: a list of { body, at }", default=[]),
    "joints": Key(must_be.texts, "joints that plots show: names or patterns", default=[]),
    "sensor_seed": Key(must_be.integer(0), "of the noise of sensors", default=0),
}


METHOD: Keys = {
    "kind": Key(must_be.choice(*METHODS), "how the motion is computed: " + ", ".join(METHODS), required=True)
}

TABLES: Mapping[str, Keys] = {
    "model": MODEL,
    "run": RUN,
    "state": STATE,
    "method": METHOD,
    "record": RECORD,
    "contact": CONTACT,
    "water": WATER,
}
LISTS: Mapping[str, Keys] = {
    "anchor": ANCHOR,
    "obstacle": OBSTACLE,
    "load": LOAD,
    "spring": SPRING,
    "joint": JOINT,
    "motor": MOTOR,
    "pin": PIN,
    "sensor": SENSOR,
}


def check_scene(data: Mapping[str, Any], faults: Faults) -> dict[str, Any]:
    """The scene in one form: every table there, defaults filled in, what is faulty left out."""
    known = [*TOP, *TABLES, *LISTS]
    for name in data:
        if name not in known:
            faults.add((name,), f"there is no key '{name}'{did_you_mean_or_list(name, known)}")
    tables = {name: _as_table(data.get(name, {}), name, faults) for name in TABLES}
    lists = {name: _as_list(data.get(name, []), name, faults) for name in LISTS}
    with given_in(units_of_scene(tables)):
        return _check_tables(data, tables, lists, faults)


def units_of_scene(scene: Mapping[str, Any]) -> Mapping[str, str]:
    """What stands for SI units with the scene's method; nothing where SI units hold."""
    kind = scene["method"].get("kind")
    return METHODS[kind].units if _is_method(kind) else {}


def _check_tables(
    data: Mapping[str, Any], tables: dict[str, Any], lists: dict[str, Any], faults: Faults
) -> dict[str, Any]:
    scene = _check_keys({k: v for k, v in data.items() if k in TOP}, TOP, (), faults)
    for name, table in tables.items():
        scene[name] = _check_keys(table, _keys_of(name, table), (name,), faults)
    for name, keys in LISTS.items():
        scene[name] = [_check_keys(item, keys, (name, k), faults) for k, item in enumerate(lists[name])]
    if "contact" not in data:
        scene["contact"] = None  # an empty table means contact with its defaults
    if "water" not in data:
        scene["water"] = None
    _check_together({**tables, **lists}, scene, faults)
    return scene


def _as_table(given: Any, name: str, faults: Faults) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    faults.add((name,), f"{name} is {kind_of(given)}; it must be a table: [{name}].")
    return {}


def _as_list(given: Any, name: str, faults: Faults) -> list[dict[str, Any]]:
    if isinstance(given, list) and all(isinstance(item, dict) for item in given):
        return given
    faults.add((name,), f"{name} is {kind_of(given)}; it must be a list of tables: [[{name}]].")
    return []


def _keys_of(table: str, given: Mapping[str, Any]) -> Keys:
    if table != "method":
        return TABLES[table]
    return {**METHOD, **METHODS[given["kind"]].keys} if _is_method(given.get("kind")) else METHOD


def _is_method(kind: object) -> bool:
    return isinstance(kind, str) and kind in METHODS


def _check_keys(given: Mapping[str, Any], keys: Keys, path: KeyPath, faults: Faults) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in keys:
            found[name] = keys[name].check(value, (*path, name), faults)
        elif path != ("method",) or _is_method(given.get("kind")):  # else what the keys are is unknown too
            faults.add((*path, name), f"{dotted(path)} has no key '{name}'{_hint(path, name, keys)}")
    for name, key in keys.items():
        if name not in given and key.required:
            faults.add(
                path, f"{dotted(path)} needs '{name}': {key.meaning}{f' [{unit(key.unit)}]' if key.unit else ''}."
            )
        if found.get(name) is None and key.default is not None:
            found[name] = key.default
    return {name: value for name, value in found.items() if value is not None}


def _hint(path: KeyPath, name: str, keys: Keys) -> str:
    if path == ("method",):
        owners = [kind for kind, method in METHODS.items() if name in method.keys]
        if owners:
            return f"; it belongs to kind = {' or '.join(map(repr, owners))}."
    return did_you_mean_or_list(name, keys)


def _check_together(data: Mapping[str, Any], scene: dict[str, Any], faults: Faults) -> None:
    """What keys must be or must not be together."""
    model, run, record, method = scene["model"], scene["run"], scene["record"], scene["method"]
    if ("library" in model) == ("file" in model) and not ({"library", "file"} & set(data["model"]) - set(model)):
        faults.add(("model",), "model needs either 'library' or 'file', and not both.")
    for name, what in (("parameters", model), ("q", scene["state"]), ("v", scene["state"])):
        if not isinstance(what[name], dict):
            path = ("model", name) if what is model else ("state", name)
            faults.add(path, f"{dotted(path)} is {kind_of(what[name])}; it must be a table.")
            what[name] = {}
    if not {"duration", "steps"} & set(data["run"]):
        faults.add(("run",), "run needs 'duration' [s] or 'steps'.")
    _not_both(run, ("run",), "duration", "steps", faults)
    check_length(run, faults)
    _not_both(record, ("record",), "every", "every_steps", faults)
    if "kind" in method:
        for name, why in METHODS[method["kind"]].refused.items():
            if data[name] or (name in ("contact", "water") and scene[name] is not None):
                faults.add((name, 0) if name in LISTS else (name,), why)
    if scene["state"]["kind"] == "file" and "file" not in data["state"]:
        faults.add(("state",), "state.kind is 'file'; give 'file' too.")
    for k, load in enumerate(scene["load"]):
        _check_force(load, ("load", k), faults)
        if not {"force", "torque"} & set(data["load"][k]):
            faults.add(("load", k), "a load needs 'force' or 'torque'.")
    for k, spring in enumerate(scene["spring"]):
        if "to" in spring and "offset" in spring:
            faults.add(("spring", k), "a spring has 'to' or 'offset', not both.")
    for k, motor in enumerate(scene["motor"]):
        _check_motor(motor, data["motor"][k], ("motor", k), faults)
    _check_points(record, faults)


def check_length(run: Mapping[str, Any], faults: Faults) -> None:
    """Refuses a duration of more steps than anybody waits for."""
    if "duration" in run and "h" in run and run["duration"] > MOST_STEPS * run["h"]:
        faults.add(
            ("run", "duration"),
            f"run.duration is {run['duration']:g} {unit('s')}, with steps of {run['h']:g} {unit('s')} more than "
            f"{MOST_STEPS:,} steps; give a shorter duration or a larger run.h.",
        )


def _not_both(table: Mapping[str, Any], path: KeyPath, a: str, b: str, faults: Faults) -> None:
    if a in table and b in table:
        both = f"{dotted(path)} has both '{a}' and '{b}'"
        faults.add((*path, b), f"{both}; give one of them (--set {dotted(path)}.{a}= removes the other).")


def _check_force(load: dict[str, Any], path: KeyPath, faults: Faults) -> None:
    force = load.get("force")
    at = (*path, "force")
    if isinstance(force, dict) and ("magnitude" in force or "seed" in force):
        keys = {
            "magnitude": Key(must_be.signal(), "of each force", "N", required=True),
            "seed": Key(must_be.integer(0), "of the directions", default=0),
        }
        load["force"] = _check_keys(force, keys, at, faults)
    elif force is not None:
        load["force"] = must_be.signal_vector()(force, at, faults)


def _check_motor(motor: Mapping[str, Any], given: Mapping[str, Any], path: KeyPath, faults: Faults) -> None:
    if not {"effort", "position", "velocity"} & set(given):
        faults.add(path, "a motor needs 'effort', 'position' or 'velocity'.")
    for target, gain in (("position", "stiffness"), ("velocity", "damping")):
        if target in given and not motor.get(gain) and not (gain in given and gain not in motor):
            faults.add(path, f"a motor with '{target}' needs '{gain}' > 0, or it does nothing.")
    if "stiffness" in given and "position" not in given:
        faults.add((*path, "stiffness"), "a motor with 'stiffness' needs 'position', the target it pulls to.")


def _check_points(record: dict[str, Any], faults: Faults) -> None:
    points = record["points"]
    path: KeyPath = ("record", "points")
    if not isinstance(points, list) or not all(isinstance(point, dict) for point in points):
        faults.add(path, "record.points must be a list of { body = name, at = [x, y, z] }.")
        points = []
    keys = {name: BODY[name] for name in ("body", "pick", "at")}
    record["points"] = [_check_keys(point, keys, (*path, k), faults) for k, point in enumerate(points)]
