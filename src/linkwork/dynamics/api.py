"""Public functions of the dynamics: forward and inverse dynamics, the mass matrix. Choose the algorithm by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import refuse_memory, shown
from linkwork.dynamics import batches
from linkwork.dynamics.aba import BODY_WORK as ABA_BODY_WORK
from linkwork.dynamics.aba import DOF_WORK as ABA_DOF_WORK
from linkwork.dynamics.aba import LOSS, SINGULAR_PART, aba
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.dense.mass_matrix import BODY_WORK as CRB_BODY_WORK
from linkwork.dynamics.dense.mass_matrix import composite_rigid_bodies, composite_sizes
from linkwork.dynamics.dense.unit_vector import unit_vector_columns
from linkwork.dynamics.digits import MISSED, POOR_LOSS, is_delicate, missed_effort, warn_fallback, warn_poor
from linkwork.dynamics.inputs import (
    NO_WRENCHES,
    as_effort,
    as_model,
    as_state,
    as_wrenches,
    explain_failure,
    finite_result,
)
from linkwork.dynamics.linear.cholesky import solve_positive_definite
from linkwork.dynamics.remembered import remembered
from linkwork.dynamics.rnea import BODY_WORK as RNEA_BODY_WORK
from linkwork.dynamics.rnea import rnea
from linkwork.dynamics.virtual_work.solver import VirtualWorkSolver
from linkwork.errors import ModelError, StateError
from linkwork.model.model import Model, inertia_only
from linkwork.model.state import State

DENSE_COPIES = 2  # M and its factor


def _aba_work(model: Model) -> tuple[FloatArray, ...]:
    return np.empty((model.n_bodies, ABA_BODY_WORK)), np.empty((model.nv, ABA_DOF_WORK))


def _rnea_work(model: Model) -> tuple[FloatArray, ...]:
    return np.empty((model.n_bodies, RNEA_BODY_WORK)), np.empty((model.nv, 6))


def aba_work(model: Model) -> tuple[FloatArray, ...]:
    """This thread's memory of `aba` for a model: what it leaves behind is of its last call."""
    return remembered(model, "aba", _aba_work)


def aba_accelerations(
    model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray
) -> FloatArray:
    """By `aba`, of the tree alone; inputs are checked."""
    qdd = np.empty(model.nv)
    work, dof_work = aba_work(model)
    status, bad = aba(*model.arrays, q, v, effort, wrenches, work, dof_work, qdd)
    if bad >= 0 or not np.isfinite(qdd.sum()):
        vectors = {"state.q": q, "state.v": v, "effort": effort}
        raise explain_failure(model, "aba", bad, vectors, wrenches)
    if status:
        worst = int(np.argmax(work[:, LOSS]))
        warn_poor("aba", model, worst, float(work[worst, LOSS]))
    return qdd


def _solve_mass_matrix(
    model: Model, name: str, M: FloatArray, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray
) -> FloatArray:
    """q̈ = M⁻¹ (τ - h), h by inverse dynamics at zero acceleration."""
    size = _inertia_sizes(model, q)
    bias = _inverse(model, q, v, np.zeros(model.nv), wrenches)
    rhs = (effort if effort.size else 0.0) - bias
    U, qdd = M.copy(), np.broadcast_to(rhs, (model.nv,)).copy()
    bad = -1
    if solve_positive_definite(U, qdd) >= 0:
        qdd[:] = np.nan
        bad = _least_definite_joint(model, M)
    else:
        pivots = np.diag(U) ** 2
        # What n roundings leave of a pivot that should be zero, and what is left of the inertia behind a joint.
        noise = np.maximum(4.0 * np.finfo(float).eps * model.nv * np.diag(M), SINGULAR_PART * size)
        bad = -1 if (pivots > noise).all() else _least_definite_joint(model, M)
        loss = float((size / pivots).max(initial=0.0))
        if bad < 0 and loss > POOR_LOSS:
            warn_poor(name, model, model.joint_of(int(np.argmax(size / pivots))), loss)
    if bad >= 0 or not np.isfinite(qdd).all():
        raise explain_failure(model, name, bad, {"state.q": q, "state.v": v, "effort": effort}, wrenches)
    return np.asarray(qdd)


def _least_definite_joint(model: Model, M: FloatArray) -> int:
    """The joint that moves most in the direction in which the mass matrix is singular."""
    if not np.isfinite(M).all():
        return -1
    _, vectors = np.linalg.eigh(M)
    return model.joint_of(int(np.argmax(np.abs(vectors[:, 0]))))


def _forward_dense(model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray) -> FloatArray:
    return _solve_mass_matrix(model, "dense", _mass_matrix(model, q, "dense", DENSE_COPIES), q, v, effort, wrenches)


