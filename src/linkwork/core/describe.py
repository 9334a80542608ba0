"""What objects show of themselves: one line in a shell, a small table in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable

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
