"""What all simulations of a linkage have in common, besides what acts on it: another state, efforts, checkpoints.

A simulation says in a few declarations what it must remember (`_SETTINGS`, `_COUNTERS`, `_kept`), and what it does when
something that acts on it changes (`_loads_changed`, `_joint_changed`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.checks import flag, shown
from linkwork.core.describe import html_table
from linkwork.core.turns import TakesTurns
from linkwork.dynamics.efforts import Efforts, as_efforts
from linkwork.dynamics.inputs import as_state
from linkwork.errors import LinkworkError, StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.constraints import refuse_open_loops
from linkwork.simulation.copying import Copied
from linkwork.simulation.loaded import FloatArray, Loaded
from linkwork.simulation.protocol import Setting
from linkwork.simulation.run import Runnable

MOST_RECORDED = 2000  # degrees of freedom of models whose efforts are recorded
LARGEST_COUNT = 2**62  # steps and seconds beyond this are none


def _other(name: str) -> str:
    """How a setting is called that is not the same: "another measure", "other weights"."""
    word = name.lstrip("_")
    return f"other {word}" if word.endswith("s") else f"another {word}"


class LinkageSimulation(Copied, Loaded, Runnable, TakesTurns):
    """A linkage on which loads, efforts and motors act, at some time after so many steps.

    Threads may share one: calls wait for each other, and `run` lets others in between two pieces of steps.
    """

    _AT_ANY_TIME = ("run", "settings")
    _ALSO = ("_remade_from",)

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
        q, v = as_state(self.model, state)
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
            as_state(self.model, State(np.asarray(saved["q"]), np.asarray(saved["v"])))


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
