"""Memory of a new adaptive simulation: for the tree, and for a linkage that may become the whole model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.workspace import Bundles, allocate
from linkwork.core.arrays import FloatArray
from linkwork.dynamics.front import body_poses
from linkwork.model.layout import DOF, FREE, KIND, PARENT
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.moving import untouched


def tables_to_gather(model: Model) -> list[NDArray[Any]]:
    """Tables as large as those of the model, which take no memory before they are written to; screws and gravity are
    the model's own."""
    tree, body, screws, dof, rest, gravity = model.arrays
    return [_like(tree), _like(body), screws, _like(dof), _like(rest), gravity]


def _like(array: NDArray[Any]) -> NDArray[Any]:
    return untouched(array.shape[0], array.shape[1] if array.ndim == 2 else None, array.dtype.type)


def make_bundles(model: Model, state: State, weights: tuple[FloatArray, FloatArray], has_contact: bool) -> Bundles:
    """Bundles of a tree in motion, with room for the forces of contacts behind those of loops, which act on the metrics.

    weights: of squared accelerations and velocities.
    """
    bundles = allocate(model, np.array(state.q), np.array(state.v), *weights, in_motion=True)
    if not has_contact:
        return bundles
    from linkwork.adaptive.dynamics.touching import MOST_CONTACT_FORCES

    run = bundles.run
    body = np.concatenate([run.loop_body, np.full(2 * MOST_CONTACT_FORCES, -1, dtype=np.int64)])
    return bundles._replace(run=run._replace(loop_body=body, loop_wrench=np.zeros((body.size, 6))))


def poses_in_rows(model: Model, state: State) -> FloatArray:
    """World poses of all bodies, rotation and position, shape (n, 12)."""
    T = body_poses(model, state)
    return np.ascontiguousarray(np.hstack([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]))


def count_optional_joints(model: Model) -> int:
    """Joints that may be inactive: all that move, but for the free joints of floating trees."""
    tree = model.arrays.tree
    return int(((tree[:, DOF] > 0) & ~((tree[:, KIND] == FREE) & (tree[:, PARENT] < 0))).sum())
