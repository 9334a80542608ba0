"""The text of ASF and AMC files: sections that begin with a colon; frames that begin with a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.files import checked_file
from linkwork.errors import FormatError
from linkwork.importers.report import Report

ROOT = "root"
LARGEST = 1e9  # no length or angle of a recording is as large, whatever its unit
FREEDOMS = ("tx", "ty", "tz", "rx", "ry", "rz", "l")


@dataclass
class AsfBone:
    """A bone as written: it runs from the end of its parent along `direction`, given in the skeleton's frame."""

    name: str
    line: int
    direction: tuple[float, ...] = (0.0, 0.0, 0.0)
    length: float = 0.0
    axis: tuple[float, ...] = (0.0, 0.0, 0.0)  # angles of the frame its freedoms refer to
    axis_order: str = "xyz"
    dof: list[str] = field(default_factory=list)
    limits: list[tuple[float, float]] = field(default_factory=list)
    parent: str = ""


@dataclass
class AsfText:
    length: float = 1.0  # of an inch, in the file's units
    degrees: float = 1.0  # in one unit of angle
    root_order: list[str] = field(default_factory=lambda: ["TX", "TY", "TZ", "RX", "RY", "RZ"])
    root_position: tuple[float, ...] = (0.0, 0.0, 0.0)
    root_line: int = 1
    bones: list[AsfBone] = field(default_factory=list)  # parents first

    @cached_property
    def by_name(self) -> dict[str, AsfBone]:
        return {bone.name: bone for bone in self.bones}

    def children(self, name: str) -> list[str]:
        return [bone.name for bone in self.bones if bone.parent == name]


def _lines(path: str | Path) -> list[tuple[int, str]]:
    try:
        text = checked_file(path).read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}.") from None
    stripped = ((k + 1, line.split("#", 1)[0].strip()) for k, line in enumerate(text.splitlines()))
    return [(k, line) for k, line in stripped if line]


def read_asf(path: str | Path, report: Report) -> AsfText:
    """Reads a skeleton; raises FormatError with every fault and its line."""
    text = AsfText()
    section, bone = "", None
    order: list[tuple[int, list[str]]] = []
    for line, content in _lines(path):
        words = content.split()
        if content.startswith(":"):
            section = words[0].lower()
            text.root_line = line if section == ":root" else text.root_line
        elif section == ":units":
            _unit(text, words, line, report)
        elif section == ":root":
            _root(text, words, line, report)
        elif section == ":bonedata":
            if words[0] == "begin":
                bone = AsfBone("", line)
            elif words[0] == "end" and bone is not None:
                text.bones.append(bone)
                bone = None
            elif bone is not None:
                _bone_line(bone, words, content, line, report)
        elif section == ":hierarchy" and words[0] not in ("begin", "end"):
            order.append((line, words))
    if not text.bones and not report.fault_count:
        report.fault(1, "there is no :bonedata section with bones; this is not an ASF skeleton.")
    report.raise_faults()
    _hang(text, order, report)
    report.raise_faults()
    return text


def _unit(text: AsfText, words: list[str], line: int, report: Report) -> None:
    if words[0] == "length":
        (text.length,) = _floats(words[1:2], 1, line, report)
        if not text.length > 0.0:
            report.fault(line, f"length is {text.length:g}; it must be > 0.")
    elif words[0] == "angle" and words[1:2] == ["rad"]:
        text.degrees = 180.0 / np.pi


def _root(text: AsfText, words: list[str], line: int, report: Report) -> None:
    if words[0] == "order":
        text.root_order = words[1:]
        if sorted(word.lower() for word in words[1:]) != sorted(FREEDOMS[:6]):
            report.fault(line, f"order of the root is {words[1:]}; it must name TX TY TZ RX RY RZ once each.")
    elif words[0] == "position":
        text.root_position = _floats(words[1:], 3, line, report)
    elif words[0] == "orientation" and any(_floats(words[1:], 3, line, report)):
        report.note(line, "root", "its own orientation is not kept; only that of the motion")


