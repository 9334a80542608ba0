"""Calls of pieces that cannot fail, without the question whether they did.

Numba's functions return whether they raised an exception. At every call it asks for that, and whether an exception is being
caught there: twenty instructions and four blocks that the optimizer takes out again after all pieces were linked. Pieces of
kernels report failure by value and raise nothing; where one does, or bounds are checked, its callers ask as usual.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.callconv import RETCODE_NONE, RETCODE_OK, CPUCallConv, excinfo_ptr_t
from numba.core.cpu import CPUContext
from numba.core.imputils import impl_ret_new_ref

from linkwork.core.quick_items import item_access

_sizes: dict[Any, int] = {}  # types of LLVM → bytes


class NotingConvention(CPUCallConv):
    """Numba's calling convention; notes whether code was made that returns a failure."""

    may_fail = False

    def _return_errcode_raw(self, builder: Any, code: Any) -> None:
        if code is not RETCODE_OK and code is not RETCODE_NONE:
            self.may_fail = True
        super()._return_errcode_raw(builder, code)


class QuickContext(CPUContext):
    """Numba's target context for one function: calls of what cannot fail are short."""

    convention: NotingConvention
    is_fresh = False

    @property
    def call_conv(self) -> NotingConvention:
        return self.convention

    def refresh(self) -> None:
        """Takes up what was registered with Numba since; once per function, not whenever some operation has no code."""
        if not self.is_fresh:
            self.is_fresh = True
            super().refresh()

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """As Numba's, but for single numbers of arrays."""
        return item_access(self, fn, sig) or super().get_function(fn, sig, _firstcall)

    def get_abi_sizeof(self, ty: Any) -> int:
        """Size of a type of LLVM in bytes. To find it out, Numba makes a program of text and has it read."""
        size = _sizes.get(ty)
        if size is None:
            size = _sizes[ty] = super().get_abi_sizeof(ty)
        return size

    def declare_function(self, module: Any, fndesc: Any) -> Any:
        known = module.globals.get(fndesc.mangled_name)
        return super().declare_function(module, fndesc) if known is None else known

    def insert_user_function(self, func: Any, fndesc: Any, libs: Any = ()) -> None:
        if self.convention.may_fail or isinstance(fndesc.restype, types.Optional):
            super().insert_user_function(func, fndesc, libs)
            return
        code = _short_call(fndesc, libs)
        self._defns[func].append(code, code.signature)  # type: ignore[attr-defined]


def _short_call(fndesc: Any, libs: Any) -> Callable[..., Any]:
    """Code that calls a function and takes what it returns."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = context.declare_function(builder.module, fndesc)
        convention = context.call_conv
        result = cgutils.alloca_once(builder, convention.get_return_type(fndesc.restype).pointee)
        no_exception = ir.Constant(excinfo_ptr_t.as_pointer(), None)
        values = convention._get_arg_packer(fndesc.argtypes).as_arguments(builder, args)
        builder.call(function, [result, no_exception, *values])
        value = context.get_returned_value(builder, fndesc.restype, builder.load(result))
        return impl_ret_new_ref(context, builder, fndesc.restype, value)

    made: Any = generate
    made.signature = fndesc.argtypes
    made.libs = tuple(libs)
    return generate


def quick(context: Any) -> Any:
    """A target context of its own for one function; Numba's, where that is not the one known here."""
    made = copy.copy(context)
    if type(context) is CPUContext:
        made.__class__ = QuickContext
        made.convention = NotingConvention(made)
    return made
