"""AdaptiveDynamics: dynamics in which only the joints that matter move, and a step costs only what moves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.adaptive.dynamics import choice, region
from linkwork.adaptive.dynamics.piece_field import PieceField
from linkwork.adaptive.dynamics.reduced import COORDINATES, HAS_WRENCHES, PIECES, VELOCITIES, allocate_reduced
from linkwork.adaptive.measures import DEFAULT_MEASURE, DEFAULT_TOLERANCE, MEASURES, NO_LIMIT, bound_of
from linkwork.adaptive.nodes import touch_bodies
from linkwork.adaptive.tree_simulation import IntArray, TreeSimulation, metric_weights
from linkwork.adaptive.workspace import (
    ACTIVE_COUNT,
    CHANGE_COUNT,
    JOINT_COUNT,
    OPEN_COUNT,
    RENEW,
    STALE,
    TOUCHED,
    UNIT,
    Bundles,
    allocate,
)
from linkwork.contact.settings import Contact
from linkwork.core.bundles import ENTRIES, ROWS, describe
from linkwork.core.checks import not_negative, positive, whole
from linkwork.dynamics.front import Energy, Momentum, body_poses
from linkwork.dynamics.inputs import as_finite_state
from linkwork.errors import LinkworkError, StateError
from linkwork.model.layout import DOF, FIXED, FREE, KIND, PARENT
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation import moving as mv
from linkwork.simulation import step as steps
from linkwork.simulation.constraints import allocate_constraints, refuse_open_loops
from linkwork.simulation.energy import kinetic_and_potential
from linkwork.simulation.failures import explain_step
from linkwork.simulation.fields import Field, OutsideForces, advance_outside
from linkwork.simulation.integrators.names import ATOL, INTEGRATORS, RTOL
from linkwork.simulation.momentum import read_momentum, total_momentum
from linkwork.simulation.protocol import Report
from linkwork.simulation.thermal.langevin import Langevin
from linkwork.simulation.touches import Touched, choose_limits

if TYPE_CHECKING:
    from linkwork.simulation.touching.front import ContactReport

FloatArray = NDArray[np.float64]

MOST_CONTACT_FORCES = 512  # contacts whose forces act on the metrics
NO_NODES = np.zeros(0, dtype=np.int64)
NO_FLAGS = np.zeros(0, dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class AdaptiveReport(Report):
    """Where an adaptive simulation stands.

    n_active: joints that move; the bases of floating trees always do and are not counted.
    n_computed: joints whose acceleration the last region update computed to choose them.
    error_bound: acceleration, by the chosen measure, that inactive joints hide from the fully articulated linkage, as
        proven at the last region update, in exact arithmetic (rounding comes on top); NaN before the first one.
    reached: whether that is within the tolerance (a number of joints may have been asked for instead).
    region_changes: joints that became active or inactive since the simulation began.
    energy: kinetic, and potential of gravity, joint springs and the field [J].
    field_energy: that of the field alone [J]; zero without one.
    contact: what contact and joint limits did in the last call of `step`; None where neither acts.
    """

    n_active: int
    n_computed: int
    error_bound: float
    reached: bool
    region_changes: int
    energy: float
    field_energy: float = 0.0
    contact: ContactReport | None = None

    def note(self) -> str:
        return f"{self.n_active:,} active, bound {self.error_bound:.1e}"


class AdaptiveDynamics(Touched, OutsideForces, TreeSimulation):
    """Dynamics of a linkage in which only some joints are active; everything below them moves as rigid bodies.

    tolerance: acceleration an inactive joint may hide [rad/s² or m/s², by `measure`]; or
    active_joints: how many joints may be active (`max_active` from then on); or both.
    update_every: steps between two updates of the active region.
    measure: "relative_joint" (default), "absolute_joint", "relative_linkage", "absolute_linkage", as in QuasiStatics.
    weights, velocity_weights: metric weight of each squared acceleration and velocity, shape (nv,), > 0.
    horizon: time over which accelerations are weighed against velocities [s]; update_every steps by default. A joint is
        active while its velocity after that time, were all joints free, exceeds tolerance · horizon.
    integrator, implicit_joints, keep_momentum, rtol, atol, contact, limits: as in FullDynamics.
    Contacts that begin or break cause an update of the region at once; their forces act on the metric as in the last step.
    Limits stop joints that are active.
    field, thermostat: as in FullDynamics. The field acts on the rigid pieces at every stage, and on all bodies in the
        metric at each update, which then costs O(n). The thermostat warms active joints.
    Joints that move in `state` are active at first. Loops are closed in every step; the forces that close them act on the
    metric as they were in the last step, and the error bound is that of the tree under these forces.
    Cost: O(n) once, then O(active joints) per step, whatever n. Theory: docs/theory/adaptive_dynamics.md.
    """

    _marks = STALE | RENEW
    _SETTINGS = (
        "tolerance",
        "max_active",
        "update_every",
        "measure",
        "horizon",
        "integrator",
        "implicit_joints",
        "keep_momentum",
        "rtol",
        "atol",
        "_weights",
        "_velocity_weights",
        "field_kind",
        "thermostat_kind",
        "limits",
        "_contact_settings",
    )
    _COUNTERS = ("time", "steps_done", "_since_update", "_is_proven")

    def __init__(
        self,
        model: Model,
        state: State,
        tolerance: float | None = None,
        active_joints: int | None = None,
        update_every: int = 10,
        measure: str = DEFAULT_MEASURE,
        weights: ArrayLike | None = None,
        velocity_weights: ArrayLike | None = None,
        horizon: float | None = None,
        integrator: str = "semi_implicit_euler",
        implicit_joints: bool = True,
        keep_momentum: bool = True,
        rtol: float = RTOL,
        atol: float = ATOL,
        field: Field | None = None,
        thermostat: Langevin | None = None,
        contact: Contact | None = None,
        limits: bool | None = None,
    ):
        if measure not in MEASURES:
            raise StateError(f"there is no measure '{measure}'; choose one of {', '.join(MEASURES)}.")
        if integrator not in INTEGRATORS:
            raise StateError(f"there is no integrator '{integrator}'; choose one of {', '.join(INTEGRATORS)}.")
        outside = field is not None or thermostat is not None
        act = choose_limits(model, contact, limits, integrator, outside=outside)
        if tolerance is None and active_joints is None:
            tolerance = DEFAULT_TOLERANCE
        self.measure, self.integrator = measure, integrator
        self.tolerance = None if tolerance is None else not_negative(tolerance, "tolerance")
        self.max_active = None if active_joints is None else whole(active_joints, 0, "active_joints")
        self.update_every = whole(update_every, 1, "update_every")
        self.horizon = None if horizon is None else positive(horizon, "horizon")
        self.implicit_joints, self.keep_momentum = bool(implicit_joints), bool(keep_momentum)
        self.rtol, self.atol = (positive(x, what) for x, what in ((rtol, "rtol"), (atol, "atol")))
        q, v = as_finite_state(model, state)
        if model.loops:
            refuse_open_loops(model, State(q, v))
        self._weights = metric_weights(model, weights, "weights")
        self._velocity_weights = metric_weights(model, velocity_weights, "velocity_weights")
        bundles = allocate(model, q.copy(), v.copy(), self._weights, self._velocity_weights, in_motion=True)
        self._allocate_moving(model, contact, act)
        bundles = self._with_contact_forces(bundles)
        self._reduced = allocate_reduced(model.n_bodies, bundles.plan.nodes.shape[0], self._bases, self._constraints)
        self.model = model
        self._set_outside(field, thermostat)
        self._share_places()
        super().__init__(model, bundles, self._reduced)
        self._prepare_outside()
        self._pins: dict[int, int] = {}  # joints pinned active (1) or inactive (-1)
        self._counted = self._count_joints()
        self._since_update = self.update_every  # the first step begins with an update
        self._is_proven = False  # before the first update nothing is
        self._prepare()
        self._hold_loops_open()
        region.open_moving(self._table)
        for i in self._always_active():
            region.want_path(self._table, self._plan.joint[i], 1)
        self._perform(region.BEGIN)
        self._keep_present_momentum()
        if self._touching is not None:
            self._touching.warn_of_overlaps(_poses(model, State(q, v)))

    def _with_contact_forces(self, bundles: Bundles) -> Bundles:
        """Room for the forces of contacts behind those of loops, which act on the metrics."""
        if self.contact is None:
            return bundles
        loops = bundles.run.loop_body
        body = np.concatenate([loops, np.full(2 * MOST_CONTACT_FORCES, -1, dtype=np.int64)])
        return bundles._replace(run=bundles.run._replace(loop_body=body, loop_wrench=np.zeros((body.size, 6))))

    def _allocate_moving(self, model: Model, contact: Contact | None, limits: bool) -> None:
        """Arrays for the linkage that moves, which may become the whole one; memory is taken up as it is touched."""
        method = INTEGRATORS[self.integrator]
        self._bases, tree_of = mv.floating_trees(model)
        if not (self.keep_momentum and method == mv.SEMI_IMPLICIT_EULER):
            self._bases = self._bases[:0]
        tables = [_like(array) for array in model.arrays[:-1]]
        tables[2], gravity = model.arrays.screws, model.arrays.gravity
        self._moving = mv.allocate([*tables, gravity], self._bases.copy(), tree_of.copy(), method)
        self._begin_touching(model, contact, limits, self._bases.size)
        touching = self._touching is not None
        self._constraints = allocate_constraints(model, model.n_bodies, model.nv, answers=touching)
        self._moving_table = describe(self._moving, self._constraints, *self._touching_bundles())
        counts, numbers = self._moving.counts, self._moving.numbers
        counts[mv.METHOD], counts[mv.IMPLICIT] = method, self.implicit_joints
        counts[mv.KEEPS_MOMENTUM] = self._bases.size > 0
        numbers[[mv.RTOL, mv.ATOL, mv.SUBSTEP_WISH]] = self.rtol, self.atol, math.inf
        self._advance = steps.advance_closed if model.loops else steps.advance
        if self._touching is not None:
            from linkwork.adaptive.dynamics import touching as pieces
            from linkwork.simulation.touching.step import advance_limited, advance_touching

            self._advance = advance_touching if contact is not None else advance_limited
            self._pieces_in_contact = pieces

    def _touching_bundles(self) -> tuple[Any, ...]:
        return self._touching.bundles if self._touching is not None else ()

    def _share_places(self) -> None:
        """The search reads where nodes stand from what the linkage that moves was gathered with."""
        if self._touching is not None and self.contact is not None:
            self._touching.touch = self._touching.touch._replace(piece=self._reduced.piece, pose=self._reduced.pose)
            self._touching.stop_at_changes()
            self._moving_table = describe(self._moving, self._constraints, *self._touching_bundles())

    def _always_active(self) -> list[int]:
        """Bodies on free joints to the world: they carry whole trees."""
        tree = self.model.arrays.tree
        return np.flatnonzero((tree[:, KIND] == FREE) & (tree[:, PARENT] < 0)).tolist()

    def _count_joints(self) -> int:
        tree = self.model.arrays.tree
        return int(((tree[:, DOF] > 0) & ~((tree[:, KIND] == FREE) & (tree[:, PARENT] < 0))).sum())

    # ---------------------------------------------------------------------------------------------------------- results

    @property
    def state(self) -> State:
        """The present coordinates and velocities (a copy)."""
        self._collect()
        return State(self._run.q.copy(), self._run.v.copy())

    @property
    def acceleration(self) -> FloatArray:
        """Joint accelerations of the last step, zero where inactive; read-only, shape (nv,)."""
        self._collect()
        view = self._run.qdd.view()
        view.setflags(write=False)
        return view

    @property
    def active_joints(self) -> list[str]:
        """Names of the active joints, bases of floating trees included."""
        return [self.model.joint_names[i] for i in self.active_bodies.tolist()]

    @property
    def active_bodies(self) -> IntArray:
        """Bodies carried by active joints, ascending."""
        bodies = self._bodies_of(self._run.active[: self._run.counts[ACTIVE_COUNT]])
        return bodies[self._mechanism.tree[bodies, DOF] > 0]

    @property
    def energy(self) -> Energy:
        """Kinetic, and potential energy of gravity, joint springs and field [J]. Cost: O(active joints), and the field."""
        self._renew()
        kinetic, potential = map(float, kinetic_and_potential(self._moving_table))
        return Energy(kinetic, potential + self.field_energy)

    @property
    def field_energy(self) -> float:
        """Energy of the field at the present state, in its units; zero without one."""
        self._renew()
        self._refresh()
        return self._field_energy

    @property
    def momentum(self) -> Momentum:
        """Linear [kg·m/s] and angular momentum [kg·m²/s] about the origin of the world. Cost: O(active joints)."""
        self._renew()
        x = np.array(total_momentum(self._moving_table))
        return Momentum(linear=x[3:], angular=x[:3])

    @property
    def report(self) -> AdaptiveReport:
        """Where the simulation stands."""
        return self._report_with(self.energy)

    def _report_with(self, energy: Energy) -> AdaptiveReport:
        bound = float(bound_of(MEASURES[self.measure], self._run)) if self._is_proven else math.nan
        return AdaptiveReport(
            n_active=int(region.count_active(self._table)),
            n_computed=int(self._run.counts[JOINT_COUNT]),
            error_bound=bound,
            reached=self.tolerance is not None and bound <= self.tolerance,
            region_changes=int(self._run.counts[CHANGE_COUNT]),
            energy=energy.total,
            field_energy=self._field_energy,
            contact=self.contact_report,
        )

    def scalars(self) -> dict[str, float]:
        """Numbers worth following over time."""
        energy = self.energy
        report = self._report_with(energy)
        return {
            "kinetic_energy": energy.kinetic,
            "potential_energy": energy.potential,
            "energy": report.energy,
            "n_active": float(report.n_active),
            "n_computed": float(report.n_computed),
            "error_bound": report.error_bound,
            **self._outside_scalars(energy.kinetic, int(self._reduced.counts[VELOCITIES])),
        }

    def _joints_at_work(self) -> int:
        return int(region.count_active(self._table)) + self._bases.size

    # --------------------------------------------------------------------------------------------------------- stepping

    def step(self, h: float, n: int = 1) -> AdaptiveReport:
        """n steps of h seconds, with an update of the active region every `update_every` of them."""
        if self._touching is not None:
            self._touching.clear_totals()
        self.advance(h, n)
        return self.report

    def advance(self, h: float, n: int = 1) -> None:
        """The same without a report.

        Raises StateError where a step cannot be made; the simulation then stays at the last good one.
        """
        h, left = positive(h, "h"), whole(n, 1, "the number of steps")
        every = whole(self.update_every, 1, "update_every")
        if h not in self._steps_judged:
            self._judge_stiffness(self.state, self.integrator, self.implicit_joints, h)
        self._renew()
        while left > 0:
            if self._since_update >= every:
                self._update(every * h if self.horizon is None else positive(self.horizon, "horizon"))
            status, done, fault = self._go(h, min(left, every - self._since_update))
            self.steps_done += done
            self.time += done * h
            self._since_update += done
            left -= done
            if status == mv.CONTACTS_GROW:
                self._make_room()
            elif status == mv.CONTACTS_CHANGED:
                self._since_update = every
            elif status != mv.OK:
                body = self._reduced.joint[status] if status >= 0 else -1
                self._fail(status, body, " Take a smaller step.", fault)

    def _go(self, h: float, n: int) -> tuple[int, int, LinkworkError | None]:
        """Up to n steps of the linkage that moves: OK or why it stopped, the steps that were made, an error on the way."""
        if self._field is None and self._thermostat is None:
            return (*self._advance(self._moving_table, h, n), None)
        go_on = steps.go_on_closed if self.model.loops else steps.go_on
        return advance_outside(self._moving_table, h, n, go_on, self._refresh, self._after_step)

    def update_region(self, horizon: float | None = None) -> AdaptiveReport:
        """Chooses the active region anew, now. horizon [s]: as in the constructor; must be given there or here."""
        time = horizon if horizon is not None else self.horizon
        if time is None:
            raise StateError("update_region needs a horizon [s]: give one here or to AdaptiveDynamics.")
        self._update(positive(time, "horizon"))
        return self.report

    def _update(self, horizon: float) -> None:
        most = NO_LIMIT if self.max_active is None else whole(self.max_active, 0, "max_active")
        tolerance = 0.0 if self.tolerance is None else not_negative(self.tolerance, "tolerance")
        wants_all = tolerance == 0.0 and most >= self._counted
        self._since_update = 0
        if wants_all and self._run.counts[ACTIVE_COUNT] == self._plan.nodes.shape[0]:
            return  # nothing is hidden, and nothing could change
        self._renew_contact_forces()
        settings = np.zeros(choice.SETTINGS)
        settings[choice.MEASURE], settings[choice.TOLERANCE] = MEASURES[self.measure], tolerance
        settings[choice.MOST], settings[choice.HORIZON] = most, horizon
        settings[choice.WANTS_ALL] = wants_all
        if self._pieces is not None and not wants_all:
            self._load_metric()
        self._perform(region.UPDATE, settings=settings)
        self._is_proven = True

    def _renew_contact_forces(self) -> None:
        """The forces of the last step's contacts act on the metrics; the paths of their bodies are held open."""
        if self.contact is None:
            return
        first = 2 * len(self.model.loops)
        bodies, wrenches = self._run.loop_body[first:], self._run.loop_wrench[first:]
        touch_bodies(self._table, bodies[bodies >= 0], -1, self._marks)
        used = self._pieces_in_contact.express_contact_forces(self._table, self._moving_table, bodies, wrenches)
        bodies[used:] = -1
        wrenches[used:] = 0.0
        touch_bodies(self._table, bodies[bodies >= 0], 1, self._marks)

    def _make_room(self) -> None:
        """More contacts than there is memory for: the step that found them was taken back, and is made again."""
        assert self._touching is not None
        self._touching.grow()
        self._moving.counts[[mv.SUBSTEPS, mv.EVALUATIONS]] -= 1
        self._describe_moving()

    def _describe_moving(self) -> None:
        """The table of other arrays; the linkage that moves has its size until it is gathered again."""
        before, self._moving_table = (
            self._moving_table,
            describe(self._moving, self._constraints, *self._touching_bundles()),
        )
        sized = ENTRIES * (len(self._moving) + len(self._constraints))
        keep = np.flatnonzero(np.arange(sized) % ENTRIES == ROWS)
        keep = np.setdiff1d(keep, mv.ROWS_OF_LOADS)
        self._moving_table[keep] = before[keep]
        if self.contact is not None:
            from linkwork.simulation.touching.arrays import ROWS_OF_OPEN_NODES

            self._moving_table[ROWS_OF_OPEN_NODES] = before[ROWS_OF_OPEN_NODES]

    def _perform(
        self,
        task: int,
        joint: int = -1,
        opened: IntArray = NO_NODES,
        flags: NDArray[np.uint8] = NO_FLAGS,
        settings: FloatArray | None = None,
    ) -> None:
        self._reduced.counts[HAS_WRENCHES] = self._loads.has_fixed or self._field is not None
        given = np.zeros(choice.SETTINGS) if settings is None else settings
        status = region.perform(self._table, self._moving_table, task, joint, opened, flags, given)
        if status != mv.OK:
            self._fail(status, status, "")
        if task != region.PREPARE:
            self._follow_pieces()
        if self._touching is not None and task != region.PREPARE:
            self._pieces_in_contact.follow_limits(self._table, self._moving_table)
            if self.contact is not None:
                self._pieces_in_contact.follow_region(self._table, self._moving_table)

    def _renew(self) -> None:
        """What acts on the linkage that moves, if it is other than at the last step."""
        if self._run.counts[TOUCHED]:
            self._perform(region.RENEW_REGION)

    def _bring_up_to_date(self) -> None:
        """Coefficients of the fully articulated linkage at the present state on all open paths. O(open joints)."""
        self._perform(region.REFRESH)

    def _collect(self) -> None:
        region.collect(self._table, self._moving_table)

    def _keep_present_momentum(self) -> None:
        """Takes the present momentum of floating trees as what is to be kept from now on."""
        self._renew()
        read_momentum(self._moving_table)

    def _fail(self, status: int, body: int, advice: str, fault: LinkworkError | None = None) -> None:
        self._collect()
        cause = fault or explain_step(self.model, "adaptive dynamics", status, self._moving, self._loads.wrench, body)
        raise StateError(f"at {self.time:.6g} s, step {self.steps_done}: {cause}{advice}")

    # ------------------------------------------------------------------------------------------ forces that Python finds

    def _prepare_outside(self) -> None:
        """Arrays of their own for what a field or Fixman's potential adds to."""
        self._pieces = None if self._field is None else PieceField(self._field, self.model)
        if self._pieces is not None:
            self._run = self._run._replace(wrench=self._loads.wrench.copy())
            self._table = describe(self._plan, self._mechanism, self._coefficients, self._run, *self._more)
            self._all_bodies = np.arange(self.model.n_bodies)
        self._given_effort = np.zeros(0)  # efforts on the linkage that moves, without Fixman's
        self._refreshed_q = np.zeros(0)
        self._is_refreshed = False

    def _load_metric(self) -> None:
        """The field's wrenches at the present coordinates become loads on all bodies, for the metric."""
        assert self._pieces is not None
        self._pieces.find_metric_wrenches(self._moving_table)
        np.add(self._loads.wrench, self._pieces.metric_wrenches, out=self._run.wrench)
        touch_bodies(self._table, self._all_bodies, 0, self._marks)

    def _follow_pieces(self) -> None:
        """The linkage that moves was gathered anew."""
        if not self._has_outside_forces:
            return
        counts = self._reduced.counts
        self._refreshed_q, self._is_refreshed = np.zeros(int(counts[COORDINATES])), False
        self._given_effort = self._moving.effort[: counts[VELOCITIES]].copy()
        if self._pieces is not None:
            self._pieces.follow(self._table, self._moving_table, self._moving, int(counts[PIECES]), self._loads.wrench)

    def _refresh(self) -> None:
        """Brings wrenches of the field and efforts of Fixman's potential to the present coordinates."""
        if not self._has_outside_forces:
            return
        moving, counts = self._moving, self._reduced.counts
        q = moving.q[: counts[COORDINATES]]
        if self._is_refreshed and np.array_equal(q, self._refreshed_q):
            return
        self._is_refreshed = False
        if self._pieces is not None:
            self._pieces.evaluate(self._moving_table, self._moving, self._loads.wrench)
            self._field_energy = self._pieces.energy
        if self._thermostat is not None and self._thermostat.has_forces:
            velocities = int(counts[VELOCITIES])
            more = self._thermostat.efforts(moving, int(counts[PIECES]), velocities)
            np.add(self._given_effort, more, out=moving.effort[:velocities])
        self._refreshed_q[:] = q
        self._is_refreshed = True

    def _after_step(self, h: float) -> None:
        if self._thermostat is None:
            return
        counts = self._reduced.counts
        self._thermostat.relax(self._moving_table, int(counts[PIECES]), int(counts[VELOCITIES]), h)
        if self._bases.size:
            read_momentum(self._moving_table)

    # --------------------------------------------------------------------------------------------------- what users want

    def pin_active(self, joint: str) -> None:
        """Keeps a joint active, from the next update on; the joints above it in the assembly tree with it. O(log n)."""
        i = self._unpinned(joint)
        self._pins[i] = 1
        region.want_path(self._table, self._plan.joint[i], 1)

    def pin_inactive(self, joint: str) -> None:
        """Stops a joint by an impulse, at once, and keeps it where it is. O(active joints)."""
        i = self._unpinned(joint)
        self._pins[i] = -1
        self._perform(region.FREEZE, joint=i)
        self._joint_changed(i)
        self._keep_present_momentum()

    def unpin(self, joint: str) -> None:
        """Leaves a joint to the metrics again."""
        i = self.model.joint(joint)
        pin = self._pins.pop(i, 0)
        if pin == 0:
            raise StateError(f"joint '{joint}' is not pinned.")
        if pin > 0:
            region.want_path(self._table, self._plan.joint[i], -1)
            return
        self._freeze(i, False)
        self._joint_changed(i)
        self._keep_present_momentum()

    def _unpinned(self, joint: str) -> int:
        i = self.model.joint(joint)
        if i in self._pins:
            raise StateError(f"joint '{joint}' is pinned already; unpin it first.")
        return i

    def _freeze(self, joint: int, frozen: bool) -> None:
        """Marks a joint as held inactive, or not."""
        self._run.frozen[joint] = frozen
        whole_tree, tree = self._mechanism.whole_tree[joint], self._mechanism.tree
        tree[joint, KIND], tree[joint, DOF] = (FIXED, 0) if frozen else (whole_tree[KIND], whole_tree[DOF])

    # ------------------------------------------------------------------------------------------------------ what changes

    def _load_table_grew(self) -> None:
        super()._load_table_grew()
        rows = self._loads.table.shape
        self._moving = self._moving._replace(load=np.zeros(rows), load_body=np.zeros(rows[0], dtype=np.int64))
        self._describe_moving()

    def _loads_changed(self, bodies: IntArray, world: int) -> None:
        if self._pieces is not None:
            self._run.wrench[bodies] = self._loads.wrench[bodies] + self._pieces.metric_wrenches[bodies]
        super()._loads_changed(bodies, world)

    def _joint_changed(self, joint: int) -> None:
        self._moving.counts[mv.MOTORS] = len(self._driven)
        super()._joint_changed(joint)

    # ------------------------------------------------------------------------------------------------------- checkpoints

    def _kept(self) -> dict[str, NDArray[Any]]:
        run = self._run
        names = ("q", "v", "qdd", "metric_sums", "counts")
        return {
            **{name: getattr(run, name) for name in names},
            "wrench": run.wrench,
            **({} if self._pieces is None else {"metric_wrenches": self._pieces.metric_wrenches}),
            **self._outside_kept(),
            "loop_forces": self._constraints.acting,
            **({"force_bodies": run.loop_body, "forces": run.loop_wrench} if self.contact is not None else {}),
            "loop_coordinates": self._constraints.z,
            "kept_momentum": self._moving.kept,
            "substep": self._moving.numbers[mv.SUBSTEP_WISH : mv.SUBSTEP_WISH + 1],
        }

    def checkpoint(self) -> dict[str, object]:
        """All that depends on history, loads, efforts, motors, contacts and pins included."""
        self._renew()
        self._collect()
        run = self._run
        opened = np.sort(run.opened[: run.counts[OPEN_COUNT]])
        held, wanted = np.flatnonzero(run.held_open), sorted(self._pins.items())
        return {
            **super().checkpoint(),
            "opened": opened,
            "flag": run.flag[opened],
            "held": held,
            "held_open": run.held_open[held],
            "pins": np.array(wanted, dtype=np.int64).reshape(-1, 2),
            **(self._touching.saved() if self._touching is not None else {}),
        }

    def _refuse_other(self, saved: dict[str, Any]) -> None:
        super()._refuse_other(saved)
        nodes, bodies = self._plan.nodes.shape[0], self.model.n_bodies
        opened, held, pins = (np.asarray(saved[name]) for name in ("opened", "held", "pins"))
        counts = np.asarray(saved["counts"])
        sound = (
            opened.ndim == held.ndim == 1
            and pins.ndim == 2
            and pins.shape[1] == 2
            and np.asarray(saved["flag"]).shape == opened.shape
            and np.asarray(saved["held_open"]).shape == held.shape
            and all(x.dtype.kind == "i" for x in (opened, held, pins))
            and all(bool(((x >= 0) & (x < nodes)).all()) for x in (opened, held))
            and bool((np.diff(opened) > 0).all())
            and opened.size == counts[OPEN_COUNT]
            and bool(((pins[:, 0] >= 0) & (pins[:, 0] < bodies) & (np.abs(pins[:, 1]) == 1)).all())
        )
        if not sound:
            raise StateError(
                "the checkpoint is damaged: its nodes, pins and counts do not fit the model or each other."
            )
        if self._touching is not None:
            self._touching.refuse_other(saved)

    def _restored(self, saved: dict[str, Any]) -> None:
        run = self._run
        kept = {name: array.copy() for name, array in self._kept().items()}
        for joint in list(self._pins):
            self._freeze(joint, False)
        self._pins = {}
        run.wanted[...] = 0
        for i in self._always_active():
            region.want_path(self._table, self._plan.joint[i], 1)
        for joint, pin in saved["pins"].tolist():
            self._pins[joint] = pin
            if pin > 0:
                region.want_path(self._table, self._plan.joint[joint], 1)
            else:
                self._freeze(joint, True)
        run.q[...], run.v[...] = kept["q"], kept["v"]
        self._prepare()
        run.held_open[...] = 0
        run.held_open[saved["held"]] = saved["held_open"]
        run.counts[...] = kept["counts"]
        self._moving.counts[mv.MOTORS] = len(self._driven)
        if self.contact is not None:
            self._pieces_in_contact.open_all(self._table, self._moving_table)
        self._perform(region.REOPEN, opened=saved["opened"].copy(), flags=saved["flag"].copy())
        for name, array in self._kept().items():
            array[...] = kept[name]
        self._run.counts[TOUCHED] = 0
        self._outside_restored()
        if self._touching is not None:
            self._touching.restore(saved)
            self._describe_moving()

    def _prepare(self) -> None:
        run = self._run
        if self.model.n_bodies:
            root = self._plan.nodes.shape[0] - 1
            run.held_open[root] = max(1, run.held_open[root])  # the root is always open
        run.metric_sums[UNIT] = 1.0
        self._perform(region.PREPARE)


def _poses(model: Model, state: State) -> FloatArray:
    """World poses of all bodies, rotation and position, shape (n, 12)."""
    T = body_poses(model, state)
    return np.ascontiguousarray(np.hstack([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]))


def _like(array: NDArray[Any]) -> NDArray[Any]:
    """Memory of the same shape and type, not touched yet."""
    return mv.untouched(array.shape[0], array.shape[1] if array.ndim == 2 else None, array.dtype.type)
