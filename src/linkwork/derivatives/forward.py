"""Derivatives of forward dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import shown
from linkwork.derivatives.gradients import Gradients
from linkwork.derivatives.inputs import as_directions, as_names, as_weights, finite_gradients
from linkwork.derivatives.sweeps.adjoint import forward_adjoint
from linkwork.derivatives.sweeps.tangent import forward_tangent
from linkwork.derivatives.sweeps.workspace import Workspace, borrow, spare
from linkwork.dynamics import api as dynamics
from linkwork.dynamics.aba import LOSS, aba
from linkwork.dynamics.digits import warn_poor
from linkwork.dynamics.inputs import as_effort, as_state, as_wrenches, explain_failure, refuse_loops
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State

KNOWN = ("q", "v", "effort", "wrenches", "inertias", "gravity", "stiffness", "damping", "armature")


class ForwardPull:
    """Gradients of λ · q̈ for any λ (nv,), at the state where it was made."""

    def __init__(self, model: Model, asked: frozenset[str]):
        self.model, self.asked = model, asked
        self.work: Workspace = borrow(model, True, self)

    def __call__(self, weights: ArrayLike) -> Gradients:
        return self.of(as_weights(weights, (self.model.nv,), self.model))

    def of(self, weights: FloatArray) -> Gradients:
        """The same for weights that need no look."""
        work, asked = self.work, self.asked
        work.weights[:] = weights
        table, memory, found = work.outputs(self.model, asked, "effort")
        forward_adjoint(work.primal_table, table)
        finite_gradients(memory, "forward dynamics")
        return Gradients(**found)


def vjp(
    model: Model,
    state: State,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    algorithm: str = "aba",
    wrt: Sequence[str] | None = None,
) -> tuple[FloatArray, Callable[[ArrayLike], Gradients]]:
    """Accelerations (nv,) and the way back."""
    check(model, algorithm)
    pull = ForwardPull(model, as_names(wrt, KNOWN, "forward_dynamics"))
    return solve(model, state, effort, wrenches, pull.work).copy(), pull


def jvp(
    model: Model,
    state: State,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    algorithm: str = "aba",
    **directions: Any,
) -> FloatArray:
    """The change of the accelerations, shape (nv,)."""
    check(model, algorithm)
    given = as_directions(model, dynamics.forward_dynamics, KNOWN, directions)
    if directions:
        raise StateError(f"forward_dynamics has no option {shown(next(iter(directions)))}.")
    work = spare(model, True)[-1]
    solve(model, state, effort, wrenches, work)
    return along(work, forward_tangent, given, "effort")


def along(work: Workspace, sweep: Callable[..., None], given: dict[str, FloatArray], forcing: str) -> FloatArray:
    """One tangent sweep along the given directions. forcing: the name of what forces the motion."""
    table, bundle = work.tangent(given, forcing)
    sweep(work.primal_table, table)
    finite_gradients(bundle.result, "the dynamics")
    return bundle.result.copy()


def check(model: Model, algorithm: str) -> None:
    """Refuses what has no derivatives here: loops, and other algorithms."""
    refuse_loops(model, "the derivative of forward_dynamics")
    if algorithm != "aba":
        raise StateError(
            f"derivatives of forward dynamics go through algorithm 'aba', not {shown(algorithm)}; all algorithms give the "
            "same accelerations."
        )


def solve(model: Model, state: State, effort: Any, wrenches: Any, work: Workspace) -> FloatArray:
    """Accelerations by the same kernel as `lw.forward_dynamics`; the workspace keeps the factors and the state."""
    q, v = as_state(model, state)
    return solve_in(model, q, v, as_effort(model, effort), as_wrenches(model, wrenches), work)


def solve_in(
    model: Model, q: FloatArray, v: FloatArray, tau: FloatArray, external: FloatArray, work: Workspace
) -> FloatArray:
    """The same from arrays that need no look."""
    primal = work.primal
    primal.q[:], primal.v[:] = q, v
    work.set_wrenches(external)
    status, bad = aba(*model.arrays, q, v, tau, external, primal.work, primal.dof_work, primal.qdd)
    if bad >= 0 or not np.isfinite(primal.qdd.sum()):
        raise explain_failure(model, "aba", bad, {"state.q": q, "state.v": v, "effort": tau}, external)
    if status:
        worst = int(np.argmax(primal.work[:, LOSS]))
        warn_poor("aba", model, worst, float(primal.work[worst, LOSS]))
    return primal.qdd
