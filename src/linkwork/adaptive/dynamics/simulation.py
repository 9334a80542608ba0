"""AdaptiveDynamics: dynamics in which only the joints that matter move, and a step costs only what moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.adaptive.adaptive_tree import AdaptiveTree, metric_weights
from linkwork.adaptive.dynamics.advance import advance_with_updates
from linkwork.adaptive.dynamics.reduced.group_fluid import GroupFluid
from linkwork.adaptive.dynamics.reduced.group_forces import GroupForces
from linkwork.adaptive.dynamics.reduced.reduced import GROUPS, VELOCITIES
from linkwork.adaptive.dynamics.region import region
from linkwork.adaptive.dynamics.region.active_region import JOINT_MARKS, MARKS, ActiveRegion
from linkwork.adaptive.dynamics.region.everything import EVALUATIONS, advice
from linkwork.adaptive.dynamics.region.floor import UNPROVEN, Bound, asked_of, bound_now
from linkwork.adaptive.dynamics.region.region_checkpoint import RegionCheckpoint
from linkwork.adaptive.dynamics.region.region_memory import (
    allocate_reduced,
    count_optional_joints,
    make_bundles,
    poses_in_rows,
    tables_to_gather,
)
from linkwork.adaptive.dynamics.report import AdaptiveReport, report_without_bound
from linkwork.adaptive.dynamics.updates import Updates
from linkwork.adaptive.measures import DEFAULT_MEASURE, DEFAULT_TOLERANCE, MEASURES
from linkwork.adaptive.metric.delicate import is_delicate
from linkwork.adaptive.workspace import ACTIVE_COUNT, CHANGE_COUNT, JOINT_COUNT
from linkwork.contact.settings import Contact
from linkwork.core.arrays import FloatArray, IntArray, frozen
from linkwork.core.checks import flag, integer, not_negative, one_of, positive
from linkwork.core.messages.warning import warn_user
from linkwork.core.turns import in_turn
from linkwork.core.units import given_in, unit
from linkwork.dynamics.inputs import as_model
from linkwork.dynamics.quantities.motion import Energy
from linkwork.environment.water import Water, integrator_in_water
from linkwork.errors import LinkworkError, StateError
from linkwork.model.layout import DOF
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.contact_choice import choose_limits
from linkwork.simulation.dynamics import Dynamics, chosen_integrator
from linkwork.simulation.integrators.names import ATOL, AUTO, INTEGRATORS, RTOL
from linkwork.simulation.loading.fields import Field
from linkwork.simulation.parts.in_fluid import InFluid
from linkwork.simulation.parts.moving_linkage import Stepping
from linkwork.simulation.parts.part import Part
from linkwork.simulation.reporting.extremes import fastest
from linkwork.simulation.reporting.failures import explain_step
from linkwork.simulation.reporting.snapshot import read_only_state
from linkwork.simulation.thermal.langevin import Langevin


class AdaptiveDynamics(Dynamics):
    """Dynamics of a linkage in which only some joints are active; everything below them moves as rigid bodies.

    tolerance: acceleration an inactive joint may hide [rad/s² or m/s², by `measure`]; or
    max_active_joints: how many joints may be active, beside bases of floating trees and joints that squeeze; or both.
    update_every: steps between two updates of the active region.
    measure: "relative_joint" (default), "absolute_joint", "relative_linkage", "absolute_linkage", as in QuasiStatics.
    weights, velocity_weights: metric weight of each squared acceleration and velocity, shape (nv,), > 0.
    horizon: time over which accelerations are weighed against velocities [s]; update_every steps by default. A joint is
        active while its velocity after that time, were all joints free, exceeds tolerance · horizon.
    integrator, implicit_joints, keep_momentum, rtol, atol, contact, limits: as in FullDynamics.
    Contacts that begin or break cause an update of the region, at the earliest a third of update_every steps after the last
        one; their forces act on the metric as in the last step. With a tolerance alone, a step in which a contact begins is
        made again after an update. Joints whose effort squeezes a body that can move stay active; with pin_active
        those that brace themselves against obstacles do too.
    Limits stop joints that are active.
    field, thermostat: as in FullDynamics. The field acts on the rigid groups at every stage, and on all bodies in the
        metric at each update, which then costs O(n). The thermostat acts on active joints.
    water: as in FullDynamics. It acts on every body in each step, which then costs O(n), and on all bodies in the metric at
        each update: the bound counts buoyancy and drag where they act, and leaves added mass out.
    Joints that move in `state` are active at first. Loops are closed in every step; the forces that close them act on the
    metric as they were in the last step, and the error bound is that of the tree under these forces. A loop with an active
    joint gets as many as it takes to move, beside `max_active_joints`: all of a slider-crank.
    Cost: O(n) once, then O(active joints) per step, whatever n. Theory: docs/theory/adaptive_dynamics.md.
    """

    GRADIENTS = "regions"  # steps between two updates have derivatives
    _SETTINGS = (
        "tolerance",
        "max_active_joints",
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
        "_water_settings",
    )
    _COUNTERS = ("time", "steps_done", "_since_update", "_updated_at", "_is_proven")
    _forces: GroupForces

    def __init__(
        self,
        model: Model,
        state: State,
        *,
        tolerance: float | None = None,
        max_active_joints: int | None = None,
        update_every: int = 10,
        measure: str = DEFAULT_MEASURE,
        weights: ArrayLike | None = None,
        velocity_weights: ArrayLike | None = None,
        horizon: float | None = None,
        integrator: str = AUTO,
        implicit_joints: bool = True,
        keep_momentum: bool | None = None,
        rtol: float = RTOL,
        atol: float = ATOL,
        field: Field | None = None,
        thermostat: Langevin | None = None,
        contact: Contact | None = None,
        limits: bool | None = None,
        water: Water | None = None,
    ):
        as_model(model, "AdaptiveDynamics")
        implicit_joints = flag(implicit_joints, "implicit_joints")
        one_of(measure, MEASURES, "measure")
        one_of(integrator, (*INTEGRATORS, AUTO), "integrator")
        acts_from_python = field is not None or thermostat is not None
        if water is not None:
            integrator = integrator_in_water(model, integrator, "aba", contact, acts_from_python, limits, keep_momentum)
            limits = False
        integrator = chosen_integrator(model, integrator, implicit_joints, field, thermostat)
        if integrator == "variational" and not implicit_joints:
            raise StateError("variational works with implicit joints; leave implicit_joints=False out.")
        act = choose_limits(model, contact, limits, integrator, acts_from_python=acts_from_python)
        if tolerance is None and max_active_joints is None:
            tolerance = DEFAULT_TOLERANCE
        self.measure = measure
        self.tolerance = None if tolerance is None else not_negative(tolerance, "tolerance")
        self.max_active_joints = (
            None if max_active_joints is None else integer(max_active_joints, 0, "max_active_joints")
        )
        self.update_every = integer(update_every, 1, "update_every")
        self.horizon = None if horizon is None else positive(horizon, "horizon")
        keep = water is None if keep_momentum is None else keep_momentum
        super().__init__(model, state, Stepping(integrator, implicit_joints, keep, rtol, atol), contact, act)
        self._weights = metric_weights(model, weights, "weights")
        self._velocity_weights = metric_weights(model, velocity_weights, "velocity_weights")
        self._is_delicate = is_delicate(model)
        self.water = water
        self._water_settings = "" if water is None else repr(water)
        self._forces = GroupForces(model, field, thermostat, integrator)
        self._updates = Updates(self, self._contact_state)
        self._make_region()
        self._counted = count_optional_joints(model)
        if self.max_active_joints == 0 and self._counted == np.count_nonzero(model.arrays.tree[:, DOF]):
            warn_user(
                "max_active_joints is 0, and no tree floats: nothing moves but joints that are pinned active or squeeze. "
                "Give the number of joints that may move, or a tolerance."
            )
        self._since_update = self.update_every  # the first step begins with an update
        self._updated_at = 0  # `steps_done` at the last update
        self._is_proven = False  # before the first update nothing is
        if self._contact_state is not None:  # before the region begins: it places all bodies, and rigid groups anew
            self._contact_state.warnings.of_overlaps(poses_in_rows(model, self._first_state))
        if self.max_active_joints is None:
            self._updates.count_needed(0.0, 1.0)  # nothing yet: no step waits for the kernel
        self._region.begin()

    def _make_region(self) -> None:
        """Memory for the tree and for the linkage that moves, which may become the whole one."""
        model, contact, weights = self.model, self._contact_state, (self._weights, self._velocity_weights)
        self._begin_moving(tables_to_gather(model), is_model=False)
        bundles = make_bundles(model, self._first_state, weights, self.contact is not None)
        moving, nodes = self._moving, bundles.plan.nodes.shape[0]
        self._reduced = allocate_reduced(model, nodes, moving.bases, moving.constraints)
        if contact is not None and self.contact is not None:
            contact.follow_region(self._reduced.group, self._reduced.pose)
            moving.describe()
        self._fluid = None if self.water is None else InFluid(model, self.water, moving)
        if self._fluid is not None:
            self._forces.fluid = GroupFluid(model, self._fluid)
        self._tree = AdaptiveTree(bundles, self._loads, self._joints, MARKS, JOINT_MARKS, self._reduced)
        self._forces.act_on(self._tree, self._reduced, moving, self._loads)
        parts = (self._reduced, moving, self._forces, self._loads, self._joints)
        self._region = ActiveRegion(self._tree, *parts, self._fail, self._updates.after_update)
        self._saved_region = RegionCheckpoint(self._region)
        self._region.load_table_grew()

    @property
    def _own_parts(self) -> tuple[Part, ...]:
        return (self._saved_region,)

    def _more_of_view(self) -> dict[str, Any]:
        return {"tree": self._tree, "region": self._region, "refresh": self._region.bring_up_to_date}

    def _make_current(self) -> None:
        self._region.renew()

    def _begin_at(self, q: FloatArray, v: FloatArray) -> None:
        self._region.complete_update()
        pins = dict(self._region.pins)
        self._moving.reset()
        if self._contact_state is not None:
            self._contact_state.reset()
        self._saved_region.reset()
        self._tree.run.q[...], self._tree.run.v[...] = q, v
        self._since_update, self._updated_at = self.update_every, self.steps_done
        self._is_proven = False
        self._updates.forget_bound()
        self._energy_watch.forget()
        self._region.begin()
        for joint, pin in pins.items():
            self._region.pin(self.model.joint_names[joint], pin > 0)
        self._tree.apply_again()
        self._joints_changed(self._joints.acting())

    def _clear_everything(self) -> None:
        for joint in list(self._region.pins):
            self._region.unpin(self.model.joint_names[joint])
        super()._clear_everything()

    # ---------------------------------------------------------------------------------------------------------- results

    @property
    def state(self) -> State:
        """The present coordinates and velocities: a copy for reading; `set_state` sets another."""
        self._region.collect()
        return read_only_state(self._tree.run.q.copy(), self._tree.run.v.copy())

    @property
    def acceleration(self) -> FloatArray:
        """Joint accelerations of the last step, zero where inactive; read-only, shape (nv,)."""
        self._region.collect()
        return frozen(self._tree.run.qdd.view())

    @property
    def active_joints(self) -> list[str]:
        """Names of the active joints, bases of floating trees included."""
        return [self.model.joint_names[i] for i in self.active_bodies.tolist()]

    @property
    def active_bodies(self) -> IntArray:
        """Bodies carried by active joints, ascending."""
        bodies = self._tree.bodies_of(self._tree.run.active[: self._tree.run.counts[ACTIVE_COUNT]])
        return bodies[(self._tree.mechanism.tree[bodies, DOF] > 0) & (self._tree.run.waits[bodies] == 0)]

    @property
    def report(self) -> AdaptiveReport:
        """The report of the last step."""
        self._region.complete_update()
        return self._report_with(self.energy)

    def _report_with(self, energy: Energy) -> AdaptiveReport:
        counts = self._tree.run.counts
        n_active, n_computed = int(region.count_active(self._tree.table)), counts.item(JOINT_COUNT)
        more = (counts.item(CHANGE_COUNT), energy.total, self._forces.energy, self.contact_report)
        if self._region.is_pending:
            return self._updates.leave_bound(report_without_bound(self._prove_bound, n_active, n_computed, *more))
        bound, rounding, reached = self._bound()
        return AdaptiveReport(n_active, n_computed, bound, reached, rounding, *more)

    def _bound(self) -> Bound:
        if self._is_proven:
            return self._updates.bound(asked_of(self))
        if self.contact is not None and self.steps_done > self._updated_at:
            return bound_now(self)
        return UNPROVEN

    @in_turn  # reports may be read by another thread
    def _prove_bound(self) -> None:
        self._region.complete_update()

    def scalars(self) -> dict[str, float]:
        """Numbers worth following over time."""
        self._region.complete_update()
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
            **self._forces_and_contact_scalars(energy.kinetic, int(self._reduced.counts[VELOCITIES])),
        }

    def _joints_at_work(self) -> int:
        return int(region.count_active(self._tree.table)) + self._moving.bases.size

    # --------------------------------------------------------------------------------------------------------- stepping

    def step(self, h: float, n: int = 1) -> AdaptiveReport:
        """n steps of h seconds, with an update of the active region every `update_every` of them."""
        self._updates.are_asked = True
        try:
            energy = self._step(h, n)
        finally:
            self._updates.are_asked = False
        return self._report_with(energy)

    def _fastest(self) -> tuple[float, int]:
        groups, velocities = self._reduced.counts[[GROUPS, VELOCITIES]]
        moving = self._moving.arrays
        speed, group = fastest(moving.tree[:groups], moving.v[:velocities])
        return speed, int(self._reduced.joint[group]) if group >= 0 else -1

    def advance(self, h: float, n: int = 1) -> None:
        """The same without a report.

        Raises StateError where a step cannot be made; the simulation then stays at the last good one.
        """
        h, n = positive(h, "h"), integer(n, 1, "the number of steps")
        self._region.complete_update()
        if h not in self._checked_steps:
            self._check_stiffness(self.state, self.integrator, self.implicit_joints, h)
        advance_with_updates(self, self._advance, h, n)
        self._warn_of_long_steps(h, self._reduced.joint)

    def _fail(self, status: int, body: int, advice: str = "", fault: LinkworkError | None = None) -> None:
        self._region.collect()
        cause = fault or self._explain_contact(status)
        if cause is None:
            run, moving, wrench = self._tree.run, self._moving.arrays, self._loads.wrench
            vectors = {"state.q": run.q, "state.v": run.v, "effort": run.effort}
            with given_in(self.units):
                cause = explain_step(self.model, "adaptive dynamics", status, moving, wrench, body, vectors)
        raise StateError(f"at {self.time:.6g} {unit('s', self.units)}, step {self.steps_done}: {cause}{advice}")

    def update_region(self, horizon: float | None = None) -> AdaptiveReport:
        """Chooses the active region anew, now. horizon [s]: as in the constructor; must be given there or here."""
        time = horizon if horizon is not None else self.horizon
        if time is None:
            raise StateError("update_region needs a horizon [s]: give one here or to AdaptiveDynamics.")
        self._updates.make(positive(time, "horizon"), is_asked=True)
        return self.report

    def advice_on_cost(self) -> str:
        """What would make it faster, where a number of joints that was given costs more than full steps; else nothing.

        By counts of joints, at the last update. With a field the joints are not what costs: nothing is said then.
        """
        if self.max_active_joints is None or self._forces.field is not None or not self._region.updates:
            return ""
        evaluations = self.update_every * EVALUATIONS.get(self.integrator, 1.0)
        active, computed = self._reduced.counts.item(GROUPS), self._tree.run.counts.item(JOINT_COUNT)
        return advice(active, computed, evaluations, self._counted)

    # --------------------------------------------------------------------------------------------------- what users want

    def pin_active(self, joint: str) -> None:
        """Keeps a joint active, from the next update on; the joints above it in the assembly tree with it. O(log n)."""
        self._region.pin(joint, active=True)

    def pin_inactive(self, joint: str) -> None:
        """Stops a joint by an impulse, at once, and keeps it where it is. O(active joints)."""
        self._region.pin(joint, active=False)

    def unpin(self, joint: str) -> None:
        """Leaves a joint to the metrics again."""
        self._region.unpin(joint)

    # ---------------------------------------------------------------------------------------- what changes, and checkpoints

    def _load_table_grew(self) -> None:
        self._region.load_table_grew()

    def _loads_changed(self, bodies: IntArray, world: int) -> None:
        self._region.loads_changed(bodies, world)

    def _joints_changed(self, joints: IntArray) -> None:
        self._region.joints_changed(joints)

    def _coordinates_at(self, places: IntArray) -> FloatArray:
        return self._region.coordinates(places)

    def _parts_of_efforts(self) -> FloatArray:
        return self._region.efforts()

    def _about_to_be_saved(self) -> None:
        self._region.complete_update()
        self._region.renew(everything=True)
        self._region.collect()

    def _restored(self) -> None:
        self._updates.forget_bound()
        self._energy_watch.forget()
        if self._contact_state is not None:
            self._moving.describe_again()
        self._region.show_all_forces()
