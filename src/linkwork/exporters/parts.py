"""What both writers need: numbers in full, joints as screws, refusals that are reported together."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from linkwork.core.checks import as_path, flag
from linkwork.errors import ModelError, StateError
from linkwork.model.joints import Joint
from linkwork.model.linkage import WORLD, Body, Linkage
from linkwork.spatial.pose import Vector3

ENDLESS = 1e30  # for a limit that a format demands and a joint does not have: other readers take no infinity


class Part(NamedTuple):
    """One degree of freedom of a joint as a hinge or a slide."""

    name: str
    slides: bool
    axis: Vector3
    center: Vector3
    lower: float
    upper: float
    damping: float
    stiffness: float
    armature: float
    rest: float
    effort_limit: float
    velocity_limit: float


def written(values: Iterable[float]) -> str:
    """Numbers that are read back as they are."""
    return " ".join(repr(float(value)) for value in values)


def parts_of(body: Body) -> list[Part] | None:
    """The hinges and slides a joint is made of, in their order; None where it is none of these or a screw."""
    joint = body.joint
    if not joint.screws or any(any(screw.axis) and any(screw.slide) for screw in joint.screws):
        return None
    names = body.joint_name.split("+")
    if len(names) != joint.nv:
        names = [body.joint_name] if joint.nv == 1 else [f"{body.joint_name}_{d}" for d in range(joint.nv)]
    limits = joint.limit_pairs()
    columns = {name: joint.per_dof(name) for name in ("damping", "stiffness", "armature")}
    columns |= {name: joint.per_dof(name, math.inf) for name in ("effort_limit", "velocity_limit")}
    rest = joint.rest_coordinates()
    found = []
    for d, screw in enumerate(joint.screws):
        slides = not any(screw.axis)
        numbers = {name: float(column[d]) for name, column in columns.items()}
        found.append(
            Part(names[d], slides, screw.slide if slides else screw.axis, screw.center, float(limits[d, 0]),
                 float(limits[d, 1]), rest=float(rest[d]), **numbers)
        )  # fmt: skip
    return found


def has_springs(joint: Joint) -> bool:
    return any(getattr(joint, name) is not None for name in ("stiffness", "armature"))


def refuse(linkage: Linkage, form: str, faults: list[str]) -> None:
    """Raises one error with everything a format cannot hold."""
    linkage.compile()  # reports what is wrong with the linkage itself
    if faults:
        count = "1 thing" if len(faults) == 1 else f"{len(faults)} things"
        raise ModelError(f"linkage '{linkage.name}' has {count} that {form} cannot hold:", faults)


def one_for_all(body: Body, name: str, lost: list[str]) -> float:
    """An option of a joint that a format has one number for; where its freedoms differ their mean, and that is listed."""
    values = body.joint.per_dof(name)
    if values.min() == values.max():
        return float(values[0])
    lost.append(f"{name} of joint '{body.joint_name}', which differs between its freedoms: their mean is written")
    return float(values.mean())


def children_of(linkage: Linkage) -> dict[str, list[Body]]:
    below: dict[str, list[Body]] = {WORLD: []}
    for body in linkage:
        below.setdefault(body.parent, []).append(body)
    return below


def is_limited(part: Part) -> bool:
    """Whether a coordinate has a limit on either side."""
    return math.isfinite(part.lower) or math.isfinite(part.upper)


def free_place(path: str | Path, what: str, overwrite: bool) -> Path:
    """Where to write; a file that is there stays unless it is to be replaced."""
    file = as_path(path, what)
    if not flag(overwrite, "overwrite") and file.exists():
        raise StateError(f"{what}: '{file}' exists already; give another path, or overwrite=True to replace it.")
    return file


def save(root: ET.Element, file: Path) -> None:
    ET.indent(root)
    file.write_text(ET.tostring(root, encoding="unicode") + "\n", encoding="utf-8")


def lost_drives(linkage: Linkage) -> list[str]:
    """Sensors and actuators, which are not written, and units other than SI."""
    found = [] if linkage.units == "SI" else ["that numbers are in nm, ps and Da: they are written as they are"]
    found += [f"sensor '{sensor.name}'" for sensor in linkage.sensors]
    return found + [f"actuator '{actuator.name}'" for actuator in linkage.actuators]
