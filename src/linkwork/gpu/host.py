"""The device's kernels compiled as plain C++ and run on the CPU: for tests, and to see a sweep without a GPU.

Not a way to go fast: items of a level are done one after the other. The algorithms for the CPU are "aba" and "dca".
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.core.cache_folder import user_folder
from linkwork.errors import DeviceError
from linkwork.gpu.source import REAL, source
from linkwork.gpu.tables import Tables

COMPILERS = ("c++", "g++", "clang++")


def compiler() -> str | None:
    """A C++ compiler of this machine, or None."""
    return next((path for name in COMPILERS if (path := shutil.which(name))), None)


@cache
def library(dtype: str) -> ctypes.CDLL:
    """The kernels as a shared library, compiled once and kept beside the other kernels of this user.

    Not in the folder for temporary files: code that anybody may have put there first would be run.
    """
    found = compiler()
    if found is None:
        raise DeviceError(f"the host device needs a C++ compiler ({', '.join(COMPILERS)}); none was found.")
    text = source()
    key = hashlib.sha256(f"{text}{dtype}{found}".encode()).hexdigest()[:20]
    folder = user_folder().with_name("host")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key}.so"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            code, made = Path(work) / "linkwork.cpp", Path(work) / "linkwork.so"
            code.write_text(text, encoding="utf-8")
            command = [found, "-std=c++17", "-O2", "-w", "-shared", "-fPIC", f"-DLW_REAL={REAL[dtype]}"]
            done = subprocess.run([*command, str(code), "-o", str(made)], capture_output=True, text=True, check=False)
            if done.returncode:
                raise DeviceError(f"{found} cannot compile the kernels of the device:\n{done.stderr[-2000:]}")
            made.replace(path)
    return ctypes.CDLL(str(path))


class HostBackend:
    """NumPy arrays as device memory, compiled loops as launches."""

    name = "host"
    xp: Any = np
    DLPACK_DEVICE = 1  # kDLCPU

    def __init__(self, dtype: str):
        self._library = library(dtype)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return np.empty(shape, dtype=dtype)

    def copy(self, table: Any, value: Any) -> None:
        table[...] = value

    def upload(self, array: Any) -> Any:
        return np.array(array)

    def download(self, array: Any) -> Any:
        return np.array(array)

    def address(self, array: Any) -> int:
        return int(array.ctypes.data)

    def launch(self, kernel: str, tables: Tables, first: int, count: int) -> None:
        getattr(self._library, kernel)(ctypes.byref(tables), first, count)

    def launch_narrow(self, kernel: str, tables: Tables, first: int, count: int, what: int) -> None:
        getattr(self._library, kernel)(ctypes.byref(tables), first, count, what)

    def launch_bodies(self, tables: Tables, threads: int, kernel: str = "bodies") -> None:
        getattr(self._library, kernel)(ctypes.byref(tables), 0, 0)

    def record(self, act: Callable[[], None]) -> Callable[[], None]:
        """What repeats `act`; on a GPU a graph of its launches."""
        return act

    def free_bytes(self) -> int | None:
        return None

    def synchronize(self) -> None:
        pass

    def from_dlpack(self, array: Any) -> Any:
        return np.from_dlpack(array)
