"""SceneSimulation: a simulation with the loads of its scene, which change with time.

Over a step a time function is held at its value in the middle of the step: what it adds to momentum is then right to second
order in the step, whatever the integrator.

Only values that change are set, and forces fixed in the world act only while they are not zero. Which loads act is then a
function of time, but their order depends on history; sums depend on it in their last bits, so checkpoints keep it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.core.checks import integer, positive
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.scene.actions import Action, Motor, Values
from linkwork.scene.signals import values_of
from linkwork.simulation.loading.loads import Load
from linkwork.simulation.loading.motor_law import M_POSITION, M_VELOCITY
from linkwork.simulation.protocol import LoadedSimulation, Report, Setting
from linkwork.simulation.run import Runnable

# Keys in checkpoints: the time the loads were last set for; and the actions behind the loads on bodies, in the order in
# which they were applied (-1: a load that is not of the scene).
LOADS_AT, LOADS = "scene_loads_at", "scene_loads"


class _Acting:
    """An action on a simulation: the value set last, and the load it is applied as, if it acts on a body."""

    def __init__(self, action: Action, sim: LoadedSimulation, t: float):
        self.action = action
        self.value: Values = ()
        self.load: Load | None = None
        self.is_on = False
        self.set(sim, action.value(t))

    def set(self, sim: LoadedSimulation, value: Values) -> None:
        self.value = value
        acts = self.action.acts(value)
        if acts and self.is_on:
            self.action.update(sim, self.load, value)
        elif acts:
            self.load = self.action.start(sim, value)
        elif self.load is not None:
            sim.clear(self.load)
            self.load = None
        self.is_on = acts

    def start_again(self, sim: LoadedSimulation, value: Values) -> None:
        """Applies a load that `clear_loads` took away."""
        self.value, self.is_on = value, True
        self.load = self.action.start(sim, value)


class _Targets:
    """Positions or velocities that motors follow, all set in one call; gains were set when the motors began."""

    def __init__(self, sim: Any, motors: Sequence[Motor], column: int):
        self._column = column
        parts = [(motor, motor.position if column == M_POSITION else motor.velocity) for motor in motors]
        self._values = values_of([signal for _, signal in parts if signal is not None])
        joints = [motor.joint for motor, signal in parts if signal is not None]
        along = [sim.model.v_slice(joint) for joint in joints]
        rows = [np.arange(each.start, each.stop) for each in along]
        self._rows = np.concatenate([np.zeros(0, dtype=np.int64), *rows])

    def set(self, sim: Any, t: float) -> None:
        """Sets all targets of `sim`, a simulation of the same model, to their values at the time t [s].

        Joints whose target stays where it is are left alone: what has not changed need not be computed anew.
        """
        if self._rows.size:
            sim.view.joints.set_targets(self._rows, self._column, self._values(t))


class SceneSimulation(Runnable):
    """A simulation with the loads of its scene, which change with time.

    sim: the simulation behind it (QuasiStatics, FullDynamics, AdaptiveDynamics).
    actions: what acts on it; loads are applied here, for a first step of h [s]. acting: each of them, as it acts now.
    What else the simulation behind it offers (`acceleration`, `active`, ...) can be asked of this one directly.
    """

    def __init__(self, sim: LoadedSimulation, actions: Sequence[Action], h: float):
        self.sim = sim
        self._at = sim.time + 0.5 * h
        self.acting = [_Acting(action, sim, self._at) for action in actions]
        varying = [acting for acting in self.acting if not acting.action.is_constant]
        motors = [acting.action for acting in varying if isinstance(acting.action, Motor)]
        self._targets = [_Targets(sim, motors, column) for column in (M_POSITION, M_VELOCITY)] if motors else []
        self._varying = [acting for acting in varying if not isinstance(acting.action, Motor)]

    @property
    def model(self) -> Model:
        return self.sim.model

    @property
    def time(self) -> float:
        """[s] simulated so far."""
        return self.sim.time

    @property
    def steps_done(self) -> int:
        return self.sim.steps_done

    @property
    def state(self) -> State:
        return self.sim.state

    @property
    def units(self) -> Mapping[str, str]:
        return getattr(self.sim, "units", {})

    @property
    def work_per_step(self) -> int:
        return self.sim.work_per_step

    @property
    def is_varying(self) -> bool:
        """Whether anything that acts changes with time."""
        return bool(self._varying or self._targets)

    def set_loads(self, t: float) -> None:
        """Sets everything that changes to its value at the time t [s]."""
        self._at = t
        for acting in self._varying:
            value = acting.action.value(t)
            if value != acting.value:
                acting.set(self.sim, value)
        for targets in self._targets:
            targets.set(self.sim, t)

    def step(self, h: float, n: int = 1) -> Report:
        """n steps of h seconds; returns the report of the last."""
        if not self.is_varying:
            return self.sim.step(h, n)
        h, n = positive(h, "h"), integer(n, 1, "the number of steps")
        if n > 1:
            self.advance(h, n - 1)
        self._set_loads_for(h)
        return self.sim.step(h, 1)

    def advance(self, h: float, n: int = 1) -> None:
        """The same without a report."""
        if not self.is_varying:
            self.sim.advance(h, n)
            return
        h, n = positive(h, "h"), integer(n, 1, "the number of steps")
        for _ in range(n):
            self._set_loads_for(h)
            self.sim.advance(h, 1)

    def _set_loads_for(self, h: float) -> None:
        """Loads at their values in the middle of the step that comes."""
        t = self.sim.time + 0.5 * h
        if t != self._at:
            self.set_loads(t)

    def scalars(self) -> dict[str, float]:
        return self.sim.scalars()

    def settings(self) -> dict[str, Setting]:
        return self.sim.settings()

    def checkpoint(self) -> dict[str, object]:
        return {**self.sim.checkpoint(), LOADS_AT: float(self._at), LOADS: np.array(self._order(), dtype=np.int64)}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Goes on from a checkpoint of a simulation of the same scene."""
        missing = [key for key in (LOADS_AT, LOADS) if key not in checkpoint]
        if missing:
            raise StateError(
                f"this checkpoint was not made by a scene of this version of Linkwork: it lacks {missing[0]}."
            )
        kept = dict(checkpoint)
        at, order = float(kept.pop(LOADS_AT)), kept.pop(LOADS).tolist()
        if at != self._at:
            self.set_loads(at)
        if order != self._order():
            self._apply_again(order)
        self.sim.restore(kept)

    def _order(self) -> list[int]:
        """Actions behind the loads on bodies, in the order in which they were applied."""
        of_load = {id(acting.load): k for k, acting in enumerate(self.acting) if acting.load is not None}
        return [of_load.get(id(load), -1) for load in self.sim.loads]

    def _apply_again(self, order: list[int]) -> None:
        """All loads of the scene anew, in the order given, with their values at the present time of loads."""
        if -1 in order + self._order():
            raise StateError(
                "loads that its scene does not have act on this simulation, or did when the checkpoint was made; clear "
                "them before making a checkpoint, or put them into the scene."
            )
        self.sim.clear_loads()
        for acting in self.acting:
            acting.is_on, acting.load = acting.is_on and acting.load is None, None
        for k in order:
            self.acting[k].start_again(self.sim, self.acting[k].action.value(self._at))

    def __getattr__(self, name: str) -> Any:
        if name == "sim":  # not made yet: looking further would never end
            raise AttributeError(name)
        return getattr(self.sim, name)
