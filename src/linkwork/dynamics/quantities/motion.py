"""Where bodies are and how they move at a state: poses, twists, Jacobians, energy, momentum, the centre of mass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import choice
from linkwork.core.messages.describe import table_of_attributes
from linkwork.dynamics import batches, kinematics
from linkwork.dynamics.inputs import (
    as_finite,
    as_frame,
    as_state,
    finite_result,
)
from linkwork.errors import StateError
from linkwork.model.model import Model
from linkwork.model.state import State

FRAMES = ("body", "world")


@batches.takes_batches(batches.poses)
def body_poses(model: Model, state: State) -> FloatArray:
    """World poses of all bodies as homogeneous matrices, shape (n, 4, 4). Cost: O(n)."""
    q, _ = as_state(model, state)
    tree, body, screws, *_ = model.arrays
    flat = kinematics.world_poses(tree, body, screws, q)
    T = np.zeros((model.n_bodies, 4, 4))
    T[:, :3, :3] = flat[:, :9].reshape(-1, 3, 3)
    T[:, :3, 3] = flat[:, 9:]
    T[:, 3, 3] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        return finite_result(T, float(flat.sum()), "body_poses")


@batches.takes_batches(batches.twists)
def body_twists(model: Model, state: State, *, frame: str = "body") -> FloatArray:
    """Twists [ω; v] of all bodies at their origins [rad/s, m/s], shape (n, 6).

    frame: axes the components refer to, "body" or "world".
    """
    q, v = as_state(model, state)
    choice(frame, FRAMES, "frame")
    tree, body, screws, *_ = model.arrays
    twists = kinematics.local_twists(tree, body, screws, q, v)
    if frame == "world":
        twists = kinematics.twists_to_world(kinematics.world_poses(tree, body, screws, q), twists)
    with np.errstate(over="ignore", invalid="ignore"):
        return finite_result(np.asarray(twists), float(np.sum(twists)), "body_twists")


@batches.takes_batches()
def body_jacobian(
    model: Model, state: State, body: str | int, *, frame: str = "body", at: ArrayLike = (0.0, 0.0, 0.0)
) -> FloatArray:
    """The matrix that takes joint velocities to the twist of a body at one of its points, shape (6, nv).

    body: a body, or a frame that is fixed in one; the frame's own axes and origin then take the place of the body's.
    frame: axes the twist refers to, "body" or "world".
    at: the point, in the frame of `body` [m].
    Cost: O(depth) beyond the memory of the result.
    """
    q, _ = as_state(model, state)
    tree, rows, screws, *_ = model.arrays
    index, X = as_frame(model, body, world=True)
    choice(frame, FRAMES, "frame")
    point = as_finite(at, (3,), "at", model)
    J = X @ np.asarray(kinematics.local_jacobian(tree, rows, screws, q, np.zeros(model.nv), index))
    J[3:] += np.cross(J[:3], point, axis=0)
    if frame == "world":
        R = body_poses(model, state)[index, :3, :3] if index >= 0 else np.eye(3)
        R = R @ X[:3, :3].T
        return np.concatenate([R @ J[:3], R @ J[3:]])
    return J


class Energy(NamedTuple):
    """[J]; the potential counts gravity (zero at the world's origin) and joint springs, the kinetic part armature too."""

    def _repr_html_(self) -> str:
        return table_of_attributes(self)

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        return self.kinetic + self.potential


@batches.takes_batches()
def energy(model: Model, state: State) -> Energy:
    """Kinetic and potential energy."""
    q, v = as_state(model, state)
    found = Energy(*kinematics.energies(*model.arrays, q, v))
    return finite_result(found, found.total, "energy")


class Momentum(NamedTuple):
    def _repr_html_(self) -> str:
        return table_of_attributes(self)

    linear: FloatArray  # [kg·m/s], shape (3,)
    angular: FloatArray  # [kg·m²/s] about the chosen point, shape (3,)


@batches.takes_batches()
def momentum(model: Model, state: State, about: ArrayLike = (0.0, 0.0, 0.0)) -> Momentum:
    """Linear and angular momentum of the whole linkage in the world frame.

    about: the point the angular momentum refers to [m]; `lw.center_of_mass(...)` is a frequent choice.
    """
    q, v = as_state(model, state)
    tree, body, screws, *_ = model.arrays
    point = as_finite(about, (3,), "about", model)
    total = kinematics.world_momentum(tree, body, screws, q, v)
    found = Momentum(total[3:], total[:3] - np.cross(point, total[3:]))
    return finite_result(found, float(found.linear.sum() + found.angular.sum()), "momentum")


@batches.takes_batches()
def center_of_mass(model: Model, state: State) -> FloatArray:
    """Centre of mass of the whole linkage in the world [m], shape (3,)."""
    q, _ = as_state(model, state)
    tree, body, screws, *_ = model.arrays
    mass, *moment = kinematics.mass_moment(tree, body, screws, q)
    if mass == 0.0:
        raise StateError(f"model '{model.name}' has no moving mass, so no centre of mass.")
    return finite_result(np.array(moment) / mass, float(sum(moment)), "center_of_mass")
