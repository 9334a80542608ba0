"""What all simulations of a linkage have in common, besides what acts on it: time, runs, states, checkpoints, copies.

A simulation is made of parts (`simulation.parts`), which define what is saved of them and how that is checked. It says
in two declarations which plain values belong to a checkpoint (`_SETTINGS`, `_COUNTERS`), and what it does when something
that acts on it changes (`_loads_changed`, `_joints_changed`).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import flag
from linkwork.core.messages.describe import html_table
from linkwork.core.messages.names import did_you_mean_or_list
from linkwork.core.turns import TakesTurns
from linkwork.core.units import UNITS, unit
from linkwork.dynamics.inputs import as_state
from linkwork.dynamics.quantities.efforts import Efforts, as_efforts
from linkwork.errors import LinkworkError, StateError
from linkwork.model.model import Model, warn_of_degrees_in
from linkwork.model.state import State
from linkwork.simulation import copying
from linkwork.simulation.loading.loaded import Loaded
from linkwork.simulation.parts.constraint_arrays import refuse_open_loops
from linkwork.simulation.parts.part import Part, check, refuse_other_kind
from linkwork.simulation.parts.python_forces import PythonForces
from linkwork.simulation.protocol import Setting
from linkwork.simulation.run import Runnable

if TYPE_CHECKING:
    from linkwork.contact.queries import Closest, Collisions

# What people look for among the options of a simulation, and where it is.
ELSEWHERE = {
    "gravity": "it is that of the linkage: set linkage.gravity, and compile it again",
    **dict.fromkeys(("h", "dt", "timestep"), "give the time step to step(h) or run(h, n)"),
}
MOST_RECORDED = 2000  # degrees of freedom of models whose efforts are recorded


class LinkageSimulation(Loaded, TakesTurns):
    """A linkage on which loads, efforts and motors act, at some time after so many steps.

    Threads may share one: calls wait for each other, and `run` lets others in between two chunks of steps.
    """

    _AT_ANY_TIME = ("run", "settings")
    _ALSO = ("_remade_from",)

    _SETTINGS: tuple[str, ...] = ()  # attributes on which the course of the simulation depends
    _COUNTERS: tuple[str, ...] = ("time", "steps_done")  # attributes that change as it goes
    _made_with: dict[str, Any]
    _forces: PythonForces

    run = Runnable.run
    __copy__, __deepcopy__, __reduce_ex__ = copying.refuse_to_share, copying.copied, copying.pickled

    def __new__(cls, *args: Any, **options: Any) -> Any:
        """Remembers the options, for copies."""
        _refuse_unknown(cls, options)
        sim = super().__new__(cls)
        sim._made_with = {key: value for key, value in options.items() if key not in ("model", "state")}
        return sim

    def __init__(self, model: Model, state: State):
        """state: that it begins with, for `reset`."""
        super().__init__(model)
        self._first_state = State(np.array(state.q), np.array(state.v))
        warn_of_degrees_in(model, self._first_state.q, "q", "the coordinate")
        model.simulations.add(self)
        self.time = 0.0
        self.steps_done = 0

    # ------------------------------------------------------------------------------------------- what a simulation provides

    @property
    def state(self) -> State:
        """The present coordinates and velocities: a copy for reading; `set_state` sets another."""
        raise NotImplementedError

    def advance(self, h: float, n: int = 1) -> None:
        """n steps of h seconds, without a report."""
        raise NotImplementedError

    @property
    def _parts(self) -> tuple[Part, ...]:
        """What it is made of, in the order in which a checkpoint is restored."""
        return self._loads, self._joints

    def _about_to_be_saved(self) -> None:
        """Brings what parts save up to date."""

    def _restored(self) -> None:
        """All parts were restored; what follows from several of them is to be formed again."""

    # ------------------------------------------------------------------------------------------------------ what it is

    def settings(self) -> dict[str, Setting]:
        """The kind of simulation and what it was made with."""
        names = (name for name in self._SETTINGS if not name.startswith("_"))
        given = {name: getattr(self, name) for name in names}
        return {"simulation": type(self).__name__, "units": self.model.units, **given}

    @property
    def units(self) -> Mapping[str, str]:
        """What stands for each SI unit in simulations of molecules ({"m": "nm", ...}); empty where SI units hold."""
        return UNITS[self.model.units]

    @property
    def work_per_step(self) -> int:
        """Joints that a step works on, in joints of a full step; all of them before the first."""
        if self.steps_done == 0:
            return max(1, self.model.n_bodies)
        return max(1, self._joints_at_work())

    def _joints_at_work(self) -> int:
        return self.model.n_bodies

    def __repr__(self) -> str:
        s = unit("s", self.units)
        return f"{type(self).__name__}({self.model!r}, t={self.time:g} {s} after {self.steps_done:,} steps)"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        chosen = {k: x for k, x in self.settings().items() if k != "simulation" and x is not None}
        rows: list[tuple[str, object]] = [
            ("model", repr(self.model)),
            ("time", f"{self.time:g} {unit('s', self.units)} after {self.steps_done:,} steps"),
            ("loads", f"{len(self.loads)} on bodies, {len(self._joints.motor_joints)} motors"),
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
        warn_of_degrees_in(self.model, q, "q", "the coordinate")
        self._refuse_state(q, v)
        self._begin_at(np.array(q), np.array(v))

    def reset(self, clear: bool = False) -> None:
        """Goes back to the state it was made with, at time 0; loads, efforts, motors and pins stay, or with `clear` go.

        Steps from there on are those of a new simulation with the same loads, random numbers of a thermostat included.
        Cost: O(n).
        """
        if flag(clear, "clear"):
            self._clear_everything()
        self._begin_anew(*(array.copy() for array in self._first_state))

    def _begin_anew(self, q: FloatArray, v: FloatArray) -> None:
        """As a new simulation from a state that it can begin in."""
        self._forces.reset()
        self._begin_at(q, v)
        self.time, self.steps_done = 0.0, 0

    def _start_anew(self, q: FloatArray, v: FloatArray) -> None:
        """The same from any state; one that is refused changes nothing."""
        self._refuse_state(q, v)
        self._begin_anew(q, v)

    def _clear_everything(self) -> None:
        """Takes away all loads, efforts and motors."""
        self._loads.reset()
        self._joints.reset()

    def _refuse_state(self, q: FloatArray, v: FloatArray) -> None:
        """Refuses a state that this simulation cannot begin in."""
        if self.model.is_constrained:
            refuse_open_loops(self.model, State(q, v))

    def _begin_at(self, q: FloatArray, v: FloatArray) -> None:
        """As a new simulation from there, with what acts on it now."""
        raise NotImplementedError

    def _make_current(self) -> None:
        """The linkage that moves is brought up to date with what acts on it."""

    # -------------------------------------------------------------------------------------------------------------- fields

    @property
    def field(self) -> Any:
        """The field that acts, with the memory of this simulation; None without one."""
        return self._forces.field

    @property
    def field_kind(self) -> str | None:
        """Kind of the field, for recordings."""
        return None if self._forces.field is None else type(self._forces.field).__name__

    @property
    def field_energy(self) -> float:
        """Energy of the field at the present state, in its units; zero without one."""
        self._make_current()
        self._forces.refresh()
        return self._forces.energy

    # -------------------------------------------------------------------------------------------------- efforts on joints

    @property
    def efforts(self) -> Efforts:
        """What acted on the joints in the last step, by source: `lw.Efforts`, each part (nv,) [N·m or N].

        Implicit joint forces are those of the end of the step, as the step took them. Before the first step, and after
        `restore`, `set_state` and `reset`: what would act at the present state. Cost: O(n).
        """
        return as_efforts(self._parts_of_efforts(), self._contact_efforts())

    @property
    def applied_effort(self) -> FloatArray:
        """The sum of `efforts` without contact, shape (nv,) [N·m or N]: all that acted in each joint in the last step."""
        return np.asarray(self._parts_of_efforts().sum(axis=1))

    def _recorded_efforts(self) -> FloatArray | None:
        """What a recording keeps of `efforts`, shape (nv, 5); None for large models, where it would outgrow the states."""
        return None if self.model.nv > MOST_RECORDED else self._parts_of_efforts()

    def _contact_efforts(self) -> FloatArray:
        """What contact came to along the joints, shape (nv,)."""
        return np.zeros(self.model.nv)

    def _parts_of_efforts(self) -> FloatArray:
        """Efforts by source, columns as of `simulation.loading.applied_efforts`, shape (nv, 5)."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------------------------------- distances

    def closest(self, a: str, b: str) -> Closest:
        """The nearest points of two bodies or obstacles now, by name."""
        return self._collisions().closest(self.state, a, b)

    def clearance(self) -> Closest | None:
        """The smallest distance now between anything that may touch; None where there is nothing to touch."""
        return self._collisions().clearance(self.state)

    def in_collision(self) -> bool:
        """Whether anything overlaps now that may touch."""
        return bool(self._collisions().collide(self.state.q[None])[0])

    def _collisions(self) -> Collisions:
        from linkwork.contact.queries import _collisions

        return _collisions(self.model, getattr(self, "contact", None))

    # ---------------------------------------------------------------------------------------------------------- checkpoints

    def checkpoint(self) -> dict[str, object]:
        """Everything that depends on history, loads, efforts and motors included."""
        self._about_to_be_saved()
        saved: dict[str, object] = {"simulation": type(self).__name__}
        for part in self._parts:
            saved |= part.saved()
        return {**saved, **self._plain(self._COUNTERS), **self._plain(self._SETTINGS)}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Goes back (or on) to a checkpoint of a simulation made in the same way, with the same loads applied, or none.

        One that is refused changes nothing.
        """
        refuse_other_kind(checkpoint, type(self).__name__)
        check(checkpoint, self._parts, self._plain(self._SETTINGS), self._plain(self._COUNTERS))
        if "q" in checkpoint and "v" in checkpoint:
            as_state(self.model, State(checkpoint["q"], checkpoint["v"]))
        own = self.checkpoint()
        try:
            self._go_back_to(checkpoint)
        except LinkworkError:  # its numbers, each by itself sound, make no state that can be formed
            self._go_back_to(own)
            raise

    def _go_back_to(self, checkpoint: dict[str, Any]) -> None:
        for part in self._parts:
            part.restore(checkpoint)
        self._restored()
        for name in self._COUNTERS:
            setattr(self, name, checkpoint[name.lstrip("_")])

    def _plain(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Attributes that a checkpoint holds, by the names they have there."""
        return {name.lstrip("_"): getattr(self, name) for name in names}

    def _remade_from(self) -> tuple[Any, ...]:
        """Arguments of `copying.remake`. A copy is made where this one was: `reset` leads there, and hulls that overlapped
        there do not touch."""
        names = (*(name for name in self._SETTINGS if not name.startswith("_")), "deadline")
        settings = {name: getattr(self, name) for name in names if hasattr(self, name)}
        content = self.checkpoint()
        return type(self), self.model, self._first_state, self._made_with, settings, self.loads, content


def _refuse_unknown(kind: type, options: dict[str, Any]) -> None:
    """Refuses options that a kind of simulation does not have, and says where they are."""
    taken = inspect.signature(kind.__init__).parameters  # type: ignore[misc]
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
        return
    for name in options.keys() - taken.keys():
        known = [other for other in taken if other not in ("self", "model", "state")]
        where = f"; {ELSEWHERE[name]}." if name in ELSEWHERE else did_you_mean_or_list(name, known, len(known))
        raise StateError(f"{kind.__name__} has no option '{name}'{where}")
