"""QuasiStatics: computes only the joints that matter, with a bound on the error (after Redon and Lin 2006).

The bound is proven in exact arithmetic; rounding is estimated.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.adaptive import workspace as ws
from linkwork.adaptive.adaptive_tree import AdaptiveTree, metric_weights
from linkwork.adaptive.allocation import allocate
from linkwork.adaptive.measures import ABSOLUTE_JOINT, DEFAULT_MEASURE, DEFAULT_TOLERANCE, MEASURES, NO_LIMIT
from linkwork.adaptive.metric.delicate import is_delicate
from linkwork.adaptive.quasi_statics.checkpoint import OpenNodes
from linkwork.adaptive.quasi_statics.comparison import Comparison
from linkwork.adaptive.quasi_statics.cut_forces import clear_cut_forces, solve_cut_forces
from linkwork.adaptive.quasi_statics.deadline import Pace, open_until, step_within_deadline
from linkwork.adaptive.quasi_statics.everything import BY_ABA, allocate_everything
from linkwork.adaptive.quasi_statics.field_loads import FieldLoads
from linkwork.adaptive.quasi_statics.floor import (
    CHANGES,
    FLOOR_EVERY,
    MEASURED,
    OF_LIMITS,
    SOLVES,
    finish_measuring,
    left_to_solves,
    load_kernels,
)
from linkwork.adaptive.quasi_statics.limits import MOST_PER_FREEDOM, MOST_TURNS, PATIENCE, change_held_once
from linkwork.adaptive.quasi_statics.report import QuasiStaticsReport
from linkwork.adaptive.quasi_statics.reporting import report_of
from linkwork.adaptive.quasi_statics.reroot import rerooted
from linkwork.adaptive.quasi_statics.scalars import scalars
from linkwork.adaptive.quasi_statics.settling import settle_in_place
from linkwork.adaptive.quasi_statics.solve import advance
from linkwork.assembly.numbering import node_depths
from linkwork.core.arrays import FloatArray, IntArray, frozen
from linkwork.core.checks import integer, not_negative, one_of, positive
from linkwork.core.units import unit
from linkwork.dynamics.inputs import as_model, as_state, explain_failure
from linkwork.errors import StateError
from linkwork.model.joints import Joint
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.base import LinkageSimulation
from linkwork.simulation.loading.applied_efforts import BY_LIMIT
from linkwork.simulation.loading.fields import Field
from linkwork.simulation.parts.constraint_arrays import refuse_open_loops
from linkwork.simulation.parts.part import Part
from linkwork.simulation.protocol import ADAPTIVE_COST
from linkwork.simulation.reporting.snapshot import read_only_state
from linkwork.simulation.view import View
from linkwork.spatial.pose import Pose
from linkwork.statics.in_field import FieldReport
from linkwork.statics.settle import SettleReport


class QuasiStatics(LinkageSimulation):
    """Error-bounded quasi-statics of a linkage: every step begins at rest, and only joints that matter are computed.

    tolerance: error allowed by `measure`; or None with max_active_joints (joints computed per solve) or deadline [s] alone.
    deadline: time for a solve or for each step, everything counted [s]. What loads hold open and what the last solve
        computed is computed in any case; while that takes too long, more of it is closed after each step.
    measure: "relative_joint" (default), "absolute_joint", "relative_linkage", "absolute_linkage".
    weights: metric weight of each squared acceleration, shape (nv,), > 0; ones by default.
    Limits of joints act: a step ends at a limit where it would go beyond, and the joint is held there as long as it is
        pushed against it. Joints that may come to a limit in a step are computed whatever the tolerance and the budget.
    field: forces that depend on the poses of all bodies, such as `mol.field()`, found anew for every solve, in its units.
        Steps lower its energy where ½ (ω h)² < 2 for its fastest mode ω; `settle` goes to the minimum.
    Cost: O(n) once, then O(joints computed) per step, whatever n; with a field its evaluation and O(n) per step.
    """

    _forces: FieldLoads

    def __init__(
        self,
        model: Model,
        state: State,
        *,
        tolerance: float | None = None,
        measure: str = DEFAULT_MEASURE,
        max_active_joints: int | None = None,
        deadline: float | None = None,
        weights: ArrayLike | None = None,
        field: Field | None = None,
    ):
        if tolerance is None and max_active_joints is None and deadline is None:
            tolerance = DEFAULT_TOLERANCE
        as_model(model, "QuasiStatics")
        one_of(measure, MEASURES, "measure")
        self.measure = measure
        self.tolerance = None if tolerance is None else not_negative(tolerance, "tolerance", finite=True)
        self.max_active_joints = (
            None if max_active_joints is None else integer(max_active_joints, 1, "max_active_joints")
        )
        self.deadline = None if deadline is None else positive(deadline, "deadline")
        q, v = as_state(model, state)
        if v.any():
            raise StateError("a quasi-static simulation begins at rest; give a state with v = 0.")
        if not np.isfinite(q).all():
            k = int(np.flatnonzero(~np.isfinite(q))[0])
            raise StateError(f"state.q[{k}] is {q[k]} (joint '{model.joint_names[model.joint_of(k, 'q')]}').")
        metric = metric_weights(model, weights, "weights")
        self._forces = FieldLoads(model, field)
        super().__init__(model, State(q, v))
        bundles = allocate(model, q.copy(), np.zeros(model.nv), metric, np.zeros(0), in_motion=False)
        everything = allocate_everything(model.n_bodies, model.nv)
        self._tree = AdaptiveTree(bundles, self._loads, self._joints, ws.DIRTY, ws.DIRTY, everything)
        self._tree.follow_load_table()
        self._forces.act_on(self._tree, self._loads)
        plan = self._tree.plan
        self._depth = float(node_depths(plan.nodes).max(initial=1))
        self._floor = np.zeros(2)
        self._measured_floor = np.zeros(MEASURED)
        self._is_delicate = is_delicate(model)
        self._open = OpenNodes(model, self._tree, self._floor, self._measured_floor, self._check)
        self._comparison = Comparison()
        self._steps_since_floor = FLOOR_EVERY
        self._warned = False
        self._solved = False
        self._has_moved = False  # whether coordinates are no longer those of the last solve
        self._pace = Pace()
        self._is_changed = True  # whether anything that acts is another since the last solve
        self._open.assemble_everything()
        self._open.hold_root_open()
        if model.is_constrained:
            refuse_open_loops(model, State(q, v))
            self._tree.hold_loops_open()
        if self._may_be_full:
            load_kernels(model, State(q, v))

    # ---------------------------------------------------------------------------------------------------------- results

    @property
    def state(self) -> State:
        """The present coordinates, at rest: a copy for reading; `set_state` sets another."""
        return read_only_state(self._tree.run.q.copy(), np.zeros(self.model.nv))

    @property
    def acceleration(self) -> FloatArray:
        """Joint accelerations of the last solve, zero where not computed; read-only, shape (nv,)."""
        return frozen(self._tree.run.qdd.view())

    @property
    def computed_joints(self) -> list[str]:
        """Names of the joints the last solve computed."""
        joints = self._tree.computed_bodies()
        return [self.model.joint_names[i] for i in joints.tolist()]

    # ------------------------------------------------------------------------------------------------------------ solving

    def solve(self, tolerance: float | None = None) -> QuasiStaticsReport:
        """Accelerations at the present state within tolerance: `sim.acceleration`."""
        started = time.perf_counter()
        goal = self.tolerance if tolerance is None else not_negative(tolerance, "tolerance", finite=True)
        self._steps_since_floor = FLOOR_EVERY
        self._measured_floor[SOLVES] += 1.0
        self._update_forces(0.0)
        reached, joints, updated = self._solve_once(goal, started)
        return report_of(self, reached, joints, updated, goal)

    def refine(self, tolerance: float) -> QuasiStaticsReport:
        """Goes on from the last solve to a smaller tolerance; nothing already computed is computed again."""
        if not self._solved or self._is_changed:
            return self.solve(tolerance)
        goal = not_negative(tolerance, "tolerance", finite=True)
        reached = self._expand(self._asked(goal), time.perf_counter())
        self._check(-1)
        self._steps_since_floor = FLOOR_EVERY
        self._measured_floor[SOLVES] += 1.0
        return report_of(self, reached, self._tree.run.counts[ws.JOINT_COUNT], 0, goal)

    def step(self, h: float, n: int = 1) -> QuasiStaticsReport:
        """Solves and moves, n times: q ← q ⊕ ½ h² q̈ for the joints computed. h: time step [s].

        A step that fails is taken back: those before it stay, and `steps_done` and `time` say how many they are.
        """
        steps, length = integer(n, 1, "the number of steps"), positive(h, "h")
        if self.deadline is None and self._forces.field is None and not self.model.is_constrained:
            return self._many(steps, length)
        for _ in range(steps):
            if self.deadline is None:
                report = self._many(1, length)
            else:
                report = step_within_deadline(self, length, self.deadline)
        return report

    def _update_forces(self, h: float) -> None:
        """Before a solve: the field, and the forces of loops, with coefficients brought up to date by a solve that leaves
        everything closed."""
        if self._forces.load_all():
            self._is_changed = True
        self._tree.run.step_part[0] = 0.5 * h * h
        if self.model.is_constrained:
            clear_cut_forces(self)
            self._solve_closed()
            solve_cut_forces(self, h)
            if self._tree.run.held.size:
                self._hold_closed(h)

    def _solve_closed(self) -> None:
        """Coefficients brought up to date by a solve that opens nothing."""
        bad, *_ = advance(self._tree.table, 1, 0.0, ABSOLUTE_JOINT, math.inf, NO_LIMIT, 0, False)
        self._check(bad)

    def _hold_closed(self, h: float) -> None:
        """Joints of a linkage with loops that limits hold in a step of h [s], and the forces of its loops with them."""
        fewest, patience = self.model.nv + 1, PATIENCE
        for _ in range(MOST_TURNS + MOST_PER_FREEDOM * self.model.nv):
            self._solve_closed()
            wrong = change_held_once(self._tree.table, patience > 0)
            if wrong == 0:
                return
            patience, fewest = patience - (wrong >= fewest), min(wrong, fewest)
            self._solve_closed()
            solve_cut_forces(self, h)
        self._check(ws.NOT_HELD)

    def advance(self, h: float, n: int = 1) -> None:
        """`step`, its report left out."""
        self.step(h, n)

    def _bring_up_to_date(self) -> None:
        """Coefficients at the present state, all of them."""
        self._forces.load_all()
        self._tree.run.step_part[0] = 0.0
        self._solve_once(self.tolerance, time.perf_counter(), by_tree=True)

    @property
    def _may_be_full(self) -> bool:
        """Whether solves that compute most joints may compute all: not within budgets, nor where loops ask the tree."""
        return self.deadline is None and self.max_active_joints is None and not self.model.is_constrained

    def _joints_at_work(self) -> int:
        counts = self._tree.run.counts
        return (1 if counts[BY_ABA] else ADAPTIVE_COST) * int(counts[ws.JOINT_COUNT])

    def scalars(self) -> dict[str, float]:
        """Energy [J] of gravity, joint springs and the field at the present state, and how many joints are open."""
        return scalars(self)

    def _many(self, steps: int, h: float) -> QuasiStaticsReport:
        """Solves, each followed by a step of h [s], without looking at the clock; one of them under a field or loops."""
        self._update_forces(h)
        asked, measure = self._asked(self.tolerance), MEASURES[self.measure]
        bad, done, reached, joints, updated = advance(
            self._tree.table, steps, h, measure, asked, self._budget, NO_LIMIT, self._may_be_full
        )
        self._count(done, h)
        self._check(bad)
        self._steps_since_floor += done
        return report_of(self, reached, joints / steps, updated / steps, self.tolerance, steps)

    def _solve_once(self, goal: float | None, started: float, by_tree: bool = False) -> tuple[bool, int, int]:
        """One solve that began at `started` by the clock; whether the bound holds, joints computed, nodes updated.

        by_tree: coefficients are wanted as well.
        """
        opened = NO_LIMIT if self.deadline is None else 0
        asked = self._asked(goal)
        bad, _, reached, joints, updated = advance(
            self._tree.table,
            1,
            0.0,
            MEASURES[self.measure],
            asked,
            self._budget,
            opened,
            self._may_be_full and not by_tree,
        )
        self._count(0, 0.0)
        self._check(bad)
        if self.deadline is not None and not reached:
            reached = self._expand(asked, started)
            joints = self._tree.run.counts[ws.JOINT_COUNT]
            self._check(-1)
        self._solved = True
        return reached, joints, updated

    def _expand(self, tolerance: float, started: float) -> bool:
        """Opens more nodes until the bound holds, the budget is spent, or a solve that began at `started` is to end."""
        run, end = self._tree.run, self._pace.end_of_opening(started, self.deadline)
        return open_until(self._tree.table, run.counts, MEASURES[self.measure], float(tolerance), self._budget, end)

    @property
    def _budget(self) -> int:
        return NO_LIMIT if self.max_active_joints is None else self.max_active_joints

    def _asked(self, goal: float | None) -> float:
        """With a budget alone every node may be opened until it is spent: tolerance zero asks for that."""
        return 0.0 if goal is None else left_to_solves(self._measured_floor) * float(goal)

    def _count(self, done: int, h: float) -> None:
        """Takes note of what a kernel did, whether it failed then or not."""
        self.steps_done += done
        self.time += done * h
        holds = self._tree.run.counts[ws.HELD_CHANGES]
        if self._is_changed or holds != self._measured_floor[OF_LIMITS]:  # what rounding is relative to may be another
            self._steps_since_floor = FLOOR_EVERY
            self._measured_floor[CHANGES] += 1.0
            self._measured_floor[OF_LIMITS] = holds
        self._measured_floor[SOLVES] += done
        self._is_changed = False
        self._solved = False
        self._has_moved = done > 0

    def _check(self, bad: int) -> None:
        run = self._tree.run
        if bad == -1 and math.isfinite(run.metric_sums[ws.SUM_JOINT] + run.metric_sums[ws.SUM_QUEUE]):
            return
        self._steps_since_floor = FLOOR_EVERY
        if bad == ws.NOT_HELD:
            raise StateError(
                f"at {self.time:.6g} {unit('s', self.units)}, step {self.steps_done}: which joint limits of model "
                f"'{self.model.name}' hold was not found; {run.counts[ws.HELD_COUNT]} did. Take a smaller step."
            )
        vectors = {"state.q": run.q, "effort": run.effort}
        cause = explain_failure(self.model, "quasi-statics", max(bad, -1), vectors, run.wrench)
        advice = " The last step was taken back; take a smaller one." if bad == ws.OVERFLOW and self.steps_done else ""
        raise StateError(f"at {self.time:.6g} {unit('s', self.units)}, step {self.steps_done}: {cause}{advice}")

    # ----------------------------------------------------------------------------------------------------------- settling

    def settle(self, tolerance: float | None = None, max_sweeps: int = 1000) -> SettleReport | FieldReport:
        """Goes to the equilibrium that `lw.settle` reaches from here: under loads, with loops; or in the field, alone.

        tolerance: largest unbalanced effort, as a part of the largest moment the loads could have about a joint (1e-10);
        in a field in the units of its efforts (1e-3).
        Cost: O(n) per sweep; a few where the simulation is near its equilibrium already.
        """
        return settle_in_place(self, tolerance, max_sweeps)

    def _refuse_state(self, q: FloatArray, v: FloatArray) -> None:
        if v.any():
            raise StateError("a quasi-static simulation is at rest; give a state with v = 0.")
        super()._refuse_state(q, v)

    def _begin_at(self, q: FloatArray, v: FloatArray) -> None:
        run = self._tree.run
        finish_measuring(self)
        self._forces.forget()
        run.q[...] = run.saved_q[...] = q
        self._open.reset()
        self._open.assemble_everything()
        self._open.hold_root_open()
        self._tree.hold_loops_open()
        self._tree.apply_again()
        self._joints_changed(self._joints.acting())
        self._steps_since_floor = FLOOR_EVERY
        self._pace.reset()
        self._solved, self._is_changed = False, True

    # -------------------------------------------------------------------------------------- what changes, and checkpoints

    _SETTINGS = ("tolerance", "measure", "max_active_joints", "field_kind", "_weights")
    _COUNTERS = ("time", "steps_done", "_steps_since_floor", "_warned", "_is_changed")

    @property
    def _weights(self) -> FloatArray:
        return self._tree.mechanism.weight

    @property
    def _parts(self) -> tuple[Part, ...]:
        return *super()._parts, self._forces, self._open

    @property
    def view(self) -> View:
        """The parts that it is made of, for other rooms of the package and for tests: see `simulation.view.View`."""
        more: dict[str, Any] = {"tree": self._tree, "parts": self._parts, "refresh": self._bring_up_to_date}
        return View(self._loads, self._joints, forces=self._forces, **more)

    def _load_table_grew(self) -> None:
        self._tree.follow_load_table()

    def _loads_changed(self, bodies: IntArray, world: int) -> None:
        self._forces.load_bodies(bodies)
        self._tree.loads_changed(bodies, world)
        self._is_changed = True

    def _joints_changed(self, joints: IntArray) -> None:
        self._tree.joints_changed(joints)
        self._is_changed = True

    def _coordinates_at(self, places: IntArray) -> FloatArray:
        return self._tree.run.q[places]

    def _parts_of_efforts(self) -> FloatArray:
        parts = self._tree.present_efforts()
        if self._tree.run.held.size:
            parts[:, BY_LIMIT] = self._tree.run.limit_effort
        return parts

    def _about_to_be_saved(self) -> None:
        finish_measuring(self)

    def _restored(self) -> None:
        self._solved = False  # what a solve found is found again by the next one
        self._forces.forget()

    def reroot(
        self, body: str | int, at: ArrayLike | Pose | None = None, joint: Joint | None = None, **options: Any
    ) -> QuasiStatics:
        """The simulation, going on with another body as the root: same configuration, loads, efforts and tolerance.

        body, at, joint and options: as in `lw.reroot`. The new simulation's `loads` come in the order of this one's.
        Cost: O(n), as for a new simulation.
        """
        return rerooted(self, body, at, joint, options)
