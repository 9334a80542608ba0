"""Arrays of the static sweeps: where bodies are, what acts on them, and the coefficients of one elimination."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.model.model import Model
from linkwork.simulation.loading.load_columns import LOAD_COLUMNS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Columns of `Place.pose`, one row per body: pose in the parent, pose in the world.
R_, P_, R_WORLD, P_WORLD, POSE_COLUMNS = 0, 9, 12, 21, 24

# Columns of `Work.body`, one row per body, all in the body's frame at its origin.
WRENCH = 0  # 6: wrench of the loads on the body and on all that it carries
IA, IB, IC = 6, 12, 21  # stiffness of the body, then of all that it carries: blocks of a symmetric 6x6
OWN = 27  # 6: the body's stiffness against its own rotation, B of (3)
U_, D_INVERSE, RIGHT = 33, 39, 40  # of a joint of one degree of freedom
BIAS, TWIST = 41, 47  # of a right side: wrench towards the parent; twist of the body
PULL, MOMENT = 53, 54  # sums of magnitudes: of forces, and of their moments along the path to each point
GUARD = 56  # 6: what guards B where forces stand across their levers
BODY_COLUMNS = 64
ADDED_COLUMNS = 21  # of `Work.added`

# Columns of `Work.dof`, one row per degree of freedom of joints with several.
U_D, D_D, RIGHT_D = 0, 6, 12  # U, D⁻¹ (one row of six per row), right side
DOF_COLUMNS = 13


class Place(NamedTuple):
    """Where bodies are at some coordinates."""

    q: FloatArray  # (nq,)
    pose: FloatArray  # (n, 24)
    S: FloatArray  # (nv, 6)  motion subspaces, body frames; rows of joints that are not helical


class Acting(NamedTuple):
    """Everything that acts besides gravity and the springs of joints."""

    effort: FloatArray  # (nv,)  constant efforts of joints [N·m or N]
    wrenches: FloatArray  # (n, 6)  fixed in the bodies, at their origins [N·m, N]
    rows: FloatArray  # (m, 16)  loads held by the world, columns as in simulation.loads
    row_body: IntArray  # (m,)


class Work(NamedTuple):
    """Coefficients of one elimination."""

    body: FloatArray  # (n, 64)
    dof: FloatArray  # (nv, 13)
    still: FloatArray  # (nv,)  zeros: velocities of a linkage at rest
    added: FloatArray  # (n, 21)  inertia that a fluid adds to bodies, columns as from IA on; or no rows


def make_place(model: Model) -> Place:
    return Place(np.zeros(model.nq), np.zeros((model.n_bodies, POSE_COLUMNS)), np.zeros((model.nv, 6)))


def make_work(model: Model) -> Work:
    return Work(
        np.zeros((model.n_bodies, BODY_COLUMNS)),
        np.zeros((model.nv, DOF_COLUMNS)),
        np.zeros(model.nv),
        np.zeros((0, ADDED_COLUMNS)),
    )


def nothing_acting(model: Model) -> Acting:
    return Acting(
        np.zeros(model.nv),
        np.zeros((model.n_bodies, 6)),
        np.zeros((0, LOAD_COLUMNS)),
        np.zeros(0, dtype=np.int64),
    )
