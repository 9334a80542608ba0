"""Quantities of robotics by name: bias and gravity, centre of mass and centroidal momentum, accelerations of bodies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray, frozen
from linkwork.core.checks import choice, shown
from linkwork.core.jit import kernel
from linkwork.dynamics import batches, kinematics
from linkwork.dynamics.inputs import NO_WRENCHES, as_effort, as_state, explain_failure
from linkwork.dynamics.paths.response import Response
from linkwork.dynamics.rnea import ACCELERATION, BODY_WORK, TWIST, WRENCH, rnea
from linkwork.errors import StateError
from linkwork.model.kernels.joint_kernels import body_pose, joint_motion
from linkwork.model.layout import DOF, INERTIA, PARENT, V
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.spatial.inertia import add10, rigid_times_twist, rigid_to_parent
from linkwork.spatial.matrices import motion_matrix
from linkwork.spatial.memory import load3, load6, load9, load10, store10
from linkwork.spatial.vectors import wrench_to_parent

FRAMES = ("body", "world")
SINGULAR = 1e-11  # of scaled eigenvalues: below it a direction is blocked but for rounding, which leaves up to 4e-12


@batches.takes_batches(batches.bias)
def bias_efforts(model: Model, state: State) -> FloatArray:
    """h with M q̈ + h = τ: the efforts under which joints keep their velocities [N·m or N], shape (nv,).

    Gravity, velocity terms, springs and dampers of the model. Cost: O(n).
    """
    q, v = as_state(model, state)
    return _efforts(model, "bias_efforts", model.arrays.dof, model.arrays.gravity, q, v)[0]


@batches.takes_batches(batches.gravity)
def gravity_efforts(model: Model, state: State) -> FloatArray:
    """The efforts that hold the linkage against gravity alone, at rest [N·m or N], shape (nv,). Cost: O(n)."""
    q, _ = as_state(model, state)
    loose = frozen(np.zeros_like(model.arrays.dof))
    return _efforts(model, "gravity_efforts", loose, model.arrays.gravity, q, np.zeros(model.nv))[0]


@batches.takes_batches()
def com_jacobian(model: Model, state: State) -> FloatArray:
    """The matrix that takes joint velocities to the velocity of the centre of mass in the world, shape (3, nv)."""
    q, _ = as_state(model, state)
    matrix, mass, _ = _momentum_matrix(model, q)
    return np.asarray(matrix[3:] / mass)


@batches.takes_batches()
def centroidal_momentum_matrix(model: Model, state: State) -> FloatArray:
    """A with h = A q̇, the momentum [angular; linear] about the centre of mass in the axes of the world, shape (6, nv).

    Units: kg·m² and kg for a joint that turns, kg·m and kg for one that slides. Armature does not count. Cost: O(n depth).
    """
    q, _ = as_state(model, state)
    matrix, _, center = _momentum_matrix(model, q)
    matrix[:3] -= np.cross(center, matrix[3:], axis=0)
    return matrix


@batches.takes_batches()
def centroidal_momentum_bias(model: Model, state: State) -> FloatArray:
    """Ȧ q̇: rate of the centroidal momentum while joints keep their velocities [N·m, N], shape (6,). Cost: O(n)."""
    q, v = as_state(model, state)
    weightless, loose = frozen(np.zeros(3)), frozen(np.zeros_like(model.arrays.dof))
    _, work = _efforts(model, "centroidal_momentum_bias", loose, weightless, q, v)
    _, center = _mass_and_center(model, q)
    total = np.zeros(6)
    tree = model.arrays.tree
    for i in np.flatnonzero(tree[:, PARENT] < 0).tolist():  # a tree's base holds the wrench of all that it carries
        R, p, F = work[i, :9].reshape(3, 3), work[i, 9:12], work[i, WRENCH : WRENCH + 6]
        force = R @ F[3:]
        total += np.concatenate([R @ F[:3] + np.cross(p, force), force])
    total[:3] -= np.cross(center, total[3:])
    return total


@batches.takes_batches()
def body_accelerations(model: Model, state: State, acceleration: ArrayLike, *, frame: str = "body") -> FloatArray:
    """Accelerations [ω̇; dv/dt] of all bodies at their origins for given joint accelerations, shape (n, 6).

    acceleration: of joints [rad/s² or m/s²], shape (nv,). The linear part is that of the point at the origin itself.
    frame: axes that the numbers refer to, "body" or "world". Cost: O(n).
    """
    q, v = as_state(model, state)
    choice(frame, FRAMES, "frame")
    if acceleration is None:
        raise StateError("acceleration is missing; give an array of shape (nv,).")
    qdd = as_effort(model, acceleration, "acceleration")
    spatial, twists, flat = accelerations_of_bodies(model, q, v, qdd)
    spatial[:, 3:] += np.cross(twists[:, :3], twists[:, 3:])
    if not np.isfinite(spatial).all():
        raise explain_failure(
            model, "body_accelerations", -1, {"state.q": q, "state.v": v, "acceleration": qdd}, NO_WRENCHES
        )
    if frame == "world":
        R = flat[:, :9].reshape(-1, 3, 3)
        parts = [np.einsum("nij,nj->ni", R, part) for part in (spatial[:, :3], spatial[:, 3:])]
        return np.concatenate(parts, axis=1)
    return spatial


@batches.takes_batches()
def operational_inertia(model: Model, state: State, frames: str | Sequence[str], *, axes: str = "frame") -> FloatArray:
    """Λ = (J M⁻¹ Jᵀ)⁻¹: the inertia of frames against wrenches, shape (6 k, 6 k) for k names (6x6 for one).

    axes: of twists and wrenches, those of each "frame" or of the "world", at the origins of the frames.
    Raises StateError where the frames cannot move in all directions. Cost: O(n + k² log n), by path queries.
    """
    choice(axes, ("frame", "world"), "axes")
    if not isinstance(frames, (str, list, tuple)):
        raise StateError(f"frames is {shown(frames)}; give the name of a body or frame, or a sequence of names.")
    names = [frames] if isinstance(frames, str) else list(frames)
    if not names:
        raise StateError("frames is empty; give the name of a body or frame, or several.")
    q, _ = as_state(model, state)
    where = [model.frame(name) for name in names]
    for name, one in zip(names, where, strict=True):
        if one.body < 0:
            raise StateError(f"'{name}' is fixed in the world, which resists with no end.")
    response = Response(model, State(q, np.zeros(model.nv)))
    tree, body, screws, *_ = model.arrays
    flat = kinematics.world_poses(tree, body, screws, q)
    turned = []
    for one in where:
        X = motion_matrix(one.pose.rotation, one.pose.xyz)
        if axes == "world":
            R = flat[one.body, :9].reshape(3, 3) @ np.reshape(one.pose.rotation, (3, 3))
            X = np.kron(np.eye(2), R) @ X
        turned.append(X)
    blocks = [
        [turned[a] @ response.block(where[a].body, where[b].body) @ turned[b].T for b in range(len(where))]
        for a in range(len(where))
    ]
    mobility = np.block(blocks)
    mobility = 0.5 * (mobility + mobility.T)
    size = np.sqrt(np.maximum(mobility.diagonal(), 1e-300))
    values = np.linalg.eigvalsh(mobility / np.outer(size, size))
    if not values[0] > SINGULAR:
        raise StateError(
            f"{shown(names)} cannot move in all directions at this state, so the operational inertia is infinite in some; "
            "use lw.Response(...).block(...), its inverse."
        )
    inertia = np.linalg.inv(mobility / np.outer(size, size)) / np.outer(size, size)
    return np.asarray(0.5 * (inertia + inertia.T))


# ----------------------------------------------------------------------------------------------------------- ingredients


def _efforts(
    model: Model, what: str, dof: FloatArray, gravity: FloatArray, q: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Efforts at zero acceleration, and the table of bodies of their sweep."""
    tree, body, screws, _, rest, _ = model.arrays
    work, S, effort = np.empty((model.n_bodies, BODY_WORK)), np.empty((model.nv, 6)), np.empty(model.nv)
    rnea(tree, body, screws, dof, rest, gravity, q, v, np.zeros(model.nv), NO_WRENCHES, work, S, effort)
    if not np.isfinite(effort.sum()):
        raise explain_failure(model, what, -1, {"state.q": q, "state.v": v}, NO_WRENCHES)
    return effort, work


