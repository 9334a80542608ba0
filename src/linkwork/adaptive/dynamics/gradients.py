"""Gradients through adaptive runs, in O(joints that moved) per step.

Between two updates of the region the joints that are active and the rigid groups between them are a linkage like any other,
stepped by the same kernels, so that its steps go back as those of `FullDynamics` do. Joints that move at some time of the
run, and the groups between them, are a linkage as well (`united`): in each step those that were not active are locked
(`locked`). Which joints are active when, and where all others stand, is held.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.adaptive.dynamics.locked import Locked, Looked
from linkwork.adaptive.dynamics.reduced.reduced import GROUPS
from linkwork.adaptive.dynamics.united import Acting, United, places
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import flag
from linkwork.core.messages.describe import tabled
from linkwork.core.messages.progress import progress_bar
from linkwork.derivatives.rules import load_rules
from linkwork.derivatives.runs import RUNS, GradientRun, RunGradients
from linkwork.derivatives.stepping.steps import refuse_acting
from linkwork.dynamics.inputs import refuse_couplings
from linkwork.errors import StateError
from linkwork.model.layout import Q, V
from linkwork.model.state import State
from linkwork.simulation.backward.contact import pressed
from linkwork.simulation.moving import LINKAGE, PROPOSED_STEP


@tabled
class RegionGradients(NamedTuple):
    """Gradients of a number with respect to what an adaptive run began with and was given, of the m freedoms that it moved.

    freedoms: their places among the nv of the model, shape (m,). q, v: of the first state, shape (m,). effort: of every
    step, shape (steps, m), where the run was given efforts; of the simulation's constant ones otherwise, shape (m,).
    gravity (3,); stiffness, damping, armature (m,): of the model.
    """

    freedoms: IntArray
    q: FloatArray
    v: FloatArray
    effort: FloatArray
    gravity: FloatArray
    stiffness: FloatArray
    damping: FloatArray
    armature: FloatArray


class Segment:
    """Steps that were made with one region: its states, from the first to the last. first: number of the first step.

    joints: the active ones, by the bodies they carry, ascending. freedoms, coordinates: theirs in the whole model.
    """

    def __init__(self, sim: Any, first: int):
        reduced, model = sim.view.region.reduced, sim.model
        self.first = first
        self.joints = reduced.joint[: reduced.counts[GROUPS]].copy()
        self.freedoms = places(model.arrays.tree, self.joints, V, model.nv)
        self.coordinates = places(model.arrays.tree, self.joints, Q, model.nq)
        self.q: list[FloatArray] = []
        self.v: list[FloatArray] = []
        self.seen: list[Looked] = []
        self.size = self.record_state(sim)

    def record_state(self, sim: Any) -> int:
        """Keeps the present state of the region; returns how many bytes that takes."""
        moving = sim.view.moving
        self.q.append(moving.q[: self.coordinates.size].copy())
        self.v.append(moving.v[: self.freedoms.size].copy())
        pressed_contacts = None
        if sim.view.contact is not None:
            pressed_contacts = pressed(sim.view.contact)
            stays = np.isin(pressed_contacts.limits, self.freedoms)  # of joints that are not active nothing is new
            limits = {x: getattr(pressed_contacts, x)[stays] for x in ("limits", "sign", "limit_impulse")}
            pressed_contacts = pressed_contacts._replace(**limits)
        self.seen.append(Looked(pressed_contacts, float(moving.numbers[PROPOSED_STEP])))
        arrays = () if pressed_contacts is None else (*pressed_contacts, *pressed_contacts.shapes)
        size = sum(getattr(x, "nbytes", 0) for x in arrays)
        return 8 * (self.coordinates.size + self.freedoms.size) + size


class RegionRun(GradientRun):
    """A run of an adaptive simulation, and the way back through it."""

    def __init__(
        self, sim: Any, h: float, steps: int, efforts: FloatArray | None, memory: float, progress: bool | None = None
    ):
        refuse_acting(sim)
        if sim.model.loops:
            raise StateError(
                f"model '{sim.model.name}' has loops; gradients of adaptive runs are those of trees. Use lw.FullDynamics."
            )
        refuse_couplings(sim.model, "the gradient of a step")
        self.h, self.steps, self._sim, self._efforts = h, steps, sim, efforts
        self._given = np.array(sim.view.joints.effort, dtype=float)
        self._update(h)  # one comes before the first step, as it would without gradients
        self.model = sim.model
        self._start = np.array(sim.state.q)
        self.segments = [Segment(sim, 0)]
        version, taken = self._version(), 0
        with self._given_efforts_after(), progress_bar(steps, self.model.name, progress) as move:
            for k in range(steps):
                if efforts is not None:
                    sim.set_efforts(efforts[k])
                with sim.view.by_one_rule():
                    sim.advance(h, 1)
                taken += self.segments[-1].record_state(sim)
                if k + 1 < steps and sim._since_update >= sim.update_every:  # the next step would begin with it
                    self._update(h)
                if self._version() != version:
                    version = self._version()
                    self.segments.append(Segment(sim, k + 1))
                    taken += self.segments[-1].size
                if taken > memory:
                    raise StateError(
                        f"memory is {memory:.3g} bytes; {k + 1:,} of {steps:,} steps of this run keep {taken:.3g}."
                    )
                move(k + 1, "")
        load_rules()
        moved = np.unique(np.concatenate([segment.joints for segment in self.segments]))
        self._acting = Acting(sim)
        self._locked = self._of(moved)

    def _of(self, joints: IntArray) -> Locked:
        return Locked(self._sim, self.h, United(self.model, self._acting, joints, self._start), self.segments)

    def _update(self, h: float) -> None:
        sim = self._sim
        sim.update_region(sim.update_every * h if sim.horizon is None else sim.horizon)

    def _version(self) -> float:
        return float(self._sim.view.moving.numbers[LINKAGE])

    @property
    def state(self) -> State:
        """The last state; a copy."""
        q, v = np.split(self._rows(self.segments[-1:], self._q_of(len(self.segments) - 1))[-1], [self.model.nq])
        return State(q, v)

    def _q_of(self, number: int) -> FloatArray:
        """Coordinates of the whole linkage where a segment begins."""
        q = self._start.copy()
        for segment in self.segments[:number]:
            q[segment.coordinates] = segment.q[-1]
        return q

    def _rows(self, segments: list[Segment], q: FloatArray) -> list[FloatArray]:
        """States of some segments as rows (q, v), the last of a segment as it is after the update that follows."""
        rows: list[FloatArray] = []
        for segment in segments:
            del rows[segment.first :]
            for one, speed in zip(segment.q, segment.v, strict=True):
                v = np.zeros(self.model.nv)
                q[segment.coordinates], v[segment.freedoms] = one, speed
                rows.append(np.concatenate([q, v]))
        return rows

    @property
    def kept_states(self) -> tuple[dict[str, Any], ...]:
        """All states of the active freedoms, region by region."""
        return tuple({"q": q, "v": v} for x in self.segments for q, v in zip(x.q, x.v, strict=True))

    def states(self) -> FloatArray:
        """All states as rows (q, v), from the first to the last, shape (steps + 1, nq + nv)."""
        return np.array(self._rows(self.segments, self._start.copy()))

    def backward(  # type: ignore[override]
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        progress: bool | None = None,
        *,
        whole: bool = False,
    ) -> RegionGradients | RunGradients:
        """As that of `lw.GradientRun`, for the freedoms that were active at some time of the run.

        Which joints are active when, and where all others stand, is held. Each step costs what the run moved.
        whole: gradients of all freedoms and of inertias, as `lw.RunGradients`, where inactive joints stand included. Each
        step costs O(n) then.
        """
        by_q, by_v = self._weights(q, "q"), self._weights(v, "v")
        locked = self._of(np.arange(self.model.n_bodies)) if flag(whole, "whole") else self._locked
        by_step = self._efforts is not None
        with progress_bar(self.steps, "backward", progress) as move:
            found = locked.backward(self._effort, by_step, by_q, by_v, move)
        if whole:
            return found
        return RegionGradients(locked.united.freedoms, found.q, found.v, found.effort, *found[4:])


RUNS["regions"] = RegionRun
