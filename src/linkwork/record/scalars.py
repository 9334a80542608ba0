"""Scalars and reports over time: numbers by name, of which any may appear late and be missing in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.errors import StateError
from linkwork.record import layout
from linkwork.record.store.container import GrowingArray, create_array

KINDS = ("scalars", "reports")


class Scalars:
    """The scalar arrays of a recording that is being written: one row per frame in each, NaN where a frame had none."""

    def __init__(self, group: Any, folder: Path, committed: dict[str, Any], settings: dict[str, Any]):
        """committed: frames, and names of either kind, that count. settings: of the simulation, for the units."""
        self._group, self._folder, self._settings = group, folder, settings
        self._sums, self._tails = dict(committed["sums"]), dict(committed.get("tails", {}))
        self._written = int(committed["frames"])
        self._waiting = 0  # frames that were appended and not yet written
        self._arrays = {
            (kind, name): self._growing(group[f"{kind}/{name}"], kind, name)
            for kind in KINDS
            for name in committed[kind]
        }
        self._rows: dict[tuple[str, str], list[float]] = {key: [] for key in self._arrays}

    def names(self, kind: str) -> list[str]:
        return [name for its_kind, name in self._arrays if its_kind == kind]

    @property
    def arrays(self) -> dict[str, GrowingArray]:
        """By path within the recording."""
        return {f"{kind}/{name}": array for (kind, name), array in self._arrays.items()}

    def prepare(self, values: dict[str, dict[str, float]]) -> None:
        """Makes arrays for what appears for the first time. values: by kind and name."""
        for kind, named in values.items():
            for name in named:
                if (kind, name) not in self._arrays:
                    self._add(kind, name)

    def append(self, values: dict[str, dict[str, float]]) -> None:
        """One frame of what was prepared."""
        for (kind, name), row in self._rows.items():
            row.append(values[kind].get(name, np.nan))
        self._waiting += 1

    def write(self) -> Iterator[Path]:
        """Writes what waits; gives the files to be synchronized."""
        self._written += self._waiting
        self._waiting = 0
        for key, row in self._rows.items():
            if row:
                values = np.array(row)
                values[np.isnan(values)] = (
                    np.nan
                )  # one NaN: those that fill a chunk are not written, and read as this one
                self._arrays[key].append(values)
                row.clear()
            yield from self._arrays[key].write()

    def _add(self, kind: str, name: str) -> None:
        """What appears now was NaN before: that is what unwritten parts of its array read as."""
        if not name or "/" in name or name.startswith((".", "__")):
            raise StateError(f"'{name}' cannot name a scalar in a recording; use letters, digits and underscores.")
        folder = self._group[kind]
        self._sums.pop(f"{kind}/{name}", None)  # of frames after the checkpoint that this run goes on from
        if name in folder:  # left by a run that was killed before it was committed
            del folder[name]
        unit = layout.scalar_unit(name, self._settings)
        array = create_array(folder, name, (), "f8", (layout.FRAME_ROWS,), unit)
        array.resize((self._written,))
        self._arrays[kind, name] = self._growing(array, kind, name)
        self._rows[kind, name] = [np.nan] * self._waiting

    def _growing(self, array: Any, kind: str, name: str) -> GrowingArray:
        path = f"{kind}/{name}"
        known = {"stored": self._sums.pop(path, None), "tail": self._tails.get(path)}
        return GrowingArray(array, self._folder / path, self._written, write_empty_chunks=False, **known)


def numbers_of(report: object | None) -> dict[str, float]:
    """The numeric fields of a report, and of reports in it: `contact.sweeps`."""
    if report is None or not is_dataclass(report):
        return {}
    found: dict[str, float] = {}
    for field in fields(report):
        value = getattr(report, field.name)
        if isinstance(value, int | float | np.number | np.bool_):
            found[field.name] = float(value)
        elif is_dataclass(value):
            found |= {f"{field.name}.{name}": number for name, number in numbers_of(value).items()}
    return found