def accelerations_of_bodies(
    model: Model, q: FloatArray, v: FloatArray, qdd: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Spatial accelerations (n, 6), twists (n, 6), both in body frames, and world poses (n, 12)."""
    tree, body, screws, dof, rest, _ = model.arrays
    work, S, effort = np.empty((model.n_bodies, BODY_WORK)), np.empty((model.nv, 6)), np.empty(model.nv)
    weightless = frozen(np.zeros(3))
    rnea(tree, body, screws, dof, rest, weightless, q, v, qdd, NO_WRENCHES, work, S, effort)
    flat = kinematics.world_poses(tree, body, screws, q)
    return work[:, ACCELERATION : ACCELERATION + 6].copy(), work[:, TWIST : TWIST + 6].copy(), flat


def _mass_and_center(model: Model, q: FloatArray) -> tuple[float, FloatArray]:
    tree, body, screws, *_ = model.arrays
    mass, *moment = kinematics.mass_moment(tree, body, screws, q)
    if not mass > 0.0:
        raise StateError(f"model '{model.name}' has no moving mass, so no centre of mass.")
    return float(mass), np.array(moment) / mass


def _momentum_matrix(model: Model, q: FloatArray) -> tuple[FloatArray, float, FloatArray]:
    """Momentum about the world's origin by joint velocities (6, nv), mass, centre of mass."""
    mass, center = _mass_and_center(model, q)
    tree, body, screws, *_ = model.arrays
    poses = kinematics.world_poses(tree, body, screws, q)
    matrix, work = np.empty((6, model.nv)), np.empty((model.n_bodies, 10))
    momentum_columns(tree, body, screws, q, np.zeros(model.nv), poses, work, np.empty((model.nv, 6)), matrix)
    if not np.isfinite(matrix).all():
        raise StateError("the centroidal momentum overflowed: numbers in the state are too large.")
    return matrix, mass, center


@kernel
def momentum_columns(tree, body, screws, q, still, poses, work, S, out):
    """Momentum about the world's origin for a unit velocity of each freedom, (6, nv): I_c S, I_c of composite bodies."""
    for i in range(tree.shape[0]):
        store10(work, i, 0, load10(body, i, INERTIA))
    for i in range(tree.shape[0] - 1, -1, -1):
        composite = load10(work, i, 0)
        joint_motion(tree, body, screws, i, q, still, S)
        for j in range(tree[i, V], tree[i, V] + tree[i, DOF]):
            h = rigid_times_twist(composite, load6(S, j, 0))
            h = wrench_to_parent(load9(poses, i, 0), load3(poses, i, 9), h)
            for r in range(6):
                out[r, j] = h[r]
        parent = tree[i, PARENT]
        if parent >= 0:
            R, p = body_pose(tree, body, screws, i, q)
            store10(work, parent, 0, add10(load10(work, parent, 0), rigid_to_parent(R, p, composite)))
