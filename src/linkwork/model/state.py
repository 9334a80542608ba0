"""State: everything that moves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.core.messages.describe import tabled


@tabled
class State(NamedTuple):
    """Coordinates and velocities of a model.

    q: joint coordinates, shape (nq,); angles [rad], lengths [m], orientations (w, x, y, z).
    v: joint velocities, shape (nv,) [rad/s or m/s].
    """

    q: NDArray[np.float64]
    v: NDArray[np.float64]

    def copy(self) -> State:
        return State(self.q.copy(), self.v.copy())
