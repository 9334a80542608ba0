"""FullDynamics: every joint moves, by any algorithm of forward dynamics and any integrator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.contact.settings import Contact
from linkwork.core.bundles import describe
from linkwork.core.checks import flag, one_of, positive, whole
from linkwork.dynamics.front import ALGORITHMS, Energy, Momentum
from linkwork.dynamics.inputs import as_model, as_state
from linkwork.errors import LinkworkError, StateError
from linkwork.full.implicit_euler import ImplicitEuler, note_euler_step
from linkwork.full.report import FullReport
from linkwork.full.whole_forces import WholeForces
from linkwork.model.floating_trees import floating_trees
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation import moving as mv
from linkwork.simulation.acting import JointForces, motor_laws, present_efforts
from linkwork.simulation.constraints import allocate_constraints, refuse_open_loops
from linkwork.simulation.energy import kinetic_and_potential
from linkwork.simulation.energy_watch import EnergyWatch
from linkwork.simulation.extremes import Moment, fastest
from linkwork.simulation.failures import explain_step
from linkwork.simulation.fields import Field
from linkwork.simulation.integrators.names import ATOL, AUTO, INTEGRATORS, RTOL, suitable_integrator
from linkwork.simulation.loaded import IntArray
from linkwork.simulation.momentum import read_momentum, total_momentum
from linkwork.simulation.snapshot import read_only_state
from linkwork.simulation.stepping.choice import advance_of
from linkwork.simulation.stepping.evaluate_loops import closed_accelerations_now
from linkwork.simulation.stepping.evaluate_tree import accelerations_now
from linkwork.simulation.stepping.from_python import Ended, advance_in_python, note_efforts
from linkwork.simulation.thermal.langevin import Langevin
from linkwork.simulation.touches import Touched, advance_with_contact, choose_limits, has_limited_motors, has_limits

FloatArray = NDArray[np.float64]

DEVICES = ("cpu", "gpu")
IMPLICIT_EULER = "implicit_euler"
FULL_INTEGRATORS = (*INTEGRATORS, IMPLICIT_EULER)


class FullDynamics(Touched, WholeForces):
    """Dynamics of a whole linkage in time.

    algorithm: of the accelerations, as in `forward_dynamics`; "aba" runs many steps without leaving compiled code.
    integrator: "semi_implicit_euler" (order 1), "rk4", "dormand_prince" (order 5, substeps within rtol and atol) or
    "implicit_midpoint" (order 2, keeps energy over long runs), "kick_drift_kick" (order 2, asks a field once per step),
    "variational" (order 2, for long runs of linkages that whip: momentum kept, energy without drift); or
    "implicit_euler" (order 1, with the stiffness of tension: for cables under forces far above their weight; trees only,
    momentum is not kept). "auto", the default, takes the variational integrator where nothing takes energy out,
    semi-implicit Euler with dampers, contact, limits of joints or motors, loops or explicit joints, kick, drift, kick
    with a field or thermostat; `sim.integrator` says which.
    implicit_joints: semi-implicit Euler and the implicit midpoint rule take springs, dampers and motors of joints
    implicitly, so that no gain is too stiff for the step. By default with "aba", which alone can do it.
    keep_momentum: with semi-implicit Euler, floating trees change their momentum by external loads only.
    rtol, atol: error a substep of dormand_prince may make in each coordinate and velocity, relative and absolute.
    device: "gpu" computes the accelerations there (algorithm "gpu"); `lw.gpu.DeviceModel.step` also keeps the state there.
    field: forces that depend on the poses of all bodies, such as `mol.field()`, found anew at every stage. In the units of
    the model: for molecules nm, ps, Da and kJ/mol, not those of the SI that results are labelled with.
    thermostat: `Langevin(temperature)`; friction and noise change velocities after every step.
    contact: how bodies touch each other and obstacles (`lw.Contact`); None: they pass through.
    limits: whether joint limits stop joints; by default where the model has some.
    Contact and limits need "aba", without field and thermostat, and any integrator but "implicit_euler". Steps in which
    something touches are made as by "semi_implicit_euler". Loops are closed again after each step.
    Cost: O(n) per evaluation of the accelerations ("aba").
    """

    _SETTINGS = (
        "algorithm",
        "integrator",
        "implicit_joints",
        "keep_momentum",
        "rtol",
        "atol",
        "field_kind",
        "thermostat_kind",
        "limits",
        "_contact_settings",
    )

    def __init__(
        self,
        model: Model,
        state: State,
        algorithm: str = "aba",
        integrator: str = AUTO,
        implicit_joints: bool | None = None,
        keep_momentum: bool = True,
        rtol: float = RTOL,
        atol: float = ATOL,
        device: str = "cpu",
        field: Field | None = None,
        thermostat: Langevin | None = None,
        contact: Contact | None = None,
        limits: bool | None = None,
    ):
        as_model(model, "FullDynamics")
        implicit_joints = None if implicit_joints is None else flag(implicit_joints, "implicit_joints")
        one_of(device, DEVICES, "device")
        one_of(algorithm, ALGORITHMS, "algorithm")
        one_of(integrator, (*FULL_INTEGRATORS, AUTO), "integrator")
        if device == "gpu":
            if algorithm not in ("aba", "gpu"):
                raise StateError(f"algorithm '{algorithm}' does not run on a GPU; leave it out with device='gpu'.")
            algorithm = "gpu"
        outside = field is not None or thermostat is not None
        if integrator == AUTO:
            touching = contact is not None or (limits is not False and has_limits(model))
            integrator = suitable_integrator(
                model, touching, algorithm == "aba" and implicit_joints is not False, outside
            )
        if integrator == IMPLICIT_EULER and (
            model.loops or algorithm != "aba" or implicit_joints is False or field is not None or thermostat is not None
        ):
            raise StateError(
                "implicit_euler is for trees, by its own sweeps, with implicit joints; leave the rest out."
            )
        if integrator == "variational" and (algorithm != "aba" or implicit_joints is False):
            raise StateError("variational works with the algorithm 'aba' and implicit joints; leave the rest out.")
        if algorithm != "aba" and (model.loops or implicit_joints):
            what = "loops" if model.loops else "implicit_joints"
            raise StateError(f"{what} need the algorithm 'aba'; leave out algorithm='{algorithm}'.")
        act = choose_limits(model, contact, limits, integrator, algorithm, outside)
        super().__init__(model, State(*as_state(model, state)))
        self._set_outside(field, thermostat)
        self.algorithm, self.integrator, self.keep_momentum = (
            algorithm,
            integrator,
            flag(keep_momentum, "keep_momentum"),
        )
        self.implicit_joints = algorithm == "aba" if implicit_joints is None else implicit_joints
        self.rtol, self.atol = (positive(x, what) for x, what in ((rtol, "rtol"), (atol, "atol")))
        q, v = self._first_state
        if model.loops:
            refuse_open_loops(model, State(q, v))
        method = INTEGRATORS.get(integrator, mv.SEMI_IMPLICIT_EULER)
        self._implicit = ImplicitEuler(model) if integrator == IMPLICIT_EULER else None
        self._laws = np.zeros((model.nv if self._implicit is not None else 0, 3))
        bases, tree_of = floating_trees(model)
        if not (self.keep_momentum and integrator == "semi_implicit_euler"):
            bases = bases[:0]
        moving = mv.allocate(model.arrays, bases, tree_of, method)
        self._moving = moving._replace(effort=self._effort, motor=self._motor, wrench=self._loads.wrench)
        self._prepare_outside()
        self._begin_touching(model, contact, act)
        touching = self._touching is not None
        self._constraints = allocate_constraints(model, model.n_bodies, model.nv, answers=touching)
        self._moving.q[:], self._moving.v[:] = q, v
        self._moving.strength[:], self._moving.top_speed[:] = model.effort_limit, model.velocity_limit
        counts, numbers = self._moving.counts, self._moving.numbers
        counts[mv.METHOD], counts[mv.IMPLICIT], counts[mv.KEEPS_MOMENTUM] = method, self.implicit_joints, bases.size > 0
        counts[mv.LIMITED] = has_limited_motors(model)
        numbers[[mv.RTOL, mv.ATOL, mv.SUBSTEP_WISH]] = self.rtol, self.atol, math.inf
        if self._touching is not None:
            self._advance = advance_with_contact(contact, integrator)
        else:
            self._advance = advance_of(method, bool(model.loops))
        self._load_table_grew()
        self._energy_watch = EnergyWatch()
        self._read_momentum()
        if self._touching is not None:
            self._touching.warn_of_overlaps(self._moving.world)

    def _begin_at(self, q: FloatArray, v: FloatArray) -> None:
        moving = self._moving
        moving.q[:], moving.v[:] = q, v
        moving.numbers[mv.SUBSTEP_WISH] = math.inf
        mv.forget_past(moving)
        moving.counts[mv.COMPOSITES_READY] = 0
        if self.model.loops:
            fresh = allocate_constraints(self.model, self.model.n_bodies, self.model.nv, answers=False)
            self._constraints.z[:] = fresh.z
        if self._touching is not None:
            self._touching.forget()
        self._refreshed_q[:] = np.nan
        self._read_momentum()

    def _read_momentum(self) -> None:
        """Takes the present momentum of floating trees as what is to be kept from now on."""
        if self._moving.base.size or self._touching is not None:  # contact asks for the poses that this leaves behind
            read_momentum(self._table)

    def _forget_outside(self) -> None:
        self._set_outside(self._field, self.thermostat)

    # ------------------------------------------------------------------------------------------------------------ results

    @property
    def state(self) -> State:
        """The present coordinates and velocities: a copy to read. `set_state` puts another in."""
        return read_only_state(self._moving.q.copy(), self._moving.v.copy())

    @property
    def acceleration(self) -> FloatArray:
        """Joint accelerations at the present state under the present loads [rad/s² or m/s²], shape (nv,)."""
        self._refresh()
        if self.algorithm == "aba":
            evaluate = closed_accelerations_now if self.model.loops else accelerations_now
            status = evaluate(self._table)
            if status != mv.OK:
                raise explain_step(self.model, "the accelerations", status, self._moving, self._loads.wrench)
        else:
            self._accelerate()
        return self._moving.qdd.copy()

    @property
    def energy(self) -> Energy:
        """Kinetic, and potential energy of gravity, joint springs and the field [J]."""
        kinetic, potential = map(float, kinetic_and_potential(self._table))
        return Energy(kinetic, potential + self.field_energy)

    @property
    def field_energy(self) -> float:
        """Energy of the field at the present state, in its units; zero without one."""
        self._refresh()
        return self._field_energy

    @property
    def momentum(self) -> Momentum:
        """Linear [kg·m/s] and angular momentum [kg·m²/s] about the origin of the world."""
        x = np.array(total_momentum(self._table))
        return Momentum(linear=x[3:], angular=x[:3])

    def scalars(self) -> dict[str, float]:
        """Scalars worth plotting over time: energies [J], of gravity, joint springs and the field as far as potential."""
        now = self.energy
        found = {"kinetic_energy": now.kinetic, "potential_energy": now.potential, "energy": now.total}
        return found | self._contact_scalars() | self._outside_scalars(now.kinetic, self.model.nv)

    # ------------------------------------------------------------------------------------------------------------- moving

    def step(self, h: float, n: int = 1) -> FullReport:
        """Moves on by n steps of h seconds.

        Raises StateError where accelerations do not exist, numbers overflow or an integrator gives up; the simulation then
        stays at its last good state.
        """
        counts, numbers = self._moving.counts, self._moving.numbers
        counts[[mv.SUBSTEPS, mv.EVALUATIONS, mv.HALVINGS, mv.UNBALANCED]] = 0
        if self._touching is not None:
            self._touching.clear_totals()
        numbers[mv.ERROR] = 0.0
        if self._energy_watch.is_new:
            self._watch_energy(self.energy)
        self.advance(h, n)
        self._reported_energy = energy = self.energy
        self._watch_energy(energy)
        return self._report_with(energy)

    @property
    def report(self) -> FullReport:
        """What the last call of `step` did, and the energy now."""
        return self._report_with(self.energy)

    def _report_with(self, energy: Energy) -> FullReport:
        counts = self._moving.counts
        error = float(self._moving.numbers[mv.ERROR]) if self.integrator == "dormand_prince" else math.nan
        return FullReport(
            int(counts[mv.SUBSTEPS]),
            int(counts[mv.EVALUATIONS]),
            error,
            energy.total,
            self._field_energy,
            self.contact_report,
            int(counts[mv.HALVINGS]),
            int(counts[mv.UNBALANCED]),
        )

    def _moment(self, energy: Energy | None = None) -> Moment:
        """Energy, by default of the last report, and the fastest joint now: for the report of a run."""
        energy = energy or self._reported_energy
        return Moment(energy.kinetic, energy.total, *fastest(self._moving.tree, self._moving.v))

    def _watch_energy(self, energy: Energy) -> None:
        """Warns, once, of energy that nothing has put in. Whatever could do work begins the watch anew."""
        driven = bool(self.loads) or bool(self._driven) or bool(self._effort.any()) or self._is_stepped_outside
        if driven or self._is_pushed_apart:
            self._energy_watch.forget()
        else:
            self._energy_watch.look(self._watched(energy.kinetic), energy.total, self.integrator)

    def advance(self, h: float, n: int = 1) -> None:
        """Moves on by n steps of h seconds, without a report: one call of compiled code."""
        h, n = positive(h, "h"), whole(n, 1, "the number of steps")
        if h not in self._steps_judged:
            self._judge_stiffness(self.state, self.integrator, self.implicit_joints, h)
        fault: LinkworkError | None = None
        status = mv.CONTACTS_GROW
        while status == mv.CONTACTS_GROW:
            if self._is_stepped_outside or self._implicit is not None:
                step = self._step_outside if self._implicit is None else self._step_implicitly
                status, done, fault = advance_in_python(step, h, n, self._after_step)
            else:
                status, done = self._advance(self._table, h, n)
            self._count(h, done)
            n -= done
            if status == mv.CONTACTS_GROW:
                self._make_room()
        if self._is_stepped_outside:
            note_efforts(self._go_on, self._table, h)
        elif self._implicit is not None:
            note_euler_step(self._table, h)
        self._acted_at = self.steps_done if status == mv.OK else -1
        if status != mv.OK:
            cause = fault or self._explain_contact(status)
            cause = cause or explain_step(self.model, "a step", status, self._moving, self._loads.wrench)
            raise self._failure(h, cause)
        if self._touching is not None:
            self._touching.warn_of_turns(h)
            self._touching.warn_of_gains(h)

    def _step_implicitly(self, h: float) -> Ended:
        """One step of implicit Euler, by sweeps of its own."""
        assert self._implicit is not None
        moving = self._moving
        moving.start_q[:], moving.start_v[:] = moving.q, moving.v
        moving.judged[:] = moving.v
        motor_laws(self._table, h, self._laws)
        status = self._implicit.step(moving.q, moving.v, h, self, self._laws)
        if status == mv.OK:
            moving.qdd[:] = (moving.v - moving.start_v) / h
            moving.counts[[mv.SUBSTEPS, mv.EVALUATIONS]] += 1
        return status, None

    def _make_room(self) -> None:
        """More contacts than there is memory for: the step that found them was taken back, and is made again."""
        assert self._touching is not None
        self._touching.grow()
        self._moving.counts[[mv.SUBSTEPS, mv.EVALUATIONS]] -= 1
        self._load_table_grew()

    def _count(self, h: float, done: int) -> None:
        self.steps_done += done
        self.time += done * h

    def _failure(self, h: float, error: LinkworkError) -> StateError:
        return StateError(
            f"the step of {h:g} s from t = {self.time:.9g} s on (step {self.steps_done + 1}) failed: {error} The "
            "simulation stays at that time; a smaller step may lead further."
        )

    # -------------------------------------------------------------------------------------------------------- what changes

    def _load_table_grew(self) -> None:
        self._moving = self._moving._replace(load=self._loads.table, load_body=self._loads.body)
        more = self._touching.bundles if self._touching is not None else ()
        self._table = describe(self._moving, self._constraints, *more)
        self._loads_changed(self._loads.body[:0], 0)
        self._outside_effort, self._outside_wrenches = np.zeros(self.model.nv), np.zeros((self.model.n_bodies, 6))

    def _loads_changed(self, bodies: IntArray, world: int) -> None:
        self._moving.counts[mv.LOADS] = self._loads.count
        self._table[mv.ROWS_OF_WRENCH] = self.model.n_bodies if self._loads.has_fixed or self._field is not None else 0

    def _joint_changed(self, joint: int) -> None:
        self._moving.counts[mv.MOTORS] = len(self._driven)

    def _joints_changed(self, joints: IntArray) -> None:
        self._joint_changed(-1)

    def _coordinates_of_joints(self) -> FloatArray:
        return self._moving.q

    def _parts_of_efforts(self) -> FloatArray:
        moving = self._moving
        if self._acted_at == self.steps_done:
            return moving.acted
        self._refresh()
        forces = JointForces(*(getattr(moving, name) for name in JointForces._fields))
        return present_efforts(forces._replace(drive=np.zeros(self.model.nv), acted=np.zeros_like(moving.acted)))

    # -------------------------------------------------------------------------------------------------------- checkpoints

    def _kept(self) -> dict[str, NDArray[Any]]:
        return {
            "q": self._moving.q,
            "v": self._moving.v,
            "kept_momentum": self._moving.kept,
            "loop_coordinates": self._constraints.z,
            "energy_debt": self._moving.numbers[mv.STEP_PAST],
            "substep": self._moving.numbers[mv.SUBSTEP_WISH : mv.SUBSTEP_WISH + 1],
            **mv.past_of(self._moving),
            **self._outside_kept(),
        }

    def checkpoint(self) -> dict[str, object]:
        """Everything that depends on history, loads, efforts, motors and contacts included."""
        return {**super().checkpoint(), **(self._touching.saved() if self._touching is not None else {})}

    def _refuse_other(self, saved: dict[str, Any]) -> None:
        super()._refuse_other(saved)
        if self._touching is not None:
            self._touching.refuse_other(saved)

    def _restored(self, saved: dict[str, Any]) -> None:
        if self._touching is not None:
            self._touching.restore(saved)
            self._load_table_grew()
        self._moving.counts[mv.COMPOSITES_READY] = 0
        self._energy_watch.forget()
        self._joint_changed(-1)
        self._outside_restored()
