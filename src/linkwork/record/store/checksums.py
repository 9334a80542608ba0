"""Checksums of everything a recording holds, kept in its root, so that damage is an error and never another number.

Chunks carry a checksum of their own, but a chunk that was exchanged for another one, lost, or read by a changed description
passes it. So the root holds what was meant: one sum per description (`zarr.json`) of every array and group, one per
array that is written once, and one per block of every array that grows. All are CRC-32 of what is read, not of files: a
block under way may be written again with more rows after the commit that counts, and its first rows stay the same.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import FormatError

DESCRIPTION = "zarr.json"
STORED = np.dtype("<u4")


def array_sum(values: NDArray[Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(values).tobytes())


def document_sum(document: object) -> int:
    """Of what a JSON document says, whatever its blanks and the order of its keys."""
    return zlib.crc32(json.dumps(document, sort_keys=True, separators=(",", ":")).encode())


def description_sum(folder: Path) -> int:
    """Of the description of an array or group. Its number of rows is left out: the root holds the one that counts."""
    document = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    if "shape" in document:
        document["shape"] = document["shape"][1:]
    return document_sum(document)


def description_sums(folder: Path, names: Iterable[str]) -> dict[str, int]:
    return {name: description_sum(folder / name) for name in names}


def check_description(folder: Path, name: str, sums: dict[str, int]) -> None:
    """Refuses a description that is not the one that was written. sums: by name, of the root."""
    file = folder / name / DESCRIPTION
    try:
        found = description_sum(folder / name)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        reason = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error})"
        raise damaged(file, reason) from None
    if found != sums.get(name):
        raise damaged(file, "is not what was written")


def damaged(file: Path, reason: str) -> FormatError:
    return FormatError(f"{file} {reason}")


def column_blocks(shape: tuple[int, ...], chunks: tuple[int, ...]) -> list[slice]:
    """The columns of each chunk in a row of chunks; one slice of everything for an array of plain numbers."""
    if len(shape) == 1:
        return [slice(None)]
    return [slice(first, min(first + chunks[1], shape[1])) for first in range(0, shape[1], chunks[1])]


class BlockSums:
    """Sums of an array that grows: of its full blocks of rows, and of the rows so far of the block under way.

    Each block has one sum per chunk of columns.
    """

    def __init__(self, shape: tuple[int, ...], chunks: tuple[int, ...]):
        self.rows = int(chunks[0])
        self.columns = column_blocks(shape, chunks)
        self.full: list[int] = []
        self.tail: list[int] = []

    def of(self, block: NDArray[Any]) -> list[int]:
        """One sum per chunk of a block of rows."""
        return [array_sum(block[(slice(None), part) if block.ndim > 1 else part]) for part in self.columns]

    def replace_from(self, first_row: int, rows: NDArray[Any]) -> None:
        """`rows` stand from `first_row` on, which begins a block, and are the last ones."""
        del self.full[first_row // self.rows * len(self.columns) :]
        self.tail = []
        for at in range(0, rows.shape[0], self.rows):
            sums = self.of(rows[at : at + self.rows])
            if at + self.rows <= rows.shape[0]:
                self.full += sums
            else:
                self.tail = sums

    def expected(self, block: int) -> list[int]:
        """The sums of a block, the one under way included."""
        width = len(self.columns)
        full = self.full[block * width : (block + 1) * width]
        return full or self.tail

    def stored(self) -> list[Any]:
        """As the root keeps them: the full ones as text, since there may be many."""
        return [base64.b64encode(np.array(self.full, dtype=STORED).tobytes()).decode(), list(self.tail)]

    def load(self, stored: list[Any], length: int, tail: list[int] | None = None) -> None:
        """From what the root keeps, for so many rows. tail: of the block under way at that length, where it is another."""
        full, own = stored
        whole = length // self.rows * len(self.columns)
        self.full = np.frombuffer(base64.b64decode(full), dtype=STORED).tolist()[:whole]
        self.tail = list(own if tail is None else tail) if length % self.rows else []
