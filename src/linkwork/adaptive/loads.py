"""Loads of an adaptive simulation: each change opens one path of the assembly tree, O(log n)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.adaptive.lazy_update import set_fixed_wrench, set_joint_effort, touch_path
from linkwork.adaptive.workspace import (
    LOAD_AT,
    LOAD_COLUMNS,
    LOAD_COUNT,
    LOAD_FORCE,
    LOAD_STIFFNESS,
    LOAD_TARGET,
    LOAD_TORQUE,
    Coefficients,
    Live,
    Mechanism,
    Plan,
)
from linkwork.assembly import HANG, INDEX, JOIN, NODE_KIND
from linkwork.dynamics.inputs import as_array
from linkwork.errors import StateError
from linkwork.model.model import Model

FloatArray = NDArray[np.float64]
Vector = Sequence[float] | ArrayLike


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


class Loads:
    """What acts on the bodies and joints of a simulation."""

    def __init__(self, model: Model, plan: Plan, mechanism: Mechanism, coefficients: Coefficients, live: Live):
        self.model = model
        self._plan, self._mechanism, self._coefficients, self._live = plan, mechanism, coefficients, live
        self._joint_node = np.full(model.n_bodies, -1, dtype=np.int64)
        kinds = plan.nodes[:, NODE_KIND]
        joined = np.flatnonzero((kinds == JOIN) | (kinds == HANG))
        self._joint_node[plan.nodes[joined, INDEX]] = joined
        self._loads: dict[int, Load] = {}  # by identity: two equal loads are still two
        self._rows: list[Load] = []  # in the order of the world table
        self._fixed: dict[int, list[Load]] = {}  # loads fixed in each body
        self._loads_changed = True

    @property
    def loads(self) -> tuple[Load, ...]:
        """All loads on bodies, in the order they were applied."""
        return tuple(self._loads.values())

    @property
    def _bundles(self) -> tuple[Plan, Mechanism, Coefficients, Live]:
        return self._plan, self._mechanism, self._coefficients, self._live

    @property
    def _some_bundles(self) -> tuple[Plan, Mechanism, Live]:
        return self._plan, self._mechanism, self._live

    def _touch(self, node: int, pin: int) -> None:
        """Something changed at a node; `pin` is 1 when a world load begins to act there, -1 when one ends."""
        touch_path(self._plan, self._live, node, pin)
        self._loads_changed = True

    def _world_load_changed(self, load: Load) -> None:
        """The numbers of a world load are others than before; it acts where it did."""
        self._touch(self._live.leaf[load.body], 0)

    def _write_effort(self, joint: int, first: int, effort: FloatArray) -> None:
        set_joint_effort(self._mechanism, self._coefficients, self._live, joint, first, effort)

    def _grow_load_table(self) -> None:
        """Doubles the rows of the table of world loads."""
        live = self._live
        columns = [name for name in live._fields if name.startswith("load")]
        self._live = live._replace(**{name: np.concatenate([getattr(live, name)] * 2) for name in columns})

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
        load = Load(index, -1, rotation, point, f, n)
        self._loads[id(load)] = load
        self._fixed.setdefault(index, []).append(load)
        self._add_up_fixed(index)
        return load

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
        """Replaces the force or torque of a load, in the axes it was given in. Cost: O(log n)."""
        self._known(load)
        f = load.force if force is None else self._finite(force, "force")
        n = load.torque if torque is None else self._finite(torque, "torque")
        load.force, load.torque = f, n
        if load.row < 0:
            self._add_up_fixed(load.body)
            return
        row = self._live.load[load.row]
        row[LOAD_FORCE : LOAD_FORCE + 3], row[LOAD_TORQUE : LOAD_TORQUE + 3] = load.force, load.torque
        self._world_load_changed(load)

    def move_target(self, load: Load, to: Vector) -> None:
        """Moves the world point that a spring made by `attach` pulls towards."""
        self._known(load)
        if load.row < 0 or self._live.load[load.row, LOAD_STIFFNESS] == 0.0:
            raise StateError("this load is no spring; only what attach() made has a target.")
        self._live.load[load.row, LOAD_TARGET : LOAD_TARGET + 3] = self._finite(to, "to")
        self._world_load_changed(load)

    def clear(self, load: Load) -> None:
        """Takes a load away. Cost: O(log n)."""
        self._known(load)
        del self._loads[id(load)]
        if load.row < 0:
            self._fixed[load.body].remove(load)
            self._add_up_fixed(load.body)
            return
        last = self._rows.pop()
        if last is not load:  # the last row of the table takes the place of the one that goes
            self._live.load[load.row] = self._live.load[last.row]
            self._live.load_body[load.row] = last.body
            last.row = load.row
            self._rows[last.row] = last
        self._live.tally[LOAD_COUNT] = len(self._rows)
        set_fixed_wrench(self._coefficients, self._live, load.body, self._live.wrench[load.body].copy())
        self._touch(self._live.leaf[load.body], -1)

    def clear_loads(self) -> None:
        """Takes all loads on bodies away; efforts stay."""
        for load in list(self._loads.values()):
            self.clear(load)

    def set_effort(self, joint: str, effort: float | ArrayLike) -> None:
        """Sets the effort on a joint [N·m or N], on top of its springs. Cost: O(log n)."""
        i = self.model.joint(joint)
        rows = self.model.v_slice(joint)
        value = as_array(np.atleast_1d(effort), (rows.stop - rows.start,), f"effort of '{joint}'", self.model)
        if not np.isfinite(value).all():
            raise StateError(f"effort of '{joint}' is {value.tolist()}; give finite numbers.")
        self._write_effort(i, rows.start, value)
        self._touch(self._joint_node[i], 0)

    def _add_up_fixed(self, index: int) -> None:
        """The sum of the loads fixed in a body: formed anew, so that a load taken away leaves nothing behind."""
        total = np.zeros(6)
        for load in self._fixed[index]:
            total += load.wrench
        set_fixed_wrench(self._coefficients, self._live, index, total)
        self._touch(self._live.leaf[index], 0)

    def _take_over(self, load: Load, body: int, other: Loads) -> None:
        """The same load as in another simulation, on the body that has this index here."""
        if load.row >= 0:
            self._add_world_load(body, other._live.load[load.row].copy())
            return
        mine = Load(body, -1, load.axes.copy(), load.at.copy(), load.force.copy(), load.torque.copy())
        self._loads[id(mine)] = mine
        self._fixed.setdefault(body, []).append(mine)
        self._add_up_fixed(body)

    def _add_world_load(self, index: int, row: FloatArray) -> Load:
        k = len(self._rows)
        if k == self._live.load.shape[0]:
            self._grow_load_table()
        at, force, torque = (row[c : c + 3].copy() for c in (LOAD_AT, LOAD_FORCE, LOAD_TORQUE))
        load = Load(index, k, np.eye(3), at, force, torque)
        self._live.load[k] = row
        self._live.load_body[k] = index
        self._rows.append(load)
        self._loads[id(load)] = load
        self._live.tally[LOAD_COUNT] = len(self._rows)
        self._touch(self._live.leaf[index], 1)
        return load

    def _computed_bodies(self) -> NDArray[np.int64]:
        """Bodies whose joints are open, in order."""
        opened = self._live.opened[: self._live.tally[0]]
        kinds = self._plan.nodes[opened, NODE_KIND]
        return np.sort(self._plan.nodes[opened[(kinds == JOIN) | (kinds == HANG)], INDEX])

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
