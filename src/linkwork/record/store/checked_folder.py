"""The files of a recording as they are read: every description and every row is compared with its checksum."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import FormatError, LinkworkError, LinkworkWarning
from linkwork.record.store.bundles import read_checkpoint
from linkwork.record.store.checksums import BlockSums, array_sum, check_description, damaged
from linkwork.record.store.container import ROOT, read_checked, read_root, read_rows, zarr_library

LENGTHS = {name: name for name in ("changes", "keys", "contacts", "samples")}  # arrays whose rows are not frames
# What is raised by Zarr, its codecs and JSON where files are missing or hold something else. Descriptions are compared with
# their sums before Zarr reads them, so nothing else comes of damage.
DAMAGE = (FileNotFoundError, NotADirectoryError, IsADirectoryError, KeyError, ValueError, RuntimeError)
LARGEST_KEPT = 4 << 20  # bytes of an array that stay in memory after they were read


class CheckedFolder:
    """A recording's folder at one commit. root: its description, with what was committed."""

    def __init__(self, path: Path, root: dict[str, Any] | None = None):
        self.path = path
        self.root = read_root(path) if root is None else root
        self._checked: set[str] = set()  # names whose descriptions were compared with their sums
        self._sums: dict[str, BlockSums] = {}
        self._read_last: dict[str, tuple[int, NDArray[Any]]] = {}
        with self.damage():
            self.group: Any = zarr_library().open_group(path, mode="r")
            self._check_lengths()

    @property
    def committed(self) -> dict[str, Any]:
        """What counts: lengths, sums, status, marks of the checkpoints."""
        done: dict[str, Any] = self.root["committed"]
        return done

    def check_description(self, name: str) -> None:
        """Of an array or group and of the group it is in, once."""
        for part in (name.partition("/")[0], name):
            if part not in self._checked:
                check_description(self.path, part, self.root["descriptions"])
                self._checked.add(part)

    def refuse_missing(self) -> None:
        """Arrays that are written once and whose files are gone."""
        missing = [name for name in self.root["contents"] if not (self.path / name / ROOT).is_file()]
        if missing:
            raise damaged(self.path / missing[0] / ROOT, "is missing")

    def whole_array(self, name: str) -> NDArray[Any]:
        """An array that is written once."""
        self.check_description(name)
        values = read_rows(self.group[name])
        if array_sum(values) != self.root["contents"][name]:
            raise damaged(self.path / name, "holds other numbers than were written")
        return values

    def length(self, name: str) -> int:
        """Rows that count of an array that grows."""
        return int(self.committed[LENGTHS.get(name.partition("/")[0], "frames")])

    def rows(self, name: str, stop: int, start: int = 0) -> Any:
        """Rows of an array that grows, compared with their sums."""
        with self.damage():
            self.check_description(name)
            if stop <= start:
                return np.asarray(self.group[name][:0])
            at, rows = self._read_last.get(name, (0, None))
            if rows is None or start < at or stop > at + rows.shape[0]:
                sums = self._block_sums(name)
                at, array = start - start % sums.rows, self.group[name]
                rows = read_checked(array, self.path / name, sums, self.length(name), start, stop)
                if rows.nbytes <= LARGEST_KEPT:
                    self._read_last[name] = (at, rows)
            return rows[start - at : stop - at].copy()

    def scalars(self, kind: str, count: int) -> dict[str, NDArray[Any]]:
        """All scalars of a kind by name, of the first `count` frames."""
        return {name: self.rows(f"{kind}/{name}", count) for name in self.committed[kind]}

    def _block_sums(self, name: str) -> BlockSums:
        if name not in self._sums:
            array, done = self.group[name], self.committed
            self._sums[name] = BlockSums(array.shape, array.chunks)
            tail = done.get("tails", {}).get(name)
            self._sums[name].load(self.path / name, done["sums"][name], self.length(name), tail)
        return self._sums[name]

    # ---------------------------------------------------------------------------------------------------------- checkpoints

    def checkpoint(self, mark: dict[str, Any]) -> tuple[dict[str, object], dict[str, object]]:
        """What the simulation saved and what its run noted then."""
        slot = mark["slot"]
        with self.damage():
            check_description(self.path, f"checkpoints/{slot}", {f"checkpoints/{slot}": mark["description"]})
            return read_checkpoint(self.group, slot, mark["content"])

    def last_whole_checkpoint(self) -> tuple[dict[str, Any], dict[str, object], dict[str, object]]:
        """The last checkpoint, or with a warning the one before where that is damaged; and what marks it."""
        done = self.committed
        try:
            return done["checkpoint"], *self.checkpoint(done["checkpoint"])
        except FormatError as error:
            earlier = done["earlier"]
            if earlier is None:
                raise
            found = self.checkpoint(earlier)
            warnings.warn(
                f"{error} The run goes on from the checkpoint before it, at frame {earlier['frames']} instead of "
                f"{done['checkpoint']['frames']}; its end is the same.",
                LinkworkWarning,
                stacklevel=5,
            )
            return earlier, *found

    # --------------------------------------------------------------------------------------------------------------- damage

    def _check_lengths(self) -> None:
        done = self.committed
        expected = {"frames/time": "frames", "changes/value": "changes", "keys/state": "keys"}
        for name, what in expected.items():
            self.check_description(name)
            length = self.group[name].shape[0]
            if length < done[what]:
                raise ValueError(f"{name} has {length} rows, but {done[what]} were committed")

    def explain(self, reason: object) -> FormatError:
        return FormatError(
            f"recording '{self.path}' is damaged: {reason}. Restore it from a copy, or make it anew; "
            "lw.Recording(path).check() says how many frames are whole, lw.Recording(path, frames=...) reads those."
        )

    @contextmanager
    def damage(self) -> Iterator[None]:
        """What Zarr raises on files that are missing or cut short, as an error that says so; anything else stays itself."""
        try:
            yield
        except FormatError as error:
            if "is damaged" in str(error):  # explained already
                raise
            raise self.explain(error) from None
        except LinkworkError:
            raise
        except DAMAGE as error:
            raise self.explain(error) from error
        except OSError as error:
            raise LinkworkError(
                f"recording '{self.path}' cannot be read: {error.strerror or error}; "
                f"{error.filename or 'its files'} may be whole. Mend the access to it, then read it again."
            ) from error