def _bone_line(bone: AsfBone, words: list[str], content: str, line: int, report: Report) -> None:
    match words[0].lower():
        case "name":
            bone.name = " ".join(words[1:])
        case "direction":
            bone.direction = _floats(words[1:], 3, line, report)
        case "length":
            (bone.length,) = _floats(words[1:], 1, line, report)
        case "axis":
            bone.axis = _floats(words[1:4], 3, line, report)
            bone.axis_order = words[4].lower() if len(words) > 4 else "xyz"
            if sorted(bone.axis_order) != ["x", "y", "z"]:
                report.fault(line, f"axis order '{bone.axis_order}' does not name x, y and z once each.")
        case "dof":
            bone.dof = [word.lower() for word in words[1:]]
            unknown = [word for word in bone.dof if word not in FREEDOMS]
            if unknown:
                report.fault(line, f"unknown degrees of freedom {unknown}; there are {', '.join(FREEDOMS)}.")
        case "id" | "bodymass" | "cofmass":
            pass
        case _:
            pairs = re.findall(r"\(\s*(\S+)\s+(\S+?)\s*\)", content)
            if not pairs:
                report.fault(line, f"'{content[:40]}' is nothing a bone has.")
            bone.limits += [_floats(pair, 2, line, report) for pair in pairs]  # type: ignore[misc]


def _hang(text: AsfText, order: list[tuple[int, list[str]]], report: Report) -> None:
    """Takes parents from the hierarchy, and puts the bones parents first."""
    known = {bone.name: bone for bone in text.bones}
    for bone in text.bones:
        if bone.name in (ROOT, "world", "") or known[bone.name] is not bone:
            report.fault(bone.line, f"a bone cannot be called '{bone.name}'; the name is taken. Rename it.")
    if report.fault_count:
        return
    for line, (parent, *children) in order:
        if parent != ROOT and parent not in known:
            report.fault(line, f"the hierarchy hangs bones from '{parent}', which is not in :bonedata.")
        for child in children:
            if child not in known:
                report.fault(line, f"the hierarchy has a bone '{child}' that is not in :bonedata.")
            elif known[child].parent:
                report.fault(line, f"bone '{child}' hangs from two others.")
            else:
                known[child].parent = parent
    for bone in text.bones:
        if not bone.parent:
            report.fault(bone.line, f"bone '{bone.name}' is not in the hierarchy.")
    sorted_bones: list[AsfBone] = []
    waiting = [ROOT]
    while waiting:
        name = waiting.pop(0)
        for bone in text.bones:
            if bone.parent == name:
                sorted_bones.append(bone)
                waiting.append(bone.name)
    if len(sorted_bones) < len(text.bones) and not report.fault_count:
        report.fault(1, "bones hang from each other in a cycle.")
    text.bones = sorted_bones


def read_amc(path: str | Path, skeleton: AsfText, report: Report) -> dict[str, FloatArray]:
    """Numbers of every bone by name, shape (frames, degrees of freedom); "root" has six."""
    wanted = {ROOT: 6, **{bone.name: len(bone.dof) for bone in skeleton.bones}}
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name, size in wanted.items() if size}
    frame = 0
    for line, content in _lines(path):
        words = content.split()
        if content.startswith(":"):
            if words[0].lower() == ":radians":
                report.note(line, "radians", "angles are read in the skeleton's unit")
        elif len(words) == 1 and words[0].isascii() and words[0].isdigit():
            _check_frame(rows, frame, line, report)
            frame += 1
        elif words[0] not in rows:
            if words[0] not in wanted:
                report.fault(line, f"bone '{words[0]}' is not in the skeleton.")
        else:
            rows[words[0]].append(_floats(words[1:], wanted[words[0]], line, report))
        if report.fault_count >= FormatError.SHOWN:
            break
    _check_frame(rows, frame, 0, report)
    if not frame:
        report.fault(1, "the motion has no frames.")
    report.raise_faults()
    return {name: np.array(values) for name, values in rows.items()}


def _check_frame(rows: dict[str, list[tuple[float, ...]]], frame: int, line: int, report: Report) -> None:
    missing = [name for name, values in rows.items() if len(values) != frame]
    if missing and not report.fault_count:
        report.fault(line, f"frame {frame} does not give each bone once: {', '.join(missing[:4])}.")


def _floats(words: Sequence[str], count: int, line: int, report: Report) -> tuple[float, ...]:
    try:
        values = tuple(float(word) for word in words)
        if len(values) == count and (np.abs(values) < LARGEST).all():
            return values
    except ValueError:
        pass
    report.fault(line, f"expected {count} numbers, found '{' '.join(words)[:60]}'.")
    return (0.0,) * count
