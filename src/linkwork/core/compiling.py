"""How kernels and their subroutines get compiled: by Numba, with parts of it exchanged where that is wanted and works."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from linkwork.core.messages.notice import notice_of_compiling
from linkwork.core.numba_patches import patched_pipelines


class Subroutine(CPUDispatcher):
    """What only kernels call compiled; called from Python it is the Python function it was written as."""

    def __call__(self, *args: Any) -> Any:
        return self.py_func(*args)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """For a constant as for any number of its type: one copy serves all, and constants get in when it is linked."""
        args = tuple(types.unliteral(kind) if isinstance(kind, types.Literal) else kind for kind in args)
        return super().get_call_template(args, kws)


class SubroutineCompiler(Compiler):
    """Compiles for linking if that is wanted and works, else as Numba does."""

    def define_pipelines(self) -> list[Any]:
        pipelines: list[Any] = super().define_pipelines()
        patched = patched_pipelines()
        if patched is not None:
            patched.compile_subroutine_by(self.state, *pipelines)
        return pipelines


class KernelCompiler(Compiler):
    """Compiles a kernel while Python's collector of garbage pauses and a notice waits to be given.

    Types and instructions of a large kernel are millions of objects that live until it is done: looking through them again
    and again takes the collector a tenth of the time.
    """

    def define_pipelines(self) -> list[Any]:
        pipelines: list[Any] = super().define_pipelines()
        patched = patched_pipelines()
        if patched is not None:
            patched.compile_kernel_by(self.state, *pipelines)
        return pipelines

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        collects = gc.isenabled()
        gc.disable()
        try:
            with notice_of_compiling():
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
