"""What a planner asks: whether states collide, and how much room they have, of a snake of 100 links among walls."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import linkwork as lw

LINKS, STATES, ROUNDS = 100, 2000, 5
BEND = 0.05  # [rad] of the hinges, at random


def states_among_walls(model: lw.Model, count: int) -> Any:
    """Snakes that stand in the holes of the walls of `threading`, bent and displaced at random: some of them collide."""
    rng = np.random.default_rng(14)
    q = np.tile(model.neutral().q, (count, 1))
    q[:, :3] = rng.uniform((-0.1, -0.1, 0.5), (0.2, 0.1, 1.5), (count, 3))
    q[:, 7:] = rng.normal(scale=BEND, size=(count, model.nq - 7))
    return q


def measured(quick: bool) -> dict[str, float]:
    """States per second of processor time: overlaps alone, and least distances; their part that collides."""
    model = lw.Scene.read("threading", {"model.parameters.joints": LINKS + 1}).model
    tool = lw.Collisions(model)
    states = states_among_walls(model, 50 if quick else STATES)
    room, hits = tool.clearances(states), tool.collide(states)
    if not np.array_equal(hits, room < 0.0):
        raise lw.LinkworkError("planning: states that collide and states without room are not the same.")
    found = {"links": float(LINKS), "colliding": float(hits.mean())}
    for name, ask in (("collide", tool.collide), ("clearances", tool.clearances)):
        spent = []
        for _ in range(1 if quick else ROUNDS):
            begun = time.thread_time()
            ask(states)
            spent.append(time.thread_time() - begun)
        found[f"{name}_per_s"] = len(states) / max(float(np.median(spent)), 1e-9)
    return found
