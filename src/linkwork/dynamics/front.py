"""The front of the dynamics: forward and inverse dynamics, the mass matrix, kinematics. Choose the algorithm by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linkwork.dynamics import kinematics
from linkwork.dynamics.aba import BODY_WORK as ABA_BODY_WORK
from linkwork.dynamics.aba import DOF_WORK as ABA_DOF_WORK
from linkwork.dynamics.aba import aba
from linkwork.dynamics.dca.solver import DcaSolver
from linkwork.dynamics.inputs import (
    NO_WRENCHES,
    as_array,
    as_effort,
    as_finite_state,
    as_state,
    as_wrenches,
    explain_failure,
    refuse_loops,
)
from linkwork.dynamics.mass_matrix import BODY_WORK as CRB_BODY_WORK
from linkwork.dynamics.mass_matrix import composite_rigid_bodies
from linkwork.dynamics.rnea import BODY_WORK as RNEA_BODY_WORK
from linkwork.dynamics.rnea import rnea
from linkwork.dynamics.unit_vector import unit_vector_columns
from linkwork.dynamics.virtual_work.solver import VirtualWorkSolver
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]


def _workspace(model: Model, key: str, make: Callable[[Model], Any]) -> Any:
    """Scratch memory of an algorithm for a model: one a thread, allocated once, freed with the model."""
    kept = model.workspaces.__dict__
    work = kept.get(key)
    if work is None:
        work = kept[key] = make(model)
    return work


def _aba_work(model: Model) -> tuple[FloatArray, ...]:
    return np.empty((model.n_bodies, ABA_BODY_WORK)), np.empty((model.nv, ABA_DOF_WORK))


def _rnea_work(model: Model) -> tuple[FloatArray, ...]:
    return np.empty((model.n_bodies, RNEA_BODY_WORK)), np.empty((model.nv, 6))


def _forward_aba(model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray) -> FloatArray:
    qdd = np.empty(model.nv)
    work, dof_work = _workspace(model, "aba", _aba_work)
    _, bad = aba(*model.arrays, q, v, effort, wrenches, work, dof_work, qdd)
    if bad >= 0 or not np.isfinite(qdd.sum()):
        vectors = {"state.q": q, "state.v": v, "effort": effort}
        raise explain_failure(model, "aba", bad, vectors, wrenches)
    return qdd


def _solve_mass_matrix(
    model: Model, name: str, M: FloatArray, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray
) -> FloatArray:
    """q̈ = M⁻¹ (τ - h), h by inverse dynamics at zero acceleration."""
    bias = _inverse(model, q, v, np.zeros(model.nv), wrenches)
    rhs = (effort if effort.size else 0.0) - bias
    try:
        L = np.linalg.cholesky(M)
        qdd = np.linalg.solve(L.T, np.linalg.solve(L, rhs))
        noise = (
            4.0 * np.finfo(float).eps * model.nv * np.diag(M)
        )  # what n roundings leave of a pivot that should be zero
        bad = -1 if (np.diag(L) ** 2 > noise).all() else _least_definite_joint(model, M)
    except np.linalg.LinAlgError:
        qdd, bad = rhs, _least_definite_joint(model, M)
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
    return _solve_mass_matrix(model, "dense", _mass_matrix(model, q), q, v, effort, wrenches)


def _forward_unit_vector(
    model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray
) -> FloatArray:
    """Walker and Orin's first method: column j of the mass matrix is the effort of a unit acceleration of joint j."""
    nv = model.nv
    tree, body, screws, dof, rest, _ = model.arrays
    armature_only = np.zeros_like(dof)  # springs and dampers belong to the bias, armature to the matrix
    armature_only[:, layout.ARMATURE] = dof[:, layout.ARMATURE]
    weightless = np.zeros(3)
    for array in (armature_only, weightless):  # read-only, as in a model: the same compiled kernel serves
        array.setflags(write=False)
    work, S = _workspace(model, "rnea", _rnea_work)
    M = np.empty((nv, nv))
    still, unit = np.zeros(nv), np.zeros(nv)
    unit_vector_columns(tree, body, screws, armature_only, rest, weightless, q, still, unit, NO_WRENCHES, work, S, M)
    return _solve_mass_matrix(model, "unit_vector", M, q, v, effort, wrenches)