def _forward_unit_vector(
    model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray
) -> FloatArray:
    """Walker and Orin's first method: column j of the mass matrix is the effort of a unit acceleration of joint j."""
    nv = model.nv
    work, S = remembered(model, "rnea", _rnea_work)
    _refuse_matrix(model, "unit_vector", DENSE_COPIES)
    M = np.empty((nv, nv))
    still, unit = np.zeros(nv), np.zeros(nv)
    arrays = inertia_only(model.arrays)  # springs and dampers belong to the bias, armature to the matrix
    unit_vector_columns(arrays, q, still, unit, NO_WRENCHES, work, S, M)
    return _solve_mass_matrix(model, "unit_vector", M, q, v, effort, wrenches)


def dca_solver(model: Model) -> DcaSolver:
    """This thread's divide-and-conquer solver for a model."""
    return remembered(model, "dca", DcaSolver)


def solve_dca(solver: DcaSolver, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray) -> FloatArray:
    """Joint accelerations; the solver keeps coefficients and reactions."""
    qdd = np.empty(solver.model.nv)
    solver.prepare(q, v, effort, wrenches)
    bad = solver.assemble()
    solver.substitute(qdd)
    if bad >= 0 or not np.isfinite(qdd.sum()):
        vectors = {"state.q": q, "state.v": v, "effort": effort}
        raise explain_failure(solver.model, "dca", bad, vectors, wrenches)
    return qdd


def _forward_dca(model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray) -> FloatArray:
    if is_delicate(model, merges_welds=True):
        _, qdd = checked_or_aba(
            model, "dca", lambda: solve_dca(dca_solver(model), q, v, effort, wrenches), q, v, effort, wrenches
        )
        return qdd
    return solve_dca(dca_solver(model), q, v, effort, wrenches)


def checked_or_aba(
    model: Model,
    name: str,
    solve: Callable[[], FloatArray],
    q: FloatArray,
    v: FloatArray,
    effort: FloatArray,
    wrenches: FloatArray,
) -> tuple[bool, FloatArray]:
    """Accelerations by `solve` where they keep their digits, by `aba`, with a warning, where not; and which it was."""
    try:
        qdd = solve()
        missed = missed_effort(model, q, v, effort, wrenches, qdd)
        if missed <= MISSED:
            return True, qdd
        why = f"its accelerations miss the efforts by a part of {missed:.0e}"
    except ModelError:
        why = "a body's inertia is singular"
    except StateError:
        why = "it cannot solve a joint"
    qdd = aba_accelerations(model, q, v, effort, wrenches)  # raises by itself where nothing can be solved
    warn_fallback(name, model, why)
    return False, qdd


def virtual_work_solver(model: Model, split: bool = True) -> VirtualWorkSolver:
    """This thread's solver by virtual work for a model, with or without link splitting."""
    name = "virtual_work" if split else "virtual_work_unsplit"
    return remembered(model, name, lambda model: VirtualWorkSolver(model, split))


def _by_virtual_work(
    model: Model, split: bool, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray
) -> FloatArray:
    def solve() -> FloatArray:
        return virtual_work_solver(model, split).accelerations(q, v, effort, wrenches)

    return checked_or_aba(model, "virtual_work", solve, q, v, effort, wrenches)[1] if is_delicate(model) else solve()


def _forward_virtual_work(
    model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray
) -> FloatArray:
    return _by_virtual_work(model, True, q, v, effort, wrenches)


def _forward_virtual_work_unsplit(
    model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray
) -> FloatArray:
    return _by_virtual_work(model, False, q, v, effort, wrenches)


def _forward_gpu(model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray) -> FloatArray:
    """By name, because that room builds on this one."""
    gpu = importlib.import_module("linkwork.gpu.api")
    qdd: FloatArray = gpu.forward_gpu(model, q, v, effort, wrenches)
    return qdd


