"""What a quasi-static simulation must remember to go on in the same bits.

Coordinates, loads and efforts, which nodes are open and how they are marked, and a few counters. Coefficients and factors
are functions of these, and are formed again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.measures import ABSOLUTE_JOINT, NO_LIMIT
from linkwork.adaptive.quasi_statics.solve import advance
from linkwork.adaptive.quasi_statics.update import prepare_all
from linkwork.adaptive.workspace import CLOSING, DIRTY, OPEN, OPEN_COUNT, SORTED_COUNT, STALE
from linkwork.simulation.checkpoint import check_same, restore_loads, saved_loads

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics

ARRAYS = ("q", "kept_q", "qdd", "glide", "effort", "wrench", "counts", "metric_sums")  # kept whole
COUNTERS = ("_steps_since_floor", "_warned", "_loads_changed", "steps_done", "time")
SETTINGS = ("tolerance", "measure", "max_joints")  # on which the course depends


def save(sim: QuasiStatics) -> dict[str, object]:
    """See `QuasiStatics.checkpoint`."""
    run = sim._run
    opened = run.opened[: run.counts[OPEN_COUNT]].copy()  # ascending, but for those opened since the last step
    held = np.flatnonzero(run.held_open)
    return {
        "simulation": type(sim).__name__,
        **{name: getattr(run, name).copy() for name in ARRAYS},
        "weight": sim._mechanism.weight.copy(),
        "opened": opened,
        "flag": run.flag[opened],  # closed nodes have none
        "held": held,
        "held_open": run.held_open[held],
        "floor": np.array(sim._floor),
        **saved_loads(sim),
        **{name.lstrip("_"): getattr(sim, name) for name in (*COUNTERS, *SETTINGS)},
    }


def restore(sim: QuasiStatics, saved: dict[str, Any]) -> None:
    """See `QuasiStatics.restore`."""
    check_same(
        sim, saved, {name: getattr(sim._run, name) for name in ARRAYS}, SETTINGS, {"weight": sim._mechanism.weight}
    )
    restore_loads(sim, saved)
    _put_back(sim, saved)
    sim._check(form_coefficients(sim, saved["opened"]))
    _put_back(sim, saved)
    sim._floor = (float(saved["floor"][0]), float(saved["floor"][1]))
    for name in COUNTERS:
        setattr(sim, name, saved[name.lstrip("_")])
    sim._solved = False  # what a solve found is found again by the next one


def _put_back(sim: QuasiStatics, saved: dict[str, Any]) -> None:
    run, opened = sim._run, saved["opened"]
    for name in ARRAYS:
        getattr(run, name)[...] = saved[name]
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
    plan, mechanism, coefficients, run = sim._bundles
    count = plan.nodes.shape[0]
    prepare_all(plan, mechanism, coefficients, run)
    run.flag[...] = OPEN | DIRTY | CLOSING
    run.flag[opened] = OPEN | DIRTY
    run.opened[...] = np.arange(count)
    run.counts[OPEN_COUNT] = run.counts[SORTED_COUNT] = count
    bad, *_ = advance(*sim._bundles, 1, 0.0, ABSOLUTE_JOINT, math.inf, NO_LIMIT, NO_LIMIT)
    return int(bad)
