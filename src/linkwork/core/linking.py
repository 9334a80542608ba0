"""Pieces of kernels are optimized once, inside the kernel that uses them, and the proof that this Numba can do so.

Left to itself Numba optimizes a piece in every caller on the way up, makes machine code of it each time, and an entry
point for Python. Compiled for linking only, all kernels together take two fifths of the time, and run as fast.

This needs private parts of Numba. Before the first piece is compiled, a trial compiles three small functions with them
and compares the result with Python's (some 0.1 s, never at import). Where the trial fails, a LinkworkWarning says so, and
pieces are compiled the way Numba compiles any function. The environment variable LINKWORK_LINK_PIECES=0 asks for that way
from the start.
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import cache, partial
from types import CodeType
from typing import Any

import numba
import numpy as np
from numba.core import types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import InlineOverloads, IRLegalization, NopythonRewrites, PreLowerStripPhis
from numba.core.untyped_passes import InlineClosureLikes, WithLifting

from linkwork.core.code_library import KernelLibrary, PieceLibrary
from linkwork.core.notice import notice_of_compiling
from linkwork.core.quick_calls import QuickContext, quick
from linkwork.core.quick_front_end import quick_front_end
from linkwork.core.typing_memo import remembering
from linkwork.core.views import ReadOnce
from linkwork.errors import LinkworkWarning

SWITCH = "LINKWORK_LINK_PIECES"


def linking_wanted() -> bool:
    return os.environ.get(SWITCH, "1") != "0"


class Piece(CPUDispatcher):
    """What only kernels call compiled; called from Python it is the Python function it was written as."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """For a constant as for any number of its type: one copy serves all, and constants get in when it is linked."""
        args = tuple(types.unliteral(kind) if isinstance(kind, types.Literal) else kind for kind in args)
        return super().get_call_template(args, kws)


def _prepare_for_linking(state: Any) -> None:
    """Makes the result of a compilation something that can be linked into kernels, and nothing else."""
    state.flags.no_cpython_wrapper = True
    state.flags.no_cfunc_wrapper = True
    library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
    library.__class__ = PieceLibrary
    state.library = library
    state.targetctx = quick(state.targetctx)
    # Numba tells compiled functions apart by what Python would call. That is an object of its own, never called.
    state.targetctx.get_executable = lambda library, fndesc, env: [].clear


def _pipeline(state: Any) -> Any:
    """Numba's way from Python to machine code, less what this function does not need.

    Types of operations are remembered and arrays of bundles read once. `with` is for Python's objects, closures only matter
    where there are some. Without memory of its own a function has no expressions on whole arrays, none of the functions of
    NumPy that Numba copies in as Python, and nothing to give back where a variable is used for the last time.
    """
    state.typingctx = remembering(state.typingctx, state.flags)
    if isinstance(state.targetctx, QuickContext):  # one of its own, not Numba's
        state.targetctx.typing_context = state.typingctx
    idle: list[Any] = [WithLifting]
    if not any(isinstance(constant, CodeType) for constant in state.func_id.func.__code__.co_consts):
        idle.append(InlineClosureLikes)
    if not state.flags.nrt:
        idle += [NopythonRewrites, InlineOverloads, IRLegalization]
    passes = DefaultPassBuilder.define_nopython_pipeline(state)
    passes.passes = [each for each in passes.passes if each[0] not in idle]
    passes.add_pass_after(ReadOnce, PreLowerStripPhis)
    passes.finalize()
    return passes


class LinkedPieceCompiler(CompilerBase):
    """Compiles for linking, whatever the trial says: what the trial tries."""

    def define_pipelines(self) -> list[Any]:
        _prepare_for_linking(self.state)
        return [_pipeline(self.state)]


class LinkedKernelCompiler(CompilerBase):
    """Compiles a kernel that pieces are linked into, whatever the trial says."""

    def define_pipelines(self) -> list[Any]:
        _prepare_kernel(self.state)
        return [_pipeline(self.state)]


class PieceCompiler(CompilerBase):
    """Compiles for linking if that is wanted and works, else as Numba does."""

    def define_pipelines(self) -> list[Any]:
        if linking_wanted() and linking_works():
            _prepare_for_linking(self.state)
        return [_pipeline(self.state)]


def _prepare_kernel(state: Any) -> None:
    """Gives a kernel a library that links in each piece once."""
    library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
    library.enable_object_caching()
    library.__class__ = KernelLibrary
    state.library = library
    state.targetctx = quick(state.targetctx)


class KernelCompiler(CompilerBase):
    """Compiles a kernel as Numba does, while Python's collector of garbage pauses and a notice waits to be given.

    Types and instructions of a large kernel are millions of objects that live until it is done: looking through them again
    and again takes the collector a tenth of the time.
    """

    def define_pipelines(self) -> list[Any]:
        if linking_wanted() and linking_works():
            _prepare_kernel(self.state)
        return [_pipeline(self.state)]

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        collects = gc.isenabled()
        gc.disable()
        try:
            with notice_of_compiling(), quick_front_end() if linking_wanted() and linking_works() else nullcontext():
                return super().compile_extra(func)
        finally:
            if collects:
                _call_everything_old()
                gc.enable()


def _call_everything_old() -> None:
    """Moves all objects to the oldest generation, so that switching the collector on does not look through them at once."""
    if gc.get_freeze_count() == 0:  # else the program keeps objects frozen for reasons of its own
        gc.freeze()
        gc.unfreeze()


def _run_trial(inlined: Callable[..., Any], routine: Callable[..., Any], kernel: Callable[..., Any]) -> list[float]:
    """Two pieces, one inside the other and one with two signatures, and a kernel; exact in binary arithmetic."""

    def twice(x):
        return 2.0 * x

    def fill(a, x):
        for k in range(a.shape[0]):
            a[k] = twice(x) + k
        return twice(a.shape[0])

    def run(a, x):
        return fill(a, x) - twice(x)

    twice, fill, run = inlined(twice), routine(fill), kernel(run)
    a = np.zeros(3)
    return [run(a, 1.5), *a.tolist(), twice(0.25)]


@cache
def linking_works() -> bool:
    """Whether pieces linked into a kernel give what Python gives; tried once per process, when first needed."""

    def as_piece(function: Callable[..., Any], **options: Any) -> Any:
        dispatcher = numba.njit(pipeline_class=LinkedPieceCompiler, **options)(function)
        dispatcher.__class__ = Piece
        return dispatcher

    def as_kernel(function: Callable[..., Any]) -> Any:
        return numba.njit(pipeline_class=LinkedKernelCompiler)(function)

    def as_written(function: Callable[..., Any]) -> Any:
        return function

    reason = ""
    try:
        with quick_front_end():
            linked = _run_trial(partial(as_piece, forceinline=True), as_piece, as_kernel)
        expected = _run_trial(as_written, as_written, as_written)
        if linked != expected:
            reason = f"a trial gave {linked} instead of {expected}"
    except Exception as error:  # whatever a Numba that we do not know may raise
        reason = f"{type(error).__name__}: {error}"
    if reason:
        warnings.warn(
            f"Numba {numba.__version__} cannot link pieces of kernels as Linkwork knows it ({reason}). Kernels are right, "
            f"but compile more slowly, once. {SWITCH}=0 in the environment silences this.",
            LinkworkWarning,
            stacklevel=2,
        )
    return not reason
