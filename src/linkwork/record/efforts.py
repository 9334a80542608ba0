"""Efforts on joints over time, by source: kept for recordings of models that are not too large."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.quantities.efforts import IN_JOINTS
from linkwork.record import layout
from linkwork.record.store.container import GrowingArray, create_array

NAME = "frames/efforts"
PARTS = len(IN_JOINTS)


class EffortLines:
    """The array of efforts of a recording that is being written; there is none where the first frame brought none."""

    def __init__(self, group: Any, folder: Path, committed: dict[str, Any]):
        """committed: frames that count, and the sums of arrays that do."""
        self._group, self._folder = group, folder
        stored, tail = committed["sums"].get(NAME), committed.get("tails", {}).get(NAME)
        self._array: GrowingArray | None = None
        if stored is not None:
            self._array = GrowingArray(group[NAME], folder / NAME, committed["frames"], stored=stored, tail=tail)

    @property
    def arrays(self) -> dict[str, GrowingArray]:
        """By path within the recording."""
        return {} if self._array is None else {NAME: self._array}

    def append(self, frame: int, parts: FloatArray | None, width: int) -> None:
        """parts: (nv, 5), columns as of `IN_JOINTS`, kept as rows of the sources one after the other; None is NaN."""
        if self._array is None:
            if frame > 0 or parts is None:
                return
            if NAME in self._group:  # left by a run that was killed before it was committed
                del self._group[NAME]
            size = PARTS * width
            create_array(self._group, NAME, (size,), "f8", layout.key_chunk(size), "N·m or N: by source, then joint")
            self._array = GrowingArray(self._group[NAME], self._folder / NAME, 0)
        row = np.full((1, PARTS * width), np.nan) if parts is None else parts.T.reshape(1, -1).copy()
        self._array.append(row)

    def write(self) -> list[Path]:
        return [] if self._array is None else self._array.write()
