"""Free figures: their momentum, what acts on them from outside, and how a step keeps account of both.

A figure is everything that hangs from one joint to the world. Where that joint is a `Free` without armature, the momentum
L of the figure changes by external wrenches W alone. The error of an explicit step breaks this; moving the whole figure by
the twist I_C⁻¹ (L + h W - L⁺) at the end of the step mends it. Theory: docs/integrators.md.

All sums over bodies come from inverse dynamics of the linkage at rest: the effort on a free joint is then the wrench that
gives its whole figure the accelerations asked for. With velocities in place of accelerations that is momentum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics.inputs import NO_WRENCHES
from linkwork.dynamics.rnea import BODY_WORK, rnea
from linkwork.model.layout import ARMATURE, DAMPING, FREE, INERTIA, KIND, PARENT, POSITION, ROTATION, STIFFNESS, Q, V
from linkwork.model.manifold import coordinates_difference
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class FreeFigures:
    """The free figures of a model that nothing but external wrenches can push. Cost of every method: O(n)."""

    def __init__(self, model: Model):
        tree, body, _, dof, _, _ = model.arrays
        self.model = model
        starts = np.flatnonzero(tree[:, PARENT] < 0)  # bodies are numbered depth first, so figures are runs of them
        figure = np.repeat(np.arange(starts.size), np.diff(starts, append=model.n_bodies))
        tied = {int(k) for k in _tied_figures(model, figure)}
        free = [k for k, root in enumerate(starts.tolist()) if k not in tied and _is_free(model, root)]
        self.roots: IntArray = starts[free]  # bases of the free figures
        self._mass = np.bincount(figure, weights=body[:, INERTIA], minlength=starts.size)[free]
        self._v = tree[self.roots, V][:, None] + np.arange(6)
        self._q = tree[self.roots, Q][:, None] + np.arange(7)
        self._damping, self._stiffness = dof[self._v, DAMPING], dof[self._v, STIFFNESS]
        self._rotation = body[self.roots, ROTATION : ROTATION + 9].reshape(-1, 3, 3)
        self._position = body[self.roots, POSITION : POSITION + 3]
        self._still = np.zeros(model.nv)
        self._slack, self._weightless = _read_only(np.zeros_like(dof)), _read_only(np.zeros(3))
        self._work, self._S = np.empty((model.n_bodies, BODY_WORK)), np.empty((model.nv, 6))
        self._effort = np.empty(model.nv)

    def __len__(self) -> int:
        return self.roots.size

    def momentum(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """[angular; linear] of each free figure about the world's origin in world axes, shape (figures, 6)."""
        return _to_world(*self._base_poses(q), self._on_bases(q, v, NO_WRENCHES, self._weightless))

    def momentum_after(self, state: State, h: float, effort: FloatArray, wrenches: FloatArray) -> FloatArray:
        """L + h W: what each free figure has after the time h, about the world's origin in world axes, (figures, 6).

        effort, wrenches: as given to forward dynamics; empty for none. Gravity and the free joint's own springs and dampers
        count besides.
        """
        q, v = state
        after = self._on_bases(q, v, -h * wrenches, _read_only(-h * self.model.gravity))
        own = self._joint_wrench(q, v)
        after += h * (own + effort[self._v] if effort.size else own)
        return _to_world(*self._base_poses(q), after)

    def with_momentum(self, state: State, goal: FloatArray) -> State:
        """The state with the twist of each free base changed so that its figure has the momentum `goal`, (figures, 6)."""
        q, v = state
        missing = _to_base(*self._base_poses(q), goal) - self._on_bases(q, v, NO_WRENCHES, self._weightless)
        twist = np.linalg.solve(self._composite(q), missing[:, :, None])
        new_v = v.copy()
        new_v[self._v] += twist[:, :, 0]
        return State(q, new_v)

    def _on_bases(self, q: FloatArray, qdd: FloatArray, wrenches: FloatArray, gravity: FloatArray) -> FloatArray:
        """Efforts on the free joints of the linkage at rest, each in its base's frame at its origin, (figures, 6)."""
        tree, body, screws, _, rest, _ = self.model.arrays
        rnea(
            tree, body, screws, self._slack, rest, gravity, q, self._still, qdd, wrenches, self._work, self._S,
            self._effort,
        )  # fmt: skip
        return self._effort[self._v]

    def _joint_wrench(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Springs and dampers of the free joints, each in its base's frame at its origin, shape (figures, 6)."""
        wrench = -self._damping * v[self._v]
        if self._stiffness.any():
            tree, rest = self.model.arrays.tree, self.model.arrays.rest
            turned = coordinates_difference(tree, rest, q, self.model.nv)[self._v[:, :3]]
            back = _rotations(q[self._q[:, 3:]]).transpose(0, 2, 1)
            shifted = _turn(back, q[self._q[:, :3]] - rest[self._q[:, :3]])
            wrench -= self._stiffness * np.hstack([turned, shifted])
        return wrench

    def _composite(self, q: FloatArray) -> FloatArray:
        """Inertia of each free figure as one rigid body, in its base's frame at its origin, shape (figures, 6, 6)."""
        out = np.zeros((len(self), 6, 6))
        for k in range(3):  # what turning needs tells moments and first moment; the mass never changes
            turn = np.zeros(self.model.nv)
            turn[self._v[:, k]] = 1.0
            out[:, :, k] = self._on_bases(q, turn, NO_WRENCHES, self._weightless)
        out[:, :3, 3:] = out[:, 3:, :3].transpose(0, 2, 1)
        out[:, 3:, 3:] = self._mass[:, None, None] * np.eye(3)
        return out

    def _base_poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rotations (figures, 3, 3) and positions (figures, 3) of the bases in the world."""
        R = self._rotation @ _rotations(q[self._q[:, 3:]])
        return R, self._position + _turn(self._rotation, q[self._q[:, :3]])


def _is_free(model: Model, root: int) -> bool:
    tree, dof = model.arrays.tree, model.arrays.dof
    return bool(tree[root, KIND] == FREE and not dof[tree[root, V] : tree[root, V] + 6, ARMATURE].any())


def _tied_figures(model: Model, figure: IntArray) -> set[int]:
    """Figures that loops tie to others or to the world: the forces in those loops come from outside."""
    tied = set()
    for loop in model.loops:
        ends = {int(figure[body]) if body >= 0 else -1 for body in (loop.body_a, loop.body_b)}
        if len(ends) > 1:
            tied |= ends
    return tied


def _read_only(array: FloatArray) -> FloatArray:
    """As arrays of a model are: the same compiled kernel serves."""
    array.setflags(write=False)
    return array


def _rotations(quaternions: FloatArray) -> FloatArray:
    """Matrices of unit quaternions (w, x, y, z), shape (m, 3, 3)."""
    w, x, y, z = quaternions.T
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.array(rows).transpose(2, 0, 1)


def _turn(R: FloatArray, vectors: FloatArray) -> FloatArray:
    """Each matrix times its vector."""
    return (R @ vectors[:, :, None])[:, :, 0]


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """a × b, row by row; like np.cross, without its overhead for few rows."""
    ax, ay, az = a.T
    bx, by, bz = b.T
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=1)


def _to_world(R: FloatArray, p: FloatArray, wrenches: FloatArray) -> FloatArray:
    """Wrenches or momenta in frames at (R, p) → about the world's origin in world axes, shape (m, 6)."""
    force = _turn(R, wrenches[:, 3:])
    return np.hstack([_turn(R, wrenches[:, :3]) + _cross(p, force), force])


def _to_base(R: FloatArray, p: FloatArray, wrenches: FloatArray) -> FloatArray:
    """The inverse of `_to_world`."""
    back = R.transpose(0, 2, 1)
    return np.hstack([_turn(back, wrenches[:, :3] - _cross(p, wrenches[:, 3:])), _turn(back, wrenches[:, 3:])])
