"""Motion: recorded coordinates of joints over time, as a motion-capture file brings them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.core.messages.describe import tabled

if TYPE_CHECKING:
    from linkwork.model.model import Model


@tabled
@dataclass(frozen=True, eq=False)
class Motion:
    """Frames at equal times.

    frame_time: between frames [s].
    joints: coordinates of each joint by its name, shape (frames, nq of the joint).
    """

    frame_time: float
    joints: dict[str, FloatArray]

    @property
    def frames(self) -> int:
        return next((len(data) for data in self.joints.values()), 0)

    @property
    def times(self) -> FloatArray:
        """[s], shape (frames,)."""
        return np.asarray(self.frame_time * np.arange(self.frames), dtype=float)

    def cut(self, first: int = 0, stop: int | None = None) -> Motion:
        """The frames from `first` up to `stop`, as slices count them."""
        return Motion(self.frame_time, {name: data[first:stop] for name, data in self.joints.items()})

    def coordinates(self, model: Model) -> FloatArray:
        """Coordinates of a compiled model in every frame, shape (frames, nq); joints without data stay neutral."""
        q = np.tile(model.neutral().q, (self.frames, 1))
        for name, data in self.joints.items():
            if name in model.joint_names:
                q[:, model.q_slice(name)] = data
        return q
