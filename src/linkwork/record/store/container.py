"""The container: a Zarr group in a folder, in which only what was committed counts.

Arrays grow at their ends. Zarr writes every file under another name and renames it, so a file is whole or absent; but a
run that is killed may have written some arrays of a frame and not the others. So the lengths that count stand in one place,
the attributes of the root (`zarr.json`), which is replaced in one rename after everything else is on disk. What lies
beyond those lengths is ignored by readers and written again by a run that resumes.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.messages.extras import needed
from linkwork.errors import FormatError, LinkworkError
from linkwork.record.store.checksums import BlockSums, damaged, document_sum

FORMAT = 3  # of what this version writes and reads
MARK = "linkwork_recording"  # the attribute of the root that holds the format
CHECKSUM = "checksum"  # the attribute of the root that holds the sum of all others
ROOT = "zarr.json"
PARTIAL = ".partial"  # how files under way are called, ours and Zarr's
UNDER_WAY = re.compile(r"zarr\.json\.\d+\.partial|[^/]*\.[0-9a-f]{32}\.partial")  # names of such files
ASIDE = f".old{PARTIAL}"  # how a recording is called while it is being replaced

COMPRESSION_LEVEL = 3  # of Zstandard; higher levels cost twice the time for a few per cent of the size


def zarr_library() -> Any:
    return needed("zarr", "recordings need Zarr, which is not installed; install it with: pip install '.[record]'")


def compressors(itemsize: int) -> list[Any]:
    """Blosc for size, a checksum so that a damaged chunk is an error and not wrong numbers."""
    from zarr.codecs import BloscCodec, Crc32cCodec

    return [BloscCodec(cname="zstd", clevel=COMPRESSION_LEVEL, shuffle="shuffle", typesize=itemsize), Crc32cCodec()]


WAY_OUT = {  # what an error of the disk leaves, and what helps
    "begin": "Nothing was recorded. Free space, get the right to write there or choose another place, then run it anew.",
    "write": "What was committed before stays readable. Free space or mend the access to the folder, then resume.",
    "resume": "What was committed before stays readable. Free space or mend the access to the folder, then resume again.",
    "vanished": "The folder was moved or changed while the run wrote into it. Move it back and resume, or run it anew.",
}


@contextmanager
def disk_errors(path: Path, what: str = "write") -> Iterator[None]:
    """Turns an error of the file system into one that says what it means for the recording. what: a key of WAY_OUT."""
    try:
        yield
    except LinkworkError:
        raise
    except FileNotFoundError as error:
        gone = "begin" if what == "begin" else "vanished"
        verb = "write" if gone == "vanished" else what
        raise LinkworkError(f"cannot {verb} recording '{path}': {error.filename} is gone. {WAY_OUT[gone]}") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise LinkworkError(f"cannot {what} recording '{path}': {reason}. {WAY_OUT[what]}") from error
    except (KeyError, ValueError, RuntimeError, TypeError) as error:  # what Zarr raises where files are missing
        raise LinkworkError(f"cannot write recording '{path}': {error}. {WAY_OUT['vanished']}") from error


def synchronize(path: Path) -> None:
    """Waits until a file or folder is on the disk itself, so that a power failure finds it there."""
    try:
        handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)  # Windows flushes only what it may write
    except OSError:
        if path.is_file():
            raise
        return  # folders cannot be opened everywhere
    try:
        os.fsync(handle)
    except OSError:
        if path.is_file():
            raise
    finally:
        os.close(handle)


def create_array(
    group: Any,
    name: str,
    row: tuple[int, ...],
    dtype: str,
    chunk: tuple[int, ...],
    unit: str,
) -> Any:
    """An empty array of rows of the given shape, with its unit."""
    kind = np.dtype(dtype)
    return group.create_array(
        name,
        shape=(0, *row),
        chunks=chunk,
        dtype=kind,
        compressors=compressors(kind.itemsize),
        fill_value=np.nan if kind.kind == "f" else 0,
        attributes={"unit": unit},
    )


def write_array(group: Any, name: str, values: NDArray[Any], unit: str, notes: dict[str, Any] | None = None) -> None:
    """A whole array, written once."""
    values = np.ascontiguousarray(values)
    chunk = tuple(max(1, size) for size in values.shape)
    array = group.create_array(
        name,
        shape=values.shape,
        chunks=chunk,
        dtype=values.dtype,
        compressors=compressors(values.dtype.itemsize),
        fill_value=0,
        attributes={"unit": unit, **(notes or {})},
        config={"write_empty_chunks": True},
    )
    if values.size:
        array[...] = values


def read_checked(array: Any, folder: Path, sums: BlockSums, length: int, start: int, stop: int) -> NDArray[Any]:
    """Whole blocks of rows from the one that holds `start` to the one before `stop`, each compared with its sums.

    folder: of the array. length: rows that count, of which the last block may be under way.
    """
    first, last = start // sums.rows, -(-stop // sums.rows)
    found = np.asarray(array[first * sums.rows : min(last * sums.rows, length)])
    for block in range(first, last):
        at = (block - first) * sums.rows
        check_block(sums, block, found[at : at + sums.rows], folder)
    return found


def read_rows(array: Any, start: int = 0, stop: int | None = None) -> NDArray[Any]:
    """Rows of an array all of whose chunks were written; Zarr would read a missing one as the fill value, silently."""
    stop = array.shape[0] if stop is None else stop
    root = getattr(array.store, "root", None)  # stores in memory have none
    if root is not None and array.size and stop > start:
        rows = range(start // array.chunks[0], (stop - 1) // array.chunks[0] + 1)
        others = [range(-(-size // chunk)) for size, chunk in zip(array.shape[1:], array.chunks[1:], strict=True)]
        for key in itertools.product(rows, *others):
            file = Path(root, array.path, "c", *map(str, key))
            if not file.is_file():
                raise ValueError(f"{file} is missing")
    return np.asarray(array[start:stop])


def check_block(sums: BlockSums, block: int, rows: NDArray[Any], folder: Path) -> None:
    """Refuses rows of a block that are not those that were written. folder: of the array, for the message."""
    for k, (found, meant) in enumerate(zip(sums.of(rows), sums.expected(block), strict=True)):
        if found != meant:
            file = folder / "c" / str(block) if rows.ndim == 1 else folder / "c" / str(block) / str(k)
            raise damaged(file, "holds other numbers than were written" if file.exists() else "is missing")


class GrowingArray:
    """An array of the container that grows by rows, written chunk by chunk; the chunk under way is kept in memory."""

    def __init__(
        self,
        array: Any,
        folder: Path,
        length: int = 0,
        write_empty_chunks: bool = True,
        stored: list[Any] | None = None,
        tail: list[int] | None = None,
    ):
        """length: rows that count; what the file holds beyond them is written over.

        write_empty_chunks: write also what equals the fill value, so that a missing file is always damage.
        stored, tail: the sums of what is there (`BlockSums`); without them it is all fill value, or nothing.
        """
        self._array, self._folder = array.with_config({"write_empty_chunks": write_empty_chunks}), folder
        self._rows = int(array.chunks[0])
        self._start = length - length % self._rows  # first row of the chunk under way
        self._pending: list[NDArray[Any]] = []
        self.length = length
        self.sums = BlockSums(array.shape, array.chunks)
        if stored is not None:
            self.sums.load(folder, stored, length, tail)
        elif length:
            self.sums.replace_from(0, np.full((length, *array.shape[1:]), array.fill_value, dtype=array.dtype))
        if length > self._start:
            begun = np.asarray(array[self._start : length])
            check_block(self.sums, length // self._rows, begun, folder)
            self._pending.append(begun)
        self._written = length

    @property
    def waiting_bytes(self) -> int:
        rows = self.length - self._written
        return rows * int(np.prod(self._array.shape[1:], dtype=np.int64)) * int(self._array.dtype.itemsize)

    def append(self, rows: NDArray[Any]) -> None:
        """rows: shape (k, ...); kept, not copied."""
        self._pending.append(rows)
        self.length += rows.shape[0]

    def write(self) -> list[Path]:
        """Writes what waits; returns the files to be synchronized."""
        if self.length == self._written and self._array.shape[0] == self.length:
            return self.sums.keep(self._folder)
        data = (
            np.concatenate(self._pending) if self._pending else np.zeros((0, *self._array.shape[1:]), self._array.dtype)
        )
        self._array.resize((self.length, *self._array.shape[1:]))
        files = [self._folder / ROOT]
        self.sums.replace_from(self._start, data)
        if data.shape[0]:
            self._array[self._start : self.length] = data
            first, last = self._start // self._rows, (self.length - 1) // self._rows
            files += [f for k in range(first, last + 1) for f in self._chunk_files(k)]
        kept = self.length - self.length % self._rows
        self._pending = [data[kept - self._start :].copy()] if self.length > kept else []
        self._start, self._written = kept, self.length
        return files + self.sums.keep(self._folder)

    def _chunk_files(self, k: int) -> list[Path]:
        at = self._folder / "c" / str(k)
        return [at] if self._array.ndim == 1 else list(at.iterdir())


def write_root(folder: Path, attributes: dict[str, Any]) -> None:
    """Replaces the attributes of the root in one rename: the moment at which everything written before it counts."""
    if not (folder / ROOT).is_file():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder / ROOT))
    kept = {key: value for key, value in attributes.items() if key != CHECKSUM}
    document = {"attributes": {**kept, CHECKSUM: document_sum(kept)}, "zarr_format": 3, "node_type": "group"}
    partial = folder / f"{ROOT}.{os.getpid()}{PARTIAL}"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, folder / ROOT)
    synchronize(folder)


def read_root(folder: Path) -> dict[str, Any]:
    """Attributes of a recording's root, or an error that says why it is none."""
    if not folder.exists():
        raise FormatError(f"there is no recording '{folder}'{_left_behind(folder)}.")
    path = folder / ROOT
    if not path.is_file():
        raise FormatError(f"'{folder}' is not a recording of Linkwork: it holds no {ROOT}.")
    try:
        attributes = json.loads(path.read_text(encoding="utf-8")).get("attributes", {})
    except OSError as error:
        raise FormatError(f"cannot read {path}: {error.strerror or error}.") from None
    except (ValueError, AttributeError, RecursionError):
        raise FormatError(
            f"recording '{folder}' is damaged: {path} is not a JSON object. Restore it from a copy."
        ) from None
    version = attributes.get(MARK) if isinstance(attributes, dict) else None
    if version is None:
        raise FormatError(f"'{folder}' is not a recording of Linkwork: its {ROOT} has no '{MARK}'.")
    if isinstance(version, int) and version != FORMAT:
        raise FormatError(
            f"recording '{folder}' has format {version}; this version of Linkwork reads format {FORMAT}. "
            "Make it anew, or read it with the version that wrote it."
        )
    kept = {key: value for key, value in attributes.items() if key != CHECKSUM}
    if attributes.get(CHECKSUM) != document_sum(kept):
        raise FormatError(
            f"recording '{folder}' is damaged: {path} is not what was written. Restore that file from a copy; the other "
            "files may be whole, but it says what they mean."
        )
    return attributes


def left_beside(folder: Path) -> list[Path]:
    """Beginnings and replaced recordings that killed runs left beside this place (and not beside one named alike)."""
    if not folder.parent.is_dir():
        return []
    name = re.compile(rf"\.{re.escape(folder.name)}\.\d+({re.escape(PARTIAL)}|{re.escape(ASIDE)})")
    return sorted(found for found in folder.parent.iterdir() if name.fullmatch(found.name))


def _left_behind(folder: Path) -> str:
    """Names what a replacement that was killed between its two renames left."""
    found = left_beside(folder)
    return f"; a replacement was cut short, see {', '.join(str(f) for f in found)}" if found else ""


def remove_partial_files(folder: Path) -> None:
    """What a killed run left under way; it never counted."""
    for path in folder.rglob(f"*{PARTIAL}"):
        if UNDER_WAY.fullmatch(path.name):
            path.unlink(missing_ok=True)
