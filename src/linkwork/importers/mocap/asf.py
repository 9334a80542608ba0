"""ASF and AMC → Linkage with its motion (Acclaim skeleton and motion, as the CMU motion-capture library has them)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.importers.mocap.asf_text import ROOT, AsfBone, AsfText, read_amc, read_asf
from linkwork.importers.mocap.skeleton import (
    Bone,
    build_figure,
    euler_quaternions,
    positive_number,
    quaternion_products,
)
from linkwork.importers.report import Report
from linkwork.model.joints import Compound, Fixed, Free, Joint, Revolute, Spherical
from linkwork.model.linkage import Linkage
from linkwork.model.motion import Motion
from linkwork.spatial.pose import Pose

UPRIGHT = Pose(rpy=(0.5 * math.pi, 0.0, 0.0))  # Acclaim files have y up
INCH = 0.0254  # [m] the file's `length` is that of an inch in its units
FRAME_TIME = 1.0 / 120.0  # [s] of the CMU library; an AMC file does not have it


def load_asf(
    path: str | Path,
    *,
    motion: str | Path | None = None,
    frame_time: float = FRAME_TIME,
    unit: float | None = None,
    mass: float = 75.0,
    masses: Mapping[str, float] | None = None,
) -> Linkage:
    """Reads an ASF skeleton, and the AMC file that moves it.

    motion: the AMC file; the linkage's `motion` is None without one. frame_time: between its frames [s].
    unit: metres in one unit of the file; by default an inch over the file's `length`, as the CMU library means it.
    mass, masses: as for BVH files.
    """
    report = Report(path)
    text = read_asf(path, report)
    bones = [_root_bone(text), *(_bone(text, bone, report) for bone in text.bones)]
    by_name = {bone.name: bone for bone in bones}
    by_name[ROOT].ends += [by_name[child].offset for child in text.children(ROOT)]
    for bone in text.bones:
        by_name[bone.name].ends.append(bone.length * np.array(bone.direction))
    scale = INCH / text.length if unit is None else positive_number(unit, path, "unit")
    frame_time = positive_number(frame_time, path, "frame_time")
    # Children of the root begin where the root is, so the root itself has no length.
    figure = build_figure(bones, Path(path).stem, scale, UPRIGHT, mass, masses, report)
    if motion is not None:
        figure.motion = _motion(text, motion, frame_time, scale)
    figure.warnings += report.warnings()
    return figure


def _root_bone(text: AsfText) -> Bone:
    return Bone(ROOT, "world", np.zeros(3), Free(), text.root_line)


def _bone(text: AsfText, bone: AsfBone, report: Report) -> Bone:
    above = text.by_name.get(bone.parent)
    offset = np.zeros(3) if above is None else above.length * np.array(above.direction)
    return Bone(bone.name, bone.parent, offset, _joint(text, bone, report), bone.line)


def _axes(text: AsfText, bone: AsfBone) -> Pose:
    """C, the axes a bone's angles refer to, in the skeleton's frame."""
    turns = np.array(bone.axis)[["xyz".index(a) for a in bone.axis_order]][::-1] * text.degrees
    return Pose(quaternion=euler_quaternions(bone.axis_order[::-1], turns[None])[0])


def _joint(text: AsfText, bone: AsfBone, report: Report) -> Joint:
    """A bone's orientation is C M C⁻¹; M turns about x first, then y, then z, as far as it may."""
    turns = [d for d in bone.dof if d.startswith("r")]
    if len(turns) < len(bone.dof):
        report.note(bone.line, f"bone '{bone.name}'", f"degrees of freedom {bone.dof}: only rotations are kept")
    if not turns:
        return Fixed()
    if len(turns) == 3:
        if bone.limits:
            report.note(bone.line, f"bone '{bone.name}'", "limits of a ball joint are not kept", group="ball limits")
        return Spherical()
    C = _axes(text, bone)
    limits = {
        d: tuple(np.radians(text.degrees * np.array(pair))) for d, pair in zip(bone.dof, bone.limits, strict=False)
    }
    hinges = [
        Revolute(C.rotate(np.eye(3)["xyz".index(d[1])].tolist()), limits=limits.get(d))
        for d in sorted(turns, reverse=True)
    ]
    return hinges[0] if len(hinges) == 1 else Compound(hinges)


def _motion(text: AsfText, path: str | Path, frame_time: float, unit: float) -> Motion:
    report = Report(path)
    frames = read_amc(path, text, report)
    report.raise_faults()
    joints = {ROOT: _root_coordinates(text, frames[ROOT], unit)}
    for bone in text.bones:
        turns = sorted((d for d in bone.dof if d.startswith("r")), reverse=True)  # z, y, x: the order of the product
        if not turns:
            continue
        data = text.degrees * frames[bone.name][:, [bone.dof.index(d) for d in turns]]
        if len(turns) < 3:
            joints[bone.name] = np.unwrap(np.radians(data), axis=0)  # a hinge goes on where its file wraps at ±180°
            continue
        C = np.tile(_quaternion(_axes(text, bone)), (len(data), 1))
        M = euler_quaternions("".join(d[1] for d in turns), data)
        joints[bone.name] = quaternion_products(quaternion_products(C, M), C * [1.0, -1.0, -1.0, -1.0])
    return Motion(float(frame_time), joints)


def _root_coordinates(text: AsfText, data: FloatArray, unit: float) -> FloatArray:
    order = [name.lower() for name in text.root_order]
    position = unit * (data[:, [order.index(f"t{a}") for a in "xyz"]] + np.array(text.root_position))
    turning = [name for name in order if name.startswith("r")]
    # Written in the order in which they are applied about fixed axes: the last is the outermost.
    angles = text.degrees * data[:, [order.index(name) for name in turning[::-1]]]
    return np.concatenate([position, euler_quaternions("".join(n[1] for n in turning[::-1]), angles)], axis=1)


def _quaternion(pose: Pose) -> FloatArray:
    return pose.quaternion
