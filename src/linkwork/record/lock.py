"""One writer a recording. The lock belongs to the process: it goes with it, however it ends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from linkwork.errors import LinkworkError

try:
    import fcntl
except ImportError:  # Windows has no locks on folders; there the number of the last writer's process decides
    fcntl = None  # type: ignore[assignment]


class WriterLock:
    """Held from the first write to the last. On the folder itself, so that nothing is left behind when a run is killed."""

    def __init__(self, folder: Path, last_writer: dict[str, Any] | None = None):
        """last_writer: `process` and `host` of who wrote last, for the message."""
        self._handle: int | None = None
        if fcntl is None:
            if last_writer and last_writer.get("writing") and _is_alive(int(last_writer["process"])):
                raise _in_use(folder, last_writer)
            return
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise _in_use(folder, last_writer) from None
        except OSError:  # a file system without locks: better no lock than no recording
            os.close(handle)
            return
        self._handle = handle

    def __del__(self) -> None:
        self.release()

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _in_use(folder: Path, last_writer: dict[str, Any] | None) -> LinkworkError:
    who = ""
    if last_writer:
        who = f" (process {last_writer.get('process')} on {last_writer.get('host')})"
    return LinkworkError(
        f"recording '{folder}' is being written by another run{who}. Wait for it, or choose another place."
    )


def _is_alive(process: int) -> bool:
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
