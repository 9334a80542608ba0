"""The <link> of a URDF: inertia, and the shapes of <collision> and <visual>."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from linkwork.importers.attributes import AttributeReader
from linkwork.importers.xml_tree import Element
from linkwork.model.inertia import MASSLESS, NO_MOMENT, Inertia
from linkwork.model.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from linkwork.spatial.pose import IDENTITY, Pose

MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(slots=True)
class Link:
    name: str
    line: int
    inertia: Inertia
    shapes: list[Shape]


def read_link(element: Element, read: AttributeReader) -> Link:
    name = read.text(element, "name", "link")
    owner = f"link '{name}'"
    read.unknown(element, ("name", "type"), ("inertial", "collision", "visual"))
    inertial = read.only(element, "inertial", owner)
    placed = [*element.all("collision"), *element.all("visual")]
    shapes = [shape for one in placed if (shape := _shape(one, owner, read))]
    return Link(name, element.line, MASSLESS if inertial is None else _inertia(inertial, owner, read), shapes)


def _inertia(element: Element, owner: str, read: AttributeReader) -> Inertia:
    read.unknown(element, (), ("origin", "mass", "inertia"))
    pose = _origin(element, owner, read)
    mass_element, moments_element = read.only(element, "mass", owner), read.only(element, "inertia", owner)
    for tag, found in (("mass", mass_element), ("inertia", moments_element)):
        if found is None:
            read.report.fault(element.line, f"{owner}: <inertial> has no <{tag}>.")
    if mass_element is None or moments_element is None:
        return MASSLESS
    read.unknown(mass_element, ("value",), ())
    read.unknown(moments_element, MOMENTS, ())
    mass = read.number(mass_element, "value", owner)
    if mass < 0.0:
        read.report.fault(mass_element.line, f"{owner} has mass {mass:g} kg; mass must not be negative.")
    xx, xy, xz, yy, yz, zz = (read.number(moments_element, name, owner) for name in MOMENTS)
    if mass == 0.0 and max(map(abs, (xx, xy, xz, yy, yz, zz))) < NO_MOMENT:
        return MASSLESS
    moments = (xx, yy, zz) if not (xy or xz or yz) else ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    if pose.rotation == IDENTITY:
        return Inertia(mass, pose.xyz, moments)
    return Inertia(mass, moments=moments).at(pose)


def _origin(element: Element, owner: str, read: AttributeReader) -> Pose:
    origin = read.only(element, "origin", owner)
    if origin is not None:
        read.unknown(origin, ("xyz", "rpy"), ())
    return read.pose(origin, owner)


def _shape(element: Element, owner: str, read: AttributeReader) -> Shape | None:
    """The shape of a <collision> or <visual>; colours and textures of the latter are only for display and passed over."""
    seen = element.tag == "visual"
    read.unknown(element, ("name",), ("origin", "geometry", "material") if seen else ("origin", "geometry"))
    placement = _origin(element, owner, read)
    geometry = read.only(element, "geometry", f"{owner}: <{element.tag}>")
    if geometry is None:
        read.report.fault(element.line, f"{owner}: <{element.tag}> has no <geometry>.")
        return None
    if len(geometry.children) != 1:
        read.report.fault(geometry.line, f"{owner}: <geometry> has {len(geometry.children)} shapes; it takes one.")
        return None
    (shape,) = geometry.children
    found = _geometry(shape, owner, read)
    if found is None:
        kind = f"{'visual' if seen else 'collision'} shape <{shape.tag}>"
        read.report.note(shape.line, f"{owner}: {kind}", "no such shape is known; it is left out", group=kind)
        return None
    return replace(found, placement=placement, visual_only=seen)


def _geometry(shape: Element, owner: str, read: AttributeReader) -> Shape | None:
    def length(name: str) -> float:
        return _positive(shape, name, owner, read)

    if shape.tag == "box":
        read.unknown(shape, ("size",), ())
        size = read.vector(shape, "size", owner, None)
        if "size" in shape.attributes and min(size) < 0.0:
            read.report.fault(shape.line, f"{owner}: <box> has the size {size} m; edges must not be negative.")
        return Box(size)
    if shape.tag == "sphere":
        read.unknown(shape, ("radius",), ())
        return Sphere(length("radius"))
    if shape.tag in ("cylinder", "capsule"):
        read.unknown(shape, ("radius", "length"), ())
        return (Cylinder if shape.tag == "cylinder" else Capsule)(length("radius"), length("length"))
    if shape.tag == "mesh":
        read.unknown(shape, ("filename", "scale"), ())
        file = read.text(shape, "filename", owner)
        path = find_mesh(file, Path(read.report.file))
        if file and not path:
            read.report.note(
                shape.line, f"mesh file '{file}' is absent", "its shape is kept by file name", group="absent mesh"
            )
        return Mesh(file, read.vector(shape, "scale", owner, (1.0, 1.0, 1.0)), path, missing=not path)
    return None


def _positive(element: Element, name: str, owner: str, read: AttributeReader) -> float:
    value = read.number(element, name, owner)
    if value < 0.0:
        read.report.fault(element.line, f"{owner}: <{element.tag}> has {name} {value:g} m; it must not be negative.")
    return value


# ----------------------------------------------------------------------------------------------------------- mesh files


def find_mesh(name: str, beside: Path) -> str:
    """The absolute path of a mesh file named in a robot's file, or "" when it is not there.

    name: a plain path (from the robot's folder), file://..., or package://PACKAGE/PATH and model://PACKAGE/PATH, which are
    looked for in the folders above the robot's file and in those of ROS_PACKAGE_PATH.
    """
    scheme, rest = _split(name)
    if scheme == "file":
        candidates = [Path(rest)]
    elif scheme in ("package", "model"):
        package, _, inside = rest.partition("/")
        candidates = [
            *(up / package / inside for up in beside.absolute().parents),
            *(up / inside for up in beside.absolute().parents if up.name == package),
            *(
                Path(folder) / package / inside
                for folder in os.environ.get("ROS_PACKAGE_PATH", "").split(":")
                if folder
            ),
        ]
    elif scheme:
        return ""
    else:
        candidates = [beside.absolute().parent / rest]
    for candidate in candidates:
        try:
            if candidate.is_file():
                return str(candidate)
        except (OSError, ValueError):
            return ""
    return ""


def _split(name: str) -> tuple[str, str]:
    scheme, separator, rest = name.partition("://")
    if not separator:
        return "", name
    if scheme.lower() == "file":
        return "file", unquote(urlsplit(name).path)
    return scheme.lower(), rest
