"""FullDynamics: every joint moves, by any algorithm of forward dynamics and any integrator."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.checks import positive, whole
from linkwork.dynamics.front import ALGORITHMS, energy
from linkwork.dynamics.inputs import as_finite_state
from linkwork.errors import LinkworkError, StateError
from linkwork.full.integrators import DEFAULTS, INTEGRATORS, Settings, Step
from linkwork.full.loads import FullLoads
from linkwork.full.momentum import FreeFigures
from linkwork.loops.closing import close_loops, loop_gaps
from linkwork.loops.constrained import constrained_dynamics
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.simulation.checkpoint import check_same, restore_loads, saved_loads
from linkwork.simulation.protocol import Report, Setting
from linkwork.simulation.run import Runnable

FloatArray = NDArray[np.float64]

SETTINGS = ("algorithm", "integrator", "keep_momentum", "rtol", "atol")  # on which the course depends
COUNTERS = ("time", "steps_done", "_substep")

CLOSED = 1e-3  # gap [rad or m] and slip [rad/s or m/s] of loops at which a simulation may begin
STAGE_GAP = 0.3  # [rad or m] stages of a step leave the closed shapes; a gap this wide is a step far too long


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


class FullDynamics(FullLoads, Runnable):
    """Dynamics of a whole linkage in time.

    algorithm: of the accelerations, as in `forward_dynamics`. Models with loops are solved by `constrained_dynamics` and
    closed again after every step.
    integrator: "semi_implicit_euler" (order 1), "rk4", "dormand_prince" (order 5, substeps within rtol and atol) or
    "implicit_midpoint" (order 2, keeps energy over long runs).
    keep_momentum: with semi-implicit Euler, free figures change their linear and angular momentum by external loads only.
    rtol, atol: error a substep of dormand_prince may make in each coordinate and velocity, relative and absolute.
    Joint limits are data; they do not act. Cost: O(n) an evaluation of the accelerations ("aba").
    """

    def __init__(
        self,
        model: Model,
        state: State,
        algorithm: str = "aba",
        integrator: str = "semi_implicit_euler",
        keep_momentum: bool = True,
        rtol: float = DEFAULTS.rtol,
        atol: float = DEFAULTS.atol,
    ):
        super().__init__(model)
        if algorithm not in ALGORITHMS:
            raise StateError(f"there is no algorithm '{algorithm}'; choose one of {', '.join(ALGORITHMS)}.")
        if integrator not in INTEGRATORS:
            raise StateError(f"there is no integrator '{integrator}'; choose one of {', '.join(INTEGRATORS)}.")
        if model.loops and algorithm != "aba":
            raise StateError(
                f"model '{model.name}' has loops, which lw.constrained_dynamics solves in its own way; leave out "
                f"algorithm='{algorithm}'."
            )
        self.algorithm, self.integrator, self.keep_momentum = algorithm, integrator, bool(keep_momentum)
        self.rtol, self.atol = (positive(x, what) for x, what in ((rtol, "rtol"), (atol, "atol")))
        q, v = as_finite_state(model, state)
        self._state = State(q.copy(), v.copy())
        if model.loops:
            _refuse_open(model, self._state)
        self.time = 0.0
        self.steps_done = 0
        self._substep = math.inf  # what the error control would try next [s]
        self._solve: Callable[..., FloatArray] = _constrained if model.loops else ALGORITHMS[algorithm]
        self._step = INTEGRATORS[integrator]
        figures = FreeFigures(model) if self.keep_momentum and integrator == "semi_implicit_euler" else None
        self._figures = figures if figures is not None and len(figures) else None

    # ------------------------------------------------------------------------------------------------------------ results

    @property
    def state(self) -> State:
        """The present coordinates and velocities (a copy)."""
        return self._state.copy()

    @property
    def acceleration(self) -> FloatArray:
        """Joint accelerations at the present state under the present loads [rad/s² or m/s²], shape (nv,)."""
        return self._accelerate(*self._state)

    def scalars(self) -> dict[str, float]:
        """Scalars worth plotting over time: energies [J], of gravity and joint springs as far as potential."""
        now = energy(self.model, self._state)
        return {"kinetic_energy": now.kinetic, "potential_energy": now.potential, "energy": now.total}

    def settings(self) -> dict[str, Setting]:
        """The kind of simulation and what it was made with."""
        return {"simulation": type(self).__name__, **{name: getattr(self, name) for name in SETTINGS}}

    @property
    def work_per_step(self) -> int:
        """Joints that a step works on."""
        return max(1, self.model.n_bodies)

    # ------------------------------------------------------------------------------------------------------------- moving

    def step(self, h: float, n: int = 1) -> FullReport:
        """Moves on by n steps of h seconds.

        Raises StateError where accelerations do not exist, numbers overflow or an integrator gives up; the simulation then
        stays at its last good state.
        """
        taken, evaluations, error = self._take(h, n)
        return FullReport(taken, evaluations, error, energy(self.model, self._state).total)

    def advance(self, h: float, n: int = 1) -> None:
        """`step` without a report."""
        self._take(h, n)

    def _take(self, h: float, n: int) -> tuple[int, int, float]:
        """n steps; substeps, evaluations and estimated error of them all."""
        h, n = positive(h, "h"), whole(n, 1, "the number of steps")
        taken, evaluations, error = 0, 0, 0.0
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # reported as StateError
            for _ in range(n):
                done = self._take_one(h)
                taken += done.substeps
                evaluations += done.evaluations
                error += done.error
        return taken, evaluations, error

    def _take_one(self, h: float) -> Step:
        """One step; the state changes only where all of it succeeded."""
        try:
            settings = Settings(rtol=self.rtol, atol=self.atol, substep=self._substep)
            done = self._step(self.model, self._state, h, self._accelerate, settings)
            end = done.state
            if not math.isfinite(end.q.sum() + end.v.sum()):
                raise StateError("coordinates or velocities overflowed.")
            if self.model.loops:
                end = close_loops(self.model, end)
            if self._figures is not None:
                q, v = self._state
                loads = self._efforts_at(q, v), self._wrenches_at(q)
                end = self._figures.with_momentum(end, self._figures.momentum_after(self._state, h, *loads))
        except LinkworkError as error:
            raise StateError(
                f"the step of {h:g} s from t = {self.time:.9g} s on (step {self.steps_done + 1}) failed: {error} The "
                "simulation stays at that time; a smaller step may lead further."
            ) from error
        self._state = end
        self._substep = done.next_substep
        self.time += h
        self.steps_done += 1
        return done

    def _accelerate(self, q: FloatArray, v: FloatArray) -> FloatArray:
        return self._solve(self.model, q, v, self._efforts_at(q, v), self._wrenches_at(q))

    # -------------------------------------------------------------------------------------------------------- checkpoints

    def checkpoint(self) -> dict[str, object]:
        """Everything that depends on history, loads, efforts and motors included."""
        return {
            "simulation": type(self).__name__,
            "q": self._state.q.copy(),
            "v": self._state.v.copy(),
            "effort": self._effort.copy(),
            **self._motors.saved(),
            **saved_loads(self),
            **{name.lstrip("_"): getattr(self, name) for name in (*COUNTERS, *SETTINGS)},
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Goes back (or on) to a checkpoint of a simulation made in the same way, with the same loads applied, or none."""
        check_same(self, checkpoint, {"q": self._state.q, "v": self._state.v}, SETTINGS, {})
        q, v = as_finite_state(self.model, State(checkpoint["q"], checkpoint["v"]))
        restore_loads(self, checkpoint)
        self._motors.restore(checkpoint)
        self._effort = checkpoint["effort"].copy()
        self._state = State(q.copy(), v.copy())
        for name in COUNTERS:
            setattr(self, name, checkpoint[name.lstrip("_")])


def _constrained(model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray) -> FloatArray:
    given = effort if effort.size else None, wrenches if wrenches.size else None
    return constrained_dynamics(model, State(q, v), *given, largest_gap=STAGE_GAP).acceleration


def _refuse_open(model: Model, state: State) -> None:
    gaps = loop_gaps(model, state)
    if not (gaps.worst_gap <= CLOSED and gaps.worst_slip <= CLOSED):
        raise StateError(
            f"loops of model '{model.name}' are open by {gaps.worst_gap:.3g} (rad or m) and open at {gaps.worst_slip:.3g} "
            f"(rad/s or m/s); at most {CLOSED:g} passes. Begin at lw.close_loops(model, state)."
        )
