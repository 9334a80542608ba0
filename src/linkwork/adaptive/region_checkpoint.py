"""What an adaptive dynamics simulation must remember to go on in the same bits.

State, loads, efforts, motors and pins, which nodes are open and active, the momentum that is kept and a few counters.
Coefficients are functions of these, and are formed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork.adaptive.adaptive_step import REOPEN
from linkwork.adaptive.checkpoint import restore_loads, saved_loads
from linkwork.adaptive.regions import keep_path
from linkwork.adaptive.workspace import OPEN_COUNT
from linkwork.errors import StateError

if TYPE_CHECKING:
    from linkwork.adaptive.adaptive_dynamics import AdaptiveDynamics

LIVE = ("q", "v", "qdd", "effort", "motor", "wrench", "figure", "figures", "tally")  # kept whole
COUNTERS = ("_since_update", "_keeping", "steps_done", "time")
SETTINGS = ("tolerance", "active_joints", "update_every", "measure", "horizon", "integrator", "keep_momentum")


def save(sim: AdaptiveDynamics) -> dict[str, object]:
    """See `AdaptiveDynamics.checkpoint`."""
    live = sim._live
    opened = np.sort(live.opened[: live.tally[OPEN_COUNT]])
    return {
        "simulation": type(sim).__name__,
        **{name: getattr(live, name).copy() for name in LIVE},
        "acceleration_weight": sim._mechanism.weight.copy(),
        "velocity_weight": sim._mechanism.velocity_weight.copy(),
        "opened": opened,
        "flag": live.flag[opened],
        "pins": np.array(sorted(sim._pins.items()), dtype=np.int64).reshape(-1, 2),
        **saved_loads(sim),
        **{name.lstrip("_"): getattr(sim, name) for name in (*COUNTERS, *SETTINGS)},
    }


def restore(sim: AdaptiveDynamics, saved: dict[str, Any]) -> None:
    """See `AdaptiveDynamics.restore`."""
    _check(sim, saved)
    live = sim._live
    restore_loads(sim, saved)
    for joint in list(sim._pins):
        sim.unpin(sim.model.joint_names[joint])
    for joint, pin in saved["pins"].tolist():
        sim._pins[joint] = pin
        if pin > 0:
            keep_path(sim._plan, live, sim._joint_node[joint], 1)
        else:
            sim._hold(joint, True)
    for name in LIVE:
        if name != "tally":
            getattr(live, name)[...] = saved[name]
    sim._prepare()
    live.tally[...] = saved["tally"]
    sim._perform(REOPEN, opened=saved["opened"].copy(), flags=saved["flag"].copy())
    for name in ("figure", "figures", "qdd"):
        getattr(live, name)[...] = saved[name]
    driven = np.flatnonzero(live.motor.any(axis=1)).tolist()
    sim._motors = {sim.model.joint_names[sim.model.joint_of(k, "v")] for k in driven}
    for name in COUNTERS:
        setattr(sim, name, saved[name.lstrip("_")])


def _check(sim: AdaptiveDynamics, saved: dict[str, Any]) -> None:
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
    for name in ("weight", "velocity_weight"):
        if not np.array_equal(
            saved["acceleration_" + name if name == "weight" else name], getattr(sim._mechanism, name)
        ):
            raise StateError(
                "the checkpoint was made with other metric weights; make the simulation with the same ones."
            )
