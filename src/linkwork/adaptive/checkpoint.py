"""What a quasi-static simulation must remember to go on in the same bits.

Coordinates, loads and efforts, which nodes are open and how they are marked, and a few counters. Coefficients and roots are
functions of these, and are formed again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive import stepping
from linkwork.adaptive.lazy_update import prepare_all
from linkwork.adaptive.workspace import CLOSING, DIRTY, LOAD_COUNT, OPEN, OPEN_COUNT, SORTED_COUNT, STALE
from linkwork.errors import StateError

if TYPE_CHECKING:
    from linkwork.adaptive.load_verbs import Load
    from linkwork.adaptive.loads import Loads
    from linkwork.adaptive.quasi_statics import QuasiStatics

LIVE = ("q", "kept_q", "qdd", "glide", "effort", "wrench", "tally", "figure")  # kept whole
COUNTERS = ("_steps_since_floor", "_warned", "_loads_changed", "steps_done", "time")
LOAD_NUMBERS = 18  # of a load: axes (9), at, force, torque (3 each)
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
    _check(sim, saved)
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
    bad, *_ = stepping.advance(
        *sim._bundles, 1, 0.0, stepping.ABSOLUTE_JOINT, math.inf, stepping.NO_LIMIT, stepping.NO_LIMIT
    )
    return int(bad)


def _check(sim: QuasiStatics, saved: dict[str, Any]) -> None:
    if saved.get("simulation") != type(sim).__name__:
        raise StateError(f"this is a checkpoint of {saved.get('simulation')!r}, not of {type(sim).__name__}.")
    for name in LIVE:
        shape = getattr(sim._live, name).shape
        if saved[name].shape != shape:
            raise StateError(
                f"the checkpoint belongs to another model: its {name} has shape {saved[name].shape}, not {shape}."
            )
    for name in SETTINGS:
        if saved[name] != getattr(sim, name):
            raise StateError(
                f"the checkpoint was made with {name}={saved[name]!r}, the simulation with {getattr(sim, name)!r}; make it "
                "with the same arguments, or it would take another course."
            )
    if not np.array_equal(saved["weight"], sim._mechanism.weight):
        raise StateError("the checkpoint was made with other metric weights; make the simulation with the same ones.")


def saved_loads(sim: Loads) -> dict[str, object]:
    """All loads on bodies, and the table of those fixed in the world; wrenches and efforts are kept beside them."""
    loads = sim.loads
    return {
        "world_loads": sim._live.load[: len(sim._rows)].copy(),
        "load_body": np.array([load.body for load in loads], dtype=np.int64),
        "load_row": np.array([load.row for load in loads], dtype=np.int64),
        "load_vectors": np.array([_vectors(load) for load in loads]).reshape(len(loads), LOAD_NUMBERS),
    }


def _vectors(load: Load) -> NDArray[np.float64]:
    return np.concatenate([load.axes.ravel(), load.at, load.force, load.torque])


def restore_loads(sim: Loads, saved: dict[str, Any]) -> None:
    """Loads that were applied again keep their handles; a simulation without any gets them from the checkpoint.

    Touches paths of the tree on the way; which nodes are open and pinned is for the caller to restore after it.
    """
    bodies, rows = saved["load_body"], saved["load_row"]
    if not sim.loads:
        for body, row, vectors in zip(bodies.tolist(), rows.tolist(), saved["load_vectors"], strict=True):
            if row >= 0:
                sim._add_world_load(body, saved["world_loads"][row].copy())
            else:
                sim.apply_wrench(body, vectors[12:15], vectors[15:18], "body", vectors[9:12])
    loads = sim.loads
    same = len(loads) == bodies.size and all(
        load.body == body and (load.row >= 0) == (row >= 0)
        for load, body, row in zip(loads, bodies.tolist(), rows.tolist(), strict=True)
    )
    if not same:
        raise StateError(
            f"the checkpoint has {bodies.size} loads, the simulation {len(loads)} or on other bodies; apply the same loads "
            "in the same order before restoring, or none."
        )
    for load, row, vectors in zip(loads, rows.tolist(), saved["load_vectors"], strict=True):
        load.row = row
        load.axes = vectors[:9].reshape(3, 3).copy()
        load.at, load.force, load.torque = vectors[9:12].copy(), vectors[12:15].copy(), vectors[15:18].copy()
    sim._rows[:] = sorted((load for load in loads if load.row >= 0), key=lambda load: load.row)
    count = len(sim._rows)
    sim._live.load[:count] = saved["world_loads"]
    sim._live.load_body[:count] = [load.body for load in sim._rows]
    sim._live.tally[LOAD_COUNT] = count
