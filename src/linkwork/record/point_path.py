"""The path of a point of a body in the world, from the joints between it and the world alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray, IntArray, frozen
from linkwork.dynamics.inputs import as_finite
from linkwork.dynamics.kinematics import world_poses
from linkwork.errors import StateError
from linkwork.model import layout

if TYPE_CHECKING:
    from linkwork.record.recording import Recording


def point_path(recording: Recording, body: str | int, at: ArrayLike) -> FloatArray:
    """See `Recording.path_of`. Cost: O(depth) per frame."""
    model = recording.model
    point = as_finite(at, (3,), "at", model)
    index: Any = body
    if isinstance(body, str):
        index, pose = model.frame(body)
        point = np.array(pose.apply(point.tolist()), dtype=np.float64)
    if not isinstance(index, int | np.integer) or not -1 <= index < model.n_bodies:
        raise StateError(f"body {body!r} does not exist; model '{model.name}' has {model.n_bodies} bodies.")
    chain: list[int] = []
    i = int(index)
    while i >= 0:
        chain.append(i)
        i = int(model.parent[i])
    chain = sorted(chain)  # parents come first in a model
    if not chain:
        return np.tile(point, (len(recording), 1))
    tree, places = _chain_alone(model.arrays.tree, chain, [model.joints[i].nq for i in chain])
    rows = model.arrays.body[chain]
    for table in (tree, rows):
        frozen(table)  # as a model's own tables, so that the same compiled kernel serves
    path = np.empty((len(recording), 3))
    for k, q in enumerate(recording.coordinates(places)):
        last = world_poses(tree, rows, model.arrays.screws, q)[-1]
        path[k] = last[:9].reshape(3, 3) @ point + last[9:]
    return path


def _chain_alone(tree: IntArray, chain: list[int], sizes: list[int]) -> tuple[IntArray, list[int]]:
    """The rows of a chain of bodies as a tree of their own, and where its coordinates stand in the whole."""
    own = tree[chain]
    own[:, layout.PARENT] = np.arange(-1, len(chain) - 1)
    places = [int(first) + c for first, size in zip(own[:, layout.Q], sizes, strict=True) for c in range(size)]
    own[:, layout.Q] = np.cumsum(sizes) - sizes
    own[:, layout.V] = np.cumsum(own[:, layout.DOF]) - own[:, layout.DOF]
    return own, places


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
