"""The <joint> of a URDF: kind, axis, limits, damping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.importers.attributes import AttributeReader
from linkwork.importers.xml_tree import Element
from linkwork.model.joints import Fixed, Free, Joint, Planar, Prismatic, Revolute
from linkwork.spatial.pose import Pose, Vector3

KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
WITH_AXIS = ("revolute", "continuous", "prismatic", "planar")
WITH_LIMITS = ("revolute", "prismatic")  # URDF demands a <limit> of these
DEFAULT_AXIS: Vector3 = (1.0, 0.0, 0.0)  # the URDF specification's
CHILDREN = ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic")


@dataclass(frozen=True, slots=True)
class Mimic:
    """q = multiplier · q of the leader + offset."""

    leader: str
    multiplier: float
    offset: float
    line: int


@dataclass(slots=True)
class UrdfJoint:
    name: str
    line: int
    parent: str
    child: str
    joint: Joint
    placement: Pose
    mimic: Mimic | None = None


def read_joint(element: Element, read: AttributeReader) -> UrdfJoint:
    name = read.text(element, "name", "joint")
    owner = f"joint '{name}'"
    read.unknown(element, ("name", "type"), CHILDREN)
    origin = read.only(element, "origin", owner)
    if origin is not None:
        read.unknown(origin, ("xyz", "rpy"), ())
    parent, child = (_link_name(element, tag, owner, read) for tag in ("parent", "child"))
    return UrdfJoint(name, element.line, parent, child, _joint(element, owner, read), read.pose(origin, owner),
                     _mimic(element, owner, read))  # fmt: skip


def _link_name(element: Element, tag: str, owner: str, read: AttributeReader) -> str:
    found = read.only(element, tag, owner)
    if found is None:
        read.report.fault(element.line, f"{owner} has no <{tag}>; name the link it hangs {_FROM[tag]}.")
        return ""
    read.unknown(found, ("link",), ())
    return read.text(found, "link", owner)


_FROM = {"parent": "from", "child": "up"}


def _joint(element: Element, owner: str, read: AttributeReader) -> Joint:
    kind = read.text(element, "type", owner)
    if kind and kind not in KINDS:
        read.report.fault(element.line, f"{owner} has the unknown type '{kind}'; known are {', '.join(KINDS)}.")
    axis = _axis(element, owner, read) if kind in WITH_AXIS else DEFAULT_AXIS
    if kind == "fixed" or kind not in KINDS:
        return Fixed()
    damping = _damping(element, owner, read)
    limits, effort, velocity = _limits(element, kind, owner, read)
    options: dict[str, Any] = {"damping": damping, "effort_limit": effort, "velocity_limit": velocity}
    if kind == "prismatic":
        return Prismatic(axis, limits=limits, **options)
    if kind == "floating":
        return Free(**options)
    if kind == "planar":
        return Planar(axis, **options)
    return Revolute(axis, limits=limits, **options)


def _axis(element: Element, owner: str, read: AttributeReader) -> Vector3:
    found = read.only(element, "axis", owner)
    if found is None:
        return DEFAULT_AXIS
    read.unknown(found, ("xyz",), ())
    faults_before = read.report.fault_count
    axis = read.vector(found, "xyz", owner)
    if not any(axis):
        if read.report.fault_count == faults_before:  # three zeros, not something unreadable
            read.report.fault(found.line, f"{owner} has the axis (0, 0, 0); give a direction such as 0 0 1.")
        return DEFAULT_AXIS
    return axis


def _damping(element: Element, owner: str, read: AttributeReader) -> float | None:
    found = read.only(element, "dynamics", owner)
    if found is None:
        return None
    read.unknown(found, ("damping", "friction"), ())
    damping, friction = (read.number(found, name, owner, 0.0) for name in ("damping", "friction"))
    if damping < 0.0:
        read.report.fault(found.line, f"{owner} has damping {damping:g}; it must not be negative.")
    if friction != 0.0:
        read.report.note(
            found.line, f"{owner}: friction {friction:g}", "dry friction is not simulated", group="friction"
        )
    return damping or None


Limits = tuple[tuple[float, float] | None, float | None, float | None]


def _limits(element: Element, kind: str, owner: str, read: AttributeReader) -> Limits:
    """(lower, upper), effort and velocity; None where the file sets no limit."""
    found = read.only(element, "limit", owner)
    if found is None:
        if kind in WITH_LIMITS:
            hint = ' or use type="continuous"' if kind == "revolute" else ""
            read.report.fault(
                element.line, f"{owner} of type {kind} has no <limit>; give lower, upper, effort and velocity{hint}."
            )
        return None, None, None
    read.unknown(found, ("lower", "upper", "effort", "velocity"), ())
    required = None if kind in WITH_LIMITS else float("inf")
    effort, velocity = (read.number(found, name, owner, required, infinite=True) for name in ("effort", "velocity"))
    for name, value in (("effort", effort), ("velocity", velocity)):
        if value < 0.0:
            read.report.fault(found.line, f"{owner} has the {name} limit {value:g}; it must not be negative.")
    lower, upper = (read.number(found, name, owner, 0.0, infinite=True) for name in ("lower", "upper"))
    limits: tuple[float, float] | None = (lower, upper)
    if lower > upper:
        read.report.fault(found.line, f"{owner} has limits the wrong way round: lower {lower:g} > upper {upper:g}.")
    elif lower == upper and kind in WITH_LIMITS:
        # Exporters write 0, 0 for "not set"; taken at its word it would lock the joint.
        subject = f"{owner}: limits ({lower:g}, {upper:g})"
        read.report.note(found.line, subject, "they leave no room to move; read as no limits", group="empty limits")
        limits = None
    return (limits if kind in WITH_LIMITS else None), effort, velocity


def _mimic(element: Element, owner: str, read: AttributeReader) -> Mimic | None:
    found = read.only(element, "mimic", owner)
    if found is None:
        return None
    read.unknown(found, ("joint", "multiplier", "offset"), ())
    leader = read.text(found, "joint", owner)
    multiplier, offset = read.number(found, "multiplier", owner, 1.0), read.number(found, "offset", owner, 0.0)
    return Mimic(leader, multiplier, offset, found.line)
