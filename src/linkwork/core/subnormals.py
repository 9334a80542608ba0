"""Subnormal numbers (below 2.2e-308) count as zero inside the kernels that sweep over whole linkages.

Far from a single load, accelerations die away along a linkage until they are subnormal, and on many processors arithmetic
with such numbers takes a hundred times as long: a full step of 50,000 joints under one force took 67 ms instead of 10.
The mode belongs to the thread: a kernel switches it on where it begins and puts back what was there where it ends.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from linkwork.core.calls import function_named, local

_WORD, _LONG = ir.IntType(32), ir.IntType(64)
_X86_FLAGS = 0x8040  # MXCSR: results that are subnormal become zero, and so do operands
_ARM_FLAG = 1 << 24  # FPCR: the same


@intrinsic
def flush_subnormals(typingctx):
    """Takes subnormal numbers for zero from here on; the mode before, for `restore_mode`."""

    def codegen(context, builder, signature, args):
        mode = _read(builder)
        _write(builder, builder.or_(mode, mode.type(_flags(builder))))
        return mode

    return types.uint64(), codegen


@intrinsic
def restore_mode(typingctx, mode):
    """The mode of the thread as it was before `flush_subnormals`."""

    def codegen(context, builder, signature, args):
        _write(builder, args[0])
        return context.get_dummy_value()

    return types.void(types.uint64), codegen


def _machine(builder):
    name = builder.module.triple.split("-")[0]
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


def _flags(builder):
    return {"x86_64": _X86_FLAGS, "aarch64": _ARM_FLAG}.get(_machine(builder), 0)


def _read(builder):
    """The register of floating-point modes, as 64 bits; zero where the machine has none that is known."""
    if _machine(builder) == "x86_64":
        place = local(builder, _WORD)
        builder.call(_x86(builder, "llvm.x86.sse.stmxcsr"), [builder.bitcast(place, ir.IntType(8).as_pointer())])
        return builder.zext(builder.load(place), _LONG)
    if _machine(builder) == "aarch64":
        return builder.asm(ir.FunctionType(_LONG, []), "mrs $0, fpcr", "=r", [], side_effect=True)
    return _LONG(0)


def _write(builder, mode):
    if _machine(builder) == "x86_64":
        place = local(builder, _WORD)
        builder.store(builder.trunc(mode, _WORD), place)
        builder.call(_x86(builder, "llvm.x86.sse.ldmxcsr"), [builder.bitcast(place, ir.IntType(8).as_pointer())])
    if _machine(builder) == "aarch64":
        builder.asm(ir.FunctionType(ir.VoidType(), [_LONG]), "msr fpcr, $0", "r", [mode], side_effect=True)


def _x86(builder, name):
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
    return function_named(builder, kind, name)
