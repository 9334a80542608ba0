"""Derivatives of inverse dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import shown
from linkwork.derivatives.forward import along
from linkwork.derivatives.gradients import Gradients
from linkwork.derivatives.inputs import as_directions, as_names, as_weights, finite_gradients
from linkwork.derivatives.sweeps.adjoint import inverse_adjoint
from linkwork.derivatives.sweeps.tangent import inverse_tangent
from linkwork.derivatives.sweeps.workspace import Workspace, borrow, spare
from linkwork.dynamics import api as dynamics
from linkwork.dynamics.inputs import as_effort, as_model, as_state, as_wrenches, explain_failure
from linkwork.dynamics.rnea import rnea
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State

KNOWN = ("q", "v", "acceleration", "wrenches", "inertias", "gravity", "stiffness", "damping", "armature")


class InversePull:
    """Gradients of μ · τ for any μ (nv,), at the state where it was made."""

    def __init__(self, model: Model, asked: frozenset[str]):
        self.model, self.asked = model, asked
        self.work: Workspace = borrow(model, False, self)

    def __call__(self, weights: ArrayLike) -> Gradients:
        return self.of(as_weights(weights, (self.model.nv,), self.model))

    def of(self, weights: FloatArray) -> Gradients:
        """The same for weights that need no look."""
        work, asked = self.work, self.asked
        work.mu[:] = weights
        table, memory, found = work.outputs(self.model, asked, "acceleration")
        inverse_adjoint(work.primal_table, table)
        finite_gradients(memory, "inverse dynamics")
        return Gradients(**found)


def vjp(
    model: Model,
    state: State,
    acceleration: ArrayLike,
    wrenches: ArrayLike | None = None,
    wrt: Sequence[str] | None = None,
) -> tuple[FloatArray, Callable[[ArrayLike], Gradients]]:
    """Efforts (nv,) and the way back."""
    as_model(model, "inverse_dynamics")
    pull = InversePull(model, as_names(wrt, KNOWN, "inverse_dynamics"))
    return solve(model, state, acceleration, wrenches, pull.work), pull


def jvp(
    model: Model, state: State, acceleration: ArrayLike, wrenches: ArrayLike | None = None, **directions: Any
) -> FloatArray:
    """The change of the efforts, shape (nv,)."""
    as_model(model, "inverse_dynamics")
    given = as_directions(model, dynamics.inverse_dynamics, KNOWN, directions)
    if directions:
        raise StateError(f"inverse_dynamics has no option {shown(next(iter(directions)))}.")
    work = spare(model, False)[-1]
    solve(model, state, acceleration, wrenches, work)
    return along(work, inverse_tangent, given, "acceleration")


def solve(model: Model, state: State, acceleration: Any, wrenches: Any, work: Workspace) -> FloatArray:
    """Efforts by the same kernel as `lw.inverse_dynamics`; the workspace keeps twists, accelerations and the state."""
    q, v = as_state(model, state)
    if acceleration is None:
        raise StateError("acceleration is missing; give an array of shape (nv,).")
    return solve_in(model, q, v, as_effort(model, acceleration, "acceleration"), as_wrenches(model, wrenches), work)


def solve_in(
    model: Model, q: FloatArray, v: FloatArray, qdd: FloatArray, external: FloatArray, work: Workspace
) -> FloatArray:
    """The same from arrays that need no look."""
    primal = work.primal
    primal.q[:], primal.v[:], primal.qdd[:] = q, v, qdd
    work.set_wrenches(external)
    effort = np.empty(model.nv)
    rnea(*model.arrays, q, v, qdd, external, primal.work, primal.dof_work, effort)
    if not np.isfinite(effort.sum()):
        raise explain_failure(model, "rnea", -1, {"state.q": q, "state.v": v, "acceleration": qdd}, external)
    return effort
