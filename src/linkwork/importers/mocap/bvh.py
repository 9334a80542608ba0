"""BVH → Linkage with its motion (Biovision hierarchy, as most motion-capture tools write it)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.errors import FormatError
from linkwork.importers.mocap.bvh_text import BvhJoint, BvhText, read_bvh
from linkwork.importers.mocap.skeleton import Bone, build_figure, euler_quaternions, guessed_unit, positive_number
from linkwork.importers.report import Report
from linkwork.model.joints import Compound, Fixed, Free, Joint, Revolute, Spherical
from linkwork.model.linkage import Linkage
from linkwork.model.motion import Motion
from linkwork.spatial.pose import Pose

UNITS = {
    "centimetres": 0.01,
    "CMU units (inch / 0.45)": 0.0254 / 0.45,
    "inches": 0.0254,
    "metres": 1.0,
    "millimetres": 0.001,
}
UPRIGHT = {"y": Pose(rpy=(0.5 * math.pi, 0.0, 0.0)), "z": Pose()}  # what takes the file's up to z
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
JUMP = 5.0  # [degrees] no joint turns that far in a frame of a recording
FRAMES_COMPARED = 12  # of a recording, to distinguish a rest pose before it from motion
STEADY = 1e-3  # part of a bone's length by which its recorded offset may wander and still be constant


def load_bvh(
    path: str | Path,
    *,
    unit: float | None = None,
    up: str = "y",
    mass: float = 75.0,
    masses: Mapping[str, float] | None = None,
) -> Linkage:
    """Reads a BVH file; the recorded motion is the linkage's `motion`.

    unit: metres in one unit of the file; by default the one of `UNITS` that makes the figure as tall as people are.
    up: the file's upward axis, "y" or "z"; the linkage's is z.
    mass: of the whole figure [kg], shared among the bones by `body_segments`; masses: of single bones by name [kg].
    The root moves freely; a joint with three rotations is a ball.
    """
    if up not in UPRIGHT:
        raise FormatError(f"{path}: up is {up!r}; it must be 'y' or 'z'.")
    report = Report(path)
    text = read_bvh(path, report)
    columns = _columns(text.joints)
    _tell_rest_pose(text, columns, report)
    parts = [_part(joint, text.frames[:, columns[joint.name]], report) for joint in text.joints]
    bones = [part.bone for part in parts]
    by_name = {bone.name: bone for bone in bones}
    for joint, bone in zip(text.joints, bones, strict=True):
        bone.ends += joint.sites
        if bone.parent != "world":
            by_name[bone.parent].ends.append(bone.offset)
    if unit is None:
        recorded = {part.bone.name: (part.positions, part.turns) for part in parts}
        scale = guessed_unit(bones, UPRIGHT[up], UNITS, recorded, report)
    else:
        scale = positive_number(unit, path, "unit")
    figure = build_figure(bones, Path(path).stem, scale, UPRIGHT[up], mass, masses, report)
    figure.motion = Motion(text.frame_time, {p.bone.name: p.coordinates(scale) for p in parts if p.bone.joint.nq})
    figure.warnings += report.warnings()
    return figure


@dataclass
class _Part:
    """A bone and what was recorded of it."""

    bone: Bone
    positions: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # (frames, 3), in the file's units
    turns: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # (frames, 1, 2 or 4) [rad] or quaternions

    def coordinates(self, unit: float) -> FloatArray:
        if isinstance(self.bone.joint, Free):
            return np.concatenate([unit * self.positions, self.turns], axis=1)
        return self.turns


def _tell_rest_pose(text: BvhText, columns: dict[str, list[int]], report: Report) -> None:
    """Many files begin with the pose of the skeleton itself, from which the motion then jumps away.

    Turns are compared as rotations: angles that wrap at ±180°, or flip to the other triple of a rotation, do not move.
    """
    turned = []
    for joint in text.joints:
        turns = [k for k, channel in zip(columns[joint.name], joint.channels, strict=True) if "rotation" in channel]
        axes = "".join(channel[0] for channel in joint.channels if "rotation" in channel)
        if turns:
            q = euler_quaternions(axes, text.frames[:FRAMES_COMPARED, turns])
            turned.append(2.0 * np.arccos(np.clip(np.abs((q[1:] * q[:-1]).sum(axis=1)), 0.0, 1.0)))
    if len(text.frames) < 2 or not turned:
        return
    changes = np.degrees(np.max(turned, axis=0))
    later = float(changes[1:].max(initial=0.0))
    if changes[0] > max(JUMP, 5.0 * later):
        report.note(
            0,
            "frame 0",
            f"the motion jumps by {changes[0]:.0f}° to frame 1 and goes on by at most {later:.1f}° a frame: a rest "
            "pose, not motion; leave it out with motion.cut(1)",
        )


def _columns(joints: list[BvhJoint]) -> dict[str, list[int]]:
    columns, start = {}, 0
    for joint in joints:
        columns[joint.name] = list(range(start, start + len(joint.channels)))
        start += len(joint.channels)
    return columns


def _part(joint: BvhJoint, data: FloatArray, report: Report) -> _Part:
    turns = [k for k, channel in enumerate(joint.channels) if channel.endswith("rotation")]
    slides = {channel[0]: k for k, channel in enumerate(joint.channels) if channel.endswith("position")}
    axes = "".join(joint.channels[k][0] for k in turns)
    positions = np.tile(joint.offset, (len(data), 1))
    for axis, k in slides.items():
        positions[:, "xyz".index(axis)] = data[:, k]
    offset = joint.offset
    free = joint.parent == "world"
    if slides and not free and len(data):
        steady = float(np.abs(positions - positions[0]).max()) <= STEADY * max(float(np.linalg.norm(offset)), 1e-6)
        if steady:
            offset = positions[0]
        else:
            free = True
            report.note(joint.line, f"joint '{joint.name}'", "its length changes over time; it became a free joint")
    kind: Joint
    if free:
        kind, offset = Free(), np.zeros(3)
    elif not turns:
        kind = Fixed()
    elif len(turns) == 3:
        kind = Spherical()
    elif len(turns) == 1:
        kind = Revolute(AXES[axes])
    else:
        kind = Compound([Revolute(AXES[axis]) for axis in axes])
    bone = Bone(joint.name, joint.parent, offset, kind, joint.line)
    if free or len(turns) == 3:
        return _Part(bone, positions, euler_quaternions(axes, data[:, turns]))
    return _Part(bone, positions, np.unwrap(np.radians(data[:, turns]), axis=0))  # files wrap at ±180°, hinges do not
