"""Free figures: their momentum, what acts on them from outside, and how a step keeps account of both.

A figure is everything that hangs from one joint to the world. Where that joint is a `Free` without armature, the momentum
L of the figure changes by external wrenches W alone. The error of an explicit step breaks this; moving the whole figure by
the twist I_C⁻¹ (L + h W - L⁺) at the end of the step mends it. Theory: docs/integrators.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.dynamics import kinematics
from linkwork.model.layout import ARMATURE, DAMPING, FREE, INERTIA, KIND, PARENT, ROTATION, STIFFNESS, Q, V
from linkwork.model.manifold import coordinates_difference
from linkwork.model.model import Model
from linkwork.model.state import State

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class FreeFigures:
    """The free figures of a model that nothing but external wrenches can push. Cost of every method: O(n)."""

    def __init__(self, model: Model):
        tree, body, _, dof, _, gravity = model.arrays
        self.model = model
        self._starts: IntArray = np.flatnonzero(tree[:, PARENT] < 0)  # of all figures: bodies are numbered depth first
        self._figure = np.repeat(np.arange(self._starts.size), np.diff(self._starts, append=model.n_bodies))
        chosen = [k for k, root in enumerate(self._starts.tolist()) if self._is_free(root)]
        self._chosen: IntArray = np.array(chosen, dtype=np.int64)
        self.roots: IntArray = self._starts[self._chosen]  # bases of the free figures
        self._v = tree[self.roots, V][:, None] + np.arange(6)
        self._q = tree[self.roots, Q][:, None] + np.arange(3)
        self._damping, self._stiffness = dof[self._v, DAMPING], dof[self._v, STIFFNESS]
        self._placement = body[self.roots, ROTATION : ROTATION + 9].reshape(-1, 3, 3)
        self._mass = body[:, INERTIA]
        self._first = body[:, INERTIA + 1 : INERTIA + 4]
        self._second = body[:, INERTIA + 4 + np.array([0, 1, 2, 1, 3, 4, 2, 4, 5])].reshape(-1, 3, 3)
        self._inertia = np.zeros((model.n_bodies, 6, 6))
        self._inertia[:, :3, :3] = self._second
        self._inertia[:, :3, 3:] = _skew(self._first)
        self._inertia[:, 3:, :3] = -self._inertia[:, :3, 3:]
        self._inertia[:, 3:, 3:] = self._mass[:, None, None] * np.eye(3)
        self._gravity = gravity
        self._weight = self._add_up(self._mass[:, None] * gravity)

    def __len__(self) -> int:
        return self.roots.size

    def _is_free(self, root: int) -> bool:
        tree, dof = self.model.arrays.tree, self.model.arrays.dof
        if tree[root, KIND] != FREE or dof[tree[root, V] : tree[root, V] + 6, ARMATURE].any():
            return False
        figure = self._figure[root]
        ends = [(loop.body_a, loop.body_b) for loop in self.model.loops]
        inside = [[end >= 0 and self._figure[end] == figure for end in pair] for pair in ends]
        return all(a == b for a, b in inside)  # a loop to another figure or the world is an external wrench

    def momentum(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """[angular; linear] of each free figure about the world's origin in world axes, shape (figures, 6)."""
        R, p = self._poses(q)
        return self._add_up(_to_world(R, p, self._body_momenta(q, v)))

    def momentum_after(self, state: State, h: float, effort: FloatArray, wrenches: FloatArray) -> FloatArray:
        """L + h W: what each free figure has after the time h, about the world's origin in world axes, (figures, 6).

        effort, wrenches: as given to forward dynamics; empty for none. Gravity and the free joint's own springs and dampers
        count besides.
        """
        q, v = state
        R, p = self._poses(q)
        on_bodies = self._body_momenta(q, v)
        if wrenches.size:
            on_bodies += h * wrenches
        own = self._joint_wrench(q, v, R[self.roots])
        on_bodies[self.roots] += h * (own + effort[self._v] if effort.size else own)
        after = self._add_up(_to_world(R, p, on_bodies))
        moment = self._add_up(_turn(R, self._first) + self._mass[:, None] * p)
        after[:, :3] += h * cross(moment, self._gravity)
        after[:, 3:] += h * self._weight
        return after

    def with_momentum(self, state: State, goal: FloatArray) -> State:
        """The state with the twist of each free base changed so that its figure has the momentum `goal`, (figures, 6)."""
        q, v = state
        R, p = self._poses(q)
        missing = goal - self._add_up(_to_world(R, p, self._body_momenta(q, v)))
        missing[:, :3] -= cross(p[self.roots], missing[:, 3:])  # now about the base's origin
        twist = np.asarray(np.linalg.solve(self._composite(R, p), missing[:, :, None])[:, :, 0], dtype=np.float64)
        back = R[self.roots].transpose(0, 2, 1)
        new_v = v.copy()
        new_v[self._v] += np.hstack([_turn(back, part) for part in (twist[:, :3], twist[:, 3:])])
        return State(q, new_v)

    def _poses(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        tree, body, screws, *_ = self.model.arrays
        flat = kinematics.world_poses(tree, body, screws, q)
        return flat[:, :9].reshape(-1, 3, 3), flat[:, 9:]

    def _body_momenta(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Of each body, in its frame at its origin, shape (n, 6)."""
        tree, body, screws, *_ = self.model.arrays
        twists = kinematics.local_twists(tree, body, screws, q, v)
        return (self._inertia @ twists[:, :, None])[:, :, 0]

    def _joint_wrench(self, q: FloatArray, v: FloatArray, R: FloatArray) -> FloatArray:
        """Springs and dampers of the free joints, each in its base's frame at its origin, shape (figures, 6)."""
        wrench = -self._damping * v[self._v]
        if self._stiffness.any():
            tree, rest = self.model.arrays.tree, self.model.arrays.rest
            turned = coordinates_difference(tree, rest, q, self.model.nv)[self._v[:, :3]]
            shifted = _turn(R.transpose(0, 2, 1), _turn(self._placement, q[self._q] - rest[self._q]))
            wrench -= self._stiffness * np.hstack([turned, shifted])
        return wrench

    def _composite(self, R: FloatArray, p: FloatArray) -> FloatArray:
        """Inertia of each free figure as one rigid body, about its base's origin in world axes, shape (figures, 6, 6)."""
        r = p - p[self._starts[self._figure]]
        first, mass = _turn(R, self._first), self._mass
        moment = first + mass[:, None] * r
        cross_terms = r[:, :, None] * (first + moment)[:, None, :]
        cross_terms = 0.5 * (cross_terms + cross_terms.transpose(0, 2, 1))
        about = R @ self._second @ R.transpose(0, 2, 1) - cross_terms
        about += np.trace(cross_terms, axis1=1, axis2=2)[:, None, None] * np.eye(3)
        out = np.zeros((len(self), 6, 6))
        out[:, :3, :3] = self._add_up(about)
        out[:, :3, 3:] = _skew(self._add_up(moment))
        out[:, 3:, :3] = -out[:, :3, 3:]
        out[:, 3:, 3:] = self._add_up(mass)[:, None, None] * np.eye(3)
        return out

    def _add_up(self, of_bodies: FloatArray) -> FloatArray:
        """Sums over the bodies of each free figure."""
        return np.asarray(np.add.reduceat(of_bodies, self._starts)[self._chosen])


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """a × b, row by row; like np.cross, without its overhead for few rows."""
    ax, ay, az = a.T
    bx, by, bz = b.T
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def _skew(a: FloatArray) -> FloatArray:
    """The matrices of a ×, shape (m, 3, 3)."""
    x, y, z = a.T
    o = np.zeros_like(x)
    return np.array([[o, -z, y], [z, o, -x], [-y, x, o]]).transpose(2, 0, 1)


def _turn(R: FloatArray, vectors: FloatArray) -> FloatArray:
    """Each matrix times its vector."""
    return (R @ vectors[:, :, None])[:, :, 0]


def _to_world(R: FloatArray, p: FloatArray, wrenches: FloatArray) -> FloatArray:
    """Wrenches (or momenta) of bodies in their own frames → about the world's origin in world axes, shape (n, 6)."""
    force = _turn(R, wrenches[:, 3:])
    return np.hstack([_turn(R, wrenches[:, :3]) + cross(p, force), force])
