"""Kernels that other kernels call by their addresses.

A subroutine (`jit.routine`) becomes part of every kernel that uses it. What is large and used by several is a kernel
instead: compiled once, by itself, cached by its own sources, and called where it stands in the memory of this process:

    SIGNATURE = types.float64(TABLE, types.float64)
    call = caller(SIGNATURE)

    @kernel
    def many(table, address, h):
        return call(address, (table, h))

    many(table, address_of(one, SIGNATURE), 0.1)

Such a call takes some nanoseconds; the compiler does not look across it. What the kernel raises with bounds checking is
raised in the caller. An address is good for one process: it is found when it is needed, and never saved.
Functions of LLVM and of the C library are called by their names (`function_named`).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

TABLE = types.Array(types.int64, 1, "C")  # of addresses of arrays: `bundles`


def address_of(kernel: Any, signature: Any) -> int:
    """Where the code of a kernel for a signature begins, compiled or read from the cache first if need be."""
    kernel.compile(signature.args)
    code = kernel.overloads[signature.args]
    if code.signature.return_type != signature.return_type:
        raise TypeError(f"{kernel.__name__} returns {code.signature.return_type}, not {signature.return_type}.")
    address: int = code.library.get_pointer_to_function(code.fndesc.llvm_func_name)
    return address


def caller(signature: Any) -> Any:
    """call(address, arguments), for kernels: calls the kernel of this signature that stands at an address."""

    @intrinsic
    def call(typing_context: Any, address: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, types_of: Any, values: Any) -> Any:
            convention = context.call_conv
            kind = convention.get_function_type(signature.return_type, signature.args)
            function = builder.inttoptr(values[0], kind.as_pointer())
            given = [
                context.cast(builder, builder.extract_value(values[1], k), have, wanted)
                for k, (have, wanted) in enumerate(zip(arguments.types, signature.args, strict=True))
            ]
            status, result = convention.call_function(builder, function, signature.return_type, signature.args, given)
            with builder.if_then(status.is_error, likely=False):
                convention.return_status_propagate(builder, status)
            return result

        return signature.return_type(types.int64, arguments), generate

    return call


def function_named(builder: Any, kind: Any, name: str) -> Any:
    """A function of LLVM or of the C library, for code of intrinsics. kind: its type."""
    known = builder.module.globals.get(name)
    return ir.Function(builder.module, kind, name) if known is None else known


def local(builder: Any, kind: Any) -> Any:
    """Memory for one value, made where the function begins: in a loop it would be made again and again."""
    with builder.goto_entry_block():
        return builder.alloca(kind)
