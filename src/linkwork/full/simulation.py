"""FullDynamics: every joint moves, by any algorithm of forward dynamics and any integrator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.contact.settings import Contact
from linkwork.core.bundles import describe
from linkwork.core.checks import positive, whole
from linkwork.dynamics.front import ALGORITHMS, Energy, Momentum
from linkwork.dynamics.inputs import as_finite_state
from linkwork.errors import LinkworkError, StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation import moving as mv
from linkwork.simulation import step as steps
from linkwork.simulation.accelerate import all_efforts, all_wrenches
from linkwork.simulation.base import IntArray, LinkageSimulation
from linkwork.simulation.constraints import allocate_constraints, refuse_open_loops
from linkwork.simulation.energy import kinetic_and_potential
from linkwork.simulation.failures import explain_step
from linkwork.simulation.integrators.chart import EVALUATE
from linkwork.simulation.integrators.names import ATOL, INTEGRATORS, RTOL
from linkwork.simulation.momentum import read_momentum, total_momentum
from linkwork.simulation.protocol import Report
from linkwork.simulation.touches import Touched, choose_limits

if TYPE_CHECKING:
    from linkwork.simulation.touching.front import ContactReport

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FullReport(Report):
    """What a call of `step` did.

    steps_taken: steps, or substeps where the integrator controls its error.
    evaluations: of the accelerations.
    error_estimate: sum of the estimated errors of the substeps, in the worst coordinate or velocity [rad, m, rad/s or m/s];
    NaN for integrators without an estimate.
    energy: kinetic and potential (gravity, joint springs) at the end [J].
    contact: what contact and joint limits did; None where neither acts.
    """

    steps_taken: int
    evaluations: int
    error_estimate: float
    energy: float
    contact: ContactReport | None = None


class FullDynamics(Touched, LinkageSimulation):
    """Dynamics of a whole linkage in time.

    algorithm: of the accelerations, as in `forward_dynamics`; "aba" runs many steps without leaving compiled code.
    integrator: "semi_implicit_euler" (order 1), "rk4", "dormand_prince" (order 5, substeps within rtol and atol) or
    "implicit_midpoint" (order 2, keeps energy over long runs).
    implicit_joints: semi-implicit Euler and the implicit midpoint rule take springs, dampers and motors of joints
    implicitly, so that no gain is too stiff for the step. By default with "aba", which alone can do it.
    keep_momentum: with semi-implicit Euler, floating trees change their momentum by external loads only.
    rtol, atol: error a substep of dormand_prince may make in each coordinate and velocity, relative and absolute.
    contact: how bodies touch each other and obstacles (`lw.Contact`); None: they pass through.
    limits: whether joint limits stop joints; by default where the model has some and the integrator can.
    Contact and limits need "semi_implicit_euler" and "aba". Loops are closed again after every step.
    Cost: O(n) per evaluation of the accelerations ("aba").
    """

    _SETTINGS = ("algorithm", "integrator", "implicit_joints", "keep_momentum", "rtol", "atol", "limits",
                 "_contact_settings")  # fmt: skip

    def __init__(
        self,
        model: Model,
        state: State,
        algorithm: str = "aba",
        integrator: str = "semi_implicit_euler",
        implicit_joints: bool | None = None,
        keep_momentum: bool = True,
        rtol: float = RTOL,
        atol: float = ATOL,
        contact: Contact | None = None,
        limits: bool | None = None,
    ):
        if algorithm not in ALGORITHMS:
            raise StateError(f"there is no algorithm '{algorithm}'; choose one of {', '.join(ALGORITHMS)}.")
        if integrator not in INTEGRATORS:
            raise StateError(f"there is no integrator '{integrator}'; choose one of {', '.join(INTEGRATORS)}.")
        if algorithm != "aba" and (model.loops or implicit_joints):
            what = "loops" if model.loops else "implicit_joints"
            raise StateError(f"{what} need the algorithm 'aba'; leave out algorithm='{algorithm}'.")
        act = choose_limits(model, contact, limits, integrator, algorithm)
        super().__init__(model)
        self.algorithm, self.integrator, self.keep_momentum = algorithm, integrator, bool(keep_momentum)
        self.implicit_joints = algorithm == "aba" if implicit_joints is None else bool(implicit_joints)
        self.rtol, self.atol = (positive(x, what) for x, what in ((rtol, "rtol"), (atol, "atol")))
        q, v = as_finite_state(model, state)
        if model.loops:
            refuse_open_loops(model, State(q, v))
        method = INTEGRATORS[integrator]
        bases, tree_of = mv.floating_trees(model)
        if not (self.keep_momentum and method == mv.SEMI_IMPLICIT_EULER):
            bases = bases[:0]
        moving = mv.allocate(model.arrays, bases, tree_of, method)
        self._moving = moving._replace(effort=self._effort, motor=self._motor, wrench=self._loads.wrench)
        self._begin_touching(model, contact, act, bases.size)
        touching = self._touching is not None
        self._constraints = allocate_constraints(model, model.n_bodies, model.nv, answers=touching)
        self._moving.q[:], self._moving.v[:] = q, v
        self._moving.strength[:] = model.effort_limit
        counts, numbers = self._moving.counts, self._moving.numbers
        counts[mv.METHOD], counts[mv.IMPLICIT], counts[mv.KEEPS_MOMENTUM] = method, self.implicit_joints, bases.size > 0
        numbers[[mv.RTOL, mv.ATOL, mv.SUBSTEP_WISH]] = self.rtol, self.atol, math.inf
        self._advance = steps.advance_closed if model.loops else steps.advance
        if self._touching is not None:
            from linkwork.simulation.touching.step import advance_limited, advance_touching

            self._advance = advance_touching if contact is not None else advance_limited
        self._load_table_grew()
        read_momentum(self._table)
        if self._touching is not None:
            self._touching.warn_of_overlaps(self._moving.world)

    # ------------------------------------------------------------------------------------------------------------ results

    @property
    def state(self) -> State:
        """The present coordinates and velocities (a copy)."""
        return State(self._moving.q.copy(), self._moving.v.copy())

    @property
    def acceleration(self) -> FloatArray:
        """Joint accelerations at the present state under the present loads [rad/s² or m/s²], shape (nv,)."""
        if self.algorithm == "aba":
            evaluate = steps.evaluate_closed if self.model.loops else steps.evaluate
            status = evaluate(self._table)
            if status != mv.OK:
                raise explain_step(self.model, "the accelerations", status, self._moving, self._loads.wrench)
        else:
            self._accelerate()
        return self._moving.qdd.copy()

    @property
    def energy(self) -> Energy:
        """Kinetic, and potential energy of gravity and joint springs [J]."""
        return Energy(*map(float, kinetic_and_potential(self._table)))

    @property
    def momentum(self) -> Momentum:
        """Linear [kg·m/s] and angular momentum [kg·m²/s] about the origin of the world."""
        x = np.array(total_momentum(self._table))
        return Momentum(linear=x[3:], angular=x[:3])

    def scalars(self) -> dict[str, float]:
        """Scalars worth plotting over time: energies [J], of gravity and joint springs as far as potential."""
        now = self.energy
        return {"kinetic_energy": now.kinetic, "potential_energy": now.potential, "energy": now.total}

    # ------------------------------------------------------------------------------------------------------------- moving

    def step(self, h: float, n: int = 1) -> FullReport:
        """Moves on by n steps of h seconds.

        Raises StateError where accelerations do not exist, numbers overflow or an integrator gives up; the simulation then
        stays at its last good state.
        """
        counts, numbers = self._moving.counts, self._moving.numbers
        counts[[mv.SUBSTEPS, mv.EVALUATIONS]] = 0
        if self._touching is not None:
            self._touching.clear_totals()
        numbers[mv.ERROR] = 0.0
        self.advance(h, n)
        error = float(numbers[mv.ERROR]) if self.integrator == "dormand_prince" else math.nan
        return FullReport(
            int(counts[mv.SUBSTEPS]), int(counts[mv.EVALUATIONS]), error, self.energy.total, self.contact_report
        )

    def advance(self, h: float, n: int = 1) -> None:
        """Moves on by n steps of h seconds, without a report: one call of compiled code."""
        h, n = positive(h, "h"), whole(n, 1, "the number of steps")
        if self.algorithm == "aba":
            status, done = self._advance(self._table, h, n)
            self._count(h, done)
            while status == mv.CONTACTS_GROW:
                n -= done
                self._make_room()
                status, done = self._advance(self._table, h, n)
                self._count(h, done)
            if status != mv.OK:
                raise self._failure(h, explain_step(self.model, "a step", status, self._moving, self._loads.wrench))
        else:
            for _ in range(n):
                self._step_from_outside(h)
                self._count(h, 1)

    def _make_room(self) -> None:
        """More contacts than there is memory for: the step that found them was taken back, and is made again."""
        assert self._touching is not None
        self._touching.grow()
        self._moving.counts[[mv.SUBSTEPS, mv.EVALUATIONS]] -= 1
        self._load_table_grew()

    def _count(self, h: float, done: int) -> None:
        self.steps_done += done
        self.time += done * h

    def _step_from_outside(self, h: float) -> None:
        """One step with accelerations by another algorithm."""
        fault: LinkworkError | None = None
        status = steps.begin_step(self._table, h)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # told as StateError
            while status == EVALUATE:
                try:
                    self._accelerate()
                    bad = mv.OK
                except LinkworkError as error:
                    fault, bad = error, mv.OVERFLOW
                status = steps.resume_step(self._table, h, bad)
        status = steps.finish_step(self._table, status)
        if status != mv.OK:
            raise self._failure(
                h, fault or explain_step(self.model, "a step", status, self._moving, self._loads.wrench)
            )

    def _accelerate(self) -> None:
        moving = self._moving
        all_efforts(self._table, self._outside_effort)
        all_wrenches(self._table, self._outside_wrenches)
        solve = ALGORITHMS[self.algorithm]
        moving.qdd[:] = solve(self.model, moving.q, moving.v, self._outside_effort, self._outside_wrenches)
        moving.counts[mv.EVALUATIONS] += 1

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
        self._table[mv.ROWS_OF_WRENCH] = self.model.n_bodies if self._loads.has_fixed else 0

    def _joint_changed(self, joint: int) -> None:
        self._moving.counts[mv.MOTORS] = len(self._driven)

    # -------------------------------------------------------------------------------------------------------- checkpoints

    def _kept(self) -> dict[str, NDArray[Any]]:
        return {
            "q": self._moving.q,
            "v": self._moving.v,
            "kept_momentum": self._moving.kept,
            "loop_coordinates": self._constraints.z,
            "substep": self._moving.numbers[mv.SUBSTEP_WISH : mv.SUBSTEP_WISH + 1],
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
        self._joint_changed(-1)
