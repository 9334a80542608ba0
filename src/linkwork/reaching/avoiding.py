"""Keeping away from obstacles: what is nearer than the margin becomes a target along the line to its nearest point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.checks import not_negative, shown
from linkwork.core.messages.names import did_you_mean
from linkwork.dynamics.kinematics import world_poses
from linkwork.errors import ModelError, StateError
from linkwork.model.model import Model
from linkwork.model.state import State
from linkwork.reaching import arrays as at
from linkwork.reaching.targets import Row


class Avoiding:
    """Pairs of bodies with shapes and obstacles, and the least distance seen at the last look."""

    def __init__(self, model: Model, avoid: Any, margin: float):
        from linkwork.contact.queries import Collisions

        self.model, self.margin = model, not_negative(margin, "margin", finite=True)
        known = [name for name, _ in model.obstacles]
        names = known if avoid is True else list(avoid) if isinstance(avoid, list | tuple) else None
        if names is None:
            raise StateError(f"avoid must be True, False or names of obstacles, not {shown(avoid)}.")
        for name in names:
            if name not in known:
                raise ModelError(f"model '{model.name}' has no obstacle {shown(name)}{did_you_mean(name, known)}.")
        if not known:
            raise StateError(f"model '{model.name}' has no obstacles to avoid; add them with linkage.add_obstacle.")
        if not names:
            raise StateError("avoid is empty; give names of obstacles, True for all or False for none.")
        solid = sorted({body for body, _ in model.shapes if body >= 0})
        ignored = {frozenset(pair) for pair in model.ignore_contact}
        self.pairs = [
            (body, name) for body in solid for name in names if frozenset((model.body_names[body], name)) not in ignored
        ]
        self.collisions = Collisions(model) if self.pairs else None
        self.still = np.zeros(model.nv)
        self.least = math.inf

    def rows(self) -> list[Row]:
        """One empty target per pair."""
        return [Row("", body, np.zeros(at.TARGET_COLUMNS)) for body, _ in self.pairs]

    def write_targets(self, q: FloatArray, target: FloatArray, weight: float) -> None:
        """Writes the targets of all pairs at q; those further apart than the margin weigh nothing."""
        assert self.collisions is not None
        state, poses = State(q, self.still), world_poses(*self.model.arrays[:3], q)
        self.least = math.inf
        for row, (body, name) in zip(target, self.pairs, strict=True):
            near = self.collisions.closest(state, self.model.body_names[body], name)
            self.least = min(self.least, near.distance)
            row[:] = 0.0
            if near.distance < self.margin:
                R, p = poses[body, :9].reshape(3, 3), poses[body, 9:]
                row[at.T_POINT : at.T_POINT + 3] = R.T @ (near.point_a - p)
                row[at.T_GOAL : at.T_GOAL + 3] = near.point_a + (self.margin - near.distance) * near.normal
                row[at.T_ALONG : at.T_ALONG + 3], row[at.T_IS_ALONG] = near.normal, 1.0
                row[at.T_WAY] = weight


class _Nothing:
    """No obstacles."""

    pairs: tuple[()] = ()
    least = math.inf

    def rows(self) -> list[Row]:
        return []


def no_avoiding() -> Any:
    return _Nothing()
