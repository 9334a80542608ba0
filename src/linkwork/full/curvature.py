"""Gradients of x · ∂²U x, the curvature of the energy along a displacement x, with respect to coordinates and the model.

A body that moves with the constant joint velocities x has twists V and accelerations a. With f the force at its point r, in
its axes, and K the stiffness of a spring there,

    E = Σ -f · c + K u·u,        u = v + ω x r,   c = a_v + a_ω x r + ω x u

is what forces held by the world give; wrenches fixed in bodies and torques held by the world give -F · a. Springs of joints
with one freedom give k x². This is the matrix of `statics.elimination.sweeps`, with x on both sides. The way through the
joints is that of inverse dynamics (`derivatives.sweeps.seeds`). Springs of ball and free joints are second differences of
their gradient along x.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.derivatives import inverse
from linkwork.derivatives.kinematics import Moving
from linkwork.derivatives.stepping.explicit_steps import moved_back
from linkwork.derivatives.stepping.world_loads import (
    LOAD_AT,
    LOAD_FORCE,
    LOAD_STIFFNESS,
    LOAD_TARGET,
    LOAD_TORQUE,
    WorldLoads,
)
from linkwork.derivatives.sweeps.kinematic_sweeps import spring_pulls, stretches
from linkwork.derivatives.sweeps.seeds import accelerations_of, seeded
from linkwork.model import layout
from linkwork.model.model import Model, inertia_only
from linkwork.model.state import State

REACH = 0.03  # [rad] of the second differences, sixth order: truncation and rounding meet near 1e-11 of the stiffness
STENCIL = ((1, 1.5), (2, -3.0 / 20.0), (3, 1.0 / 90.0))  # and -49/18 in the middle


class Curved(NamedTuple):
    """With respect to q (nv,), inertias (n, 10), gravity (3,), stiffness of joints (nv,)."""

    q: FloatArray
    inertias: FloatArray
    gravity: FloatArray
    stiffness: FloatArray


class Curvature:
    """The energy of gravity, loads and springs of a model at coordinates q."""

    def __init__(self, model: Model, loads: WorldLoads, q: FloatArray):
        self.model, self.loads, self.q = model, loads, q
        self.free = replace(model, arrays=inertia_only(model.arrays))
        tree = model.arrays.tree
        balls = np.flatnonzero(np.isin(tree[:, layout.KIND], (layout.SPHERICAL, layout.FREE)))
        rows = [np.arange(tree[i, layout.V], tree[i, layout.V] + tree[i, layout.DOF]) for i in balls]
        self.turning = np.concatenate([np.zeros(0, dtype=np.int64), *rows])

    def mixed(self, x: FloatArray, y: FloatArray) -> Curved:
        """Gradients of y · ∂²U x: a quarter of the difference along x + y and x - y, of equal lengths."""
        long, other = float(np.linalg.norm(x)), float(np.linalg.norm(y))
        if long == 0.0 or other == 0.0:
            return Curved(np.zeros(x.size), np.zeros((self.model.n_bodies, 10)), np.zeros(3), np.zeros(x.size))
        y = y * (long / other)
        pairs = zip(self.along(x + y), self.along(x - y), strict=True)
        return Curved(*(0.25 * other / long * (one - less) for one, less in pairs))

    def along(self, x: FloatArray) -> Curved:
        """Gradients of x · ∂²U x."""
        model = self.model
        state = State(self.q, x)
        _, pull = inverse.vjp(self.free, state, np.zeros(model.nv))
        at, a = Moving(model, state), accelerations_of(pull)
        sums = _Sums(at, a)
        ten = at.ten
        g = at.to_body(model.gravity)
        mass = np.where(ten[:, 0] > 0.0, ten[:, 0], 1.0)
        r = ten[:, 1:4] / mass[:, None]
        bodies = np.arange(model.n_bodies)
        c = sums.add(bodies, r, ten[:, :1] * g, np.zeros((bodies.size, 1)))
        w, inertias = at.twists[:, :3], np.zeros((bodies.size, 10))
        plain = a[:, 3:] + np.cross(w, at.twists[:, 3:])
        inertias[:, 0] = -np.sum(g * plain, axis=1)
        inertias[:, 1:4] = -np.cross(g, a[:, :3]) - w * np.sum(w * g, axis=1)[:, None]
        inertias[:, 1:4] += g * np.sum(w * w, axis=1)[:, None]
        gravity = -at.to_world(ten[:, :1] * c).sum(axis=0)
        if self.loads.fixed is not None:
            sums.A -= self.loads.fixed
        if self.loads.count:
            self._add_loads(at, a, sums)
        more: Any = seeded(pull, sums.A, sums.B)
        turned, _ = at.back(sums.G, None)
        q, stiffness = more.q + turned, x * x
        if self.turning.size:
            by_q, by_k = self._springs(x)
            q, stiffness[self.turning] = q + by_q, by_k[self.turning]
        return Curved(q, inertias, gravity, stiffness)

    def _add_loads(self, at: Moving, a: FloatArray, sums: _Sums) -> None:
        table, body = self.loads.table, self.loads.body
        r, K = table[:, LOAD_AT : LOAD_AT + 3], table[:, LOAD_STIFFNESS, None]
        point = np.einsum("nij,nj->ni", at.R[body], r) + at.p[body]
        force = table[:, LOAD_FORCE : LOAD_FORCE + 3] + K * (table[:, LOAD_TARGET : LOAD_TARGET + 3] - point)
        sums.add(body, r, np.einsum("nji,nj->ni", at.R[body], force), K)
        t = np.einsum("nji,nj->ni", at.R[body], table[:, LOAD_TORQUE : LOAD_TORQUE + 3])
        np.add.at(sums.A[:, :3], body, -t)
        np.add.at(sums.G[:, :3], body, -np.cross(a[body, :3], t))

    def _springs(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Of the springs of ball and free joints: second differences of the gradient of their energy along x."""
        only = np.zeros(x.size)
        only[self.turning] = x[self.turning]
        size = float(np.abs(only).max())
        if size == 0.0:
            return np.zeros(x.size), np.zeros(x.size)
        step = REACH / size
        by_q, by_k = (-49.0 / 18.0 * part for part in self._spring_gradient(only, 0.0))
        for k, weight in STENCIL:
            for way in (k * step, -k * step):
                q, stiffness = self._spring_gradient(only, way)
                by_q, by_k = by_q + weight * q, by_k + weight * stiffness
        return by_q / (step * step), by_k / (step * step)

    def _spring_gradient(self, x: FloatArray, scale: float) -> tuple[FloatArray, FloatArray]:
        """Of the energy at q ⊕ scale x with respect to q and stiffness; of ball and free joints alone."""
        tree, _, _, dof, rest, _ = self.model.arrays
        moved = self.model.integrate(self.q, x, scale)
        pulls, stretch = np.zeros(x.size), np.zeros(x.size)
        spring_pulls(tree, dof, rest, moved, np.zeros(x.size), pulls)
        stretches(tree, rest, moved, stretch)
        others = np.ones(x.size, dtype=bool)
        others[self.turning] = False
        pulls[others] = 0.0
        by_q, _ = moved_back(self.model, scale * x, 1.0, pulls)
        return by_q, 0.5 * stretch * stretch


