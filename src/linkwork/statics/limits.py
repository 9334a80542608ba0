"""Joint limits at rest: which coordinates stand at one and are pushed against it, and steps that end there.

Newton's method on the energy goes on among coordinates within their limits (projected steps, Bertsekas 1982). Those that
are pushed against a limit, or that a step would take beyond one where they stand, are held by a stiffness beside which
nothing moves them; a step that would pass a limit ends at it. Efforts of held coordinates are those of their limits.
"""

from __future__ import annotations

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.errors import StateError
from linkwork.model.layout import DOF, Q, V
from linkwork.model.model import Model

HELD = 2.0**300  # [N·m or N] for each unit of a held coordinate


class Stops:
    """The coordinates of a model that have limits."""

    def __init__(self, model: Model):
        tree = model.arrays.tree
        joint = np.repeat(np.arange(model.n_bodies), tree[:, DOF])
        limited = np.flatnonzero(np.isfinite(model.lower) | np.isfinite(model.upper))
        self.v = limited  # places in v and in q
        self.q = (tree[joint, Q] + np.arange(model.nv) - tree[joint, V])[limited]
        self.lower, self.upper = model.lower[limited], model.upper[limited]
        self.diagonal = np.zeros(model.nv)
        self.effort = np.zeros(model.nv)  # of limits on what they hold [N·m or N]

    def within(self, q: FloatArray) -> FloatArray:
        inside = q.copy()
        inside[self.q] = np.clip(q[self.q], self.lower, self.upper)
        return inside

    def hold(self, q: FloatArray, r: FloatArray) -> None:
        """Holds what r pushes against a limit at q, and takes it out of r."""
        here, pushed = q[self.q], r[self.v]
        held = self.v[((here <= self.lower) & (pushed < 0.0)) | ((here >= self.upper) & (pushed > 0.0))]
        self.diagonal[:] = 0.0
        self.effort[:] = 0.0
        self.diagonal[held] = HELD
        self.effort[held] = -r[held]
        r[held] = 0.0

    def block(self, q: FloatArray, x: FloatArray) -> bool:
        """Holds, for this step, what x takes beyond a limit where it stands; whether anything."""
        x[self.diagonal > 0.0] = 0.0
        here, way = q[self.q], x[self.v]
        beyond = self.v[((here <= self.lower) & (way < 0.0)) | ((here >= self.upper) & (way > 0.0))]
        self.diagonal[beyond] = HELD
        return bool(beyond.size)

    def taken(self, q: FloatArray, x: FloatArray, scale: float) -> FloatArray:
        """What of the step scale x the limits leave."""
        step = scale * x
        here = q[self.q]
        step[self.v] = np.clip(here + step[self.v], self.lower, self.upper) - here
        return step


def is_within(model: Model, q: FloatArray) -> bool:
    """Whether all coordinates are within their limits."""
    return bool((Stops(model).within(q) == q).all())


def refuse_beyond(model: Model, q: FloatArray, where: str) -> None:
    """Refuses a rest beyond a limit, where limits do not act."""
    stops = Stops(model)
    beyond = np.flatnonzero((q[stops.q] < stops.lower) | (q[stops.q] > stops.upper))
    if beyond.size:
        k = int(beyond[0])
        joint = model.joint_names[model.joint_of(int(stops.v[k]))]
        raise StateError(
            f"model '{model.name}' would rest with joint '{joint}' at {q[stops.q[k]]:.6g}, beyond its limits "
            f"({stops.lower[k]:g}, {stops.upper[k]:g}). Limits hold no joints {where}: run the dynamics with damping, "
            "or give the joint a stiff spring in the place of its limit."
        )
