"""Loads on the bodies of a simulation: what acts, in which axes, and how it changes.

A load fixed in a body adds to that body's wrench. A load held by the world (a force fixed in its axes, a spring to one of
its points) is a row of a table, expressed anew whenever its body turned. Many loads may be one (`apply_wrenches`): they are
written and changed together, in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import choice, dimensions, positive
from linkwork.core.messages.describe import tabled
from linkwork.dynamics.inputs import as_array
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.simulation.loading.load_columns import (
    LOAD_AT,
    LOAD_COLUMNS,
    LOAD_FORCE,
    LOAD_STIFFNESS,
    LOAD_TARGET,
    LOAD_TORQUE,
)
from linkwork.simulation.parts.part import Entry, Saved

Vector = Sequence[float] | ArrayLike

FRAMES = ("world", "body")
UNTURNED = np.eye(3)
NUMBERS = 18  # of a load on one body in a checkpoint: axes, point, force, torque


@tabled
@dataclass(eq=False, slots=True)
class Load:
    """A load on one body or on several; keep it to change or clear it."""

    bodies: IntArray  # (k,)
    rows: IntArray  # (k,) in the table of the world's loads; empty for a load fixed in its bodies
    axes: FloatArray  # (k, 3, 3) of the frames that fixed forces were given in, in the bodies
    at: FloatArray  # (k, 3) points of application, body frames [m]
    force: FloatArray  # (k, 3) as given [N]
    torque: FloatArray  # (k, 3) as given [N·m]

    @property
    def is_fixed(self) -> bool:
        """Whether it turns with its bodies."""
        return not self.rows.size

    @property
    def wrenches(self) -> FloatArray:
        """What a load fixed in its bodies adds to their wrenches, in their frames at their origins, shape (k, 6)."""
        f = (self.axes @ self.force[:, :, None])[:, :, 0]
        n = (self.axes @ self.torque[:, :, None])[:, :, 0]
        return np.hstack([n + np.cross(self.at, f), f])


class Listener(Protocol):
    """What a simulation does when what acts on it changes."""

    def _loads_changed(self, bodies: IntArray, world: int) -> None:
        """Loads on these bodies are others. world: 1 where ones that the world holds began to act, -1 where they ended."""

    def _load_table_grew(self) -> None:
        """The table of the world's loads is another array."""


