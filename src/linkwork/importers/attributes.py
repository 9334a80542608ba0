"""Attributes of XML elements as names and numbers; every fault carries its line and the link or joint it belongs to."""

from __future__ import annotations

import math
from collections.abc import Sequence

from linkwork.importers.report import Report
from linkwork.importers.xml_tree import Element
from linkwork.spatial.pose import Pose, Vector3

ZERO: Vector3 = (0.0, 0.0, 0.0)
LARGEST = 1e100  # of a number in a file
SHOWN = 80  # letters of an attribute in a message


class AttributeReader:
    """Reads what is there, notes a fault for what is not, and goes on with a harmless value to find further faults."""

    def __init__(self, report: Report):
        self.report = report

    def text(self, element: Element, name: str, owner: str) -> str:
        """A required attribute; "" after a fault."""
        value = element.attributes.get(name, "").strip()
        if not value:
            self.report.fault(element.line, f"{owner}: <{element.tag}> has no attribute '{name}'.")
        return value

    def number(
        self, element: Element, name: str, owner: str, default: float | None = None, *, infinite: bool = False
    ) -> float:
        """A finite number, required unless there is a default; `infinite` admits ±inf."""
        if default is not None and name not in element.attributes:
            return default
        numbers = self._numbers(element, name, owner, 1, infinite)
        return numbers[0] if numbers else (default or 0.0)

    def vector(self, element: Element, name: str, owner: str, default: Vector3 | None = None) -> Vector3:
        """Three finite numbers, required unless there is a default."""
        if default is not None and name not in element.attributes:
            return default
        numbers = self._numbers(element, name, owner, 3, False)
        return (numbers[0], numbers[1], numbers[2]) if numbers else (default or ZERO)

    def pose(self, element: Element | None, owner: str) -> Pose:
        """An <origin>: xyz [m] and rpy [rad], each zero when absent."""
        if element is None:
            return Pose()
        rpy = self.vector(element, "rpy", owner, ZERO)
        return Pose(self.vector(element, "xyz", owner, ZERO), rpy=rpy if any(rpy) else None)

    def only(self, element: Element, tag: str, owner: str) -> Element | None:
        """The one child of this tag, or None; several are a fault."""
        found = element.all(tag)
        for surplus in found[1:]:
            self.report.fault(
                surplus.line, f"{owner} has a second <{tag}>; the first is on line {found[0].line}. Keep one."
            )
        return found[0] if found else None

    def unknown(self, element: Element, attributes: Sequence[str], children: Sequence[str]) -> None:
        """Notes attributes and children nobody here reads: a misspelt name must not pass as a default."""
        for name in element.attributes:
            if name not in attributes and not name.startswith("xmlns"):  # a namespace means nothing by itself
                kind = f"attribute '{name}' of <{element.tag}>"
                self.report.note(element.line, kind, "not read; no such attribute is known", group=kind)
        for child in element.children:
            if child.tag not in children:
                kind = f"<{child.tag}> in <{element.tag}>"
                self.report.note(child.line, kind, "not read", group=kind)

    def _numbers(self, element: Element, name: str, owner: str, count: int, infinite: bool) -> list[float] | None:
        text = self.text(element, name, owner)
        if not text:
            return None
        words = text.split()
        brief = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
        shown = f'{owner}: <{element.tag} {name}="{brief}">'
        try:
            numbers = [float(word.replace("_", "?")) for word in words]  # Python alone reads 1_000 as a number
        except ValueError:
            numbers = []
        if len(numbers) != count:
            what = "a number" if count == 1 else f"{count} numbers separated by blanks"
            self.report.fault(element.line, f"{shown} is not {what}.")
            return None
        if any(abs(x) > LARGEST and not math.isinf(x) for x in numbers):
            self.report.fault(element.line, f"{shown} is above {LARGEST:g}; squares of it would overflow.")
            return None
        if any(math.isnan(x) or (math.isinf(x) and not infinite) for x in numbers):
            self.report.fault(element.line, f"{shown} is not finite; give ordinary numbers.")
            return None
        return numbers


# -------------------------------------------------------------------------------------------------------------- numbers

# Numbers in files that an importer refuses to begin with. Files themselves are checked by `core.files`.
#
# Limits, stated in docs/formats.md: a file has at most 256 MiB, also when it is unpacked; what a MuJoCo file multiplies
# (replicate, composite, flexcomp) comes to at most 100,000 elements, and no size it reserves is above 10 million.


def integer(text: str, most: int) -> int | None:
    """A whole number from 0 to `most` written in plain digits, or None."""
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(most)) + 20:
        return None
    number = int(text)
    return number if number <= most else None


def finite_number(text: str) -> float:
    """A finite float; NaN for everything else, which no caller accepts."""
    try:
        number = float(text.replace("_", "?"))  # Python alone reads 1_000 as a number
    except ValueError:
        return math.nan
    return number if math.isfinite(number) else math.nan
