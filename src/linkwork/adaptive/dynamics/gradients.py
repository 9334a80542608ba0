"""Gradients through adaptive runs: those of the linkage that moves, in O(active joints) per step while the region stays.

Between two updates of the region the joints that are active and the rigid pieces between them are a linkage like any other
(`reduced`), stepped by the same kernels. So its steps go back as those of `FullDynamics` do. Which joints are active, and
where all others stand, is held. Where the region changed, the way back is that of the whole linkage (`locked`).
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.adaptive.dynamics.locked import Locked
from linkwork.adaptive.dynamics.reduced.reduced import COORDINATES, HAS_WRENCHES, PIECES, VELOCITIES
from linkwork.core.messages.describe import table_of_attributes
from linkwork.core.messages.progress import progress_bar
from linkwork.derivatives.rules import load_rules
from linkwork.derivatives.runs import RUNS, GradientRun, RunGradients
from linkwork.derivatives.stepping.step_gradients import StepMap
from linkwork.derivatives.stepping.steps import STEPS, refuse_acting
from linkwork.errors import StateError
from linkwork.model.layout import DOF, Q, V
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.moving import LINKAGE, LOADS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class RegionGradients(NamedTuple):
    """Gradients of a number with respect to what an adaptive run began with and was given, of m active freedoms.

    freedoms: their places among the nv of the model, shape (m,). q, v: of the first state, shape (m,). effort: of every
    step, shape (steps, m), where the run was given efforts; of the simulation's constant ones otherwise, shape (m,).
    gravity (3,); stiffness, damping, armature (m,): of the model.
    """

    def _repr_html_(self) -> str:
        return table_of_attributes(self)

    freedoms: IntArray
    q: FloatArray
    v: FloatArray
    effort: FloatArray
    gravity: FloatArray
    stiffness: FloatArray
    damping: FloatArray
    armature: FloatArray


class _Region:
    """The linkage that moves, as a model and as what gradients of steps ask of a simulation."""

    def __init__(self, sim: Any):
        view = sim.view
        moving, reduced = view.moving, view.region.reduced
        n, nq, nv = (int(reduced.counts[k]) for k in (PIECES, COORDINATES, VELOCITIES))
        whole: Model = sim.model
        self.whole_nv = whole.nv
        tree = moving.tree[:n].copy()
        self.bodies = reduced.joint[:n].copy()  # the first ones of the pieces
        of = whole.arrays.tree[self.bodies]
        self.freedoms = _places(of[:, V], tree[:, V], tree[:, DOF], nv)
        widths = np.diff(np.append(tree[:, Q], nq))
        self.coordinates = _places(of[:, Q], tree[:, Q], widths, nq)
        tables = (tree, moving.body[:n], moving.screws, moving.dof[:nv], moving.rest[:nq], moving.gravity)
        self.model = replace(
            whole,
            arrays=type(whole.arrays)(*(table.copy() for table in tables)),
            loops=(),
            lower=whole.lower[self.freedoms],
            upper=whole.upper[self.freedoms],
            effort_limit=moving.strength[:nv].copy(),
            velocity_limit=moving.top_speed[:nv].copy(),
        )
        self.implicit_joints, self.has_inertias = sim.implicit_joints, False
        held = int(moving.counts[LOADS])
        self.loads = [SimpleNamespace(is_fixed=False, bodies=moving.load_body[:held].copy(), rows=np.arange(held))]
        if reduced.counts[HAS_WRENCHES]:
            self.loads.append(SimpleNamespace(is_fixed=True, bodies=np.arange(n), wrenches=moving.wrench[:n].copy()))
        self._saved = {
            "motor": moving.motor[:nv].copy(),
            "load_table": moving.load[:held].copy(),
            "kept_momentum": moving.kept.copy() if sim.keep_momentum else np.zeros(0),
        }
        self.contact, self.limits, self.rtol, self.atol = None, False, sim.rtol, sim.atol

    def checkpoint(self) -> dict[str, Any]:
        return self._saved


def _places(of: IntArray, first: IntArray, widths: IntArray, count: int) -> IntArray:
    """Where entries of the moving linkage stand in the whole one."""
    return np.repeat(of - first, widths) + np.arange(count)


class _Segment:
    """Steps that were made with one region: its states, from the first to the last. first: number of the first step."""

    def __init__(self, sim: Any, first: int):
        self.region, self.first = _Region(sim), first
        self.start = np.array(sim.state.q)  # of the whole linkage
        self.q: list[FloatArray] = []
        self.v: list[FloatArray] = []
        self.size = 8 * self.start.size + self.look(sim)

    def look(self, sim: Any) -> int:
        """Keeps the present state of the region; returns how many bytes that takes."""
        moving, model = sim.view.moving, self.region.model
        self.q.append(moving.q[: model.nq].copy())
        self.v.append(moving.v[: model.nv].copy())
        return 8 * (model.nq + model.nv)

    def whole(self, k: int) -> State:
        """State k of the segment, of the whole linkage: what is not active stands still."""
        q, v = self.start.copy(), np.zeros(self.region.whole_nv)
        q[self.region.coordinates], v[self.region.freedoms] = self.q[k], self.v[k]
        return State(q, v)


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
        if sim.contact is not None or sim.limits or sim.integrator == "dormand_prince":
            raise StateError(
                "gradients of adaptive runs go through steps without contact and limits of joints, by an integrator of "
                "one length; leave contact= out, give limits=False and another integrator."
            )
        self.h, self.steps, self._sim, self._efforts = h, steps, sim, efforts
        self._given = np.array(sim.view.joints.effort, dtype=float)
        self._since = sim.update_every
        self._make_current(h)
        self.model = sim.model
        self.segments = [_Segment(sim, 0)]
        version, taken = self._version(), 0
        with progress_bar(steps, self.model.name, progress) as move:
            for k in range(steps):
                if efforts is not None:
                    sim.set_efforts(efforts[k])
                with sim.view.by_one_rule():
                    sim.advance(h, 1)
                self._since += 1
                taken += self.segments[-1].look(sim)
                if k + 1 < steps:
                    self._make_current(h)
                if self._version() != version:
                    version = self._version()
                    self.segments.append(_Segment(sim, k + 1))
                    taken += self.segments[-1].size
                if taken > memory:
                    raise StateError(
                        f"memory is {memory:.3g} bytes; {k + 1:,} of {steps:,} steps of this run keep {taken:.3g}."
                    )
                move(k + 1, "")
        if efforts is not None:
            sim.set_efforts(self._given)
        load_rules()
        self.region = self.segments[0].region
        if len(self.segments) == 1:
            self._step: StepMap = STEPS[sim.integrator](self.region, h)
        else:
            self._locked = Locked(sim, h)

    def _make_current(self, h: float) -> None:
        """An update of the region that the next step would begin with is made now; one comes before the first."""
        sim = self._sim
        if self._since >= sim.update_every:
            self._since = 0
            sim.update_region(sim.update_every * h if sim.horizon is None else sim.horizon)

    def _version(self) -> float:
        return float(self._sim.view.moving.numbers[LINKAGE])

    @property
    def state(self) -> State:
        """The last state; a copy."""
        return self._whole(self.steps)

    def _whole(self, k: int) -> State:
        """State k: before step k, as the region was chosen for it."""
        segment = next(x for x in reversed(self.segments) if x.first <= k)
        return segment.whole(k - segment.first)

    @property
    def kept_states(self) -> tuple[dict[str, Any], ...]:
        """All states of the active freedoms, region by region."""
        return tuple({"q": q, "v": v} for x in self.segments for q, v in zip(x.q, x.v, strict=True))

    def states(self) -> FloatArray:
        """All states as rows (q, v), from the first to the last, shape (steps + 1, nq + nv)."""
        return np.array([np.concatenate(self._whole(k)) for k in range(self.steps + 1)])

    def backward(  # type: ignore[override]
        self, q: ArrayLike | None = None, v: ArrayLike | None = None, progress: bool | None = None
    ) -> RegionGradients | RunGradients:
        """As that of `lw.GradientRun`, for the active freedoms: where all others stand is held.

        Where the region changed within the run: `lw.RunGradients` of all freedoms, which joints were active when held. Each
        step costs O(n) then.
        """
        by_q, by_v = self._weights(q, "q"), self._weights(v, "v")
        if len(self.segments) > 1:
            with progress_bar(self.steps, "backward", progress) as move:
                return self._locked.backward(self.segments, self._effort, self._efforts is not None, by_q, by_v, move)
        only = self.segments[0]
        rows, m = self.region.freedoms, self.region.freedoms.size
        now_q, now_v = by_q(self.steps)[rows], by_v(self.steps)[rows]
        efforts = np.zeros(m if self._efforts is None else (self.steps, m))
        sums = [np.zeros(3), np.zeros(m), np.zeros(m), np.zeros(m)]
        with progress_bar(self.steps, "backward", progress) as move:
            for k in range(self.steps - 1, -1, -1):
                before, after = State(only.q[k], only.v[k]), State(only.q[k + 1], only.v[k + 1])
                found = self._step.back(before, after, self._effort(k)[rows], now_q, now_v)
                now_q, now_v = found.q + by_q(k)[rows], found.v + by_v(k)[rows]
                if self._efforts is None:
                    efforts += found.effort
                else:
                    efforts[k] = found.effort
                for total, part in zip(sums, found[4:], strict=True):
                    total += part
                move(self.steps - k, "")
        return RegionGradients(rows, now_q, now_v, efforts, *sums)


RUNS["AdaptiveDynamics"] = RegionRun