class LoadTable:
    """All loads on the bodies of a simulation: a part of it.

    wrench (n, 6): sums of the loads fixed in bodies, in their frames. table (rows, 16), body (rows,): loads held by the
    world, the first `count` of which act.
    """

    fault = "the checkpoint's loads are damaged: their tables do not fit together or this model."

    def __init__(self, model: Model, listener: Listener, world_first: int = 4):
        self.model = model
        self._listener = listener
        self.wrench = np.zeros((model.n_bodies, 6))
        self.table = np.zeros((world_first, LOAD_COLUMNS))
        self.body = np.zeros(world_first, dtype=np.int64)
        self.count = 0
        self.has_fixed = False  # whether there ever was a load fixed in a body
        self._all: dict[int, Load] = {}  # by identity: two equal loads are still two
        self._fixed_in: dict[int, list[Load]] = {}  # loads fixed in each body
        self._owner: list[tuple[Load, int]] = []  # load and position in it of each row of the table

    @property
    def all(self) -> tuple[Load, ...]:
        """In the order they were applied."""
        return tuple(self._all.values())

    @property
    def are_any(self) -> bool:
        return bool(self._all)

    # --------------------------------------------------------------------------------------------------------- changes

    def apply(
        self, bodies: Sequence[str | int] | IntArray, at: Vector, force: Vector, torque: Vector, frame: str
    ) -> Load:
        """One load on each of some bodies; at, force, torque: of shape (3,) for all, or (k, 3)."""
        choice(frame, FRAMES, "frame")
        index, axes, point = self.resolve(bodies, at)
        f, n = self._vectors(force, index.size, "force"), self._vectors(torque, index.size, "torque")
        load = Load(index, np.zeros(0, dtype=np.int64), axes, point, f, n)
        if frame == "body":
            self._add_fixed(load)
        else:
            rows = np.zeros((index.size, LOAD_COLUMNS))
            rows[:, LOAD_AT : LOAD_AT + 3], rows[:, LOAD_FORCE : LOAD_FORCE + 3] = point, f
            rows[:, LOAD_TORQUE : LOAD_TORQUE + 3] = n
            self._add_rows(load, rows)
        return load

    def apply_spring(self, body: str | int, target: Vector, stiffness: float, at: Vector) -> Load:
        index, axes, point = self.resolve([body], at)
        row = np.zeros((1, LOAD_COLUMNS))
        row[0, LOAD_AT : LOAD_AT + 3] = point
        row[0, LOAD_TARGET : LOAD_TARGET + 3] = self._vectors(target, 1, "target")
        row[0, LOAD_STIFFNESS] = positive(stiffness, "stiffness")
        load = Load(index, np.zeros(0, dtype=np.int64), axes, point, np.zeros((1, 3)), np.zeros((1, 3)))
        self._add_rows(load, row)
        return load

    def change(self, load: Load, force: Vector | None, torque: Vector | None) -> None:
        self.refuse_unknown(load)
        f = load.force if force is None else self._vectors(force, load.bodies.size, "force")
        n = load.torque if torque is None else self._vectors(torque, load.bodies.size, "torque")
        load.force, load.torque = f, n
        if load.is_fixed:
            self._sum_fixed(load.bodies)
        else:
            rows = load.rows.item() if load.rows.size == 1 else load.rows  # one row is written in a third of the time
            self.table[rows, LOAD_FORCE : LOAD_FORCE + 3] = f
            self.table[rows, LOAD_TORQUE : LOAD_TORQUE + 3] = n
        self._listener._loads_changed(load.bodies, 0)

    def move_target(self, load: Load, target: Vector) -> None:
        self.refuse_unknown(load)
        if load.is_fixed or not (self.table[load.rows, LOAD_STIFFNESS] > 0.0).all():
            raise StateError("this load is not a spring; only what apply_spring() made has a target.")
        self.table[load.rows, LOAD_TARGET : LOAD_TARGET + 3] = self._vectors(target, load.bodies.size, "target")
        self._listener._loads_changed(load.bodies, 0)

    def clear(self, load: Load) -> None:
        self.refuse_unknown(load)
        del self._all[id(load)]
        if load.is_fixed:
            for body in load.bodies.tolist():
                self._fixed_in[body].remove(load)
            self._sum_fixed(load.bodies)
            self._listener._loads_changed(load.bodies, 0)
            return
        for row in sorted(load.rows.tolist(), reverse=True):
            self.count -= 1
            owner, k = self._owner.pop()
            if row != self.count:  # the last row of the table takes the place of the one that goes
                self.table[row], self.body[row] = self.table[self.count], self.body[self.count]
                owner.rows[k] = row
                self._owner[row] = (owner, k)
        self._listener._loads_changed(load.bodies, -1)

    # ---------------------------------------------------------------------------------------------------------- inside

    def _add_fixed(self, load: Load) -> None:
        self._all[id(load)] = load
        self.has_fixed = True
        for body in load.bodies.tolist():
            self._fixed_in.setdefault(body, []).append(load)
        self._sum_fixed(load.bodies)
        self._listener._loads_changed(load.bodies, 0)

    def _sum_fixed(self, bodies: IntArray) -> None:
        """Sums of the loads fixed in bodies: formed anew, so that a load taken away leaves nothing behind."""
        self.wrench[bodies] = 0.0
        for load in {id(x): x for body in bodies.tolist() for x in self._fixed_in.get(body, ())}.values():
            here = np.isin(load.bodies, bodies)
            np.add.at(self.wrench, load.bodies[here], load.wrenches[here])

    def _add_rows(self, load: Load, rows: FloatArray) -> None:
        first, last = self.count, self.count + len(rows)
        if last > self.table.shape[0]:
            size = max(2 * self.table.shape[0], last)
            table, body = np.zeros((size, LOAD_COLUMNS)), np.zeros(size, dtype=np.int64)
            table[:first], body[:first] = self.table[:first], self.body[:first]
            self.table, self.body = table, body
            self._listener._load_table_grew()
        self.table[first:last], self.body[first:last] = rows, load.bodies
        load.rows = np.arange(first, last)
        self._owner += [(load, k) for k in range(len(rows))]
        self.count = last
        self._all[id(load)] = load
        self._listener._loads_changed(load.bodies, 1)

    def take_over(self, load: Load, bodies: IntArray, other: LoadTable) -> Load:
        """The same load as in another simulation, on the bodies that have these indices here."""
        copy = Load(bodies, load.rows[:0], load.axes.copy(), load.at.copy(), load.force.copy(), load.torque.copy())
        if load.is_fixed:
            self._add_fixed(copy)
        else:
            self._add_rows(copy, other.table[load.rows].copy())
        return copy

    def adopt(self, loads: Sequence[Load], table: FloatArray) -> None:
        """Loads that were copied from another table become this one's, handles and all. table: the rows of that other."""
        for load in loads:
            if load.is_fixed:
                self._add_fixed(load)
            else:
                self._add_rows(load, table[load.rows])

    def __setstate__(self, values: dict[str, Any]) -> None:
        """Copied loads have other identities."""
        self.__dict__.update(values)
        self._all = {id(load): load for load in self._all.values()}

    def refuse_unknown(self, load: Load) -> None:
        if not isinstance(load, Load) or self._all.get(id(load)) is not load:
            raise StateError("this load is not, or no longer, part of the simulation.")

    def resolve(self, bodies: Sequence[str | int] | IntArray, at: Vector) -> tuple[IntArray, FloatArray, FloatArray]:
        """Indices, axes and points of loads given on bodies or on frames welded to them."""
        k = len(bodies)
        points = self._vectors(at, k, "at")
        axes = np.empty((k, 3, 3))
        axes[:] = UNTURNED
        if isinstance(bodies, np.ndarray) and np.issubdtype(bodies.dtype, np.integer) and bodies.ndim == 1:
            index = bodies.astype(np.int64)
        else:
            index = np.zeros(k, dtype=np.int64)
            for r, body in enumerate(bodies):
                if isinstance(body, str):
                    index[r], pose = self.model.frame(body)
                    axes[r] = pose.matrix[:3, :3]
                    points[r] = pose.matrix[:3, 3] + axes[r] @ points[r]
                else:
                    whole = isinstance(body, (int, np.integer)) and not isinstance(body, bool)
                    index[r] = body if whole and abs(int(body)) < 2**62 else -1
        if k and not (index.min() >= 0 and index.max() < self.model.n_bodies):
            bad = np.flatnonzero((index < 0) | (index >= self.model.n_bodies))
            body = bodies[int(bad[0])]
            name = int(body) if isinstance(body, np.integer) else body
            raise StateError(f"body {name!r} is the world or does not exist; a load needs a body that can move.")
        return index, axes, points

    def _vectors(self, value: Vector, count: int, what: str) -> FloatArray:
        """Finite numbers of shape (count, 3), from that or from one vector for all."""
        array: Any = value
        if count == 1 and type(value) is np.ndarray and value.shape == (1, 3) and value.dtype == np.float64:
            x, y, z = value[0].tolist()
            if isfinite(x + y + z):  # as nearly always: a sum that is finite has finite parts
                return value.copy()
        if not _is_plain(array):
            many = dimensions(value) == 2
            array = as_array(value, (count, 3) if many else (3,), what, self.model)
            if not np.isfinite(array).all():
                raise StateError(f"{what} is {array.tolist()}; give finite numbers.")
        rows = np.empty((count, 3))
        rows[:] = array
        return rows

    # ------------------------------------------------------------------------------------------------------ checkpoints

    def schema(self) -> tuple[Entry, ...]:
        return (
            Entry("load_sizes", ("loads",), "i", 0),  # a load on no body at all is one, too
            Entry("load_bodies", ("bodies",), "i", 0, self.model.n_bodies - 1),
            Entry("load_rows", ("bodies",), "i"),
            Entry("load_numbers", ("bodies", NUMBERS)),
            Entry("load_table", ("rows", LOAD_COLUMNS)),
        )

    def saved(self) -> dict[str, NDArray[Any]]:
        """All loads on bodies, for a checkpoint."""
        loads = self.all
        flat = np.concatenate([np.zeros((0, NUMBERS)), *(_numbers(load) for load in loads)])
        return {
            "load_sizes": np.array([load.bodies.size for load in loads], dtype=np.int64),
            "load_bodies": np.concatenate([np.zeros(0, dtype=np.int64), *(load.bodies for load in loads)]),
            "load_rows": np.concatenate(
                [np.zeros(0, dtype=np.int64), *(np.full(x.bodies.size, -1) if x.is_fixed else x.rows for x in loads)]
            ),
            "load_numbers": flat,
            "load_table": self.table[: self.count].copy(),
        }

    def fits(self, saved: Saved) -> bool:
        rows, count = saved["load_rows"], saved["load_table"].shape[0]
        return (
            int(saved["load_sizes"].sum()) == rows.size
            and np.array_equal(np.sort(rows[rows >= 0]), np.arange(count))
            and bool(np.isfinite(saved["load_numbers"]).all() and np.isfinite(saved["load_table"]).all())
        )

    def reset(self) -> None:
        """No loads."""
        for load in self.all:
            self.clear(load)

    def restore(self, saved: Saved) -> None:
        """Loads that were applied again keep their handles; a simulation without any gets them from the checkpoint."""
        wanted = self._read(saved)
        if self._all and not self._are_applied(wanted):
            raise StateError(
                f"the checkpoint has {len(wanted)} loads, the simulation {len(self._all)} or on other bodies; apply the "
                "same loads in the same order before restoring, or none."
            )
        handles = self.all or tuple(wanted)
        self.reset()
        world = sorted(
            ((row, n, k) for n, load in enumerate(wanted) for k, row in enumerate(load.rows.tolist())),
            key=lambda x: x[0],
        )
        table = saved["load_table"]
        for handle, load in zip(handles, wanted, strict=True):
            handle.axes, handle.at, handle.force, handle.torque = load.axes, load.at, load.force, load.torque
            rows = load.rows
            handle.rows = rows[:0]
            if rows.size:
                self._add_rows(handle, table[rows])
            else:
                self._add_fixed(handle)
        # rows in the order they had: the row of a load gives the order in which forces are summed
        for row, n, k in world:
            self.table[row], self.body[row] = table[row], wanted[n].bodies[k]
            handles[n].rows[k] = row
            self._owner[row] = (handles[n], k)

    def _are_applied(self, wanted: list[Load]) -> bool:
        return len(self._all) == len(wanted) and all(
            np.array_equal(mine.bodies, other.bodies) and mine.is_fixed == other.is_fixed
            for mine, other in zip(self.all, wanted, strict=True)
        )

    def _read(self, saved: Saved) -> list[Load]:
        """The loads of a checkpoint."""
        sizes, bodies, rows, numbers = (saved[f"load_{x}"] for x in ("sizes", "bodies", "rows", "numbers"))
        loads, first = [], 0
        for size in sizes.tolist():
            part = slice(first, first + size)
            own = rows[part][rows[part] >= 0].copy()
            if own.size not in (0, size):
                raise StateError("the checkpoint's loads are damaged: one is partly fixed in its bodies.")
            x = numbers[part]
            loads.append(
                Load(
                    bodies[part].astype(np.int64),
                    own.astype(np.int64),
                    x[:, :9].reshape(-1, 3, 3).copy(),
                    x[:, 9:12].copy(),
                    x[:, 12:15].copy(),
                    x[:, 15:].copy(),
                )
            )
            first += size
        return loads


def _is_plain(value: Vector) -> bool:
    """Whether it is three finite floats: most vectors are, and need no closer look."""
    return type(value) is tuple and len(value) == 3 and all(type(x) is float and isfinite(x) for x in value)


def _numbers(load: Load) -> FloatArray:
    return np.hstack([load.axes.reshape(-1, 9), load.at, load.force, load.torque])