ALGORITHMS: dict[str, Callable[[Model, FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]] = {
    "aba": aba_accelerations,
    "dca": _forward_dca,
    "dense": _forward_dense,
    "gpu": _forward_gpu,
    "unit_vector": _forward_unit_vector,
    "virtual_work": _forward_virtual_work,
    "virtual_work_unsplit": _forward_virtual_work_unsplit,
}


@batches.takes_batches(batches.forward)
def forward_dynamics(
    model: Model,
    state: State,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    *,
    algorithm: str = "aba",
) -> FloatArray:
    """Joint accelerations.

    effort: joint efforts [N·m or N], shape (nv,); none by default. Springs and dampers of the model act besides.
    wrenches: external wrenches [n; f] [N·m, N], each in its body's frame at its origin, shape (n, 6).
    algorithm: "aba" (O(n), fastest), "dca" (divide and conquer: O(n) work, O(log n) depth, several cores), "dense" (O(n³),
    the reference), "gpu" (on an NVIDIA GPU, extra `gpu`; `lw.gpu` for arrays that stay there), "unit_vector" (Walker and
    Orin 1), "virtual_work" (Yamane and Nakamura: O(n), all constraint forces on the way), "virtual_work_unsplit" (the same
    without link splitting: O(k³) for k joints on one body).
    Loops must be closed, and couplings kept; `lw.constrained_dynamics` says more of them. There the tree is solved by the
    algorithm, and by "aba" or "dca" for the forces.
    Returns accelerations [rad/s² or m/s²], shape (nv,).
    """
    solve = ALGORITHMS.get(algorithm) if type(algorithm) is str else None
    if solve is None:
        raise StateError(f"there is no algorithm {shown(algorithm)}; choose one of {', '.join(ALGORITHMS)}.")
    if as_model(model, "forward_dynamics").is_constrained:
        return _forward_constrained(model, state, effort, wrenches, algorithm)
    q, v = as_state(model, state)
    return solve(model, q, v, as_effort(model, effort), as_wrenches(model, wrenches))


def _forward_constrained(
    model: Model, state: State, effort: ArrayLike | None, wrenches: ArrayLike | None, algorithm: str
) -> FloatArray:
    solution = _constrained_dynamics()(model, state, effort, wrenches)
    if algorithm == "aba":
        found: FloatArray = solution.acceleration
        return found
    return ALGORITHMS[algorithm](model.without_loops, *as_state(model, state), solution.effort, solution.wrenches)


@cache
def _constrained_dynamics() -> Callable[..., Any]:
    """By name, because that room builds on this one."""
    found: Callable[..., Any] = importlib.import_module("linkwork.loops.constrained").constrained_dynamics
    return found


def _inverse(model: Model, q: FloatArray, v: FloatArray, qdd: FloatArray, wrenches: FloatArray) -> FloatArray:
    effort = np.empty(model.nv)
    work, S = remembered(model, "rnea", _rnea_work)
    rnea(*model.arrays, q, v, qdd, wrenches, work, S, effort)
    return effort


@batches.takes_batches(batches.inverse)
def inverse_dynamics(
    model: Model, state: State, acceleration: ArrayLike, wrenches: ArrayLike | None = None
) -> FloatArray:
    """Joint efforts that cause the given accelerations, on top of the model's springs and dampers.

    acceleration: [rad/s² or m/s²], shape (nv,). wrenches: as in `forward_dynamics`.
    Returns efforts [N·m or N], shape (nv,). Cost: O(n).
    """
    q, v = as_state(model, state)
    qdd = as_effort(model, acceleration, "acceleration")
    if acceleration is None:
        raise StateError("acceleration is missing; give an array of shape (nv,).")
    external = as_wrenches(model, wrenches)
    effort = _inverse(model, q, v, qdd, external)
    if not np.isfinite(effort.sum()):
        raise explain_failure(model, "rnea", -1, {"state.q": q, "state.v": v, "acceleration": qdd}, external)
    return effort


def _mass_matrix(model: Model, q: FloatArray, what: str, copies: int) -> FloatArray:
    tree, body, screws, dof, _, _ = model.arrays
    _refuse_matrix(model, what, copies)
    M = np.empty((model.nv, model.nv))
    work, S = np.empty((model.n_bodies, CRB_BODY_WORK)), np.empty((model.nv, 6))
    composite_rigid_bodies(tree, body, screws, dof, q, np.zeros(model.nv), work, S, M)
    return M


def _refuse_matrix(model: Model, what: str, copies: int) -> None:
    """Before (nv, nv) matrices are allocated that memory cannot hold."""
    advice = "Forward dynamics by algorithm='aba' needs no matrix"
    refuse_memory(8 * copies * model.nv**2, f"{what} of {model.nv:,} degrees of freedom", advice)


def _inertia_sizes(model: Model, q: FloatArray) -> FloatArray:
    """The inertia each degree of freedom meets before cancellation, shape (nv,)."""
    tree, body, screws, *_ = model.arrays
    work, S = np.empty((model.n_bodies, CRB_BODY_WORK)), np.empty((model.nv, 6))
    size = np.empty(model.nv)
    composite_sizes(tree, body, screws, q, np.zeros(model.nv), work, S, size)
    return size


@batches.takes_batches()
def mass_matrix(model: Model, state: State) -> FloatArray:
    """Joint-space inertia matrix, armature included, shape (nv, nv). Cost: O(n depth)."""
    q, _ = as_state(model, state)
    M = _mass_matrix(model, q, "mass_matrix", 1)
    return finite_result(M, float(M.trace()), "mass_matrix")
