"""Rows of three numbers: how a turn by a rotation vector changes, and the spin of free bodies (`momentum.free_spin`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray

SMALL = 1e-4  # [rad] below which series are exact to rounding
NO_TURN, SOLVED, ROUGH, MOST_ITERATIONS = 1e-12, 1e-13, 1e-8, 8  # as in `momentum.free_spin`


def hat(x: FloatArray) -> FloatArray:
    """The matrices of x ×, shape (m, 3, 3)."""
    out = np.zeros((x.shape[0], 3, 3))
    out[:, 0, 1], out[:, 0, 2], out[:, 1, 2] = -x[:, 2], x[:, 1], -x[:, 0]
    return out - np.swapaxes(out, 1, 2)


def rotations(turn: FloatArray) -> FloatArray:
    """exp of rotation vectors (m, 3): matrices (m, 3, 3)."""
    angle = np.sqrt(np.sum(turn * turn, axis=1))[:, None, None]
    safe = np.where(angle > SMALL, angle, 1.0)
    sine = np.where(angle > SMALL, np.sin(safe) / safe, 1.0 - angle * angle / 6.0)
    versine = np.where(angle > SMALL, 2.0 * np.sin(0.5 * safe) ** 2 / (safe * safe), 0.5 - angle * angle / 24.0)
    x = hat(turn)
    return np.asarray(np.eye(3) + sine * x + versine * x @ x)


def right_jacobians(turn: FloatArray) -> FloatArray:
    """Jr with exp(x + dx) = exp(x) exp(Jr dx), shape (m, 3, 3)."""
    angle = np.sqrt(np.sum(turn * turn, axis=1))[:, None, None]
    safe = np.where(angle > SMALL, angle, 1.0)
    first = np.where(angle > SMALL, 2.0 * np.sin(0.5 * safe) ** 2 / (safe * safe), 0.5 - angle * angle / 24.0)
    second = np.where(angle > 1e-2, (safe - np.sin(safe)) / safe**3, 1.0 / 6.0 - angle**2 / 120.0 + angle**4 / 5040.0)
    x = hat(turn)
    return np.asarray(np.eye(3) - first * x + second * x @ x)


def times(A: FloatArray, x: FloatArray) -> FloatArray:
    return np.einsum("nij,nj->ni", A, x)


def transposed_times(A: FloatArray, x: FloatArray) -> FloatArray:
    return np.einsum("nji,nj->ni", A, x)


class SpinGradients(NamedTuple):
    """Of a number with respect to the spin L, the velocity w and, as pairs (x, y) of a · I b, the inertia."""

    spin: FloatArray
    velocity: FloatArray
    left: FloatArray
    right: FloatArray


class MeanTurns:
    """Turns of free rigid bodies in a step: I x + ½ h x × I x = L, turned by 2 atan(½ h |x|) about x; see `free_spin`.

    inertia: about the centre of mass, (m, 3, 3). w: angular velocities at the end (m, 3). spin: L (m, 3). Bodies that turn
    about a main axis turn by h w, those for which no x is found by h (w · L) L / |L|²; which they are is held.
    """

    def __init__(self, inertia: FloatArray, w: FloatArray, spin: FloatArray, h: float):
        self.inertia, self.w, self.spin, self.h = inertia, w, spin, h
        size = np.linalg.norm(spin, axis=1)
        bent = np.linalg.norm(np.cross(w, times(inertia, w)), axis=1)
        self.plain = ~(h * bent > NO_TURN * size) | ~(size * size > 0.0)
        x, live = w.copy(), ~self.plain
        left = spin - self._of(x)
        for _ in range(MOST_ITERATIONS):
            live = live & (np.linalg.norm(left, axis=1) > SOLVED * size)
            if not live.any():
                break
            x[live] += np.linalg.solve(self._slope(x)[live], left[live][:, :, None])[:, :, 0]
            left = spin - self._of(x)
        self.x, self.speed = x, np.linalg.norm(x, axis=1)
        solved = (np.linalg.norm(left, axis=1) <= ROUGH * size) & (self.speed > 0.0)
        self.rough = ~self.plain & ~solved
        self.turned = ~self.plain & solved

    def _of(self, x: FloatArray) -> FloatArray:
        Ix = times(self.inertia, x)
        return Ix + 0.5 * self.h * np.cross(x, Ix)

    def _slope(self, x: FloatArray) -> FloatArray:
        half = 0.5 * self.h
        return np.asarray(self.inertia + half * (hat(x) @ self.inertia - hat(times(self.inertia, x))))

    def turns(self) -> FloatArray:
        """Rotation vectors of the step, (m, 3)."""
        safe = np.where(self.turned, self.speed, 1.0)
        found = (2.0 * np.arctan(0.5 * self.h * safe) / safe)[:, None] * self.x
        found = np.where(self.plain[:, None], self.h * self.w, found)
        size2 = np.sum(self.spin * self.spin, axis=1)[:, None]
        share = self.h * np.sum(self.w * self.spin, axis=1)[:, None] / np.where(self.rough[:, None], size2, 1.0)
        return np.where(self.rough[:, None], share * self.spin, found)

    def back(self, weights: FloatArray) -> SpinGradients:
        """Gradients from those with respect to the rotation vectors, (m, 3)."""
        h, zero = self.h, np.zeros_like(weights)
        speed = np.where(self.turned, self.speed, 1.0)
        angle = 2.0 * np.arctan(0.5 * h * speed)
        slope = h / (1.0 + (0.5 * h * speed) ** 2)  # of the angle
        bend = ((slope - angle / speed) / speed**2)[:, None] * np.sum(self.x * weights, axis=1)[:, None] * self.x
        by_x = np.where(self.turned[:, None], (angle / speed)[:, None] * weights + bend, 0.0)
        safe = np.where(self.turned[:, None, None], self._slope(self.x), np.eye(3))
        by_spin = np.linalg.solve(np.swapaxes(safe, 1, 2), by_x[:, :, None])[:, :, 0]
        by_w = np.where(self.plain[:, None], h * weights, zero)
        left = -(by_spin + 0.5 * h * np.cross(by_spin, self.x))
        if self.rough.any():
            k = self.rough
            L, w, g = self.spin[k], self.w[k], weights[k]
            size2 = np.sum(L * L, axis=1)[:, None]
            along, speed1 = np.sum(g * L, axis=1)[:, None], np.sum(w * L, axis=1)[:, None]
            by_w[k] = h * along / size2 * L
            by_spin[k] = h / size2 * (along * w + speed1 * g - 2.0 * speed1 * along / size2 * L)
        return SpinGradients(by_spin, by_w, left, self.x)
