"""Motors: efforts that drive joints towards a position, a velocity, or both (proportional and derivative control)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.dynamics.inputs import as_array
from linkwork.errors import StateError
from linkwork.model.layout import COMPOUND, HELICAL, KIND
from linkwork.model.model import Model

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Motors:
    """The motors of a simulation: effort = stiffness (position - q) + damping (velocity - q̇) on each driven joint."""

    def __init__(self, model: Model):
        self.model = model
        self._of_joint: dict[str, FloatArray] = {}  # rows (q, v, position, velocity, stiffness, damping) of each degree
        self._all = np.zeros((0, 6))
        self._q = self._v = np.zeros(0, dtype=np.int64)

    def set(
        self,
        joint: str,
        position: ArrayLike | None,
        velocity: ArrayLike | None,
        stiffness: ArrayLike,
        damping: ArrayLike,
    ) -> None:
        at_q, at_v = self._rows(joint)
        gains = [self._numbers(joint, what, value, at_v.size) for what, value in
                 (("stiffness", stiffness), ("damping", damping))]  # fmt: skip
        for what, gain in zip(("stiffness", "damping"), gains, strict=True):
            if (gain < 0.0).any():
                raise StateError(f"motor of '{joint}': {what} is {gain.tolist()}; it must be ≥ 0.")
        if position is None and gains[0].any():
            raise StateError(f"motor of '{joint}' has a stiffness but no position to hold; give position=.")
        targets = [
            np.zeros(at_v.size) if value is None else self._numbers(joint, what, value, at_v.size)
            for what, value in (("position", position), ("velocity", velocity))
        ]
        self._of_joint[joint] = np.stack([at_q, at_v, *targets, *gains], axis=1)
        self._gather()

    def clear(self, joint: str) -> None:
        self.model.joint(joint)  # an unknown name is a slip of the pen, a joint without a motor another
        if self._of_joint.pop(joint, None) is None:
            raise StateError(f"joint '{joint}' has no motor to clear; set_motor('{joint}', ...) gives it one.")
        self._gather()

    def add_to(self, effort: FloatArray, q: FloatArray, v: FloatArray) -> FloatArray:
        """The efforts with those of the motors, shape (nv,); the same array where there are no motors."""
        if not self._v.size:
            return effort
        total = effort.copy() if effort.size else np.zeros(self.model.nv)
        position, velocity, stiffness, damping = self._all.T[2:]
        np.add.at(total, self._v, stiffness * (position - q[self._q]) + damping * (velocity - v[self._v]))
        return total

    def _gather(self) -> None:
        self._all = np.concatenate([np.zeros((0, 6)), *self._of_joint.values()])
        self._q, self._v = self._all[:, 0].astype(np.int64), self._all[:, 1].astype(np.int64)

    def _rows(self, joint: str) -> tuple[IntArray, IntArray]:
        kind = self.model.arrays.tree[self.model.joint(joint), KIND]
        at_q, at_v = self.model.q_slice(joint), self.model.v_slice(joint)
        if kind not in (HELICAL, COMPOUND) or at_v.start == at_v.stop:
            name = type(self.model.joints[self.model.joint(joint)]).__name__
            raise StateError(
                f"joint '{joint}' is a {name} joint; a motor needs coordinates it can subtract, as hinges, sliders, screws "
                "and compounds of them have. Drive it with set_effort, or build it as a Compound of three Revolute joints."
            )
        return np.arange(at_q.start, at_q.stop), np.arange(at_v.start, at_v.stop)

    def _numbers(self, joint: str, what: str, value: ArrayLike, size: int) -> FloatArray:
        whole = np.ndim(value) == 0 and size > 1
        array = as_array(np.atleast_1d(value), (1 if whole else size,), f"{what} of the motor of '{joint}'", self.model)
        if not np.isfinite(array).all():
            raise StateError(f"motor of '{joint}': {what} is {array.tolist()}; give finite numbers.")
        return np.full(size, array[0]) if whole else array.copy()
