"""Rigid bodies in maximal coordinates, held together by conditions on accelerations: a judge of closed chains.

Shares nothing with Linkwork. A body has its centre of mass x, a quaternion p (w, x, y, z), the velocity of the centre and
the angular velocity, all in the world: 13 numbers. Conditions say that a point of a body is one of another, or that a
direction in one stays across a direction in the other. λ of least norm, integration by SciPy's DOP853.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

WORLD = -1


def cross_matrix(a: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def rotation(p: np.ndarray) -> np.ndarray:
    w, v = p[0], p[1:]
    square = p @ p
    return np.eye(3) + (2.0 * w * cross_matrix(v) + 2.0 * cross_matrix(v) @ cross_matrix(v)) / square


class Bodies:
    """add bodies as they stand at the start, with axes along those of the world; then join them; then run."""

    def __init__(self, gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)):
        self.gravity = np.array(gravity)
        self.mass: list[float] = []
        self.inertia: list[np.ndarray] = []
        self.torque: list[np.ndarray] = []
        self.start: list[np.ndarray] = []
        self.conditions: list[tuple[str, int, int, np.ndarray, np.ndarray]] = []

    def add(self, mass, moments, centre, velocity=(0, 0, 0), spin=(0, 0, 0), torque=(0, 0, 0)) -> int:
        """moments: three along the axes of the world, or a matrix, about the centre. torque: constant, in the world."""
        self.mass.append(mass)
        self.inertia.append(np.diag(moments) if np.ndim(moments) == 1 else np.array(moments))
        self.torque.append(np.array(torque, dtype=float))
        self.start.append(np.concatenate([centre, (1, 0, 0, 0), velocity, spin]).astype(float))
        return len(self.mass) - 1

    def centre(self, body: int) -> np.ndarray:
        return self.start[body][:3] if body != WORLD else np.zeros(3)

    def ball(self, a: int, b: int, at) -> None:
        """A point stays together."""
        at = np.array(at, dtype=float)
        self.conditions.append(("point", a, b, at - self.centre(a), at - self.centre(b)))

    def across(self, a: int, b: int, u, w) -> None:
        """A direction u of a stays across w of b."""
        self.conditions.append(("angle", a, b, np.array(u, dtype=float), np.array(w, dtype=float)))

    def hinge(self, a: int, b: int, at, axis) -> None:
        self.ball(a, b, at)
        for u in across(axis):
            self.across(a, b, u, axis)

    def slide(self, body: int, axis) -> None:
        """Along an axis of the world, without turning: through its centre."""
        u, w = across(axis)
        for one, other in ((u, w), (u, axis), (w, axis)):
            self.across(WORLD, body, one, other)
        self.conditions += [("plane", WORLD, body, u, np.zeros(3)), ("plane", WORLD, body, w, np.zeros(3))]

    def accelerations(self, y: np.ndarray) -> np.ndarray:
        rows = y.reshape(-1, 13)
        n = len(rows)
        turn = [rotation(row[3:7]) for row in rows]
        inverse, push = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
        for i, row in enumerate(rows):
            J = turn[i] @ self.inertia[i] @ turn[i].T
            inverse[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = np.eye(3) / self.mass[i]
            inverse[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = np.linalg.inv(J)
            push[6 * i : 6 * i + 3] = self.mass[i] * self.gravity
            push[6 * i + 3 : 6 * i + 6] = self.torque[i] - np.cross(row[10:], J @ row[10:])

        def carried(body, r):
            """r of a body in the world, its angular velocity, and what of r's second rate needs no acceleration."""
            if body == WORLD:
                return r, np.zeros(3), np.zeros(3)
            w = rows[body, 10:]
            r = turn[body] @ r
            return r, w, np.cross(w, np.cross(w, r))

        blocks, rates = [], []
        for kind, a, b, u, w in self.conditions:
            (ra, wa, sa), (rb, wb, sb) = carried(a, u), carried(b, w)
            if kind == "point":
                parts = ((a, np.hstack([-np.eye(3), cross_matrix(ra)])), (b, np.hstack([np.eye(3), -cross_matrix(rb)])))
                rate = sa - sb
            elif kind == "plane":
                parts, rate = ((b, np.hstack([u, np.zeros(3)])[None]),), np.zeros(1)
            else:
                c = np.cross(ra, rb)
                parts = ((a, np.hstack([np.zeros(3), c])[None]), (b, np.hstack([np.zeros(3), -c])[None]))
                rate = -np.array([sa @ rb + 2.0 * np.cross(wa, ra) @ np.cross(wb, rb) + ra @ sb])
            block = np.zeros((len(rate), 6 * n))
            for body, part in parts:
                if body != WORLD:
                    block[:, 6 * body : 6 * body + 6] += part
            blocks.append(block)
            rates.append(rate)
        C, free = np.vstack(blocks), inverse @ push
        force = np.linalg.lstsq(C @ inverse @ C.T, np.concatenate(rates) - C @ free, rcond=1e-11)[0]
        return (free + inverse @ C.T @ force).reshape(-1, 6)

    def centres_after(self, duration: float) -> np.ndarray:
        """Centres of mass after so many seconds, (n, 3), to some 1e-10 of a metre and a second."""

        def rates(_, y):
            rows, a = y.reshape(-1, 13), self.accelerations(y)
            out = np.empty_like(rows)
            out[:, :3], out[:, 7:10], out[:, 10:] = rows[:, 7:10], a[:, :3], a[:, 3:]
            p, w = rows[:, 3:7], rows[:, 10:]
            out[:, 3] = -0.5 * np.sum(w * p[:, 1:], axis=1)
            out[:, 4:7] = 0.5 * (p[:, :1] * w + np.cross(w, p[:, 1:]))
            return out.ravel()

        end = solve_ivp(rates, (0.0, duration), np.concatenate(self.start), "DOP853", rtol=1e-11, atol=1e-12)
        assert end.success, end.message
        return end.y[:, -1].reshape(-1, 13)[:, :3]


def across(axis) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors across an axis and each other."""
    axis = np.array(axis, dtype=float)
    u = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    u /= np.linalg.norm(u)
    return u, np.cross(axis, u)
