"""XML as a tree of elements with their lines. Python's own trees drop them, and errors must name them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from linkwork.core.files import checked_file
from linkwork.errors import FormatError


@dataclass(slots=True)
class Element:
    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]


def read_xml(path: str | Path) -> Element:
    """The root element of a file; malformed XML raises FormatError with the line."""
    parser = expat.ParserCreate()
    open_elements: list[Element] = []
    roots: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber)
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def end(tag: str) -> None:
        open_elements.pop()

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(_content(path), True)
    except expat.ExpatError as error:
        inside = ""
        if open_elements:
            inside = f", inside <{open_elements[-1].tag}> opened on line {open_elements[-1].line}"
        raise FormatError(
            f"{path}: 1 fault",
            [f"{path}:{error.lineno}: malformed XML, {expat.ErrorString(error.code)}{inside}. Is the file truncated?"],
        ) from None
    except (LookupError, ValueError) as error:  # Python's words for an encoding it does not have
        raise FormatError(f"{path}: 1 fault", [f"{path}:1: {error}; save the file as UTF-8."]) from None
    return roots[0]


def root_tag(path: str | Path) -> str:
    """The tag of the first element, or "" when the file has none that can be read."""
    parser = expat.ParserCreate()
    tags: list[str] = []
    parser.StartElementHandler = lambda tag, attributes: tags.append(tag)
    with suppress(expat.ExpatError, LookupError, ValueError):  # reported where the whole file is read
        parser.Parse(_content(path), True)
    return tags[0] if tags else ""


def _content(path: str | Path) -> bytes:
    try:
        return checked_file(path).read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read, {error.strerror}.") from None
