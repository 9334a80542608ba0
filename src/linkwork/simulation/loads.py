"""Loads on the bodies of a simulation: the verbs, what they check and what they remember.

A load fixed in a body adds to that body's wrench. A load held by the world (a force fixed in its axes, a spring to one of
its points) is a row of a table, expressed anew whenever its body turned. Where the numbers go is the simulation's choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.dynamics.inputs import as_array
from linkwork.errors import StateError
from linkwork.model.model import Model

FloatArray = NDArray[np.float64]
Vector = Sequence[float] | ArrayLike

# Columns of the table of loads that the world holds: point in the body, force and torque in the axes of the world, and the
# world point and stiffness of a spring.
LOAD_AT, LOAD_FORCE, LOAD_TORQUE, LOAD_TARGET, LOAD_STIFFNESS = 0, 3, 6, 9, 12
LOAD_COLUMNS = 16


@dataclass(eq=False, slots=True)
class Load:
    """A load on a body; keep it to change or clear it."""

    body: int
    row: int  # in the table of world loads, or -1 for a wrench fixed in the body
    axes: FloatArray  # (3, 3)  of the frame a fixed force was given in
    at: FloatArray  # (3,)  point of application, body frame [m]
    force: FloatArray  # (3,)  as given [N]
    torque: FloatArray  # (3,)  as given [N·m]

    @property
    def wrench(self) -> FloatArray:
        """What a load fixed in the body adds to its wrench, in the body's frame at its origin, shape (6,)."""
        f = self.axes @ self.force
        return np.concatenate([self.axes @ self.torque + np.cross(self.at, f), f])


