"""Derivatives of poses, twists, energy, momentum and the centre of mass.

Each is a sum over bodies of functions of pose and twist: its own part is a few lines of NumPy, the way through the joints
is `kinematic_sweeps`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import choice, shown
from linkwork.derivatives.gradients import Gradients
from linkwork.derivatives.inputs import as_directions, as_names, as_weights, finite_gradients
from linkwork.derivatives.sweeps.kinematic_sweeps import kinematic_adjoint, kinematic_tangent, spring_pulls, stretches
from linkwork.dynamics.inputs import as_finite, as_state
from linkwork.dynamics.kinematics import local_twists
from linkwork.dynamics.quantities import motion
from linkwork.errors import StateError
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State

Pull = Callable[[Any], Gradients]


class Moving:
    """A model at a state: poses, twists and inertias of its bodies, and the way from them to q and v."""

    def __init__(self, model: Model, state: State):
        self.model = model
        self.q, self.v = (part.copy() for part in as_state(model, state))
        tree, body, screws, *_ = model.arrays
        T = motion.body_poses(model, State(self.q, self.v))
        self.R, self.p = T[:, :3, :3], T[:, :3, 3]
        self.twists = np.asarray(local_twists(tree, body, screws, self.q, self.v))
        self.ten = body[:, layout.INERTIA : layout.INERTIA + 10]
        self.momenta = rigid_times(self.ten, self.twists)
        self.moment = self.ten[:, :1] * self.p + self.to_world(self.ten[:, 1:4])  # m × centre, in the world

    def to_world(self, x: FloatArray) -> FloatArray:
        return np.einsum("nij,nj->ni", self.R, x)

    def to_body(self, x: FloatArray) -> FloatArray:
        """Vectors of the world, one for each body or one for all, in the bodies' axes."""
        return np.einsum("nji,nj->ni", self.R, np.broadcast_to(x, (self.R.shape[0], 3)))

    def back(self, by_pose: FloatArray | None, by_twist: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Gradients with respect to q and v from those with respect to poses and twists of the bodies, (n, 6) each."""
        n, nv = self.model.n_bodies, self.model.nv
        G = np.zeros((n, 6)) if by_pose is None else np.ascontiguousarray(by_pose)
        B = np.zeros((n, 6)) if by_twist is None else np.ascontiguousarray(by_twist)
        by_q, by_v = np.empty(nv), np.empty(nv)
        kinematic_adjoint(self.model.arrays, self.q, self.v, self.twists, G, B, np.empty((nv, 6)), by_q, by_v)
        return by_q, by_v

    def along(self, given: dict[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Changes of poses, as twists, and of twists, along dq and dv, (n, 6) each."""
        n, none = self.model.n_bodies, np.zeros(self.model.nv)
        tree, body, screws, *_ = self.model.arrays
        moved, changed = np.empty((n, 6)), np.empty((n, 6))
        dq, dv = given.get("q", none), given.get("v", none)
        kinematic_tangent(tree, body, screws, self.q, self.v, self.twists, dq, dv, moved, changed)
        return moved, changed

    def stretches(self) -> FloatArray:
        out = np.empty(self.model.nv)
        stretches(self.model.arrays.tree, self.model.arrays.rest, self.q, out)
        return out

    def spring_pulls(self) -> FloatArray:
        tree, _, _, dof, rest, _ = self.model.arrays
        out = np.empty(self.model.nv)
        spring_pulls(tree, dof, rest, self.q, np.zeros(self.model.nv), out)
        return out

    def dof(self, column: int) -> FloatArray:
        return self.model.arrays.dof[:, column]


# ------------------------------------------------------------------------------------------------------ rows of six numbers


def rigid_times(ten: FloatArray, V: FloatArray) -> FloatArray:
    """I V for rows of ten and of six numbers."""
    m, h, (xx, xy, xz, yy, yz, zz), w, v = ten[:, :1], ten[:, 1:4], ten[:, 4:].T, V[:, :3], V[:, 3:]
    turned = np.stack(
        [
            xx * w[:, 0] + xy * w[:, 1] + xz * w[:, 2],
            xy * w[:, 0] + yy * w[:, 1] + yz * w[:, 2],
            xz * w[:, 0] + yz * w[:, 1] + zz * w[:, 2],
        ],
        axis=1,
    )
    return np.hstack([turned + np.cross(h, v), m * v - np.cross(h, w)])


def cross_force(V: FloatArray, F: FloatArray) -> FloatArray:
    """V x* F for rows."""
    w, v, n, f = V[:, :3], V[:, 3:], F[:, :3], F[:, 3:]
    return np.hstack([np.cross(w, n) + np.cross(v, f), np.cross(w, f)])


def bilinear(x: FloatArray, y: FloatArray) -> FloatArray:
    """Gradient of x · I y with respect to the ten numbers of I, for rows: shape (n, 10)."""
    u, a, w, b = x[:, :3], x[:, 3:], y[:, :3], y[:, 3:]
    first = np.cross(b, u) - np.cross(w, a)
    mixed = [u[:, i] * w[:, j] + (u[:, j] * w[:, i] if i != j else 0.0) for i in range(3) for j in range(i, 3)]
    return np.column_stack([np.sum(a * b, axis=1), first, *mixed])


def _gradients(asked: frozenset[str], what: str, **found: FloatArray) -> Gradients:
    for name in asked:
        finite_gradients(found[name], what)
    return Gradients(**{name: found[name] for name in asked})


def _directions(model: Model, function: Any, known: tuple[str, ...], options: dict[str, Any]) -> dict[str, FloatArray]:
    given = as_directions(model, function, known, options)
    if options:
        raise StateError(f"{function.__name__} has no option {shown(next(iter(options)))}.")
    return given


# ------------------------------------------------------------------------------------------------------------- body_poses


def poses_vjp(model: Model, state: State, wrt: Sequence[str] | None = None) -> tuple[FloatArray, Pull]:
    """Weights (n, 4, 4); those of the last row, which is constant, do not count."""
    asked = as_names(wrt, ("q",), "body_poses")
    at = Moving(model, state)

    def pull(weights: ArrayLike) -> Gradients:
        W = as_weights(weights, (model.n_bodies, 4, 4), model)
        turned = np.einsum("nji,njk->nik", at.R, W[:, :3, :3])
        n = np.stack([turned[:, 2, 1] - turned[:, 1, 2], turned[:, 0, 2] - turned[:, 2, 0]], axis=1)
        n = np.column_stack([n, turned[:, 1, 0] - turned[:, 0, 1]])
        by_q, _ = at.back(np.hstack([n, at.to_body(W[:, :3, 3])]), None)
        return _gradients(asked, "body_poses", q=by_q)

    return motion.body_poses(model, state), pull


def poses_jvp(model: Model, state: State, **directions: Any) -> FloatArray:
    given = _directions(model, motion.body_poses, ("q",), directions)
    at = Moving(model, state)
    moved, _ = at.along(given)
    dT = np.zeros((model.n_bodies, 4, 4))
    dT[:, :3, :3] = np.cross(at.R, moved[:, None, :3])  # R ω̂, row by row
    dT[:, :3, 3] = at.to_world(moved[:, 3:])
    return dT


# ------------------------------------------------------------------------------------------------------------ body_twists


def twists_vjp(
    model: Model, state: State, frame: str = "body", wrt: Sequence[str] | None = None
) -> tuple[FloatArray, Pull]:
    asked = as_names(wrt, ("q", "v"), "body_twists")
    choice(frame, motion.FRAMES, "frame")
    at = Moving(model, state)

    def pull(weights: ArrayLike) -> Gradients:
        W = as_weights(weights, (model.n_bodies, 6), model).copy()
        G = None
        if frame == "world":
            W = np.hstack([at.to_body(W[:, :3]), at.to_body(W[:, 3:])])
            turning = np.cross(at.twists[:, :3], W[:, :3]) + np.cross(at.twists[:, 3:], W[:, 3:])
            G = np.hstack([turning, np.zeros_like(turning)])
        by_q, by_v = at.back(G, W)
        return _gradients(asked, "body_twists", q=by_q, v=by_v)

    return motion.body_twists(model, state, frame=frame), pull


def twists_jvp(model: Model, state: State, frame: str = "body", **directions: Any) -> FloatArray:
    given = _directions(model, motion.body_twists, ("q", "v"), directions)
    choice(frame, motion.FRAMES, "frame")
    at = Moving(model, state)
    moved, changed = at.along(given)
    if frame == "body":
        return changed
    w = moved[:, :3]
    halves = (changed[:, k : k + 3] + np.cross(w, at.twists[:, k : k + 3]) for k in (0, 3))
    return np.hstack([at.to_world(half) for half in halves])


# ----------------------------------------------------------------------------------------------------------------- energy

ENERGY = ("q", "v", "inertias", "gravity", "stiffness", "armature")


def energy_vjp(model: Model, state: State, wrt: Sequence[str] | None = None) -> tuple[motion.Energy, Pull]:
    """Weights (2,): of the kinetic and of the potential energy."""
    asked = as_names(wrt, ENERGY, "energy")
    at = Moving(model, state)

    def pull(weights: ArrayLike) -> Gradients:
        kinetic, potential = as_weights(weights, (2,), model)
        g, armature, r = at.to_body(model.gravity), at.dof(layout.ARMATURE), at.stretches()
        weight = np.hstack([np.cross(at.ten[:, 1:4], g), at.ten[:, :1] * g])
        by_q, by_v = at.back(-potential * weight, kinetic * at.momenta)
        inertias = 0.5 * kinetic * bilinear(at.twists, at.twists)
        inertias[:, 0] -= potential * (at.p @ model.gravity)
        inertias[:, 1:4] -= potential * g
        return _gradients(
            asked,
            "energy",
            q=by_q + potential * at.spring_pulls(),
            v=by_v + kinetic * armature * at.v,
            inertias=inertias,
            gravity=-potential * at.moment.sum(axis=0),
            stiffness=0.5 * potential * r * r,
            armature=0.5 * kinetic * at.v * at.v,
        )

    return motion.energy(model, state), pull


def energy_jvp(model: Model, state: State, **directions: Any) -> motion.Energy:
    """Every direction is one product with the gradient."""
    given = _directions(model, motion.energy, ENERGY, directions)
    _, pull = energy_vjp(model, state)
    changes = []
    for weights in ((1.0, 0.0), (0.0, 1.0)):
        found = pull(weights)
        changes.append(float(sum(np.sum(getattr(found, name) * given[name]) for name in given)))
    return motion.Energy(*changes)


# --------------------------------------------------------------------------------------------------------------- momentum


def momentum_vjp(
    model: Model, state: State, about: ArrayLike = (0.0, 0.0, 0.0), wrt: Sequence[str] | None = None
) -> tuple[motion.Momentum, Pull]:
    """Weights (2, 3): of the linear and of the angular momentum."""
    asked = as_names(wrt, ("q", "v", "inertias"), "momentum")
    at = Moving(model, state)
    point = as_finite(about, (3,), "about", model).copy()

    def pull(weights: ArrayLike) -> Gradients:
        linear, angular = as_weights(weights, (2, 3), model)
        linear = linear - np.cross(angular, point)
        # The weights as a twist of the world, seen by every body: L = Σ Z · I V.
        Z = np.hstack([at.to_body(angular), at.to_body(linear + np.cross(angular, at.p))])
        by_q, by_v = at.back(-cross_force(Z, at.momenta), rigid_times(at.ten, Z))
        return _gradients(asked, "momentum", q=by_q, v=by_v, inertias=bilinear(Z, at.twists))

    return motion.momentum(model, state, point), pull


def momentum_jvp(model: Model, state: State, about: ArrayLike = (0.0, 0.0, 0.0), **directions: Any) -> motion.Momentum:
    given = _directions(model, motion.momentum, ("q", "v", "inertias"), directions)
    at = Moving(model, state)
    point = as_finite(about, (3,), "about", model)
    moved, changed = at.along(given)
    change = rigid_times(at.ten, changed) + cross_force(moved, at.momenta)
    if "inertias" in given:
        change += rigid_times(given["inertias"], at.twists)
    force = at.to_world(change[:, 3:])
    moment = at.to_world(change[:, :3]) + np.cross(at.p - point, force)
    return motion.Momentum(force.sum(axis=0), moment.sum(axis=0))


# --------------------------------------------------------------------------------------------------------- center_of_mass


def center_vjp(model: Model, state: State, wrt: Sequence[str] | None = None) -> tuple[FloatArray, Pull]:
    asked = as_names(wrt, ("q", "inertias"), "center_of_mass")
    center = motion.center_of_mass(model, state)
    at = Moving(model, state)
    mass = float(at.ten[:, 0].sum())

    def pull(weights: ArrayLike) -> Gradients:
        w = as_weights(weights, (3,), model) / mass
        own = at.to_body(w)
        by_q, _ = at.back(np.hstack([np.cross(at.ten[:, 1:4], own), at.ten[:, :1] * own]), None)
        inertias = np.zeros((model.n_bodies, 10))
        inertias[:, 0], inertias[:, 1:4] = (at.p - center) @ w, own
        return _gradients(asked, "center_of_mass", q=by_q, inertias=inertias)

    return center.copy(), pull


def center_jvp(model: Model, state: State, **directions: Any) -> FloatArray:
    given = _directions(model, motion.center_of_mass, ("q", "inertias"), directions)
    center = motion.center_of_mass(model, state)
    at = Moving(model, state)
    moved, _ = at.along(given)
    h = at.ten[:, 1:4]
    change = at.to_world(at.ten[:, :1] * moved[:, 3:] + np.cross(moved[:, :3], h)).sum(axis=0)
    if "inertias" in given:
        dm, dh = given["inertias"][:, :1], given["inertias"][:, 1:4]
        change = change + (dm * (at.p - center) + at.to_world(dh)).sum(axis=0)
    return np.asarray(change / at.ten[:, 0].sum())
