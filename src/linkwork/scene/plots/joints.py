"""Coordinates of chosen joints over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.model.joints import Free, Planar, Prismatic, Spherical
from linkwork.model.model import Model
from linkwork.record.recording import Recording
from linkwork.scene.plots.panel import Panel, draw_lines, panels_of_lines, scene_of
from linkwork.scene.targets import choose_joints

LOOKED_AT = 24  # frames compared to find what moves most


def joint_panels(recording: Recording, patterns: Sequence[str]) -> list[Panel]:
    model = recording.model
    names = choose_joints(model, patterns) if patterns else scene_of(recording).get("joints", [])
    if not names:
        return _most_moved_panel(recording)
    by_unit: dict[str, dict[str, FloatArray]] = {}
    for name in names:
        for label, unit, values in _lines_of(recording, model, name):
            by_unit.setdefault(unit, {})[label] = values
    panels: list[Panel] = []
    for unit, lines in by_unit.items():
        is_turn = unit == "1"
        what = "orientation (w, x, y, z)" if is_turn else "coordinate"
        title = "joints" if len(by_unit) == 1 else f"joints [{unit}]"
        panels += panels_of_lines(title, recording.times, lines, what, "" if is_turn else unit)
    return panels


def _most_moved_panel(recording: Recording) -> list[Panel]:
    """Those that moved most, from where they began: with other starts their motion would be hard to compare."""
    lines: dict[str, FloatArray] = {}
    units = set()
    for name in _most_moved_joints(recording):
        for label, unit, values in _lines_of(recording, recording.model, name):
            lines[label] = values - values[0]
            units.add(unit)
    if not lines:
        return []

    def draw(axes: Any) -> None:
        draw_lines(
            axes, recording.times, lines, "displacement from the start", " or ".join(sorted(units, reverse=True))
        )

    return [Panel("joints that moved most", draw)]


def _lines_of(recording: Recording, model: Model, name: str) -> list[tuple[str, str, FloatArray]]:
    """Label, unit and values over time of each coordinate of a joint."""
    values = recording.joint(name)
    if values.shape[1] == 1:
        joint = model.joints[model.joint(name)]
        return [(name, "m" if isinstance(joint, Prismatic) else "rad", values[:, 0])]
    return [
        (f"{name} {part}", unit, values[:, k]) for k, (part, unit) in enumerate(_parts(model, name, values.shape[1]))
    ]


def _parts(model: Model, name: str, size: int) -> list[tuple[str, str]]:
    joint = model.joints[model.joint(name)]
    turn = [(part, "1") for part in "wxyz"]
    if isinstance(joint, Free):
        return [("x", "m"), ("y", "m"), ("z", "m"), *turn]
    if isinstance(joint, Spherical):
        return turn
    if isinstance(joint, Planar):
        return [("0", "m"), ("1", "m"), ("angle", "rad")]
    return [(str(k), "rad or m") for k in range(size)]


def _most_moved_joints(recording: Recording, most: int = 4) -> list[str]:
    """Joints whose velocity coordinates travel farthest between a few frames, and which have one coordinate."""
    model = recording.model
    frames = np.unique(np.linspace(0, len(recording) - 1, LOOKED_AT).astype(int))
    first = recording.state(0).q
    reach = np.zeros(model.nv)
    for k in frames[1:]:
        reach = np.maximum(reach, np.abs(model.difference(first, recording.state(int(k)).q)))
    order = np.argsort(-reach, kind="stable")[: 20 * most]
    names: dict[str, None] = {}
    for k in order:
        i = model.joint_of(int(k))
        if reach[k] > 0.0 and model.joints[i].nq == 1:
            names[model.joint_names[i]] = None
    return list(names)[:most]


MOST = 6  # sensors that are drawn


def sensor_panels(recording: Recording) -> list[Panel]:
    """Of the first sensors that were recorded."""
    panels: list[Panel] = []
    for name in recording.sensors[:MOST]:
        found = recording.sensor(name)
        if len(found.times) < 2:
            continue
        for unit in dict.fromkeys(found.units):
            lines = {c: found.values[:, k] for k, c in enumerate(found.channels) if found.units[k] == unit}
            panels += panels_of_lines(f"sensor {name}", found.times, lines, "reading", unit)
    return panels


def effort_panels(recording: Recording, patterns: Sequence[str]) -> list[Panel]:
    """All that acts on each joint along its motion, and below it what motors and given efforts do of that."""
    if not patterns:
        return []
    total: dict[str, FloatArray] = {}
    of_motors: dict[str, FloatArray] = {}
    for name in choose_joints(recording.model, patterns):
        effort = recording.joint_effort(name)
        motor_effort = recording.joint_effort(name, "motors") + recording.joint_effort(name, "given")
        for k in range(effort.shape[1]):
            label = name if effort.shape[1] == 1 else f"{name} {k}"
            total[label], of_motors[label] = effort[:, k], motor_effort[:, k]
    panels = panels_of_lines("efforts", recording.times, total, "effort", "N·m or N")
    if any(np.any(line) for line in of_motors.values()):
        panels += panels_of_lines("efforts of motors", recording.times, of_motors, "effort", "N·m or N")
    return panels