class LoadVerbs:
    """What can be done with loads and efforts, for every kind of simulation."""

    def __init__(self, model: Model):
        self.model = model
        self._loads: dict[int, Load] = {}  # by identity: two equal loads are still two
        self._rows: list[Load] = []  # in the order of the table
        self._fixed: dict[int, list[Load]] = {}  # loads fixed in each body

    # ------------------------------------------------------------------------------------------- what a simulation provides

    @property
    def _load_table(self) -> tuple[FloatArray, NDArray[np.int64]]:
        """The table of world loads and the body of each row, with room to spare."""
        raise NotImplementedError

    def _grow_load_table(self) -> None:
        """Makes room for twice as many rows."""
        raise NotImplementedError

    def _fixed_wrench_changed(self, body: int, total: FloatArray) -> None:
        """The wrench fixed in a body is another."""
        raise NotImplementedError

    def _write_effort(self, joint: int, first: int, effort: FloatArray) -> None:
        """The efforts of a joint, from velocity `first` on, are others."""
        raise NotImplementedError

    def _world_load_added(self, load: Load) -> None:
        """A row was written."""

    def _world_load_changed(self, load: Load) -> None:
        """Its numbers are others; it acts where it did."""

    def _world_load_leaves(self, load: Load) -> None:
        """It is about to be taken away."""

    def _world_load_left(self, load: Load) -> None:
        """It was taken away, and the last row of the table may have taken its place."""

    # ------------------------------------------------------------------------------------------------------------ the verbs

    @property
    def loads(self) -> tuple[Load, ...]:
        """All loads on bodies, in the order they were applied."""
        return tuple(self._loads.values())

    def apply_wrench(
        self,
        body: str | int,
        force: Vector = (0.0, 0.0, 0.0),
        torque: Vector = (0.0, 0.0, 0.0),
        frame: str = "body",
        at: Vector = (0.0, 0.0, 0.0),
    ) -> Load:
        """A force [N] at a point of a body and a torque [N·m], until changed or cleared.

        frame: axes the force and torque are fixed in, "body" (they turn with it) or "world". Mind the default: in a scene
            file a load without a frame is fixed in the world.
        at: the point, in the body's frame [m]; it follows the body.
        Cost: O(log n).
        """
        index, rotation, point = self._door(body, at)
        f, n = self._finite(force, "force"), self._finite(torque, "torque")
        if frame == "world":
            row = np.zeros(LOAD_COLUMNS)
            row[LOAD_AT : LOAD_AT + 3], row[LOAD_FORCE : LOAD_FORCE + 3], row[LOAD_TORQUE : LOAD_TORQUE + 3] = (
                point,
                f,
                n,
            )
            return self._add_world_load(index, row)
        if frame != "body":
            raise StateError(f"frame must be 'body' or 'world', not {frame!r}.")
        return self._add_fixed_load(Load(index, -1, rotation, point, f, n))

    def attach(self, body: str | int, to: Vector, stiffness: float, at: Vector = (0.0, 0.0, 0.0)) -> Load:
        """A spring [N/m] of no length that pulls a point of a body towards a point `to` of the world [m].

        Cost: O(log n).
        """
        index, _, point = self._door(body, at)
        if not isinstance(stiffness, (int, float)) or not math.isfinite(stiffness) or stiffness <= 0.0:
            raise StateError(f"stiffness is {stiffness!r}; it must be a finite number > 0.")
        row = np.zeros(LOAD_COLUMNS)
        row[LOAD_AT : LOAD_AT + 3], row[LOAD_TARGET : LOAD_TARGET + 3] = point, self._finite(to, "to")
        row[LOAD_STIFFNESS] = stiffness
        return self._add_world_load(index, row)

    def change_wrench(self, load: Load, force: Vector | None = None, torque: Vector | None = None) -> None:
        """Replaces the force or torque of a load, in the axes it was given in. Cost: at most O(log n)."""
        self._known(load)
        f = load.force if force is None else self._finite(force, "force")
        n = load.torque if torque is None else self._finite(torque, "torque")
        load.force, load.torque = f, n
        if load.row < 0:
            self._add_up_fixed(load.body)
            return
        row = self._load_table[0][load.row]
        row[LOAD_FORCE : LOAD_FORCE + 3], row[LOAD_TORQUE : LOAD_TORQUE + 3] = load.force, load.torque
        self._world_load_changed(load)

    def move_target(self, load: Load, to: Vector) -> None:
        """Moves the world point that a spring made by `attach` pulls towards."""
        self._known(load)
        table, _ = self._load_table
        if load.row < 0 or table[load.row, LOAD_STIFFNESS] == 0.0:
            raise StateError("this load is no spring; only what attach() made has a target.")
        table[load.row, LOAD_TARGET : LOAD_TARGET + 3] = self._finite(to, "to")
        self._world_load_changed(load)

    def clear(self, load: Load) -> None:
        """Takes a load away. Cost: O(log n)."""
        self._known(load)
        if load.row < 0:
            del self._loads[id(load)]
            self._fixed[load.body].remove(load)
            self._add_up_fixed(load.body)
            return
        self._world_load_leaves(load)
        del self._loads[id(load)]
        last = self._rows.pop()
        if last is not load:  # the last row of the table takes the place of the one that goes
            table, bodies = self._load_table
            table[load.row] = table[last.row]
            bodies[load.row] = last.body
            last.row = load.row
            self._rows[last.row] = last
        self._world_load_left(load)

    def clear_loads(self) -> None:
        """Takes all loads on bodies away; efforts and motors stay."""
        for load in list(self._loads.values()):
            self.clear(load)

    def set_effort(self, joint: str, effort: float | ArrayLike) -> None:
        """Sets the effort on a joint [N·m or N], on top of its springs and its motor. Cost: at most O(log n)."""
        rows = self.model.v_slice(joint)
        value = as_array(np.atleast_1d(effort), (rows.stop - rows.start,), f"effort of '{joint}'", self.model)
        if not np.isfinite(value).all():
            raise StateError(f"effort of '{joint}' is {value.tolist()}; give finite numbers.")
        self._write_effort(self.model.joint(joint), rows.start, value)

    # --------------------------------------------------------------------------------------------------------------- inside

    def _add_fixed_load(self, load: Load) -> Load:
        self._loads[id(load)] = load
        self._fixed.setdefault(load.body, []).append(load)
        self._add_up_fixed(load.body)
        return load

    def _add_up_fixed(self, body: int) -> None:
        """The sum of the loads fixed in a body: formed anew, so that a load taken away leaves nothing behind."""
        self._fixed_wrench_changed(body, sum((load.wrench for load in self._fixed[body]), np.zeros(6)))

    def _add_world_load(self, body: int, row: FloatArray) -> Load:
        k = len(self._rows)
        if k == self._load_table[0].shape[0]:
            self._grow_load_table()
        at, force, torque = (row[c : c + 3].copy() for c in (LOAD_AT, LOAD_FORCE, LOAD_TORQUE))
        load = Load(body, k, np.eye(3), at, force, torque)
        table, bodies = self._load_table
        table[k] = row
        bodies[k] = body
        self._rows.append(load)
        self._loads[id(load)] = load
        self._world_load_added(load)
        return load

    def _take_over(self, load: Load, body: int, other: LoadVerbs) -> None:
        """The same load as in another simulation, on the body that has this index here."""
        if load.row >= 0:
            self._add_world_load(body, other._load_table[0][load.row].copy())
        else:
            self._add_fixed_load(
                Load(body, -1, load.axes.copy(), load.at.copy(), load.force.copy(), load.torque.copy())
            )

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
