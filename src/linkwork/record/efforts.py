"""Efforts on joints over time, by source: kept for recordings of models that are not too large."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.efforts import Efforts
from linkwork.record import layout
from linkwork.record.container import GrowingArray, create_array

NAME = "frames/efforts"
PARTS = len(Efforts._fields)


class EffortLines:
    """The array of efforts of a recording that is being written; there is none where the first frame brought none."""

    def __init__(self, group: Any, folder: Path, frames: int):
        self._group, self._folder = group, folder
        self._array = self._growing(frames) if NAME in group else None

    def _growing(self, frames: int) -> GrowingArray:
        return GrowingArray(self._group[NAME], self._folder / NAME, frames)

    def append(self, frame: int, parts: FloatArray | None, width: int) -> None:
        """parts: (nv, 5), columns as of `Efforts`, kept as rows of the sources one after the other; None is NaN."""
        if self._array is None:
            if frame > 0 or parts is None:
                return
            size = PARTS * width
            create_array(self._group, NAME, (size,), "f8", layout.key_chunk(size), "N·m or N: by source, then joint")
            self._array = self._growing(0)
        row = np.full((1, PARTS * width), np.nan) if parts is None else parts.T.reshape(1, -1).copy()
        self._array.append(row)

    @property
    def waiting_bytes(self) -> int:
        return 0 if self._array is None else self._array.waiting_bytes

    def write(self) -> list[Path]:
        return [] if self._array is None else self._array.write()
