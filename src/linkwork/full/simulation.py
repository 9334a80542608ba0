"""FullDynamics: every joint moves, by any algorithm of forward dynamics and any integrator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.bundles import describe
from linkwork.core.checks import positive, whole
from linkwork.dynamics.front import ALGORITHMS, Energy, Momentum
from linkwork.dynamics.inputs import as_finite_state
from linkwork.errors import LinkworkError, StateError
from linkwork.full.implicit_euler import ImplicitEuler
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

FloatArray = NDArray[np.float64]

DEVICES = ("cpu", "gpu")
IMPLICIT_EULER = "implicit_euler"
FULL_INTEGRATORS = (*INTEGRATORS, IMPLICIT_EULER)


@dataclass(frozen=True, slots=True)
class FullReport(Report):
    """What a call of `step` did.

    steps_taken: steps, or substeps where the integrator controls its error.
    evaluations: of the accelerations.
    error_estimate: sum of the estimated errors of the substeps, in the worst coordinate or velocity [rad, m, rad/s or m/s];
    NaN for integrators without an estimate.
    energy: kinetic and potential (gravity, joint springs) at the end [J].
    """

    steps_taken: int
    evaluations: int
    error_estimate: float
    energy: float


class FullDynamics(LinkageSimulation):
    """Dynamics of a whole linkage in time.

    algorithm: of the accelerations, as in `forward_dynamics`; "aba" runs many steps without leaving compiled code.
    integrator: "semi_implicit_euler" (order 1), "rk4", "dormand_prince" (order 5, substeps within rtol and atol) or
    "implicit_midpoint" (order 2, keeps energy over long runs); or "implicit_euler" (order 1, with the stiffness of tension:
    for cables under forces far above their weight; trees only, momentum is not kept).
    implicit_joints: semi-implicit Euler and the implicit midpoint rule take springs, dampers and motors of joints
    implicitly, so that no gain is too stiff for the step. By default with "aba", which alone can do it.
    keep_momentum: with semi-implicit Euler, floating trees change their momentum by external loads only.
    rtol, atol: error a substep of dormand_prince may make in each coordinate and velocity, relative and absolute.
    device: "gpu" computes the accelerations there (algorithm "gpu"); `lw.gpu.DeviceModel.step` also keeps the state there.
    Loops are closed again after every step. Joint limits are data; they do not act.
    Cost: O(n) per evaluation of the accelerations ("aba").
    """

    _SETTINGS = ("algorithm", "integrator", "implicit_joints", "keep_momentum", "rtol", "atol")

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
        device: str = "cpu",
    ):
        if device not in DEVICES:
            raise StateError(f"there is no device {device!r}; choose one of {', '.join(DEVICES)}.")
        if device == "gpu":
            if algorithm not in ("aba", "gpu"):
                raise StateError(f"algorithm '{algorithm}' does not run on a GPU; leave it out with device='gpu'.")
            algorithm = "gpu"
        if algorithm not in ALGORITHMS:
            raise StateError(f"there is no algorithm '{algorithm}'; choose one of {', '.join(ALGORITHMS)}.")
        if integrator not in FULL_INTEGRATORS:
            raise StateError(f"there is no integrator '{integrator}'; choose one of {', '.join(FULL_INTEGRATORS)}.")
        if integrator == IMPLICIT_EULER and (model.loops or algorithm != "aba" or implicit_joints is False):
            raise StateError(
                "implicit_euler is for trees, by its own sweeps, with implicit joints; leave the rest out."
            )
        if algorithm != "aba" and (model.loops or implicit_joints):
            what = "loops" if model.loops else "implicit_joints"
            raise StateError(f"{what} need the algorithm 'aba'; leave out algorithm='{algorithm}'.")
        super().__init__(model)
        self.algorithm, self.integrator, self.keep_momentum = algorithm, integrator, bool(keep_momentum)
        self.implicit_joints = algorithm == "aba" if implicit_joints is None else bool(implicit_joints)
        self.rtol, self.atol = (positive(x, what) for x, what in ((rtol, "rtol"), (atol, "atol")))
        q, v = as_finite_state(model, state)
        if model.loops:
            refuse_open_loops(model, State(q, v))
        method = INTEGRATORS.get(integrator, mv.SEMI_IMPLICIT_EULER)
        self._implicit = ImplicitEuler(model) if integrator == IMPLICIT_EULER else None
        bases, tree_of = mv.floating_trees(model)
        if not (self.keep_momentum and integrator == "semi_implicit_euler"):
            bases = bases[:0]
        moving = mv.allocate(model.arrays, bases, tree_of, method)
        self._moving = moving._replace(effort=self._effort, motor=self._motor, wrench=self._loads.wrench)
        self._constraints = allocate_constraints(model, model.n_bodies, model.nv)
        self._moving.q[:], self._moving.v[:] = q, v
        counts, numbers = self._moving.counts, self._moving.numbers
        counts[mv.METHOD], counts[mv.IMPLICIT], counts[mv.KEEPS_MOMENTUM] = method, self.implicit_joints, bases.size > 0
        numbers[[mv.RTOL, mv.ATOL, mv.SUBSTEP_WISH]] = self.rtol, self.atol, math.inf
        self._advance = steps.advance_closed if model.loops else steps.advance
        self._load_table_grew()
        read_momentum(self._table)

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
        numbers[mv.ERROR] = 0.0
        self.advance(h, n)
        error = float(numbers[mv.ERROR]) if self.integrator == "dormand_prince" else math.nan
        return FullReport(int(counts[mv.SUBSTEPS]), int(counts[mv.EVALUATIONS]), error, self.energy.total)

    def advance(self, h: float, n: int = 1) -> None:
        """Moves on by n steps of h seconds, without a report: one call of compiled code."""
        h, n = positive(h, "h"), whole(n, 1, "the number of steps")
        if h not in self._steps_judged:
            self._judge_stiffness(self.state, self.integrator, self.implicit_joints, h)
        if self._implicit is not None:
            self._advance_implicitly(self._implicit, h, n)
        elif self.algorithm == "aba":
            status, done = self._advance(self._table, h, n)
            self._count(h, done)
            if status != mv.OK:
                raise self._failure(h, explain_step(self.model, "a step", status, self._moving, self._loads.wrench))
        else:
            for _ in range(n):
                self._step_from_outside(h)
                self._count(h, 1)

    def _advance_implicitly(self, rule: ImplicitEuler, h: float, n: int) -> None:
        for _ in range(n):
            status = rule.step(self._moving.q, self._moving.v, h, self)
            if status != mv.OK:
                raise self._failure(h, explain_step(self.model, "a step", status, self._moving, self._loads.wrench))
            self._moving.counts[[mv.SUBSTEPS, mv.EVALUATIONS]] += 1
            self._count(h, 1)

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
        self._table = describe(self._moving, self._constraints)
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

    def _restored(self, saved: dict[str, Any]) -> None:
        self._moving.counts[mv.COMPOSITES_READY] = 0
        self._joint_changed(-1)
