"""Forward dynamics of closed chains: loops are cut, and the forces that close them come from J M⁻¹ Jᵀ by path queries.

With q̈₀ the accelerations of the tree with its loops cut open, (J M⁻¹ Jᵀ) λ = -(J q̈₀ + J̇ v) (equation 7 of Yamane and
Nakamura), and q̈ are the accelerations of the tree with the wrenches Jᵀλ on its bodies. Theory: docs/theory/loops.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import not_negative
from linkwork.core.messages.describe import tabled
from linkwork.dynamics.api import forward_dynamics, solve_dca
from linkwork.dynamics.inputs import as_effort, as_model, as_state, as_wrenches
from linkwork.dynamics.paths.path_data import solver_paths
from linkwork.errors import StateError
from linkwork.loops.closing import loop_solver
from linkwork.loops.coupled import coupled_tree
from linkwork.loops.factors import Factors, unmet
from linkwork.loops.forces import CONTRADICTION
from linkwork.loops.system import LoopPlan, LoopSystem, largest_coefficient, loop_plan
from linkwork.model.model import Model
from linkwork.model.state import State

NO_FORCES = np.zeros(0)
NO_REACTIONS = np.zeros((0, 6))
UNMET = 1e-6  # part of the accelerations involved, from which on there is a message; below it is rounding and drift


@tabled
class LoopSolution(NamedTuple):
    """Accelerations of a closed chain, and what its cut joints carry."""

    acceleration: FloatArray  # (nv,) [rad/s² or m/s²]
    reactions: FloatArray  # (loops, 6) wrench [n; f] on body b, in the loop's frame in b, at its origin [N·m, N]
    wrenches: (
        FloatArray  # (n, 6) all external wrenches, of loops too: with them and `effort` the open tree moves the same
    )
    redundant: int  # constraints that repeat others; the reactions are then the smallest that do
    gap: float  # largest distance between the frames of a loop [rad or m]
    slip: float  # fastest opening of a loop [rad/s or m/s]
    residual: float  # largest acceleration the constraints are left with [rad/s² or m/s²]
    message: str  # what a person should know; empty when there is nothing
    effort: FloatArray = NO_FORCES  # (nv,) all efforts, of couplings too: λ times their coefficients
    coupling_forces: FloatArray = NO_FORCES  # (couplings,) λ


def constrained_dynamics(
    model: Model,
    state: State,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    *,
    rate: float = 0.0,
    largest_gap: float = 1e-3,
) -> LoopSolution:
    """Accelerations of a linkage with loops, and the reactions of the cut joints.

    effort, wrenches: as in `forward_dynamics`.
    rate: Baumgarte's stabilization [1/s]: gaps and slips die out like t exp(-rate t), critically damped. 0 (default) keeps
    the exact equations, for integrators that call `close_loops` after a step; with steps of h, choose at most 1/(5 h).
    largest_gap: refuse states whose loops are open by more [rad or m]; stages of an integrator need some room.
    Cost: O(n + p² log n + p³) for p constraints.
    """
    plan = loop_plan(as_model(model, "constrained_dynamics"))
    q, v = as_state(model, state)
    load, external = as_effort(model, effort), as_wrenches(model, wrenches)
    rate, largest_gap = not_negative(rate, "rate", finite=True), not_negative(largest_gap, "largest_gap")
    if not model.loops:
        return _coupled_dynamics(model, plan, q, v, load, external, rate, largest_gap)
    system = LoopSystem(plan, q, v)
    _refuse_open(plan, system.gap, largest_gap)
    solver = loop_solver(model)
    solve_dca(solver, q, v, load, external)  # also refuses faulty loads
    data, leaf = solver_paths(solver), solver.assembly.leaf
    A, free = system.matrix(data, leaf), system.accelerations(data, leaf)
    right = -unmet(system, free, 2.0 * rate * system.slip + rate * rate * system.gap)
    factors = Factors(A, system.free_responses())
    force = factors.solve(right)
    left, involved = A @ force - right, np.abs(system.C) @ np.abs(free) + np.abs(system.bias)
    part = float(np.linalg.norm(left * factors.scale)) / max(float(np.linalg.norm(involved * factors.scale)), 1e-300)
    _refuse_contradiction(plan, factors.redundant, part)
    coupling = force[plan.loop_rows :].copy()
    force[plan.loop_rows :] = 0.0  # couplings act as efforts
    total = system.wrenches(force) + (external if external.size else 0.0)
    effort = load.copy() if load.size else np.zeros(model.nv)
    for one in plan.coupled:
        effort[one.freedom] += one.coefficient * coupling[one.coupling]
    return LoopSolution(
        forward_dynamics(model.without_loops, State(q, v), effort, total),
        system.reactions(force),
        total,
        factors.redundant,
        float(np.abs(system.gap).max(initial=0.0)),
        float(np.abs(system.slip).max(initial=0.0)),
        float(np.abs(left).max(initial=0.0)),
        _message(plan, factors.redundant, part),
        effort,
        coupling / [largest_coefficient(x) for x in model.couplings],
    )


def _coupled_dynamics(
    model: Model,
    plan: LoopPlan,
    q: FloatArray,
    v: FloatArray,
    load: FloatArray,
    external: FloatArray,
    rate: float,
    largest_gap: float,
) -> LoopSolution:
    """Of a tree with couplings and no loops."""
    tree = coupled_tree(model)
    qdd = tree.accelerate(model, q, v, load, external, rate)
    s = tree.arrays
    gap, slip, residual, part = s.found.tolist()
    if not gap <= largest_gap:
        _refuse_open(plan, s.gap, largest_gap)
    redundant = s.force.size - int(s.rank[0])
    if part > UNMET:
        _refuse_contradiction(plan, redundant, part)
    return LoopSolution(
        qdd,
        NO_REACTIONS,
        external.copy() if external.size else np.zeros((model.n_bodies, 6)),
        redundant,
        gap,
        slip,
        residual,
        _message(plan, redundant, part),
        s.effort + load if load.size else s.effort.copy(),
        s.force / tree.largest,
    )


def _refuse_open(plan: LoopPlan, gap: FloatArray, largest_gap: float) -> None:
    gaps = [float(np.abs(gap[rows]).max(initial=0.0)) for _, rows in plan.named]
    worst = int(np.argmax(gaps))
    if not gaps[worst] <= largest_gap:
        name = plan.named[worst][0]
        raise StateError(
            f"{name} is open by {gaps[worst]:.3g} (rad or m); at most {largest_gap:g} passes. Bring its "
            "frames together with state = lw.close_loops(model, state)."
        )


def _refuse_contradiction(plan: LoopPlan, redundant: int, part: float) -> None:
    """part: of the accelerations involved, that no reaction can meet."""
    if part > CONTRADICTION:
        names = ", ".join(name for name, _ in plan.named[:4])
        raise StateError(
            f"the constraints of {names} cannot all be met at this state: {redundant} of {plan.count} repeat "
            f"others, and {part:.1g} of the accelerations contradicts them. The shape is singular (a dead point), or "
            "velocities do not fit the loops; move away from it, or call lw.close_loops first."
        )


def _message(plan: LoopPlan, redundant: int, left: float) -> str:
    said = []
    if redundant:
        said.append(
            f"{redundant} of {plan.count} loop constraints are redundant; the reactions are the smallest that do."
        )
    if left > UNMET:
        said.append(f"{left:.1g} of the accelerations at the loops stays unmet; call lw.close_loops more often.")
    return " ".join(said)
