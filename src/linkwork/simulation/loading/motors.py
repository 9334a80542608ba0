"""Motors on the joints of a simulation, as users give them: checked, one row per degree of freedom."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import dimensions
from linkwork.dynamics.inputs import as_array
from linkwork.errors import StateError
from linkwork.model.layout import COMPOUND, HELICAL, KIND
from linkwork.model.model import Model
from linkwork.simulation.loading.motor_law import M_DAMPING, M_POSITION, M_STIFFNESS, M_VELOCITY, MOTOR_COLUMNS


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
    rows = np.zeros((count, MOTOR_COLUMNS))
    for column, what, gain in ((M_STIFFNESS, "stiffness", stiffness), (M_DAMPING, "damping", damping)):
        rows[:, column] = joint_numbers(model, joint, f"{what} of the motor", gain, count)
        if (rows[:, column] < 0.0).any():
            raise StateError(f"motor of '{joint}': {what} is {rows[:, column].tolist()}; it must be ≥ 0.")
    if position is None and rows[:, M_STIFFNESS].any():
        raise StateError(f"motor of '{joint}' has a stiffness but no position to hold; give position=.")
    if position is not None and not rows[:, M_STIFFNESS].any():
        raise StateError(
            f"motor of '{joint}' has a position to hold but no stiffness to pull there with; give stiffness= > 0 "
            "[N·m/rad or N/m], and damping= so that it comes to rest. To drive a speed give velocity= and damping= alone."
        )
    if velocity is not None and not rows[:, M_DAMPING].any():
        raise StateError(
            f"motor of '{joint}' has a velocity to keep but no damping to keep it with; give damping= > 0 [N·m·s/rad or "
            "N·s/m]."
        )
    for column, what, target in ((M_POSITION, "position", position), (M_VELOCITY, "velocity", velocity)):
        if target is not None:
            rows[:, column] = joint_numbers(model, joint, f"{what} of the motor", target, count)
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


def joint_numbers(model: Model, joint: str, what: str, value: ArrayLike, size: int) -> FloatArray:
    """One finite number for all degrees of freedom of a joint, or one for each, shape (size,)."""
    same = dimensions(value) == 0 and size > 1
    given: Any = value if dimensions(value) else [value]
    array = as_array(given, (1 if same else size,), f"{what} of '{joint}'", model)
    if not np.isfinite(array).all():
        raise StateError(f"{what} of '{joint}' is {array.tolist()}; give finite numbers.")
    return np.full(size, array[0]) if same else array
