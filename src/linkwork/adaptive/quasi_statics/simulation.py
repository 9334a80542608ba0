"""QuasiStatics: computes only the joints that matter, and bounds the error (Redon and Lin 2006, in square-root form)."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.adaptive.loads import Loads
from linkwork.adaptive.measures import MEASURES, NO_LIMIT, error_bound
from linkwork.adaptive.metric.rounding_floor import rounding_floor
from linkwork.adaptive.quasi_statics import checkpoint as quasi_statics_checkpoint
from linkwork.adaptive.quasi_statics import solve as stepping
from linkwork.adaptive.quasi_statics.reroot import go_on_from
from linkwork.adaptive.quasi_statics.scalars import SpringEnergy, scalars
from linkwork.adaptive.quasi_statics.settle import settle
from linkwork.adaptive.quasi_statics.workspace import (
    JOINT_COUNT,
    MAX_JOINT,
    MAX_QUEUE,
    SUM_JOINT,
    SUM_QUEUE,
    allocate,
)
from linkwork.assembly.plan import node_depths
from linkwork.core.checks import not_negative, positive, whole
from linkwork.dynamics.inputs import as_array, as_state, explain_failure, refuse_loops
from linkwork.errors import LinkworkWarning, StateError
from linkwork.model.joints import Joint
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.protocol import ADAPTIVE_COST, Report, Setting
from linkwork.simulation.run import Runnable
from linkwork.spatial.pose import Pose

FloatArray = NDArray[np.float64]

FLOOR_EVERY = 64  # steps between two estimates of the rounding floor
DEADLINE_CHUNK = 64  # nodes opened between two looks at the clock
DEFAULT_TOLERANCE = 2.0**-11


@dataclass(frozen=True, slots=True)
class QuasiStaticsReport(Report):
    """What a solve or step reached.

    error_bound: bound on the error of the accelerations by the chosen measure: proven in exact arithmetic, and the rounding
        floor, an estimate, added to it.
    reached: whether the tolerance holds (a budget may have stopped the work before).
    rounding_floor: part of the bound that is rounding, in the same measure, as last estimated.
    max_acceleration: bound on every joint's acceleration, computed or not, in the metric.
    """

    joints_computed: int
    nodes_updated: int
    error_bound: float
    reached: bool
    rounding_floor: float
    max_acceleration: float

    def note(self) -> str:
        return f"{self.joints_computed:,} joints, bound {self.error_bound:.1e}"


class QuasiStatics(Loads, Runnable):
    """Error-bounded quasi-statics of a linkage: every step begins at rest, and only joints that matter are computed.

    tolerance: error allowed by `measure`; or None with max_joints (joints computed a solve) or deadline [s] alone.
    measure: "relative_joint" (default), "absolute_joint", "relative_linkage", "absolute_linkage".
    weights: metric weight of each squared acceleration, shape (nv,), > 0; ones by default.
    Cost: O(n) once, then O(joints computed) a step, whatever n.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        tolerance: float | None = None,
        measure: str = "relative_joint",
        max_joints: int | None = None,
        deadline: float | None = None,
        weights: ArrayLike | None = None,
    ):
        if tolerance is None and max_joints is None and deadline is None:
            tolerance = DEFAULT_TOLERANCE
        if measure not in MEASURES:
            raise StateError(f"there is no measure '{measure}'; choose one of {', '.join(MEASURES)}.")
        refuse_loops(model, "QuasiStatics")
        self.model = model
        self.measure = measure
        self.tolerance = None if tolerance is None else not_negative(tolerance, "tolerance", finite=True)
        self.max_joints = None if max_joints is None else whole(max_joints, 1, "max_joints")
        self.deadline = None if deadline is None else positive(deadline, "deadline")
        q, v = as_state(model, state)
        if v.any():
            raise StateError("a quasi-static simulation begins at rest; give a state with v = 0.")
        if not np.isfinite(q).all():
            k = int(np.flatnonzero(~np.isfinite(q))[0])
            raise StateError(f"state.q[{k}] is {q[k]} (joint '{model.joint_names[model.joint_of(k, 'q')]}').")
        metric = np.ones(model.nv) if weights is None else as_array(weights, (model.nv,), "weights", model).copy()
        if not ((metric > 0.0) & np.isfinite(metric)).all():
            k = int(np.flatnonzero(~((metric > 0.0) & np.isfinite(metric)))[0])
            raise StateError(f"weights[{k}] is {metric[k]}; metric weights must be finite and > 0.")
        metric.setflags(write=False)
        plan, mechanism, coefficients, live = allocate(model, q.copy(), metric)
        super().__init__(model, plan, mechanism, coefficients, live)
        self._depth = float(node_depths(plan.nodes).max(initial=1))
        self._floor = (0.0, 0.0)
        self._steps_since_floor = FLOOR_EVERY
        self._warned = False
        self._solved = False
        self._springs: SpringEnergy | None = None  # made when first asked for
        self.steps_done = 0
        self.time = 0.0  # [s], of all steps taken
        self._assemble_everything()
        if plan.nodes.shape[0]:
            self._touch(plan.nodes.shape[0] - 1, pin=1)  # the root is always open

    def _assemble_everything(self) -> None:
        live = self._live
        bad = quasi_statics_checkpoint.form_coefficients(self, np.zeros(0, dtype=np.int64))
        if bad >= 0:
            raise explain_failure(self.model, "dca", bad, {"state.q": live.q}, np.zeros((0, 6)))
        for array in (live.flag, live.tally, live.figure, live.qdd):
            array[...] = 0  # nothing is open, nothing was solved

    # ---------------------------------------------------------------------------------------------------------- results

    @property
    def state(self) -> State:
        """The present coordinates (a copy), at rest."""
        return State(self._live.q.copy(), np.zeros(self.model.nv))

    @property
    def acceleration(self) -> FloatArray:
        """Joint accelerations of the last solve, zero where not computed; read-only, shape (nv,)."""
        view = self._live.qdd.view()
        view.setflags(write=False)
        return view

    @property
    def computed_joints(self) -> list[str]:
        """Names of the joints the last solve computed."""
        joints = self._computed_bodies()
        return [self.model.joint_names[i] for i in joints.tolist()]

    # ------------------------------------------------------------------------------------------------------------ solving

    def solve(self, tolerance: float | None = None) -> QuasiStaticsReport:
        """Accelerations at the present state within tolerance: `sim.acceleration`."""
        return self._advance(1, 0.0, tolerance)

    def refine(self, tolerance: float) -> QuasiStaticsReport:
        """Goes on from the last solve to a smaller tolerance; nothing already computed is computed again."""
        if not self._solved or self._loads_changed:
            return self.solve(tolerance)
        reached = self._expand(not_negative(tolerance, "tolerance", finite=True), self.max_joints, self.deadline)
        self._steps_since_floor = FLOOR_EVERY
        return self._report(reached, self._live.tally[JOINT_COUNT], 0, tolerance)

    def step(self, h: float, n: int = 1) -> QuasiStaticsReport:
        """Solves and moves, n times: q ← q ⊕ ½ h² q̈ for the joints computed. h: time step [s]."""
        steps, length = whole(n, 1, "the number of steps"), positive(h, "h")
        report = self._advance(steps, length, None)
        self.steps_done += steps
        self.time += steps * length
        return report

    def advance(self, h: float, n: int = 1) -> None:
        """`step`, its report left out."""
        self.step(h, n)

    @property
    def work_per_step(self) -> int:
        """Joints that a step works on, in joints of a full step; all of them before the first."""
        if self.steps_done == 0:
            return max(1, self.model.n_bodies)
        return max(1, ADAPTIVE_COST * int(self._live.tally[JOINT_COUNT]))

    def settings(self) -> dict[str, Setting]:
        """The kind of simulation and what it was made with."""
        names = ("measure", "tolerance", "max_joints", "deadline")
        return {"simulation": type(self).__name__, **{name: getattr(self, name) for name in names}}

    def scalars(self) -> dict[str, float]:
        """Energy [J] of gravity and joint springs at the present state, and how many joints are open."""
        if self._springs is None:
            self._springs = SpringEnergy(self.model)
        return scalars(self, self._springs)

    def checkpoint(self) -> dict[str, object]:
        """Everything that depends on history. Cost: O(n) memory, a small part of the simulation's own."""
        return quasi_statics_checkpoint.save(self)

    def restore(self, checkpoint_: dict[str, object]) -> None:
        """Back to where a checkpoint was made, on a simulation made with the same arguments.

        Loads applied again before, in the same order, keep their handles; without any they come from the checkpoint.
        Going on from here gives the same bits as never having stopped. Cost: O(n).
        """
        quasi_statics_checkpoint.restore(self, checkpoint_)

    def _advance(self, steps: int, h: float, tolerance: float | None) -> QuasiStaticsReport:
        goal = self.tolerance if tolerance is None else not_negative(tolerance, "tolerance", finite=True)
        limit = math.inf if goal is None and self.max_joints is None and self.deadline is None else goal
        if self.deadline is not None and (steps > 1 or h > 0.0):
            return self._advance_with_deadline(steps, h, goal)
        budget = NO_LIMIT if self.max_joints is None else self.max_joints
        pops = NO_LIMIT if self.deadline is None else 0
        started = time.perf_counter()
        # With a budget alone every node may be opened until it is spent: tolerance zero asks for that.
        asked = 0.0 if limit is None else limit
        bad, reached, joints, updated = stepping.advance(
            *self._bundles, steps, float(h), MEASURES[self.measure], float(asked), budget, pops
        )
        self._check(bad)
        if self._loads_changed or h == 0.0:  # what rounding is relative to may be another
            self._steps_since_floor = FLOOR_EVERY
        self._loads_changed = False
        self._solved = h == 0.0
        if self.deadline is not None and not reached:
            left = self.deadline - (time.perf_counter() - started)
            reached = self._expand(asked, self.max_joints, left)
            joints = self._live.tally[JOINT_COUNT]
        self._steps_since_floor += steps
        return self._report(reached, joints / steps, updated / steps, goal)

    def _advance_with_deadline(self, steps: int, h: float, goal: float | None) -> QuasiStaticsReport:
        """Each step is a solve within the deadline, then a move."""
        for _ in range(steps):
            report = self._advance(1, 0.0, goal)
            stepping.mark_and_move(*self._bundles, float(h), MEASURES[self.measure], 0.0 if goal is None else goal)
            self._solved = False
        return report

    def _expand(self, tolerance: float, max_joints: int | None, seconds: float | None) -> bool:
        budget = NO_LIMIT if max_joints is None else max_joints
        chunk = NO_LIMIT if seconds is None else DEADLINE_CHUNK
        end = math.inf if seconds is None else time.perf_counter() + seconds
        while True:
            reached = bool(
                stepping.expand_more(*self._bundles, MEASURES[self.measure], float(tolerance), budget, chunk)
            )
            if reached or self._live.tally[JOINT_COUNT] >= budget or time.perf_counter() >= end:
                return reached
            if seconds is None:
                return reached

    def _check(self, bad: int) -> None:
        live = self._live
        if bad >= 0 or not math.isfinite(live.figure[SUM_JOINT] + live.figure[SUM_QUEUE]):
            vectors = {"state.q": live.q, "effort": live.effort}
            raise explain_failure(self.model, "quasi-statics", bad, vectors, live.wrench)

    def _report(self, reached: bool, joints: float, updated: float, goal: float | None) -> QuasiStaticsReport:
        if self._steps_since_floor >= FLOOR_EVERY:
            self._floor = rounding_floor(*self._bundles, self._depth)
            self._steps_since_floor = 0
        figure = self._live.figure
        bound = error_bound(self._live, MEASURES[self.measure])
        floor = self._floor[0 if "linkage" in self.measure else 1]
        scale = 1.0
        if self.measure == "relative_linkage":
            scale = math.sqrt(figure[SUM_JOINT] + figure[SUM_QUEUE])
        elif self.measure == "relative_joint":
            scale = math.sqrt(figure[MAX_JOINT])
        floor = floor / scale if scale > 0.0 else 0.0
        if goal is not None and 0.0 < goal < floor and not self._warned:
            self._warned = True
            warnings.warn(
                f"tolerance {goal:.1e} lies below the rounding floor {floor:.1e} of this linkage under its loads; "
                "the error bound cannot go lower than that. Ask for a larger tolerance.",
                LinkworkWarning,
                stacklevel=4,
            )
        return QuasiStaticsReport(
            joints_computed=round(joints),
            nodes_updated=round(updated),
            error_bound=float(bound + floor),
            reached=bool(reached),
            rounding_floor=float(floor),
            max_acceleration=math.sqrt(max(figure[MAX_JOINT], figure[MAX_QUEUE])) + self._floor[1],
        )

    # ----------------------------------------------------------------------------------------------------------- settling

    def settle(
        self, acceleration: float, h: float = 1e-2, max_steps: int = 100_000, progress: bool | None = None
    ) -> QuasiStaticsReport:
        """Steps downhill until every joint's acceleration is proven below `acceleration` [rad/s² or m/s²].

        h: first time step [s]; it grows while steps succeed and shrinks when one would raise the potential energy
        (gravity, springs, world-fixed forces, constant efforts), which is then undone. Torques fixed in the world and
        wrenches fixed in a body have no potential and are left out of it.
        """
        threshold = positive(acceleration, "acceleration")
        return settle(self, threshold, positive(h, "h"), whole(max_steps, 1, "the number of steps"), progress)

    def reroot(
        self, body: str | int, at: ArrayLike | Pose | None = None, joint: Joint | None = None, **options: Any
    ) -> QuasiStatics:
        """The simulation, going on with another body as the root: same configuration, loads, efforts and tolerance.

        body, at, joint and options: as in `lw.reroot`. The new simulation's `loads` come in the order of this one's.
        Cost: O(n), as for a new simulation.
        """
        return go_on_from(self, body, at, joint, options)
