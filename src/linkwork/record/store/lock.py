"""A lock, so that each recording has at most one writer. It ends with the process that holds it, however that ends."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import sys
from pathlib import Path

from linkwork.errors import LinkworkError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = ".lock"
LOCKED_BYTE = 4096  # Windows locks bytes, and refuses to read them: this one lies beyond the name of the writer


def lock_file(place: Path) -> Path:
    """Beside the recording, not within: Windows renames no folder of which a file is open."""
    return place.parent / f".{place.name}{LOCK}"


class WriterLock:
    """Held from before the first write until after the last, under the name of the place, whether anything is there or not.

    The file that carries it names the writer, for any other that comes, and goes with the lock. A run that is killed leaves
    the file behind, but no lock on it.
    """

    def __init__(self, place: Path):
        self._file, self._process = lock_file(place), os.getpid()
        self._handle: int | None = None
        handle = _open_and_lock(self._file, os.O_RDWR | os.O_CREAT)
        if handle is None:
            raise _in_use(place)
        self._handle = handle
        with contextlib.suppress(OSError):  # a full disk; the lock holds without a name
            os.ftruncate(handle, 0)
            os.write(handle, f"process {self._process} on {platform.node()}".encode())

    def __del__(self) -> None:
        self.release()

    def release(self) -> None:
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        if os.getpid() != self._process:  # a forked child: the lock is its parent's
            os.close(handle)
            return
        _unlink_and_close(self._file, handle)


def refuse_writer(place: Path) -> None:
    """Raises while a run writes there. Leaves nothing behind."""
    try:
        handle = _open_and_lock(lock_file(place), os.O_RDWR)
    except FileNotFoundError:
        return
    if handle is None:
        raise _in_use(place)
    _unlink_and_close(lock_file(place), handle)  # left by a run that was killed


def _open_and_lock(file: Path, flags: int) -> int | None:
    """The file, locked; None if somebody else holds it."""
    while True:
        handle = os.open(file, flags | getattr(os, "O_BINARY", 0), 0o666)
        try:
            is_ours = _lock(handle)
            if is_ours and _is_still_there(file, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if not is_ours:
            return None


def _is_still_there(file: Path, handle: int) -> bool:
    """Whoever held the lock may have removed the file after we opened it; then a third may hold one of the same name."""
    if sys.platform == "win32":
        return True  # no open file is ever removed
    try:
        return os.path.samestat(os.stat(file), os.fstat(handle))
    except FileNotFoundError:
        return False


if sys.platform == "win32":

    def _lock(handle: int) -> bool:
        os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            return error.errno not in (errno.EACCES, errno.EDEADLK)
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
        return True

    def _unlink_and_close(file: Path, handle: int) -> None:
        os.close(handle)
        with contextlib.suppress(OSError):  # the next one has it open already
            file.unlink()

else:

    def _lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: better no lock than no recording
            return True
        return True

    def _unlink_and_close(file: Path, handle: int) -> None:
        with contextlib.suppress(OSError):
            file.unlink()
        os.close(handle)


def _in_use(place: Path) -> LinkworkError:
    try:
        who = f" ({lock_file(place).read_text(encoding='utf-8')})"
    except (OSError, UnicodeDecodeError):
        who = ""
    return LinkworkError(
        f"recording '{place}' is being written by another run{who}. Wait for it, or choose another place."
    )
