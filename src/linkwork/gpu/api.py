"""`algorithm="gpu"` of the dynamics on the CPU side: NumPy arrays in and out, the DeviceModel kept with the model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.core.arrays import FloatArray
from linkwork.dynamics.inputs import explain_failure
from linkwork.dynamics.remembered import remembered
from linkwork.errors import StateError
from linkwork.gpu.cuda import CudaBackend
from linkwork.gpu.device_model import DeviceModel
from linkwork.gpu.host import HostBackend
from linkwork.model.model import Model

BACKENDS: dict[str, Callable[[str], Any]] = {"cuda": CudaBackend, "host": HostBackend}
CHOICE = "LINKWORK_GPU"  # environment variable: "host" runs the kernels on the CPU, as tests without a GPU do


def device_model(model: Model) -> DeviceModel:
    """This thread's DeviceModel of a model, in float64."""
    name = os.environ.get(CHOICE, "cuda")
    if name not in BACKENDS:
        raise StateError(f"{CHOICE} is {name!r}; it must be one of {', '.join(BACKENDS)}.")
    return remembered(model, f"gpu {name}", lambda model: DeviceModel(model, backend=BACKENDS[name]))


def forward_gpu(model: Model, q: FloatArray, v: FloatArray, effort: FloatArray, wrenches: FloatArray) -> FloatArray:
    """Joint accelerations [rad/s² or m/s²], shape (nv,)."""
    device = device_model(model)
    qdd = device.forward_dynamics(q, v, effort if effort.size else None, wrenches if wrenches.size else None)
    failed = device.failed_body()
    if failed >= 0 or not np.isfinite(qdd.sum()):
        raise explain_failure(model, "gpu", failed, {"state.q": q, "state.v": v, "effort": effort}, wrenches)
    return np.asarray(qdd)
