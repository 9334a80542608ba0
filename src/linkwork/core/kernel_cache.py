"""Compiled kernels on disk, valid as long as no source file that they draw on changes.

Numba's own cache looks only at the file of the kernel itself, but kernels inline functions of other files. The stamp used
here covers every file of the package that the kernel's module imports, and those import: an edit in any of them retires
the cached code, an edit elsewhere does not. It also covers what else changes the code and Numba does not look at: bounds
checking, and which parts of Numba are exchanged.

Sources that were edited after this process began are not those that it compiles: kernels that draw on them are neither
read from the cache nor kept in it, by this process.

Nothing touches the disk before a kernel is called for the first time. If this Numba keeps its cache otherwise than
expected, there is none, with a LinkworkWarning: stale code would be worse than slow code.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import time
import warnings
from collections.abc import Callable
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import caching, config

from linkwork.core.cache_folder import locators
from linkwork.core.numba_patches import patches_wanted
from linkwork.core.shipped_kernels import load_shipped, shipped_folder
from linkwork.errors import LinkworkWarning

PACKAGE = Path(__file__).parents[1]  # the folder of the package
IMPORT = re.compile(r"^\s*(?:from|import) (linkwork[\w.]*)(?: import (\([^)]*\)|[^\n#]*))?", re.MULTILINE)
KERNEL = re.compile(rb"^@(kernel|routine|inlined|intrinsic)\b|reader\(", re.MULTILINE)

Stamp = tuple[tuple[str, int, int], ...]
BEGAN = time.time_ns()  # when sources were imported, or before


@cache
def _imports(name: str) -> tuple[Path, frozenset[str]] | None:
    """File of a module of this package and the modules it imports; None for a name that is not a module."""
    file = PACKAGE.joinpath(*name.split(".")[1:])
    path = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    if not path.is_file():
        return None
    found = set()
    for module, names in IMPORT.findall(path.read_text(encoding="utf-8")):
        found |= {module, *(f"{module}.{word}" for word in re.findall(r"\w+", names))}
    return path, frozenset(found)


@cache
def source_stamp(module: str) -> Stamp:
    """Name, size and modification time of the module's file and of every file of the package that it draws on."""
    files: dict[str, Path] = {}
    seen, waiting = {module}, [module]
    while waiting:
        found = _imports(waiting.pop())
        if found is not None:
            files[str(found[0].relative_to(PACKAGE))] = found[0]
            waiting += found[1] - seen
            seen |= found[1]
    stats = ((name, files[name].stat()) for name in sorted(files))
    return tuple((name, st.st_size, st.st_mtime_ns) for name, st in stats)


def is_edited(stamp: Stamp) -> bool:
    """Whether a source was edited since this process began; files from the future are not, their clock is another one."""
    now = time.time_ns()
    return any(BEGAN < changed <= now for _, _, changed in stamp)


def kernel_stamp(module: str) -> Stamp:
    """The stamp of the sources, with the settings that change the code made of them."""
    checked = int(bool(getattr(config, "BOUNDSCHECK", 0)))
    return (
        *source_stamp(module),
        ("bounds checked", checked, 0),
        ("parts exchanged: " + " ".join(patches_wanted()), 0, 0),
    )


@cache
def kernel_digest() -> str:
    """A digest of all sources that kernels are made of, and of the settings that change the code made of them."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_bytes()
        # A wheel has benchmarks and examples inside the package, in folders of these names; sources have them beside it.
        is_inside = not path.relative_to(PACKAGE).parts[0].startswith(("_benchmarks", "_examples"))
        if is_inside and KERNEL.search(text):
            digest.update(str(path.relative_to(PACKAGE).as_posix()).encode() + b"\0" + text + b"\0")
    checked = int(bool(getattr(config, "BOUNDSCHECK", 0)))
    settings = ("bounds", checked, "parts", patches_wanted(), "optimized", getattr(config, "OPT", ""))
    digest.update(repr(settings).encode())
    return digest.hexdigest()[:16]


def processor() -> str:
    """The processor that kernels are compiled for, as LLVM names it, with a digest of its features.

    And the level of processors that installed kernels were made for, where there are such: their last bits are others.
    """
    name = getattr(config, "CPU_NAME", None) or llvm.get_host_cpu_name()
    shipped = shipped_folder(kernel_digest)
    also = "" if shipped is None else f", installed kernels {shipped.name}"
    return f"{name} ({hashlib.sha256(processor_features().encode()).hexdigest()[:8]}){also}"


def processor_features() -> str:
    """Features of the processor that kernels are compiled for, as LLVM lists them: "+avx2,-avx512f,..."."""
    given: str | None = getattr(config, "CPU_FEATURES", None)
    if given is not None or getattr(config, "CPU_NAME", None):
        return given or ""
    found = llvm.get_host_cpu_features()
    if not getattr(config, "ENABLE_AVX", 1):
        found.update({name: False for name in found if name.startswith("avx")})
    return str(found.flatten())


UNREADABLE = (
    pickle.UnpicklingError,
    EOFError,
    TypeError,
    AttributeError,
    ImportError,
    ValueError,
    KeyError,
    IndexError,
)


class _StampedImpl(caching.CompileResultCacheImpl):
    def __init__(self, py_func: Callable[..., Any]):
        self._locator_classes = locators()
        super().__init__(py_func)
        self._locator.get_source_stamp = partial(kernel_stamp, py_func.__module__)


class _StampedCache(caching.FunctionCache):
    _impl_class = _StampedImpl


class KernelCache:
    """What a kernel's dispatcher asks for compiled code."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function

    @cached_property
    def files(self) -> Any:
        """Numba's cache with our stamp; its empty cache where that cannot be had."""
        stamp = kernel_stamp(self.function.__module__)
        if is_edited(stamp):
            return caching.NullCache()
        try:
            files = _StampedCache(self.function)
            used = files._cache_file._source_stamp
        except RuntimeError:  # Numba found no folder it may write to
            return caching.NullCache()
        except AttributeError as error:
            used, reason = None, str(error)
        else:
            reason = "it uses another stamp"
        if used == stamp:
            return files
        warnings.warn(
            f"Numba {numba.__version__} keeps compiled code otherwise than Linkwork knows it ({reason}). "
            "Kernels are compiled anew in every process.",
            LinkworkWarning,
            stacklevel=2,
        )
        return caching.NullCache()

    @property
    def cache_path(self) -> str | None:
        return self.files.cache_path

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        shipped = load_shipped(shipped_folder(kernel_digest), self.function, signature, target_context)
        if shipped is not None:
            return shipped
        try:
            return self.files.load_overload(signature, target_context)
        except UNREADABLE:  # damaged, or of types that have other names since: as if nothing were kept
            self.files.flush()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        self.files.save_overload(signature, data)

    def enable(self) -> None:
        self.files.enable()

    def disable(self) -> None:
        self.files.disable()

    def flush(self) -> None:
        self.files.flush()
