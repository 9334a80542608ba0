"""Reads our docstrings for the API pages: plain prose, with `name: meaning` lines that a site should show as a list.

Two things Markdown cannot know: that lines which name a parameter, and `Returns`, `Raises` and `Cost` lines, begin anew;
and that a comment behind a field is its documentation. This is an extension of Griffe, which reads source files without
importing them; mkdocs.yml names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe

LINE_LENGTH = 120
ROOM_TO_SPARE = 8  # columns: who breaks a line earlier than this means it
NAMES = r"`?[A-Za-z_]\w*`?(?:(?:, | and | or )`?[A-Za-z_]\w*`?){0,4}"
NAMED_LINE = re.compile(rf"^({NAMES})(?: \[[^\]]*\])?: (?=\S)")
NAME_WITH_UNIT = re.compile(r"^([A-Za-z_]\w*)(?= \[)")
STANDING_LINE = re.compile(r"^(Returns|Raises|Cost|Theory)\b")
FIELD_COMMENT = re.compile(r"^\s*\w+\s*:\s*[^#\"']*?\s{2}# (.+)$")


class HouseDocstrings(griffe.Extension):
    """Turns the docstrings of a package into Markdown."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Fields that begin with an underscore do not concern a caller, though a dataclass takes them."""
        for made in _classes(pkg):
            start = made.members.get("__init__")
            if isinstance(start, griffe.Function):
                start.parameters = griffe.Parameters(*(p for p in start.parameters if not p.name.startswith("_")))

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is None and obj.is_attribute and obj.parent is not None and obj.parent.is_class:
            said = field_comment(obj)
            if said:
                obj.docstring = griffe.Docstring(as_markdown(said, set(), 0), parent=obj)
        elif obj.docstring is not None and not obj.is_module:
            obj.docstring.value = as_markdown(obj.docstring.value, known_names(obj), 4 * len(obj.path.split(".")) - 8)


def _classes(module: griffe.Module | griffe.Class) -> Iterator[griffe.Class]:
    for member in module.members.values():
        if isinstance(member, griffe.Class):
            yield member
        if isinstance(member, griffe.Class | griffe.Module):
            yield from _classes(member)


def field_comment(obj: griffe.Object) -> str:
    """What the comment behind a field says, or nothing."""
    match = FIELD_COMMENT.match(obj.lines[0]) if len(obj.lines) == 1 else None
    return match[1] if match else ""


def known_names(obj: griffe.Object) -> set[str]:
    """Parameters of a function; fields, members and constructor parameters of a class."""
    if isinstance(obj, griffe.Function):
        return {parameter.name for parameter in obj.parameters}
    if not isinstance(obj, griffe.Class):
        return set()
    names = set(obj.members) | {parameter.name for parameter in obj.parameters}
    return names | set(obj.inherited_members)


def as_markdown(text: str, names: set[str], indent: int) -> str:
    """The docstring with its named lines as a list and its deliberate line breaks kept.

    names: what may stand before a colon as a name. indent: of the docstring in its file [columns].
    """
    made = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines()
        if all(line.startswith("    ") for line in lines if line.strip()):
            made.append(paragraph)  # an indented block is code
            continue
        made += [_block(entry, names) for entry in _entries(lines, names, indent)]
    joined = ""
    for block, before in zip(made, ["", *made[:-1]], strict=True):
        both_items = block.startswith("- ") and before.startswith("- ")
        joined += ("" if not before else "\n" if both_items else "\n\n") + block
    return joined


def _entries(lines: list[str], names: set[str], indent: int) -> list[str]:
    """Lines put together as far as they belong together."""
    entries: list[str] = []
    last = ""
    for line in lines:
        words = line.strip()
        if entries and not _begins(words, last, names, indent + len(line) - len(line.lstrip())):
            entries[-1] += " " + words
        else:
            entries.append(words)
        last = line
    return [part for entry in entries for part in _split_names(entry, names)]


def _begins(line: str, last: str, names: set[str], indent: int) -> bool:
    """Whether a line begins something new: a name, a standing word, or a line that would have fitted above."""
    if _named(line, names) or STANDING_LINE.match(line):
        return True
    would_fit = indent + len(last.strip()) + 1 + len(line.split(" ")[0]) <= LINE_LENGTH - ROOM_TO_SPARE
    return would_fit and last.rstrip().endswith((".", ":", ";", "]", ")"))


def _named(line: str, names: set[str]) -> re.Match[str] | None:
    """`name: meaning`, or `name [unit], other [unit]: meaning`, if it is a name of this object."""
    match = NAMED_LINE.match(line) or NAME_WITH_UNIT.match(line)
    return match if match and names & set(re.findall(r"\w+", match[1])) else None


def _split_names(entry: str, names: set[str]) -> list[str]:
    """`one: this. two: that.` on one line are two entries."""
    parts = [""]
    for sentence in re.split(r"(?<=[.;]) (?=\S)", entry):
        if parts[-1] and _named(sentence, names):
            parts.append(sentence)
        else:
            parts[-1] += (" " if parts[-1] else "") + sentence
    return parts


def _block(entry: str, names: set[str]) -> str:
    match = _named(entry, names)
    if not match:
        return _escaped(entry)
    written = re.sub(r"`?\b(?!and\b|or\b)([A-Za-z_]\w*)`?", r"`\1`", match[1])
    return f"- {written}{_escaped(entry[match.end(1) :])}"


def _escaped(text: str) -> str:
    """Brackets are units and intervals here, not links; stars are products."""
    parts = re.split(r"(`+[^`]*`+)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\[\]*<])", r"\\\1", part) for part in parts)
