"""What wrenches on bodies come to along the joints: Jᵀw, by one sweep of inverse dynamics."""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.api import inverse_dynamics
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.dynamics.quantities.quantities import gravity_efforts
from linkwork.model.model import Model
from linkwork.model.state import State


def efforts_of_wrenches(model: Model, q: FloatArray, wrenches: FloatArray) -> FloatArray:
    """Efforts that do the same work, shape (nv,) [N·m or N].

    wrenches: torque about each body's origin, then force, in the axes of the world, shape (n, 6). Cost: O(n).
    """
    if not wrenches.any():
        return np.zeros(model.nv)
    still = State(q, np.zeros(model.nv))
    R = body_poses(model, still)[:, :3, :3]
    own = np.einsum("nji,nkj->nki", R, wrenches.reshape(-1, 2, 3)).reshape(-1, 6)  # in the axes of the bodies
    # Efforts that hold the linkage still against the wrenches and its weight are weight's less Jᵀw.
    return np.asarray(gravity_efforts(model, still) - inverse_dynamics(model, still, still.v, wrenches=own))
