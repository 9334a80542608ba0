"""Which foot carries the figure in each frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import IntArray
from linkwork.dynamics.front import body_poses, body_twists
from linkwork.errors import ModelError
from linkwork.model.model import Model
from linkwork.scenarios.motion.smoothing import Trajectory

SPEED_TIME = 0.1  # [s] a foot that moves counts as higher by the distance it moves in this time
MARGIN = 0.02  # [m] by which the other foot must be better before it takes over: no flutter in double support
AIRBORNE = 0.06  # [m] above its lowest place a foot does not touch the ground
FOOT_WORDS = ("foot", "ankle")


class Support(NamedTuple):
    """The supporting foot over time."""

    feet: tuple[str, str]
    which: IntArray  # (frames,) which of the two
    airborne: NDArray[np.bool_]  # (frames,) neither is near the ground
    ground: float  # height of the ground, the lowest any foot gets [m]

    def name(self, frame: int) -> str:
        return self.feet[int(self.which[frame])]


def find_feet(model: Model) -> tuple[str, str]:
    """The left and the right foot of a figure, by their names."""
    found = {}
    for side in ("left", "right"):
        names = [
            name
            for name in model.body_names
            if any(word in name.lower() for word in FOOT_WORDS)
            and (side in name.lower() or (name.lower().startswith(side[0]) and not name.lower().startswith("root")))
        ]
        if not names:
            raise ModelError(
                f"model '{model.name}' has no body that is a {side} foot by its name; name both with feet=."
            )
        found[side] = names[0]
    return found["left"], found["right"]


def find_support(model: Model, motion: Trajectory, feet: tuple[str, str] | None = None) -> Support:
    """The foot that is lower and slower, frame by frame; it changes when the other is clearly better."""
    pair = find_feet(model) if feet is None else feet
    parts = [_with_toes(model, foot) for foot in pair]
    heights, scores = np.empty((len(motion.times), 2)), np.empty((len(motion.times), 2))
    for t in range(len(motion.times)):
        T, V = body_poses(model, motion.state(t)), body_twists(model, motion.state(t), frame="world")
        for k, bodies in enumerate(parts):
            low = bodies[int(np.argmin(T[bodies, 2, 3]))]
            heights[t, k] = T[low, 2, 3]
            scores[t, k] = T[low, 2, 3] + SPEED_TIME * float(np.linalg.norm(V[low, 3:]))
    index = np.empty(len(scores), dtype=np.int64)
    now = int(np.argmin(scores[0]))
    for t, score in enumerate(scores):
        if score[1 - now] < score[now] - MARGIN:
            now = 1 - now
        index[t] = now
    lowest = heights.min(axis=0)
    return Support(pair, index, (heights > lowest + AIRBORNE).all(axis=1), float(lowest.min()))


def _with_toes(model: Model, foot: str) -> list[int]:
    """A foot and everything beyond it."""
    bodies = [model.body(foot)]
    for i in range(bodies[0] + 1, model.n_bodies):
        if int(model.parent[i]) in bodies:
            bodies.append(i)
    return bodies
