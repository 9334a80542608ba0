"""AdaptiveDynamics: dynamics in which only the joints that matter move, and a step costs only what moves."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.adaptive.dynamics import region
from linkwork.adaptive.dynamics.choice import SETTINGS
from linkwork.adaptive.dynamics.cost import Cost
from linkwork.adaptive.dynamics.floor import ENTRIES, bound_of_update, form_floor
from linkwork.adaptive.dynamics.reduced import PIECES, VELOCITIES, allocate_reduced
from linkwork.adaptive.dynamics.region_history import RegionHistory
from linkwork.adaptive.dynamics.report import AdaptiveReport
from linkwork.adaptive.measures import DEFAULT_MEASURE, DEFAULT_TOLERANCE, MEASURES, NO_LIMIT
from linkwork.adaptive.metric.delicate import is_delicate
from linkwork.adaptive.tree_simulation import IntArray, metric_weights
from linkwork.adaptive.workspace import (
    ACTIVE_COUNT,
    CHANGE_COUNT,
    JOINT_COUNT,
    TOUCHED,
    allocate,
)
from linkwork.contact.settings import Contact
from linkwork.core.checks import flag, not_negative, one_of, positive, whole
from linkwork.dynamics.front import Energy, Momentum, body_poses
from linkwork.dynamics.inputs import as_model, as_state
from linkwork.errors import LinkworkError, StateError
from linkwork.model.layout import DOF, FREE, KIND, PARENT
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation import moving as mv
from linkwork.simulation.constraints import refuse_open_loops
from linkwork.simulation.energy import kinetic_and_potential
from linkwork.simulation.energy_watch import EnergyWatch
from linkwork.simulation.extremes import Moment, fastest
from linkwork.simulation.fields import Field
from linkwork.simulation.integrators.names import ATOL, AUTO, INTEGRATORS, RTOL, suitable_integrator
from linkwork.simulation.momentum import total_momentum
from linkwork.simulation.snapshot import read_only_state
from linkwork.simulation.stepping.choice import go_on_of
from linkwork.simulation.stepping.from_python import Ended, advance_in_python, note_efforts, step_in_parts
from linkwork.simulation.thermal.langevin import Langevin
from linkwork.simulation.touches import choose_limits, has_limits

FloatArray = NDArray[np.float64]

PARTS_OF_PATIENCE = 3  # of `update_every`: contacts ask for an update no sooner than a third of it after the last one


class AdaptiveDynamics(RegionHistory):
    """Dynamics of a linkage in which only some joints are active; everything below them moves as rigid bodies.

    tolerance: acceleration an inactive joint may hide [rad/s² or m/s², by `measure`]; or
    active_joints: how many joints may be active (`max_active` from then on); or both.
    update_every: steps between two updates of the active region.
    measure: "relative_joint" (default), "absolute_joint", "relative_linkage", "absolute_linkage", as in QuasiStatics.
    weights, velocity_weights: metric weight of each squared acceleration and velocity, shape (nv,), > 0.
    horizon: time over which accelerations are weighed against velocities [s]; update_every steps by default. A joint is
        active while its velocity after that time, were all joints free, exceeds tolerance · horizon.
    integrator, implicit_joints, keep_momentum, rtol, atol, contact, limits: as in FullDynamics.
    Contacts that begin or break cause an update of the region, at the earliest a third of update_every steps after the last
        one; their forces act on the metric as in the last step.
    Limits stop joints that are active.
    field, thermostat: as in FullDynamics. The field acts on the rigid pieces at every stage, and on all bodies in the
        metric at each update, which then costs O(n). The thermostat warms active joints.
    Joints that move in `state` are active at first. Loops are closed in every step; the forces that close them act on the
    metric as they were in the last step, and the error bound is that of the tree under these forces.
    Cost: O(n) once, then O(active joints) per step, whatever n. Theory: docs/theory/adaptive_dynamics.md.
    """

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
    _COUNTERS = ("time", "steps_done", "_since_update", "_updated_at", "_is_proven")

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
        integrator: str = AUTO,
        implicit_joints: bool = True,
        keep_momentum: bool = True,
        rtol: float = RTOL,
        atol: float = ATOL,
        field: Field | None = None,
        thermostat: Langevin | None = None,
        contact: Contact | None = None,
        limits: bool | None = None,
    ):
        as_model(model, "AdaptiveDynamics")
        implicit_joints = flag(implicit_joints, "implicit_joints")
        one_of(measure, MEASURES, "measure")
        one_of(integrator, (*INTEGRATORS, AUTO), "integrator")
        outside = field is not None or thermostat is not None
        if integrator == AUTO:
            touching = contact is not None or (limits is not False and has_limits(model))
            integrator = suitable_integrator(model, touching, implicit_joints, outside)
        if integrator == "variational" and not implicit_joints:
            raise StateError("variational works with implicit joints; leave implicit_joints=False out.")
        act = choose_limits(model, contact, limits, integrator, outside=outside)
        if tolerance is None and active_joints is None:
            tolerance = DEFAULT_TOLERANCE
        self.measure, self.integrator = measure, integrator
        self.tolerance = None if tolerance is None else not_negative(tolerance, "tolerance")
        self.max_active = None if active_joints is None else whole(active_joints, 0, "active_joints")
        self.update_every = whole(update_every, 1, "update_every")
        self.horizon = None if horizon is None else positive(horizon, "horizon")
        self.implicit_joints, self.keep_momentum = implicit_joints, flag(keep_momentum, "keep_momentum")
        self.rtol, self.atol = (positive(x, what) for x, what in ((rtol, "rtol"), (atol, "atol")))
        q, v = as_state(model, state)
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
        self._pins = {}
        self._floor = np.zeros(ENTRIES)  # what rounding may have done at the last update
        self._is_delicate = is_delicate(model)
        self._counted = self._count_joints()
        self._cost, self._uncounted = Cost(), 0  # steps since the last update are counted with it
        self._choice = np.zeros(SETTINGS)  # by which updates choose
        self._chosen: tuple[float, ...] = ()  # the same, to know a change
        self._since_update = self.update_every  # the first step begins with an update
        self._updated_at = 0  # `steps_done` at the last update
        self._is_proven = False  # before the first update nothing is
        self._energy_watch = EnergyWatch()
        if self._touching is not None:  # before the region begins: it places all bodies, and rigid parts anew
            self._touching.warn_of_overlaps(_poses(model, State(q, v)))
        self._begin_region()

    def _begin_at(self, q: FloatArray, v: FloatArray) -> None:
        pins = self._leave_everything()
        self._run.q[...], self._run.v[...] = q, v
        self._since_update, self._updated_at, self._is_proven = self.update_every, self.steps_done, False
        self._floor[:] = 0.0
        self._energy_watch.forget()
        self._begin_region()
        for joint, pin in pins.items():
            (self.pin_active if pin > 0 else self.pin_inactive)(self.model.joint_names[joint])
        self._apply_again()

    def _begin_region(self) -> None:
        """The first region: all joints that move, and the bases of floating trees."""
        self._prepare()
        self._hold_loops_open()
        region.open_moving(self._table)
        for i in self._always_active():
            region.want_path(self._table, self._plan.joint[i], 1)
        self._perform(region.BEGIN)
        self._keep_present_momentum()

    def _count_joints(self) -> int:
        tree = self.model.arrays.tree
        return int(((tree[:, DOF] > 0) & ~((tree[:, KIND] == FREE) & (tree[:, PARENT] < 0))).sum())

    # ---------------------------------------------------------------------------------------------------------- results

    @property
    def state(self) -> State:
        """The present coordinates and velocities: a copy to read. `set_state` puts another in."""
        self._collect()
        return read_only_state(self._run.q.copy(), self._run.v.copy())

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
        return bodies[(self._mechanism.tree[bodies, DOF] > 0) & (self._run.waits[bodies] == 0)]

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
        bound, rounding, reached = bound_of_update(self) if self._is_proven else (math.nan, math.nan, False)
        return AdaptiveReport(
            n_active=int(region.count_active(self._table)),
            n_computed=int(self._run.counts[JOINT_COUNT]),
            error_bound=bound,
            reached=reached,
            rounding_floor=rounding,
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
            "rounding_floor": report.rounding_floor,
            **self._contact_scalars(),
            **self._outside_scalars(energy.kinetic, int(self._reduced.counts[VELOCITIES])),
        }

    def _joints_at_work(self) -> int:
        return int(region.count_active(self._table)) + self._bases.size

    # --------------------------------------------------------------------------------------------------------- stepping

    def step(self, h: float, n: int = 1) -> AdaptiveReport:
        """n steps of h seconds, with an update of the active region every `update_every` of them."""
        if self._touching is not None:
            self._touching.clear_totals()
        if self._energy_watch.is_new:
            self._watch_energy()
        self.advance(h, n)
        self._reported_energy = energy = self.energy
        self._watch_energy(energy)
        return self._report_with(energy)

    def _moment(self, energy: Energy | None = None) -> Moment:
        """Energy, by default of the last report, and the fastest joint now: for the report of a run.

        Cost: O(active joints).
        """
        energy = energy or self._reported_energy
        pieces, velocities = self._reduced.counts[[PIECES, VELOCITIES]]
        speed, piece = fastest(self._moving.tree[:pieces], self._moving.v[:velocities])
        return Moment(energy.kinetic, energy.total, speed, int(self._reduced.joint[piece]) if piece >= 0 else -1)

    def _watch_energy(self, energy: Energy | None = None) -> None:
        """Warns, once, of energy that nothing has put in; joints that stop may take some, none can make any."""
        outside = self._field is not None or self._thermostat is not None or self._is_pushed_apart
        if outside or self.loads or self._driven or self._effort.any():
            self._energy_watch.forget()  # whatever could do work begins the watch anew
        else:
            now = self.energy if energy is None else energy
            self._energy_watch.look(self._watched(now.kinetic), now.total, self.integrator)

    def advance(self, h: float, n: int = 1) -> None:
        """The same without a report.

        Raises StateError where a step cannot be made; the simulation then stays at the last good one.
        """
        h, left = positive(h, "h"), whole(n, 1, "the number of steps")
        every = whole(self.update_every, 1, "update_every")
        if h not in self._steps_judged:
            self._judge_stiffness(self.state, self.integrator, self.implicit_joints, h)
        if self._run.counts.item(TOUCHED):
            self._renew()
        is_alone = self._field is None and self._thermostat is None
        while left > 0:
            if self._since_update >= every:
                horizon = every * h if self.horizon is None else positive(self.horizon, "horizon")
                self._update(horizon, passes=left > every)
            count, fault = every - self._since_update, None
            if count > left:
                count = left
            if is_alone:
                status, done = self._advance(self._moving_table, h, count)
            else:
                status, done, fault = self._go_outside(h, count)
            self.steps_done += done
            self.time += done * h
            self._since_update += done
            self._uncounted += done
            left -= done
            self._acted_at = self.steps_done
            if status == mv.OK:
                continue
            if status == mv.CONTACTS_CHANGED:
                self._since_update = every
                continue
            self._acted_at = -1
            if status == mv.CONTACTS_GROW:
                self._make_room()
                continue
            body = self._reduced.joint[status] if status >= 0 else -1
            self._fail(status, body, " Take a smaller step.", fault)
        if self._touching is not None:
            self._touching.warn_of_turns(h, self._reduced.joint)
            self._touching.warn_of_gains(h)

    def _go_outside(self, h: float, n: int) -> tuple[int, int, LinkworkError | None]:
        """Up to n steps with a field or a thermostat: OK or why it stopped, the steps made, an error on the way."""
        go_on = go_on_of(INTEGRATORS[self.integrator])

        def step(h: float) -> Ended:
            return step_in_parts(go_on, self._moving_table, h, self._refresh)

        found = advance_in_python(step, h, n, self._after_step)
        note_efforts(go_on, self._moving_table, h)
        return found

    def update_region(self, horizon: float | None = None) -> AdaptiveReport:
        """Chooses the active region anew, now. horizon [s]: as in the constructor; must be given there or here."""
        time = horizon if horizon is not None else self.horizon
        if time is None:
            raise StateError("update_region needs a horizon [s]: give one here or to AdaptiveDynamics.")
        self._update(positive(time, "horizon"))
        return self.report

    def _update(self, horizon: float, passes: bool = False) -> None:
        """Chooses the active region. passes: another update is sure to follow before anyone can ask for the bound."""
        most = NO_LIMIT if self.max_active is None else whole(self.max_active, 0, "max_active")
        tolerance = 0.0 if self.tolerance is None else not_negative(self.tolerance, "tolerance")
        wants_all = tolerance == 0.0 and most >= self._counted
        patience = -(-whole(self.update_every, 1, "update_every") // PARTS_OF_PATIENCE)
        stepped, self._updated_at = self.steps_done > self._updated_at, self.steps_done
        self._since_update = 0
        self._count_steps()
        if wants_all and self._run.counts[ACTIVE_COUNT] == self._plan.nodes.shape[0]:
            if self._touching is not None:
                self._touching.watch(patience)
            return  # nothing is hidden, and nothing could change
        touches = self._touching is not None and self._touching.touches
        chosen = (MEASURES[self.measure], tolerance, most, horizon, wants_all, passes, patience, stepped, touches)
        if chosen != self._chosen:
            self._choice[:] = self._chosen = chosen
        if self._pieces is not None and not wants_all:
            self._load_metric()
        self._perform(region.UPDATE, settings=self._choice)
        self._is_proven = wants_all or not passes
        if self._is_proven:
            form_floor(self, wants_all)
        if not wants_all:
            self._cost.add_update(self._run.counts.item(JOINT_COUNT))

    def _count_steps(self) -> None:
        """Counts the steps since the last update, with the joints that move."""
        self._cost.add_steps(self._uncounted, self._reduced.counts.item(PIECES))
        self._uncounted = 0

    def advice_on_cost(self) -> str:
        """What would make it faster, where its steps so far cost more than full ones, by counts of joints; else nothing.

        With a field the joints are not what costs: nothing is said then.
        """
        if self._field is not None:
            return ""
        self._count_steps()
        return self._cost.advice(self._counted) if self._cost.updates else ""


def _poses(model: Model, state: State) -> FloatArray:
    """World poses of all bodies, rotation and position, shape (n, 12)."""
    T = body_poses(model, state)
    return np.ascontiguousarray(np.hstack([T[:, :3, :3].reshape(-1, 9), T[:, :3, 3]]))
