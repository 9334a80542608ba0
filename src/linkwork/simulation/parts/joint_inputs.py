"""What is given on the joints of a linkage: efforts and motors."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.model.layout import COMPOUND, DOF, HELICAL, KIND, Q, V
from linkwork.model.model import Model
from linkwork.simulation.loading.motor_law import M_DAMPING, M_FRICTION, MOTOR_COLUMNS
from linkwork.simulation.parts.part import Entry, Saved, write


class Listener(Protocol):
    """What a simulation does when what is given on its joints changes."""

    def _joints_changed(self, joints: IntArray) -> None:
        """The efforts or motors of the joints that carry these bodies are others."""


class JointInputs:
    """Efforts and motors on the joints of a simulation.

    effort (nv,): as given [N·m or N]. motor (nv, 5): columns of `motor_law`. motor_joints: joints that have a motor.
    gains_version, engaged_version: count up where gains were set, and where motors were taken away.
    has_friction: whether any motor ever had dry friction, which is judged at the end of steps as limits of motors are.
    """

    fault = "the checkpoint is damaged: it names motors of joints that do not exist."

    def __init__(self, model: Model, listener: Listener):
        self.model = model
        self._listener = listener
        self.effort = np.zeros(model.nv)
        self.motor = np.zeros((model.nv, MOTOR_COLUMNS))
        self.motor_joints: set[str] = set()
        self.engaged_version = self.gains_version = 0
        self.has_friction = False
        tree = model.arrays.tree
        plain = np.isin(tree[:, KIND], (HELICAL, COMPOUND))  # joints whose velocities are rates of their coordinates
        count = tree[:, DOF]
        place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)  # of each freedom in its joint
        rows, places = np.repeat(tree[:, V], count) + place, np.repeat(tree[:, Q], count) + place
        are_plain = np.repeat(plain, count)
        self._plain = rows[are_plain], places[are_plain]
        self._turning = rows[~are_plain]

    @property
    def could_work(self) -> bool:
        """Whether any motor may bring energy in, or an effort whose work coordinates do not tell."""
        return bool(self.motor_joints) or bool(self.effort[self._turning].any())

    def work_function(self, q: FloatArray) -> float:
        """Σ effort · coordinate [J] at q (nq,): by its change, efforts that stay as they are have worked."""
        rows, places = self._plain
        return float(self.effort[rows] @ q[places])

    # ------------------------------------------------------------------------------------------------------------- changes

    def changed(self, joints: IntArray) -> None:
        """What is given on the joints that carry these bodies was written to."""
        self._listener._joints_changed(joints)

    def set_effort(self, joint: int, values: FloatArray) -> None:
        self.effort[self.model.v_slice(joint)] = values
        self.changed(np.array([joint], dtype=np.int64))

    def set_efforts(self, values: FloatArray) -> None:
        """Of all joints; those that stay as they are are left alone."""
        rows = np.flatnonzero(self.effort != values)
        if rows.size:
            self.effort[rows] = values[rows]
            self.changed(self.joints_of(rows))

    def set_motor(self, joint: str, values: FloatArray) -> bool:
        """values: (d, 5); friction stays. Returns whether gains are others than before."""
        i = self.model.joint(joint)
        rows = self.model.v_slice(i)
        other = not np.array_equal(self.motor[rows, : M_DAMPING + 1], values[:, : M_DAMPING + 1])
        self.gains_version += other
        self.motor[rows, :M_FRICTION] = values[:, :M_FRICTION]
        self.motor_joints.add(joint)
        self.changed(np.array([i], dtype=np.int64))
        return other

    def clear_motor(self, joint: str) -> None:
        self.motor[self.model.v_slice(joint)] = 0.0
        self.motor_joints.discard(joint)
        self.engaged_version += 1
        self.gains_version += 1
        self.changed(np.array([self.model.joint(joint)], dtype=np.int64))

    def set_targets(self, rows: IntArray, column: int, values: FloatArray) -> None:
        """Positions or velocities that motors follow, in these rows; what stays where it is is left alone."""
        other = np.flatnonzero(self.motor[rows, column] != values)
        if other.size:
            self.motor[rows[other], column] = values[other]
            self.changed(self.joints_of(rows[other]))

    def joints_of(self, rows: IntArray) -> IntArray:
        """Bodies that joints with these degrees of freedom carry, ascending."""
        found = np.searchsorted(self.model.arrays.tree[:, V], rows, side="right") - 1
        return found if (found[1:] > found[:-1]).all() else np.unique(found)

    def acting(self) -> IntArray:
        """Bodies on joints with an effort or a motor, ascending."""
        return self.joints_of(np.flatnonzero((self.effort != 0.0) | self.motor.any(axis=1)))

    # --------------------------------------------------------------------------------------------------------- checkpoints

    def schema(self) -> tuple[Entry, ...]:
        return (
            Entry("effort", self.effort.shape, finite=True),
            Entry("motor", self.motor.shape, finite=True),
            Entry("driven", ("motors",), "i", 0, self.model.n_bodies - 1),
        )

    def saved(self) -> dict[str, NDArray[Any]]:
        driven = np.array(sorted(self.model.joint(joint) for joint in self.motor_joints), dtype=np.int64)
        return {"effort": self.effort.copy(), "motor": self.motor.copy(), "driven": driven}

    def fits(self, saved: Saved) -> bool:
        return True

    def restore(self, saved: Saved) -> None:
        write({"effort": self.effort, "motor": self.motor}, saved)
        self.motor_joints = {self.model.joint_names[i] for i in saved["driven"].tolist()}
        self.engaged_version += 1
        self.gains_version += 1
        self.has_friction = self.has_friction or bool(self.motor[:, M_FRICTION].any())

    def reset(self) -> None:
        """No effort, no motor."""
        self.set_efforts(np.zeros(self.model.nv))
        for joint in sorted(self.motor_joints):
            self.clear_motor(joint)
