"""A few entries of the state over all frames, from key frames and changes alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray

BLOCK = 1 << 20  # changes looked at in one go: bounds the memory, whatever the length of the recording


def time_lines(
    read: Callable[[str, int, int], Any], places: IntArray, width: int, key_frames: IntArray, changes_end: IntArray
) -> FloatArray:
    """Entries `places` of the state in every frame, shape (frames, len(places)).

    read: rows of an array of the recording by name, from the second number up to before the first.

    Each frame first gets what was stored for it, then everything is carried forward to where it next changed.
    """
    frames = changes_end.shape[0]
    lines = np.full((frames, places.shape[0]), np.nan)
    stored = np.zeros(lines.shape, dtype=bool)
    if frames == 0 or places.size == 0:
        return lines
    key_frames = key_frames[key_frames < frames]
    at_once = max(1, BLOCK // max(1, width))
    for start in range(0, key_frames.shape[0], at_once):
        stop = min(start + at_once, key_frames.shape[0])
        lines[key_frames[start:stop]] = read("keys/state", stop, start)[:, places]
    stored[key_frames] = True
    column = np.full(width, -1, dtype=np.int64)
    column[places] = np.arange(places.shape[0])
    for start in range(0, int(changes_end[-1]), BLOCK):
        stop = min(start + BLOCK, int(changes_end[-1]))
        its_column = column[read("changes/index", stop, start)]
        hits = np.flatnonzero(its_column >= 0)
        if hits.size == 0:
            continue
        frame = np.searchsorted(changes_end, start + hits, side="right")
        lines[frame, its_column[hits]] = read("changes/value", stop, start)[hits]
        stored[frame, its_column[hits]] = True
    latest = np.maximum.accumulate(np.where(stored, np.arange(frames)[:, None], 0), axis=0)
    return np.asarray(np.take_along_axis(lines, latest, axis=0))
