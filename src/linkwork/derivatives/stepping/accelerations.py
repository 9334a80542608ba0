"""Accelerations under all that acts, with springs, dampers and motors as they are at a state: for explicit steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.derivatives import forward
from linkwork.derivatives.stepping.joint_laws import JointLaws
from linkwork.derivatives.stepping.step_gradients import StepGradients
from linkwork.derivatives.stepping.world_loads import WorldLoads
from linkwork.model.model import Model
from linkwork.model.state import State

# Forward dynamics with the way back, by whether a linkage has loops; that of closed ones comes from `loops.gradients`.
SOLVERS: dict[bool, Any] = {False: forward.vjp}


def solve(model: Model, state: State, effort: FloatArray, wrenches: FloatArray | None) -> tuple[FloatArray, Any]:
    """Accelerations (nv,) of a tree or of a closed linkage, and the way back with every gradient."""
    found: tuple[FloatArray, Any] = SOLVERS[bool(model.loops)](model, state, effort, wrenches)
    return found


class Accelerated:
    """q̈ at one state, and the way back."""

    def __init__(self, under: Accelerations, state: State, effort: FloatArray):
        self.under, self.state = under, state
        self.wrenches = under.loads.wrenches(state)
        total = effort + under.laws.set_laws(state, state.v)
        self.qdd, self._pull = solve(under.laws.stepped, state, total, self.wrenches)

    def back(self, weights: FloatArray) -> StepGradients:
        """Gradients of weights · q̈."""
        self.under.laws.set_laws(self.state, self.state.v)  # another state may have been looked at since
        found: Any = self._pull(weights)
        q = found.q + self.under.loads.back(self.state, found.wrenches)
        own = self.under.laws.own_gradients(found)
        return StepGradients(q, found.v, found.effort, found.inertias, found.gravity, *own)


class Accelerations:
    """Those of a simulation under its present motors and loads."""

    def __init__(self, sim: Any):
        self.model: Model = sim.model
        saved = sim.checkpoint()
        self.laws = JointLaws(self.model, np.asarray(saved["motor"], dtype=float), 0.0)
        self.loads = WorldLoads.of_simulation(self.model, sim.loads, saved)

    def at(self, q: FloatArray, v: FloatArray, effort: FloatArray) -> Accelerated:
        return Accelerated(self, State(q, v), effort)


class Total:
    """Gradients of a step, summed over its stages."""

    def __init__(self, model: Model):
        nv = model.nv
        self.q, self.v = np.zeros(nv), np.zeros(nv)
        self.parts = [
            np.zeros(nv),
            np.zeros((model.n_bodies, 10)),
            np.zeros(3),
            np.zeros(nv),
            np.zeros(nv),
            np.zeros(nv),
        ]

    def add(self, found: StepGradients) -> None:
        """Of all but the state: stages are not at the state that the step begins with. Empty ones were not asked for."""
        for total, part in zip(self.parts, found[2:], strict=True):
            if part.size:
                total += part

    def gradients(self) -> StepGradients:
        return StepGradients(self.q, self.v, *self.parts)
