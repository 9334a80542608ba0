"""Makes the arrays of a moving linkage (`simulation.moving`), and finds in them what a checkpoint keeps of past steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray, IntArray, lazy_zeros
from linkwork.dynamics.aba import BODY_WORK, DOF_WORK
from linkwork.environment.wet_columns import WATER_NUMBERS, WET_COLUMNS
from linkwork.model.layout import DOF_COLUMNS
from linkwork.simulation import moving as mv
from linkwork.simulation.loading.load_columns import LOAD_COLUMNS
from linkwork.simulation.loading.motor_law import MOTOR_COLUMNS
from linkwork.simulation.moving import Moving


def allocate(tables: Sequence[NDArray[Any]], bases: IntArray, tree_of: IntArray, method: int) -> Moving:
    """Arrays for a linkage with the given tables (tree, body, screws, dof, rest, gravity), at rest, nothing acting.

    bases: bodies on the free joints of floating trees whose momentum is kept; tree_of: tree of each body, or -1.
    """
    tree, body, screws, dof, rest, gravity = tables
    n, nv, nq = tree.shape[0], dof.shape[0], rest.shape[0]
    return Moving(
        tree=tree,
        body=body,
        screws=screws,
        dof=dof,
        rest=rest,
        gravity=gravity,
        effort=lazy_zeros(nv),
        motor=lazy_zeros(nv, MOTOR_COLUMNS),
        effort_limit=np.full(nv, np.inf),
        velocity_limit=np.full(nv, np.inf),
        wrench=lazy_zeros(n, 6),
        load=np.zeros((0, LOAD_COLUMNS)),
        load_body=np.zeros(0, dtype=np.int64),
        wet=np.zeros((0, WET_COLUMNS)),
        wet_body=np.zeros(0, dtype=np.int64),
        water=np.zeros(WATER_NUMBERS),
        current=np.zeros((1, 4)),
        q=lazy_zeros(nq),
        v=lazy_zeros(nv),
        qdd=lazy_zeros(nv),
        saturation_velocity=lazy_zeros(nv),
        joint_effort=lazy_zeros(nv),
        applied_efforts=lazy_zeros(nv, mv.EFFORT_PARTS),
        effective_armature=lazy_zeros(nv, DOF_COLUMNS),
        work=lazy_zeros(n, BODY_WORK),
        dof_work=lazy_zeros(nv, DOF_WORK),
        world=lazy_zeros(n, 12),
        start_q=lazy_zeros(nq),
        start_v=lazy_zeros(nv),
        u=lazy_zeros(nv),
        stages=lazy_zeros(mv.STAGE_ROWS[method], nq + 1),
        variational_work=lazy_zeros(n if method in mv.LIKE_VARIATIONAL else 0, mv.VARIATIONAL_COLUMNS),
        variational_dof_work=lazy_zeros(nv if method in mv.LIKE_VARIATIONAL else 0, mv.VARIATIONAL_DOF_COLUMNS),
        base=bases,
        tree_of=tree_of,
        target_momentum=np.zeros((bases.size, 6)),
        start_momentum=np.zeros((bases.size, 6)),
        centre=np.zeros((bases.size, 3)),
        composite=lazy_zeros(n, mv.COMPOSITE_COLUMNS),
        counts=np.zeros(mv.COUNTS, dtype=np.int64),
        numbers=np.zeros(mv.NUMBERS),
    )


def history_of(moving: Moving) -> dict[str, FloatArray]:
    """What a variational step keeps of the one before, for checkpoints; nothing for other integrators."""
    is_variational = moving.counts[mv.METHOD] == mv.VARIATIONAL
    if not is_variational:
        return {}
    momenta = moving.variational_work[:, mv.CARRIED_MOMENTUM : mv.CARRIED_MOMENTUM + 6]
    return {"past": moving.stages[mv.HISTORY : mv.HISTORY + mv.HISTORY_ROWS], "momenta": momenta}


def clear_history(moving: Moving) -> None:
    """The next step begins as the first one does, with no energy made or lost so far."""
    moving.numbers[mv.STEP_HISTORY] = 0.0
    for history in history_of(moving).values():
        history[:] = 0.0
