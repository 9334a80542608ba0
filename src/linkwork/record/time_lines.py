"""A few entries of the state over all frames, from key frames and changes alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.record.container import read_rows

BLOCK = 1 << 20  # changes looked at in one go: bounds the memory, whatever the length of the recording


def time_lines(group: Any, places: IntArray, width: int, key_frames: IntArray, changes_end: IntArray) -> FloatArray:
    """Entries `places` of the state in every frame, shape (frames, len(places)).

    Each frame first gets what was stored for it, then everything is carried forward to where it next changed.
    """
    frames = changes_end.shape[0]
    lines = np.full((frames, places.shape[0]), np.nan)
    stored = np.zeros(lines.shape, dtype=bool)
    if frames == 0 or places.size == 0:
        return lines
    lines[key_frames] = group["keys/state"].oindex[slice(0, key_frames.shape[0]), places]
    stored[key_frames] = True
    column = np.full(width, -1, dtype=np.int64)
    column[places] = np.arange(places.shape[0])
    for start in range(0, int(changes_end[-1]), BLOCK):
        stop = min(start + BLOCK, int(changes_end[-1]))
        its_column = column[read_rows(group["changes/index"], start, stop)]
        hits = np.flatnonzero(its_column >= 0)
        if hits.size == 0:
            continue
        frame = np.searchsorted(changes_end, start + hits, side="right")
        lines[frame, its_column[hits]] = read_rows(group["changes/value"], start, stop)[hits]
        stored[frame, its_column[hits]] = True
    latest = np.maximum.accumulate(np.where(stored, np.arange(frames)[:, None], 0), axis=0)
    return np.asarray(np.take_along_axis(lines, latest, axis=0))
