"""The device as CuPy drives it: memory, kernels compiled at run time and kept on disk, graphs."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.errors import DeviceError, MissingExtraError
from linkwork.gpu.source import REAL, part_of, source
from linkwork.gpu.tables import Tables

BLOCK = {
    "assemble": 64,
    "assemble_strands": 64,
    "assemble_several": 64,
    "substitute": 64,
    "substitute_several": 64,
}  # threads; others 128
ITEMS_OF_BLOCK = 32  # nodes, or samples of the sweep body by body, when several threads share each
COLUMNS = {"assemble_columns": 6}  # threads that share a node
ONE_BLOCK = (ITEMS_OF_BLOCK, 6)  # of threads, which does several narrow levels


def load_cupy() -> Any:
    """CuPy with a GPU behind it, or one clear error."""
    try:
        import cupy
    except ImportError as error:
        raise MissingExtraError(
            f"lw.gpu needs CuPy ({error}); install it with: pip install '.[gpu]' "
            "(for CUDA 12: pip install cupy-cuda12x)"
        ) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        text = str(error)
        if "NoDevice" in text or "no CUDA-capable" in text:
            raise DeviceError("no GPU was found; lw.gpu needs one of NVIDIA. Everything else works without.") from None
        raise DeviceError(
            f"the NVIDIA driver does not answer ({text}). Install or update it, or check with nvidia-smi."
        ) from None
    if count == 0:
        raise DeviceError("no GPU was found; lw.gpu needs one of NVIDIA. Everything else works without.")
    return cupy


class CudaBackend:
    """One GPU of this machine (CuPy's current device)."""

    name = "cuda"
    DLPACK_DEVICE = 2  # kDLCUDA

    def __init__(self, dtype: str):
        self.xp: Any = load_cupy()
        self.device = int(self.xp.cuda.runtime.getDevice())
        self._options = ("--std=c++17", f"-DLW_REAL={REAL[dtype]}")
        self._modules: dict[int, Any] = {}
        self._kernels: dict[str, Any] = {}

    def _kernel(self, name: str) -> Any:
        found = self._kernels.get(name)
        if found is None:
            part = part_of(name)
            if part not in self._modules:
                options = (*self._options, f"-DLW_PART={part}")
                self._modules[part] = self.xp.RawModule(code=source(), options=options)
            found = self._kernels[name] = self._modules[part].get_function(name)
        return found

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        try:
            return self.xp.empty(shape, dtype=dtype)
        except self.xp.cuda.memory.OutOfMemoryError as error:
            raise DeviceError(f"the GPU is out of memory: {error}") from None

    def copy(self, table: Any, value: Any) -> None:
        """table ← value; numbers that stand alike are moved without a kernel."""
        if value.shape == table.shape and value.flags.c_contiguous:
            table.data.copy_from_device_async(value.data, table.nbytes)
        else:
            table[...] = value

    def upload(self, array: Any) -> Any:
        return self.xp.asarray(np.ascontiguousarray(array))

    def download(self, array: Any) -> Any:
        return self.xp.asnumpy(array)

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def launch(self, kernel: str, tables: Tables, first: int, count: int) -> None:
        shared = COLUMNS.get(kernel)
        block = (ITEMS_OF_BLOCK, shared) if shared else (BLOCK.get(kernel, 128),)
        blocks = -(-count * tables.batch // block[0])
        if blocks:
            self._kernel(kernel)((blocks,), block, (_by_value(tables), np.int32(first), np.int32(count)))

    def launch_narrow(self, kernel: str, tables: Tables, first: int, count: int, what: int) -> None:
        """Several levels, each of few nodes, in one launch. what: of the parts of the kernel is done."""
        arguments = (_by_value(tables), np.int32(first), np.int32(count), np.int32(what))
        self._kernel(kernel)((1,), ONE_BLOCK, arguments)

    def launch_bodies(self, tables: Tables, threads: int, kernel: str = "bodies") -> None:
        blocks = -(-tables.batch // ITEMS_OF_BLOCK)
        arguments = (_by_value(tables), np.int32(0), np.int32(0))
        self._kernel(kernel)((blocks,), (ITEMS_OF_BLOCK, threads), arguments)

    def record(self, act: Callable[[], None]) -> Callable[[], None]:
        """The launches of `act` as a CUDA graph: one call from the host repeats them all."""
        current = self.xp.cuda.get_current_stream()
        stream = self.xp.cuda.Stream(non_blocking=True)
        current.synchronize()
        with stream:
            stream.begin_capture()
            try:
                act()
            except BaseException:
                with contextlib.suppress(Exception):
                    stream.end_capture()
                raise
            graph = stream.end_capture()
        return lambda: graph.launch(self.xp.cuda.get_current_stream())

    def free_bytes(self) -> int | None:
        free, _ = self.xp.cuda.runtime.memGetInfo()
        pool = self.xp.get_default_memory_pool()
        return int(free + pool.free_bytes())

    def synchronize(self) -> None:
        self.xp.cuda.get_current_stream().synchronize()

    def from_dlpack(self, array: Any) -> Any:
        return self.xp.from_dlpack(array)


_STRUCT = np.dtype(f"V{ctypes.sizeof(Tables)}")


def _by_value(tables: Tables) -> Any:
    """The struct as CuPy passes structs: the one item of a NumPy array."""
    return np.frombuffer(bytes(tables), dtype=_STRUCT)
