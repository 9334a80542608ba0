"""Loads on bodies as wrenches in the frames of the bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.simulation.loading.load_columns import LOAD_AT, LOAD_FORCE, LOAD_STIFFNESS, LOAD_TARGET, LOAD_TORQUE


def load_wrenches(loads: Any, poses: FloatArray) -> FloatArray:
    """All loads of a table (`sim.view.loads`) at poses (n, 12) of the bodies: [n; f] at their origins, shape (n, 6)."""
    total = np.array(loads.wrench)
    rows, bodies = loads.table[: loads.count], loads.body[: loads.count]
    R, p = poses[bodies, :9].reshape(-1, 3, 3), poses[bodies, 9:]
    at = rows[:, LOAD_AT : LOAD_AT + 3]
    points = p + np.einsum("kij,kj->ki", R, at)
    pull = rows[:, LOAD_STIFFNESS, None] * (rows[:, LOAD_TARGET : LOAD_TARGET + 3] - points)
    force = np.einsum("kji,kj->ki", R, rows[:, LOAD_FORCE : LOAD_FORCE + 3] + pull)
    torque = np.einsum("kji,kj->ki", R, rows[:, LOAD_TORQUE : LOAD_TORQUE + 3]) + np.cross(at, force)
    np.add.at(total, bodies, np.concatenate([torque, force], axis=1))
    return total
