"""What an adaptive dynamics simulation must remember to go on in the same bits.

State, loads, efforts, motors and pins, which nodes are open and active, the momentum that is kept and a few counters.
Coefficients are functions of these, and are formed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.adaptive.dynamics.region import want_path
from linkwork.adaptive.dynamics.step import REOPEN
from linkwork.adaptive.workspace import OPEN_COUNT
from linkwork.simulation.checkpoint import check_same, restore_loads, saved_loads

if TYPE_CHECKING:
    from linkwork.adaptive.dynamics.simulation import AdaptiveDynamics

ARRAYS = ("q", "v", "qdd", "effort", "motor", "wrench", "metric_sums", "kept_momentum", "counts")  # kept whole
COUNTERS = ("_since_update", "_keeping", "_is_proven", "steps_done", "time")
SETTINGS = ("tolerance", "active_joints", "update_every", "measure", "horizon", "integrator", "keep_momentum")


def save(sim: AdaptiveDynamics) -> dict[str, object]:
    """See `AdaptiveDynamics.checkpoint`."""
    run = sim._run
    opened = np.sort(run.opened[: run.counts[OPEN_COUNT]])
    return {
        "simulation": type(sim).__name__,
        **{name: getattr(run, name).copy() for name in ARRAYS},
        **_weights(sim),
        "opened": opened,
        "flag": run.flag[opened],
        "pins": np.array(sorted(sim._pins.items()), dtype=np.int64).reshape(-1, 2),
        **saved_loads(sim),
        **{name.lstrip("_"): getattr(sim, name) for name in (*COUNTERS, *SETTINGS)},
    }


def restore(sim: AdaptiveDynamics, saved: dict[str, Any]) -> None:
    """See `AdaptiveDynamics.restore`."""
    run = sim._run
    arrays = {name: getattr(run, name) for name in ARRAYS}
    check_same(sim, saved, arrays, SETTINGS, _weights(sim))
    restore_loads(sim, saved)
    for joint in list(sim._pins):
        sim.unpin(sim.model.joint_names[joint])
    for joint, pin in saved["pins"].tolist():
        sim._pins[joint] = pin
        if pin > 0:
            want_path(sim._plan, run, sim._plan.joint[joint], 1)
        else:
            sim._hold(joint, True)
    for name in ARRAYS:
        if name != "counts":
            getattr(run, name)[...] = saved[name]
    sim._prepare()
    run.counts[...] = saved["counts"]
    sim._perform(REOPEN, opened=saved["opened"].copy(), flags=saved["flag"].copy())
    for name in ("metric_sums", "kept_momentum", "qdd"):
        getattr(run, name)[...] = saved[name]
    driven = np.flatnonzero(run.motor.any(axis=1)).tolist()
    sim._motors = {sim.model.joint_names[sim.model.joint_of(k, "v")] for k in driven}
    for name in COUNTERS:
        setattr(sim, name, saved[name.lstrip("_")])


def _weights(sim: AdaptiveDynamics) -> dict[str, NDArray[np.float64]]:
    metric = sim._mechanism
    return {"acceleration_weights": metric.weight.copy(), "velocity_weights": metric.velocity_weight.copy()}
