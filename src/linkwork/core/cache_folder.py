"""Where compiled kernels are kept, and how they are taken away.

In a checkout they lie in `__pycache__` beside the sources. An installed package keeps them in the user's cache folder
instead: what pip did not write it does not remove, and a package that was uninstalled must leave nothing behind.
NUMBA_CACHE_DIR goes before both.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import caching, config

PACKAGE = Path(__file__).parents[1]  # the folder of the package
INSTALLED = ("site-packages", "dist-packages")
SUFFIXES = (".nbi", ".nbc")  # Numba's index files, and code


def _numba_class(name: str) -> Any:
    """A class of Numba's cache; before 0.62 their names began with an underscore."""
    return getattr(caching, name, None) or getattr(caching, f"_{name}")


def is_installed() -> bool:
    """Whether the package lies where pip puts packages."""
    return any(part in INSTALLED for part in PACKAGE.parts)


def user_folder() -> Path:
    """Where this system keeps what programs can make again."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "linkwork" / "kernels"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "linkwork" / "kernels"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "linkwork" / "kernels"


class InUserFolder(_numba_class("UserWideCacheLocator")):  # type: ignore[misc]
    """Keeps the code of kernels in `user_folder`, one folder per folder of sources."""

    def __init__(self, py_func: Any, py_file: str):
        super().__init__(py_func, py_file)
        self._cache_path = str(user_folder() / self.get_suitable_cache_subpath(py_file))


def locators() -> list[Any]:
    """Numba's ways to find a folder, in their order; with ours in place of `__pycache__` where the package is installed."""
    known: list[Any] = caching.CompileResultCacheImpl._locator_classes
    if not is_installed():
        return known
    in_tree = _numba_class("InTreeCacheLocator")
    return [InUserFolder if one is in_tree else one for one in known]


def warm_notes() -> Path:
    """The file in which `linkwork warm` notes what it compiled, and how long that took."""
    return Path(getattr(config, "CACHE_DIR", "") or user_folder()) / "linkwork_warm.json"


def package_stamp() -> str:
    """Changes with any file of the package, with Numba, and with the processor that code is made for."""
    files = sorted((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in PACKAGE.rglob("*.py"))
    made_for = (numba.__version__, getattr(config, "CPU_NAME", None) or llvm.get_host_cpu_name())
    return hashlib.sha256(repr((files, made_for)).encode()).hexdigest()[:20]


def kernel_files() -> Iterator[Path]:
    """All files of compiled kernels of this package, where they are kept now."""
    chosen = getattr(config, "CACHE_DIR", "")
    if chosen:
        base, folders = Path(chosen), {path.parent for path in PACKAGE.rglob("*.py")}
        names = {_numba_class("CacheLocator").get_suitable_cache_subpath(str(folder / "x.py")) for folder in folders}
        places = [base / name for name in sorted(names)]
    else:
        places = [*PACKAGE.rglob("__pycache__"), *user_folder().glob("*")]
    for place in places:
        yield from (file for file in place.glob("*") if file.suffix in SUFFIXES)


def clear_kernels() -> tuple[int, int]:
    """Takes away all compiled kernels; how many files and bytes there were."""
    count = size = 0
    for file in list(kernel_files()):
        with suppress(OSError):
            held = file.stat().st_size
            file.unlink()
            count, size = count + 1, size + held
        with suppress(OSError):
            file.parent.rmdir()  # where nothing else is in it
    warm_notes().unlink(missing_ok=True)
    for folder in (user_folder(), user_folder().parent):
        with suppress(OSError):
            folder.rmdir()
    return count, size
