"""FullDynamics: every joint moves, by any algorithm of forward dynamics and any integrator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from linkwork.contact.settings import Contact
from linkwork.core.arrays import FloatArray, IntArray
from linkwork.core.checks import flag, integer, one_of, positive
from linkwork.core.units import given_in, unit
from linkwork.dynamics.api import ALGORITHMS
from linkwork.dynamics.inputs import as_model
from linkwork.dynamics.quantities.motion import Energy
from linkwork.environment.water import Water, integrator_in_water
from linkwork.errors import LinkworkError, StateError
from linkwork.full.implicit_euler import ImplicitEuler, note_euler_step
from linkwork.full.model_forces import ModelForces
from linkwork.full.report import FullReport
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation import moving as mv
from linkwork.simulation.contact_choice import choose_limits
from linkwork.simulation.dynamics import Dynamics, chosen_integrator
from linkwork.simulation.integrators.names import ATOL, AUTO, INTEGRATORS, RTOL
from linkwork.simulation.loading.applied_efforts import JointForces, motor_laws, present_efforts
from linkwork.simulation.loading.fields import Field
from linkwork.simulation.parts.in_fluid import InFluid
from linkwork.simulation.parts.moving_linkage import Stepping
from linkwork.simulation.reporting.extremes import fastest
from linkwork.simulation.reporting.failures import explain_step
from linkwork.simulation.reporting.snapshot import read_only_state
from linkwork.simulation.stepping.evaluate import accelerations_now
from linkwork.simulation.stepping.evaluate_loops import closed_accelerations_now
from linkwork.simulation.stepping.from_python import Ended, advance_in_python
from linkwork.simulation.thermal.langevin import Langevin
from linkwork.simulation.view import CompiledSteps
from linkwork.statics.elimination.workspace import Acting

DEVICES = ("cpu", "gpu")
IMPLICIT_EULER = "implicit_euler"
FULL_INTEGRATORS = (*INTEGRATORS, IMPLICIT_EULER)
OF_ONE_CALL = np.array([mv.SUBSTEPS, mv.EVALUATIONS, mv.HALVINGS, mv.UNBALANCED])  # entries of `counts` in a report


class FullDynamics(Dynamics):
    """Dynamics of a whole linkage in time.

    algorithm: of the accelerations, as in `forward_dynamics`; "aba" runs many steps without leaving compiled code.
    integrator: "semi_implicit_euler" (order 1), "rk4", "dormand_prince" (order 5, substeps within rtol and atol) or
    "implicit_midpoint" (order 2, keeps energy over long runs), "kick_drift_kick" (order 2, asks a field once per step),
    "variational" (order 2, for long runs of linkages that whip: momentum kept, energy without drift); or
    "implicit_euler" (order 1, with the stiffness of tension: for cables under forces far above their weight; trees only,
    momentum is not kept). "auto", the default, takes the variational integrator,
    semi-implicit Euler with limits of motors or explicit joints, kick, drift, kick with a thermostat or with a field and
    dampers or loops; contact and limits of joints do not change the choice. `sim.integrator` says which.
    implicit_joints: semi-implicit Euler and the implicit midpoint rule take springs, dampers and motors of joints
    implicitly, so that no gain is too stiff for the step. By default with "aba", which alone can do it.
    keep_momentum: with semi-implicit Euler, floating trees change their momentum by external loads only, with the
    variational integrator those with loops too; by default, but in water.
    rtol, atol: error a substep of dormand_prince may make in each coordinate and velocity, relative and absolute.
    device: "gpu" computes the accelerations there (algorithm "gpu"); `lw.gpu.DeviceModel.step` also keeps the state there.
    field: forces that depend on the poses of all bodies, such as `mol.field()`, found anew at every stage. In the units of
    the model: for molecules nm, ps, Da and kJ/mol, not those of the SI that results are labelled with.
    thermostat: `Langevin(temperature)`; friction and noise change velocities after every step.
    contact: how bodies touch each other and obstacles (`lw.Contact`); None: they pass through.
    limits: whether joint limits stop joints; by default where the model has some.
    water: `lw.Water(...)` or `lw.air(...)` around the bodies; drag is taken where the step ends, so that no fluid is too
    viscous for it. With "semi_implicit_euler", without contact, and without limits (limits=False where the model has
    some); the stream's work is not in the energy.
    Contact and limits need "aba", without field and thermostat, and any integrator but "implicit_euler". Steps in which
    something touches are made as by "semi_implicit_euler". Loops are closed again after each step.
    Cost: O(n) per evaluation of the accelerations ("aba").
    """

    GRADIENTS = "steps"  # every step of the whole model has a map with derivatives
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
        "_water_settings",
    )
    _forces: ModelForces

    def __init__(
        self,
        model: Model,
        state: State,
        *,
        algorithm: str = "aba",
        integrator: str = AUTO,
        implicit_joints: bool | None = None,
        keep_momentum: bool | None = None,
        rtol: float = RTOL,
        atol: float = ATOL,
        device: str = "cpu",
        field: Field | None = None,
        thermostat: Langevin | None = None,
        contact: Contact | None = None,
        limits: bool | None = None,
        water: Water | None = None,
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
        implicit = algorithm == "aba" and implicit_joints is not False
        acts_from_python = field is not None or thermostat is not None
        if water is not None:
            integrator = integrator_in_water(
                model, integrator, algorithm, contact, acts_from_python, limits, keep_momentum
            )
            limits = False
        integrator = chosen_integrator(model, integrator, implicit, field, thermostat)
        if integrator == IMPLICIT_EULER and (
            model.is_constrained
            or algorithm != "aba"
            or implicit_joints is False
            or field is not None
            or thermostat is not None
        ):
            raise StateError(
                "implicit_euler is for trees, by its own sweeps, with implicit joints; leave the rest out."
            )
        if integrator == "variational" and (algorithm != "aba" or implicit_joints is False):
            raise StateError("variational works with the algorithm 'aba' and implicit joints; leave the rest out.")
        if algorithm != "aba" and (model.is_constrained or implicit_joints):
            what = "loops" if model.is_constrained else "implicit_joints"
            raise StateError(f"{what} need the algorithm 'aba'; leave out algorithm='{algorithm}'.")
        act = choose_limits(model, contact, limits, integrator, algorithm, acts_from_python)
        implicit = algorithm == "aba" if implicit_joints is None else implicit_joints
        keep = water is None if keep_momentum is None else keep_momentum
        super().__init__(model, state, Stepping(integrator, implicit, keep, rtol, atol), contact, act)
        self.algorithm, self.water = algorithm, water
        self._water_settings = "" if water is None else repr(water)
        self._implicit = ImplicitEuler(model) if integrator == IMPLICIT_EULER else None
        self._laws = np.zeros((model.nv if self._implicit is not None else 0, 3))
        self._forces = ModelForces(model, field, thermostat, algorithm, integrator)
        self._begin_moving(model.arrays, is_model=True)
        self._moving.replace(effort=self._joints.effort, motor=self._joints.motor, wrench=self._loads.wrench)
        self._fluid = None if water is None else InFluid(model, water, self._moving)
        self._forces.act_on(self._moving, self._loads, self._joints)
        moving = self._moving.arrays
        moving.q[:], moving.v[:] = self._first_state
        moving.effort_limit[:], moving.velocity_limit[:] = model.effort_limit, model.velocity_limit
        self._load_table_grew()
        self._moving.read_momentum()
        if self._contact_state is not None:
            self._contact_state.warnings.of_overlaps(moving.world)

    def _begin_at(self, q: FloatArray, v: FloatArray) -> None:
        self._moving.arrays.q[:], self._moving.arrays.v[:] = q, v
        self._moving.reset()
        if self._contact_state is not None:
            self._contact_state.reset()
        self._forces.forget()
        self._energy_watch.forget()
        self._moving.read_momentum()

    def _more_of_view(self) -> dict[str, Any]:
        return {"refresh": self._forces.refresh, "steps": self._compiled_steps()}

    def _compiled_steps(self) -> CompiledSteps | None:
        if self._step_of_python() is not None:
            return None
        moving = self._moving
        return CompiledSteps(self._start_anew, self._begin_steps, lambda: moving.table, moving.address, self._end_steps)

    # ------------------------------------------------------------------------------------------------------------ results

    @property
    def state(self) -> State:
        """The present coordinates and velocities: a copy for reading; `set_state` sets another."""
        return read_only_state(self._moving.arrays.q.copy(), self._moving.arrays.v.copy())

    @property
    def acceleration(self) -> FloatArray:
        """Joint accelerations at the present state under the present loads [rad/s² or m/s²], shape (nv,)."""
        self._forces.refresh()
        moving = self._moving
        if self._fluid is not None:
            self._fluid.follow(self.time)
        if self.algorithm == "aba":
            evaluate = closed_accelerations_now if self.model.is_constrained else accelerations_now
            status = evaluate(moving.table)
            if status != mv.OK:
                raise explain_step(self.model, "the accelerations", status, moving.arrays, self._loads.wrench)
        else:
            self._forces.accelerate()
        return moving.arrays.qdd.copy()

    def scalars(self) -> dict[str, float]:
        """Scalars worth plotting over time: energies [J], of gravity, joint springs and the field as far as potential."""
        now = self.energy
        found = {"kinetic_energy": now.kinetic, "potential_energy": now.potential, "energy": now.total}
        return found | self._forces_and_contact_scalars(now.kinetic, self.model.nv)

    # ------------------------------------------------------------------------------------------------------------- moving

    def step(self, h: float, n: int = 1) -> FullReport:
        """Moves on by n steps of h seconds.

        Raises StateError where accelerations do not exist, numbers overflow or an integrator gives up; the simulation then
        stays at its last good state.
        """
        counts, numbers = self._moving.arrays.counts, self._moving.arrays.numbers
        counts[OF_ONE_CALL] = 0
        numbers[mv.ERROR] = 0.0
        return self._report_with(self._step(h, n))

    @property
    def report(self) -> FullReport:
        """What the last call of `step` did, and the energy now."""
        return self._report_with(self.energy)

    def _report_with(self, energy: Energy) -> FullReport:
        counts = self._moving.arrays.counts
        error = float(self._moving.arrays.numbers[mv.ERROR]) if self.integrator == "dormand_prince" else math.nan
        return FullReport(
            int(counts[mv.SUBSTEPS]),
            int(counts[mv.EVALUATIONS]),
            error,
            energy.total,
            self._forces.energy,
            self.contact_report,
            int(counts[mv.HALVINGS]),
            int(counts[mv.UNBALANCED]),
        )

    def _fastest(self) -> tuple[float, int]:
        return fastest(self._moving.arrays.tree, self._moving.arrays.v)

    @property
    def _could_gain_energy(self) -> bool:
        return super()._could_gain_energy or self._forces.are_asked

    def advance(self, h: float, n: int = 1) -> None:
        """Moves on by n steps of h seconds, without a report: one call of compiled code."""
        h, n = positive(h, "h"), integer(n, 1, "the number of steps")
        self._begin_steps(h)
        self._end_steps(h, n, *self._make_steps(h, n))

    def _begin_steps(self, h: float) -> None:
        """Before steps of h [s], by any caller of their kernel."""
        if h not in self._checked_steps:
            self._check_stiffness(self.state, self.integrator, self.implicit_joints, h)

    def _make_steps(self, h: float, n: int) -> tuple[int, int, LinkworkError | None]:
        """Up to n steps: how they ended, how many were made, and what Python found wrong in one of its steps."""
        step = self._step_of_python()
        if step is not None:
            return advance_in_python(step, h, n, self._forces.after_step)
        return *self._advance(self._moving.table, h, n), None

    def _end_steps(self, h: float, n: int, status: int, done: int, fault: LinkworkError | None = None) -> None:
        """After `done` of n steps: counts them, makes those that had to wait for memory, and raises what went wrong."""
        while True:
            self.steps_done += done
            self.time += done * h
            n -= done
            if status != mv.CONTACTS_GROW:
                break
            self._moving.grow()
            self._load_table_grew()
            status, done, fault = self._make_steps(h, n)
        if self._forces.are_asked:
            self._forces.record_efforts(h)
        elif self._implicit is not None:
            note_euler_step(self._moving.table, h)
        self._moving.has_recorded = status == mv.OK
        if status != mv.OK:
            with given_in(self.units):
                cause = fault or self._explain_contact(status)
                cause = cause or explain_step(self.model, "a step", status, self._moving.arrays, self._loads.wrench)
            raise self._failure(h, cause)
        self._warn_of_long_steps(h)

    def _step_of_python(self) -> Callable[[float], Ended] | None:
        """What makes one step where Python has a part in it; None where compiled code makes all of them at once."""
        if self._implicit is not None:
            return self._step_implicitly
        if self._forces.are_asked:
            return self._forces.step
        if self._fluid is not None and self._fluid.water.changes:
            return partial(self._step_in_stream, count())
        return None

    def _step_in_stream(self, made: Iterator[int], h: float) -> Ended:
        """One step in a stream that changes with time, taken as it is where the step begins. made: steps of this call."""
        assert self._fluid is not None
        self._fluid.follow(self.time + next(made) * h)
        return self._advance(self._moving.table, h, 1)[0], None

    def _step_implicitly(self, h: float) -> Ended:
        """One step of implicit Euler, by sweeps of its own."""
        assert self._implicit is not None
        moving, table = self._moving.arrays, self._loads
        acting = Acting(self._joints.effort, table.wrench, table.table[: table.count], table.body[: table.count])
        moving.start_q[:], moving.start_v[:] = moving.q, moving.v
        moving.saturation_velocity[:] = moving.v
        motor_laws(self._moving.table, h, self._laws)
        status = self._implicit.step(moving.q, moving.v, h, acting, self._laws)
        if status == mv.OK:
            moving.qdd[:] = (moving.v - moving.start_v) / h
            moving.counts[[mv.SUBSTEPS, mv.EVALUATIONS]] += 1
        return status, None

    def _failure(self, h: float, error: LinkworkError) -> StateError:
        s = unit("s", self.units)
        return StateError(
            f"the step of {h:g} {s} from t = {self.time:.9g} {s} on (step {self.steps_done + 1}) failed: {error} The "
            "simulation stays at that time; a smaller step may lead further."
        )

    # -------------------------------------------------------------------------------------------------------- what changes

    def _load_table_grew(self) -> None:
        self._moving.replace(load=self._loads.table, load_body=self._loads.body)
        self._moving.describe()
        self._loads_changed(self._loads.body[:0], 0)

    def _loads_changed(self, bodies: IntArray, world: int) -> None:
        moving = self._moving
        moving.arrays.counts[mv.LOADS] = self._loads.count
        has_wrenches = self._loads.has_fixed or self._forces.field is not None
        moving.table[mv.ROWS_OF_WRENCH] = self.model.n_bodies if has_wrenches else 0

    def _joints_changed(self, joints: IntArray) -> None:
        counts = self._moving.arrays.counts
        counts[mv.MOTORS] = len(self._joints.motor_joints)
        counts[mv.LIMITED] = max(counts[mv.LIMITED], self._joints.has_friction)

    def _coordinates_at(self, places: IntArray) -> FloatArray:
        return self._moving.arrays.q[places]

    def _parts_of_efforts(self) -> FloatArray:
        moving = self._moving.arrays
        if self._moving.has_recorded:
            return moving.applied_efforts
        self._forces.refresh()
        forces = JointForces(*(getattr(moving, name) for name in JointForces._fields))
        return present_efforts(
            forces._replace(joint_effort=np.zeros(self.model.nv), applied_efforts=np.zeros_like(moving.applied_efforts))
        )

    def _restored(self) -> None:
        if self._contact_state is not None:
            self._load_table_grew()
        self._energy_watch.forget()
        self._joints_changed(self._loads.body[:0])
