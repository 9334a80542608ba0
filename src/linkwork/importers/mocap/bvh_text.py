"""The text of a BVH file: a hierarchy of joints, then rows of numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.files import checked_file
from linkwork.errors import FormatError
from linkwork.importers.attributes import finite_number, integer
from linkwork.importers.report import Report

LARGEST = 1e9  # no length or angle of a recording is as large, whatever its unit

CHANNELS = tuple(f"{axis}{what}" for what in ("position", "rotation") for axis in "xyz")


@dataclass
class BvhJoint:
    """A joint as written."""

    name: str
    parent: str
    line: int
    offset: FloatArray = field(default_factory=lambda: np.zeros(3))
    channels: list[str] = field(default_factory=list)  # such as "zrotation", in the order of the columns
    sites: list[FloatArray] = field(default_factory=list)  # end sites


class BvhText(NamedTuple):
    joints: list[BvhJoint]  # parents first
    frame_time: float  # [s]
    frames: FloatArray  # (frames, channels)


def read_bvh(path: str | Path, report: Report) -> BvhText:
    """Reads the file; raises FormatError with every fault and its line."""
    try:
        lines = checked_file(path).read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}.") from None
    if not lines:
        raise FormatError(f"{path}: the file is empty.")
    start = next((k for k, line in enumerate(lines) if line.strip().upper() == "MOTION"), len(lines))
    joints = _Hierarchy(lines[:start], report).read()
    if start == len(lines):
        report.fault(len(lines), "there is no MOTION section; a BVH file has a hierarchy and a motion.")
    report.raise_faults()
    frame_time, frames = _motion(lines, start + 1, sum(len(joint.channels) for joint in joints), report)
    report.raise_faults()
    return BvhText(joints, frame_time, frames)


class _Hierarchy:
    """Words with their lines, read from the first to the last."""

    def __init__(self, lines: list[str], report: Report):
        self.words = [(word, k + 1) for k, line in enumerate(lines) for word in line.split()]
        self.at = 0
        self.report = report
        self.joints: list[BvhJoint] = []
        self.names: dict[str, int] = {}

    def read(self) -> list[BvhJoint]:
        if not self._take("HIERARCHY"):
            self.report.fault(1, "the file does not begin with HIERARCHY; a BVH file does.")
            return []
        while self.at < len(self.words) and not self.report.fault_count:
            word, line = self._next()
            if word.upper() != "ROOT":
                self.report.fault(line, f"'{word}' where ROOT was expected.")
                break
            self._joint("world")
        if not self.joints and not self.report.fault_count:
            self.report.fault(1, "the hierarchy has no ROOT.")
        return self.joints

    def _joint(self, above: str) -> None:
        """A joint and everything under it; a stack instead of recursion, since files may nest deeply."""
        stack = [self._open(above)]
        while stack and not self.report.fault_count:
            joint = stack[-1]
            word, line = self._next()
            match word.upper():
                case "}":
                    stack.pop()
                case "OFFSET":
                    joint.offset = self._numbers(3, line)
                case "CHANNELS":
                    joint.channels = self._channels(line)
                case "JOINT":
                    stack.append(self._open(joint.name))
                case "END":
                    joint.sites.append(self._end_site(line))
                case "":
                    self.report.fault(line, f"the file ends inside joint '{joint.name}'; a closing brace is missing.")
                case _:
                    self.report.fault(
                        line,
                        f"'{word}' in joint '{joint.name}'; expected OFFSET, CHANNELS, JOINT, End Site or a brace.",
                    )

    def _open(self, parent: str) -> BvhJoint:
        words, line = [], self._line()
        while self.at < len(self.words) and self.words[self.at][0] != "{":
            words.append(self._next()[0])
        self._take("{")
        name = "_".join(words) or "unnamed"
        if name in self.names or name == "world":
            count = self.names[name] = self.names.get(name, 1) + 1
            self.report.note(line, f"joint '{name}'", f"the name is taken; it is called '{name}_{count}'")
            name = f"{name}_{count}"
        self.names[name] = 1
        joint = BvhJoint(name, parent, line)
        self.joints.append(joint)
        return joint

    def _end_site(self, line: int) -> FloatArray:
        self._take("SITE")
        if not self._take("{"):
            self.report.fault(line, "End Site without a brace.")
            return np.zeros(3)
        offset = self._numbers(3, line) if self._take("OFFSET") else np.zeros(3)
        if not self._take("}"):
            self.report.fault(self._line(), "an End Site holds one OFFSET and a closing brace.")
        return offset

    def _channels(self, line: int) -> list[str]:
        count, _ = self._next()
        size = integer(count, len(CHANNELS))
        if size is None:
            self.report.fault(
                line,
                f"CHANNELS is followed by '{count[:20]}'; it must be a number of channels, at most {len(CHANNELS)}.",
            )
            return []
        names = [self._next()[0].lower() for _ in range(size)]
        for name in names:
            if name not in CHANNELS:
                self.report.fault(line, f"there is no channel '{name}'; there are {', '.join(CHANNELS)}.")
        if len(set(names)) < len(names):
            self.report.fault(line, f"a channel stands twice in {names}.")
        return names

    def _numbers(self, count: int, line: int) -> FloatArray:
        values = []
        for _ in range(count):
            word, _ = self._next()
            value = finite_number(word)
            if not abs(value) < LARGEST:
                self.report.fault(line, f"'{word[:20]}' is not a number below {LARGEST:g}.")
                return np.zeros(count)
            values.append(value)
        return np.array(values)

    def _line(self) -> int:
        return self.words[min(self.at, len(self.words) - 1)][1] if self.words else 1

    def _next(self) -> tuple[str, int]:
        if self.at >= len(self.words):
            return "", self._line()
        self.at += 1
        return self.words[self.at - 1]

    def _take(self, word: str) -> bool:
        if self.at < len(self.words) and self.words[self.at][0].upper() == word:
            self.at += 1
            return True
        return False


def _motion(lines: list[str], start: int, channels: int, report: Report) -> tuple[float, FloatArray]:
    count = _header(lines, start, "Frames", report)
    if not channels:
        report.fault(1, "no joint has a channel, so nothing was recorded; a BVH file has CHANNELS.")
    frame_time = _header(lines, start + 1, "Frame Time", report)
    if report.fault_count:
        return 0.0, np.zeros((0, channels))
    if not frame_time > 0.0:
        report.fault(start + 2, f"Frame Time is {frame_time:g} s; it must be > 0.")
    rows = []
    for k in range(start + 2, len(lines)):
        words = lines[k].split()
        if not words:
            continue
        try:
            row = np.array(words, dtype=float)
        except ValueError:
            report.fault(k + 1, "a frame has a word that is not a number.")
            continue
        if row.size != channels:
            report.fault(k + 1, f"a frame has {row.size} numbers; the hierarchy has {channels} channels.")
        elif not (np.abs(row) < LARGEST).all():
            report.fault(k + 1, f"a frame has a number that is not finite, or not below {LARGEST:g}.")
        else:
            rows.append(row)
    if not report.fault_count and len(rows) != int(count):
        report.note(start + 1, "Frames", f"says {int(count)}, but {len(rows)} were found; those are used")
    if not rows and not report.fault_count:
        report.fault(start + 1, "the motion has no frames.")
    return frame_time, np.array(rows).reshape(-1, channels)


def _header(lines: list[str], k: int, name: str, report: Report) -> float:
    text = lines[k] if k < len(lines) else ""
    key, _, value = text.partition(":")
    try:
        if key.strip().lower() != name.lower():
            raise ValueError
        number = finite_number(value.strip())
        if not 0.0 <= number < LARGEST:
            raise ValueError
        return number
    except ValueError:
        report.fault(k + 1, f"expected '{name}: number', found '{text.strip()[:40]}'.")
        return 0.0
