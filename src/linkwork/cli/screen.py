"""What commands print with: one console per stream, plain tables, and progress that is silent off a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from linkwork.errors import LinkworkError

PLAIN_WIDTH = 120  # columns when the output is not a terminal, so that files and pipes do not wrap


def console(stderr: bool = False) -> Console:
    """A console on today's stdout or stderr (tests and pipes replace them, so none is kept)."""
    made = Console(stderr=stderr, highlight=False, soft_wrap=False)
    if not made.is_terminal:
        made.width = max(made.width, PLAIN_WIDTH)
    return made


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> Table:
    """A table of text; the first `left` columns are words, the others numbers on the right."""
    made = Table(title=escape(title) or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for k, column in enumerate(columns):
        made.add_column(escape(column), justify="left" if k < left else "right", overflow="fold")
    for row in rows:
        made.add_row(*(escape(cell) for cell in row))
    return made


@contextmanager
def working(what: str) -> Iterator[None]:
    """Shows what is under way on a terminal; says nothing elsewhere."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield
        return
    with screen.status(escape(f"{what} ...")):
        yield


def seconds(value: float) -> str:
    """A time with three digits in the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def count(value: int) -> str:
    return f"{value:,}"


def beside(recording: Path, suffix: str) -> Path:
    """The file beside a recording that has its name and one more ending: out/a.v1 → out/a.v1.png."""
    whole = recording.resolve()
    return whole.with_name(whole.name + suffix)


def refuse_existing(out: Path, force: bool) -> None:
    if out.is_dir():
        raise LinkworkError(f"'{short(out)}' is a folder; choose a file with --out.")
    if out.exists() and not force:
        raise LinkworkError(f"'{short(out)}' exists already; choose another with --out, or replace it with --force.")


@contextmanager
def written_whole(out: Path) -> Iterator[Path]:
    """A path to write to, with the same ending, which takes the place of `out` once everything is written."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = out.with_name(f".{out.stem}.{os.getpid()}.partial{out.suffix}")
    try:
        yield partial
        os.replace(partial, out)
    finally:
        partial.unlink(missing_ok=True)


def short(path: Path) -> Path:
    """As a user would write it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
