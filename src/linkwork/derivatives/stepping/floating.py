"""Floating trees in a step of semi-implicit Euler, backwards: `simulation.momentum`.

Momentum K about the world's origin changes by the impulses of what acts from outside, the centre of mass c moves by
h p / m, and the base gets the place and the velocity with which the tree has both:

    K⁺ = K(q, v) + h W,    c(q⁺) = c(q) + h p⁺ / m,    Sᵀ K(q⁺, v⁺) = Sᵀ K⁺

S are the motions of the base: all six of a free joint, the three of a planar one. Each line is an equation for the base
alone, so that its weights are found from those of the base: y = (Sᵀ I S)⁻¹ λ_base for the last line, z for the middle one.
A tree of one body turns by its spin, L = Rᵀ (K - c x p) (`turning.MeanTurns`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.derivatives.kinematics import Moving, bilinear, cross_force, rigid_times
from linkwork.derivatives.stepping.turning import MeanTurns, hat, times, transposed_times
from linkwork.model import layout
from linkwork.model.model import Model


class Sums(NamedTuple):
    """Of each tree at a state: mass (t,), centre of mass (t, 3), linear and angular momentum about the origin (t, 3)."""

    mass: FloatArray
    centre: FloatArray
    linear: FloatArray
    angular: FloatArray


class Weights(NamedTuple):
    """What the end of a step leaves for its beginning, of each tree (t, 3): of K⁺ (angular, linear) and of the centre."""

    angular: FloatArray
    linear: FloatArray
    centre: FloatArray


class Parts(NamedTuple):
    """Gradients that a floating tree adds."""

    q: FloatArray  # (nv,)
    v: FloatArray  # (nv,)
    inertias: FloatArray  # (n, 10)


class FloatingTrees:
    """The trees of a model whose momentum is kept. base: their first bodies (t,); of: tree of each body, or -1 (n,)."""

    def __init__(self, model: Model, base: IntArray, of: IntArray):
        self.model, self.base, self.of, self.count = model, base, of, base.size
        self.inside = np.flatnonzero(of >= 0)
        self.tree_of_inside = of[self.inside]
        tree = model.arrays.tree[base]
        self.first = tree[:, layout.V]
        self.is_free = tree[:, layout.KIND] == layout.FREE
        sizes = np.bincount(self.tree_of_inside, minlength=self.count)
        self.single = np.flatnonzero(self.is_free & (sizes == 1))
        self.planar: list[int] = np.flatnonzero(~self.is_free).tolist()
        self.free = np.flatnonzero(self.is_free)
        self.turn = self.first[:, None] + np.arange(3)
        self.placement = model.arrays.body[base, layout.ROTATION : layout.ROTATION + 9].reshape(-1, 3, 3)
        self.place = model.arrays.body[base, layout.POSITION : layout.POSITION + 3]
        shifts = [
            np.arange(j + 3, j + 6) if free else np.arange(j, j + 2)
            for j, free in zip(self.first, self.is_free, strict=True)
        ]
        self.shifts = np.concatenate(shifts)
        self.rows = np.concatenate([np.arange(j, j + d) for j, d in tree[:, [layout.V, layout.DOF]]])

    # ------------------------------------------------------------------------------------------------------ of a state

    def summed(self, rows: FloatArray) -> FloatArray:
        """Sums over the bodies of each tree, (t, ...)."""
        out = np.zeros((self.count, *rows.shape[1:]))
        np.add.at(out, self.tree_of_inside, rows[self.inside])
        return out

    def spread(self, rows: FloatArray) -> FloatArray:
        """The row of its tree for each body; zero for bodies of others."""
        out = np.zeros((self.of.size, *rows.shape[1:]))
        out[self.inside] = rows[self.tree_of_inside]
        return out

    def sums(self, at: Moving) -> Sums:
        mass = self.summed(at.ten[:, 0])
        force = at.to_world(at.momenta[:, 3:])
        moment = at.to_world(at.momenta[:, :3]) + np.cross(at.p, force)
        return Sums(mass, self.summed(at.moment) / mass[:, None], self.summed(force), self.summed(moment))

    def slides(self, t: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of a planar base, in the world: its two slides as columns (3, 2), its axis, and where that passes at q = 0."""
        screw = self.model.arrays.tree[self.base[t], layout.SCREW]
        rows = self.model.arrays.screws[screw : screw + 3]
        R = self.placement[t]
        E = R @ rows[:2, layout.SCREW_SLIDE : layout.SCREW_SLIDE + 3].T
        axis = R @ rows[2, layout.SCREW_AXIS : layout.SCREW_AXIS + 3]
        return E, axis, R @ rows[2, layout.SCREW_CENTER : layout.SCREW_CENTER + 3] + self.place[t]

    def pivot(self, t: int, q: FloatArray) -> FloatArray:
        """Where the axis of a planar base passes now."""
        E, _, center = self.slides(t)
        k = self.model.arrays.tree[self.base[t], layout.Q]
        return np.asarray(center + E @ q[k : k + 2])

    def base_inertias(self, at: Moving) -> FloatArray:
        """Of each tree as it is bent now, about the origin of its base, axes of the world: (t, 6, 6)."""
        d = at.p - at.p[self.base][np.maximum(self.of, 0)]
        m, h = at.ten[:, :1], at.to_world(at.ten[:, 1:4])
        xx, xy, xz, yy, yz, zz = at.ten[:, 4:].T
        own = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=1).reshape(-1, 3, 3)
        about = at.R @ own @ np.swapaxes(at.R, 1, 2)
        reach = h + m * d
        one = np.eye(3)
        about = about + (np.sum(d * (h + reach), axis=1))[:, None, None] * one
        about = about - d[:, :, None] * h[:, None, :] - reach[:, :, None] * d[:, None, :]
        A = np.zeros((self.count, 6, 6))
        first = hat(self.summed(reach))
        A[:, :3, :3], A[:, :3, 3:], A[:, 3:, :3] = self.summed(about), first, -first
        A[:, 3:, 3:] = self.summed(m[:, :, None] * one)
        return A

    # ------------------------------------------------------------------------------------------------ the end of a step

    def end_back(self, at: Moving, by_q: FloatArray, by_v: FloatArray, h: float) -> tuple[Parts, Weights]:
        """From the weights of the end: those of the state before bases were put right, and what the beginning gets."""
        sums = self.sums(at)
        twist = self._base_twists(at, by_v)
        angular = twist[:, :3]
        linear = twist[:, 3:] - np.cross(angular, at.p[self.base])
        z = self._ways(at, by_q, np.cross(sums.linear, angular))
        w = z / sums.mass[:, None]
        Z, own = self._seen(at, angular, linear), at.to_body(self.spread(w))
        G = -cross_force(Z, at.momenta) + np.hstack([np.cross(at.ten[:, 1:4], own), at.ten[:, :1] * own])
        less_q, less_v = at.back(G, rigid_times(at.ten, Z))
        inertias = bilinear(Z, at.twists)
        inertias[:, 0] += np.sum((at.p - self.spread(sums.centre)) * self.spread(w), axis=1)
        inertias[:, 1:4] += own
        q, v = by_q - less_q, by_v - less_v
        q[self.shifts] = v[self.rows] = 0.0  # but for rounding they are
        inertias *= -1.0
        inertias[:, 0] -= self.spread(h / sums.mass**2 * np.sum(sums.linear * z, axis=1))
        return Parts(q, v, inertias), Weights(angular, linear + h * w, z)

    def _base_twists(self, at: Moving, by_v: FloatArray) -> FloatArray:
        """S y of each base, at its origin, in the axes of the world, with (Sᵀ I S) y = λ: (t, 6)."""
        A, out = self.base_inertias(at), np.zeros((self.count, 6))
        R = at.R[self.base]
        if self.free.size:
            k = self.free
            rows = self.first[k, None] + np.arange(6)
            weights = by_v[rows]
            right = np.hstack([times(R[k], weights[:, :3]), times(R[k], weights[:, 3:])])
            out[k] = np.linalg.solve(A[k], right[:, :, None])[:, :, 0]
        for t in self.planar:
            S = self._motions(t, at)
            j = self.first[t]
            out[t] = S @ np.linalg.solve(S.T @ A[t] @ S, by_v[j : j + 3])
        return out

    def _motions(self, t: int, at: Moving) -> FloatArray:
        """Motions of a planar base at its origin, axes of the world: (6, 3)."""
        E, axis, _ = self.slides(t)
        S = np.zeros((6, 3))
        S[3:, :2], S[:3, 2] = E, axis
        S[3:, 2] = np.cross(axis, at.p[self.base[t]] - self.pivot(t, at.q))
        return S

    def _ways(self, at: Moving, by_q: FloatArray, taken: FloatArray) -> FloatArray:
        """z of each tree, with which moving its base has the weight by_q less `taken` (t, 3): (t, 3)."""
        out = np.zeros((self.count, 3))
        if self.free.size:
            k = self.free
            rows = self.first[k, None] + np.arange(3, 6)
            out[k] = times(at.R[self.base[k]], by_q[rows]) - taken[k]
        for t in self.planar:
            E, _, _ = self.slides(t)
            j = self.first[t]
            out[t] = E @ np.linalg.solve(E.T @ E, by_q[j : j + 2] - E.T @ taken[t])
        return out

    def _seen(self, at: Moving, angular: FloatArray, linear: FloatArray) -> FloatArray:
        """Twists of the world, one for each tree, as the bodies see them, (n, 6)."""
        w = self.spread(angular)
        return np.hstack([at.to_body(w), at.to_body(self.spread(linear) + np.cross(w, at.p))])

    # ------------------------------------------------------------------------------------------- the beginning of a step

    def begin_back(
        self, at: Moving, weights: Weights, wrenches: FloatArray | None, h: float
    ) -> tuple[Parts, FloatArray, FloatArray]:
        """From weights of K⁺ and of the centre: parts, gradients of gravity (3,), and twists that weigh impulses (n, 6).

        wrenches: on the bodies at the start, (n, 6). Efforts of the bases are not in it.
        """
        g, sums = np.asarray(self.model.gravity), self.sums(at)
        Z = self._seen(at, weights.angular, weights.linear)
        impulses = at.momenta if wrenches is None else at.momenta + h * wrenches
        falling = h * np.cross(g, weights.angular)
        moved = weights.centre / sums.mass[:, None]
        own = at.to_body(self.spread(moved + falling))
        G = -cross_force(Z, impulses) + np.hstack([np.cross(at.ten[:, 1:4], own), at.ten[:, :1] * own])
        by_q, by_v = at.back(G, rigid_times(at.ten, Z))
        inertias = bilinear(Z, at.twists)
        inertias[:, 0] += np.sum(
            at.p * self.spread(falling) + (at.p - self.spread(sums.centre)) * self.spread(moved), axis=1
        )
        inertias[:, 0] += self.spread(h * weights.linear @ g)
        inertias[:, 1:4] += own
        moments = sums.mass[:, None] * sums.centre
        gravity = h * (sums.mass[:, None] * weights.linear + np.cross(weights.angular, moments)).sum(axis=0)
        return Parts(by_q, by_v, inertias), gravity, Z

    def effort_weights(self, at: Moving, weights: Weights, Z: FloatArray, h: float) -> FloatArray:
        """Gradients with respect to impulses of the joints of the bases: shape (nv,)."""
        out = np.zeros(self.model.nv)
        for t in range(self.count):
            j = self.first[t]
            if self.is_free[t]:
                out[j : j + 6] = h * Z[self.base[t]]
            else:
                E, axis, _ = self.slides(t)
                at_pivot = weights.linear[t] + np.cross(weights.angular[t], self.pivot(t, at.q))
                out[j : j + 2] = h * np.linalg.solve(E.T @ E, E.T @ at_pivot)
                out[j + 2] = h * axis @ weights.angular[t]
        return out

    def effort_turns(self, weights: Weights, Z: FloatArray, efforts: FloatArray, h: float) -> FloatArray:
        """What moving the bases does to those impulses: gradients with respect to q, (nv,)."""
        out = np.zeros(self.model.nv)
        for t in range(self.count):
            j = self.first[t]
            if self.is_free[t]:
                out[j : j + 6] = -h * cross_force(Z[self.base[t]][None], efforts[None, j : j + 6])[0]
            else:
                E, _, _ = self.slides(t)
                turned = np.linalg.solve(E.T @ E, E.T @ np.cross(weights.angular[t], E.T).T)
                out[j : j + 2] = h * turned.T @ efforts[j : j + 2]
        return out

    # ------------------------------------------------------------------------------------------------ trees of one body

    def spins(self, at: Moving, sums: Sums, w: FloatArray, h: float) -> MeanTurns:
        """Turns of the trees of one body. sums: of the start, with momenta of the end; w: velocities v + h q̈, (nv,)."""
        k, b = self.single, self.base[self.single]
        L = sums.angular[k] - np.cross(sums.centre[k], sums.linear[k])
        return MeanTurns(_about_centre(at.ten[b]), w[self.turn[k]], transposed_times(at.R[b], L), h)

    def spin_back(
        self, at: Moving, sums: Sums, turns: MeanTurns, by_turns: FloatArray, into: Weights
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Adds to the weights of K⁺ and of the centre; gradients of q (rows `turn`), of w and of inertias, (m, ...)."""
        k, b = self.single, self.base[self.single]
        found = turns.back(by_turns)
        world = times(at.R[b], found.spin)
        into.angular[k] += world
        into.linear[k] += np.cross(sums.centre[k], world)
        into.centre[k] -= np.cross(sums.linear[k], world)
        return np.cross(found.spin, turns.spin), found.velocity, _about_centre_back(at.ten[b], found.left, found.right)


def _about_centre(ten: FloatArray) -> FloatArray:
    """Inertia about the centre of mass, (m, 3, 3), from ten numbers."""
    c = ten[:, 1:4] / ten[:, :1]
    xx, xy, xz, yy, yz, zz = ten[:, 4:].T
    own = np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=1).reshape(-1, 3, 3)
    h = ten[:, 1:4]
    return np.asarray(own - np.sum(h * c, axis=1)[:, None, None] * np.eye(3) + h[:, :, None] * c[:, None, :])


def _about_centre_back(ten: FloatArray, x: FloatArray, y: FloatArray) -> FloatArray:
    """Gradient of x · I y, I about the centre of mass, with respect to the ten numbers, (m, 10)."""
    m, h = ten[:, :1], ten[:, 1:4]
    zero = np.zeros_like(x)
    out = bilinear(np.hstack([x, zero]), np.hstack([y, zero]))
    xy, xh, yh = (np.sum(a * b, axis=1)[:, None] for a, b in ((x, y), (x, h), (y, h)))
    hh = np.sum(h * h, axis=1)[:, None]
    out[:, 1:4] -= (2.0 * xy * h - yh * x - xh * y) / m
    out[:, :1] += (xy * hh - xh * yh) / (m * m)
    return out
