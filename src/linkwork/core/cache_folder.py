"""Where compiled kernels are kept, and how they are taken away.

One folder for all checkouts and environments of a user: the name of each file says what it is made of (`kernel_cache`).
NUMBA_CACHE_DIR goes before it.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import llvmlite.binding as llvm
import numba
from numba.core import config

PACKAGE = Path(__file__).parents[1]  # the folder of the package
SUFFIX = ".nbc"


def user_folder() -> Path:
    """Where this system keeps what programs can make again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "linkwork" / "kernels"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "linkwork" / "kernels"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "linkwork" / "kernels"


def kernel_folder() -> Path:
    """Where the code of kernels is kept now."""
    return Path(getattr(config, "CACHE_DIR", "") or user_folder())


def warm_notes() -> Path:
    """The file in which `linkwork warm` notes what it compiled, and how long that took."""
    return kernel_folder() / "linkwork_warm.json"


def package_stamp() -> str:
    """Changes with any file of the package, with Numba, and with the processor that code is made for."""
    files = sorted((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in PACKAGE.rglob("*.py"))
    made_for = (numba.__version__, getattr(config, "CPU_NAME", None) or llvm.get_host_cpu_name())
    return hashlib.sha256(repr((files, made_for)).encode()).hexdigest()[:20]


def kernel_files() -> Iterator[Path]:
    """All files of compiled kernels, of this checkout and of others."""
    yield from kernel_folder().glob(f"*{SUFFIX}")


def clear_kernels() -> tuple[int, int]:
    """Takes away all compiled kernels; how many files and bytes there were."""
    count = size = 0
    for file in list(kernel_files()):
        with suppress(OSError):
            held = file.stat().st_size
            file.unlink()
            count, size = count + 1, size + held
    warm_notes().unlink(missing_ok=True)
    for folder in (kernel_folder(), kernel_folder().parent):
        with suppress(OSError):
            folder.rmdir()  # where nothing else is in it
    return count, size
