"""Motors on the joints of a simulation: the verbs, and what they check. Proportional and derivative control."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.dynamics.inputs import as_array
from linkwork.errors import StateError
from linkwork.model.layout import COMPOUND, HELICAL, KIND
from linkwork.model.model import Model

FloatArray = NDArray[np.float64]

M_STIFFNESS, M_DAMPING, M_POSITION, M_VELOCITY = range(4)


class MotorVerbs:
    """What can be done with motors, for every simulation that has velocities. Numbers go where the simulation says."""

    model: Model

    def _write_motor(self, joint: str, rows: FloatArray | None) -> None:
        """The motor of a joint is another; None takes it away."""
        raise NotImplementedError

    def _has_motor(self, joint: str) -> bool:
        raise NotImplementedError

    def set_motor(
        self,
        joint: str,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        stiffness: ArrayLike = 0.0,
        damping: ArrayLike = 0.0,
    ) -> None:
        """A motor: effort stiffness (position - q) + damping (velocity - q̇), until set again or cleared.

        position [rad or m], velocity [rad/s or m/s]: targets, a number or one a degree of freedom; no velocity is zero.
        stiffness [N·m/rad or N/m], damping [N·m·s/rad or N·s/m]: gains, likewise, ≥ 0.
        For hinges, sliders, screws and compounds of them. Cost: at most O(log n).
        """
        self._write_motor(joint, motor_rows(self.model, joint, position, velocity, stiffness, damping))

    def clear_motor(self, joint: str) -> None:
        """Takes the motor of a joint away."""
        self.model.joint(joint)  # an unknown name is a slip of the pen, a joint without a motor another
        if not self._has_motor(joint):
            raise StateError(f"joint '{joint}' has no motor to clear; set_motor('{joint}', ...) gives it one.")
        self._write_motor(joint, None)


def motor_rows(
    model: Model,
    joint: str,
    position: ArrayLike | None,
    velocity: ArrayLike | None,
    stiffness: ArrayLike,
    damping: ArrayLike,
) -> FloatArray:
    """(stiffness, damping, position, velocity) for each degree of freedom of a joint, shape (d, 4)."""
    count = driven_freedoms(model, joint)
    rows = np.zeros((count, 4))
    for column, what, gain in ((M_STIFFNESS, "stiffness", stiffness), (M_DAMPING, "damping", damping)):
        rows[:, column] = _numbers(model, joint, what, gain, count)
        if (rows[:, column] < 0.0).any():
            raise StateError(f"motor of '{joint}': {what} is {rows[:, column].tolist()}; it must be ≥ 0.")
    if position is None and rows[:, M_STIFFNESS].any():
        raise StateError(f"motor of '{joint}' has a stiffness but no position to hold; give position=.")
    for column, what, target in ((M_POSITION, "position", position), (M_VELOCITY, "velocity", velocity)):
        if target is not None:
            rows[:, column] = _numbers(model, joint, what, target, count)
    return rows


def driven_freedoms(model: Model, joint: str) -> int:
    """Degrees of freedom of a joint that a motor can drive; refuses all others."""
    i = model.joint(joint)
    rows = model.v_slice(joint)
    if model.arrays.tree[i, KIND] not in (HELICAL, COMPOUND) or rows.start == rows.stop:
        name = type(model.joints[i]).__name__
        raise StateError(
            f"joint '{joint}' is a {name} joint; a motor needs coordinates it can subtract, as hinges, sliders, screws "
            "and compounds of them have. Drive it with set_effort, or build it as a Compound of three Revolute joints."
        )
    return rows.stop - rows.start


def _numbers(model: Model, joint: str, what: str, value: ArrayLike, size: int) -> FloatArray:
    """One number for all degrees of freedom, or one for each."""
    whole = np.ndim(value) == 0 and size > 1
    array = as_array(np.atleast_1d(value), (1 if whole else size,), f"{what} of the motor of '{joint}'", model)
    if not np.isfinite(array).all():
        raise StateError(f"motor of '{joint}': {what} is {array.tolist()}; give finite numbers.")
    return np.full(size, array[0]) if whole else array
