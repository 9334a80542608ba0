"""Linkage → URDF, in full digits; a joint of several freedoms becomes several, with massless links between them."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path

from linkwork.exporters.parts import (
    ENDLESS,
    Part,
    free_place,
    has_springs,
    is_limited,
    lost_drives,
    one_for_all,
    parts_of,
    refuse,
    save,
    written,
)
from linkwork.model.joints import Fixed, Free
from linkwork.model.linkage import EARTH_GRAVITY, WORLD, Body, Linkage
from linkwork.model.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from linkwork.spatial.pose import Pose

BASE = "base_link"


def write_urdf(linkage: Linkage, path: str | Path, overwrite: bool = False) -> list[str]:
    """Writes a URDF file; returns what is not kept. Raises ModelError for what moves and URDF cannot hold."""
    file = free_place(path, "to_urdf", overwrite)
    refuse(linkage, "URDF", _faults(linkage))
    lost = [f"springs and armature of joint '{body.joint_name}'" for body in linkage if has_springs(body.joint)]
    lost += [f"obstacle '{obstacle.name}'" for obstacle in linkage.obstacles]
    lost += [f"that '{a}' and '{b}' never touch" for a, b in linkage.ignore_contact]
    if linkage.gravity != EARTH_GRAVITY:
        lost.append(f"gravity {linkage.gravity}, which no URDF holds")
    lost += lost_drives(linkage)
    root = ET.Element("robot", name=linkage.name)
    base = BASE
    while base in linkage:
        base += "_"
    ET.SubElement(root, "link", name=base)
    for body in linkage:
        _body(root, body, base, lost)
    for frame in linkage.frames:
        ET.SubElement(root, "link", name=frame.name)
        _joint(
            root, f"{frame.name}_fixed", "fixed", base if frame.body == WORLD else frame.body, frame.name, frame.pose
        )
    lost += _mimics(root, linkage)
    save(root, file)
    return lost


def _mimics(root: ET.Element, linkage: Linkage) -> list[str]:
    """Writes couplings of two joints as <mimic>; returns those that URDF cannot hold."""
    joints = {joint.get("name"): joint for joint in root.findall("joint")}
    lost: list[str] = []
    for coupling in linkage.couplings:
        follower = next(
            (name for name, _ in coupling.joints if name in joints and joints[name].find("mimic") is None), None
        )
        if len(coupling.joints) != 2 or follower is None or not all(name in joints for name, _ in coupling.joints):
            lost.append(f"coupling '{coupling.name}'")
            continue
        own = dict(coupling.joints)[follower]
        leader, other = next((name, c) for name, c in coupling.joints if name != follower)
        ET.SubElement(joints[follower], "mimic", joint=leader, multiplier=written([-other / own]),
                      offset=written([coupling.offset / own]))  # fmt: skip
    return lost


def _faults(linkage: Linkage) -> list[str]:
    faults = [f"loop '{loop.name}': a URDF is a tree" for loop in linkage.loops]
    for body in linkage:
        if not isinstance(body.joint, Fixed | Free) and parts_of(body) is None:
            faults.append(f"body '{body.name}' has a {type(body.joint).__name__} joint")
    return faults


def _body(root: ET.Element, body: Body, base: str, lost: list[str]) -> None:
    link = ET.SubElement(root, "link", name=body.name)
    if not body.inertia.is_massless:
        inertial = ET.SubElement(link, "inertial")
        ET.SubElement(inertial, "origin", xyz=written(body.inertia.com))
        ET.SubElement(inertial, "mass", value=written([body.inertia.mass]))
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        ET.SubElement(inertial, "inertia", {k: written([x]) for k, x in zip(names, body.inertia.moments, strict=True)})
    for shape in body.shapes:
        for piece in _pieces(shape):
            _shape(link, piece)
        if shape.friction is not None or shape.restitution is not None:
            lost.append(f"friction and restitution of a shape of '{body.name}'")
    parent = base if body.parent == WORLD else body.parent
    parts = parts_of(body)
    if parts is None:
        kind = "floating" if isinstance(body.joint, Free) else "fixed"
        made = _joint(root, body.joint_name, kind, parent, body.name, body.placement)
        if isinstance(body.joint, Free) and (damping := one_for_all(body, "damping", lost)):
            ET.SubElement(made, "dynamics", damping=written([damping]))
        return
    place, moved = body.placement, (0.0, 0.0, 0.0)
    for d, part in enumerate(parts):
        shift = tuple(a - b for a, b in zip(part.center, moved, strict=True))
        place, moved = place @ Pose(shift), part.center
        last = d == len(parts) - 1 and not any(part.center)
        child = body.name if last else f"{body.name}_joint{d}"
        if not last:
            ET.SubElement(root, "link", name=child)
        kind = "prismatic" if part.slides else "revolute" if is_limited(part) else "continuous"
        made = _joint(root, part.name, kind, parent, child, place)
        ET.SubElement(made, "axis", xyz=written(part.axis))
        if part.damping:
            ET.SubElement(made, "dynamics", damping=written([part.damping]))
        _limits(made, part, kind)
        parent, place = child, Pose()
    if any(moved):
        back = Pose(tuple(-x for x in moved))
        _joint(root, f"{body.joint_name}_fixed", "fixed", parent, body.name, back)


def _limits(joint: ET.Element, part: Part, kind: str) -> None:
    numbers = {"effort": part.effort_limit, "velocity": part.velocity_limit}
    if kind != "continuous":
        numbers |= {"lower": part.lower, "upper": part.upper}
    elif not any(map(math.isfinite, numbers.values())):
        return
    bounded = {name: written([min(max(x, -ENDLESS), ENDLESS)]) for name, x in numbers.items()}
    ET.SubElement(joint, "limit", bounded)


def _joint(root: ET.Element, name: str, kind: str, parent: str, child: str, pose: Pose) -> ET.Element:
    made = ET.SubElement(root, "joint", name=name, type=kind)
    ET.SubElement(made, "parent", link=parent)
    ET.SubElement(made, "child", link=child)
    if not pose.is_identity:
        ET.SubElement(made, "origin", xyz=written(pose.xyz), rpy=written(roll_pitch_yaw(pose)))
    return made


def roll_pitch_yaw(pose: Pose) -> tuple[float, float, float]:
    """Angles about the fixed axes x, y, z [rad]; where pitch is ±π/2, yaw is zero."""
    r = pose.rotation
    across = math.hypot(r[0], r[3])
    pitch = math.atan2(-r[6], across)
    if across > 1e-12:
        return math.atan2(r[7], r[8]), pitch, math.atan2(r[3], r[0])
    return math.atan2(-r[5], r[4]), pitch, 0.0


def _pieces(shape: Shape) -> list[Shape]:
    """A capsule as a cylinder and two spheres: parsers of URDF 1.0 know none."""
    if not isinstance(shape, Capsule):
        return [shape]
    ends = (Pose((0.0, 0.0, side * shape.length / 2)) for side in (-1.0, 1.0))
    place, drawn = shape.placement, shape.visual_only
    return [
        Cylinder(shape.radius, shape.length, placement=place, visual_only=drawn),
        *(Sphere(shape.radius, placement=place @ end, visual_only=drawn) for end in ends),
    ]


def _shape(link: ET.Element, shape: Shape) -> None:
    made = ET.SubElement(link, "visual" if shape.visual_only else "collision")
    if not shape.placement.is_identity:
        angles = written(roll_pitch_yaw(shape.placement))
        ET.SubElement(made, "origin", xyz=written(shape.placement.xyz), rpy=angles)
    geometry = ET.SubElement(made, "geometry")
    if isinstance(shape, Box):
        ET.SubElement(geometry, "box", size=written(shape.size))
    elif isinstance(shape, Sphere):
        ET.SubElement(geometry, "sphere", radius=written([shape.radius]))
    elif isinstance(shape, Cylinder):
        ET.SubElement(geometry, "cylinder", radius=written([shape.radius]), length=written([shape.length]))
    elif isinstance(shape, Mesh):
        ET.SubElement(geometry, "mesh", filename=shape.path or shape.file, scale=written(shape.scale))
