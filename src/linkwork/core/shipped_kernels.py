"""Compiled kernels that were installed beside the package, as `linkwork_kernels` (`tools/make_kernel_wheel.py`).

They are used in the place of those compiled here if they were made of the same sources and settings, by the same Numba, for
the same Python and system, and for a level of processors that this one has; else as if they were not there. Which code a
kernel runs so depends on what is installed, never on what was compiled before. LINKWORK_SHIPPED=0 leaves them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import pickle
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import config
from numba.core.compiler import CompileResult

from linkwork.errors import LinkworkWarning

PACKAGE, MANIFEST, SWITCH = "linkwork_kernels", "manifest.json", "LINKWORK_SHIPPED"
# Levels of processors that kernels are made for, the best first, and what a processor of each can do.
LEVELS = {
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "sse4.2", "popcnt"),
    "x86-64-v2": ("cx16", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"),
}


def made_of(digest: str) -> dict[str, str]:
    """What compiled code is valid for. digest: of the sources and settings (`kernel_digest`)."""
    return {
        "kernels": digest,
        "numba": numba.__version__,
        "llvmlite": version("llvmlite"),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "system": sysconfig.get_platform(),
    }


def level_here(levels: Iterable[str]) -> str | None:
    """The best of some levels for the processor that code is made for, or None."""
    chosen = getattr(config, "CPU_NAME", None)
    if chosen:
        return chosen if chosen in levels else None
    features = llvm.get_host_cpu_features()
    return next((x for x, needs in LEVELS.items() if x in levels and all(features.get(n) for n in needs)), None)


@cache
def shipped_folder(digest: Callable[[], str]) -> Path | None:
    """Where installed kernels for this processor lie; None where there are none that fit."""
    if os.environ.get(SWITCH) == "0":
        return None
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations)))
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        level = level_here(manifest["levels"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    fits = level is not None and all(manifest.get(name) == value for name, value in made_of(digest()).items())
    return folder / str(level) if fits else None


def file_name(function: Callable[..., Any], signature: Any) -> str:
    """Of the code of a kernel for one signature."""
    said = f"{function.__module__}.{function.__qualname__}{signature!r}"
    return f"{hashlib.sha256(said.encode()).hexdigest()[:32]}.nbc"


def load_shipped(folder: Path | None, function: Callable[..., Any], signature: Any, target_context: Any) -> Any:
    """The compiled kernel, or None; a file that cannot be read is left, with a warning."""
    path = None if folder is None else folder / file_name(function, signature)
    if path is None or not path.is_file():
        return None
    try:
        target_context.refresh()
        return CompileResult._rebuild(target_context, *pickle.loads(path.read_bytes()))
    except Exception as error:
        warnings.warn(
            f"{path} holds no compiled kernel that this Numba can read ({error}). It is compiled anew; reinstall "
            "linkwork-kernels, or uninstall it.",
            LinkworkWarning,
            stacklevel=2,
        )
        return None


def pack(kernels: Iterable[Any], folder: Path) -> int:
    """Copies what was compiled of each kernel in this process into a folder, as it is shipped; how many files."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for dispatcher in kernels:
        for signature, compiled in dispatcher.overloads.items():
            kept = dispatcher._cache.path(signature, compiled.codegen)
            if kept.is_file():
                (folder / file_name(dispatcher.py_func, signature)).write_bytes(kept.read_bytes())
                count += 1
    return count
