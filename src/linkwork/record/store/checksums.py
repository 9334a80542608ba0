"""Checksums of everything a recording holds, kept in its root, so that damage is an error and never another number.

Chunks carry a checksum of their own, but a chunk that was exchanged for another one, lost, or read by a changed description
passes it. So the root holds what was meant: one sum per description (`zarr.json`) of every array and group, one per
array that is written once, and for every array that grows one of the block under way, and how many full blocks there are
with one sum over theirs. Those lie beside the array in a file that only grows, so that a commit writes what is new. All
are CRC-32 of what is read, not of files: a block under way may be written again with more rows after the commit that
counts, and its first rows stay the same.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import FormatError

DESCRIPTION = "zarr.json"
SUMS = "sums"  # the file of the sums of an array's full blocks, in the folder of the array
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
        self._kept = self._sum = 0  # of the full ones: how many are in the file, and the sum over them

    def of(self, block: NDArray[Any]) -> list[int]:
        """One sum per chunk of a block of rows."""
        return [array_sum(block[(slice(None), part) if block.ndim > 1 else part]) for part in self.columns]

    def replace_from(self, first_row: int, rows: NDArray[Any]) -> None:
        """`rows` stand from `first_row` on, which begins a block, and are the last ones."""
        self._shorten(first_row // self.rows * len(self.columns))
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

    def _shorten(self, whole: int) -> None:
        """So many full ones stay."""
        del self.full[whole:]
        if whole < self._kept:
            self._kept, self._sum = whole, array_sum(np.array(self.full, dtype=STORED))

    def keep(self, folder: Path) -> list[Path]:
        """Writes the full ones that are new into the file in the array's folder; gives what is to be synchronized."""
        new = np.array(self.full[self._kept :], dtype=STORED).tobytes()
        if not new:
            return []
        file = folder / SUMS
        with open(file, "r+b" if file.exists() else "wb") as out:
            out.seek(self._kept * STORED.itemsize)  # what a killed run left behind it never counted
            out.write(new)
        self._kept, self._sum = len(self.full), zlib.crc32(new, self._sum)
        return [file]

    def stored(self) -> list[Any]:
        """As the root keeps them: of the full ones, how many the file holds and the sum over them."""
        assert self._kept == len(self.full), "sums are kept before they are committed"
        return [self._kept, self._sum, list(self.tail)]

    def load(self, folder: Path, stored: list[Any], length: int, tail: list[int] | None = None) -> None:
        """From what root and file keep, for so many rows. tail: of the block under way there, where it is another."""
        self._kept, self._sum, own = stored
        data = b""
        if self._kept:
            try:
                with open(folder / SUMS, "rb") as file:
                    data = file.read(self._kept * STORED.itemsize)
            except FileNotFoundError:
                raise damaged(folder / SUMS, "is missing") from None
        if len(data) < self._kept * STORED.itemsize or zlib.crc32(data) != self._sum:
            raise damaged(folder / SUMS, "is not what was written")
        self.full = np.frombuffer(data, dtype=STORED).tolist()
        self._shorten(length // self.rows * len(self.columns))
        self.tail = list(own if tail is None else tail) if length % self.rows else []
