"""Adaptive runs backwards: steps of one linkage in which the joints that are not active are locked.

A locked joint neither moves nor responds: it has the armature LOCKED here, no spring and no damper. Its coordinates matter
and have a gradient. Joints that leave the region are stopped by impulses (`simulation.constrained.stopping`); velocities of
those that stay become

    v⁺ = M_ss⁻¹ (M v)_s

Joints that enter begin at rest. Which joints were active in which step is given. In variational steps the inertia of a
rigid group stands on its first body (`lumped`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.dynamics.lumped import Lumps
from linkwork.adaptive.dynamics.united import United
from linkwork.core.arrays import FloatArray
from linkwork.derivatives import forward, inverse
from linkwork.derivatives.runs import RunGradients
from linkwork.derivatives.stepping.accelerations import Total
from linkwork.derivatives.stepping.step_gradients import StepGradients, StepMap
from linkwork.derivatives.stepping.steps import STEPS
from linkwork.dynamics.inputs import NO_WRENCHES
from linkwork.model import layout
from linkwork.model.compile.floating_trees import floating_trees
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.backward.contact import Found

BoolArray = NDArray[np.bool_]
LOCKED = 1e30  # [kg·m² or kg]: beside it every inertia is lost to rounding
NO_ROWS = np.zeros((0, 10))

Weights = Callable[[int], FloatArray]


class Looked(NamedTuple):
    """What is kept of a step beside the state after it: what pressed, and how long a substep the integrator proposes."""

    pressed_contacts: Found | None
    proposed: float


class _Part:
    """Steps with one region, as those of the united linkage. start: its coordinates where they begin."""

    def __init__(self, united: United, segment: Any, start: FloatArray):
        self.segment, self.start, self.nv = segment, start, united.model.nv
        self.freedoms = np.searchsorted(united.freedoms, segment.freedoms)
        self.coordinates = np.searchsorted(united.coordinates, segment.coordinates)
        self.joints = np.searchsorted(united.joints, segment.joints)
        self.active = np.zeros(self.nv, dtype=bool)
        self.active[self.freedoms] = True
        self.is_all = bool(self.active.all())
        self.count = len(segment.q) - 1

    def state(self, k: int) -> State:
        """The k-th of its states."""
        if self.is_all:
            return State(self.segment.q[k], self.segment.v[k])
        q, v = self.start.copy(), np.zeros(self.nv)
        q[self.coordinates], v[self.freedoms] = self.segment.q[k], self.segment.v[k]
        return State(q, v)

    def of_active(self, x: FloatArray) -> FloatArray:
        """Numbers of the active freedoms (nv,), zero for all others."""
        return x if self.is_all else np.where(self.active, x, 0.0)


class Locked:
    """The run of an adaptive simulation, in segments of one region each, on a linkage of all joints that it moved."""

    def __init__(self, sim: Any, h: float, united: United, segments: list[Any]):
        self.united, self.model = united, united.model
        self.h, self.integrator, self.sim = h, sim.integrator, sim
        self.floats = bool(sim.keep_momentum and floating_trees(self.model)[0].size)
        q = united.start.copy()
        self.parts = []
        for segment in segments:
            self.parts.append(_Part(united, segment, q.copy()))
            q[self.parts[-1].coordinates] = segment.q[-1]
        self._only = self._step(self.parts[0], self._lumps(self.parts[0])) if len(segments) == 1 else None

    def backward(
        self, effort: Weights, by_step: bool, by_q: Weights, by_v: Weights, move: Callable[..., None]
    ) -> RunGradients:
        """Through all segments. effort: of step k. by_step: whether efforts have a gradient for each step.

        by_q, by_v: weights on state k, those of the whole model. move: called with the number of steps done.
        """
        rows, nv, total = self.united.freedoms, self.model.nv, Total(self.model)
        steps = sum(part.count for part in self.parts)
        efforts = np.zeros((steps, nv) if by_step else nv)
        now_q, now_v = by_q(steps)[rows], by_v(steps)[rows]
        if len(self.parts) > 1:
            stopping = _Stopping(self.model)
        for number in range(len(self.parts) - 1, -1, -1):
            part = self.parts[number]
            lumps = self._lumps(part)
            step, own = self._only or self._step(part, lumps), Total(self.model)
            after = part.state(part.count)
            for i in range(part.count - 1, -1, -1):
                k = part.segment.first + i
                before = part.state(i)
                pair = self._seen(part, i), self._seen(part, i + 1)
                found = step.back(before, after, effort(k)[rows], now_q, part.of_active(now_v), pair)
                own.add(found)
                now_q, now_v = found.q + by_q(k)[rows], part.of_active(found.v) + by_v(k)[rows]
                if by_step:
                    efforts[k] = found.effort
                else:
                    efforts += found.effort
                after = before
                move(steps - k, "")
            if lumps is not None:
                own.parts[1], more = lumps.back(own.parts[1])
                now_q = now_q + more
            total.add(own.gradients())
            if number:
                earlier = self.parts[number - 1]
                end, stay = earlier.state(earlier.count), earlier.active & part.active
                stopped = stopping.back(end, earlier.active, stay, now_v)
                total.add(stopped)
                now_q, now_v = now_q + stopped.q, stopped.v
        _, *model = total.parts
        return RunGradients(now_q, now_v, efforts, *model)

    def _lumps(self, part: _Part) -> Lumps | None:
        """The rigid groups of a region, where steps ask for their inertia."""
        if self.integrator != "variational" or part.is_all:
            return None
        return Lumps(self.model, part.joints, part.start)

    def _step(self, part: _Part, lumps: Lumps | None) -> StepMap:
        """The map of a step with one region."""
        model = self._locked(self.model if lumps is None else lumps.model, part.active)
        saved = {**self.united.saved, "kept_momentum": np.zeros(1 if self.floats else 0)}
        like = SimpleNamespace(
            model=model, loads=self.united.loads, implicit_joints=self.sim.implicit_joints, contact=self.sim.contact,
            limits=self.sim.limits, rtol=self.sim.rtol, atol=self.sim.atol, checkpoint=lambda: saved, locked=~part.active,
            has_inertias=lumps is not None or self.united.has_all_joints,
            view=SimpleNamespace(moving=SimpleNamespace(base=saved["kept_momentum"])),
        )  # fmt: skip
        found: StepMap = STEPS[self.integrator](like, self.h)
        return found

    def _seen(self, part: _Part, k: int) -> Any:
        """What the step map would have remembered of the k-th state."""
        pressed_contacts, proposed = part.segment.seen[k]
        found = None if pressed_contacts is None else self.united.carry(pressed_contacts)
        own = proposed if self.integrator == "dormand_prince" else None
        if self.integrator == "semi_implicit_euler":
            return found
        return own if found is None else (found.met, found, own)

    @staticmethod
    def _locked(model: Model, active: BoolArray) -> Model:
        if active.all():
            return model
        dof = model.arrays.dof.copy()
        dof[~active, layout.ARMATURE] = LOCKED
        dof[~active, layout.STIFFNESS] = 0.0
        dof[~active, layout.DAMPING] = 0.0
        return replace(model, arrays=model.arrays._replace(dof=dof))


class _Stopping:
    """Impulses that stop joints of a linkage, backwards; its memory serves all updates of a run."""

    def __init__(self, model: Model):
        dof = model.arrays.dof.copy()
        dof[:, [layout.STIFFNESS, layout.DAMPING]] = 0.0
        self.model, self.armature, self.none = model, dof[:, layout.ARMATURE].copy(), np.zeros(model.nv)
        free = replace(model, arrays=model.arrays._replace(dof=dof, gravity=np.zeros(3)))
        self.dof = dof.copy()
        self.locked = replace(free, arrays=free.arrays._replace(dof=self.dof))
        self.free = free
        self.momenta = inverse.InversePull(free, frozenset({"q", "acceleration", "inertias", "armature"}))
        self.solve = forward.ForwardPull(self.locked, frozenset({"q", "effort", "inertias", "armature"}))

    def back(self, end: State, moved: BoolArray, stay: BoolArray, by_v: FloatArray) -> StepGradients:
        """From weights on velocities after joints left the region to those before: end.

        moved, stay: freedoms active before, and still.
        """
        none, by_v = self.none, np.where(stay, by_v, 0.0)
        if not end.v[moved & ~stay].any():  # nothing was stopped
            return StepGradients(none, by_v, none, NO_ROWS, np.zeros(3), none, none, none)
        self.dof[:, layout.ARMATURE] = np.where(stay, self.armature, LOCKED)
        momenta = inverse.solve_in(self.free, end.q, none, end.v, NO_WRENCHES, self.momenta.work)
        forcing = np.where(stay, momenta, 0.0)
        forward.solve_in(self.locked, end.q, none, forcing, NO_WRENCHES, self.solve.work)
        found: Any = self.solve.of(by_v)
        more: Any = self.momenta.of(np.where(stay, found.effort, 0.0))
        armature = np.where(stay, found.armature, 0.0) + more.armature
        by_v = np.where(moved, more.acceleration, 0.0)
        return StepGradients(
            found.q + more.q, by_v, none, found.inertias + more.inertias, np.zeros(3), none, none, armature
        )
