"""The path of a point of a body in the world, from the joints between it and the world alone."""

from __future__ import annotations

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
