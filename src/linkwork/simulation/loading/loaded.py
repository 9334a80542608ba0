"""What acts on a linkage, by calls from Python: loads on its bodies, efforts and motors on its joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import dimensions, numbers, shown
from linkwork.core.units import given_in
from linkwork.dynamics.inputs import as_finite, as_model
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.loading.loads import Load, LoadTable, Vector
from linkwork.simulation.loading.motor_view import Motors
from linkwork.simulation.loading.motors import joint_numbers, motor_rows
from linkwork.simulation.loading.stiffness import REACH, warn_of_stiff_joints
from linkwork.simulation.parts.joint_inputs import JointInputs
from linkwork.simulation.view import View


class Loaded:
    """Loads on the bodies of a linkage, efforts and motors on its joints."""

    def __init__(self, model: Model):
        self.model = as_model(model, type(self).__name__)
        self._loads = LoadTable(model, self)
        self._joints = JointInputs(model, self)
        self._all_motors: Motors | None = None
        self._checked_steps: set[float] = set()  # [s] steps that the stiffness of joints was compared with

    def _check_stiffness(self, state: State, integrator: str, implicit_joints: bool, h: float) -> None:
        """Warns, once per step length and change of motors, where explicit joint forces are too stiff for the step."""
        self._checked_steps.add(h)
        if integrator in REACH and not (implicit_joints and integrator == "semi_implicit_euler"):
            with given_in(getattr(self, "units", {})):
                warn_of_stiff_joints(self.model, state, self._joints.motor, integrator, h)

    @property
    def view(self) -> View:
        """The parts that it is made of, for other rooms of the package and for tests: see `simulation.view.View`."""
        return View(self._loads, self._joints)

    def _loads_changed(self, bodies: IntArray, world: int) -> None:
        """Loads on these bodies are others. world: 1 where ones that the world holds began to act, -1 where they ended."""
        raise NotImplementedError

    def _load_table_grew(self) -> None:
        """The table of the world's loads is another array."""
        raise NotImplementedError

    def _joints_changed(self, joints: IntArray) -> None:
        """The efforts or motors of the joints that carry these bodies are others."""
        raise NotImplementedError

    def _coordinates_at(self, places: IntArray) -> FloatArray:
        """Present coordinates at these places in q, shape (k,). Cost: O(k), and that of joints that move."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------------------------------------- loads

    @property
    def loads(self) -> tuple[Load, ...]:
        """All loads on bodies, in the order they were applied."""
        return self._loads.all

    def apply_wrench(
        self,
        body: str | int,
        force: Vector = (0.0, 0.0, 0.0),
        torque: Vector = (0.0, 0.0, 0.0),
        frame: str = "world",
        at: Vector = (0.0, 0.0, 0.0),
    ) -> Load:
        """A force [N] at a point of a body and a torque [N·m], until changed or cleared.

        frame: axes the force and torque are fixed in, "world" or "body" (they turn with it).
        at: the point, in the body's frame [m]; it follows the body.
        Cost: O(log n).
        """
        return self._loads.apply([body], at, force, torque, frame)

    def apply_wrenches(
        self, bodies: Sequence[str | int] | IntArray, wrenches: ArrayLike, frame: str = "world", at: Vector = (0, 0, 0)
    ) -> Load:
        """Wrenches [torque; force] on k bodies in one call, shape (k, 6) [N·m, N]; one load, to change or clear together.

        frame, at: as in `apply_wrench`; at: (3,) for all bodies, or (k, 3). Cost: O(k log(n/k)).
        """
        torque, force = self._split(bodies, wrenches)
        return self._loads.apply(bodies, at, force, torque, frame)

    def set_wrenches(self, load: Load, wrenches: ArrayLike) -> None:
        """Replaces the wrenches [torque; force] of a load made by `apply_wrenches`, shape (k, 6). Cost: O(k log(n/k))."""
        self._loads.refuse_unknown(load)
        torque, force = self._split(load.bodies, wrenches)
        self._loads.change(load, force, torque)

    @staticmethod
    def _split(bodies: Sequence[str | int] | IntArray, wrenches: ArrayLike) -> tuple[FloatArray, FloatArray]:
        if isinstance(bodies, str) or not isinstance(bodies, Sequence | np.ndarray) or dimensions(bodies) != 1:
            raise StateError(f"bodies must be a list of names or numbers of bodies, not {shown(bodies)}.")
        if len(bodies) == 0 and dimensions(wrenches) == 1 and len(wrenches) == 0:  # type: ignore[arg-type]
            wrenches = np.zeros((0, 6))
        array = numbers(wrenches, (len(bodies), 6), "wrenches", f"{len(bodies)} bodies")
        return array[:, :3], array[:, 3:]

    def apply_spring(self, body: str | int, target: Vector, stiffness: float, at: Vector = (0.0, 0.0, 0.0)) -> Load:
        """A spring [N/m] of no length that pulls a point of a body towards a point of the world [m]. Cost: O(log n)."""
        return self._loads.apply_spring(body, target, stiffness, at)

    def change_wrench(self, load: Load, force: Vector | None = None, torque: Vector | None = None) -> None:
        """Replaces the force or torque of a load, in the axes it was given in. Cost: at most O(log n)."""
        self._loads.change(load, force, torque)

    def move_target(self, load: Load, target: Vector) -> None:
        """Moves the world point that a spring made by `apply_spring` pulls towards."""
        self._loads.move_target(load, target)

    def clear(self, load: Load) -> None:
        """Takes a load away. Cost: O(log n)."""
        self._loads.clear(load)

    def clear_loads(self) -> None:
        """Takes all loads on bodies away; efforts and motors stay."""
        for load in self.loads:
            self._loads.clear(load)

    # --------------------------------------------------------------------------------------------------------------- joints

    def set_effort(self, joint: str, effort: float | ArrayLike) -> None:
        """Sets the effort on a joint [N·m or N], on top of its springs and its motor: one number per degree of freedom.

        Cost: at most O(log n).
        """
        i = self.model.joint(joint)
        rows = self.model.v_slice(i)
        values: Any = effort if dimensions(effort) else [effort]
        self._joints.set_effort(i, joint_numbers(self.model, joint, "effort", values, rows.stop - rows.start))

    def set_efforts(self, effort: ArrayLike) -> None:
        """Sets the efforts on all joints [N·m or N], shape (nv,), as `set_effort` does for one.

        Cost: that of setting those that differ, one by one; O(nv) to find them.
        """
        self._joints.set_efforts(as_finite(effort, (self.model.nv,), "effort", self.model))

    @property
    def motors(self) -> Motors:
        """The motors of all joints that can have one, by vector; `sim.motors["leg_*"]` are those of some."""
        if self._all_motors is None:
            self._all_motors = Motors.of(self)
        return self._all_motors

    def set_motor(
        self,
        joint: str,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        stiffness: ArrayLike = 0.0,
        damping: ArrayLike = 0.0,
    ) -> None:
        """A motor: effort stiffness (position - q) + damping (velocity - q̇), until set again or cleared.

        position [rad or m], velocity [rad/s or m/s; zero if not given]: targets, one number or one per degree of freedom.
        stiffness [N·m/rad or N/m], damping [N·m·s/rad or N·s/m]: gains, likewise, ≥ 0.
        It pulls with at most the joint's `effort_limit`, and pushes no faster than its `velocity_limit` (docs/control.md).
        For hinges, sliders, screws and compounds of them. Cost: at most O(log n).
        """
        rows = motor_rows(self.model, joint, position, velocity, stiffness, damping)
        if self._joints.set_motor(joint, rows):
            self._checked_steps.clear()

    def clear_motor(self, joint: str) -> None:
        """Takes the motor of a joint away."""
        self.model.joint(joint)  # refuses a name that does not exist
        if joint not in self._joints.motor_joints:
            raise StateError(f"joint '{joint}' has no motor to clear; set_motor('{joint}', ...) gives it one.")
        self._joints.clear_motor(joint)
