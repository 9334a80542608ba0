"""How Linkwork compiles its kernels: two decorators, an on-disk cache and a word to the user.

`kernel` marks what Python calls: compiled on first use, cached on disk, run without the GIL.
`inlined` marks the small functions kernels are made of: always inlined, never compiled alone.

Four choices need a reason:
- Numba's own cache looks only at the file of the kernel itself, but our kernels inline functions of other files. The
  stamp used here covers every file that the kernel's module imports, and those import, so an edit in any of them retires
  the cached code, and an edit elsewhere does not.
- Kernels count no references to arrays, unless they make some: the caller holds them all while the kernel runs. Numba's
  counting put two atomic operations into every call that passes an array on, and took two thirds of an adaptive step.
- Pieces of kernels are optimized where a kernel is, not on every level between (`_PieceCompiler`).
- The floating-point flags allow fused multiply-add and reciprocal tricks, but keep NaN and infinity meaningful: kernels
  report failure through them.
"""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.registry import CPUDispatcher

FASTMATH = {"contract", "nsz", "arcp"}
PACKAGE = Path(__file__).parents[1]  # the folder of the package
IMPORT = re.compile(r"^\s*(?:from|import) (linkwork[\w.]*)(?: import (\([^)]*\)|[^\n#]*))?", re.MULTILINE)


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
def _source_stamp(module: str) -> tuple[tuple[str, int, int], ...]:
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


class _PackageCacheImpl(CompileResultCacheImpl):
    """Keeps compiled kernels valid as long as no source file that they draw on changes."""

    def __init__(self, py_func: Callable[..., Any]):
        super().__init__(py_func)
        self._locator.get_source_stamp = partial(_source_stamp, py_func.__module__)


class _PackageCache(FunctionCache):
    _impl_class = _PackageCacheImpl


_kernels: set[Callable[..., Any]] = set()  # the Python functions behind our kernels


class _Announcer(event.Listener):
    """Tells a user at a terminal why the first call takes seconds; silent everywhere else."""

    def on_start(self, event_: event.Event) -> None:
        function = event_.data["dispatcher"].py_func
        if function in _kernels and sys.stderr.isatty():
            print(f"linkwork: compiling {function.__name__} (once; kept for later runs) ...", file=sys.stderr)

    def on_end(self, event_: event.Event) -> None:
        pass


_announcer = _Announcer()


class _Piece(CPUDispatcher):
    """What only kernels call compiled; called from Python it is the Python function it was written as."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)


class _PieceCompiler(CompilerBase):
    """Compiles what only kernels call: it can be linked into them, and nothing else.

    Left to itself Numba optimizes a piece in every caller on the way up, makes machine code of it each time, and a way in
    from Python. Optimized once, in the kernel, all kernels compile in two fifths of the time, to the same speed.
    """

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.flags.no_cpython_wrapper = True
        state.flags.no_cfunc_wrapper = True
        library = state.library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
        library._optimize_final_module = lambda: None
        library._finalize_final_module = partial(_only_for_linking, library)
        state.targetctx = copy.copy(state.targetctx)
        # Numba tells compiled functions apart by what Python would call. That is an object of its own, never called.
        state.targetctx.get_executable = lambda library, fndesc, env: [].clear
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


# Private parts of Numba (0.60 to 0.68 have them); without them pieces compile as Numba sees fit, which takes longer.
_LINKING = ("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals")


def pieces_can_be_linked() -> bool:
    return all(hasattr(JITCodeLibrary, name) for name in _LINKING)


def _only_for_linking(library: Any) -> None:
    library._finalize_dynamic_globals()
    library._finalized = True


def _compile(function: Callable[..., Any], allocates: bool, **options: Any) -> Any:
    settings: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": FASTMATH,
        "_nrt": allocates,
        **options,
    }
    return numba.njit(**settings)(function)


def kernel(function: Callable[..., Any] | None = None, *, allocates: bool = False) -> Any:
    """An entry point from Python: compiled lazily, cached on disk, releases the GIL.

    allocates: whether it makes arrays of its own; kernels in a loop must not.
    """
    if function is None:
        return partial(kernel, allocates=allocates)
    if not _kernels:
        event.register("numba:compile", _announcer)
    _kernels.add(function)
    dispatcher = _compile(function, allocates)
    if hasattr(dispatcher, "_cache"):  # absent when Numba is switched off for coverage or debugging
        dispatcher._cache = _PackageCache(function)
    return dispatcher


def routine(function: Callable[..., Any] | None = None, *, allocates: bool = False) -> Any:
    """A piece of a kernel that is compiled once and called, not copied into every caller."""
    if function is None:
        return partial(routine, allocates=allocates)
    return _piece(function, allocates)


def inlined(function: Callable[..., Any]) -> Any:
    """A piece of a kernel that is copied into its callers: tuples in, tuples out, no memory."""
    return _piece(function, allocates=False, forceinline=True)


def _piece(function: Callable[..., Any], allocates: bool, **options: Any) -> Any:
    if not pieces_can_be_linked():
        return _compile(function, allocates, **options)
    dispatcher = _compile(function, allocates, pipeline_class=_PieceCompiler, **options)
    if isinstance(dispatcher, CPUDispatcher):  # not so when Numba is switched off
        dispatcher.__class__ = _Piece
    return dispatcher
