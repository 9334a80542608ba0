"""What a quasi-static simulation must remember of its assembly tree to go on in the same bits: which nodes are open.

Coefficients and factors are functions of the coordinates, the loads and these, and are formed again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.measures import ABSOLUTE_JOINT, NO_LIMIT
from linkwork.adaptive.quasi_statics.solve import advance
from linkwork.adaptive.quasi_statics.update import prepare_all
from linkwork.adaptive.workspace import (
    CLOSING,
    DIRTY,
    HEAP_COUNT,
    JOINT_COUNT,
    LOAD_COUNT,
    OPEN,
    OPEN_COUNT,
    SORTED_COUNT,
    STALE,
)
from linkwork.errors import StateError

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics


def opened_nodes(sim: QuasiStatics) -> dict[str, NDArray[Any]]:
    """The open nodes, their flags (closed nodes have none) and what holds nodes open."""
    run = sim._run
    opened = run.opened[: run.counts[OPEN_COUNT]].copy()  # ascending, but for those opened since the last step
    held = np.flatnonzero(run.held_open)
    return {"opened": opened, "flag": run.flag[opened], "held": held, "held_open": run.held_open[held]}


def refuse_damaged(sim: QuasiStatics, saved: dict[str, Any]) -> None:
    """Kernels trust these numbers: refuses nodes that do not exist, or counts that do not fit them."""
    count = sim._plan.nodes.shape[0]
    opened, held, counts = (np.asarray(saved[name]) for name in ("opened", "held", "counts"))
    sound = (
        opened.ndim == held.ndim == 1
        and np.asarray(saved["flag"]).shape == opened.shape
        and np.asarray(saved["held_open"]).shape == held.shape
        and all(x.dtype.kind == "i" and bool(((x >= 0) & (x < count)).all()) for x in (opened, held))
        and np.unique(opened).size == opened.size == counts[OPEN_COUNT]
        and 0 <= counts[SORTED_COUNT] <= opened.size
        and bool((np.diff(opened[: counts[SORTED_COUNT]]) > 0).all())
        and bool((counts >= 0).all() and (counts[[HEAP_COUNT, JOINT_COUNT]] <= count).all())
        and counts[LOAD_COUNT] == np.shape(saved["load_table"])[0]
    )
    if not sound:
        raise StateError(
            "the checkpoint is damaged: its open nodes do not fit the model, or its counts do not fit them."
        )


def keep_open(sim: QuasiStatics, saved: dict[str, Any]) -> None:
    run, opened = sim._run, saved["opened"]
    run.held_open[...] = 0
    run.held_open[saved["held"]] = saved["held_open"]
    run.opened[: opened.size] = opened
    run.flag[...] = 0
    # Factors of clean nodes are those of the constructor here; so they are formed when such a node closes.
    clean = saved["flag"] & DIRTY == 0
    run.flag[opened] = saved["flag"] | np.where(clean, STALE, 0).astype(np.uint8)


def form_coefficients(sim: QuasiStatics, opened: NDArray[np.int64]) -> int:
    """Coefficients of all nodes and factors of closed ones, by the very code a step uses; a body that failed, or -1.

    Another kernel would do the same operations, but a compiler may fuse products and sums differently in each of them,
    and a last bit would tell what was formed in the beginning from what was formed later. So everything is opened, and
    closed again in a solve, but for `opened`. What that leaves in the simulation's state is for the caller to put right.
    """
    run, count = sim._run, sim._plan.nodes.shape[0]
    prepare_all(sim._table)
    run.flag[...] = OPEN | DIRTY | CLOSING
    run.flag[opened] = OPEN | DIRTY
    run.opened[...] = np.arange(count)
    run.counts[OPEN_COUNT] = run.counts[SORTED_COUNT] = count
    bad, *_ = advance(sim._table, 1, 0.0, ABSOLUTE_JOINT, math.inf, NO_LIMIT, NO_LIMIT)
    return int(bad)
