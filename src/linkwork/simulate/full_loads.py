"""Loads of a full simulation: the same verbs as an adaptive one, evaluated at every state an integrator asks about."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.adaptive.loads import Load, Vector
from linkwork.adaptive.workspace import (
    LOAD_AT,
    LOAD_COLUMNS,
    LOAD_FORCE,
    LOAD_STIFFNESS,
    LOAD_TARGET,
    LOAD_TORQUE,
)
from linkwork.dynamics import kinematics
from linkwork.dynamics.inputs import NO_EFFORT, NO_WRENCHES, as_array
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.simulate.motors import Motors

FloatArray = NDArray[np.float64]


class FullLoads:
    """What acts on the bodies and joints of a full simulation."""

    def __init__(self, model: Model):
        self.model = model
        self._motors = Motors(model)
        self._effort = NO_EFFORT  # (nv,) as given; empty while none was
        self._loads: dict[int, Load] = {}  # by identity: two equal loads are still two
        self._fixed: dict[int, list[Load]] = {}  # loads fixed in each body
        self._fixed_wrench = NO_WRENCHES  # (n, 6) their sums; empty while there never was one
        self._rows: list[Load] = []  # in the order of the table of loads that the world holds
        self._table = np.zeros((4, LOAD_COLUMNS))
        self._bodies = np.zeros(4, dtype=np.int64)  # body of each row

    @property
    def loads(self) -> tuple[Load, ...]:
        """All loads on bodies, in the order they were applied."""
        return tuple(self._loads.values())

    # ---------------------------------------------------------------------------------------------------------- the verbs

    def apply_wrench(
        self,
        body: str | int,
        force: Vector = (0.0, 0.0, 0.0),
        torque: Vector = (0.0, 0.0, 0.0),
        frame: str = "body",
        at: Vector = (0.0, 0.0, 0.0),
    ) -> Load:
        """A force [N] at a point of a body and a torque [N·m], until changed or cleared.

        frame: axes the force and torque are fixed in, "body" (they turn with it) or "world".
        at: the point, in the body's frame [m]; it follows the body.
        """
        index, rotation, point = self._door(body, at)
        f, n = self._finite(force, "force"), self._finite(torque, "torque")
        if frame == "world":
            load = self._add_row(index, point, f, n)
            self._write(load)
            return load
        if frame != "body":
            raise StateError(f"frame must be 'body' or 'world', not {frame!r}.")
        load = Load(index, -1, rotation, point, f, n)
        self._loads[id(load)] = load
        self._fixed.setdefault(index, []).append(load)
        self._add_up_fixed(index)
        return load

    def attach(self, body: str | int, to: Vector, stiffness: float, at: Vector = (0.0, 0.0, 0.0)) -> Load:
        """A spring [N/m] of no length that pulls a point of a body towards a point `to` of the world [m]."""
        index, _, point = self._door(body, at)
        if not isinstance(stiffness, (int, float)) or not math.isfinite(stiffness) or stiffness <= 0.0:
            raise StateError(f"stiffness is {stiffness!r}; it must be a finite number > 0.")
        target = self._finite(to, "to")
        load = self._add_row(index, point, np.zeros(3), np.zeros(3))
        self._write(load)
        self._table[load.row, LOAD_TARGET : LOAD_TARGET + 3] = target
        self._table[load.row, LOAD_STIFFNESS] = stiffness
        return load

    def change_wrench(self, load: Load, force: Vector | None = None, torque: Vector | None = None) -> None:
        """Replaces the force or torque of a load, in the axes it was given in. Cost: O(1)."""
        self._known(load)
        f = load.force if force is None else self._finite(force, "force")
        n = load.torque if torque is None else self._finite(torque, "torque")
        load.force, load.torque = f, n
        if load.row < 0:
            self._add_up_fixed(load.body)
        else:
            self._write(load)

    def move_target(self, load: Load, to: Vector) -> None:
        """Moves the world point that a spring made by `attach` pulls towards. Cost: O(1)."""
        self._known(load)
        if load.row < 0 or self._table[load.row, LOAD_STIFFNESS] == 0.0:
            raise StateError("this load is no spring; only what attach() made has a target.")
        self._table[load.row, LOAD_TARGET : LOAD_TARGET + 3] = self._finite(to, "to")

    def clear(self, load: Load) -> None:
        """Takes a load away."""
        self._known(load)
        del self._loads[id(load)]
        if load.row < 0:
            self._fixed[load.body].remove(load)
            self._add_up_fixed(load.body)
            return
        last = self._rows.pop()
        if last is not load:  # the last row of the table takes the place of the one that goes
            self._table[load.row] = self._table[last.row]
            self._bodies[load.row] = last.body
            last.row = load.row
            self._rows[last.row] = last

    def clear_loads(self) -> None:
        """Takes all loads on bodies away; efforts and motors stay."""
        for load in list(self._loads.values()):
            self.clear(load)

    def set_effort(self, joint: str, effort: float | ArrayLike) -> None:
        """Sets the effort on a joint [N·m or N], on top of its springs and its motor."""
        rows = self.model.v_slice(joint)
        value = as_array(np.atleast_1d(effort), (rows.stop - rows.start,), f"effort of '{joint}'", self.model)
        if not np.isfinite(value).all():
            raise StateError(f"effort of '{joint}' is {value.tolist()}; give finite numbers.")
        if not self._effort.size:
            self._effort = np.zeros(self.model.nv)
        self._effort[rows] = value

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
        For hinges, sliders, screws and compounds of them.
        """
        self._motors.set(joint, position, velocity, stiffness, damping)

    def clear_motor(self, joint: str) -> None:
        """Takes the motor of a joint away."""
        self._motors.clear(joint)

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

    # ------------------------------------------------------------------------------------------------------------- inside

    def _add_row(self, index: int, at: FloatArray, force: FloatArray, torque: FloatArray) -> Load:
        if len(self._rows) == self._table.shape[0]:
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
            self._bodies = np.concatenate([self._bodies, np.zeros_like(self._bodies)])
        load = Load(index, len(self._rows), np.eye(3), at, force, torque)
        self._table[load.row] = 0.0
        self._bodies[load.row] = index
        self._rows.append(load)
        self._loads[id(load)] = load
        return load

    def _write(self, load: Load) -> None:
        row = self._table[load.row]
        row[LOAD_AT : LOAD_AT + 3] = load.at
        row[LOAD_FORCE : LOAD_FORCE + 3], row[LOAD_TORQUE : LOAD_TORQUE + 3] = load.force, load.torque

    def _add_up_fixed(self, index: int) -> None:
        """The sum of the loads fixed in a body: formed anew, so that a load taken away leaves nothing behind."""
        if not self._fixed_wrench.size:
            self._fixed_wrench = np.zeros((self.model.n_bodies, 6))
        self._fixed_wrench[index] = sum((load.wrench for load in self._fixed[index]), np.zeros(6))

    def _known(self, load: Load) -> None:
        if self._loads.get(id(load)) is not load:
            raise StateError("this load is not, or no longer, part of the simulation.")

    def _door(self, body: str | int, at: Vector) -> tuple[int, FloatArray, FloatArray]:
        """Body index, axes and point of a load given on a body or on a frame welded to one."""
        rotation, origin = np.eye(3), np.zeros(3)
        if isinstance(body, str):
            index, pose = self.model.frame(body)
            rotation, origin = pose.matrix[:3, :3], pose.matrix[:3, 3]
        else:
            index = int(body) if isinstance(body, (int, np.integer)) else -1
        if not 0 <= index < self.model.n_bodies:
            raise StateError(f"body {body!r} is the world or does not exist; a load needs a body that can move.")
        return index, rotation, origin + rotation @ self._finite(at, "at")

    def _finite(self, value: Vector, what: str) -> FloatArray:
        array = as_array(value, (3,), what, self.model)
        if not np.isfinite(array).all():
            raise StateError(f"{what} is {array.tolist()}; give three finite numbers.")
        return array.copy()
