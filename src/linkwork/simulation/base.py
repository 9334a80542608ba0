"""What all simulations of a linkage have in common: loads, efforts, motors, checkpoints and the run loop.

A simulation says in a few declarations what it must remember (`_SETTINGS`, `_COUNTERS`, `_kept`), and what it does when
something that acts on it changes (`_loads_changed`, `_joint_changed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.checks import dimensions, flag, numbers, shown
from linkwork.core.describe import html_table
from linkwork.dynamics.efforts import Efforts, as_efforts
from linkwork.dynamics.inputs import as_finite, as_finite_state, as_model
from linkwork.errors import LinkworkError, StateError
from linkwork.model.layout import V
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.constraints import refuse_open_loops
from linkwork.simulation.copying import Copied
from linkwork.simulation.loads import Load, LoadTable, Vector
from linkwork.simulation.motor_view import Motors
from linkwork.simulation.motors import M_DAMPING, MOTOR_COLUMNS, joint_numbers, motor_rows
from linkwork.simulation.protocol import Setting
from linkwork.simulation.run import Runnable
from linkwork.simulation.stiffness import REACH, warn_of_stiff_joints

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


MOST_RECORDED = 2000  # degrees of freedom of models whose efforts are recorded
LARGEST_COUNT = 2**62  # steps and seconds beyond this are none


class Loaded:
    """Loads on the bodies of a linkage, efforts and motors on its joints."""

    def __init__(self, model: Model):
        self.model = as_model(model, type(self).__name__)
        self._loads = LoadTable(model, self)
        self._effort = np.zeros(model.nv)
        self._motor = np.zeros((model.nv, MOTOR_COLUMNS))
        self._driven: set[str] = set()  # joints that have a motor
        self._engaged_version = self._gains_version = 0  # change where motors were taken away, and gains were set
        self._all_motors: Motors | None = None
        self._steps_judged: set[float] = set()  # [s] steps that the stiffness of joints was compared with

    def _judge_stiffness(self, state: State, integrator: str, implicit_joints: bool, h: float) -> None:
        """Warns, once per step length and change of motors, where explicit joint forces are too stiff for the step."""
        self._steps_judged.add(h)
        if integrator in REACH and not (implicit_joints and integrator == "semi_implicit_euler"):
            warn_of_stiff_joints(self.model, state, self._motor, integrator, h)

    def advance(self, h: float, n: int = 1) -> None:
        """n steps of h seconds, without a report."""
        raise NotImplementedError

    def _loads_changed(self, bodies: IntArray, world: int) -> None:
        """Loads on these bodies are others. world: 1 where ones that the world holds began to act, -1 where they ended."""
        raise NotImplementedError

    def _load_table_grew(self) -> None:
        """The table of the world's loads is another array."""
        raise NotImplementedError

    def _joint_changed(self, joint: int) -> None:
        """The effort or the motor of the joint that carries this body is another."""
        raise NotImplementedError

    def _joints_changed(self, joints: IntArray) -> None:
        """The efforts or motors of the joints that carry these bodies are others."""
        for joint in joints.tolist():
            self._joint_changed(joint)

    def _coordinates_of_joints(self) -> FloatArray:
        """Present coordinates, shape (nq,)."""
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
        self._effort[rows] = joint_numbers(self.model, joint, "effort", values, rows.stop - rows.start)
        self._joint_changed(i)

    def set_efforts(self, effort: ArrayLike) -> None:
        """Sets the efforts on all joints [N·m or N], shape (nv,), as `set_effort` does for one.

        Cost: that of setting those that differ, one by one; O(nv) to find them.
        """
        given = as_finite(effort, (self.model.nv,), "effort", self.model)
        changed = np.flatnonzero(self._effort != given)
        if changed.size:
            self._effort[changed] = given[changed]
            starts = self.model.arrays.tree[:, V]
            self._joints_changed(np.unique(np.searchsorted(starts, changed, side="right") - 1))

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
        i = self.model.joint(joint)
        rows = motor_rows(self.model, joint, position, velocity, stiffness, damping)
        part = self.model.v_slice(i)
        if not np.array_equal(self._motor[part, : M_DAMPING + 1], rows[:, : M_DAMPING + 1]):  # other gains
            self._gains_version += 1
            self._steps_judged.clear()
        self._motor[part] = rows
        self._driven.add(joint)
        self._joint_changed(i)

    def clear_motor(self, joint: str) -> None:
        """Takes the motor of a joint away."""
        i = self.model.joint(joint)  # refuses a name that does not exist
        if joint not in self._driven:
            raise StateError(f"joint '{joint}' has no motor to clear; set_motor('{joint}', ...) gives it one.")
        self._motor[self.model.v_slice(joint)] = 0.0
        self._driven.discard(joint)
        self._engaged_version += 1
        self._gains_version += 1
        self._joint_changed(i)


def _other(name: str) -> str:
    """How a setting is called that is not the same: "another measure", "other weights"."""
    word = name.lstrip("_")
    return f"other {word}" if word.endswith("s") else f"another {word}"


