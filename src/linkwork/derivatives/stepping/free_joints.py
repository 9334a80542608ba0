"""Free joints in a step of semi-implicit Euler, backwards: equation (5) of `simulation.integrators.euler`.

    v₁ = v + h (q̈ + ω x v)        p⁺ = p + h R u        E = exp(h u_ω),  R⁺ = R E        v⁺ = Eᵀ v₁

with u = v₁ but for bodies that turn by their spin. ξ = Jr(h u_ω) h δu_ω is how E turns: then δ(Eᵀ a) = Eᵀ δa + (Eᵀ a) x ξ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.derivatives.stepping.turning import right_jacobians, rotations, times, transposed_times
from linkwork.model import layout
from linkwork.model.model import Model


class MoveGradients(NamedTuple):
    """With respect to the start, the velocities u that moved it, and those that it was left with, (nv,) each."""

    q: FloatArray
    u: FloatArray
    v: FloatArray


class FreeJoints:
    """The free joints of a model. turn, shift: rows of angular and linear velocities, shape (m, 3)."""

    def __init__(self, model: Model):
        tree = model.arrays.tree
        first = tree[tree[:, layout.KIND] == layout.FREE, layout.V]
        self.place = tree[tree[:, layout.KIND] == layout.FREE, layout.Q][:, None] + np.arange(3)
        self.turn = first[:, None] + np.arange(3)
        self.shift = self.turn + 3

    def speed_up(self, v: FloatArray, faster: FloatArray, h: float) -> None:
        """Adds h ω x v to the velocities v + h q̈."""
        if not self.turn.size:
            return
        faster[self.shift] += h * np.cross(v[self.turn], v[self.shift])

    def advance(self, start: FloatArray, q: FloatArray, u: FloatArray, v: FloatArray, h: float) -> None:
        """Writes places of free joints into q, and turns their velocities v into the axes they have at the end."""
        if not self.turn.size:
            return
        w, x, y, z = (start[self.place[:, :1] + 3 + k][:, 0] for k in range(4))
        way = u[self.shift]
        axis = np.stack([x, y, z], axis=1)
        twice = 2.0 * np.cross(axis, way)
        q[self.place] = start[self.place] + h * (way + w[:, None] * twice + np.cross(axis, twice))
        E = rotations(h * u[self.turn])
        for rows in (self.turn, self.shift):
            v[rows] = transposed_times(E, v[rows])

    def speed_up_back(self, v: FloatArray, by_faster: FloatArray, h: float) -> FloatArray:
        """What ω x v adds to the gradient with respect to v, shape (nv,)."""
        out = np.zeros_like(v)
        if not self.turn.size:
            return out
        weights = by_faster[self.shift]
        out[self.turn] = h * np.cross(v[self.shift], weights)
        out[self.shift] = h * np.cross(weights, v[self.turn])
        return out

    def move_back(
        self, h: float, u: FloatArray, v: FloatArray, by_q: FloatArray, by_v: FloatArray, into: MoveGradients
    ) -> None:
        """Writes the rows of free joints. v: before it is turned; by_q, by_v: of what is reached."""
        E = rotations(h * u[self.turn])
        way = times(E, by_q[self.shift])
        turning = by_q[self.turn].copy()
        for rows in (self.turn, self.shift):
            turning += np.cross(by_v[rows], transposed_times(E, v[rows]))
            into.v[rows] = times(E, by_v[rows])
        into.q[self.turn] = times(E, by_q[self.turn]) + h * np.cross(u[self.shift], way)
        into.q[self.shift] = way
        into.u[self.turn] = h * transposed_times(right_jacobians(h * u[self.turn]), turning)
        into.u[self.shift] = h * way
