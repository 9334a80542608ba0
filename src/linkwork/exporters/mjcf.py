"""Linkage → MJCF: the same bodies, joints and inertias for MuJoCo, in full digits."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

from linkwork.exporters.parts import (
    ENDLESS,
    Part,
    children_of,
    free_place,
    is_limited,
    lost_drives,
    one_for_all,
    parts_of,
    refuse,
    save,
    written,
)
from linkwork.model.friction import Friction
from linkwork.model.joints import Fixed, Free, Spherical
from linkwork.model.linkage import WORLD, Body, Linkage
from linkwork.model.shapes import Box, Capsule, Cylinder, HeightField, Mesh, Plane, Shape, Sphere
from linkwork.spatial.pose import Pose

DRAWN = 10.0  # [m] half edge of a plane where it is drawn; it has no end where bodies touch it


def write_mjcf(linkage: Linkage, path: str | Path, overwrite: bool = False) -> list[str]:
    """Writes an MJCF file; returns what is not kept. Raises ModelError for what moves and MJCF cannot hold."""
    file = free_place(path, "to_mjcf", overwrite)
    refuse(linkage, "MJCF", _faults(linkage))
    lost = [
        f"velocity limits of joint '{body.joint_name}'" for body in linkage if body.joint.velocity_limit is not None
    ]
    lost += lost_drives(linkage)
    root = ET.Element("mujoco", model=linkage.name)
    ET.SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
    ET.SubElement(root, "option", gravity=written(linkage.gravity))
    assets = ET.SubElement(root, "asset")
    world = ET.SubElement(root, "worldbody")
    for obstacle in linkage.obstacles:
        _geom(world, assets, obstacle.shape, obstacle.pose, obstacle.name, lost)
    _bodies(linkage, world, assets, lost)
    if linkage.ignore_contact:
        contact = ET.SubElement(root, "contact")
        for a, b in linkage.ignore_contact:
            if (a in linkage or a == WORLD) and (b in linkage or b == WORLD):
                ET.SubElement(contact, "exclude", body1=a, body2=b)
            else:
                lost.append(f"that '{a}' and '{b}' never touch")
    _couplings(root, linkage)
    if not len(assets):
        root.remove(assets)
    save(root, file)
    return lost


def _couplings(root: ET.Element, linkage: Linkage) -> None:
    """Couplings as equalities: of joints where there are one or two, else of a fixed tendon."""
    if not linkage.couplings:
        return
    equality = ET.SubElement(root, "equality")
    tendons = ET.SubElement(root, "tendon") if any(len(x.joints) > 2 for x in linkage.couplings) else None
    for coupling in linkage.couplings:
        (first, own), *others = coupling.joints
        offset = [coupling.offset / own, 0.0, 0.0, 0.0, 0.0]
        if tendons is not None and len(others) > 1:
            made = ET.SubElement(tendons, "fixed", name=coupling.name)
            for joint, coefficient in coupling.joints:
                ET.SubElement(made, "joint", joint=joint, coef=written([coefficient / own]))
            ET.SubElement(equality, "tendon", name=coupling.name, tendon1=coupling.name, polycoef=written(offset))
            continue
        made = ET.SubElement(equality, "joint", name=coupling.name, joint1=first)
        if others:
            made.set("joint2", others[0][0])
            offset[1] = -others[0][1] / own
        made.set("polycoef", written(offset))


def _faults(linkage: Linkage) -> list[str]:
    faults = [f"loop '{loop.name}': loops are not written; remove it, or weld it" for loop in linkage.loops]
    for body in linkage:
        if isinstance(body.joint, Free):
            if body.parent != WORLD:
                faults.append(
                    f"body '{body.name}' has a Free joint on another body; MuJoCo allows it on the world alone"
                )
            elif not body.placement.is_identity:
                faults.append(
                    f"body '{body.name}' has a Free joint with a placement; give it none, and its place in the state"
                )
        elif not isinstance(body.joint, Fixed | Spherical) and parts_of(body) is None:
            faults.append(f"body '{body.name}' has a joint that turns and slides at once")
        if body.inertia.is_massless and not isinstance(body.joint, Fixed):
            faults.append(f"body '{body.name}' moves and has no mass, which MuJoCo refuses")
    return faults


def _bodies(linkage: Linkage, world: ET.Element, assets: ET.Element, lost: list[str]) -> None:
    below = children_of(linkage)
    frames: dict[str, list[tuple[str, Pose]]] = {}
    for frame in linkage.frames:
        frames.setdefault(frame.body, []).append((frame.name, frame.pose))
    waiting: list[tuple[Body, ET.Element]] = [(body, world) for body in reversed(below[WORLD])]
    _sites(world, WORLD, Pose(), frames)
    while waiting:
        body, parent = waiting.pop()
        element = ET.SubElement(parent, "body", {"name": body.name} | _place(body.placement))
        _joints(element, body, lost)
        if not body.inertia.is_massless:
            xx, xy, xz, yy, yz, zz = body.inertia.moments
            ET.SubElement(element, "inertial", pos=written(body.inertia.com), mass=written([body.inertia.mass]),
                          fullinertia=written((xx, yy, zz, xy, xz, yz)))  # fmt: skip
        for k, shape in enumerate(body.shapes):
            _geom(element, assets, shape, Pose(), f"{body.name}_{k}", lost)
        _sites(element, body.name, Pose(), frames)
        waiting += [(child, element) for child in reversed(below.get(body.name, []))]


def _sites(element: ET.Element, name: str, pose: Pose, frames: dict[str, list[tuple[str, Pose]]]) -> None:
    """Frames on a body, and frames on these."""
    for frame, inner in frames.get(name, []):
        ET.SubElement(element, "site", {"name": frame} | _place(pose @ inner))
        _sites(element, frame, pose @ inner, frames)


def _place(pose: Pose) -> dict[str, str]:
    return {} if pose.is_identity else {"pos": written(pose.xyz), "quat": written(pose.quaternion)}


def _joints(element: ET.Element, body: Body, lost: list[str]) -> None:
    joint = body.joint
    if isinstance(joint, Free | Spherical):
        free = isinstance(joint, Free)
        made = ET.SubElement(element, "joint", name=body.joint_name, type="free" if free else "ball")
        if not free:
            made.set("pos", written(joint.center))
        for name in ("damping", "stiffness", "armature"):
            if value := one_for_all(body, name, lost):
                made.set(name, written([value]))
        if joint.stiffness is not None and not np.array_equal(joint.rest_coordinates(), joint.neutral()):
            lost.append(f"where the spring of joint '{body.joint_name}' is slack")
        if joint.effort_limit is not None:
            lost.append(f"effort limit of joint '{body.joint_name}'")
        return
    for part in parts_of(body) or []:
        _axis_joint(element, part)


def _axis_joint(element: ET.Element, part: Part) -> None:
    kind = "slide" if part.slides else "hinge"
    made = ET.SubElement(element, "joint", name=part.name, type=kind, axis=written(part.axis), pos=written(part.center))
    for name in ("damping", "stiffness", "armature"):
        if getattr(part, name):
            made.set(name, written([getattr(part, name)]))
    if part.rest:
        made.set("springref", written([part.rest]))
    if is_limited(part):
        made.set("range", written((max(part.lower, -ENDLESS), min(part.upper, ENDLESS))))
    if math.isfinite(part.effort_limit):
        made.set("actuatorfrcrange", written((-part.effort_limit, part.effort_limit)))


def _geom(element: ET.Element, assets: ET.Element, shape: Shape, pose: Pose, name: str, lost: list[str]) -> None:
    place = pose @ shape.placement
    if isinstance(shape, HeightField):
        lost.append(f"height field '{name}'")
        return
    made = ET.SubElement(element, "geom", _place(place))
    if isinstance(shape, Box):
        made.attrib |= {"type": "box", "size": written(edge / 2 for edge in shape.size)}
    elif isinstance(shape, Sphere):
        made.attrib |= {"type": "sphere", "size": written([shape.radius])}
    elif isinstance(shape, Capsule | Cylinder):
        kind = "capsule" if isinstance(shape, Capsule) else "cylinder"
        made.attrib |= {"type": kind, "size": written((shape.radius, shape.length / 2))}
    elif isinstance(shape, Plane):
        made.attrib |= {"type": "plane", "size": written((DRAWN, DRAWN, 1.0))}
    elif isinstance(shape, Mesh):
        ET.SubElement(assets, "mesh", name=name, file=shape.path or shape.file, scale=written(shape.scale))
        made.attrib |= {"type": "mesh", "mesh": name}
    group, mask = (0, 0) if shape.visual_only else (shape.group, shape.mask)
    if (group, mask) != (1, 1):
        made.attrib |= {"contype": str(group), "conaffinity": str(mask)}
    if isinstance(shape.friction, Friction):
        sliding, patch = shape.friction.largest, shape.friction.patch
        made.set("friction", written([sliding, sliding * patch, patch] if patch else [sliding]))
        if patch:
            made.set("condim", "6")
        if len(set(shape.friction.coefficients)) > 1:
            lost.append(f"direction of the friction of a shape of '{name}'")
    elif shape.friction is not None:
        made.set("friction", written([shape.friction]))
    if shape.restitution is not None:
        lost.append(f"restitution of a shape of '{name}'")
