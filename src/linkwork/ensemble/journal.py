"""The journal of a sweep: one line per finished run, appended as it finishes. It is what a sweep that was stopped keeps.

A line counts when it is whole: a kill or a full disk may leave a torn one at the end, which is cut off before the next is
written. Lines reach the operating system at once, so the death of this process takes none of them; they reach the disk
itself about once per second, which is what a power failure can take. Each line carries a checksum of what it says: a line
in which anything changed is an error, never another result.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from linkwork.core.checks import shown
from linkwork.ensemble.work import DONE, FAILED, Outcome, SweepError
from linkwork.errors import FormatError
from linkwork.record.store.checksums import document_sum

JOURNAL = "journal.jsonl"
SYNCHRONIZE_EVERY = 1.0  # [s]
PARTS = {"run": int, "status": str, "results": dict, "error": str, "version": str, "wall_s": float, "where": str}


class Journal:
    """Appends outcomes. One writer at a time: the sweep holds the lock of its folder."""

    def __init__(self, folder: Path):
        self.path = folder / JOURNAL
        self._synchronized = time.monotonic()
        whole = _whole_bytes(self.path)
        plain = getattr(os, "O_BINARY", 0)  # of Windows, which else writes two bytes for the end of a line
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | plain, 0o666)
        os.ftruncate(self._file, whole)
        os.lseek(self._file, whole, os.SEEK_SET)

    def append(self, outcome: Outcome) -> None:
        document = outcome.as_json()
        line = (json.dumps({**document, "sum": document_sum(document)}) + "\n").encode()
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


def read_journal(folder: Path, runs: int) -> dict[int, dict[str, Any]]:
    """Outcomes by run; of a run that was done again the last. runs: how many the sweep has."""
    path = folder / JOURNAL
    found: dict[int, dict[str, Any]] = {}
    if not path.exists():
        return found
    if not path.is_file():
        raise FormatError(f"{path} is not a file; put the journal of the sweep back in its place.")
    with path.open("rb") as file:
        for k, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break  # torn: the run counts as not done
            try:
                outcome = _checked_outcome(json.loads(line), runs)
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
                raise FormatError(
                    f"{path}:{k}: this line is damaged ({error}); take it out, and its run is done again."
                ) from None
            found[outcome["run"]] = outcome
    return found


def _checked_outcome(outcome: Any, runs: int) -> dict[str, Any]:
    """What a line says; raises ValueError where it is not what was written, or says what no run leaves."""
    if not isinstance(outcome, dict):
        raise ValueError("it is not a table")
    if outcome.pop("sum", None) != document_sum(outcome):
        raise ValueError("its checksum is another one, or missing")
    for name, kind in PARTS.items():
        if not isinstance(outcome.get(name), kind) or isinstance(outcome[name], bool):
            raise ValueError(f"'{name}' is {shown(outcome.get(name))}")
    if not 0 <= outcome["run"] < runs or outcome["status"] not in (DONE, FAILED):
        raise ValueError(f"run is {outcome['run']} of {runs}, status {shown(outcome['status'])}")
    return outcome


def _whole_bytes(path: Path) -> int:
    """Length of the journal up to its last whole line."""
    if not path.exists():
        return 0
    data = path.read_bytes()
    return data.rfind(b"\n") + 1
