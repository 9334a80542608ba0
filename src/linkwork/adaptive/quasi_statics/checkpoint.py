"""What a quasi-static simulation must remember to go on in the same bits.

Coordinates, loads and efforts, which nodes are open and how they are marked, and a few counters. Coefficients and roots are
functions of these, and are formed again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.measures import ABSOLUTE_JOINT, NO_LIMIT
from linkwork.adaptive.quasi_statics import solve as stepping
from linkwork.adaptive.quasi_statics.update import prepare_all
from linkwork.adaptive.quasi_statics.workspace import CLOSING, DIRTY, OPEN, OPEN_COUNT, SORTED_COUNT, STALE
from linkwork.simulation.checkpoint import check_same, restore_loads, saved_loads

if TYPE_CHECKING:
    from linkwork.adaptive.quasi_statics.simulation import QuasiStatics

LIVE = ("q", "kept_q", "qdd", "glide", "effort", "wrench", "tally", "figure")  # kept whole
COUNTERS = ("_steps_since_floor", "_warned", "_loads_changed", "steps_done", "time")
SETTINGS = ("tolerance", "measure", "max_joints")  # on which the course depends


def save(sim: QuasiStatics) -> dict[str, object]:
    """See `QuasiStatics.checkpoint`."""
    live = sim._live
    opened = live.opened[: live.tally[OPEN_COUNT]].copy()  # ascending, but for those opened since the last step
    pinned = np.flatnonzero(live.pin)
    return {
        "simulation": type(sim).__name__,
        **{name: getattr(live, name).copy() for name in LIVE},
        "weight": sim._mechanism.weight.copy(),
        "opened": opened,
        "flag": live.flag[opened],  # closed nodes have none
        "pinned": pinned,
        "pin": live.pin[pinned],
        "floor": np.array(sim._floor),
        **saved_loads(sim),
        **{name.lstrip("_"): getattr(sim, name) for name in (*COUNTERS, *SETTINGS)},
    }


def restore(sim: QuasiStatics, saved: dict[str, Any]) -> None:
    """See `QuasiStatics.restore`."""
    check_same(
        sim, saved, {name: getattr(sim._live, name) for name in LIVE}, SETTINGS, {"weight": sim._mechanism.weight}
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
    live, opened = sim._live, saved["opened"]
    for name in LIVE:
        getattr(live, name)[...] = saved[name]
    live.pin[...] = 0
    live.pin[saved["pinned"]] = saved["pin"]
    live.opened[: opened.size] = opened
    live.flag[...] = 0
    # Roots of clean nodes are those of the constructor here; so they are formed when such a node closes.
    clean = saved["flag"] & DIRTY == 0
    live.flag[opened] = saved["flag"] | np.where(clean, STALE, 0).astype(np.uint8)


def form_coefficients(sim: QuasiStatics, opened: NDArray[np.int64]) -> int:
    """Coefficients of all nodes and roots of closed ones, by the very code a step uses for them; a body that failed, or -1.

    Another kernel would do the same operations, but a compiler may fuse products and sums differently in each of them,
    and a last bit would tell what was formed in the beginning from what was formed later. So everything is opened, and
    closed again in a solve, but for `opened`. What that leaves in the simulation's state is for the caller to put right.
    """
    plan, mechanism, coefficients, live = sim._bundles
    count = plan.nodes.shape[0]
    prepare_all(plan, mechanism, coefficients, live)
    live.flag[...] = OPEN | DIRTY | CLOSING
    live.flag[opened] = OPEN | DIRTY
    live.opened[...] = np.arange(count)
    live.tally[OPEN_COUNT] = live.tally[SORTED_COUNT] = count
    bad, *_ = stepping.advance(*sim._bundles, 1, 0.0, ABSOLUTE_JOINT, math.inf, NO_LIMIT, NO_LIMIT)
    return int(bad)