class _Sums:
    """Weights of accelerations (A), twists (B) and poses (G) of the bodies, (n, 6) each."""

    def __init__(self, at: Moving, a: FloatArray):
        self.at, self.a = at, a
        self.A, self.B, self.G = (np.zeros_like(a) for _ in range(3))

    def add(self, body: Any, r: FloatArray, f: FloatArray, K: FloatArray) -> FloatArray:
        """Forces f at points r of bodies, with springs K (m, 1), all in the bodies' axes; returns c of the points."""
        w, v = self.at.twists[body, :3], self.at.twists[body, 3:]
        u = v + np.cross(w, r)
        c = self.a[body, 3:] + np.cross(self.a[body, :3], r) + np.cross(w, u)
        np.add.at(self.A, body, -np.hstack([np.cross(r, f), f]))
        wf, wr, rf = (np.sum(p * q, axis=1)[:, None] for p, q in ((w, f), (w, r), (r, f)))
        by_w = -np.cross(v, f) - f * wr - r * wf + 2.0 * w * rf + 2.0 * K * np.cross(r, u)
        np.add.at(self.B, body, np.hstack([by_w, -np.cross(f, w) + 2.0 * K * u]))
        np.add.at(self.G, body, np.hstack([-np.cross(c, f) + K * np.cross(r, c), K * c]))
        return c
