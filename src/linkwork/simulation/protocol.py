"""What every simulation offers, as types: the run loop, scenes and recordings use nothing else of simulations.

`Simulation` is enough to run, record and resume. `LoadedSimulation` takes loads on bodies and efforts on joints as well;
one that is `Motorized` has motors that follow targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.core.messages.describe import tabled
from linkwork.core.units import unit
from linkwork.model.model import Model
from linkwork.model.state import State

if TYPE_CHECKING:
    from linkwork.record.recorder import Recorder
    from linkwork.simulation.loading.loads import Load

Setting = bool | int | float | str | None  # what a recording keeps of how a simulation was made
Vector = Sequence[float] | ArrayLike

ADAPTIVE_COST = 4  # of a joint in an adaptive solve, in joints of a full step; roughly


@tabled
@dataclass(frozen=True, slots=True)
class Report:
    """What a call of `step` did. Every simulation derives its own from this and adds its numbers."""

    def note(self) -> str:
        """What matters most, in a few words, for the line of the progress bar."""
        return ""


@tabled
@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run did.

    status: "finished", or "stopped" by the callback.
    h: time step [s]. steps_asked, steps: that were to be taken, and that were taken, by this call. time: they simulate [s].
    wall_time: they took [s]. path: folder of the recording, None without one.
    advice: what would make the run faster, where an adaptive one cost more than a full one; empty otherwise.
    first, last: reports of the first and the last call of `step` in the run; None where no step was left to take.
    energy_drift: farthest that the energy was from its start, over the largest kinetic energy; the error of the integrator
    where nothing does work, None where nothing moved. lowest_energy, highest_energy: [J]. largest_speed: of a degree of
    freedom [rad/s or m/s], in `fastest_joint`. All are looked at before the run and at least every
    200 steps; None for simulations without energy or speeds.
    sensors: what they knew at the end, by name; None without any.
    units: what stands for each SI unit in runs of molecules; empty where SI units hold.
    """

    def __repr__(self) -> str:
        """One line per idea; fields that say nothing are left out."""
        s, joules, speed = (unit(name, self.units) for name in ("s", "J", "rad/s or m/s"))
        lines = [f"RunReport: {self.status}, {self.steps:,} of {self.steps_asked:,} steps of {self.h:g} {s}"]
        lines.append(f"  {self.time:g} {s} simulated in {self.wall_time:.3g} s")
        if self.energy_drift is not None:
            span = f"{self.lowest_energy:.6g} to {self.highest_energy:.6g} {joules}"
            lines.append(f"  energy from {span}, drift {self.energy_drift:.2g}")
        if self.fastest_joint:
            lines.append(f"  fastest: '{self.fastest_joint}', {self.largest_speed:.4g} {speed}")
        more = {"recorded in": self.path, "advice": self.advice or None, "last step": self.last}
        return "\n".join([*lines, *(f"  {name}: {value}" for name, value in more.items() if value is not None)])

    status: str
    h: float
    steps_asked: int
    steps: int
    time: float
    wall_time: float
    path: Path | None
    first: Report | None
    last: Report | None
    advice: str = ""
    energy_drift: float | None = None
    lowest_energy: float | None = None
    highest_energy: float | None = None
    largest_speed: float | None = None
    fastest_joint: str | None = None
    sensors: dict[str, NDArray[np.float64]] | None = None
    units: Mapping[str, str] = field(default_factory=dict)


class Simulation(Protocol):
    """The common interface of simulations."""

    @property
    def model(self) -> Model: ...

    @property
    def time(self) -> float:
        """Simulated so far [s]."""
        ...

    @property
    def steps_done(self) -> int: ...

    @property
    def state(self) -> State:
        """Present coordinates and velocities."""
        ...

    @property
    def work_per_step(self) -> int:
        """Joints that the next step works on, as far as is known, in joints of a full step; at least 1."""
        ...

    def step(self, h: float, n: int = 1) -> Report:
        """n steps of h [s]. A step that fails is taken back; those before it stand."""
        ...

    def advance(self, h: float, n: int = 1) -> None:
        """The same without a report."""
        ...

    def run(
        self,
        h: float,
        n: int,
        *,
        record: str | Path | Recorder | None = None,
        every: int = 0,
        callback: Callback | None = None,
        progress: bool | None = None,
        sensors: Sensing | None = None,
    ) -> RunReport:
        """Many steps, with progress and recording."""
        ...

    def scalars(self) -> dict[str, float]:
        """Numbers worth plotting over time, by name; units in `linkwork.record.layout`."""
        ...

    def settings(self) -> dict[str, Setting]:
        """The kind of simulation, under "simulation", and what it was made with."""
        ...

    def checkpoint(self) -> dict[str, object]:
        """Everything that depends on history: arrays and plain values by name."""
        ...

    def restore(self, checkpoint: dict[str, Any], /) -> None:
        """Goes on from a checkpoint of a simulation made in the same way."""
        ...


class Sensing(Protocol):
    """Sensors as the run loop uses them (`linkwork.sensing`)."""

    def steps_to_next(self) -> int: ...

    def chunk(self, h: float, n: int) -> Any: ...

    def read(self) -> dict[str, NDArray[np.float64]]: ...

    def description(self) -> dict[str, Any]: ...

    def fresh(self) -> NDArray[np.float64]: ...

    def checkpoint(self) -> dict[str, NDArray[np.float64]]: ...

    def restore(self, saved: dict[str, Any], /) -> None: ...


# Called with simulation and report; a true result stops the run. Callers may take narrower types than the protocol's.
Callback = Callable[[Any, Any], object]


class LoadedSimulation(Simulation, Protocol):
    """A simulation with loads on bodies and efforts on joints."""

    @property
    def loads(self) -> Sequence[Load]: ...

    def apply_wrench(
        self, body: str | int, force: Vector = ..., torque: Vector = ..., frame: str = ..., at: Vector = ...
    ) -> Load: ...

    def apply_wrenches(
        self, bodies: Sequence[str | int] | NDArray[np.int64], wrenches: ArrayLike, frame: str = ..., at: Vector = ...
    ) -> Load: ...

    def set_wrenches(self, load: Load, wrenches: ArrayLike) -> None: ...

    def apply_spring(self, body: str | int, target: Vector, stiffness: float, at: Vector = ...) -> Load: ...

    def change_wrench(self, load: Load, force: Vector | None = None, torque: Vector | None = None) -> None: ...

    def move_target(self, load: Load, target: Vector) -> None: ...

    def clear(self, load: Load) -> None: ...

    def clear_loads(self) -> None: ...

    def set_effort(self, joint: str, effort: float | ArrayLike) -> None: ...


@runtime_checkable
class Motorized(Protocol):
    """A simulation whose joints have motors that follow targets."""

    def set_motor(
        self,
        joint: str,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        stiffness: ArrayLike = 0.0,
        damping: ArrayLike = 0.0,
    ) -> None: ...
