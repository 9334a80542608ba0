"""A fluid around the linkage that moves: its tables, and what of it changes with time."""

from __future__ import annotations

import numpy as np

from linkwork.environment.water import Water
from linkwork.environment.wet_columns import TIME, WET_MIDDLE
from linkwork.environment.wetted import wetted
from linkwork.model.model import Model
from linkwork.simulation.loading.accelerate import place_bodies
from linkwork.simulation.parts.moving_linkage import MovingLinkage


class InFluid:
    """The rows of `wet` and the numbers of the fluid of one simulation."""

    def __init__(self, model: Model, water: Water, moving: MovingLinkage):
        self.water, self.moving = water, moving
        self.wet = wetted(model, water)  # in the frames of bodies
        self.moving_wet = self.wet._replace(rows=self.wet.rows.copy(), body=self.wet.body.copy())  # of what moves
        self.numbers = water.numbers_in_motion
        rows, bodies = self.moving_wet
        moving.replace(wet=rows, wet_body=bodies, water=self.numbers, current=water.profile)
        moving.describe()

    def follow(self, time: float) -> None:
        """The fluid as it flows now."""
        if not self.water.changes:
            return
        self.numbers[TIME] = time
        if self.water.asks:
            rows, bodies = self.moving_wet
            place_bodies(self.moving.table)
            world = self.moving.arrays.world[np.maximum(bodies, 0)]
            turned = np.einsum("kij,kj->ki", world[:, :9].reshape(-1, 3, 3), rows[:, WET_MIDDLE : WET_MIDDLE + 3])
            self.moving_wet.follow(self.water, np.where(bodies[:, None] >= 0, turned + world[:, 9:], 0.0), time)
