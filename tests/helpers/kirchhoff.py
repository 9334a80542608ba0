"""A curved rod by Kirchhoff's differential equations and shooting: a reference that shares nothing with linkages."""

from __future__ import annotations

import numpy as np

STEPS = 400  # of Runge and Kutta's fourth order: 1e-10 on arcs of a radian
ITERATIONS, SHIFT = 30, 1e-6


def clamped_arc(angle: float, bend: float, twist: float, force: np.ndarray, bends=(None, None)) -> np.ndarray:
    """Tip (3,) of an arc of radius 1 in the plane of x and y, clamped at the origin along x, under a force at its tip.

    bend, twist: EI and GJ; bends: EI about the axis in the plane and about z, where they differ.
    The moment at s is (r_tip − r(s)) × F; the tip is found by Newton's method on its own coordinates.
    """
    compliance = np.array([1.0 / twist, 1.0 / (bends[0] or bend), 1.0 / (bends[1] or bend)])
    natural = np.array([0.0, 0.0, 1.0])

    def rates(y: np.ndarray, tip: np.ndarray) -> np.ndarray:
        r, R = y[:3], y[3:].reshape(3, 3)
        k = natural + compliance * (R.T @ np.cross(tip - r, force))
        hat = np.array([[0.0, -k[2], k[1]], [k[2], 0.0, -k[0]], [-k[1], k[0], 0.0]])
        return np.concatenate([R[:, 0], (R @ hat).ravel()])

    def reached(tip: np.ndarray) -> np.ndarray:
        y, h = np.concatenate([np.zeros(3), np.eye(3).ravel()]), angle / STEPS
        for _ in range(STEPS):
            a = rates(y, tip)
            b = rates(y + 0.5 * h * a, tip)
            c = rates(y + 0.5 * h * b, tip)
            d = rates(y + h * c, tip)
            y = y + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        return y[:3]

    tip = np.array([np.sin(angle), 1.0 - np.cos(angle), 0.0])
    for _ in range(ITERATIONS):
        off = reached(tip) - tip
        if np.abs(off).max() < 1e-11:
            return tip
        J = np.array([(reached(tip + SHIFT * e) - tip - SHIFT * e - off) / SHIFT for e in np.eye(3)]).T
        step = np.linalg.solve(J, -off)
        tip = tip + step * min(1.0, 0.3 / np.abs(step).max())
    raise AssertionError("shooting did not converge")
