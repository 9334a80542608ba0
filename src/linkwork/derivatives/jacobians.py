"""Full matrices of partial derivatives of forward and inverse dynamics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import refuse_memory, shown
from linkwork.core.jit import kernel
from linkwork.core.messages.describe import tabled
from linkwork.core.subnormals import flush_subnormals, restore_mode
from linkwork.core.views import ENTRIES
from linkwork.derivatives import forward, inverse
from linkwork.derivatives.inputs import finite_gradients
from linkwork.derivatives.sweeps.arrays import dense_of, primal_of
from linkwork.derivatives.sweeps.many_sides import fill_lifts, solve_sides
from linkwork.derivatives.sweeps.path_jacobians import fill_pairs, fill_world
from linkwork.derivatives.sweeps.workspace import Workspace, spare
from linkwork.dynamics import api as dynamics
from linkwork.dynamics.aba import ACCELERATION as ABA_ACCELERATION
from linkwork.dynamics.aba import aba
from linkwork.dynamics.inputs import as_model
from linkwork.dynamics.rnea import ACCELERATION as RNEA_ACCELERATION
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State

FEW = 50  # freedoms of models for which everything is done in one call
FLOAT = np.dtype(np.float64)
ALWAYS_FIT = 1000  # freedoms whose matrices need no look at the memory that is left


@tabled
class ForwardJacobians(NamedTuple):
    """Partial derivatives of accelerations, each of shape (nv, nv): rows are accelerations.

    q: along the tangent of `Model.integrate`. effort: the inverse of the mass matrix.
    """

    q: FloatArray
    v: FloatArray
    effort: FloatArray


@tabled
class InverseJacobians(NamedTuple):
    """Partial derivatives of efforts, each of shape (nv, nv): rows are efforts.

    q: along the tangent of `Model.integrate`. acceleration: the mass matrix.
    """

    q: FloatArray
    v: FloatArray
    acceleration: FloatArray


@kernel
def forward_matrices(primal, dense):
    """∂q̈/∂q, ∂q̈/∂v and M⁻¹. Needs what `aba` left in the workspaces of `primal`, and matrices of zeros."""
    mode = flush_subnormals()
    s = primal_of(primal)
    m = dense_of(dense)
    fill_world(s, m, ABA_ACCELERATION)
    fill_pairs(s, m, -1.0)
    fill_lifts(s, m)
    nv = s.v.shape[0]
    for k in range(nv * nv):
        m.by_forcing[k] = 0.0
    for j in range(nv):
        m.by_forcing[nv * j + j] = 1.0
    solve_sides(s, m, m.by_q)
    solve_sides(s, m, m.by_v)
    solve_sides(s, m, m.by_forcing)
    restore_mode(mode)


@kernel
def inverse_matrices(primal, dense):
    """∂τ/∂q, ∂τ/∂v and M. Needs what `rnea` left in the workspace of `primal`, and matrices of zeros."""
    mode = flush_subnormals()
    s = primal_of(primal)
    m = dense_of(dense)
    fill_world(s, m, RNEA_ACCELERATION)
    fill_pairs(s, m, 1.0)
    restore_mode(mode)


@kernel
def forward_matrices_at(primal, dense, q, v, effort, found):
    """Everything in one call, for small models, where calls from Python take the time: `aba` at (q, v) and all matrices.

    found: (3, nv, nv). Returns whether all went well; otherwise the way of many calls finds why not.
    """
    s = primal_of(primal)
    nv = v.shape[0]
    for k in range(q.shape[0]):
        s.q[k] = q[k]
    total = 0.0
    for k in range(nv):
        s.v[k] = v[k]
        total += v[k] + effort[k]
    for k in range(q.shape[0]):
        total += q[k]
    if not math.isfinite(total):
        return False
    for k in range(3):
        dense[ENTRIES * k] = found.ctypes.data + 8 * k * nv * nv
        for i in range(nv):
            for j in range(nv):
                found[k, i, j] = 0.0
    status, bad = aba(
        s.tree, s.body, s.screws, s.dof, s.rest, s.gravity, s.q, s.v, effort, s.wrenches, s.work, s.dof_work, s.qdd
    )  # fmt: skip
    if bad >= 0 or status != 0:
        return False
    forward_matrices(primal, dense)
    for k in range(3):
        for i in range(nv):
            for j in range(nv):
                total += found[k, i, j]
    return math.isfinite(total)


def _quick(model: Model, state: Any, effort: Any) -> ForwardJacobians | None:
    """Full matrices by one call; None for whatever is not plainly right, or does not go well."""
    if type(state) is not State or type(effort) is not np.ndarray or model.is_constrained or model.quaternions.size:
        return None
    q, v = state
    nv = model.nv
    for x, size in ((q, model.nq), (v, nv), (effort, nv)):
        if type(x) is not np.ndarray or x.shape != (size,) or x.dtype != FLOAT or not x.flags.c_contiguous:
            return None
    work = spare(model, True)[-1]
    if work.primal.wrenches.size or not nv:
        return None
    found = np.empty((3, nv, nv))
    if not forward_matrices_at(work.primal_table, work.dense_table(model), q, v, effort, found):
        return None
    return ForwardJacobians(*found)


def jacobians(
    function: Callable[..., Any], model: Model, state: State, *arguments: Any, **options: Any
) -> ForwardJacobians | InverseJacobians:
    """Full matrices of partial derivatives of `lw.forward_dynamics` or `lw.inverse_dynamics`.

    arguments, options: of the function. Returns (q, v, effort) or (q, v, acceleration), each of shape (nv, nv).
    Cost: O(nv · depth) for inverse dynamics, O(nv²) for forward dynamics. For one product with a vector, `lw.vjp` and
    `lw.jvp` take O(n) and no matrix.
    """
    if function is dynamics.forward_dynamics and type(model) is Model and model.nv <= FEW:
        quick = _quick(model, state, *arguments) if len(arguments) == 1 and not options else None
        if quick is not None:
            return quick
    as_model(model, "jacobians")
    advice = "lw.vjp and lw.jvp need no matrix"
    if model.nv > ALWAYS_FIT:
        refuse_memory(8 * 3 * model.nv**2, f"jacobians of {model.nv:,} degrees of freedom", advice)
    if function is dynamics.forward_dynamics:
        return _forward(model, state, *arguments, **options)
    if function is dynamics.inverse_dynamics:
        return _inverse(model, state, *arguments, **options)
    raise StateError(
        f"there are no full Jacobians of {shown(function)}; there are of lw.forward_dynamics and lw.inverse_dynamics."
    )


def _forward(
    model: Model,
    state: State,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    algorithm: str = "aba",
) -> ForwardJacobians:
    forward.check(model, algorithm)
    work = spare(model, True)[-1]
    forward.solve(model, state, effort, wrenches, work)
    return ForwardJacobians(*_matrices(model, work, forward_matrices))


def _inverse(
    model: Model, state: State, acceleration: ArrayLike | None = None, wrenches: ArrayLike | None = None
) -> InverseJacobians:
    work = spare(model, False)[-1]
    inverse.solve(model, state, acceleration, wrenches, work)
    return InverseJacobians(*_matrices(model, work, inverse_matrices))


def _matrices(model: Model, work: Workspace, sweep: Callable[..., None]) -> FloatArray:
    table = work.dense_table(model)
    found = np.zeros((3, model.nv, model.nv))
    start = found.ctypes.data
    for k in range(3):
        table[ENTRIES * k] = start + 8 * k * model.nv**2
    sweep(work.primal_table, table)
    finite_gradients(found.reshape(-1), "the dynamics")
    return found
