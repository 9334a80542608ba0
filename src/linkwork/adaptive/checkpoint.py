"""What a quasi-static simulation must remember to go on in the same bits.

Coordinates, loads and efforts, which nodes are open and how they are marked, and a few counters. Coefficients and roots are
functions of these: those of closed nodes are formed again from the coordinates, those of open ones at the next solve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.lazy_update import express_loads, place_in_world
from linkwork.adaptive.workspace import LOAD_COUNT, OPEN_COUNT
from linkwork.errors import StateError
from linkwork.jit import kernel

if TYPE_CHECKING:
    from linkwork.adaptive.loads import Load
    from linkwork.adaptive.quasi_statics import QuasiStatics

LIVE = ("q", "kept_q", "qdd", "glide", "effort", "wrench", "tally", "figure")  # kept whole
COUNTERS = ("_steps_since_floor", "_warned", "_loads_changed", "steps_done", "time")


def save(sim: QuasiStatics) -> dict[str, object]:
    """See `QuasiStatics.checkpoint`."""
    live = sim._live
    opened = live.opened[: live.tally[OPEN_COUNT]].copy()  # ascending, but for those opened since the last step
    pinned = np.flatnonzero(live.pin)
    loads = sim.loads
    return {
        "simulation": "QuasiStatics",
        **{name: getattr(live, name).copy() for name in LIVE},
        "opened": opened,
        "flag": live.flag[opened],  # closed nodes have none
        "pinned": pinned,
        "pin": live.pin[pinned],
        "world_loads": live.load[: live.tally[LOAD_COUNT]].copy(),
        "load_body": np.array([load.body for load in loads], dtype=np.int64),
        "load_row": np.array([load.row for load in loads], dtype=np.int64),
        "load_vectors": np.array([_vectors(load) for load in loads]).reshape(len(loads), 18),
        "floor": np.array(sim._floor),
        **{name.lstrip("_"): getattr(sim, name) for name in COUNTERS},
    }


def _vectors(load: Load) -> NDArray[np.float64]:
    return np.concatenate([load.axes.ravel(), load.at, load.force, load.torque])


def restore(sim: QuasiStatics, saved: dict[str, Any]) -> None:
    """See `QuasiStatics.restore`."""
    _check(sim, saved)
    _restore_loads(sim, saved)
    live = sim._live
    for name in LIVE:
        getattr(live, name)[...] = saved[name]
    live.flag[...] = 0
    live.pin[...] = 0
    live.opened[: saved["opened"].size] = np.sort(saved["opened"])
    live.pin[saved["pinned"]] = saved["pin"]
    live.load_body[: saved["world_loads"].shape[0]] = [load.body for load in sim._rows]
    live.load[: saved["world_loads"].shape[0]] = saved["world_loads"]
    sim._assemble_everything()
    live.opened[: saved["opened"].size] = saved["opened"]
    live.flag[saved["opened"]] = saved["flag"]
    sim._floor = (float(saved["floor"][0]), float(saved["floor"][1]))
    for name in COUNTERS:
        setattr(sim, name, saved[name.lstrip("_")])
    sim._solved = False  # what a solve found is found again by the next one


def _check(sim: QuasiStatics, saved: dict[str, Any]) -> None:
    if saved.get("simulation") != "QuasiStatics":
        raise StateError(f"this is a checkpoint of {saved.get('simulation')!r}, not of QuasiStatics.")
    for name in LIVE:
        shape = getattr(sim._live, name).shape
        if saved[name].shape != shape:
            raise StateError(
                f"the checkpoint belongs to another model: its {name} has shape {saved[name].shape}, not {shape}."
            )


def _restore_loads(sim: QuasiStatics, saved: dict[str, Any]) -> None:
    """Loads that were applied again keep their handles; a simulation without any gets them from the checkpoint."""
    bodies, rows = saved["load_body"], saved["load_row"]
    if not sim.loads:
        for body, row, vectors in zip(bodies.tolist(), rows.tolist(), saved["load_vectors"], strict=True):
            at, force, torque = vectors[9:12], vectors[12:15], vectors[15:18]
            if row >= 0:
                sim._add_world_load(body, saved["world_loads"][row].copy())
            else:
                load = sim.apply_wrench(body, force, torque, "body", at)
                load.axes = vectors[:9].reshape(3, 3).copy()
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


@kernel
def express_world_loads(plan, coefficients, live):
    """World-fixed forces and springs as wrenches on their bodies; the nodes above loaded bodies are open, ascending."""
    loads = live.tally[LOAD_COUNT]
    if loads > 0:
        count = live.tally[OPEN_COUNT]
        place_in_world(plan.nodes, live.opened, count, coefficients.hinge, coefficients.place, live.world)
        express_loads(live.leaf, live.load, live.load_body, loads, live.wrench, live.world, coefficients.hinge)
