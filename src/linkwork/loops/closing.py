"""Bringing the frames of loops together, and keeping them there: Newton steps for positions, a projection for velocities.

A gap g is closed by δq = -M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ g, the smallest step in the metric of the mass matrix, so heavy parts stay and
light ones move; a slip s by δv = -M⁻¹Jᵀ (J M⁻¹ Jᵀ)⁺ s, which is the impulse that stops it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import integer, positive
from linkwork.dynamics.api import dca_solver, forward_dynamics
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.inputs import NO_EFFORT, NO_WRENCHES, as_model, as_state
from linkwork.dynamics.paths.path_data import solver_paths
from linkwork.dynamics.remembered import remembered
from linkwork.errors import ModelError, StateError
from linkwork.loops.assembling import Assembly, assemble_loops
from linkwork.loops.factors import Factors
from linkwork.loops.system import LoopPlan, LoopSystem, loop_plan
from linkwork.model.model import Model, inertia_only
from linkwork.model.state import State

LONGEST_STEP = 0.5  # [rad or m] of any coordinate in one Newton step: beyond it the start is rough
SHORTEST_SCALE = 2.0**-10  # of a Newton step that is halved because the gap did not shrink


class LoopGaps(NamedTuple):
    """How far loops are open and how fast they open, loop by loop in their constrained directions."""

    gap: FloatArray  # (p,) [rad or m]
    slip: FloatArray  # (p,) [rad/s or m/s]
    redundant: int  # constraints that say what others say already

    @property
    def worst_gap(self) -> float:
        return float(np.abs(self.gap).max(initial=0.0))

    @property
    def worst_slip(self) -> float:
        return float(np.abs(self.slip).max(initial=0.0))


def loop_gaps(model: Model, state: State) -> LoopGaps:
    """The residuals of all loops, then couplings, at a state, and how many of their p constraints are redundant there.

    Cost: O(n + p² log n + p³).
    """
    q, v = as_state(model, state)
    system = LoopSystem(loop_plan(model), q, v)
    return LoopGaps(system.gap, system.slip, _factors(system, q).redundant)


def close_loops(model: Model, state: State, *, tolerance: float = 1e-10, max_steps: int = 100) -> State:
    """The nearest state at which all loops are closed and stay so: coordinates by Newton steps, then velocities.

    From a start that is nearly closed the steps are the smallest in the metric of the masses. Rough starts (another shape,
    a stretched-out chain, a random state) are assembled first, by steps that are the smallest in the joint coordinates,
    near the start before further away (docs/theory/loops.md).
    tolerance: largest gap [rad or m] and slip [rad/s or m/s] that may be left.
    max_steps: of one attempt; a rough start takes several.
    Raises StateError, with the smallest gap that was found, where loops cannot be closed.
    Cost: O(n + p² log n + p³) per step near the closed shape, O(p n + p³) far from it; two or three steps where a loop is
    nearly closed.
    """
    plan = loop_plan(as_model(model, "close_loops"))
    tolerance, max_steps = positive(tolerance, "tolerance"), integer(max_steps, 1, "max_steps")
    q, v = as_state(model, state)
    closed = _close_positions(plan, q, tolerance, max_steps)
    if closed is None:
        found = assemble_loops(plan, q, tolerance, max_steps)
        closed = _close_positions(plan, found.q, tolerance, max_steps)
        if closed is None:
            raise _cannot_close(plan, found, tolerance, max_steps)
    q, factors = closed
    for _ in range(3):  # one projection is exact; the others take away its rounding
        system = LoopSystem(plan, q, v)
        if np.abs(system.slip).max(initial=0.0) <= tolerance:
            break
        v = v - _push(plan, q, system.wrenches(factors.solve(system.slip)))
    return State(q, v)


def _close_positions(
    plan: LoopPlan, q: FloatArray, tolerance: float, max_steps: int
) -> tuple[FloatArray, Factors] | None:
    """Newton steps in the metric of the masses from a start that is nearly closed; None where it is not."""
    model, still = plan.model, np.zeros(plan.model.nv)
    system = LoopSystem(plan, q, still)
    factors = _factors(system, q)
    for _ in range(max_steps):
        if np.abs(system.gap).max(initial=0.0) <= tolerance:
            return q, factors
        step = -_push(plan, q, system.wrenches(factors.solve(system.gap)))
        if not np.abs(step).max(initial=0.0) <= LONGEST_STEP:
            return None
        before, scale = float(np.linalg.norm(system.gap)), 1.0
        while True:
            tried = model.integrate(q, step, scale)
            trial = LoopSystem(plan, tried, still)
            if np.linalg.norm(trial.gap) < before or np.abs(trial.gap).max(initial=0.0) <= tolerance:
                break
            scale *= 0.5
            if scale < SHORTEST_SCALE:
                return None
        q, system = tried, trial
        factors = _factors(system, q)
    return (q, factors) if np.abs(system.gap).max(initial=0.0) <= tolerance else None


def _cannot_close(plan: LoopPlan, found: Assembly, tolerance: float, max_steps: int) -> StateError:
    system = found.system
    gaps = [float(np.linalg.norm(system.gap[rows])) for _, rows in plan.named]
    worst = int(np.argmax(gaps))
    idle = _factors(system, found.q).redundant
    silent = f" {idle} of {plan.count} constraints do not respond there;" if idle else ""
    return StateError(
        f"{plan.named[worst][0]} cannot be closed: still open after {found.attempts} attempts of at most "
        f"{max_steps} steps, with {gaps[worst]:.4g} (rad or m) missing between its frames at best; {tolerance:g} was asked "
        f"for.{silent} check lengths and placements, start closer to the closed shape, or allow more max_steps."
    )


# ----------------------------------------------------------------------------------------------------------- ingredients


def _factors(system: LoopSystem, q: FloatArray) -> Factors:
    """J M⁻¹ Jᵀ at q, factored."""
    model = system.plan.model
    solver = loop_solver(model)
    solver.prepare(q, np.zeros(model.nv), NO_EFFORT, NO_WRENCHES)
    bad = solver.assemble()
    A = system.matrix(solver_paths(solver), solver.assembly.leaf)
    if bad >= 0 or not np.isfinite(A).all():
        joint = f" at joint '{model.joint_names[bad]}'" if bad >= 0 else ""
        raise StateError(
            f"model '{model.name}' cannot be solved{joint} at this state; it resists with no inertia there."
        )
    return Factors(A, system.free_responses())


def loop_solver(model: Model) -> DcaSolver:
    """This thread's divide-and-conquer solver, for path queries."""
    try:
        return dca_solver(model)
    except ModelError as error:
        raise ModelError(
            f"body '{error.about}' has a singular inertia, which loops must invert. Give it moments > 0 about all three "
            "axes.",
            about=error.about,
        ) from None


def _push(plan: LoopPlan, q: FloatArray, wrenches: FloatArray) -> FloatArray:
    """M⁻¹Jᵀ of wrenches: accelerations from rest of the same tree without gravity and springs, shape (nv,)."""
    model = plan.model
    return forward_dynamics(remembered(model, "slack", _slack), State(q, np.zeros(model.nv)), wrenches=wrenches)


def _slack(model: Model) -> Model:
    """The tree without gravity and springs."""
    return replace(model, arrays=inertia_only(model.arrays), loops=(), couplings=())
