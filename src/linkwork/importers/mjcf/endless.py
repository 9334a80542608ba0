"""Numbers in an MJCF file that make MuJoCo work without end: found before it begins."""

from __future__ import annotations

import math
from pathlib import Path

from linkwork.core.files import checked_file
from linkwork.errors import FormatError
from linkwork.importers.attributes import finite_number
from linkwork.importers.report import Report
from linkwork.importers.xml_tree import Element, read_xml

MOST_ELEMENTS = 100_000  # that replicate, composite and flexcomp may make
MOST_RESERVED = 10_000_000  # of anything a <size> reserves
DEEPEST_INCLUDE = 20


def refuse_endless(root: Element, file: Path, report: Report) -> None:
    """Notes a fault for every multiplication or reservation beyond the limits, in included files too.

    A file counts where it is included first: MuJoCo takes each file once.
    """
    waiting: list[tuple[Element, Path, int, float]] = [(root, file, 0, 1.0)]
    read = {_place(file)}
    while waiting:
        element, source, depth, times = waiting.pop()
        times *= _multiplied(element)
        if times > MOST_ELEMENTS:
            report.fault(
                element.line if source == file else 0,
                f"<{element.tag}> makes {times:.3g} elements; Linkwork lets MuJoCo make at most {MOST_ELEMENTS:,}.",
            )
            continue
        if element.tag == "size":
            _check_size(element, report)
        waiting += [(child, source, depth, times) for child in element.children]
        if element.tag == "include":
            other = file.parent / element.attributes.get("file", "")
            line = element.line if source == file else 0
            if _place(other) in read:
                report.fault(line, f"<include> names '{other.name}' again; MuJoCo takes each file once.")
            elif depth >= DEEPEST_INCLUDE:
                report.fault(line, f"<include> of '{other.name}' is the {DEEPEST_INCLUDE + 1}th inside another.")
            elif _exists(other):
                read.add(_place(other))
                try:
                    checked_file(other)
                except FormatError as error:  # a pipe or a device, which MuJoCo would read without end
                    report.fault(line, f"<include> of what cannot be read: {error}")
                    continue
                try:
                    waiting.append((read_xml(other), other, depth + 1, times))
                except FormatError:
                    continue  # MuJoCo's own message about an include is clearer


def _place(file: Path) -> str:
    """One text per file, however its path is written."""
    try:
        return str(file.resolve())
    except (OSError, ValueError, RuntimeError):  # a loop of links, a zero byte
        return str(file)


def _exists(file: Path) -> bool:
    try:
        return file.exists()
    except (OSError, ValueError):
        return False


def _multiplied(element: Element) -> float:
    if element.tag not in ("replicate", "composite", "flexcomp"):
        return 1.0
    counts = [finite_number(word) for word in element.attributes.get("count", "").split()]
    return math.prod(max(x, 1.0) for x in counts if not math.isnan(x))


def _check_size(element: Element, report: Report) -> None:
    for name, text in element.attributes.items():
        value = finite_number(text)
        if not math.isnan(value) and value > MOST_RESERVED:
            report.fault(element.line, f'<size {name}="{text[:40]}"> reserves too much; at most {MOST_RESERVED:,}.')
        elif name == "memory" and _bytes(text) > 4 * 2**30:
            report.fault(element.line, f'<size memory="{text[:40]}"> is above 4 GiB.')


def _bytes(text: str) -> float:
    units = {"K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40, "P": 2.0**50, "E": 2.0**60}
    number = finite_number(text.strip()[:-1])
    factor = units.get(text.strip()[-1:].upper(), 0.0)
    return 0.0 if math.isnan(number) else number * factor
