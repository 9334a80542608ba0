"""How a recording comes to its place: made beside it under a hidden name, and renamed when it stands.

A process that begins or replaces a recording holds its lock (`lock.py`), so no other changes what lies beside it.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from linkwork.errors import FormatError, LinkworkError
from linkwork.record.layout import GROUPS
from linkwork.record.store.checksums import SUMS
from linkwork.record.store.container import ASIDE, PARTIAL, ROOT, UNDER_WAY, left_beside, read_root, synchronize
from linkwork.record.store.lock import refuse_writer

SHOWN = 5  # names of files in a message
PARTS = "|".join(GROUPS)
CHUNK = r"c/\d+(/\d+)*"
OWN_FILE = re.compile(  # descriptions, chunks, sums, and what was being written when a run was killed
    rf"(({PARTS})/([^/]+/)?)?{re.escape(ROOT)}|({PARTS})/[^/]+/({CHUNK}|{SUMS})|(.*/)?({UNDER_WAY.pattern})"
)
OWN_FOLDER = re.compile(rf"\.|({PARTS})(/[^/]+(/c(/\d+)*)?)?")


def partial_folder(path: Path) -> Path:
    """Where this process makes the recording that will stand at `path`."""
    return path.parent / f".{path.name}.{os.getpid()}{PARTIAL}"


def refuse_existing(path: Path, force: bool) -> None:
    """Refuses a path at which something stands, unless it is a recording and `force`.

    Called before anything is computed, and again before the rename.
    """
    if not (path.exists() or path.is_symlink()):
        return
    if path.is_dir() and not any(path.iterdir()):
        return
    if not force:
        raise LinkworkError(f"'{path}' exists already; choose another place, or replace it with force=True (--force).")
    try:
        read_root(path)
    except FormatError:
        raise LinkworkError(
            f"'{path}' exists and is not a recording that could be replaced; choose another place."
        ) from None
    strangers = foreign_files(path)
    if strangers:
        more = f" and {len(strangers) - SHOWN} more" if len(strangers) > SHOWN else ""
        raise LinkworkError(
            f"'{path}' holds files that are not the recording's own: {', '.join(strangers[:SHOWN])}{more}. Move them "
            "elsewhere before it is replaced, or choose another place."
        )


def foreign_files(path: Path) -> list[str]:
    """Files and links in the folder of a recording that no run of Linkwork put there, sorted."""
    found = []
    for folder, folders, files in os.walk(path):
        at = Path(folder).relative_to(path)
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        empty = [] if folders or files or OWN_FOLDER.fullmatch(at.as_posix()) else [at.as_posix()]
        names = [(at / name).as_posix() for name in (*files, *links)]
        found += [name for name in names if not OWN_FILE.fullmatch(name)] + empty
    return sorted(found)


def refuse_existing_or_written(path: Path, force: bool) -> None:
    """The same, for one who does not hold the lock: nor may a run be writing there."""
    refuse_existing(path, force)
    refuse_writer(path)


def put_in_place(partial: Path, path: Path, force: bool) -> None:
    """The new recording takes its place; an old one goes when it has."""
    refuse_existing(path, force)
    if path.exists() and any(path.iterdir()):
        aside = partial.with_name(f".{path.name}.{os.getpid()}{ASIDE}")
        os.rename(path, aside)
        os.rename(partial, path)
        synchronize(path.parent)
        shutil.rmtree(aside, ignore_errors=True)
        return
    if path.exists():
        path.rmdir()  # Windows renames nothing onto a folder, not even onto an empty one
    os.rename(partial, path)
    synchronize(path.parent)


def remove_stale(path: Path) -> None:
    """Beginnings of runs that were killed before their recording appeared. What was set aside for one stays.

    Only for the holder of the lock: then no other run can be beginning here.
    """
    for folder in left_beside(path):
        if not folder.name.endswith(ASIDE):
            shutil.rmtree(folder, ignore_errors=True)
