"""Actuators of a model in a simulation: controls in, efforts and motors of the simulation out.

With gear g, effort actuators add g u to the efforts given to joints; position and velocity actuators are motors with the
gains g² k, g² d and the targets u / g. A lag with time constant T takes the activation a from one time to the next by
a ← u + (a - u) exp(-Δt / T), which is exact while u stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import integer, positive, shown
from linkwork.core.messages.describe import html_table, quoted
from linkwork.core.messages.names import did_you_mean
from linkwork.core.uncopied import Uncopied
from linkwork.errors import StateError
from linkwork.model.actuators import Actuator
from linkwork.simulation.loading.following import follow_controls
from linkwork.simulation.loading.motor_law import M_POSITION, M_VELOCITY


class ActuatorArrays(NamedTuple):
    """What kernels read of actuators, one row each; `control` is the array that holds controls."""

    low: FloatArray
    high: FloatArray
    gear: FloatArray
    row: IntArray  # of the table of motors
    column: IntArray
    control: FloatArray
    is_direct: bool  # whether all follow targets at once, without lag and efforts


class Actuators(Uncopied):
    """The actuators of a simulation's model, as one vector of controls.

    drives = lw.Actuators(sim)
    drives.control = [0.5, -1.0]         # one number per actuator, in the order of `drives.names`; kept within its limits
    drives["elbow"] = 0.3                # or by name
    drives.step(h, n)                    # moves the simulation on; without time constants sim.step does as well
    sim.run(h, n, on_step=drives.update) # in a run with time constants

    sim: FullDynamics or AdaptiveDynamics of a model whose linkage has actuators (`linkage.actuators`, or from a file).
    """

    _INSTEAD = "actuators belong to one simulation"

    def __init__(self, sim: Any):
        model = getattr(sim, "model", None)
        if model is None or not hasattr(sim, "motors"):
            raise StateError(f"actuators drive a simulation, not {shown(sim)}.")
        if not model.actuators:
            raise StateError(
                f"model '{model.name}' has no actuators; add lw.Actuator(name, joint, ...) to linkage.actuators and "
                "compile it again, or use sim.motors and sim.set_effort."
            )
        self.sim, self.actuators = sim, model.actuators
        self._place = {actuator.name: k for k, actuator in enumerate(self.actuators)}
        self._row = np.array([model.v_slice(actuator.joint).start for actuator in self.actuators])
        self._body = np.array([model.joint(actuator.joint) for actuator in self.actuators])
        self._gear, self._lag, effort_limit = (
            np.array([getattr(actuator, what) for actuator in self.actuators], dtype=float)
            for what in ("gear", "time_constant", "effort_limit")
        )
        self._low, self._high = (np.array([actuator.limits[k] for actuator in self.actuators]) for k in range(2))
        self._is = {x: np.array([a.control == x for a in self.actuators]) for x in ("effort", "velocity", "position")}
        self._effort_limit = np.where(self._is["effort"], effort_limit, np.inf)
        self._has_lag, self._has_efforts = bool((self._lag > 0.0).any()), bool(self._is["effort"].any())
        self._column = np.where(self._is["position"], M_POSITION, M_VELOCITY)  # of the table of motors
        self._given = np.zeros(len(self.actuators))  # efforts that were added to those of the simulation
        # All of them follow targets at once: then one call of compiled code does it.
        self._is_direct = not self._has_lag and not self._has_efforts
        self._moved, self._bodies = np.zeros(len(self.actuators), dtype=bool), sim._joints.joints_of(self._row)
        self._begin()

    def _begin(self) -> None:
        """Gains and friction; controls hold where the joints are, or are zero."""
        sim, model = self.sim, self.sim.model
        q = sim.state.q
        start = np.zeros(len(self.actuators))
        for k, x in enumerate(self.actuators):
            motor = sim.motors[model.joint_names[model.joint(x.joint)]]
            place = np.arange(model.nv)[motor.rows].tolist().index(int(self._row[k]))
            for what, value in (("stiffness", x.stiffness), ("damping", x.damping), ("friction", x.friction)):
                if value:
                    gain = getattr(motor, what)
                    gain[place] += abs(x.gear) ** (1 if what == "friction" else 2) * value
                    setattr(motor, what, gain)
            if x.control == "position":
                start[k] = x.gear * q[model.q_slice(x.joint).start]
        self._control = np.clip(start, self._low, self._high)
        self._activation = self._control.copy()
        self._at = float(sim.time)
        self._act()

    # ------------------------------------------------------------------------------------------------------------ controls

    @property
    def names(self) -> tuple[str, ...]:
        """In the order of controls."""
        return tuple(self._place)

    @property
    def view(self) -> ActuatorArrays:
        """Its arrays, for other rooms of the package."""
        return ActuatorArrays(
            self._low, self._high, self._gear, self._row, self._column, self._control, self._is_direct
        )

    def __len__(self) -> int:
        return len(self.actuators)

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    @property
    def control(self) -> FloatArray:
        """Of each actuator, within its limits, shape (len,)."""
        return self._control.copy()

    @control.setter
    def control(self, value: ArrayLike) -> None:
        try:
            given = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise StateError(f"control must be numbers, not {shown(value)}.") from None
        if given.shape not in ((), (len(self),)):
            raise self._strange(value)
        if self._is_direct:
            self._follow(np.ascontiguousarray(np.broadcast_to(given, len(self)) if given.ndim == 0 else given), value)
            return
        if not np.isfinite(given).all():
            raise self._strange(value)
        self._catch_up()
        self._control[:] = np.minimum(np.maximum(given, self._low), self._high)
        self._act()

    def _strange(self, value: object) -> StateError:
        return StateError(f"control is {shown(value)}; give {len(self)} finite numbers, or one for all.")

    def _follow(self, given: FloatArray, value: object) -> None:
        """Controls and targets at once. given: one number per actuator; value: as the user wrote it."""
        joints, rows = self.sim._joints, self._row
        table = (given, self._low, self._high, self._gear, rows, self._column)
        changed = follow_controls(*table, self._control, self._moved, joints.motor)
        if changed < 0:
            raise self._strange(value)
        self._at = float(self.sim.time)
        if changed:
            joints.changed(self._bodies if changed == len(rows) else joints.joints_of(rows[self._moved]))

    def __setitem__(self, name: str, value: float) -> None:
        control, place = self.control, self._number(name)
        if np.shape(value) != ():
            raise StateError(f"control of actuator {shown(name)} is {shown(value)}; give one finite number.")
        control[place] = value
        self.control = control

    def __getitem__(self, name: str) -> float:
        """Control of one actuator."""
        return float(self._control[self._number(name)])

    def _number(self, name: str) -> int:
        if name not in self._place:
            near = did_you_mean(name, self._place) if isinstance(name, str) else ""
            raise StateError(f"there is no actuator {shown(name)}{near}.")
        return self._place[name]

    @property
    def activation(self) -> FloatArray:
        """What acts now, after the lag, shape (len,)."""
        self._catch_up()
        return (self._activation if self._has_lag else self._control).copy()

    @property
    def actuator_limits(self) -> FloatArray:
        """Least and largest control of each actuator, shape (len, 2)."""
        return np.column_stack([self._low, self._high])

    # -------------------------------------------------------------------------------------------------------------- moving

    def step(self, h: float, n: int = 1) -> Any:
        """Moves the simulation on by n steps of h [s]; activations follow their controls. Returns its last report."""
        h, n = positive(h, "h"), integer(n, 1, "the number of steps")
        if not self._lag.any():
            self.update()
            return self.sim.step(h, n)
        for _ in range(n - 1):
            self.update()
            self.sim.advance(h, 1)
        self.update()
        return self.sim.step(h, 1)

    def update(self, sim: Any = None) -> None:
        """Brings activations up to the simulation's time, and lets them act in the steps that come."""
        self._catch_up()
        self._act()

    def _catch_up(self) -> None:
        now = float(self.sim.time)
        if now < self._at:  # reset, or an earlier checkpoint: nothing has lagged yet
            self._at, self._activation = now, self._control.copy()
            return
        if not self._has_lag:
            self._at = now
            return
        lag = self._lag > 0.0
        decay = np.where(lag, np.exp(-(now - self._at) / np.where(lag, self._lag, 1.0)), 0.0)
        self._activation = self._control + (self._activation - self._control) * decay
        self._at = now

    def _act(self) -> None:
        acting = np.where(self._lag > 0.0, self._activation, self._control) if self._has_lag else self._control
        joints = self.sim._joints
        if self._has_efforts:
            drive = np.clip(acting, -self._effort_limit, self._effort_limit)
            effort = np.where(self._is["effort"], self._gear * drive, 0.0)
            if np.any(effort != self._given):
                np.add.at(joints.effort, self._row, effort - self._given)
                self._given = effort
                joints.give_efforts(self._row, joints.effort[self._row], np.unique(self._body))
        for control, column in (("position", M_POSITION), ("velocity", M_VELOCITY)):
            which = self._is[control]
            if which.any():
                joints.set_targets(self._row[which], column, acting[which] / self._gear[which])

    def __repr__(self) -> str:
        return f"Actuators({quoted(self.names, len(self), 4)})"

    def _repr_html_(self) -> str:
        def line(x: Actuator) -> tuple[str, object]:
            return x.name, f"{x.control} on {x.joint}, gear {x.gear:g}"

        return html_table("Actuators", [line(x) for x in self.actuators])
