"""The memory of a session: of this process alone, or a file that other processes map as well."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.errors import StateError
from linkwork.haptics.sharing import layout as at
from linkwork.haptics.sharing.seqlock import publish_message, read_message


def new_memory() -> FloatArray:
    """Memory for the threads of this process, shape (WORDS,)."""
    memory = np.zeros(at.WORDS)
    sign(memory)
    return memory


def new_shared_memory() -> tuple[FloatArray, Path]:
    """Memory that other processes may map, and the file it is: in memory where the system has a place for that."""
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
    handle, name = tempfile.mkstemp(prefix="linkwork-haptics-", dir=folder)
    with os.fdopen(handle, "wb") as file:
        file.truncate(8 * at.WORDS)
    memory = _map(Path(name))
    sign(memory)
    return memory, Path(name)


def open_shared_memory(path: Path) -> FloatArray:
    """The memory of another process's session; refuses a file that is not one, or of another layout."""
    if not path.is_file() or path.stat().st_size != 8 * at.WORDS:
        raise StateError(f"{path} is not the memory of a haptic session of this version.")
    memory = _map(path)
    words = memory.view(np.int64)
    if words[at.H_MAGIC] != at.MAGIC or words[at.H_LAYOUT] != at.LAYOUT:
        raise StateError(f"{path} is not the memory of a haptic session of this version.")
    return memory


def _map(path: Path) -> FloatArray:
    return np.memmap(path, dtype=np.float64, mode="r+", shape=(at.WORDS,)).view(np.ndarray)


def sign(memory: FloatArray) -> None:
    """Writes what distinguishes this memory from others."""
    words = memory.view(np.int64)
    words[[at.H_MAGIC, at.H_LAYOUT, at.H_GRASPS, at.H_WORDS]] = at.MAGIC, at.LAYOUT, at.GRASPS, at.WORDS


class Output:
    """The last output of the coupling loop for one hand, taken whole."""

    def __init__(self, memory: FloatArray, slot: int):
        self.words = np.zeros(at.OUTPUT_WORDS)
        mailbox = at.OUTPUTS + slot * at.OUTPUT_POST
        if read_message(memory, mailbox, at.OUTPUT_WORDS, self.words) < 0:
            self.words[:] = 0.0

    def integer(self, word: int) -> int:
        return int(self.words.view(np.int64)[word])

    @property
    def wrench(self) -> FloatArray:
        """[torque; force] on the body, at the point held, axes of the world."""
        return self.words[at.O_WRENCH : at.O_WRENCH + 6]

    @property
    def felt(self) -> FloatArray:
        """[torque; force] that the hand feels, in the device's units."""
        return self.words[at.O_FELT : at.O_FELT + 6]


def publish_reading(memory: FloatArray, slot: int, message: FloatArray) -> None:
    """Hands a device's reading, shape (READING_WORDS,), to the coupling loop."""
    publish_message(memory, at.READINGS + slot * at.READING_POST, at.READING_WORDS, message)


def publish_snapshot(memory: FloatArray, message: FloatArray) -> None:
    """Hands a snapshot, as many words as it has, to the coupling loop."""
    publish_message(memory, at.SNAPSHOT, at.SNAPSHOT_WORDS, message)
