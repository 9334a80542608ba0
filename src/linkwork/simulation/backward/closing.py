"""The end of a step of a closed linkage, backwards: what closed its loops again (`constrained.loop_forces.close_loops`).

The step left (q', v'), with gaps and slips. With M at q', J' and J the rows of the loops there and where they are closed,

    q = q' ⊕ δ,  δ = M⁻¹J'ᵀλ,  gap(q) = 0,        v = v' + r δ + M⁻¹Jᵀν,  J v = 0

r is one over the step by Euler's rule, whose coordinates go by v, else zero.

Weights g, w on q and v go back by the equations of λ and ν, transposed. Both are solved with J'M⁻¹J'ᵀ, which is wrong by
the size of the gap: a few corrections.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.derivatives import forward
from linkwork.derivatives.kinematics import Moving
from linkwork.derivatives.stepping.explicit_steps import moved_back
from linkwork.derivatives.stepping.step_gradients import UNSEEN, Seen, StepGradients, StepMap
from linkwork.dynamics.api import solve_dca
from linkwork.dynamics.inputs import NO_EFFORT, NO_WRENCHES
from linkwork.dynamics.paths.path_data import solver_paths
from linkwork.errors import StateError
from linkwork.loops.closing import loop_solver
from linkwork.loops.factors import Factors
from linkwork.loops.gradients import reaction_turns, refuse_turning, stacked
from linkwork.loops.system import LoopSystem, loop_plan
from linkwork.model.model import Model, inertia_only
from linkwork.model.state import State

MOST, ENOUGH = 30, 1e-15  # corrections, and the part of what was there at first that may be left
MISSED = 1e-7  # part of the displacements and velocities: loops are closed to 1e-10 [rad, m and per second]


class Closed(NamedTuple):
    """Gradients before loops were closed, and of the masses that decided how."""

    q: FloatArray
    v: FloatArray
    inertias: FloatArray
    armature: FloatArray


class Closing:
    """How loops of a model are closed at the end of steps."""

    def __init__(self, model: Model):
        self.plan = loop_plan(model)
        self.heavy = replace(model, arrays=inertia_only(model.arrays))
        self.tree = self.heavy.without_loops

    def at(self, end: State, rate: float = 0.0) -> Shut:
        """Closes the loops at (q', v'). rate: r [1/s]."""
        return Shut(self, end, rate)


class Shut:
    """Loops that were open at the end of a step, closed. state: where they are."""

    def __init__(self, closing: Closing, end: State, rate: float):
        self.closing, self.plan, self.tree, self.rate = closing, closing.plan, closing.tree, rate
        self.still = np.zeros(self.tree.nv)
        self.open = LoopSystem(self.plan, end.q, end.v)
        refuse_turning(self.plan, self.open)
        solver = loop_solver(closing.heavy)
        solve_dca(solver, end.q, self.still, NO_EFFORT, NO_WRENCHES)
        matrix = self.open.matrix(solver_paths(solver), solver.assembly.leaf)
        self.factors = Factors(matrix, self.open.free_responses())
        self.q, self.v = end
        self.at_open = Moving(self.tree, State(self.q, self.still))
        self.force = self._corrected(lambda force: -self._gap(force))
        self.way = self._pushed(self.open.wrenches(self.force))
        q = self.tree.integrate(self.q, self.way)
        self.v = self.v + rate * self.way
        self.closed = LoopSystem(self.plan, q, self.v)
        self.impulse = self._corrected(lambda impulse: -self._slip(q, impulse))
        v = self.v + self._pushed(self.closed.wrenches(self.impulse))
        self.state = State(q, v)
        self.then = Moving(self.tree, self.state)

    def refuse_others(self, after: State) -> None:
        """A step whose closing ended elsewhere was not the one that goes back here."""
        way = np.abs(self.tree.difference(after.q, self.state.q)).max(initial=0.0)
        speed = np.abs(after.v - self.state.v).max(initial=0.0)
        size = 1.0 + np.abs(self.way).max(initial=0.0)
        if not (way <= MISSED * size and speed <= MISSED * (1.0 + np.abs(after.v).max(initial=0.0))):
            raise StateError(
                f"the loops of '{self.tree.name}' were not closed as the way back closes them ({way:.1e} rad or m and "
                f"{speed:.1e} per second apart); take shorter steps."
            )

    def back(self, by_q: FloatArray, by_v: FloatArray) -> Closed:
        """From weights on q (along the tangent there) and v where loops are closed, (nv,) each."""
        # velocities: w = by_v - Jᵀη, with J M⁻¹ w = 0
        pushes = self.closed.wrenches(self.impulse)
        _, pull_v = forward.vjp(self.tree, State(self.q, self.still), None, pushes)
        eta = self._corrected(lambda x: self._along(self.closed, pull_v, by_v - self._rows(self.closed, x)))
        w = by_v - self._rows(self.closed, eta)
        fast: Any = pull_v(w)
        turns = reaction_turns(self.plan, self.closed, self.closed.reactions(eta), self.then.twists)
        turns -= reaction_turns(self.plan, self.closed, self.closed.reactions(self.impulse), fast.wrenches)
        more, _ = self.then.back(turns, -self.closed.wrenches(eta))
        # coordinates: g = by_q - Jᵀη, with J' M⁻¹ (what of g comes to δ) = 0
        by_q = by_q + more
        _, pull_q = forward.vjp(self.tree, State(self.q, self.still), None, self.open.wrenches(self.force))
        eta = self._corrected(
            lambda x: self._along(self.open, pull_q, self._to_way(by_q - self._rows(self.closed, x), w)[1])
        )
        start, by_way = self._to_way(by_q - self._rows(self.closed, eta), w)
        moved: Any = pull_q(by_way)
        turns = reaction_turns(self.plan, self.open, self.open.reactions(self.force), moved.wrenches)
        turned, _ = self.at_open.back(-turns, None)
        return Closed(
            start + moved.q + turned + fast.q, w, moved.inertias + fast.inertias, moved.armature + fast.armature
        )

    # ------------------------------------------------------------------------------------------------------- ingredients

    def _corrected(self, missing: Any) -> FloatArray:
        """x with missing(x) = 0, where its derivative is close to -J'M⁻¹J'ᵀ."""
        x, first = np.zeros(self.plan.count), 0.0
        before = np.inf
        for _ in range(MOST):
            step = self.factors.solve(missing(x))
            size = float(np.abs(step).max(initial=0.0))
            first = max(first, size)
            if not (size > ENOUGH * first and size < 0.5 * before):  # the rest is rounding
                break
            x, before = x + step, size
        return x

    def _pushed(self, wrenches: FloatArray) -> FloatArray:
        """M⁻¹Jᵀ of wrenches, at q'."""
        found, _ = forward.vjp(self.tree, State(self.q, self.still), None, wrenches, wrt=("effort",))
        return found

    def _gap(self, force: FloatArray) -> FloatArray:
        way = self._pushed(self.open.wrenches(force))
        return LoopSystem(self.plan, self.tree.integrate(self.q, way), self.still).gap

    def _slip(self, q: FloatArray, impulse: FloatArray) -> FloatArray:
        return LoopSystem(self.plan, q, self.v + self._pushed(self.closed.wrenches(impulse))).slip

    def _rows(self, system: LoopSystem, x: FloatArray) -> FloatArray:
        """Jᵀx, with J where loops are closed."""
        return self.then.back(None, system.wrenches(x))[1]

    def _along(self, system: LoopSystem, pull: Any, weights: FloatArray) -> FloatArray:
        """Rows of a system times the twists of M⁻¹ weights, at q'."""
        return np.asarray(system.C @ stacked(self.plan, pull(weights).wrenches))

    def _to_way(self, by_q: FloatArray, by_v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients with respect to q' and δ from those with respect to q' ⊕ δ and v' + r δ."""
        start, by_way = moved_back(self.tree, self.way, 1.0, by_q)
        return start, by_way + self.rate * by_v


class ClosedStep(StepMap):
    """The map of one step of a closed linkage: that of its integrator, then what closes its loops."""

    def __init__(self, step: StepMap):
        self.step, self.model, self.h = step, step.model, step.h
        self.closing = Closing(step.model)

    def remember(self, sim: Any) -> Any:
        return self.step.remember(sim)

    def back(
        self, before: State, after: State, effort: FloatArray, by_q: FloatArray, by_v: FloatArray, seen: Seen = UNSEEN
    ) -> StepGradients:
        end = self.step.open_end(before, after, effort, seen)
        shut = self.closing.at(end)
        shut.refuse_others(after)
        found = shut.back(by_q, by_v)
        back = self.step.back(before, end, effort, found.q, found.v, seen)
        return back._replace(inertias=back.inertias + found.inertias, armature=back.armature + found.armature)


def closable(kind: Any) -> Any:
    """The step of an integrator, with what closes loops where there are some."""

    def made(sim: Any, h: float) -> StepMap:
        step: StepMap = kind(sim, h)
        return ClosedStep(step) if sim.model.loops else step

    return made
