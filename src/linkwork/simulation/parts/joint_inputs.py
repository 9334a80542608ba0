"""What is given on the joints of a linkage: efforts and motors."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

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


class Driven(NamedTuple):
    """Efforts that act, whose work coordinates tell: by the change of Σ effort · coordinate, while they stay as they are.

    effort (k,) [N·m or N]. place (k,): of their coordinates in q. are_all: whether no other efforts act.
    """

    effort: FloatArray
    place: IntArray
    are_all: bool


NOTHING_DRIVEN = Driven(np.zeros(0), np.zeros(0, dtype=np.int64), True)


class JointInputs:
    """Efforts and motors on the joints of a simulation.

    effort (nv,): as given [N·m or N]. motor (nv, 5): columns of `motor_law`. motor_joints: joints that have a motor.
    gains_version, engaged_version: count up where gains were set, and where motors were taken away.
    place (nv,): of the coordinate whose rate a velocity is, in q; -1 where it is the rate of none.
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
        self.place = np.full(model.nv, -1)
        self.place[np.repeat(tree[:, V], count) + place] = np.where(
            np.repeat(plain, count), np.repeat(tree[:, Q], count) + place, -1
        )
        self._rows_driven = np.zeros(0, dtype=np.int64)  # as they were listed last,
        self._rows_set: set[int] = set()  # and where efforts were set since
        self._driven: Driven | None = None

    @property
    def could_work(self) -> bool:
        """Whether any motor may bring energy in, or an effort whose work coordinates do not tell."""
        return bool(self.motor_joints) or not self.driven.are_all

    @property
    def driven(self) -> Driven:
        """The efforts that act. Cost: O(those) where some were set since it was asked last."""
        if self._driven is None:
            rows = np.union1d(self._rows_driven, np.array(list(self._rows_set), dtype=np.int64))
            self._rows_driven = rows = rows[self.effort[rows] != 0.0]
            self._rows_set.clear()
            tell = self.place[rows] >= 0
            self._driven = Driven(self.effort[rows[tell]], self.place[rows[tell]], bool(tell.all()))
        return self._driven

    # ------------------------------------------------------------------------------------------------------------- changes

    def changed(self, joints: IntArray) -> None:
        """What is given on the joints that carry these bodies was written to."""
        self._listener._joints_changed(joints)

    def set_effort(self, joint: int, values: FloatArray) -> None:
        self.give_efforts(self.model.v_slice(joint), values, np.array([joint], dtype=np.int64))

    def give_efforts(self, rows: slice | IntArray, values: FloatArray, joints: IntArray) -> None:
        """Of these degrees of freedom, (k,), of the joints that carry these bodies."""
        self.effort[rows] = values
        self._rows_set.update(range(rows.start, rows.stop) if isinstance(rows, slice) else rows.tolist())
        self._driven = None
        self.changed(joints)

    def set_efforts(self, values: FloatArray) -> None:
        """Of all joints; those that stay as they are are left alone."""
        rows = np.flatnonzero(self.effort != values)
        if rows.size:
            self.effort[rows] = values[rows]
            self._find_driven()
            self.changed(self.joints_of(rows))

    def _find_driven(self) -> None:
        """Among all joints."""
        self._rows_driven, self._driven = np.flatnonzero(self.effort), None
        self._rows_set.clear()

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
        self._find_driven()
        self.motor_joints = {self.model.joint_names[i] for i in saved["driven"].tolist()}
        self.engaged_version += 1
        self.gains_version += 1
        self.has_friction = self.has_friction or bool(self.motor[:, M_FRICTION].any())

    def reset(self) -> None:
        """No effort, no motor."""
        self.set_efforts(np.zeros(self.model.nv))
        for joint in sorted(self.motor_joints):
            self.clear_motor(joint)
