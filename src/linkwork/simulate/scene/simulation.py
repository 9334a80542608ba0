"""SceneSimulation: a simulation with the loads of its scene, which change with time.

Over a step a time function is held at its value in the middle of the step: what it adds to momentum is then right to second
order in the step, whatever the integrator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.running import run_simulation
from linkwork.simulate.scene.actions import Action

LOADS_AT = "scene_loads_at"  # key in checkpoints: the time the loads were last set for


class SceneSimulation:
    """Follows the protocol of simulations and adds loads that change.

    sim: the simulation behind it (QuasiStatics, FullDynamics, AdaptiveDynamics).
    actions: what acts on it; loads are applied here, for a first step of h [s].
    """

    def __init__(self, sim: Any, actions: Sequence[Action], h: float):
        self.sim = sim
        self._at = sim.time + 0.5 * h
        self._varying: list[tuple[Action, Any]] = []
        for action in actions:
            load = action.start(sim, self._at)
            if not action.is_constant:
                self._varying.append((action, load))

    @property
    def model(self) -> Model:
        model: Model = self.sim.model
        return model

    @property
    def time(self) -> float:
        """[s] simulated so far."""
        return float(self.sim.time)

    @property
    def steps_done(self) -> int:
        return int(self.sim.steps_done)

    @property
    def state(self) -> State:
        state: State = self.sim.state
        return state

    @property
    def is_varying(self) -> bool:
        """Whether anything that acts changes with time."""
        return bool(self._varying)

    def set_loads(self, t: float) -> None:
        """Sets everything that changes to its value at the time t [s]."""
        self._at = t
        for action, load in self._varying:
            action.update(self.sim, load, t)

    def step(self, h: float, n: int = 1) -> Any:
        """n steps of h seconds; returns the report of the last."""
        if not self._varying:
            return self.sim.step(h, n)
        report = None
        for _ in range(n):
            t = self.sim.time + 0.5 * h
            if t != self._at:
                self.set_loads(t)
            report = self.sim.step(h, 1)
        return report

    def run(
        self,
        steps: int,
        h: float,
        *,
        record: Any = None,
        every: int = 0,
        callback: Callable[[Any, Any], object] | None = None,
        progress: bool | None = None,
    ) -> Any:
        """Many steps; arguments as for every simulation."""
        return run_simulation(self, steps, h, record=record, every=every, callback=callback, progress=progress)

    def figures(self) -> dict[str, float]:
        figures: dict[str, float] = self.sim.figures()
        return figures

    def checkpoint(self) -> dict[str, object]:
        return {**self.sim.checkpoint(), LOADS_AT: float(self._at)}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Goes on from a checkpoint of a simulation of the same scene."""
        kept = dict(checkpoint)
        at = float(kept.pop(LOADS_AT))
        if at != self._at:
            self.set_loads(at)
        self.sim.restore(kept)

    def __getattr__(self, name: str) -> Any:
        if name == "sim":  # not made yet: looking further would never end
            raise AttributeError(name)
        return getattr(self.sim, name)
