"""Numba's way from Python to machine code with the exchanged parts in place, for kernels and for their subroutines.

Left to itself Numba optimizes a subroutine in every caller on the way up, makes machine code of it each time, and an entry
point for Python. Compiled for linking only, all kernels together take two fifths of the time, and run as fast.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numba
from numba.core.compiler import Compiler
from numba.core.typed_passes import PreLowerStripPhis

from linkwork.core.compiling import Subroutine
from linkwork.core.numba_patches import patches_wanted
from linkwork.core.numba_patches.indices import CountFromStart
from linkwork.core.numba_patches.libraries import KernelLibrary, SubroutineLibrary
from linkwork.core.numba_patches.operators import remembering
from linkwork.core.views import ReadOnce


def compile_subroutine_by(state: Any, passes: Any) -> None:
    """Exchanges parts of what a subroutine is compiled with. passes: as Numba has them."""
    if "linking" in patches_wanted():
        state.flags.no_cpython_wrapper = True
        state.flags.no_cfunc_wrapper = True
        _take_library(state, SubroutineLibrary)
        # Numba distinguishes compiled functions by what Python would call. That is an object of its own, never called.
        state.targetctx.get_executable = lambda library, fndesc, env: [].clear
    _exchange(state, passes)


def compile_kernel_by(state: Any, passes: Any) -> None:
    """The same of a kernel."""
    if "linking" in patches_wanted():
        _take_library(state, KernelLibrary)
        state.library.enable_object_caching()
    _exchange(state, passes)


def _take_library(state: Any, kind: type) -> None:
    library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
    library.__class__ = kind
    state.library = library
    state.targetctx = copy.copy(state.targetctx)


def _exchange(state: Any, passes: Any) -> None:
    """Numba's passes; arrays of bundles are read once, and indices count from the start of their arrays."""
    if "operators" in patches_wanted():
        state.typingctx = remembering(state.typingctx, state.flags)
        state.targetctx = copy.copy(state.targetctx)
        state.targetctx.typing_context = state.typingctx  # code of operators is found by the types that were remembered
    passes.add_pass_after(ReadOnce, PreLowerStripPhis)
    passes.add_pass_after(CountFromStart, ReadOnce)
    passes.finalize()


# ------------------------------------------------------------------------------------------------------- for the trial


class _TrialSubroutine(Compiler):
    def define_pipelines(self) -> list[Any]:
        pipelines: list[Any] = super().define_pipelines()
        compile_subroutine_by(self.state, *pipelines)
        return pipelines


class _TrialKernel(Compiler):
    def define_pipelines(self) -> list[Any]:
        pipelines: list[Any] = super().define_pipelines()
        compile_kernel_by(self.state, *pipelines)
        return pipelines


def trial_subroutine(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher = numba.njit(pipeline_class=_TrialSubroutine, **options)(function)
    dispatcher.__class__ = Subroutine
    return dispatcher


def trial_kernel(function: Callable[..., Any]) -> Any:
    return numba.njit(pipeline_class=_TrialKernel)(function)
