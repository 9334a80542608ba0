"""Adaptive runs whose region changes, backwards: steps of the whole linkage, in which inactive joints are locked.

An inactive joint neither moves nor answers: it has the armature LOCKED here, no spring and no damper. A step of the region
is then one of the whole linkage, and goes back as that does, in O(n); where inactive joints stand matters, and has a
gradient. Joints that leave the region are stopped by impulses (`simulation.stopping`); velocities of those that stay become

    v⁺ = M_ss⁻¹ (M v)_s

Joints that enter begin at rest. Which joints were active when is held. In variational steps the inertia of a rigid piece
stands on its first body (`lumped`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.dynamics.lumped import Lumps
from linkwork.derivatives import forward, inverse
from linkwork.derivatives.runs import RunGradients
from linkwork.derivatives.stepping.accelerations import Total
from linkwork.derivatives.stepping.step_gradients import StepGradients, StepMap
from linkwork.derivatives.stepping.steps import STEPS
from linkwork.model import layout
from linkwork.model.compile.floating_trees import floating_trees
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
LOCKED = 1e30  # [kg·m² or kg]: beside it every inertia is lost to rounding

Weights = Callable[[int], FloatArray]


class Locked:
    """The linkage of an adaptive simulation under its present motors and loads."""

    def __init__(self, sim: Any, h: float):
        self.model: Model = sim.model
        self.h, self.integrator, self.sim = h, sim.integrator, sim
        self.saved = sim.checkpoint()
        self.loads = [_copied(load) for load in sim.loads]  # those of the run, whatever the simulation is given since

    def backward(
        self,
        segments: list[Any],
        effort: Weights,
        by_step: bool,
        by_q: Weights,
        by_v: Weights,
        move: Callable[..., None],
    ) -> RunGradients:
        """Through all segments. effort: of step k. by_step: whether efforts have a gradient for each step.

        by_q, by_v: weights on state k, (nv,). move: told how many steps are done.
        """
        last = segments[-1]
        steps = last.first + len(last.q) - 1
        nv, total = self.model.nv, Total(self.model)
        efforts = np.zeros((steps, nv) if by_step else nv)
        now_q, now_v = by_q(steps).copy(), by_v(steps).copy()
        for number in range(len(segments) - 1, -1, -1):
            segment = segments[number]
            active = np.zeros(nv, dtype=bool)
            active[segment.region.freedoms] = True
            lumps = self._lumps(segment)
            step, own = self._step(active, lumps), Total(self.model)
            for i in range(len(segment.q) - 2, -1, -1):
                k = segment.first + i
                before, after = segment.whole(i), segment.whole(i + 1)
                found = step.back(before, after, effort(k), now_q, np.where(active, now_v, 0.0))
                own.add(found)
                now_q, now_v = found.q + by_q(k), np.where(active, found.v, 0.0) + by_v(k)
                if by_step:
                    efforts[k] = found.effort
                else:
                    efforts += found.effort
                move(steps - k, "")
            if lumps is not None:
                own.parts[1], more = lumps.back(own.parts[1])
                now_q = now_q + more
            total.add(own.gradients())
            if number:
                earlier = np.zeros(nv, dtype=bool)
                earlier[segments[number - 1].region.freedoms] = True
                end = segments[number - 1].whole(len(segments[number - 1].q) - 1)
                stopped = self._stopped_back(end, earlier, earlier & active, now_v)
                total.add(stopped)
                now_q, now_v = now_q + stopped.q, stopped.v
        _, *model = total.parts
        return RunGradients(now_q, now_v, efforts, *model)

    def _lumps(self, segment: Any) -> Lumps | None:
        """The rigid pieces of a segment, where steps ask for their inertia."""
        return Lumps(self.model, segment.region.bodies, segment.start) if self.integrator == "variational" else None

    def _step(self, active: BoolArray, lumps: Lumps | None) -> StepMap:
        """The map of a step in which some freedoms are active."""
        model = self._locked(self.model if lumps is None else lumps.model, active)
        keeps = self.sim.keep_momentum and floating_trees(model)[0].size
        kept = np.zeros(1 if keeps else 0)
        saved = {**self.saved, "kept_momentum": kept}
        like = SimpleNamespace(
            model=model, loads=self.loads, implicit_joints=self.sim.implicit_joints, contact=None, limits=False,
            rtol=self.sim.rtol, atol=self.sim.atol, checkpoint=lambda: saved, held=~active,
        )  # fmt: skip
        found: StepMap = STEPS[self.integrator](like, self.h)
        return found

    @staticmethod
    def _locked(model: Model, active: BoolArray) -> Model:
        dof = model.arrays.dof.copy()
        dof[~active, layout.ARMATURE] = LOCKED
        dof[~active, layout.STIFFNESS] = 0.0
        dof[~active, layout.DAMPING] = 0.0
        return replace(model, arrays=model.arrays._replace(dof=dof))

    def _stopped_back(self, end: State, moved: BoolArray, stay: BoolArray, by_v: FloatArray) -> StepGradients:
        """From weights on velocities after joints left to those before. moved, stay: freedoms active before, and still."""
        none, model = np.zeros(self.model.nv), self.model
        inertias = np.zeros((model.n_bodies, 10))
        if np.array_equal(moved, stay) or not end.v[moved & ~stay].any():  # nothing was stopped
            by_v = np.where(stay, by_v, 0.0)
            return StepGradients(none, by_v, none, inertias, np.zeros(3), none, none, none)
        dof = model.arrays.dof.copy()
        dof[:, [layout.STIFFNESS, layout.DAMPING]] = 0.0
        free = replace(model, arrays=model.arrays._replace(dof=dof, gravity=np.zeros(3)))
        locked = dof.copy()
        locked[~stay, layout.ARMATURE] = LOCKED
        held = replace(free, arrays=free.arrays._replace(dof=locked))
        rest = State(end.q, none)
        momenta, pull_momenta = inverse.vjp(free, rest, end.v)
        _, pull = forward.vjp(held, rest, np.where(stay, momenta, 0.0))
        found: Any = pull(np.where(stay, by_v, 0.0))
        more: Any = pull_momenta(np.where(stay, found.effort, 0.0))
        armature = np.where(stay, found.armature, 0.0) + more.armature
        by_v = np.where(moved, more.acceleration, 0.0)
        return StepGradients(
            found.q + more.q, by_v, none, found.inertias + more.inertias, np.zeros(3), none, none, armature
        )


def _copied(load: Any) -> Any:
    if load.is_fixed:
        return SimpleNamespace(is_fixed=True, bodies=load.bodies.copy(), wrenches=load.wrenches.copy())
    return SimpleNamespace(is_fixed=False, bodies=load.bodies.copy(), rows=load.rows.copy())
