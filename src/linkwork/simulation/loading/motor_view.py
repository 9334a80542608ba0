"""Motors of many joints at once: gains, targets and efforts as vectors, set without a loop over joints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import shown
from linkwork.core.messages.describe import html_table, quoted
from linkwork.core.messages.names import did_you_mean, matching
from linkwork.core.turns import TakesTurns
from linkwork.errors import StateError
from linkwork.model.layout import COMPOUND, DOF, HELICAL, KIND, Q, V
from linkwork.simulation.loading.motor_law import M_DAMPING, M_FRICTION, M_POSITION, M_STIFFNESS, M_VELOCITY

if TYPE_CHECKING:
    from linkwork.simulation.loading.loaded import Loaded

_COLUMNS = {
    "stiffness": M_STIFFNESS,
    "damping": M_DAMPING,
    "position": M_POSITION,
    "velocity": M_VELOCITY,
    "friction": M_FRICTION,
}
_NEEDS = {"position": "stiffness", "velocity": "damping"}


class Motors(TakesTurns):
    """The motors of some joints of a simulation, as vectors with one number per degree of freedom, in the model's order.

    legs = sim.motors["leg_*"]                  # by name, pattern, list of names, slice or number
    legs.stiffness, legs.damping = 80.0, 4.0    # one number for all, or shape (len(legs),)
    legs.position = targets                     # [rad or m]
    Of joints that motors can drive: hinges, sliders, screws and compounds of them. A joint that is given gains for the
    first time holds where it is. Keep the object in a control loop: to set 500 targets then takes a few microseconds.
    """

    def __init__(self, sim: Loaded, bodies: IntArray):
        self._sim, self._bodies, self._inputs = sim, bodies, sim.view.joints
        self._turn = getattr(sim, "_turn", self._turn)  # one lock for a simulation and its motors
        tree = sim.model.arrays.tree[bodies]
        each = tree[:, DOF]
        within = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
        self._rows = _as_slice(np.repeat(tree[:, V], each) + within)
        self._coordinates = np.repeat(tree[:, Q], each) + within
        self._size = int(each.sum())
        self._engaged = self._gains_checked = -1  # versions of the simulation's motors

    @classmethod
    def of(cls, sim: Loaded) -> Motors:
        """Of all joints that can have one."""
        tree = sim.model.arrays.tree
        return cls(sim, np.flatnonzero(np.isin(tree[:, KIND], (HELICAL, COMPOUND)) & (tree[:, DOF] > 0)))

    # ------------------------------------------------------------------------------------------------------------ choosing

    @property
    def joints(self) -> list[str]:
        """Names of the joints."""
        names = self._sim.model.joint_names
        return [names[i] for i in self._bodies.tolist()]

    @property
    def rows(self) -> slice | IntArray:
        """Their places in vectors of shape (nv,)."""
        return self._rows

    def __len__(self) -> int:
        """Degrees of freedom."""
        return self._size

    def __getitem__(self, which: str | int | slice | Sequence[str] | IntArray | Any) -> Motors:
        if which is Ellipsis:
            return self
        if isinstance(which, str):
            return Motors(self._sim, self._bodies[self._find(which)])
        if isinstance(which, slice):
            if self._bodies.size and not self._bodies[which].size:
                raise StateError(
                    f"motors {shown(which)} are none: there are {self._bodies.size} joints to choose from."
                )
            return Motors(self._sim, self._bodies[which])
        if isinstance(which, list | tuple) and which and all(isinstance(x, str) for x in which):
            found = sorted({k for name in which for k in self._find(name)})
            return Motors(self._sim, self._bodies[found])
        index = np.atleast_1d(np.asarray(which)) if not isinstance(which, bool) else np.zeros(0)
        if index.ndim == 1 and index.size and index.dtype.kind in "iu":
            if (index >= -self._bodies.size).all() and (index < self._bodies.size).all():
                chosen = np.unique(index % self._bodies.size)
                return Motors(self._sim, self._bodies[chosen])
            raise StateError(f"motors {shown(which)}: there are {self._bodies.size} joints with motors to choose from.")
        raise StateError(
            f"motors are chosen by joint name, pattern, list of names, number or slice, not by {shown(which)}."
        )

    def _find(self, pattern: str) -> list[int]:
        joints = self.joints
        found = matching(pattern, joints)
        if found:
            return found
        known = self._sim.model.joint_names
        if matching(pattern, list(known)):
            raise StateError(
                f"joint '{pattern}' cannot have a motor: it needs coordinates to subtract, as hinges, sliders, screws and "
                "compounds of them have. Drive it with set_effort."
            )
        raise StateError(f"no joint is called, or matches, '{pattern}'{did_you_mean(pattern, joints)}.")

    # -------------------------------------------------------------------------------------------------------------- vectors

    @property
    def stiffness(self) -> FloatArray:
        """Effort per distance to the target, ≥ 0 [N·m/rad or N/m]."""
        return self._get("stiffness")

    @stiffness.setter
    def stiffness(self, value: ArrayLike) -> None:
        self._set_gain("stiffness", value)

    @property
    def damping(self) -> FloatArray:
        """Effort per difference to the target velocity, ≥ 0 [N·m·s/rad or N·s/m]."""
        return self._get("damping")

    @damping.setter
    def damping(self, value: ArrayLike) -> None:
        self._set_gain("damping", value)

    @property
    def friction(self) -> FloatArray:
        """Dry friction of the drive against any motion, ≥ 0 [N·m or N]; a joint that sticks creeps, at most 1e-4 per s."""
        return self._get("friction")

    @friction.setter
    def friction(self, value: ArrayLike) -> None:
        self._inputs.has_friction = True
        self._set_gain("friction", value)

    @property
    def position(self) -> FloatArray:
        """Target of each coordinate [rad or m]."""
        return self._get("position")

    @position.setter
    def position(self, value: ArrayLike) -> None:
        self._set_target("position", value)

    @property
    def velocity(self) -> FloatArray:
        """Target of each velocity [rad/s or m/s]."""
        return self._get("velocity")

    @velocity.setter
    def velocity(self, value: ArrayLike) -> None:
        self._set_target("velocity", value)

    @property
    def effort(self) -> FloatArray:
        """Effort that is given on top, as by `set_effort` [N·m or N]; what motors did is in `sim.efforts.motors`."""
        return np.array(self._inputs.effort[self._rows])

    @effort.setter
    def effort(self, value: ArrayLike) -> None:
        self._inputs.give_efforts(self._rows, self._numbers("effort", value), self._bodies)

    def _get(self, what: str) -> FloatArray:
        return np.array(self._inputs.motor[self._rows, _COLUMNS[what]])

    def _set_gain(self, what: str, value: ArrayLike) -> None:
        numbers = self._numbers(what, value)
        if (numbers < 0.0).any():
            raise StateError(f"{what} of motors is {shown(value)}; it must be ≥ 0.")
        inputs = self._inputs
        self._engage()
        inputs.motor[self._rows, _COLUMNS[what]] = numbers
        inputs.gains_version += 1
        self._sim._checked_steps.clear()
        inputs.changed(self._bodies)

    def _set_target(self, what: str, value: ArrayLike) -> None:
        numbers = self._numbers(what, value)
        inputs, model = self._inputs, self._sim.model
        if self._gains_checked != inputs.gains_version or what == "velocity":
            gain = _NEEDS[what]
            bad = np.flatnonzero(inputs.motor[self._rows, _COLUMNS[gain]] == 0.0)
            if bad.size:
                row = int(np.arange(model.nv)[self._rows][bad[0]])
                raise StateError(
                    f"motor of '{model.joint_names[model.joint_of(row)]}' has no {gain}, so a {what} to follow "
                    f"would do nothing; set .{gain} of the motors first."
                )
            if what == "position":
                self._gains_checked = inputs.gains_version
        inputs.motor[self._rows, _COLUMNS[what]] = numbers
        inputs.changed(self._bodies)

    def _numbers(self, what: str, value: ArrayLike) -> FloatArray:
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise StateError(f"{what} of motors must be numbers, not {shown(value)}.") from None
        if array.shape != (self._size,) and array.shape != ():
            raise StateError(
                f"{what} has shape {array.shape}; these motors need shape ({self._size},), or one number for all."
            )
        # One product finds a number that is not finite, and is cheaper than to check each; squares may overflow.
        if not math.isfinite(np.vdot(array, array)) and not np.isfinite(array).all():
            raise StateError(f"{what} of motors is {shown(value)}; give finite numbers.")
        return array

    def _engage(self) -> None:
        """Joints without a motor get one, which holds where they are."""
        inputs = self._inputs
        if self._engaged == inputs.engaged_version:
            return
        fresh = [k for k, name in enumerate(self.joints) if name not in inputs.motor_joints]
        if fresh:
            new = Motors(self._sim, self._bodies[fresh])
            inputs.motor[new._rows] = 0.0
            inputs.motor[new._rows, M_POSITION] = self._sim._coordinates_at(new._coordinates)
            inputs.motor_joints.update(new.joints)
        self._engaged = inputs.engaged_version

    # ---------------------------------------------------------------------------------------------------------------- shown

    def __repr__(self) -> str:
        return f"Motors({len(self._bodies)} joints: {quoted(self.joints, len(self._bodies), 4)})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        numbers = [(name, shown(getattr(self, name))) for name in (*_COLUMNS, "effort")]
        return html_table("Motors", [("joints", quoted(self.joints, len(self._bodies))), *numbers])


def _as_slice(rows: IntArray) -> slice | IntArray:
    """The same places as a slice where they follow each other: reading and writing is then cheaper."""
    if rows.size and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows
