"""What a DeviceModel says where a result is not finite: the sample, the joint and the number, and the fastest joint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.inputs import NO_WRENCHES, explain_failure
from linkwork.errors import StateError
from linkwork.gpu.workspace import Workspace
from linkwork.model.model import Model

Download = Callable[[Any], NDArray[Any]]

# What a call leaves behind, by the first word of its name: tables (entries, batch).
RESULTS = {"forward": ("qdd",), "inverse": ("total",), "step": ("q", "v"), "gradients": ("qdd", "mu")}


def failure_of(model: Model, call: str, body: int, work: Workspace) -> StateError | None:
    """Why the last call failed, or None.

    call: its name; body: whose joint could not be solved, or -1; work: where it was made.
    """
    kind, arrays, download = call.partition(" ")[0], work.arrays, work.backend.download
    sample = _first_sample([arrays[name] for name in RESULTS.get(kind, ())], work.backend.xp, download)
    if sample is None and body < 0:
        return None
    q, v, effort = (download(arrays[name][:, sample or 0]).astype(float) for name in ("q", "v", "effort"))
    where = f" in sample {sample}" if sample is not None and arrays["q"].shape[1] > 1 else ""
    if kind == "step":  # the state it began from is gone
        return _explain_step(model, body, where, q, v, effort)
    vectors = {"state.q": q, "state.v": v, "effort": effort}
    if kind == "inverse":
        vectors["acceleration"] = download(arrays["qdd"][:, sample or 0]).astype(float)
    return explain_failure(model, f"gpu{where}", body, vectors, _wrenches(model, work, sample or 0))


def _first_sample(tables: list[Any], xp: Any, download: Download) -> int | None:
    """The first sample with a number that is not finite."""
    bad = [np.flatnonzero(~download(xp.isfinite(table).all(axis=0)).astype(bool)) for table in tables if table.size]
    found = [int(samples[0]) for samples in bad if samples.size]
    return min(found, default=None)


def _explain_step(model: Model, body: int, where: str, q: FloatArray, v: FloatArray, effort: FloatArray) -> StateError:
    if body >= 0 and np.isfinite(q).all() and np.isfinite(v).all():
        return explain_failure(model, f"gpu{where}", body, {"state.q": q, "state.v": v}, NO_WRENCHES)
    given = np.flatnonzero(~np.isfinite(effort))
    if given.size:
        return explain_failure(model, f"gpu{where}", body, {"effort": effort}, NO_WRENCHES)
    lost = np.flatnonzero(~np.isfinite(v))
    joint = model.joint_names[model.joint_of(int(lost[0]), "v") if lost.size else max(body, 0)]
    words = f"a step on the gpu overflowed{where}, or began with NaN: the velocity of joint '{joint}' is not finite"
    speeds = np.where(np.isfinite(v), np.abs(v), 0.0)
    if speeds.any():
        k = int(speeds.argmax())
        fastest = model.joint_names[model.joint_of(k, "v")]
        words += f"; the fastest other joint, '{fastest}', moves at {speeds[k]:.3g} rad/s or m/s"
    return StateError(f"{words}. Call set_state() with finite numbers, and take smaller steps, or smaller loads.")


def _wrenches(model: Model, work: Workspace, sample: int) -> FloatArray:
    if not work.tables.has_wrenches:
        return NO_WRENCHES
    found: FloatArray = work.backend.download(work.arrays["wrenches"][:, sample]).astype(float)
    return found.reshape(model.n_bodies, 6)