def dca_solver(model: Model) -> DcaSolver:
    """This thread's divide-and-conquer solver for a model."""
    solver: DcaSolver = _workspace(model, "dca", DcaSolver)
    return solver


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
    return solve_dca(dca_solver(model), q, v, effort, wrenches)


def virtual_work_solver(model: Model, split: bool = True) -> VirtualWorkSolver:
    """This thread's solver by virtual work for a model, with or without link splitting."""
    name = "virtual_work" if split else "virtual_work_unsplit"
    solver: VirtualWorkSolver = _workspace(model, name, lambda model: VirtualWorkSolver(model, split))
    return solver


def _forward_virtual_work(
    model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray
) -> FloatArray:
    return virtual_work_solver(model).accelerations(q, v, effort, wrenches)


def _forward_virtual_work_unsplit(
    model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray
) -> FloatArray:
    return virtual_work_solver(model, split=False).accelerations(q, v, effort, wrenches)


def _forward_gpu(model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray) -> FloatArray:
    """By name, because that room builds on this one."""
    gpu = importlib.import_module("linkwork.gpu.front")
    qdd: FloatArray = gpu.forward_gpu(model, q, v, effort, wrenches)
    return qdd


ALGORITHMS: dict[str, Callable[[Model, FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]] = {
    "aba": _forward_aba,
    "dca": _forward_dca,
    "dense": _forward_dense,
    "gpu": _forward_gpu,
    "unit_vector": _forward_unit_vector,
    "virtual_work": _forward_virtual_work,
    "virtual_work_unsplit": _forward_virtual_work_unsplit,
}


def forward_dynamics(
    model: Model,
    state: State,
    effort: ArrayLike | None = None,
    wrenches: ArrayLike | None = None,
    algorithm: str = "aba",
) -> FloatArray:
    """Joint accelerations.

    effort: joint efforts [N·m or N], shape (nv,); none by default. Springs and dampers of the model act besides.
    wrenches: external wrenches [n; f] [N·m, N], each in its body's frame at its origin, shape (n, 6).
    algorithm: "aba" (O(n), fastest), "dca" (divide and conquer: O(n) work, O(log n) depth, several cores), "dense" (O(n³),
    the judge), "gpu" (on an NVIDIA GPU, extra `gpu`; `lw.gpu` for arrays that stay there), "unit_vector" (Walker and Orin
    1), "virtual_work" (Yamane and Nakamura: O(n), all constraint forces on the way), "virtual_work_unsplit" (the same
    without link splitting: O(k³) for k joints on one body).
    Returns accelerations [rad/s² or m/s²], shape (nv,).
    """
    solve = ALGORITHMS.get(algorithm)
    if solve is None:
        raise StateError(f"there is no algorithm '{algorithm}'; choose one of {', '.join(ALGORITHMS)}.")
    refuse_loops(model, "forward_dynamics")
    q, v = as_state(model, state)
    return solve(model, q, v, as_effort(model, effort), as_wrenches(model, wrenches))


def _inverse(model: Model, q: FloatArray, v: FloatArray, qdd: FloatArray, wrenches: FloatArray) -> FloatArray:
    effort = np.empty(model.nv)
    work, S = _workspace(model, "rnea", _rnea_work)
    rnea(*model.arrays, q, v, qdd, wrenches, work, S, effort)
    return effort


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


def _mass_matrix(model: Model, q: FloatArray) -> FloatArray:
    tree, body, screws, dof, _, _ = model.arrays
    M = np.empty((model.nv, model.nv))
    work, S = np.empty((model.n_bodies, CRB_BODY_WORK)), np.empty((model.nv, 6))
    composite_rigid_bodies(tree, body, screws, dof, q, np.zeros(model.nv), work, S, M)
    return M


def mass_matrix(model: Model, state: State) -> FloatArray:
    """Joint-space inertia matrix, armature included, shape (nv, nv). Cost: O(n depth)."""
    q, _ = as_state(model, state)
    return _mass_matrix(model, q)


def body_poses(model: Model, state: State) -> FloatArray:
    """World poses of all bodies as homogeneous matrices, shape (n, 4, 4). Cost: O(n)."""
    q, _ = as_finite_state(model, state)
    tree, body, screws, *_ = model.arrays
    flat = kinematics.world_poses(tree, body, screws, q)
    T = np.zeros((model.n_bodies, 4, 4))
    T[:, :3, :3] = flat[:, :9].reshape(-1, 3, 3)
    T[:, :3, 3] = flat[:, 9:]
    T[:, 3, 3] = 1.0
    return T


def body_twists(model: Model, state: State, frame: str = "body") -> FloatArray:
    """Twists [ω; v] of all bodies at their origins [rad/s, m/s], shape (n, 6).

    frame: axes the components refer to, "body" or "world".
    """
    q, v = as_finite_state(model, state)
    tree, body, screws, *_ = model.arrays
    twists = kinematics.local_twists(tree, body, screws, q, v)
    if frame == "world":
        return np.asarray(kinematics.twists_to_world(kinematics.world_poses(tree, body, screws, q), twists))
    if frame != "body":
        raise StateError(f"frame must be 'body' or 'world', not {frame!r}.")
    return np.asarray(twists)


def body_jacobian(
    model: Model, state: State, body: str | int, frame: str = "body", at: ArrayLike = (0.0, 0.0, 0.0)
) -> FloatArray:
    """The matrix that takes joint velocities to the twist of a body at one of its points, shape (6, nv).

    frame: axes the twist refers to, "body" or "world".
    at: the point, in the body's frame [m].
    Cost: O(depth) beyond the memory of the result.
    """
    q, _ = as_finite_state(model, state)
    tree, rows, screws, *_ = model.arrays
    index = model.body(body) if isinstance(body, str) else int(body)
    if not -1 <= index < model.n_bodies:
        raise StateError(f"body {index} does not exist; model '{model.name}' has {model.n_bodies} bodies.")
    point = as_array(at, (3,), "at", model)
    J = np.asarray(kinematics.local_jacobian(tree, rows, screws, q, np.zeros(model.nv), index))
    J[3:] += np.cross(J[:3], point, axis=0)
    if frame == "world":
        R = body_poses(model, state)[index, :3, :3] if index >= 0 else np.eye(3)
        return np.concatenate([R @ J[:3], R @ J[3:]])
    if frame != "body":
        raise StateError(f"frame must be 'body' or 'world', not {frame!r}.")
    return J


class Energy(NamedTuple):
    """[J]; the potential counts gravity (zero at the world's origin) and joint springs, the kinetic part armature too."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        return self.kinetic + self.potential


def energy(model: Model, state: State) -> Energy:
    """Kinetic and potential energy."""
    q, v = as_finite_state(model, state)
    return Energy(*kinematics.energies(*model.arrays, q, v))


class Momentum(NamedTuple):
    linear: FloatArray  # [kg·m/s], shape (3,)
    angular: FloatArray  # [kg·m²/s] about the chosen point, shape (3,)


def momentum(model: Model, state: State, about: ArrayLike = (0.0, 0.0, 0.0)) -> Momentum:
    """Linear and angular momentum of the whole linkage in the world frame.

    about: the point the angular momentum refers to [m]; `lw.center_of_mass(...)` is a frequent choice.
    """
    q, v = as_finite_state(model, state)
    tree, body, screws, *_ = model.arrays
    total = kinematics.world_momentum(tree, body, screws, q, v)
    return Momentum(total[3:], total[:3] - np.cross(as_array(about, (3,), "about", model), total[3:]))


def center_of_mass(model: Model, state: State) -> FloatArray:
    """Centre of mass of the whole linkage in the world [m], shape (3,)."""
    q, _ = as_finite_state(model, state)
    tree, body, screws, *_ = model.arrays
    mass, *moment = kinematics.mass_moment(tree, body, screws, q)
    if mass == 0.0:
        raise StateError(f"model '{model.name}' has no moving mass, so no centre of mass.")
    return np.array(moment) / mass
