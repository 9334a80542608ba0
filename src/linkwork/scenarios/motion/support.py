"""Which foot carries the figure in each frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.dynamics.quantities.motion import body_poses, body_twists
from linkwork.errors import ModelError
from linkwork.importers.mocap.body_segments import segment_of, side_of
from linkwork.model import layout
from linkwork.model.model import Model
from linkwork.scenarios.motion.smoothing import Trajectory

SPEED_TIME = 0.1  # [s] a foot that moves counts as higher by the distance it moves in this time
MARGIN = 0.02  # [m] by which the other foot must be better before it takes over: no flutter in double support
AIRBORNE = 0.06  # [m] above its lowest place a foot does not touch the ground
STRIDE = 0.75  # [s] within which a walking foot stands somewhere
HEEL = 0.25  # of the way from ankle to tip that the heel lies behind the ankle
FOOT_WORDS = ("foot", "ankle")


class Support(NamedTuple):
    """The supporting foot over time."""

    feet: tuple[str, str]
    which: IntArray  # (frames,) which of the two
    airborne: NDArray[np.bool_]  # (frames,) neither is near the ground
    ground: float  # height of the ground, the lowest any foot gets [m]
    lift: (
        FloatArray  # (frames, 2) height of each foot above its lowest place near in time, SPEED_TIME of speed added [m]
    )
    soles: FloatArray  # (frames, 2, 2, 3) heel and tip of each foot, at the height of the ground [m]

    def name(self, frame: int) -> str:
        return self.feet[int(self.which[frame])]


def find_feet(model: Model) -> tuple[str, str]:
    """The left and the right foot of a figure, by their names."""
    found = {}
    for side in ("left", "right"):
        names = [name for name in model.body_names if side_of(name) == side and segment_of(name) == "foot"]
        best = [name for name in names if any(word in name.lower() for word in FOOT_WORDS)]
        if not names:
            raise ModelError(
                f"model '{model.name}' has no body that is a {side} foot by its name; name both with feet=."
            )
        found[side] = (best or names)[0]
    return found["left"], found["right"]


def find_support(model: Model, motion: Trajectory, feet: tuple[str, str] | None = None) -> Support:
    """The foot that is lower and slower, frame by frame; it changes when the other is clearly better."""
    pair = find_feet(model) if feet is None else _named(model, feet)
    parts = [_with_toes(model, foot) for foot in pair]
    heights, scores = np.empty((len(motion.times), 2)), np.empty((len(motion.times), 2))
    soles = np.empty((len(motion.times), 2, 2, 3))
    for t in range(len(motion.times)):
        T, V = body_poses(model, motion.state(t)), body_twists(model, motion.state(t), frame="world")
        for k, bodies in enumerate(parts):
            low = bodies[int(np.argmin(T[bodies, 2, 3]))]
            heights[t, k] = T[low, 2, 3]
            soles[t, k] = _sole(model, T, bodies)
            scores[t, k] = T[low, 2, 3] + SPEED_TIME * float(np.linalg.norm(V[low, 3:]))
    index = np.empty(len(scores), dtype=np.int64)
    now = int(np.argmin(scores[0]))
    for t, score in enumerate(scores):
        if score[1 - now] < score[now] - MARGIN:
            now = 1 - now
        index[t] = now
    lowest = heights.min(axis=0)
    ground = float(lowest.min())
    soles[..., 2] = ground
    lift = scores - _lowest_near(heights, float(motion.times[1] - motion.times[0]))
    return Support(pair, index, (heights > lowest + AIRBORNE).all(axis=1), ground, lift, soles)


def _lowest_near(heights: FloatArray, frame_time: float) -> FloatArray:
    """The lowest each foot gets within STRIDE before and after, shape (frames, 2): recorded floors are not always level."""
    half = max(1, round(STRIDE / frame_time))
    return np.array([heights[max(0, t - half) : t + half + 1].min(axis=0) for t in range(len(heights))])


def _sole(model: Model, T: FloatArray, bodies: list[int]) -> FloatArray:
    """Heel and tip of a foot in the world, shape (2, 3): its rods run to the tip, the heel lies behind the ankle."""
    last = bodies[-1]
    ten = model.arrays.body[last, layout.INERTIA : layout.INERTIA + 4]
    tip = T[last, :3, 3] + T[last, :3, :3] @ (2.0 * ten[1:] / ten[0])
    ankle = T[bodies[0], :3, 3]
    return np.array([ankle - HEEL * (tip - ankle), tip])


def _named(model: Model, feet: tuple[str, str]) -> tuple[str, str]:
    if isinstance(feet, str) or len(feet) != 2 or model.body(feet[0]) == model.body(feet[1]):
        raise ModelError(f"feet must name two different bodies, the left and the right foot, not {feet!r}.")
    return (feet[0], feet[1])


def _with_toes(model: Model, foot: str) -> list[int]:
    """A foot and everything beyond it."""
    bodies = [model.body(foot)]
    for i in range(bodies[0] + 1, model.n_bodies):
        if int(model.parent[i]) in bodies:
            bodies.append(i)
    return bodies
