"""Sixteen doubles, two times eight: what is done with them is done with both halves in turn.

Where a result waits for a long chain of operations, the processor works on the other half meanwhile. A loop over eight at a
time leaves it waiting: it does not look far enough ahead to find the next turn of the loop.
"""

from llvmlite import ir
from numba import TypingError
from numba.core import types
from numba.extending import intrinsic

from linkwork.spatial.simd import (
    LANES,
    VectorType,
    define_operators,
    pointer_to_lanes,
    refuse_other_arrays,
    splat_lanes,
    v8,
)

_INDEX = ir.IntType(32)
v16 = VectorType(2 * LANES)
define_operators(v16)


def _half(builder, value, begin):
    lanes = ir.Constant(ir.VectorType(_INDEX, LANES), list(range(begin, begin + LANES)))
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), lanes)


@intrinsic
def splat_two(typingctx, x):
    """One number in all sixteen lanes."""

    def codegen(context, builder, signature, args):
        return splat_lanes(builder, args[0], 2 * LANES)

    return v16(types.float64), codegen


@intrinsic
def folded(typingctx, v):
    """Both halves added: eight numbers."""

    def codegen(context, builder, signature, args):
        return builder.fadd(_half(builder, args[0], 0), _half(builder, args[0], LANES))

    return v8(v16), codegen


@intrinsic
def vload_two(typingctx, array, first, second):
    """Sixteen numbers: eight from array[first] on, then eight from array[second] on."""
    refuse_other_arrays("vload_two", array, first)
    refuse_other_arrays("vload_two", array, second)

    def codegen(context, builder, signature, args):
        halves = (
            builder.load(pointer_to_lanes(context, builder, array, args[0], kind, index), align=8)
            for kind, index in ((first, args[1]), (second, args[2]))
        )
        return builder.shuffle_vector(*halves, ir.Constant(ir.VectorType(_INDEX, 2 * LANES), list(range(2 * LANES))))

    return v16(array, first, second), codegen


@intrinsic
def vstore_two(typingctx, array, first, second, value):
    """Writes eight numbers to array[second:], then the other eight to array[first:], which stay if both are one place."""
    refuse_other_arrays("vstore_two", array, first)
    refuse_other_arrays("vstore_two", array, second)
    if value != v16 or not array.mutable:
        raise TypingError(f"vstore_two writes a V16 to an array, not {value} to {array}.")

    def codegen(context, builder, signature, args):
        for kind, index, begin in ((second, args[2], LANES), (first, args[1], 0)):
            builder.store(
                _half(builder, args[3], begin), pointer_to_lanes(context, builder, array, args[0], kind, index), align=8
            )
        return context.get_dummy_value()

    return types.void(array, first, second, value), codegen
