"""What objects show of themselves: one line in a shell, a small table in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

MOST_ROWS = 12
LEFT = 'style="text-align:left"'


def html_table(title: str, rows: Iterable[tuple[str, object]], more: str = "") -> str:
    """A table of names and values below a title, as HTML; what is in them is text, never markup."""
    shown = list(rows)
    body = "".join(
        f"<tr><th {LEFT}>{html.escape(name)}</th><td {LEFT}>{html.escape(str(value))}</td></tr>"
        for name, value in shown
    )
    note = f"<div><i>{html.escape(more)}</i></div>" if more else ""
    return f"<div><b>{html.escape(title)}</b><table>{body}</table>{note}</div>"


def quoted(names: Iterable[str], count: int, most: int = MOST_ROWS) -> str:
    """The first of many names, and how many more there are."""
    first = [name for name, _ in zip(names, range(most), strict=False)]
    more = count - len(first)
    return ", ".join(first) + (f", ... ({more:,} more)" if more > 0 else "")


# ------------------------------------------------------------------------------- for classes with nothing special to show


def described(kind: Any) -> Any:
    """A class that holds more than it needs to show: a line of its public attributes, arrays by shape, and their table."""
    kind.__repr__ = line_of_attributes
    return tabled(kind)


def tabled(kind: Any) -> Any:
    """A class that shows its public attributes in a small table in notebooks."""
    kind._repr_html_ = table_of_attributes
    return kind


def line_of_attributes(self: Any) -> str:
    return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in _attributes(self))})"


def table_of_attributes(self: Any) -> str:
    return html_table(type(self).__name__, _attributes(self))


def _attributes(thing: Any) -> list[tuple[str, str]]:
    """Public attributes and short texts of their values; what has no short text is left out."""
    if is_dataclass(thing):
        names = [field.name for field in fields(thing)]
    else:
        names = next(
            list(getattr(thing, kind)) for kind in ("_fields", "__slots__", "__dict__") if hasattr(thing, kind)
        )
    found = ((name, _short(getattr(thing, name, None))) for name in names if not name.startswith("_"))
    return [(name, text) for name, text in found if text is not None]


LONGEST = 80  # characters of one value
FEW = 8  # numbers that are shown one by one


def _short(value: Any) -> str | None:
    """A value on part of a line; None where it has no text that says anything."""
    if isinstance(value, np.ndarray):
        if value.ndim <= 1 and value.size <= FEW:
            return np.array2string(value, precision=6, separator=", ")
        return f"array of shape {value.shape}"
    if isinstance(value, (list, tuple, set, frozenset, dict)) and len(value) > FEW:
        return f"{len(value):,} entries"
    if type(value).__repr__ is object.__repr__ or callable(value):
        return None
    text = f"{value:g}" if isinstance(value, float) else repr(value)
    if " at 0x" in text or "array(" in text:
        return type(value).__name__
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."
