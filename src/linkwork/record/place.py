"""How a recording comes to its place: made beside it under a hidden name, and renamed when it stands."""

from __future__ import annotations

import glob
import os
import shutil
from pathlib import Path

from linkwork.errors import FormatError, LinkworkError
from linkwork.record.container import PARTIAL, read_root, synchronize
from linkwork.record.lock import WriterLock

ASIDE = f".old{PARTIAL}"  # how a recording is called while it is being replaced


def partial_folder(path: Path) -> Path:
    """Where this process makes the recording that will stand at `path`."""
    return path.parent / f".{path.name}.{os.getpid()}{PARTIAL}"


def refuse_existing(path: Path, force: bool) -> None:
    """What stands at the path may stay, or may it go? Asked before anything is computed, and again before the rename."""
    if not (path.exists() or path.is_symlink()):
        return
    if path.is_dir() and not any(path.iterdir()):
        return
    if not force:
        raise LinkworkError(f"'{path}' exists already; choose another place, or replace it with force=True (--force).")
    try:
        last = read_root(path)
    except FormatError:
        raise LinkworkError(
            f"'{path}' exists and is no recording that could be replaced; choose another place."
        ) from None
    WriterLock(path, last.get("writer")).release()


def put_in_place(partial: Path, path: Path, force: bool) -> None:
    """The new recording takes its place; an old one goes when it has."""
    refuse_existing(path, force)
    if not path.exists() or not any(path.iterdir()):
        os.replace(partial, path)
        synchronize(path.parent)
        return
    aside = partial.with_name(f".{path.name}.{os.getpid()}{ASIDE}")
    os.rename(path, aside)
    os.rename(partial, path)
    synchronize(path.parent)
    shutil.rmtree(aside, ignore_errors=True)


def remove_stale(path: Path) -> None:
    """Beginnings of runs that were killed before their recording appeared. What was set aside for one stays."""
    for folder in path.parent.glob(f".{glob.escape(path.name)}.*{PARTIAL}"):
        if folder.name.endswith(ASIDE):
            continue
        try:
            WriterLock(folder).release()
        except LinkworkError:
            continue  # another run is about to begin here; the one whose rename comes first has the place
        shutil.rmtree(folder, ignore_errors=True)
