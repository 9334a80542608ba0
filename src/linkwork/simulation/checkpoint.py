"""The parts of a checkpoint that all simulations share: who made it, with what settings, and the loads on bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import StateError
from linkwork.simulation.loads import Load, LoadVerbs

LOAD_NUMBERS = 18  # of a load: axes (9), at, force, torque (3 each)


def check_same(
    sim: Any,
    saved: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    settings: tuple[str, ...],
    weights: dict[str, NDArray[np.float64]],
) -> None:
    """Refuses a checkpoint of another kind of simulation, of another model, or made with other settings.

    arrays: that must have the shape of the saved ones. settings: attributes on which the course depends.
    """
    if saved.get("simulation") != type(sim).__name__:
        raise StateError(f"this is a checkpoint of {saved.get('simulation')!r}, not of {type(sim).__name__}.")
    missing = [name for name in sim.checkpoint() if name not in saved]
    if missing:
        raise StateError(f"this checkpoint lacks {', '.join(missing)}.")
    for name, array in arrays.items():
        if saved[name].shape != array.shape:
            raise StateError(
                f"the checkpoint belongs to another model: its {name} has shape {saved[name].shape}, not {array.shape}."
            )
    for name in settings:
        if saved[name] != getattr(sim, name):
            raise StateError(
                f"the checkpoint was made with {name}={saved[name]!r}, the simulation with {getattr(sim, name)!r}; make it "
                "with the same arguments, or it would take another course."
            )
    for name, array in weights.items():
        if not np.array_equal(saved[name], array):
            raise StateError(
                "the checkpoint was made with other metric weights; make the simulation with the same ones."
            )


def saved_loads(sim: LoadVerbs) -> dict[str, object]:
    """All loads on bodies, and the table of those the world holds; wrenches and efforts are kept beside them."""
    loads = sim.loads
    return {
        "world_loads": sim._load_table[0][: len(sim._rows)].copy(),
        "load_body": np.array([load.body for load in loads], dtype=np.int64),
        "load_row": np.array([load.row for load in loads], dtype=np.int64),
        "load_vectors": np.array([_vectors(load) for load in loads]).reshape(len(loads), LOAD_NUMBERS),
    }


def _vectors(load: Load) -> NDArray[np.float64]:
    return np.concatenate([load.axes.ravel(), load.at, load.force, load.torque])


def restore_loads(sim: LoadVerbs, saved: dict[str, Any]) -> None:
    """Loads that were applied again keep their handles; a simulation without any gets them from the checkpoint.

    May touch paths of an assembly tree on the way; which nodes are open and pinned is for the caller to restore after it.
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
    table, load_bodies = sim._load_table
    table[:count] = saved["world_loads"]
    load_bodies[:count] = [load.body for load in sim._rows]
    for body in {load.body for load in loads if load.row < 0}:
        sim._add_up_fixed(body)
