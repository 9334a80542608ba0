"""Compiled kernels on disk, each in a file whose name says what it is made of.

The name holds the digest of the kernel's content (`content`), of the types it is called with, of the processor and of what
else changes its code. So a file is valid for ever: an edit that does not change what a kernel is made of leaves it where
it is, one that is taken back finds the code of before, and checkouts and branches share what they have in common. Of each
kernel the files used last are kept.

Nothing touches the disk before a kernel is called for the first time.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.core import config
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from linkwork.core.cache_folder import SUFFIX, kernel_folder
from linkwork.core.content import PACKAGE, content_of
from linkwork.core.numba_patches import patches_wanted
from linkwork.core.shipped_kernels import load_shipped, shipped_folder
from linkwork.errors import LinkworkWarning

KERNEL = re.compile(rb"^@(kernel|routine|inlined|intrinsic)\b|reader\(", re.MULTILINE)
MOST_KEPT = 32  # files of one kernel: some versions, each for some processors and settings; the oldest go


def settings() -> tuple[Any, ...]:
    """What changes the code that is made of a kernel, beside its content and the processor."""
    optimizing = tuple(getattr(config, name, None) for name in ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE"))
    checked = bool(getattr(config, "BOUNDSCHECK", 0))
    versions = (sys.version_info[:2], numba.__version__, llvmlite.__version__)
    return (*versions, *optimizing, checked, patches_wanted())


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
    digest.update(repr(settings()).encode())
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


class KernelCache:
    """What a kernel's dispatcher asks for compiled code."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self._is_on = True

    @cached_property
    def content(self) -> str:
        return content_of(self.function, settings())

    @cached_property
    def name(self) -> str:
        """With which the names of all files of this kernel begin."""
        said = f"{self.function.__module__}.{self.function.__qualname__}"
        return re.sub(r"[^\w.]", "", said.replace("linkwork.", ""))[-100:]

    @property
    def cache_path(self) -> str:
        return str(kernel_folder())

    def path(self, signature: Any, codegen: Any) -> Path:
        """The file of the code for these types and this processor."""
        said = repr((self.content, self.function.__qualname__, signature, codegen.magic_tuple()))
        return kernel_folder() / f"{self.name}-{hashlib.sha256(said.encode()).hexdigest()[:32]}{SUFFIX}"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        shipped = load_shipped(shipped_folder(kernel_digest), self.function, signature, target_context)
        if shipped is not None or not self._is_on:
            return shipped
        target_context.refresh()
        path = None
        try:
            path = self.path(signature, target_context.codegen())
            kept = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        except UNREADABLE as error:
            return self._give_up(error)
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(kept))
        except UNREADABLE:  # damaged: as if nothing were kept
            with suppress(OSError):
                path.unlink()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        if not self._is_on or data.library.has_dynamic_globals:
            return
        try:
            path, code = self.path(signature, data.codegen), dumps(data._reduce())
        except UNREADABLE as error:
            self._give_up(error)
            return
        with suppress(OSError):  # a folder that cannot be written to: compiled anew in each process
            path.parent.mkdir(parents=True, exist_ok=True)
            made = path.with_suffix(f".{uuid.uuid4().hex[:16]}")
            made.write_bytes(code)
            made.replace(path)
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        files = sorted(kernel_folder().glob(f"{self.name}-*{SUFFIX}"), key=lambda file: file.stat().st_mtime)
        for file in files[:-MOST_KEPT]:
            file.unlink()

    def _give_up(self, error: Exception) -> None:
        """If this Numba keeps compiled code otherwise, there is no cache: stale code would be worse than slow code."""
        self._is_on = False
        warnings.warn(
            f"Numba {numba.__version__} keeps compiled code otherwise than Linkwork knows it ({error}). "
            "Kernels are compiled anew in every process.",
            LinkworkWarning,
            stacklevel=3,
        )

    def enable(self) -> None:
        self._is_on = True

    def disable(self) -> None:
        self._is_on = False

    def flush(self) -> None:
        for file in kernel_folder().glob(f"{self.name}-*{SUFFIX}"):
            file.unlink(missing_ok=True)
