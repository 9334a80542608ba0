"""What the accelerations by `aba` miss: put back into the equations of motion, and solved for once more.

Where bodies have almost no moments even `aba` may keep no digit. Efforts that its accelerations leave over, by inverse
dynamics, are rounding; the accelerations that they would cause are as large as the error.
"""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray, lazy_zeros
from linkwork.dynamics.aba import BODY_WORK, DOF_WORK, SINGULAR, aba
from linkwork.dynamics.rnea import BODY_WORK as RNEA_BODY_WORK
from linkwork.dynamics.rnea import rnea
from linkwork.model.layout import DAMPING, STIFFNESS
from linkwork.model.model import Model
from linkwork.model.state import State

MARGIN_OF_ABA = 10.0  # over what its accelerations miss: that is rounded too


def missed_accelerations(
    model: Model, state: State, effort: FloatArray, wrenches: FloatArray, qdd: FloatArray
) -> FloatArray | None:
    """What q̈ by `aba` misses, shape (nv,); None where the mass matrix is singular to rounding.

    effort: given, and of motors; springs and dampers act by themselves. wrenches (n, 6): in body frames. Cost: O(n).
    """
    n, nv = model.n_bodies, model.nv
    work, needed = lazy_zeros(n, BODY_WORK), np.zeros(nv)
    rnea(*model.arrays, state.q, state.v, qdd, wrenches, np.empty((n, RNEA_BODY_WORK)), np.zeros((nv, 6)), needed)
    loose = model.arrays.dof.copy()
    loose[:, [STIFFNESS, DAMPING]] = 0.0
    tables = (*model.arrays[:3], loose, model.arrays.rest, np.zeros(3))
    still, missed = np.zeros(nv), np.zeros(nv)
    status, _ = aba(*tables, state.q, still, effort - needed, np.zeros((0, 6)), work, lazy_zeros(nv, DOF_WORK), missed)
    return None if status == SINGULAR else missed
