"""Arrays of the static sweeps: where bodies are, what acts on them, and the coefficients of one elimination."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.core.arrays import FloatArray, IntArray
from linkwork.model.model import Model

R_, P_, POSE_COLUMNS = 0, 9, 12  # columns of `Place.pose` and `Place.world`, one row per body: rotation, place

# Columns of `Work.body`, one row per body, all in the body's frame at its origin.
WRENCH = 0  # 6: wrench of the loads on the body and on all that it carries
IA, IB, IC = 6, 12, 21  # stiffness of the body, then of all that it carries: blocks of a symmetric 6x6
OWN = 27  # 6: the body's stiffness against its own rotation, B of (3)
GUARD = 33  # 6: what guards B where forces stand across their levers
PULL, MOMENT = 39, 40  # sums of magnitudes: of forces, and of their moments along the path to each point
BODY_COLUMNS = 48
ADDED_COLUMNS = 21  # of `Work.added`

# Columns of `Work.factors`, one row per degree of freedom: S, U D⁻¹, a row of D⁻¹, and W D⁻ᵀ where that is another.
S_, U_, INVERSE, W_, FACTOR_COLUMNS = 0, 6, 12, 18, 24


class Place(NamedTuple):
    """Where bodies are at some coordinates."""

    q: FloatArray  # (nq,)
    pose: FloatArray  # (n, 12)  in the parent
    world: FloatArray  # (n, 12)
    S: FloatArray  # (nv, 6)  motion subspaces, body frames; rows of joints that are not helical


class Acting(NamedTuple):
    """Everything that acts besides gravity and the springs of joints."""

    effort: FloatArray  # (nv,)  constant efforts of joints [N·m or N]
    wrenches: FloatArray  # (n, 6)  fixed in the bodies, at their origins [N·m, N]
    rows: FloatArray  # (m, 16)  loads held by the world, columns as in simulation.loads
    row_body: IntArray  # (m,)


class Work(NamedTuple):
    """Coefficients of one elimination."""

    body: FloatArray  # (n, 48)
    factors: FloatArray  # (nv, 24)
    still: FloatArray  # (nv,)  zeros: velocities of a linkage at rest
    added: FloatArray  # (n, 21)  inertia that a fluid adds to bodies, columns as from IA on; or no rows


def make_place(model: Model) -> Place:
    pose, world = (np.zeros((model.n_bodies, POSE_COLUMNS)) for _ in range(2))
    return Place(np.zeros(model.nq), pose, world, np.zeros((model.nv, 6)))


def make_work(model: Model) -> Work:
    return Work(
        np.zeros((model.n_bodies, BODY_COLUMNS)),
        np.zeros((model.nv, FACTOR_COLUMNS)),
        np.zeros(model.nv),
        np.zeros((0, ADDED_COLUMNS)),
    )
