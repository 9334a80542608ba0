"""The journal of a sweep: one line per finished run, appended as it finishes. It is what a sweep that was stopped keeps.

A line counts when it is whole: a kill or a full disk may leave a torn one at the end, which is cut off before the next is
written. Lines reach the operating system at once, so the death of this process takes none of them; they reach the disk
itself about once per second, which is what a power failure can take.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from linkwork.ensemble.work import Outcome, SweepError
from linkwork.errors import FormatError

JOURNAL = "journal.jsonl"
SYNCHRONIZE_EVERY = 1.0  # [s]


class Journal:
    """Appends outcomes. One writer at a time: the sweep holds the lock of its folder."""

    def __init__(self, folder: Path):
        self.path = folder / JOURNAL
        self._synchronized = time.monotonic()
        whole = _whole_bytes(self.path)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        os.ftruncate(self._file, whole)
        os.lseek(self._file, whole, os.SEEK_SET)

    def append(self, outcome: Outcome) -> None:
        line = (json.dumps(outcome.as_json()) + "\n").encode()
        try:
            while line:
                line = line[os.write(self._file, line) :]
            if time.monotonic() - self._synchronized >= SYNCHRONIZE_EVERY:
                os.fsync(self._file)
                self._synchronized = time.monotonic()
        except OSError as error:
            raise SweepError(
                f"cannot write '{self.path}': {error.strerror}. Every run that is in it is kept; make room and resume."
            ) from error

    def close(self) -> None:
        try:
            os.fsync(self._file)
        finally:
            os.close(self._file)


def read_journal(folder: Path) -> dict[int, dict[str, Any]]:
    """Outcomes by run; of a run that was done again the last."""
    path = folder / JOURNAL
    found: dict[int, dict[str, Any]] = {}
    if not path.exists():
        return found
    with path.open("rb") as file:
        for k, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break  # torn: the run counts as not done
            try:
                outcome = json.loads(line)
                found[int(outcome["run"])] = outcome
            except (ValueError, KeyError, TypeError):
                raise FormatError(
                    f"{path}:{k}: this line is damaged; take it out, and its run is done again."
                ) from None
    return found


def _whole_bytes(path: Path) -> int:
    """Length of the journal up to its last whole line."""
    if not path.exists():
        return 0
    data = path.read_bytes()
    return data.rfind(b"\n") + 1
