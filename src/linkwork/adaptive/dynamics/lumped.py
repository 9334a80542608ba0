"""Rigid groups of a linkage, each with its whole inertia on its first body; and the way back.

The discrete momentum of a rigid group ((6) of `discrete_body`) is not the sum of those of its bodies, so that variational
steps of a region ask for the inertia of groups. Bodies that follow the first one of a group have no mass here; where they
stand still says where the next groups begin. With the inertia of a body as a matrix P of 4 x 4,

    P = [½ tr(I) 1 - I, m c; (m c)ᵀ, m],      P of a group = Σ X P Xᵀ,   X poses of its bodies in the first one

and weights G on the matrix of a group are Xᵀ G X on that of a body, 2 Xᵀ G X P on a small motion of it within the group.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.derivatives.kinematics import Moving
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.model.state import State

TEN = slice(layout.INERTIA, layout.INERTIA + 10)
ROWS, COLUMNS = (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)  # of the six moments


class Lumps:
    """The groups of a model at q whose first bodies are `firsts`; what hangs on the world by no other has no inertia."""

    def __init__(self, model: Model, firsts: IntArray, q: FloatArray):
        self.original, self.q, n = model, q, model.n_bodies
        self.first = _first_bodies(model.arrays.tree[:, layout.PARENT], firsts)
        self.within = np.flatnonzero(self.first < n)
        self.first = self.first[self.within]
        T = np.asarray(body_poses(model, State(q, np.zeros(model.nv))))
        self.X = inverse_poses(T[self.first]) @ T[self.within]
        self.P = as_matrices(model.arrays.body[self.within, TEN])
        groups = np.zeros((n, 4, 4))
        np.add.at(groups, self.first, self.X @ self.P @ self.X.transpose(0, 2, 1))
        body = model.arrays.body.copy()
        body[:, TEN] = as_numbers(groups)
        self.model = replace(model, arrays=model.arrays._replace(body=body))

    def back(self, by_ten: FloatArray) -> tuple[FloatArray, FloatArray]:
        """From gradients by the ten numbers of the groups, rows of their first bodies: by those of all bodies, and by q."""
        n, model = self.original.n_bodies, self.original
        G = self.X.transpose(0, 2, 1) @ weights_as_matrices(by_ten[self.first]) @ self.X
        inertias = np.zeros((n, 10))
        inertias[self.within] = weights_as_numbers(G)
        K = 2.0 * G @ self.P
        torque = np.stack([K[:, 2, 1] - K[:, 1, 2], K[:, 0, 2] - K[:, 2, 0], K[:, 1, 0] - K[:, 0, 1]], axis=1)
        force = K[:, :3, 3]
        poses = np.zeros((n, 6))
        poses[self.within] = np.hstack([torque, force])
        R, p = self.X[:, :3, :3], self.X[:, :3, 3]
        there = np.einsum("nij,nj->ni", R, force)  # moving a whole group changes nothing
        turned = np.einsum("nij,nj->ni", R, torque) + np.cross(p, there)
        np.subtract.at(poses, self.first, np.hstack([turned, there]))
        return inertias, Moving(model, State(self.q, np.zeros(model.nv))).back(poses, None)[0]


def _first_bodies(parent: IntArray, firsts: IntArray) -> IntArray:
    """For each body the first one of its group; as many as there are bodies: the world."""
    n = parent.size
    up = np.append(np.where(parent >= 0, parent, n), n)
    up[firsts] = firsts
    while not np.array_equal(up, up[up]):
        up = up[up]
    return up[:n]


def inverse_poses(T: FloatArray) -> FloatArray:
    """Of matrices (n, 4, 4)."""
    out = np.zeros_like(T)
    R = T[:, :3, :3].transpose(0, 2, 1)
    out[:, :3, :3], out[:, 3, 3] = R, 1.0
    out[:, :3, 3] = -np.einsum("nij,nj->ni", R, T[:, :3, 3])
    return out


def as_matrices(ten: FloatArray) -> FloatArray:
    """Matrices P, (n, 4, 4), of rows m, m c, xx xy xz yy yz zz."""
    P = np.zeros((ten.shape[0], 4, 4))
    P[:, ROWS, COLUMNS] = P[:, COLUMNS, ROWS] = -ten[:, 4:]
    half = 0.5 * (ten[:, 4] + ten[:, 7] + ten[:, 9])
    for k in range(3):
        P[:, k, k] += half
    P[:, :3, 3] = P[:, 3, :3] = ten[:, 1:4]
    P[:, 3, 3] = ten[:, 0]
    return P


def as_numbers(P: FloatArray) -> FloatArray:
    """The ten numbers of matrices P."""
    trace = P[:, 0, 0] + P[:, 1, 1] + P[:, 2, 2]
    moments = -P[:, ROWS, COLUMNS]
    moments[:, (0, 3, 5)] += trace[:, None]
    return np.column_stack([P[:, 3, 3], P[:, :3, 3], moments])


def weights_as_matrices(by_ten: FloatArray) -> FloatArray:
    """G with Σ G P = by_ten · (the ten numbers of P), symmetric."""
    G = np.zeros((by_ten.shape[0], 4, 4))
    moments = by_ten[:, 4:]
    G[:, ROWS, COLUMNS] = G[:, COLUMNS, ROWS] = -0.5 * moments
    trace = moments[:, 0] + moments[:, 3] + moments[:, 5]
    for k, at in enumerate((0, 3, 5)):
        G[:, k, k] = trace - moments[:, at]
    G[:, :3, 3] = G[:, 3, :3] = 0.5 * by_ten[:, 1:4]
    G[:, 3, 3] = by_ten[:, 0]
    return G


def weights_as_numbers(G: FloatArray) -> FloatArray:
    """by_ten with by_ten · (the ten numbers of P) = Σ G P for every P."""
    trace = 0.5 * (G[:, 0, 0] + G[:, 1, 1] + G[:, 2, 2])
    moments = -2.0 * G[:, ROWS, COLUMNS]
    for k, at in enumerate((0, 3, 5)):
        moments[:, at] = trace - G[:, k, k]
    return np.column_stack([G[:, 3, 3], 2.0 * G[:, :3, 3], moments])
