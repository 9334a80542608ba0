"""Arrays in and out: CuPy, PyTorch and JAX arrays pass by DLPack where they are, NumPy arrays are copied."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.core.checks import shown
from linkwork.errors import StateError
from linkwork.model.model import Model


class Reader:
    """Checks what comes in for one call: shape, kind of numbers, device; finds the number of samples."""

    def __init__(self, backend: Any, dtype: Any, model: Model):
        self.backend, self.dtype, self.model = backend, np.dtype(dtype), model
        self.batch: int | None = None  # None: one sample, arrays without a first axis for samples

    def first(self, value: Any, size: int, what: str) -> Any:
        """The array that says how many samples there are: (size,) or (batch, size)."""
        array = self._array(value, what)
        if array.ndim not in (1, 2) or array.shape[-1] != size or (array.ndim == 2 and array.shape[0] == 0):
            raise StateError(
                f"{what} has shape {tuple(array.shape)}; model '{self.model.name}' needs ({size},) or (batch, {size})."
            )
        self.batch = None if array.ndim == 1 else int(array.shape[0])
        return array.T if array.ndim == 2 else array

    def all(self, given: dict[str, Any]) -> dict[str, Any]:
        """What is given of a call's arrays by their names in the tables, q first; inertias are read by themselves."""
        n, nv = self.model.n_bodies, self.model.nv
        shapes = {"v": (nv,), "effort": (nv,), "qdd": (nv,), "wrenches": (n, 6), "gravity": (3,)}
        found = {"q": self.first(given["q"], self.model.nq, "q")}
        for name, shape in shapes.items():
            if given[name] is not None:
                found[name] = self.other(given[name], shape, "acceleration" if name == "qdd" else name)
        return found

    def other(self, value: Any, shape: tuple[int, ...], what: str) -> Any:
        """An array of `shape` for all samples, or with a first axis for samples; as (entries, batch) or (entries,)."""
        array = self._array(value, what)
        size = math.prod(shape)
        if tuple(array.shape) == shape:
            return array if len(shape) == 1 else array.reshape(size)
        if self.batch is not None and tuple(array.shape) == (self.batch, *shape):
            return array.reshape(self.batch, size).T
        choices = f"{shape}" if self.batch is None else f"{shape} or {(self.batch, *shape)}"
        raise StateError(f"{what} has shape {tuple(array.shape)}; model '{self.model.name}' needs {choices}.")

    def _array(self, value: Any, what: str) -> Any:
        if isinstance(value, self.backend.xp.ndarray) and self.backend.xp is not np:
            array = value
        elif hasattr(value, "__dlpack_device__") and not isinstance(value, np.ndarray):
            array = self._from_device(value, what)
        else:
            try:
                host = np.asarray(value, dtype=self.dtype)
            except (TypeError, ValueError, OverflowError):
                raise StateError(f"{what} must be an array of numbers, not {shown(value)}.") from None
            return self.backend.upload(host)
        if array.dtype != self.dtype:
            raise StateError(
                f"{what} holds {array.dtype}; this DeviceModel computes in {self.dtype}. Convert the array, or make "
                f"DeviceModel(model, dtype='{array.dtype}')."
            )
        return array

    def _from_device(self, value: Any, what: str) -> Any:
        kind = type(value).__module__.partition(".")[0]
        if getattr(value, "requires_grad", False):
            raise StateError(f"{what} is a tensor that records gradients; give {what}.detach().")
        device, number = value.__dlpack_device__()
        if int(device) != self.backend.DLPACK_DEVICE:
            where = {1: "in the memory of the CPU", 2: "on a GPU"}.get(
                int(device), f"on a device of kind {int(device)}"
            )
            hint = {"torch": f"{what}.cuda()", "jax": f"jax.device_put({what}, jax.devices('gpu')[0])"}.get(
                kind, "a CuPy array"
            )
            raise StateError(f"{what} is {where}; this DeviceModel computes on {self.backend.name}. Give {hint}.")
        if int(number) != getattr(self.backend, "device", int(number)):
            raise StateError(f"{what} is on GPU {int(number)}; this DeviceModel computes on GPU {self.backend.device}.")
        return self.backend.from_dlpack(value)


def like(template: Any, array: Any, backend: Any) -> Any:
    """A result as the kind of array that came in: NumPy for NumPy and lists, else by DLPack without a copy."""
    kind = type(template).__module__.partition(".")[0]
    if kind == "torch":
        import torch

        return torch.from_dlpack(array)
    if kind in ("jax", "jaxlib"):
        import jax

        return jax.dlpack.from_dlpack(array)
    if isinstance(template, backend.xp.ndarray):
        return array
    return backend.download(array)


def as_given(table: Any, samples: int | None) -> Any:
    """A copy of a table (entries, batch) as the caller gets it: (entries,), or (batch, entries), samples innermost."""
    copy = table.copy()
    return copy[:, 0] if samples is None else copy.T


def pose_matrices(flat: Any, backend: Any) -> Any:
    """Rotation and place (..., 12) as (..., 4, 4)."""
    T = backend.xp.zeros((*flat.shape[:-1], 4, 4), dtype=flat.dtype)
    T[..., :3, :3] = flat[..., :9].reshape(*flat.shape[:-1], 3, 3)
    T[..., :3, 3] = flat[..., 9:]
    T[..., 3, 3] = 1
    return T


def owned_copy(value: Any) -> Any:
    """A copy, which stays as it is when the caller goes on with the array."""
    if value is None or not hasattr(value, "shape"):
        return value
    return value.clone() if hasattr(value, "clone") else value.copy() if hasattr(value, "copy") else value
