"""How Linkwork compiles its kernels: three decorators.

`kernel` marks what Python calls: compiled on first use, cached on disk (`kernel_cache`), run without the GIL.
`routine` marks a subroutine of kernels that is compiled once per kernel and called.
`inlined` marks a small subroutine that is copied into every caller: tuples in, tuples out.
Subroutines are linked into kernels (`numba_patches`); called from Python they are plain Python.

Three choices need a reason:
- Kernels count no references to arrays, unless they make some: the caller holds them all while the kernel runs. Numba's
  counting put two atomic operations into every call that passes an array on, and took two thirds of an adaptive step.
- The floating-point flags allow fused multiply-add and reciprocal tricks, but keep NaN and infinity meaningful: kernels
  report failure through them. Without fusing, `aba` takes 9 to 12 % longer, `dca` 13 to 17 %, an adaptive step 15 %.
  The price: a subroutine may round differently in each kernel it is copied into. Where equal bits are promised, the
  numbers come from one kernel, or from a routine that begins with `keep_out_of_line()`.
- Decorating does nothing else: no file is touched and nothing is registered with Numba before a kernel is called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
from numba.core import types
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic

from linkwork.core.compiling import KernelCompiler, Subroutine, SubroutineCompiler
from linkwork.core.kernel_cache import KernelCache

FASTMATH = ("contract", "nsz", "arcp")

kernels: list[Any] = []  # all kernels of the modules imported so far, as Numba's dispatchers


def compiled(function: Callable[..., Any], allocates: bool, **options: Any) -> Any:
    """A function as Numba compiles it with the settings of kernels, kept neither in `kernels` nor on disk.

    Kernels and subroutines begin as one; tests that look at the code of a single function take it as it is.
    """
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": set(FASTMATH), "_nrt": allocates}
    function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]  # Numba asks for it twice
    return numba.njit(**settings, **options)(function)


def kernel(function: Callable[..., Any] | None = None, *, allocates: bool = False) -> Any:
    """An entry point from Python: compiled lazily, cached on disk, releases the GIL.

    allocates: whether it makes arrays of its own; kernels in a loop must not.
    """
    if function is None:
        return partial(kernel, allocates=allocates)
    dispatcher = compiled(function, allocates, pipeline_class=KernelCompiler)
    if isinstance(dispatcher, CPUDispatcher):  # not so when Numba is switched off for coverage or debugging
        dispatcher._cache = KernelCache(function)  # type: ignore[attr-defined]
    kernels.append(dispatcher)
    return dispatcher


def routine(function: Callable[..., Any] | None = None, *, allocates: bool = False) -> Any:
    """A subroutine of a kernel that is compiled once and called, not copied into every caller."""
    if function is None:
        return partial(routine, allocates=allocates)
    # Said, because Numba hands the wish of an inlined caller on to what that caller is the first to use.
    return _subroutine(function, allocates, forceinline=False)


def inlined(function: Callable[..., Any]) -> Any:
    """A subroutine of a kernel that is copied into its callers: tuples in, tuples out, no memory."""
    return _subroutine(function, allocates=False, forceinline=True)


def _subroutine(function: Callable[..., Any], allocates: bool, **options: Any) -> Any:
    dispatcher = compiled(function, allocates, pipeline_class=SubroutineCompiler, **options)
    if isinstance(dispatcher, CPUDispatcher):  # not so when Numba is switched off
        dispatcher.__class__ = Subroutine
    return dispatcher


@intrinsic
def keep_out_of_line(typingctx):
    """First line of a routine that must give the same bits in every kernel: it is called there, never copied into it.

    Copied, its products and sums could be fused with those around it, in each kernel in another way.
    """

    def codegen(context, builder, signature, args):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen
