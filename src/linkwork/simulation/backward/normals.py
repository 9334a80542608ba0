"""How normals and points of contacts move with bodies, to the first order.

Near a contact a shape is a point (a sphere, the end of a capsule, a corner of a box), a line (the side of a capsule or a
cylinder, an edge of a box), each with a radius r around it, or flat. With c the point of it that is nearest, n the normal
from b to a, D = r_a + r_b + gap and P = 1 - n nᵀ

    flat o, anything           δn = ω_o x n
    two points                 δn = P (δc_a - δc_b) / D
    point and line along t     δn = (P - t tᵀ) (δc_a - δc_b) / D - t (n · ω x t)
    two lines                  δn = - t_a* (n · ω_a x t_a) - t_b* (n · ω_b x t_b),   t* the dual basis across n

The point of the contact lies half way in the gap, below c of the one that is not flat: δp = δc ∓ (r + ½ gap) δn, half of
what changes the gap left to each body. That of two lines slides along both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkwork.contact.geometry import solids
from linkwork.core.arrays import FloatArray, IntArray

POINT, LINE, FLAT = range(3)
ALIGNED = 1e-6  # of unit vectors


class Shapes(NamedTuple):
    """The two shapes of each contact: a, b."""

    kind: IntArray  # (m, 2) see `solids`
    size: FloatArray  # (m, 2, 3)
    pose: FloatArray  # (m, 2, 12) in the frame of the body


class _Form(NamedTuple):
    """A shape near its contact."""

    form: int
    radius: float
    axis: FloatArray  # (3,) of a line
    is_corner: bool  # of a flat one: the contact is at its corner


class ContactPoint:
    """One contact. bodies: a, b; -1: the world. R, p: frames of all bodies."""

    def __init__(self, bodies: Any, shapes: Shapes, row: int, place: tuple[Any, Any, float], frames: Any):
        self.bodies, (self.point, self.normal, self.gap), (self.R, self.p) = bodies, place, frames
        forms = [self._form(shapes, row, side) for side in (0, 1)]
        kinds = [x.form for x in forms]
        self.forms, self.owner, self.anchor = forms, -1, 0
        if FLAT in kinds:
            # two flat ones: the corner belongs to the one, the normal to the other
            self.anchor = (
                kinds.index(min(kinds)) if kinds != [FLAT, FLAT] else int(forms[1].is_corner and not forms[0].is_corner)
            )
            self.owner = 1 - self.anchor
        elif kinds[0] == LINE and kinds[1] == POINT:
            self.anchor = 1
        self.cores = [
            self.point + s * (form.radius + 0.5 * self.gap) * self.normal
            for s, form in zip((1.0, -1.0), forms, strict=True)
        ]

    def _form(self, shapes: Shapes, row: int, side: int) -> _Form:
        kind, size, pose, body = (
            shapes.kind[row, side],
            shapes.size[row, side],
            shapes.pose[row, side],
            self.bodies[side],
        )
        R, none = pose[:9].reshape(3, 3), np.zeros(3)
        place = pose[9:]
        if body >= 0:
            R, place = self.R[body] @ R, self.R[body] @ place + self.p[body]
        n = R.T @ self.normal
        if kind == solids.SPHERE:
            return _Form(POINT, size[0], none, False)
        if kind in (solids.CAPSULE, solids.CYLINDER):
            if abs(n[2]) <= ALIGNED:
                return _Form(LINE, size[0], R[:, 2], False)
            return _Form(POINT, size[0], none, False) if kind == solids.CAPSULE else _Form(FLAT, 0.0, none, False)
        if kind == solids.BOX:
            across = np.flatnonzero(np.abs(n) <= ALIGNED)
            if across.size == 2:
                near = np.abs(np.abs(R.T @ (self.point - place)) - size) <= ALIGNED * size + np.abs(self.gap)
                return _Form(FLAT, 0.0, none, bool(near.all()))
            return _Form(LINE, 0.0, R[:, across[0]], False) if across.size else _Form(POINT, 0.0, none, False)
        return _Form(FLAT, 0.0, none, False)

    def back(self, by_normal: FloatArray, by_point: FloatArray, add: Any) -> None:
        """From weights on δn and δp to those on the bodies: add.move(side, point, weight), add.turn(side, weight)."""
        n, anchor = self.normal, self.anchor
        s = 1.0 if anchor == 0 else -1.0
        half = 0.5 * (n @ by_point) * n
        add.move(1 - anchor, self.point, half)
        rest = by_point - half
        by_normal = by_normal - s * (self.forms[anchor].radius + 0.5 * self.gap) * by_point
        by_normal = by_normal - (n @ by_normal) * n
        kinds = [x.form for x in self.forms]
        apart = np.zeros(3)  # weights on δc_a - δc_b
        D = self.forms[0].radius + self.forms[1].radius + self.gap
        if self.owner >= 0:
            add.turn(self.owner, np.cross(n, by_normal))
        elif kinds == [LINE, LINE]:
            by_normal, rest, apart = self._lines_back(by_normal, rest, D, add)
        else:
            apart = by_normal / D
            for side in (0, 1):
                if kinds[side] == LINE:
                    t = self.forms[side].axis
                    apart = apart - (t @ apart) * t
                    add.turn(side, (t @ by_normal) * np.cross(n, t))
        add.move(anchor, self.cores[anchor], rest)
        add.move(0, self.cores[0], apart)
        add.move(1, self.cores[1], -apart)

    def _lines_back(self, by_normal: FloatArray, rest: FloatArray, D: float, add: Any) -> Any:
        n, axes = self.normal, [x.axis for x in self.forms]
        duals = np.linalg.pinv(np.array([*axes, n])).T[:2]
        slides = rest @ axes[0]  # the point slides along a by t_a* · (D δn - (δc_a - δc_b))
        by_normal = by_normal + D * slides * duals[0]
        for side in (0, 1):
            add.turn(side, (duals[side] @ by_normal) * np.cross(n, axes[side]))
        return by_normal, rest, -slides * duals[0]
