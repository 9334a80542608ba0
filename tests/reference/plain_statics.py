"""Statics in its plainest form: energy, its gradient and its second derivative as dense matrices in the world's frame.

With columns s of all freedoms in the world's frame and F_j the wrench of all loads beyond joint j, along q ⊕ x
(docs/theory/statics.md):

    ∂U_j  = −s_jᵀ F_j
    ∂²U   = −Σ_i J_iᵀ K_i J_i − ½ Σ_{a before b} F_b·(s_a x s_b) (E_ab + E_ba)                       (2)

K_i is the symmetric part of the change of body i's wrench per twist. Springs of joints come on top.
"""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.quantities.motion import body_jacobian, body_poses
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.spatial.matrices import motion_matrix

PointForce = tuple[int, FloatArray, FloatArray]  # body, point in it [m], force in the world's axes [N]
Anchor = tuple[int, FloatArray, FloatArray, float]  # body, point in it [m], point in the world [m], stiffness [N/m]


class PlainStatics:
    """Gravity, world-fixed forces at points and springs to world points, on a model without joint springs."""

    def __init__(self, model: Model, forces: list[PointForce] | None = None, anchors: list[Anchor] | None = None):
        self.model, self.forces, self.anchors = model, forces or [], anchors or []

    def pulls(self, q: FloatArray) -> list[tuple[int, FloatArray, FloatArray, float]]:
        """Body, point in the world, force and stiffness of everything that pulls at coordinates q."""
        T = body_poses(self.model, State(q, np.zeros(self.model.nv)))
        found = []
        for i in range(self.model.n_bodies):
            m = self.model.mass[i]
            if m > 0.0:
                com = self.model.arrays.body[i, layout.INERTIA + 1 : layout.INERTIA + 4] / m
                found.append((i, T[i, :3, :3] @ com + T[i, :3, 3], m * self.model.gravity, 0.0))
        for i, at, force in self.forces:
            found.append((i, T[i, :3, :3] @ at + T[i, :3, 3], np.asarray(force, dtype=float), 0.0))
        for i, at, target, stiffness in self.anchors:
            point = T[i, :3, :3] @ at + T[i, :3, 3]
            found.append((i, point, stiffness * (np.asarray(target) - point), stiffness))
        return found

    def energy(self, q: FloatArray) -> float:
        total = 0.0
        for _, point, force, stiffness in self.pulls(q):
            total += float(0.5 * force @ force / stiffness if stiffness > 0.0 else -force @ point)
        return total

    def columns(self, q: FloatArray) -> list[FloatArray]:
        """Twist of each body per velocity, in the world's frame at its origin, n matrices of shape (6, nv)."""
        state = State(q, np.zeros(self.model.nv))
        T = body_poses(self.model, state)
        rows = []
        for i in range(self.model.n_bodies):
            X = np.linalg.inv(motion_matrix(T[i, :3, :3].ravel(), T[i, :3, 3]))
            rows.append(X @ body_jacobian(self.model, state, i))
        return rows

    def gradient(self, q: FloatArray) -> FloatArray:
        """∂U along each freedom, shape (nv,)."""
        J = self.columns(q)
        out = np.zeros(self.model.nv)
        for i, point, force, _ in self.pulls(q):
            out -= J[i].T @ np.concatenate([np.cross(point, force), force])
        return out

    def second_derivative(self, q: FloatArray) -> FloatArray:
        """∂²U, shape (nv, nv): symmetric."""
        model, J = self.model, self.columns(q)
        nv = model.nv
        H = np.zeros((nv, nv))
        beyond = np.zeros((model.n_bodies, 6))
        for i, point, force, stiffness in self.pulls(q):
            moves = _skew(point).T @ J[i][:3] + J[i][3:]  # velocity of the point
            turn = J[i][:3]
            H += stiffness * moves.T @ moves
            half = -turn.T @ (-_skew(force) @ moves)  # −ω·((ω x p + v) x f)
            H += 0.5 * (half + half.T)
            beyond[i] += np.concatenate([np.cross(point, force), force])
        for i in range(model.n_bodies - 1, -1, -1):
            if model.parent[i] >= 0:
                beyond[model.parent[i]] += beyond[i]
        for b, joint in enumerate(model.joints):
            own = range(model.v_slice(b).start, model.v_slice(b).stop)
            before = np.flatnonzero(np.abs(J[b]).max(axis=0) > 0.0)
            for k in own:
                ahead = [a for a in before if a < own.start or (joint.screws and a < k)]
                for a in ahead:
                    half = 0.5 * beyond[b] @ _cross(J[b][:, a], J[b][:, k])
                    H[a, k] -= half
                    H[k, a] -= half
        return H


def _skew(a: FloatArray) -> FloatArray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def _cross(s: FloatArray, t: FloatArray) -> FloatArray:
    """s x t of twists."""
    return np.concatenate([np.cross(s[:3], t[:3]), np.cross(s[:3], t[3:]) + np.cross(s[3:], t[:3])])
