"""Loads of a simulation as wrenches on bodies, and what turning the bodies does to those held by the world.

A force f and a torque t fixed in the world, at the point r of a body, are F = [Rᵀt + r x Rᵀf; Rᵀf] in the body's frame; a
spring adds K (target - point) to f. With weights W on F, c = W_v + W_ω x r and the body moved by ξ = [ω; v]:

    d(W·F) = -ω·(Rᵀt x W_ω + Rᵀf x c) - K c·(v + ω x r)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.derivatives.kinematics import Moving
from linkwork.dynamics.quantities.motion import body_poses
from linkwork.model.model import Model
from linkwork.model.state import State

LOAD_AT, LOAD_FORCE, LOAD_TORQUE, LOAD_TARGET, LOAD_STIFFNESS = 0, 3, 6, 9, 12  # columns of a simulation's loads


class LoadGradients(NamedTuple):
    """Of a number with respect to loads held by the world, one row each: forces, torques and targets of springs in the
    axes of the world (m, 3), stiffness of springs (m,)."""

    force: FloatArray
    torque: FloatArray
    target: FloatArray
    stiffness: FloatArray


class WorldLoads:
    """Loads on a model. fixed: in the bodies, (n, 6) or None; body (m,), table (m, 16): of those held by the world."""

    def __init__(self, model: Model, fixed: FloatArray | None, body: IntArray, table: FloatArray):
        self.model, self.fixed, self.body, self.table = model, fixed, body, table
        self.count = body.size

    @classmethod
    def of_simulation(cls, model: Model, loads: Any, saved: dict[str, Any]) -> WorldLoads:
        """loads: as a simulation lists them; saved: its checkpoint."""
        fixed = np.zeros((model.n_bodies, 6)) if any(load.is_fixed for load in loads) else None
        for load in loads:
            if load.is_fixed and fixed is not None:
                np.add.at(fixed, load.bodies, load.wrenches)
        in_world = [load for load in loads if not load.is_fixed]
        body = np.concatenate([load.bodies for load in in_world]) if in_world else np.zeros(0, dtype=np.int64)
        rows = np.concatenate([load.rows for load in in_world]) if in_world else np.zeros(0, dtype=np.int64)
        table = np.asarray(saved["load_table"], dtype=float)[rows] if in_world else np.zeros((0, 16))
        return cls(model, fixed, body, table)

    def _columns(self, first: int, last: int | None = None) -> FloatArray:
        return self.table[:, first : first + 3 if last is None else last]

    def _in_bodies(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Torques and forces in the axes of the bodies, (k, 3) each."""
        T = body_poses(self.model, state)[self.body]
        R, at = T[:, :3, :3], self._columns(LOAD_AT)
        point = np.einsum("nij,nj->ni", R, at) + T[:, :3, 3]
        force = self._columns(LOAD_FORCE) + self.table[:, LOAD_STIFFNESS, None] * (self._columns(LOAD_TARGET) - point)
        return np.einsum("nji,nj->ni", R, self._columns(LOAD_TORQUE)), np.einsum("nji,nj->ni", R, force)

    def wrenches(self, state: State) -> FloatArray | None:
        """All of them at a state, in the bodies' frames, (n, 6); None where nothing acts."""
        if not self.count:
            return self.fixed
        total = np.zeros((self.model.n_bodies, 6)) if self.fixed is None else self.fixed.copy()
        t, f = self._in_bodies(state)
        np.add.at(total, self.body, np.hstack([t + np.cross(self._columns(LOAD_AT), f), f]))
        return total

    def back(self, state: State, weights: FloatArray) -> FloatArray:
        """Gradient with respect to q of weights · wrenches, shape (nv,)."""
        if not self.count:
            return np.zeros(self.model.nv)
        t, f = self._in_bodies(state)
        at, K = self._columns(LOAD_AT), self.table[:, LOAD_STIFFNESS, None]
        W = weights[self.body]
        c = W[:, 3:] + np.cross(W[:, :3], at)
        G = np.zeros((self.model.n_bodies, 6))
        turning = -np.cross(t, W[:, :3]) - np.cross(f, c) - K * np.cross(at, c)
        np.add.at(G, self.body, np.hstack([turning, -K * c]))
        by_q, _ = Moving(self.model, state).back(G, None)
        return by_q

    def own(self, state: State, weights: FloatArray) -> LoadGradients:
        """Gradients of weights · wrenches with respect to the loads themselves."""
        T = body_poses(self.model, state)[self.body]
        R, at, W = T[:, :3, :3], self._columns(LOAD_AT), weights[self.body]
        point = np.einsum("nij,nj->ni", R, at) + T[:, :3, 3]
        force = np.einsum("nij,nj->ni", R, W[:, 3:] + np.cross(W[:, :3], at))
        torque = np.einsum("nij,nj->ni", R, W[:, :3])
        stretch = self._columns(LOAD_TARGET) - point
        stiffness = self.table[:, LOAD_STIFFNESS]
        return LoadGradients(force, torque, stiffness[:, None] * force, np.sum(stretch * force, axis=1))
