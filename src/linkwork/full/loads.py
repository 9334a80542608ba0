"""Loads of a full simulation: the same verbs as an adaptive one, evaluated at every state an integrator asks about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics import kinematics
from linkwork.dynamics.inputs import NO_EFFORT, NO_WRENCHES
from linkwork.full.motors import Motors
from linkwork.model.model import Model
from linkwork.simulation.loads import (
    LOAD_AT,
    LOAD_COLUMNS,
    LOAD_FORCE,
    LOAD_STIFFNESS,
    LOAD_TARGET,
    LOAD_TORQUE,
    LoadVerbs,
)
from linkwork.simulation.motors import MotorVerbs

FloatArray = NDArray[np.float64]


class FullLoads(LoadVerbs, MotorVerbs):
    """What acts on the bodies and joints of a full simulation."""

    def __init__(self, model: Model):
        super().__init__(model)
        self._motors = Motors(model)
        self._effort = NO_EFFORT  # (nv,) as given; empty while none was
        self._fixed_wrench = NO_WRENCHES  # (n, 6) sums of the loads fixed in bodies; empty while there never was one
        self._table = np.zeros((4, LOAD_COLUMNS))
        self._bodies = np.zeros(4, dtype=np.int64)  # body of each row

    @property
    def _load_table(self) -> tuple[FloatArray, NDArray[np.int64]]:
        return self._table, self._bodies

    def _grow_load_table(self) -> None:
        self._table = np.concatenate([self._table] * 2)
        self._bodies = np.concatenate([self._bodies] * 2)

    def _fixed_wrench_changed(self, body: int, total: FloatArray) -> None:
        if not self._fixed_wrench.size:
            self._fixed_wrench = np.zeros((self.model.n_bodies, 6))
        self._fixed_wrench[body] = total

    def _write_effort(self, joint: int, first: int, effort: FloatArray) -> None:
        if not self._effort.size:
            self._effort = np.zeros(self.model.nv)
        self._effort[first : first + effort.size] = effort

    def _has_motor(self, joint: str) -> bool:
        return joint in self._motors

    def _write_motor(self, joint: str, rows: FloatArray | None) -> None:
        self._motors.write(joint, rows)

    # -------------------------------------------------------------------------------------------------------- evaluation

    def _efforts_at(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Given efforts and those of motors, shape (nv,); empty for none."""
        return self._motors.add_to(self._effort, q, v)

    def _wrenches_at(self, q: FloatArray) -> FloatArray:
        """All loads as wrenches in the bodies' frames, shape (n, 6); empty for none."""
        count = len(self._rows)
        if not count:
            return self._fixed_wrench
        tree, body, screws, *_ = self.model.arrays
        bodies, rows = self._bodies[:count], self._table[:count]
        poses = kinematics.world_poses(tree, body, screws, q)[bodies]
        R, p = poses[:, :9].reshape(-1, 3, 3), poses[:, 9:]
        at = rows[:, LOAD_AT : LOAD_AT + 3]
        point = p + (R @ at[:, :, None])[:, :, 0]
        pull = rows[:, [LOAD_STIFFNESS]] * (rows[:, LOAD_TARGET : LOAD_TARGET + 3] - point)
        back = R.transpose(0, 2, 1)
        force = (back @ (rows[:, LOAD_FORCE : LOAD_FORCE + 3] + pull)[:, :, None])[:, :, 0]
        torque = (back @ rows[:, LOAD_TORQUE : LOAD_TORQUE + 3, None])[:, :, 0] + np.cross(at, force)
        total = self._fixed_wrench.copy() if self._fixed_wrench.size else np.zeros((self.model.n_bodies, 6))
        np.add.at(total, bodies, np.hstack([torque, force]))  # a body may carry several
        return total
