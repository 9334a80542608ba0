"""Files that commands write: named after what they come from, never over another without asking, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from linkwork.errors import LinkworkError


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
