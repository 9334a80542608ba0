"""Files from outside: regular ones of at most 256 MiB, also when they are unpacked; anything else is refused unread."""

from __future__ import annotations

import gzip
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linkwork.errors import FormatError

MOST_BYTES = 256 * 2**20
PART = 2**20  # bytes that are unpacked at a time


def checked_file(path: str | Path) -> Path:
    """The path of a regular file of sensible size; anything else is a FormatError before a byte is read."""
    try:
        file = Path(path)
        status = file.stat()
    except FileNotFoundError:
        raise FormatError(f"{_short(path)}: there is no such file (current directory: {Path.cwd()}).") from None
    except TypeError:
        raise FormatError(f"{path!r}: a path is a string or a pathlib.Path.") from None
    except (OSError, ValueError) as error:  # too long, no permission, a zero byte inside
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FormatError(f"{_short(path)}: cannot be read: {reason}.") from None
    if stat.S_ISDIR(status.st_mode):
        raise FormatError(f"{path}: this is a directory; give a file.")
    if not stat.S_ISREG(status.st_mode):
        raise FormatError(f"{path}: this is not a regular file (a device or a pipe); write it to a file first.")
    if status.st_size > MOST_BYTES:
        raise FormatError(f"{path}: the file has {status.st_size:,} bytes; Linkwork reads at most {MOST_BYTES:,}.")
    return file


def checked_packed(path: str | Path, unpack: Callable[..., Any] = gzip.open) -> Path:
    """The same of a packed file: what is in it is counted, not kept. unpack: `gzip.open` or `bz2.open`."""
    file = checked_file(path)
    size = 0
    try:
        with unpack(file, "rb") as packed:
            while part := packed.read(PART):
                size += len(part)
                if size > MOST_BYTES:
                    break
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{file}: the file is damaged or cut off: {error}.") from None
    refuse_size(file, size)
    return file


def checked_zip(path: str | Path) -> Path:
    """The same of an archive by zip, whose parts have their sizes; unpacking stops there."""
    file = checked_file(path)
    try:
        with zipfile.ZipFile(file) as parts:
            size = sum(part.file_size for part in parts.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise FormatError(f"{file}: the file is damaged or cut off: {error}.") from None
    refuse_size(file, size)
    return file


def refuse_size(file: Path, size: int) -> None:
    if size > MOST_BYTES:
        raise FormatError(f"{file}: the file is larger than {MOST_BYTES:,} bytes when unpacked, which is the limit.")


def _short(path: object) -> str:
    text = str(path)
    return text if len(text) <= 200 else f"{text[:80]}...{text[-80:]}"
