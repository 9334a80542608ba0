"""The motors of a full simulation, evaluated at every state an integrator asks about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.model.model import Model
from linkwork.simulation.motors import driven_freedoms

FloatArray = NDArray[np.float64]


class Motors:
    """Effort = stiffness (position - q) + damping (velocity - q̇) on each driven joint.

    A new target for a joint that has a motor costs O(1), however many motors there are: controllers set them at every step.
    """

    def __init__(self, model: Model):
        self.model = model
        self._of_joint: dict[str, FloatArray] = {}  # once gathered, views of its rows in the table
        self._table = np.zeros((0, 4))  # one row a driven degree of freedom
        self._q = self._v = np.zeros(0, dtype=np.int64)  # coordinate and velocity of each row
        self._is_gathered = True

    def __contains__(self, joint: str) -> bool:
        return joint in self._of_joint

    def write(self, joint: str, rows: FloatArray | None) -> None:
        """Rows of `motor_verbs` for a joint; None takes its motor away."""
        if rows is None:
            del self._of_joint[joint]
            self._is_gathered = False
        elif joint in self._of_joint:
            self._of_joint[joint][:] = rows
        else:
            self._of_joint[joint] = rows
            self._is_gathered = False

    def add_to(self, effort: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        """The efforts with those of the motors, shape (nv,); the same array where there are no motors."""
        if not self._is_gathered:
            self._gather()
        if not self._v.size:
            return effort
        total = effort.copy() if effort.size else np.zeros(self.model.nv)
        stiffness, damping, position, velocity = self._table.T
        np.add.at(total, self._v, stiffness * (position - q[self._q]) + damping * (velocity - v[self._v]))
        return total

    def saved(self) -> dict[str, object]:
        """The motors for a checkpoint: body of each driven joint, and the rows of all of them."""
        joints = np.array([self.model.joint(joint) for joint in self._of_joint], dtype=np.int64)
        return {"motor_joints": joints, "motor_rows": np.concatenate([np.zeros((0, 4)), *self._of_joint.values()])}

    def restore(self, saved: dict[str, Any]) -> None:
        names = [self.model.joint_names[i] for i in saved["motor_joints"].tolist()]
        ends = np.cumsum([driven_freedoms(self.model, name) for name in names], dtype=np.int64)
        parts = np.split(saved["motor_rows"], ends[:-1]) if names else []
        self._of_joint = {name: rows.copy() for name, rows in zip(names, parts, strict=True)}
        self._is_gathered = False

    def _gather(self) -> None:
        """Makes one table of the rows of all motors, and theirs the views of it."""
        self._table = np.concatenate([np.zeros((0, 4)), *self._of_joint.values()])
        none = np.zeros(0, dtype=np.int64)
        slices = [(self.model.q_slice(joint), self.model.v_slice(joint)) for joint in self._of_joint]
        self._q = np.concatenate([none, *(np.arange(q.start, q.stop) for q, _ in slices)])
        self._v = np.concatenate([none, *(np.arange(v.start, v.stop) for _, v in slices)])
        first = 0
        for joint, rows in self._of_joint.items():
            self._of_joint[joint] = self._table[first : first + len(rows)]
            first += len(rows)
        self._is_gathered = True