class LinkageSimulation(Copied, Loaded, Runnable):
    """A linkage on which loads, efforts and motors act, at some time after so many steps."""

    _SETTINGS: tuple[str, ...] = ()  # attributes on which the course of the simulation depends
    _COUNTERS: tuple[str, ...] = ("time", "steps_done")  # attributes that change as it goes

    def __init__(self, model: Model, state: State):
        """state: that it begins with, for `reset`."""
        super().__init__(model)
        self._first_state = State(np.array(state.q), np.array(state.v))
        self.time = 0.0
        self.steps_done = 0
        self._acted_at = -1  # steps done at the step whose efforts on joints were noted; -1: none

    # ------------------------------------------------------------------------------------------- what a simulation provides

    def _kept(self) -> dict[str, NDArray[Any]]:
        """Arrays that a checkpoint holds, and a restored one is written into."""
        raise NotImplementedError

    def _about_to_be_kept(self) -> None:
        """Brings the arrays of `_kept` up to date."""

    def _restored(self, saved: dict[str, Any]) -> None:
        """All that is kept was written; what follows from it is to be formed again."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------------ what it is

    def settings(self) -> dict[str, Setting]:
        """The kind of simulation and what it was made with."""
        names = (name for name in self._SETTINGS if not name.startswith("_"))
        return {"simulation": type(self).__name__, **{name: getattr(self, name) for name in names}}

    @property
    def work_per_step(self) -> int:
        """Joints that a step works on, in joints of a full step; all of them before the first."""
        if self.steps_done == 0:
            return max(1, self.model.n_bodies)
        return max(1, self._joints_at_work())

    def _joints_at_work(self) -> int:
        return self.model.n_bodies

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, t={self.time:g} s after {self.steps_done:,} steps)"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        chosen = {k: x for k, x in self.settings().items() if k != "simulation" and x is not None}
        rows: list[tuple[str, object]] = [
            ("model", repr(self.model)),
            ("time", f"{self.time:g} s after {self.steps_done:,} steps"),
            ("loads", f"{len(self.loads)} on bodies, {len(self._driven)} motors"),
            *((name.replace("_", " "), value) for name, value in chosen.items()),
        ]
        return html_table(type(self).__name__, rows, "lw.view(sim) runs it in 3-D")

    # ------------------------------------------------------------------------------------------------------ another state

    def set_state(self, state: State) -> None:
        """Puts the linkage into another state; time, loads, efforts, motors and pins stay.

        Steps from there on are those of a new simulation that begins in that state, to the bit: contacts, loop forces and
        the active region are found anew. A state that is refused changes nothing. Cost: O(n).
        """
        q, v = as_finite_state(self.model, state)
        self._refuse_state(q, v)
        self._begin_at(np.array(q), np.array(v))
        self._acted_at = -1

    def reset(self, clear: bool = False) -> None:
        """Goes back to the state it was made with, at time 0; loads, efforts, motors and pins stay, or with `clear` go.

        Steps from there on are those of a new simulation with the same loads, random numbers of a thermostat included.
        Cost: O(n).
        """
        if flag(clear, "clear"):
            self._clear_everything()
        self._forget_outside()
        self._begin_at(*(array.copy() for array in self._first_state))
        self.time, self.steps_done, self._acted_at = 0.0, 0, -1

    def _clear_everything(self) -> None:
        """Takes away all loads, efforts and motors."""
        self.clear_loads()
        self.set_efforts(np.zeros(self.model.nv))
        for joint in sorted(self._driven):
            self.clear_motor(joint)

    def _refuse_state(self, q: FloatArray, v: FloatArray) -> None:
        """Refuses a state that this simulation cannot begin in."""
        if self.model.loops:
            refuse_open_loops(self.model, State(q, v))

    def _begin_at(self, q: FloatArray, v: FloatArray) -> None:
        """As a new simulation from there, with what acts on it now."""
        raise NotImplementedError

    def _forget_outside(self) -> None:
        """What a field and a thermostat remember is as in the beginning."""

    # -------------------------------------------------------------------------------------------------- efforts on joints

    @property
    def efforts(self) -> Efforts:
        """What acted on the joints in the last step: given, motors, springs, dampers, limits, each (nv,) [N·m or N].

        Implicit joint forces are those of the end of the step, as the step took them. Before the first step, and after
        `restore`, `set_state` and `reset`: what would act at the present state. Cost: O(n).
        """
        return as_efforts(self._parts_of_efforts())

    @property
    def effort(self) -> FloatArray:
        """The sum of `efforts`, shape (nv,) [N·m or N]: all that acted on each joint along its motion in the last step."""
        return np.asarray(self._parts_of_efforts().sum(axis=1))

    def recorded_efforts(self) -> FloatArray | None:
        """What a recording keeps of `efforts`, shape (nv, 5); None for large models, where it would outgrow the states."""
        return None if self.model.nv > MOST_RECORDED else self._parts_of_efforts()

    def _parts_of_efforts(self) -> FloatArray:
        """Efforts by source, columns as of `simulation.acting`, shape (nv, 5)."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------------------------------- checkpoints

    def checkpoint(self) -> dict[str, object]:
        """Everything that depends on history, loads, efforts and motors included."""
        self._about_to_be_kept()
        return {
            "simulation": type(self).__name__,
            **{name: array.copy() for name, array in self._all_kept().items()},
            "driven": np.array(sorted(self.model.joint(joint) for joint in self._driven), dtype=np.int64),
            **self._loads.saved(),
            **{name.lstrip("_"): getattr(self, name) for name in (*self._COUNTERS, *self._SETTINGS)},
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Goes back (or on) to a checkpoint of a simulation made in the same way, with the same loads applied, or none.

        One that is refused changes nothing.
        """
        self._refuse_other(checkpoint)
        own = self.checkpoint()
        try:
            self._go_back_to(checkpoint)
        except LinkworkError:  # its numbers, each by itself sound, make no state that can be formed
            self._go_back_to(own)
            raise

    def _go_back_to(self, checkpoint: dict[str, Any]) -> None:
        self._loads.restore(checkpoint)
        for name, array in self._all_kept().items():
            array[...] = checkpoint[name]
        self._driven = {self.model.joint_names[i] for i in checkpoint["driven"].tolist()}
        self._engaged_version += 1
        self._gains_version += 1
        self._acted_at = -1
        self._restored(checkpoint)
        for name in self._COUNTERS:
            setattr(self, name, checkpoint[name.lstrip("_")])

    def _all_kept(self) -> dict[str, NDArray[Any]]:
        return {"effort": self._effort, "motor": self._motor, **self._kept()}

    def _refuse_other_setting(self, name: str, saved: dict[str, Any]) -> None:
        mine, other = getattr(self, name), saved[name.lstrip("_")]
        if not np.array_equal(mine, other):
            both = "" if np.ndim(mine) else f" ({shown(other)}, not {mine!r})"
            raise StateError(
                f"the checkpoint was made with {_other(name)}{both}; make the simulation with the same "
                "arguments, or it would take another course."
            )

    def _refuse_other(self, saved: dict[str, Any]) -> None:
        """Refuses a checkpoint of another simulation or model, one made with other settings, and a damaged one."""
        kind = type(self).__name__
        if not isinstance(saved, dict):
            raise StateError(f"a checkpoint is what sim.checkpoint() gives, not {shown(saved)}.")
        if not isinstance(saved.get("simulation"), str) or saved["simulation"] != kind:
            raise StateError(f"this is a checkpoint of {shown(saved.get('simulation'))}, not of {kind}.")
        if "integrator" in self._SETTINGS and isinstance(saved.get("integrator"), str):
            self._refuse_other_setting("integrator", saved)  # first: what a checkpoint holds depends on it
        own = self.checkpoint()
        missing = [name for name in own if name not in saved]
        if missing:
            raise StateError(f"this checkpoint lacks {', '.join(missing)}.")
        for name, mine in own.items():
            if not _is_alike(mine, saved[name]):
                raise StateError(f"the checkpoint is damaged: its {name} is {shown(saved[name])}.")
        for name, array in self._all_kept().items():
            other = np.asarray(saved[name])
            if other.shape != array.shape:
                raise StateError(
                    f"the checkpoint belongs to another model: its {name} has shape {other.shape}, not {array.shape}."
                )
            if other.dtype.kind != array.dtype.kind:
                raise StateError(f"the checkpoint is damaged: its {name} holds {other.dtype}, not {array.dtype}.")
        for name in self._SETTINGS:
            self._refuse_other_setting(name, saved)
        for name in self._COUNTERS:
            if saved[name.lstrip("_")] is None and getattr(self, name) is not None:
                raise StateError(f"the checkpoint is damaged: its {name.lstrip('_')} is None.")
        for name in ("effort", "motor"):
            if not np.isfinite(saved[name]).all():
                raise StateError(f"the checkpoint is damaged: its {name} holds numbers that are not finite.")
        driven = np.asarray(saved["driven"])
        if driven.ndim != 1 or not ((driven >= 0) & (driven < self.model.n_bodies)).all():
            raise StateError("the checkpoint is damaged: it names motors of joints that do not exist.")
        if "q" in saved and "v" in saved:
            as_finite_state(self.model, State(np.asarray(saved["q"]), np.asarray(saved["v"])))


def _is_alike(mine: Any, other: Any) -> bool:
    """Whether an entry of a checkpoint is of the kind that it must be, whatever its numbers; plain ones are finite."""
    if isinstance(mine, np.ndarray):
        return isinstance(other, np.ndarray) and (other.dtype.kind, other.ndim) == (mine.dtype.kind, mine.ndim)
    if isinstance(mine, bool | np.bool_ | str):
        return isinstance(other, str if isinstance(mine, str) else bool | np.bool_) or other is None
    if mine is None or other is None:
        return isinstance(other, bool | int | float | str | None)
    number = isinstance(other, int | float | np.integer | np.floating) and not isinstance(other, bool)
    return bool(number and abs(other) < LARGEST_COUNT and (other >= 0 or not isinstance(mine, int)))
